//! Key tables of script files.

use crate::fields::{Field, Kind, Object};

const MANY: i64 = u32::MAX as i64;
/// A number of times, or a visit number.
pub(super) const COUNT: Kind = Kind::Integer { min: 1, max: MANY };
const TOKENS: Kind = Kind::Integer { min: 0, max: i64::MAX };

pub static SCRIPT: Object = Object {
    title: "a script",
    fields: &[
        Field::required("script", Kind::Integer { min: 1, max: 1 }).about("the version of the format"),
        Field::new("strict", Kind::Bool)
            .default("true")
            .about("a missing reply fails its turn, an unused one the command"),
        Field::required("replies", Kind::List(&Kind::Object(&REPLY)))
            .about("the replies, tried in this order"),
        Field::new("task", Kind::Text).about("the task, where none is given"),
        Field::new("expect", Kind::Object(&EXPECT)).about("what is expected of a run that plays it"),
        Field::new("answers", Kind::List(&Kind::Object(&ANSWER))).about("what is answered at gates"),
        Field::new("interactive", Kind::Bool)
            .about("played as if a person sat at the terminal, or as if none did; absent: as it is"),
        Field::new("recorded", Kind::Text)
            .about("the run it was recorded from; `rehearse` leaves its edits uncompared"),
    ],
};

/// Names of run outcomes. A test compares them with the model.
pub(super) const OUTCOMES: [&str; 6] =
    ["completed", "failed", "declined", "cancelled", "incomplete", "undelivered"];

pub(super) static EXPECT: Object = Object {
    title: "an expectation",
    fields: &[
        Field::new("outcome", Kind::OneOf(&OUTCOMES)).about("how the run ends"),
        Field::new("stages", Kind::List(&Kind::Text)).about("the stages it enters, in order"),
        Field::new("prompts", Kind::List(&Kind::Object(&PROMPT))).about("what it asks"),
    ],
};

pub(super) static ANSWER: Object = Object {
    title: "an answer",
    fields: &[
        Field::required("for", Kind::Text).about("the gate: a stage, such as `plan/input[1]`"),
        Field::new("visit", Kind::Any)
            .form(Kind::Either(&[COUNT, Kind::Filled(&COUNT), Kind::Text]))
            .about("a visit of the gate, a list of them, or `\"2..\"`; absent: any"),
        Field::new("answer", Kind::OneOf(&["yes", "no"])).about("at a gate that takes yes or no"),
        Field::new("text", Kind::Text).about("what is said; required where the gate takes a text"),
    ],
};

pub(super) static PROMPT: Object = Object {
    title: "an expected prompt",
    fields: &[
        Field::required("call", Kind::Text).about("of which call: `stage.visit.round.number`"),
        Field::required("sha256", Kind::Text).about("SHA-256 of the prompt, as `saihai record` writes it"),
    ],
};

pub(super) static REPLY: Object = Object {
    title: "a reply",
    fields: &[
        Field::new("for", Kind::Text).about("`stage`, `stage/turn` or `stage#judge`; absent: any"),
        Field::new("visit", Kind::Any)
            .form(Kind::Either(&[COUNT, Kind::Filled(&COUNT), Kind::Text]))
            .about("a visit of the stage, a list of them, or `\"2..\"`; absent: any"),
        Field::new("prompt", Kind::Text).about("a regular expression the prompt must match"),
        Field::new("times", Kind::Either(&[COUNT, Kind::OneOf(&["*"])]))
            .default("1")
            .about("how often it may be used; `\"*\"`: always"),
        Field::new("text", Kind::Text).about("what is said"),
        Field::new("structured", Kind::Any).about("a structured value; alone it also fills the text"),
        Field::new("session", Kind::Text).about("the name of the session"),
        Field::new("usage", Kind::Object(&USAGE)).about("tokens"),
        Field::new("cost", Kind::Number { min: 0.0, above: false }).about("US dollars"),
        Field::new("tools_used", Kind::List(&Kind::Object(&TOOL))).about("tools that were used"),
        Field::new("calls", COUNT)
            .about("how often its model is called; cut off where that is more than the turn may"),
        Field::new("delay", Kind::Duration { zero: true }).about("how long it takes, on the run's clock"),
        Field::new("fail", Kind::Object(&FAIL)).about("it fails instead"),
        Field::new("hang", Kind::Bool).default("false").about("it answers only to being stopped"),
        Field::new("writes", Kind::List(&Kind::Object(&WRITE))).about("files it writes"),
        Field::new("edits", Kind::List(&Kind::Object(&EDIT))).about("files it edits"),
        Field::new("runs", Kind::List(&Kind::Object(&RUN))).about("programs it runs"),
    ],
};

