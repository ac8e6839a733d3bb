//! Messages for invalid arguments, with the nearest valid one.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use saihai_config::nearest;

use crate::commands::Arguments;
use crate::definition_flags::DefinitionFlags;
use crate::error::{Error, exit};
use crate::terminal::Streams;

const LATER_COMMANDS: [&str; 3] = ["export", "serve", "worker"];

/// Flags of later versions, with their commands.
const LATER_FLAGS: [(&str, &[&str]); 3] =
    [("--server", &["run", "work"]), ("--namespace", &["run", "work"]), ("--on-busy", &["run", "work"])];

/// Parses the arguments, or returns an error. Help and version also count as errors: they end the command with exit
/// code 0.
pub(crate) fn parse(arguments: &[OsString], streams: &mut Streams) -> Result<Arguments, Error> {
    let own = DefinitionFlags::of(arguments);
    Arguments::try_parse_from(own.expand(arguments)?).map_err(|error| {
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            let with_own = command_of(arguments).and_then(|name| own.for_help(name));
            let told = with_own.and_then(|program| program.try_get_matches_from(arguments).err());
            return show(&told.unwrap_or(error), streams);
        }
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            streams.err.send(&render(&error, streams.err.is_styled()));
            return Error::Said(exit::USAGE);
        }
        Complaint { error: &error, command: command_of(arguments), own: &own }.into_error()
    })
}

/// Creates the error for an unknown command, or for one of a later version.
pub(crate) fn unknown_command(name: &str) -> Error {
    if LATER_COMMANDS.contains(&name) {
        return Error::usage(format!("`saihai {name}` is not part of this version yet"));
    }
    let known = Arguments::command();
    let names = known.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    let error = Error::usage(format!("there is no command `{name}`"));
    match nearest(name, names) {
        Some(near) => error.hint(format!("did you mean `saihai {near}`?")),
        None => error.hint("`saihai --help` lists the commands"),
    }
}

fn show(error: &clap::Error, streams: &mut Streams) -> Error {
    let text = render(error, streams.out.is_styled());
    match streams.out.raw(text.as_bytes()) {
        Ok(()) => Error::Said(exit::DONE),
        Err(failed) => failed.into(),
    }
}

fn render(error: &clap::Error, styled: bool) -> String {
    let text = error.render();
    if styled { text.ansi().to_string() } else { text.to_string() }
}

fn command_of(arguments: &[OsString]) -> Option<&str> {
    arguments.get(1)?.to_str().filter(|name| !name.starts_with('-'))
}

/// An error of clap and its context.
struct Complaint<'a> {
    error: &'a clap::Error,
    command: Option<&'a str>,
    own: &'a DefinitionFlags,
}

impl Complaint<'_> {
    fn into_error(self) -> Error {
        match self.error.kind() {
            ErrorKind::InvalidSubcommand => unknown_command(self.text(ContextKind::InvalidSubcommand)),
            ErrorKind::UnknownArgument => self.unknown_argument(),
            ErrorKind::InvalidValue | ErrorKind::ValueValidation => self.bad_value(),
            ErrorKind::MissingRequiredArgument => self.missing(),
            ErrorKind::ArgumentConflict => self.conflict(),
            _ => Error::usage(self.clap_sentence()).hint(self.see_help()),
        }
    }

    fn unknown_argument(&self) -> Error {
        let typed = self.text(ContextKind::InvalidArg);
        if !typed.starts_with('-') {
            let error = Error::usage(format!("`{typed}` is one argument too many"));
            return error.hint("put quotes around a text with spaces").hint(self.see_help());
        }
        let later = LATER_FLAGS.iter().find(|(flag, _)| *flag == typed);
        if later.is_some_and(|(_, commands)| self.command.is_some_and(|name| commands.contains(&name))) {
            return Error::usage(format!("`{typed}` is not part of this version yet"));
        }
        let flags = self.flags();
        let error = Error::usage(format!("there is no flag `{typed}`{}", self.of_command()));
        let own = self.own.names();
        match nearest(typed, flags.iter().map(String::as_str).chain(own)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(self.see_help()),
        }
    }

    fn bad_value(&self) -> Error {
        let flag = bare(self.text(ContextKind::InvalidArg));
        let value = self.text(ContextKind::InvalidValue);
        if let Some(why) = std::error::Error::source(self.error) {
            return Error::usage(format!("`{value}` does not fit `{flag}`: {why}"));
        }
        let valid = self.texts(ContextKind::ValidValue);
        if value.is_empty() {
            return Error::usage(format!("`{flag}` needs a value")).hint(self.allowed(valid));
        }
        let error = Error::usage(format!("`{value}` does not fit `{flag}`")).hint(self.allowed(valid));
        match nearest(value, valid.iter().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    fn missing(&self) -> Error {
        let missing = list(self.texts(ContextKind::InvalidArg));
        Error::usage(format!("missing: `{missing}`")).hint(self.see_help())
    }

    fn conflict(&self) -> Error {
        let this = bare(self.text(ContextKind::InvalidArg));
        let others = list(self.texts(ContextKind::PriorArg));
        if others == this || others.is_empty() {
            return Error::usage(format!("`{this}` is given twice")).hint(self.see_help());
        }
        Error::usage(format!("`{this}` and `{others}` exclude each other")).hint(self.see_help())
    }

    /// Returns clap's message without its decoration.
    fn clap_sentence(&self) -> String {
        let text = self.error.to_string();
        let first = text.lines().next().unwrap_or_default();
        first.strip_prefix("error: ").unwrap_or(first).replace('\'', "`")
    }

    fn see_help(&self) -> String {
        match self.command {
            Some(name) => format!("see `saihai {name} --help`"),
            None => "see `saihai --help`".to_owned(),
        }
    }

    fn allowed(&self, valid: &[String]) -> String {
        if valid.is_empty() { self.see_help() } else { format!("write one of `{}`", valid.join("`, `")) }
    }

    fn of_command(&self) -> String {
        self.command.map(|name| format!(" of `saihai {name}`")).unwrap_or_default()
    }

    fn flags(&self) -> Vec<String> {
        let mut all = Arguments::command();
        all.build();
        let command = self.command.and_then(|name| all.find_subcommand(name)).unwrap_or(&all);
        let longs =
            command.get_arguments().filter(|flag| !flag.is_hide_set()).filter_map(clap::Arg::get_long);
        longs.map(|long| format!("--{long}")).collect()
    }

    fn text(&self, kind: ContextKind) -> &str {
        match self.error.get(kind) {
            Some(ContextValue::String(text)) => text,
            Some(ContextValue::Strings(texts)) => texts.first().map_or("", String::as_str),
            _ => "",
        }
    }

    fn texts(&self, kind: ContextKind) -> &[String] {
        match self.error.get(kind) {
            Some(ContextValue::Strings(texts)) => texts,
            Some(ContextValue::String(text)) => std::slice::from_ref(text),
            _ => &[],
        }
    }
}

/// Removes the decoration of usage lines: `--budget <BUDGET>` becomes `--budget`, `<RUN>` becomes `RUN`.
fn bare(argument: &str) -> &str {
    let name = argument.split_whitespace().next().unwrap_or(argument);
    name.trim_end_matches("...").trim_matches(['<', '>', '[', ']'])
}

fn list(arguments: &[String]) -> String {
    arguments.iter().map(|argument| bare(argument)).collect::<Vec<_>>().join("` and `")
}

#[cfg(test)]
mod tests;
