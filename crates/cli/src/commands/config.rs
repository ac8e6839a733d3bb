//! `saihai config`.

use clap::Args;
use saihai_config::{Diagnostics, ListedSetting, all_format_defaults, format_defaults};
use saihai_model::Json;
use serde::Serialize;

use crate::diagnostics;
use crate::error::{Error, exit};
use crate::json;
use crate::project::Project;
use crate::terminal::{Streams, Table, visible_line};

/// Show the settings in force
#[derive(Debug, Args)]
#[command(
    after_help = "Settings come from flags, then `SAIHAI_…` variables, then `.saihai/config.toml`, then your own \
                        `config.toml`. Secrets are masked."
)]
pub(crate) struct Config {
    /// Only this setting, or those below it: `retry.max_wait`, `budget`; `steps`: the defaults of step agents
    #[arg(value_name = "KEY")]
    key: Option<String>,

    /// Say where each value comes from, and list the defaults of step agents as well
    #[arg(long)]
    explain: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct SettingObject<'a> {
    key: &'a str,
    value: &'a Json,
    origin: String,
}

impl Config {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let settings = Project::find()?.settings(false, streams)?;
        let listed = match &self.key {
            // S-6: `--explain` also lists the defaults that apply if a definition sets nothing.
            None if self.explain => settings.list().into_iter().chain(all_format_defaults()).collect(),
            None => settings.list(),
            Some(key) => match settings.find(key) {
                Ok(listed) => listed,
                Err(unknown) => match format_defaults(key) {
                    Some(listed) => listed,
                    None => {
                        diagnostics::insist(&Diagnostics::from_iter([*unknown]), false, streams)?;
                        Vec::new()
                    }
                },
            },
        };
        if self.json {
            for ListedSetting { key, value, origin } in &listed {
                json::line(
                    &mut streams.out,
                    "setting",
                    SettingObject { key, value, origin: origin.to_string() },
                )?;
            }
            return Ok(exit::DONE);
        }
        for line in self.lines(&listed) {
            streams.out.data(&line)?;
        }
        Ok(exit::DONE)
    }

    fn lines(&self, listed: &[ListedSetting]) -> Vec<String> {
        let value = |value: &Json| {
            if value.is_null() {
                "(not set)".to_owned()
            } else {
                visible_line(&value.to_string()).into_owned()
            }
        };
        if self.explain {
            let mut table = Table::new(&["KEY", "VALUE", "ORIGIN"]);
            for one in listed {
                let origin = visible_line(&one.origin.to_string()).into_owned();
                table.row(vec![visible_line(&one.key).into_owned(), value(&one.value), origin]);
            }
            return table.lines();
        }
        listed.iter().map(|one| format!("{} = {}", visible_line(&one.key), value(&one.value))).collect()
    }
}
