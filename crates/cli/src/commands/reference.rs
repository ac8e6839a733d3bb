//! Commands that print the settings, JSON Schemas, shell completions and manual pages.

use std::ffi::OsString;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_complete::env::Shells;
use clap_mangen::Man as Page;
use saihai_config::review::OutputSchema;
use saihai_config::{
    Diagnostics, ListedSetting, SCHEMAS, all_format_defaults, did_you_mean, format_defaults, schema,
};
use saihai_model::{ExitStatus, Json};
use serde::Serialize;

use crate::arguments::unknown_command;
use crate::commands::Arguments;
use crate::completion;
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::{Stream, Streams, Table, visible_line};

/// Print the effective settings
#[derive(Debug, Args)]
#[command(after_help = "\
Order of precedence: flags, `SAIHAI_…` variables, `.saihai/config.toml`, your own `config.toml`.
Secrets are masked.

Examples:
  saihai config
  saihai config provider --explain
  saihai config steps")]
pub(crate) struct ConfigCommand {
    /// Print only this setting or group: `retry.max_wait`, `budget`; `steps`: defaults of step agents
    #[arg(value_name = "KEY")]
    key: Option<String>,

    /// Print the source of each value, and the defaults of step agents
    #[arg(long)]
    explain: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct SettingObject<'a> {
    key: &'a str,
    value: &'a Json,
    origin: String,
}

impl ConfigCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
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
                        streams.diagnose(&Diagnostics::from_iter([*unknown]), false)?;
                        Vec::new()
                    }
                },
            },
        };
        if self.json {
            for ListedSetting { key, value, origin } in &listed {
                streams.out.json("setting", SettingObject { key, value, origin: origin.to_string() })?;
            }
            return Ok(ExitStatus::Done);
        }
        let lines = self.lines(&listed, &streams.out);
        streams.out.lines(&lines)?;
        Ok(ExitStatus::Done)
    }

    fn lines(&self, listed: &[ListedSetting], out: &Stream) -> Vec<String> {
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
            return table.lines_for(out);
        }
        listed.iter().map(|one| format!("{} = {}", visible_line(&one.key), value(&one.value))).collect()
    }
}

/// Print a JSON Schema, or list all schemas
#[derive(Debug, Args)]
#[command(after_help = "\
JSON Schema 2020-12, for editors and programs.

Examples:
  saihai schema
  saihai schema piece > piece.schema.json")]
pub(crate) struct SchemaCommand {
    /// Name of the schema [default: list all]
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

const OWN: [(&str, &str, &str); 3] = [
    ("journal", "one line of a run's `journal.ndjson`", saihai::JOURNAL_SCHEMA),
    ("output", "one object of `--json`", include_str!("output.schema.json")),
    ("review-report", "the report of a review, by `--format json`", saihai_review::REPORT_SCHEMA),
];

impl SchemaCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let Some(name) = self.name else {
            let mut table = Table::new(&["NAME", "DESCRIBES"]);
            for (name, about) in all() {
                table.row(vec![name, about.to_owned()]);
            }
            let lines = table.lines_for(&streams.out);
            streams.out.lines(&lines)?;
            return Ok(ExitStatus::Done);
        };
        streams.out.raw(text(&name)?.as_bytes())?;
        Ok(ExitStatus::Done)
    }
}

fn all() -> impl Iterator<Item = (String, &'static str)> {
    let written = SCHEMAS.into_iter().map(|(name, about)| (name.to_owned(), about));
    let replies = OutputSchema::ALL.into_iter();
    let replies = replies.map(|schema| (format!("review/{}", schema.name()), schema.about()));
    let own = OWN.into_iter().map(|(name, about, _)| (name.to_owned(), about));
    written.chain(replies).chain(own)
}

/// Returns a schema that ends with a newline.
fn text(name: &str) -> Result<String, CommandError> {
    if let Some((_, _, text)) = OWN.iter().find(|(own, _, _)| *own == name) {
        return Ok((*text).to_owned());
    }
    if let Some(schema) = schema(name) {
        let text = serde_json::to_string_pretty(&schema).expect("a JSON value can be written");
        return Ok(text + "\n");
    }
    let names: Vec<String> = all().map(|(name, _)| name).collect();
    let hint = did_you_mean(name, names.iter().map(String::as_str));
    let error = CommandError::usage(format!("there is no schema `{name}`"));
    Err(error.hint(hint.unwrap_or_else(|| "`saihai schema` lists them".to_owned())))
}

/// Print the completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Completes commands, flags, definitions, runs, stages, providers, review agents and issues.

Examples:
  source <(saihai completions bash)
  saihai completions zsh > ~/.zfunc/_saihai
  saihai completions fish > ~/.config/fish/completions/saihai.fish")]
pub(crate) struct CompletionsCommand {
    /// Name of the shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl CompletionsCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let shells = Shells::builtins();
        let name = self.shell.to_string();
        let shell = shells.completer(&name).ok_or_else(|| {
            CommandError::usage(format!("the completion of `{name}` is not part of this version yet"))
        })?;
        let arguments: Vec<OsString> = std::env::args_os().collect();
        let mut script = Vec::new();
        let program = completion::registered_program(&arguments);
        shell.write_registration(completion::VARIABLE, "saihai", "saihai", &program, &mut script)?;
        streams.out.raw(&script)?;
        Ok(ExitStatus::Done)
    }
}

/// Print the manual page of Saihai or of one command, as roff
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct ManCommand {
    /// Name of the command [default: Saihai itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

impl ManCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let mut all = Arguments::command();
        all.build();
        let page = match &self.command {
            None => Page::new(all),
            // A built command knows its page name, such as `man saihai-run`.
            Some(name) => Page::new(all.find_subcommand(name).ok_or_else(|| unknown_command(name))?.clone()),
        };
        let mut roff = Vec::new();
        page.render(&mut roff)?;
        streams.out.raw(&roff)?;
        Ok(ExitStatus::Done)
    }
}

/// Print the help of a command
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct HelpCommand {
    /// Name of the command [default: Saihai itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

impl HelpCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let mut all = Arguments::command();
        all.build();
        let text = match &self.command {
            None => all.render_long_help(),
            Some(name) => {
                all.find_subcommand_mut(name).ok_or_else(|| unknown_command(name))?.render_long_help()
            }
        };
        let text = if streams.out.is_styled() { text.ansi().to_string() } else { text.to_string() };
        streams.out.data(text.trim_end())?;
        Ok(ExitStatus::Done)
    }
}

#[cfg(test)]
mod tests;
