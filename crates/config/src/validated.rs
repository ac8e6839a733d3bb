//! Validated workflows.

use std::ops::Deref;

use saihai_model::{StageId, Workflow};

use crate::check::unknown_stages;

/// A workflow in which every stage name exists. Every run starts from one (S-20), and only validation
/// creates one:
///
/// ```
/// fn begin(workflow: saihai_model::Workflow) -> Result<saihai_config::ValidatedDefinition, saihai_config::Unsound> {
///     saihai_config::ValidatedDefinition::validate(workflow)
/// }
/// ```
///
/// The field is private, so no other code can build one:
///
/// ```compile_fail,E0451
/// fn begin(workflow: saihai_model::Workflow) -> saihai_config::ValidatedDefinition {
///     saihai_config::ValidatedDefinition { workflow }
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ValidatedDefinition {
    workflow: Workflow,
}

/// Reason why a workflow cannot run: it names stages that do not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the workflow names stages that do not exist: {}", listed(.0))]
pub struct Unsound(pub Vec<StageId>);

impl ValidatedDefinition {
    /// Checks that every named stage exists.
    pub fn validate(workflow: Workflow) -> Result<Self, Unsound> {
        let unknown = unknown_stages(&workflow);
        if unknown.is_empty() { Ok(Self { workflow }) } else { Err(Unsound(unknown)) }
    }

    pub fn into_workflow(self) -> Workflow {
        self.workflow
    }
}

impl Deref for ValidatedDefinition {
    type Target = Workflow;

    fn deref(&self) -> &Workflow {
        &self.workflow
    }
}

fn listed(stages: &[StageId]) -> String {
    crate::list_of(stages.iter().map(StageId::as_str), "and")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Definition, Dialect, MemorySource, Options, Origin, Places, Settings, load};

    fn piece() -> Workflow {
        let text = "name: p\nmovements:\n  - {name: a, rules: [{condition: on, next: b}]}\n  \
                    - {name: b, rules: [{condition: done, next: COMPLETE}]}\n";
        let source = MemorySource::new([("/p/p.yaml", text)]);
        let places = Places { current: "/p".into(), root: "/p".into(), user: None, home: None };
        let (name, dialect, origin) = ("p".to_owned(), Dialect::Piece, Origin::Path);
        let definition = Definition { name, dialect, origin, path: Some("/p/p.yaml".into()) };
        load(&source, &places, &definition, &Options::default(), &Settings::default())
            .workflow
            .expect("a workflow")
    }

    // S-20
    #[test]
    fn only_a_workflow_whose_names_all_exist_is_valid() {
        let sound = piece();
        assert_eq!(
            ValidatedDefinition::validate(sound.clone()).map(ValidatedDefinition::into_workflow),
            Ok(sound)
        );
        let mut without = piece();
        without.stages.shift_remove("b");
        without.entry = "z".into();
        let unsound = ValidatedDefinition::validate(without).expect_err("two names that mean nothing");
        assert_eq!(unsound.to_string(), "the workflow names stages that do not exist: `z` and `b`");
    }
}
