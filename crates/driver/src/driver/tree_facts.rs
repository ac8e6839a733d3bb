//! The files after a turn that may edit, as part of the fact of its reply. Only runs with a breaker compare files.

use std::path::{Path, PathBuf};

use saihai_git::TreeWatch;
use saihai_model::{Fact, RoundPosition, Script, TreeFact, TreeGap, TreeState};

use crate::run_session::HeldRun;

/// The comparison of the files of a run by this process.
#[derive(Debug, Default)]
pub(super) enum TreeFacts {
    #[default]
    Unopened,
    Open(Box<TreeWatch>),
    /// The files cannot be compared, and a second attempt would not help.
    Off(TreeGap),
    /// A rehearsal whose script changes no file says nothing about files.
    Rehearsal,
}

/// File in the scratch directory of a run.
const INDEX: &str = "tree-index";

impl TreeFacts {
    /// Adds the state of the files to a reply, if a breaker needs it and no other turn of the round is running.
    pub(super) fn add(&mut self, held: &HeldRun, place: RoundPosition, fact: &mut Fact) {
        let Fact::Replied(reply) = fact else { return };
        let is_last = held.run().busy().all(|call| *call == reply.call);
        let workflow = held.workflow();
        let needs =
            workflow.breaker_of(&reply.call.stage).is_some_and(|(_, breaker)| breaker.compares_files());
        if !is_last || !needs {
            return;
        }
        let compares = workflow.compares_files_after(&reply.call.stage, place);
        if matches!(self, Self::Unopened) {
            *self = Self::open(held);
            // The next look then knows which paths have changed since the review.
            if let (Self::Open(watch), false) = (&mut *self, compares) {
                drop(watch.look());
            }
        }
        if !compares {
            return;
        }
        reply.tree = match self {
            Self::Unopened | Self::Rehearsal => None,
            Self::Off(gap) => Some(TreeFact::Unknown(*gap)),
            Self::Open(watch) => Some(match watch.look() {
                Ok(state) => TreeFact::Seen(state),
                Err(gap) => {
                    if gap == TreeGap::TooSlow {
                        *self = Self::Off(gap);
                    }
                    TreeFact::Unknown(gap)
                }
            }),
        };
    }

    fn open(held: &HeldRun) -> Self {
        if held.start().rehearsal && !script_changes_files(held) {
            return Self::Rehearsal;
        }
        let start = held.start();
        let earlier = earlier_state(held).map(|state| state.base.clone());
        let base = earlier.or_else(|| start.head.clone());
        let scratch = held.directory().scratch();
        if std::fs::create_dir_all(&scratch).is_err() {
            return Self::Off(TreeGap::Git);
        }
        let reports = held.report_directory();
        let left_out: Vec<PathBuf> = vec![reports.to_owned()];
        match TreeWatch::open(Path::new(&start.directory), base.as_deref(), scratch.join(INDEX), &left_out) {
            Ok(watch) => Self::Open(Box::new(watch)),
            Err(gap) => Self::Off(gap),
        }
    }
}

/// Returns the last state of the files that an earlier process of the run recorded.
fn earlier_state(held: &HeldRun) -> Option<&TreeState> {
    let calls = held.view()?.calls.iter().rev();
    calls.filter_map(|call| call.reply()).find_map(|reply| match &reply.tree {
        Some(TreeFact::Seen(state)) => Some(state),
        Some(TreeFact::Unknown(_)) | None => None,
    })
}

fn script_changes_files(held: &HeldRun) -> bool {
    let script: Option<Script> = held.directory().script().ok().flatten();
    script.is_some_and(|script| {
        script.replies.iter().any(|reply| !reply.writes.is_empty() || !reply.edits.is_empty())
    })
}
