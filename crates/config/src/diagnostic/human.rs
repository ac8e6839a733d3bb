//! Renders diagnostics for terminals.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

use super::wording::steers;
use super::{Diagnostic, Diagnostics, Location, Position, Severity, Span};

/// Colour mode. Colour never carries information of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Always,
    Never,
}

/// Maximum width of a shown excerpt.
const WIDEST: usize = 120;

/// Writes one block per diagnostic, separated by blank lines.
pub fn to_human(diagnostics: &Diagnostics, colour: Colour) -> String {
    to_human_within(diagnostics, colour, usize::MAX)
}

/// Does the same, and wraps messages and hints at words.
pub fn to_human_within(diagnostics: &Diagnostics, colour: Colour, columns: usize) -> String {
    let mut blocks: Vec<String> =
        diagnostics.iter().map(|diagnostic| block(diagnostic, colour, columns)).collect();
    if diagnostics.left_off() > 0 {
        blocks.push(format!("{} more are not shown\n", diagnostics.left_off()));
    }
    blocks.join("\n")
}

fn block(diagnostic: &Diagnostic, colour: Colour, width: usize) -> String {
    let paint = Paint(colour);
    let mut out = String::new();
    let severity = diagnostic.severity.name();
    let head = format!("{severity}[{}]", diagnostic.code);
    let message = wrapped(&diagnostic.message, columns(&head) + 2, MESSAGE_INDENT, width);
    let _ = writeln!(
        out,
        "{}{}",
        paint.severity(diagnostic.severity, &head),
        paint.bold(&format!(": {message}"))
    );
    let gutter = gutter(diagnostic);
    let arrow = " ".repeat(gutter - 1);
    if let Some(location) = &diagnostic.location {
        let mark = paint.accent("-->");
        let _ = writeln!(out, "{arrow}{mark} {}", location.name());
        let label = diagnostic.label.as_deref().unwrap_or("");
        let line = Underline { mark: '^', label, severity: Some(diagnostic.severity) };
        excerpt(&mut out, location, &line, gutter, paint);
    }
    for (location, label) in &diagnostic.further {
        let mark = paint.accent(":::");
        let _ = writeln!(out, "{arrow}{mark} {}", location.name());
        excerpt(&mut out, location, &Underline { mark: '-', label, severity: None }, gutter, paint);
    }
    if let Some(hint) = &diagnostic.hint {
        let indent = arrow.len() + "  = help: ".len();
        let hint = wrapped(hint, indent, indent, width);
        let _ = writeln!(out, "{arrow}  {} help: {hint}", paint.accent("="));
    }
    out
}

/// Indentation of a message's further lines.
const MESSAGE_INDENT: usize = 4;

/// Wraps a text at words. Its first line starts at column `start`, further ones at `indent`.
fn wrapped(text: &str, start: usize, indent: usize, width: usize) -> String {
    let mut wrapped = String::new();
    let mut at = start;
    for word in text.split_inclusive(' ') {
        let length = columns(word.trim_end());
        if at > indent && at != start && at.saturating_add(length) > width {
            wrapped.truncate(wrapped.trim_end().len());
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(indent));
            at = indent;
        }
        wrapped.push_str(word);
        at = at.saturating_add(columns(word));
    }
    wrapped
}

struct Underline<'a> {
    mark: char,
    label: &'a str,
    severity: Option<Severity>,
}

fn excerpt(out: &mut String, location: &Location, under: &Underline<'_>, gutter: usize, paint: Paint) {
    let (Some(span), Some(start)) = (location.span, location.start()) else { return };
    let bar = paint.accent("|");
    let space = " ".repeat(gutter);
    let shown = ExcerptLine::new(location, span, start);
    let number = paint.accent(&format!("{:>gutter$}", start.line));
    let marks = under.mark.to_string().repeat(shown.width.max(1));
    let mut marked = format!("{marks} {}", under.label);
    marked.truncate(marked.trim_end().len());
    let marked = match under.severity {
        Some(severity) => paint.severity(severity, &marked),
        None => paint.accent(&marked),
    };
    let _ = writeln!(out, "{space} {bar}");
    let _ = writeln!(out, "{}", format!("{number} {bar} {}", shown.text).trim_end());
    let _ = writeln!(out, "{space} {bar} {}{marked}", " ".repeat(shown.before));
}

/// A line for display, with the screen columns of the marked part.
struct ExcerptLine {
    text: String,
    before: usize,
    width: usize,
}

impl ExcerptLine {
    /// Shows the first line of a span, shortened around the span if it is long. A span over several
    /// lines is marked to the end of its first line.
    fn new(location: &Location, span: Span, start: Position) -> Self {
        let file = &location.file;
        let line = file.line(start.line);
        let first = file.line_start(start.line);
        let from = (span.start - first).min(line.len());
        let to = (span.end.saturating_sub(first)).clamp(from, line.len());
        let window = window(line, from);
        let before = screen(&line[window.start..from]);
        let meant = screen(&line[from..to.min(window.end)]);
        let after = screen(&line[to.min(window.end)..window.end]);
        let head = if window.start > 0 { "…" } else { "" };
        let tail = if window.end < line.len() { "…" } else { "" };
        let (before_width, width) = (columns(head) + columns(&before), columns(&meant));
        let text = format!("{head}{before}{meant}{after}{tail}");
        Self { text, before: before_width, width }
    }
}

/// Returns the visible part of a line around a byte offset.
fn window(line: &str, around: usize) -> Span {
    let back = |count: usize| line[..around].char_indices().rev().take(count).last();
    let start = match back(WIDEST / 2) {
        // If the line starts nearby, show it from its start.
        Some((index, _)) if line[..around].chars().count() > WIDEST * 2 / 3 => index,
        _ => 0,
    };
    let end = line[start..].char_indices().nth(WIDEST).map_or(line.len(), |(index, _)| start + index);
    Span::new(start, end.max(around))
}

/// Makes text safe for a terminal: expands tabs and removes control sequences.
fn screen(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' => ' ',
            c if steers(c) => '\u{fffd}',
            c => c,
        })
        .collect()
}

fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// Returns the width of the largest line number, which sets the width of the left margin.
fn gutter(diagnostic: &Diagnostic) -> usize {
    let places = diagnostic.location.iter().chain(diagnostic.further.iter().map(|(location, _)| location));
    let lines = places.filter_map(Location::start).map(|start| start.line);
    lines.max().unwrap_or(1).to_string().len()
}

#[derive(Clone, Copy)]
struct Paint(Colour);

impl Paint {
    fn severity(self, severity: Severity, text: &str) -> String {
        match severity {
            Severity::Error => self.wrap("1;31", text),
            Severity::Warning => self.wrap("1;33", text),
            Severity::Note => self.wrap("1;36", text),
        }
    }

    fn accent(self, text: &str) -> String {
        self.wrap("1;34", text)
    }

    fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    fn wrap(self, style: &str, text: &str) -> String {
        match self.0 {
            Colour::Always => format!("\u{1b}[{style}m{text}\u{1b}[0m"),
            Colour::Never => text.to_owned(),
        }
    }
}
