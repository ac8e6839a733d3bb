//! The configuration entry of agent programs that starts `saihai mcp`.

use std::ops::Range;
use std::path::Path;

use serde_json::{Value, json};

use crate::error::CommandError;
use crate::project::write_atomically;

/// An agent program that can use MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AgentProgram {
    Claude,
    Codex,
    Gemini,
    Copilot,
    #[value(name = "opencode")]
    OpenCode,
}

/// The name of our server in every configuration.
const NAME: &str = "saihai";

/// The entry of one program, and the file of the project that it belongs to.
pub(crate) struct ConfigurationEntry {
    /// Path below the root of the project.
    pub(crate) file: &'static str,
    /// A hint about the program, besides the entry.
    pub(crate) note: &'static str,
    form: EntryForm,
}

enum EntryForm {
    /// A member of this object of a JSON file.
    Json {
        object: &'static str,
        value: Value,
    },
    Toml(&'static str),
}

/// The result of writing an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryChange {
    Written,
    /// The file has the entry already.
    Unchanged,
}

impl ConfigurationEntry {
    pub(crate) fn of(program: AgentProgram) -> Self {
        let servers =
            |file, note, value| Self { file, note, form: EntryForm::Json { object: "mcpServers", value } };
        let (command, arguments) = ("saihai", ["mcp"]);
        match program {
            AgentProgram::Claude => servers(
                ".mcp.json",
                "Claude Code asks once whether to trust the server",
                json!({"type": "stdio", "command": command, "args": arguments}),
            ),
            AgentProgram::Codex => Self {
                file: ".codex/config.toml",
                note: "Codex reads this file only in a project that you trust",
                form: EntryForm::Toml(
                    "[mcp_servers.saihai]\ncommand = \"saihai\"\nargs = [\"mcp\"]\n\
                     env_vars = [\"SAIHAI_RUN\", \"SAIHAI_TURN\", \"SAIHAI_RUN_DIRECTORY\"]\n",
                ),
            },
            AgentProgram::Gemini => servers(
                ".gemini/settings.json",
                "Gemini CLI starts it only in a folder that you trust",
                json!({"command": command, "args": arguments}),
            ),
            AgentProgram::Copilot => servers(
                ".github/mcp.json",
                "Copilot CLI reads this file only in a folder that you trust",
                json!({"type": "local", "command": command, "args": arguments, "tools": ["*"]}),
            ),
            AgentProgram::OpenCode => Self {
                file: "opencode.json",
                note: "OpenCode starts it with the next session",
                form: EntryForm::Json {
                    object: "mcp",
                    value: json!({"type": "local", "command": ["saihai", "mcp"], "enabled": true}),
                },
            },
        }
    }

    /// Returns a whole file with only this entry.
    pub(crate) fn text(&self) -> String {
        match &self.form {
            EntryForm::Json { object, value } => pretty(&json!({*object: {NAME: value}})),
            EntryForm::Toml(text) => (*text).to_owned(),
        }
    }

