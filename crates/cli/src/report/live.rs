//! Progress on a terminal: lines that stay, and below them what is under way, redrawn in place.
//!
//! A frame is written in one piece: up to where the last one began, each line and the rest of its row erased, the
//! rest of the screen erased. The cursor is never hidden and no mode is changed, so there is nothing to restore
//! however the process ends; `clear` takes the last frame away.

use std::fmt::Write as _;

use crate::terminal::{Stream, width};

/// The lines at the bottom of a terminal that are redrawn.
#[derive(Default)]
pub(crate) struct Live {
    drawn: Vec<String>,
}

impl Live {
    /// Writes lines that stay, above the frame.
    pub(crate) fn keep(&mut self, lines: &[String], err: &mut Stream) {
        if lines.is_empty() {
            return;
        }
        let frame = std::mem::take(&mut self.drawn);
        let mut text = Self::up(&frame, err.columns());
        text.push_str("\x1b[J");
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        Self::write(&mut text, &frame);
        err.send(&text);
        self.drawn = frame;
    }

    /// Draws a frame where the last one is; the same frame costs nothing.
    pub(crate) fn draw(&mut self, frame: Vec<String>, err: &mut Stream) {
        if frame == self.drawn {
            return;
        }
        let mut text = Self::up(&self.drawn, err.columns());
        Self::write(&mut text, &frame);
        text.push_str("\x1b[J");
        err.send(&text);
        self.drawn = frame;
    }

    pub(crate) fn clear(&mut self, err: &mut Stream) {
        self.draw(Vec::new(), err);
    }

    /// To the beginning of the frame. A terminal made narrower since has wrapped its lines.
    fn up(drawn: &[String], columns: usize) -> String {
        let rows: usize = drawn.iter().map(|line| width(line).div_ceil(columns).max(1)).sum();
        if rows == 0 { String::new() } else { format!("\x1b[{rows}A\r") }
    }

    fn write(text: &mut String, frame: &[String]) {
        for line in frame {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{line}\x1b[K");
        }
    }
}
