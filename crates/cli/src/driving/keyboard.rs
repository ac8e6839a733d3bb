//! Lines typed by a person.

use std::io;
use std::thread;

use tokio::sync::mpsc;

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
    pub(crate) fn open() -> io::Result<Self> {
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
