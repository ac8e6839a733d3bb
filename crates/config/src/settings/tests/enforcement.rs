//! Enforcement of workflow permissions by providers. C-43.

use super::*;
use crate::{Definition, Dialect, Options, Origin, ProjectPaths, load};

/// Returns the diagnostics of a piece with these movements under the user's settings.
fn said(settings: &str, movements: &str) -> String {
    let settings = World::default().user(settings).settings();
    let path = "/p/.takt/pieces/t.yaml";
    let piece = format!("name: t\nmovements:\n{movements}");
    let source = MemorySource::new([(path, piece.as_str())]);
    let definition = Definition {
        name: "t".to_owned(),
        dialect: Dialect::Piece,
        origin: Origin::Project,
        path: Some(path.into()),
    };
    let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let loaded = load(&source, &places, &definition, &Options::default(), &settings);
    let workflow = loaded.workflow.expect("a piece with nothing wrong");
    to_human(&settings.check_enforcement(&workflow).sorted(), Colour::Never)
}

fn movement(keys: &str) -> String {
    format!("  - {{name: work, {keys}, rules: [{{condition: done, next: COMPLETE}}]}}\n")
}

// C-42: in a piece, `edit` includes commands, and gemini has no mode for that.
#[test]
fn a_turn_that_may_run_commands_is_warned_of_a_provider_that_lets_it_run_none() {
    assert_snapshot!(said("", &movement("edit: true, provider: gemini")), @"
    warning[provider/no-commands]: `work` may run commands, but provider `gemini` cannot run commands in this mode
      = help: it edits files, but cannot build or test: use another provider, or `permission_mode: full`
    ");
    for harmless in [
        "edit: false, provider: gemini",
        "permission_mode: full, provider: gemini",
        "edit: true, provider: codex",
    ] {
        assert_eq!(said("", &movement(harmless)), "", "{harmless}");
    }
}

// Connections case 7
#[test]
fn a_provider_that_holds_nobody_to_anything_is_refused_once_for_each_level() {
    let mine = "[providers.mine]\nkind = \"command\"\nprogram = \"mine\"\n";
    let twice = movement("provider: mine")
        + "  - {name: more, provider: mine, rules: [{condition: done, next: work}]}\n";
    assert_snapshot!(said(mine, &twice), @"
    error[provider/cannot-enforce]: provider `mine` cannot enforce `readonly`, which `work` requires
      = help: if the program enforces it itself, set `[providers.mine] honours`
    ");
    assert_snapshot!(said("", &movement("edit: true, provider: anthropic")), @"
    error[provider/cannot-enforce]: provider `anthropic` cannot enforce `edit`, which `work` requires
      = help: an API can only read files: use another provider, or make the turn read-only
    ");
    let honest = format!("{mine}honours = [\"readonly\"]\n");
    assert_eq!(said(&honest, &twice), "");
}

// C-45: the example from the manual.
#[test]
fn an_agent_that_is_known_to_ask_is_held_to_every_level() {
    let copilot = "[providers.mine]\nkind = \"acp\"\nprogram = \"copilot\"\nargs = [\"--acp\"]\n";
    for keys in ["provider: mine", "edit: true, provider: mine", "permission_mode: full, provider: mine"] {
        assert_eq!(said(copilot, &movement(keys)), "", "{keys}");
    }
    assert_snapshot!(said(&copilot.replace("copilot", "opencode"), &movement("provider: mine")), @"
    error[provider/cannot-enforce]: provider `mine` cannot enforce `readonly`, which `work` requires
      = help: if the program enforces it itself, set `[providers.mine] honours`
    ");
}

// C-43: codex changes files with commands, so a turn without commands is impossible.
#[test]
fn codex_is_refused_where_commands_are_not_allowed() {
    let settings = "max_permission = \"edit-only\"\n";
    assert_snapshot!(said(settings, &movement("edit: true, provider: codex")), @"
    error[provider/cannot-enforce]: provider `codex` cannot enforce `edit-only`, which `work` requires
      = help: Codex reads and writes files by commands: allow them with `edit`, which keeps them in its sandbox, or use another provider
    ");
    assert_eq!(said(settings, &movement("provider: codex")), "");
    assert_eq!(said(settings, &movement("edit: true, provider: claude")), "");
}

// C-41: the tool would be offered and then denied.
#[test]
fn a_read_only_turn_that_names_a_tool_of_a_server_is_refused() {
    let named = "allowed_tools: [Read, mcp__issues__get], provider: claude";
    assert_snapshot!(said("", &movement(named)), @r"
    error[provider/mcp-tool-in-read-only]: `work` is read-only and names `mcp__issues__get`, a tool of an MCP server
      = help: the effect of such a tool is unknown: let the turn edit, and name no other tools that write
    ");
    assert_eq!(said("", &movement(&format!("edit: true, {named}"))), "");
}

// The question about a turn is read-only, and its provider must enforce that.
#[test]
fn a_judge_must_be_limited_to_reading() {
    let mine = "[providers.mine]\nkind = \"command\"\nprogram = \"mine\"\nhonours = [\"edit\"]\n";
    // A sole rule asks no question, unless its author wants one (X-6).
    let asking =
        movement("edit: true, provider: mine").replace("condition: done", "condition: 'ai(\"done\")'");
    assert_snapshot!(said(mine, &asking), @"
    error[provider/cannot-enforce]: provider `mine` cannot enforce `readonly`, which a question about `work` requires
      = help: if the program enforces it itself, set `[providers.mine] honours`
    ");
    let both = mine.replace("[\"edit\"]", "[\"edit\", \"readonly\"]");
    assert_eq!(said(&both, &asking), "");
}
