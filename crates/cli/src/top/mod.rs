//! `saihai top`: all runs of a project, or of the machine, on one screen.
//!
//! Three parts that know little of each other. [`model`] is the state, changed by keys and news; it is pure and returns
//! requests as values. [`view`] draws the state; it is pure too. This file is the only loop: it waits for an event,
//! updates the state, carries out requests, and draws at most 20 times a second.
//!
//! Everything that can block has its own thread and sends events: the keyboard, signals, the files of the runs
//! ([`source`]), and each action ([`actions`]). The screen drives no run and holds no lock.

mod actions;
mod boxes;
mod keys;
mod layout;
mod list_columns;
mod model;
mod run_texts;
mod screen;
mod screen_run;
mod source;
#[cfg(test)]
mod tests;
mod text_input;
mod view;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyEventKind};
use saihai_model::ExitStatus;

use crate::commands::serve::open_browser;
use crate::driving::{Signals, block_on};
use crate::error::CommandError;
use crate::page::{PageLinks, PageOptions, serve};
use crate::project::Project;
use crate::watching::ProjectRun;
use model::{TopEvent, TopModel, TopRequest, WatchedNode};
use screen::{Screen, terminal_area};
pub(crate) use screen_run::ScreenRun;
use source::RunSource;
pub(crate) use source::TopScope;

/// Least time between two drawings.
const FRAME: Duration = Duration::from_millis(50);

/// Shows runs until the person leaves. A run that was started with the screen is open, and is parked on request.
pub(crate) fn show(
    scope: TopScope,
    has_colors: bool,
    mut driven: Option<&mut ScreenRun>,
) -> Result<ExitStatus, CommandError> {
    let (events, news) = mpsc::channel();
    let (watch, requests) = mpsc::channel();
    let scope = Arc::new(scope);
    let source = RunSource::new(Arc::clone(&scope), events.clone());
    let mut model = TopModel::new(terminal_area());
    let mut screen = Screen::open(has_colors)?;
    spawn("keys", &events, read_keys)?;
    spawn("signals", &events, |events| hear_signals(&events))?;
    spawn("runs", &events, move |_| source.follow(&requests))?;
    let mut top = Top { scope, events, watch, page: None, actions: Vec::new(), parks: false };
    if let Some(driven) = &driven
        && let TopRequest::Watch(watched) = model.open_driven(driven.run.clone())
    {
        top.watch.send(watched).unwrap_or(());
    }
    let ended = top.run(&mut model, &news, &mut screen);
    drop(screen);
    if let Some(driven) = driven.as_mut().filter(|_| top.parks) {
        driven.park();
    }
    // An action under way is finished: its request may be half sent.
    for action in top.actions {
        action.join().unwrap_or(());
    }
    ended
}

/// The ends of the channels, and the actions under way.
struct Top {
    scope: Arc<TopScope>,
    /// The page, once the person has asked for it.
    page: Option<PageLinks>,
    events: Sender<TopEvent>,
    watch: Sender<Option<WatchedNode>>,
    actions: Vec<JoinHandle<()>>,
    /// True if the person leaves and parks the run of the screen.
    parks: bool,
}

impl Top {
    fn run(
        &mut self,
        model: &mut TopModel,
        news: &Receiver<TopEvent>,
        screen: &mut Screen,
    ) -> Result<ExitStatus, CommandError> {
        let mut drawn: Option<Instant> = None;
        let mut is_dirty = true;
        loop {
            let wait = drawn.map_or(Duration::ZERO, |at| FRAME.saturating_sub(at.elapsed()));
            if is_dirty && wait.is_zero() {
                screen.draw(model)?;
                (drawn, is_dirty) = (Some(Instant::now()), false);
            }
            let event = if is_dirty { news.recv_timeout(wait) } else { news.recv().map_err(Into::into) };
            let event = match event {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Ok(ExitStatus::Done),
            };
            if matches!(event, TopEvent::Bug) {
                return Err(CommandError::Said(ExitStatus::Bug));
            }
            is_dirty = true;
            if let TopEvent::Resized(size) = &event {
                screen.resize(*size)?;
            }
            for command in model.update(event) {
                match command {
                    TopRequest::Quit => return Ok(ExitStatus::Done),
                    TopRequest::Park => {
                        self.parks = true;
                        return Ok(ExitStatus::Done);
                    }
                    TopRequest::Suspend => {
                        screen.suspend()?;
                        let size = terminal_area();
                        screen.resize(size)?;
                        model.update(TopEvent::Resized(size));
                    }
                    TopRequest::Redraw => screen.resize(terminal_area())?,
                    TopRequest::Watch(watched) => self.watch.send(watched).unwrap_or(()),
                    TopRequest::OpenPage { run } => {
                        let opened = self.open_page(&run).unwrap_or_else(|error| TopEvent::error(&error));
                        model.update(opened);
                    }
                    action => self.act(action)?,
                }
            }
        }
    }

