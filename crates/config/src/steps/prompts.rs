//! Prompt files of an agent. Each is found at its reference or a fallback, and read once (S-48 to S-50).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use saihai_model::TextSource;

use super::paths::Paths;
use super::reference::Reference;
use crate::{
    Area, Diagnostic, Diagnostics, LARGEST_FILE, Located, Location, ReadError, SourceFile, Span, quoted,
};

/// Text of a prompt file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Passage {
    file: Arc<SourceFile>,
    /// Start of the text, after the front matter.
    offset: usize,
    /// Reason why this file was selected.
    source: TextSource,
}

impl Passage {
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

pub(super) struct Prompts<'a> {
    paths: &'a Paths<'a>,
    /// Base directory of all prompts.
    base: PathBuf,
    fallback: Option<PathBuf>,
    files: BTreeMap<PathBuf, Read>,
    /// Files that replace a missing prompt by name only, with that prompt.
    stand_ins: HashMap<PathBuf, String>,
    /// First reference to each file.
    meant: HashMap<String, Reference>,
}

#[derive(Debug, Clone)]
enum Read {
    Text(Passage),
    /// The file does not exist or is empty.
    Missing,
    Unread(ReadError),
    NotText,
}

impl<'a> Prompts<'a> {
    pub(super) fn new(paths: &'a Paths<'a>, base: PathBuf, fallback: Option<PathBuf>) -> Self {
        let (files, stand_ins, meant) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        Self { paths, base, fallback, files, stand_ins, meant }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().filter_map(|(path, read)| match read {
            Read::Text(passage) => Some((path.as_path(), passage.text())),
            Read::Missing | Read::Unread(_) | Read::NotText => None,
        })
    }

    /// Loads a text from a fixed path, such as a system prompt.
    pub(super) fn file(
        &mut self,
        written: &Located<String>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Passage> {
        let path = match self.paths.below(written) {
            Ok(path) => path,
            Err(escape) => {
                diagnostics.push(*escape);
                return None;
            }
        };
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
        reference: &Reference,
        diagnostics: &mut Diagnostics,
    ) -> Option<Passage> {
        let mut tried: Vec<PathBuf> = Vec::new();
        for place in self.places(reference, diagnostics)? {
            tried.push(place.path.clone());
            let Ok(found) = self.read(&place.path, reference.at().clone(), diagnostics) else { return None };
            let Some(passage) = found else { continue };
            self.note(&place, reference, diagnostics);
            return Some(Passage { source: place.means.source(), ..passage });
        }
        diagnostics.push(self.not_found(reference.at(), &tried));
        None
    }

    /// Warns about two references to one file that split edition and adaptation differently (S-48).
    pub(super) fn check_splits(&mut self, reference: &Reference, diagnostics: &mut Diagnostics) {
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
    fn places(&self, reference: &Reference, diagnostics: &mut Diagnostics) -> Option<Vec<Place>> {
        let mut inside = |directory: &Path, written: &Located<String>| {
            self.paths.inside(directory, written).map_err(|escape| diagnostics.push(*escape)).ok()
        };
        let mut places = vec![Place { path: inside(&self.base, &reference.file)?, means: Means::Primary }];
        if let Some(fallback) = &reference.fallback {
            places.push(Place { path: inside(&self.base, fallback)?, means: Means::Fallback });
        }
        if let Some(directory) = &self.fallback {
            places.push(Place { path: inside(directory, &reference.file)?, means: Means::Global });
            let name = reference.file.value.rsplit('/').next().unwrap_or(&reference.file.value).to_owned();
            if name != reference.file.value {
                let name = Located::new(name, reference.at().clone());
                places.push(Place { path: inside(directory, &name)?, means: Means::StandIn });
            }
        }
        Some(places)
    }

    /// Warns if a prompt comes from a fallback.
    fn note(&mut self, place: &Place, reference: &Reference, diagnostics: &mut Diagnostics) {
        let shown = self.paths.places.shown(&place.path);
        let message = match place.means {
            Means::Primary => return,
            Means::Fallback => format!("Using fallback: {shown}"),
            Means::Global | Means::StandIn => format!("Using global fallback: {shown}"),
        };
        diagnostics
            .push(reference.at().warning("prompt-fallback", message).label("its own file is not there"));
        let serves_all = matches!(place.means, Means::Global) && !reference.file.value.contains('/');
        if place.means != Means::StandIn && !serves_all {
            return;
        }
        let meant = reference.file.value.clone();
        let first = self.stand_ins.entry(place.path.clone()).or_insert_with(|| meant.clone()).clone();
        if first != meant {
            let message = format!(
                "{} would serve two prompts: {} and {}",
                quoted(&shown),
                quoted(&first),
                quoted(&meant)
            );
            let hint = "put a file of its own for each below the fall-back directory";
            diagnostics.push(reference.at().error("fallback-ambiguous", message).hint(hint));
        }
    }

    fn not_found(&self, at: &Location, tried: &[PathBuf]) -> Diagnostic {
        let shown: Vec<String> = tried.iter().map(|path| quoted(&self.paths.places.shown(path))).collect();
        let message = format!("no prompt was found; tried {}", shown.join(", "));
        at.error("prompt-not-found", message).hint("an empty file counts as none")
    }

    /// Reads a file once. Returns `None` if it does not exist.
    fn read(
        &mut self,
        path: &Path,
        at: Location,
        diagnostics: &mut Diagnostics,
    ) -> Result<Option<Passage>, ()> {
        let shown = self.paths.places.shown(path);
        if self.paths.is_outside(path) {
            let message = format!("{} leads out of the project by a link", quoted(&shown));
            diagnostics.push(at.error("path-escape", message).label("leads out of the project"));
            return Err(());
        }
        let source = self.paths.source;
        let read =
            self.files.entry(path.to_owned()).or_insert_with(|| match source.read(path, LARGEST_FILE) {
                Err(ReadError::Missing) => Read::Missing,
                Err(error) => Read::Unread(error),
                Ok(bytes) => passage(&bytes, &shown),
            });
        match read {
            Read::Text(passage) => Ok(Some(passage.clone())),
            Read::Missing => Ok(None),
            Read::Unread(error) => {
                diagnostics.push(
                    at.error("bad-file", format!("the file {} cannot be read: {error}", quoted(&shown))),
                );
                Err(())
            }
            Read::NotText => {
                diagnostics.push(at.error("bad-file", format!("the file {} is not UTF-8", quoted(&shown))));
                Err(())
            }
        }
    }
}

/// A candidate file, and its kind.
struct Place {
    path: PathBuf,
    means: Means,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    /// The file that the reference names.
    Primary,
    Fallback,
    /// The same path in the fallback directory.
    Global,
    /// A file of the same name directly in the fallback directory.
    StandIn,
}

impl Means {
    fn source(self) -> TextSource {
        match self {
            Self::Primary => TextSource::Primary,
            Self::Fallback => TextSource::Fallback,
            Self::Global | Self::StandIn => TextSource::GlobalFallback,
        }
    }
}

fn passage(bytes: &[u8], name: &str) -> Read {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return Read::NotText };
    let offset = front_matter(text);
    if text[offset..].trim().is_empty() {
        return Read::Missing;
    }
    let file = Arc::new(SourceFile::new(Area::Steps, name, text));
    Read::Text(Passage { file, offset, source: TextSource::Primary })
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
