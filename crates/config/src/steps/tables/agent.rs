//! Tables of `agent.json` and `config.json` (S-7, S-14, S-18, S-60).

use super::{PERMISSIONS, SCHEMA, field, flag, object, path, required, text, texts};
use crate::breaker::PROGRESS_FORMS;
use crate::{Field, Object, ValueKind};

pub static AGENT: Object = Object {
    title: "an agent",
    fields: &[
        SCHEMA,
        required(text("version", "version of the format: `N.N.N`")),
        required(text("name", "name of the agent and of its directory: lower-case letters, digits and `-`")),
        text("displayName", "display name; absent: `name`"),
        text("description", "purpose; shown by `list`"),
        Field::new("language", ValueKind::OneOf(&["ja", "en"]))
            .about("language of text that Saihai adds; absent: the language of the agent's own texts"),
        object("behavior", &BEHAVIOR, "role, permissions and completion"),
        Field::new("parameters", ValueKind::Map(&ValueKind::Object(&PARAMETER)))
            .default("{}")
            .about("values that a person passes as flags; `{uv-NAME}` in prompts"),
        // Required with `behavior`, which the reader checks.
        object("prompts", &PROMPTS, "location of its steps and prompts"),
        object("actions", &ACTIONS, "action blocks in its replies; absent: none"),
        object("github", &GITHUB, "access of its actions to GitHub; absent: none"),
        object("worktree", &WORKTREE, "use a separate worktree for a run"),
        object("logging", &LOGGING, "additional log file of a run"),
        Field::new("progress", PROGRESS_FORMS)
            .about("thresholds for cycles without progress, or `off`; absent: the defaults for cycles between an editing and a read-only step"),
        object("runner", &RUNNER, "later format: contains the keys from `behavior` to `logging`"),
    ],
};

static BEHAVIOR: Object = Object {
    title: "`behavior`",
    fields: &[
        required(path("systemPromptPath", "file with the agent's role")),
        required(text("completionType", "completion condition")),
        // Its keys depend on the type.
        Field::new("completionConfig", ValueKind::Any)
            .form(ValueKind::Either(&COMPLETION_CONFIGS))
            .about("details of the completion condition; its keys depend on the type"),
        required(texts("allowedTools", "tools that the agent may see; `[]`: none")),
        Field::required("permissionMode", PERMISSIONS).about(
            "`plan`: read only · `acceptEdits`: change files, run no commands · `bypassPermissions`: anything · \
             `default`: change files if `allowedTools` has a tool that does, else read only",
        ),
        object("sandboxConfig", &SANDBOX, "sandbox, if the provider can enforce it"),
        Field::refused_because(
            "preCloseValidation",
            "is not supported: name the commands in `validators` and `validationSteps` of the registry",
        )
        .unless_off(),
    ],
};

static SANDBOX: Object = Object {
    title: "`sandboxConfig`",
    fields: &[
        flag("enabled", "`false` grants no additional permission").default("true"),
        object("network", &NETWORK, "network access"),
        object("filesystem", &FILESYSTEM, "file access"),
    ],
};

static NETWORK: Object = Object {
    title: "`network`",
    fields: &[
        field("mode", ValueKind::OneOf(&["trusted", "none", "custom"]), "allowed domains"),
        texts("trustedDomains", "domains of `custom`"),
    ],
};

static FILESYSTEM: Object =
    Object { title: "`filesystem`", fields: &[texts("allowedPaths", "allowed directories; no others")] };

static PARAMETER: Object = Object {
    title: "a parameter",
    fields: &[
        required(field(
            "type",
            ValueKind::OneOf(&["string", "number", "boolean", "array"]),
            "type of the value",
        )),
        required(text("cli", "flag: `--name`")),
        text("description", "purpose"),
        flag("required", "require a value").default("false"),
        field("default", ValueKind::Any, "value if the flag is absent"),
        object("validation", &VALIDATION, "allowed values"),
    ],
};

static VALIDATION: Object = Object {
    title: "`validation`",
    fields: &[
        field("min", ANY_NUMBER, "minimum"),
        field("max", ANY_NUMBER, "maximum"),
        text("pattern", "regular expression that must match part of the text"),
        field("enum", ValueKind::Filled(&ValueKind::Any), "allowed values"),
    ],
};

const ANY_NUMBER: ValueKind = ValueKind::Number { min: f64::MIN, above: false };

static PROMPTS: Object = Object {
    title: "`prompts`",
    fields: &[
        required(path("registry", "file with the steps: `steps_registry.json`")),
        path("fallbackDir", "directory for prompts that are not found elsewhere"),
    ],
};

