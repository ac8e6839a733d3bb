//! `{{include:KIND/NAME}}` and `{extends:NAME}` in the texts of a piece.
//!
//! Both are replaced before a template is parsed, so a run holds the whole text. What TAKT would insert and Saihai
//! cannot is an error: a placeholder that reaches an agent unnoticed is worse than a refused file.

use super::texts::{Facet, PiecePassage, PieceReader};
use crate::{Diagnostic, LARGEST_FILE, Located, Span, quoted, quoted_path};

/// Maximum number of texts that include each other.
const DEEPEST_INCLUDE: usize = 5;

/// Placeholders of newer releases whose values Saihai does not have.
const FOREIGN: [&str; 3] = ["{var:", "{context:", "{structured:"];

/// A reference to another text, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PartialReference<'t> {
    written: &'t str,
    at: usize,
    /// Folder and name; without a folder, the text has the kind of the one that extends it.
    folder: Option<&'t str>,
    name: &'t str,
}

impl PieceReader<'_> {
    /// Replaces every reference to another text.
    pub(super) fn with_partials(&mut self, facet: Facet, passage: PiecePassage) -> Option<PiecePassage> {
        if FOREIGN.iter().any(|start| passage.text.contains(start)) {
            self.refuse_foreign(&passage);
        }
        if next_reference(&passage.text).is_none() {
            return Some(passage);
        }
        let text = self.expanded(facet, &passage, 0)?;
        let mut at = passage.at;
        // Offsets in the expanded text are not offsets in the file, so messages search for the words.
        at.span = at.span.or_else(|| Some(Span::new(0, at.file.text().len())));
        Some(PiecePassage { text, at })
    }

    fn refuse_foreign(&mut self, passage: &PiecePassage) {
        for start in FOREIGN {
            let Some(at) = passage.text.find(start) else { continue };
            let end = passage.text[at..].find('}').map_or(passage.text.len(), |end| at + end + 1);
            let written = &passage.text[at..end];
            let message = format!("the variable {} is not supported", quoted(written));
            let hint = "Saihai has no value for it; write the text itself";
            self.diagnostics.push(passage.find(written, at).error("not-supported", message).hint(hint));
        }
    }

    fn expanded(&mut self, facet: Facet, passage: &PiecePassage, depth: usize) -> Option<String> {
        let mut text = String::new();
        let mut done = 0;
        while let Some(reference) = next_reference(&passage.text[done..]) {
            let at = done + reference.at;
            text.push_str(&passage.text[done..at]);
            let place = passage.find(reference.written, at);
            if depth >= DEEPEST_INCLUDE {
                let message = format!("texts include each other more than {DEEPEST_INCLUDE} levels deep");
                self.diagnostics.push(place.error("too-large", message));
                return None;
            }
            let value = Located::new(reference.written.to_owned(), place);
            let inner = self.partial(facet, &reference, &value)?;
            text.push_str(self.expanded(facet, &inner, depth + 1)?.trim_end_matches('\n'));
            if text.len() as u64 > LARGEST_FILE {
                let message =
                    format!("the text is larger than {} KiB with its includes", LARGEST_FILE / 1024);
                self.diagnostics.push(value.error("too-large", message));
                return None;
            }
            done = at + reference.written.len();
        }
        text.push_str(&passage.text[done..]);
        Some(text)
    }

    fn partial(
        &mut self,
        facet: Facet,
        reference: &PartialReference<'_>,
        value: &Located<String>,
    ) -> Option<PiecePassage> {
        let folder = reference.folder.unwrap_or_else(|| facet.directory());
        let directories = self.directories(folder);
        let is_name = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        };
        if is_name(folder) && reference.name.split('/').all(is_name) {
            for directory in &directories {
                let path = directory.join(format!("{}.md", reference.name));
                if self.has_file(&path) {
                    return self.read(&path, value);
                }
            }
        }
        let missing = self.missing_partial(reference, value, &directories);
        self.diagnostics.push(missing);
        None
    }

    fn missing_partial(
        &self,
        reference: &PartialReference<'_>,
        value: &Located<String>,
        directories: &[std::path::PathBuf],
    ) -> Diagnostic {
        let message = format!("{} names no text", quoted(reference.written));
        let looked: Vec<String> = directories.iter().map(|path| quoted_path(&self.shown(path))).collect();
        let hint = format!("put `{}.md` into {}", reference.name, looked.join(" or "));
        value.error("missing-file", message).label("no such text").hint(hint)
    }
}

/// Finds the first reference of a text.
fn next_reference(text: &str) -> Option<PartialReference<'_>> {
    let find = |start: &str, end: &str| {
        let at = text.find(start)?;
        let inside = &text[at + start.len()..];
        let length = inside.find(['}', '\n'])?;
        let written = &text[at..at + start.len() + length];
        inside[length..].starts_with(end).then(|| (at, inside[..length].trim(), written.len() + end.len()))
    };
    let include = find("{{include:", "}}").map(|(at, inside, length)| {
        let (folder, name) = inside.split_once('/').map_or((None, inside), |(kind, name)| (Some(kind), name));
        PartialReference { written: &text[at..at + length], at, folder, name }
    });
    let extends = find("{extends:", "}").map(|(at, name, length)| PartialReference {
        written: &text[at..at + length],
        at,
        folder: None,
        name,
    });
    include.into_iter().chain(extends).min_by_key(|reference| reference.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn references_are_found_in_order() {
        let found = |text| next_reference(text).map(|found| (found.written, found.folder, found.name));
        assert_eq!(
            found("a {{include:partials/x}} b"),
            Some(("{{include:partials/x}}", Some("partials"), "x"))
        );
        assert_eq!(found("{extends:base}\n{{include:k/x}}"), Some(("{extends:base}", None, "base")));
        assert_eq!(found("{include:x} {{include:x\n}}"), None);
    }
}
