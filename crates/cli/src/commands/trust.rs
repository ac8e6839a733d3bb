//! `saihai trust`.

use std::path::PathBuf;

use clap::Args;

use crate::error::Error;
use crate::terminal::Streams;

/// Honour what a project's settings say about programs and addresses
#[derive(Debug, Args)]
#[command(
    after_help = "Shows the keys that need trust and records the file as it is now; a changed file must be trusted again."
)]
pub(crate) struct Trust {
    /// The settings file, or the project [default: this project]
    #[arg(value_name = "PATH", conflicts_with_all = ["list", "revoke"])]
    path: Option<PathBuf>,

    /// List what is trusted
    #[arg(long, conflicts_with = "revoke")]
    list: bool,

    /// Trust it no longer
    #[arg(long, value_name = "PATH")]
    revoke: Option<PathBuf>,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Trust {
    pub(crate) fn execute(self, _streams: &mut Streams) -> Result<u8, Error> {
        Err(Error::usage("configuration cannot be read yet"))
    }
}
