//! Project code that OpenCode executes at start.
//!
//! `OPENCODE_DISABLE_PROJECT_CONFIG` and `OPENCODE_PURE` disable one loader of project settings. A second,
//! newer loader ignores both. It imports `.opencode/plugin/*.js` and every plugin in `opencode.json`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

const PLUGINS: [&str; 2] = [".opencode/plugin", ".opencode/plugins"];
const SETTINGS: [&str; 4] =
    ["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"];

/// Larger settings files are not searched and count as naming a plugin.
const LARGEST: u64 = 1024 * 1024;

/// Returns the path of the first such file, from the root.
pub(super) fn of_project(root: &Path) -> Option<PathBuf> {
    let plugin = PLUGINS.iter().find_map(|directory| plugin(root, Path::new(directory)));
    plugin.or_else(|| SETTINGS.iter().map(PathBuf::from).find(|file| names_plugins(&root.join(file))))
}

fn plugin(root: &Path, directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(root.join(directory)).ok()?.flatten();
    let mut names: Vec<_> = entries.map(|entry| directory.join(entry.file_name())).collect();
    names.sort();
    let is_code = |file: &PathBuf| {
        file.extension().is_some_and(|end| end == OsStr::new("js") || end == OsStr::new("ts"))
    };
    names.into_iter().find(is_code)
}

/// Returns true if settings may name a plugin. They may contain comments, so this searches the text instead
/// of parsing it. An escaped letter counts too: only an attempt to hide something needs one.
fn names_plugins(file: &Path) -> bool {
    let Ok(metadata) = fs::metadata(file) else { return false };
    if !metadata.is_file() || metadata.len() > LARGEST {
        return true;
    }
    let mut text = Vec::new();
    let read = File::open(file).and_then(|file| file.take(LARGEST).read_to_end(&mut text));
    let has = |word: &str| text.windows(word.len()).any(|window| window == word.as_bytes());
    read.is_err() || has("plugin") || has("\\u")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_and_settings_that_may_name_some_are_found() {
        let check = |file: &str, text: &str, expected: Option<&str>| {
            let root = tempfile::tempdir().expect("a directory");
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, text).expect("a file");
            assert_eq!(of_project(root.path()).as_deref(), expected.map(Path::new), "{file}");
        };
        check(".opencode/plugin/a.js", "", Some(".opencode/plugin/a.js"));
        check(".opencode/plugins/a.ts", "", Some(".opencode/plugins/a.ts"));
        check(".opencode/plugin/README.md", "", None);
        check(".opencode/plugin/deeper/a.js", "", None);
        check("opencode.json", r#"{"model": "x/y"}"#, None);
        check("opencode.json", r#"{"plugin": ["./evil.js"]}"#, Some("opencode.json"));
        check(
            ".opencode/opencode.jsonc",
            r#"{"\u0070lugins": ["./evil.js"]}"#,
            Some(".opencode/opencode.jsonc"),
        );
        check("src/plugin.js", "", None);
    }
}
