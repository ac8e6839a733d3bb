//! The state of a run, for people and programs.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use saihai::views::{RunOutcome, UnmatchedTurn};
use saihai::{LoadedRun, RunDirectory};
use saihai_config::Language;
use saihai_model::{
    By, Ending, ExitStatus, FileChangeCounts, Hold, Label, LimitReason, Millis, ProviderName, Usage, Usd,
    Wants,
};
use saihai_review::{ReviewPlan, ReviewReport, saved_report};
use saihai_view::RunState;
use saihai_view::{OpenGateView, RunSpending};
use serde::Serialize;

use crate::commands::review::ReportOutput;
use crate::driving::{DifferenceObject, RunKeeping, ScriptDifferences};
use crate::error::CommandError;
use crate::quantities;
use crate::quantities::{
    SpendingObject, count, file_change_words, over_budget_words, raised_budget, tokens, total_cost,
};
use crate::reason_words::error_words;
use crate::report::{
    RunNames, TransitionReason, ending_words, parked_words, transition_lines, transition_reasons,
    with_reasons,
};
use crate::terminal::{Stream, Streams, style, visible_line, visible_text, wrapped};
use saihai_review::ReportFormat;

/// State of an answered run that no process drives.
pub(crate) const READY: &str = "answered, ready to resume";

/// State of a gate that has timed out.
pub(crate) const LATE: &str = "the gate timed out and counts as declined";

/// The state of a run and the reasons for it.
pub(crate) struct Conclusion {
    pub(super) outcome: RunOutcome,
    state: RunState,
    error: Option<String>,
    pub(super) last: Option<LastExit>,
    exit: ExitStatus,
    gate: Option<OpenGateView>,
    most_iterations: Option<u32>,
    pub(super) reports: Vec<PathBuf>,
    pub(super) unexpected: ScriptDifferences,
    pub(super) spending: Option<RunSpending>,
    review: Option<ReviewReport>,
    language: Language,
    /// Active time of the run.
    elapsed: Millis,
    changes: Option<FileChangeCounts>,
    /// True if this process drove the run to this state.
    is_driven: bool,
    /// The name to type for the run.
    name: String,
    keeping: RunKeeping,
}

/// The stage that was left last.
pub(super) struct LastExit {
    pub(super) stage: String,
    pub(super) by: By,
    pub(super) rule: Option<usize>,
    pub(super) condition: Option<String>,
    /// Its exit and the reasons for it.
    transition: Vec<String>,
    reasons: Vec<TransitionReason>,
}

impl Conclusion {
    /// Reads the current state of a run.
    pub(crate) fn of(directory: &RunDirectory) -> Result<Self, CommandError> {
        Self::of_run(&LoadedRun::read(directory)?)
    }

    pub(crate) fn of_run(run: &LoadedRun) -> Result<Self, CommandError> {
        let (directory, outcome) = (&run.directory, run.outcome()?);
        let report_directory = Path::new(&outcome.report_directory);
        let reports = outcome.reports.iter().map(|file| report_directory.join(file)).collect();
        let last = LastExit::of(run);
        let at_gate = matches!(
            run.state,
            RunState::Parked { hold: Hold::Person(_), .. } | RunState::Running { gate: Some(_), .. }
        );
        let gate = run.view.open_gate(&run.workflow).filter(|_| at_gate);
        Ok(Self {
            outcome,
            state: run.state.clone(),
            last,
            exit: run.state.exit_status(),
            gate,
            most_iterations: run.view.most_iterations.or(run.workflow.limits.rounds),
            reports,
            spending: run.view.spending(&run.workflow),
            error: error_words(run),
            unexpected: ScriptDifferences::default(),
            review: saved_report(directory)?,
            language: ReviewPlan::of(&run.workflow).unwrap_or_default().language(),
            elapsed: run.view.driven,
            changes: run.view.file_changes,
            is_driven: false,
            name: directory.short_name(),
            keeping: RunKeeping::Kept,
        })
    }

    /// Leaves out everything about later commands if the run is deleted.
    pub(super) fn kept(mut self, keeping: RunKeeping) -> Self {
        self.keeping = keeping;
        if keeping == RunKeeping::Temporary {
            self.outcome.resumable = false;
            self.gate = None;
            self.reports.clear();
        }
        self
    }

