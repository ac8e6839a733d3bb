//! Every version of every report.

use std::collections::BTreeMap;

use saihai_model::{CallId, How, Moment, Outcome, Place, Purpose, SavedReport, StageId, Text};

use crate::RunView;

/// A saved version of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportVersion {
    pub file: String,
    /// Number of the event that saved it.
    pub seq: u64,
    pub at: Moment,
    pub stage: StageId,
    /// Call whose reply contains it.
    pub call: CallId,
    pub how: How,
    pub sha256: String,
    pub bytes: u64,
    /// Text with its content, from byte `start` to `end`.
    pub text: Text,
    pub start: u64,
    pub end: u64,
    /// Content that the agent had written to the file before the block replaced it.
    pub agents_own: Option<Text>,
}

impl RunView {
    /// Returns all versions in the order of their saving.
    pub fn reports(&self) -> Vec<ReportVersion> {
        let mut versions = Vec::new();
        for (_, round) in self.rounds() {
            let mut replies: BTreeMap<usize, (&CallId, &Text)> = BTreeMap::new();
            for call in self.calls_of(round) {
                match (call.place, call.purpose) {
                    // A correction changes only the output. Reports come from the reply before it.
                    (Place::Main(index), Some(Purpose::Work)) => {
                        replies.extend(call.reply().map(|reply| (index, (&call.id, &reply.text))));
                    }
                    (Place::Report(index), _) => {
                        let Some((of, text)) = replies.get(&index) else { continue };
                        for performed in &call.performed {
                            let Outcome::Done { output, .. } = &performed.outcome else { continue };
                            versions.extend(SavedReport::all(output).map(|(file, saved)| ReportVersion {
                                file: file.to_owned(),
                                seq: performed.seq,
                                at: performed.at,
                                stage: of.stage.clone(),
                                call: (*of).clone(),
                                how: saved.how,
                                sha256: saved.sha256,
                                bytes: saved.bytes,
                                text: saved.content.unwrap_or_else(|| (*text).clone()),
                                start: saved.start,
                                end: saved.end,
                                agents_own: saved.agents_own,
                            }));
                        }
                    }
                    _ => {}
                }
            }
        }
        versions.sort_by_key(|version| version.seq);
        versions
    }
}
