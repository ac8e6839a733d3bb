//! `runner` of `agent.json`: the later format of `behavior` and its related keys (S-14).

use super::completion::COMPLETION_CONFIGS;
use super::{ACTIONS, LOGGING, PERMISSIONS, PROMPTS, SANDBOX, WORKTREE};
use crate::{Field, Kind, Object};

pub(in crate::steps) static RUNNER: Object = Object {
    title: "`runner`",
    fields: &[
        Field::required("flow", Kind::Object(&FLOW)).about("who it is, and where its steps are"),
        Field::required("verdict", Kind::Object(&VERDICT)).about("when it is done"),
        Field::required("boundaries", Kind::Object(&BOUNDARIES)).about("what it may do"),
        Field::new("integrations", Kind::Object(&INTEGRATIONS)).about("whether its actions may reach GitHub"),
        Field::new("actions", Kind::Object(&ACTIONS)).about("what blocks in its replies do; absent: nothing"),
        Field::new("execution", Kind::Object(&EXECUTION)).about("where it works"),
        Field::new("logging", Kind::Object(&LOGGING)).about("where the log of a run is also written"),
    ],
};

pub(in crate::steps) static FLOW: Object = Object {
    title: "`flow`",
    fields: &[
        Field::required("systemPromptPath", Kind::Path).about("a file with the agent's role"),
        Field::required("prompts", Kind::Object(&PROMPTS)).about("where its steps and their prompts are"),
        Field::new("schemas", Kind::Object(&SCHEMAS)).about("where its schemas are"),
        Field::new("defaultModel", Kind::Text).about("the model of steps that name none"),
        Field::new("askUserAutoResponse", Kind::Text).about("without effect"),
    ],
};

pub(in crate::steps) static SCHEMAS: Object = Object {
    title: "`schemas`",
    fields: &[
        Field::new("base", Kind::Path).default("\"schemas/\"").about("where, from the agent's directory"),
        Field::new("inspection", Kind::Any).about("without effect"),
    ],
};

pub(in crate::steps) static VERDICT: Object = Object {
    title: "`verdict`",
    fields: &[
        Field::required("type", Kind::Text).about("a completion type"),
        // Its keys depend on the type.
        Field::new("config", Kind::Any)
            .form(Kind::Either(&COMPLETION_CONFIGS))
            .about("the same in detail; its keys depend on the type"),
    ],
};

pub(in crate::steps) static BOUNDARIES: Object = Object {
    title: "`boundaries`",
    fields: &[
        Field::required("allowedTools", Kind::List(&Kind::Text)).about("the tools it may see; `[]` is none"),
        Field::required("permissionMode", PERMISSIONS).about("what it may do, as in `behavior`"),
        Field::new("sandbox", Kind::Object(&SANDBOX))
            .aliases(&["sandboxConfig"])
            .about("what it may reach, where a provider can hold it to that"),
        Field::new("askUserAutoResponse", Kind::Text).about("without effect"),
    ],
};

pub(in crate::steps) static INTEGRATIONS: Object = Object {
    title: "`integrations`",
    fields: &[Field::new("github", Kind::Object(&LATER_GITHUB)).about("whether its actions may reach GitHub")],
};

pub(in crate::steps) static LATER_GITHUB: Object = Object {
    title: "`github` of `integrations`",
    fields: &[
        Field::required("enabled", Kind::Bool).about("whether actions may reach GitHub"),
        Field::new("labels", Kind::Map(&Kind::Any))
            .about("labels by their use; `completion`: those that `closing` adds and removes"),
        Field::new("defaultClosureAction", Kind::OneOf(&["close", "label-only", "label-and-close"]))
            .default("\"close\"")
            .about("what `closing` does to the issue of the run"),
    ],
};

pub(in crate::steps) static COMPLETION_LABELS: Object = Object {
    title: "`completion` of `labels`",
    fields: &[
        Field::new("add", Kind::List(&Kind::Text)).default("[]").about("labels the issue has afterwards"),
        Field::new("remove", Kind::List(&Kind::Text)).default("[]").about("labels it has not"),
    ],
};

pub(in crate::steps) static EXECUTION: Object = Object {
    title: "`execution`",
    fields: &[
        Field::new("worktree", Kind::Object(&WORKTREE)).about("whether a run has a working tree of its own"),
        Field::refused_because("finalize", "is not supported: push and merge what a run has done yourself"),
    ],
};
