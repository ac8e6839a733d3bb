//! The words of an issue where they become a title, a task or a line of a commit.

use saihai_model::{Issue, IssueSource, StatusLabel};

use crate::diagnostic::steers;

/// The most characters of a title in a commit.
pub const COMMIT_TITLE: usize = 72;
/// The most characters of a title in a pull request.
pub const PULL_REQUEST_TITLE: usize = 200;
/// The most characters of a text that a prompt shows.
const BODY: usize = 100_000;

/// Nothing is left of a title once what cannot stand in one is taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the title is blank")]
pub struct BlankTitle;

/// A title on one line: line breaks, control characters and those that turn the direction of text are one space.
pub fn clean_title(title: &str) -> Result<String, BlankTitle> {
    let is_gap = |c: char| c.is_whitespace() || steers(c) || matches!(c, '\u{61c}' | '\u{feff}');
    let words: Vec<&str> = title.split(is_gap).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { Err(BlankTitle) } else { Ok(words.join(" ")) }
}

/// A text of at most so many characters; where something was cut off, it ends with `…`.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// What an agent is given to do for an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub text: String,
    /// How many characters of the issue's text were too many for it.
    pub left_out: usize,
}

/// The task of the run for an issue. Labels of ours say how it stands and nothing of what is to be done (I-24).
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
