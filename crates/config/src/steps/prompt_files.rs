//! Prompt files: references to them, and finding each at its place or at a fallback (S-8, S-48 to S-50).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use saihai_model::TextSource;

use super::agent_files::AgentPaths;
use super::shape::FileSection;
use crate::{
    Area, Diagnostic, Diagnostics, LARGEST_FILE, Located, Location, ReadError, SourceFile, Span, quoted,
    quoted_path,
};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PromptReference {
    /// File, relative to the base of all prompts.
    pub(super) file: Located<String>,
    /// Fallback file, relative to the same base.
    pub(super) fallback: Option<Located<String>>,
    /// Edition and adaptation, if components name the file.
    pub(super) split: Option<(String, Option<String>)>,
}

impl PromptReference {
    /// Reads a reference: a path, or three components with an edition.
    pub(super) fn read(
        fields: &FileSection<'_>,
        editions: &IndexMap<String, String>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let components = ["c1", "c2", "c3", "edition", "adaptation"];
        let fallback = fields.text("fallback");
        match (fields.text("path"), components.iter().any(|name| fields.has(name))) {
            (Some(path), false) => {
                if path.value.is_empty() {
                    diagnostics.push(path.error("prompt-ref", "the path of a prompt is empty"));
                    return None;
                }
                Some(Self { file: path, fallback, split: None })
            }
            (None, true) => {
                let (file, edition, adaptation) = component_file(fields, editions, diagnostics)?;
                let split = Some((edition, adaptation));
                Some(Self { file: Located::new(file, fields.at().clone()), fallback, split })
            }
            (Some(_), true) => {
                let message = "a prompt has either `path` or components, not both";
                diagnostics.push(fields.at().error("prompt-ref", message).hint("keep one of them"));
                None
            }
            (None, false) => {
                // A `path` of the wrong type is already reported.
                if !fields.has("path") {
                    let message = "a prompt needs `path`, or `c1`, `c2` and `c3`";
                    diagnostics.push(fields.at().error("prompt-ref", message).label("neither is given"));
                }
                None
            }
        }
    }

    pub(super) fn at(&self) -> &Location {
        &self.file.at
    }
}

/// Builds `c1/c2/c3/f_EDITION.md` or `f_EDITION_ADAPTATION.md`, and returns its edition and adaptation.
fn component_file(
    fields: &FileSection<'_>,
    editions: &IndexMap<String, String>,
    diagnostics: &mut Diagnostics,
) -> Option<(String, String, Option<String>)> {
    let mut sound = true;
    let mut part = |name: &str, value: Option<Located<String>>, diagnostics: &mut Diagnostics| {
        let value = value?;
        if let Some(why) = unfit(&value.value) {
            let message = format!("`{name}` {why}");
            diagnostics.push(value.error("prompt-ref", message).label("no name of a file or directory"));
            sound = false;
        }
        Some(value.value)
    };
    let mut path = PathBuf::new();
    let mut missing = false;
    for name in ["c1", "c2", "c3"] {
        match part(name, fields.text(name), diagnostics) {
            Some(value) => path.push(value),
            None if fields.has(name) => missing = true,
            None => {
                let message = format!("a prompt with components needs `{name}`");
                diagnostics
                    .push(fields.at().error("prompt-ref", message).label("one of the three is missing"));
                missing = true;
            }
        }
    }
    let edition =
        part("edition", fields.text("edition"), diagnostics).unwrap_or_else(|| "default".to_owned());
    let edition = editions.get(&edition).cloned().unwrap_or(edition);
    let adaptation = fields.text("adaptation").filter(|written| !written.value.is_empty());
    let adaptation = part("adaptation", adaptation, diagnostics);
    let file = match &adaptation {
        Some(adaptation) => format!("f_{edition}_{adaptation}.md"),
        None => format!("f_{edition}.md"),
    };
    let whole = path.join(file).to_string_lossy().into_owned();
    (sound && !missing).then_some((whole, edition, adaptation))
}

/// Returns the reason why a component is not a valid file or directory name.
pub(super) fn unfit(component: &str) -> Option<String> {
    if component.is_empty() {
        return Some("is empty".to_owned());
    }
    let bad = component == "." || component == ".." || component.contains(['/', '\\', '\0']);
    bad.then(|| format!("cannot be {}", quoted(component)))
}

/// Text of a prompt file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PromptPassage {
    file: Arc<SourceFile>,
    /// Start of the text, after the front matter.
    offset: usize,
    /// Reason why this file was selected.
    source: TextSource,
}

