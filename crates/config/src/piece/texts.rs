//! Texts of a piece: inline, in files or in facet directories (P-8), each read once before the run (P-6).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use super::takt_keys::IdleTaktKeys;
use crate::{
    Area, Diagnostic, Diagnostics, Document, Format, LARGEST_FILE, Located, Location, ProjectPaths,
    ReadError, Source, SourceFile, Span, quoted, quoted_path,
};

/// Maximum bytes of all texts. A text counts once per use, because every prompt holds its own copy.
const MOST: usize = 64 * 1024 * 1024;

/// A text and its location in the piece or in a separate file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PiecePassage {
    pub(super) text: String,
    /// Location of the value in the piece, or the whole file.
    pub(super) at: Location,
}

impl PiecePassage {
    /// Returns the location of `words`, found at byte `at` of the text. Byte offsets differ in a quoted or
    /// folded value, so there it searches for the words.
    pub(super) fn find(&self, words: &str, at: usize) -> Location {
        let mut location = self.at.clone();
        let source = self.at.file.text();
        location.span = match self.at.span {
            None => Some(Span::new(at, at + words.len())),
            Some(span) => {
                let earlier = self.text.get(..at).map_or(0, |before| before.matches(words).count());
                let written = source.get(span.start..span.end).unwrap_or_default();
                let found = written.match_indices(words).nth(earlier).map(|(at, _)| span.start + at);
                found.map(|start| Span::new(start, start + words.len())).or(Some(span))
            }
        };
        location
    }
}

/// Reads the texts of a piece and collects the diagnostics of its readers.
pub(super) struct PieceReader<'a> {
    source: &'a dyn Source,
    places: &'a ProjectPaths,
    /// Directory of the piece file; `None` for a built-in.
    directory: Option<PathBuf>,
    /// Directories of other files of the piece, by the name of the file.
    directories: HashMap<String, PathBuf>,
    /// Names of the workflows that call the one being read.
    pub(super) calls: Vec<String>,
    maps: HashMap<Facet, IndexMap<String, FacetEntry>>,
    used: HashSet<(Facet, String)>,
    files: BTreeMap<PathBuf, Result<Arc<SourceFile>, BadTextFile>>,
    /// Bytes of all texts returned so far.
    given: usize,
    pub(super) diagnostics: Diagnostics,
    pub(super) idle: IdleTaktKeys,
}

#[derive(Debug, Clone)]
struct FacetEntry {
    key: Location,
    text: Located<String>,
}

#[derive(Debug, Clone)]
enum BadTextFile {
    Unread(ReadError),
    NotText,
    Blank,
}

impl<'a> PieceReader<'a> {
    pub(super) fn new(
        source: &'a dyn Source,
        places: &'a ProjectPaths,
        directory: Option<&Path>,
        diagnostics: Diagnostics,
    ) -> Self {
        Self {
            source,
            places,
            directory: directory.map(Path::to_owned),
            directories: HashMap::new(),
            calls: Vec::new(),
            maps: HashMap::new(),
            used: HashSet::new(),
            files: BTreeMap::new(),
            given: 0,
            diagnostics,
            idle: IdleTaktKeys::default(),
        }
    }

    /// Reads a workflow that another one calls: it has its own facets and directory.
    pub(super) fn in_child<T>(
        &mut self,
        name: &str,
        directory: Option<PathBuf>,
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let maps = std::mem::take(&mut self.maps);
        let used = std::mem::take(&mut self.used);
        let outer = std::mem::replace(&mut self.directory, directory);
        self.calls.push(name.to_owned());
        let result = read(self);
        self.calls.pop();
        (self.maps, self.used, self.directory) = (maps, used, outer);
        result
    }

