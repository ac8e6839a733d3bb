//! Finds and reads all review agents of a project.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::python::Room;
use super::read::{ReadAgent, read};
use super::{AgentDefinition, UnknownAgent, Wish, builtin};
use crate::diagnostic::{Area, Diagnostic, Diagnostics, Location, SourceFile, did_you_mean, list_of, quoted};
use crate::document::{Document, Format, LARGEST_FILE};
use crate::{FileKind, Language, Places, Source};

/// Agent directories below the project root.
const DIRECTORIES: [&str; 2] = [".hachimoku/agents", ".saihai/agents"];

/// All readable agents, and the errors of the skipped files.
#[derive(Debug, Clone, Default)]
pub struct LoadResult {
    /// Usable agents, sorted by name.
    pub agents: Vec<Agent>,
    /// Skipped files, sorted by path.
    pub errors: Vec<LoadError>,
    /// Warnings about the other files.
    pub remarks: Diagnostics,
}

#[derive(Debug, Clone)]
pub struct Agent {
    pub definition: AgentDefinition,
    pub origin: AgentOrigin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentOrigin {
    BuiltIn,
    /// A built-in agent with an unedited copy in the project.
    UneditedCopy(PathBuf),
    Custom {
        path: PathBuf,
        /// True if the file replaces a built-in agent.
        shadows: bool,
    },
}

#[derive(Debug, Clone)]
pub struct LoadError {
    /// The invalid file, or both files that define the same agent.
    pub files: Vec<PathBuf>,
    /// Intended agent name: the name inside the file, else the file name.
    pub name: String,
    pub diagnostics: Diagnostics,
}

impl LoadResult {
    /// Returns the names of all agents, including those with invalid files.
    pub fn names(&self) -> Vec<&str> {
        let right = self.agents.iter().map(|agent| agent.definition.name.as_str());
        let all: BTreeSet<&str> = right.chain(self.errors.iter().map(|error| error.name.as_str())).collect();
        all.into_iter().collect()
    }

    /// Checks that flags and settings name existing agents. The error holds the first unknown name.
    pub fn check(&self, wish: &Wish) -> Result<(), UnknownAgent> {
        let is_right = |name: &str| self.agents.iter().any(|agent| agent.definition.name == name);
        let names = self.names();
        let asked = wish.only.iter().map(|name| (name, true));
        for (name, is_needed) in asked.chain(wish.skip.iter().chain(&wish.disabled).map(|name| (name, false)))
        {
            let is_known = names.contains(&name.as_str());
            if is_right(name) || (is_known && !is_needed) {
                continue;
            }
            let there_is = || format!("there is {}", list_of(names.iter().copied(), "and"));
            return Err(UnknownAgent {
                name: name.clone(),
                is_refused: is_known,
                hint: match is_known {
                    true => "mend its file first: what is wrong with it is said above".to_owned(),
                    false => did_you_mean(name, names.iter().copied()).unwrap_or_else(there_is),
                },
            });
        }
        Ok(())
    }
}

/// Reads the project's agents and the built-in ones. An invalid file is skipped; an unreadable
/// agent directory is an error.
pub fn load(source: &dyn Source, places: &Places, language: Language) -> Result<LoadResult, Diagnostics> {
    let mut loading = Loading::new(source, places, language);
    let mut refused = Diagnostics::new();
    for directory in DIRECTORIES.map(|below| places.root.join(below)) {
        match loading.files(&directory) {
            Ok(files) => files.into_iter().for_each(|file| loading.file(file)),
            Err(diagnostic) => refused.push(*diagnostic),
        }
    }
    loading.foreign_settings();
    if refused.has_errors() { Err(refused) } else { Ok(loading.finish()) }
}

/// Returns all errors and warnings about one agent file.
pub fn check_agent(source: &dyn Source, places: &Places, path: &Path) -> Diagnostics {
    let mut loading = Loading::new(source, places, Language::default());
    loading.file(path.to_owned());
    let result = loading.finish();
    let mut all = result.remarks;
    result.errors.into_iter().for_each(|error| all.append(error.diagnostics));
    all
}

struct Loading<'a> {
    source: &'a dyn Source,
    places: &'a Places,
    language: Language,
    result: LoadResult,
    own: Vec<(PathBuf, Read)>,
    /// Memory budget shared by the patterns of all files.
    room: Room,
}

