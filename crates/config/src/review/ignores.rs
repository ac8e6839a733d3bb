//! Suppressed findings: `.saihai/review-ignore.toml` (R-62).

use serde::{Deserialize, Serialize};

use super::agent_file::path_pattern;
use crate::diagnostic::{Area, Diagnostic, Diagnostics, quoted, quoted_path};
use crate::document::{Document, Format, LARGEST_FILE};
use crate::fields::{Cursor, Field, Fields, Object, ValueKind};
use crate::{ProjectPaths, Source};

/// Path below the project root.
pub const IGNORE_FILE: &str = ".saihai/review-ignore.toml";

/// An entry of the project's ignore list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingIgnore {
    /// Fingerprint of the suppressed finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Pattern of the files whose findings are suppressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub reason: String,
    /// Last day on which the suppression applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// File that contains this entry.
    pub file: String,
    /// First and last line of this entry.
    pub lines: (u32, u32),
}

pub static IGNORES: Object = Object {
    title: "`review-ignore.toml`",
    fields: &[
        Field::new("ignore", ValueKind::List(&ValueKind::Object(&IGNORE))).about("findings to suppress")
    ],
};

pub static IGNORE: Object = Object {
    title: "an entry of `ignore`",
    fields: &[
        Field::new("fingerprint", ValueKind::Text).about("fingerprint of a finding"),
        Field::new("agent", ValueKind::Text).about("agent whose findings to suppress"),
        Field::new("path", ValueKind::Text)
            .about("pattern of files whose findings to suppress, with `**` and `{a,b}`"),
        Field::required("reason", ValueKind::Text).about("reason"),
        Field::new("expires", ValueKind::Text).about("last day of the suppression, as `YYYY-MM-DD`"),
    ],
};

/// Reads the suppressions of a project. A missing file is fine; an invalid file is an error.
pub fn load_ignores(
    source: &dyn Source,
    places: &ProjectPaths,
    found: &mut Diagnostics,
) -> Vec<FindingIgnore> {
    let path = places.root.join(IGNORE_FILE);
    if !source.is_file(&path) {
        return Vec::new();
    }
    let name = places.shown(&path);
    let bytes = match source.read(&path, LARGEST_FILE) {
        Ok(bytes) => bytes,
        Err(error) => {
            let message = format!("cannot read {}: {error}", quoted_path(&name));
            let hint = error.hint().unwrap_or("it is a text file of at most 1 MiB");
            found.push(Diagnostic::error(Area::Review.code("file"), message).hint(hint));
            return Vec::new();
        }
    };
    let Some(document) = Document::parse(&bytes, Format::Toml, &name, Area::Review, found) else {
        return Vec::new();
    };
    let Some(fields) = Fields::read(&document.cursor(), &IGNORES, found) else { return Vec::new() };
    let lines = EntryLines::of(&String::from_utf8_lossy(&bytes));
    let entries = fields.list("ignore").into_iter().enumerate();
    entries.filter_map(|(index, entry)| read(&entry, lines.at(index), found)).collect()
}

fn read(entry: &Cursor<'_>, lines: (u32, u32), found: &mut Diagnostics) -> Option<FindingIgnore> {
    let fields = Fields::read(entry, &IGNORE, found)?;
    let mut filled = |key: &str| {
        let text = fields.text(key)?;
        if text.value.trim().is_empty() {
            let error = text.error("empty", format!("`{key}` is blank")).label("empty");
            found.push(error.hint(if key == "reason" { "say why" } else { "remove the key" }));
            return None;
        }
        Some(text.value)
    };
    let [fingerprint, agent, path, reason] = ["fingerprint", "agent", "path", "reason"].map(&mut filled);
    if let Some(name) = fields
        .text("fingerprint")
        .filter(|name| !name.value.trim().is_empty() && !is_fingerprint(&name.value))
    {
        let message = format!("{} is not a fingerprint", quoted(&name.value));
        let error = name.error("bad-value", message).label("not a fingerprint");
        found.push(
            error.hint("a fingerprint is 16 digits from `0` to `9` and `a` to `f`, as a report shows them"),
        );
        return None;
    }
    let is_pattern = fields.text("path").is_none_or(|path| path_pattern(&path, found).is_some());
    if !["fingerprint", "agent", "path"].iter().any(|key| fields.has(key)) {
        let message = "an entry needs `fingerprint`, `agent` or `path`";
        let error = fields.location().error("missing-key", message).label("all of them are missing");
        found.push(error.hint("a report shows the fingerprint of each finding"));
        return None;
    }
    let expires = fields.text("expires");
    if let Some(day) = expires.as_ref().filter(|day| !is_day(&day.value)) {
        let message = format!("{} is not a date", quoted(&day.value));
        let error = day.error("bad-value", message).label("not a day");
        found.push(error.hint("a day is written `YYYY-MM-DD`"));
        return None;
    }
    if !is_pattern {
        return None;
    }
    Some(FindingIgnore {
        fingerprint,
        agent,
        path,
        reason: reason?,
        expires: expires.map(|day| day.value),
        file: IGNORE_FILE.to_owned(),
        lines,
    })
}

