//! Observers of the events of a run, in the same process (H-61).
//!
//! An observer is told after the append, in order, on a thread of its own: however long it takes and whatever it does, it
//! neither delays the run nor changes its way.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;

use saihai_model::{Record, Topic, Workflow};

use crate::project::{BusEvent, BusEvents};

/// Tells observers what a run publishes.
#[derive(Debug)]
pub struct Bus<'w> {
    events: BusEvents<'w>,
    observers: Vec<Observer>,
}

#[derive(Debug)]
struct Observer {
    pattern: String,
    told: Sender<BusEvent>,
    alive: Weak<()>,
}

/// An observer is told as long as this is kept.
#[derive(Debug)]
#[must_use = "dropping it unsubscribes"]
pub struct Subscription {
    _alive: Arc<()>,
}

impl<'w> Bus<'w> {
    /// The bus of a workflow, without observers.
    pub fn new(workflow: &'w Workflow) -> Self {
        Self { events: BusEvents::new(workflow), observers: Vec::new() }
    }

    /// Tells `observer` every event whose topic the pattern takes: a topic, one with `*` for whole segments, or `*`. An
    /// observer that panics is told the next event all the same.
    pub fn subscribe(
        &mut self,
        pattern: &str,
        mut observer: impl FnMut(&BusEvent) + Send + 'static,
    ) -> Subscription {
        let (told, heard) = channel::<BusEvent>();
        // It ends when the bus drops its side; nobody waits for an observer that never returns.
        let alive = Arc::new(());
        let subscribed = Arc::downgrade(&alive);
        thread::spawn(move || {
            // What was on its way when somebody unsubscribed is not told any more.
            for event in heard.into_iter().take_while(|_| subscribed.strong_count() > 0) {
                let _ = catch_unwind(AssertUnwindSafe(|| observer(&event)));
            }
        });
        let observer = Observer { pattern: pattern.to_owned(), told, alive: Arc::downgrade(&alive) };
        self.observers.push(observer);
        Subscription { _alive: alive }
    }

    /// Takes a record in that has been appended, and tells whoever wants to know.
    pub fn see(&mut self, record: &Record) {
        for event in self.events.see(record) {
            self.observers.retain(|observer| observer.alive.strong_count() > 0);
            for observer in self.observers.iter().filter(|observer| observer.takes(&event.topic)) {
                // An observer whose thread is gone is told nothing any more.
                let _ = observer.told.send(event.clone());
            }
        }
    }
}

impl Observer {
    fn takes(&self, topic: &Topic) -> bool {
        saihai_judge::takes(&self.pattern, topic)
    }
}

#[cfg(test)]
mod tests;
