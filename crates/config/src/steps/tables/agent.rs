//! Tables of `agent.json` and `config.json` (S-7, S-14, S-18, S-60).

use super::{PERMISSIONS, SCHEMA, field, flag, object, path, required, text, texts};
use crate::{Field, Object, ValueKind};

pub static AGENT: Object = Object {
    title: "an agent",
    fields: &[
        SCHEMA,
        required(text("version", "the version of the format: `N.N.N`")),
        required(text("name", "its name: small letters, digits and `-`; that of its directory")),
        text("displayName", "its name for people; absent: `name`"),
        text("description", "what it is for; shown by `list`"),
        Field::new("language", ValueKind::OneOf(&["ja", "en"]))
            .about("the language of the words Saihai adds; absent: that of the agent's own texts"),
        object("behavior", &BEHAVIOR, "who it is, what it may do, and when it is done"),
        Field::new("parameters", ValueKind::Map(&ValueKind::Object(&PARAMETER)))
            .default("{}")
            .about("values a person gives by flags; `{uv-NAME}` in prompts"),
        // Required with `behavior`, which the reader checks.
        object("prompts", &PROMPTS, "where its steps and their prompts are"),
        object("actions", &ACTIONS, "what blocks in its replies do; absent: nothing"),
        object("github", &GITHUB, "whether its actions may reach GitHub; absent: no"),
        object("worktree", &WORKTREE, "use a separate worktree for a run"),
        object("logging", &LOGGING, "where the log of a run is also written"),
        object("runner", &RUNNER, "in the later format: all that from `behavior` to `logging`"),
    ],
};

static BEHAVIOR: Object = Object {
    title: "`behavior`",
    fields: &[
        required(path("systemPromptPath", "a file with the agent's role")),
        required(text("completionType", "when the agent is done")),
        // Its keys depend on the type.
        Field::new("completionConfig", ValueKind::Any)
            .form(ValueKind::Either(&COMPLETION_CONFIGS))
            .about("the same in detail; its keys depend on the type"),
        required(texts("allowedTools", "the tools it may see; `[]` is none")),
        Field::required("permissionMode", PERMISSIONS).about(
            "`plan`: only look · `acceptEdits`: change files, run no commands · `bypassPermissions`: anything · \
             `default`: change files if `allowedTools` has a tool that does, else only look",
        ),
        object("sandboxConfig", &SANDBOX, "what it may reach, where a provider can hold it to that"),
    ],
};

static SANDBOX: Object = Object {
    title: "`sandboxConfig`",
    fields: &[
        flag("enabled", "`false` widens no permission").default("true"),
        object("network", &NETWORK, "what it may reach by network"),
        object("filesystem", &FILESYSTEM, "what it may reach of files"),
    ],
};

static NETWORK: Object = Object {
    title: "`network`",
    fields: &[
        field("mode", ValueKind::OneOf(&["trusted", "none", "custom"]), "which domains"),
        texts("trustedDomains", "the domains of `custom`"),
    ],
};

static FILESYSTEM: Object =
    Object { title: "`filesystem`", fields: &[texts("allowedPaths", "the only directories")] };

static PARAMETER: Object = Object {
    title: "a parameter",
    fields: &[
        required(field(
            "type",
            ValueKind::OneOf(&["string", "number", "boolean", "array"]),
            "what its value is",
        )),
        required(text("cli", "its flag: `--name`")),
        text("description", "what it is for"),
        flag("required", "whether it must be given").default("false"),
        field("default", ValueKind::Any, "its value where it is not given"),
        object("validation", &VALIDATION, "what values are allowed"),
    ],
};

static VALIDATION: Object = Object {
    title: "`validation`",
    fields: &[
        field("min", ANY_NUMBER, "the smallest number"),
        field("max", ANY_NUMBER, "the largest number"),
        text("pattern", "a regular expression that must be found in the text"),
        field("enum", ValueKind::Filled(&ValueKind::Any), "the only values"),
    ],
};

const ANY_NUMBER: ValueKind = ValueKind::Number { min: f64::MIN, above: false };

static PROMPTS: Object = Object {
    title: "`prompts`",
    fields: &[
        required(path("registry", "the file with the steps: `steps_registry.json`")),
        path("fallbackDir", "where prompts are looked for that are nowhere else"),
    ],
};

static ACTIONS: Object = Object {
    title: "`actions`",
    fields: &[
        required(flag("enabled", "whether blocks are looked for")),
        texts("types", "the types of blocks that do something").default("[]"),
        text("outputFormat", "the info string of their fences").default("\"action\""),
        field("handlers", ValueKind::Map(&ValueKind::Text), "what each type does").default("{}"),
    ],
};

