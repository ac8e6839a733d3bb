//! The journal of a run, from Temporal's history (D-6).
//!
//! The history holds what happened, and the code of the workflow makes the same records from it each time. So this
//! replays the history with that very code, and keeps the records.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use saihai::{PulledRun, RunDirectory};
use saihai_cli::{PulledState, ServerFailure, ServerTicket};
use saihai_git::work_reference;
use saihai_model::{Fact, RecordEntry};
use temporalio_client::{Client, WorkflowExecutionInfo, WorkflowFetchHistoryOptions, WorkflowHistory};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use temporalio_common::protos::temporal::api::history::v1::{History, HistoryEvent};
use temporalio_sdk::Runtime;
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};

use crate::calls::reports_of;
use crate::connection::{connect, failure};
use crate::faults;
use crate::submit::{local, shared_runs};
use crate::workflow::{RecordBatch, RecordSink, RunWorkflow};

/// Time limit for the replay of a history, which takes milliseconds.
const LONGEST_REPLAY: Duration = Duration::from_secs(60);

pub(crate) async fn pull(ticket: &ServerTicket, to: &RunDirectory) -> Result<PulledState, ServerFailure> {
    let client = connect(&ticket.place.server, &ticket.place.namespace).await?;
    let histories = histories(&client, ticket).await?;
    let mut run = replayed(histories, ticket).await?;
    let Some(Fact::Started(start)) = first_fact(&mut run) else {
        let why = format!("run `{}` has not started yet: no worker has taken it", ticket.run);
        return Err(ServerFailure::Local { why });
    };
    start.report_directory = ticket.reports.join(&ticket.run).display().to_string();
    let has_ended =
        run.batches.iter().flatten().any(|(_, entry)| {
            matches!(entry, RecordEntry::Decision(saihai_model::Decision::Finished { .. }))
        });
    let from = RunDirectory::new(
        shared_runs(&ticket.place.blobs).directory(),
        ticket.run.clone(),
        &saihai::Disk::new(),
    );
    copy_files(&reports_of(&from), &ticket.reports.join(&ticket.run)).map_err(|error| local(&error))?;
    run.write(&from, to).map_err(|error| local(&error))?;
    if has_ended {
        // From now on it is a run of this project like any other.
        let path = to.path().join(saihai::SERVER_TICKET);
        std::fs::remove_file(&path).map_err(|error| local(&error))?;
    }
    Ok(PulledState { has_ended, reference: work_reference(&ticket.run) })
}

fn first_fact(run: &mut PulledRun) -> Option<&mut Fact> {
    let (_, entry) = run.batches.first_mut()?.first_mut()?;
    match entry {
        RecordEntry::Fact(fact) => Some(fact),
        RecordEntry::Decision(_) => None,
    }
}

/// Fetches the histories of all executions since the run began, in their order.
async fn histories(client: &Client, ticket: &ServerTicket) -> Result<Vec<Vec<HistoryEvent>>, ServerFailure> {
    let mut histories = Vec::new();
    let mut next = Some(ticket.execution.clone());
    while let Some(execution) = next {
        let info = WorkflowExecutionInfo::builder()
            .namespace(ticket.place.namespace.clone())
            .workflow_id(ticket.workflow.clone())
            .run_id(execution)
            .build();
        let handle = info.bind_untyped(client.clone());
        let fetched = handle.fetch_history(WorkflowFetchHistoryOptions::default()).into_events().await;
        let events = fetched.map_err(|error| failure(&ticket.place.server, &ticket.run, &error))?;
        next = events.last().and_then(|event| match &event.attributes {
            Some(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(continued)) => {
                Some(continued.new_execution_run_id.clone())
            }
            _ => None,
        });
        histories.push(events);
    }
    Ok(histories)
}

/// Replays histories and returns the records of one run.
async fn replayed(
    histories: Vec<Vec<HistoryEvent>>,
    ticket: &ServerTicket,
) -> Result<PulledRun, ServerFailure> {
    let mut run = PulledRun::default();
    for (number, events) in histories.into_iter().enumerate() {
        faults::record(number, &events).await;
        let events = decided_part(events);
        // The SDK waits for ever for a first task that is not there.
        if events.is_empty() {
            continue;
        }
        let replay = tokio::time::timeout(LONGEST_REPLAY, replay(events)).await;
        let records = replay.unwrap_or_else(|_| Err("it did not end in time".to_owned()));
        let records = records.map_err(|why| ServerFailure::Local {
            why: format!("this version cannot replay run `{}`: {why}", ticket.run),
        })?;
        let own = records.into_iter().filter(|batch| batch.run == ticket.run);
        run.batches.extend(own.map(|batch| batch.entries));
    }
    Ok(run)
}

