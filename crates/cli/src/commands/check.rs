//! `saihai check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::error::Error;
use crate::terminal::Streams;

/// Report everything that is wrong with definitions and settings
#[derive(Debug, Args)]
#[command(after_help = "Then prints, for each definition, an upper bound on the calls to providers.")]
pub(crate) struct Check {
    /// Definitions, or directories of them [default: every definition found, and the settings]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Count warnings as errors
    #[arg(long)]
    strict: bool,

    /// With the source for people, as one JSON object, or as annotations for GitHub
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Human)]
    format: Format,

    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// How to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
    Github,
}

impl Check {
    pub(crate) fn execute(self, _streams: &mut Streams) -> Result<u8, Error> {
        Err(Error::usage("configuration cannot be read yet"))
    }
}
