//! The output streams, the text that may be written to them, tables, and JSON for programs.

use std::borrow::Cow;
use std::env;
use std::io::{self, BufWriter, IsTerminal, Write};

use anstyle::Style;
use saihai_config::{Colour, Diagnostic, Diagnostics, Severity, to_human_within};
use saihai_model::ExitStatus;
use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::error::CommandError;

pub(crate) use saihai::{defused, visible_line, visible_text};

/// The version of every JSON object. New versions only add fields.
const OBJECT_VERSION: u8 = 1;

/// The text styles. No meaning depends on a style alone.
pub(crate) mod style {
    use anstyle::{AnsiColor, Style};

    pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
    pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
    pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default().bold();
    pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
    pub(crate) const STRONG: Style = Style::new().bold();
    pub(crate) const QUIET: Style = Style::new().dimmed();
    pub(crate) const RUNNING: Style = AnsiColor::Cyan.on_default();
    /// A run or an issue that needs a person now.
    pub(crate) const WAITING: Style = AnsiColor::Magenta.on_default().bold();
    pub(crate) const PARKED: Style = AnsiColor::Yellow.on_default();
    pub(crate) const PLAIN: Style = Style::new();
    pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
    pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
    pub(crate) const HUNK: Style = AnsiColor::Cyan.on_default();
}

/// When to use colours (U-11).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    // On a terminal, unless `NO_COLOR` is set. A doc comment would make every help long.
    #[default]
    Auto,
    Always,
    Never,
}

/// Amount of output besides the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Warnings and errors only.
    Quiet,
    #[default]
    Normal,
    Verbose,
}

/// The output of a command.
pub(crate) struct Streams {
    pub(crate) verbosity: Verbosity,
    pub(crate) out: Stream,
    /// Progress, notes, warnings and errors.
    pub(crate) err: Stream,
    /// True if a person can type an answer.
    pub(crate) stdin_is_terminal: bool,
    /// Program that hears of gates and ends of runs, with its arguments (the setting `notify`).
    pub(crate) notify: Vec<String>,
}

pub(crate) struct Stream {
    sink: Box<dyn Write>,
    terminal: bool,
    styled: bool,
    /// True if lines can be redrawn in place.
    redraws: bool,
}

impl Streams {
    /// Creates streams that discard everything.
    pub(crate) fn silent() -> Self {
        let nowhere = || Stream::new(io::sink(), false);
        Self { out: nowhere(), err: nowhere(), ..Self::of_process() }
    }

    pub(crate) fn of_process() -> Self {
        let out = io::stdout();
        let err = io::stderr();
        let out_is_terminal = out.is_terminal();
        let err_is_terminal = err.is_terminal();
        Self {
            out: Stream::new(BufWriter::new(out), out_is_terminal),
            err: Stream::new(err, err_is_terminal),
            stdin_is_terminal: io::stdin().is_terminal(),
            notify: Vec::new(),
            verbosity: Verbosity::Normal,
        }
    }

