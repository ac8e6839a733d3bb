//! Boxes over the screen: help, questions and input lines.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use saihai_model::Wants;

use super::layout::{ScreenSize, wrap_text};
use super::model::{ConfirmedAction, TopDialog};
use super::text_input::TextInput;
use super::view::{Lines, TopView, put, row_at, shifted};
use crate::terminal::{pad, style, width, wrapped};

const HELP: [&str; 25] = [
    "Enter      open the selected run",
    "↑ ↓ k j    move; in a text: scroll",
    "Tab        switch between tree and text",
    "← → 1-5    show Transcript, Prompt, Report, Diff or Why",
    "PgUp PgDn  scroll a page; Home and End go to its ends",
    "/  n  N    search in the text, next, previous match",
    "F          follow the running turn, or stop that",
    "Esc        back",
    "",
    "a          answer the question that the run waits for",
    "t          tell the agents something, in the next prompt",
    "c          cancel the run for good",
    "f          fork: create a new run from this one",
    "r          resume the run in a process of its own",
    "b          resume it with a larger budget",
    "w          open the run in the browser",
    "e          save the run as a page in one file",
    "y          show the id and commands to copy",
    "",
    "Ctrl-L     draw the screen again",
    "Ctrl-Z     suspend; fg returns",
    "q Ctrl-C   quit; no run is stopped",
    "",
    "Each key does the same as its command: answer, tell, cancel, fork,",
    "resume. A resumed run continues when you leave this screen.",
];

/// Returns the widest that a text in a box may be.
fn text_columns(size: ScreenSize) -> usize {
    usize::from(size.columns.saturating_sub(4)).clamp(1, 72)
}

const EXPLAINED: usize = 11;

/// Returns the help, wrapped to the screen.
pub(super) fn help_lines(size: ScreenSize) -> Vec<String> {
    let columns = text_columns(size);
    let wrap = |line: &&str| {
        let indent = if line.contains("  ") { EXPLAINED } else { 0 };
        if line.is_empty() { vec![String::new()] } else { wrapped(line, columns, indent) }
    };
    HELP.iter().flat_map(wrap).collect()
}

/// Returns the lines of the help that fit on the screen.
pub(super) fn help_height(size: ScreenSize) -> usize {
    usize::from(size.rows.saturating_sub(2)).max(1)
}

