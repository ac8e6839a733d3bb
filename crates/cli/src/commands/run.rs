//! `saihai run`.

use clap::Args;

use super::flags::RunFlags;
use crate::error::Error;
use crate::terminal::Streams;

/// Run a definition on a task
#[derive(Debug, Args)]
#[command(
    after_help = "Prints the outcome, the report files and the last output. Where no provider is configured, the definition is rehearsed on generated replies and no work is done."
)]
pub(crate) struct Run {
    /// The definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or .toml)
    #[arg(value_name = "DEFINITION")]
    definition: String,

    /// What is to be done, or `-` to read it from stdin
    #[arg(value_name = "TASK")]
    task: Option<String>,

    #[command(flatten)]
    flags: RunFlags,
}

impl Run {
    pub(crate) fn execute(self, _streams: &mut Streams) -> Result<u8, Error> {
        Err(Error::usage("configuration cannot be read yet"))
    }
}