    /// Returns true if details are shown too (`-v`).
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbosity == Verbosity::Verbose
    }

    /// Turns colours on or off. `Auto` keeps the choice by terminal and environment.
    pub(crate) fn set_color(&mut self, color: ColorChoice) {
        for stream in [&mut self.out, &mut self.err] {
            stream.styled = match color {
                ColorChoice::Auto => stream.styled,
                ColorChoice::Always => true,
                ColorChoice::Never => false,
            };
        }
    }

    /// Returns true if questions are possible (K-4). The caller also checks `--json`.
    pub(crate) fn can_ask(&self) -> bool {
        self.stdin_is_terminal && self.err.terminal
    }

    /// Prints an error with hints.
    pub(crate) fn error(&mut self, message: &str, hints: &[String]) {
        self.say("error", style::ERROR, message);
        for hint in hints {
            for line in wrapped(&format!("  = help: {}", visible_line(hint)), self.err.columns(), 10) {
                self.err.line(&line);
            }
        }
    }

    /// Prints a warning. The work continues.
    pub(crate) fn warning(&mut self, message: &str) {
        self.say("warning", style::WARNING, message);
    }

    /// Prints a note, unless `--quiet` is given.
    pub(crate) fn note(&mut self, message: &str) {
        if self.verbosity > Verbosity::Quiet {
            self.say("note", style::NOTE, message);
        }
    }

    /// Prints the diagnostics and ends the command if they include errors. Notes appear only in `check` and with
    /// `--verbose`: repeating them at every run would be noise.
    pub(crate) fn diagnose(&mut self, found: &Diagnostics, strict: bool) -> Result<(), CommandError> {
        let is_verbose = self.verbosity == Verbosity::Verbose;
        let matters = |diagnostic: &&Diagnostic| is_verbose || diagnostic.severity < Severity::Note;
        let shown: Diagnostics = found.iter().filter(matters).cloned().collect();
        if !shown.is_empty() {
            let text = self.err.diagnostics(&shown);
            self.err.send(&text);
        }
        if !found.forbids(strict) {
            return Ok(());
        }
        if !found.has_errors() {
            self.error(
                "warnings count as errors here",
                &["`--strict` or the setting `strict` turns this on".to_owned()],
            );
        }
        Err(CommandError::Said(ExitStatus::Usage))
    }

    fn say(&mut self, kind: &str, style: Style, message: &str) {
        // Data that was printed before stays before it on a terminal. A closed pipe is noticed by the next data.
        self.out.flush().unwrap_or(());
        let painted = self.err.paint(style, kind);
        let text = visible_text(message.trim_end());
        let columns = self.err.columns();
        let mut lines = text.lines();
        // The word and its colon count, but their style does not.
        let first = wrapped(&format!("{kind}: {}", lines.next().unwrap_or_default()), columns, 4);
        for (index, line) in first.iter().enumerate() {
            match index {
                0 => self.err.line(&format!("{painted}{}", line.strip_prefix(kind).unwrap_or(line))),
                _ => self.err.line(line),
            }
        }
        for line in lines {
            self.err.line(&format!("    {line}"));
        }
    }
}

impl Stream {
    pub(crate) fn new(sink: impl Write + 'static, terminal: bool) -> Self {
        let styled = terminal && wants_style();
        Self { sink: Box::new(sink), terminal, styled, redraws: styled }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns true if the stream shows colours.
    pub(crate) fn is_styled(&self) -> bool {
        self.styled
    }

    /// Returns true if lines can be redrawn in place.
    pub(crate) fn can_redraw(&self) -> bool {
        self.redraws
    }

    /// Returns the terminal's columns, or a large number without a terminal.
    pub(crate) fn columns(&self) -> usize {
        if !self.terminal {
            return usize::MAX;
        }
        terminal_size::terminal_size_of(io::stderr())
            .or_else(|| terminal_size::terminal_size_of(io::stdout()))
            .map_or(80, |(width, _)| usize::from(width.0).max(20))
    }

    pub(crate) fn rows(&self) -> usize {
        terminal_size::terminal_size_of(io::stderr()).map_or(24, |(_, height)| usize::from(height.0).max(4))
    }

    /// Applies a style, if the stream supports it.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        if self.styled { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// Writes a line. A failure ends the command.
    pub(crate) fn data(&mut self, line: &str) -> io::Result<()> {
        self.sink.write_all(defused(line).as_bytes())?;
        self.sink.write_all(b"\n")
    }

    /// Writes lines. A failure ends the command.
    pub(crate) fn lines(&mut self, lines: &[String]) -> io::Result<()> {
        lines.iter().try_for_each(|line| self.data(line))
    }

    /// Writes a typed object on its own line and flushes it, because a reader may be waiting.
    pub(crate) fn json(&mut self, kind: &'static str, body: impl Serialize) -> io::Result<()> {
        // `#` occurs only in strings, where this escape is valid. GitHub's runner would treat `##[` as a command.
        let object = serde_json::to_string(&TypedObject::new(kind, body))?.replace("##[", "#\\u0023[");
        self.data(&object)?;
        self.flush()
    }

    /// Formats diagnostics, with colour if the stream supports it.
    pub(crate) fn diagnostics(&self, found: &Diagnostics) -> String {
        let colour = if self.styled { Colour::Always } else { Colour::Never };
        to_human_within(found, colour, self.columns())
    }

    /// Writes exact bytes, even if a CI service would interpret them. A failure ends the command.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    /// Writes a line and ignores failures, because the work matters more.
    pub(crate) fn line(&mut self, line: &str) {
        self.send(&format!("{line}\n"));
    }

    /// Does the same for any text, in one write.
    pub(crate) fn send(&mut self, text: &str) {
        let _ = self.sink.write_all(defused(text).as_bytes());
        let _ = self.sink.flush();
    }
}

/// Follows <https://no-color.org>: a non-empty `NO_COLOR` disables styles. So does a dumb terminal.
fn wants_style() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// An object for programs with its version and type (K-3).
#[derive(Serialize)]
pub(crate) struct TypedObject<T> {
    v: u8,
    r#type: &'static str,
    #[serde(flatten)]
    body: T,
}

impl<T: Serialize> TypedObject<T> {
    pub(crate) fn new(kind: &'static str, body: T) -> Self {
        Self { v: OBJECT_VERSION, r#type: kind, body }
    }
}

/// Returns the display columns of a text without control characters.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Cuts the text to so many columns. `…` marks the cut.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(1) else {
        return Cow::Borrowed("");
    };
    let mut used = 0;
    let mut kept = String::new();
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > room {
            break;
        }
        kept.push(character);
    }
    kept.push('…');
    Cow::Owned(kept)
}

