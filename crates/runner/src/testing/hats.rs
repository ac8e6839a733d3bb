//! Workflows that route by published topics.

use saihai_config::{Definition, Dialect, MemorySource, Options, Origin, Places, Settings, load};
use saihai_model::Workflow;

pub(crate) fn hats(text: &str) -> Workflow {
    let source = MemorySource::new([("/p/orch.yml", text)]);
    let places = Places { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let definition = Definition {
        name: "orch".to_owned(),
        dialect: Dialect::Hats,
        origin: Origin::Project,
        path: Some("/p/orch.yml".into()),
    };
    let loaded = load(&source, &places, &definition, &Options::default(), &Settings::default());
    loaded.workflow.expect("sound hats")
}

/// Two hats that hand over to each other.
pub(crate) const PAIR: &str = "hats:
  tester: {name: T, triggers: [task.start, code.written], publishes: [tests.failing], instructions: x}
  coder: {name: C, triggers: [tests.failing], publishes: [code.written, LOOP_COMPLETE], instructions: x}
";
