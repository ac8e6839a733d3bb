//! Collects the codes that the sources can report, from the source text itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use saihai_config::Dialect;

/// Modules whose diagnostics get the area of the file being read.
const SHARED: [&str; 2] = ["document", "fields"];

/// Areas whose files the shared modules read.
const READ: [&str; 7] = ["piece", "hats", "steps", "settings", "script", "review", "work"];

/// Codes that the shared modules cannot report for an area, because its tables or its format lack the cause.
pub(crate) const NEVER: [(&str, &str); 13] = [
    ("settings", "not-supported"),
    ("settings", "missing-key"),
    ("settings", "duplicate-field"),
    ("steps", "unknown-provider"),
    ("hats", "duplicate-field"),
    ("hats", "bad-file"),
    ("review", "unknown-provider"),
    ("review", "not-supported"),
    ("review", "duplicate-field"),
    // Review agents have their own reader, which reports these problems as `review/file`.
    ("review", "missing-file"),
    ("review", "bad-file"),
    ("work", "not-supported"),
    ("work", "duplicate-field"),
];

/// Returns every code that the sources can report.
pub(crate) fn codes() -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    for path in sources() {
        let text = plain(&std::fs::read_to_string(&path).expect("a source file"));
        for (area, slug) in named(&text) {
            codes.insert(format!("{area}/{slug}"));
        }
        let areas = areas_of(&path);
        for slug in located(&text).iter().flat_map(|slug| areas.iter().map(move |area| (*area, slug))) {
            codes.insert(format!("{}/{}", slug.0, slug.1));
        }
    }
    for (area, slug) in NEVER {
        assert!(codes.remove(&format!("{area}/{slug}")), "{area}/{slug} need not be left out");
    }
    codes
}

/// Returns the source files of all crates, without tests.
pub(crate) fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut open, mut found) = (vec![crates], Vec::new());
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).expect("a directory of the sources") {
            let path = entry.expect("an entry of it").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
            match name.as_str() {
                "tests" | "tests.rs" | "target" | "benches" | "examples" => {}
                _ if path.is_dir() => open.push(path),
                name if name.ends_with(".rs") => found.push(path),
                _ => {}
            }
        }
    }
    found
}

/// Removes comments and line breaks from a source, so that each call is on one line.
pub(crate) fn plain(source: &str) -> String {
    let code = source.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    code.collect::<Vec<_>>().join(" ").replace("( ", "(")
}

/// Returns the areas of the located diagnostics in a file: its module's area, or all areas for a shared module.
fn areas_of(path: &Path) -> Vec<&'static str> {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").canonicalize().expect("the sources");
    let path = path.canonicalize().expect("a source file");
    let Ok(inside) = path.strip_prefix(config) else { return Vec::new() };
    let first = inside.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
    let module = first.trim_end_matches(".rs");
    if SHARED.contains(&module) {
        return READ.to_vec();
    }
    // Every dialect uses the lowering module.
    if module == "lowering" {
        return Dialect::ALL.into_iter().map(|dialect| dialect.area().name()).collect();
    }
    if module == "issues" {
        return vec!["work"];
    }
    let own = ["piece", "hats", "steps", "review", "settings", "script"];
    own.into_iter().filter(|area| *area == module).collect()
}

/// Returns codes with an explicit area, such as `Area::Piece.code("unknown-piece")`.
fn named(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for rest in text.split("Area::").skip(1) {
        if let Some((area, slug)) = rest.split_once(".code(\"")
            && area.chars().all(char::is_alphabetic)
        {
            found.extend(literal(slug).map(|slug| (area.to_lowercase(), slug)));
        }
    }
    found
}

/// Returns the slugs of diagnostics that get their area from their file.
fn located(text: &str) -> Vec<String> {
    let calls = [
        ".error(\"",
        ".warning(\"",
        ".note(\"",
        "Problem::new(\"",
        "Self::new(\"",
        ".slug(\"",
        ".slug.unwrap_or(\"",
    ];
    let mut found: Vec<String> = calls.iter().flat_map(|call| after(text, call)).collect();
    // A `match` on the read error chooses the slug and reports it later.
    let arms = text.split("ReadError::").skip(1).filter_map(|rest| rest.split_once("=> \""));
    found.extend(arms.filter(|(pattern, _)| !pattern.contains("=>")).filter_map(|(_, slug)| literal(slug)));
    found
}

fn after(text: &str, before: &str) -> Vec<String> {
    text.split(before).skip(1).filter_map(literal).collect()
}

/// Returns the text before the closing quote if it is a slug.
fn literal(rest: &str) -> Option<String> {
    let slug = rest.split('"').next()?;
    let is_slug = !slug.is_empty() && slug.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    is_slug.then(|| slug.to_owned())
}