static ACTIONS: Object = Object {
    title: "`actions`",
    fields: &[
        required(flag("enabled", "look for action blocks")),
        texts("types", "allowed types of blocks").default("[]"),
        text("outputFormat", "info string of their fences").default("\"action\""),
        field("handlers", ValueKind::Map(&ValueKind::Text), "handler of each type").default("{}"),
    ],
};

static GITHUB: Object = Object {
    title: "`github`",
    fields: &[
        required(flag("enabled", "allow actions to access GitHub")),
        field("labels", ValueKind::Map(&ValueKind::Text), "no effect: a block names its own labels"),
    ],
};

static WORKTREE: Object = Object {
    title: "`worktree`",
    fields: &[
        required(flag("enabled", "use a separate worktree for a run")),
        path("root", "directory of worktrees, relative to the project root"),
    ],
};

static LOGGING: Object = Object {
    title: "`logging`",
    fields: &[
        required(path("directory", "directory, relative to the project root")),
        required(field("format", ValueKind::OneOf(&["jsonl", "text"]), "one JSON object per line, or text")),
        required(field("maxFiles", ValueKind::Integer { min: 1, max: 100_000 }, "number of logs to keep")),
    ],
};

const COUNT: ValueKind = ValueKind::Integer { min: 1, max: 100_000 };

/// Upper limit, allowed for every type.
const MAX_ITERATIONS: Field = field("maxIterations", COUNT, "maximum iterations of a run");

pub(in crate::steps) static ITERATION_BUDGET: Object = Object {
    title: "`completionConfig` of `iterationBudget`",
    fields: &[required(field("maxIterations", COUNT, "done after this many iterations"))],
};

