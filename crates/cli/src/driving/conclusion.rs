//! The state of a run, for people and programs.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use saihai::project::{RunOutcome, Spending, UnmatchedTurn};
use saihai::review::{Report, report_language, saved_report};
use saihai::{Clock, LoadedRun, RunDirectory, State, is_gate_closed, open_gate};
use saihai_config::Language;
use saihai_model::{By, Ending, Hold, StageId, Verdict, Wants, Workflow, exit_code};

use super::Unexpected;
use crate::commands::review::{Form, Said};
use crate::error::Error;
use crate::report::{
    Names, count, ending_words, exit_words, parked_words, tokens, total_cost, verdict_words,
};
use crate::terminal::{Streams, style, visible_line, visible_text};
use crate::{json, time};

/// State of an answered run that no process drives.
pub(crate) const READY: &str = "answered, ready to be resumed";

/// State of a gate that has timed out.
pub(crate) const LATE: &str = "the time to answer is over, which is a no";

/// The state of a run and the reasons for it.
pub(crate) struct Conclusion {
    pub(super) outcome: RunOutcome,
    state: State,
    pub(super) last: Option<Last>,
    gate: Option<Wants>,
    /// True if the gate has timed out.
    is_late: bool,
    most_iterations: Option<u32>,
    pub(super) reports: Vec<PathBuf>,
    pub(super) unexpected: Unexpected,
    pub(super) spending: Option<Spending>,
    review: Option<Report>,
    language: Language,
}

/// The stage that was left last.
pub(super) struct Last {
    pub(super) stage: String,
    pub(super) by: By,
    pub(super) rule: Option<usize>,
    pub(super) condition: Option<String>,
    /// Its exit and the reason for it.
    exit: String,
    verdict: String,
}

impl Conclusion {
    /// Reads the current state of a run.
    pub(crate) fn of(directory: &RunDirectory) -> Result<Self, Error> {
        Self::of_run(&LoadedRun::read(directory)?)
    }

    pub(crate) fn of_run(run: &LoadedRun) -> Result<Self, Error> {
        let (directory, outcome) = (&run.directory, run.outcome()?);
        let report_directory = Path::new(&outcome.report_directory);
        let reports = outcome.reports.iter().map(|file| report_directory.join(file)).collect();
        let last = run.view.last_exit().map(|(stage, verdict)| Last::new(stage, verdict, &run.workflow));
        let waits = outcome.reason.as_deref() == Some("person");
        let is_late = waits && is_gate_closed(directory, &Clock::system())?;
        let gate = if waits && !is_late { Some(open_gate(directory)?.2) } else { None };
        let has_budget = run.view.budget_raised || !run.workflow.limits.budget.is_unlimited();
        let spending = if has_budget { Some(Spending::of(directory)?) } else { None };
        Ok(Self {
            outcome,
            state: run.state.clone(),
            last,
            gate,
            is_late,
            most_iterations: run.view.most_iterations.or(run.workflow.limits.rounds),
            reports,
            spending,
            unexpected: Unexpected::default(),
            review: saved_report(directory)?,
            language: report_language(&run.workflow),
        })
    }

    /// Replaces the state after a disk failure: only the driver knows the events that could not be journaled.
    pub(crate) fn cut_short(mut self, hold: Hold, why: &str) -> Self {
        let outcome = &mut self.outcome;
        outcome.exit = exit_code(None, Some(&hold));
        outcome.reason = Some(hold.reason().to_owned());
        outcome.error = Some(why.to_owned());
        self.state = State::Parked { hold, provider: None };
        self.outcome.outcome = self.state.name().to_owned();
        self
    }

    /// Adds the differences from the script, and the resulting exit code.
    pub(super) fn compared(mut self, unexpected: &Unexpected, exit: u8) -> Self {
        self.unexpected = unexpected.clone();
        self.outcome.exit = exit;
        self
    }

    /// Returns the budget and spending, if the run has a budget.
    pub(crate) fn spending(&self) -> Option<&Spending> {
        self.spending.as_ref()
    }

    pub(crate) fn exit(&self) -> u8 {
        self.outcome.exit
    }

    /// Returns the command that answers the open gate.
    pub(super) fn answer_command(&self) -> Option<String> {
        let run = &self.outcome.run;
        self.gate.map(|wants| match wants {
            Wants::YesNo => format!("saihai answer {run} yes"),
            Wants::Text { .. } => format!("saihai answer {run} TEXT"),
        })
    }

