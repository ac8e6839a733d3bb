//! Progress on a terminal: permanent lines, and a live frame below them that is redrawn in place.
//!
//! A frame is written in one piece. It moves up to the start of the last frame, writes each line, and erases the rest
//! of the screen. It never hides the cursor or changes a mode, so a crash leaves nothing to restore. `clear` erases
//! the last frame.

use std::fmt::Write as _;

use crate::terminal::{Stream, width};

/// The live lines at the bottom of a terminal.
#[derive(Default)]
pub(crate) struct Live {
    drawn: Vec<String>,
}

impl Live {
    /// Writes permanent lines above the frame.
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

    /// Replaces the last frame. An unchanged frame writes nothing.
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

    /// Returns the sequence that moves to the start of the frame. A narrower terminal may have wrapped its lines.
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
