//! `saihai list`.

use std::path::Path;

use clap::Args;
use saihai_config::{Definition, Dialect, Listed, Origin, Places, Standing, list};
use serde::Serialize;

use crate::error::{Error, exit};
use crate::json;
use crate::project::Project;
use crate::terminal::{Streams, Table, visible_line};

/// List the definitions there are
#[derive(Debug, Args)]
#[command(
    after_help = "In the order in which a name is looked up: the project's own come first, then yours, then what \
                        is built in. `shadowed` means that the name means another one; its path still works."
)]
pub(crate) struct List {
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct DefinitionObject {
    name: String,
    dialect: &'static str,
    origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// True if this version can parse the definition.
    readable: bool,
    /// True if the file is an unedited copy of a built-in definition. Such a copy has no effect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unedited_copy: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shadows: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadowed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ambiguous_with: Option<String>,
}

impl List {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        let listed = list(&project.source, &project.places, project.language());
        let objects = objects(&listed, &project.places);
        if self.json {
            for object in objects {
                json::line(&mut streams.out, "definition", object)?;
            }
            return Ok(exit::DONE);
        }
        for line in lines(&objects) {
            streams.out.data(&line)?;
        }
        Ok(exit::DONE)
    }
}

fn objects(listed: &[Listed], places: &Places) -> Vec<DefinitionObject> {
    let object = |one: &Listed| {
        let Definition { name, dialect, origin, path } = &one.definition;
        let (shadowed_by, ambiguous_with) = match &one.standing {
            Standing::Used | Standing::Refused => (None, None),
            Standing::Shadowed(by) => (Some(file(by.as_deref(), places)), None),
            Standing::Ambiguous(with) => (None, Some(places.shown(with))),
        };
        DefinitionObject {
            name: name.clone(),
            dialect: dialect.name(),
            origin: origin.name(),
            path: path.as_ref().map(|path| places.shown(path)),
            description: one.description.clone(),
            readable: one.standing != Standing::Refused,
            unedited_copy: *dialect == Dialect::Review && *origin == Origin::BuiltIn && path.is_some(),
            shadows: shadows(one, listed, places),
            shadowed_by,
            ambiguous_with,
        }
    };
    listed.iter().map(object).collect()
}

/// Returns the files that this definition hides because they have the same name.
fn shadows(one: &Listed, listed: &[Listed], places: &Places) -> Vec<String> {
    let behind = |other: &&Listed| {
        let same = other.definition.name == one.definition.name
            && other.definition.dialect == one.definition.dialect;
        same && matches!(&other.standing, Standing::Shadowed(by) if *by == one.definition.path)
    };
    listed.iter().filter(behind).map(|other| file(other.definition.path.as_deref(), places)).collect()
}

fn file(path: Option<&Path>, places: &Places) -> String {
    path.map_or_else(|| "built-in".to_owned(), |path| places.shown(path))
}

fn lines(objects: &[DefinitionObject]) -> Vec<String> {
    let mut table = Table::new(&["NAME", "DIALECT", "ORIGIN", "FILE", "ABOUT"]);
    for object in objects {
        let cells = [
            &object.name,
            object.dialect,
            object.origin,
            object.path.as_deref().unwrap_or("-"),
            &about(object),
        ];
        table.row(cells.iter().map(|cell| visible_line(cell).into_owned()).collect());
    }
    table.lines()
}

/// Describes a definition: a different meaning of its name, parse failures, and the first line of its description.
fn about(object: &DefinitionObject) -> String {
    let mut about = Vec::new();
    about.extend(object.shadowed_by.as_ref().map(|by| format!("shadowed by {by}")));
    about.extend(object.ambiguous_with.as_ref().map(|with| format!("ambiguous with {with}")));
    if !object.shadows.is_empty() {
        about.push(format!("shadows {}", object.shadows.join(", ")));
    }
    if !object.readable {
        about.push("cannot be read: `saihai check` says why".to_owned());
    }
    if object.unedited_copy {
        about.push("builtin, unedited copy".to_owned());
    }
    about.extend(object.description.as_ref().and_then(|text| text.lines().next()).map(str::to_owned));
    about.join("; ")
}

#[cfg(test)]
mod tests {
    use saihai_config::{Language, MemorySource};

    use super::*;
    use crate::json::Typed;

    const AGENT: &str = "name = \"code-reviewer\"\ndescription = \"Mine.\"\nmodel = \"default\"\n\
                         output_schema = \"scored_issues\"\nsystem_prompt = \"p\"\n";

