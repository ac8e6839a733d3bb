//! Checks of the step order: unreachable ends, and outputs that do not exist yet (S-10, S-51).

use std::collections::{BTreeSet, HashMap, HashSet};

use super::completion::{CompletionCondition, CompositeOperator};
use super::intent_gate::IntentGate;
use super::registry::{AgentStep, StepRegistry, StepTarget};
use super::variables::{MissingInput, StepInput};
use crate::{Area, Diagnostic, Diagnostics, Located, Location, quoted};

pub(super) struct StepFlow<'a> {
    registry: &'a StepRegistry,
    entry: &'a str,
    next: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> StepFlow<'a> {
    /// Builds the flow. All steps that the registry names must exist.
    pub(super) fn new(registry: &'a StepRegistry, entry: &'a str) -> Self {
        let follow = |step: &'a AgentStep| {
            let named = step.named_steps().map(|step| step.value.as_str());
            let any = registry.steps.iter().map(|step| step.id.value.as_str());
            let any = any.filter(|_| step.gate().is_some_and(IntentGate::jumps));
            (step.id.value.as_str(), named.chain(any).collect())
        };
        Self { registry, entry, next: registry.steps.iter().map(follow).collect() }
    }

    /// Returns the steps that no path from the entry reaches.
    pub(super) fn unreached(&self) -> BTreeSet<String> {
        let reached = self.reached(self.entry, None);
        let steps = self.registry.steps.iter().map(|step| &step.id.value);
        steps.filter(|id| !reached.contains(id.as_str())).cloned().collect()
    }

    /// Reports a flow without a reachable end, if only its end completes the work.
    pub(super) fn check_end(
        &self,
        condition: Option<&CompletionCondition>,
        entry: &Located<String>,
        diagnostics: &mut Diagnostics,
    ) {
        if !condition.is_some_and(needs_flow) {
            return;
        }
        let reached = self.reached(self.entry, None);
        let steps = self.registry.steps.iter().filter(|step| reached.contains(step.id.value.as_str()));
        if steps.into_iter().any(|step| step.targets().contains(&&StepTarget::Complete)) {
            return;
        }
        let message = format!("no path leads from step {} to an end of the flow", quoted(self.entry));
        let hint = "let a step be `\"terminal\": true`, or a check `\"complete\": true`";
        let diagnostic = Diagnostic::error(Area::Workflow.code("no-end"), message).at(&entry.at);
        diagnostics.push(diagnostic.label("a run starts here").hint(hint));
    }

    /// Reports inputs that are missing on all paths or on some.
    pub(super) fn check_inputs(&self, diagnostics: &mut Diagnostics) {
        for step in &self.registry.steps {
            for input in &step.inputs {
                let Some(from) = self.registry.step(&input.output.step) else {
                    let name = Located::new(input.output.step.clone(), input.at.clone());
                    self.registry.unknown_step(&name, diagnostics);
                    continue;
                };
                check_key(from, input, diagnostics);
                if input.output.missing == MissingInput::Fails {
                    self.check_order(&step.id.value, &input.output.step, &input.at, diagnostics);
                }
            }
        }
    }

    /// Reports an output that does not exist yet when a step needs it.
    pub(super) fn check_order(&self, id: &str, from: &str, at: &Location, diagnostics: &mut Diagnostics) {
        if !self.reached(self.entry, None).contains(id) {
            return;
        }
        let source = self.reached(self.entry, None).contains(from) && self.follows(from, id);
        if !source {
            let message = format!("step {} never runs before step {}", quoted(from), quoted(id));
            let diagnostic = at.error("input-never-there", message).label("can have no value");
            diagnostics.push(diagnostic.hint("run it earlier, or make the input optional"));
        } else if from == id || self.reached(self.entry, Some(from)).contains(id) {
            let message =
                format!("step {} does not run before step {} on every path", quoted(from), quoted(id));
            let diagnostic = at.warning("input-not-always-there", message);
            let diagnostic = diagnostic.label("the run fails if it is missing");
            diagnostics.push(diagnostic.hint("add `\"onMissing\": \"skip\"`, or a `default`"));
        }
    }

    /// Returns true if `then` can run at some time after `first`.
    fn follows(&self, first: &str, then: &str) -> bool {
        let after = self.next.get(first).into_iter().flatten();
        after.into_iter().any(|next| self.reached(next, None).contains(then))
    }

    /// Returns the steps reachable from `from`, itself included, without passing `without`.
    fn reached<'b>(&'b self, from: &'b str, without: Option<&str>) -> HashSet<&'b str> {
        let mut reached = HashSet::new();
        let mut open = vec![from];
        while let Some(step) = open.pop() {
            if Some(step) != without && reached.insert(step) {
                open.extend(self.next.get(step).into_iter().flatten().copied());
            }
        }
        reached
    }
}

fn check_key(from: &AgentStep, input: &StepInput, diagnostics: &mut Diagnostics) {
    let keys = from.keys();
    if keys.is_empty() || keys.iter().any(|key| key.name.value == input.output.key) {
        return;
    }
    let hint = diagnostics.suggest(&input.output.key, keys.iter().map(|key| key.name.value.as_str()));
    let message =
        format!("step {} declares no output {}", quoted(&input.output.step), quoted(&input.output.key));
    let diagnostic = input.at.warning("unknown-output", message).label("not in its `outputSchema`");
    diagnostics.push(diagnostic.maybe_hint(hint));
}

/// Returns true if the work cannot complete without the end of the flow.
fn needs_flow(condition: &CompletionCondition) -> bool {
    match condition {
        CompletionCondition::Flow { .. } => true,
        CompletionCondition::Composite(CompositeOperator::And, parts) => parts.iter().any(needs_flow),
        CompletionCondition::Composite(CompositeOperator::Or | CompositeOperator::First, parts) => {
            parts.iter().all(needs_flow)
        }
        _ => false,
    }
}
