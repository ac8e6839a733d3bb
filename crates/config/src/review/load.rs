//! Finds and reads all review agents of a project.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use sha2::{Digest as _, Sha256};

use super::AgentDefinition;
use super::agent_file::{ReadAgent, read};
use super::python::PatternMemory;
use crate::diagnostic::{Area, Diagnostic, Diagnostics, Location, SourceFile, list_of, quoted, quoted_path};
use crate::document::{Document, Format, LARGEST_FILE};
use crate::settings::{PYPROJECT, keys_without_effect};
use crate::{FileKind, Language, NewFile, ProjectPaths, Source};

/// Agent directories below the project root.
const DIRECTORIES: [&str; 2] = [".hachimoku/agents", ".saihai/agents"];

/// All readable agents, and the errors of the skipped files.
#[derive(Debug, Clone, Default)]
pub struct LoadResult {
    /// Usable agents, sorted by name.
    pub agents: Vec<Agent>,
    /// Skipped files, sorted by path.
    pub errors: Vec<AgentLoadError>,
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
pub struct AgentLoadError {
    /// The invalid file, or both files that define the same agent.
    pub files: Vec<PathBuf>,
    /// Intended agent name: the name inside the file, else the file name.
    pub name: String,
    pub diagnostics: Diagnostics,
}

impl Agent {
    /// Returns true if only a flag or a setting can select the agent. An edited copy is an ordinary agent.
    pub fn is_optional(&self) -> bool {
        let is_built_in = !matches!(self.origin, AgentOrigin::Custom { .. });
        is_built_in && ALL.iter().any(|one| one.is_optional && one.name == self.definition.name)
    }
}

impl LoadResult {
    /// Returns the names of all agents, including those with invalid files.
    pub fn names(&self) -> Vec<&str> {
        let right = self.agents.iter().map(|agent| agent.definition.name.as_str());
        let all: BTreeSet<&str> = right.chain(self.errors.iter().map(|error| error.name.as_str())).collect();
        all.into_iter().collect()
    }
}

/// Reads the project's agents and the built-in ones. An invalid file is skipped; an unreadable
/// agent directory is an error.
pub fn load(
    source: &dyn Source,
    places: &ProjectPaths,
    language: Language,
) -> Result<LoadResult, Diagnostics> {
    let mut loading = AgentLoading::new(source, places, language);
    let mut refused = Diagnostics::new();
    for directory in agent_directories(source, places) {
        match loading.files(&directory) {
            Ok(files) => files.into_iter().for_each(|file| loading.file(file)),
            Err(diagnostic) => refused.push(*diagnostic),
        }
    }
    loading.foreign_settings();
    if refused.has_errors() { Err(refused) } else { Ok(loading.finish()) }
}

/// Returns the directories of agents. Those of hachimoku are the nearest from the working directory upwards, as 8moku
/// finds them; the project root is the last place.
fn agent_directories(source: &dyn Source, places: &ProjectPaths) -> [PathBuf; 2] {
    let [foreign, own] = DIRECTORIES;
    let above = places.current.ancestors().take_while(|directory| directory.starts_with(&places.root));
    let nearest = above.map(|directory| directory.join(foreign)).find(|path| source.kind(path).is_some());
    [nearest.unwrap_or_else(|| places.root.join(foreign)), places.root.join(own)]
}

/// Returns all errors and warnings about one agent file.
pub fn check_agent(source: &dyn Source, places: &ProjectPaths, path: &Path) -> Diagnostics {
    let mut loading = AgentLoading::new(source, places, Language::default());
    loading.file(path.to_owned());
    let result = loading.finish();
    let mut all = result.remarks;
    result.errors.into_iter().for_each(|error| all.append(error.diagnostics));
    all
}

struct AgentLoading<'a> {
    source: &'a dyn Source,
    places: &'a ProjectPaths,
    language: Language,
    result: LoadResult,
    own: Vec<(PathBuf, AgentFile)>,
    /// Memory budget shared by the patterns of all files.
    room: PatternMemory,
}

enum AgentFile {
    Agent(Box<ReadAgent>),
    Copy(&'static BuiltInAgent),
}

impl<'a> AgentLoading<'a> {
    fn new(source: &'a dyn Source, places: &'a ProjectPaths, language: Language) -> Self {
        let (result, own, room) = (LoadResult::default(), Vec::new(), PatternMemory::default());
        Self { source, places, language, result, own, room }
    }

