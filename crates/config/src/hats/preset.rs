//! Presets that hats files inherit from (H-20, H-21).

use std::path::PathBuf;

use super::read;
use super::written::Written;
use crate::definition::BuiltIn;
use crate::{
    Area, Diagnostics, Dialect, Document, Format, Language, Located, Places, Source, list_of, quoted,
};

const USUAL: &str = "simple";

pub(super) struct Preset {
    pub(super) written: Written,
    /// The parsed file, to detect the language of its texts.
    pub(super) document: Document,
    /// Its file; `None` for a built-in.
    pub(super) path: Option<PathBuf>,
}

/// Finds a preset: the project's own, else a built-in one. If it is missing or unreadable, it reports the
/// error and returns `None`.
pub(super) fn find(
    source: &dyn Source,
    places: &Places,
    asked: Option<&Located<String>>,
    language: Language,
    diagnostics: &mut Diagnostics,
) -> Option<Preset> {
    let name = asked.map_or(USUAL, |asked| &asked.value);
    let (document, path) = match own(source, places, name) {
        Some(path) => {
            let document = Document::load(source, &path, &places.shown(&path), Area::Hats, diagnostics)?;
            (document, Some(path))
        }
        None => match built_in(name) {
            Some(built_in) => {
                let shown = format!("(built-in)/{name}.yaml");
                let text = built_in.text(language).as_bytes();
                (Document::parse(text, Format::Yaml, &shown, Area::Hats, diagnostics)?, None)
            }
            None => {
                report_unknown(source, places, asked?, diagnostics);
                return None;
            }
        },
    };
    let mut written = read::read(&document, diagnostics)?;
    refuse_chain(&written, name, diagnostics);
    if path.is_none() {
        // Saihai chose the language of the built-in, so it says nothing about the file's language.
        written.language = None;
    }
    Some(Preset { written, document, path })
}

fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BuiltIn::named(name).filter(|built_in| built_in.dialect == Dialect::Hats)
}

fn own(source: &dyn Source, places: &Places, name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.contains(['/', '\\']) {
        return None;
    }
    let files = ["yml", "yaml"].map(|end| places.root.join("presets").join(format!("{name}.{end}")));
    files.into_iter().find(|file| source.is_file(file))
}

/// H-21: a preset cannot inherit from another preset.
pub(super) fn refuse_chain(written: &Written, name: &str, diagnostics: &mut Diagnostics) {
    if let Some(other) = written.preset.as_ref().filter(|other| other.value != name) {
        let message = format!("the preset {} cannot stand on another preset", quoted(name));
        let hint = "copy what it needs of the other one";
        diagnostics.push(other.error("bad-value", message).label("another preset").hint(hint));
    }
}

fn report_unknown(
    source: &dyn Source,
    places: &Places,
    asked: &Located<String>,
    diagnostics: &mut Diagnostics,
) {
    let files = source.texts(&places.root.join("presets"));
    let own = files.iter().filter_map(|file| file.strip_suffix(".yml").or(file.strip_suffix(".yaml")));
    let built_in = BuiltIn::all().iter().filter(|one| one.dialect == Dialect::Hats).map(|one| one.name);
    let names: Vec<&str> = built_in.chain(own).collect();
    let message = format!("no preset is named {}", quoted(&asked.value));
    let near = diagnostics.suggest(&asked.value, names.iter().copied());
    let all = format!("there is {}", list_of(names.iter().copied(), "and"));
    let hint = near.map_or(all.clone(), |near| format!("{near} {all}"));
    diagnostics.push(asked.error("unknown-preset", message).label("not a preset").hint(hint));
}
