//! Definitions: finding one by name or path (K-11), listing all, and loading one as a workflow.

mod builtin;
mod find;

use std::path::{Path, PathBuf};

use saihai_model::{
    Budget, IssueNumber, Millis, Permission, ProviderName, StageId, TextFile, TurnId, Workflow,
};

pub(crate) use self::builtin::BuiltInDefinition;
pub use self::find::{DefinitionStanding, ListedDefinition, find, list};
pub(crate) use self::find::{ignored_hats, piece_files};
use crate::delivery::Wishes;
use crate::steps::parameters::parameter_flags;
use crate::{Area, Diagnostic, Diagnostics, Document, Language, Settings, Source, plain, quoted};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Name from the command line, or the file stem.
    pub name: String,
    pub dialect: Dialect,
    pub origin: Origin,
    /// Its file; `None` for a built-in.
    pub path: Option<PathBuf>,
}

impl Definition {
    /// Parses the file, or the text of a built-in in `language`.
    pub(crate) fn open(
        &self,
        source: &dyn Source,
        places: &ProjectPaths,
        language: Language,
        diagnostics: &mut Diagnostics,
    ) -> Option<Document> {
        let area = self.dialect.area();
        if let Some(path) = &self.path {
            return Document::load(source, path, &places.shown(path), area, diagnostics);
        }
        BuiltInDefinition::of(self)?.parse(language, area, diagnostics)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Project,
    User,
    BuiltIn,
    Path,
}

impl Origin {
    /// Returns the name for messages and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::BuiltIn => "built-in",
            Self::Path => "path",
        }
    }
}

/// Reads a definition and the files it names, and lowers it to a workflow.
pub fn load(
    source: &dyn Source,
    places: &ProjectPaths,
    definition: &Definition,
    options: &Options,
    settings: &Settings,
) -> LoadedDefinition {
    let mut loaded = match definition.dialect {
        Dialect::Piece => crate::piece::load(source, places, definition, options, settings),
        Dialect::Hats => crate::hats::load(source, places, definition, options, settings),
        Dialect::Steps => crate::steps::load(source, places, definition, options, settings),
        // A single review agent is not a workflow. Review combines several of them with the changes to review.
        Dialect::Review => {
            let check = |path| crate::review::check_agent(source, places, path);
            LoadedDefinition::refused(definition.path.as_deref().map(check).unwrap_or_default())
        }
    };
    // K-20: only step agents have parameters, so values for other dialects are an error.
    if definition.dialect != Dialect::Steps
        && let Some((name, _)) = options.values.first()
    {
        let message = format!("{} has no parameter {}", quoted(&definition.name), quoted(name));
        let diagnostic = Diagnostic::error(Area::Workflow.code("unknown-parameter"), message);
        loaded.diagnostics.push(diagnostic.hint("only step agents have parameters; put it into the task"));
        loaded.workflow = None;
    }
    loaded
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    Piece,
    Hats,
    Steps,
    Review,
}

impl Dialect {
    pub const ALL: [Self; 4] = [Self::Piece, Self::Hats, Self::Steps, Self::Review];

    /// Returns the prefix in `piece:NAME`, which is also the name in JSON.
    pub fn name(self) -> &'static str {
        self.area().name()
    }

    /// Returns the area of the dialect's diagnostics.
    pub fn area(self) -> Area {
        match self {
            Self::Piece => Area::Piece,
            Self::Hats => Area::Hats,
            Self::Steps => Area::Steps,
            Self::Review => Area::Review,
        }
    }
}

/// Directories that a command uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPaths {
    pub current: PathBuf,
    pub root: PathBuf,
    /// The user's Saihai directory, if it exists.
    pub user: Option<PathBuf>,
    /// The user's home directory, if known.
    pub home: Option<PathBuf>,
}

