//! Issue texts as titles, tasks and commit lines.

use saihai_model::{Issue, IssueSource, StatusLabel};

use crate::diagnostic::steers;

/// Maximum length of a commit title in characters.
pub const COMMIT_TITLE: usize = 72;
/// Maximum length of a pull request title in characters.
pub const PULL_REQUEST_TITLE: usize = 200;
/// Maximum length of an issue text in a prompt, in characters.
const BODY: usize = 100_000;

/// A title without any usable character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the title is blank")]
pub struct BlankTitle;

/// Returns a one-line title. Line breaks, control characters and bidirectional overrides become one
/// space.
pub fn clean_title(title: &str) -> Result<String, BlankTitle> {
    let is_gap = |c: char| c.is_whitespace() || steers(c) || matches!(c, '\u{61c}' | '\u{feff}');
    let words: Vec<&str> = title.split(is_gap).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { Err(BlankTitle) } else { Ok(words.join(" ")) }
}

/// Cuts a text to at most `most` characters. A cut text ends with `…`.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Task of an agent that works on an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub text: String,
    /// Number of characters cut from the issue's text.
    pub left_out: usize,
}

/// Returns the task for an issue. Omits Saihai's own labels, because they only show the issue's
/// state (I-24).
pub fn task(issue: &Issue, label_prefix: &str) -> Result<Task, BlankTitle> {
    let title = clean_title(&issue.title)?;
    let name = match issue.source {
        IssueSource::Folder => format!("Issue {}", issue.number.get()),
        IssueSource::Github => format!("Issue {}", issue.number),
    };
    let mut text = format!("# {name}: {title}");
    let body = issue.body.trim();
    let left_out = body.chars().count().saturating_sub(BODY);
    if !body.is_empty() {
        let end = body.char_indices().nth(BODY).map_or(body.len(), |(at, _)| at);
        text.push_str("\n\n");
        text.push_str(&body[..end]);
    }
    if left_out > 0 {
        text.push_str(&format!("\n\n[The text of this issue goes on for {left_out} more characters.]"));
    }
    let own = StatusLabel::ALL.map(|label| label.name(label_prefix));
    let labels = issue.labels.iter().filter(|label| !own.iter().any(|own| own.eq_ignore_ascii_case(label)));
    let labels: Vec<String> = labels.filter_map(|label| clean_title(label).ok()).collect();
    if !labels.is_empty() {
        text.push_str(&format!("\n\nLabels: {}", labels.join(", ")));
    }
    Ok(Task { text, left_out })
}