    /// Replaces the state after a disk failure: only the driver knows the events that could not be journaled.
    pub(crate) fn cut_short(mut self, hold: Hold, why: &str) -> Self {
        self.outcome.reason = Some(hold.reason().to_owned());
        self.error = Some(why.to_owned());
        self.state = RunState::Parked { hold, provider: None };
        self.exit = self.state.exit_status();
        self.outcome.outcome = self.state.name().to_owned();
        self
    }

    /// Adds the differences from the script, and the resulting exit status.
    pub(super) fn compared(self, unexpected: &ScriptDifferences, exit: ExitStatus) -> Self {
        Self { unexpected: unexpected.clone(), exit, ..self }
    }

    /// Marks the end of driving.
    pub(super) fn driven(self) -> Self {
        Self { is_driven: true, ..self }
    }

    /// Returns the budget and spending, if the run has a budget.
    pub(crate) fn spending(&self) -> Option<&RunSpending> {
        self.spending.as_ref()
    }

    /// Returns the command that answers the open gate of `run`.
    fn answer_command(&self, run: &str) -> Option<String> {
        self.gate.as_ref().filter(|gate| !is_late(gate)).map(|gate| match gate.wants {
            Wants::YesNo => format!("saihai answer {run} yes"),
            Wants::Text { .. } => format!("saihai answer {run} TEXT"),
        })
    }

    /// Returns the short command that continues the run, for people.
    pub(crate) fn short_resume_command(&self) -> Option<String> {
        self.resume_command(&self.name)
    }

    fn resume_command(&self, run: &str) -> Option<String> {
        let most = self.most_iterations.unwrap_or(self.outcome.iterations);
        let flags = resume_flags(&self.state, most, self.spending.as_ref())?;
        Some(format!("saihai resume {run}{}{flags}", if flags.is_empty() { "" } else { " " }))
    }

    /// Prints the state for a person, on one screen.
    fn show(&self, streams: &mut Streams) -> Result<(), CommandError> {
        let outcome = &self.outcome;
        let style = self.style();
        let out = &mut streams.out;
        let columns = out.columns();
        for (index, line) in self.headlines().iter().enumerate() {
            for line in wrapped(line, columns, 2) {
                let line = if index == 0 { out.paint(style, &line) } else { line };
                out.data(&line)?;
            }
        }
        let figures = match self.keeping {
            RunKeeping::Kept => format!("run {}: {}", visible_line(&outcome.run), self.figures()),
            RunKeeping::Temporary => self.figures(),
        };
        for line in wrapped(&figures, columns, 2) {
            out.data(&line)?;
        }
        if outcome.rehearsal {
            out.data("rehearsal: no agent was asked, and no work was done")?;
        }
        for line in self.report_lines().iter().flat_map(|line| wrapped(line, columns, 2)) {
            out.data(&line)?;
        }
        if let Some(report) = &self.review {
            out.data("")?;
            return ReportOutput { report, language: self.language }.print(ReportFormat::Md, out);
        }
        self.show_output(out)?;
        out.flush()?;
        Ok(())
    }

    /// Prints the last output of the flow. On a terminal it may fill half of the screen.
    fn show_output(&self, out: &mut Stream) -> Result<(), CommandError> {
        let Some(output) = &self.outcome.output else { return Ok(()) };
        let text = visible_text(&saihai_judge::without_status_tags(output));
        let columns = if out.is_terminal() { out.columns() } else { usize::MAX };
        let lines: Vec<String> = text.trim_end().lines().flat_map(|line| wrapped(line, columns, 0)).collect();
        let most = if out.is_terminal() { (out.rows() / 2).max(6) } else { usize::MAX };
        let shown = if lines.len() > most { most - 1 } else { lines.len() };
        if !lines.is_empty() {
            out.data("")?;
        }
        for line in &lines[..shown] {
            out.data(line)?;
        }
        if shown < lines.len() {
            let more = count((lines.len() - shown) as u64, "more line");
            out.data(&out.paint(style::QUIET, &format!("… {more}: saihai show {} | less", self.name)))?;
        }
        Ok(())
    }

