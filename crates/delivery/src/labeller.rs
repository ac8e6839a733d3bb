//! Status labels on the forge (I-54).
//!
//! A separate thread sets them during the work. A failure is reported and stops nothing.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use saihai_config::ForgeKind;
use saihai_connect::forge::ForgeError;
use saihai_model::{IssueNumber, IssueSource, StatusLabel};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::WorkContext;

/// Maximum wait for the forge at the end.
const PATIENCE: Duration = Duration::from_secs(30);

struct LabelChange {
    number: IssueNumber,
    labels: Vec<StatusLabel>,
    prefix: String,
}

/// An issue whose labels could not be set.
pub type LabelFailure = (IssueNumber, ForgeError);

/// Sets labels, one change at a time.
pub struct Labeller {
    wanted: Option<UnboundedSender<LabelChange>>,
    wrong: Option<Receiver<Vec<LabelFailure>>>,
}

impl Labeller {
    /// Starts the labeller if issues can have labels: not in a folder, and not with the forge `local` (I-61).
    pub fn start(context: &Arc<WorkContext>) -> Self {
        if context.source != IssueSource::Github || context.forge != ForgeKind::Github {
            return Self { wanted: None, wrong: None };
        }
        let (tell, mut hear) = unbounded_channel::<LabelChange>();
        let (over, told) = channel();
        let context = Arc::clone(context);
        let work = move || {
            let all = async move {
                let mut wrong = Vec::new();
                let Ok(Some(github)) = context.github() else { return wrong };
                while let Some(LabelChange { number, labels, prefix }) = hear.recv().await {
                    if let Err(error) = github.set_status(number, &labels, &prefix).await {
                        wrong.push((number, error));
                    }
                }
                wrong
            };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let wrong = runtime.map_or_else(|_| Vec::new(), |runtime| runtime.block_on(all));
            over.send(wrong).unwrap_or(());
        };
        let thread = std::thread::Builder::new().name("labels".to_owned()).spawn(work);
        Self { wanted: Some(tell).filter(|_| thread.is_ok()), wrong: Some(told) }
    }

    /// Queues the status labels of an issue.
    pub fn set(&self, number: IssueNumber, labels: &[StatusLabel], prefix: &str) {
        if let Some(wanted) = &self.wanted {
            let wish = LabelChange { number, labels: labels.to_vec(), prefix: prefix.to_owned() };
            wanted.send(wish).unwrap_or(());
        }
    }

    /// Waits for all changes, up to a timeout, and returns the failures. `None` if some changes are not finished in time.
    pub fn finish(mut self) -> Option<Vec<LabelFailure>> {
        self.wanted = None;
        match self.wrong.take() {
            Some(wrong) => wrong.recv_timeout(PATIENCE).ok(),
            None => Some(Vec::new()),
        }
    }
}
