//! Renders a report as Markdown, for people.

use std::collections::BTreeSet;

use saihai_config::Language;
use saihai_model::Severity;
use saihai_view::{visible_line, visible_text};

use crate::plan::GapReason;
use crate::report::{
    AgentStatus, BaselineState, CodeExcerpt, FindingAnchor, ReportedFinding, ReviewReport, SuppressedFinding,
};
use crate::words::{ReportHeading, ReportWords, assessment, seconds};

/// Renders the whole report. The first line states the outcome.
pub fn to_markdown(report: &ReviewReport, language: Language) -> String {
    let mut page = MarkdownPage { words: ReportWords::of(language), text: String::new() };
    page.line(&format!("**{}**", line(&page.words.outcome(report))));
    page.warnings(report);
    page.findings(report);
    let assessments = report.assessments.iter().map(|one| line(&assessment(one)));
    page.list(ReportHeading::Assessments, assessments.collect());
    page.agents(report);
    let errors =
        report.load_errors.iter().map(|error| format!("{}: {}", code(&error.file), line(&error.message)));
    page.list(ReportHeading::LoadErrors, errors.collect());
    page.aside(report);
    page.actions(report);
    page.text
}

/// Maximum number of findings among the recommended actions.
const ACTIONS: usize = 10;

/// Renders a report without agents: the reason, and notes that still matter.
pub fn to_short_markdown(why: &str, report: &ReviewReport, language: Language) -> String {
    let mut page = MarkdownPage { words: ReportWords::of(language), text: String::new() };
    page.line(&line(why));
    page.warnings(report);
    page.text
}

struct MarkdownPage {
    words: ReportWords,
    text: String,
}

impl MarkdownPage {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn paragraph(&mut self, text: &str) {
        self.text.push('\n');
        self.line(text);
    }

    fn warnings(&mut self, report: &ReviewReport) {
        for warning in &report.warnings {
            let warning = format!("> **{}** {}", self.words.warning(), line(warning));
            self.paragraph(&warning);
        }
    }

    fn list(&mut self, heading: ReportHeading, items: Vec<String>) {
        if items.is_empty() {
            return;
        }
        self.paragraph(&format!("## {}\n", self.words.heading(heading)));
        for item in items {
            self.line(&format!("- {item}"));
        }
    }

    /// Adds the findings by file, worst file first. Findings outside the change come separately.
    fn findings(&mut self, report: &ReviewReport) {
        let (outside, inside): (Vec<&ReportedFinding>, Vec<&ReportedFinding>) =
            report.findings.iter().partition(|one| one.anchor == FindingAnchor::Outside);
        for (heading, findings) in [(ReportHeading::Findings, inside), (ReportHeading::Outside, outside)] {
            if findings.is_empty() {
                continue;
            }
            self.paragraph(&format!("## {}", self.words.heading(heading)));
            for (file, group) in by_file(findings) {
                let title = file.map_or_else(|| self.words.heading(ReportHeading::NoPlace).to_owned(), line);
                self.paragraph(&format!("### {title}"));
                for one in group {
                    self.finding(one);
                }
            }
        }
    }

    fn finding(&mut self, one: &ReportedFinding) {
        self.paragraph(&format!("- {}", self.head(one)));
        self.block(&one.finding.message);
        if let Some(excerpt) = &one.excerpt {
            self.excerpt(excerpt);
        }
        if let Some(suggestion) = &one.finding.suggestion {
            self.block(&self.words.suggestion(suggestion));
        }
        for said in self.words.others(one) {
            self.block(&said);
        }
    }

    /// Returns the heading of a finding: severity, location, agent, confidence and remarks.
    fn head(&self, one: &ReportedFinding) -> String {
        let (finding, words) = (&one.finding, self.words);
        let place = finding.place().map(|place| code(&place));
        let claimed = finding.claimed.as_deref().map(|place| line(&words.claimed(place)));
        let parts = [
            Some(format!("**{}**", words.severity(finding.severity))),
            place,
            words.kind(finding.kind).map(str::to_owned),
            Some(one.agents().join(", ")),
            finding.category.as_deref().map(line),
            finding.confidence.map(|percent| words.certain(percent)),
            one.state.map(|state| words.state(state).to_owned()),
            (!one.counts && one.state != Some(BaselineState::Persisting))
                .then(|| words.does_not_count().to_owned()),
            claimed,
            Some(code(&one.fingerprint)),
        ];
        parts.into_iter().flatten().collect::<Vec<String>>().join(" · ")
    }

    /// Adds an agent's text, indented into its list item.
    fn block(&mut self, text: &str) {
        self.text.push('\n');
        for one in mark_up_lines(text) {
            self.line(format!("  {one}").trim_end());
        }
    }

