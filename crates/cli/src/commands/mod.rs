//! The commands, one file each.

use clap::{Parser, Subcommand};

use crate::error::Error;
use crate::terminal::Streams;

mod answer;
mod cancel;
mod check;
mod completions;
mod config;
mod demo;
mod doctor;
mod eject;
mod explain;
mod flags;
mod fork;
mod graph;
mod init;
mod list;
mod log;
mod man;
pub(crate) mod own_tree;
mod prompt;
mod record;
mod rehearse;
mod resume;
pub(crate) mod review;
mod run;
mod runs;
mod schema;
mod show;
mod standing;
mod trust;
pub(crate) mod work;

/// Makes AI coding agents follow a process
#[derive(Debug, Parser)]
#[command(name = "saihai", version, max_term_width = 100, propagate_version = true, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
A definition says how work is to be done: plan, implement, review, fix, approve. Saihai makes the
agents do it that way, journals all that happens, and can say afterwards why each thing happened.

Exit codes:
   0  the run completed; for other commands: done
   1  the workflow ended in failure
   2  usage, settings or definition error; nothing was changed
   3  interrupted, cancelled, or declined at a gate
   4  parked: a provider, a program or the disk could not serve
   5  parked: a limit or budget was reached
   6  parked: waiting for a person
  70  a bug in Saihai";

/// What can be asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Init),
    List(list::List),
    Run(run::Run),
    Rehearse(rehearse::Rehearse),
    Review(review::Review),
    Work(work::Work),
    Check(check::Check),
    Prompt(prompt::Prompt),
    Graph(graph::Graph),
    Runs(runs::Runs),
    Show(show::Show),
    Log(log::Log),
    Explain(explain::Explain),
    Resume(resume::Resume),
    Fork(fork::Fork),
    Record(record::Record),
    Answer(answer::Answer),
    Cancel(cancel::Cancel),
    Config(config::Config),
    Trust(trust::Trust),
    Doctor(doctor::Doctor),
    Eject(eject::Eject),
    Schema(schema::Schema),
    Demo(demo::Demo),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// Runs the command and returns its exit code.
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        match self {
            Self::Init(command) => command.execute(streams),
            Self::List(command) => command.execute(streams),
            Self::Run(command) => command.execute(streams),
            Self::Rehearse(command) => command.execute(streams),
            Self::Review(command) => command.execute(streams),
            Self::Work(command) => command.execute(streams),
            Self::Check(command) => command.execute(streams),
            Self::Prompt(command) => command.execute(streams),
            Self::Graph(command) => command.execute(streams),
            Self::Runs(command) => command.execute(streams),
            Self::Show(command) => command.execute(streams),
            Self::Log(command) => command.execute(streams),
            Self::Explain(command) => command.execute(streams),
            Self::Resume(command) => command.execute(streams),
            Self::Fork(command) => command.execute(streams),
            Self::Record(command) => command.execute(streams),
            Self::Answer(command) => command.execute(streams),
            Self::Cancel(command) => command.execute(streams),
            Self::Config(command) => command.execute(streams),
            Self::Trust(command) => command.execute(streams),
            Self::Doctor(command) => command.execute(streams),
            Self::Demo(command) => command.execute(streams),
            Self::Eject(command) => command.execute(streams),
            Self::Schema(command) => command.execute(streams),
            Self::Completions(command) => command.execute(streams),
            Self::Man(command) => command.execute(streams),
        }
    }
}
