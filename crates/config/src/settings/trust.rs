//! Project files that the user trusts to run programs and to send secrets to other hosts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::sandbox::is_of_all_providers;
use super::values::{SettingOrigin, layer_of_file, provider_of};
use crate::diagnostic::{Area, Diagnostics, DocumentPath, Location};
use crate::document::{Document, Format, LARGEST_FILE, Value, cannot_read};
use crate::source::{ReadError, Source};

/// File in the user directory that stores the trusted files.
pub const TRUST_FILE: &str = "trust.toml";

const HEAD: &str = "# Project files that may run programs, with the hash of their trusted content.\n\
                    # Written by `saihai trust`. Trust a changed file again.\n\n";

/// Trusted files with the hashes of their contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    files: BTreeMap<String, String>,
}

impl Trust {
    /// Loads the trusted files. If the file is unreadable, nothing is trusted.
    pub fn load(source: &dyn Source, user: Option<&Path>, diagnostics: &mut Diagnostics) -> Self {
        let Some(path) = user.map(|directory| directory.join(TRUST_FILE)) else { return Self::default() };
        let name = path.to_string_lossy();
        match source.read(&path, LARGEST_FILE) {
            Ok(bytes) => {
                let document = Document::parse(&bytes, Format::Toml, &name, Area::Settings, diagnostics);
                document.map(|document| Self::read(&document)).unwrap_or_default()
            }
            Err(ReadError::Missing) => Self::default(),
            Err(error) => {
                diagnostics.push(cannot_read(&error, &name, Area::Settings));
                Self::default()
            }
        }
    }

    fn read(document: &Document) -> Self {
        let mut files = BTreeMap::new();
        if let Some(Value::Map(entries)) = document.root.get("files").map(|node| &node.value) {
            for entry in entries.iter() {
                if let Some(hash) = entry.value.as_text() {
                    files.insert(entry.key.to_string(), hash.to_owned());
                }
            }
        }
        Self { files }
    }

    /// Returns the new content of the file. The caller writes it.
    pub fn to_toml(&self) -> String {
        let files: toml::Table =
            self.files.iter().map(|(path, hash)| (path.clone(), toml::Value::String(hash.clone()))).collect();
        let mut table = toml::Table::new();
        table.insert("files".to_owned(), toml::Value::Table(files));
        format!("{HEAD}{table}")
    }

    /// Returns true if the file is trusted with this content. The path must be canonical.
    pub fn trusts(&self, path: &Path, content: &[u8]) -> bool {
        self.files.get(path.to_string_lossy().as_ref()).is_some_and(|known| *known == hash(content))
    }

    /// Returns true if the file was ever trusted, with any content.
    pub fn knows(&self, path: &Path) -> bool {
        self.files.contains_key(path.to_string_lossy().as_ref())
    }

    pub fn record(&mut self, path: &Path, content: &[u8]) {
        self.files.insert(path.to_string_lossy().into_owned(), hash(content));
    }

    /// Removes the trust in a file. Returns true if the file was trusted.
    pub fn revoke(&mut self, path: &Path) -> bool {
        self.files.remove(path.to_string_lossy().as_ref()).is_some()
    }

    /// Returns the trusted files with their content hashes, sorted.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, hash)| (path.as_str(), hash.as_str()))
    }
}

/// A settings file as presented for a trust decision.
#[derive(Debug, Clone, PartialEq)]
pub struct TrustRequest {
    pub path: PathBuf,
    pub content: Vec<u8>,
    /// Keys that need trust, with their values as written.
    pub keys: Vec<(String, String)>,
}

impl TrustRequest {
    /// Reads a settings file and collects the keys that need trust.
    pub fn examine(source: &dyn Source, path: &Path, diagnostics: &mut Diagnostics) -> Option<Self> {
        let name = path.to_string_lossy();
        let read = source.read(path, LARGEST_FILE);
        let content = match read.and_then(|content| Ok((source.canonical(path)?, content))) {
            Ok(found) => found,
            Err(error) => {
                diagnostics.push(cannot_read(&error, &name, Area::Settings));
                return None;
            }
        };
        let (path, content) = content;
        let document = Document::parse(&content, Format::Toml, &name, Area::Settings, diagnostics)?;
        let layer = layer_of_file(&document, SettingOrigin::Project, diagnostics);
        let keys = layer.into_iter().filter(|(key, _)| needs_trust(key) || key.key_at(0) == Some("checks"));
        let keys = keys.map(|(key, setting)| (key.to_string(), written(&setting.at))).collect();
        Some(Self { path, content, keys })
    }
}

/// Returns the source text at a location.
fn written(at: &Location) -> String {
    at.span.and_then(|span| at.file.text().get(span.start..span.end)).unwrap_or_default().to_owned()
}

/// Returns true if a project file can set the key only when trusted.
pub(super) fn needs_trust(key: &DocumentPath) -> bool {
    // Replies of a script can run programs, so a script file is as dangerous as a program.
    const PROVIDER: [&str; 10] =
        ["program", "args", "env", "env_pass", "base_url", "honours", "kind", "trust", "file", "sandbox"];
    if provider_of(key).is_some() {
        return key.key_at(2).is_some_and(|name| PROVIDER.contains(&name));
    }
    if is_of_all_providers(key) {
        return true;
    }
    match (key.key_at(0), key.key_at(1)) {
        (Some("work"), Some("api" | "verify" | "copy_files")) | (Some("distributed"), Some("server")) => true,
        (Some("notify"), None) | (Some("mcp"), Some("gates")) => true,
        (_, _) => false,
    }
}

fn hash(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