    fn excerpt(&mut self, excerpt: &CodeExcerpt) {
        let fence = "`".repeat(longest_ticks(&excerpt.lines).max(2) + 1);
        let last = (excerpt.first_line as usize + excerpt.lines.len()).saturating_sub(1);
        let width = last.to_string().len();
        self.text.push('\n');
        self.line(&format!("  {fence}"));
        for (index, text) in excerpt.lines.iter().enumerate() {
            let number = excerpt.first_line as usize + index;
            let shown = format!("  {number:>width$} | {}", harmless_code(text));
            self.line(shown.trim_end());
        }
        if excerpt.cut {
            self.line(&format!("  {:>width$} | …", ""));
        }
        self.line(&format!("  {fence}"));
    }

    fn agents(&mut self, report: &ReviewReport) {
        let words = self.words;
        let ran = report.results.iter().map(|result| {
            let status = line(&words.status(result));
            let cost = result.cost.map(|cost| format!(", {cost}")).unwrap_or_default();
            let mark = if matches!(result.status, AgentStatus::Success) { "" } else { "**" };
            let refused = result.refused.iter().map(|text| words.refused(text));
            let notes = result.notes.iter().cloned().chain(refused);
            let notes: String = notes.map(|note| format!("\n  - {}", line(&note))).collect();
            let name = line(&result.agent);
            format!("{mark}{name}{mark}: {status}, {}{cost}{notes}", seconds(result.elapsed_ms.0))
        });
        let left = report.selection.iter().filter(|one| !one.selected);
        let left =
            left.map(|one| format!("{}: {} ({})", line(&one.agent), words.not_selected(), line(&one.why)));
        self.list(ReportHeading::Agents, ran.chain(left).collect());
    }

    /// Adds sections that do not affect the outcome.
    fn aside(&mut self, report: &ReviewReport) {
        let words = self.words;
        let suppressed = |one: &SuppressedFinding| {
            let by = line(&words.suppressed_by(&one.by));
            format!("{} ({by}: {})", brief(words, &one.reported), line(&one.reason))
        };
        let (here, before): (Vec<&SuppressedFinding>, Vec<&SuppressedFinding>) =
            report.suppressed.iter().partition(|one| one.added_by_change);
        self.list(ReportHeading::SuppressedHere, here.into_iter().map(suppressed).collect());
        self.list(ReportHeading::Suppressed, before.into_iter().map(suppressed).collect());
        let filtered = report.filtered.iter().map(|one| {
            let certain = one.finding.confidence.map(|percent| words.certain(percent)).unwrap_or_default();
            format!("{} ({certain})", brief(words, one))
        });
        self.list(ReportHeading::Filtered, filtered.collect());
        let fixed = report.fixed.iter().map(|one| {
            let place = one.file.as_deref().map(|file| format!("{} · ", code(file))).unwrap_or_default();
            format!("{place}{} · {}", line(&one.agents.join(", ")), line(&one.message))
        });
        self.list(ReportHeading::Fixed, fixed.collect());
        let left = report.not_reviewed.iter().map(|one| {
            let agent = one.agent.as_deref().map(|agent| format!(" ({})", line(agent))).unwrap_or_default();
            format!("{}: {}{agent}", code(&one.file), one.reason.name())
        });
        self.list(ReportHeading::NotReviewed, left.collect());
        let notices = report.notices.iter().map(|one| {
            format!(
                "{} {}: {}",
                one.level.name(),
                code(&format!("{}:{}", one.file, one.line)),
                line(&one.message)
            )
        });
        self.list(ReportHeading::Notices, notices.collect());
    }
}

impl MarkdownPage {
    /// Adds what to do next, most important first: the findings to fix, then what is missing from the report.
    fn actions(&mut self, report: &ReviewReport) {
        let words = self.words;
        let due = |one: &&ReportedFinding| {
            one.counts
                && one.state != Some(BaselineState::Persisting)
                && one.finding.severity <= Severity::Suggestion
        };
        let due: Vec<&ReportedFinding> = report.findings.iter().filter(due).collect();
        let mut items: Vec<String> = due.iter().take(ACTIONS).map(|one| action(words, one)).collect();
        items.extend((due.len() > ACTIONS).then(|| words.more_findings(due.len() - ACTIONS)));
        let silent = |status: &AgentStatus| match status {
            AgentStatus::Timeout { .. } | AgentStatus::Error { .. } => true,
            AgentStatus::Success | AgentStatus::Truncated { .. } => false,
        };
        let silent = report.results.iter().filter(|result| silent(&result.status));
        let silent: Vec<String> = silent.map(|result| line(&result.agent)).collect();
        items.extend((!silent.is_empty()).then(|| words.ask_again(&silent.join(", "))));
        let cut: BTreeSet<&str> = report
            .not_reviewed
            .iter()
            .filter(|one| one.reason == GapReason::Size)
            .map(|one| one.file.as_str())
            .collect();
        items.extend((!cut.is_empty()).then(|| words.allow_more(cut.len())));
        if items.is_empty() {
            return;
        }
        self.paragraph(&format!("## {}\n", words.heading(ReportHeading::Actions)));
        for (index, item) in items.iter().enumerate() {
            self.line(&format!("{}. {item}", index + 1));
        }
    }
}

