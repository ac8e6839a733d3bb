//! What a model may look at (C-82): files below the working directory and, where a turn asks for it, their history, and
//! issues and pull requests of their repository, and pages of the public web where that is allowed; nothing else. There is no shell here and nothing that writes.

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

/// A tool that a model can ask for.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// What it takes, as a JSON Schema.
    pub(super) schema: fn() -> Value,
    /// Does it. An error is told to the model, which may try something else.
    run: fn(&Reach, &Input<'_>) -> Result<String, String>,
}

/// Those that look at the history; whoever wants them names them.
static HISTORY: [&Tool; 4] = [&history::DIFF, &history::LOG, &history::SHOW, &history::BLAME];

/// Those that look further: at the forge, and at the web. Whoever wants them names them too.
static BEYOND: [&Tool; 3] = [&forge::PR_VIEW, &forge::ISSUE_VIEW, &web::TOOL];

/// The name of the one that reaches the web, which is there only where that is allowed.
const WEB: &str = "web_fetch";

/// Whether tools may reach the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Web {
    #[default]
    Closed,
    Open,
}

/// Those that look at files.
pub(super) static ALL: [&Tool; 3] = [&read_file::TOOL, &list_files::TOOL, &grep::TOOL];

/// The tools a turn is given, and those of the names that are no tool here.
pub(super) fn named(names: Option<&[String]>, web: Web) -> (Vec<&'static Tool>, Vec<String>) {
    let Some(names) = names else { return (ALL.to_vec(), Vec::new()) };
    let (known, unknown): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| !ours(name).is_empty() && (web == Web::Open || *name != WEB));
    let wanted: Vec<&str> = known.into_iter().flat_map(|name| ours(name)).copied().collect();
    let tools = ALL.iter().chain(&HISTORY).chain(&BEYOND).copied().filter(|tool| wanted.contains(&tool.name));
    (tools.collect(), unknown.into_iter().cloned().collect())
}

/// What a name means here: our own, a category, or what other agents call the same thing.
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
    /// Does what is asked, if it is asked rightly.
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

/// What a tool is given.
pub(super) struct Input<'a>(&'a Map<String, Value>);

impl Input<'_> {
    /// A text; what is empty is as good as absent.
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

    /// A whole number from 1 to `most`.
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