enum Read {
    Agent(Box<ReadAgent>),
    Copy(&'static builtin::BuiltIn),
}

impl<'a> Loading<'a> {
    fn new(source: &'a dyn Source, places: &'a Places, language: Language) -> Self {
        let (result, own, room) = (LoadResult::default(), Vec::new(), Room::default());
        Self { source, places, language, result, own, room }
    }

    /// Returns the agent files of a directory: exactly those that end in `.toml`.
    fn files(&self, directory: &Path) -> Result<Vec<PathBuf>, Box<Diagnostic>> {
        let refuse = |why: &str| {
            let name = self.places.shown(directory);
            let code = Area::Review.code("file");
            let error = Diagnostic::error(code, format!("{} {why}", quoted(&name)));
            Box::new(error.hint("review agents are files in a directory of that name"))
        };
        match self.source.kind(directory) {
            None => return Ok(Vec::new()),
            Some(FileKind::File | FileKind::Other) => return Err(refuse("is not a directory")),
            Some(FileKind::Directory) => {}
        }
        let names = self.source.list(directory);
        let names = names.map_err(|error| refuse(&format!("cannot be looked into: {error}")))?;
        let agents = names.iter().filter(|name| name.as_encoded_bytes().ends_with(b".toml"));
        Ok(agents.map(|name| directory.join(name)).collect())
    }

    fn file(&mut self, path: PathBuf) {
        let mut found = Diagnostics::new();
        let read = self.read(&path, &mut found);
        if found.has_errors() {
            let name = self.name_of(&path);
            self.result.errors.push(LoadError { files: vec![path], name, diagnostics: found.sorted() });
            return;
        }
        self.result.remarks.append(found);
        self.own.extend(read.map(|read| (path, read)));
    }

    fn read(&mut self, path: &Path, found: &mut Diagnostics) -> Option<Read> {
        let name = self.places.shown(path);
        let refuse = |why: String, hint: Option<&str>| {
            let file = std::sync::Arc::new(SourceFile::new(Area::Review, name.as_str(), ""));
            let error = Location::whole(&file).error("file", format!("cannot read {}: {why}", quoted(&name)));
            error.hint(hint.unwrap_or("a review agent is a readable text file, UTF-8, of at most 1 MiB"))
        };
        let bytes = match self.source.read(path, LARGEST_FILE) {
            Ok(bytes) => bytes,
            Err(error) => {
                found.push(refuse(error.to_string(), error.hint()));
                return None;
            }
        };
        if let Err(error) = std::str::from_utf8(&bytes) {
            found.push(refuse(format!("it is not UTF-8 (byte {})", error.valid_up_to() + 1), None));
            return None;
        }
        if let Some(built_in) = builtin::unedited(&bytes) {
            return Some(Read::Copy(built_in));
        }
        let document = Document::parse(&bytes, Format::Toml, &name, Area::Review, found)?;
        if is_of_another_tool(path, &document) {
            let message =
                format!("{} has no effect: Saihai chooses and merges without an agent", quoted(&name));
            found.push(Location::whole(&document.file).note("no-effect", message));
            return None;
        }
        read(&document, &mut self.room, found).map(|agent| Read::Agent(Box::new(agent)))
    }