/// Pads the text with trailing spaces.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{:missing$}", "")
}

/// Wraps a text without control characters at words, indents later lines, and splits long words. A command between
/// backticks stays whole, so that it can be copied: it gets a line of its own, which may be too long.
pub(crate) fn wrapped(text: &str, columns: usize, indent: usize) -> Vec<String> {
    if width(text) <= columns {
        return vec![text.to_owned()];
    }
    let indent = indent.min(columns / 2);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut has_words = false;
    for mut word in words_and_commands(text) {
        if has_words && width(&line) + width(word.trim_end()) > columns {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
            line = " ".repeat(indent);
        }
        while width(&line) + width(word.trim_end()) > columns && !is_command(word) {
            let room = columns.saturating_sub(width(&line));
            let end = fitting_end(word, room.max(2));
            line.push_str(&word[..end]);
            word = &word[end..];
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
            line = " ".repeat(indent);
        }
        line.push_str(word);
        has_words |= !word.trim().is_empty();
    }
    if !line.trim().is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// Splits a text after its spaces, but not inside of backticks.
fn words_and_commands(text: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    text.split_inclusive(move |character| {
        is_inside ^= character == '`';
        character == ' ' && !is_inside
    })
}

/// Returns true for a command with arguments between backticks.
fn is_command(word: &str) -> bool {
    word.trim_end().contains(' ')
}

/// Returns the end of the longest beginning that fits, at least of one character.
fn fitting_end(text: &str, columns: usize) -> usize {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += character.width().unwrap_or(0);
        if used > columns && at > 0 {
            return at;
        }
    }
    text.len()
}

/// A table that fits the terminal: columns that matter least go first, then cells wrap at words.
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<TableRow>,
    /// Titles of columns that may be left out, the least important first.
    optional: Vec<&'static str>,
}

struct TableRow {
    cells: Vec<String>,
    /// A cell by its index, and its style.
    style: Option<(usize, Style)>,
}

/// The smallest width of a column whose cells wrap.
const WRAPPED_COLUMN: usize = 12;

