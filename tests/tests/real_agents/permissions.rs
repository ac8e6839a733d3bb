//! Limits below `full`: the edges of a level, tools of MCP servers, and ways to raise a level from inside.

use std::path::{Path, PathBuf};

use saihai_tests::{Answer, RealAgent};
use serde_json::json;

use crate::cases::{DONE, EDIT, FULL, READONLY};
use crate::scene::Scene;

const MCP_SERVER: &str = include_str!("../../real_agents/mcp_server.mjs");

/// Returns a path next to the project's directory.
fn outside(root: &Path) -> PathBuf {
    root.with_file_name("outside.txt")
}

/// An editing turn changes files only in its working directory.
pub(crate) fn an_edit_outside(agent: &'static RealAgent) {
    let scene = Scene::new(agent, EDIT, |root, _| {
        let inside = (agent.write)(&root.join("inside.txt"), "hello");
        [(agent.write)(&outside(root), "hello"), inside, Answer::text(DONE)]
    });
    let outcome = scene.run().run().exits(0);
    let root = scene.here.project.root();
    assert!(root.join("inside.txt").exists(), "the control: it does write: {outcome}");
    assert!(!outside(&root).exists(), "{outcome}");
}

/// Level `edit-only` has no commands. Saihai refuses a program that cannot block them before its first turn.
pub(crate) fn a_command_in_edit_only(agent: &'static RealAgent) {
    let scene = Scene::new(agent, EDIT, |root, _| {
        let command = |name: &str| (agent.run)(&format!("touch '{}'", root.join(name).display()));
        let redirection = format!("echo hello > '{}'", root.join("redirected.txt").display());
        let written = (agent.write)(&root.join("inside.txt"), "hello");
        [command("run.txt"), (agent.run)(&redirection), written, Answer::text(DONE)]
    });
    let outcome = scene.run_with(&["--max-permission", "edit-only"]).run();
    let root = scene.here.project.root();
    if agent.holds_edit_only {
        let outcome = outcome.exits(0);
        assert!(root.join("inside.txt").exists(), "the control: it does write: {outcome}");
    } else {
        let outcome = outcome.exits(2);
        assert!(outcome.stderr.contains("provider/cannot-enforce"), "{outcome}");
        assert!(scene.here.server.asked().is_empty(), "nothing was paid for");
    }
    assert!(!root.join("run.txt").exists() && !root.join("redirected.txt").exists());
}

/// The effects of a user's MCP server are unknown, so no read-only turn uses its tools.
pub(crate) fn an_mcp_server_of_the_user(agent: &'static RealAgent) {
    let full = with_mcp_server(agent, FULL);
    let outcome = full.run().run().exits(0);
    assert!(has_kept(&full) && hears_of_tool(&full), "the control: it does write: {outcome}");
    let scene = with_mcp_server(agent, READONLY);
    let outcome = scene.run().run().exits(0);
    assert!(!has_kept(&scene), "{outcome}");
    assert!(!(agent.hides_mcp_tools && hears_of_tool(&scene)), "{outcome}");
}

/// A turn with named tools gets no tools of a server, at any permission level.
pub(crate) fn named_tools_without_those_of_a_server(agent: &'static RealAgent) {
    let tools = "permission_mode: full, allowed_tools: [Read, Write]";
    for piece in [
        FULL.replace("permission_mode: full", tools),
        EDIT.replace("edit: true", "edit: true, allowed_tools: [Read, Write]"),
    ] {
        let scene = with_mcp_server(agent, &piece);
        let outcome = scene.run().run().exits(0);
        assert!(!has_kept(&scene) && !hears_of_tool(&scene), "{outcome}");
    }
}

/// An editing turn uses only the tools of a server that it names.
pub(crate) fn a_tool_of_a_server_in_an_editing_turn(agent: &'static RealAgent) {
    let tools = "edit: true, allowed_tools: [Read, ToolSearch, mcp__notes__keep_owl]";
    for (piece, is_kept) in [(EDIT.replace("edit: true", tools), true), (EDIT.to_owned(), false)] {
        let scene = with_mcp_server(agent, &piece);
        let outcome = scene.run().run().exits(0);
        assert_eq!(has_kept(&scene), is_kept, "{piece}: {outcome}");
    }
}

/// Saihai refuses a read-only turn that names a tool of a server before the turn costs money.
pub(crate) fn a_tool_of_a_server_in_a_read_only_turn(agent: &'static RealAgent) {
    let named = READONLY.replace("name: work", "name: work, allowed_tools: [Read, mcp__notes__keep_owl]");
    let scene = with_mcp_server(agent, &named);
    let outcome = scene.run().run().exits(2);
    assert!(outcome.stderr.contains("provider/mcp-tool-in-read-only"), "{outcome}");
    assert!(scene.here.server.asked().is_empty(), "nothing was paid for");
}

fn with_mcp_server(agent: &'static RealAgent, piece: &str) -> Scene {
    let scene = Scene::new(agent, piece, |root, _| {
        let calls = (agent.use_mcp_tool)(&root.join("kept.txt"));
        calls.into_iter().chain([Answer::text(DONE)]).collect::<Vec<_>>()
    });
    scene.here.connect_mcp_server(MCP_SERVER);
    scene
}

fn has_kept(scene: &Scene) -> bool {
    scene.here.project.root().join("kept.txt").exists()
}

fn hears_of_tool(scene: &Scene) -> bool {
    scene.told(0).contains("keep_owl")
}

/// Without a person, Gemini approves its own plan and then allows everything.
pub(crate) fn a_plan_that_approves_itself(agent: &'static RealAgent, piece: &str) {
    let scene = Scene::new(agent, piece, |root, _| {
        let command = format!("touch '{}'", root.join("run.txt").display());
        [
            Answer::tool("enter_plan_mode", json!({"reason": "to plan"})),
            Answer::tool("write_file", json!({"file_path": "plan.md", "content": "Do it."})),
            Answer::tool("exit_plan_mode", json!({"plan_filename": "plan.md"})),
            (agent.run)(&command),
            Answer::text(DONE),
        ]
    });
    let outcome = scene.run().run().exits(0);
    assert_eq!(scene.here.server.asked().len(), 5, "the model did try: {outcome}");
    assert!(!scene.here.project.root().join("run.txt").exists(), "{outcome}");
}
