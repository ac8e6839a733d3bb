//! stdout and stderr.

use std::env;
use std::io::{self, BufWriter, IsTerminal, Write};

use anstyle::Style;

use super::style;
use super::{defused, visible_line, visible_text};

/// What a person or a program reads of a command.
pub(crate) struct Streams {
    pub(crate) out: Stream,
    /// Progress, notes, warnings and errors.
    pub(crate) err: Stream,
    /// Whether somebody could type an answer.
    pub(crate) stdin_is_terminal: bool,
}

pub(crate) struct Stream {
    sink: Box<dyn Write>,
    terminal: bool,
    styled: bool,
}

impl Streams {
    /// Those of nobody: whatever is said is lost.
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

    /// Whether questions may be asked (K-4); the caller adds "and no `--json`".
    pub(crate) fn can_ask(&self) -> bool {
        self.stdin_is_terminal && self.err.terminal
    }

    /// Says what failed, and what to do.
    pub(crate) fn error(&mut self, message: &str, hints: &[String]) {
        self.say("error", style::ERROR, message);
        for hint in hints {
            self.err.line(&format!("  = help: {}", visible_line(hint)));
        }
    }

    /// Says what a person should know although the work goes on.
    pub(crate) fn warning(&mut self, message: &str) {
        self.say("warning", style::WARNING, message);
    }

    /// Says what is good to know.
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

    /// Whether a person looks at it directly.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Whether colour and redrawing are wanted on it.
    pub(crate) fn is_styled(&self) -> bool {
        self.styled
    }

    /// The columns of the terminal; plenty where there is none.
    pub(crate) fn columns(&self) -> usize {
        if !self.terminal {
            return usize::MAX;
        }
        terminal_size::terminal_size_of(io::stderr())
            .or_else(|| terminal_size::terminal_size_of(io::stdout()))
            .map_or(80, |(width, _)| usize::from(width.0).max(20))
    }

    /// The rows of the terminal.
    pub(crate) fn rows(&self) -> usize {
        terminal_size::terminal_size_of(io::stderr()).map_or(24, |(_, height)| usize::from(height.0).max(4))
    }

    /// The text in a style, where styles are wanted.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        if self.styled { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A line that must arrive, or the command ends.
    pub(crate) fn data(&mut self, line: &str) -> io::Result<()> {
        self.sink.write_all(defused(line).as_bytes())?;
        self.sink.write_all(b"\n")
    }

    /// Bytes that must arrive as they are, also where a CI service would obey them.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes)
    }

    /// What was written is on its way.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    /// A line that nobody waits for: where it cannot be written, the work goes on all the same.
    pub(crate) fn line(&mut self, line: &str) {
        self.send(&format!("{line}\n"));
    }

    /// The same for any text, in one piece.
    pub(crate) fn send(&mut self, text: &str) {
        let _ = self.sink.write_all(defused(text).as_bytes());
        let _ = self.sink.flush();
    }
}

/// <https://no-color.org>: set and not empty means no. A terminal that calls itself dumb cannot.
fn wants_style() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
pub(crate) mod captured {
    //! Streams whose text a test can look at.

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

    /// Streams that are no terminals, and what is written to stdout and stderr.
    pub(crate) fn streams() -> (Streams, Captured, Captured) {
        let (out, err) = (Captured::default(), Captured::default());
        let streams = Streams {
            out: Stream::new(out.clone(), false),
            err: Stream::new(err.clone(), false),
            stdin_is_terminal: false,
        };
        (streams, out, err)
    }

    /// A terminal with styles, whatever the environment says.
    pub(crate) fn styled() -> (Stream, Captured) {
        let written = Captured::default();
        (Stream { sink: Box::new(written.clone()), terminal: true, styled: true }, written)
    }
}