    /// Returns the command that continues the run.
    pub(crate) fn resume_command(&self) -> Option<String> {
        let outcome = &self.outcome;
        let run = &outcome.run;
        let raised = match outcome.reason.as_deref() {
            Some("max_iterations" | "emergency_stop") => {
                let most = self.most_iterations.unwrap_or(outcome.iterations);
                format!(" --max-iterations {}", most.saturating_mul(2).min(100_000))
            }
            Some("timeout") => " --run-timeout TIME".to_owned(),
            Some("budget") => " --budget BUDGET".to_owned(),
            Some(_) | None => String::new(),
        };
        outcome.resumable.then(|| format!("saihai resume {run}{raised}"))
    }

    /// Prints the state for a person.
    fn show(&self, streams: &mut Streams) -> Result<(), Error> {
        let outcome = &self.outcome;
        let style = match outcome.exit {
            0 => style::GOOD,
            1 => style::ERROR,
            _ => style::WARNING,
        };
        let out = &mut streams.out;
        for (index, line) in self.headlines().iter().enumerate() {
            let line = if index == 0 { out.paint(style, line) } else { line.clone() };
            out.data(&line)?;
        }
        out.data(&format!("run {}: {}", visible_line(&outcome.run), self.figures()))?;
        if outcome.rehearsal {
            out.data("rehearsal: no agent was asked, no work was done")?;
        }
        for report in &self.reports {
            out.data(&format!("report {}", visible_line(&shown(report))))?;
        }
        if let Some(report) = &self.review {
            out.data("")?;
            return Said { report, language: self.language }.print(Form::Md, out);
        }
        if let Some(output) = &outcome.output {
            out.data("")?;
            out.data(visible_text(output).trim_end())?;
        }
        out.flush()?;
        Ok(())
    }

    fn show_way_on(&self, streams: &mut Streams) {
        let outcome = &self.outcome;
        if let Some(error) = self.error() {
            streams.error(&error, &[]);
        }
        self.show_unmatched(streams);
        if let Some(until) = outcome.until {
            let time = time::local_until(until, time::now());
            streams.note(&format!(
                "nothing can be asked before {time}; `--wait` sits that out, `--now` asks anyway"
            ));
        }
        let resume = self.resume_command().map(|resume| format!("continue with `{resume}`"));
        let answer = self.answer_command().map(|answer| format!("answer with `{answer}`"));
        let steps: Vec<String> = answer.into_iter().chain(resume).collect();
        if !steps.is_empty() {
            streams.note(&steps.join(", then "));
        }
    }

    /// Returns the failure, if there is one.
    pub(super) fn error(&self) -> Option<String> {
        let nothing_matched = || {
            let stage = self.last.as_ref().map(|last| last.stage.as_str())?;
            let unmatched = !self.outcome.unmatched.is_empty();
            unmatched.then(|| format!("no rule of `{stage}` matched what was said"))
        };
        self.outcome.error.clone().or_else(nothing_matched)
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
        let last = self.last.as_ref().map(|last| last.exit.as_str());
        let stands = match &self.state {
            // The last exit ended the run.
            State::Ended {
                ending: ending @ (Ending::Completed(_) | Ending::Failed(_) | Ending::Declined),
            } => {
                let at = self
                    .last
                    .as_ref()
                    .map(|last| format!(" at `{}`: {}", visible_line(&last.stage), last.verdict));
                return vec![format!("{}{}", ending_words(ending), at.unwrap_or_default())];
            }
            State::Ended { ending } => ending_words(ending),
            State::Running { .. } => "running".to_owned(),
            State::Interrupted => "interrupted: nobody drives it".to_owned(),
            State::Ready => READY.to_owned(),
            State::Parked { hold, provider } => {
                format!("parked: {}", visible_line(&parked_words(hold, provider.as_ref(), time::now())))
            }
        };
        let stands = if self.is_late { format!("{stands}; {LATE}") } else { stands };
        std::iter::once(stands).chain(last.map(|last| format!("last: {last}"))).collect()
    }

    fn figures(&self) -> String {
        let outcome = &self.outcome;
        let mut figures =
            vec![count(u64::from(outcome.iterations), "iteration"), count(outcome.turns, "turn")];
        figures.extend(tokens(&outcome.usage));
        figures.extend(total_cost(outcome.cost, &outcome.unpriced));
        figures.join(", ")
    }
}

impl Last {
    fn new(stage: &StageId, verdict: &Verdict, workflow: &Workflow) -> Self {
        let names = Names::new(workflow);
        Self {
            exit: exit_words(stage, verdict, &names),
            verdict: verdict_words(stage, verdict, &names),
            condition: verdict.rule.and_then(|rule| names.rule(stage, rule)),
            stage: stage.to_string(),
            by: verdict.by,
            rule: verdict.rule,
        }
    }
}

/// Prints the state of a run: data on stdout, next steps on stderr.
pub(crate) fn show_result(conclusion: &Conclusion, json: bool, streams: &mut Streams) -> Result<(), Error> {
    if json {
        json::line(&mut streams.out, "result", conclusion.object())?;
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
