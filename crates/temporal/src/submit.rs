//! Submissions and requests: from a person's command to the workflow of a run.

use saihai::{Clock, RunSpec, Runs, SubmittedRun};
use saihai_cli::{OnBusy, ServerFailure, ServerRequest, ServerTicket, Submission, SubmitOutcome};
use saihai_connect::Connections;
use saihai_git::{FencedPush, GitEnvironment, publish, unpublish, work_reference};
use saihai_model::FrozenJson as _;
use temporalio_client::errors::WorkflowStartError;
use temporalio_client::tonic::Code;
use temporalio_client::{
    Client, WorkflowDescribeOptions, WorkflowHandle, WorkflowIdConflictPolicy, WorkflowSignalOptions,
    WorkflowStartOptions,
};
use temporalio_workflow::MemoValues;

use crate::calls::{reports_of, write_start};
use crate::connection::{connect, failure, words};
use crate::faults;
use crate::messages::{MEMO_RUN, Queues, RunInput, RunSignal};
use crate::workflow::RunWorkflow;

/// Most bytes of one message. The server's limit is 2 MiB, and a continued run carries its state too.
const MOST_BYTES: usize = 1_500_000;

/// Events of one history.
const LONGEST_HISTORY: u32 = 4_000;

pub(crate) fn local(error: &dyn std::fmt::Display) -> ServerFailure {
    ServerFailure::Local { why: error.to_string() }
}

/// The runs of all machines.
pub(crate) fn shared_runs(blobs: &std::path::Path) -> Runs {
    Runs::of_project(blobs)
}

pub(crate) async fn submit(submission: Submission) -> Result<SubmitOutcome, ServerFailure> {
    let place = submission.place.clone();
    let client = connect(&place.server, &place.namespace).await?;
    let shared = shared_runs(&place.blobs);
    let mut spec = submission.spec;
    let reports = std::mem::replace(&mut spec.reports, place.blobs.join(".saihai/reports"));
    let (definition, script) = (spec.workflow.to_json(), spec.script.clone());
    if definition.len() > MOST_BYTES {
        return Err(ServerFailure::TooLarge { bytes: definition.len(), most: MOST_BYTES });
    }
    let created = create(&shared, &submission.runs, spec, &submission.connections)?;
    let run = created.directory.id().to_owned();
    let mut start = created.start.clone();
    // People read the reports in their project, and each worker has its own copy of the path.
    start.report_directory = reports.join(&run).display().to_string();
    let prepared = write_start(&created.directory, &start)
        .and_then(|()| {
            let path = reports_of(&created.directory);
            created
                .directory
                .disk()
                .create_directories(&path)
                .map_err(saihai::StoreError::io("create", &path))
        })
        .map_err(|error| local(&error));
    let branch = submission.branch.clone().unwrap_or_else(|| format!("saihai/{run}"));
    let input = RunInput {
        run: run.clone(),
        repository: submission.repository.clone(),
        workflow: String::from_utf8_lossy(&definition).into_owned(),
        start,
        base: submission.base.clone(),
        answers: script.as_ref().map(|script| script.answers.clone()).unwrap_or_default(),
        auto: submission.auto,
        scripted: script.is_some(),
        queues: Queues::of_this_version(&place.queue),
        lost_after: submission.lost_after,
        longest_history: faults::number("SAIHAI_TEMPORAL_LONGEST_HISTORY").unwrap_or(LONGEST_HISTORY),
        continued: None,
        waiting: std::collections::VecDeque::new(),
    };
    let reference = work_reference(&run);
    let environment = GitEnvironment::of_process();
    let begun = match prepared {
        Err(failure) => Err(failure),
        Ok(()) => {
            let pushed = publish(
                &submission.checkout,
                &submission.repository,
                &reference,
                &submission.base,
                &environment,
            );
            match pushed {
                Ok(FencedPush::Done) => {
                    let taken = begin(&client, &place.server, &branch, input, submission.on_busy).await;
                    let is_ours = matches!(&taken, Ok(taken) if taken.run() == run);
                    if !is_ours {
                        // A ref that stays costs nothing but its name.
                        drop(unpublish(
                            &submission.checkout,
                            &submission.repository,
                            &reference,
                            &environment,
                        ));
                    }
                    taken
                }
                Ok(FencedPush::Refused { said }) => Err(ServerFailure::Local { why: said }),
                Err(error) => Err(local(&error)),
            }
        }
    };
    match begun {
        Ok(begun) if begun.run() == run => {
            let ticket = ServerTicket {
                place,
                run,
                workflow: begun.workflow.clone(),
                execution: begun.execution.clone(),
                reports,
            };
            ticket.write(&submission.runs).map_err(|error| local(&error))?;
            Ok(begun.outcome)
        }
        other => {
            created.discard(&shared);
            other.map(|begun| begun.outcome)
        }
    }
}

