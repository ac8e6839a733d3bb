//! Resolution of a name or a path to a definition (K-11, P-1 to P-4), and the list of all definitions.

use std::path::{Path, PathBuf};

use indexmap::IndexSet;

use super::{BuiltInDefinition, Definition, Dialect, Origin, ProjectPaths};
use crate::review::AgentOrigin;
use crate::{
    Area, Diagnostic, Diagnostics, Document, FileKind, Format, LARGEST_FILE, Language, Source, cannot_read,
    did_you_mean, list_of, quoted, quoted_path, review,
};

/// File names that always mean hats, regardless of their content.
const HATS_FILES: [&str; 4] = ["orch.yml", "orch.yaml", ".orch.yml", "ralph.yml"];

/// Finds a definition by path, by name, or by dialect and name (`piece:NAME`).
pub fn find(source: &dyn Source, places: &ProjectPaths, asked: &str) -> Result<Definition, Diagnostics> {
    let (dialect, name) = split(asked);
    let definition = if is_path(name) {
        at_path(source, places, name, dialect)
    } else {
        by_name(source, places, name, dialect)
    };
    definition.map_err(|diagnostic| [*diagnostic].into_iter().collect())
}

/// Splits `piece:X` into the dialect and `X`.
fn split(asked: &str) -> (Option<Dialect>, &str) {
    let named = [Dialect::Piece, Dialect::Hats, Dialect::Steps];
    let found = named.into_iter().find_map(|dialect| {
        let rest = asked.strip_prefix(dialect.name())?.strip_prefix(':')?;
        Some((Some(dialect), rest))
    });
    found.unwrap_or((None, asked))
}

/// P-1: text that looks like a path is a path, never a name.
fn is_path(asked: &str) -> bool {
    asked.contains(std::path::is_separator)
        || asked.contains('/')
        || asked.starts_with('~')
        || [".yaml", ".yml", ".json", ".toml"].iter().any(|end| asked.ends_with(end))
}

/// File that makes a directory a step agent.
const AGENT_FILE: &str = "agent.json";

type Found = Result<Definition, Box<Diagnostic>>;

fn at_path(source: &dyn Source, places: &ProjectPaths, asked: &str, dialect: Option<Dialect>) -> Found {
    let missing = || {
        let code = Area::Piece.code("missing-file");
        let agents = if asked.ends_with(".json") { step_agents(source, places) } else { String::new() };
        let message = format!("the file {} does not exist{agents}", quoted(asked));
        Box::new(Diagnostic::error(code, message).hint("a path is never looked up as a name"))
    };
    if asked.contains("://") {
        return Err(Box::new(address(asked)));
    }
    let path = places.resolve(None, asked).ok_or_else(missing)?;
    let (found, path) = match source.kind(&path) {
        None => return Err(missing()),
        // S-2: a directory is a step agent.
        Some(FileKind::Directory) => (Dialect::Steps, path.join(AGENT_FILE)),
        Some(FileKind::File | FileKind::Other) => (dialect_of(source, places, &path)?, path),
    };
    let dialect = dialect.unwrap_or(found);
    let named =
        if dialect == Dialect::Steps { path.parent().and_then(Path::file_name) } else { path.file_stem() };
    let name = named.and_then(|name| name.to_str()).unwrap_or(asked).to_owned();
    Ok(Definition { name, dialect, origin: Origin::Path, path: Some(path) })
}

/// Determines the dialect of a file by its name, or else by its top-level keys.
fn dialect_of(source: &dyn Source, places: &ProjectPaths, path: &Path) -> Result<Dialect, Box<Diagnostic>> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => return json_dialect(source, places, path),
        Some("toml") => return toml_dialect(source, places, path),
        Some(_) | None => {}
    }
    let name = places.shown(path);
    let document = peek(source, path, &name, Format::Yaml)?;
    let has = |key: &str| document.as_ref().is_some_and(|document| document.root.get(key).is_some());
    let is_piece = has("movements") || has("steps");
    let is_hats = has("hats") || has("event_loop") || (has("cli") && !is_piece);
    if is_piece && is_hats {
        let message = format!("{} is written in two dialects at once", quoted_path(&name));
        let code = Area::Workflow.code("ambiguous-definition");
        return Err(Box::new(
            Diagnostic::error(code, message).hint("`movements` makes a piece, `hats` makes hats: keep one"),
        ));
    }
    let named_hats = path.file_name().and_then(|name| name.to_str()).is_some_and(|n| HATS_FILES.contains(&n));
    Ok(if is_hats || named_hats { Dialect::Hats } else { Dialect::Piece })
}

