//! Key tables of the settings. All keys of all commands are here, so that a misspelt key is an error.

use super::LIMITS;
use super::review::REVIEW;
use super::work::WORK;
use crate::fields::{Field, Object, ValueKind};

pub const BUILT_IN_PROVIDERS: [&str; 10] =
    ["claude", "codex", "opencode", "gemini", "copilot", "acp", "command", "anthropic", "openai", "script"];

pub static SETTINGS: Object = Object {
    title: "the settings",
    fields: &[
        Field::new("provider", ValueKind::Text).about("the default provider"),
        Field::new("language", ValueKind::OneOf(&["ja", "en"]))
            .about("the language of built-in definitions and of `init`; by default that of the locale"),
        Field::new("strict", ValueKind::Bool).default("false").about("warnings count as errors"),
        Field::new("max_permission", ValueKind::OneOf(&["readonly", "edit-only", "edit"]))
            .about("the most any turn may do"),
        Field::new("reports_dir", ValueKind::Path)
            .default("\".saihai/reports\"")
            .about("directory of reports; by default `.takt/reports` if the project has a `.takt` directory"),
        Field::new("default_session", ValueKind::OneOf(&["refresh", "continue"]))
            .default("\"refresh\"")
            .about("the default session of movements"),
        Field::new("judge_fallback", ValueKind::Bool)
            .default("true")
            .about("whether a judge is asked where a reply has no status tag"),
        Field::new("checks", ValueKind::List(&ValueKind::Text))
            .default("[]")
            .about("shell lines that must all succeed, such as `cargo test`; the built-in pieces run them after each change"),
        Field::new("notify", ValueKind::Filled(&ValueKind::Text))
            .about("a program and its arguments; it gets a JSON event when a gate opens or a run ends"),
        Field::new("limits", ValueKind::Object(&LIMITS)).about("how far a run may go"),
        Field::new("budget", ValueKind::Object(&BUDGET)).about("budget for a run"),
        Field::new("retry", ValueKind::Object(&RETRY)).about("what is done about failures"),
        Field::new("providers", ValueKind::Map(&ValueKind::Object(&PROVIDER)))
            .about("the providers, by name"),
        Field::new("review", ValueKind::Object(&REVIEW)).about("`saihai review`"),
        Field::new("work", ValueKind::Object(&WORK)).about("`saihai work`"),
        Field::new("distributed", ValueKind::Object(&DISTRIBUTED)).about("runs on several machines"),
    ],
};

const ATTEMPTS: ValueKind = ValueKind::Integer { min: 1, max: 100 };

/// Budget table, common to all places that accept a budget.
pub(super) static BUDGET: Object = Object {
    title: "a budget",
    fields: &[
        Field::new("usd", ValueKind::Number { min: 0.0, above: true }).about("US dollars"),
        Field::new("tokens", ValueKind::Integer { min: 1, max: i64::MAX }).about("input plus output tokens"),
        Field::new("turns", ValueKind::Integer { min: 1, max: i64::MAX }).about("prompts answered or failed"),
        Field::new("minutes", ValueKind::Number { min: 0.0, above: true })
            .about("time the run is driven; waiting for a person is not counted"),
    ],
};

static RETRY: Object = Object {
    title: "`retry`",
    fields: &[
        Field::new("transient", ATTEMPTS)
            .default("4")
            .about("attempts in all at time-outs and server errors"),
        Field::new("rate_limited", ATTEMPTS)
            .default("6")
            .about("attempts in all at rate limits without a time"),
        Field::new("crashed", ATTEMPTS).default("2").about("attempts in all at everything unexplained"),
        Field::new("max_wait", ValueKind::Duration { zero: true })
            .default("\"6h\"")
            .about("the longest wait"),
        Field::new("short_wait", ValueKind::Duration { zero: true })
            .default("\"90s\"")
            .about("the longest wait that is sat out without `--wait`"),
        Field::new("on_quota", ValueKind::OneOf(&["park", "fail"]))
            .default("\"park\"")
            .about("whether a used-up quota has a wake-up time"),
    ],
};

pub(super) static PROVIDER: Object = Object {
    title: "a provider",
    fields: &[
        Field::new("kind", ValueKind::OneOf(&BUILT_IN_PROVIDERS)).about("which built-in provider it is like"),
        Field::new("program", ValueKind::Text).about("a bare name searched on `PATH`, or an absolute path"),
        Field::new("args", ValueKind::List(&ValueKind::Text)).default("[]").about("further arguments"),
        Field::new("model", ValueKind::Text).about("the model where nothing else names one"),
        Field::new("base_url", ValueKind::Text).about("where its HTTP interface is"),
        Field::new("env_pass", ValueKind::List(&ValueKind::Text))
            .default("[]")
            .about("variables passed on to it"),
        Field::new("env", ValueKind::Map(&ValueKind::Text)).about("variables set for it"),
        Field::new("system_prompt", ValueKind::Text).about("the system prompt where a definition has none"),
        Field::new("tools", ValueKind::List(&ValueKind::Text))
            .about("the tools where a definition names none"),
        Field::new("edit_mode", ValueKind::OneOf(&["acceptEdits"]))
            .about("claude only: never bypass permissions for turns that edit"),
        Field::new("honours", ValueKind::List(&ValueKind::OneOf(&["readonly", "edit", "full"])))
            .default("[]")
            .about("acp and command: the levels the program itself enforces"),
        Field::new("turn_timeout", ValueKind::Duration { zero: true })
            .default("\"60m\"")
            .about("the deadline of one attempt; 0 is none"),
        Field::new("idle_timeout", ValueKind::Duration { zero: true })
            .default("\"15m\"")
            .about("the longest silence; 0 is none"),
        Field::new("max_prompt", ValueKind::Integer { min: 1, max: i64::MAX })
            .about("the most bytes of a prompt"),
        Field::new("fallback", ValueKind::Text).about("the provider after all attempts failed"),
        Field::new("price", ValueKind::Object(&PRICE))
            .about("what it costs, where it does not say so itself"),
        Field::new("protocol", ValueKind::OneOf(&["text", "json"]))
            .default("\"text\"")
            .about("command only: how it is spoken to"),
        Field::new("file", ValueKind::Path).about("script only: the file it answers from"),
        Field::new("trust", ValueKind::Bool)
            .default("false")
            .about("gemini only: start it in untrusted folders"),
    ],
};

const MONEY: ValueKind = ValueKind::Number { min: 0.0, above: false };

static PRICE: Object = Object {
    title: "a price",
    fields: &[
        Field::new("input", MONEY).about("US dollars per million input tokens"),
        Field::new("output", MONEY).about("US dollars per million output tokens"),
        Field::new("cached", MONEY).about("US dollars per million input tokens served from a cache"),
        Field::new("turn", MONEY).about("US dollars per turn"),
    ],
};

pub(super) static DISTRIBUTED: Object = Object {
    title: "`distributed`",
    fields: &[
        Field::new("server", ValueKind::Text).about("the address of the server"),
        Field::new("namespace", ValueKind::Text).default("\"default\"").about("the namespace on it"),
        Field::new("queue", ValueKind::Text).default("\"saihai\"").about("the queue workers take from"),
        Field::new("slots", ValueKind::Integer { min: 1, max: 1024 })
            .default("1")
            .about("how many runs a worker drives at the same time"),
        Field::new("blobs", ValueKind::Text).about("where large texts are kept"),
        Field::new("on_busy", ValueKind::OneOf(&["reject", "attach", "queue"]))
            .default("\"reject\"")
            .about("what is done where the run exists already"),
    ],
};
