//! Detects outputs whose names are already taken, because one name would then mean two things.

use saihai_model::{Json, OutputNames, StageId, Workflow};

use crate::Run;

impl Run {
    /// Returns the name conflicts between an output of a stage and all values known now.
    pub fn collisions(&self, workflow: &Workflow, stage: &StageId, output: &Json) -> Vec<String> {
        let Some(names) = names(workflow, stage) else { return Vec::new() };
        let values = output.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let collided = values.filter_map(|(key, _)| {
            let name = names.of(key);
            let taken = names.taken.get(key).cloned();
            let other = taken.or_else(|| self.who_has(workflow, stage, &name))?;
            Some(format!("`{key}` would be a second source of `{name}`, which is {other}"))
        });
        collided.collect()
    }

    /// Returns the output of another stage that has this name.
    fn who_has(&self, workflow: &Workflow, but: &StageId, name: &str) -> Option<String> {
        let others = self.carry.outputs.iter().filter(|(stage, _)| *stage != but);
        others.into_iter().find_map(|(stage, outputs)| {
            let names = names(workflow, stage)?;
            let mut values = outputs.iter().filter(|(_, value)| !value.is_null());
            let (key, _) = values.find(|(key, _)| names.of(key) == name)?;
            Some(format!("the output `{key}` of `{stage}`"))
        })
    }
}

fn names<'w>(workflow: &'w Workflow, stage: &StageId) -> Option<&'w OutputNames> {
    let turns = workflow.stage(stage)?.turns();
    turns.first()?.reads.output.as_ref()?.names.as_deref()
}