/// Parses what it can of a file. Drops diagnostics, because the dialect's reader reports them.
fn peek(
    source: &dyn Source,
    path: &Path,
    name: &str,
    format: Format,
) -> Result<Option<Document>, Box<Diagnostic>> {
    let bytes = source.read(path, LARGEST_FILE);
    let bytes = bytes.map_err(|error| Box::new(cannot_read(&error, name, Area::Piece)))?;
    Ok(Document::parse(&bytes, format, name, Area::Piece, &mut Diagnostics::new()))
}

/// JSON means a step agent. The workflow of climpt's orchestrator is not supported.
fn json_dialect(source: &dyn Source, places: &ProjectPaths, path: &Path) -> Result<Dialect, Box<Diagnostic>> {
    let name = places.shown(path);
    let document = peek(source, path, &name, Format::Json)?;
    let has = |key: &str| document.as_ref().is_some_and(|document| document.root.get(key).is_some());
    if has("phases") && !has("behavior") && !has("runner") {
        let message =
            format!("{} is a workflow of climpt's orchestrator, which is not supported", quoted_path(&name));
        let diagnostic = Diagnostic::error(Area::Steps.code("not-supported"), message);
        let hint = "`saihai work --label LABEL --definition AGENT` runs an agent for the issues with a label; \
                    a piece routes by verdict";
        return Err(Box::new(diagnostic.hint(hint)));
    }
    Ok(Dialect::Steps)
}

/// TOML means a review agent. Hats in TOML are not supported (H-71).
fn toml_dialect(source: &dyn Source, places: &ProjectPaths, path: &Path) -> Result<Dialect, Box<Diagnostic>> {
    let name = places.shown(path);
    let document = peek(source, path, &name, Format::Toml)?;
    let has = |key: &str| document.as_ref().is_some_and(|document| document.root.get(key).is_some());
    if has("hats") || has("event_loop") {
        let message = format!("{} contains hats in TOML, which is not supported", quoted_path(&name));
        let diagnostic = Diagnostic::error(Area::Hats.code("not-supported"), message);
        return Err(Box::new(diagnostic.hint("write them as YAML; the keys are the same")));
    }
    Ok(Dialect::Review)
}

/// H-71: a remote definition can change at any time, so Saihai does not run it.
fn address(asked: &str) -> Diagnostic {
    let message = format!("{} is an address, and definitions are only read from files", quoted(asked));
    let hint = "save it, review it, and pass the path of the file";
    Diagnostic::error(Area::Workflow.code("not-a-file"), message).hint(hint)
}

fn by_name(source: &dyn Source, places: &ProjectPaths, name: &str, dialect: Option<Dialect>) -> Found {
    let wanted = |found: Dialect| dialect.is_none_or(|dialect| dialect == found);
    let mut found: Vec<Definition> = Vec::new();
    if wanted(Dialect::Piece) {
        found.extend(piece(source, places, name)?);
    }
    if wanted(Dialect::Hats) {
        found.extend(hats(source, places, name));
    }
    if wanted(Dialect::Steps) {
        found.extend(steps(source, places, name));
    }
    if let [one, other, ..] = found.as_slice() {
        return Err(Box::new(ambiguous(places, name, one, other)));
    }
    // K-11: a built-in never hides a definition of the user.
    let built_in =
        || BuiltInDefinition::named(name).filter(|built_in| wanted(built_in.dialect)).map(Definition::from);
    match (found.pop().or_else(built_in), dialect) {
        (Some(definition), _) => Ok(definition),
        (None, Some(Dialect::Hats)) => Err(Box::new(unknown_hats(name))),
        (None, Some(Dialect::Steps)) => Err(Box::new(unknown_agent(source, places, name))),
        (None, Some(Dialect::Piece | Dialect::Review) | None) => Err(Box::new(unknown(source, places, name))),
    }
}

