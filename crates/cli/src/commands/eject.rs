//! `saihai eject`.

use clap::Args;
use saihai_config::{Definition, Language, Origin, Places, Source, did_you_mean, eject, list, list_of};

use crate::error::{Error, exit};
use crate::new_files::{self, Overwrite};
use crate::project::Project;
use crate::terminal::{Streams, visible_line};

/// Copy a built-in definition into the project, to change it
#[derive(Debug, Args)]
#[command(
    after_help = "The copy is in the language of the settings and comes before the built-in one of the same name."
)]
pub(crate) struct Eject {
    /// The built-in definition, as `saihai list` shows it
    #[arg(value_name = "NAME")]
    name: String,

    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

impl Eject {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        let language = project.language();
        let definition = built_in(&project.source, &project.places, &self.name)?;
        let files = eject(&project.source, &project.places, &definition, language).ok_or_else(|| {
            let dialect = definition.dialect.name();
            Error::usage(format!("a built-in definition of `{dialect}` cannot be ejected by this version"))
        })?;
        let overwrite = if self.force { Overwrite::Yes } else { Overwrite::Never };
        for name in new_files::write(&files, &project.places, overwrite)? {
            streams.out.data(&visible_line(&name))?;
        }
        Ok(exit::DONE)
    }
}

/// Returns the built-in definition of this name, with or without its dialect (`piece:NAME`). A project definition of
/// the same name does not hide it.
fn built_in(source: &dyn Source, places: &Places, asked: &str) -> Result<Definition, Error> {
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
    let error = Error::usage(if own {
        format!("`{asked}` is not built in; it is a file already")
    } else {
        format!("no built-in definition is named `{asked}`")
    });
    let hint = did_you_mean(asked, names.iter().copied()).filter(|_| !own);
    Err(error.hint(hint.unwrap_or_else(|| format!("there is {}", list_of(names.iter().copied(), "and")))))
}

#[cfg(test)]
mod tests {
    use saihai_config::MemorySource;

    use super::*;
    use crate::terminal::streams::captured;

    fn found(asked: &str) -> String {
        let source =
            MemorySource::new([("/p/.takt/pieces/minimal.yaml", ""), ("/p/.takt/pieces/own.yaml", "")]);
        let places = Places { current: "/p".into(), root: "/p".into(), user: None, home: None };
        match built_in(&source, &places, asked) {
            Ok(definition) => format!("{} {}", definition.origin.name(), definition.name),
            Err(error) => {
                let (mut streams, _, err) = captured::streams();
                let code = error.say(&mut streams);
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
