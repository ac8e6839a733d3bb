//! `steps_registry.json` (S-8).

use super::{LATER, PERMISSIONS, SCHEMA};
use crate::{Field, Kind, Object};

pub static REGISTRY: Object = Object {
    title: "a registry",
    fields: &[
        SCHEMA,
        Field::required("version", Kind::Text).about("the version of the format: `N.N.N`"),
        Field::required("basePath", Kind::Path).about("where prompts are, from the agent's directory"),
        Field::new("entryStep", Kind::Text).about("where a run begins"),
        Field::new("entryStepMapping", Kind::Map(&Kind::Text))
            .about("the same by completion type or mode, which wins"),
        Field::new("editions", Kind::Map(&Kind::Text)).about("other names of editions"),
        Field::required("steps", Kind::Map(&Kind::Object(&STEP))).about("the steps, by their ids"),
        Field::refused_because("validationSteps", LATER),
        Field::refused_because("validators", LATER),
        Field::refused_because("failurePatterns", LATER),
        Field::refused_because("preflightConditions", LATER),
    ],
};

pub(in crate::steps) static STEP: Object = Object {
    title: "a step",
    fields: &[
        Field::new("id", Kind::Text).about("the same as its key"),
        Field::new("name", Kind::Text).about("its title for people"),
        Field::new("description", Kind::Text).about("what it is for; shown by `graph`, never in a prompt"),
        Field::required("prompt", Kind::Object(&PROMPT)).about("what is said"),
        Field::new("iterations", Kind::Object(&ITERATIONS)).about("how many turns a visit has"),
        Field::new("check", Kind::Object(&CHECK))
            .about("a question about the reply that decides what follows"),
        Field::new("next", Kind::Text).about("the step that follows where there is no `check`"),
        Field::new("terminal", Kind::Bool).about("`true`: the flow ends here"),
        // The reader checks the value itself, because it may be the short form or a JSON Schema.
        Field::new("outputSchema", Kind::Any).form(Kind::Map(&Kind::Any)).about(
            "the JSON the reply must hold: `{KEY: {type, required, description, default}}`, or a JSON Schema",
        ),
        Field::new("inputs", Kind::Any)
            .form(Kind::Map(&Kind::Any))
            .about("outputs of other steps that it uses"),
        Field::new("variables", Kind::List(&Kind::Text)).about("the variables its prompt uses"),
        Field::new("customVariables", Kind::List(&Kind::Object(&CUSTOM_VARIABLE)))
            .default("[]")
            .about("further variables, written `{NAME}`"),
        Field::new("gate", Kind::Text).about("a question a person must answer with yes before the step"),
        Field::new("usesStdin", Kind::Bool).default("false").about("whether `{input_text}` is the task"),
        Field::new("model", Kind::Text).about("with which model; absent: as the settings say"),
        Field::new("permissionMode", PERMISSIONS).about("absent: the agent's"),
        Field::new("allowedTools", Kind::List(&Kind::Text)).about("absent: the agent's; `[]` is none"),
        Field::new("systemPromptPath", Kind::Path).about("absent: the agent's"),
        Field::refused_because("stepKind", LATER),
        Field::refused_because("kind", LATER),
        Field::refused_because("address", LATER),
        Field::refused_because("outputSchemaRef", LATER),
        Field::refused_because("structuredGate", LATER),
        Field::refused_because("transitions", LATER),
        Field::refused_because("runner", LATER),
        Field::refused_because("path", "does not stand in a step itself: put it into `prompt`"),
        Field::refused_because("c1", "does not stand in a step itself: put it into `prompt`"),
        Field::refused_because("c2", "does not stand in a step itself: put it into `prompt`"),
        Field::refused_because("c3", "does not stand in a step itself: put it into `prompt`"),
    ],
};

pub(in crate::steps) static PROMPT: Object = Object {
    title: "a prompt",
    fields: &[
        Field::new("path", Kind::Text).about("its file, below `basePath`; else `c1`, `c2` and `c3`"),
        Field::new("c1", Kind::Text).about("the first directory"),
        Field::new("c2", Kind::Text).about("the second directory"),
        Field::new("c3", Kind::Text).about("the third directory"),
        Field::new("edition", Kind::Text).default("\"default\"").about("of `f_EDITION.md`"),
        Field::new("adaptation", Kind::Text).about("of `f_EDITION_ADAPTATION.md`"),
        Field::new("fallback", Kind::Text).about("another file below `basePath`, where there is none"),
    ],
};

pub(in crate::steps) static ITERATIONS: Object = Object {
    title: "`iterations`",
    fields: &[
        Field::new("min", Kind::Integer { min: 1, max: 100_000 })
            .default("1")
            .about("so many turns before the step is left or checked"),
        Field::new("max", Kind::Integer { min: 1, max: 100_000 }).about("one more fails the run"),
    ],
};

pub(in crate::steps) static CHECK: Object = Object {
    title: "a check",
    fields: &[
        Field::required("prompt", Kind::Object(&PROMPT)).about("what is asked"),
        Field::required("responseFormat", Kind::Map(&Kind::Text)).about(
            "the answer: `result` is `ok|ng`, `pass|fail` or `boolean`, `message` is `string` or `optional`",
        ),
        Field::required("onPass", Kind::Object(&TRANSITION)).about("what follows where it passed"),
        Field::required("onFail", Kind::Object(&TRANSITION)).about("what follows where it did not"),
    ],
};

pub(in crate::steps) static TRANSITION: Object = Object {
    title: "a transition",
    fields: &[
        Field::new("complete", Kind::Bool).about("`true`: the flow is complete; wins over all others"),
        Field::new("next", Kind::Text).about("the step that follows"),
        Field::new("fallback", Kind::Text).about("the same, where there is no `next`"),
        Field::new("retry", Kind::Bool).about("`true`: this step once more"),
        Field::new("maxRetries", Kind::Integer { min: 1, max: 100_000 })
            .default("3")
            .about("so often in one visit"),
        Field::new("onExhausted", Kind::Text).about("the step that then follows; absent: the run fails"),
    ],
};

/// A variable without the `uv-` prefix.
pub(in crate::steps) static CUSTOM_VARIABLE: Object = Object {
    title: "a custom variable",
    fields: &[
        Field::required("name", Kind::Text).about("written `{NAME}`"),
        Field::required("source", Kind::OneOf(&["stdin", "parameter", "context", "github", "computed"]))
            .about("the task, a parameter, an output, or an issue"),
        Field::new("description", Kind::Text).about("what it is for"),
        Field::new("required", Kind::Bool).default("false").about("whether it must have a value"),
    ],
};