/// Returns the directories to search for pieces. The first match wins (P-2).
pub(super) fn piece_directories(places: &ProjectPaths) -> Vec<(Origin, PathBuf)> {
    let project = [".saihai/pieces", ".takt/pieces", ".takt/workflows"];
    let mut directories: Vec<(Origin, PathBuf)> =
        project.into_iter().map(|below| (Origin::Project, places.root.join(below))).collect();
    directories.extend(places.user.iter().map(|user| (Origin::User, user.join("pieces"))));
    for below in [".takt/pieces", ".takt/workflows"] {
        // If the project is the home directory, these directories are already in the list.
        let own = places.home.iter().filter(|home| **home != places.root);
        directories.extend(own.map(|home| (Origin::User, home.join(below))));
    }
    directories
}

/// Returns the files that can hold the piece of a name, in order.
pub(crate) fn piece_files(places: &ProjectPaths, name: &str) -> Vec<PathBuf> {
    let directories = piece_directories(places).into_iter();
    directories
        .flat_map(|(_, directory)| ["yaml", "yml"].map(|end| directory.join(format!("{name}.{end}"))))
        .collect()
}

fn piece(
    source: &dyn Source,
    places: &ProjectPaths,
    name: &str,
) -> Result<Option<Definition>, Box<Diagnostic>> {
    for (origin, directory) in piece_directories(places) {
        let files = ["yaml", "yml"].map(|end| directory.join(format!("{name}.{end}")));
        let mut there = files.into_iter().filter(|file| source.is_file(file));
        let Some(path) = there.next() else { continue };
        if let Some(other) = there.next() {
            let (one, other) = (quoted_path(&places.shown(&path)), quoted_path(&places.shown(&other)));
            let message = format!("the name {} means two files: {one} and {other}", quoted(name));
            let diagnostic = Diagnostic::error(Area::Piece.code("ambiguous-name"), message);
            return Err(Box::new(diagnostic.hint("rename one of them, or give the path")));
        }
        return Ok(Some(Definition {
            name: name.to_owned(),
            dialect: Dialect::Piece,
            origin,
            path: Some(path),
        }));
    }
    Ok(None)
}

/// H-5: a project's hats have only one name, `orch`.
pub(super) fn hats(source: &dyn Source, places: &ProjectPaths, name: &str) -> Option<Definition> {
    let files = HATS_FILES[..3].iter().map(|file| places.root.join(file));
    let path = files.into_iter().find(|file| source.is_file(file)).filter(|_| name == "orch")?;
    let origin = Origin::Project;
    Some(Definition { name: name.to_owned(), dialect: Dialect::Hats, origin, path: Some(path) })
}

/// H-5: returns the other `orch` files, which Saihai ignores because an earlier one exists.
pub(crate) fn ignored_hats(
    source: &dyn Source,
    places: &ProjectPaths,
    definition: &Definition,
) -> Vec<PathBuf> {
    let is_first = definition.dialect == Dialect::Hats && definition.origin == Origin::Project;
    let files = HATS_FILES[..3].iter().map(|file| places.root.join(file));
    let others = files.filter(|file| definition.path.as_ref() != Some(file) && source.is_file(file));
    others.filter(|_| is_first).collect()
}

/// S-2: a step agent is a directory with an `agent.json`.
pub(super) fn steps(source: &dyn Source, places: &ProjectPaths, name: &str) -> Option<Definition> {
    let path = places.root.join(".agent").join(name).join(AGENT_FILE);
    let there = !name.is_empty() && source.is_file(&path);
    let origin = Origin::Project;
    there.then(|| Definition { name: name.to_owned(), dialect: Dialect::Steps, origin, path: Some(path) })
}

fn ambiguous(places: &ProjectPaths, name: &str, one: &Definition, other: &Definition) -> Diagnostic {
    let shown = |definition: &Definition| {
        let path = definition.path.as_ref().map(|path| places.shown(path)).unwrap_or_default();
        format!("{} ({})", quoted_path(&path), definition.dialect.name())
    };
    let message = format!("the name {} means {} and {}", quoted(name), shown(one), shown(other));
    let hint = format!("ask for `{}:{name}` or `{}:{name}`", one.dialect.name(), other.dialect.name());
    Diagnostic::error(Area::Workflow.code("ambiguous-definition"), message).hint(hint)
}

