//! Words for the reasons of a delivery.

use saihai_model::{DeliveryHold, OutsideReason, RequestSide, UncertainChange};

/// Explains why an outside action waits.
pub(crate) fn outside_words(reason: &OutsideReason) -> String {
    match reason {
        OutsideReason::Delivery(hold) => {
            let words = delivery_hold_words(hold);
            match hold {
                DeliveryHold::Uncertain { .. } => format!("unknown: {words}"),
                DeliveryHold::Conflict { .. } | DeliveryHold::Git { .. } | DeliveryHold::Forge { .. } => {
                    format!("{}: {words}", hold.code())
                }
                _ => words,
            }
        }
        OutsideReason::Text(text) => text.clone(),
    }
}

/// Explains why a delivery waits.
pub(crate) fn delivery_hold_words(hold: &DeliveryHold) -> String {
    match hold {
        DeliveryHold::Conflict { files, commit, base, into, request, error } => {
            let request = request.as_deref();
            if let (Some(error), Some(address)) = (error, request) {
                return format!("{address} ({commit} with {base}; the files are unknown: {error})");
            }
            let into = into.as_ref().map(|into| format!(" at {into}")).unwrap_or_default();
            let request = request.map(|address| format!(" in {address}")).unwrap_or_default();
            format!("{} ({commit} with {base}{into}){request}", quoted(files))
        }
        DeliveryHold::Uncertain { change, message } => match change {
            Some(UncertainChange::Pushed { branch }) => {
                format!("it is unknown if `{branch}` was pushed: {message}")
            }
            Some(UncertainChange::RequestOpened { branch }) => {
                format!("it is unknown if a pull request of `{branch}` was opened: {message}")
            }
            Some(UncertainChange::RequestMerged { number }) => {
                format!("it is unknown if pull request #{number} was merged: {message}")
            }
            Some(UncertainChange::Commented { issue }) => {
                format!("it is unknown if the comment on {issue} was written: {message}")
            }
            None => message.clone(),
        },
        DeliveryHold::Git { message, remedy: Some(remedy) } => format!("{message}; {remedy}"),
        DeliveryHold::Git { message, remedy: None } | DeliveryHold::Forge { message } => message.clone(),
        DeliveryHold::WorktreeGone { worktree: at, branch, files_remain } => {
            let gone = if *files_remain {
                let what = format!("the worktree `{at}` is missing in `.git/worktrees`");
                format!("{what}; its files still exist: keep them with `mv {at} DIR`")
            } else {
                format!("the worktree `{at}` was deleted with its uncommitted changes")
            };
            format!("{gone}; continue, and Saihai creates it again from `{branch}`, which has commits")
        }
        DeliveryHold::SpecialFiles { paths, worktree } => format!(
            "git cannot store pipes, sockets and devices: replace {} in `{worktree}` with files, or remove them",
            quoted(paths)
        ),
        DeliveryHold::RefusedFiles { paths, worktree } => {
            let what = "git cannot store files that are unreadable, have too long a path, or have the name of git's own files";
            format!("{what}: make {paths} in `{worktree}` readable, rename it, or remove it")
        }
        DeliveryHold::BranchRefused { message } => message.clone(),
        DeliveryHold::RequestClosed { address } => format!("a person closed pull request {address}"),
        DeliveryHold::RequestDraft { address } => format!("pull request {address} is a draft"),
        DeliveryHold::RequestRedirected { address, base, to } => {
            let back = format!("change its base back to `{base}`, or close it");
            format!("pull request {address} now targets `{to}`, not `{base}`: {back}")
        }
        DeliveryHold::RequestBlocked { address } => {
            format!("a review or another rule of the base branch blocks {address}")
        }
        DeliveryHold::Unverified { stages, branch } => {
            let stages: Vec<String> = stages.iter().map(|stage| stage.as_str().to_owned()).collect();
            format!(
                "the verdict of {} is not verified: the agent did not report it with the verdict tool; look at it, and \
                 merge `{branch}` yourself, or start again with `saihai work --retry`",
                quoted(&stages)
            )
        }
        DeliveryHold::RequestRefused { address, message } => format!("{address} cannot be merged: {message}"),
        DeliveryHold::NoChecks { address, in_actions } => {
            let why = if *in_actions {
                "; pull requests opened with the token of GitHub Actions start no checks: use another token"
            } else {
                ""
            };
            format!("no check has started for {address}{why}; set `merge_without_checks` to merge anyway")
        }
        DeliveryHold::BranchCheckedOut { branch, path } => {
            format!("`{branch}` is checked out in `{path}`; check out another branch there")
        }
        DeliveryHold::MergeBusy { base, lock } => {
            format!("waiting for another process that merges into `{base}` (`{lock}`)")
        }
        DeliveryHold::ForgeBehind { address, side } => {
            let side = match side {
                RequestSide::Head => "its head",
                RequestSide::Base => "its base",
            };
            format!("the forge reports that {side} was modified; trying again: {address}")
        }
    }
}

fn quoted(files: &[String]) -> String {
    files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_names_files_commits_and_the_pull_request() {
        let conflict = |files: &[&str], into: Option<&str>, request: Option<&str>, error: Option<&str>| {
            outside_words(&OutsideReason::Delivery(DeliveryHold::Conflict {
                files: files.iter().map(|file| (*file).to_owned()).collect(),
                commit: "c1".to_owned(),
                base: "main".to_owned(),
                into: into.map(str::to_owned),
                request: request.map(str::to_owned),
                error: error.map(str::to_owned),
            }))
        };
        assert_eq!(conflict(&["a", "b"], Some("c2"), None, None), "conflict: `a`, `b` (c1 with main at c2)");
        assert_eq!(
            conflict(&["a"], Some("c2"), Some("URL"), None),
            "conflict: `a` (c1 with main at c2) in URL"
        );
        let unknown = "conflict: URL (c1 with main; the files are unknown: no answer)";
        assert_eq!(conflict(&[], None, Some("URL"), Some("no answer")), unknown);
    }

    #[test]
    fn an_old_text_is_shown_as_it_is() {
        assert_eq!(outside_words(&OutsideReason::from("conflict: `a`")), "conflict: `a`");
    }
}
