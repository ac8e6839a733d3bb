//! Commands that write files for a person to edit: `saihai init` and `saihai eject`.

use clap::{Args, ValueEnum};
use saihai_config::{
    Definition, FIRST, Language, NewFile, Origin, ProjectPaths, Source, did_you_mean, eject, list, list_of,
    review, scaffold,
};
use saihai_model::ExitStatus;

use crate::completion::{complete_all_definitions, completer};
use crate::error::CommandError;
use crate::project::{Project, write_atomically};
use crate::terminal::{Streams, visible_line};

/// Create settings and a first definition
#[derive(Debug, Args)]
#[command(after_help = "\
Writes `.saihai/config.toml`, `.saihai/pieces/first.yaml`, JSON Schemas and a `.gitignore`.
If one of these files exists, writes nothing.

Examples:
  saihai init
  saihai init --language ja
  saihai init --review")]
pub(crate) struct InitCommand {
    /// Language of the definition and its comments [default: from the settings or the locale]
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    language: Option<LanguageFlag>,

    /// Copy only the built-in review agents, to edit them in `.saihai/agents`
    #[arg(long)]
    review: bool,

    /// Replace existing files
    #[arg(long)]
    force: bool,
}

/// A language, by its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LanguageFlag {
    Ja,
    En,
}

impl InitCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        let language = match self.language {
            Some(LanguageFlag::Ja) => Language::Japanese,
            Some(LanguageFlag::En) => Language::English,
            None => project.language(),
        };
        let root = &project.places.root;
        let files = if self.review { review::copies(root, language) } else { scaffold(root, language) };
        for name in write_new_files(&files, &project.places, self.force)? {
            streams.out.data(&visible_line(&name))?;
        }
        if self.review {
            streams
                .note("a copy has no effect until it is edited; delete the ones you do not want to change");
            return Ok(ExitStatus::Done);
        }
        let task = language.pick("Describe a small task here", "ここに小さなタスクを書く");
        streams.note(&format!(
            "next, run `saihai run {FIRST} \"{task}\" --rehearse`; with `--provider claude` an agent does the work"
        ));
        Ok(ExitStatus::Done)
    }
}

/// Copy a built-in definition into the project
#[derive(Debug, Args)]
#[command(after_help = "\
The copy is in the language of the settings. It replaces the built-in definition of the same name.

Examples:
  saihai eject default
  saihai eject minimal --force")]
pub(crate) struct EjectCommand {
    /// Name of the built-in definition, as in `saihai list`
    #[arg(value_name = "NAME", add = completer(complete_all_definitions))]
    name: String,

    /// Replace existing files
    #[arg(long)]
    force: bool,
}

impl EjectCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        let language = project.language();
        let definition = built_in(&project.source, &project.places, &self.name)?;
        let files = eject(&project.source, &project.places, &definition, language).ok_or_else(|| {
            let dialect = definition.dialect.name();
            CommandError::usage(format!(
                "a built-in definition of `{dialect}` cannot be ejected by this version"
            ))
        })?;
        for name in write_new_files(&files, &project.places, self.force)? {
            streams.out.data(&visible_line(&name))?;
        }
        Ok(ExitStatus::Done)
    }
}

/// Returns the built-in definition of this name, with or without its dialect (`piece:NAME`). A project definition of
/// the same name does not hide it.
fn built_in(source: &dyn Source, places: &ProjectPaths, asked: &str) -> Result<Definition, CommandError> {
    let listed = list(source, places, Language::default());
    let all = || listed.iter().map(|one| &one.definition).filter(|one| one.origin == Origin::BuiltIn);
    let meant = |one: &&Definition| {
        one.name == asked || asked.split_once(':') == Some((one.dialect.name(), one.name.as_str()))
    };
    if let Some(definition) = all().find(meant) {
        return Ok(definition.clone());
    }
    let names: Vec<&str> = all().map(|one| one.name.as_str()).collect();
    let own = listed.iter().any(|one| one.definition.name == asked);
    let error = CommandError::usage(if own {
        format!("`{asked}` is not built in; it is a file already")
    } else {
        format!("no built-in definition is named `{asked}`")
    });
    let hint = did_you_mean(asked, names.iter().copied()).filter(|_| !own);
    Err(error.hint(hint.unwrap_or_else(|| format!("there is {}", list_of(names.iter().copied(), "and")))))
}

/// Writes files and returns their display names. Without `force` it writes nothing at all if one of them exists.
fn write_new_files(
    files: &[NewFile],
    places: &ProjectPaths,
    force: bool,
) -> Result<Vec<String>, CommandError> {
    let shown = |file: &NewFile| places.shown(&file.path);
    // A dangling link also counts as existing.
    let there = |file: &&NewFile| std::fs::symlink_metadata(&file.path).is_ok();
    let existing: Vec<&NewFile> = files.iter().filter(there).collect();
    if let Some(directory) = existing.iter().find(|file| file.path.is_dir()) {
        return Err(
            CommandError::usage(format!("`{}` is a directory", shown(directory))).hint("move it away")
        );
    }
    if !force && !existing.is_empty() {
        let names: Vec<String> = existing.iter().map(|file| format!("`{}`", shown(file))).collect();
        let verb = if names.len() == 1 { "exists" } else { "exist" };
        let error = CommandError::usage(format!("{} already {verb}; nothing was written", names.join(", ")));
        return Err(error.hint("`--force` overwrites existing files"));
    }
    for file in files {
        write_atomically(&file.path, &file.text)
            .map_err(|error| CommandError::unavailable(format!("cannot write `{}`: {error}", shown(file))))?;
    }
    Ok(files.iter().map(shown).collect())
}

