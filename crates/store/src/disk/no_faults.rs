//! Runs operations directly, for builds without the feature `faults`.

use std::io;
use std::path::Path;

use super::{DiskOperation, JournalRead};

#[derive(Debug, Clone)]
pub(super) struct Faults;

impl Faults {
    pub(super) fn of_process() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the shape of the build with faults")]
    pub(super) fn note_journal_read(&self, _read: JournalRead, _path: &Path) {}

    #[expect(clippy::unused_self, reason = "the shape of the build with faults")]
    pub(super) fn skips_syncs(&self) -> bool {
        false
    }

    #[expect(clippy::unused_self, reason = "the shape of the build with faults")]
    pub(super) fn around<T>(
        &self,
        _kind: DiskOperation,
        _path: &Path,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        act()
    }

    #[expect(clippy::unused_self, reason = "the shape of the build with faults")]
    pub(super) fn write(
        &self,
        _path: &Path,
        bytes: &[u8],
        mut act: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        act(bytes)
    }
}
