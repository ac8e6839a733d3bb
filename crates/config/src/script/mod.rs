//! Script files: written replies for the `script` provider.
//!
//! A mapping with `script: 1` is a Saihai script; a list is a TAKT mock scenario, read unchanged.

mod reply;
mod tables;
mod write;

use std::path::Path;

use saihai_model::{
    Activity, CallId, Expectation, ExpectedPrompt, Script, ScriptAnswer, ScriptTarget, Stage, StageId,
    TurnId, Wants, Workflow,
};

use self::reply::visits;
pub(crate) use self::tables::ENTRY;
pub use self::tables::SCRIPT;
use self::tables::{ANSWER, EXPECT, PROMPT};
pub use self::write::{of_target, script_file, script_yaml};
use crate::diagnostic::{Area, Diagnostics, Located, quoted};
use crate::document::Document;
use crate::fields::{Cursor, Fields};
use crate::source::Source;

/// Reads a script file. With a workflow, the target names of its replies must exist there.
pub fn load_script(
    source: &dyn Source,
    path: &Path,
    name: &str,
    workflow: Option<&Workflow>,
    diagnostics: &mut Diagnostics,
) -> Option<Script> {
    let mut found = Diagnostics::new();
    let document = Document::load(source, path, name, Area::Script, &mut found);
    let script = document.and_then(|document| {
        let (script, more) = read_script(&document, workflow);
        found.append(more);
        script
    });
    let right = !found.has_errors();
    diagnostics.append(found);
    script.filter(|_| right)
}

/// Reads a script from a document. Returns a script only if it has no errors.
pub fn read_script(document: &Document, workflow: Option<&Workflow>) -> (Option<Script>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let script = if document.root.as_list().is_some() {
        Some(reply::read_scenario(document, &mut diagnostics))
    } else {
        read_own(document, &TargetNames::new(workflow), &mut diagnostics)
    };
    let right = !diagnostics.has_errors();
    (script.filter(|_| right), diagnostics)
}

fn read_own(document: &Document, names: &TargetNames<'_>, diagnostics: &mut Diagnostics) -> Option<Script> {
    let fields = Fields::read(&document.cursor(), &SCRIPT, diagnostics)?;
    let replies = fields.list("replies");
    Some(Script {
        strict: fields.bool("strict").is_none_or(|strict| strict.value),
        lenient_roles: false,
        replies: replies.iter().filter_map(|one| reply::read(one, names, diagnostics)).collect(),
        task: fields.text("task").map(|task| task.value),
        expect: read_expectation(&fields, diagnostics),
        answers: fields
            .list("answers")
            .iter()
            .filter_map(|one| read_answer(one, names, diagnostics))
            .collect(),
        interactive: fields.bool("interactive").map(|interactive| interactive.value),
        recorded: fields.text("recorded").map(|run| run.value),
    })
}

