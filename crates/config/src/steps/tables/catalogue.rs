//! `steps_registry.json` with `agentId`: a catalogue of prompts, with or without a flow (S-13, S-14).

use super::SCHEMA;
use super::gate::{
    ADDRESS, FAILURE_PATTERN, SCHEMA_REF, STRUCTURED_GATE, TRANSITION_RULE, VALIDATION_STEP, VALIDATOR,
};
use crate::{Field, Kind, Object};

pub static CATALOGUE: Object = Object {
    title: "a catalogue",
    fields: &[
        SCHEMA,
        Field::new("version", Kind::Text).about("the version of the format: `N.N.N`"),
        Field::required("agentId", Kind::Text).about("the name of the agent"),
        Field::new("c1", Kind::Text).about("the first directory of every prompt"),
        Field::new("pathTemplate", Kind::Text)
            .default("\"{c1}/{c2}/{c3}/f_{edition}_{adaptation}.md\"")
            .about("where a prompt with an adaptation is"),
        Field::new("pathTemplateNoAdaptation", Kind::Text)
            .default("\"{c1}/{c2}/{c3}/f_{edition}.md\"")
            .about("where a prompt without one is"),
        Field::new("userPromptsBase", Kind::Path)
            .default("\".agent/{agentId}/prompts\"")
            .about("where prompts are, from the project root"),
        Field::new("schemasBase", Kind::Path)
            .about("where schemas are, from the project root; absent: as `flow.schemas.base` says"),
        Field::new("entryStep", Kind::Text).about("the first step of a flow"),
        Field::new("entryStepMapping", Kind::Map(&Kind::Either(&[Kind::Text, Kind::Object(&ENTRY_STEPS)])))
            .about("the same by completion type or mode, which wins"),
        Field::required("steps", Kind::Map(&Kind::Object(&ENTRY))).about("the prompts, by their ids"),
        Field::new("validators", Kind::Map(&Kind::Object(&VALIDATOR)))
            .about("programs that look at the work"),
        Field::new("failurePatterns", Kind::Map(&Kind::Object(&FAILURE_PATTERN)))
            .aliases(&["completionPatterns"])
            .about("the retry prompts of validators"),
        Field::new("validationSteps", Kind::Map(&Kind::Object(&VALIDATION_STEP)))
            .about("which validators look before a closure step closes"),
    ],
};

/// First prompt, and the one that follows.
pub(in crate::steps) static ENTRY_STEPS: Object = Object {
    title: "an entry of `entryStepMapping`",
    fields: &[
        Field::required("initial", Kind::Text).about("the first step"),
        Field::new("continuation", Kind::Text).about("where there is no flow, what follows it"),
    ],
};

pub(in crate::steps) static ENTRY: Object = Object {
    title: "an entry",
    fields: &[
        Field::new("stepId", Kind::Text).about("the same as its key"),
        Field::new("name", Kind::Text).about("its title for people"),
        Field::new("description", Kind::Text).about("what it is for"),
        Field::new("c1", Kind::Text).about("the first directory; absent: the catalogue's"),
        Field::new("c2", Kind::Text).about("the second directory"),
        Field::new("c3", Kind::Text).about("the third directory"),
        Field::new("edition", Kind::Text).default("\"default\"").about("of the file's name"),
        Field::new("adaptation", Kind::Text).about("of the file's name"),
        Field::new("address", Kind::Object(&ADDRESS)).about("all that in one"),
        Field::new("promptPath", Kind::Text).about("the file itself, instead of all that"),
        Field::new("uvVariables", Kind::List(&Kind::Text)).about("the variables it uses"),
        Field::new("usesStdin", Kind::Bool).default("false").about("whether `{input_text}` is the task"),
        Field::new("stepKind", Kind::OneOf(&["work", "verification", "closure"]))
            .aliases(&["kind"])
            .about("what its gate may allow"),
        Field::new("outputSchemaRef", Kind::Object(&SCHEMA_REF)).about("the JSON the reply must hold"),
        Field::new("structuredGate", Kind::Object(&STRUCTURED_GATE)).about("how the reply says what follows"),
        Field::new("transitions", Kind::Map(&Kind::Object(&TRANSITION_RULE)))
            .about("what follows, by intent"),
        Field::new("inputs", Kind::Any)
            .form(Kind::Map(&Kind::Any))
            .about("outputs of other steps that it uses"),
        Field::new("model", Kind::Text).about("with which model; absent: the agent's"),
        Field::new("type", Kind::OneOf(&["prompt"])).about("without effect"),
        Field::new("priority", Kind::Any).about("without effect"),
        Field::new("fallbackKey", Kind::Text).about("a text of another program; without effect"),
        Field::refused_because(
            "runner",
            "makes a program of a step, which is not supported: run it in a validator, or before Saihai",
        ),
    ],
};
