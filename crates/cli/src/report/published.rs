//! The events of a run for programs (H-60).

use std::io;

use saihai::project::{BusEvent, BusEvents, Fate, Source};
use saihai_model::{Record, Workflow};
use serde::Serialize;

use crate::terminal::Stream;
use crate::{json, time};

/// Tells programs what a run publishes, as its records come by.
#[derive(Debug)]
pub(crate) struct Published<'w> {
    workflow: &'w Workflow,
    events: BusEvents<'w>,
}

/// One event: who published it, who takes it, and why.
#[derive(Serialize)]
struct PublishedObject<'a> {
    run: &'a str,
    seq: u64,
    time: String,
    topic: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    source: &'a str,
    fate: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<&'a str>,
}

impl<'w> Published<'w> {
    pub(crate) fn new(workflow: &'w Workflow) -> Self {
        Self { workflow, events: BusEvents::new(workflow) }
    }

    /// Writes a line for each event that this record settles.
    pub(crate) fn write(&mut self, run: &str, record: &Record, out: &mut Stream) -> io::Result<()> {
        for event in self.events.see(record) {
            json::line(out, "published", self.object(run, &event))?;
        }
        Ok(())
    }

    fn object<'a>(&'a self, run: &'a str, event: &'a BusEvent) -> PublishedObject<'a> {
        let (fate, to) = match &event.fate {
            Fate::Taken(to) => ("taken", Some(to)),
            Fate::Orphaned(to) => ("orphaned", Some(to)),
            Fate::NotRouted => ("not_routed", None),
            Fate::OutOfScope => ("out_of_scope", None),
            Fate::Untaken => ("untaken", None),
        };
        let topics = self.workflow.topics.as_ref().filter(|_| fate == "taken");
        PublishedObject {
            run,
            seq: event.seq,
            time: time::rfc3339(event.at),
            topic: event.topic.as_str(),
            message: event.message.as_deref(),
            source: match &event.source {
                Source::Start => "start",
                Source::Stage(stage) => stage.as_str(),
                Source::Engine => "engine",
            },
            fate,
            to: to.map(saihai_model::StageId::as_str),
            trigger: topics.and_then(|topics| saihai_judge::taken_by(topics, &event.topic)),
        }
    }
}