/// Returns a history up to the last decisions of the workflow. It has not seen what happened after them.
fn decided_part(mut events: Vec<HistoryEvent>) -> Vec<HistoryEvent> {
    let is_decision = |event: &HistoryEvent| {
        matches!(event.attributes, Some(Attributes::WorkflowTaskCompletedEventAttributes(_)))
    };
    let Some(last) = events.iter().rposition(is_decision) else { return Vec::new() };
    let results = events[last + 1..].iter().take_while(|event| !is_news(event)).count();
    events.truncate(last + 1 + results);
    events
}

/// Returns true for an event that the workflow has yet to see, and not its own command.
fn is_news(event: &HistoryEvent) -> bool {
    matches!(
        event.attributes,
        Some(
            Attributes::WorkflowTaskScheduledEventAttributes(_)
                | Attributes::WorkflowTaskStartedEventAttributes(_)
                | Attributes::WorkflowTaskTimedOutEventAttributes(_)
                | Attributes::WorkflowTaskFailedEventAttributes(_)
                | Attributes::ActivityTaskStartedEventAttributes(_)
                | Attributes::ActivityTaskCompletedEventAttributes(_)
                | Attributes::ActivityTaskFailedEventAttributes(_)
                | Attributes::ActivityTaskTimedOutEventAttributes(_)
                | Attributes::ActivityTaskCanceledEventAttributes(_)
                | Attributes::TimerFiredEventAttributes(_)
                | Attributes::WorkflowExecutionSignaledEventAttributes(_)
                | Attributes::WorkflowExecutionCancelRequestedEventAttributes(_)
        )
    )
}

/// Replays a history and returns the records of all runs in it.
async fn replay(events: Vec<HistoryEvent>) -> Result<Vec<RecordBatch>, String> {
    // The replay worker expects the runtime of the SDK around it.
    let _runtime = Runtime::from_current_tokio(Default::default()).map_err(|error| error.to_string())?;
    let sink: RecordSink = Arc::new(Mutex::new(Vec::new()));
    let kept = sink.clone();
    let options = WorkflowReplayerOptions::new()
        .register_workflow_with_factory::<RunWorkflow, _>(move || RunWorkflow::recording(kept.clone()))
        .map_err(|error| error.to_string())?
        .build();
    let replayer = WorkflowReplayer::new(options).map_err(|error| error.to_string())?;
    let replayed = replayer.replay_workflow(WorkflowHistory::from(History { events })).await;
    replayed.map_err(|error| error.to_string())?;
    Ok(std::mem::take(&mut *sink.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Copies the files of a directory that are missing or differ.
fn copy_files(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    let entries = match std::fs::read_dir(from) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_files(&path, &copy)?;
        } else if std::fs::read(&path)? != std::fs::read(&copy).unwrap_or_default() || !copy.exists() {
            std::fs::copy(&path, &copy)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // D-6: a history that is read while its first task, or news, is still on the way.
    #[test]
    fn a_history_ends_with_the_last_decisions() {
        let event = |number: i64, attributes: Attributes| HistoryEvent {
            event_id: number,
            attributes: Some(attributes),
            ..HistoryEvent::default()
        };
        let history = [
            event(1, Attributes::WorkflowExecutionStartedEventAttributes(Default::default())),
            event(2, Attributes::WorkflowTaskScheduledEventAttributes(Default::default())),
            event(3, Attributes::WorkflowTaskStartedEventAttributes(Default::default())),
            event(4, Attributes::WorkflowTaskCompletedEventAttributes(Default::default())),
            event(5, Attributes::ActivityTaskScheduledEventAttributes(Default::default())),
            event(6, Attributes::ActivityTaskStartedEventAttributes(Default::default())),
            event(7, Attributes::ActivityTaskCompletedEventAttributes(Default::default())),
            event(8, Attributes::WorkflowTaskScheduledEventAttributes(Default::default())),
        ];
        let last = |until: usize| decided_part(history[..until].to_vec()).last().map(|event| event.event_id);
        assert_eq!([3, 4, 5, 6, 8].map(last), [None, Some(4), Some(5), Some(5), Some(5)]);
    }

    // D-3, D-12: the code still makes the same decisions from the histories of earlier versions
    #[test]
    fn recorded_histories_replay_to_their_end() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories");
        let mut histories: Vec<_> =
            std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        histories.sort();
        assert!(!histories.is_empty());
        for path in histories {
            let bytes = std::fs::read(&path).unwrap();
            let records = crate::block_on(async {
                let history = WorkflowHistory::from_json(&bytes).map_err(|error| local(&error))?;
                let events = history.into_events().await.map_err(|error| local(&error))?;
                replay(events).await.map_err(|why| local(&why))
            });
            let records = records.unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
            let last = records.last().and_then(|batch| batch.entries.last());
            let is_end =
                matches!(last, Some((_, RecordEntry::Decision(saihai_model::Decision::Finished { .. }))));
            assert!(is_end, "{}: {last:?}", path.display());
        }
    }
}