    /// Returns the agent files of a directory: exactly those that end in `.toml`.
    fn files(&self, directory: &Path) -> Result<Vec<PathBuf>, Box<Diagnostic>> {
        let refuse = |why: &str| {
            let name = self.places.shown(directory);
            let code = Area::Review.code("file");
            let error = Diagnostic::error(code, format!("{} {why}", quoted_path(&name)));
            Box::new(error.hint("review agents are files in a directory of that name"))
        };
        match self.source.kind(directory) {
            None => return Ok(Vec::new()),
            Some(FileKind::File | FileKind::Other) => return Err(refuse("is not a directory")),
            Some(FileKind::Directory) => {}
        }
        let names = self.source.list(directory);
        let names = names.map_err(|error| refuse(&format!("cannot be listed: {error}")))?;
        let agents = names.iter().filter(|name| name.as_encoded_bytes().ends_with(b".toml"));
        Ok(agents.map(|name| directory.join(name)).collect())
    }

    fn file(&mut self, path: PathBuf) {
        let mut found = Diagnostics::new();
        let read = self.read(&path, &mut found);
        if found.has_errors() {
            let name = self.name_of(&path);
            self.result.errors.push(AgentLoadError { files: vec![path], name, diagnostics: found.sorted() });
            return;
        }
        self.result.remarks.append(found);
        self.own.extend(read.map(|read| (path, read)));
    }

    fn read(&mut self, path: &Path, found: &mut Diagnostics) -> Option<AgentFile> {
        let name = self.places.shown(path);
        let refuse = |why: String, hint: Option<&str>| {
            let file = std::sync::Arc::new(SourceFile::new(Area::Review, name.as_str(), ""));
            let error =
                Location::whole(&file).error("file", format!("cannot read {}: {why}", quoted_path(&name)));
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
        if let Some(built_in) = unedited(&bytes) {
            return Some(AgentFile::Copy(built_in));
        }
        let document = Document::parse(&bytes, Format::Toml, &name, Area::Review, found)?;
        if is_of_another_tool(path, &document) {
            let message =
                format!("{} has no effect: Saihai chooses and merges without an agent", quoted_path(&name));
            found.push(Location::whole(&document.file).note("no-effect", message));
            return None;
        }
        read(&document, &mut self.room, found).map(|agent| AgentFile::Agent(Box::new(agent)))
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
            let message = format!("{} has no effect", quoted_path(&self.places.shown(&path)));
            let note = Diagnostic::note(Area::Review.code("no-effect"), message);
            self.result.remarks.push(note.hint("settings are `[review]` in `.saihai/config.toml`"));
        }
        let content = self.source.read(&self.places.root.join(PYPROJECT), LARGEST_FILE).unwrap_or_default();
        let unused = keys_without_effect(&content);
        if !unused.is_empty() {
            let keys = list_of(unused.iter().map(String::as_str), "and");
            let message = format!("of `[tool.hachimoku]` in {}, {keys} have no effect", quoted(PYPROJECT));
            let note = Diagnostic::note(Area::Review.code("no-effect"), message);
            self.result.remarks.push(note.hint("settings are `[review]` in `.saihai/config.toml`"));
        }
    }

