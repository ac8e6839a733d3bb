//! Every version of every report.

use saihai_model::{CallId, How, Moment, Record, StageId, Text};

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
    told: Vec<ReportVersion>,
}

impl ReportVersions {
    /// Takes one record in.
    pub fn see(&mut self, _record: &Record) {}

    /// All versions, in the order they were saved.
    pub fn finish(self) -> Vec<ReportVersion> {
        self.told
    }
}
