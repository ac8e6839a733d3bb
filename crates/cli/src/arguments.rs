//! The arguments of a command: parsing, messages for invalid ones with the nearest valid one, and the flags that a
//! definition adds to a command, `saihai run tailor --customer Sato` (S-12).
//!
//! Clap must know all flags before parsing, but those of a definition depend on the definition. So each is rewritten to
//! `--set` before clap sees the arguments.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, CommandFactory, Parser, ValueEnum as _};
use saihai_config::{DefinitionFlag, flags, nearest};
use saihai_model::ExitStatus;

use crate::commands::Arguments;
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::{ColorChoice, Streams};

/// Commands of other programs, and the commands that do the same here.
const SYNONYMS: [(&[&str], &str); 12] = [
    (&["ls", "ps", "history"], "`saihai runs` lists runs, `saihai list` lists definitions"),
    (&["status", "state", "info"], "`saihai show` shows the last run, `saihai runs` lists all"),
    (&["stop", "kill", "abort"], "`saihai cancel` cancels a run for good; Ctrl-C in its terminal pauses it"),
    (&["pause"], "press Ctrl-C in the terminal of the run; `saihai resume` continues it"),
    (
        &["watch", "follow", "tail", "attach"],
        "`saihai top` shows all runs, `saihai log -f` follows one, `saihai work --watch` polls for issues",
    ),
    (&["validate", "lint", "verify"], "`saihai check` reports all errors in definitions"),
    (&["logs", "events"], "`saihai log` prints the events of a run"),
    (
        &["continue", "retry", "restart"],
        "`saihai resume` continues a run, `saihai fork` starts a new one from it",
    ),
    (
        &["rm", "remove", "delete", "prune", "clean"],
        "`saihai runs rm RUN` deletes a run, `saihai runs --prune 30d` old ones",
    ),
    (&["add"], "`saihai work --from DIR` works on the Markdown files of a folder"),
    (&["switch"], "`saihai run NAME TASK` names the definition; `saihai list` lists all"),
    (&["new", "create", "start", "exec"], "`saihai init` creates a definition, `saihai run` starts a run"),
];

/// Returns the command or flag to use instead of `--dry-run`.
fn instead_of_dry_run(command: Option<&str>) -> &'static str {
    match command {
        Some("work") => "`saihai work --list` prints the plan and does nothing",
        Some("review") => "`saihai review --explain-selection` prints the selected agents and asks none",
        _ => "`--rehearse` runs without an agent, `saihai prompt` prints the first prompt",
    }
}

/// Flags of TAKT, and what does the same here.
const TAKT_FLAGS: [(&str, &str); 5] = [
    (
        "--pipeline",
        "`saihai work` goes from issues to pull requests; `saihai run` never waits without a terminal",
    ),
    ("-t", "write the task behind the definition: `saihai run NAME TASK`"),
    ("--task", "write the task behind the definition: `saihai run NAME TASK`"),
    ("-w", "write the definition first: `saihai run NAME TASK`"),
    ("--type", "`saihai eject NAME` copies the whole definition"),
];

/// Flags of later versions, with their commands.
const LATER_FLAGS: [(&str, &[&str]); 3] =
    [("--server", &["work"]), ("--namespace", &["work"]), ("--on-busy", &["work"])];

/// Parses the arguments. Help and version count as errors that end the command with exit code 0.
pub(crate) fn parse(arguments: &[OsString], streams: &mut Streams) -> Result<Arguments, CommandError> {
    let own = DefinitionFlags::of(arguments);
    Arguments::try_parse_from(own.expand(arguments)?).map_err(|error| {
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            let with_own = command_of(arguments).and_then(|name| own.for_help(name));
            let told = with_own.and_then(|program| program.try_get_matches_from(arguments).err());
            return show(&told.unwrap_or(error), streams);
        }
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            streams.err.send(&render(&error, streams.err.is_styled()));
            return CommandError::Said(ExitStatus::Usage);
        }
        UsageProblem { error: &error, command: command_of(arguments), own: &own }.into_error()
    })
}

/// Creates the error for an unknown command.
pub(crate) fn unknown_command(name: &str) -> CommandError {
    let known = Arguments::command();
    let names = known.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    let error = CommandError::usage(format!("there is no command `{name}`"));
    if let Some((_, hint)) = SYNONYMS.iter().find(|(names, _)| names.contains(&name)) {
        return error.hint(*hint);
    }
    match nearest(name, names) {
        Some(near) => error.hint(format!("did you mean `saihai {near}`?")),
        None => error.hint("`saihai --help` lists the commands"),
    }
}