/// Formats the action for a finding: the suggestion if it is one line, else the first line of the message.
fn action(words: ReportWords, one: &ReportedFinding) -> String {
    let finding = &one.finding;
    let place = finding.place().map(|place| format!("{} · ", code(&place))).unwrap_or_default();
    let suggestion = finding.suggestion.as_deref().map(str::trim).filter(|text| !text.contains('\n'));
    let text = suggestion.or_else(|| finding.message.lines().next()).unwrap_or_default();
    format!("**{}** · {place}{}", words.severity(finding.severity), line(text))
}

/// Formats a finding on one line, with remarks of other agents.
fn brief(words: ReportWords, one: &ReportedFinding) -> String {
    let finding = &one.finding;
    let place = finding.place().map(|place| format!("{} · ", code(&place))).unwrap_or_default();
    let severity = words.severity(finding.severity);
    let others: String = words.others(one).iter().map(|said| format!("; {}", line(said))).collect();
    format!("**{severity}** · {place}{} · {}{others}", line(&finding.agent), line(&finding.message))
}

/// Groups findings by file, in order of first appearance. Findings without a file come last.
fn by_file(findings: Vec<&ReportedFinding>) -> Vec<(Option<&str>, Vec<&ReportedFinding>)> {
    let mut groups: Vec<(Option<&str>, Vec<&ReportedFinding>)> = Vec::new();
    for one in findings {
        let file = one.finding.file.as_deref();
        match groups.iter_mut().find(|(known, _)| *known == file) {
            Some((_, group)) => group.push(one),
            None => groups.push((file, vec![one])),
        }
    }
    groups.sort_by_key(|(file, _)| file.is_none());
    groups
}

/// Escapes a text for one line.
pub(super) fn line(text: &str) -> String {
    escaped(&harmless(&visible_line(text)), &mut InlineCodeState::Closed)
}

/// Formats a text as inline code.
pub(super) fn code(text: &str) -> String {
    let text = harmless(&visible_line(text));
    let ticks = "`".repeat(longest_ticks(std::slice::from_ref(&text)) + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{blank}{text}{blank}{ticks}")
}

/// Keeps a line of code, except for sequences that a terminal or a CI service obeys.
fn harmless_code(text: &str) -> String {
    harmless(&visible_text(text))
}

/// Escapes the lines of a text. A closed code block stays a code block.
pub(super) fn mark_up_lines(text: &str) -> Vec<String> {
    let text = harmless_code(text);
    let all: Vec<&str> = text.lines().collect();
    let mut shown = Vec::with_capacity(all.len());
    let mut in_block = false;
    let mut spans = InlineCodeState::Closed;
    for (index, one) in all.iter().enumerate() {
        let opens = || opens_block(one) && all[index + 1..].iter().any(|later| closes_block(later));
        if in_block {
            in_block = !closes_block(one);
            shown.push((*one).to_owned());
        } else if opens() {
            in_block = true;
            shown.push((*one).to_owned());
        } else {
            shown.push(escaped(one, &mut spans));
        }
    }
    shown
}

/// Returns the length of the longest run of backticks.
pub(super) fn longest_ticks(lines: &[String]) -> usize {
    let runs = lines.iter().flat_map(|line| line.split(|letter| letter != '`'));
    runs.map(str::len).max().unwrap_or(0)
}

/// Returns true for three backticks with an optional language.
fn opens_block(line: &str) -> bool {
    let named = line.trim_end().strip_prefix("```");
    named.is_some_and(|name| {
        name.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-#".contains(letter))
    })
}

fn closes_block(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.bytes().all(|byte| byte == b'`')
}

/// Escapes the sequence that GitHub's runner obeys anywhere in a line.
fn harmless(text: &str) -> String {
    text.replace("##[", "#\\#[")
}

/// Returns true for a line that makes the line above a heading or a table head.
fn is_rule(line: &str) -> bool {
    line.contains('-') && line.chars().all(|letter| "-:|".contains(letter) || letter.is_whitespace())
}

/// The state of inline code before a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InlineCodeState {
    /// Every backtick is closed on its own line.
    Closed,
    /// A backtick may still be open.
    Open,
}

