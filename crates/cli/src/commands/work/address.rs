//! The address that work is pushed to is the person's own (I-37).

use saihai::Runs;
use saihai::delivery::{Destination, Doubt, Set, doubt};
use saihai::repository::Frozen;

use crate::error::Error;
use crate::terminal::visible_line;

/// Refuses an address of a remote that an agent of an earlier call has set, or may have. `trusts`: the person says that what nobody
/// knows is theirs.
pub(crate) fn insist_on_own(frozen: &Frozen, runs: &Runs, remote: &str, trusts: bool) -> Result<(), Error> {
    let Some(now) = frozen.remote_url(remote).map(Destination::address) else { return Ok(()) };
    let Some(Doubt { run, was, set }) = doubt(runs, remote, &now)? else { return Ok(()) };
    let (when, who) = match set {
        Set::Asked | Set::Declined => ("", "nobody has agreed to it"),
        Set::Unseen if trusts => return Ok(()),
        Set::Unseen => (" or since", "it is not known by whom"),
    };
    let now = visible_line(&now);
    let error = Error::usage(format!(
        "the remote `{remote}` is now `{now}`: that was set during the run `{run}`{when}, and {who}"
    ));
    let put_back = was.as_deref().and_then(|was| Some((was, frozen.put_back(remote, was)?)));
    let error = error.hint(match put_back {
        Some((was, command)) => {
            format!("it was `{}`; to put it back: `{}`", visible_line(was), visible_line(&command))
        }
        None => format!("there was none before; to take it away: `git remote remove {remote}`"),
    });
    Err(match set {
        Set::Asked => error.hint(format!("to agree to it: `saihai answer {run} yes`")),
        Set::Declined => error,
        Set::Unseen => error.hint("if it is yours, say so once with `--trust-project`"),
    })
}
