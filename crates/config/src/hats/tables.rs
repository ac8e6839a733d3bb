//! Keys of `orch.yml` (H-10, H-11, H-17, H-18), of `ralph.yml` and of hat collections (H-65 to H-71), as data.

use crate::breaker::PROGRESS_FORMS;
use crate::fields::PRIVATE_KEYS;
use crate::{Field, Object, ValueKind};

const TOPICS: ValueKind = ValueKind::List(&ValueKind::Text);
const FROM_ONE: ValueKind = ValueKind::Integer { min: 1, max: u32::MAX as i64 };
const SECONDS: ValueKind = ValueKind::Integer { min: 1, max: u32::MAX as i64 };

const ONE_MODEL: &str = "cannot be set for a hat: all hats share one model and one backend; set `model:` at the top of the file, or use `--model`";
const ONE_BACKEND: &str = "cannot be set for a hat: all hats share one model and one backend; set `backend:` at the top of the file, or use `--provider`";
const FILE_ORDER: &str =
    "cannot be set for a hat: the order in the file decides; move the hat that is to win to the top";
const FOLLOWED: &str = "is not supported: runs are followed with `saihai log -f` or the dashboard";

pub static ORCH: Object = Object {
    title: "a hats file",
    fields: &[
        Field::new("hats", ValueKind::Map(&ValueKind::Object(&HAT)))
            .about("hats by id, in order of priority"),
        Field::new("backend", BACKEND_FORMS).about("provider of every turn: a name, or `{type, model}`"),
        Field::new("model", ValueKind::Text).about("model; absent: from the settings"),
        Field::new("preset", ValueKind::Text).default("\"simple\"").about(
            "base of this file: `simple`, `tdd`, `spec-driven`, or the name of `presets/NAME.yml` in the project",
        ),
        Field::new("max_iterations", FROM_ONE)
            .default("100")
            .about("maximum turns of a run; `--max-iterations` overrides it"),
        Field::new("completion_keyword", ValueKind::Text)
            .default("\"LOOP_COMPLETE\"")
            .about("word that completes the run, alone on a line"),
        Field::new("auto", ValueKind::Bool).about(
            "`false`: ask at every gate that is not set to `false`; `true`: approve every gate; absent: ask only at the listed gates",
        ),
        Field::new("gates", GATES_FORMS).about(
            "gates that ask a person: `pre-loop`, `post-completion`, `before-pr`, or a topic before it is routed",
        ),
        Field::new("create_pr", ValueKind::Bool).about(
            "open a pull request for the work on an issue; absent: from the flags of `saihai work`; `saihai run` delivers nothing",
        ),
        Field::new("worktree", ValueKind::Object(&WORKTREE)).about("worktree for the work on an issue"),
        Field::new("labels", ValueKind::Object(&LABELS)).about("labels for the work on an issue"),
        Field::new("dependency", ValueKind::Object(&DEPENDENCY)).about("dependencies of an issue"),
        Field::new("loop", ValueKind::Object(&LOOP)).about("alternative location of three of these keys"),
        Field::new("state", ValueKind::Object(&STATE)).about("alternative location of `labels`"),
        Field::new("session", ValueKind::Object(&SESSION)).about("has no effect"),
        Field::idle("version"),
        Field::new("starting_event", ValueKind::Text)
            .default("\"task.start\"")
            .about("first topic of a run"),
        Field::new("base_prompt", ValueKind::Text).about("text that starts every prompt"),
        Field::new("required_events", TOPICS)
            .default("[]")
            .about("topics that must be published before the run can complete"),
        Field::new("enforce_hat_scope", ValueKind::Bool)
            .default("false")
            .about("refuse topics that a hat does not list in `publishes`"),
        Field::new("extraction", ValueKind::OneOf(&["lines", "anywhere"])).default("\"lines\"").about(
            "`lines`: a directive has its own line or ends the reply; `anywhere`: it counts in sentences, code and quotations too",
        ),
        Field::new("stall_after", FROM_ONE)
            .default("3")
            .about("replies in a row without an event before the run stops"),
        Field::new("progress", PROGRESS_FORMS)
            .about("thresholds for cycles without progress; absent or `off`: none"),
        Field::new("max_activations", FROM_ONE).about("maximum activations of each hat in one run"),
        Field::new("max_consecutive_failures", FROM_ONE)
            .default("5")
            .about("failed attempts in a row before the run stops"),
        Field::new("idle_timeout_secs", SECONDS)
            .about("maximum time without output from an agent; absent: from the settings"),
        Field::new("max_runtime_seconds", SECONDS).about("maximum active run time"),
        Field::new("max_cost_usd", ValueKind::Number { min: 0.0, above: true }).about("budget for a run"),
        Field::new("language", ValueKind::OneOf(&["ja", "en"])).about(
            "language of text that Saihai adds to prompts; absent: Japanese if a text of the file contains kana, else English",
        ),
        Field::new(PRIVATE_KEYS, ValueKind::Any).about("private keys, also `x-…`: they hold YAML anchors"),
        Field::refused_because("tmux", FOLLOWED),
        Field::refused_because("quality", "is not supported: let a hat run the checks and report the result"),
        Field::refused_all(&["auto_issue", "memories"]),
        Field::refused_because("tasks", "is not supported: `saihai work` takes tasks from issues"),
        Field::refused_because("backends", "is not supported: providers are described in `.saihai/config.toml`"),
    ],
};

