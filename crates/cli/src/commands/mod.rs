//! The commands, one file each.

use std::path::PathBuf;

use anstyle::Style;
use clap::builder::StyledStr;
use clap::{Args, Parser, Subcommand};

use crate::error::CommandError;
use crate::terminal::{ColorChoice, Streams, Verbosity};
use saihai_model::ExitStatus;

mod check;
pub(crate) mod control;
mod demo;
pub(crate) mod diff;
mod doctor;
pub(crate) mod explain;
mod export;
pub(crate) mod flags;
mod inspect;
mod log;
mod mcp;
mod prune_runs;
mod reference;
mod rehearse;
pub(crate) mod review;
mod run;
pub(crate) mod runs;
mod scaffold;
pub(crate) mod serve;
mod server;
mod show_findings;
pub(crate) mod show_stage;
mod top;
mod trust;
pub(crate) mod work;

/// Make AI coding agents follow a process
#[derive(Debug, Parser)]
#[command(
    name = "saihai",
    version,
    max_term_width = 100,
    propagate_version = true,
    disable_help_subcommand = true,
    help_template = grouped_help(),
    after_help = AFTER_HELP
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalFlags,

    #[command(subcommand)]
    pub(crate) command: SaihaiCommand,
}

/// Flags of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalFlags {
    /// Run as if started in this directory
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,

    /// Print only results, warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Print details, such as tags, rules and counters of decisions
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    /// Use colours
    #[arg(long, value_name = "WHEN", global = true, value_enum, default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
}

impl GlobalFlags {
    /// Changes the directory of this process and sets up the streams.
    pub(crate) fn apply(&self, streams: &mut Streams) -> Result<(), CommandError> {
        if let Some(directory) = &self.directory {
            std::env::set_current_dir(directory).map_err(|error| {
                CommandError::usage(format!("cannot change to `{}`: {error}", directory.display()))
            })?;
        }
        streams.verbosity = match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        };
        Ok(())
    }
}

const AFTER_HELP: &str = "\
Examples:
  saihai demo
  saihai run default \"fix the login\" --provider claude
  saihai check

Exit codes:
   0  the run completed; for other commands: done
   1  the workflow ended in failure
   2  usage, settings or definition error; nothing was changed
   3  interrupted, cancelled, or declined at a gate
   4  parked: a provider, a program or the disk could not serve
   5  parked: a limit or budget was reached
   6  parked: waiting for a person
  70  a bug in Saihai

`saihai COMMAND --help` explains a command.";

/// The commands in groups. Clap has no groups of commands; a test compares the texts with those of the commands.
pub(crate) const GROUPS: [(&str, &[(&str, &str)]); 5] = [
    (
        "Start",
        &[
            ("demo", "Watch a workflow run for a minute, without an agent"),
            ("init", "Create settings and a first definition"),
            ("doctor", "Check which agents this machine can run, and what is missing"),
        ],
    ),
    (
        "Run",
        &[
            ("run", "Run a definition on a task"),
            ("work", "Work on issues, each on its own branch, up to a pull request or a merge"),
            ("review", "Review a change with specialised agents"),
            ("resume", "Continue a parked or interrupted run"),
            ("answer", "Answer a question that a run waits for, and continue the run"),
            ("tell", "Give the agents of a run a note"),
            ("cancel", "Cancel a run for good"),
            ("fork", "Create a new run from the first part of another"),
            ("worker", "Work on runs of a Temporal server"),
            ("pull", "Fetch the journal of a run from its server"),
        ],
    ),
    (
        "Inspect",
        &[
            ("runs", "List the runs of this project, newest first, or delete old ones"),
            ("top", "Watch all runs on one screen, and answer them"),
            ("serve", "Show all runs in the browser: watch, answer and steer them"),
            ("show", "Show the state of a run, or the prompts and replies of a stage"),
            ("log", "Show the events of a run in words"),
            ("explain", "Explain why a run took each transition"),
            ("diff", "Print the changes that a run made"),
            ("graph", "Draw a definition, or the path of a run through it"),
            ("export", "Export a run as an OpenTelemetry trace"),
        ],
    ),
    (
        "Author",
        &[
            ("list", "List all definitions"),
            ("check", "Report all errors in definitions and settings"),
            ("prompt", "Print the first prompt that an agent would get"),
            ("rehearse", "Test a definition with scripted or generated replies"),
            ("record", "Turn a run into a script that replays it as a test"),
            ("eject", "Copy a built-in definition into the project"),
            ("schema", "Print a JSON Schema, or list all schemas"),
        ],
    ),
    (
        "Configure",
        &[
            ("config", "Print the effective settings"),
            ("mcp", "Let agents check definitions, start runs and read them: an MCP server"),
            ("trust", "Trust this project's settings to run programs and contact hosts"),
            ("completions", "Print the completion script for a shell"),
        ],
    ),
];

