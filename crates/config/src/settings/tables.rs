//! Key tables of the settings. All keys of all commands are here, so that a misspelt key is an error.

use super::LIMITS;
use super::review::REVIEW;
use super::work::WORK;
use crate::fields::{Field, Object, ValueKind};

use saihai_model::{SandboxChoice, VerdictMode};

pub const BUILT_IN_PROVIDERS: [&str; 10] =
    ["claude", "codex", "opencode", "gemini", "copilot", "acp", "command", "anthropic", "openai", "script"];

pub static SETTINGS: Object = Object {
    title: "the settings",
    fields: &[
        Field::new("provider", ValueKind::Text).about("default provider"),
        Field::new("language", ValueKind::OneOf(&["ja", "en"]))
            .about("language of built-in definitions and of `init`; default: from the locale"),
        Field::new("strict", ValueKind::Bool).default("false").about("treat warnings as errors"),
        Field::new("max_permission", ValueKind::OneOf(&["readonly", "edit-only", "edit"]))
            .about("maximum permission of any turn"),
        Field::new("reports_dir", ValueKind::Path)
            .default("\".saihai/reports\"")
            .about("directory for reports; default: `.takt/reports` if the project has a `.takt` directory"),
        Field::new("default_session", ValueKind::OneOf(&["refresh", "continue"]))
            .default("\"refresh\"")
            .about("default session of movements"),
        Field::new("judge_fallback", ValueKind::Bool)
            .default("true")
            .about("ask a judge if a reply has no status tag"),
        Field::new("verdict", ValueKind::OneOf(&VerdictMode::WORDS))
            .default("\"auto\"")
            .about("how agents report verdicts; `plain`: only by tags"),
        Field::new("checks", ValueKind::List(&ValueKind::Text))
            .default("[]")
            .about("shell lines that must all succeed, such as `cargo test`; built-in pieces run them after each change"),
        Field::new("notify", ValueKind::Filled(&ValueKind::Text))
            .about("program, with arguments, that gets a JSON event when a gate opens or a run ends"),
        Field::new("sandbox", SANDBOX)
            .about("sandbox of agent programs, or a program of your own that starts them; default: `off`"),
        Field::new("sandbox_required", ValueKind::Bool)
            .default("false")
            .about("refuse to run agents without a sandbox"),
        Field::new("sandbox_network", SANDBOX_NETWORK)
            .default("\"open\"")
            .about("network inside the sandbox: `open`, `none`, or a list such as `[\"api.example.com:443\"]`; all but `open` need `bwrap`"),
        Field::new("sandbox_read", ValueKind::List(&ValueKind::Path))
            .default("[]")
            .about("secret files that agents may read inside the sandbox, such as `.env`"),
        Field::new("sandbox_write", ValueKind::List(&ValueKind::Path))
            .default("[]")
            .about("more directories that agents may change inside the sandbox, such as `~/.cargo`"),
        Field::new("limits", ValueKind::Object(&LIMITS)).about("limits of a run"),
        Field::new("budget", ValueKind::Object(&BUDGET)).about("budget for a run"),
        Field::new("retry", ValueKind::Object(&RETRY)).about("retries after failures"),
        Field::new("providers", ValueKind::Map(&ValueKind::Object(&PROVIDER)))
            .about("providers by name"),
        Field::new("telemetry", ValueKind::Object(&TELEMETRY)).about("telemetry of runs"),
        Field::new("mcp", ValueKind::Object(&MCP)).about("settings of `saihai mcp`"),
        Field::new("review", ValueKind::Object(&REVIEW)).about("settings of `saihai review`"),
        Field::new("work", ValueKind::Object(&WORK)).about("settings of `saihai work`"),
        Field::new("distributed", ValueKind::Object(&DISTRIBUTED))
            .about("settings for runs on several machines"),
    ],
};

/// A word, or the command line of a wrapper.
const SANDBOX: ValueKind =
    ValueKind::Either(&[ValueKind::OneOf(&SandboxChoice::WORDS), ValueKind::Filled(&ValueKind::Text)]);

/// The check of the settings reads the hosts of a list.
const SANDBOX_NETWORK: ValueKind =
    ValueKind::Either(&[ValueKind::OneOf(&["open", "none"]), ValueKind::Filled(&ValueKind::Text)]);

const ATTEMPTS: ValueKind = ValueKind::Integer { min: 1, max: 100 };

/// Budget table, common to all places that accept a budget.
pub(super) static BUDGET: Object = Object {
    title: "a budget",
    fields: &[
        Field::new("usd", ValueKind::Number { min: 0.0, above: true }).about("US dollars"),
        Field::new("tokens", ValueKind::Integer { min: 1, max: i64::MAX }).about("input plus output tokens"),
        Field::new("turns", ValueKind::Integer { min: 1, max: i64::MAX })
            .about("prompts, answered or failed"),
        Field::new("minutes", ValueKind::Number { min: 0.0, above: true })
            .about("active run time; waiting for a person does not count"),
    ],
};

