//! Calls of other workflows: the steps of the child become steps `CALL/STEP` of the same run.

use std::collections::HashMap;
use std::path::PathBuf;

use super::expand::{CallArguments, expand};
use super::read::{Movement, MovementWork, Piece};
use super::rule::{MovementCondition, MovementRule};
use super::tables;
use super::texts::PieceReader;
use crate::definition::piece_files;
use crate::{Fields, Located, Node, quoted};

/// Maximum number of workflows that call each other.
const DEEPEST_CALL: usize = 5;

/// Reads a movement with `kind: workflow_call`, and the workflow that it calls.
pub(super) fn read_call(fields: &Fields<'_>, reader: &mut PieceReader<'_>) -> Option<Piece> {
    for key in fields.keys().filter(|key| !tables::CALL_KEYS.contains(key)) {
        let place = fields.key(key).cloned().unwrap_or_else(|| fields.location());
        let spelling = fields.spelling(key).unwrap_or(key);
        let message = format!("`{spelling}` has no effect on a call: the called workflow does the work");
        reader.diagnostics.push(place.error("no-effect", message).hint("remove it"));
    }
    let Some(name) = fields.text("call") else {
        if fields.is_missing("call") {
            let missing = fields.location().error("missing-key", "a call of a workflow needs `call`");
            reader.diagnostics.push(missing);
        }
        return None;
    };
    if reader.calls.len() >= DEEPEST_CALL {
        let message = format!("workflows call each other more than {DEEPEST_CALL} levels deep");
        let hint = format!("the calls are {}", reader.calls.join(" → "));
        reader.diagnostics.push(name.error("too-large", message).hint(hint));
        return None;
    }
    let path = find(&name, reader)?;
    let document = reader.document(&path, &name)?;
    let given = fields.any("args");
    let values: Vec<(Located<String>, Node)> = given
        .iter()
        .flat_map(|given| given.entries())
        .map(|(name, value)| (name, value.node().clone()))
        .collect();
    let holder = fields.document();
    let arguments = CallArguments { document: holder, values: &values, at: &name.at };
    let directory = path.parent().map(std::path::Path::to_owned);
    reader.in_child(&name.value, directory.clone(), |reader| {
        let document = expand(document, directory.as_deref(), Some(arguments), reader);
        Piece::read(&document, reader)
    })
}

fn find(name: &Located<String>, reader: &mut PieceReader<'_>) -> Option<PathBuf> {
    let written = &name.value;
    if written.contains('/') || [".yaml", ".yml"].iter().any(|end| written.ends_with(end)) {
        return reader.resolve_path(name);
    }
    let found = piece_files(reader.places(), written).into_iter().find(|path| reader.has_file(path));
    if found.is_none() {
        let message = format!("no workflow is named {}", quoted(written));
        let hint = "TAKT's own workflows are not part of Saihai: copy them with `takt eject`";
        reader.diagnostics.push(name.error("missing-file", message).hint(hint));
    }
    found
}

impl Piece {
    /// Replaces every call by the steps of its child.
    pub(super) fn inline_calls(&mut self, reader: &mut PieceReader<'_>) {
        if !self.movements.iter().any(|movement| matches!(movement.work, MovementWork::Call(_))) {
            return;
        }
        if self.initial.is_none() {
            self.initial = self.movements.first().map(|movement| movement.name.clone());
        }
        let mut entries = HashMap::new();
        let mut groups: HashMap<String, Vec<String>> = HashMap::new();
        let mut movements = Vec::new();
        for movement in std::mem::take(&mut self.movements) {
            let MovementWork::Call(child) = movement.work else {
                movements.push(movement);
                continue;
            };
            let call = CalledSteps { name: &movement.name, rules: &movement.rules };
            let Some(mut child) = child.map(|child| *child) else {
                movements.push(Movement {
                    work: MovementWork::Parallel(Vec::new()),
                    sound: false,
                    ..movement
                });
                continue;
            };
            child.inline_calls(reader);
            let first = child.movements.first().map(|first| first.name.value.clone());
            let Some(entry) = child.initial.as_ref().map(|name| name.value.clone()).or(first) else {
                continue;
            };
            entries.insert(movement.name.value.clone(), call.prefixed(&entry));
            let mut names: Vec<String> =
                child.movements.iter().map(|step| call.prefixed(&step.name.value)).collect();
            // The first one stands for the whole call in the cycles of monitors.
            names.sort_by_key(|name| *name != call.prefixed(&entry));
            groups.insert(movement.name.value.clone(), names.clone());
            call.rename(&mut child, reader);
            self.groups.push(names);
            self.groups.extend(child.groups);
            movements.extend(child.movements);
            self.monitors.extend(child.monitors);
        }
        self.movements = movements;
        let follow = |name: &mut Located<String>| {
            if let Some(entry) = entries.get(&name.value) {
                name.value.clone_from(entry);
            }
        };
        self.initial.iter_mut().for_each(follow);
        let judged = self.monitors.iter_mut().flat_map(|monitor| &mut monitor.judge.rules);
        let rules = self.movements.iter_mut().flat_map(|movement| &mut movement.rules).chain(judged);
        rules.filter_map(|rule| rule.next.as_mut()).for_each(follow);
        for monitor in &mut self.monitors {
            let called = monitor.cycle.iter().filter_map(|name| groups.get(&name.value)).cloned();
            monitor.groups.extend(called.collect::<Vec<_>>());
            monitor.cycle.iter_mut().for_each(follow);
        }
    }
}