    /// Lists the reports. Several share one line with their directory.
    fn report_lines(&self) -> Vec<String> {
        let directory = self.reports.first().and_then(|report| report.parent());
        match (self.reports.as_slice(), directory) {
            ([_, _, ..], Some(directory)) => {
                let names = self.reports.iter().map(|report| {
                    report.strip_prefix(directory).unwrap_or(report).to_string_lossy().into_owned()
                });
                let names = names.collect::<Vec<_>>().join(", ");
                vec![format!("reports in {}: {}", visible_line(&shown(directory)), visible_line(&names))]
            }
            (reports, _) => {
                reports.iter().map(|report| format!("report {}", visible_line(&shown(report)))).collect()
            }
        }
    }

    /// Returns the colour of the state.
    fn style(&self) -> anstyle::Style {
        match (&self.state, self.exit) {
            (state @ (RunState::Running { .. } | RunState::Parked { .. }), _) => state_style(state),
            (_, ExitStatus::Done) => style::GOOD,
            (_, ExitStatus::Failed) => style::ERROR,
            _ => style::WARNING,
        }
    }

    fn show_way_on(&self, streams: &mut Streams) {
        let outcome = &self.outcome;
        if let Some(error) = self.error() {
            streams.error(&error, &[]);
        }
        self.show_unmatched(streams);
        if let Some(until) = outcome.until {
            let time = quantities::local_until(until, quantities::now());
            streams.note(&format!(
                "the provider is not available before {time}; `--wait` waits for it, `--now` tries anyway"
            ));
        }
        let is_live = matches!(self.state, RunState::Running { .. });
        let resume = || self.short_resume_command().filter(|_| !is_live);
        let resume = || resume().map(|resume| format!("continue with `{resume}`"));
        let answer = self.answer_command(&self.name).map(|answer| format!("answer with `{answer}`"));
        if let Some(next) = answer.or_else(resume) {
            streams.note(&next);
        } else if self.is_driven
            && self.keeping == RunKeeping::Kept
            && streams.err.is_terminal()
            && streams.out.is_terminal()
        {
            streams.note("next: `saihai explain` gives the reasons, `saihai show` the figures");
        }
    }

    /// Returns the failure, if there is one.
    pub(super) fn error(&self) -> Option<String> {
        let nothing_matched = || {
            let stage = self.last.as_ref().map(|last| last.stage.as_str())?;
            let unmatched = !self.outcome.unmatched.is_empty();
            unmatched.then(|| format!("no rule of `{stage}` matched the reply"))
        };
        self.error.clone().or_else(nothing_matched)
    }

    /// Prints the replies that no rule matched, and the match of each turn (P-44).
    fn show_unmatched(&self, streams: &mut Streams) {
        for UnmatchedTurn { turn, label, tail } in &self.outcome.unmatched {
            let matched =
                label.as_ref().map_or_else(|| "nothing".into(), |label| visible_line(label.as_str()));
            streams.err.line(&format!("`{}` matched {matched}:", visible_line(turn.as_str())));
            for line in visible_text(tail.trim_end()).lines() {
                streams.err.line(&format!("  | {line}"));
            }
        }
    }

    /// Returns the state and its reason.
    fn headlines(&self) -> Vec<String> {
        let stands = match &self.state {
            // The last exit ended the run.
            RunState::Ended {
                ending: ending @ (Ending::Completed(_) | Ending::Failed(_) | Ending::Declined),
            } => {
                let ended = match ending {
                    Ending::Completed(_) if self.outcome.rehearsal => "rehearsed".to_owned(),
                    ending => ending_words(ending),
                };
                let Some(last) = &self.last else { return vec![ended] };
                let head = format!("{ended} at {}", visible_line(&last.stage));
                return with_reasons(&head, &last.reasons);
            }
            RunState::Ended { ending } => ending_words(ending),
            RunState::Parked { hold: Hold::Budget, .. } => {
                let budget = self.spending.as_ref().and_then(over_budget_words);
                let budget = budget.map(|budget| format!(": {budget}"));
                format!("{}{}", state_words(&self.state), budget.unwrap_or_default())
            }
            state => state_words(state),
        };
        let is_late = self.gate.as_ref().is_some_and(is_late);
        let stands = if is_late { format!("{stands}; {LATE}") } else { stands };
        let last = self.last.iter().flat_map(|last| last.transition.iter().enumerate());
        let last = last.map(|(index, line)| if index == 0 { format!("last: {line}") } else { line.clone() });
        std::iter::once(stands).chain(last).collect()
    }

