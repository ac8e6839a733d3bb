//! Flags that a definition adds to a command: `saihai run tailor --customer Sato` (S-12).
//!
//! Clap must know all flags before parsing, but these depend on the definition. So each is rewritten to `--set`
//! before clap sees the arguments.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, CommandFactory};
use saihai_config::{DefinitionFlag, flags};

use crate::commands::Arguments;
use crate::error::Error;
use crate::project::Project;

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
        let Some(name) =
            arguments.get(1).and_then(|name| name.to_str()).filter(|name| COMMANDS.contains(name))
        else {
            return Self::default();
        };
        let command = flags_of(name);
        let Some(definition) = first_value(arguments, &command) else { return Self::default() };
        let asked = arguments[definition].to_str();
        let found = asked.zip(Project::find().ok());
        let flags = found.map(|(asked, project)| flags(&project.source, &project.places, asked));
        let asked = asked.unwrap_or_default().to_owned();
        Self { flags: flags.unwrap_or_default(), asked, definition, command }
    }

    /// Returns the program with these flags added, so that its help lists them. Parsing does not use it, because the
    /// flags become `--set`.
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
    pub(crate) fn expand(&self, arguments: &[OsString]) -> Result<Vec<OsString>, Error> {
        if self.flags.is_empty() {
            return Ok(arguments.to_vec());
        }
        let mut expanded: Vec<OsString> = arguments.iter().take(2).cloned().collect();
        let mut rest = arguments.iter().enumerate().skip(2);
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
                let value = value.ok_or_else(|| Error::usage(format!("`{name}` needs a value")))?;
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
    let longs = arguments.filter_map(|argument| {
        Some((format!("--{}", argument.get_long()?), argument.get_action().takes_values()))
    });
    longs.collect()
}

/// Returns the index of the first argument that is neither a flag nor a flag's value.
fn first_value(arguments: &[OsString], command: &[(String, bool)]) -> Option<usize> {
    let mut place = 2;
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
mod tests {
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
            definition: first_value(&arguments, &command).unwrap(),
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