#[cfg(test)]
mod eject_tests {
    use saihai_config::MemorySource;

    use super::*;
    use crate::terminal::captured;

    fn found(asked: &str) -> String {
        let source =
            MemorySource::new([("/p/.takt/pieces/minimal.yaml", ""), ("/p/.takt/pieces/own.yaml", "")]);
        let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
        match built_in(&source, &places, asked) {
            Ok(definition) => format!("{} {}", definition.origin.name(), definition.name),
            Err(error) => {
                let (mut streams, _, err) = captured::streams();
                let code = error.say(&mut streams).code();
                format!("{}exit {code}", err.text())
            }
        }
    }

    // K-11
    #[test]
    fn a_built_in_is_found_by_its_name_whatever_hides_it() {
        assert_eq!(found("minimal"), "built-in minimal");
        assert_eq!(found("piece:minimal"), "built-in minimal");
    }

    // K-2
    #[test]
    fn what_is_not_built_in_is_refused_with_what_is() {
        insta::assert_snapshot!(found("minmal"), @r"
        error: no built-in definition is named `minmal`
          = help: did you mean `minimal`?
        exit 2
        ");
        assert!(
            found("own")
                .starts_with("error: `own` is not built in; it is a file already\n  = help: there is ")
        );
        assert!(found("hats:minimal").starts_with("error: no built-in definition is named `hats:minimal`\n"));
    }
}

#[cfg(test)]
mod new_files_tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::terminal::captured;

    fn places(root: &Path) -> ProjectPaths {
        ProjectPaths { current: root.to_owned(), root: root.to_owned(), user: None, home: None }
    }

    fn files(root: &Path) -> Vec<NewFile> {
        ["a/one", "a/two", "three"]
            .map(|path| NewFile { path: root.join(path), text: format!("new {path}") })
            .to_vec()
    }

    fn said(error: CommandError) -> String {
        let (mut streams, _, err) = captured::streams();
        let code = error.say(&mut streams).code();
        format!("{}exit {code}", err.text())
    }

    #[test]
    fn files_are_written_with_their_directories() {
        let root = tempfile::tempdir().unwrap();
        let written = write_new_files(&files(root.path()), &places(root.path()), false).unwrap();
        assert_eq!(written, ["a/one", "a/two", "three"]);
        assert_eq!(fs::read_to_string(root.path().join("a/two")).unwrap(), "new a/two");
        assert_eq!(fs::read_dir(root.path().join("a")).unwrap().count(), 2, "nothing else is left behind");
    }

    #[test]
    fn where_something_exists_nothing_is_written() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("a")).unwrap();
        fs::write(root.path().join("a/two"), "mine").unwrap();
        std::os::unix::fs::symlink("nowhere", root.path().join("three")).unwrap();
        let refused = write_new_files(&files(root.path()), &places(root.path()), false).unwrap_err();
        insta::assert_snapshot!(said(refused), @r"
        error: `a/two`, `three` already exist; nothing was written
          = help: `--force` overwrites existing files
        exit 2
        ");
        assert_eq!(fs::read_to_string(root.path().join("a/two")).unwrap(), "mine");
        assert!(!root.path().join("a/one").exists());
    }

    #[test]
    fn what_exists_is_replaced_when_asked_and_links_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("elsewhere"), "mine").unwrap();
        std::os::unix::fs::symlink("elsewhere", root.path().join("three")).unwrap();
        write_new_files(&files(root.path()), &places(root.path()), true).unwrap();
        assert_eq!(fs::read_to_string(root.path().join("three")).unwrap(), "new three");
        assert_eq!(fs::read_to_string(root.path().join("elsewhere")).unwrap(), "mine");
    }

    #[test]
    fn a_directory_in_the_way_is_never_replaced() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("three")).unwrap();
        for force in [false, true] {
            let refused = write_new_files(&files(root.path()), &places(root.path()), force).unwrap_err();
            insta::allow_duplicates! {
                insta::assert_snapshot!(said(refused), @r"
                error: `three` is a directory
                  = help: move it away
                exit 2
                ");
            }
            assert!(!root.path().join("a").exists());
        }
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "a file where a directory should be").unwrap();
        let refused = said(write_new_files(&files(root.path()), &places(root.path()), false).unwrap_err());
        assert!(
            refused.starts_with("error: cannot write `a/one`: ") && refused.ends_with("exit 4"),
            "{refused}"
        );
    }
}
