//! stdout and stderr.

use std::env;
use std::io::{self, BufWriter, IsTerminal, Write};

use anstyle::Style;

use super::style;
use super::{defused, visible_line, visible_text};

/// The output of a command.
pub(crate) struct Streams {
    pub(crate) out: Stream,
    /// Progress, notes, warnings and errors.
    pub(crate) err: Stream,
    /// True if a person can type an answer.
    pub(crate) stdin_is_terminal: bool,
}

pub(crate) struct Stream {
    sink: Box<dyn Write>,
    terminal: bool,
    styled: bool,
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
            self.err.line(&format!("  = help: {}", visible_line(hint)));
        }
    }

    /// Prints a warning. The work continues.
    pub(crate) fn warning(&mut self, message: &str) {
        self.say("warning", style::WARNING, message);
    }

    pub(crate) fn note(&mut self, message: &str) {
        self.say("note", style::NOTE, message);
    }

    fn say(&mut self, kind: &str, style: Style, message: &str) {
        let kind = self.err.paint(style, kind);
        let text = visible_text(message.trim_end());
        let mut lines = text.lines();
        self.err.line(&format!("{kind}: {}", lines.next().unwrap_or_default()));
        for line in lines {
            self.err.line(&format!("    {line}"));
        }
    }
}

impl Stream {
    pub(crate) fn new(sink: impl Write + 'static, terminal: bool) -> Self {
        Self { sink: Box::new(sink), terminal, styled: terminal && wants_style() }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Returns true if the stream supports colour and redrawing.
    pub(crate) fn is_styled(&self) -> bool {
        self.styled
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

#[cfg(test)]
pub(crate) mod captured {
    //! Streams that tests can inspect.

    use std::cell::RefCell;
    use std::io::{self, Write};
    use std::rc::Rc;

    use super::{Stream, Streams};

    #[derive(Clone, Default)]
    pub(crate) struct Captured(Rc<RefCell<Vec<u8>>>);

    impl Captured {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.borrow().clone()).unwrap()
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
        };
        (streams, out, err)
    }

    /// Creates a styled terminal, independent of the environment.
    pub(crate) fn styled() -> (Stream, Captured) {
        let written = Captured::default();
        (Stream { sink: Box::new(written.clone()), terminal: true, styled: true }, written)
    }
}
