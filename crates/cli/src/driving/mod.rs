//! Driving a run for a person, for a program, or unattended.

mod conclusion;
mod input;
mod live_telemetry;
mod notification;
mod watch;

use std::future::Future;

use saihai::{DriveOptions, DriveOutcome, Driver, DriverEvent, LoadedRun};
use saihai_delivery::{Placement, RunChangeCounter};
use saihai_model::{Difference, ExitStatus, Expectation, StageId, Workflow};
use saihai_view::RunView;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::commands::review;
use crate::error::CommandError;
use crate::quantities::count;
use crate::terminal::Streams;

pub(crate) use conclusion::{
    Conclusion, LATE, ResultObject, is_late, resume_flags, show_result, state_style, state_words,
};
pub(crate) use input::{Keyboard, Signals, StartupSignals, TypedLine, parse_answer};
pub(crate) use live_telemetry::LiveTelemetry;
use notification::notify_end;
pub(crate) use watch::EventObject;
use watch::{RunWatch, WatchEnd, WatchEvent};

/// Display options of a driven run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DisplayOptions {
    /// True if events and result go to stdout as JSON.
    pub(crate) json: bool,
    /// True if a person can be asked (K-4).
    pub(crate) interactive: bool,
    /// True if every yes/no gate is answered with yes.
    pub(crate) auto: bool,
    pub(crate) keeping: RunKeeping,
    /// Exit status of a completed run.
    pub(crate) completed: ExitStatus,
    /// True if the run is sent to an OpenTelemetry collector.
    pub(crate) otel: bool,
}

/// The fate of a run after the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunKeeping {
    Kept,
    /// The run is deleted: nothing can be continued, answered or read later.
    Temporary,
}

/// Runs a future on this thread. Only commands that wait need this runtime.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, CommandError>>) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CommandError::unavailable(format!("cannot wait for events: {error}")))?;
    runtime.block_on(future)
}

/// Drives the run until it ends or parks, shows its progress, and prints its final state.
pub(crate) async fn drive(
    driver: Driver,
    workflow: &Workflow,
    showing: DisplayOptions,
    streams: &mut Streams,
) -> Result<ExitStatus, CommandError> {
    let directory = driver.directory().clone();
    let driver = RunChangeCounter::attach(driver);
    let telemetry = LiveTelemetry::start_if(showing.otel, streams);
    if let Some(telemetry) = &telemetry {
        telemetry.follow(directory.clone());
    }
    let DrivenRun { end, view, was_over } = watched(driver, workflow, showing, streams).await?;
    if let Some(telemetry) = telemetry {
        telemetry.finish(streams);
    }
    let run = view.map(|view| LoadedRun::of_view(&directory, workflow, view));
    if let Some(run) = run.as_ref().filter(|_| !was_over) {
        notify_end(run, showing.json, streams);
    }
    match (end, run) {
        (DriveEnd::Finished(finish), run) => {
            // A run that had already ended keeps its result, even if its script has unused replies (T-24).
            let differences = match &run {
                Some(run) if finish.ending.is_some() && !was_over => ScriptDifferences::of(&finish, run)?,
                _ => ScriptDifferences::default(),
            };
            let printed = if !showing.json && workflow.is_review() {
                review::print_report(&directory, workflow, &finish, streams)
                    .map(|status| differences.status(status))
            } else {
                let status = ExitStatus::of_run(finish.ending.as_ref(), finish.hold.as_ref());
                let status = match differences.status(status) {
                    ExitStatus::Done => showing.completed,
                    status => status,
                };
                let print = EndOfRun { finish: &finish, differences: &differences, status };
                print.show(run.as_ref(), showing, streams)
            };
            // Delete the checkout of an ended run, even if its result could not be printed.
            if finish.ending.is_some() {
                review::clean_up(&directory, workflow, streams)?;
            }
            let status = printed?;
            differences.print(streams);
            Ok(status)
        }
        (DriveEnd::Unheard(finish), _) => {
            Ok(ExitStatus::of_run(finish.ending.as_ref(), finish.hold.as_ref()))
        }
        (DriveEnd::LeftAtGate, _) => {
            // The watcher may not have seen the last records, so read them.
            let run = LoadedRun::read(&directory)?;
            show_result(&Conclusion::of_run(&run)?.kept(showing.keeping), showing.json, streams)?;
            Ok(run.state.exit_status())
        }
        (DriveEnd::Killed, _) => {
            let hint = format!("continue with `saihai resume {}`", directory.short_name());
            let hints = if showing.keeping == RunKeeping::Kept { vec![hint] } else { Vec::new() };
            streams.error("stopped immediately", &hints);
            Ok(ExitStatus::Interrupted)
        }
    }
}