/// Creates a run whose id is new among the shared runs and among those of the project.
fn create(
    shared: &Runs,
    own: &Runs,
    spec: RunSpec,
    connections: &Connections,
) -> Result<SubmittedRun, ServerFailure> {
    let mut taken = Vec::new();
    loop {
        let created = SubmittedRun::create(shared, spec.clone(), connections, &Clock::system());
        let created = created.map_err(|error| local(&error));
        let is_new = |run: &SubmittedRun| !own.directory().join(run.directory.id()).exists();
        match created {
            Ok(run) if !is_new(&run) => taken.push(run),
            created => {
                taken.into_iter().for_each(|run| run.discard(shared));
                return created;
            }
        }
    }
}

/// A run that the server took, or the run that holds its branch.
struct BegunRun {
    outcome: SubmitOutcome,
    workflow: String,
    execution: String,
}

impl BegunRun {
    fn run(&self) -> &str {
        match &self.outcome {
            SubmitOutcome::Started { run }
            | SubmitOutcome::Attached { run }
            | SubmitOutcome::Queued { run, .. } => run,
        }
    }
}

async fn begin(
    client: &Client,
    server: &str,
    branch: &str,
    input: RunInput,
    on_busy: OnBusy,
) -> Result<BegunRun, ServerFailure> {
    let run = input.run.clone();
    let workflow = format!("{}#{branch}", input.repository);
    let mut memo = MemoValues::new();
    memo.insert(MEMO_RUN, run.clone());
    let options = WorkflowStartOptions::new(input.queues.control(), workflow.clone())
        .id_conflict_policy(WorkflowIdConflictPolicy::Fail)
        .memo(memo)
        .static_summary(format!("Saihai run {run}"))
        .build();
    let unreached = |error: WorkflowStartError| match error {
        WorkflowStartError::Rpc(status) => {
            ServerFailure::NotReached { server: server.to_owned(), why: words(&status) }
        }
        other => ServerFailure::NotReached { server: server.to_owned(), why: other.to_string() },
    };
    loop {
        let started = client.start_workflow(RunWorkflow::run, input.clone(), options.clone()).await;
        let holder = match started {
            Ok(handle) => {
                let execution = handle.run_id().unwrap_or_default().to_owned();
                return Ok(BegunRun { outcome: SubmitOutcome::Started { run }, workflow, execution });
            }
            Err(WorkflowStartError::AlreadyStarted { .. }) => {
                client.get_workflow_handle::<RunWorkflow>(workflow.clone())
            }
            Err(error) => return Err(unreached(error)),
        };
        let described = holder.describe(WorkflowDescribeOptions::default()).await;
        let described = described.map_err(|error| failure(server, &run, &error))?;
        let other = described.memo().get::<String>(MEMO_RUN).ok().flatten().unwrap_or_default();
        let execution = described.run_id().to_owned();
        match on_busy {
            OnBusy::Reject => return Err(ServerFailure::Busy { branch: branch.to_owned(), run: other }),
            OnBusy::Attach => {
                return Ok(BegunRun { outcome: SubmitOutcome::Attached { run: other }, workflow, execution });
            }
            OnBusy::Queue => match send(&holder, RunSignal::Enqueue(Box::new(input.clone()))).await {
                Ok(()) => {
                    let outcome = SubmitOutcome::Queued { run, behind: other };
                    return Ok(BegunRun { outcome, workflow, execution });
                }
                // The run has ended meanwhile, so the branch may be free.
                Err(error) if is_over(&error) => {}
                Err(error) => return Err(failure(server, &run, &error)),
            },
        }
    }
}

fn is_over(error: &temporalio_client::errors::WorkflowInteractionError) -> bool {
    use temporalio_client::errors::WorkflowInteractionError as Failed;
    match error {
        Failed::NotFound(_) => true,
        Failed::Rpc(status) => status.code() == Code::NotFound,
        _ => false,
    }
}

async fn send(
    handle: &WorkflowHandle<Client, RunWorkflow>,
    signal: RunSignal,
) -> Result<(), temporalio_client::errors::WorkflowInteractionError> {
    handle.signal(RunWorkflow::receive, signal, WorkflowSignalOptions::default()).await
}

/// Sends a request of a person to a run.
pub(crate) async fn request(ticket: &ServerTicket, request: ServerRequest) -> Result<(), ServerFailure> {
    let client = connect(&ticket.place.server, &ticket.place.namespace).await?;
    let signal = match request {
        ServerRequest::Answer { label, text } => RunSignal::Answer { label, text },
        ServerRequest::Cancel => RunSignal::Cancel { by: "saihai cancel".to_owned() },
        ServerRequest::Tell(note) => RunSignal::Tell(note),
        ServerRequest::Withdraw(number) => RunSignal::Withdraw(number),
        ServerRequest::Resume(raise) => RunSignal::Resume(raise),
    };
    let signal = RunSignal::To { run: ticket.run.clone(), request: Box::new(signal) };
    let handle = client.get_workflow_handle::<RunWorkflow>(ticket.workflow.clone());
    let sent = send(&handle, signal).await;
    sent.map_err(|error| failure(&ticket.place.server, &ticket.run, &error))
}
