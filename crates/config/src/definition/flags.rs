//! The flags a definition itself adds to the commands that run it (S-12).

use super::{Dialect, Places, find};
use crate::steps::parameter;
use crate::{Area, Diagnostics, Document, Source};

/// A flag of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionFlag {
    /// The parameter it gives a value to.
    pub key: String,
    /// The flag, with its dashes.
    pub flag: String,
    /// Whether it stands alone, and says yes by that.
    pub alone: bool,
    /// What it is for, in the words of the definition, and what holds where it is not given.
    pub about: String,
}

/// The flags of the definition that is asked for; none where there is none, or where it cannot be read.
pub fn flags(source: &dyn Source, places: &Places, asked: &str) -> Vec<DefinitionFlag> {
    let Ok(definition) = find(source, places, asked) else { return Vec::new() };
    let Some(path) = definition.path.filter(|_| definition.dialect == Dialect::Steps) else {
        return Vec::new();
    };
    // What is wrong with it is said when it is really read.
    let document = Document::load(source, &path, "", Area::Steps, &mut Diagnostics::new());
    let Some(document) = document else { return Vec::new() };
    parameter::flags(&document.cursor())
}