/// The end of driving a run, for its last screen.
struct EndOfRun<'a> {
    finish: &'a DriveOutcome,
    differences: &'a ScriptDifferences,
    status: ExitStatus,
}

impl EndOfRun<'_> {
    /// Prints the state in which driving stopped. Prints an error if the disk failed before the first record.
    fn show(
        &self,
        run: Option<&LoadedRun>,
        showing: DisplayOptions,
        streams: &mut Streams,
    ) -> Result<ExitStatus, CommandError> {
        let mut conclusion = match (run, &self.finish.storage) {
            (Some(run), _) => Conclusion::of_run(run)?.kept(showing.keeping),
            (None, storage) => {
                let why = storage.as_deref().unwrap_or("nothing was recorded");
                streams.error(why, &["no agent was asked, and there is no run".to_owned()]);
                return Ok(self.status);
            }
        };
        if let (Some(why), Some(hold)) = (&self.finish.storage, &self.finish.hold) {
            conclusion = conclusion.cut_short(hold.clone(), why);
        }
        let conclusion = conclusion.driven().compared(self.differences, self.status);
        show_result(&conclusion, showing.json, streams)?;
        Ok(self.status)
    }
}

/// The end of driving, and the run as its records show it.
struct DrivenRun {
    end: DriveEnd,
    view: Option<RunView>,
    /// True if the run had ended before.
    was_over: bool,
}

enum DriveEnd {
    Finished(DriveOutcome),
    /// The reader of stdout is gone: the run is parked and there is nothing to print.
    Unheard(DriveOutcome),
    /// The person left an open gate; nothing else was running.
    LeftAtGate,
    /// The third signal to stop.
    Killed,
}

async fn watched(
    driver: Driver,
    workflow: &Workflow,
    showing: DisplayOptions,
    streams: &mut Streams,
) -> Result<DrivenRun, CommandError> {
    let directory = driver.directory().clone();
    let signals = Signals::listen()
        .map_err(|error| CommandError::unavailable(format!("failed to install signal handlers: {error}")))?;
    let mut watch = RunWatch::new(directory.id(), workflow, showing, driver.control(), streams);
    let mut untouched = review::UnchangedFiles::of(workflow);
    // Earlier records supply the names for later ones.
    if let Some(view) = driver.earlier_view() {
        if let Some(untouched) = &mut untouched {
            untouched.remember_view(view);
        }
        watch.remember_view(view.clone());
    }
    let was_over = watch.is_over();
    let (tell, hear) = mpsc::unbounded_channel();
    let driving = async {
        let going = DriveOptions { stay_at_gates: showing.interactive, auto: showing.auto, when_told: false };
        let say = |seen: WatchEvent| tell.send(seen).unwrap_or(());
        let mut observer = |observed: DriverEvent<'_>| {
            let changed = match (&observed, &mut untouched) {
                (DriverEvent::Recorded(record), Some(untouched)) => untouched.hear(record),
                _ => None,
            };
            say(WatchEvent::from(observed));
            changed.into_iter().for_each(|changed| say(WatchEvent::Warning(changed)));
        };
        let finish = driver.drive(going, &mut observer).await;
        untouched
            .as_mut()
            .and_then(review::UnchangedFiles::said)
            .map(WatchEvent::Warning)
            .into_iter()
            .for_each(say);
        drop(tell);
        finish
    };
    let ended = {
        let watching = watch.until_over(hear, signals);
        tokio::pin!(driving, watching);
        tokio::select! {
            finish = &mut driving => {
                // The channel is closed: show its remaining records, then end.
                watching.await;
                Ok(finish)
            }
            left = &mut watching => match left {
                WatchEnd::NothingMore => Ok(driving.await),
                WatchEnd::Gate => Err(DriveEnd::LeftAtGate),
                WatchEnd::AtOnce => Err(DriveEnd::Killed),
            },
        }
    };
    let (lost, view) = watch.into_parts();
    let end = match (ended, lost) {
        (Err(end), _) => end,
        (Ok(finish), None) => DriveEnd::Finished(finish?),
        (Ok(finish), Some(CommandError::ClosedPipe)) => DriveEnd::Unheard(finish?),
        (Ok(finish), Some(error)) => return finish.map_err(CommandError::from).and(Err(error)),
    };
    Ok(DrivenRun { end, view, was_over })
}

