//! A run as its own page shows it.

use std::collections::BTreeMap;

use saihai::LoadedRun;
use saihai_model::{
    Activity, CallId, Destination, Ending, Moment, Purpose, RoundPosition, Usage, Usd, Verdict, Wants,
};
use saihai_review::{ReportedFinding, saved_report};
use saihai_view::{AttemptResult, AttemptView, CallView, RoundView, Transition, VisitView, asked_of};

use super::model::{
    CallKind, CallMark as PageMark, PAGE_VERSION, PageAttempt, PageCall, PageExit, PageFinding, PageGate,
    PageNote, PagePause, PageReport, PageReportVersion, PageRow, PageStage, PageVisit, RunPage, StageKind,
    TokenCounts, TurnLabel,
};
use super::projects::ServedProjects;
use crate::commands::explain::timeless_transition;
use crate::driving::Conclusion;
use crate::error::CommandError;
use crate::graph::{self, WorkflowGraph};
use crate::report::{RunNames, destination_words, mechanism_words, parked_words};
use crate::watching::{CallMark, FollowedRow, SeenRun, call_mark, call_name, is_gate};

impl RunPage {
    /// Renders a run. `question` is the text of its open gate.
    pub(super) fn of(
        run: &LoadedRun,
        question: Option<&(CallId, String)>,
        now: Moment,
    ) -> Result<Self, CommandError> {
        let LoadedRun { directory, workflow, view, state, .. } = run;
        let row = PageRow::of(&SeenRun { directory, view, state, workflow: Some(workflow), now });
        let conclusion = Conclusion::of_run(run)?;
        let visits = view.visits.iter().enumerate();
        let mut calls = Vec::new();
        for (index, visit) in visits.clone() {
            for round in &visit.rounds {
                let own = view.calls_of(round).iter();
                let shown = own.filter(|call| !matches!(call.place, RoundPosition::Report(_)));
                calls.extend(shown.map(|call| page_call(run, index, round, call)));
            }
        }
        Ok(Self {
            version: PAGE_VERSION,
            row,
            last_seq: view.last_seq,
            since: 0,
            task: directory.text(&view.start.task)?,
            why: conclusion.why(),
            next: conclusion.next_commands(),
            directory: view.start.directory.clone(),
            stages: workflow.stages.iter().map(|(id, stage)| page_stage(id.as_str(), stage)).collect(),
            graph: graph::page_svg(&WorkflowGraph::of(workflow, None)),
            visits: visits.map(|(index, visit)| page_visit(run, index, visit)).collect(),
            calls,
            exits: exits(run)?,
            pauses: pauses(run, now),
            notes: notes(run),
            gate: question.and_then(|(call, question)| gate(run, call, question)),
            reports: reports(run),
            findings: findings(run)?,
            relatives: view.start.forked_from.iter().cloned().collect(),
        })
    }

    /// Says where the run is on a page.
    pub(super) fn located(self, projects: &ServedProjects, project: usize) -> Self {
        Self { row: self.row.located(projects, project), ..self }
    }

    /// Leaves out what has not changed after an event.
    pub(super) fn after(mut self, seq: u64) -> Self {
        self.since = seq;
        self.calls.retain(|call| call.seq > seq || !matches!(call.mark, PageMark::Done));
        self.exits.retain(|exit| exit.seq > seq);
        let (calls, exits) = (&self.calls, &self.exits);
        let last = self.visits.last().map(|visit| visit.index);
        self.visits.retain(|visit| {
            Some(visit.index) == last
                || calls.iter().any(|call| call.visit == visit.index)
                || exits.iter().any(|exit| exit.visit == visit.index)
        });
        self
    }
}

fn page_stage(id: &str, stage: &saihai_model::Stage) -> PageStage {
    let kind = match stage.does {
        Activity::Turns { .. } => StageKind::Turns,
        Activity::Gate(_) => StageKind::Gate,
        Activity::Action(_) => StageKind::Action,
    };
    PageStage {
        id: id.to_owned(),
        kind,
        turns: stage.turns().iter().map(|turn| turn.id.to_string()).collect(),
    }
}

fn page_visit(run: &LoadedRun, index: usize, visit: &VisitView) -> PageVisit {
    PageVisit {
        index,
        stage: visit.stage.to_string(),
        visit: visit.visit,
        entered: visit.entered.0,
        left: visit.left.map(|left| left.0),
        rounds: visit.counted_rounds(),
        is_inherited: index < run.view.inherited_visits,
    }
}

