//! What can be done wrong.

use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// The input is never read, and nothing is said, for ever.
    NeverReads,
    /// The input is closed at once.
    ClosesInput,
    /// It ends well without a word.
    Mute,
    /// The turn never says that it is over.
    NoEnd,
    /// It says so twice, the second time with other words.
    TwoEnds,
    /// The last line stops in the middle.
    HalfLine,
    /// A line of 50 MB comes before the others.
    LongLine,
    /// 1 GB comes before the others.
    Flood,
    /// A line that is no text comes before the others.
    BadText,
    /// Colours come before the others.
    Ansi,
    /// It says its first line and then nothing, for ever.
    Silence,
    /// It closes its outputs before the end of the turn, and stays.
    ClosesOutput,
    /// It says its first line again and again, for ever.
    Talks,
    /// It says everything and stays.
    Hang,
    /// It stays, and does not end when it is asked to.
    IgnoresTerm,
    /// It leaves a child behind and stays.
    Forks,
    /// It leaves a child in a session of its own behind and stays.
    Setsid,
    /// It leaves a grandchild without a parent, in a session of its own, behind and stays.
    DoubleFork,
    /// As `double_fork`, without any of our variables.
    BareDoubleFork,
    /// It leaves such a grandchild behind and ends well.
    LeavesBehind,
    /// It dies of its own fault.
    Segv,
    /// It is killed from outside.
    Kill,
    /// It fails, and ends as if it had not.
    #[serde(rename = "error_exit_0")]
    ErrorExit0,
    /// It succeeds, and ends as if it had not.
    #[serde(rename = "success_exit_1")]
    SuccessExit1,
}
