//! Lines typed by a person.

use std::io::{self, IsTerminal as _};
use std::thread;

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

/// A line, or the end of the input.
pub(crate) enum Typed {
    Line(String),
    End,
}

/// A reader of stdin on its own thread, because a blocking read cannot be cancelled. The thread ends with the process
/// or with its receiver.
pub(crate) struct Keyboard {
    lines: mpsc::UnboundedReceiver<Typed>,
}

impl Keyboard {
    /// Opens a keyboard for the next question. Discards earlier input from a terminal: the person had not seen the
    /// question. Input from a pipe is kept, because it was written for the question.
    pub(crate) fn before_asking(keyboard: &mut Option<Self>) {
        if io::stdin().is_terminal() {
            // If this fails, the person still sees which input was used as the answer.
            tcflush(io::stdin(), QueueSelector::IFlush).unwrap_or(());
            let is_over = keyboard.as_mut().is_some_and(Self::forget);
            keyboard.take_if(|_| is_over);
        }
        if keyboard.is_none() {
            *keyboard = Self::open().ok();
        }
    }

    /// Discards the lines read so far. Returns true at the end of the input.
    fn forget(&mut self) -> bool {
        loop {
            match self.lines.try_recv() {
                Ok(Typed::Line(_)) => {}
                Ok(Typed::End) | Err(TryRecvError::Disconnected) => return true,
                Err(TryRecvError::Empty) => return false,
            }
        }
    }

    fn open() -> io::Result<Self> {
        let (tell, lines) = mpsc::unbounded_channel();
        thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
            loop {
                let mut line = String::new();
                let typed = match io::stdin().read_line(&mut line) {
                    Ok(1..) => Typed::Line(line),
                    // Input that is not UTF-8 cannot be an answer either.
                    Ok(0) | Err(_) => Typed::End,
                };
                let over = matches!(typed, Typed::End);
                if tell.send(typed).is_err() || over {
                    return;
                }
            }
        })?;
        Ok(Self { lines })
    }

    pub(crate) async fn next(&mut self) -> Typed {
        self.lines.recv().await.unwrap_or(Typed::End)
    }
}
