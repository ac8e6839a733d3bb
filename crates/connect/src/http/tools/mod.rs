//! The tools of a model (C-82).
//!
//! They read files below the working directory. If a turn names them, they also read git history, issues,
//! pull requests and, if allowed, the public web. A model gets no shell, and no tool writes.

mod files;
mod history;
mod web;

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

pub(super) use files::ToolContext;

#[derive(Debug)]
pub(super) struct ModelTool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// JSON Schema of the input.
    pub(super) schema: fn() -> Value,
    /// Runs the tool. The model sees an error and may try something else.
    run: fn(&ToolContext, &ToolInput<'_>) -> Result<String, String>,
}

/// Tools for git history; only turns that name them get them.
static HISTORY: [&ModelTool; 4] = [&history::DIFF, &history::LOG, &history::SHOW, &history::BLAME];

/// Tools for the forge and the web; only turns that name them get them.
static BEYOND: [&ModelTool; 3] = [&web::PR_VIEW, &web::ISSUE_VIEW, &web::WEB_FETCH];

/// The web tool, which exists only if the settings allow it.
const WEB: &str = "web_fetch";

/// Permission to use the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum WebAccess {
    #[default]
    Closed,
    Open,
}

pub(super) static ALL: [&ModelTool; 3] = [&files::READ_FILE, &files::LIST_FILES, &files::GREP];

/// Returns the tools of a turn, and the names that are unknown here.
pub(super) fn named(names: Option<&[String]>, web: WebAccess) -> (Vec<&'static ModelTool>, Vec<String>) {
    let Some(names) = names else { return (ALL.to_vec(), Vec::new()) };
    let (known, unknown): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| !ours(name).is_empty() && (web == WebAccess::Open || *name != WEB));
    let wanted: Vec<&str> = known.into_iter().flat_map(|name| ours(name)).copied().collect();
    let tools = ALL.iter().chain(&HISTORY).chain(&BEYOND).copied().filter(|tool| wanted.contains(&tool.name));
    (tools.collect(), unknown.into_iter().cloned().collect())
}

/// Translates a tool name: our own, a category, or another agent's name.
fn ours(name: &str) -> &'static [&'static str] {
    match name {
        "file_read" => &["read_file", "list_files", "grep"],
        "read_file" | "Read" => &["read_file"],
        "list_files" | "Glob" | "LS" => &["list_files"],
        "grep" | "Grep" => &["grep"],
        "git_read" => &["git_diff", "git_log", "git_show", "git_blame"],
        "git_diff" => &["git_diff"],
        "git_log" => &["git_log"],
        "git_show" => &["git_show"],
        "git_blame" => &["git_blame"],
        "gh_read" => &["pr_view", "issue_view"],
        "pr_view" => &["pr_view"],
        "issue_view" => &["issue_view"],
        WEB => &[WEB],
        _ => &[],
    }
}

impl ModelTool {
    /// Checks the input and runs the tool.
    pub(super) fn run(&self, reach: &ToolContext, input: &Value) -> Result<String, String> {
        let Value::Object(fields) = input else { return Err("the arguments are not an object".to_owned()) };
        let schema = (self.schema)();
        let known = &schema["properties"];
        if let Some(other) = fields.keys().find(|name| known[name.as_str()].is_null()) {
            return Err(format!("`{}` has no argument `{other}`", self.name));
        }
        (self.run)(reach, &ToolInput(fields))
    }
}

/// The input of a tool.
pub(super) struct ToolInput<'a>(&'a Map<String, Value>);

impl ToolInput<'_> {
    /// Returns a text; an empty one counts as absent.
    fn text(&self, name: &str) -> Result<Option<&str>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some(_) => Err(format!("`{name}` must be a text")),
        }
    }

    fn required(&self, name: &str) -> Result<&str, String> {
        self.text(name)?.ok_or_else(|| format!("`{name}` is missing"))
    }

    fn texts(&self, name: &str) -> Result<Vec<&str>, String> {
        let wrong = || format!("`{name}` must be a list of texts");
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| item.as_str().filter(|text| !text.is_empty()).ok_or_else(wrong))
                .collect(),
            Some(_) => Err(wrong()),
        }
    }

    /// Returns a whole number from 1 to `most`.
    fn number(&self, name: &str, most: u64) -> Result<Option<u64>, String> {
        self.number_of(name, 1..=most)
    }

    fn number_of(&self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, String> {
        let number = match self.0.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(value) => value.as_u64(),
        };
        let allowed = number.filter(|number| range.contains(number));
        let (least, most) = (range.start(), range.end());
        allowed.map(Some).ok_or_else(|| format!("`{name}` must be a whole number from {least} to {most}"))
    }
}

/// Maximum time of one tool call.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// A stop signal for a tool that cannot be interrupted.
#[derive(Debug, Clone)]
pub(super) struct ToolStop {
    wanted: Arc<AtomicBool>,
    until: Instant,
}

impl ToolStop {
    /// Returns a signal that stops the tool at its time limit, or when the guard is dropped.
    pub(super) fn after_a_while() -> (Self, StopToolOnDrop) {
        let wanted = Arc::new(AtomicBool::new(false));
        (Self { wanted: Arc::clone(&wanted), until: Instant::now() + TIME_LIMIT }, StopToolOnDrop(wanted))
    }

    /// Returns an error if the tool must stop now.
    fn check(&self) -> Result<(), String> {
        if self.wanted.load(Ordering::Relaxed) {
            return Err("stopped".to_owned());
        }
        if Instant::now() >= self.until {
            return Err(format!("took longer than {} seconds; ask for less", TIME_LIMIT.as_secs()));
        }
        Ok(())
    }

    #[cfg(test)]
    fn now() -> Self {
        Self { wanted: Arc::new(AtomicBool::new(true)), until: Instant::now() + TIME_LIMIT }
    }
}

/// Stops the tool when it is dropped.
#[derive(Debug)]
pub(super) struct StopToolOnDrop(Arc<AtomicBool>);

impl Drop for StopToolOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Maximum length of an answer in bytes, including the note about the cut (C-82).
const LONGEST_PAGE: usize = 64 * 1024;

/// Space reserved for the note.
const NOTE: usize = 512;

#[derive(Debug, Default)]
struct ToolPage {
    text: String,
    is_full: bool,
}

impl ToolPage {
    /// Adds a line if there is space for it.
    fn line(&mut self, line: &str) -> bool {
        if self.is_full || self.text.len() + line.len() + 1 > LONGEST_PAGE - NOTE {
            self.is_full = true;
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the answer, with a note that tells the model how to continue.
    fn with_note(mut self, note: &str) -> String {
        self.text.push('[');
        self.text.push_str(cut(note, NOTE - 3));
        self.text.push_str("]\n");
        self.text
    }

    fn finish(self) -> String {
        self.text
    }
}

/// Returns the start of a text, of at most `most` bytes.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or_default()]
}
