//! Processes that stay between the turns of a session (C-67).

use std::collections::BTreeMap;
use std::sync::Arc;

use saihai_model::{Ask, ProviderName};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::agent::Acquaintance;
use crate::clock::Clock;
use crate::process::{Family, Grace, Pipes, Plea};

/// A process that stays after a turn, for the next turn of its session. Dropping it ends it.
pub(crate) struct Stayed {
    pub(super) provider: ProviderName,
    pub(super) session: String,
    pub(super) known: Acquaintance,
    pub(super) family: Family,
    pub(super) pipes: Pipes,
}

impl Stayed {
    async fn dismiss(self, grace: Grace, clock: Arc<dyn Clock>) {
        let Self { family, pipes, .. } = self;
        drop(pipes);
        family.terminate();
        tokio::select! {
            biased;
            _ = family.ended() => {}
            () = grace.pass(Plea::SignalAfterWords, &*clock) => {}
        }
        family.end().await;
    }
}

/// All processes that stay. Attempts add them after their turn, and the owner takes them out again.
pub(crate) struct Staying {
    hand_in: mpsc::UnboundedSender<Stayed>,
    handed_in: mpsc::UnboundedReceiver<Stayed>,
    waiting: BTreeMap<(ProviderName, String), Stayed>,
    /// Processes that are being ended.
    leaving: JoinSet<()>,
    grace: Grace,
    clock: Arc<dyn Clock>,
}

impl Staying {
    pub(crate) fn new(grace: &Grace, clock: &Arc<dyn Clock>) -> Self {
        let (hand_in, handed_in) = mpsc::unbounded_channel();
        Self {
            hand_in,
            handed_in,
            waiting: BTreeMap::new(),
            leaving: JoinSet::new(),
            grace: grace.clone(),
            clock: Arc::clone(clock),
        }
    }

    /// Returns the channel on which attempts add a process.
    pub(crate) fn hand_in(&self) -> mpsc::UnboundedSender<Stayed> {
        self.hand_in.clone()
    }

    /// Returns the process for an ask, if there is one and it still runs.
    pub(crate) fn take(&mut self, ask: &Ask) -> Option<Stayed> {
        self.take_in();
        let stayed = self.waiting.remove(&(ask.provider.clone(), ask.session.clone()?))?;
        (!stayed.family.has_ended()).then_some(stayed)
    }

    /// Ends processes whose session is over, without waiting for them.
    pub(crate) fn part(&mut self, goes_on: impl Fn(&str) -> bool) {
        self.take_in();
        let over: Vec<_> = self.waiting.keys().filter(|(_, session)| !goes_on(session)).cloned().collect();
        for key in over {
            if let Some(stayed) = self.waiting.remove(&key) {
                self.leaving.spawn(stayed.dismiss(self.grace.clone(), Arc::clone(&self.clock)));
            }
        }
        // Forget the tasks that are done.
        while self.leaving.try_join_next().is_some() {}
    }

    /// Ends all processes and waits for them.
    pub(crate) async fn close(&mut self) {
        self.part(|_| false);
        while self.leaving.join_next().await.is_some() {}
    }

    fn take_in(&mut self) {
        while let Ok(stayed) = self.handed_in.try_recv() {
            let key = (stayed.provider.clone(), stayed.session.clone());
            self.waiting.insert(key, stayed);
        }
    }
}
