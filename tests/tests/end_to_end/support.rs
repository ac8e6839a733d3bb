//! Shared helpers of the suites.

use std::path::PathBuf;

use saihai_config::{
    Definition, Dialect, LoadedDefinition, MemorySource, Options, Origin, ProjectPaths, Settings, load,
};
use saihai_tests::{Outcome, Project, story};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_saihai-faulty");

/// Creates a project with one definition and its replies.
pub(crate) fn project(definition: &str, replies: &str) -> Project {
    let project = Project::new(PROGRAM);
    project.write(".takt/pieces/it.yaml", definition);
    project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
    project
}

/// Runs the definition of [`project`] once, without a terminal.
pub(crate) fn run(project: &Project) -> Outcome {
    project.saihai(["run", "it", "The task.", "--script", "script.yaml"]).run()
}

/// A piece that asks a person after its first turn.
pub(crate) const GATE: &str = "
name: it
movements:
  - name: ask
    rules: [{condition: need words, next: use, requires_user_input: true}]
  - name: use
    rules: [{condition: done, next: COMPLETE}]
";

pub(crate) const GATE_REPLIES: &str =
    "  - {for: ask, text: 'What colour? [STEP:0]'}\n  - {for: use, text: '[STEP:0]'}\n";

/// Runs [`GATE`] until its gate is open.
pub(crate) fn at_the_gate() -> Project {
    let project = project(GATE, GATE_REPLIES);
    run(&project).exits(6);
    project
}

/// Runs a definition on replies, and returns its decisions and the exit code.
pub(crate) fn told(definition: &str, replies: &str) -> String {
    let project = project(definition, replies);
    let outcome = run(&project);
    assert_ne!(outcome.code, Some(2), "{outcome}");
    format!("{}exit {}\n", story(&project.journal()), outcome.code.expect("an exit code"))
}

/// Loads a definition from memory for the provider `script`.
pub(crate) fn lowered(text: &str) -> LoadedDefinition {
    lowered_for(text, "script")
}

/// Loads a definition from memory for a provider.
pub(crate) fn lowered_for(text: &str, provider: &str) -> LoadedDefinition {
    lowered_with(text, provider, &Settings::default())
}

pub(crate) fn lowered_with(text: &str, provider: &str, settings: &Settings) -> LoadedDefinition {
    let source = MemorySource::new([("/p/.takt/pieces/it.yaml", text)]);
    let root = PathBuf::from("/p");
    let places = ProjectPaths { current: root.clone(), root, user: None, home: None };
    let path = Some(PathBuf::from("/p/.takt/pieces/it.yaml"));
    let definition =
        Definition { name: "it".to_owned(), dialect: Dialect::Piece, origin: Origin::Project, path };
    let options = Options { provider: Some(provider.into()), ..Options::default() };
    load(&source, &places, &definition, &options, settings)
}

/// A random number generator with a fixed seed (T-1).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}
