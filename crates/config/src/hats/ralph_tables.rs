//! Keys of `ralph.yml` and of hat collections, as data (H-65 to H-71).

use crate::{Field, Kind, Object};

const TOPICS: Kind = Kind::List(&Kind::Text);
const FROM_ONE: Kind = Kind::Integer { min: 1, max: u32::MAX as i64 };

const ONE_BACKEND: &str = "cannot be set for a hat: all hats share one model and one backend; set `cli.backend`, or use `--provider` and `--model`";

const fn idle(name: &'static str) -> Field {
    Field::new(name, Kind::Any).about("has no effect")
}

pub(super) static RALPH: Object = Object {
    title: "a hat collection",
    fields: &[
        Field::new("hats", Kind::Map(&Kind::Object(&HAT)))
            .about("the hats by id; their order is their priority"),
        Field::new("events", Kind::Map(&Kind::Object(&EVENT))).about("what is said about topics"),
        Field::new("event_loop", Kind::Object(&EVENT_LOOP))
            .about("how far a run may go, and when it is done"),
        Field::new("cli", Kind::Object(&CLI)).about("who answers"),
        Field::new("core", Kind::Object(&CORE)).about("what every prompt begins with"),
        idle("adapters"),
        idle("tui"),
        idle("memories"),
        idle("tasks"),
        idle("skills"),
        idle("features"),
        idle("backpressure"),
        Field::new("hooks", Kind::Any).about("refused unless it is off"),
        Field::new("RObot", Kind::Any).about("refused unless it is off"),
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

pub(super) static HAT: Object = Object {
    title: "a hat",
    fields: &[
        Field::required("name", Kind::Text).about("its display name"),
        Field::new("description", Kind::Text).about("what it is for; shown to people only"),
        Field::required("triggers", TOPICS).about("the topics that activate it"),
        Field::new("publishes", TOPICS).default("[]").about("the topics it may publish"),
        Field::new("instructions", Kind::Text).about("what the agent is told in this role"),
        Field::new("extra_instructions", Kind::TEXTS).about("more of the same, behind it"),
        Field::new("default_publishes", Kind::Text)
            .about("what is published when a reminded turn reports nothing either"),
        Field::new("max_activations", FROM_ONE).about("how often it may be activated"),
        Field::new("timeout", FROM_ONE).about("the deadline of a turn, in seconds"),
        Field::new("concurrency", FROM_ONE).about("`1`; more is refused"),
        idle("scratchpad"),
        Field::refused_because("backend", ONE_BACKEND).slug("removed-key"),
        Field::refused_because("backend_args", ONE_BACKEND).slug("removed-key"),
        Field::refused_because("args", ONE_BACKEND).slug("removed-key"),
        Field::refused_because("model", ONE_BACKEND).slug("removed-key"),
        Field::refused("aggregate").unless_off(),
        Field::refused_because(
            "disallowed_tools",
            "is not supported: it could not be kept; `--max-permission` bounds what agents may do",
        )
        .unless_off(),
        Field::refused("import").unless_off(),
    ],
};

pub(super) static EVENT: Object = Object {
    title: "an event",
    fields: &[
        Field::new("description", Kind::Text).about("what it means; told to whoever may publish it"),
        Field::new("on_publish", Kind::Text).about("told to whoever may publish it"),
        Field::new("on_trigger", Kind::Text).about("told to whoever is activated by it"),
    ],
};

pub(super) static EVENT_LOOP: Object = Object {
    title: "`event_loop`",
    fields: &[
        Field::new("prompt", Kind::Text).about("the task, where the command line gives none"),
        Field::new("prompt_file", Kind::Text).about("a file with the task"),
        Field::new("completion_promise", Kind::Text)
            .default("\"LOOP_COMPLETE\"")
            .about("the word that completes the run"),
        Field::new("cancellation_promise", Kind::Text).about("the word that cancels the run"),
        Field::new("max_iterations", FROM_ONE).default("100").about("how many turns a run may take"),
        Field::new("starting_event", Kind::Text)
            .default("\"task.start\"")
            .about("the topic a run begins with"),
        Field::new("required_events", TOPICS)
            .default("[]")
            .about("topics that must have been published first"),
        Field::new("max_runtime_seconds", FROM_ONE).about("how long a run may be driven"),
        Field::new("max_cost_usd", Kind::Number { min: 0.0, above: true }).about("what a run may cost"),
        Field::new("max_consecutive_failures", FROM_ONE)
            .default("5")
            .about("so many failed attempts stop the run"),
        Field::new("enforce_hat_scope", Kind::Bool)
            .default("false")
            .about("whether undeclared topics are refused"),
        Field::new("idle_timeout_secs", FROM_ONE).about("how long an agent may say nothing"),
        Field::new("persistent", Kind::Bool).about("`false`; `true` is refused"),
        idle("checkpoint_interval"),
        idle("cooldown_delay_seconds"),
        idle("context_window_tokens"),
        idle("mutation_score_warn_threshold"),
        Field::refused_because("starting_hat", "is not supported: `starting_event` says where a run begins")
            .unless_off(),
    ],
};

pub(super) static CLI: Object = Object {
    title: "`cli`",
    fields: &[
        Field::new("backend", Kind::Text).about("who answers; `auto` leaves it to the settings"),
        Field::new("command", Kind::Text).about("the program of `backend: custom`"),
        Field::new("args", Kind::List(&Kind::Text)).about("its arguments"),
        Field::new("prompt_mode", Kind::OneOf(&["arg", "stdin"]))
            .default("\"arg\"")
            .about("whether it is given the prompt as its last argument or on its input"),
        Field::new("prompt_flag", Kind::Text).about("the argument before that"),
        Field::new("default_mode", Kind::OneOf(&["autonomous", "interactive"])).about("`autonomous`"),
        idle("idle_timeout_secs"),
        idle("pty_mode"),
        idle("pty_interactive"),
    ],
};

pub(super) static CORE: Object = Object {
    title: "`core`",
    fields: &[
        Field::new("guardrails", Kind::List(&Kind::Text)).about("a list at the head of every prompt"),
        idle("scratchpad"),
        idle("specs_dir"),
    ],
};
