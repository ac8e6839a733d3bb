use saihai_model::Workflow;

use crate::{
    Definition, Dialect, MemorySource, Options, Origin, ProjectPaths, Settings, ValidatedDefinition, load,
};

fn piece() -> Workflow {
    let text = "name: p\nmovements:\n  - {name: a, rules: [{condition: on, next: b}]}\n  \
                - {name: b, rules: [{condition: done, next: COMPLETE}]}\n";
    let source = MemorySource::new([("/p/p.yaml", text)]);
    let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
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
