//! Plans that fail or kill the process at a chosen operation.
//!
//! In a build with the feature `faults`, the plan comes from the variable `SAIHAI_FAULT`, a list separated by commas:
//!
//! | part | effect |
//! |---|---|
//! | `kill-before=K`, `kill-half=K`, `kill-after=K` | the process kills itself at its K-th operation, from 1 |
//! | the same with `write:TEXT` for `K` | the same at the first write of that text |
//! | `fail=K:ENOSPC` | the K-th operation fails (`ENOSPC EDQUOT EIO EFBIG`, or `short` for a write cut in half) |
//! | `fail-from=K:ENOSPC` | this and every later operation fails |
//! | `panic=TEXT` | the code panics, once, before the first operation on a path with this text |
//! | `no-sync` | syncs do nothing |
//! | `log=FILE` | logs every operation there: its number, kind and path |
//! | `reads=FILE` | logs every opening of a journal for reading there: `All` or `Start`, and its path |
//! | `looks=K` | no disk fault: `work --watch` polls again after K milliseconds, so that its tests need not wait |
//!
//! Unit tests make the same plans without a variable; there "dying" means that every later operation fails.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{DiskOperation, JournalRead};

/// Time of death relative to the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    Before,
    Half,
    After,
}

/// Operation at which the process dies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deadly {
    Number(u64),
    /// The first write of this text.
    Writing(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errno {
    NoSpace,
    Quota,
    Io,
    TooBig,
    Short,
}

#[derive(Debug, Clone, Default)]
pub struct FaultPlan {
    /// Operation at which the process dies.
    pub die: Option<(Deadly, Moment)>,
    pub fail: Option<(u64, Errno)>,
    /// True if every later operation fails too.
    pub for_ever: bool,
    /// The first operation on a path with this text panics.
    pub panic: Option<String>,
    pub no_sync: bool,
    /// Log file for every operation.
    pub log: Option<PathBuf>,
    /// Log file for every opening of a journal for reading.
    pub reads: Option<PathBuf>,
    /// Recording of every operation, with the bytes it wrote.
    pub tape: Option<Tape>,
}

/// Operations in order, for tests that lose some of them afterwards.
pub type Tape = Arc<std::sync::Mutex<Vec<DiskStep>>>;

#[derive(Debug, Clone)]
pub struct DiskStep {
    pub kind: DiskOperation,
    pub path: PathBuf,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone)]
pub(super) struct Faults {
    plan: Arc<FaultPlan>,
    done: Arc<AtomicU64>,
    dead: Arc<AtomicBool>,
    panicked: Arc<AtomicBool>,
    really: bool,
}

enum Fate {
    Live,
    Fail(Errno),
    Die(Moment),
}

impl Faults {
    /// Returns the plan of this process. All disks of a process share it and its count.
    #[cfg(feature = "faults")]
    pub(super) fn of_process() -> Self {
        static PROCESS: std::sync::OnceLock<Faults> = std::sync::OnceLock::new();
        let of_variable = || {
            let text = std::env::var("SAIHAI_FAULT").unwrap_or_default();
            let plan = FaultPlan::parse(&text).unwrap_or_else(|| {
                // An unreadable plan must not pass for an empty one.
                eprintln!("SAIHAI_FAULT: cannot read `{text}`");
                std::process::exit(70)
            });
            Self { really: true, ..Self::planned(plan) }
        };
        PROCESS.get_or_init(of_variable).clone()
    }

    #[cfg(not(feature = "faults"))]
    pub(super) fn of_process() -> Self {
        Self::planned(FaultPlan::default())
    }

    pub(super) fn planned(plan: FaultPlan) -> Self {
        Self {
            plan: Arc::new(plan),
            done: Arc::default(),
            dead: Arc::default(),
            panicked: Arc::default(),
            really: false,
        }
    }

    pub(super) fn note_journal_read(&self, read: JournalRead, path: &Path) {
        if let Some(log) = &self.plan.reads {
            append(log, &format!("{read:?} {}\n", path.display()));
        }
    }

    pub(super) fn skips_syncs(&self) -> bool {
        self.plan.no_sync
    }

    pub(super) fn around<T>(
        &self,
        kind: DiskOperation,
        path: &Path,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        match self.fate(kind, path, &[]) {
            Fate::Live => act(),
            Fate::Fail(errno) => Err(errno.error()),
            Fate::Die(Moment::Before | Moment::Half) => Err(self.die()),
            Fate::Die(Moment::After) => {
                drop(act());
                Err(self.die())
            }
        }
    }