    /// Adds the entry to the file. Every other byte of it stays.
    pub(crate) fn write(&self, root: &Path) -> Result<EntryChange, CommandError> {
        let path = root.join(self.file);
        let before = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(CommandError::unavailable(format!("cannot read `{}`: {error}", self.file)));
            }
        };
        let Some(after) = self.added_to(&before)? else { return Ok(EntryChange::Unchanged) };
        // A link to a file elsewhere stays a link.
        let target = path.canonicalize().unwrap_or(path);
        write_atomically(&target, &after)
            .map_err(|error| CommandError::unavailable(format!("cannot write `{}`: {error}", self.file)))?;
        Ok(EntryChange::Written)
    }

    /// Returns the text of the file with the entry, or nothing if the file has it already.
    fn added_to(&self, before: &str) -> Result<Option<String>, CommandError> {
        if before.trim().is_empty() {
            return Ok(Some(self.text()));
        }
        match &self.form {
            EntryForm::Json { object, value } => self.added_to_json(before, object, value),
            EntryForm::Toml(entry) => self.added_to_toml(before, entry),
        }
    }

    fn added_to_json(
        &self,
        before: &str,
        object: &str,
        value: &Value,
    ) -> Result<Option<String>, CommandError> {
        let known: Value = serde_json::from_str(before)
            .map_err(|error| self.by_hand(&format!("it is no plain JSON: {error}")))?;
        let servers = known.as_object().map(|fields| fields.get(object));
        let after = match servers {
            None => return Err(self.by_hand("it is no JSON object")),
            Some(None) => insert_member(
                before,
                top_object(before),
                &format!("{}: {}", quoted(object), pretty_member(&json!({NAME: value}), 1)),
            ),
            Some(Some(Value::Object(servers))) => match servers.get(NAME) {
                Some(known) if known == value => return Ok(None),
                Some(_) => return Err(self.by_hand("it has another entry `saihai`")),
                None => {
                    let inside = member_value(before, top_object(before), object);
                    insert_member(
                        before,
                        inside.start,
                        &format!("{}: {}", quoted(NAME), pretty_member(value, 2)),
                    )
                }
            },
            Some(Some(_)) => return Err(self.by_hand(&format!("`{object}` is no JSON object"))),
        };
        let mut expected = known;
        expected[object][NAME] = value.clone();
        if serde_json::from_str::<Value>(&after).is_ok_and(|found| found == expected) {
            Ok(Some(after))
        } else {
            Err(self.by_hand("it repeats a key"))
        }
    }

    fn added_to_toml(&self, before: &str, entry: &str) -> Result<Option<String>, CommandError> {
        let parse = |text: &str| toml::from_str::<toml::Table>(text);
        let server = |table: &toml::Table| table.get("mcp_servers")?.get(NAME).cloned();
        let known =
            parse(before).map_err(|error| self.by_hand(&format!("it is no TOML: {}", error.message())))?;
        let own = parse(entry).ok().as_ref().and_then(server);
        match server(&known) {
            Some(known) if Some(&known) == own.as_ref() => return Ok(None),
            Some(_) => return Err(self.by_hand("it has another entry `saihai`")),
            None => {}
        }
        let after = format!("{}\n\n{entry}", before.trim_end());
        match parse(&after) {
            Ok(table) if server(&table) == own => Ok(Some(after)),
            Ok(_) | Err(_) => Err(self.by_hand("`mcp_servers` is no plain table")),
        }
    }

    fn by_hand(&self, why: &str) -> CommandError {
        let error = CommandError::usage(format!("cannot add the entry to `{}`: {why}", self.file));
        error.hint("nothing was changed: edit the file, or leave out `--write` to print the entry")
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).map(|text| text + "\n").unwrap_or_default()
}

fn quoted(name: &str) -> String {
    Value::from(name).to_string()
}

/// Formats a value so many levels deep.
fn pretty_member(value: &Value, depth: usize) -> String {
    pretty(value).trim_end().replace('\n', &format!("\n{}", "  ".repeat(depth)))
}

/// Inserts a member at the start of the object that opens at `open`.
fn insert_member(text: &str, open: usize, member: &str) -> String {
    let (before, after) = text.split_at(open + 1);
    let depth = if top_object(text) == open { 1 } else { 2 };
    let indent = "  ".repeat(depth);
    match after.trim_start().starts_with('}') {
        true => format!("{before}\n{indent}{member}\n{}{}", "  ".repeat(depth - 1), after.trim_start()),
        false => format!("{before}\n{indent}{member},{after}"),
    }
}

/// Returns where the outer object of a valid JSON text opens.
fn top_object(text: &str) -> usize {
    text.find('{').unwrap_or_default()
}

/// Finds the value of a member of the object that opens at `open`, in a valid JSON text that has it.
fn member_value(text: &str, open: usize, name: &str) -> Range<usize> {
    let mut found = 0..0;
    let mut at = open + 1;
    while let Some(key_start) = text[at..].find('"').map(|next| at + next) {
        let key = value_range(text, key_start);
        let colon = key.end + text[key.end..].find(':').unwrap_or_default() + 1;
        let start = colon + (text[colon..].len() - text[colon..].trim_start().len());
        let value = value_range(text, start);
        if serde_json::from_str::<String>(&text[key]).is_ok_and(|key| key == name) {
            found = value.clone();
        }
        let rest = text[value.end..].trim_start();
        if !rest.starts_with(',') {
            break;
        }
        at = text.len() - rest.len() + 1;
    }
    found
}