/// Escapes headings, quotes, tables, images, fences and HTML in a line.
fn escaped(line: &str, spans: &mut InlineCodeState) -> String {
    let body = behind_markers(line);
    let mut shown = line[..line.len() - body.len()].to_owned();
    let opens = ["#", ">", "|", "=", "```", "~~~"];
    if opens.iter().any(|sign| body.starts_with(sign)) || is_rule(body) {
        shown.push('\\');
    }
    // The end of inline code is certain only with single backticks that close on the same line.
    let has_spans = *spans == InlineCodeState::Closed && !body.contains("``");
    let (mut in_code, mut is_escaped) = (false, false);
    for (at, letter) in body.char_indices() {
        let rest = &body[at + letter.len_utf8()..];
        if letter == '`' && (in_code || !is_escaped) {
            in_code = has_spans && !in_code && rest.contains('`');
        }
        let is_tag = rest.starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next));
        let is_image = letter == '!' && rest.starts_with('[');
        if ((letter == '<' && is_tag) || is_image) && !in_code && !is_escaped {
            shown.push('\\');
        }
        // A character after a backslash is already escaped. Another backslash would undo that.
        is_escaped = letter == '\\' && !is_escaped && !in_code;
        shown.push(letter);
    }
    if body.matches('`').count() % 2 == 1 || body.contains("``") || body.contains("\\`") {
        *spans = InlineCodeState::Open;
    }
    shown
}

/// Returns the part of a line after blanks and list markers. A heading can start there too.
fn behind_markers(line: &str) -> &str {
    let body = line.trim_start();
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let marker = match body[digits..].chars().next() {
        Some('-' | '*' | '+') if digits == 0 => 1,
        Some('.' | ')') if digits > 0 => digits + 1,
        Some(_) | None => return body,
    };
    match &body[marker..] {
        rest if rest.starts_with([' ', '\t']) => behind_markers(rest),
        _ => body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(mark_up_lines(text).join("\n"), expected);
    }

    // R-49
    #[test]
    fn an_agents_words_cannot_look_like_ours() {
        check("# All is well\n> quoted\n| a |", "\\# All is well\n\\> quoted\n\\| a |");
        check("Review passed\n---\nb\n -\n- c", "Review passed\n\\---\nb\n \\-\n- c");
        check("a | b\n:-- | --:", "a | b\n\\:-- | --:");
        check("a <script>x</script>", "a \\<script>x\\</script>");
        check("see `Vec<u8>` and 1 < 2", "see `Vec<u8>` and 1 < 2");
        check("open ` <b>", "open ` \\<b>");
        check("`` ` <b> ``", "`` ` \\<b> ``");
        check("x ##[error]y", "x #\\#[error]y");
        check("- # Review passed\n1. ## x\n* + > q", "- \\# Review passed\n1. \\## x\n* + \\> q");
        check("a | b\n--- | ---\n1 | 2", "a | b\n\\--- | ---\n1 | 2");
        check("a\n:-:", "a\n\\:-:");
        check("- 1\n-1 *x* 3.5", "- 1\n-1 *x* 3.5");
    }

    // Reading a report fetches no address from an agent
    #[test]
    fn an_image_becomes_a_link() {
        check("![x](https://host/?data)", "\\![x](https://host/?data)");
        check("`![x](u)` wow![y][z] !", "`![x](u)` wow\\![y][z] !");
    }

    // The agent's own backslash does not cancel ours, and an unclosed backtick hides nothing
    #[test]
    fn what_is_escaped_already_is_not_given_back_its_meaning() {
        check("\\<b> \\\\<b> \\![x](u)", "\\<b> \\\\\\<b> \\![x](u)");
        check("\\` <b> `", "\\` \\<b> `");
        check("a `\n` <b> `", "a `\n` \\<b> `");
        check("a `b\\` <b>", "a `b\\` \\<b>");
    }

    // R-49
    #[test]
    fn blocks_of_code_stay_where_they_are_closed() {
        check("Do:\n```rust\n# x <b>\n```\n# y", "Do:\n```rust\n# x <b>\n```\n\\# y");
        check("```\n# never closed", "\\```\n\\# never closed");
        check("```\na\n````\n# after", "```\na\n````\n\\# after");
    }

    #[test]
    fn code_in_a_line_is_enclosed_by_more_backticks_than_it_has() {
        assert_eq!(code("a.rs:3"), "`a.rs:3`");
        assert_eq!(code("a``b`"), "``` a``b` ```");
    }
}
