//! What the suites share.

use saihai_tests::{Outcome, Project, story};

/// Saihai, built with faults.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_saihai-faulty");

/// A project with one definition and the replies to it.
pub(crate) fn project(definition: &str, replies: &str) -> Project {
    let project = Project::new(PROGRAM);
    project.write(".takt/pieces/it.yaml", definition);
    project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
    project
}

/// Runs the definition of [`project`] once, as a script would.
pub(crate) fn run(project: &Project) -> Outcome {
    project.saihai(["run", "it", "The task.", "--script", "script.yaml"]).run()
}

/// Runs a definition on replies to its end: the exit code and what was decided.
pub(crate) fn told(definition: &str, replies: &str) -> String {
    let project = project(definition, replies);
    let outcome = run(&project);
    assert_ne!(outcome.code, Some(2), "{outcome}");
    format!("{}exit {}\n", story(&project.journal()), outcome.code.expect("an exit code"))
}
