//! The tools of a model (C-82).
//!
//! They read files below the working directory. If a turn names them, they also read git history, issues,
//! pull requests and, if allowed, pages of the public web. A model gets no shell, and no tool writes
//! anything.

mod compared;
mod excludes;
mod forge;
mod git;
mod grep;
mod history;
mod ignored;
mod list_files;
mod page;
mod reach;
mod read_file;
mod waiting;
mod walk;
mod web;

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

pub(super) use reach::{Halt, Reach};

#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// JSON Schema of the input.
    pub(super) schema: fn() -> Value,
    /// Runs the tool. The model sees an error and may try something else.
    run: fn(&Reach, &Input<'_>) -> Result<String, String>,
}

/// Tools for git history; only turns that name them get them.
static HISTORY: [&Tool; 4] = [&history::DIFF, &history::LOG, &history::SHOW, &history::BLAME];

/// Tools for the forge and the web; only turns that name them get them.
static BEYOND: [&Tool; 3] = [&forge::PR_VIEW, &forge::ISSUE_VIEW, &web::TOOL];

/// The web tool, which exists only if the settings allow it.
const WEB: &str = "web_fetch";

/// Permission to use the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Web {
    #[default]
    Closed,
    Open,
}

pub(super) static ALL: [&Tool; 3] = [&read_file::TOOL, &list_files::TOOL, &grep::TOOL];

/// Returns the tools of a turn, and the names that are unknown here.
pub(super) fn named(names: Option<&[String]>, web: Web) -> (Vec<&'static Tool>, Vec<String>) {
    let Some(names) = names else { return (ALL.to_vec(), Vec::new()) };
    let (known, unknown): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| !ours(name).is_empty() && (web == Web::Open || *name != WEB));
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

impl Tool {
    /// Checks the input and runs the tool.
    pub(super) fn run(&self, reach: &Reach, input: &Value) -> Result<String, String> {
        let Value::Object(fields) = input else { return Err("the arguments are not an object".to_owned()) };
        let schema = (self.schema)();
        let known = &schema["properties"];
        if let Some(other) = fields.keys().find(|name| known[name.as_str()].is_null()) {
            return Err(format!("`{}` has no argument `{other}`", self.name));
        }
        (self.run)(reach, &Input(fields))
    }
}

/// The input of a tool.
pub(super) struct Input<'a>(&'a Map<String, Value>);

impl Input<'_> {
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
