//! Completion of arguments in the shell (U-15).

use saihai_tests::Project;

use super::support::{ONE, PROGRAM, REVIEWED, project, run};

/// Returns the candidates for the last word, as the script of bash asks for them.
fn candidates(project: &Project, words: &[&str]) -> Vec<String> {
    let call = project.saihai(["--", "saihai"].iter().chain(words));
    let index = words.len().to_string();
    let outcome = call.env("SAIHAI_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", index).run().exits(0);
    assert_eq!(outcome.stderr, "");
    outcome.stdout.lines().map(str::to_owned).collect()
}

// U-15
#[test]
fn definitions_runs_stages_providers_agents_and_issues_are_completed() {
    let project = project(REVIEWED, "  - {for: plan, text: '[STEP:1]'}");
    project.write(".saihai/issues/7.md", "# Seven\n");
    run(&project, &[]).exits(1);
    let id = project.runs()[0].clone();
    let check = |words: &[&str], expected: &[&str]| {
        assert_eq!(candidates(&project, words), expected, "{words:?}");
    };
    check(&["resu"], &["resume"]);
    check(&["run", "it"], &["it", "iterator"]);
    check(&["run", "code-rev"], &["code-reviewer"]);
    check(&["show", "la"], &["last"]);
    check(&["log", &id[..10]], &[&id]);
    check(&["show", "last", "ver"], &["verify", "verify/tests", "verify/レビュー"]);
    check(&["prompt", "it", "pl"], &["plan"]);
    check(&["run", "it", "--provider", "cla"], &["claude"]);
    check(&["review", "--agent", "code-rev"], &["code-reviewer"]);
    check(&["work", "--issues", ""], &["7"]);
    check(&["run", "it", "--issue", ""], &["7"]);
}

// U-15
#[test]
fn the_script_of_every_shell_asks_the_program() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = Project::new(PROGRAM).saihai(["completions", shell]).run().exits(0).stdout;
        assert!(script.contains("SAIHAI_COMPLETE") && script.contains("saihai"), "{shell}: {script}");
    }
    // Nothing is completed outside a project, and nothing fails.
    let empty = project(ONE, "");
    assert_eq!(candidates(&empty, &["log", "2"]), [""; 0]);
}