impl Table {
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new(), optional: Vec::new() }
    }

    /// Names the columns that a narrow terminal leaves out, the least important first.
    pub(crate) fn optional(mut self, titles: &[&'static str]) -> Self {
        self.optional = titles.to_vec();
        self
    }

    /// Adds a row. Its cells contain no control characters.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(TableRow { cells, style: None });
    }

    /// Adds a row with a style for the cell of this column.
    pub(crate) fn styled_row(&mut self, cells: Vec<String>, title: &str, style: Style) {
        let column = self.head.iter().position(|&one| one == title);
        self.rows.push(TableRow { cells, style: column.map(|column| (column, style)) });
    }

    /// Returns the lines for a stream, within its columns and with its styles.
    pub(crate) fn lines_for(&self, stream: &Stream) -> Vec<String> {
        self.layout(stream.columns(), stream.styled)
    }

    /// Returns one line per row. The last column is cut.
    pub(crate) fn cut_lines(&self, columns: usize) -> Vec<String> {
        let (shown, widths) = self.columns_within(columns);
        let rows = std::iter::once(self.head_row()).chain(self.rows.iter().map(|row| row.cells.clone()));
        rows.map(|cells| {
            let cells = shown
                .iter()
                .map(|column| pad(cells.get(*column).map_or("", String::as_str), widths[*column]));
            cut(cells.collect::<Vec<_>>().join("  ").trim_end(), columns).into_owned()
        })
        .collect()
    }

    fn layout(&self, columns: usize, styled: bool) -> Vec<String> {
        let (shown, mut widths) = self.columns_within(columns);
        // What still does not fit wraps: the last column first, because it has the prose, then the widest.
        let total = |widths: &[usize]| {
            shown.iter().map(|column| widths[*column]).sum::<usize>() + 2 * (shown.len() - 1)
        };
        let last = shown.last().copied().unwrap_or(0);
        let least = prose_width(columns);
        let surplus = total(&widths).saturating_sub(columns);
        widths[last] -= surplus.min(widths[last].saturating_sub(least));
        while total(&widths) > columns {
            let widest = shown.iter().copied().max_by_key(|column| widths[*column]).unwrap_or(last);
            if widths[widest] <= WRAPPED_COLUMN {
                break;
            }
            widths[widest] -= 1;
        }
        let head = TableRow { cells: self.head_row(), style: None };
        let rows = std::iter::once(&head).chain(&self.rows);
        rows.flat_map(|row| row.lines(&shown, &widths, styled)).collect()
    }

    fn head_row(&self) -> Vec<String> {
        self.head.iter().map(|&title| title.to_owned()).collect()
    }

    /// Returns the columns that fit, and the width of every column.
    fn columns_within(&self, columns: usize) -> (Vec<usize>, Vec<usize>) {
        let widths: Vec<usize> = (0..self.head.len()).map(|column| self.column_width(column)).collect();
        let mut shown: Vec<usize> = (0..self.head.len()).collect();
        let needed = |shown: &[usize]| {
            let all = shown.iter().map(|column| widths[*column]).sum::<usize>() + 2 * (shown.len() - 1);
            // The last column can wrap.
            all - shown.last().map_or(0, |last| widths[*last].saturating_sub(prose_width(columns)))
        };
        for title in &self.optional {
            if needed(&shown) <= columns || shown.len() == 1 {
                break;
            }
            shown.retain(|column| self.head[*column] != *title);
        }
        (shown, widths)
    }

    fn column_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.cells.get(column)).map(|cell| width(cell));
        cells.chain(std::iter::once(width(self.head[column]))).max().unwrap_or(0)
    }
}

/// Returns the width that prose in the last column should have.
fn prose_width(columns: usize) -> usize {
    (columns.saturating_mul(2) / 5).max(24).min(columns)
}

impl TableRow {
    fn lines(&self, shown: &[usize], widths: &[usize], styled: bool) -> Vec<String> {
        let cell = |column: usize| self.cells.get(column).map_or("", String::as_str);
        let cells: Vec<Vec<String>> =
            shown.iter().map(|column| wrapped(cell(*column), widths[*column].max(1), 0)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        let line = |index: usize| {
            let parts = shown.iter().zip(&cells).map(|(column, parts)| {
                let part = parts.get(index).map_or("", String::as_str);
                let blanks = " ".repeat(widths[*column].saturating_sub(width(part)));
                match self.style {
                    Some((of, style)) if of == *column && styled && !part.is_empty() => {
                        format!("{style}{part}{style:#}{blanks}")
                    }
                    _ => format!("{part}{blanks}"),
                }
            });
            parts.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }
}

#[cfg(test)]
pub(crate) mod streams {
    pub(crate) use super::captured;
}

pub(crate) mod captured {
    //! Streams whose output is kept, for tests and for answers to other programs.

    use std::cell::RefCell;
    use std::io::{self, Write};
    use std::rc::Rc;

    use super::{Stream, Streams};

    #[derive(Clone, Default)]
    pub(crate) struct Captured(Rc<RefCell<Vec<u8>>>);

    impl Captured {
        pub(crate) fn text(&self) -> String {
            String::from_utf8_lossy(&self.0.borrow()).into_owned()
        }
    }

    impl Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Creates streams without a terminal, with the captured stdout and stderr.
    pub(crate) fn streams() -> (Streams, Captured, Captured) {
        let (out, err) = (Captured::default(), Captured::default());
        let streams = Streams {
            out: Stream::new(out.clone(), false),
            err: Stream::new(err.clone(), false),
            stdin_is_terminal: false,
            notify: Vec::new(),
            verbosity: super::Verbosity::Normal,
        };
        (streams, out, err)
    }

    /// Creates a styled terminal, independent of the environment.
    #[cfg(test)]
    pub(crate) fn styled() -> (Stream, Captured) {
        let written = Captured::default();
        (Stream { sink: Box::new(written.clone()), terminal: true, styled: true, redraws: true }, written)
    }
}

#[cfg(test)]
mod width_tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, columns: usize, expected: &str) {
        assert_eq!(cut(text, columns), expected);
    }

