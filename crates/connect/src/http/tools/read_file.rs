//! `read_file`: numbered lines of a file.

use std::io::{BufRead, BufReader, Read as _};

use serde_json::{Value, json};

use super::page::{Page, cut};
use super::{Input, Reach, Tool};

pub(super) static TOOL: Tool = Tool {
    name: "read_file",
    description: "Reads lines of a text file in the working directory. Each line is preceded by its number and a tab.",
    schema,
    run,
};

/// Maximum number of lines in one answer (R-37).
const LINES: u64 = 2_000;
/// Maximum length of a line.
const LINE: usize = 4 * 1024;
/// Maximum number of bytes to skip before the first requested line.
const FAR: u64 = 256 * 1024 * 1024;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "relative to the working directory" },
            "start_line": { "type": "integer", "minimum": 1, "description": "the first line; 1 if absent" },
            "lines": { "type": "integer", "minimum": 1, "maximum": LINES, "description": "how many; 2000 if absent" },
        },
        "required": ["path"],
        "additionalProperties": false,
    })
}

fn run(reach: &Reach, input: &Input<'_>) -> Result<String, String> {
    let path = reach.allowed(input.required("path")?)?;
    let first = input.number("start_line", u64::MAX)?.unwrap_or(1);
    let lines = input.number("lines", LINES)?.unwrap_or(LINES);
    let file = reach.tree.file(&path).map_err(|error| error.to_string())?;
    let bytes = file.metadata().map_err(|error| error.to_string())?.len();
    let mut reader = BufReader::new(file.take(FAR));
    if is_binary(&mut reader)? {
        return Err(format!("`{path}` is not text ({bytes} bytes)"));
    }
    let mut page = Page::default();
    let mut number = 0;
    while let Some(line) = next_line(&mut reader, LINE)? {
        reach.halt.check()?;
        number += 1;
        if number < first {
            continue;
        }
        if number - first == lines || !page.line(&format!("{number}\t{line}")) {
            return Ok(page.with_note(&format!("cut; go on with start_line {number}")));
        }
    }
    if reader.get_ref().limit() == 0 {
        return Ok(page.with_note(&format!("cut after {} MiB", FAR / (1024 * 1024))));
    }
    match (page.is_empty(), number) {
        (true, 0) => Ok(page.with_note("the file is empty")),
        (true, _) => Err(format!("`{path}` has only {number} lines")),
        (false, _) => Ok(page.finish()),
    }
}

/// Returns true if the file is not text: it has a zero byte near its start.
pub(super) fn is_binary(reader: &mut impl BufRead) -> Result<bool, String> {
    let beginning = reader.fill_buf().map_err(|error| error.to_string())?;
    Ok(beginning.contains(&0))
}

/// Returns the next line as text, without its line end. A longer line is cut and marked.
pub(super) fn next_line(reader: &mut impl BufRead, most: usize) -> Result<Option<String>, String> {
    let mut line = Vec::new();
    let mut length = 0_usize;
    loop {
        let bytes = reader.fill_buf().map_err(|error| error.to_string())?;
        if bytes.is_empty() {
            break;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        // Keep more bytes than are displayed, to see that the line was cut.
        let room = (most + 4).saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        length += part.len() + usize::from(end.is_some());
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            break;
        }
    }
    if length == 0 {
        return Ok(None);
    }
    let line = line.strip_suffix(b"\r").unwrap_or(&line);
    let text = String::from_utf8_lossy(line);
    let shown = cut(&text, most);
    Ok(Some(if shown.len() < text.len() { format!("{shown} […]") } else { shown.to_owned() }))
}
