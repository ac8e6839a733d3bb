//! Runs that a server drives, on workers of several machines: the commands of a person, in words.
//!
//! The program `saihai` knows no server. Its sibling `saihai-temporal` is the same program with an implementation of
//! [`ServerRuns`]. `saihai` hands such commands over to it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use saihai::{RunDirectory, RunSpec, Runs, UnhostableAction, unhostable};
use saihai_config::{Settings, Use};
use saihai_connect::Connections;
use saihai_git::Git;
use saihai_model::{ExitStatus, IssueNumber, Label, Millis, PersonNote, Raise};
use serde::{Deserialize, Serialize};

use crate::commands::flags::{ServerFlags, SubmitFlags};
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::Streams;

/// A server for runs. All methods block.
pub trait ServerRuns: Sync {
    /// Gives a run to the server.
    fn submit(&self, submission: Submission) -> Result<SubmitOutcome, ServerFailure>;

    /// Sends a request of a person to a run.
    fn request(&self, ticket: &ServerTicket, request: ServerRequest) -> Result<(), ServerFailure>;

    /// Writes the journal of a run, as far as the server has it, into its directory of this project.
    fn pull(&self, ticket: &ServerTicket, to: &RunDirectory) -> Result<PulledState, ServerFailure>;

    /// Works on runs until it is interrupted.
    fn work(&self, worker: WorkerSpec, say: &mut dyn FnMut(&str)) -> Result<(), ServerFailure>;
}

/// The place of runs: a server, and the directory with the texts that all machines read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerPlace {
    pub server: String,
    pub namespace: String,
    /// The common head of the names of the queues.
    pub queue: String,
    pub blobs: PathBuf,
}

/// A run for a server.
pub struct Submission {
    pub place: ServerPlace,
    pub spec: RunSpec,
    pub connections: Connections,
    /// The address that workers fetch from and push to.
    pub repository: String,
    /// The checkout with the first commit.
    pub checkout: PathBuf,
    pub base: String,
    /// The branch that only one run holds; absent: one of its own.
    pub branch: Option<String>,
    pub on_busy: OnBusy,
    pub auto: bool,
    /// A worker without a sign of life for this long is lost.
    pub lost_after: Millis,
    /// The runs of this project. They get a ticket, with which the journal is pulled.
    pub runs: Runs,
}

/// The reaction if another run holds the branch: refuse the new run, start none and name the other, or begin after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OnBusy {
    // Without doc comments, which would make the help of `run` twice as long.
    Reject,
    Attach,
    Queue,
}

/// The result of a submission. All variants name the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmitOutcome {
    Started { run: String },
    Attached { run: String },
    Queued { run: String, behind: String },
}

/// The way back from a run of this project to the server that drives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTicket {
    pub place: ServerPlace,
    pub run: String,
    /// The server's name for the branch.
    pub workflow: String,
    /// The server's name for the execution in which the run began.
    pub execution: String,
    /// The directory of the project's reports.
    pub reports: PathBuf,
}

/// A request of a person to a run on a server.
#[derive(Debug, Clone)]
pub enum ServerRequest {
    Answer { label: Label, text: Option<String> },
    Cancel,
    Tell(PersonNote),
    Withdraw(u32),
    Resume(Raise),
}

/// The state of a pulled run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PulledState {
    pub has_ended: bool,
    /// The ref with the work of the run, in the repository of its workers.
    pub reference: String,
}

/// The settings of a worker.
pub struct WorkerSpec {
    pub place: ServerPlace,
    pub slots: usize,
    /// The directory for mirrors, worktrees and the spool.
    pub area: PathBuf,
    pub connections: Connections,
}

/// A reason why a server did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerFailure {
    NotReached {
        server: String,
        why: String,
    },
    NoNamespace {
        server: String,
        namespace: String,
    },
    /// Another run holds the branch.
    Busy {
        branch: String,
        run: String,
    },
    /// The definition is larger than a message to the server may be.
    TooLarge {
        bytes: usize,
        most: usize,
    },
    NoRun {
        run: String,
    },
    /// A file, a repository or a record.
    Local {
        why: String,
    },
}

impl From<ServerFailure> for CommandError {
    fn from(failure: ServerFailure) -> Self {
        match failure {
            ServerFailure::NotReached { server, why } => {
                Self::unavailable(format!("cannot reach the Temporal server at `{server}`: {why}"))
                    .hint("check the address; `temporal operator cluster health` tests the server")
            }
            ServerFailure::NoNamespace { server, namespace } => {
                Self::usage(format!("the server at `{server}` has no namespace `{namespace}`"))
                    .hint(format!("create it with `temporal operator namespace create -n {namespace}`"))
            }
            ServerFailure::Busy { branch, run } => {
                Self::usage(format!("run `{run}` works on branch `{branch}`"))
                    .hint("`--on-busy queue` begins after it, `--branch NAME` uses another branch")
            }
            ServerFailure::TooLarge { bytes, most } => {
                Self::usage(format!("the definition has {bytes} bytes; a server takes {most}"))
                    .hint("move long texts into files that the agents read")
            }
            ServerFailure::NoRun { run } => Self::usage(format!("the server does not know run `{run}`"))
                .hint("a server forgets ended runs after its retention time"),
            ServerFailure::Local { why } => Self::unavailable(why),
        }
    }
}

