//! Words for the results of issues and for the errors of their work.

use saihai_connect::forge::{ForgeError, SkippedItem};
use saihai_delivery::{
    BaseSource, DependencyObstacle, DependencyReason, IssueActivity, IssueReason, ListingNote, UndoneReason,
    WorkError,
};
use saihai_git::RepositoryErrorDuration;
use saihai_model::{DeliveryHold, OutsideReason};

use crate::error::CommandError;
use crate::report::{count, delivery_hold_words, outside_words};
use crate::terminal::visible_line;

/// Explains a result, as tables and `--json` show it.
pub(super) fn reason_words(reason: &IssueReason) -> String {
    match reason {
        IssueReason::Before => "done earlier".to_owned(),
        IssueReason::OtherProcess { process, run } => {
            let who = process.map_or_else(String::new, |process| format!("process {process}"));
            let run = run.as_ref().map(|run| format!(", run {run}")).unwrap_or_default();
            format!("{who}{run}")
        }
        IssueReason::Gate { gate } => format!("an answer at `{gate}`"),
        // The outcome already says so.
        IssueReason::Outside(OutsideReason::Delivery(
            hold @ (DeliveryHold::Conflict { .. } | DeliveryHold::Uncertain { .. }),
        )) => delivery_hold_words(hold),
        IssueReason::Outside(reason) => outside_words(reason),
        IssueReason::Provider { class, message } => {
            let message = message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
            format!("{}{message}", class.name())
        }
        IssueReason::Storage { message } => format!("storage: {message}"),
        IssueReason::Limit(limit) => limit.code().to_owned(),
        IssueReason::Incomplete(reason) => reason.code().to_owned(),
        IssueReason::Budget => "budget".to_owned(),
        IssueReason::NoProgress => "no_progress".to_owned(),
        IssueReason::BudgetPerIssue => "budget_per_issue".to_owned(),
        IssueReason::Cancelled => "cancelled".to_owned(),
        IssueReason::Failed { reason, detail } => {
            let subject = Some(reason.subject()).filter(|subject| !subject.is_empty());
            match subject.as_ref().or(detail.as_ref()) {
                Some(about) => format!("{}: {about}", reason.code()),
                None => reason.code().to_owned(),
            }
        }
        IssueReason::Undelivered => "undelivered".to_owned(),
        IssueReason::BlankTitle => "blank-title".to_owned(),
        IssueReason::NotOurs { message, .. } => format!("not-ours: {message}"),
        IssueReason::WorktreeKept { worktree, why } => format!("`{}` stays: {why}", worktree.display()),
        IssueReason::Dependency(reason) => format!("dependency: {}", dependency_words(reason)),
        IssueReason::RequestClosed { address } => format!("a person closed {address}"),
        IssueReason::RequestElsewhere { address, to, base } => format!(
            "its open pull request {address} targets `{to}`, not `{base}`; `--base {to}` continues with it, \
             `--retry` starts new work for `{base}`"
        ),
        IssueReason::UnreadableRun { message } => format!("cannot read one of its runs: {message}"),
        IssueReason::Error(error) => {
            let (prefix, refused) = match &**error {
                WorkError::Repository(error) if error.lasts() == RepositoryErrorDuration::UntilFixed => {
                    ("git: ", refused_by_git(error))
                }
                error => ("", CommandError::from(error)),
            };
            format!("{prefix}{}", error_words(&refused))
        }
        IssueReason::NotPlanned { message } | IssueReason::Panicked { message } => message.clone(),
    }
}

fn dependency_words(reason: &DependencyReason) -> String {
    let at = |delivered: &Option<String>| {
        delivered.as_ref().map(|place| format!(" ({place})")).unwrap_or_default()
    };
    match reason {
        DependencyReason::Obstacle { obstacle, delivered } => {
            let hint = match obstacle {
                DependencyObstacle::NotSelected(_) => {
                    "; `--resolve-deps` also works on it, `--ignore-deps` ignores it"
                }
                DependencyObstacle::NotMerged(_) | DependencyObstacle::NotFound(_) => {
                    "; `--ignore-deps` ignores it"
                }
            };
            format!("{}{}{hint}", obstacle_words(*obstacle), at(delivered))
        }
        DependencyReason::Ended { issue, outcome, delivered } => {
            format!("{issue} is {}{}", outcome.word(), at(delivered))
        }
        DependencyReason::NotInBase { issue, merged_into, base } if merged_into == base => format!(
            "{issue} was merged into `{base}`, which no longer contains it; `--ignore-deps` ignores it"
        ),
        DependencyReason::NotInBase { issue, merged_into, base } => format!(
            "{issue} is merged into `{merged_into}`, which is not part of `{base}`; `--ignore-deps` ignores it"
        ),
    }
}

/// Explains why an item cannot start.
pub(super) fn obstacle_words(obstacle: DependencyObstacle) -> String {
    match obstacle {
        DependencyObstacle::NotSelected(number) => format!("{number} is open"),
        DependencyObstacle::NotMerged(number) => format!("{number} is not merged yet"),
        DependencyObstacle::NotFound(number) => format!("{number} does not exist"),
    }
}