impl ProjectPaths {
    /// Resolves a path from a file. Absolute paths and `~/…` do not depend on `directory`. Others are
    /// relative to it, or to the current directory. Returns `None` if the home directory is unknown.
    pub fn resolve(&self, directory: Option<&Path>, written: &str) -> Option<PathBuf> {
        if let Some(rest) = written.strip_prefix('~') {
            let home = self.home.as_ref()?;
            if rest.is_empty() {
                return Some(home.clone());
            }
            return rest.strip_prefix(std::path::is_separator).map(|rest| home.join(rest));
        }
        Some(directory.unwrap_or(&self.current).join(written))
    }

    /// Returns a path for display: relative to the current directory, or with `~` for the home directory.
    pub fn shown(&self, path: &Path) -> String {
        let path = plain(path);
        if let Ok(relative) = path.strip_prefix(&self.current) {
            return relative.display().to_string();
        }
        if let Some(below) = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            return Path::new("~").join(below).display().to_string();
        }
        path.display().to_string()
    }
}

/// Command-line options of a run. They override the definition and the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    pub provider: Option<ProviderName>,
    pub model: Option<String>,
    pub max_iterations: Option<u32>,
    /// Upper limit for the permission of every turn.
    pub max_permission: Option<Permission>,
    pub budget: Budget,
    pub run_timeout: Option<Millis>,
    /// Values for the definition's parameters and variables, in command-line order.
    pub values: Vec<(String, String)>,
    pub issue: Option<IssueNumber>,
    /// True if a run starts, so required values must be present. Commands that only inspect get placeholders.
    pub starts: bool,
    /// True if a person can answer questions.
    pub interactive: bool,
    /// True for work on an issue: delivery replaces the definition's own gates before and after the work.
    pub delivers: bool,
}

/// Result of loading a definition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadedDefinition {
    /// The workflow, or `None` if there are errors.
    pub workflow: Option<Workflow>,
    pub diagnostics: Diagnostics,
    /// Remarks for the user about this run.
    pub notes: Vec<String>,
    /// All files read, the definition first.
    pub uses: Vec<PathBuf>,
    pub language: Language,
    /// For each turn, the tokens of its first prompt that come from neither definition, task nor values.
    pub added_tokens: Vec<(StageId, TurnId, u64)>,
    /// Prompt texts from separate files, with the source of each variable.
    pub texts: Vec<TextUse>,
    /// Description from the definition itself.
    pub description: Option<String>,
    /// True if no turn names a provider, so replies are made up.
    pub rehearsal: bool,
    /// True if a turn leaves the provider to the settings, and they name none.
    pub needs_default_provider: bool,
    /// True if a run needs a task.
    pub needs_task: bool,
    /// Default task if the command line gives none.
    pub task: Option<String>,
    /// Options for work on an issue.
    pub wishes: Wishes,
}

impl LoadedDefinition {
    /// Returns a result with diagnostics only.
    pub(crate) fn refused(diagnostics: Diagnostics) -> Self {
        Self { diagnostics, ..Self::default() }
    }
}

/// A text file that a stage uses in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextUse {
    /// Owner and path of the file.
    pub text: TextFile,
    /// Variables of the text in order of first use, each with its source.
    pub variables: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionFlag {
    /// Parameter that the flag sets.
    pub key: String,
    /// The flag with its dashes.
    pub flag: String,
    /// True for a switch that takes no value.
    pub alone: bool,
    /// Help text from the definition, with the default value.
    pub about: String,
}

/// Returns the flags of a definition, or none if it is missing or unreadable.
pub fn flags(source: &dyn Source, places: &ProjectPaths, asked: &str) -> Vec<DefinitionFlag> {
    let Ok(definition) = find(source, places, asked) else { return Vec::new() };
    let Some(path) = definition.path.filter(|_| definition.dialect == Dialect::Steps) else {
        return Vec::new();
    };
    // Loading the definition later reports its errors.
    let document = Document::load(source, &path, "", Area::Steps, &mut Diagnostics::new());
    let Some(document) = document else { return Vec::new() };
    parameter_flags(&document)
}

#[cfg(test)]
mod tests;
