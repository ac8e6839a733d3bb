//! The published events of a run, for programs (H-60).

use std::io;

use saihai_model::{Record, StageId, Workflow};
use saihai_view::{BusEvent, BusEvents, EventFate, EventSource};
use serde::Serialize;

use crate::terminal::Stream;
use crate::{json, time};

/// Writes the events that a run publishes, from its records.
#[derive(Debug)]
pub(crate) struct Published<'w> {
    workflow: &'w Workflow,
    events: BusEvents<'w>,
}

/// One event: its publisher, its receiver, and the reason.
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
    /// The gate before the receiver, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<&'a str>,
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
            EventFate::Taken(to) => ("taken", Some(to)),
            EventFate::Orphaned(to) => ("orphaned", Some(to)),
            EventFate::NotRouted => ("not_routed", None),
            EventFate::OutOfScope => ("out_of_scope", None),
            EventFate::Untaken => ("untaken", None),
        };
        PublishedObject {
            run,
            seq: event.seq,
            time: time::rfc3339(event.at),
            topic: event.topic.as_str(),
            message: event.message.as_deref(),
            source: match &event.source {
                EventSource::Start => "start",
                EventSource::Stage(stage) => stage.as_str(),
                EventSource::Engine => "engine",
            },
            fate,
            to: to.map(StageId::as_str),
            trigger: to.filter(|_| fate == "taken").and_then(|to| self.trigger(event, to)),
            gate: event.gate.as_ref().map(StageId::as_str),
        }
    }

    /// Returns the pattern by which the receiver takes an event. A gate on the way only diverts it.
    fn trigger(&self, event: &BusEvent, to: &StageId) -> Option<&str> {
        let routes = self.workflow.topics.iter().flat_map(|topics| &topics.routes);
        let mut own = routes.filter(|route| route.to == *to);
        own.find(|route| saihai_judge::takes(&route.pattern, &event.topic))
            .map(|route| route.pattern.as_str())
    }
}
