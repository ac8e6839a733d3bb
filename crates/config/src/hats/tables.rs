//! Keys of `orch.yml`, as data (H-10, H-11, H-17, H-18).

use crate::{Field, Kind, Object};

const TOPICS: Kind = Kind::List(&Kind::Text);
const FROM_ONE: Kind = Kind::Integer { min: 1, max: u32::MAX as i64 };
const SECONDS: Kind = Kind::Integer { min: 1, max: u32::MAX as i64 };

const ONE_MODEL: &str = "cannot be set for a hat: all hats share one model and one backend; set `model:` at the top of the file, or use `--model`";
const ONE_BACKEND: &str = "cannot be set for a hat: all hats share one model and one backend; set `backend:` at the top of the file, or use `--provider`";
const FILE_ORDER: &str =
    "cannot be set for a hat: the order in the file decides; move the hat that is to win to the top";
const FOLLOWED: &str = "is not supported: runs are followed with `saihai log -f` or the dashboard";

pub static ORCH: Object = Object {
    title: "a hats file",
    fields: &[
        Field::new("hats", Kind::Map(&Kind::Object(&HAT)))
            .about("the hats by id; their order is their priority"),
        Field::new("backend", BACKEND_FORMS).about("who answers every turn: a provider, or `{type, model}`"),
        Field::new("model", Kind::Text).about("with which model; absent: as the settings say"),
        Field::new("preset", Kind::Text).default("\"simple\"").about(
            "what the file stands on: `simple`, `tdd`, `spec-driven`, or the name of `presets/NAME.yml` in the project",
        ),
        Field::new("max_iterations", FROM_ONE)
            .default("100")
            .about("how many turns a run may take; `--max-iterations` wins"),
        Field::new("completion_keyword", Kind::Text)
            .default("\"LOOP_COMPLETE\"")
            .about("the word on a line of its own that completes the run"),
        Field::new("auto", Kind::Bool).about(
            "`false`: a person is asked at every gate that is not set to `false`; `true`: every gate is approved; absent: only the gates listed ask",
        ),
        Field::new("gates", GATES_FORMS).about(
            "where a person is asked: `pre-loop`, `post-completion`, `before-pr`, or a topic before it is routed",
        ),
        Field::new("create_pr", Kind::Bool).about(
            "whether the work on an issue becomes a pull request; absent: as `saihai work` is told; `saihai run` delivers nothing",
        ),
        Field::new("worktree", Kind::Object(&WORKTREE)).about("the working tree of the work on an issue"),
        Field::new("labels", Kind::Object(&LABELS)).about("the labels of the work on an issue"),
        Field::new("dependency", Kind::Object(&DEPENDENCY)).about("what an issue depends on"),
        Field::new("loop", Kind::Object(&LOOP)).about("another place of three of these keys"),
        Field::new("state", Kind::Object(&STATE)).about("another place of `labels`"),
        Field::new("session", Kind::Object(&SESSION)).about("has no effect"),
        Field::new("version", Kind::Any).about("has no effect"),
        Field::new("starting_event", Kind::Text)
            .default("\"task.start\"")
            .about("the topic a run begins with"),
        Field::new("base_prompt", Kind::Text).about("stands at the head of every prompt"),
        Field::new("required_events", TOPICS)
            .default("[]")
            .about("topics that must have been published before the run can complete"),
        Field::new("enforce_hat_scope", Kind::Bool)
            .default("false")
            .about("whether a topic that a hat does not list in `publishes` is refused"),
        Field::new("stall_after", FROM_ONE)
            .default("3")
            .about("after so many replies in a row that report nothing the run stops"),
        Field::new("max_activations", FROM_ONE).about("how often each hat may be activated in one run"),
        Field::new("max_consecutive_failures", FROM_ONE)
            .default("5")
            .about("after so many failed attempts in a row the run stops"),
        Field::new("idle_timeout_secs", SECONDS)
            .about("how long an agent may say nothing; absent: as the settings say"),
        Field::new("max_runtime_seconds", SECONDS).about("how long a run may be driven"),
        Field::new("max_cost_usd", Kind::Number { min: 0.0, above: true }).about("what a run may cost"),
        Field::new("language", Kind::OneOf(&["ja", "en"])).about(
            "the language of everything that is added to prompts; absent: Japanese if a text of the file contains kana, else English",
        ),
        Field::refused_because("tmux", FOLLOWED),
        Field::refused_because("quality", "is not supported: let a hat run the checks and report what came of them"),
        Field::refused("auto_issue"),
        Field::refused("memories"),
        Field::refused_because("tasks", "is not supported: `saihai work` takes tasks from issues"),
        Field::refused_because("backends", "is not supported: providers are described in `.saihai/config.toml`"),
    ],
};