pub(super) static USAGE: Object = Object {
    title: "`usage`",
    fields: &[
        Field::new("input", TOKENS).about("tokens read"),
        Field::new("output", TOKENS).about("tokens written"),
        Field::new("cached", TOKENS).about("of the input, those served from a cache"),
        Field::new("reasoning", TOKENS).about("of the output, those spent on thinking"),
    ],
};

pub(super) static TOOL: Object = Object {
    title: "a tool that was used",
    fields: &[
        Field::required("name", Kind::Text).about("its name"),
        Field::new("input", Kind::Any).about("what it was given"),
        Field::new("output", Kind::Any).about("what it answered"),
        Field::new("duration_ms", TOKENS).default("0").about("how long it took, in milliseconds"),
    ],
};

pub(super) static FAIL: Object = Object {
    title: "a failure",
    fields: &[
        Field::required("class", Kind::OneOf(&CLASSES)).about("its class"),
        Field::required("message", Kind::Text).about("its message"),
        Field::new("retry_after", Kind::Duration { zero: true }).about("how long to wait"),
        Field::new("until", Kind::Text).about("until when to wait: `2026-02-06T14:00:00Z`"),
    ],
};

/// Names of failure classes. A test compares them with the model.
pub(super) const CLASSES: [&str; 10] = [
    "transient",
    "rate_limited",
    "quota",
    "auth",
    "bad_request",
    "missing",
    "session_lost",
    "refused",
    "cancelled",
    "crashed",
];

pub(super) static WRITE: Object = Object {
    title: "a write",
    fields: &[
        Field::required("path", Kind::Path).about("relative to the working directory"),
        Field::required("content", Kind::Text).about("all of the file"),
    ],
};

pub(super) static EDIT: Object = Object {
    title: "an edit",
    fields: &[
        Field::required("path", Kind::Path).about("relative to the working directory"),
        Field::required("find", Kind::Text).about("must occur once"),
        Field::required("replace", Kind::Text).about("stands there afterwards"),
    ],
};

pub(super) static RUN: Object = Object {
    title: "a program run",
    fields: &[
        Field::required("argv", Kind::Filled(&Kind::Text)).about("the program and its arguments; no shell"),
        Field::new("exit", Kind::Integer { min: -255, max: 255 })
            .default("0")
            .about("the exit code it must end with"),
    ],
};

pub(crate) static ENTRY: Object = Object {
    title: "a scenario entry",
    fields: &[
        Field::new("agent", Kind::Text).aliases(&["persona"]).about("the persona it is for; absent: any"),
        Field::new("content", Kind::Text).about("what is said; required"),
        Field::new("status", Kind::OneOf(&STATUSES)).default("\"done\"").about("how the turn ended"),
        Field::new("structured_output", Kind::Map(&Kind::Any)).about("a structured value"),
        Field::new("delay_ms", Kind::Number { min: 0.0, above: false }).about("how long it takes"),
        Field::new("wait_for_abort", Kind::Bool).about("it answers only to being stopped"),
        Field::new("error", Kind::Text).about("it fails with this message"),
        Field::new("failure_category", Kind::Text).about("why it failed"),
        Field::new("file_writes", Kind::List(&Kind::Object(&WRITE))).about("files it writes"),
        Field::new("stream_events", Kind::List(&Kind::Any)).about("tools shown while it runs"),
        Field::new("text_chunks", Kind::List(&Kind::Text)).about("pieces of text shown while it runs"),
    ],
};

const STATUSES: [&str; 7] = ["done", "approved", "rejected", "improve", "blocked", "rate_limited", "error"];