const BACKEND_FORMS: ValueKind = ValueKind::Either(&[ValueKind::Text, ValueKind::Object(&BACKEND)]);
const GATES_FORMS: ValueKind =
    ValueKind::Either(&[ValueKind::Map(&ValueKind::Bool), ValueKind::List(&ValueKind::Text)]);

/// Keys of a hat. There are only these four.
pub(super) static HAT: Object = Object {
    title: "a hat",
    fields: &[
        Field::required("name", ValueKind::Text).about("display name"),
        Field::required("triggers", TOPICS).about(
            "topics that activate it; `*` matches one whole segment, a lone `*` every topic; may be empty for `default` only",
        ),
        Field::required("publishes", TOPICS).about("topics it may publish"),
        Field::required("instructions", ValueKind::Text).about("instructions for the agent in this role"),
        Field::new("sandbox", ValueKind::OneOf(&["required"]))
            .about("refuse to run the hat outside a sandbox; absent: as the settings say"),
        Field::refused_because("model", ONE_MODEL).slug("removed-key"),
        Field::refused_because("backend", ONE_BACKEND).slug("removed-key"),
        Field::refused_because("backend_args", ONE_BACKEND).slug("removed-key"),
        Field::refused_because("provider", ONE_BACKEND).slug("removed-key"),
        Field::refused_because("weight", FILE_ORDER).slug("removed-key"),
        Field::refused_because("priority", FILE_ORDER).slug("removed-key"),
    ],
};

pub(super) static BACKEND: Object = Object {
    title: "`backend`",
    fields: &[
        Field::required("type", ValueKind::Text).about("provider"),
        Field::new("model", ValueKind::Text).about("the same as `model` at the top of the file"),
    ],
};

pub(super) static WORKTREE: Object = Object {
    title: "`worktree`",
    fields: &[
        Field::new("enabled", ValueKind::Bool).about("use a separate worktree for the work on an issue"),
        Field::new("base_dir", ValueKind::Text).default("\".worktrees\"").about("directory of the worktrees"),
        Field::new("copy_files", ValueKind::List(&ValueKind::Text))
            .default("[]")
            .about("files to copy into the worktree"),
    ],
};

pub(super) static LABELS: Object = Object {
    title: "`labels`",
    fields: &[
        Field::new("enabled", ValueKind::Bool).about("show the state of the work with labels"),
        Field::new("prefix", ValueKind::Text).about("prefix of these labels"),
    ],
};

pub(super) static DEPENDENCY: Object = Object {
    title: "`dependency`",
    fields: &[Field::new("resolve", ValueKind::Bool).about("work on the dependencies of an issue first")],
};

/// `loop`, an alternative location of three keys.
pub(super) static LOOP: Object = Object {
    title: "`loop`",
    fields: &[
        Field::new("max_iterations", FROM_ONE).about("the same as `max_iterations`"),
        Field::new("completion_promise", ValueKind::Text).about("the same as `completion_keyword`"),
        Field::new("idle_timeout_secs", SECONDS).about("the same as `idle_timeout_secs`"),
    ],
};

