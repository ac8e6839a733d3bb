//! `agent.json` (S-7).

use super::completion::COMPLETION_CONFIGS;
use super::runner::RUNNER;
use super::{PERMISSIONS, SCHEMA};
use crate::{Field, Kind, Object};

pub static AGENT: Object = Object {
    title: "an agent",
    fields: &[
        SCHEMA,
        Field::required("version", Kind::Text).about("the version of the format: `N.N.N`"),
        Field::required("name", Kind::Text)
            .about("its name: small letters, digits and `-`; that of its directory"),
        Field::new("displayName", Kind::Text).about("its name for people; absent: `name`"),
        Field::new("description", Kind::Text).about("what it is for; shown by `list`"),
        Field::new("language", Kind::OneOf(&["ja", "en"]))
            .about("the language of the words Saihai adds; absent: that of the agent's own texts"),
        Field::new("behavior", Kind::Object(&BEHAVIOR))
            .about("who it is, what it may do, and when it is done"),
        Field::new("parameters", Kind::Map(&Kind::Object(&PARAMETER)))
            .default("{}")
            .about("values a person gives by flags; `{uv-NAME}` in prompts"),
        // Required with `behavior`, which the reader checks.
        Field::new("prompts", Kind::Object(&PROMPTS)).about("where its steps and their prompts are"),
        Field::new("actions", Kind::Object(&ACTIONS)).about("what blocks in its replies do; absent: nothing"),
        Field::new("github", Kind::Object(&GITHUB)).about("whether its actions may reach GitHub; absent: no"),
        Field::new("worktree", Kind::Object(&WORKTREE)).about("whether a run has a working tree of its own"),
        Field::new("logging", Kind::Object(&LOGGING)).about("where the log of a run is also written"),
        Field::new("runner", Kind::Object(&RUNNER))
            .about("in the later format: all that from `behavior` to `logging`"),
    ],
};

pub(in crate::steps) static BEHAVIOR: Object = Object {
    title: "`behavior`",
    fields: &[
        Field::required("systemPromptPath", Kind::Path).about("a file with the agent's role"),
        Field::required("completionType", Kind::Text).about("when the agent is done"),
        // Its keys depend on the type.
        Field::new("completionConfig", Kind::Any)
            .form(Kind::Either(&COMPLETION_CONFIGS))
            .about("the same in detail; its keys depend on the type"),
        Field::required("allowedTools", Kind::List(&Kind::Text)).about("the tools it may see; `[]` is none"),
        Field::required("permissionMode", PERMISSIONS).about(
            "`plan`: only look · `acceptEdits`: change files, run no commands · `bypassPermissions`: anything · \
             `default`: change files if `allowedTools` has a tool that does, else only look",
        ),
        Field::new("sandboxConfig", Kind::Object(&SANDBOX)).about("what it may reach, where a provider can hold it to that"),
    ],
};

pub(in crate::steps) static SANDBOX: Object = Object {
    title: "`sandboxConfig`",
    fields: &[
        Field::new("enabled", Kind::Bool).default("true").about("`false` widens no permission"),
        Field::new("network", Kind::Object(&NETWORK)).about("what it may reach by network"),
        Field::new("filesystem", Kind::Object(&FILESYSTEM)).about("what it may reach of files"),
    ],
};

pub(in crate::steps) static NETWORK: Object = Object {
    title: "`network`",
    fields: &[
        Field::new("mode", Kind::OneOf(&["trusted", "none", "custom"])).about("which domains"),
        Field::new("trustedDomains", Kind::List(&Kind::Text)).about("the domains of `custom`"),
    ],
};

pub(in crate::steps) static FILESYSTEM: Object = Object {
    title: "`filesystem`",
    fields: &[Field::new("allowedPaths", Kind::List(&Kind::Text)).about("the only directories")],
};

pub(in crate::steps) static PARAMETER: Object = Object {
    title: "a parameter",
    fields: &[
        Field::required("type", Kind::OneOf(&["string", "number", "boolean", "array"]))
            .about("what its value is"),
        Field::required("cli", Kind::Text).about("its flag: `--name`"),
        Field::new("description", Kind::Text).about("what it is for"),
        Field::new("required", Kind::Bool).default("false").about("whether it must be given"),
        Field::new("default", Kind::Any).about("its value where it is not given"),
        Field::new("validation", Kind::Object(&VALIDATION)).about("what values are allowed"),
    ],
};

pub(in crate::steps) static VALIDATION: Object = Object {
    title: "`validation`",
    fields: &[
        Field::new("min", ANY_NUMBER).about("the smallest number"),
        Field::new("max", ANY_NUMBER).about("the largest number"),
        Field::new("pattern", Kind::Text).about("a regular expression that must be found in the text"),
        Field::new("enum", Kind::Filled(&Kind::Any)).about("the only values"),
    ],
};

const ANY_NUMBER: Kind = Kind::Number { min: f64::MIN, above: false };

pub(in crate::steps) static PROMPTS: Object = Object {
    title: "`prompts`",
    fields: &[
        Field::required("registry", Kind::Path).about("the file with the steps: `steps_registry.json`"),
        Field::new("fallbackDir", Kind::Path).about("where prompts are looked for that are nowhere else"),
    ],
};

pub(in crate::steps) static ACTIONS: Object = Object {
    title: "`actions`",
    fields: &[
        Field::required("enabled", Kind::Bool).about("whether blocks are looked for"),
        Field::new("types", Kind::List(&Kind::Text))
            .default("[]")
            .about("the types of blocks that do something"),
        Field::new("outputFormat", Kind::Text).default("\"action\"").about("the info string of their fences"),
        Field::new("handlers", Kind::Map(&Kind::Text)).default("{}").about("what each type does"),
    ],
};

pub(in crate::steps) static GITHUB: Object = Object {
    title: "`github`",
    fields: &[
        Field::required("enabled", Kind::Bool).about("whether actions may reach GitHub"),
        Field::new("labels", Kind::Map(&Kind::Text)).about("without effect: a block names its own labels"),
    ],
};

pub(in crate::steps) static WORKTREE: Object = Object {
    title: "`worktree`",
    fields: &[
        Field::required("enabled", Kind::Bool).about("whether a run has a working tree of its own"),
        Field::new("root", Kind::Path).about("where, from the project root"),
    ],
};

pub(in crate::steps) static LOGGING: Object = Object {
    title: "`logging`",
    fields: &[
        Field::required("directory", Kind::Path).about("where, from the project root"),
        Field::required("format", Kind::OneOf(&["jsonl", "text"])).about("a JSON object a line, or text"),
        Field::required("maxFiles", Kind::Integer { min: 1, max: 100_000 }).about("how many logs are kept"),
    ],
};
