//! Faults of the fake agent.

use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// Never reads its input and prints nothing, forever.
    NeverReads,
    ClosesInput,
    Mute,
    /// Never prints the end of the turn.
    NoEnd,
    /// Prints the end twice, with different text.
    TwoEnds,
    /// Stops in the middle of the last line.
    HalfLine,
    /// Prints a line of 50 MB first.
    LongLine,
    Flood,
    /// Prints a line of invalid UTF-8 first.
    BadText,
    Ansi,
    /// Prints its first line and then nothing, forever.
    Silence,
    /// Closes its outputs before the end of the turn and keeps running.
    ClosesOutput,
    /// Repeats its first line forever.
    Talks,
    /// Prints everything and keeps running.
    Hang,
    /// Keeps running and ignores SIGTERM.
    IgnoresTerm,
    /// Leaves a child behind and keeps running.
    Forks,
    /// Leaves a child in its own session behind and keeps running.
    Setsid,
    /// Leaves an orphaned grandchild in its own session behind and keeps running.
    DoubleFork,
    /// Like `double_fork`, without any of Saihai's variables.
    BareDoubleFork,
    /// Leaves such a grandchild behind and succeeds.
    LeavesBehind,
    Segv,
    Kill,
    /// Fails with exit code 0.
    #[serde(rename = "error_exit_0")]
    ErrorExit0,
    /// Succeeds with exit code 1.
    #[serde(rename = "success_exit_1")]
    SuccessExit1,
}
