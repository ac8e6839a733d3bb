//! The tree of a run's visits and turns, and the texts of a node. Renders a [`RunView`](saihai_view::RunView).

use saihai::LoadedRun;
use saihai_model::{CallId, Millis, Moment};
use saihai_view::{CallView, RoundView, RunState, VisitView};

use super::model::{NodeKey, PaneTexts, TreeNode};
use crate::commands::diff::turn_diff;
use crate::commands::explain::plain_transition;
use crate::commands::show_stage::TurnObject;
use crate::error::CommandError;
use crate::quantities;
use crate::watching::{
    CallMark, LiveTexts, call_mark, call_name, call_results, is_gate, stage_name, visit_calls,
};

/// Of a longer prompt or reply only the start is shown.
const MOST_BYTES: u64 = 1_000_000;

/// Lists the visits in order, each with its turns.
pub(super) fn tree_nodes(run: &LoadedRun, now: Moment) -> Vec<TreeNode> {
    let mut nodes = Vec::new();
    for (index, visit) in run.view.visits.iter().enumerate() {
        let calls: Vec<(&RoundView, &CallView)> = visit_calls(run, visit).collect();
        let marks: Vec<CallMark> = calls.iter().map(|(_, call)| call_mark(run, call)).collect();
        let is_current = index + 1 == run.view.visits.len() && visit.left.is_none();
        nodes.push(TreeNode {
            key: NodeKey::Visit(index),
            mark: if is_current { current_mark(run, &marks) } else { CallMark::Done },
            label: stage_name(visit.stage.as_str(), visit.visit),
            note: visit.active_time().map(quantities::stopwatch).unwrap_or_default(),
        });
        let has_rounds = visit.rounds.len() > 1;
        for ((round, call), mark) in calls.into_iter().zip(marks) {
            let name = call_name(run, call);
            let label = if has_rounds { format!("{name}, round {}", round.round) } else { name };
            let note = duration(call, mark, now).map(quantities::stopwatch).unwrap_or_default();
            nodes.push(TreeNode { key: NodeKey::Call(call.id.clone()), mark, label, note });
        }
    }
    nodes
}

/// Returns the mark of the visit that has not ended.
fn current_mark(run: &LoadedRun, calls: &[CallMark]) -> CallMark {
    if calls.contains(&CallMark::WaitsForPerson) {
        return CallMark::WaitsForPerson;
    }
    match run.state {
        RunState::Running { .. } => CallMark::Running,
        _ if calls.last() == Some(&CallMark::Failed) => CallMark::Failed,
        _ => CallMark::Queued,
    }
}

fn duration(call: &CallView, mark: CallMark, now: Moment) -> Option<Millis> {
    match (mark, call.reply()) {
        (_, Some(reply)) => Some(reply.duration),
        (CallMark::Running, None) => Some(now.since(call.attempts.last()?.asked)),
        (_, None) => None,
    }
}

impl PaneTexts {
    /// Shows an error in place of the texts.
    pub(super) fn unreadable(error: &str) -> Self {
        let text = format!("cannot be read: {error}");
        let [transcript, prompt, report, diff] = std::array::from_fn(|_| text.clone());
        Self { transcript, prompt, report, diff, why: text }
    }
}

/// Reads the texts of a visit or a turn.
pub(super) fn pane_texts(
    run: &LoadedRun,
    node: &NodeKey,
    live: &LiveTexts,
    question: Option<&(CallId, String)>,
) -> Result<PaneTexts, CommandError> {
    let (visit, calls): (Option<&VisitView>, Vec<&CallView>) = match node {
        NodeKey::Visit(index) => {
            let visit = run.view.visits.get(*index);
            (
                visit,
                visit
                    .map(|visit| visit_calls(run, visit).map(|(_, call)| call).collect())
                    .unwrap_or_default(),
            )
        }
        NodeKey::Call(id) => {
            let is_own = |visit: &&VisitView| visit.stage == id.stage && visit.visit == id.visit;
            (run.view.visits.iter().find(is_own), run.view.call(id).into_iter().collect())
        }
    };
    let has_many = calls.len() > 1;
    let mut texts = PaneTexts::default();
    let changed =
        if calls.iter().any(|call| call.reply().is_some()) { run.file_changes()? } else { Vec::new() };
    let reports = run.view.reports();
    for call in calls {
        let turn = TurnObject::of(run, call, &reports, MOST_BYTES)?;
        let heading =
            if has_many { format!("── {} ──\n", call_name(run, call)) } else { String::new() };
        add(&mut texts.transcript, &heading, &transcript(run, call, &turn, live, question));
        add(&mut texts.prompt, &heading, turn.prompt.as_deref().unwrap_or_default());
        if turn.is_cut {
            let words = "\n[a text of more than a megabyte is cut; `saihai show RUN STAGE` prints it whole]";
            add(&mut texts.transcript, "", words);
        }
        for (file, text) in turn.reports() {
            add(&mut texts.report, &format!("── {file} ──\n"), text);
        }
        for changed in changed.iter().filter(|changed| changed.call == call.id) {
            add(&mut texts.diff, &heading, &turn_diff(changed));
            if changed.is_partial {
                add(&mut texts.diff, "", "it may have changed more files: commands are not recorded");
            }
        }
    }
    if let Some(visit) = visit {
        let told = run.transitions();
        let own = told.into_iter().filter(|told| told.stage == visit.stage && told.visit == visit.visit);
        for transition in own {
            add(&mut texts.why, "", &plain_transition(run, transition)?.join("\n"));
        }
    }
    for (text, nothing) in [
        (&mut texts.transcript, "nothing yet"),
        (&mut texts.prompt, "no agent was asked here"),
        (&mut texts.report, "no report was saved here"),
        (&mut texts.diff, "no recorded edits; `saihai diff` compares the files of the whole run"),
        (&mut texts.why, "this stage has not ended yet"),
    ] {
        if text.is_empty() {
            text.push_str(nothing);
        }
    }
    Ok(texts)
}

/// Appends a text below an empty line.
fn add(whole: &mut String, heading: &str, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    if !whole.is_empty() {
        whole.push_str("\n\n");
    }
    whole.push_str(heading);
    whole.push_str(text.trim_end());
}

/// Joins what is known of a call: figures, failed attempts, tools, and the reply or the output so far.
fn transcript(
    run: &LoadedRun,
    call: &CallView,
    turn: &TurnObject,
    live: &LiveTexts,
    question: Option<&(CallId, String)>,
) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(turn.figures());
    parts.extend(turn.failures.iter().map(|failure| format!("failed attempt: {failure}")));
    let tools: Vec<String> = turn.tool_lines();
    if !tools.is_empty() {
        parts.push(tools.join("\n"));
    }
    parts.extend(turn.reply.clone());
    if turn.reply.is_none() {
        parts.extend(live.get(&call.id).cloned());
    }
    if is_gate(run, call) {
        parts.extend(question.filter(|(asked, _)| *asked == call.id).map(|(_, question)| question.clone()));
    }
    parts.extend(call_results(call));
    parts.join("\n\n")
}