impl TopView<'_> {
    pub(super) fn draw_dialog(&self, dialog: &TopDialog, area: Rect, buffer: &mut Buffer) {
        let most = text_columns(self.model.size);
        let wrap = |text: &str| wrap_text(text, most);
        match dialog {
            TopDialog::Help { top } => {
                let lines = help_lines(self.model.size);
                let shown = &lines[(*top).min(lines.len())..];
                let title = if lines.len() > help_height(self.model.size) { "Keys (↑↓)" } else { "Keys" };
                self.draw_box(title, shown, area, buffer);
            }
            TopDialog::Commands { title, lines } => {
                let mut text: Vec<String> = lines.iter().flat_map(|line| wrap(line)).collect();
                text.extend([String::new(), "any key closes this".to_owned()]);
                self.draw_box(title, &text, area, buffer);
            }
            TopDialog::Confirm { run, action } => {
                let (title, question) = match action {
                    ConfirmedAction::Cancel => {
                        ("Cancel", "Cancel this run for good? It can be forked, but not resumed.")
                    }
                    ConfirmedAction::Fork => (
                        "Fork",
                        "Create a new run from this one, up to its last stage? Files stay as they are.",
                    ),
                };
                let mut text = wrap(&run.id);
                text.extend(wrap(question));
                text.extend([String::new(), "y yes   any other key no".to_owned()]);
                self.draw_box(title, &text, area, buffer);
            }
            TopDialog::Leave => {
                let mut text = wrap("The run that you started here still works.");
                text.extend([
                    String::new(),
                    "p park it and leave".to_owned(),
                    "s leave, and let it continue".to_owned(),
                    "any other key stays here".to_owned(),
                ]);
                self.draw_box("Leave", &text, area, buffer);
            }
            TopDialog::Resume { run, input } => {
                let mut text = wrap(&run.id);
                text.extend(wrap(
                    "Continue this run in a process of its own, with these flags of `saihai resume`.",
                ));
                self.draw_question("Resume", text, input, area, buffer);
            }
            TopDialog::Tell { run, input } => {
                let mut text = wrap(&run.id);
                text.extend(wrap("The next prompt of the current stage shows your note."));
                self.draw_question("Tell", text, input, area, buffer);
            }
            TopDialog::Answer { gate, input, problem, .. } => {
                let mut text = wrap(gate.question.trim());
                // The input stays visible below a long question.
                let room = usize::from(area.height).saturating_sub(8).max(1);
                if text.len() > room {
                    text.truncate(room - 1);
                    text.push("…".to_owned());
                }
                text.push(String::new());
                let form = match gate.wants {
                    Wants::YesNo => "yes or no, with an optional text",
                    Wants::Text { .. } => "your answer in one line",
                };
                text.extend(wrap(problem.as_deref().unwrap_or(form)));
                self.draw_question("Answer", text, input, area, buffer);
            }
        }
    }

    /// Draws a box with an input line below its text.
    fn draw_question(
        &self,
        title: &str,
        mut text: Vec<String>,
        input: &TextInput,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        text.extend([String::new(), "Enter sends, Esc closes".to_owned()]);
        // A box for typing is as wide as it may be.
        let most = text_columns(self.model.size);
        if let Some(first) = text.first_mut() {
            *first = pad(first, most);
        }
        let inner = self.draw_box(title, &text, area, buffer);
        let line = Rect { y: inner.bottom().saturating_sub(2), height: 1, ..inner };
        if inner.height >= 2 {
            put(buffer, Some(line), "> ", self.style(style::STRONG));
            if let Some(rest) = shifted(line, 2) {
                self.draw_input(input, rest, buffer);
            }
        }
    }

    /// Draws a box in the middle of the screen and returns its inside.
    fn draw_box(&self, title: &str, text: &[String], area: Rect, buffer: &mut Buffer) -> Rect {
        let widest = text.iter().map(|line| width(line)).max().unwrap_or(0).max(width(title) + 2);
        let columns = u16::try_from(widest + 4).unwrap_or(u16::MAX).min(area.width);
        let rows = u16::try_from(text.len() + 2).unwrap_or(u16::MAX).min(area.height);
        let (x, y) = (area.x + (area.width - columns) / 2, area.y + (area.height - rows) / 2);
        let place = Rect { x, y, width: columns, height: rows };
        for y in place.top()..place.bottom() {
            for x in place.left()..place.right() {
                buffer[(x, y)].reset();
            }
        }
        let inside = usize::from(columns.saturating_sub(2));
        let head = format!(" {title} ");
        let dashes = "─".repeat(inside.saturating_sub(width(&head)));
        let bold = self.style(style::STRONG);
        put(buffer, row_at(place, place.top()), &format!("┌{head}{dashes}┐"), bold);
        for y in place.top() + 1..place.bottom().saturating_sub(1) {
            put(buffer, row_at(place, y), "│", bold);
            put(buffer, row_at(place, y).and_then(|line| shifted(line, columns - 1)), "│", bold);
        }
        let last = place.bottom() - 1;
        put(buffer, row_at(place, last), &format!("└{}┘", "─".repeat(inside)), bold);
        let inner = Rect {
            x: place.x + 2,
            y: place.y + 1,
            width: columns.saturating_sub(4),
            height: rows.saturating_sub(2),
        };
        let mut lines = Lines::new(inner);
        for line in text {
            put(buffer, lines.next(), line, Style::new());
        }
        inner
    }
}
