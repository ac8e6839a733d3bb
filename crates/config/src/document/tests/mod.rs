mod bounds;
mod formats;
mod laws;
mod refusals;

use insta::assert_snapshot;

use super::*;
use crate::diagnostic::{Colour, to_human};

fn read(bytes: &[u8], format: Format) -> (Option<Document>, String) {
    let mut diagnostics = Diagnostics::new();
    let document = Document::parse(bytes, format, "a", Area::Piece, &mut diagnostics);
    (document, to_human(&diagnostics, Colour::Never))
}

/// Formats the tree as JSON, then all errors.
fn show(text: impl AsRef<[u8]>, format: Format) -> String {
    let (document, diagnostics) = read(text.as_ref(), format);
    let tree = document.map_or(String::new(), |document| format!("{}\n", document.root.to_json()));
    format!("{tree}{diagnostics}")
}

/// Formats every key and value with its source text.
fn spans(text: &str, format: Format) -> String {
    let (document, diagnostics) = read(text.as_bytes(), format);
    let document = document.expect(&diagnostics);
    let mut out = String::new();
    walk(&document.cursor(), &mut out);
    out
}

fn walk(cursor: &Cursor<'_>, out: &mut String) {
    let span = cursor.node().span;
    let written = &cursor.document().file.text()[span.start..span.end];
    out.push_str(&format!("{}: {written:?}\n", cursor.path()));
    for item in cursor.items() {
        walk(&item, out);
    }
    for (key, value) in cursor.entries() {
        let span = key.at.span.unwrap();
        out.push_str(&format!("  key {:?}\n", &cursor.document().file.text()[span.start..span.end]));
        walk(&value, out);
    }
}

const YAML: Format = Format::Yaml;
const JSON: Format = Format::Json;
const TOML: Format = Format::Toml;