static GITHUB: Object = Object {
    title: "`github`",
    fields: &[
        required(flag("enabled", "whether actions may reach GitHub")),
        field("labels", ValueKind::Map(&ValueKind::Text), "without effect: a block names its own labels"),
    ],
};

static WORKTREE: Object = Object {
    title: "`worktree`",
    fields: &[
        required(flag("enabled", "use a separate worktree for a run")),
        path("root", "where, from the project root"),
    ],
};

static LOGGING: Object = Object {
    title: "`logging`",
    fields: &[
        required(path("directory", "where, from the project root")),
        required(field("format", ValueKind::OneOf(&["jsonl", "text"]), "a JSON object a line, or text")),
        required(field("maxFiles", ValueKind::Integer { min: 1, max: 100_000 }, "how many logs are kept")),
    ],
};

const COUNT: ValueKind = ValueKind::Integer { min: 1, max: 100_000 };

/// Upper limit, allowed for every type.
const MAX_ITERATIONS: Field = field("maxIterations", COUNT, "the most iterations of a run");

pub(in crate::steps) static ITERATION_BUDGET: Object = Object {
    title: "`completionConfig` of `iterationBudget`",
    fields: &[required(field("maxIterations", COUNT, "done after so many iterations"))],
};

pub(in crate::steps) static KEYWORD_SIGNAL: Object = Object {
    title: "`completionConfig` of `keywordSignal`",
    fields: &[
        Field::required("completionKeyword", ValueKind::Text)
            .aliases(&["verdictKeyword"])
            .about("done when a reply says this, in this case"),
        Field::new("match", ValueKind::OneOf(&["contains", "line"]))
            .default("\"contains\"")
            .about("anywhere, or alone on a line"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static EXTERNAL_STATE: Object = Object {
    title: "`completionConfig` of `externalState`",
    fields: &[
        text("resourceType", "`github-issue`, the issue of the run, or `file`").default("\"github-issue\""),
        text("targetState", "`exists` or `absent` of a file; `closed` of an issue"),
        path("path", "which file, from where the agent works"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static CHECK_BUDGET: Object = Object {
    title: "`completionConfig` of `checkBudget`",
    fields: &[required(field("maxChecks", COUNT, "done after so many answered checks")), MAX_ITERATIONS],
};

pub(in crate::steps) static STRUCTURED_SIGNAL: Object = Object {
    title: "`completionConfig` of `structuredSignal`",
    fields: &[
        required(text("signalType", "done on an action block of this type")),
        field("requiredFields", ValueKind::Any, "with these fields: a list of names, or names with values"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static PHASE_COMPLETION: Object = Object {
    title: "`completionConfig` of `phaseCompletion`",
    fields: &[
        Field::new(
            "terminalPhases",
            ValueKind::Filled(&ValueKind::OneOf(&["preparation", "processing", "review", "complete"])),
        )
        .default("[\"complete\"]")
        .about("done in one of these phases"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static STEP_MACHINE: Object = Object {
    title: "`completionConfig` of `stepMachine`",
    fields: &[
        path("registryPath", "must be `prompts.registry`"),
        text("entryStep", "must be the registry's"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static COMPOSITE: Object = Object {
    title: "`completionConfig` of `composite`",
    fields: &[
        required(field(
            "operator",
            ValueKind::OneOf(&["and", "or", "first"]),
            "all, any, or the first in order",
        )),
        required(field("conditions", ValueKind::Filled(&ValueKind::Object(&CONDITION)), "of these")),
        MAX_ITERATIONS,
    ],
};

static CONDITION: Object = Object {
    title: "a condition",
    fields: &[
        required(text("type", "a completion type")),
        field("config", ValueKind::Any, "its `completionConfig`")
            .form(ValueKind::Either(&COMPLETION_CONFIGS)),
    ],
};

pub(in crate::steps) static CUSTOM: Object = Object {
    title: "`completionConfig` of `custom`",
    fields: &[
        required(path("handlerPath", "a program below the agent's directory that says whether it is done")),
        MAX_ITERATIONS,
    ],
};

static COMPLETION_CONFIGS: [ValueKind; 9] = [
    ValueKind::Object(&ITERATION_BUDGET),
    ValueKind::Object(&KEYWORD_SIGNAL),
    ValueKind::Object(&EXTERNAL_STATE),
    ValueKind::Object(&CHECK_BUDGET),
    ValueKind::Object(&STRUCTURED_SIGNAL),
    ValueKind::Object(&PHASE_COMPLETION),
    ValueKind::Object(&STEP_MACHINE),
    ValueKind::Object(&COMPOSITE),
    ValueKind::Object(&CUSTOM),
];

static RUNNER: Object = Object {
    title: "`runner`",
    fields: &[
        required(object("flow", &FLOW, "who it is, and where its steps are")),
        required(object("verdict", &VERDICT, "when it is done")),
        required(object("boundaries", &BOUNDARIES, "what it may do")),
        object("integrations", &INTEGRATIONS, "whether its actions may reach GitHub"),
        object("actions", &ACTIONS, "what blocks in its replies do; absent: nothing"),
        object("execution", &EXECUTION, "where it works"),
        object("logging", &LOGGING, "where the log of a run is also written"),
    ],
};

static FLOW: Object = Object {
    title: "`flow`",
    fields: &[
        required(path("systemPromptPath", "a file with the agent's role")),
        required(object("prompts", &PROMPTS, "where its steps and their prompts are")),
        object("schemas", &SCHEMAS, "where its schemas are"),
        text("defaultModel", "the model of steps that name none"),
        text("askUserAutoResponse", "without effect"),
    ],
};

static SCHEMAS: Object = Object {
    title: "`schemas`",
    fields: &[
        path("base", "where, from the agent's directory").default("\"schemas/\""),
        field("inspection", ValueKind::Any, "without effect"),
    ],
};

static VERDICT: Object = Object {
    title: "`verdict`",
    fields: &[
        required(text("type", "a completion type")),
        // Its keys depend on the type.
        Field::new("config", ValueKind::Any)
            .form(ValueKind::Either(&COMPLETION_CONFIGS))
            .about("the same in detail; its keys depend on the type"),
    ],
};

static BOUNDARIES: Object = Object {
    title: "`boundaries`",
    fields: &[
        required(texts("allowedTools", "the tools it may see; `[]` is none")),
        required(field("permissionMode", PERMISSIONS, "what it may do, as in `behavior`")),
        Field::new("sandbox", ValueKind::Object(&SANDBOX))
            .aliases(&["sandboxConfig"])
            .about("what it may reach, where a provider can hold it to that"),
        text("askUserAutoResponse", "without effect"),
    ],
};

static INTEGRATIONS: Object = Object {
    title: "`integrations`",
    fields: &[object("github", &LATER_GITHUB, "whether its actions may reach GitHub")],
};

static LATER_GITHUB: Object = Object {
    title: "`github` of `integrations`",
    fields: &[
        required(flag("enabled", "whether actions may reach GitHub")),
        Field::new("labels", ValueKind::Map(&ValueKind::Any))
            .about("labels by their use; `completion`: those that `closing` adds and removes"),
        Field::new("defaultClosureAction", ValueKind::OneOf(&["close", "label-only", "label-and-close"]))
            .default("\"close\"")
            .about("what `closing` does to the issue of the run"),
    ],
};

pub(in crate::steps) static COMPLETION_LABELS: Object = Object {
    title: "`completion` of `labels`",
    fields: &[
        texts("add", "labels the issue has afterwards").default("[]"),
        texts("remove", "labels it has not").default("[]"),
    ],
};

static EXECUTION: Object = Object {
    title: "`execution`",
    fields: &[
        object("worktree", &WORKTREE, "use a separate worktree for a run"),
        Field::refused_because("finalize", "is not supported: push and merge what a run has done yourself"),
    ],
};

pub static CONFIG: Object = Object {
    title: "`config.json`",
    fields: &[
        SCHEMA,
        text("version", "the version of the format: `N.N.N`"),
        object("overrides", &OVERRIDES, "stands above `behavior`"),
        object("github", &CONFIG_GITHUB, "stands above `github`"),
        object("logging", &CONFIG_LOGGING, "stands above `logging`"),
        object("worktree", &CONFIG_WORKTREE, "stands above `worktree`"),
    ],
};

static OVERRIDES: Object = Object {
    title: "`overrides`",
    fields: &[
        field("permissionMode", PERMISSIONS, "instead of the agent's"),
        texts("allowedTools", "instead of the agent's; lists never merge"),
    ],
};

static CONFIG_GITHUB: Object = Object {
    title: "`github` of `config.json`",
    fields: &[
        text("apiVersion", "without effect"),
        field("labels", ValueKind::Map(&ValueKind::Text), "without effect"),
    ],
};

static CONFIG_LOGGING: Object = Object {
    title: "`logging` of `config.json`",
    fields: &[
        field("maxFiles", ValueKind::Integer { min: 1, max: 100_000 }, "how many logs are kept"),
        flag("verbose", "`false` leaves lines of level `debug` out of the agent's log"),
    ],
};

static CONFIG_WORKTREE: Object = Object {
    title: "`worktree` of `config.json`",
    fields: &[
        flag("enabled", "use a separate worktree for a run").aliases(&["forceWorktree"]),
        path("root", "where, from the project root").aliases(&["worktreeRoot"]),
    ],
};
