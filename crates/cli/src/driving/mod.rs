//! Driving a run for a person, for a program, or unattended.

mod conclusion;
mod gate;
mod keyboard;
mod result_object;
mod run_log;
mod signals;
mod unexpected;
mod watch;

use std::future::Future;

use saihai::{Driver, Finish, Going, Observed, RunDirectory};
use saihai_config::review::Plan;
use saihai_model::Workflow;
use tokio::sync::mpsc;

use crate::commands::review;
use crate::error::{Error, exit};
use crate::terminal::Streams;
use unexpected::Unexpected;
use watch::{Left, Seen, Watch};

pub(crate) use conclusion::{Conclusion, LATE, READY, show_result};
pub(crate) use keyboard::{Keyboard, Typed};
pub(crate) use result_object::ResultObject;
pub(crate) use signals::{Signals, Unbegun};
pub(crate) use watch::EventObject;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past {
    None,
    Journal,
}

/// Display options of a driven run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Showing {
    pub(crate) past: Past,
    /// True if events and result go to stdout as JSON.
    pub(crate) json: bool,
    /// True if a person can be asked (K-4).
    pub(crate) interactive: bool,
    /// True if every yes/no gate is answered with yes.
    pub(crate) auto: bool,
}

/// Runs a future on this thread. Only commands that wait need this runtime.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::unavailable(format!("cannot wait for events: {error}")))?;
    runtime.block_on(future)
}

/// Drives the run until it ends or parks, shows its progress, and prints its final state.
pub(crate) async fn drive(
    driver: Driver,
    workflow: &Workflow,
    showing: Showing,
    streams: &mut Streams,
) -> Result<u8, Error> {
    let directory = driver.directory().clone();
    let was_over = showing.past == Past::Journal && saihai::run_state(&directory)?.is_over();
    let ended = watched(driver, workflow, showing, streams).await?;
    match ended {
        Ended::Finished(finish) => {
            // A run that had already ended keeps its result, even if its script has unused replies (T-24).
            let compared = finish.ending.is_some() && !was_over;
            let unexpected =
                if compared { Unexpected::of(&finish, &directory)? } else { Unexpected::default() };
            let code = unexpected.exit(finish.exit_code());
            let said = if !showing.json && Plan::of(workflow).is_some() {
                let said = review::say(&directory, workflow, &finish, streams);
                said.map(|code| unexpected.exit(code))
            } else {
                let shown = match concluded(&directory, &finish, streams)? {
                    Some(conclusion) => {
                        show_result(&conclusion.compared(&unexpected, code), showing.json, streams)
                    }
                    None => Ok(()),
                };
                shown.map(|()| code)
            };
            // Delete the checkout of an ended run, even if its result could not be printed.
            if finish.ending.is_some() {
                review::clean_up(&directory, workflow, streams)?;
            }
            let code = said?;
            unexpected.complain(streams);
            Ok(code)
        }
        Ended::Unheard(finish) => Ok(finish.exit_code()),
        Ended::LeftAtGate => {
            let conclusion = Conclusion::of(&directory)?;
            show_result(&conclusion, showing.json, streams)?;
            Ok(conclusion.exit())
        }
        Ended::Killed => {
            streams.error("ended at once", &[format!("continue with `saihai resume {}`", directory.id())]);
            Ok(exit::INTERRUPTED)
        }
    }
}

/// Returns the state of the run. Returns nothing if the disk failed before the first record.
fn concluded(
    directory: &RunDirectory,
    finish: &Finish,
    streams: &mut Streams,
) -> Result<Option<Conclusion>, Error> {
    let conclusion = Conclusion::of(directory);
    match (&finish.storage, &finish.hold) {
        (Some(why), Some(hold)) => match conclusion {
            Ok(conclusion) => Ok(Some(conclusion.cut_short(hold.clone(), why))),
            Err(_) => {
                streams.error(why, &["nothing was asked, and there is no run".to_owned()]);
                Ok(None)
            }
        },
        (Some(_) | None, _) => conclusion.map(Some),
    }
}

enum Ended {
    Finished(Finish),
    /// The reader of stdout is gone: the run is parked and there is nothing to print.
    Unheard(Finish),
    /// The person left an open gate; nothing else was running.
    LeftAtGate,
    /// The third signal to stop.
    Killed,
}

async fn watched(
    driver: Driver,
    workflow: &Workflow,
    showing: Showing,
    streams: &mut Streams,
) -> Result<Ended, Error> {
    let directory = driver.directory().clone();
    let signals =
        Signals::listen().map_err(|error| Error::unavailable(format!("cannot hear signals: {error}")))?;
    let mut watch = Watch::new(directory.id(), workflow, showing, driver.control(), streams);
    let mut untouched = review::Untouched::of(workflow);
    // Earlier records supply the names for later ones.
    if showing.past == Past::Journal {
        directory.read(&mut |record| {
            watch.remember(&record);
            if let Some(untouched) = &mut untouched {
                untouched.remember(&record);
            }
        })?;
    }
    let (tell, hear) = mpsc::unbounded_channel();
    let driving = async move {
        let going = Going { stay_at_gates: showing.interactive, auto: showing.auto, when_told: false };
        let say = |seen: Seen| tell.send(seen).unwrap_or(());
        let mut observer = |observed: Observed<'_>| {
            let changed = match (&observed, &mut untouched) {
                (Observed::Recorded(record), Some(untouched)) => untouched.hear(record),
                _ => None,
            };
            say(Seen::from(observed));
            changed.into_iter().for_each(|changed| say(Seen::Warning(changed)));
        };
        let finish = driver.drive(going, &mut observer).await;
        untouched.as_mut().and_then(review::Untouched::said).map(Seen::Warning).into_iter().for_each(say);
        drop(tell);
        finish
    };
    let finish = {
        let watching = watch.until_over(hear, signals);
        tokio::pin!(driving, watching);
        tokio::select! {
            finish = &mut driving => {
                // The channel is closed: show its remaining records, then end.
                watching.await;
                finish
            }
            left = &mut watching => match left {
                Left::NothingMore => driving.await,
                Left::Gate => return Ok(Ended::LeftAtGate),
                Left::AtOnce => return Ok(Ended::Killed),
            },
        }
    };
    match (finish?, watch.take_lost()) {
        (finish, None) => Ok(Ended::Finished(finish)),
        (finish, Some(Error::ClosedPipe)) => Ok(Ended::Unheard(finish)),
        (_, Some(error)) => Err(error),
    }
}