impl PromptPassage {
    pub(super) fn text(&self) -> &str {
        &self.file.text()[self.offset..]
    }

    pub(super) fn name(&self) -> &str {
        self.file.name()
    }

    pub(super) fn source(&self) -> TextSource {
        self.source
    }

    /// Returns the location of a part of the text.
    pub(super) fn at(&self, start: usize, length: usize) -> Location {
        let start = self.offset + start;
        Location { span: Some(Span::new(start, start + length)), ..Location::whole(&self.file) }
    }
}

pub(super) struct PromptLibrary<'a> {
    paths: &'a AgentPaths<'a>,
    /// Base directory of all prompts.
    base: PathBuf,
    fallback: Option<PathBuf>,
    files: BTreeMap<PathBuf, PromptFile>,
    /// Files that replace a missing prompt by name only, with that prompt.
    stand_ins: HashMap<PathBuf, String>,
    /// First reference to each file.
    meant: HashMap<String, PromptReference>,
}

#[derive(Debug, Clone)]
enum PromptFile {
    Text(PromptPassage),
    /// The file does not exist or is empty.
    Missing,
    Unread(ReadError),
    NotText,
}

impl<'a> PromptLibrary<'a> {
    pub(super) fn new(paths: &'a AgentPaths<'a>, base: PathBuf, fallback: Option<PathBuf>) -> Self {
        let (files, stand_ins, meant) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        Self { paths, base, fallback, files, stand_ins, meant }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().filter_map(|(path, read)| match read {
            PromptFile::Text(passage) => Some((path.as_path(), passage.text())),
            PromptFile::Missing | PromptFile::Unread(_) | PromptFile::NotText => None,
        })
    }

    /// Loads a text from a fixed path, such as a system prompt.
    pub(super) fn file(
        &mut self,
        written: &Located<String>,
        diagnostics: &mut Diagnostics,
    ) -> Option<PromptPassage> {
        let path = self.paths.below(written, diagnostics)?;
        match self.read(&path, written.at.clone(), diagnostics) {
            Ok(Some(passage)) => Some(passage),
            Ok(None) => {
                diagnostics.push(self.not_found(&written.at, &[path]));
                None
            }
            Err(()) => None,
        }
    }

    /// Loads the text of a reference.
    pub(super) fn resolve(
        &mut self,
        reference: &PromptReference,
        diagnostics: &mut Diagnostics,
    ) -> Option<PromptPassage> {
        self.check_splits(reference, diagnostics);
        let mut tried: Vec<PathBuf> = Vec::new();
        for (path, source) in self.candidates(reference, diagnostics)? {
            let Ok(found) = self.read(&path, reference.at().clone(), diagnostics) else { return None };
            if let Some(passage) = found {
                self.note_fallback(&path, source, reference, diagnostics);
                return Some(PromptPassage { source, ..passage });
            }
            tried.push(path);
        }
        diagnostics.push(self.not_found(reference.at(), &tried));
        None
    }

    /// Warns about two references to one file that split edition and adaptation differently (S-48).
    fn check_splits(&mut self, reference: &PromptReference, diagnostics: &mut Diagnostics) {
        let Some(first) = self.meant.get(&reference.file.value) else {
            self.meant.insert(reference.file.value.clone(), reference.clone());
            return;
        };
        if first.split != reference.split {
            let message = format!("two references mean the file {}", quoted(&reference.file.value));
            let diagnostic = reference.at().warning("shared-prompt", message);
            let diagnostic = diagnostic.label("edition and adaptation are split differently");
            diagnostics.push(diagnostic.also(first.at(), "means the same file"));
        }
    }

    /// Returns the candidate files of a reference, in order.
    fn candidates(
        &self,
        reference: &PromptReference,
        diagnostics: &mut Diagnostics,
    ) -> Option<Vec<(PathBuf, TextSource)>> {
        let mut inside =
            |directory: &Path, written: &Located<String>| self.paths.inside(directory, written, diagnostics);
        let mut candidates = vec![(inside(&self.base, &reference.file)?, TextSource::Primary)];
        if let Some(fallback) = &reference.fallback {
            candidates.push((inside(&self.base, fallback)?, TextSource::Fallback));
        }
        if let Some(directory) = &self.fallback {
            candidates.push((inside(directory, &reference.file)?, TextSource::GlobalFallback));
            let name = reference.file.value.rsplit('/').next().unwrap_or_default().to_owned();
            if name != reference.file.value {
                let name = Located::new(name, reference.at().clone());
                candidates.push((inside(directory, &name)?, TextSource::GlobalFallback));
            }
        }
        Some(candidates)
    }

