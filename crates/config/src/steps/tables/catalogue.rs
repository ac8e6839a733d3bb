//! `steps_registry.json` as a catalogue of prompts, without a flow (S-13).

use super::SCHEMA;
use crate::{Field, Kind, Object};

/// The whole file.
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
        Field::new("entryStepMapping", Kind::Map(&Kind::Text))
            .about("the first step, by completion type or mode"),
        Field::required("steps", Kind::Map(&Kind::Object(&ENTRY))).about("the prompts, by their ids"),
    ],
};

/// A prompt of a catalogue.
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
        Field::new("promptPath", Kind::Text).about("the file itself, instead of all that"),
        Field::new("uvVariables", Kind::List(&Kind::Text)).about("the variables it uses"),
        Field::new("usesStdin", Kind::Bool).default("false").about("whether `{input_text}` is the task"),
        Field::new("fallbackKey", Kind::Text).about("a text of another program; without effect"),
    ],
};
