//! Key tables of script files.

use crate::fields::{Field, Object, ValueKind};

const MANY: i64 = u32::MAX as i64;
/// A number of times, or a visit number.
pub(super) const COUNT: ValueKind = ValueKind::Integer { min: 1, max: MANY };
/// An exit code of a program.
pub(super) const EXIT_CODE: ValueKind = ValueKind::Integer { min: 0, max: 255 };
const TOKENS: ValueKind = ValueKind::Integer { min: 0, max: i64::MAX };

pub static SCRIPT: Object = Object {
    title: "a script",
    fields: &[
        Field::required("script", ValueKind::Integer { min: 1, max: 1 }).about("the version of the format"),
        Field::new("strict", ValueKind::Bool)
            .default("true")
            .about("a missing reply fails its turn, an unused one the command"),
        Field::required("replies", ValueKind::List(&ValueKind::Object(&REPLY)))
            .about("the replies, tried in this order"),
        Field::new("task", ValueKind::Text).about("the task, where none is given"),
        Field::new("expect", ValueKind::Object(&EXPECT)).about("the expected outcome of a run that plays it"),
        Field::new("answers", ValueKind::List(&ValueKind::Object(&ANSWER))).about("answers at gates"),
        Field::new("interactive", ValueKind::Bool)
            .about("play with or without a person at the terminal; absent: as the terminal is"),
        Field::new("recorded", ValueKind::Text)
            .about("the run it was recorded from; `rehearse` leaves its edits uncompared"),
    ],
};

/// Names of run outcomes. A test compares them with the model.
pub(super) const OUTCOMES: [&str; 6] =
    ["completed", "failed", "declined", "cancelled", "incomplete", "undelivered"];

pub(super) static EXPECT: Object = Object {
    title: "an expectation",
    fields: &[
        Field::new("outcome", ValueKind::OneOf(&OUTCOMES)).about("how the run ends"),
        Field::new("stages", ValueKind::List(&ValueKind::Text)).about("the stages it enters, in order"),
        Field::new("prompts", ValueKind::List(&ValueKind::Object(&PROMPT))).about("what it asks"),
    ],
};

pub(super) static ANSWER: Object = Object {
    title: "an answer",
    fields: &[
        Field::required("for", ValueKind::Text).about("the gate: a stage, such as `plan/input[1]`"),
        Field::new("visit", ValueKind::Any)
            .form(ValueKind::Either(&[COUNT, ValueKind::Filled(&COUNT), ValueKind::Text]))
            .about("a visit of the gate, a list of them, or `\"2..\"`; absent: any"),
        Field::new("answer", ValueKind::OneOf(&["yes", "no"])).about("at a gate that takes yes or no"),
        Field::new("text", ValueKind::Text)
            .about("the text of the answer; required if the gate takes a text"),
    ],
};

pub(super) static PROMPT: Object = Object {
    title: "an expected prompt",
    fields: &[
        Field::required("call", ValueKind::Text).about("of which call: `stage.visit.round.number`"),
        Field::required("sha256", ValueKind::Text)
            .about("SHA-256 of the prompt, as `saihai record` writes it"),
    ],
};