    pub(super) fn places(&self) -> &'a ProjectPaths {
        self.places
    }

    /// Returns the directory of the file in which a value is written.
    fn directory_of(&self, value: &Located<String>) -> Option<&Path> {
        let other = self.directories.get(value.at.file.name()).map(PathBuf::as_path);
        other.or(self.directory.as_deref())
    }

    /// Registers an entry of one of the piece's maps.
    pub(super) fn define(&mut self, facet: Facet, name: Located<String>, text: Located<String>) {
        self.maps.entry(facet).or_default().insert(name.value, FacetEntry { key: name.at, text });
    }

    /// Returns the text that a value refers to.
    pub(super) fn resolve(&mut self, facet: Facet, value: &Located<String>) -> Option<PiecePassage> {
        if self.given > MOST {
            return None;
        }
        let passage = self.look_up(facet, value)?;
        let passage = self.with_partials(facet, passage)?;
        self.given += passage.text.len();
        if self.given > MOST {
            let message =
                format!("the texts of this piece are larger than {} MiB together", MOST / 1024 / 1024);
            self.diagnostics.push(value.error("too-large", message).label("the limit is exceeded here"));
        }
        Some(passage)
    }

    fn look_up(&mut self, facet: Facet, value: &Located<String>) -> Option<PiecePassage> {
        if let Some(entry) = self.maps.get(&facet).and_then(|map| map.get(&value.value)).cloned() {
            self.used.insert((facet, value.value.clone()));
            return self.entry(facet, &entry.text);
        }
        if self.is_file(facet, value) {
            return self.file(value);
        }
        if is_word(&value.value) {
            for directory in self.facet_directories(facet) {
                let path = directory.join(format!("{}.md", value.value));
                if self.source.is_file(&path) {
                    return self.read(&path, value);
                }
            }
            if facet != Facet::Instruction || facet.is_bundled_by_takt(&value.value) {
                let unknown = self.unknown(facet, value);
                self.diagnostics.push(unknown);
                return None;
            }
            // P-8: one word can be a whole instruction, as in TAKT.
            let suspicious = self.looks_like_name(facet, value);
            self.diagnostics.extend(suspicious);
        }
        if !facet.may_be_inline(&value.value) {
            let unknown = self.unknown(facet, value);
            self.diagnostics.push(unknown);
            return None;
        }
        Some(PiecePassage { text: value.value.clone(), at: value.at.clone() })
    }

    /// Reports every map entry that the piece does not use.
    pub(super) fn unused(&self) -> impl Iterator<Item = Diagnostic> + '_ {
        let entries = Facet::ALL.into_iter().flat_map(|facet| {
            let map = self.maps.get(&facet).into_iter().flatten();
            map.map(move |(name, entry)| (facet, name, entry))
        });
        let unused = entries.filter(|(facet, name, _)| !self.used.contains(&(*facet, (*name).clone())));
        unused.map(|(facet, name, entry)| {
            let message = format!("{} {} is never used", facet.noun(), quoted(name));
            entry.key.warning("unused-facet", message).label("remove it, or use it")
        })
    }

    /// Returns the files read so far.
    pub(super) fn files(&self) -> impl Iterator<Item = (&Path, &SourceFile)> {
        self.files.iter().filter_map(|(path, file)| Some((path.as_path(), file.as_deref().ok()?)))
    }

    /// Returns the text of a map entry: inline, or from its file (P-7).
    fn entry(&mut self, facet: Facet, entry: &Located<String>) -> Option<PiecePassage> {
        if self.is_file(Facet::Instruction, entry) {
            return self.file(entry);
        }
        if entry.value.trim().is_empty() {
            let message = format!("the text of this {} is blank", facet.noun());
            self.diagnostics.push(entry.error("bad-value", message).label("only whitespace"));
            return None;
        }
        Some(PiecePassage { text: entry.value.clone(), at: entry.at.clone() })
    }

    /// returns true if a value names a file: it looks like a path, or it ends in `.md` and the file exists.
    fn is_file(&self, facet: Facet, value: &Located<String>) -> bool {
        let written = value.value.trim_end();
        if facet.is_path(written) {
            return true;
        }
        let one_line = !written.contains('\n') && written.ends_with(".md");
        let path = one_line.then(|| self.places.resolve(self.directory_of(value), written)).flatten();
        path.is_some_and(|path| self.source.is_file(&path))
    }

    fn file(&mut self, value: &Located<String>) -> Option<PiecePassage> {
        let path = self.resolve_path(value)?;
        self.read(&path, value)
    }

    pub(super) fn has_file(&self, path: &Path) -> bool {
        self.source.is_file(path)
    }

    /// Returns the name of a file for messages.
    pub(super) fn shown(&self, path: &Path) -> String {
        self.places.shown(path)
    }

    pub(super) fn read(&mut self, path: &Path, value: &Located<String>) -> Option<PiecePassage> {
        let name = self.places.shown(path);
        if !self.files.contains_key(path) {
            self.files.insert(path.to_owned(), read(self.source, path, &name));
        }
        match &self.files[path] {
            Ok(file) => Some(PiecePassage { text: file.text().to_owned(), at: Location::whole(file) }),
            Err(bad) => {
                self.diagnostics.push(bad.diagnostic(value, &name));
                None
            }
        }
    }

    fn facet_directories(&self, facet: Facet) -> Vec<PathBuf> {
        self.directories(facet.directory())
    }

    /// Returns the directories that can hold the texts of a kind, in order.
    pub(super) fn directories(&self, kind: &str) -> Vec<PathBuf> {
        let own = self.places.home.as_ref().filter(|home| **home != self.places.root);
        let roots = [Some(&self.places.root), own];
        // releases 0.9 to 0.21 kept facets next to the pieces.
        let below = |root: &PathBuf| [".takt/facets", ".takt"].map(|parent| root.join(parent).join(kind));
        roots.into_iter().flatten().flat_map(below).collect()
    }

    /// Returns a directory of the project's and of the user's TAKT files.
    pub(super) fn below_takt(&self, kind: &str) -> Vec<PathBuf> {
        let own = self.places.home.as_ref().filter(|home| **home != self.places.root);
        let roots = [Some(&self.places.root), own];
        roots.into_iter().flatten().map(|root| root.join(".takt").join(kind)).collect()
    }

    /// Returns the path that a value names, relative to the file in which it is written.
    pub(super) fn resolve_path(&mut self, value: &Located<String>) -> Option<PathBuf> {
        let written = value.value.trim_end();
        let path = self.places.resolve(self.directory_of(value), written);
        if path.is_none() {
            let message = format!("{} cannot be found: the home directory is unknown", quoted(written));
            self.diagnostics.push(value.error("missing-file", message));
        }
        path
    }

    /// returns a rule of `all_steps` from a folder `rules` next to the workflow, of the project or of the user.
    pub(super) fn rule_of_all(&mut self, name: &Located<String>) -> Option<PiecePassage> {
        let own = self.directory.iter().map(|directory| directory.join("rules"));
        let folders: Vec<PathBuf> = own.chain(self.below_takt("workflows/rules")).collect();
        let mut paths = folders.iter().map(|folder| folder.join(format!("{}.md", name.value)));
        if let Some(path) = paths.find(|path| is_word(&name.value) && self.source.is_file(path)) {
            return self.read(&path, name);
        }
        let message = format!("no rule for all steps is named {}", quoted(&name.value));
        let looked: Vec<String> = folders.iter().map(|path| quoted_path(&self.places.shown(path))).collect();
        let hint = format!("put `{}.md` into {}", name.value, looked.join(" or "));
        self.diagnostics.push(name.error("missing-file", message).hint(hint));
        None
    }

    /// Reads a YAML file that the value names.
    pub(super) fn document(&mut self, path: &Path, value: &Located<String>) -> Option<Document> {
        let name = self.places.shown(path);
        let bytes = match self.source.read(path, LARGEST_FILE) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.diagnostics.push(BadTextFile::Unread(error).diagnostic(value, &name));
                return None;
            }
        };
        let document = Document::parse(&bytes, Format::of(path), &name, Area::Piece, &mut self.diagnostics)?;
        self.files.insert(path.to_owned(), Ok(Arc::clone(&document.file)));
        self.directories.extend(path.parent().map(|parent| (name, parent.to_owned())));
        Some(document)
    }

    /// Returns a warning about one word of text that is probably meant as the name of a facet.
    fn looks_like_name(&self, facet: Facet, value: &Located<String>) -> Option<Diagnostic> {
        let in_directories = self.facet_directories(facet).into_iter();
        let files: Vec<String> = in_directories.flat_map(|directory| self.source.texts(&directory)).collect();
        let in_files = files.iter().filter_map(|file| file.strip_suffix(".md"));
        let in_map = self.maps.get(&facet).into_iter().flat_map(|map| map.keys().map(String::as_str));
        let near = self.diagnostics.suggest(&value.value, in_map.chain(in_files));
        let is_compound = value.value.contains(['_', '-']);
        if near.is_none() && !is_compound {
            return None;
        }
        let message =
            format!("no {} is named {}, so the word itself is the text", facet.noun(), quoted(&value.value));
        let map = facet.map();
        let hint =
            near.unwrap_or_else(|| format!("if it is a name, add it to `{map}:`, or name a `.md` file"));
        Some(value.warning("unknown-facet", message).label("sent to the agent unchanged").hint(hint))
    }

    fn unknown(&self, facet: Facet, value: &Located<String>) -> Diagnostic {
        let noun = facet.noun();
        let message = format!("no {noun} is named {}", quoted(&value.value));
        let named = self.maps.get(&facet).into_iter().flat_map(|map| map.keys().map(String::as_str));
        let hint = self.diagnostics.suggest(&value.value, named).unwrap_or_else(|| {
            let directories: Vec<String> = self
                .facet_directories(facet)
                .iter()
                .map(|path| quoted_path(&self.places.shown(path)))
                .collect();
            let map = facet.map();
            match facet.is_bundled_by_takt(&value.value) {
                true => format!(
                    "TAKT bundles this {noun}, Saihai does not: copy it with `takt eject` into {}",
                    directories.first().map_or("", String::as_str)
                ),
                false => format!(
                    "add it to `{map}:`, name a `.md` file, or put one into {}",
                    directories.join(" or ")
                ),
            }
        });
        value.error("unknown-facet", message).label("not in the piece and in no facet directory").hint(hint)
    }
}

