//! Key tables of the settings.

use super::later::{DISTRIBUTED, REVIEW, WORK};
use crate::fields::{Field, Kind, Object};

pub const BUILT_IN_PROVIDERS: [&str; 10] =
    ["claude", "codex", "opencode", "gemini", "copilot", "acp", "command", "anthropic", "openai", "script"];

pub static SETTINGS: Object = Object {
    title: "the settings",
    fields: &[
        Field::new("provider", Kind::Text).about("who answers where nothing else names a provider"),
        Field::new("language", Kind::OneOf(&["ja", "en"]))
            .about("the language of built-in definitions and of `init`; by default that of the locale"),
        Field::new("strict", Kind::Bool).default("false").about("warnings count as errors"),
        Field::new("max_permission", Kind::OneOf(&["readonly", "edit-only", "edit"]))
            .about("the most any turn may do"),
        Field::new("reports_dir", Kind::Path).default("\".takt/reports\"").about("where reports are kept"),
        Field::new("default_session", Kind::OneOf(&["refresh", "continue"]))
            .default("\"refresh\"")
            .about("the session of a movement that does not say"),
        Field::new("judge_fallback", Kind::Bool)
            .default("true")
            .about("whether a judge is asked where a reply has no status tag"),
        Field::new("limits", Kind::Object(&LIMITS)).about("how far a run may go"),
        Field::new("budget", Kind::Object(&BUDGET)).about("what a run may cost"),
        Field::new("retry", Kind::Object(&RETRY)).about("what is done about failures"),
        Field::new("providers", Kind::Map(&Kind::Object(&PROVIDER))).about("the providers, by name"),
        Field::new("review", Kind::Object(&REVIEW)).about("`saihai review`"),
        Field::new("work", Kind::Object(&WORK)).about("`saihai work`"),
        Field::new("distributed", Kind::Object(&DISTRIBUTED)).about("runs on several machines"),
    ],
};

const ATTEMPTS: Kind = Kind::Integer { min: 1, max: 100 };

static LIMITS: Object = Object {
    title: "`limits`",
    fields: &[
        Field::new("hard_iterations", Kind::Integer { min: 1, max: 100_000 })
            .default("100")
            .about("the most iterations of step agents, whatever they say themselves"),
        Field::new("run_timeout", Kind::Duration { zero: false })
            .about("how long a run may be driven; also ends the turn under way"),
        Field::new("concurrency", Kind::Integer { min: 1, max: 1024 })
            .about("how many turns of one stage are asked at the same time"),
    ],
};

/// Budget table, common to all places that accept a budget.
pub(super) static BUDGET: Object = Object {
    title: "a budget",
    fields: &[
        Field::new("usd", Kind::Number { min: 0.0, above: true }).about("US dollars"),
        Field::new("tokens", Kind::Integer { min: 1, max: i64::MAX }).about("input plus output tokens"),
        Field::new("turns", Kind::Integer { min: 1, max: i64::MAX }).about("prompts answered or failed"),
        Field::new("minutes", Kind::Number { min: 0.0, above: true })
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
        Field::new("max_wait", Kind::Duration { zero: true }).default("\"6h\"").about("the longest wait"),
        Field::new("short_wait", Kind::Duration { zero: true })
            .default("\"90s\"")
            .about("the longest wait that is sat out without `--wait`"),
        Field::new("on_quota", Kind::OneOf(&["park", "fail"]))
            .default("\"park\"")
            .about("whether a used-up quota has a wake-up time"),
    ],
};

pub(super) static PROVIDER: Object = Object {
    title: "a provider",
    fields: &[
        Field::new("kind", Kind::OneOf(&BUILT_IN_PROVIDERS)).about("which built-in provider it is like"),
        Field::new("program", Kind::Text).about("a bare name searched on `PATH`, or an absolute path"),
        Field::new("args", Kind::List(&Kind::Text)).default("[]").about("further arguments"),
        Field::new("model", Kind::Text).about("the model where nothing else names one"),
        Field::new("base_url", Kind::Text).about("where its HTTP interface is"),
        Field::new("env_pass", Kind::List(&Kind::Text)).default("[]").about("variables passed on to it"),
        Field::new("env", Kind::Map(&Kind::Text)).about("variables set for it"),
        Field::new("system_prompt", Kind::Text).about("the system prompt where a definition has none"),
        Field::new("tools", Kind::List(&Kind::Text)).about("the tools where a definition names none"),
        Field::new("edit_mode", Kind::OneOf(&["acceptEdits"]))
            .about("claude only: never bypass permissions for turns that edit"),
        Field::new("honours", Kind::List(&Kind::OneOf(&["readonly", "edit", "full"])))
            .default("[]")
            .about("acp and command: the levels the program itself enforces"),
        Field::new("turn_timeout", Kind::Duration { zero: true })
            .default("\"60m\"")
            .about("the deadline of one attempt; 0 is none"),
        Field::new("idle_timeout", Kind::Duration { zero: true })
            .default("\"15m\"")
            .about("the longest silence; 0 is none"),
        Field::new("max_prompt", Kind::Integer { min: 1, max: i64::MAX }).about("the most bytes of a prompt"),
        Field::new("fallback", Kind::Text).about("who answers when all attempts are spent"),
        Field::new("price", Kind::Object(&PRICE)).about("what it costs, where it does not say so itself"),
        Field::new("protocol", Kind::OneOf(&["text", "json"]))
            .default("\"text\"")
            .about("command only: how it is spoken to"),
        Field::new("file", Kind::Path).about("script only: the file it answers from"),
        Field::new("trust", Kind::Bool).default("false").about("gemini only: start it in untrusted folders"),
    ],
};

const MONEY: Kind = Kind::Number { min: 0.0, above: false };

static PRICE: Object = Object {
    title: "a price",
    fields: &[
        Field::new("input", MONEY).about("US dollars per million input tokens"),
        Field::new("output", MONEY).about("US dollars per million output tokens"),
        Field::new("cached", MONEY).about("US dollars per million input tokens served from a cache"),
        Field::new("turn", MONEY).about("US dollars per turn"),
    ],
};
