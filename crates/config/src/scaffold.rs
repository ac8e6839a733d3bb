//! Initial files of a project, and built-in definitions as project files. Writes nothing to disk.

use std::path::{Path, PathBuf};

use crate::definition::BuiltInDefinition;
use crate::{Definition, Dialect, Language, Origin, ProjectPaths, Source, review, schema};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    pub path: PathBuf,
    pub text: String,
}

/// Returns the initial files: settings, the definition [`FIRST`], editor schemas for both, `.gitignore`.
pub fn scaffold(root: &Path, language: Language) -> Vec<NewFile> {
    let settings =
        language.pick(include_str!("scaffold/config.en.toml"), include_str!("scaffold/config.ja.toml"));
    let first = language.pick(include_str!("scaffold/first.en.yaml"), include_str!("scaffold/first.ja.yaml"));
    let file =
        |below: &str, text: &str| NewFile { path: root.join(".saihai").join(below), text: text.to_owned() };
    let mut files = vec![
        file("config.toml", settings),
        file("pieces/first.yaml", first),
        file(".gitignore", "/batches/\n/cache/\n/reports/\n/runs/\n"),
    ];
    for name in ["piece", "settings"] {
        let schema = schema(name).and_then(|schema| serde_json::to_string_pretty(&schema).ok());
        files.extend(schema.map(|text| file(&format!("schema/{name}.json"), &format!("{text}\n"))));
    }
    files
}

/// Name of the definition that [`scaffold`] creates.
pub const FIRST: &str = "first";

/// Returns a built-in definition as project files, the definition itself first. It keeps its name,
/// so it takes precedence over the built-in one.
pub fn eject(
    source: &dyn Source,
    places: &ProjectPaths,
    definition: &Definition,
    language: Language,
) -> Option<Vec<NewFile>> {
    if definition.dialect == Dialect::Review {
        let copies = review::copies(&places.root, language).into_iter();
        let copy =
            copies.filter(|_| definition.origin == Origin::BuiltIn).find(|file| names(file, definition));
        return copy.map(|file| vec![file]);
    }
    let built_in = BuiltInDefinition::of(definition)?;
    let text = built_in.text(language).to_owned();
    match definition.dialect {
        Dialect::Piece => {
            let directory = places.root.join(".saihai/pieces");
            let [long, short] = ["yaml", "yml"].map(|end| directory.join(format!("{}.{end}", built_in.name)));
            // Two files with the same name but different extensions would be ambiguous.
            let path = if source.kind(&short).is_some() { short } else { long };
            Some(vec![NewFile { path, text }])
        }
        // H-8: hats have a single name, so the copy becomes the definition `orch`.
        Dialect::Hats => Some(vec![NewFile { path: places.root.join("orch.yml"), text }]),
        Dialect::Steps => {
            let directory = places.root.join(".agent").join(built_in.name);
            let file =
                |(below, text): (&str, &str)| NewFile { path: directory.join(below), text: text.to_owned() };
            Some(built_in.files(language).map(file).collect())
        }
        Dialect::Review => None,
    }
}

/// Returns true if the file has the name of the definition.
fn names(file: &NewFile, definition: &Definition) -> bool {
    file.path.file_stem().is_some_and(|stem| *stem == *definition.name)
}

#[cfg(test)]
mod tests;
