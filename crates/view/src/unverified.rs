//! Reviews whose verdict text may have chosen (N-3).

use std::collections::BTreeMap;

use saihai_model::{Method, Permission, RoundPosition, Stage, StageId, Turn, VerdictChannel, Workflow};

use crate::RunView;

impl RunView {
    /// Returns the reviewing stages whose agents had the verdict tool, and whose last verdict did not come through it.
    /// A stage reviews if a turn of it only reads and decides between results.
    pub fn unverified_reviews(&self, workflow: &Workflow) -> Vec<StageId> {
        let mut last: BTreeMap<&StageId, bool> = BTreeMap::new();
        for (visit, round) in self.rounds().filter(|(_, round)| round.exit.is_some()) {
            let turns = workflow.stage(&visit.stage).map_or(&[][..], Stage::turns);
            let replies = self.calls_of(round).iter().filter_map(|call| match call.place {
                RoundPosition::Main(index) => Some((turns.get(index)?, call.reply()?)),
                _ => None,
            });
            let mut reviews = replies.filter(|(turn, _)| is_review(turn)).peekable();
            if reviews.peek().is_some() {
                let is_verified =
                    reviews.all(|(_, reply)| reply.reading.channel.is_some_and(VerdictChannel::is_verified));
                last.insert(&visit.stage, is_verified);
            }
        }
        last.into_iter().filter(|(_, is_verified)| !is_verified).map(|(stage, _)| stage.clone()).collect()
    }
}

fn is_review(turn: &Turn) -> bool {
    let has_tool = turn.reads.choice.as_ref().is_some_and(|choice| choice.found_by.contains(&Method::Tool));
    has_tool && turn.permission == Permission::ReadOnly
}
