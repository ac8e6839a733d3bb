//! Tests of hats, from text to workflow.

mod format;
mod lowering;
mod presets;
mod prompts;
mod ralph;
mod warnings;

use std::path::PathBuf;

use saihai_model::{Directives, Stage, Turn, Workflow};

use crate::{
    Definition, Diagnostics, Dialect, LoadedDefinition, MemorySource, Options, Origin, ProjectPaths,
    Settings, load,
};

/// A cycle of tester, coder and closer.
pub(super) const RING: &str = r#"
max_iterations: 30
hats:
  tester:
    name: "🧪 Tester"
    triggers: ["task.start", "code.written"]
    publishes: ["tests.failing", "tests.passing"]
    instructions: |
      Write a failing test first, run it after the implementation and report.
      EVENT: tests.failing or EVENT: tests.passing
  coder:
    name: "🔨 Coder"
    triggers: ["tests.failing"]
    publishes: ["code.written"]
    instructions: |
      Make the tests pass, then EVENT: code.written
  closer:
    name: "🧹 Closer"
    triggers: ["tests.passing"]
    publishes: ["code.written", "LOOP_COMPLETE"]
    instructions: |
      Tidy up with EVENT: code.written, or end with LOOP_COMPLETE
"#;

pub(super) struct Project {
    source: MemorySource,
    options: Options,
    settings: Settings,
    file: &'static str,
}

impl Project {
    /// Creates a project with this `orch.yml` and default settings.
    pub(super) fn new(hats: &str) -> Self {
        Self::named("orch.yml", hats)
    }

    /// Creates a project with these hats in another file.
    pub(super) fn named(file: &'static str, hats: &str) -> Self {
        let mut source = MemorySource::default();
        source.add(PathBuf::from("/p").join(file), hats);
        Self { source, options: Options::default(), settings: Settings::default(), file }
    }

    pub(super) fn file(mut self, path: &str, content: &str) -> Self {
        self.source.add(PathBuf::from("/p").join(path), content);
        self
    }

    pub(super) fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    pub(super) fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    pub(super) fn load(&self) -> LoadedDefinition {
        let definition = Definition {
            name: "orch".to_owned(),
            dialect: Dialect::Hats,
            origin: Origin::Project,
            path: Some(PathBuf::from("/p").join(self.file)),
        };
        load(&self.source, &places(), &definition, &self.options, &self.settings)
    }

    /// Returns the workflow of hats without errors.
    pub(super) fn workflow(&self) -> Workflow {
        let loaded = self.load();
        loaded.workflow.unwrap_or_else(|| panic!("{}", listed(&loaded.diagnostics)))
    }

    /// Returns all diagnostics, one line each.
    pub(super) fn said(&self) -> String {
        listed(&self.load().diagnostics)
    }
}

pub(super) fn places() -> ProjectPaths {
    ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None }
}

/// Formats diagnostics as `error hats/unknown-key hats.tester.trigers 3:5 message (hint)`, one line each.
pub(super) fn listed(diagnostics: &Diagnostics) -> String {
    let line = |diagnostic: &crate::Diagnostic| {
        let place = diagnostic.location.as_ref().map(|location| {
            let at = location.start().map_or(String::new(), |at| format!("{}:{}", at.line, at.column));
            format!(" {} {at}", location.path)
        });
        let hint = diagnostic.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let place = place.unwrap_or_default();
        format!("{} {}{place} {}{hint}", diagnostic.severity.name(), diagnostic.code, diagnostic.message)
    };
    diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns a hat that handles the start topic and may end the run. `keys` replace its own keys.
pub(super) fn hat(keys: &str) -> String {
    let usual = [
        ("name", "Tester"),
        ("triggers", "[task.start]"),
        ("publishes", "[LOOP_COMPLETE]"),
        ("instructions", "Test it."),
    ];
    let is_given = |key: &str| keys.lines().any(|line| line.starts_with(&format!("{key}:")));
    let own = usual.iter().filter(|(key, _)| !is_given(key)).map(|(key, value)| format!("{key}: {value}"));
    let lines: String =
        own.chain(keys.lines().map(str::to_owned)).map(|line| format!("    {line}\n")).collect();
    format!("hats:\n  tester:\n{lines}")
}

pub(super) fn stage<'w>(workflow: &'w Workflow, id: &str) -> &'w Stage {
    workflow.stages.get(id).unwrap_or_else(|| panic!("no stage {id}"))
}

pub(super) fn turn<'w>(workflow: &'w Workflow, id: &str) -> &'w Turn {
    &stage(workflow, id).turns()[0]
}

pub(super) fn directives<'w>(workflow: &'w Workflow, id: &str) -> &'w Directives {
    turn(workflow, id).reads.directives.as_ref().unwrap()
}