    /// Returns the reason of the state and the error behind it, for a place that shows the state itself.
    pub(crate) fn why(&self) -> Vec<String> {
        let mut lines = self.headlines();
        if !self.state.is_over() {
            lines.remove(0);
            let budget = self.spending.as_ref().and_then(over_budget_words);
            let is_spent = matches!(self.state, RunState::Parked { hold: Hold::Budget, .. });
            lines.splice(0..0, budget.filter(|_| is_spent));
        }
        lines.extend(self.error());
        lines
    }

    /// Returns the commands that continue the run, by its full id. They stay true when there is a newer run.
    pub(crate) fn next_commands(&self) -> Vec<String> {
        let is_live = matches!(self.state, RunState::Running { .. });
        let id = &self.outcome.run;
        let answer = self.answer_command(id);
        let resume = self.resume_command(id).filter(|_| !is_live && answer.is_none());
        answer.into_iter().chain(resume).collect()
    }

    fn figures(&self) -> String {
        let outcome = &self.outcome;
        let mut figures = vec![
            quantities::length(self.elapsed),
            count(u64::from(outcome.iterations), "iteration"),
            count(outcome.turns, "turn"),
        ];
        figures.extend(tokens(&outcome.usage));
        figures.extend(total_cost(outcome.cost, &outcome.unpriced));
        figures.extend(self.changes.map(file_change_words));
        figures.join(", ")
    }
}

/// Returns the flags with which a run can continue: the limit to raise. `most`: the most iterations so far.
pub(crate) fn resume_flags(state: &RunState, most: u32, spending: Option<&RunSpending>) -> Option<String> {
    let flags = match state {
        RunState::Ended { .. } => return None,
        RunState::Parked { hold: Hold::Limit(LimitReason::Timeout), .. } => "--run-timeout TIME".to_owned(),
        RunState::Parked {
            hold: Hold::Limit(LimitReason::MaxIterations | LimitReason::EmergencyStop),
            ..
        } => format!("--max-iterations {}", most.saturating_mul(2).min(100_000)),
        RunState::Parked { hold: Hold::Budget, .. } => {
            let budget = spending.and_then(raised_budget);
            format!("--budget {}", budget.as_deref().unwrap_or("BUDGET"))
        }
        _ => String::new(),
    };
    Some(flags)
}

/// Returns true if the gate has timed out.
pub(crate) fn is_late(gate: &OpenGateView) -> bool {
    gate.closes.is_some_and(|closes| closes <= quantities::now())
}

impl LastExit {
    fn of(run: &LoadedRun) -> Option<Self> {
        let exits = run.view.rounds().filter_map(|(visit, round)| Some((visit, round, round.exit.as_ref()?)));
        let (visit, round, exit) = exits.last()?;
        let (stage, verdict, names) = (&visit.stage, &exit.verdict, RunNames::new(&run.workflow));
        let decisive = run.view.decisive_turns(&run.workflow, stage, round, verdict);
        Some(Self {
            transition: transition_lines(stage, verdict, &decisive, &names),
            reasons: transition_reasons(stage, verdict, &decisive, &names),
            condition: verdict.rule.and_then(|rule| names.rule(stage, rule)),
            stage: stage.to_string(),
            by: verdict.by,
            rule: verdict.rule,
        })
    }
}