const BACKEND_FORMS: Kind = Kind::Either(&[Kind::Text, Kind::Object(&BACKEND)]);
const GATES_FORMS: Kind = Kind::Either(&[Kind::Map(&Kind::Bool), Kind::List(&Kind::Text)]);

/// Keys of a hat. There are only these four.
pub(super) static HAT: Object = Object {
    title: "a hat",
    fields: &[
        Field::required("name", Kind::Text).about("its display name"),
        Field::required("triggers", TOPICS).about(
            "the topics that activate it; `*` stands for one whole segment, a lone `*` for every topic; may be empty for `default` only",
        ),
        Field::required("publishes", TOPICS).about("the topics it may publish"),
        Field::required("instructions", Kind::Text).about("what the agent is told in this role"),
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
        Field::required("type", Kind::Text).about("the provider"),
        Field::new("model", Kind::Text).about("the same as `model` at the top of the file"),
    ],
};

pub(super) static WORKTREE: Object = Object {
    title: "`worktree`",
    fields: &[
        Field::new("enabled", Kind::Bool).about("whether the work on an issue has a working tree of its own"),
        Field::new("base_dir", Kind::Text).default("\".worktrees\"").about("where it is made"),
        Field::new("copy_files", Kind::List(&Kind::Text))
            .default("[]")
            .about("files that are copied into it"),
    ],
};

pub(super) static LABELS: Object = Object {
    title: "`labels`",
    fields: &[
        Field::new("enabled", Kind::Bool).about("whether the state of the work is shown by labels"),
        Field::new("prefix", Kind::Text).about("what they begin with"),
    ],
};

pub(super) static DEPENDENCY: Object = Object {
    title: "`dependency`",
    fields: &[Field::new("resolve", Kind::Bool).about("whether what an issue depends on is worked on first")],
};

/// `loop`, an alternative location of three keys.
pub(super) static LOOP: Object = Object {
    title: "`loop`",
    fields: &[
        Field::new("max_iterations", FROM_ONE).about("the same as `max_iterations`"),
        Field::new("completion_promise", Kind::Text).about("the same as `completion_keyword`"),
        Field::new("idle_timeout_secs", SECONDS).about("the same as `idle_timeout_secs`"),
    ],
};

/// `state`, an alternative location of `labels`.
pub(super) static STATE: Object = Object {
    title: "`state`",
    fields: &[
        Field::new("use_github_labels", Kind::Bool).about("the same as `labels.enabled`"),
        Field::new("label_prefix", Kind::Text).about("the same as `labels.prefix`"),
        Field::new("use_scratchpad", Kind::Any).about("has no effect"),
        Field::new("scratchpad_path", Kind::Any).about("has no effect"),
    ],
};

/// `session`, which has no effect.
pub(super) static SESSION: Object = Object {
    title: "`session`",
    fields: &[
        Field::new("manager", Kind::OneOf(&["auto", "native", "tmux", "zellij"]))
            .about("`auto` and `native` have no effect; the others are refused"),
        Field::new("prefix", Kind::Any).about("has no effect"),
        Field::new("capture_interval", Kind::Any).about("has no effect"),
        Field::new("native", Kind::Any).about("has no effect"),
    ],
};
