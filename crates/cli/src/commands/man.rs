//! `saihai man [COMMAND]`: prints the manual page as roff, for packagers of Saihai.

use clap::{Args, CommandFactory};
use clap_mangen::Man as Page;

use super::Arguments;
use crate::error::{Error, exit};
use crate::terminal::Streams;
use crate::usage;

/// Print the manual page, of Saihai or of one command, as roff
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct Man {
    /// The command; without one, the page of Saihai itself
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

impl Man {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let mut all = Arguments::command();
        all.build();
        let page = match &self.command {
            None => Page::new(all),
            // A built command knows its page name, such as `man saihai-run`.
            Some(name) => {
                Page::new(all.find_subcommand(name).ok_or_else(|| usage::unknown_command(name))?.clone())
            }
        };
        let mut roff = Vec::new();
        page.render(&mut roff)?;
        streams.out.raw(&roff)?;
        Ok(exit::DONE)
    }
}
