//! `saihai-temporal`: the program `saihai`, with runs on a Temporal server.
//!
//! `workflow` is the loop of a run on the server, over the context that `saihai::durable` describes. `calls` performs one
//! effect on a worker. `submit` and `pull` are the ways in and out. No type of Temporal leaves this crate.

mod calls;
mod connection;
mod contact;
mod faults;
mod messages;
mod pull;
mod spool;
mod submit;
mod work_area;
mod worker;
mod workflow;

use std::process::ExitCode;

use saihai::RunDirectory;
use saihai_cli::{
    PulledState, ServerFailure, ServerRequest, ServerRuns, ServerTicket, Submission, SubmitOutcome,
    WorkerSpec,
};

fn main() -> ExitCode {
    saihai_cli::main_with_server(&TemporalRuns)
}

#[derive(Debug)]
struct TemporalRuns;

impl ServerRuns for TemporalRuns {
    fn submit(&self, submission: Submission) -> Result<SubmitOutcome, ServerFailure> {
        block_on(submit::submit(submission))
    }

    fn request(&self, ticket: &ServerTicket, request: ServerRequest) -> Result<(), ServerFailure> {
        block_on(submit::request(ticket, request))
    }

    fn pull(&self, ticket: &ServerTicket, to: &RunDirectory) -> Result<PulledState, ServerFailure> {
        block_on(pull::pull(ticket, to))
    }

    fn work(&self, worker: WorkerSpec, say: &mut dyn FnMut(&str)) -> Result<(), ServerFailure> {
        block_on(worker::work(worker, say))
    }
}

fn block_on<T>(future: impl Future<Output = Result<T, ServerFailure>>) -> Result<T, ServerFailure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ServerFailure::Local { why: error.to_string() })?;
    // Workflow code runs on one thread.
    tokio::task::LocalSet::new().block_on(&runtime, future)
}