impl BadTextFile {
    fn diagnostic(&self, value: &Located<String>, name: &str) -> Diagnostic {
        let name = quoted(name);
        match self {
            Self::Unread(ReadError::Missing) => {
                value.error("missing-file", format!("the file {name} does not exist")).label("no such file")
            }
            Self::Unread(error @ ReadError::TooLarge { .. }) => {
                value.error("too-large", format!("the file {name} cannot be used: {error}"))
            }
            Self::Unread(error) => {
                value.error("bad-file", format!("the file {name} cannot be read: {error}"))
            }
            Self::NotText => value.error("bad-file", format!("the file {name} is not UTF-8")),
            Self::Blank => value.error("bad-file", format!("the file {name} is blank")),
        }
    }
}

fn read(source: &dyn Source, path: &Path, name: &str) -> Result<Arc<SourceFile>, BadTextFile> {
    let bytes = source.read(path, LARGEST_FILE).map_err(BadTextFile::Unread)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let text = std::str::from_utf8(bytes).map_err(|_| BadTextFile::NotText)?;
    if text.trim().is_empty() {
        return Err(BadTextFile::Blank);
    }
    Ok(Arc::new(SourceFile::new(Area::Piece, name, text)))
}

/// Returns true for a single word, which can be the name of a facet.
fn is_word(value: &str) -> bool {
    !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Kind of text that a piece can keep in a map, in a file, or in the facet directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Facet {
    Persona,
    Policy,
    Knowledge,
    Instruction,
    Format,
}

impl Facet {
    pub(super) const ALL: [Self; 5] =
        [Self::Persona, Self::Policy, Self::Knowledge, Self::Instruction, Self::Format];

    /// Returns the key of the piece's map.
    pub(super) fn map(self) -> &'static str {
        match self {
            Self::Persona => "personas",
            Self::Policy => "policies",
            Self::Knowledge => "knowledge",
            Self::Instruction => "instructions",
            Self::Format => "report_formats",
        }
    }

    pub(super) fn directory(self) -> &'static str {
        match self {
            Self::Persona => "personas",
            Self::Policy => "policies",
            Self::Knowledge => "knowledge",
            Self::Instruction => "instructions",
            Self::Format => "output-contracts",
        }
    }

    /// Returns the word for messages.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Persona => "persona",
            Self::Policy => "policy",
            Self::Knowledge => "knowledge",
            Self::Instruction => "instruction",
            Self::Format => "report format",
        }
    }

    /// Returns true if the value may be the text itself instead of a name. A persona with blanks is one.
    fn may_be_inline(self, value: &str) -> bool {
        match self {
            Self::Persona => value.trim().contains(char::is_whitespace),
            Self::Policy | Self::Knowledge => false,
            Self::Instruction | Self::Format => true,
        }
    }

    /// Returns true if a value is written as a path, so that a missing file is an error.
    fn is_path(self, value: &str) -> bool {
        let starts_like_one = ["./", "../", "/", "~/"].iter().any(|start| value.starts_with(start));
        if value.contains('\n') {
            false
        } else if value.contains(char::is_whitespace) {
            starts_like_one && value.ends_with(".md")
        } else {
            value.ends_with(".md") || (!self.may_be_inline(value) && value.contains('/'))
        }
    }

    /// Returns true for a name that TAKT itself brings, so that its files use it without defining it.
    fn is_bundled_by_takt(self, name: &str) -> bool {
        let bundled: &[&str] = match self {
            Self::Persona => &[
                "planner",
                "coder",
                "supervisor",
                "conductor",
                "architect-planner",
                "architecture-reviewer",
                "ai-antipattern-reviewer",
                "security-reviewer",
                "qa-reviewer",
                "frontend-reviewer",
                "test-planner",
            ],
            Self::Policy => &["coding", "review", "testing", "ai-antipattern", "qa", "research"],
            Self::Knowledge => {
                &["architecture", "backend", "frontend", "security", "cqrs-es", "unit-testing"]
            }
            Self::Instruction => {
                &["plan", "implement", "architect", "ai-review", "ai-fix", "fix", "supervise", "arbitrate"]
            }
            Self::Format => &[
                "plan",
                "summary",
                "coder-scope",
                "coder-decisions",
                "ai-review",
                "architecture-review",
                "security-review",
                "qa-review",
            ],
        };
        bundled.contains(&name)
    }
}
