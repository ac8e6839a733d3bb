//! `list_files`: the paths of files below a directory.

use std::ops::ControlFlow;

use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Value, json};

use super::page::Page;
use super::walk::walk;
use super::{Input, Reach, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "list_files",
    description: "Lists the files below a directory, one path a line, relative to the working directory. Files that \
                  git ignores are left out.",
    schema,
    run,
};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "dir": { "type": "string", "description": "relative to the working directory, which it is if absent" },
            "glob": { "type": "string", "description": "only paths like this: `src/**/*.rs`; `*.md` means anywhere" },
        },
        "additionalProperties": false,
    })
}

fn run(reach: &Reach, input: &Input<'_>) -> Result<String, String> {
    let glob = input.text("glob")?.map(glob).transpose()?;
    let mut page = Page::default();
    let mut left_out = 0_u64;
    walk(reach, input.text("dir")?.unwrap_or_default(), &mut |found| {
        if glob.as_ref().is_none_or(|glob| glob.is_match(found.path)) && !page.line(found.path) {
            left_out += 1;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(match (left_out, page.is_empty()) {
        (0, true) => page.with_note("no files"),
        (0, false) => page.finish(),
        (more, _) => page.with_note(&format!("cut; {more} more files: ask for a directory or a glob")),
    })
}

/// Parses a glob over paths from the root. A glob without a slash matches file names in any directory.
pub(super) fn glob(text: &str) -> Result<GlobMatcher, String> {
    let anywhere =
        if text.contains('/') { text.trim_start_matches("./").to_owned() } else { format!("**/{text}") };
    let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| format!("`glob` is not one: {}", error.kind()))
}