    /// Returns the agent name of an invalid file, because flags and settings may still refer to it.
    fn name_of(&self, path: &Path) -> String {
        let bytes = self.source.read(path, LARGEST_FILE).unwrap_or_default();
        let document = Document::parse(&bytes, Format::Toml, "", Area::Review, &mut Diagnostics::new());
        let given = document.and_then(|document| Some(document.root.get("name")?.as_text()?.to_owned()));
        let stem = || path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        given.unwrap_or_else(stem)
    }

    /// reports that Saihai does not read the settings of another tool.
    fn foreign_settings(&mut self) {
        let path = self.places.root.join(".hachimoku/config.toml");
        if self.source.is_file(&path) {
            let message = format!("{} has no effect", quoted(&self.places.shown(&path)));
            let note = Diagnostic::note(Area::Review.code("no-effect"), message);
            self.result.remarks.push(note.hint("settings are `[review]` in `.saihai/config.toml`"));
        }
    }

    /// decides which agent replaces which.
    fn finish(mut self) -> LoadResult {
        let mut agents: IndexMap<String, Agent> = IndexMap::new();
        for built_in in builtin::all() {
            let definition = built_in.definition(self.language);
            agents.insert(definition.name.clone(), Agent { definition, origin: AgentOrigin::BuiltIn });
        }
        let mut own: IndexMap<String, Vec<(PathBuf, ReadAgent)>> = IndexMap::new();
        for (path, read) in std::mem::take(&mut self.own) {
            match read {
                Read::Agent(agent) => {
                    own.entry(agent.definition.name.clone()).or_default().push((path, *agent));
                }
                Read::Copy(built_in) => {
                    if let Some(agent) = agents.get_mut(built_in.name) {
                        agent.origin = AgentOrigin::UneditedCopy(path);
                    }
                }
            }
        }
        for (name, mut files) in own {
            match (files.pop(), files.is_empty()) {
                (Some((path, agent)), true) => self.take(name, path, agent, &mut agents),
                (last, _) => self.refuse_both(&name, files.into_iter().chain(last).collect()),
            }
        }
        self.result.agents = agents.into_values().collect();
        self.result.agents.sort_by(|one, other| one.definition.name.cmp(&other.definition.name));
        self.result.errors.sort_by(|one, other| one.files.cmp(&other.files));
        self.result.remarks = std::mem::take(&mut self.result.remarks).sorted();
        self.result
    }

    fn take(&mut self, name: String, path: PathBuf, agent: ReadAgent, agents: &mut IndexMap<String, Agent>) {
        let shadows = agents.contains_key(&name);
        if shadows {
            let message = format!("{} stands in for the built-in agent of that name", quoted(&name));
            let warning = agent.named.warning("shadows-builtin", message).label("built in, too");
            self.result.remarks.push(warning.hint("another name lets both review"));
        }
        let origin = AgentOrigin::Custom { path, shadows };
        agents.insert(name, Agent { definition: agent.definition, origin });
    }

    fn refuse_both(&mut self, name: &str, files: Vec<(PathBuf, ReadAgent)>) {
        let shown: Vec<String> = files.iter().map(|(path, _)| self.places.shown(path)).collect();
        let files_named = list_of(shown.iter().map(String::as_str), "and");
        let message = format!("the name {} is given by {files_named}: none of them is used", quoted(name));
        let mut places = files.iter().map(|(_, agent)| &agent.named);
        let Some(first) = places.next() else { return };
        let mut error = first.error("duplicate", message).label("given here");
        for other in places {
            error = error.also(other, "and here");
        }
        let diagnostics = [error.hint("give each agent a name of its own")].into_iter().collect();
        let files = files.into_iter().map(|(path, _)| path).collect();
        self.result.errors.push(LoadError { files, name: name.to_owned(), diagnostics });
    }
}

/// detects files in which newer versions of another tool configure its own internals.
fn is_of_another_tool(path: &Path, document: &Document) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let name = document.root.get("name").and_then(|name| name.as_text());
    ["selector", "aggregator"].contains(&stem)
        && name == Some(stem)
        && document.root.get("output_schema").is_none()
}
