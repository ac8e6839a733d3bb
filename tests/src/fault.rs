//! Disk faults, for the build with the `faults` feature.

use std::fmt;
use std::path::Path;

/// Faults for one invocation of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(String);

/// Point of an operation at which the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Before,
    /// Half of the bytes are written.
    Half,
    /// The operation is complete, but nothing after it.
    After,
}

impl Moment {
    fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Half => "half",
            Self::After => "after",
        }
    }
}

/// A disk operation, as the program logs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    pub number: u64,
    pub kind: String,
    pub path: String,
}

impl Fault {
    /// Environment variable that carries the faults.
    pub const VARIABLE: &str = "SAIHAI_FAULT";

    /// Kills the process at an operation.
    pub fn kill(moment: Moment, number: u64) -> Self {
        Self(format!("kill-{}={number}", moment.name()))
    }

    /// Kills the process at the first write that contains `text`, which must not contain a comma.
    pub fn kill_at(moment: Moment, text: &str) -> Self {
        Self(format!("kill-{}=write:{text}", moment.name()))
    }

    /// Fails one operation with `ENOSPC`, `EDQUOT`, `EIO`, `EFBIG` or `short`.
    pub fn fail(number: u64, how: &str) -> Self {
        Self(format!("fail={number}:{how}"))
    }

    /// Fails an operation and every later one.
    pub fn fail_from(number: u64, how: &str) -> Self {
        Self(format!("fail-from={number}:{how}"))
    }

    /// Panics before the first operation on a path that contains `path`.
    pub fn panic(path: &str) -> Self {
        Self(format!("panic={path}"))
    }

    /// No fault. Sets the polling interval of `work --watch` in milliseconds, overriding `every`.
    pub fn looks(every: u64) -> Self {
        Self(format!("looks={every}"))
    }

    /// No fault. Logs every operation to a file.
    pub fn note(log: &Path) -> Self {
        Self(format!("log={}", log.display()))
    }

    /// No fault. Logs every opening of a journal for reading to a file.
    pub fn note_reads(log: &Path) -> Self {
        Self(format!("reads={}", log.display()))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl At {
    /// Reads the operations from a log.
    pub fn noted(log: &Path) -> Vec<Self> {
        let text = std::fs::read_to_string(log).expect("the program notes its operations");
        let parse = |line: &str| {
            let mut parts = line.splitn(3, ' ').map(str::to_owned);
            Some(Self { number: parts.next()?.parse().ok()?, kind: parts.next()?, path: parts.next()? })
        };
        text.lines().map(|line| parse(line).unwrap_or_else(|| panic!("not an operation: {line}"))).collect()
    }

    /// Returns the points at which dying makes a difference. Only a write can be half done.
    pub fn moments(&self) -> &'static [Moment] {
        match self.kind.as_str() {
            "Write" => &[Moment::Before, Moment::Half, Moment::After],
            _ => &[Moment::Before, Moment::After],
        }
    }
}