fn page_call(run: &LoadedRun, visit: usize, round: &RoundView, call: &CallView) -> PageCall {
    let attempts: Vec<PageAttempt> =
        call.attempts.iter().map(|attempt| page_attempt(run, call, attempt)).collect();
    let mark = match call_mark(run, call) {
        CallMark::Done => PageMark::Done,
        CallMark::Failed => PageMark::Failed,
        CallMark::Running => PageMark::Running,
        CallMark::WaitsForPerson => PageMark::Waiting,
        CallMark::Queued => PageMark::Queued,
    };
    let reply = call.reply();
    let performed = call.performed.last();
    let ended = attempts.last().and_then(|attempt| attempt.ended).or(performed.map(|done| done.at.0));
    let ended_seq = call.attempts.last().map(|attempt| match &attempt.result {
        AttemptResult::Open => attempt.seq,
        AttemptResult::Replied { seq, .. } | AttemptResult::Failed { seq, .. } => *seq,
    });
    // An answer has no event of its own in the view. The exit follows it at once.
    let exit_seq = || round.exit.as_ref().map_or(run.view.last_seq, |exit| exit.seq);
    let answered_seq = call.answer.as_ref().map(|_| exit_seq());
    let quotation = reply.map(|reply| reply.reading.quotation.clone()).filter(|words| !words.is_empty());
    PageCall {
        id: call.id.to_string(),
        visit,
        round: round.round,
        iteration: round.iteration,
        name: call_name(run, call),
        kind: call_kind(run, call),
        mark,
        called: call.called.0,
        ended,
        fork_at: call.attempts.first().map(|attempt| attempt.seq.saturating_sub(1)),
        label: label(call, round),
        quotation,
        seq: ended_seq.max(performed.map(|done| done.seq)).max(answered_seq).unwrap_or_default(),
        attempts,
    }
}

/// Returns the label that the exit read in the reply, or the answer of a person.
fn label(call: &CallView, round: &RoundView) -> Option<String> {
    if let Some(answer) = &call.answer {
        return Some(answer.label.to_string());
    }
    let RoundPosition::Main(index) = call.place else { return None };
    let verdict = &round.exit.as_ref()?.verdict;
    verdict.labels.get(index)?.as_ref().map(ToString::to_string)
}

fn call_kind(run: &LoadedRun, call: &CallView) -> CallKind {
    let stage = run.workflow.stage(&call.id.stage);
    match (call.place, call.purpose) {
        _ if is_gate(run, call) => CallKind::Gate,
        (_, Some(Purpose::Correction)) => CallKind::Correction,
        (_, Some(Purpose::Question)) => CallKind::Judge,
        (RoundPosition::Main(index), Some(Purpose::Work)) => {
            let turn = stage.and_then(|stage| stage.turns().get(index));
            match turn.is_some_and(|turn| turn.program.is_some()) {
                true => CallKind::Program,
                false => CallKind::Agent,
            }
        }
        (_, Some(Purpose::Work)) => CallKind::Agent,
        (_, None) => CallKind::Action,
    }
}

fn page_attempt(run: &LoadedRun, call: &CallView, attempt: &AttemptView) -> PageAttempt {
    let asked = asked_of(&run.workflow, call, &attempt.result);
    let (provider, model) = asked
        .map(|(_, provider, model)| (provider.to_string(), model.map(str::to_owned)))
        .map_or((None, None), |(provider, model)| (Some(provider), model));
    let mut shown = PageAttempt {
        seq: attempt.seq,
        asked: attempt.asked.0,
        ended: None,
        failure: None,
        provider,
        model,
        tokens: TokenCounts::default(),
        cost: None,
        tools_ms: 0,
        tools: 0,
        is_cached: false,
    };
    match &attempt.result {
        AttemptResult::Open => {}
        AttemptResult::Replied { at, reply, .. } => {
            shown.ended = Some(at.0);
            shown.tokens = token_counts(&reply.usage);
            shown.cost = reply.cost.map(Usd::dollars);
            shown.tools_ms = reply.tools_used.iter().map(|tool| tool.duration_ms).sum();
            shown.tools = u32::try_from(reply.tools_used.len()).unwrap_or(u32::MAX);
            shown.is_cached = reply.cached;
            if reply.reading.exit.is_some() {
                // A program has no provider and costs nothing.
                (shown.provider, shown.model, shown.cost) = (None, None, Some(0.0));
            }
        }
        AttemptResult::Failed { at, failed, .. } => {
            shown.ended = Some(at.0);
            shown.tokens = token_counts(&failed.usage);
            shown.cost = failed.cost.map(Usd::dollars);
            shown.failure = Some(format!("{}: {}", failed.failure.class.name(), failed.failure.message));
        }
    }
    shown
}

fn token_counts(usage: &Usage) -> TokenCounts {
    TokenCounts {
        input: usage.input.unwrap_or_default(),
        output: usage.output.unwrap_or_default(),
        cached: usage.cached.unwrap_or_default(),
        reasoning: usage.reasoning.unwrap_or_default(),
    }
}

