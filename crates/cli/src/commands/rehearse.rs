//! `saihai rehearse`.

use std::path::PathBuf;

use clap::Args;

use crate::error::Error;
use crate::terminal::Streams;

/// Try a definition on scripted replies
#[derive(Debug, Args)]
#[command(
    after_help = "No agent is asked and nothing is changed: what scripted replies write, edit or run is checked and logged only. Without a script, generated replies walk every path, in as many temporary runs as it takes."
)]
pub(crate) struct Rehearse {
    /// The definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or .toml)
    #[arg(value_name = "DEFINITION")]
    definition: String,

    /// What is to be done, or `-` to read it from stdin [default: a placeholder]
    #[arg(value_name = "TASK")]
    task: Option<String>,

    /// Answer from this script
    #[arg(long, value_name = "FILE", conflicts_with = "all_paths")]
    script: Option<PathBuf>,

    /// Generate replies that take every exit of every stage at least once [the default]
    #[arg(long)]
    all_paths: bool,

    /// Where all chance comes from
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Save the generated replies as a script
    #[arg(long, value_name = "FILE", conflicts_with = "script")]
    write_script: Option<PathBuf>,

    /// Treat warnings about the definition as errors
    #[arg(long)]
    strict: bool,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

impl Rehearse {
    pub(crate) fn execute(self, _streams: &mut Streams) -> Result<u8, Error> {
        Err(Error::usage("configuration cannot be read yet"))
    }
}