/// Returns the range of the value that starts here.
fn value_range(text: &str, start: usize) -> Range<usize> {
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    for (index, byte) in text.bytes().enumerate().skip(start) {
        if is_string {
            (is_string, is_escaped) = (is_escaped || byte != b'"', !is_escaped && byte == b'\\');
            if !is_string && depth == 0 {
                return start..index + 1;
            }
            continue;
        }
        match byte {
            b'"' => is_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    return start..index + 1;
                }
            }
            b',' | b'}' | b']' if depth == 0 => return start..index,
            _ => {}
        }
    }
    start..text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(program: AgentProgram, before: &str) -> Result<Option<String>, String> {
        ConfigurationEntry::of(program).added_to(before).map_err(|error| error.message().to_owned())
    }

    // N-21
    #[test]
    fn an_entry_leaves_every_other_byte_of_a_json_file() {
        insta::assert_snapshot!(added(AgentProgram::Claude, "").unwrap().unwrap(), @r#"
        {
          "mcpServers": {
            "saihai": {
              "args": [
                "mcp"
              ],
              "command": "saihai",
              "type": "stdio"
            }
          }
        }
        "#);
        let before = "{\n    \"a\\\"{\" : [1, {\"mcpServers\": {}}],\n    \"mcpServers\": {\"other\": {\"command\": \"x\"}}\n}\n";
        insta::assert_snapshot!(added(AgentProgram::Claude, before).unwrap().unwrap(), @r#"
        {
            "a\"{" : [1, {"mcpServers": {}}],
            "mcpServers": {
            "saihai": {
              "args": [
                "mcp"
              ],
              "command": "saihai",
              "type": "stdio"
            },"other": {"command": "x"}}
        }
        "#);
        let after = added(AgentProgram::Gemini, "{\"theme\": \"dark\"}").unwrap().unwrap();
        assert_eq!(after.matches("\"theme\": \"dark\"").count(), 1);
        assert_eq!(added(AgentProgram::Gemini, &after), Ok(None));
        for empty in ["{}", "{ \"mcp\" : {} }", "{\n}\n"] {
            let after = added(AgentProgram::OpenCode, empty).unwrap().unwrap();
            let value: Value = serde_json::from_str(&after).unwrap();
            assert_eq!(value["mcp"]["saihai"]["command"], json!(["saihai", "mcp"]), "{after}");
        }
    }

    // N-21
    #[test]
    fn a_file_that_cannot_be_edited_safely_is_left_alone() {
        for (before, why) in [
            (
                "// mine\n{}",
                "cannot add the entry to `.mcp.json`: it is no plain JSON: expected value at line 1 column 1",
            ),
            ("[]", "cannot add the entry to `.mcp.json`: it is no JSON object"),
            ("{\"mcpServers\": []}", "cannot add the entry to `.mcp.json`: `mcpServers` is no JSON object"),
            (
                "{\"mcpServers\": {\"saihai\": {}}}",
                "cannot add the entry to `.mcp.json`: it has another entry `saihai`",
            ),
        ] {
            assert_eq!(added(AgentProgram::Claude, before), Err(why.to_owned()));
        }
    }

    // N-21
    #[test]
    fn an_entry_is_added_below_a_toml_file() {
        const CODEX_VARIABLES: &str =
            "env_vars = [\"SAIHAI_RUN\", \"SAIHAI_TURN\", \"SAIHAI_RUN_DIRECTORY\"]\n";
        let before = "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\"\n";
        let after = added(AgentProgram::Codex, before).unwrap().unwrap();
        assert_eq!(
            after,
            format!(
                "{before}\n[mcp_servers.saihai]\ncommand = \"saihai\"\nargs = [\"mcp\"]\n{CODEX_VARIABLES}"
            )
        );
        assert_eq!(added(AgentProgram::Codex, &after), Ok(None));
        let other = added(AgentProgram::Codex, "[mcp_servers.saihai]\ncommand = \"z\"\n").unwrap_err();
        assert_eq!(other, "cannot add the entry to `.codex/config.toml`: it has another entry `saihai`");
        let inline = added(AgentProgram::Codex, "mcp_servers = {}\n").unwrap_err();
        assert_eq!(inline, "cannot add the entry to `.codex/config.toml`: `mcp_servers` is no plain table");
    }
}