/// Reads one answer. If the gate is known, the answer must have the form that it expects.
fn read_answer(
    cursor: &Cursor<'_>,
    names: &TargetNames<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<ScriptAnswer> {
    let fields = Fields::read(cursor, &ANSWER, diagnostics)?;
    let gate = fields.text("for")?;
    let wants = names.gate(&gate, diagnostics);
    let (answer, text) = (fields.text("answer"), fields.text("text"));
    let wrong = match wants {
        Some(Wants::YesNo) if answer.is_none() => Some("this gate takes `answer: yes` or `answer: no`"),
        Some(Wants::Text { .. }) if answer.is_some() => Some("this gate takes a `text` and no `answer`"),
        Some(Wants::Text { max_chars })
            if text.as_ref().is_some_and(|text| text.value.chars().count() > max_chars as usize) =>
        {
            Some("this text is longer than the gate takes")
        }
        None if answer.is_none() && text.is_none() => Some("an answer needs an `answer` or a `text`"),
        Some(Wants::Text { .. }) if text.as_ref().is_none_or(|text| text.value.is_empty()) => {
            Some("this gate takes a `text`")
        }
        Some(Wants::YesNo | Wants::Text { .. }) | None => None,
    };
    if let Some(wrong) = wrong {
        diagnostics.push(cursor.error("bad-value", wrong).label("cannot be given"));
    }
    let label = answer.map_or_else(|| "answered".to_owned(), |answer| answer.value);
    Some(ScriptAnswer {
        gate: StageId::from(gate.value.as_str()),
        visits: fields.any("visit").and_then(|visit| visits(&visit, diagnostics)),
        label: label.into(),
        text: text.map(|text| text.value),
    })
}

/// Reads `expect`. Stage names are not checked: a missing stage shows up as a difference.
fn read_expectation(script: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Expectation> {
    let fields = script.object("expect", &EXPECT, diagnostics)?;
    let stages = fields.texts("stages");
    Some(Expectation {
        outcome: fields.text("outcome").map(|outcome| outcome.value),
        stages: stages.map(|stages| stages.into_iter().map(|stage| stage.value.into()).collect()),
        prompts: fields.list("prompts").iter().filter_map(|one| expected_prompt(one, diagnostics)).collect(),
    })
}

fn expected_prompt(cursor: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<ExpectedPrompt> {
    let fields = Fields::read(cursor, &PROMPT, diagnostics)?;
    let (call, sha256) = (fields.text("call")?, fields.text("sha256")?);
    let read = CallId::parse(&call.value);
    if read.is_none() {
        let message =
            format!("`call` must be written as `stage.visit.round.number`, not {}", quoted(&call.value));
        diagnostics.push(call.error("bad-value", message).label("for example `plan.1.1.1`"));
    }
    let is_digest = sha256.value.len() == 64
        && sha256.value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_digest {
        let message = "`sha256` must be 64 digits of 0 to 9 and a to f";
        diagnostics.push(sha256.error("bad-value", message).label("no such digest"));
    }
    Some(ExpectedPrompt { call: read?, sha256: sha256.value })
}

/// Suffix for the judge questions of a stage.
const JUDGE: &str = "#judge";

/// Stages and turns of the workflow, if it is known.
struct TargetNames<'a>(Option<&'a Workflow>);

impl<'a> TargetNames<'a> {
    fn new(workflow: Option<&'a Workflow>) -> Self {
        Self(workflow)
    }

    /// Parses `stage` or `stage/turn`, with an optional `#judge`.
    fn target(&self, written: &Located<String>, diagnostics: &mut Diagnostics) -> Option<ScriptTarget> {
        let (name, judge) = match written.value.strip_suffix(JUDGE) {
            Some(name) => (name, true),
            None => (written.value.as_str(), false),
        };
        let found = match self.0 {
            Some(workflow) => find(workflow, name),
            None => split(name),
        };
        let Some((stage, turn)) = found else {
            self.report(name, written, diagnostics);
            return None;
        };
        Some(ScriptTarget { stage, turn, judge })
    }

    /// Returns false if an agent does the targeted turn. Without a workflow, anything may.
    fn may_be_program(&self, target: &ScriptTarget) -> bool {
        let Some(stage) = self.0.and_then(|workflow| workflow.stages.get(&target.stage)) else { return true };
        let id = target.turn.as_ref().map_or(target.stage.as_str(), TurnId::as_str);
        let turn = stage.turns().iter().find(|turn| turn.id.as_str() == id);
        !target.judge && turn.is_some_and(|turn| turn.program.is_some())
    }

    /// Returns the answer form of a gate, or `None` without a workflow. Reports a name that is not a gate.
    fn gate(&self, written: &Located<String>, diagnostics: &mut Diagnostics) -> Option<Wants> {
        let gates = |(id, stage): (&'a StageId, &'a Stage)| match &stage.does {
            Activity::Gate(gate) => Some((id.as_str(), gate.wants)),
            Activity::Turns { .. } | Activity::Action(_) => None,
        };
        let known: Vec<(&str, Wants)> = self.0?.stages.iter().filter_map(gates).collect();
        let found = known.iter().find(|(name, _)| *name == written.value).map(|(_, wants)| *wants);
        if found.is_none() {
            let message = format!("no gate is named {}", quoted(&written.value));
            let hint = diagnostics.suggest(&written.value, known.iter().map(|(name, _)| *name));
            let none = (known.is_empty()).then(|| "this definition has no gates".to_owned());
            diagnostics.push(
                written
                    .error("unknown-stage", message)
                    .label("no agent is called here")
                    .maybe_hint(hint.or(none)),
            );
        }
        found
    }

    fn report(&self, name: &str, written: &Located<String>, diagnostics: &mut Diagnostics) {
        let Some(workflow) = self.0 else {
            let message =
                format!("`for` must name a stage, or a stage and a turn, not {}", quoted(&written.value));
            diagnostics.push(written.error("bad-value", message).label("write `stage` or `stage/turn`"));
            return;
        };
        let known = all(workflow);
        let message = format!("no stage or turn is named {}", quoted(name));
        let hint = diagnostics.suggest(name, known.iter().map(String::as_str));
        diagnostics.push(
            written.error("unknown-stage", message).label("no agent is called by this name").maybe_hint(hint),
        );
    }
}

/// Finds stage and turn by name. Stage names may contain a `/`, so the existing names decide.
fn find(workflow: &Workflow, name: &str) -> Option<(StageId, Option<TurnId>)> {
    if workflow.stages.contains_key(name) {
        return Some((StageId::from(name), None));
    }
    name.match_indices('/').find_map(|(slash, _)| {
        let (stage, turn) = (&name[..slash], &name[slash + 1..]);
        let turns = workflow.stages.get(stage)?.turns();
        let exists = turns.iter().any(|one| one.id.as_str() == turn);
        exists.then(|| (StageId::from(stage), Some(TurnId::from(turn))))
    })
}

fn split(name: &str) -> Option<(StageId, Option<TurnId>)> {
    let (stage, turn) = match name.split_once('/') {
        Some((stage, turn)) => (stage, Some(turn)),
        None => (name, None),
    };
    let right = !stage.is_empty() && turn.is_none_or(|turn| !turn.is_empty());
    right.then(|| (StageId::from(stage), turn.map(TurnId::from)))
}

/// Returns every valid target: all stages, and the turns of stages with several turns.
fn all(workflow: &Workflow) -> Vec<String> {
    let mut names = Vec::new();
    for (id, stage) in &workflow.stages {
        names.push(id.to_string());
        if stage.turns().len() > 1 {
            names.extend(stage.turns().iter().map(|turn| format!("{id}/{}", turn.id)));
        }
    }
    names
}

#[cfg(test)]
mod tests;