fn unknown_agent(source: &dyn Source, places: &ProjectPaths, name: &str) -> Diagnostic {
    let names = agent_names(source, places);
    let message = format!("no agent is named {}{}", quoted(name), step_agents(source, places));
    let near = did_you_mean(name, names.iter().map(String::as_str));
    Diagnostic::error(Area::Steps.code("unknown-agent"), message).maybe_hint(near)
}

/// S-2: lists the available agents as the end of a sentence.
fn step_agents(source: &dyn Source, places: &ProjectPaths) -> String {
    let names = agent_names(source, places);
    format!("; the step agents are {}", list_of(names.iter().map(String::as_str), "and"))
}

fn agent_names(source: &dyn Source, places: &ProjectPaths) -> IndexSet<String> {
    let known = list(source, places, Language::default()).into_iter().map(|listed| listed.definition);
    known.filter(|one| one.dialect == Dialect::Steps).map(|one| one.name).collect()
}

/// Hats have the name `orch` or that of a built-in (H-5, H-8).
fn unknown_hats(name: &str) -> Diagnostic {
    let built_in =
        BuiltInDefinition::all().iter().filter(|one| one.dialect == Dialect::Hats).map(|one| one.name);
    let names: Vec<&str> = std::iter::once("orch").chain(built_in).collect();
    let message = format!(
        "no hats are named {}; `orch` means {} at the root of the project",
        quoted(name),
        list_of(HATS_FILES[..3].iter().copied(), "or")
    );
    let hint = did_you_mean(name, names.iter().copied())
        .unwrap_or_else(|| format!("there is {}", list_of(names.iter().copied(), "and")));
    Diagnostic::error(Area::Hats.code("unknown-definition"), message).hint(hint)
}

/// P-3: lists the searched directories and similar names.
fn unknown(source: &dyn Source, places: &ProjectPaths, name: &str) -> Diagnostic {
    let directories: Vec<String> =
        piece_directories(places).iter().map(|(_, directory)| places.shown(directory)).collect();
    let message = format!(
        "no definition is named {}; looked in {} and among the built-in ones{}",
        quoted(name),
        list_of(directories.iter().map(String::as_str), "and"),
        step_agents(source, places)
    );
    let known = list(source, places, Language::default());
    let named = known.iter().map(|listed| &listed.definition).filter(|one| one.dialect != Dialect::Review);
    let names: IndexSet<&str> = named.map(|definition| definition.name.as_str()).collect();
    let hint = piece_called(source, places, name)
        .or_else(|| did_you_mean(name, names.iter().copied()))
        .unwrap_or_else(|| format!("there is {}", list_of(names.iter().copied().take(10), "and")));
    Diagnostic::error(Area::Piece.code("unknown-piece"), message).hint(hint)
}

/// Returns a hint if a piece has this text as its `name:`. Pieces are found by their file names.
fn piece_called(source: &dyn Source, places: &ProjectPaths, name: &str) -> Option<String> {
    all(source, places).into_iter().find_map(|definition| {
        let path = definition.path.filter(|_| definition.dialect == Dialect::Piece)?;
        let shown = places.shown(&path);
        let document = peek(source, &path, &shown, Format::Yaml).ok()??;
        let called = document.root.get("name")?.as_text()?;
        (called.trim() == name.trim()).then(|| {
            let (shown, file) = (quoted_path(&shown), quoted(&definition.name));
            format!("{shown} has this `name:`, but pieces are found by their file: write {file}")
        })
    })
}

