//! References to prompt files (S-8, S-48).

use std::path::PathBuf;

use indexmap::IndexMap;

use super::tables;
use crate::{Cursor, Diagnostics, Fields, Located, Location, quoted};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reference {
    /// File, relative to the base of all prompts.
    pub(super) file: Located<String>,
    /// Fallback file, relative to the same base.
    pub(super) fallback: Option<Located<String>>,
    /// Edition and adaptation, if components name the file.
    pub(super) split: Option<(String, Option<String>)>,
}

impl Reference {
    /// Reads a reference: a path, or three components with an edition.
    pub(super) fn read(
        value: &Cursor<'_>,
        editions: &IndexMap<String, String>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let fields = Fields::read(value, &tables::PROMPT, diagnostics)?;
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
                let (file, edition, adaptation) = component_file(&fields, editions, diagnostics)?;
                let split = Some((edition, adaptation));
                Some(Self { file: Located::new(file, value.location()), fallback, split })
            }
            (Some(_), true) => {
                let message = "a prompt has either `path` or components, not both";
                diagnostics.push(value.error("prompt-ref", message).hint("keep one of them"));
                None
            }
            (None, false) => {
                // A `path` of the wrong type is already reported.
                if !fields.has("path") {
                    let message = "a prompt needs `path`, or `c1`, `c2` and `c3`";
                    diagnostics.push(value.error("prompt-ref", message).label("neither is given"));
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
    fields: &Fields<'_>,
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
                diagnostics.push(
                    fields.location().error("prompt-ref", message).label("one of the three is missing"),
                );
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