pub(super) static REPLY: Object = Object {
    title: "a reply",
    fields: &[
        Field::new("for", ValueKind::Text).about("`stage`, `stage/turn` or `stage#judge`; absent: any"),
        Field::new("visit", ValueKind::Any)
            .form(ValueKind::Either(&[COUNT, ValueKind::Filled(&COUNT), ValueKind::Text]))
            .about("a visit of the stage, a list of them, or `\"2..\"`; absent: any"),
        Field::new("prompt", ValueKind::Text).about("a regular expression the prompt must match"),
        Field::new("times", ValueKind::Either(&[COUNT, ValueKind::OneOf(&["*"])]))
            .default("1")
            .about("how often it may be used; `\"*\"`: always"),
        Field::new("text", ValueKind::Text).about("the text of the reply"),
        Field::new("structured", ValueKind::Any).about("a structured value; alone it also fills the text"),
        Field::new("exit", ValueKind::Any)
            .form(ValueKind::Either(&[EXIT_CODE, ValueKind::OneOf(&["timeout"])]))
            .about("the exit code of a program that the reply stands for, or `timeout`; absent: 0"),
        Field::new("session", ValueKind::Text).about("the name of the session"),
        Field::new("usage", ValueKind::Object(&USAGE)).about("tokens"),
        Field::new("cost", ValueKind::Number { min: 0.0, above: false }).about("US dollars"),
        Field::new("tools_used", ValueKind::List(&ValueKind::Object(&TOOL))).about("tools that were used"),
        Field::new("calls", COUNT)
            .about("how often its model is called; cut off where that is more than the turn may"),
        Field::new("delay", ValueKind::Duration { zero: true })
            .about("how long it takes, on the run's clock"),
        Field::new("fail", ValueKind::Object(&FAIL)).about("it fails instead"),
        Field::new("hang", ValueKind::Bool).default("false").about("it answers only to being stopped"),
        Field::new("writes", ValueKind::List(&ValueKind::Object(&WRITE))).about("files it writes"),
        Field::new("edits", ValueKind::List(&ValueKind::Object(&EDIT))).about("files it edits"),
        Field::new("runs", ValueKind::List(&ValueKind::Object(&RUN))).about("programs it runs"),
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
        Field::required("name", ValueKind::Text).about("its name"),
        Field::new("input", ValueKind::Any).about("what it was given"),
        Field::new("output", ValueKind::Any).about("what it answered"),
        Field::new("duration_ms", TOKENS).default("0").about("how long it took, in milliseconds"),
    ],
};

pub(super) static FAIL: Object = Object {
    title: "a failure",
    fields: &[
        Field::required("class", ValueKind::OneOf(&CLASSES)).about("its class"),
        Field::required("message", ValueKind::Text).about("its message"),
        Field::new("retry_after", ValueKind::Duration { zero: true }).about("how long to wait"),
        Field::new("until", ValueKind::Text).about("until when to wait: `2026-02-06T14:00:00Z`"),
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
        Field::required("path", ValueKind::Path).about("relative to the working directory"),
        Field::required("content", ValueKind::Text).about("all of the file"),
    ],
};

pub(super) static EDIT: Object = Object {
    title: "an edit",
    fields: &[
        Field::required("path", ValueKind::Path).about("relative to the working directory"),
        Field::required("find", ValueKind::Text).about("must occur once"),
        Field::required("replace", ValueKind::Text).about("stands there afterwards"),
    ],
};

pub(super) static RUN: Object = Object {
    title: "a program run",
    fields: &[
        Field::required("argv", ValueKind::Filled(&ValueKind::Text))
            .about("the program and its arguments; no shell"),
        Field::new("exit", ValueKind::Integer { min: -255, max: 255 })
            .default("0")
            .about("the exit code it must end with"),
    ],
};

pub(crate) static ENTRY: Object = Object {
    title: "a scenario entry",
    fields: &[
        Field::new("agent", ValueKind::Text)
            .aliases(&["persona"])
            .about("the persona it is for; absent: any"),
        Field::new("content", ValueKind::Text).about("the text of the reply; required"),
        Field::new("status", ValueKind::OneOf(&STATUSES)).default("\"done\"").about("how the turn ended"),
        Field::new("structured_output", ValueKind::Map(&ValueKind::Any)).about("a structured value"),
        Field::new("delay_ms", ValueKind::Number { min: 0.0, above: false }).about("how long it takes"),
        Field::new("wait_for_abort", ValueKind::Bool).about("it answers only to being stopped"),
        Field::new("error", ValueKind::Text).about("it fails with this message"),
        Field::new("failure_category", ValueKind::Text).about("why it failed"),
        Field::new("file_writes", ValueKind::List(&ValueKind::Object(&WRITE))).about("files it writes"),
        Field::new("stream_events", ValueKind::List(&ValueKind::Any)).about("tools shown while it runs"),
        Field::new("text_chunks", ValueKind::List(&ValueKind::Text))
            .about("pieces of text shown while it runs"),
    ],
};

const STATUSES: [&str; 7] = ["done", "approved", "rejected", "improve", "blocked", "rate_limited", "error"];