    /// decides which agent replaces which.
    fn finish(mut self) -> LoadResult {
        let mut agents: IndexMap<String, Agent> = IndexMap::new();
        for built_in in &ALL {
            let definition = built_in.definition(self.language);
            agents.insert(definition.name.clone(), Agent { definition, origin: AgentOrigin::BuiltIn });
        }
        let mut own: IndexMap<String, Vec<(PathBuf, ReadAgent)>> = IndexMap::new();
        for (path, read) in std::mem::take(&mut self.own) {
            match read {
                AgentFile::Agent(agent) => {
                    own.entry(agent.definition.name.clone()).or_default().push((path, *agent));
                }
                AgentFile::Copy(built_in) => {
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
            let message = format!("{} replaces the built-in agent of that name", quoted(&name));
            let warning = agent.named.warning("shadows-builtin", message).label("also a built-in agent");
            self.result.remarks.push(warning.hint("use another name to run both"));
        }
        let origin = AgentOrigin::Custom { path, shadows };
        agents.insert(name, Agent { definition: agent.definition, origin });
    }

    fn refuse_both(&mut self, name: &str, files: Vec<(PathBuf, ReadAgent)>) {
        let shown: Vec<String> = files.iter().map(|(path, _)| self.places.shown(path)).collect();
        let files_named = list_of(shown.iter().map(String::as_str), "and");
        let message =
            format!("several agents have the name {}: {files_named}; Saihai uses none of them", quoted(name));
        let mut places = files.iter().map(|(_, agent)| &agent.named);
        let Some(first) = places.next() else { return };
        let mut error = first.error("duplicate", message).label("given here");
        for other in places {
            error = error.also(other, "and here");
        }
        let diagnostics = [error.hint("give each agent a different name")].into_iter().collect();
        let files = files.into_iter().map(|(path, _)| path).collect();
        self.result.errors.push(AgentLoadError { files, name: name.to_owned(), diagnostics });
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

/// A built-in agent in both languages.
#[derive(Debug)]
pub(super) struct BuiltInAgent {
    pub(super) name: &'static str,
    /// True if the agent takes part only on request. Its findings are seldom worth the price for every change.
    is_optional: bool,
    english: &'static str,
    japanese: &'static str,
}

macro_rules! agent {
    ($name:literal) => {
        agent!($name, optional: false)
    };
    ($name:literal, optional: $optional:literal) => {
        BuiltInAgent {
            name: $name,
            is_optional: $optional,
            english: include_str!(concat!("builtin/", $name, ".en.toml")),
            japanese: include_str!(concat!("builtin/", $name, ".ja.toml")),
        }
    };
}

pub(super) static ALL: [BuiltInAgent; 11] = [
    agent!("architecture-reviewer", optional: true),
    agent!("breaking-change-reviewer"),
    agent!("code-reviewer"),
    agent!("code-simplifier"),
    agent!("comment-analyzer"),
    agent!("dependency-reviewer"),
    agent!("performance-reviewer", optional: true),
    agent!("pr-test-analyzer"),
    agent!("security-reviewer"),
    agent!("silent-failure-hunter"),
    agent!("type-design-analyzer"),
];

/// Prefix of the first line of a copy.
const MARK: &str = "# saihai-builtin: ";

/// Returns an editable copy of every built-in agent for a project.
pub fn copies(root: &Path, language: Language) -> Vec<NewFile> {
    let file = |one: &BuiltInAgent| NewFile {
        path: root.join(".saihai/agents").join(format!("{}.toml", one.name)),
        text: one.copy(language),
    };
    ALL.iter().map(file).collect()
}

/// Returns the text of an agent's file. It is missing if the file is no longer readable.
pub fn agent_text(source: &dyn Source, agent: &Agent, language: Language) -> Option<String> {
    match &agent.origin {
        AgentOrigin::BuiltIn | AgentOrigin::UneditedCopy(_) => {
            let built_in = ALL.iter().find(|one| one.name == agent.definition.name)?;
            Some(built_in.text(language).to_owned())
        }
        AgentOrigin::Custom { path, .. } => {
            Some(String::from_utf8_lossy(&source.read(path, LARGEST_FILE).ok()?).into_owned())
        }
    }
}

impl BuiltInAgent {
    pub(super) fn text(&self, language: Language) -> &'static str {
        language.pick(self.english, self.japanese)
    }

    /// Returns the text of a copy, with a first line that names the original.
    pub(super) fn copy(&self, language: Language) -> String {
        let text = self.text(language);
        format!("{MARK}{} sha256={}\n{text}", self.name, digest(text))
    }

    pub(super) fn definition(&self, language: Language) -> AgentDefinition {
        let mut found = Diagnostics::new();
        let text = self.text(language).as_bytes();
        let document = Document::parse(text, Format::Toml, self.name, Area::Review, &mut found);
        let agent = document.and_then(|document| read(&document, &mut PatternMemory::default(), &mut found));
        agent.expect("a test reads every agent that comes with Saihai in both languages").definition
    }
}

/// returns the built-in agent if the file is an unedited copy of it. A marked file with a
/// different agent name is not a copy: treating it as one would silently drop that agent.
pub(super) fn unedited(bytes: &[u8]) -> Option<&'static BuiltInAgent> {
    let text = std::str::from_utf8(bytes).ok()?.replace("\r\n", "\n");
    let (first, rest) = text.split_once('\n')?;
    let (name, hash) = first.strip_prefix(MARK)?.split_once(" sha256=")?;
    let built_in = ALL.iter().find(|built_in| built_in.name == name)?;
    let named = toml::from_str::<toml::Table>(rest).ok()?;
    let is_named = named.get("name").and_then(toml::Value::as_str) == Some(name);
    (is_named && hash == digest(rest)).then_some(built_in)
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
