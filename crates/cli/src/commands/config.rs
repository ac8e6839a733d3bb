//! `saihai config`.

use clap::Args;

use crate::error::Error;
use crate::terminal::Streams;

/// Show the settings in force
#[derive(Debug, Args)]
pub(crate) struct Config {
    /// Only this setting, or those below it: `retry.max_wait`, `budget`
    #[arg(value_name = "KEY")]
    key: Option<String>,

    /// Say where each value comes from
    #[arg(long)]
    explain: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Config {
    pub(crate) fn execute(self, _streams: &mut Streams) -> Result<u8, Error> {
        Err(Error::usage("configuration cannot be read yet"))
    }
}
