//! Commands about runs of a server: `worker` and `pull`.

use std::path::PathBuf;

use clap::Args;
use saihai::RunDirectory;
use saihai_model::ExitStatus;

use crate::commands::flags::ServerFlags;
use crate::completion::{complete_runs, completer};
use crate::definitions::connections;
use crate::error::CommandError;
use crate::known_projects::state_directory;
use crate::project::Project;
use crate::server_runs::{ServerTicket, WorkerSpec, implementation, place};
use crate::terminal::Streams;

/// Work on runs of a Temporal server
#[derive(Debug, Args)]
#[command(after_help = "\
A worker asks the agents of this machine. It needs the agent programs, their logins, git access to the repositories,
and the directory for texts that all machines share. It reads your settings and those of the current directory.
Needs the program `saihai-temporal`.

Examples:
  saihai worker --server 127.0.0.1:7233 --blobs /mnt/saihai
  saihai worker --server temporal.example:7233 --blobs /mnt/saihai --slots 8")]
pub(crate) struct WorkerCommand {
    #[command(flatten)]
    server: ServerFlags,

    /// Maximum number of agents and commands at once [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    slots: Option<u16>,

    /// Directory for mirrors and worktrees of this worker alone [default: `worker` in the state directory]
    #[arg(long, value_name = "DIR")]
    area: Option<PathBuf>,

    /// Trust this project's settings to run programs and contact hosts, for this call only
    #[arg(long)]
    trust_project: bool,
}

impl WorkerCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let server = implementation()?;
        let project = Project::find()?;
        let settings = project.settings(self.trust_project, streams)?;
        let place = place(&self.server, &settings, streams)?;
        let set = settings.find("distributed.slots").unwrap_or_default();
        let set =
            set.into_iter().find_map(|set| set.value.as_u64()).and_then(|slots| u16::try_from(slots).ok());
        let area = match self.area {
            Some(area) => std::path::absolute(&area).unwrap_or(area),
            None => state_directory()
                .ok_or_else(|| {
                    CommandError::usage("there is no directory for the files of a worker")
                        .hint("pass `--area DIR`, or set `HOME`")
                })?
                .join("worker"),
        };
        let slots = self.slots.or(set).unwrap_or(1).into();
        let worker = WorkerSpec { place, slots, area, connections: connections(&settings) };
        server.work(worker, &mut |line| streams.note(line))?;
        Ok(ExitStatus::Done)
    }
}

/// Fetch the journal of a run from its server
#[derive(Debug, Args)]
#[command(after_help = "\
Then `show`, `log`, `explain`, `serve` and `fork` work on the run as on a local one, up to the moment of the last pull.
Needs the program `saihai-temporal`.

Examples:
  saihai pull 20260206-0856
  saihai pull last")]
pub(crate) struct PullCommand {
    /// Run id, a unique beginning of it, or `last`
    #[arg(value_name = "RUN", default_value = "last", add = completer(complete_runs))]
    run: String,
}

impl PullCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let server = implementation()?;
        let project = Project::find()?;
        let directory = submitted(&project, &self.run)?;
        let Some(ticket) = ServerTicket::of(&directory)? else {
            return Err(CommandError::usage(format!("run `{}` is not on a server", directory.id())));
        };
        let pulled = server.pull(&ticket, &directory)?;
        let state = if pulled.has_ended { "has ended" } else { "continues on the server" };
        let remote = project.settings(false, streams)?.work.remote;
        streams.note(&format!(
            "run `{}` {state}; its files: `git fetch {remote} {}`",
            directory.id(),
            pulled.reference
        ));
        streams.out.data(directory.id())?;
        Ok(ExitStatus::Done)
    }
}

/// Finds a submitted run, also one whose journal was never pulled.
fn submitted(project: &Project, name: &str) -> Result<RunDirectory, CommandError> {
    let runs = project.runs();
    let mut found: Vec<String> = std::fs::read_dir(runs.directory())
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|id| runs.directory().join(id).join(saihai::SERVER_TICKET).is_file())
        .collect();
    // Ids begin with the time.
    found.sort();
    let by_name = |id: &&String| match name {
        "last" => true,
        name => id.starts_with(name),
    };
    let mut matching: Vec<String> = found.iter().filter(by_name).cloned().collect();
    if name == "last" {
        matching = matching.pop().into_iter().collect();
    } else if matching.iter().any(|id| id == name) {
        matching.retain(|id| id == name);
    }
    match matching.as_slice() {
        [one] => Ok(RunDirectory::new(runs.directory(), one.clone(), &saihai::Disk::new())),
        // A run of this machine, or none.
        [] => Ok(runs.find(name)?),
        several => {
            Err(CommandError::usage(format!("`{name}` is ambiguous: it matches {}", several.join(", "))))
        }
    }
}
