//! Parts of a subject that an agent sees.

use saihai_model::{LeftOut, Subject, SubjectFile, SubjectMode};

use super::plan::PlannedGap;
use super::select::decides_by_content;
use super::{AgentDefinition, Why};

/// Size limits of an agent's share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) bytes: usize,
    pub(super) parts: usize,
}

/// An agent's share of the subject, split by turn, and the files left out.
#[derive(Debug, Default)]
pub(super) struct Share<'a> {
    pub(super) parts: Vec<Shown<'a>>,
    /// Files beyond the size limit.
    pub(super) left_out: Vec<&'a SubjectFile>,
}

#[derive(Debug, Default)]
pub(super) struct Shown<'a> {
    pub(super) files: Vec<&'a SubjectFile>,
    pub(super) text: String,
}

impl<'a> Share<'a> {
    /// Returns the share of an agent with this selection reason.
    pub(super) fn of(agent: &AgentDefinition, why: &Why, subject: &'a Subject, bounds: Bounds) -> Self {
        Self::of_files(files(agent, why, subject), &subject.mode, bounds)
    }

    /// Returns the share that consists of these files.
    pub(super) fn of_files(
        files: impl Iterator<Item = &'a SubjectFile>,
        mode: &SubjectMode,
        bounds: Bounds,
    ) -> Self {
        let mut share = Self { parts: vec![Shown::default()], left_out: Vec::new() };
        for file in files {
            share.add(file, mode, bounds);
        }
        share
    }

    fn add(&mut self, file: &'a SubjectFile, mode: &SubjectMode, bounds: Bounds) {
        if file.left_out.is_some() {
            return;
        }
        let (text, whole) = section(file, mode, bounds.bytes);
        if !whole {
            self.left_out.push(file);
        }
        let room = self.parts.last().is_some_and(|part| part.text.len() + text.len() <= bounds.bytes);
        if !room && self.parts.len() >= bounds.parts {
            self.left_out.extend(whole.then_some(file));
            return;
        }
        if !room {
            self.parts.push(Shown::default());
        }
        if let Some(last) = self.parts.last_mut() {
            last.put(file, &text);
        }
    }

    /// Returns true if one turn shows the whole subject.
    pub(super) fn is_all_at_once(&self, subject: &Subject) -> bool {
        let all = subject.files.iter().filter(|file| file.left_out.is_none()).count();
        matches!(self.parts.as_slice(), [one] if one.files.len() == all)
    }

    /// Returns the file paths of each turn.
    pub(super) fn paths(&self) -> Vec<Vec<String>> {
        let parts = self.parts.iter().map(|part| part.files.iter().map(|file| file.path.clone()).collect());
        parts.collect()
    }

    /// Returns the report entries for files that the agent does not see.
    pub(super) fn gaps(&self, agent: &str) -> impl Iterator<Item = PlannedGap> {
        self.left_out.iter().map(move |file| PlannedGap {
            file: file.path.clone(),
            agent: Some(agent.to_owned()),
            reason: "size".to_owned(),
        })
    }
}

impl<'a> Shown<'a> {
    fn put(&mut self, file: &'a SubjectFile, text: &str) {
        self.files.push(file);
        self.text.push_str(text);
    }
}

/// Returns true if the change holds nothing that the agent can read. A file over the size limit
/// counts as readable, because tools can open it. An agent selected by file name also runs for
/// binary files: its author asked for them.
pub(super) fn is_empty(agent: &AgentDefinition, why: &Why, subject: &Subject) -> bool {
    let applies = &agent.applicability;
    let mut files = subject.files.iter().filter(|file| !applies.excludes(&file.path));
    let is_for = |file: &SubjectFile| {
        let is_text = matches!(file.left_out, None | Some(LeftOut::TooLarge));
        is_text || (!applies.always && applies.takes_file(&file.path))
    };
    match why {
        Why::Asked | Why::Always => !subject.files.is_empty() && !files.any(is_for),
        Why::FileName { .. } | Why::Path { .. } | Why::Content { .. } | Why::Limit { .. } => false,
    }
}

/// an agent selected by names alone sees only the files of these names. Excluded files are
/// never shown.
fn files<'a>(
    agent: &AgentDefinition,
    why: &Why,
    subject: &'a Subject,
) -> impl Iterator<Item = &'a SubjectFile> {
    let applies = &agent.applicability;
    let by_name = matches!(why, Why::FileName { .. } | Why::Path { .. })
        && !applies.always
        && !decides_by_content(applies, subject);
    let files = subject.files.iter().filter(|file| !applies.excludes(&file.path));
    files.filter(move |file| !by_name || applies.takes_file(&file.path))
}

/// Returns the shown text of a file, and true if it is complete. Whole files get a heading with
/// their path; diffs already contain it.
fn section(file: &SubjectFile, mode: &SubjectMode, most: usize) -> (String, bool) {
    let head = match mode {
        SubjectMode::Changes { .. } => String::new(),
        SubjectMode::Files => format!("--- {}\n", shown_path(&file.path)),
    };
    let room = most.saturating_sub(head.len() + 1);
    let whole = file.text.len() <= room;
    let text = if whole { file.text.as_str() } else { cut(&file.text, room) };
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    (format!("{head}{text}{end}"), whole)
}

/// Cuts a text at the last hunk that fits or, if none fits, at the last line.
fn cut(text: &str, room: usize) -> &str {
    let mut end = room.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let begin = &text[..end];
    let hunks = begin.rmatch_indices("\n@@ -").map(|(at, _)| at + 1);
    // The first hunk ends at the start of the second one. Only headers precede it.
    let first = text.find("\n@@ -").map(|at| at + 1);
    let hunk = hunks.into_iter().next().filter(|at| first.is_some_and(|first| *at > first));
    let line = || begin.rfind('\n').map(|at| at + 1);
    &begin[..hunk.or_else(line).unwrap_or(0)]
}

/// Returns a path that cannot start a line of its own.
pub(super) fn shown_path(path: &str) -> String {
    if path.contains(char::is_control) { format!("{path:?}") } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn a_text_is_cut_where_a_hunk_ends_or_else_a_line() {
        let diff = "diff --git a/x b/x\n@@ -1 +1 @@\n+one\n@@ -9 +9 @@\n+two\n@@ -20 +20 @@\n+three\n";
        let check = |room: usize, expected: &str| assert_eq!(cut(diff, room), expected, "{room}");
        check(50, "diff --git a/x b/x\n@@ -1 +1 @@\n+one\n");
        check(70, "diff --git a/x b/x\n@@ -1 +1 @@\n+one\n@@ -9 +9 @@\n+two\n");
        check(33, "diff --git a/x b/x\n@@ -1 +1 @@\n");
        check(3, "");
        assert_eq!(cut("日本\n語\n", 9), "日本\n");
    }

    #[test]
    fn a_path_with_a_line_break_stays_one_line() {
        assert_eq!(shown_path("src/a b.rs"), "src/a b.rs");
        assert_eq!(shown_path("a\n## b"), "\"a\\n## b\"");
    }
}