/// Unmet expectations and unused replies of a script.
#[derive(Debug, Default, Clone)]
pub(crate) struct ScriptDifferences {
    list: Vec<DifferenceObject>,
    /// The expectations that the run met, if it met all of them: `as recorded: completed, 8 stages, 11 prompts`.
    met: Option<String>,
}

/// One difference, as programs see it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct DifferenceObject {
    kind: DifferenceKind,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    came: Option<String>,
    /// True if it is only reported.
    #[serde(skip)]
    lenient: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum DifferenceKind {
    Outcome,
    Stages,
    Prompt,
    Unused,
}

impl ScriptDifferences {
    /// Compares an ended run with its script.
    fn of(finish: &DriveOutcome, run: &LoadedRun) -> Result<Self, CommandError> {
        // All runs of a batch share one script, so the replies for other issues stay unused.
        let is_shared = matches!(Placement::of(&run.view.start), Some(Placement::Issue(assignment)) if assignment.batch.is_some());
        let left = finish.accounts.left.iter().filter(|_| !is_shared).map(|left| DifferenceObject {
            lenient: !finish.accounts.strict,
            ..DifferenceObject::new(DifferenceKind::Unused, left.to_string())
        });
        let mut list: Vec<DifferenceObject> = left.collect();
        let mut met = None;
        if let Some(script) = run.directory.script()?
            && let Some(expected) = &script.expect
        {
            let differences = expected.differences(&run.expectation()?);
            list.extend(differences.into_iter().map(DifferenceObject::of));
            if list.iter().all(|one| one.lenient) {
                let word = if script.recorded.is_some() { "as recorded" } else { "as expected" };
                met = Some(format!("{word}: {}", expectation_words(expected)));
            }
        }
        Ok(Self { list, met })
    }

    /// Returns the command's status, given that of the run.
    fn status(&self, run: ExitStatus) -> ExitStatus {
        let differs = self.list.iter().any(|one| !one.lenient);
        if differs && run == ExitStatus::Done { ExitStatus::Failed } else { run }
    }

    /// Prints all differences for a person.
    fn print(&self, streams: &mut Streams) {
        for one in &self.list {
            if one.lenient {
                streams.warning(&one.message);
            } else {
                streams.error(&one.message, &[]);
            }
        }
        if let Some(met) = &self.met {
            streams.note(met);
        }
    }

    pub(super) fn list(&self) -> &[DifferenceObject] {
        &self.list
    }
}

/// Lists what a script compares: `completed, 8 stages, 11 prompts`.
fn expectation_words(expected: &Expectation) -> String {
    let stages = expected.stages.as_ref().map(|stages| count(stages.len() as u64, "stage"));
    let prompts = (!expected.prompts.is_empty()).then(|| count(expected.prompts.len() as u64, "prompt"));
    let words: Vec<String> = expected.outcome.clone().into_iter().chain(stages).chain(prompts).collect();
    words.join(", ")
}

impl DifferenceObject {
    fn new(kind: DifferenceKind, message: String) -> Self {
        Self { kind, message, call: None, step: None, expected: None, came: None, lenient: false }
    }

    fn of(difference: Difference) -> Self {
        let message = difference.to_string();
        let stage = |stage: Option<StageId>| stage.map(|stage| stage.to_string());
        match difference {
            Difference::Outcome { expected, came } => Self {
                expected: Some(expected),
                came: Some(came),
                ..Self::new(DifferenceKind::Outcome, message)
            },
            Difference::Stages { step, expected, came } => Self {
                step: Some(step),
                expected: stage(expected),
                came: stage(came),
                ..Self::new(DifferenceKind::Stages, message)
            },
            Difference::Prompt { call } => {
                Self { call: Some(call.to_string()), ..Self::new(DifferenceKind::Prompt, message) }
            }
        }
    }
}
