//! Status labels on the forge (I-54).
//!
//! A separate thread sets them during the work. A failure is reported and stops nothing.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use saihai_config::ForgeKind;
use saihai_model::{IssueNumber, IssueSource, StatusLabel};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::ground::Ground;
use crate::driving::block_on;
use crate::error::Error;

/// Maximum wait for the forge at the end.
const PATIENCE: Duration = Duration::from_secs(30);

struct Wanted {
    number: IssueNumber,
    labels: Vec<StatusLabel>,
    prefix: String,
}

/// Sets labels, one change at a time.
pub(super) struct Labeller {
    wanted: Option<UnboundedSender<Wanted>>,
    wrong: Option<Receiver<Vec<String>>>,
}

impl Labeller {
    /// Starts the labeller if the issues have labels. A folder is read-only, and with the forge `local` nothing
    /// leaves the machine (I-61).
    pub(super) fn start(ground: &Arc<Ground>) -> Self {
        if ground.source != IssueSource::Github || ground.forge != ForgeKind::Github {
            return Self { wanted: None, wrong: None };
        }
        let (tell, mut hear) = unbounded_channel::<Wanted>();
        let (over, told) = channel();
        let ground = Arc::clone(ground);
        let work = move || {
            let mut wrong = Vec::new();
            let all = async {
                let github = ground.github().map_err(|error| super::ground::refused_by_forge(&error))?;
                let Some(github) = github else { return Ok(()) };
                while let Some(Wanted { number, labels, prefix }) = hear.recv().await {
                    if let Err(error) = github.set_status(number, &labels, &prefix).await {
                        wrong.push(format!("the labels of {number} could not be set: {error}"));
                    }
                }
                Ok::<(), Error>(())
            };
            block_on(all).unwrap_or(());
            over.send(wrong).unwrap_or(());
        };
        let thread = std::thread::Builder::new().name("labels".to_owned()).spawn(work);
        Self { wanted: Some(tell).filter(|_| thread.is_ok()), wrong: Some(told) }
    }

    /// Queues the status labels of an issue.
    pub(super) fn set(&self, number: IssueNumber, labels: &[StatusLabel], prefix: &str) {
        if let Some(wanted) = &self.wanted {
            let wish = Wanted { number, labels: labels.to_vec(), prefix: prefix.to_owned() };
            wanted.send(wish).unwrap_or(());
        }
    }

    /// Waits for all changes, up to a timeout, and returns the failures.
    pub(super) fn finish(mut self) -> Vec<String> {
        self.wanted = None;
        let Some(wrong) = self.wrong.take() else { return Vec::new() };
        wrong
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|_| vec!["not all labels could be set in time".to_owned()])
    }
}