static IMPLEMENTATION: OnceLock<&'static dyn ServerRuns> = OnceLock::new();

/// Sets the implementation of this program. It is part of the program, so it never changes.
pub(crate) fn install(implementation: &'static dyn ServerRuns) {
    let _ = IMPLEMENTATION.set(implementation);
}

/// Returns the implementation. A program without one is replaced by its sibling, with the same arguments.
pub(crate) fn implementation() -> Result<&'static dyn ServerRuns, CommandError> {
    match IMPLEMENTATION.get() {
        Some(implementation) => Ok(*implementation),
        None => Err(hand_over()),
    }
}

const SIBLING: &str = "saihai-temporal";

/// Replaces this process by the program next to it. Returns only if that fails.
fn hand_over() -> CommandError {
    let own = std::env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let sibling = own.as_deref().and_then(Path::parent).map(|directory| directory.join(SIBLING));
    let Some(sibling) = sibling.filter(|path| path.is_file()) else {
        return CommandError::unavailable(format!("runs on a server need the program `{SIBLING}`"))
            .hint("build it with `cargo build --release` in `crates/temporal`, and put it next to `saihai`");
    };
    // The current directory is already that of `-C`, so the flag must not apply twice.
    let arguments: Vec<OsString> = without_directory(std::env::args_os().skip(1));
    let failed = std::process::Command::new(&sibling).args(arguments).exec();
    CommandError::unavailable(format!("cannot start `{}`: {failed}", sibling.display()))
}

fn without_directory(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        if text == "--" {
            kept.push(argument);
            kept.extend(arguments);
            break;
        }
        if text == "-C" {
            arguments.next();
        } else if !text.starts_with("-C") {
            kept.push(argument);
        }
    }
    kept
}

/// The file of a run that a server drives.
const TICKET: &str = saihai::SERVER_TICKET;

impl ServerTicket {
    /// Returns the ticket of a run, if a server drives it.
    pub(crate) fn of(directory: &RunDirectory) -> Result<Option<Self>, CommandError> {
        let path = directory.path().join(TICKET);
        if !path.exists() {
            return Ok(None);
        }
        let unreadable =
            |why: String| CommandError::usage(format!("cannot read `{}`: {why}", path.display()));
        let bytes = std::fs::read(&path).map_err(|error| unreadable(error.to_string()))?;
        serde_json::from_slice(&bytes).map(Some).map_err(|error| unreadable(error.to_string()))
    }

    /// Writes the ticket into the directory of its run.
    pub fn write(&self, runs: &Runs) -> std::io::Result<()> {
        let directory = runs.directory().join(&self.run);
        std::fs::create_dir_all(&directory)?;
        let text = serde_json::to_vec_pretty(self)?;
        std::fs::write(directory.join(TICKET), text)
    }
}

/// Returns the place that the flags and settings name.
pub(crate) fn place(
    flags: &ServerFlags,
    settings: &Settings,
    streams: &mut Streams,
) -> Result<ServerPlace, CommandError> {
    streams.diagnose(&settings.check_trust(&[Use::Distributed]), settings.strict)?;
    let set = |key: &str| {
        let found = settings.find(&format!("distributed.{key}")).unwrap_or_default();
        found.into_iter().find_map(|set| set.value.as_str().map(str::to_owned))
    };
    let server = flags.server.clone().or_else(|| set("server")).ok_or_else(|| {
        CommandError::usage("no server given")
            .hint("pass `--server HOST:PORT`, or set `distributed.server` in your own settings")
    })?;
    let blobs = flags.blobs.clone().or_else(|| set("blobs").map(PathBuf::from)).ok_or_else(|| {
        CommandError::usage("no directory for the texts of runs given")
            .hint("pass `--blobs DIR`, a directory that all machines share, or set `distributed.blobs`")
    })?;
    if blobs.to_string_lossy().contains("://") {
        let refused = format!("`{}` is an address; this version keeps texts in a directory", blobs.display());
        return Err(CommandError::usage(refused).hint("pass a directory that all machines share"));
    }
    let blobs = std::path::absolute(&blobs).unwrap_or(blobs);
    if !blobs.is_dir() {
        return Err(CommandError::usage(format!("there is no directory `{}`", blobs.display()))
            .hint("create it where all machines can read and write it"));
    }
    Ok(ServerPlace {
        server,
        namespace: flags
            .namespace
            .clone()
            .or_else(|| set("namespace"))
            .unwrap_or_else(|| "default".to_owned()),
        queue: flags.queue.clone().or_else(|| set("queue")).unwrap_or_else(|| "saihai".to_owned()),
        blobs,
    })
}

