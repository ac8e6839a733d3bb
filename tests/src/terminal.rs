//! Invocations on a pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use crate::Invocation;
use crate::full_screen::FullScreen;
use crate::invocation::WATCHDOG;

/// An invocation whose stdin, stdout and stderr are one terminal. Dropping it kills the process.
#[derive(Debug)]
pub struct Terminal {
    shown: String,
    child: Child,
    keys: File,
    chunks: Receiver<Vec<u8>>,
    seen: Vec<u8>,
    columns: u16,
    rows: u16,
}

impl Terminal {
    /// Starts it on a terminal of 80 columns.
    pub fn start(invocation: Invocation) -> Self {
        Self::start_with_columns(invocation, 80)
    }

    pub fn start_with_columns(invocation: Invocation, columns: u16) -> Self {
        let (ours, theirs) = open(columns);
        let (mut command, shown) = invocation.into_command();
        let side = || Stdio::from(theirs.try_clone().expect("another handle"));
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn();
        let child = child.unwrap_or_else(|error| panic!("`{shown}` cannot be started: {error}"));
        // Otherwise the terminal would stay open after the program ends.
        drop(command);
        drop(theirs);
        let keys = File::from(ours);
        let mut screen = keys.try_clone().expect("another handle");
        let (sender, chunks) = mpsc::channel();
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            // A terminal with a closed peer returns an error instead of end of file.
            while let Ok(count @ 1..) = screen.read(&mut chunk) {
                if sender.send(chunk[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { shown, child, keys, chunks, seen: Vec::new(), columns, rows: ROWS }
    }

    /// Waits until `part` has appeared on the screen at any time.
    pub fn wait_for(&mut self, part: &str) {
        let begun = Instant::now();
        while !self.text().contains(part) {
            match self.chunks.recv_timeout(WATCHDOG.saturating_sub(begun.elapsed())) {
                Ok(chunk) => self.seen.extend(chunk),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("`{}` never shows {part:?}: {}", self.shown, self.text())
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("`{}` ended without {part:?}: {}", self.shown, self.text())
                }
            }
        }
    }

    /// Waits until the cells of a full-screen program fulfil a condition. Returns their text.
    pub fn wait_for_screen(&mut self, what: &str, is_met: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen().text();
            if is_met(&screen) {
                return screen;
            }
            match self.chunks.recv_timeout(WATCHDOG.saturating_sub(begun.elapsed())) {
                Ok(chunk) => self.seen.extend(chunk),
                Err(error) => panic!("`{}` never shows {what} ({error}):\n{screen}", self.shown),
            }
        }
    }

    /// Returns the cells that a full-screen program has drawn so far.
    pub fn screen(&self) -> FullScreen {
        // A character can be cut in the middle by the end of the output so far.
        let whole = self.seen.utf8_chunks().map(|chunk| chunk.valid()).collect::<String>();
        FullScreen::after(&whole, usize::from(self.columns), usize::from(self.rows))
    }

    /// Returns how often a program has entered the alternate screen.
    pub fn entries(&mut self) -> usize {
        while let Ok(chunk) = self.chunks.try_recv() {
            self.seen.extend(chunk);
        }
        self.text().matches("\u{1b}[?1049h").count()
    }

    /// Changes the size of the terminal, and tells the program.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        (self.columns, self.rows) = (columns, rows);
        tcsetwinsize(&self.keys, window(columns, rows)).expect("its size can be set");
        self.signal(Signal::WINCH);
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("a terminal takes keys");
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a signal to our own child");
    }

    /// Returns the raw output so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Waits for the end. Returns the exit code and the raw output.
    pub fn finish(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        loop {
            match self.chunks.recv_timeout(WATCHDOG.saturating_sub(begun.elapsed())) {
                Ok(chunk) => self.seen.extend(chunk),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("`{}` hangs: {}", self.shown, self.text()),
            }
        }
        let status = self.child.wait().expect("its end");
        (status.code(), self.text())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The process has usually ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Opens a pseudo-terminal without echo.
fn open(columns: u16) -> (OwnedFd, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("the right to use it");
    unlockpt(&ours).expect("the right to open it");
    let name = ptsname(&ours, Vec::new()).expect("its name");
    let theirs = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().expect("its name is text"))
        .expect("its other side");
    let theirs = OwnedFd::from(theirs);
    let mut modes = tcgetattr(&theirs).expect("its modes");
    modes.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&theirs, OptionalActions::Now, &modes).expect("its modes can be set");
    tcsetwinsize(&ours, window(columns, ROWS)).expect("its size can be set");
    (ours, theirs)
}

/// Height of a terminal until it is resized.
const ROWS: u16 = 24;

fn window(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// A character on the screen with its select-graphic-rendition codes, for example `1;32`.
pub type StyledCharacter = (char, String);

/// Returns the screen lines after this output. Interprets only the escape sequences that Saihai
/// uses.
pub fn screen(written: &str) -> Vec<String> {
    styled_screen(written)
        .into_iter()
        .map(|line| line.into_iter().map(|(letter, _)| letter).collect())
        .collect()
}

/// Like [`screen`], with the style of each character.
pub fn styled_screen(written: &str) -> Vec<Vec<StyledCharacter>> {
    let mut lines: Vec<Vec<StyledCharacter>> = vec![Vec::new()];
    let mut style = String::new();
    let (mut row, mut column) = (0, 0);
    let mut characters = written.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                let (kind, numbers) = sequence(&mut characters);
                match kind {
                    'A' => row -= numbers.parse().unwrap_or(1),
                    'J' => lines.truncate(row + 1),
                    'K' | ']' => {}
                    'm' if matches!(numbers.as_str(), "" | "0") => style.clear(),
                    'm' if style.is_empty() => style = numbers,
                    'm' => style = format!("{style};{numbers}"),
                    other => panic!("a sequence we do not use: {other:?}"),
                }
                if matches!(kind, 'J' | 'K') {
                    lines[row].truncate(column);
                }
            }
            // The bell.
            '\u{7}' => {}
            '\r' => column = 0,
            '\n' => {
                row += 1;
                lines.resize(lines.len().max(row + 1), Vec::new());
            }
            other => {
                lines[row].truncate(column);
                lines[row].push((other, style.clone()));
                column += 1;
            }
        }
    }
    lines
}

/// Returns the final letter and the numbers of an escape sequence, after its escape character.
fn sequence(characters: &mut std::str::Chars<'_>) -> (char, String) {
    match characters.next() {
        Some('[') => {}
        // A desktop notification, up to its end.
        Some(']') => {
            let end = characters.by_ref().position(|character| character == '\u{1b}');
            assert!(end.is_some() && characters.next() == Some('\\'), "a notification ends");
            return (']', String::new());
        }
        other => panic!("a sequence we do not use: {other:?}"),
    }
    let mut numbers = String::new();
    loop {
        match characters.next().expect("a sequence ends") {
            letter if letter.is_ascii_alphabetic() => return (letter, numbers),
            other => numbers.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::screen;

    #[test]
    fn what_is_drawn_over_is_not_seen() {
        let written = "kept\r\n\u{1b}[1mone\u{1b}[0m\u{1b}[K\r\ntwo\r\n\u{1b}[2A\r1\u{1b}[K\r\n\u{1b}[J";
        assert_eq!(screen(written), ["kept", "1", ""]);
    }
}