/// Returns clap's template for the help of the program, with the groups in place of one long list.
fn grouped_help() -> StyledStr {
    let (header, literal) = (Style::new().bold().underline(), Style::new().bold());
    let mut text = format!("{{about}}\n\n{header}Usage:{header:#} {{usage}}\n");
    for (group, commands) in GROUPS {
        text.push_str(&format!("\n{header}{group}:{header:#}\n"));
        for (name, about) in commands {
            text.push_str(&format!("  {literal}{name:<13}{literal:#}{about}\n"));
        }
    }
    text.push_str(&format!("\n{header}Options:{header:#}\n{{options}}{{after-help}}"));
    text.into()
}

#[derive(Debug, Subcommand)]
pub(crate) enum SaihaiCommand {
    Demo(demo::DemoCommand),
    Init(scaffold::InitCommand),
    Doctor(doctor::DoctorCommand),
    Run(run::RunCommand),
    Work(work::Work),
    Review(review::Review),
    Resume(control::ResumeCommand),
    Answer(control::AnswerCommand),
    Tell(control::TellCommand),
    Cancel(control::CancelCommand),
    Fork(control::ForkCommand),
    Worker(server::WorkerCommand),
    Pull(server::PullCommand),
    Runs(runs::RunsCommand),
    Top(top::TopCommand),
    Serve(serve::ServeCommand),
    Show(runs::ShowCommand),
    Log(log::LogCommand),
    Explain(explain::ExplainCommand),
    Diff(diff::DiffCommand),
    Graph(inspect::GraphCommand),
    Export(export::ExportCommand),
    List(inspect::ListCommand),
    Check(check::CheckCommand),
    Prompt(inspect::PromptCommand),
    Rehearse(rehearse::RehearseCommand),
    Record(rehearse::RecordCommand),
    Eject(scaffold::EjectCommand),
    Schema(reference::SchemaCommand),
    Config(reference::ConfigCommand),
    Mcp(mcp::McpCommand),
    Trust(trust::TrustCommand),
    Completions(reference::CompletionsCommand),
    Man(reference::ManCommand),
    Help(reference::HelpCommand),
}

impl SaihaiCommand {
    /// Runs the command and returns its exit code.
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        macro_rules! execute {
            ($($name:ident),+) => { match self { $(Self::$name(command) => command.execute(streams)),+ } };
        }
        execute!(
            Demo,
            Init,
            Doctor,
            Run,
            Work,
            Review,
            Resume,
            Answer,
            Tell,
            Cancel,
            Fork,
            Worker,
            Pull,
            Runs,
            Top,
            Serve,
            Show,
            Log,
            Explain,
            Diff,
            Graph,
            Export,
            List,
            Check,
            Prompt,
            Rehearse,
            Record,
            Eject,
            Schema,
            Config,
            Mcp,
            Trust,
            Completions,
            Man,
            Help
        )
    }
}