/// Describes a state for a person.
pub(crate) fn state_words(state: &RunState) -> String {
    let words = match state {
        RunState::Running { gate: Some(call), .. } => format!("waiting for you at `{}`", call.stage),
        RunState::Running { .. } => "running".to_owned(),
        RunState::Interrupted => "interrupted: its process is gone".to_owned(),
        RunState::Ready => READY.to_owned(),
        RunState::Parked { hold: hold @ Hold::Person(_), .. } => parked_words(hold, None, quantities::now()),
        RunState::Parked { hold, provider } => {
            format!("parked: {}", parked_words(hold, provider.as_ref(), quantities::now()))
        }
        RunState::Ended { ending } => ending_words(ending),
    };
    visible_line(&words).into_owned()
}

/// Returns the colour of a state.
pub(crate) fn state_style(state: &RunState) -> anstyle::Style {
    match state {
        RunState::Running { gate: Some(_), .. }
        | RunState::Parked { hold: Hold::Person(_), .. }
        | RunState::Ready => style::WAITING,
        RunState::Running { .. } => style::RUNNING,
        RunState::Interrupted | RunState::Parked { .. } => style::PARKED,
        RunState::Ended { ending: Ending::Completed(_) } => style::GOOD,
        RunState::Ended { ending: Ending::Declined | Ending::Cancelled } => style::WARNING,
        RunState::Ended { .. } => style::ERROR,
    }
}

/// Prints the state of a run: data on stdout, next steps on stderr.
pub(crate) fn show_result(
    conclusion: &Conclusion,
    json: bool,
    streams: &mut Streams,
) -> Result<(), CommandError> {
    if json {
        streams.out.json("result", conclusion.object())?;
    } else {
        conclusion.show(streams)?;
    }
    conclusion.show_way_on(streams);
    Ok(())
}

/// Shortens a path to a relative one if it is below the current directory.
fn shown(path: &Path) -> Cow<'_, str> {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path).to_string_lossy()
}

#[derive(Serialize)]
pub(crate) struct ResultObject<'a> {
    run: &'a str,
    definition: &'a str,
    dialect: &'a str,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    exit: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unmatched: Vec<UnmatchedObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided: Option<DecidedObject<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    differences: &'a [DifferenceObject],
    iterations: u32,
    turns: u64,
    usage: &'a Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_lacks: Option<&'a BTreeSet<ProviderName>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<SpendingObject>,
    reports: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    rehearsal: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<String>,
}

/// A reply that no rule matched (P-44).
#[derive(Serialize)]
struct UnmatchedObject<'a> {
    turn: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<&'a str>,
    tail: &'a str,
}

impl<'a> UnmatchedObject<'a> {
    fn new(unmatched: &'a UnmatchedTurn) -> Self {
        let matched = unmatched.label.as_ref().map(Label::as_str);
        Self { turn: unmatched.turn.as_str(), matched, tail: &unmatched.tail }
    }
}

/// The reason for the last transition (P-45).
#[derive(Serialize)]
struct DecidedObject<'a> {
    stage: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<&'a str>,
    method: By,
}

impl Conclusion {
    pub(crate) fn object(&self) -> ResultObject<'_> {
        let outcome = &self.outcome;
        ResultObject {
            run: &outcome.run,
            definition: &outcome.definition,
            dialect: &outcome.dialect,
            outcome: &outcome.outcome,
            reason: outcome.reason.as_deref(),
            exit: self.exit.code(),
            error: self.error(),
            unmatched: outcome.unmatched.iter().map(UnmatchedObject::new).collect(),
            decided: self.last.as_ref().map(|last| DecidedObject {
                stage: &last.stage,
                rule: last.rule,
                condition: last.condition.as_deref(),
                method: last.by,
            }),
            differences: self.unexpected.list(),
            iterations: outcome.iterations,
            turns: outcome.turns,
            usage: &outcome.usage,
            cost_usd: outcome.cost.map(Usd::dollars),
            cost_lacks: outcome.cost.and(Some(&outcome.unpriced)).filter(|lacks| !lacks.is_empty()),
            budget: self.spending.as_ref().and_then(SpendingObject::of),
            reports: self.reports.iter().map(|path| path.to_string_lossy()).collect(),
            output: outcome.output.as_deref(),
            rehearsal: outcome.rehearsal,
            until: outcome.until.map(quantities::rfc3339),
            answer: self.answer_command(&outcome.run),
            resume: self.resume_command(&outcome.run),
        }
    }
}
