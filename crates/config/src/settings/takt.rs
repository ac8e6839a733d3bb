//! `config.yaml` of TAKT: the few values that mean the same here. Saihai's own settings win.

use std::path::Path;

use saihai_model::ProviderKind;

use super::values::{Layer, Setting, SettingOrigin};
use crate::diagnostic::{Area, Diagnostics, DocumentPath, quoted};
use crate::document::{Document, Format, LARGEST_FILE, cannot_read};
use crate::fields::Cursor;
use crate::lowering::provider_of_takt;
use crate::source::{ReadError, Source};

/// File below the project and below the home directory.
const FILE: &str = ".takt/config.yaml";

/// Reads provider, model and language of TAKT's settings: those of the user, then those of the project.
pub(super) fn takt_layer(
    source: &dyn Source,
    (root, home, current): (&Path, Option<&Path>, &Path),
    diagnostics: &mut Diagnostics,
) -> Layer {
    let own = home.filter(|home| *home != root).map(|home| (home.join(FILE), TaktFile::OfUser));
    let files = own.into_iter().chain([(root.join(FILE), TaktFile::OfProject)]);
    files.flat_map(|(path, owner)| read(source, &path, current, owner, diagnostics)).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaktFile {
    OfUser,
    OfProject,
}

fn read(
    source: &dyn Source,
    path: &Path,
    current: &Path,
    owner: TaktFile,
    diagnostics: &mut Diagnostics,
) -> Layer {
    let name = path.strip_prefix(current).unwrap_or(path).to_string_lossy();
    let content = match source.read(path, LARGEST_FILE) {
        Ok(content) => content,
        Err(ReadError::Missing) => return Layer::new(),
        Err(error) => {
            diagnostics.push(cannot_read(&error, &name, Area::Settings));
            return Layer::new();
        }
    };
    let document = Document::parse(&content, Format::Yaml, &name, Area::Settings, diagnostics);
    let Some(document) = document else { return Layer::new() };
    let root = document.cursor();
    let mut layer = Layer::new();
    let mut set = |key: DocumentPath, value: &Cursor<'_>, text: &str| {
        let at = value.location();
        let origin = match owner {
            TaktFile::OfUser => SettingOrigin::User(at.clone()),
            TaktFile::OfProject => SettingOrigin::Project(at.clone()),
        };
        let mut node = value.node().clone();
        node.value = crate::document::Value::Text(text.into());
        layer.push((key, Setting { node, at, origin }));
    };
    if let Some(language) = root.get("language")
        && let Some(text) = language.node().as_text().filter(|text| matches!(*text, "ja" | "en"))
    {
        set(DocumentPath::of_keys("language"), &language, text);
    }
    // Newer releases write `provider: {type: claude, model: opus}`.
    let Some(provider) = root.get("provider") else { return layer };
    let named = provider.get("type").unwrap_or_else(|| provider.clone());
    let Some(written) = named.node().as_text() else { return layer };
    let ours = provider_of_takt(written);
    if ProviderKind::named(ours).is_none() {
        let message = format!("Saihai does not know TAKT's provider {}", quoted(written));
        let hint = "set `provider` in `.saihai/config.toml`";
        diagnostics.push(named.warning("unknown-provider", message).label("has no effect").hint(hint));
        return layer;
    }
    set(DocumentPath::of_keys("provider"), &named, ours);
    if let Some(model) = provider.get("model").or_else(|| root.get("model"))
        && let Some(text) = model.node().as_text()
    {
        let key = DocumentPath::root().key("providers").key(ours).key("model");
        set(key, &model, text);
    }
    layer
}
