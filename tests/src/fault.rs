//! What the disk is told to do wrong, in the build that can.

use std::fmt;
use std::path::Path;

/// A plan of faults for one call of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(String);

/// When, relative to an operation, the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nothing of it is done.
    Before,
    /// Half of the bytes are written.
    Half,
    /// All of it is done, and nothing else.
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

/// An operation of the disk, as the program notes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    pub number: u64,
    pub kind: String,
    pub path: String,
}

impl Fault {
    /// The variable that carries it.
    pub const VARIABLE: &str = "SAIHAI_FAULT";

    /// The process kills itself at an operation.
    pub fn kill(moment: Moment, number: u64) -> Self {
        Self(format!("kill-{}={number}", moment.name()))
    }

    /// The process kills itself at the first write of a text, in which there is no comma.
    pub fn kill_at(moment: Moment, text: &str) -> Self {
        Self(format!("kill-{}=write:{text}", moment.name()))
    }

    /// One operation fails: `ENOSPC`, `EDQUOT`, `EIO`, `EFBIG`, `short`.
    pub fn fail(number: u64, how: &str) -> Self {
        Self(format!("fail={number}:{how}"))
    }

    /// An operation fails, and every later one.
    pub fn fail_from(number: u64, how: &str) -> Self {
        Self(format!("fail-from={number}:{how}"))
    }

    /// The code panics before the first operation on a path with this text.
    pub fn panic(path: &str) -> Self {
        Self(format!("panic={path}"))
    }

    /// Nothing fails; `work --watch` looks again after so many milliseconds, whatever `every` says.
    pub fn looks(every: u64) -> Self {
        Self(format!("looks={every}"))
    }

    /// Nothing fails; every operation is noted in a file.
    pub fn note(log: &Path) -> Self {
        Self(format!("log={}", log.display()))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl At {
    /// The operations noted in a file.
    pub fn noted(log: &Path) -> Vec<Self> {
        let text = std::fs::read_to_string(log).expect("the program notes its operations");
        let parse = |line: &str| {
            let mut parts = line.splitn(3, ' ').map(str::to_owned);
            Some(Self { number: parts.next()?.parse().ok()?, kind: parts.next()?, path: parts.next()? })
        };
        text.lines().map(|line| parse(line).unwrap_or_else(|| panic!("not an operation: {line}"))).collect()
    }

    /// The moments at which dying makes a difference: only a write can be half done.
    pub fn moments(&self) -> &'static [Moment] {
        match self.kind.as_str() {
            "Write" => &[Moment::Before, Moment::Half, Moment::After],
            _ => &[Moment::Before, Moment::After],
        }
    }
}
