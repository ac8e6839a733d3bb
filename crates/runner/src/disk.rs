//! The one module through which a run is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The one way to the disk for journals, blobs, locks, run directories and reports. Cheap to clone; all clones count
/// together.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    operations: Arc<AtomicU64>,
}

impl Disk {
    /// The disk of this machine.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many operations that change something have been done.
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }
}
