//! Locations of files, and unreadable files.

use std::path::PathBuf;

use serde_json::json;

use super::{HOME, Project, listed, places};
use crate::steps::agent_files::AgentFiles;
use crate::{Diagnostics, MemorySource, Options, Settings};

// S-19, case 1
#[test]
fn a_file_that_is_no_json_is_told_by_its_place_and_nothing_else_of_it() {
    let project = Project::tailor().file("agent.json", "{\"name\": \"x\",}\n");
    insta::assert_snapshot!(project.said(), @"error steps/syntax agent.json:1:13 this is not valid JSON: a comma after the last item (remove the comma)");
    let project =
        Project::tailor().file("steps_registry.json", "{\"steps\": {}").agent("/version", json!("x"));
    insta::assert_snapshot!(project.said(), @r"
    error steps/version agent.json:25:14 `x` is not a version (write three numbers, such as `1.0.0`)
    error steps/syntax steps_registry.json:1:13 this is not valid JSON: expected `,` or `}`, but the file ends
    ");
}

// S-19: loading checks syntax only; validation checks the meaning.
#[test]
fn a_file_with_a_wrong_meaning_is_read_and_then_judged() {
    let mut source = MemorySource::default();
    let (path, mut found) = (PathBuf::from(format!("{HOME}/agent.json")), Diagnostics::new());
    source.add(&path, r#"{"name": 7, "prompts": {"registry": "steps_registry.json"}}"#);
    source.add(format!("{HOME}/steps_registry.json"), r#"{"steps": []}"#);
    let files = AgentFiles::load(&source, &places(), &path, &mut found).expect("both are JSON");
    assert_eq!(listed(&found), "", "nothing is wrong with the syntax");
    let loaded = files.validate(&source, &places(), &Options::default(), &Settings::default(), found);
    assert!(loaded.workflow.is_none() && loaded.diagnostics.has_errors());
    let said = listed(&loaded.diagnostics);
    assert!(said.contains("`name` must be text") && said.contains("`steps` must be"), "{said}");
    source.add(&path, "{");
    assert!(AgentFiles::load(&source, &places(), &path, &mut Diagnostics::new()).is_none());
}

// S-5
#[test]
fn a_missing_registry_is_an_error_and_no_empty_one() {
    let project = Project::tailor().agent("/prompts/registry", json!("other.json"));
    insta::assert_snapshot!(project.said(), @"error steps/missing-file other.json cannot read `.agent/tailor/other.json`: it does not exist");
}

// S-5
#[test]
fn one_key_twice_is_an_error() {
    let project = Project::tailor().file("config.json", r#"{"version": "1.0.0", "version": "1.0.0"}"#);
    insta::assert_snapshot!(project.said(), @"error steps/duplicate-key config.json:1:22 duplicate key `version` (keep one of them)");
}

// S-3
#[test]
fn no_path_leads_out_of_the_project() {
    for path in ["/etc/passwd", "../other.md", "a\\b.md", "~/x.md", "C:/x.md"] {
        let project = Project::tailor().agent("/behavior/systemPromptPath", json!(path));
        assert!(
            project.said().starts_with("error steps/path-escape agent.json:"),
            "{path}: {}",
            project.said()
        );
    }
    let nul = Project::tailor().registry("/steps/quote/prompt", json!({"path": "x\u{0}.md"})).said();
    assert!(nul.starts_with("error steps/path-escape steps_registry.json:"), "{nul}");
    let nuls = [
        ("agent.json", "/behavior/systemPromptPath", json!("x\u{0}")),
        ("agent.json", "/prompts/registry", json!("x\u{0}")),
        ("agent.json", "/prompts/fallbackDir", json!("x\u{0}")),
        ("agent.json", "/worktree", json!({"enabled": false, "root": "x\u{0}"})),
        ("agent.json", "/logging", json!({"directory": "x\u{0}", "format": "text", "maxFiles": 1})),
        ("steps_registry.json", "/basePath", json!("x\u{0}")),
        ("steps_registry.json", "/steps/quote/systemPromptPath", json!("x\u{0}")),
    ];
    for (file, pointer, value) in nuls {
        let said = Project::tailor().set(file, pointer, value).said();
        assert!(said.starts_with(&format!("error steps/path-escape {file}:")), "{pointer}: {said}");
    }
    let logging = json!({"directory": "../logs", "format": "text", "maxFiles": 1});
    let logging = Project::tailor().agent("/logging", logging).said();
    assert!(logging.starts_with("error steps/path-escape agent.json:"), "{logging}");
    let worktree = Project::tailor().agent("/worktree", json!({"enabled": false, "root": "../trees"}));
    assert_eq!(worktree.said(), "", "working trees alone may stand elsewhere");
    let project = Project::tailor().agent("/prompts/registry", json!("../registry.json"));
    insta::assert_snapshot!(project.said(), @"error steps/path-escape agent.json:23:17 `../registry.json` leads upwards with `..` (write a path below the agent's own directory, with `/`)");
}

// S-3, case 25
#[test]
fn a_link_that_leads_out_of_the_project_is_refused() {
    let mut project = Project::tailor().without("prompts/order/measure/text/f_default.md");
    project.source.add("/secret/passwords.md", "hunter2");
    project.source.link(format!("{HOME}/prompts/order/measure/text/f_default.md"), "/secret/passwords.md");
    insta::assert_snapshot!(project.said(), @"error steps/path-escape steps_registry.json:16:17 `.agent/tailor/prompts/order/measure/text/f_default.md` leads out of the project by a link");
}

// S-1: the agent, its steps, the overrides of this machine, and every text.
#[test]
fn every_file_is_read_before_the_run_and_named() {
    let loaded = Project::tailor().file("config.json", "{}").load();
    let uses: Vec<String> =
        loaded.uses.iter().map(|path| path.display().to_string().replace(HOME, "")).collect();
    assert_eq!(
        uses,
        [
            "/agent.json",
            "/steps_registry.json",
            "/config.json",
            "/prompts/order/measure/text/f_default.md",
            "/prompts/order/quote/check/f_default.md",
            "/prompts/order/quote/text/f_default.md",
            "/prompts/system.md"
        ]
    );
}

// A missing directory would be created at the target of the link.
#[test]
fn a_directory_that_would_be_made_behind_a_link_out_of_the_project_is_refused() {
    let logging = |directory: &str| {
        let logging = json!({"directory": directory, "format": "text", "maxFiles": 1});
        let mut project = Project::tailor().agent("/logging", logging);
        project.source.add("/out/x", "");
        project.source.link("/p/link", "/out");
        project.said()
    };
    insta::assert_snapshot!(logging("link/sub/deeper"), @"error steps/path-escape agent.json:14:18 `link/sub/deeper` leads out of the project by a link");
    insta::assert_snapshot!(logging("link"), @"error steps/path-escape agent.json:14:18 `link` leads out of the project by a link");
    assert_eq!(logging("logs/sub"), "");
}

#[test]
fn a_registry_that_cannot_be_read_is_an_error_and_no_empty_one() {
    let directory = Project::tailor().agent("/prompts/registry", json!("prompts"));
    insta::assert_snapshot!(directory.said(), @"error steps/bad-file prompts cannot read `.agent/tailor/prompts`: it is a directory, not a file");
    let latin = Project::tailor().file("steps_registry.json", b"{\"steps\": \"caf\xe9\"}".to_vec());
    insta::assert_snapshot!(latin.said(), @"error steps/syntax steps_registry.json:1:15 the file is not UTF-8");
}