pub(in crate::steps) static KEYWORD_SIGNAL: Object = Object {
    title: "`completionConfig` of `keywordSignal`",
    fields: &[
        Field::required("completionKeyword", ValueKind::Text)
            .aliases(&["verdictKeyword"])
            .about("done when a reply contains this, case-sensitive"),
        Field::new("match", ValueKind::OneOf(&["contains", "line"]))
            .default("\"contains\"")
            .about("anywhere in the reply, or alone on a line"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static EXTERNAL_STATE: Object = Object {
    title: "`completionConfig` of `externalState`",
    fields: &[
        text("resourceType", "`github-issue` (the issue of the run) or `file`").default("\"github-issue\""),
        text("targetState", "`exists` or `absent` for a file; `closed` for an issue"),
        path("path", "file, relative to the agent's working directory"),
        Field::new("issueParam", ValueKind::OneOf(&["issue"]))
            .about("parameter with the number of the issue"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static CHECK_BUDGET: Object = Object {
    title: "`completionConfig` of `checkBudget`",
    fields: &[required(field("maxChecks", COUNT, "done after this many answered checks")), MAX_ITERATIONS],
};

pub(in crate::steps) static STRUCTURED_SIGNAL: Object = Object {
    title: "`completionConfig` of `structuredSignal`",
    fields: &[
        required(text("signalType", "done on an action block of this type")),
        field(
            "requiredFields",
            ValueKind::Any,
            "required fields of the block: a list of names, or names with values",
        ),
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
        path("registryPath", "must equal `prompts.registry`"),
        text("entryStep", "must equal the registry's `entryStep`"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static COMPOSITE: Object = Object {
    title: "`completionConfig` of `composite`",
    fields: &[
        required(field(
            "operator",
            ValueKind::OneOf(&["and", "or", "first"]),
            "all conditions, any, or the first in order",
        )),
        required(field(
            "conditions",
            ValueKind::Filled(&ValueKind::Object(&CONDITION)),
            "conditions to combine",
        )),
        MAX_ITERATIONS,
    ],
};

static CONDITION: Object = Object {
    title: "a condition",
    fields: &[
        required(text("type", "completion type")),
        field("config", ValueKind::Any, "`completionConfig` of this type")
            .form(ValueKind::Either(&COMPLETION_CONFIGS)),
    ],
};

pub(in crate::steps) static CUSTOM: Object = Object {
    title: "`completionConfig` of `custom`",
    fields: &[
        required(path("handlerPath", "program below the agent's directory that decides if the run is done")),
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
        required(object("flow", &FLOW, "role, steps and prompts")),
        required(object("verdict", &VERDICT, "completion condition")),
        object("boundaries", &BOUNDARIES, "permissions; absent: read only, with `Read`, `Glob` and `Grep`"),
        object("integrations", &INTEGRATIONS, "access of its actions to GitHub"),
        object("actions", &ACTIONS, "action blocks in its replies; absent: none"),
        object("execution", &EXECUTION, "working directory of a run"),
        object("logging", &LOGGING, "additional log file of a run"),
    ],
};

static FLOW: Object = Object {
    title: "`flow`",
    fields: &[
        required(path("systemPromptPath", "file with the agent's role")),
        required(object("prompts", &PROMPTS, "location of its steps and prompts")),
        object("schemas", &SCHEMAS, "location of its schemas"),
        text("defaultModel", "model of steps that name none"),
        text("askUserAutoResponse", "no effect"),
    ],
};

static SCHEMAS: Object = Object {
    title: "`schemas`",
    fields: &[
        path("base", "directory, relative to the agent's directory").default("\"schemas/\""),
        field("inspection", ValueKind::Any, "no effect"),
    ],
};

static VERDICT: Object = Object {
    title: "`verdict`",
    fields: &[
        required(text("type", "completion type")),
        // Its keys depend on the type.
        Field::new("config", ValueKind::Any)
            .form(ValueKind::Either(&COMPLETION_CONFIGS))
            .about("details of the completion condition; its keys depend on the type"),
    ],
};

static BOUNDARIES: Object = Object {
    title: "`boundaries`",
    fields: &[
        required(texts("allowedTools", "tools that the agent may see; `[]`: none")),
        required(field("permissionMode", PERMISSIONS, "permission, as in `behavior`")),
        Field::new("sandbox", ValueKind::Object(&SANDBOX))
            .aliases(&["sandboxConfig"])
            .about("sandbox, if the provider can enforce it"),
        text("askUserAutoResponse", "no effect"),
    ],
};

static INTEGRATIONS: Object = Object {
    title: "`integrations`",
    fields: &[object("github", &LATER_GITHUB, "access of its actions to GitHub")],
};

static LATER_GITHUB: Object = Object {
    title: "`github` of `integrations`",
    fields: &[
        required(flag("enabled", "allow actions to access GitHub")),
        Field::new("labels", ValueKind::Map(&ValueKind::Any))
            .about("labels by use; `completion`: labels that `closing` adds and removes"),
        Field::new("defaultClosureAction", ValueKind::OneOf(&["close", "label-only", "label-and-close"]))
            .default("\"close\"")
            .about("action of `closing` on the issue of the run"),
    ],
};

pub(in crate::steps) static COMPLETION_LABELS: Object = Object {
    title: "`completion` of `labels`",
    fields: &[
        texts("add", "labels to add to the issue").default("[]"),
        texts("remove", "labels to remove from the issue").default("[]"),
    ],
};

static EXECUTION: Object = Object {
    title: "`execution`",
    fields: &[
        object("worktree", &WORKTREE, "use a separate worktree for a run"),
        Field::refused_because("finalize", "is not supported: push and merge the changes of a run yourself"),
    ],
};

pub static CONFIG: Object = Object {
    title: "`config.json`",
    fields: &[
        SCHEMA,
        text("version", "version of the format: `N.N.N`"),
        object("overrides", &OVERRIDES, "overrides `behavior`"),
        object("github", &CONFIG_GITHUB, "overrides `github`"),
        object("logging", &CONFIG_LOGGING, "overrides `logging`"),
        object("worktree", &CONFIG_WORKTREE, "overrides `worktree`"),
    ],
};

static OVERRIDES: Object = Object {
    title: "`overrides`",
    fields: &[
        field("permissionMode", PERMISSIONS, "overrides the agent's"),
        texts("allowedTools", "overrides the agent's; lists are not merged"),
    ],
};

static CONFIG_GITHUB: Object = Object {
    title: "`github` of `config.json`",
    fields: &[
        text("apiVersion", "no effect"),
        field("labels", ValueKind::Map(&ValueKind::Text), "no effect"),
    ],
};

static CONFIG_LOGGING: Object = Object {
    title: "`logging` of `config.json`",
    fields: &[
        field("maxFiles", ValueKind::Integer { min: 1, max: 100_000 }, "number of logs to keep"),
        flag("verbose", "`false`: omit lines of level `debug` from the agent's log"),
    ],
};

static CONFIG_WORKTREE: Object = Object {
    title: "`worktree` of `config.json`",
    fields: &[
        flag("enabled", "use a separate worktree for a run").aliases(&["forceWorktree"]),
        path("root", "directory of worktrees, relative to the project root").aliases(&["worktreeRoot"]),
    ],
};