fn is_fingerprint(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_day(text: &str) -> bool {
    text.len() == "2026-02-06".len() && text.parse::<jiff::civil::Date>().is_ok()
}

/// Line range of each entry, from its heading to the next heading.
struct EntryLines {
    headings: Vec<u32>,
    last: u32,
}

impl EntryLines {
    fn of(text: &str) -> Self {
        let number = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
        let headings =
            text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("[[ignore]]"));
        let headings = headings.map(|(index, _)| number(index)).collect();
        Self { headings, last: number(text.lines().count().saturating_sub(1)) }
    }

    fn at(&self, index: usize) -> (u32, u32) {
        match self.headings.get(index) {
            Some(start) => (*start, self.headings.get(index + 1).map_or(self.last, |next| next - 1)),
            // An inline array has no headings, so each entry gets the lines of the whole file.
            None => (1, self.last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemorySource;
    use crate::diagnostic::{Colour, to_human};

    fn loaded(text: &str) -> (Vec<FindingIgnore>, String) {
        let source = MemorySource::new([("/p/.saihai/review-ignore.toml", text)]);
        let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
        let mut found = Diagnostics::new();
        let ignores = load_ignores(&source, &places, &mut found);
        (ignores, to_human(&found, Colour::Never))
    }

    #[test]
    fn entries_are_read_with_the_lines_they_stand_on() {
        let text = "# why\n[[ignore]]\nfingerprint = \"00a1b2c3d4e5f607\"\nreason = \"known\"\n\n[[ignore]]\nagent = \"a\"\npath = \"src/**\"\nreason = \"generated\"\nexpires = \"2026-12-31\"\n";
        let (ignores, said) = loaded(text);
        assert_eq!(said, "");
        let told: Vec<String> = ignores
            .iter()
            .map(|one| {
                format!(
                    "{:?} {:?} {:?} {} {:?} {:?}",
                    one.fingerprint, one.agent, one.path, one.reason, one.expires, one.lines
                )
            })
            .collect();
        let expected = [
            r#"Some("00a1b2c3d4e5f607") None None known None (2, 5)"#,
            r#"None Some("a") Some("src/**") generated Some("2026-12-31") (6, 10)"#,
        ];
        assert_eq!(told, expected);
        assert_eq!(loaded(""), (Vec::new(), String::new()));
    }

    #[test]
    fn a_fingerprint_is_written_as_a_report_shows_it() {
        for wrong in ["xyz", "00A1B2C3D4E5F607", "00a1b2c3d4e5f60", "00a1b2c3d4e5f607 "] {
            let (ignores, said) = loaded(&format!("[[ignore]]\nfingerprint = \"{wrong}\"\nreason = \"r\"\n"));
            assert!(ignores.is_empty() && said.contains("is not a fingerprint"), "{said}");
        }
    }

    #[test]
    fn a_path_is_a_pattern_as_agents_have_them() {
        let text = |path: &str| format!("[[ignore]]\npath = '{path}'\nreason = \"r\"\n");
        for path in ["src/**", "*.{rs,toml}", "[a-c].rs", "vendor/"] {
            assert_eq!(loaded(&text(path)).1, "", "{path}");
        }
        for path in ["./src/a.rs", "/src/a.rs"] {
            let (ignores, said) = loaded(&text(path));
            assert!(ignores.is_empty() && said.contains("paths are relative to the project root"), "{said}");
            assert!(said.contains("help: write `src/a.rs`"), "{said}");
        }
        let (ignores, said) = loaded(&text("src/{a"));
        assert!(ignores.is_empty() && said.starts_with("error[review/glob]"), "{said}");
    }

    // R-62, case 43
    #[test]
    fn an_entry_without_a_reason_or_without_a_finding_is_an_error() {
        let text = "[[ignore]]\nagent = \"a\"\n[[ignore]]\nreason = \"r\"\n[[ignore]]\nagent = \"a\"\nreason = \"r\"\nexpires = \"soon\"\n[[ignore]]\nfingerprnt = \"x\"\nreason = \" \"\n";
        insta::assert_snapshot!(loaded(text).1, @r#"
    error[review/missing-key]: an entry of `ignore` needs `reason`
    --> .saihai/review-ignore.toml:1:1
      |
    1 | [[ignore]]
      | ^^^^^^^^^^ `reason` is missing here

    error[review/missing-key]: an entry needs `fingerprint`, `agent` or `path`
    --> .saihai/review-ignore.toml:3:1
      |
    3 | [[ignore]]
      | ^^^^^^^^^^ all of them are missing
      = help: a report shows the fingerprint of each finding

    error[review/bad-value]: `soon` is not a date
    --> .saihai/review-ignore.toml:8:11
      |
    8 | expires = "soon"
      |           ^^^^^^ not a day
      = help: a day is written `YYYY-MM-DD`

    error[review/unknown-key]: unknown key `fingerprnt`
     --> .saihai/review-ignore.toml:10:1
       |
    10 | fingerprnt = "x"
       | ^^^^^^^^^^ not a key of an entry of `ignore`
       = help: did you mean `fingerprint`?

    error[review/empty]: `reason` is blank
     --> .saihai/review-ignore.toml:11:10
       |
    11 | reason = " "
       |          ^^^ empty
       = help: say why

    error[review/missing-key]: an entry needs `fingerprint`, `agent` or `path`
    --> .saihai/review-ignore.toml:9:1
      |
    9 | [[ignore]]
      | ^^^^^^^^^^ all of them are missing
      = help: a report shows the fingerprint of each finding
    "#);
    }
}
