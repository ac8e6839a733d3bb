//! The terminal: the alternate screen in raw mode, restored however the program ends.

use std::io::{self, Stdout, Write as _};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::process::{Signal, getpid, kill_process};

use super::layout::ScreenSize;
use super::model::TopModel;
use super::view::TopView;
use crate::error::CommandError;

/// True while the alternate screen is shown. A panic of any thread closes it, so that its message can be read.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// The screen of this process. Dropping it restores the terminal.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    has_colors: bool,
}

/// Returns the size of the terminal that stdout writes to.
pub(super) fn terminal_area() -> ScreenSize {
    let size = terminal_size::terminal_size_of(io::stdout());
    size.map_or(ScreenSize { columns: 80, rows: 24 }, |(width, height)| ScreenSize {
        columns: width.0.max(1),
        rows: height.0.max(1),
    })
}

impl Screen {
    pub(super) fn open(has_colors: bool) -> Result<Self, CommandError> {
        restore_on_panic();
        let opened = enter().and_then(|()| new_terminal(terminal_area()));
        match opened {
            Ok(terminal) => Ok(Self { terminal, has_colors }),
            Err(error) => {
                restore();
                Err(failed(&error))
            }
        }
    }

    pub(super) fn draw(&mut self, model: &TopModel) -> Result<(), CommandError> {
        if !IS_OPEN.load(Ordering::SeqCst) {
            return Ok(());
        }
        let view = TopView { model, has_colors: self.has_colors };
        let drawn = self.terminal.draw(|frame| view.render(frame.area(), frame.buffer_mut()));
        drawn.map(|_| ()).map_err(|error| failed(&error))
    }

    /// Starts with an empty screen of this size. The library's own way asks the terminal for the position of the cursor,
    /// and the thread of the keyboard would take the answer.
    pub(super) fn resize(&mut self, size: ScreenSize) -> Result<(), CommandError> {
        self.terminal = new_terminal(size).map_err(|error| failed(&error))?;
        execute!(io::stdout(), Clear(ClearType::All)).map_err(|error| failed(&error))
    }

    /// Stops this process until the shell continues it.
    pub(super) fn suspend(&mut self) -> Result<(), CommandError> {
        restore();
        kill_process(getpid(), Signal::TSTP).map_err(|error| failed(&error.into()))?;
        enter().map_err(|error| failed(&error))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// The size is ours: the library would ask the controlling terminal, which may be another one.
fn new_terminal(size: ScreenSize) -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    let viewport = Viewport::Fixed(Rect::new(0, 0, size.columns, size.rows));
    Terminal::with_options(CrosstermBackend::new(io::stdout()), TerminalOptions { viewport })
}

fn enter() -> io::Result<()> {
    IS_OPEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)
}

/// Restores the terminal, once. Fails only if it is gone.
fn restore() {
    if !IS_OPEN.swap(false, Ordering::SeqCst) {
        return;
    }
    execute!(io::stdout(), DisableBracketedPaste, Show, LeaveAlternateScreen).unwrap_or(());
    disable_raw_mode().unwrap_or(());
    io::stdout().flush().unwrap_or(());
}

/// Restores the terminal before the message of a panic is printed, so that a person can read it.
fn restore_on_panic() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        restore();
        report(panic);
    }));
}

fn failed(error: &io::Error) -> CommandError {
    CommandError::unavailable(format!("cannot draw on the terminal: {error}"))
}