    fn listed() -> Vec<DefinitionObject> {
        let piece = "name: p\ndescription: |\n  Does it.\n  In two lines.\nmovements: []\n";
        let source = MemorySource::new([
            ("/p/.saihai/pieces/a.yaml", piece),
            ("/p/.takt/pieces/a.yaml", piece),
            ("/home/me/.takt/pieces/a.yaml", "name: \u{1b}[31m"),
            ("/p/.takt/pieces/minimal.yaml", piece),
            ("/p/.takt/pieces/orch.yaml", piece),
            ("/p/orch.yml", "hats: {}"),
            ("/p/.agent/coder/agent.json", "{}"),
            ("/p/.saihai/agents/own.toml", AGENT),
            ("/p/.saihai/agents/bad.toml", ""),
        ]);
        let places = Places {
            current: "/p".into(),
            root: "/p".into(),
            user: Some("/home/me/.config/saihai".into()),
            home: Some("/home/me".into()),
        };
        // Other built-in definitions do not matter here.
        let mut listed = list(&source, &places, Language::English);
        listed.retain(|one| {
            one.definition.path.is_some()
                || ["minimal", "code-reviewer"].contains(&one.definition.name.as_str())
        });
        objects(&listed, &places)
    }

    // P-2
    #[test]
    fn people_see_what_a_name_means_and_what_cannot_be_read_yet() {
        insta::assert_snapshot!(lines(&listed()).join("\n"), @"
        NAME           DIALECT  ORIGIN    FILE                       ABOUT
        a              piece    project   .saihai/pieces/a.yaml      shadows .takt/pieces/a.yaml, ~/.takt/pieces/a.yaml; Does it.
        a              piece    project   .takt/pieces/a.yaml        shadowed by .saihai/pieces/a.yaml; Does it.
        minimal        piece    project   .takt/pieces/minimal.yaml  shadows built-in; Does it.
        orch           piece    project   .takt/pieces/orch.yaml     ambiguous with orch.yml; Does it.
        a              piece    user      ~/.takt/pieces/a.yaml      shadowed by .saihai/pieces/a.yaml
        orch           hats     project   orch.yml                   ambiguous with .takt/pieces/orch.yaml
        coder          steps    project   .agent/coder/agent.json
        minimal        piece    built-in  -                          shadowed by .takt/pieces/minimal.yaml; Plan, implement, review; go round until the review approves.
        code-reviewer  review   project   .saihai/agents/own.toml    shadows built-in; Mine.
        code-reviewer  review   built-in  -                          shadowed by .saihai/agents/own.toml
        bad            review   project   .saihai/agents/bad.toml    cannot be read: `saihai check` says why
        ");
    }

    // K-3
    #[test]
    fn programs_get_one_object_a_definition() {
        let objects: Vec<String> = listed()
            .into_iter()
            .filter(|object| ["a", "orch", "coder"].contains(&object.name.as_str()))
            .map(|object| serde_json::to_string(&Typed::new("definition", object)).unwrap())
            .collect();
        insta::assert_snapshot!(objects.join("\n"), @r#"
        {"v":1,"type":"definition","name":"a","dialect":"piece","origin":"project","path":".saihai/pieces/a.yaml","description":"Does it.\nIn two lines.","readable":true,"shadows":[".takt/pieces/a.yaml","~/.takt/pieces/a.yaml"]}
        {"v":1,"type":"definition","name":"a","dialect":"piece","origin":"project","path":".takt/pieces/a.yaml","description":"Does it.\nIn two lines.","readable":true,"shadowed_by":".saihai/pieces/a.yaml"}
        {"v":1,"type":"definition","name":"orch","dialect":"piece","origin":"project","path":".takt/pieces/orch.yaml","description":"Does it.\nIn two lines.","readable":true,"ambiguous_with":"orch.yml"}
        {"v":1,"type":"definition","name":"a","dialect":"piece","origin":"user","path":"~/.takt/pieces/a.yaml","readable":true,"shadowed_by":".saihai/pieces/a.yaml"}
        {"v":1,"type":"definition","name":"orch","dialect":"hats","origin":"project","path":"orch.yml","readable":true,"ambiguous_with":".takt/pieces/orch.yaml"}
        {"v":1,"type":"definition","name":"coder","dialect":"steps","origin":"project","path":".agent/coder/agent.json","readable":true}
        "#);
    }
}