/// `state`, an alternative location of `labels`.
pub(super) static STATE: Object = Object {
    title: "`state`",
    fields: &[
        Field::new("use_github_labels", ValueKind::Bool).about("the same as `labels.enabled`"),
        Field::new("label_prefix", ValueKind::Text).about("the same as `labels.prefix`"),
        Field::idle("use_scratchpad"),
        Field::idle("scratchpad_path"),
    ],
};

/// `session`, which has no effect.
pub(super) static SESSION: Object = Object {
    title: "`session`",
    fields: &[
        Field::new("manager", ValueKind::OneOf(&["auto", "native", "tmux", "zellij"]))
            .about("`auto` and `native` have no effect; the others are refused"),
        Field::idle("prefix"),
        Field::idle("capture_interval"),
        Field::idle("native"),
    ],
};

const RALPH_ONE_BACKEND: &str = "cannot be set for a hat: set it for a provider in `.saihai/config.toml`, and name that provider in `backend`";
const IN_SETTINGS: &str =
    "is not supported: describe the provider in `.saihai/config.toml`, and name it in `backend`";

pub(super) static RALPH: Object = Object {
    title: "a hat collection",
    fields: &[
        Field::new("hats", ValueKind::Map(&ValueKind::Object(&RALPH_HAT)))
            .about("hats by id, in order of priority"),
        Field::new("events", ValueKind::Map(&ValueKind::Object(&EVENT))).about("descriptions of topics"),
        Field::new("event_loop", ValueKind::Object(&EVENT_LOOP)).about("limits and completion of a run"),
        Field::new(PRIVATE_KEYS, ValueKind::Any).about("private keys, also `x-…`: they hold YAML anchors"),
        Field::new("cli", ValueKind::Object(&CLI)).about("provider of every turn"),
        Field::new("core", ValueKind::Object(&CORE)).about("text that starts every prompt"),
        Field::idle("adapters"),
        Field::idle("tui"),
        Field::idle("memories"),
        Field::idle("tasks"),
        Field::idle("skills"),
        Field::idle("features"),
        Field::idle("backpressure"),
        Field::new("hooks", ValueKind::Any).about("must be off"),
        Field::new("RObot", ValueKind::Any).about("must be off"),
        Field::refused_because("agent", "belongs into `cli` now: write `cli: {backend: NAME}`"),
        Field::refused_because("agent_priority", "is not supported: write `cli: {backend: NAME}`"),
        Field::refused_because(
            "prompt_file",
            "belongs into `event_loop` now: `event_loop: {prompt_file: …}`",
        ),
        Field::refused_because(
            "completion_promise",
            "belongs into `event_loop` now: `event_loop: {completion_promise: …}`",
        ),
        Field::refused_because(
            "max_iterations",
            "belongs into `event_loop` now: `event_loop: {max_iterations: …}`",
        ),
        Field::refused_because(
            "max_runtime",
            "belongs into `event_loop` now: `event_loop: {max_runtime_seconds: …}`",
        ),
        Field::refused_because("max_cost", "belongs into `event_loop` now: `event_loop: {max_cost_usd: …}`"),
    ],
};

pub(super) static RALPH_HAT: Object = Object {
    title: "a hat",
    fields: &[
        Field::required("name", ValueKind::Text).about("display name"),
        Field::new("description", ValueKind::Text).about("purpose; shown to people only"),
        Field::required("triggers", TOPICS).about("topics that activate it"),
        Field::new("publishes", TOPICS).default("[]").about("topics it may publish"),
        Field::new("instructions", ValueKind::Text).about("instructions for the agent in this role"),
        Field::new("extra_instructions", ValueKind::TEXTS)
            .about("additional instructions, after `instructions`"),
        Field::new("default_publishes", ValueKind::Text)
            .about("topic to publish if a reminded turn also reports none"),
        Field::new("max_activations", FROM_ONE).about("maximum activations"),
        Field::new("timeout", FROM_ONE).about("timeout of a turn, in seconds"),
        Field::new("concurrency", FROM_ONE).about("must be `1`"),
        Field::idle("scratchpad"),
        Field::new("backend", ValueKind::Either(&[ValueKind::Text, ValueKind::Object(&HAT_BACKEND)]))
            .about("provider of this hat: a name, or `{type: NAME}`; absent: `cli.backend`"),
        Field::refused_because("backend_args", RALPH_ONE_BACKEND).slug("removed-key"),
        Field::refused_because("args", RALPH_ONE_BACKEND).slug("removed-key"),
        Field::refused_because("model", RALPH_ONE_BACKEND).slug("removed-key"),
        Field::refused("aggregate").unless_off(),
        Field::refused_because(
            "disallowed_tools",
            "is not supported: Saihai cannot enforce it; `--max-permission` limits all agents",
        )
        .unless_off(),
        Field::refused("import").unless_off(),
    ],
};

