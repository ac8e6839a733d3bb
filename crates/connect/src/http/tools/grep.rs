//! `grep`: lines that match a regular expression, in linear time.

use std::io::{BufReader, Read as _};
use std::ops::ControlFlow;

use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

use super::list_files::glob;
use super::page::Page;
use super::read_file::{is_binary, next_line};
use super::walk::walk;
use super::{Input, Reach, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "grep",
    description: "Finds lines that match a regular expression (no look-around, no back-references) and gives them as \
                  `path:line:text`. Files that git ignores and files that are not text are left out.",
    schema,
    run,
};

/// Maximum length of a line; the rest is neither displayed nor searched.
const LINE: usize = 1024;
/// Maximum searched length of a file.
const FAR: u64 = 16 * 1024 * 1024;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": { "type": "string", "description": "a regular expression; `(?i)` at its head ignores case" },
            "path": { "type": "string", "description": "a file or directory; the working directory if absent" },
            "glob": { "type": "string", "description": "only files like this: `src/**/*.rs`; `*.md` means anywhere" },
        },
        "required": ["pattern"],
        "additionalProperties": false,
    })
}

fn run(reach: &Reach, input: &Input<'_>) -> Result<String, String> {
    let pattern = RegexBuilder::new(input.required("pattern")?).size_limit(4 * 1024 * 1024).build();
    let pattern = pattern.map_err(|error| format!("`pattern` is no regular expression: {error}"))?;
    let glob = input.text("glob")?.map(glob).transpose()?;
    let mut hits = Hits { pattern, page: Page::default() };
    let from = reach.allowed(input.text("path")?.unwrap_or_default())?;
    let mut flow = ControlFlow::Continue(());
    match reach.tree.file(&from) {
        Ok(file) if !from.is_empty() => flow = hits.search(reach, &from, file)?,
        Ok(_) | Err(_) => walk(reach, &from, &mut |found| {
            if glob.as_ref().is_none_or(|glob| glob.is_match(found.path))
                && let Ok(file) = found.open()
            {
                flow = hits.search(reach, found.path, file)?;
            }
            Ok(flow)
        })?,
    }
    Ok(match (flow, hits.page.is_empty()) {
        (ControlFlow::Break(()), _) => {
            hits.page.with_note("cut; there is more: narrow the pattern, path or glob")
        }
        (ControlFlow::Continue(()), true) => hits.page.with_note("no line matches"),
        (ControlFlow::Continue(()), false) => hits.page.finish(),
    })
}

struct Hits {
    pattern: Regex,
    page: Page,
}

impl Hits {
    fn search(&mut self, reach: &Reach, path: &str, file: std::fs::File) -> Result<ControlFlow<()>, String> {
        let mut reader = BufReader::new(file.take(FAR));
        // An unreadable file does not stop the search.
        if is_binary(&mut reader).unwrap_or(true) {
            return Ok(ControlFlow::Continue(()));
        }
        let mut number = 0_u64;
        while let Ok(Some(line)) = next_line(&mut reader, LINE) {
            reach.halt.check()?;
            number += 1;
            if self.pattern.is_match(&line) && !self.page.line(&format!("{path}:{number}:{line}")) {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