    #[test]
    fn text_is_cut_by_columns_and_not_by_characters() {
        check("implement", 20, "implement");
        check("implement", 9, "implement");
        check("implement", 6, "imple…");
        check("修正とログイン", 14, "修正とログイン");
        check("修正とログイン", 8, "修正と…");
        check("修正とログイン", 9, "修正とロ…");
        check("修正", 0, "");
        check("修正", 1, "…");
    }

    #[test]
    fn padding_counts_wide_characters_twice() {
        assert_eq!(pad("修正", 6), "修正  ");
        assert_eq!(pad("fix", 2), "fix");
    }

    proptest! {
        #[test]
        fn what_is_cut_always_fits(text in "[a-zあ-ん漢字é ]{0,30}", columns in 0usize..40) {
            prop_assert!(width(&cut(&text, columns)) <= columns);
        }
    }
}

#[cfg(test)]
mod table_tests {
    use super::*;

    #[test]
    fn columns_line_up_with_wide_characters() {
        let mut table = Table::new(&["RUN", "STATE"]);
        table.row(vec!["20260206-修正".into(), "completed".into()]);
        table.row(vec!["a".into(), "parked".into()]);
        insta::assert_snapshot!(table.layout(usize::MAX, false).join("\n"), @r"
        RUN            STATE
        20260206-修正  completed
        a              parked
        ");
    }

    // U-11
    #[test]
    fn a_narrow_terminal_loses_columns_first_and_then_wraps_the_last_one() {
        let mut table = Table::new(&["RUN", "STARTED", "COST", "STATE"]).optional(&["COST", "STARTED"]);
        table.row(vec![
            "one".into(),
            "12:00".into(),
            "$1".into(),
            "parked: the budget is spent, and no more".into(),
        ]);
        insta::assert_snapshot!(table.layout(80, false).join("\n"), @r"
        RUN  STARTED  COST  STATE
        one  12:00    $1    parked: the budget is spent, and no more
        ");
        insta::assert_snapshot!(table.layout(42, false).join("\n"), @"
        RUN  STARTED  STATE
        one  12:00    parked: the budget is spent,
                      and no more
        ");
        insta::assert_snapshot!(table.layout(34, false).join("\n"), @"
        RUN  STATE
        one  parked: the budget is spent,
             and no more
        ");
        assert!(table.layout(30, false).iter().all(|line| width(line) <= 30));
    }

    // U-11
    #[test]
    fn a_state_has_a_colour_only_where_colours_are_shown() {
        let mut table = Table::new(&["RUN", "STATE", "COST"]);
        table.styled_row(vec!["a".into(), "failed".into(), "-".into()], "STATE", style::ERROR);
        let painted = table.layout(80, true)[1].clone();
        assert_eq!(painted, "a    \u{1b}[1m\u{1b}[31mfailed\u{1b}[0m  -");
        assert_eq!(table.layout(80, false)[1], "a    failed  -");
    }
}

#[cfg(test)]
mod wrap_tests {
    use super::*;

    // U-11
    #[test]
    fn prose_wraps_at_words_with_an_indentation() {
        let lines = wrapped("  review → fix: tests still fail in the parser", 24, 4);
        assert_eq!(lines, ["  review → fix: tests", "    still fail in the", "    parser"]);
        assert_eq!(wrapped("short", 24, 4), ["short"]);
        assert_eq!(wrapped("abcdefghij", 4, 0), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("あいうえお", 4, 0), ["あい", "うえ", "お"]);
    }
}