static RETRY: Object = Object {
    title: "`retry`",
    fields: &[
        Field::new("transient", ATTEMPTS)
            .default("4")
            .about("attempts in total at timeouts and server errors"),
        Field::new("rate_limited", ATTEMPTS)
            .default("6")
            .about("attempts in total at rate limits without a time"),
        Field::new("crashed", ATTEMPTS).default("2").about("attempts in total at unknown failures"),
        Field::new("max_wait", ValueKind::Duration { zero: true })
            .default("\"6h\"")
            .about("maximum wait for a rate limit"),
        Field::new("short_wait", ValueKind::Duration { zero: true })
            .default("\"90s\"")
            .about("maximum wait without `--wait`"),
        Field::new("on_quota", ValueKind::OneOf(&["park", "fail"]))
            .default("\"park\"")
            .about("`fail`: park without a wake-up time when a quota is used up"),
    ],
};

pub(super) static PROVIDER: Object = Object {
    title: "a provider",
    fields: &[
        Field::new("kind", ValueKind::OneOf(&BUILT_IN_PROVIDERS))
            .about("built-in provider that it is based on"),
        Field::new("program", ValueKind::Text).about("name to search on `PATH`, or absolute path"),
        Field::new("args", ValueKind::List(&ValueKind::Text)).default("[]").about("additional arguments"),
        Field::new("model", ValueKind::Text).about("default model"),
        Field::new("base_url", ValueKind::Text).about("address of the HTTP API"),
        Field::new("env_pass", ValueKind::List(&ValueKind::Text))
            .default("[]")
            .about("environment variables to pass"),
        Field::new("env", ValueKind::Map(&ValueKind::Text)).about("environment variables to set"),
        Field::new("system_prompt", ValueKind::Text).about("system prompt if the definition has none"),
        Field::new("tools", ValueKind::List(&ValueKind::Text)).about("tools if the definition names none"),
        Field::new("edit_mode", ValueKind::OneOf(&["acceptEdits"]))
            .about("claude only: never bypass permissions for turns that edit"),
        Field::new("honours", ValueKind::List(&ValueKind::OneOf(&["readonly", "edit", "full"])))
            .default("[]")
            .about("acp and command: permission levels that the program enforces"),
        Field::new("turn_timeout", ValueKind::Duration { zero: true })
            .default("\"60m\"")
            .about("timeout of one attempt; 0: none"),
        Field::new("idle_timeout", ValueKind::Duration { zero: true })
            .default("\"15m\"")
            .about("maximum time without output; 0: none"),
        Field::new("max_prompt", ValueKind::Integer { min: 1, max: i64::MAX })
            .about("maximum size of a prompt in bytes"),
        Field::new("fallback", ValueKind::Text).about("provider to ask after all attempts failed"),
        Field::new("price", ValueKind::Object(&PRICE)).about("price, if the provider reports no cost"),
        Field::new("protocol", ValueKind::OneOf(&["text", "json"]))
            .default("\"text\"")
            .about("command only: protocol"),
        Field::new("file", ValueKind::Path).about("script only: script file"),
        Field::new("trust", ValueKind::Bool)
            .default("false")
            .about("gemini only: start it in untrusted folders"),
        Field::new("sandbox", SANDBOX).about("sandbox of this provider; default: that of all providers"),
        Field::new("verdict", ValueKind::OneOf(&VerdictMode::WORDS))
            .about("how its agents report verdicts; default: as for all providers"),
    ],
};

const MONEY: ValueKind = ValueKind::Number { min: 0.0, above: false };

static PRICE: Object = Object {
    title: "a price",
    fields: &[
        Field::new("input", MONEY).about("US dollars per million input tokens"),
        Field::new("output", MONEY).about("US dollars per million output tokens"),
        Field::new("cached", MONEY).about("US dollars per million cached input tokens"),
        Field::new("turn", MONEY).about("US dollars per turn"),
    ],
};

static TELEMETRY: Object = Object {
    title: "`telemetry`",
    fields: &[Field::new("otel", ValueKind::Bool)
        .default("false")
        .about("send runs to the OpenTelemetry collector of OTEL_EXPORTER_OTLP_ENDPOINT while they run")],
};

static MCP: Object = Object {
    title: "`mcp`",
    fields: &[Field::new("gates", ValueKind::OneOf(&["person", "elicitation"]))
        .default("\"person\"")
        .about("who answers gates of runs that an agent started: only a person, or also the client's user by an elicitation")],
};

pub(super) static DISTRIBUTED: Object = Object {
    title: "`distributed`",
    fields: &[
        Field::new("server", ValueKind::Text).about("address of the server"),
        Field::new("namespace", ValueKind::Text).default("\"default\"").about("namespace on the server"),
        Field::new("queue", ValueKind::Text).default("\"saihai\"").about("queue of the workers"),
        Field::new("slots", ValueKind::Integer { min: 1, max: 1024 })
            .default("1")
            .about("maximum number of runs of a worker in parallel"),
        Field::new("blobs", ValueKind::Text).about("location of large texts"),
        Field::new("on_busy", ValueKind::OneOf(&["reject", "attach", "queue"]))
            .default("\"reject\"")
            .about("action if the run already exists"),
    ],
};