    /// Warns if a prompt comes from a fallback.
    fn note_fallback(
        &mut self,
        path: &Path,
        source: TextSource,
        reference: &PromptReference,
        diagnostics: &mut Diagnostics,
    ) {
        let shown = self.paths.places.shown(path);
        let message = match source {
            TextSource::Primary => return,
            TextSource::Fallback => format!("Using fallback: {shown}"),
            TextSource::GlobalFallback => format!("Using global fallback: {shown}"),
        };
        diagnostics.push(reference.at().warning("prompt-fallback", message).label("its own file is missing"));
        // A file directly in the fallback directory replaces a prompt by name only.
        if source != TextSource::GlobalFallback || path.parent() != self.fallback.as_deref() {
            return;
        }
        let meant = reference.file.value.clone();
        let first = self.stand_ins.entry(path.to_owned()).or_insert_with(|| meant.clone()).clone();
        if first != meant {
            let message = format!(
                "{} would serve two prompts: {} and {}",
                quoted_path(&shown),
                quoted(&first),
                quoted(&meant)
            );
            let hint = "give each its own file in the fallback directory";
            diagnostics.push(reference.at().error("fallback-ambiguous", message).hint(hint));
        }
    }

    fn not_found(&self, at: &Location, tried: &[PathBuf]) -> Diagnostic {
        let shown: Vec<String> =
            tried.iter().map(|path| quoted_path(&self.paths.places.shown(path))).collect();
        let message = format!("no prompt was found; tried {}", shown.join(", "));
        at.error("prompt-not-found", message).hint("an empty file counts as missing")
    }

    /// Reads a file once. Returns `None` if it does not exist.
    fn read(
        &mut self,
        path: &Path,
        at: Location,
        diagnostics: &mut Diagnostics,
    ) -> Result<Option<PromptPassage>, ()> {
        let shown = self.paths.places.shown(path);
        if self.paths.is_outside(path) {
            let message = format!("{} leads out of the project by a link", quoted_path(&shown));
            diagnostics.push(at.error("path-escape", message).label("leads out of the project"));
            return Err(());
        }
        let source = self.paths.source;
        let read =
            self.files.entry(path.to_owned()).or_insert_with(|| match source.read(path, LARGEST_FILE) {
                Err(ReadError::Missing) => PromptFile::Missing,
                Err(error) => PromptFile::Unread(error),
                Ok(bytes) => passage(&bytes, &shown),
            });
        match read {
            PromptFile::Text(passage) => Ok(Some(passage.clone())),
            PromptFile::Missing => Ok(None),
            PromptFile::Unread(error) => {
                diagnostics.push(
                    at.error("bad-file", format!("the file {} cannot be read: {error}", quoted_path(&shown))),
                );
                Err(())
            }
            PromptFile::NotText => {
                diagnostics
                    .push(at.error("bad-file", format!("the file {} is not UTF-8", quoted_path(&shown))));
                Err(())
            }
        }
    }
}

fn passage(bytes: &[u8], name: &str) -> PromptFile {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return PromptFile::NotText };
    let offset = front_matter(text);
    if text[offset..].trim().is_empty() {
        return PromptFile::Missing;
    }
    let file = Arc::new(SourceFile::new(Area::Steps, name, text));
    PromptFile::Text(PromptPassage { file, offset, source: TextSource::Primary })
}

/// Returns the length of the front matter in bytes. Unclosed front matter counts as text.
fn front_matter(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let is_fence = |line: &str| line.trim_end() == "---";
    let Some(first) = lines.next().filter(|line| is_fence(line)) else { return 0 };
    let mut length = first.len();
    for line in lines {
        length += line.len();
        if is_fence(line) {
            return length;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    // S-50, case 26
    #[test]
    fn front_matter_is_left_out_where_it_is_closed() {
        let check = |text: &str, expected: &str| assert_eq!(&text[front_matter(text)..], expected);
        check("---\na: b\n---\nhello\n", "hello\n");
        check("---\r\na: b\r\n---\r\nhello", "hello");
        check("---\na: b\n---", "");
        check("---\na: b\nhello\n", "---\na: b\nhello\n");
        check("hello\n---\nx\n---\n", "hello\n---\nx\n---\n");
        check("", "");
    }
}
