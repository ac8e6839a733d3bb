//! Replies of a script, and TAKT mock scenarios.

use regex::Regex;
use saihai_model::{
    FailureClass, Json, Millis, Moment, ProgramExit, Script, ScriptEdit, ScriptFailure, ScriptReply,
    ScriptRun, ScriptWrite, Times, ToolUse, Usage, Usd, Visits,
};

use super::TargetNames;
use super::tables::{COUNT, EDIT, ENTRY, EXIT_CODE, FAIL, REPLY, RUN, TOOL, USAGE, WRITE};
use crate::diagnostic::{Diagnostics, Located, Severity, quoted};
use crate::document::{Document, Node, Value};
use crate::fields::{Cursor, Fields};

/// Maximum length of a prompt pattern in bytes.
const LONGEST_PATTERN: usize = 8 * 1024;

pub(super) fn read(
    cursor: &Cursor<'_>,
    names: &TargetNames<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<ScriptReply> {
    let fields = Fields::read(cursor, &REPLY, diagnostics)?;
    check_conflicts(&fields, diagnostics);
    let text = |name| fields.text(name).map(|text| text.value);
    let target = fields.text("for").and_then(|name| names.target(&name, diagnostics));
    if let Some(key) = fields.key("exit") {
        let is_for_program = match &target {
            Some(target) => names.may_be_program(target),
            // A wrong name is already reported.
            None => fields.has("for"),
        };
        if !is_for_program {
            let message = "`exit` has no effect: this reply is not for a movement that runs a program";
            diagnostics.push(key.error("no-effect", message).hint("name the movement in `for`"));
        }
    }
    Some(ScriptReply {
        origin: cursor.location().name(),
        target,
        role: None,
        visits: fields.any("visit").and_then(|visit| visits(&visit, diagnostics)),
        prompt: fields.text("prompt").and_then(|pattern| checked_pattern(pattern, diagnostics)),
        times: times(&fields),
        text: text("text"),
        structured: fields.any("structured").and_then(|value| json(&value, diagnostics)),
        exit: fields.any("exit").and_then(|exit| program_exit(&exit, diagnostics)),
        session: text("session"),
        usage: usage(&fields, diagnostics),
        cost: fields.number("cost").and_then(|cost| dollars(&cost, diagnostics)),
        tools_used: fields.list("tools_used").iter().filter_map(|one| tool(one, diagnostics)).collect(),
        calls: fields.count("calls").map(|calls| calls.value),
        delay: fields.duration("delay").map(|delay| delay.value),
        fail: fields.object("fail", &FAIL, diagnostics).and_then(|fail| failure(&fail, diagnostics)),
        hang: fields.bool("hang").is_some_and(|hang| hang.value),
        writes: fields.list("writes").iter().filter_map(|one| write(one, diagnostics)).collect(),
        edits: fields.list("edits").iter().filter_map(|one| edit(one, diagnostics)).collect(),
        runs: fields.list("runs").iter().filter_map(|one| run(one, diagnostics)).collect(),
        progress: Vec::new(),
    })
}

/// Reports conflicting keys: `fail` excludes a text, and `hang` makes both ineffective.
fn check_conflicts(fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    let given = |name: &'static str| fields.key(name).map(|key| (name, key));
    if let Some(fail) = fields.key("fail") {
        for (name, key) in ["text", "structured"].into_iter().filter_map(given) {
            let diagnostic = key.error("conflict", format!("`fail` excludes `{name}`")).label("never said");
            diagnostics.push(diagnostic.also(fail, "it fails"));
        }
    }
    if let Some(hang) = fields.key("hang").filter(|_| fields.bool("hang").is_some_and(|hang| hang.value)) {
        for (name, key) in ["text", "structured", "fail"].into_iter().filter_map(given) {
            let message = format!("`{name}` has no effect on a reply that hangs");
            diagnostics.push(key.warning("no-effect", message).also(hang, "it hangs"));
        }
    }
}

/// Parses the end of a program: an exit code or `timeout`.
fn program_exit(cursor: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<ProgramExit> {
    if cursor.node().as_text() == Some("timeout") {
        return Some(ProgramExit::Timeout);
    }
    let is_right = cursor.must_be(&EXIT_CODE, diagnostics);
    let code = cursor.node().as_integer().filter(|_| is_right)?;
    i32::try_from(code).ok().map(ProgramExit::Code)
}

/// Parses a visit, a list of visits, or `"2.."`.
pub(super) fn visits(cursor: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<Visits> {
    match &cursor.node().value {
        Value::Integer(_) => visit(cursor, diagnostics).map(|one| Visits::These(vec![one])),
        Value::List(items) if !items.is_empty() => {
            let visits: Vec<Option<u32>> = cursor.items().map(|item| visit(&item, diagnostics)).collect();
            visits.into_iter().collect::<Option<Vec<u32>>>().map(Visits::These)
        }
        Value::Text(text) if from(text).is_some() => from(text).map(Visits::From),
        _ => {
            let message = "`visit` must be a number from 1, a list of them, or a text such as \"2..\"";
            diagnostics.push(cursor.error("bad-value", message).label("none of these"));
            None
        }
    }
}

fn visit(cursor: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<u32> {
    let right = cursor.must_be(&COUNT, diagnostics);
    cursor.node().as_integer().filter(|_| right).and_then(|number| u32::try_from(number).ok())
}

fn from(text: &str) -> Option<u32> {
    let digits = text.strip_suffix("..")?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|first| plain && *first >= 1)
}

fn times(fields: &Fields<'_>) -> Times {
    match fields
        .any("times")
        .map(|times| times.node().as_integer().and_then(|count| u32::try_from(count).ok()))
    {
        Some(Some(count)) => Times::Exactly(count),
        Some(None) => Times::Always,
        None => Times::default(),
    }
}

fn checked_pattern(pattern: Located<String>, diagnostics: &mut Diagnostics) -> Option<String> {
    if pattern.value.len() > LONGEST_PATTERN {
        diagnostics.push(pattern.error("too-large", "`prompt` is a pattern of more than 8 KiB"));
        return None;
    }
    match Regex::new(&pattern.value) {
        Ok(_) => Some(pattern.value),
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            let message = format!("`prompt` is not a regular expression: {reason}");
            let hint = "look-around and back-references are not supported";
            let hint = reason.contains("not supported").then(|| hint.to_owned());
            diagnostics.push(pattern.error("bad-regex", message).label("this pattern").maybe_hint(hint));
            None
        }
    }
}

/// Converts any value to JSON. Rejects numbers that JSON lacks.
pub(super) fn json(cursor: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<Json> {
    if has_strange_number(cursor.node()) {
        let message = "infinity and `.nan` cannot be written as JSON";
        diagnostics.push(cursor.error("bad-value", message).label("contains such a number"));
        return None;
    }
    Some(cursor.node().to_json())
}

fn has_strange_number(node: &Node) -> bool {
    match &node.value {
        Value::Float(number) => !number.is_finite(),
        Value::List(items) => items.iter().any(has_strange_number),
        Value::Map(entries) => entries.iter().any(|entry| has_strange_number(&entry.value)),
        _ => false,
    }
}

fn usage(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Usage {
    let Some(usage) = fields.object("usage", &USAGE, diagnostics) else { return Usage::default() };
    let tokens = |name| usage.integer(name).and_then(|count| u64::try_from(count.value).ok());
    Usage {
        input: tokens("input"),
        output: tokens("output"),
        cached: tokens("cached"),
        reasoning: tokens("reasoning"),
        cumulative: false,
    }
}

fn dollars(cost: &Located<f64>, diagnostics: &mut Diagnostics) -> Option<Usd> {
    let usd = Usd::from_dollars(cost.value);
    if usd.is_none() {
        diagnostics.push(cost.error("bad-value", "`cost` is an amount that cannot be counted"));
    }
    usd
}

fn tool(cursor: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<ToolUse> {
    let fields = Fields::read(cursor, &TOOL, diagnostics)?;
    let input = fields.any("input").and_then(|value| json(&value, diagnostics));
    let output = fields.any("output").and_then(|value| json(&value, diagnostics));
    let duration = fields.integer("duration_ms").and_then(|length| u64::try_from(length.value).ok());
    Some(ToolUse { name: fields.text("name")?.value, input, output, duration_ms: duration.unwrap_or(0) })
}

fn failure(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<ScriptFailure> {
    let until = fields.text("until").and_then(|until| moment(&until, diagnostics));
    let class = fields.text("class")?.value;
    Some(ScriptFailure {
        class: FailureClass::ALL.into_iter().find(|known| known.name() == class)?,
        message: fields.text("message")?.value,
        retry_after: fields.duration("retry_after").map(|length| length.value),
        until,
    })
}

fn moment(until: &Located<String>, diagnostics: &mut Diagnostics) -> Option<Moment> {
    let time: Option<jiff::Timestamp> = until.value.parse().ok();
    let moment = time.and_then(|time| u64::try_from(time.as_millisecond()).ok()).map(Moment);
    if moment.is_none() {
        let message =
            format!("`until` must be a time such as \"2026-02-06T14:00:00Z\", not {}", quoted(&until.value));
        diagnostics.push(until.error("bad-value", message).label("no such time"));
    }
    moment
}

pub(super) fn write(cursor: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<ScriptWrite> {
    let fields = Fields::read(cursor, &WRITE, diagnostics)?;
    let path = fields.text("path").and_then(|path| inside(path, diagnostics));
    Some(ScriptWrite { path: path?, content: fields.text("content")?.value })
}

fn edit(cursor: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<ScriptEdit> {
    let fields = Fields::read(cursor, &EDIT, diagnostics)?;
    let path = fields.text("path").and_then(|path| inside(path, diagnostics));
    let find = fields.text("find")?;
    if find.value.is_empty() {
        diagnostics.push(find.error("bad-value", "`find` must not be empty; it must occur once"));
    }
    Some(ScriptEdit { path: path?, find: find.value, replace: fields.text("replace")?.value })
}

/// Accepts only a path inside the working directory.
fn inside(path: Located<String>, diagnostics: &mut Diagnostics) -> Option<String> {
    let written = path.value.as_str();
    let absolute = written.starts_with(['/', '\\', '~']) || written.as_bytes().get(1) == Some(&b':');
    if absolute || written.split(['/', '\\']).any(|part| part == "..") {
        let message = format!("{} leads out of the working directory", quoted(written));
        let hint = "a scripted agent writes only below the directory it works in";
        diagnostics.push(path.error("unsafe-path", message).label("not allowed").hint(hint));
        return None;
    }
    Some(path.value)
}

fn run(cursor: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<ScriptRun> {
    let fields = Fields::read(cursor, &RUN, diagnostics)?;
    let argv = fields.texts("argv")?.into_iter().map(|argument| argument.value).collect();
    let exit = fields.integer("exit").and_then(|exit| i32::try_from(exit.value).ok()).unwrap_or(0);
    Some(ScriptRun { argv, exit })
}

/// Reads a TAKT mock scenario, whose entries are used once. Those for a persona take precedence.
pub(super) fn read_scenario(document: &Document, diagnostics: &mut Diagnostics) -> Script {
    let entries = document.cursor();
    let replies = entries.items().filter_map(|one| entry(&one, diagnostics)).collect();
    Script { strict: false, lenient_roles: true, replies, ..Script::default() }
}

fn entry(cursor: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<ScriptReply> {
    let fields = entry_fields(cursor, diagnostics)?;
    let index = cursor.path();
    let Some(content) = fields.text("content") else {
        if !fields.has("content") {
            let message = format!("the scenario entry `{index}` needs `content`");
            diagnostics.push(cursor.error("missing-key", message).label("`content` is missing here"));
        }
        return None;
    };
    let structured = fields.any("structured_output").and_then(|value| json(&value, diagnostics));
    let fail = scenario_failure(&fields, &content.value);
    let says = fail.is_none();
    Some(ScriptReply {
        origin: cursor.location().name(),
        role: fields.text("agent").map(|role| role_of(&role.value)),
        text: Some(content.value).filter(|_| says),
        structured: structured.filter(|_| says),
        delay: fields.number("delay_ms").map(|length| millis(length.value)),
        hang: fields.bool("wait_for_abort").is_some_and(|hang| hang.value),
        writes: fields.list("file_writes").iter().filter_map(|one| write(one, diagnostics)).collect(),
        progress: progress(&fields, diagnostics),
        fail,
        ..ScriptReply::default()
    })
}

/// Returns the name of a role: a file stands for its stem.
fn role_of(written: &str) -> String {
    let stem = written.strip_suffix(".md").unwrap_or(written);
    stem.rsplit('/').next().unwrap_or(stem).to_owned()
}

/// Reads the fields of an entry. TAKT ignores unknown keys, so they only cause a warning.
fn entry_fields<'d>(cursor: &Cursor<'d>, diagnostics: &mut Diagnostics) -> Option<Fields<'d>> {
    let mut found = Diagnostics::new();
    let fields = Fields::read(cursor, &ENTRY, &mut found);
    for mut diagnostic in found {
        if diagnostic.code.slug == "unknown-key" {
            diagnostic.severity = Severity::Warning;
        }
        diagnostics.push(diagnostic);
    }
    fields
}

fn scenario_failure(fields: &Fields<'_>, content: &str) -> Option<ScriptFailure> {
    let text = |name| fields.text(name).map(|text| text.value);
    let (status, error, category) = (text("status"), text("error"), text("failure_category"));
    let class = match (status.as_deref(), error.is_some()) {
        (Some("blocked"), false) => FailureClass::Refused,
        (Some("rate_limited"), _) => FailureClass::RateLimited,
        (Some("error"), _) | (_, true) => match category.as_deref() {
            Some("external_abort") => FailureClass::Cancelled,
            Some("part_timeout" | "stream_idle_timeout") => FailureClass::Transient,
            Some(_) | None => FailureClass::Crashed,
        },
        (_, false) => return None,
    };
    let message = error.unwrap_or_else(|| content.to_owned());
    Some(ScriptFailure { class, message, retry_after: None, until: None })
}

/// Returns the progress to show: the tools, then the pieces of text.
fn progress(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Vec<String> {
    let mut progress = Vec::new();
    for event in fields.list("stream_events") {
        match event.node().get("tool").and_then(|tool| tool.as_text()) {
            Some(tool) => progress.push(format!("uses {}", quoted(tool))),
            None => {
                let message = "a stream event must be a mapping with a `tool`";
                diagnostics.push(event.error("bad-value", message).label("no tool is named"));
            }
        }
    }
    progress.extend(fields.texts("text_chunks").into_iter().flatten().map(|chunk| chunk.value));
    progress
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast saturates, and it is not negative"
)]
fn millis(length: f64) -> Millis {
    Millis(length.round() as u64)
}