pub(super) static HAT_BACKEND: Object = Object {
    title: "`backend` of a hat",
    fields: &[
        Field::required("type", ValueKind::Text).about("provider"),
        Field::refused_because("command", IN_SETTINGS),
        Field::refused_because("args", IN_SETTINGS),
        Field::refused_because("agent", IN_SETTINGS),
        Field::refused_because("prompt_mode", IN_SETTINGS),
        Field::refused_because("prompt_flag", IN_SETTINGS),
    ],
};

pub(super) static EVENT: Object = Object {
    title: "an event",
    fields: &[
        Field::new("description", ValueKind::Text)
            .about("meaning; part of the prompts of hats that can publish it"),
        Field::new("on_publish", ValueKind::Text).about("part of the prompts of hats that can publish it"),
        Field::new("on_trigger", ValueKind::Text).about("part of the prompts of hats that it activates"),
    ],
};

pub(super) static EVENT_LOOP: Object = Object {
    title: "`event_loop`",
    fields: &[
        Field::new("prompt", ValueKind::Text).about("task if the command line has none"),
        Field::new("prompt_file", ValueKind::Text).about("file with the task"),
        Field::new("completion_promise", ValueKind::Text)
            .default("\"LOOP_COMPLETE\"")
            .about("word that completes the run"),
        Field::new("cancellation_promise", ValueKind::Text).about("word that cancels the run"),
        Field::new("max_iterations", FROM_ONE).default("100").about("maximum turns of a run"),
        Field::new("starting_event", ValueKind::Text).default("\"task.start\"").about("first topic of a run"),
        Field::new("required_events", TOPICS)
            .default("[]")
            .about("topics that must be published before the run can complete"),
        Field::new("max_runtime_seconds", FROM_ONE).about("maximum active run time"),
        Field::new("max_cost_usd", ValueKind::Number { min: 0.0, above: true }).about("budget for a run"),
        Field::new("max_consecutive_failures", FROM_ONE)
            .default("5")
            .about("failed attempts in a row before the run stops"),
        Field::new("enforce_hat_scope", ValueKind::Bool)
            .default("false")
            .about("refuse topics that a hat does not list in `publishes`"),
        Field::new("idle_timeout_secs", FROM_ONE).about("maximum time without output from an agent"),
        Field::new("persistent", ValueKind::Bool).about("must be `false`"),
        Field::idle("checkpoint_interval"),
        Field::idle("cooldown_delay_seconds"),
        Field::idle("context_window_tokens"),
        Field::idle("mutation_score_warn_threshold"),
        Field::refused_because(
            "starting_hat",
            "is not supported: `starting_event` sets the first topic of a run",
        )
        .unless_off(),
    ],
};

pub(super) static CLI: Object = Object {
    title: "`cli`",
    fields: &[
        Field::new("backend", ValueKind::Text).about("provider; `auto`: from the settings"),
        Field::new("command", ValueKind::Text).about("program of `backend: custom`"),
        Field::new("args", ValueKind::List(&ValueKind::Text)).about("arguments of the program"),
        Field::new("prompt_mode", ValueKind::OneOf(&["arg", "stdin"]))
            .default("\"arg\"")
            .about("pass the prompt as the last argument, or on standard input"),
        Field::new("prompt_flag", ValueKind::Text).about("argument before the prompt"),
        Field::new("default_mode", ValueKind::OneOf(&["autonomous", "interactive"]))
            .about("must be `autonomous`"),
        Field::idle("idle_timeout_secs"),
        Field::idle("pty_mode"),
        Field::idle("pty_interactive"),
    ],
};

pub(super) static CORE: Object = Object {
    title: "`core`",
    fields: &[
        Field::new("guardrails", ValueKind::List(&ValueKind::Text)).about("list that starts every prompt"),
        Field::idle("scratchpad"),
        Field::idle("specs_dir"),
    ],
};