impl From<&BuiltInDefinition> for Definition {
    fn from(built_in: &BuiltInDefinition) -> Self {
        let (name, dialect) = (built_in.name.to_owned(), built_in.dialect);
        Self { name, dialect, origin: Origin::BuiltIn, path: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedDefinition {
    pub definition: Definition,
    /// Description from the definition itself.
    pub description: Option<String>,
    pub standing: DefinitionStanding,
    /// False if the file cannot be parsed, or a review agent has errors.
    pub is_readable: bool,
}

/// Effect of using a definition's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefinitionStanding {
    Used,
    /// The name selects another definition. Holds its file, unless it is built in.
    Shadowed(Option<PathBuf>),
    /// The name is an error, because this other definition has it too.
    Ambiguous(PathBuf),
    /// The definition has errors and cannot be used.
    Refused,
}

/// Returns all definitions of all dialects in lookup order. `language` selects the descriptions of built-ins.
pub fn list(source: &dyn Source, places: &ProjectPaths, language: Language) -> Vec<ListedDefinition> {
    let mut listed: Vec<ListedDefinition> = Vec::new();
    for definition in all(source, places) {
        let same = |other: &&ListedDefinition| other.definition.name == definition.name;
        let standing = match listed.iter().find(same) {
            None => DefinitionStanding::Used,
            Some(first) => standing(&first.definition, &definition),
        };
        if let (DefinitionStanding::Ambiguous(_), Some(path)) = (&standing, &definition.path) {
            let first = listed.iter_mut().find(|other| other.definition.name == definition.name);
            if let Some(first) = first.filter(|first| first.standing == DefinitionStanding::Used) {
                first.standing = DefinitionStanding::Ambiguous(path.clone());
            }
        }
        let document = document(source, &definition, language);
        let is_readable =
            document.as_ref().is_some_and(|document| matches!(document.root.value, crate::Value::Map(_)));
        let description = document.and_then(|document| describe(&document, &definition, language));
        listed.push(ListedDefinition { definition, description, standing, is_readable });
    }
    listed.extend(review_agents(source, places, language));
    listed
}

/// Compares a definition with the first one of the same name.
fn standing(first: &Definition, later: &Definition) -> DefinitionStanding {
    let directory =
        |definition: &Definition| definition.path.as_deref().and_then(Path::parent).map(Path::to_owned);
    let twice = first.dialect == later.dialect && directory(first) == directory(later);
    let two_dialects = first.dialect != later.dialect && later.origin != Origin::BuiltIn;
    match &first.path {
        Some(path) if twice || two_dialects => DefinitionStanding::Ambiguous(path.clone()),
        path => DefinitionStanding::Shadowed(path.clone()),
    }
}

fn all(source: &dyn Source, places: &ProjectPaths) -> Vec<Definition> {
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
    all.extend(BuiltInDefinition::all().iter().map(Definition::from));
    all
}

/// Review agents have a namespace of their own (K-11).
fn review_agents(source: &dyn Source, places: &ProjectPaths, language: Language) -> Vec<ListedDefinition> {
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
        let standing = DefinitionStanding::Used;
        listed.push(ListedDefinition { definition: own, description, standing, is_readable: true });
        listed.extend(shadowed.map(|(definition, by)| ListedDefinition {
            definition,
            description: None,
            standing: DefinitionStanding::Shadowed(Some(by)),
            is_readable: true,
        }));
    }
    for path in loaded.errors.into_iter().flat_map(|error| error.files) {
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let (dialect, origin) = (Dialect::Review, Origin::Project);
        let definition = Definition { name, dialect, origin, path: Some(path) };
        listed.push(ListedDefinition {
            definition,
            description: None,
            standing: DefinitionStanding::Refused,
            is_readable: false,
        });
    }
    listed
}

/// Parses the file of a definition. `check` reports its errors.
fn document(source: &dyn Source, definition: &Definition, language: Language) -> Option<Document> {
    let mut ignored = Diagnostics::new();
    match &definition.path {
        Some(path) => Document::load(source, path, "", Area::Piece, &mut ignored),
        None => {
            let text = BuiltInDefinition::of(definition)?.text(language);
            Document::parse(text.as_bytes(), crate::Format::Yaml, "", Area::Piece, &mut ignored)
        }
    }
}

/// Returns a definition's own description.
fn describe(document: &Document, definition: &Definition, language: Language) -> Option<String> {
    match definition.dialect {
        Dialect::Piece | Dialect::Steps => {}
        Dialect::Hats => return BuiltInDefinition::of(definition)?.summary(language),
        Dialect::Review => return None,
    }
    let text = |key: &str| Some(document.root.get(key)?.as_text()?.trim().to_owned());
    // S-7: a step agent also has a display name.
    let says_more = |name: &String| !name.eq_ignore_ascii_case(&definition.name);
    let name = text("displayName").filter(|name| definition.dialect == Dialect::Steps && says_more(name));
    match (name, text("description")) {
        (Some(name), Some(about)) => Some(format!("{name}: {about}")),
        (name, about) => about.or(name),
    }
}