fn exits(run: &LoadedRun) -> Result<Vec<PageExit>, CommandError> {
    let names = RunNames::new(&run.workflow);
    let places: BTreeMap<(&str, u32), usize> = run
        .view
        .visits
        .iter()
        .enumerate()
        .map(|(index, visit)| ((visit.stage.as_str(), visit.visit), index))
        .collect();
    let page_exit = |told: Transition| {
        let verdict = Verdict {
            by: told.by,
            labels: told.labels.clone(),
            rule: told.rule,
            topic: told.topic.clone(),
            to: told.to.clone(),
        };
        let turns = run.workflow.stage(&told.stage).map(|stage| stage.turns()).unwrap_or_default();
        let labels = told.labels.iter().enumerate().map(|(index, label)| TurnLabel {
            turn: turns.get(index).map(|turn| turn.id.to_string()).unwrap_or_default(),
            label: label.as_ref().map(ToString::to_string),
        });
        let visit = places.get(&(told.stage.as_str(), told.visit)).copied().unwrap_or_default();
        let next = run.view.visits.get(visit + 1).map(|next| next.stage.to_string());
        let exit = PageExit {
            seq: told.seq,
            at: told.at.0,
            visit,
            stage: told.stage.to_string(),
            iteration: told.iteration,
            to: destination_words(&told.to),
            to_box: match &told.to {
                Destination::Stage(stage) => stage.to_string(),
                Destination::Again => told.stage.to_string(),
                // The work on an issue goes on with its delivery.
                Destination::Complete => next.unwrap_or_else(|| graph::COMPLETE.to_owned()),
                Destination::End(Ending::Completed(_)) => graph::COMPLETE.to_owned(),
                Destination::End(_) => graph::ABORT.to_owned(),
            },
            mechanism: mechanism_words(&told.stage, &verdict, &names),
            labels: labels.collect(),
            lines: Vec::new(),
        };
        Ok(PageExit { lines: timeless_transition(run, told)?, ..exit })
    };
    run.transitions().into_iter().map(page_exit).collect()
}

fn pauses(run: &LoadedRun, now: Moment) -> Vec<PagePause> {
    let pauses = run.view.pauses.iter().map(|pause| PagePause {
        from: pause.from.0,
        until: pause.until.map(|until| until.0),
        why: match &pause.hold {
            Some(hold) => parked_words(hold, None, now),
            None => "interrupted: its process was gone".to_owned(),
        },
    });
    pauses.collect()
}

fn notes(run: &LoadedRun) -> Vec<PageNote> {
    let notes = run.view.person_notes.iter().map(|told| PageNote {
        number: told.number,
        at: told.at.0,
        text: told.note.text.clone(),
        stage: told.note.to.as_ref().map(ToString::to_string),
        shown_in: told.shown_in.iter().map(ToString::to_string).collect(),
        is_withdrawn: told.is_withdrawn,
    });
    notes.collect()
}

fn gate(run: &LoadedRun, call: &CallId, question: &str) -> Option<PageGate> {
    let open = run.view.open_gate(&run.workflow).filter(|gate| gate.call == *call)?;
    Some(PageGate {
        call: call.to_string(),
        stage: call.stage.to_string(),
        question: question.to_owned(),
        is_yes_no: matches!(open.wants, Wants::YesNo),
        closes: open.closes.map(|closes| closes.0),
    })
}

fn reports(run: &LoadedRun) -> Vec<PageReport> {
    let mut reports: Vec<PageReport> = Vec::new();
    for version in run.view.reports() {
        let shown = PageReportVersion {
            seq: version.seq,
            at: version.at.0,
            stage: version.stage.to_string(),
            call: version.call.to_string(),
            bytes: version.bytes,
        };
        match reports.iter_mut().find(|report| report.file == version.file) {
            Some(report) => report.versions.push(shown),
            None => reports.push(PageReport { file: version.file, versions: vec![shown] }),
        }
    }
    reports
}

fn findings(run: &LoadedRun) -> Result<Vec<PageFinding>, CommandError> {
    let Some(report) = saved_report(&run.directory)? else { return Ok(Vec::new()) };
    let page_finding = |found: &ReportedFinding, set_aside: Option<String>| PageFinding {
        severity: found.finding.severity.name().to_owned(),
        title: found.finding.message.lines().next().unwrap_or_default().to_owned(),
        text: found.finding.message.clone(),
        file: found.finding.file.clone(),
        line: found.finding.start_line.map(u64::from),
        agents: found.agents().iter().map(ToString::to_string).collect(),
        set_aside,
    };
    let counted = report.findings.iter().map(|found| {
        let known = (!found.counts).then(|| "already in the baseline".to_owned());
        page_finding(found, known)
    });
    let suppressed = report
        .suppressed
        .iter()
        .map(|one| page_finding(&one.reported, Some(format!("suppressed: {}", one.reason))));
    let filtered = report.filtered.iter().map(|found| page_finding(found, Some("low confidence".to_owned())));
    Ok(counted.chain(suppressed).chain(filtered).collect())
}
