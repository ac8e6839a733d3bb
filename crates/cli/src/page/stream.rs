//! Changes for one browser, as one stream of events.
//!
//! The stream holds what the browser has. A browser that comes back names the last event of its run, and gets what
//! happened since. Output of running turns is dropped if the browser is slow; events never are.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::Event;
use saihai::RunDirectory;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::watch;

use super::home::HomeRows;
use super::model::{PageEvent, PageRow, RunPage};
use super::projects::ServedProjects;
use super::texts::live_end;
use crate::error::CommandError;
use crate::quantities;
use crate::watching::WatchedRun;

/// Interval between two looks at the watched run.
const LOOK: Duration = Duration::from_millis(150);
/// Messages that wait for a slow browser.
const QUEUE: usize = 32;

/// The run that a browser shows.
pub(super) struct StreamedRun {
    pub(super) directory: RunDirectory,
    pub(super) projects: Arc<ServedProjects>,
    /// Index of its project.
    pub(super) project: usize,
    /// The last event that the browser has.
    pub(super) since: u64,
}

/// Starts to follow the list and, if given, a run. The events end when the browser is gone.
pub(super) fn follow(
    home: watch::Receiver<Arc<HomeRows>>,
    run: Option<StreamedRun>,
) -> impl futures_util::Stream<Item = Result<Event, Infallible>> {
    let (events, queue) = channel(QUEUE);
    tokio::spawn(follow_rows(home, events.clone()));
    if let Some(run) = run {
        tokio::spawn(follow_run(run, events));
    }
    futures_util::stream::unfold(queue, |mut queue| async {
        let event = queue.recv().await?;
        Some((Ok(event), queue))
    })
}

/// Returns a message. The last event of a run is what the browser names when it comes back.
fn message(event: &PageEvent) -> Event {
    let data = serde_json::to_string(event).unwrap_or_default();
    let message = Event::default().data(data);
    match event {
        PageEvent::Run { page } => message.id(page.last_seq.to_string()),
        PageEvent::Rows { .. } | PageEvent::Output { .. } | PageEvent::Lost { .. } => message,
    }
}

async fn follow_rows(mut home: watch::Receiver<Arc<HomeRows>>, events: Sender<Event>) {
    let mut sent: Option<Arc<HomeRows>> = None;
    loop {
        let now = Arc::clone(&home.borrow_and_update());
        let news = row_news(sent.as_deref(), &now);
        sent = Some(now);
        if let Some(news) = news
            && events.send(message(&news)).await.is_err()
        {
            return;
        }
        tokio::select! {
            changed = home.changed() => if changed.is_err() { return },
            () = events.closed() => return,
        }
    }
}

/// Compares the rows with those that the browser has.
fn row_news(sent: Option<&HomeRows>, now: &HomeRows) -> Option<PageEvent> {
    let Some(sent) = sent else {
        return Some(PageEvent::Rows { is_whole: true, rows: now.rows.clone(), gone: Vec::new() });
    };
    let mut before: HashMap<&str, &PageRow> = sent.rows.iter().map(|row| (row.id.as_str(), row)).collect();
    let rows: Vec<PageRow> =
        now.rows.iter().filter(|row| before.remove(row.id.as_str()) != Some(row)).cloned().collect();
    let gone: Vec<String> = before.into_keys().map(str::to_owned).collect();
    (!rows.is_empty() || !gone.is_empty()).then_some(PageEvent::Rows { is_whole: false, rows, gone })
}

async fn follow_run(run: StreamedRun, events: Sender<Event>) {
    let sent = Sent { seq: run.since, row: None };
    let mut look = RunLook { run, watched: None, sent, news: Vec::new() };
    loop {
        let done = tokio::task::spawn_blocking(move || {
            look.news = look.look().unwrap_or_else(|error| {
                look.watched = None;
                vec![PageEvent::Lost { words: error.message().to_owned() }]
            });
            look
        });
        let Ok(back) = done.await else { return };
        look = back;
        let is_lost = look.news.iter().any(|event| matches!(event, PageEvent::Lost { .. }));
        for event in std::mem::take(&mut look.news) {
            let sent = match &event {
                // The next look repeats the end of the output.
                PageEvent::Output { .. } => events.try_send(message(&event)).is_ok() || !events.is_closed(),
                _ => events.send(message(&event)).await.is_ok(),
            };
            if !sent {
                return;
            }
        }
        let wait = if is_lost { LOOK * 20 } else { LOOK };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = events.closed() => return,
        }
    }
}

/// The watched run, and what the browser has of it.
struct RunLook {
    run: StreamedRun,
    watched: Option<WatchedRun>,
    sent: Sent,
    news: Vec<PageEvent>,
}

struct Sent {
    seq: u64,
    row: Option<PageRow>,
}

impl RunLook {
    fn look(&mut self) -> Result<Vec<PageEvent>, CommandError> {
        let watched = match &mut self.watched {
            Some(watched) => watched,
            empty => empty.insert(WatchedRun::open(&self.run.directory)?),
        };
        let news = watched.look()?;
        let outputs = news.output.iter().filter_map(|call| {
            let text = live_end(watched.live.get(call)?).to_owned();
            Some(PageEvent::Output { call: call.to_string(), text })
        });
        let mut events: Vec<PageEvent> = outputs.collect();
        let has_new_state = self.sent.row.as_ref().is_none_or(|row| {
            let run = &watched.run;
            row.is_driven != matches!(run.state, saihai_view::RunState::Running { gate: None, .. })
        });
        if news.has_records || has_new_state || watched.run.view.last_seq > self.sent.seq {
            let question = watched.question().cloned();
            let page = RunPage::of(&watched.run, question.as_ref(), quantities::now())?;
            let page = page.located(&self.run.projects, self.run.project).after(self.sent.seq);
            self.sent = Sent { seq: page.last_seq, row: Some(page.row.clone()) };
            events.push(PageEvent::Run { page: Box::new(page) });
        }
        Ok(events)
    }
}