fn show(error: &clap::Error, streams: &mut Streams) -> CommandError {
    let text = render(error, streams.out.is_styled());
    match streams.out.raw(text.as_bytes()) {
        Ok(()) => CommandError::Said(ExitStatus::Done),
        Err(failed) => failed.into(),
    }
}

fn render(error: &clap::Error, styled: bool) -> String {
    let text = error.render();
    if styled { text.ansi().to_string() } else { text.to_string() }
}

/// Returns the index of the command's name. Global flags can precede it.
fn command_index(arguments: &[OsString]) -> Option<usize> {
    let mut index = 1;
    loop {
        match arguments.get(index)?.to_str()? {
            "-C" | "--color" => index += 2,
            flag if flag.starts_with('-') => index += 1,
            _ => return Some(index),
        }
    }
}

fn command_of(arguments: &[OsString]) -> Option<&str> {
    arguments[command_index(arguments)?].to_str()
}

/// Flags needed before parsing: help may be coloured, and a definition's flags depend on the directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct EarlyFlags {
    pub(crate) directory: Option<PathBuf>,
    pub(crate) color: ColorChoice,
}

impl EarlyFlags {
    pub(crate) fn of(arguments: &[OsString]) -> Self {
        let mut early = Self::default();
        let mut rest = arguments.iter().skip(1).take_while(|argument| *argument != "--");
        while let Some(argument) = rest.next() {
            let text = argument.to_str().unwrap_or_default();
            if text == "-C" {
                early.directory = rest.next().map(PathBuf::from);
            } else if let Some(directory) = text.strip_prefix("-C") {
                early.directory = Some(directory.into());
            } else if text == "--color" || text.starts_with("--color=") {
                let inline = text.strip_prefix("--color=");
                let value = inline.or_else(|| rest.next().and_then(|value| value.to_str()));
                // Clap reports an invalid value.
                early.color = ColorChoice::from_str(value.unwrap_or_default(), false).unwrap_or_default();
            }
        }
        early
    }
}

/// An error of clap and its context.
struct UsageProblem<'a> {
    error: &'a clap::Error,
    command: Option<&'a str>,
    own: &'a DefinitionFlags,
}

