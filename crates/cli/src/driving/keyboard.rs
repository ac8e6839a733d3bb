//! Lines typed by a person.

use std::io::{self, IsTerminal as _};
use std::thread;

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

/// A line, or the end of what is typed.
pub(crate) enum Typed {
    Line(String),
    End,
}

/// Reads stdin on a thread of its own, because reading it cannot be given up. The thread ends with the process, or
/// when nobody listens to it any more.
pub(crate) struct Keyboard {
    lines: mpsc::UnboundedReceiver<Typed>,
}

impl Keyboard {
    /// Has a keyboard at hand for a question that is shown next. What was typed at a terminal until now answers nothing: nobody had
    /// seen the question. What comes through a pipe was written for it.
    pub(crate) fn before_asking(keyboard: &mut Option<Self>) {
        if io::stdin().is_terminal() {
            // Where that cannot be done the person still sees what was taken for an answer.
            tcflush(io::stdin(), QueueSelector::IFlush).unwrap_or(());
            let is_over = keyboard.as_mut().is_some_and(Self::forget);
            keyboard.take_if(|_| is_over);
        }
        if keyboard.is_none() {
            *keyboard = Self::open().ok();
        }
    }

    /// Forgets what was read; whether nothing more will be.
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
                    // What is not text cannot be an answer either.
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