/// Joins the message of an error and its hints.
fn error_words(error: &CommandError) -> String {
    match error {
        CommandError::ClosedPipe => "stdout is closed".to_owned(),
        CommandError::Said(status) => format!("exit code {}", status.code()),
        CommandError::Refused(refusal) => {
            std::iter::once(&refusal.message).chain(&refusal.hints).cloned().collect::<Vec<_>>().join("; ")
        }
    }
}

/// Names the source of an issue's base branch, as the plan shows it.
pub(super) fn base_source_words(by: BaseSource) -> &'static str {
    match by {
        BaseSource::Flag => "`--base`",
        BaseSource::Issue => "the issue",
        BaseSource::Settings => "`work.base`",
        BaseSource::CheckedOut => "checked out now",
        BaseSource::ForgeDefault => "the repository's default",
    }
}

impl From<WorkError> for CommandError {
    fn from(error: WorkError) -> Self {
        Self::from(&error)
    }
}

impl From<&WorkError> for CommandError {
    fn from(error: &WorkError) -> Self {
        let usage = || Self::usage(visible_line(&error.to_string()).to_string());
        match error {
            WorkError::Repository(error) => refused_by_git(error),
            WorkError::Forge(error) => refused_by_forge(error),
            WorkError::Run(error) => Self::from(error),
            WorkError::Runtime(_) => Self::unavailable(error.to_string()),
            WorkError::NoRemote { .. } => {
                usage().hint("add one with `git remote add`, or set `forge = \"local\"` in `[work]`")
            }
            WorkError::NoBase => usage().hint("pass `--base`, or set `base` in `[work]`"),
            WorkError::Restore(_)
            | WorkError::Plan(_)
            | WorkError::IssueFiles(_)
            | WorkError::NoSuchIssue(_)
            | WorkError::BlankTitle(_)
            | WorkError::NoForge => usage(),
        }
    }
}

/// Converts an error of the forge for the user.
pub(crate) fn refused_by_forge(error: &ForgeError) -> CommandError {
    let said = visible_line(&error.to_string()).to_string();
    match error {
        ForgeError::NotFound { .. } | ForgeError::IsPullRequest(_) | ForgeError::Transferred { .. } => {
            CommandError::usage(said)
        }
        ForgeError::NoRights { .. }
        | ForgeError::RateLimited { .. }
        | ForgeError::Transient { .. }
        | ForgeError::Malformed { .. }
        | ForgeError::Refused { .. }
        | ForgeError::HeadMoved { .. }
        | ForgeError::Ambiguous { .. } => CommandError::unavailable(said),
    }
}

/// Converts an error of git for the user.
pub(crate) fn refused_by_git(error: &saihai_git::RepositoryError) -> CommandError {
    let said = visible_line(&error.to_string()).to_string();
    let is_away = matches!(error, saihai_git::RepositoryError::Unreachable { .. });
    let refused = if is_away { CommandError::unavailable(said) } else { CommandError::usage(said) };
    match error.remedy() {
        Some(remedy) => refused.hint(remedy),
        None => refused,
    }
}

/// Formats an event of a run that a person should know.
pub(super) fn activity_words(activity: &IssueActivity) -> String {
    match activity {
        IssueActivity::Warning(warning) => visible_line(warning).into_owned(),
        IssueActivity::Delayed(reason) => visible_line(&outside_words(reason)).into_owned(),
        IssueActivity::TextLeftOut(characters) => {
            format!("{} of its text omitted", count(*characters as u64, "character"))
        }
        IssueActivity::StartsAgain { base, kept } => {
            format!("starts again at `{base}`; the conflicting work is kept: `git worktree add DIR {kept}`")
        }
        IssueActivity::Stage(_)
        | IssueActivity::FirstTurn
        | IssueActivity::Turn(_)
        | IssueActivity::Waiting(_)
        | IssueActivity::MergeQueued(_)
        | IssueActivity::Exhausted(..) => String::new(),
    }
}

/// Formats a note of the listing.
pub(super) fn note_words(note: &ListingNote) -> String {
    match note {
        ListingNote::Skipped(SkippedItem::Draft { title }) => {
            format!("skipped: the draft `{}` has no number", visible_line(title))
        }
        ListingNote::Skipped(SkippedItem::Foreign { name }) => {
            format!("skipped: {} belongs to another repository", visible_line(name))
        }
        ListingNote::Skipped(SkippedItem::PullRequest { name }) => {
            format!("skipped: {} is a pull request", visible_line(name))
        }
        ListingNote::Skipped(SkippedItem::Hidden) => "skipped: an item without read access".to_owned(),
        ListingNote::Undone(issue, UndoneReason::Reopened) => {
            format!("{issue} was reopened after its merge; `--retry` works on it again")
        }
        ListingNote::Undone(issue, UndoneReason::MergeGone { base }) => format!(
            "{issue} was merged into `{base}`, which no longer contains it; `--retry` works on it again"
        ),
        ListingNote::NotFollowed(issue, elsewhere) => {
            format!(
                "{issue} depends on {}, which is in another repository and is ignored",
                visible_line(elsewhere)
            )
        }
    }
}
