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
        Field::required("script", ValueKind::Integer { min: 1, max: 1 }).about("version of the format"),
        Field::new("strict", ValueKind::Bool)
            .default("true")
            .about("fail turns without a reply, and the command if replies are unused"),
        Field::required("replies", ValueKind::List(&ValueKind::Object(&REPLY)))
            .about("replies, tried in this order"),
        Field::new("task", ValueKind::Text).about("task if the command line has none"),
        Field::new("expect", ValueKind::Object(&EXPECT))
            .about("expected outcome of a run that plays the script"),
        Field::new("answers", ValueKind::List(&ValueKind::Object(&ANSWER))).about("answers at gates"),
        Field::new("interactive", ValueKind::Bool)
            .about("play with or without a person at the terminal; absent: depends on the terminal"),
        Field::new("recorded", ValueKind::Text)
            .about("run it was recorded from; `rehearse` ignores its edits"),
    ],
};

/// Names of run outcomes. A test compares them with the model.
pub(super) const OUTCOMES: [&str; 6] =
    ["completed", "failed", "declined", "cancelled", "incomplete", "undelivered"];

pub(super) static EXPECT: Object = Object {
    title: "an expectation",
    fields: &[
        Field::new("outcome", ValueKind::OneOf(&OUTCOMES)).about("outcome of the run"),
        Field::new("stages", ValueKind::List(&ValueKind::Text)).about("stages that the run enters, in order"),
        Field::new("prompts", ValueKind::List(&ValueKind::Object(&PROMPT))).about("prompts of the run"),
    ],
};

pub(super) static ANSWER: Object = Object {
    title: "an answer",
    fields: &[
        Field::required("for", ValueKind::Text).about("gate: a stage, such as `plan/input[1]`"),
        Field::new("visit", ValueKind::Any)
            .form(ValueKind::Either(&[COUNT, ValueKind::Filled(&COUNT), ValueKind::Text]))
            .about("visit of the gate, a list of visits, or `\"2..\"`; absent: any"),
        Field::new("answer", ValueKind::OneOf(&["yes", "no"])).about("answer at a yes/no gate"),
        Field::new("text", ValueKind::Text).about("text of the answer; required at a text gate"),
    ],
};

pub(super) static PROMPT: Object = Object {
    title: "an expected prompt",
    fields: &[
        Field::required("call", ValueKind::Text).about("call of the prompt: `stage.visit.round.number`"),
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
            .about("visit of the stage, a list of visits, or `\"2..\"`; absent: any"),
        Field::new("prompt", ValueKind::Text).about("regular expression that the prompt must match"),
        Field::new("times", ValueKind::Either(&[COUNT, ValueKind::OneOf(&["*"])]))
            .default("1")
            .about("maximum uses; `\"*\"`: unlimited"),
        Field::new("text", ValueKind::Text).about("text of the reply"),
        Field::new("structured", ValueKind::Any).about("structured value; alone, it is also the text"),
        Field::new("exit", ValueKind::Any)
            .form(ValueKind::Either(&[EXIT_CODE, ValueKind::OneOf(&["timeout"])]))
            .about("exit code of the program that the reply stands for, or `timeout`; absent: 0"),
        Field::new("session", ValueKind::Text).about("name of the session"),
        Field::new("usage", ValueKind::Object(&USAGE)).about("used tokens"),
        Field::new("cost", ValueKind::Number { min: 0.0, above: false }).about("cost in US dollars"),
        Field::new("tools_used", ValueKind::List(&ValueKind::Object(&TOOL)))
            .about("tools that the agent used"),
        Field::new("calls", COUNT).about("number of model calls; the reply is cut off at the turn's limit"),
        Field::new("delay", ValueKind::Duration { zero: true }).about("duration on the run's clock"),
        Field::new("fail", ValueKind::Object(&FAIL)).about("failure instead of a reply"),
        Field::new("hang", ValueKind::Bool).default("false").about("never reply; wait until stopped"),
        Field::new("writes", ValueKind::List(&ValueKind::Object(&WRITE))).about("files to write"),
        Field::new("edits", ValueKind::List(&ValueKind::Object(&EDIT))).about("files to edit"),
        Field::new("runs", ValueKind::List(&ValueKind::Object(&RUN))).about("programs to run"),
    ],
};

pub(super) static USAGE: Object = Object {
    title: "`usage`",
    fields: &[
        Field::new("input", TOKENS).about("input tokens"),
        Field::new("output", TOKENS).about("output tokens"),
        Field::new("cached", TOKENS).about("cached tokens of the input"),
        Field::new("reasoning", TOKENS).about("reasoning tokens of the output"),
    ],
};

pub(super) static TOOL: Object = Object {
    title: "a tool that was used",
    fields: &[
        Field::required("name", ValueKind::Text).about("name"),
        Field::new("input", ValueKind::Any).about("input"),
        Field::new("output", ValueKind::Any).about("output"),
        Field::new("duration_ms", TOKENS).default("0").about("duration in milliseconds"),
    ],
};

pub(super) static FAIL: Object = Object {
    title: "a failure",
    fields: &[
        Field::required("class", ValueKind::OneOf(&CLASSES)).about("failure class"),
        Field::required("message", ValueKind::Text).about("error message"),
        Field::new("retry_after", ValueKind::Duration { zero: true }).about("time to wait"),
        Field::new("until", ValueKind::Text).about("end of the wait: `2026-02-06T14:00:00Z`"),
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
        Field::required("path", ValueKind::Path).about("path relative to the working directory"),
        Field::required("content", ValueKind::Text).about("whole content of the file"),
    ],
};

pub(super) static EDIT: Object = Object {
    title: "an edit",
    fields: &[
        Field::required("path", ValueKind::Path).about("path relative to the working directory"),
        Field::required("find", ValueKind::Text).about("text that must occur once"),
        Field::required("replace", ValueKind::Text).about("replacement"),
    ],
};

pub(super) static RUN: Object = Object {
    title: "a program run",
    fields: &[
        Field::required("argv", ValueKind::Filled(&ValueKind::Text)).about("program and arguments; no shell"),
        Field::new("exit", ValueKind::Integer { min: -255, max: 255 })
            .default("0")
            .about("required exit code"),
    ],
};

pub(crate) static ENTRY: Object = Object {
    title: "a scenario entry",
    fields: &[
        Field::new("agent", ValueKind::Text)
            .aliases(&["persona"])
            .about("persona that gets this reply; absent: any"),
        Field::new("content", ValueKind::Text).about("text of the reply; required"),
        Field::new("status", ValueKind::OneOf(&STATUSES)).default("\"done\"").about("result of the turn"),
        Field::new("structured_output", ValueKind::Map(&ValueKind::Any)).about("structured value"),
        Field::new("delay_ms", ValueKind::Number { min: 0.0, above: false })
            .about("duration in milliseconds"),
        Field::new("wait_for_abort", ValueKind::Bool).about("never reply; wait until stopped"),
        Field::new("error", ValueKind::Text).about("fail with this message"),
        Field::new("failure_category", ValueKind::Text).about("cause of the failure"),
        Field::new("file_writes", ValueKind::List(&ValueKind::Object(&WRITE))).about("files to write"),
        Field::new("stream_events", ValueKind::List(&ValueKind::Any)).about("tools to show during the turn"),
        Field::new("text_chunks", ValueKind::List(&ValueKind::Text))
            .about("pieces of text to show during the turn"),
    ],
};

const STATUSES: [&str; 7] = ["done", "approved", "rejected", "improve", "blocked", "rate_limited", "error"];
