//! List of all definitions, with the definition that each name selects.

use std::path::{Path, PathBuf};

use super::find::{hats, piece_directories, steps};
use super::{BuiltIn, Definition, Dialect, Origin, Places};
use crate::review::{self, AgentOrigin};
use crate::{Area, Diagnostics, Document, Language, Source};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub definition: Definition,
    /// Description from the definition itself.
    pub description: Option<String>,
    pub standing: Standing,
}

/// Effect of using a definition's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Used,
    /// The name selects another definition. Holds its file, unless it is built in.
    Shadowed(Option<PathBuf>),
    /// The name is an error, because this other definition has it too.
    Ambiguous(PathBuf),
    /// The definition has errors and cannot be used.
    Refused,
}

/// Returns all definitions of all dialects in lookup order. `language` selects the descriptions of built-ins.
pub fn list(source: &dyn Source, places: &Places, language: Language) -> Vec<Listed> {
    let mut listed: Vec<Listed> = Vec::new();
    for definition in all(source, places) {
        let same = |other: &&Listed| other.definition.name == definition.name;
        let standing = match listed.iter().find(same) {
            None => Standing::Used,
            Some(first) => standing(&first.definition, &definition),
        };
        if let (Standing::Ambiguous(_), Some(path)) = (&standing, &definition.path) {
            let first = listed.iter_mut().find(|other| other.definition.name == definition.name);
            if let Some(first) = first.filter(|first| first.standing == Standing::Used) {
                first.standing = Standing::Ambiguous(path.clone());
            }
        }
        let description = describe(source, &definition, language);
        listed.push(Listed { definition, description, standing });
    }
    listed.extend(review_agents(source, places, language));
    listed
}

/// Compares a definition with the first one of the same name.
fn standing(first: &Definition, later: &Definition) -> Standing {
    let directory =
        |definition: &Definition| definition.path.as_deref().and_then(Path::parent).map(Path::to_owned);
    let twice = first.dialect == later.dialect && directory(first) == directory(later);
    let two_dialects = first.dialect != later.dialect && later.origin != Origin::BuiltIn;
    match &first.path {
        Some(path) if twice || two_dialects => Standing::Ambiguous(path.clone()),
        path => Standing::Shadowed(path.clone()),
    }
}

fn all(source: &dyn Source, places: &Places) -> Vec<Definition> {
    let mut all = Vec::new();
    for (origin, directory) in piece_directories(places) {
        for file in source.texts(&directory) {
            let path = directory.join(&file);
            let Some(name) = [".yaml", ".yml"].iter().find_map(|end| file.strip_suffix(end)) else {
                continue;
            };
            if !name.is_empty() && source.is_file(&path) {
                let name = name.to_owned();
                all.push(Definition { name, dialect: Dialect::Piece, origin, path: Some(path) });
            }
        }
    }
    all.extend(hats(source, places, "orch"));
    let agents = source.texts(&places.root.join(".agent"));
    all.extend(agents.iter().filter_map(|name| steps(source, places, name)));
    all.extend(BuiltIn::all().iter().map(Definition::from));
    all
}

/// Review agents have a namespace of their own (K-11).
fn review_agents(source: &dyn Source, places: &Places, language: Language) -> Vec<Listed> {
    // `check` reports an unreadable directory.
    let loaded = review::load(source, places, language).unwrap_or_default();
    let mut listed = Vec::new();
    for agent in loaded.agents {
        let (name, description) = (agent.definition.name, Some(agent.definition.description));
        let definition =
            |origin, path| Definition { name: name.clone(), dialect: Dialect::Review, origin, path };
        let (own, shadowed) = match agent.origin {
            AgentOrigin::BuiltIn => (definition(Origin::BuiltIn, None), None),
            AgentOrigin::UneditedCopy(path) => (definition(Origin::BuiltIn, Some(path)), None),
            AgentOrigin::Custom { path, shadows } => {
                let behind = shadows.then(|| (definition(Origin::BuiltIn, None), path.clone()));
                (definition(Origin::Project, Some(path)), behind)
            }
        };
        listed.push(Listed { definition: own, description, standing: Standing::Used });
        listed.extend(shadowed.map(|(definition, by)| Listed {
            definition,
            description: None,
            standing: Standing::Shadowed(Some(by)),
        }));
    }
    for path in loaded.errors.into_iter().flat_map(|error| error.files) {
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let (dialect, origin) = (Dialect::Review, Origin::Project);
        let definition = Definition { name, dialect, origin, path: Some(path) };
        listed.push(Listed { definition, description: None, standing: Standing::Refused });
    }
    listed
}

/// Returns a definition's own description, if the file is readable.
fn describe(source: &dyn Source, definition: &Definition, language: Language) -> Option<String> {
    match definition.dialect {
        Dialect::Piece | Dialect::Steps => {}
        Dialect::Hats => return BuiltIn::of(definition)?.summary(language),
        Dialect::Review => return None,
    }
    let mut ignored = Diagnostics::new();
    let document = match &definition.path {
        Some(path) => Document::load(source, path, "", Area::Piece, &mut ignored)?,
        None => {
            let text = BuiltIn::named(&definition.name)?.text(language);
            Document::parse(text.as_bytes(), crate::Format::Yaml, "", Area::Piece, &mut ignored)?
        }
    };
    let text = |key: &str| Some(document.root.get(key)?.as_text()?.trim().to_owned());
    // S-7: a step agent also has a display name.
    let says_more = |name: &String| !name.eq_ignore_ascii_case(&definition.name);
    let name = text("displayName").filter(|name| definition.dialect == Dialect::Steps && says_more(name));
    match (name, text("description")) {
        (Some(name), Some(about)) => Some(format!("{name}: {about}")),
        (name, about) => about.or(name),
    }
}
