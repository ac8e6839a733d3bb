//! `saihai completions SHELL`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Arguments;
use crate::error::{Error, exit};
use crate::terminal::Streams;

/// Print the completion script of a shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell it is for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        // `generate` panics if a write fails, so it writes to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "saihai", &mut script);
        streams.out.raw(&script)?;
        Ok(exit::DONE)
    }
}
