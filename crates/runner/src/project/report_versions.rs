//! Every version of every report.

use std::collections::BTreeMap;

use saihai_model::{
    CallId, Decision, Entry, Fact, How, Moment, Outcome, Place, Purpose, Record, StageId, Text,
};

use crate::reports::Saved;

/// One version of a report as it was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportVersion {
    /// Its file.
    pub file: String,
    /// The number of the event that saved it.
    pub seq: u64,
    /// When.
    pub at: Moment,
    /// By which stage.
    pub stage: StageId,
    /// By the reply of which call.
    pub call: CallId,
    /// How it was recognised.
    pub how: How,
    /// SHA-256 of its content.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
    /// The text its content stands in.
    pub text: Text,
    /// First byte of it there.
    pub start: u64,
    /// One past its last byte.
    pub end: u64,
    /// What the agent had written itself into that file, where the block won.
    pub agents_own: Option<Text>,
}

/// Folds records into versions of reports.
#[derive(Debug, Default)]
pub struct ReportVersions {
    /// The calls of the round that do the work of a turn, and those that save its reports.
    works: BTreeMap<CallId, usize>,
    saves: BTreeMap<CallId, usize>,
    /// The reply of each turn.
    replies: BTreeMap<usize, (CallId, Text)>,
    told: Vec<ReportVersion>,
}

impl ReportVersions {
    /// Takes one record in.
    pub fn see(&mut self, record: &Record) {
        match &record.entry {
            Entry::Decision(Decision::Entered { .. } | Decision::Round { .. }) => {
                self.works.clear();
                self.saves.clear();
                self.replies.clear();
            }
            Entry::Decision(Decision::Called { call, place, purpose }) => match (place, purpose) {
                // A correction is about the output alone; reports are cut from the reply before it.
                (Place::Main(index), Some(Purpose::Work)) => {
                    self.works.insert(call.clone(), *index);
                }
                (Place::Report(index), _) => {
                    self.saves.insert(call.clone(), *index);
                }
                (
                    Place::Main(_)
                    | Place::Block(_)
                    | Place::Check(_)
                    | Place::Exit
                    | Place::Proof(_)
                    | Place::Outside(_),
                    _,
                ) => {}
            },
            Entry::Fact(Fact::Replied(reply)) => {
                if let Some(index) = self.works.get(&reply.call) {
                    self.replies.insert(*index, (reply.call.clone(), reply.text.clone()));
                }
            }
            Entry::Fact(Fact::Performed { call, outcome: Outcome::Done { output, .. } }) => {
                let reply = self.saves.get(call).and_then(|index| self.replies.get(index));
                let Some((of, text)) = reply else { return };
                for (file, saved) in Saved::of(output) {
                    let text = saved.content.clone().unwrap_or_else(|| text.clone());
                    self.told.push(version(record, of, file, saved, text));
                }
            }
            Entry::Decision(_) | Entry::Fact(_) => {}
        }
    }

    /// All versions, in the order they were saved.
    pub fn finish(self) -> Vec<ReportVersion> {
        self.told
    }
}

fn version(record: &Record, call: &CallId, file: &str, saved: Saved, text: Text) -> ReportVersion {
    ReportVersion {
        file: file.to_owned(),
        seq: record.seq,
        at: record.at,
        stage: call.stage.clone(),
        call: call.clone(),
        how: saved.how,
        sha256: saved.sha256,
        bytes: saved.bytes,
        text,
        start: saved.start,
        end: saved.end,
        agents_own: saved.agents_own,
    }
}
