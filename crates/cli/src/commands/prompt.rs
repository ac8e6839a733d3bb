//! `saihai prompt`.

use clap::Args;

use crate::error::Error;
use crate::terminal::Streams;

/// Print exactly the text that would be sent to an agent first
#[derive(Debug, Args)]
pub(crate) struct Prompt {
    /// The definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or .toml)
    #[arg(value_name = "DEFINITION")]
    definition: String,

    /// The stage, and the turn where it has several [default: the first]
    #[arg(value_name = "STAGE[/TURN]")]
    stage: Option<String>,

    /// What is to be done [default: a placeholder]
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

impl Prompt {
    pub(crate) fn execute(self, _streams: &mut Streams) -> Result<u8, Error> {
        Err(Error::usage("configuration cannot be read yet"))
    }
}