/// A call while its child is renamed.
struct CalledSteps<'a> {
    name: &'a Located<String>,
    rules: &'a [MovementRule],
}

impl CalledSteps<'_> {
    fn prefixed(&self, step: &str) -> String {
        format!("{}/{step}", self.name.value)
    }

    fn rename(&self, child: &mut Piece, reader: &mut PieceReader<'_>) {
        for movement in &mut child.movements {
            movement.name.value = self.prefixed(&movement.name.value);
            movement.rules.iter_mut().for_each(|rule| self.redirect(rule, reader));
        }
        for name in child.groups.iter_mut().flatten() {
            *name = self.prefixed(name);
        }
        for monitor in &mut child.monitors {
            monitor.title = monitor.title.iter().map(|name| self.prefixed(name)).collect();
            for name in monitor.cycle.iter_mut().chain(&mut monitor.ignored) {
                name.value = self.prefixed(&name.value);
            }
            for name in monitor.groups.iter_mut().flatten() {
                *name = self.prefixed(name);
            }
            monitor.judge.rules.iter_mut().for_each(|rule| self.redirect(rule, reader));
        }
    }

    /// Sends a rule of the child to its own step, or to what the rules of the call say about the result.
    fn redirect(&self, rule: &mut MovementRule, reader: &mut PieceReader<'_>) {
        let result = match (&rule.next, &rule.returns) {
            (Some(next), _) if !matches!(next.value.as_str(), "COMPLETE" | "ABORT") => {
                let next = self.prefixed(&next.value);
                if let Some(name) = rule.next.as_mut() {
                    name.value = next;
                }
                return;
            }
            (Some(end), _) => end.clone(),
            (None, Some(label)) => label.clone(),
            // A rule of a sub-movement leads nowhere.
            (None, None) => return,
        };
        let handles = |own: &&MovementRule| own.condition == MovementCondition::Plain(result.value.clone());
        match self.rules.iter().find(handles) {
            Some(own) => {
                rule.next.clone_from(&own.next);
                rule.returns.clone_from(&own.returns);
            }
            // A child that gives up ends the run, as in TAKT.
            None if result.value == "ABORT" => {}
            None => {
                let message = format!(
                    "the call {} can end with {}, and no rule says what follows",
                    quoted(&self.name.value),
                    quoted(&result.value)
                );
                let hint = format!("add the rule `{{condition: {}, next: …}}`", result.value);
                let diagnostic = self.name.error("missing-rules", message).hint(hint);
                reader.diagnostics.push(diagnostic.also(&result.at, "ends like this"));
                rule.next = Some(Located::new("ABORT".to_owned(), result.at));
                rule.returns = None;
            }
        }
    }
}

/// Checks the rules of a call: each names a result of the child.
pub(super) fn check_rules(rules: &[MovementRule], reader: &mut PieceReader<'_>) {
    for rule in rules {
        if rule.requires_user_input || rule.interactive_only {
            let message = "a rule of a call cannot ask a person";
            let hint = "put `requires_user_input` into a rule of the called workflow";
            reader.diagnostics.push(rule.at.error("not-supported", message).hint(hint));
        }
    }
}