/// A run that `saihai run` has prepared.
pub(crate) struct PreparedServerRun<'a> {
    pub(crate) flags: &'a SubmitFlags,
    pub(crate) issue: Option<IssueNumber>,
    pub(crate) auto: bool,
    pub(crate) spec: RunSpec,
    pub(crate) connections: Connections,
}

/// Gives a prepared run to the server, and prints its id.
pub(crate) fn submit(
    prepared: PreparedServerRun<'_>,
    project: &Project,
    settings: &Settings,
    streams: &mut Streams,
) -> Result<ExitStatus, CommandError> {
    let server = implementation()?;
    let PreparedServerRun { flags, issue, auto, spec, connections } = prepared;
    if let Some(action) = unhostable(&spec.workflow) {
        return Err(cannot_host(action));
    }
    let place = place(&flags.place, settings, streams)?;
    let is_own = place.blobs.canonicalize().is_ok_and(|blobs| blobs == project.places.root);
    if is_own || place.blobs == project.places.root {
        return Err(CommandError::usage("the directory for the texts of runs cannot be the project itself")
            .hint("pass a directory that all machines share"));
    }
    let (repository, base) = repository_of(project, settings, streams)?;
    let by_issue = || issue.map(|issue| issue.branch(&settings.work.branch_prefix));
    let outcome = server.submit(Submission {
        place,
        spec,
        connections,
        repository,
        checkout: project.places.root.clone(),
        base,
        branch: flags.branch.clone().or_else(by_issue),
        on_busy: flags.on_busy.unwrap_or(OnBusy::Reject),
        auto,
        lost_after: flags.lost_after.unwrap_or(Millis::seconds(30)),
        runs: project.runs(),
    })?;
    let run = match outcome {
        SubmitOutcome::Started { run } => {
            streams.note(&format!("submitted; `saihai pull {run}` fetches its journal"));
            run
        }
        SubmitOutcome::Attached { run } => {
            streams.note(&format!("run `{run}` works on this branch already; no run was started"));
            run
        }
        SubmitOutcome::Queued { run, behind } => {
            streams.note(&format!("queued behind run `{behind}`; `saihai pull {run}` fetches its journal"));
            run
        }
    };
    streams.out.data(&run)?;
    Ok(ExitStatus::Done)
}

fn cannot_host(action: UnhostableAction) -> CommandError {
    let what = match action {
        UnhostableAction::ReviewReport => "reviews",
        UnhostableAction::CompletionCommand => "definitions with a completion command",
        UnhostableAction::Delivery => "definitions that act on issues, branches or pull requests",
    };
    CommandError::usage(format!("workers of a server cannot run {what} in this version"))
        .hint("run it on this machine, without `--server`")
}

/// Returns the address of the project's repository, and the commit to begin with.
fn repository_of(
    project: &Project,
    settings: &Settings,
    streams: &mut Streams,
) -> Result<(String, String), CommandError> {
    let refused =
        |why: String| CommandError::usage(why).hint("workers fetch the files of the project with git");
    let git = Git::open(&project.places.root).map_err(|error| refused(error.to_string()))?;
    let git = git.ok_or_else(|| refused("the project is not in a git repository".to_owned()))?;
    let remote = &settings.work.remote;
    let url = git.remote_url(remote).map_err(|error| refused(error.to_string()))?;
    let url = url.ok_or_else(|| refused(format!("the repository has no remote `{remote}`")))?;
    let base = git.commit("HEAD").map_err(|error| refused(error.to_string()))?;
    let base = base.ok_or_else(|| refused("the repository has no commit yet".to_owned()))?;
    let uncommitted = git.uncommitted().map_err(|error| refused(error.to_string()))?;
    if !uncommitted.is_empty() {
        streams.warning("uncommitted changes stay here: the run begins with the current commit");
    }
    // Workers have other current directories.
    let local = project.places.root.join(&url);
    let url = if local.is_dir() { local.display().to_string() } else { url };
    Ok((url, base))
}

/// Sends a request to the server that drives a run. Returns false if this machine drives it.
pub(crate) fn request(
    directory: &RunDirectory,
    request: impl FnOnce(&RunDirectory) -> Result<ServerRequest, CommandError>,
    streams: &mut Streams,
) -> Result<bool, CommandError> {
    let Some(ticket) = ServerTicket::of(directory)? else { return Ok(false) };
    let server = implementation()?;
    // The gate and the stage of the request belong to the present state.
    server.pull(&ticket, directory)?;
    let wanted = request(directory)?;
    server.request(&ticket, wanted)?;
    streams.note(&format!("sent to the server; `saihai pull {}` fetches the result", directory.id()));
    Ok(true)
}