impl UsageProblem<'_> {
    fn into_error(self) -> CommandError {
        match self.error.kind() {
            ErrorKind::InvalidSubcommand => unknown_command(self.text(ContextKind::InvalidSubcommand)),
            ErrorKind::UnknownArgument => self.unknown_argument(),
            ErrorKind::InvalidValue | ErrorKind::ValueValidation => self.bad_value(),
            ErrorKind::MissingRequiredArgument => self.missing(),
            ErrorKind::ArgumentConflict => self.conflict(),
            _ => CommandError::usage(self.clap_sentence()).hint(self.see_help()),
        }
    }

    fn unknown_argument(&self) -> CommandError {
        let typed = self.text(ContextKind::InvalidArg);
        if !typed.starts_with('-') {
            let error = CommandError::usage(format!("`{typed}` is one argument too many"));
            return error.hint("put quotes around a text with spaces").hint(self.see_help());
        }
        let later = LATER_FLAGS.iter().find(|(flag, _)| *flag == typed);
        if later.is_some_and(|(_, commands)| self.command.is_some_and(|name| commands.contains(&name))) {
            return CommandError::usage(format!("`{typed}` is not part of this version yet"));
        }
        let flags = self.flags();
        let error = CommandError::usage(format!("there is no flag `{typed}`{}", self.of_command()));
        if typed == "--dry-run" {
            return error.hint(instead_of_dry_run(self.command));
        }
        if let Some((_, hint)) = TAKT_FLAGS.iter().find(|(flag, _)| *flag == typed) {
            return error.hint(*hint);
        }
        let own = self.own.names();
        match nearest(typed, flags.iter().map(String::as_str).chain(own)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(self.see_help()),
        }
    }

    fn bad_value(&self) -> CommandError {
        let flag = bare(self.text(ContextKind::InvalidArg));
        let value = self.text(ContextKind::InvalidValue);
        if let Some(why) = std::error::Error::source(self.error) {
            return CommandError::usage(format!("`{value}` does not fit `{flag}`: {why}"));
        }
        let valid = self.texts(ContextKind::ValidValue);
        if value.is_empty() {
            return CommandError::usage(format!("`{flag}` needs a value")).hint(self.allowed(valid));
        }
        let error = CommandError::usage(format!("`{value}` does not fit `{flag}`")).hint(self.allowed(valid));
        match nearest(value, valid.iter().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    fn missing(&self) -> CommandError {
        let missing = list(self.texts(ContextKind::InvalidArg));
        CommandError::usage(format!("missing: `{missing}`")).hint(self.see_help())
    }

    fn conflict(&self) -> CommandError {
        let this = bare(self.text(ContextKind::InvalidArg));
        let others = list(self.texts(ContextKind::PriorArg));
        if others == this || others.is_empty() {
            return CommandError::usage(format!("`{this}` is given twice")).hint(self.see_help());
        }
        CommandError::usage(format!("`{this}` and `{others}` exclude each other")).hint(self.see_help())
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

/// Commands that accept values for a definition.
const COMMANDS: [&str; 3] = ["run", "rehearse", "prompt"];

/// The flags of the requested definition.
#[derive(Debug, Default)]
pub(crate) struct DefinitionFlags {
    flags: Vec<DefinitionFlag>,
    asked: String,
    /// Index of the definition in the arguments.
    definition: usize,
    /// The command's own flags. The boolean is true if the flag takes a value.
    command: Vec<(String, bool)>,
}

impl DefinitionFlags {
    /// Looks up the definition. Returns no flags if the arguments name no definition or it has none.
    pub(crate) fn of(arguments: &[OsString]) -> Self {
        let index = command_index(arguments);
        let Some((index, name)) = index
            .and_then(|index| Some((index, arguments[index].to_str()?)))
            .filter(|(_, name)| COMMANDS.contains(name))
        else {
            return Self::default();
        };
        let command = flags_of(name);
        let Some(definition) = first_value(arguments, index + 1, &command) else { return Self::default() };
        let asked = arguments[definition].to_str();
        let project = Project::find_from(EarlyFlags::of(arguments).directory.as_deref());
        let found = asked.zip(project.ok());
        let flags = found.map(|(asked, project)| flags(&project.source, &project.places, asked));
        let asked = asked.unwrap_or_default().to_owned();
        Self { flags: flags.unwrap_or_default(), asked, definition, command }
    }

    /// Returns the program with these flags added, for its help. When parsing, they become `--set`.
    pub(crate) fn for_help(&self, command: &str) -> Option<clap::Command> {
        let heading = format!("Flags of {}", self.asked);
        let mut listed = BTreeMap::new();
        for flag in &self.flags {
            let long = flag.flag.trim_start_matches('-');
            // Loading the definition reports invalid flags.
            let is_name = !long.is_empty() && long.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
            if is_name && !self.command.iter().any(|(known, _)| *known == flag.flag) {
                let action = if flag.alone { ArgAction::SetTrue } else { ArgAction::Append };
                let arg = Arg::new(flag.flag.clone()).long(long.to_owned()).action(action);
                let arg = arg.value_name(flag.key.to_uppercase()).help(flag.about.clone());
                listed.entry(long).or_insert_with(|| arg.help_heading(heading.clone()));
            }
        }
        let program = Arguments::command();
        (!listed.is_empty())
            .then(|| program.mut_subcommand(command, |known| known.args(listed.into_values())))
    }

    /// Returns the flag names with their dashes.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.flags.iter().map(|flag| flag.flag.as_str())
    }

    /// Replaces the definition's flags with `--set`. A flag that the command has too is kept.
    pub(crate) fn expand(&self, arguments: &[OsString]) -> Result<Vec<OsString>, CommandError> {
        if self.flags.is_empty() {
            return Ok(arguments.to_vec());
        }
        let before = command_index(arguments).map_or(1, |index| index + 1);
        let mut expanded: Vec<OsString> = arguments.iter().take(before).cloned().collect();
        let mut rest = arguments.iter().enumerate().skip(before);
        while let Some((place, argument)) = rest.next() {
            if argument == "--" {
                expanded.push(argument.clone());
                break;
            }
            let text = argument.to_str().unwrap_or_default();
            let (name, inline) = match text.split_once('=') {
                Some((name, value)) => (name, Some(OsString::from(value))),
                None => (text, None),
            };
            let takes_value = self.command.iter().find(|(known, _)| known == name).map(|(_, takes)| *takes);
            // A flag that only the definition has must follow it.
            let may_be_own = place > self.definition || takes_value.is_some();
            let own = self.flags.iter().find(|flag| flag.flag == name && may_be_own);
            let separate =
                inline.is_none() && takes_value.unwrap_or_else(|| own.is_some_and(|own| !own.alone));
            let next = separate.then(|| rest.next()).flatten().map(|(_, next)| next);
            if takes_value.is_some() || own.is_none() {
                expanded.push(argument.clone());
                expanded.extend(next.cloned());
            }
            if let Some(own) = own {
                let alone = own.alone.then(|| OsString::from("true"));
                let value = inline.or_else(|| next.cloned()).or(alone);
                let value = value.ok_or_else(|| CommandError::usage(format!("`{name}` needs a value")))?;
                expanded.extend([OsString::from("--set"), setting(&own.key, &value)]);
            }
        }
        expanded.extend(rest.map(|(_, argument)| argument.clone()));
        Ok(expanded)
    }
}

fn setting(key: &str, value: &OsStr) -> OsString {
    let mut setting = OsString::from(format!("{key}="));
    setting.push(value);
    setting
}

/// Returns the flags of a command. The boolean is true if the flag takes a value.
fn flags_of(name: &str) -> Vec<(String, bool)> {
    let mut all = Arguments::command();
    all.build();
    let command = all.find_subcommand(name);
    let arguments = command.into_iter().flat_map(clap::Command::get_arguments);
    let names = arguments.flat_map(|argument| {
        let takes_value = argument.get_action().takes_values();
        let long = argument.get_long().map(|long| format!("--{long}"));
        let short = argument.get_short().map(|short| format!("-{short}"));
        long.into_iter().chain(short).map(move |name| (name, takes_value))
    });
    names.collect()
}

/// Returns the index of the first argument that is neither a flag nor a flag's value.
fn first_value(arguments: &[OsString], start: usize, command: &[(String, bool)]) -> Option<usize> {
    let mut place = start;
    while let Some(argument) = arguments.get(place) {
        let text = argument.to_str().unwrap_or_default();
        if text == "--" || !text.starts_with('-') {
            return (text != "--").then_some(place);
        }
        let takes_value = command.iter().any(|(flag, takes)| *takes && flag == text);
        place += if takes_value { 2 } else { 1 };
    }
    None
}

#[cfg(test)]
mod definition_flags_tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    fn expand(typed: &str) -> String {
        let arguments = words(typed);
        let command = flags_of("run");
        let flag = |key: &str, alone| DefinitionFlag {
            key: key.to_owned(),
            flag: format!("--{key}"),
            alone,
            about: String::new(),
        };
        let own = DefinitionFlags {
            flags: vec![flag("customer", false), flag("urgent", true), flag("model", false)],
            asked: "tailor".to_owned(),
            definition: first_value(&arguments, 2, &command).unwrap(),
            command,
        };
        match own.expand(&arguments) {
            Ok(expanded) => expanded.join(OsStr::new(" ")).into_string().unwrap(),
            Err(error) => format!("{error:?}"),
        }
    }

    // S-12
    #[test]
    fn the_flags_of_a_definition_stand_for_values_of_its_parameters() {
        let check = |typed: &str, expected: &str| assert_eq!(expand(typed), expected, "{typed}");
        check("saihai run tailor --customer Sato", "saihai run tailor --set customer=Sato");
        check("saihai run tailor --customer=a=b task", "saihai run tailor --set customer=a=b task");
        check("saihai run tailor --urgent task --json", "saihai run tailor --set urgent=true task --json");
        check("saihai run tailor --urgent=false", "saihai run tailor --set urgent=false");
        check(
            "saihai run --budget usd=5 tailor --budget turns=1 --customer -",
            "saihai run --budget usd=5 tailor --budget turns=1 --set customer=-",
        );
        check("saihai run tailor -- --customer x", "saihai run tailor -- --customer x");
    }

    // S-12
    #[test]
    fn a_flag_that_the_command_has_too_fills_the_parameter_and_stays() {
        assert_eq!(expand("saihai run tailor --model m"), "saihai run tailor --model m --set model=m");
        assert_eq!(expand("saihai run --model m tailor"), "saihai run --model m --set model=m tailor");
        assert_eq!(expand("saihai run --model=m tailor"), "saihai run --model=m --set model=m tailor");
        assert_eq!(expand("saihai run --urgent tailor"), "saihai run --urgent tailor", "clap refuses it");
    }

    #[test]
    fn a_flag_without_its_value_is_refused() {
        assert!(expand("saihai run tailor --customer").contains("`--customer` needs a value"));
    }
}

#[cfg(test)]
mod tests;