    pub(super) fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        mut act: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let half = &bytes[..bytes.len() / 2];
        let fate = self.fate(DiskOperation::Write, path, bytes);
        if let Some(step) =
            self.plan.tape.as_ref().and_then(|tape| tape.lock().expect("no test panics with it").pop())
        {
            self.record(DiskStep { bytes: bytes.to_vec(), ..step });
        }
        match fate {
            Fate::Live => act(bytes),
            Fate::Fail(Errno::Short) => {
                act(half)?;
                Err(Errno::Short.error())
            }
            Fate::Fail(errno) => Err(errno.error()),
            Fate::Die(Moment::Before) => Err(self.die()),
            Fate::Die(Moment::Half) => {
                drop(act(half));
                Err(self.die())
            }
            Fate::Die(Moment::After) => {
                drop(act(bytes));
                Err(self.die())
            }
        }
    }

    fn fate(&self, kind: DiskOperation, path: &Path, bytes: &[u8]) -> Fate {
        let number = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.dead.load(Ordering::Relaxed) {
            return Fate::Fail(Errno::Io);
        }
        if let Some(log) = &self.plan.log {
            append(log, &format!("{number} {kind:?} {}\n", path.display()));
        }
        let is_bug = self.plan.panic.as_ref().is_some_and(|text| path.to_string_lossy().contains(text));
        assert!(!is_bug || self.panicked.swap(true, Ordering::Relaxed), "a panic was planned here");
        self.record(DiskStep { kind, path: path.to_path_buf(), bytes: Vec::new() });
        match (&self.plan.die, self.plan.fail) {
            (Some((at, moment)), _) if at.is(number, bytes) => Fate::Die(*moment),
            (_, Some((at, errno))) if at == number || (self.plan.for_ever && number > at) => {
                Fate::Fail(errno)
            }
            _ => Fate::Live,
        }
    }

    fn record(&self, step: DiskStep) {
        if let Some(tape) = &self.plan.tape {
            tape.lock().expect("no test panics with it").push(step);
        }
    }

    fn die(&self) -> io::Error {
        if self.really {
            // Nothing runs after this, not even a destructor.
            let own = rustix::process::getpid();
            let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
        }
        self.dead.store(true, Ordering::Relaxed);
        io::Error::other("the process is dead")
    }
}

fn append(log: &Path, line: &str) {
    use std::io::Write;
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(log);
    if let Err(error) = opened.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("cannot append to `{}`: {error}", log.display());
    }
}

impl Deadly {
    fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("write:") {
            Some(text) => Some(Self::Writing(text.to_owned())),
            None => text.parse().ok().map(Self::Number),
        }
    }

    fn is(&self, number: u64, bytes: &[u8]) -> bool {
        match self {
            Self::Number(at) => *at == number,
            Self::Writing(text) => memchr::memmem::find(bytes, text.as_bytes()).is_some(),
        }
    }
}

impl FaultPlan {
    /// Parses a plan; returns `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let mut plan = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key {
                "kill-before" => plan.die = Some((Deadly::parse(value)?, Moment::Before)),
                "kill-half" => plan.die = Some((Deadly::parse(value)?, Moment::Half)),
                "kill-after" => plan.die = Some((Deadly::parse(value)?, Moment::After)),
                "fail" | "fail-from" => {
                    let (number, errno) = value.split_once(':')?;
                    plan.fail = Some((number.parse().ok()?, Errno::parse(errno)?));
                    plan.for_ever = key == "fail-from";
                }
                "panic" => plan.panic = Some(value.to_owned()),
                "no-sync" => plan.no_sync = true,
                "log" => plan.log = Some(PathBuf::from(value)),
                "reads" => plan.reads = Some(PathBuf::from(value)),
                // The `work --watch` command reads this part itself.
                "looks" => drop(value.parse::<u64>().ok()?),
                _ => return None,
            }
        }
        Some(plan)
    }
}

impl Errno {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "ENOSPC" => Self::NoSpace,
            "EDQUOT" => Self::Quota,
            "EIO" => Self::Io,
            "EFBIG" => Self::TooBig,
            "short" => Self::Short,
            _ => return None,
        })
    }

    fn error(self) -> io::Error {
        match self {
            Self::NoSpace => rustix::io::Errno::NOSPC.into(),
            Self::Quota => rustix::io::Errno::DQUOT.into(),
            Self::Io => rustix::io::Errno::IO.into(),
            Self::TooBig => rustix::io::Errno::FBIG.into(),
            Self::Short => io::ErrorKind::WriteZero.into(),
        }
    }
}
