//! `saihai mcp`: runs as tools of agents.

use clap::{Args, Subcommand};
use saihai_config::{Diagnostics, Use};
use saihai_model::ExitStatus;

use crate::driving::block_on;
use crate::error::CommandError;
use crate::mcp::{AgentProgram, ConfigurationEntry, EntryChange, serve};
use crate::project::Project;
use crate::terminal::Streams;

/// Let agents check definitions, start runs and read them: an MCP server
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Serves the Model Context Protocol on stdin and stdout, to the agent program that starts it.
Runs have processes of their own and outlive the server. Only people answer gates.

Examples:
  saihai mcp install claude --write
  claude mcp add saihai -- saihai mcp
  saihai mcp"
)]
pub(crate) struct McpCommand {
    #[command(subcommand)]
    action: Option<McpAction>,
}

#[derive(Debug, Subcommand)]
enum McpAction {
    Install(McpInstallCommand),
}

/// Print the configuration entry for an agent program, or write it
#[derive(Debug, Args)]
#[command(after_help = "\
The entry starts `saihai mcp` in this project. `saihai` must be on the `PATH` of the program.
`--write` adds the entry to the project's file and changes nothing else in it.

Examples:
  saihai mcp install codex
  saihai mcp install claude --write")]
struct McpInstallCommand {
    /// Agent program
    #[arg(value_name = "PROGRAM", value_enum)]
    program: AgentProgram,

    /// Write the entry to the configuration file of this project
    #[arg(long)]
    write: bool,
}

impl McpCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        if let Some(McpAction::Install(install)) = self.action {
            return install.execute(streams);
        }
        // Invalid settings are for the tool `check`. Only what the server itself uses must be trusted.
        let settings = Project::find()?.load_settings(false, &mut Diagnostics::new());
        streams.diagnose(&settings.check_trust(&[Use::Mcp]), settings.strict)?;
        if streams.stdin_is_terminal {
            streams.note(
                "waiting for an MCP client on stdin; `saihai mcp install --help` connects an agent program",
            );
        }
        block_on(serve(settings.mcp_gates))?;
        Ok(ExitStatus::Done)
    }
}

impl McpInstallCommand {
    fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let entry = ConfigurationEntry::of(self.program);
        if !self.write {
            streams.out.raw(entry.text().as_bytes())?;
            streams.note(&format!("this belongs in `{}` of the project; `--write` adds it", entry.file));
            return Ok(ExitStatus::Done);
        }
        match entry.write(&Project::find()?.places.root)? {
            EntryChange::Written => streams.note(&format!("wrote `{}`; {}", entry.file, entry.note)),
            EntryChange::Unchanged => streams.note(&format!("`{}` has the entry already", entry.file)),
        }
        Ok(ExitStatus::Done)
    }
}