    /// Opens a run in the browser. The page is served by a thread of this process, so it ends with the screen.
    fn open_page(&mut self, run: &ProjectRun) -> Result<TopEvent, CommandError> {
        let page = match self.page.take() {
            Some(page) => page,
            None => serve_page(&self.scope, &self.events)?,
        };
        let (link, fragment) = (page.new_link()?, page.fragment(run));
        self.page = Some(page);
        let is_opened = has_display() && open_browser(&format!("{link}{fragment}"));
        Ok(TopEvent::Page { link, is_opened })
    }

    /// Performs an action on its own thread, because the owner of a run may take its time.
    fn act(&mut self, command: TopRequest) -> Result<(), CommandError> {
        self.actions.retain(|action| !action.is_finished());
        let action = spawn("action", &self.events, move |events| {
            if let Some(event) = actions::perform(command) {
                events.send(event).unwrap_or(());
            }
        })?;
        self.actions.push(action);
        Ok(())
    }
}

/// Serves the page of the shown projects on its own thread.
fn serve_page(scope: &TopScope, events: &Sender<TopEvent>) -> Result<PageLinks, CommandError> {
    let roots = scope.roots();
    let projects = roots.iter().map(|root| Project::find_at(root)).collect::<Result<Vec<_>, _>>()?;
    let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let options = PageOptions { projects, host, port: None, read_only: false };
    let (ready, answer) = mpsc::channel();
    spawn("page", events, move |_| {
        let started = ready.clone();
        let served = block_on(serve(options, |links| {
            started.send(Ok(links)).unwrap_or(());
            Ok(())
        }));
        if let Err(error) = served {
            ready.send(Err(error)).unwrap_or(());
        }
    })?;
    answer.recv().map_err(|_| CommandError::unavailable("the page cannot be served"))?
}

/// Returns true if a graphical browser can appear. One that draws on this terminal would tear the screen.
fn has_display() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].into_iter().any(is_set)
}

/// Starts a thread. If it panics, the screen closes.
fn spawn(
    name: &str,
    events: &Sender<TopEvent>,
    work: impl FnOnce(Sender<TopEvent>) + Send + 'static,
) -> Result<JoinHandle<()>, CommandError> {
    let events = events.clone();
    let guard = PanicReport(events.clone());
    let started = thread::Builder::new().name(name.to_owned()).spawn(move || {
        let _guard = guard;
        work(events);
    });
    started.map_err(|error| CommandError::unavailable(format!("cannot start a thread: {error}")))
}

/// Reports a panic of its thread.
struct PanicReport(Sender<TopEvent>);

impl Drop for PanicReport {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.send(TopEvent::Bug).unwrap_or(());
        }
    }
}

/// Reads keys until the terminal or the screen is gone.
fn read_keys(events: Sender<TopEvent>) {
    loop {
        let event = match crossterm::event::read() {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => TopEvent::Key(key),
            Ok(Event::Paste(text)) => TopEvent::Pasted(text),
            Ok(Event::Resize(..)) => TopEvent::Resized(terminal_area()),
            Ok(_) => continue,
            Err(_) => TopEvent::Stop,
        };
        let is_over = matches!(event, TopEvent::Stop);
        if events.send(event).is_err() || is_over {
            return;
        }
    }
}

/// Waits for a signal that asks to stop. Ctrl-C is a key here.
fn hear_signals(events: &Sender<TopEvent>) {
    let heard = block_on(async {
        let mut signals = Signals::listen()?;
        signals.next().await;
        Ok(())
    });
    // Without handlers, a signal ends the process as usual.
    if heard.is_ok() {
        events.send(TopEvent::Stop).unwrap_or(());
    }
}
