//! How a run stands, said to a person or a program.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use saihai::project::{Outcome, Transition, Transitions};
use saihai::{RunDirectory, State, open_gate};
use saihai_model::{By, Entry, Fact, Usage, Verdict, Wants, Workflow};
use serde::Serialize;

use crate::error::Error;
use crate::report::{Names, cost, count, ending_words, exit_words, hold_words, tokens};
use crate::terminal::{Streams, style, visible_line, visible_text};
use crate::{json, time};

/// How a run stands, and what led there.
pub(crate) struct Conclusion {
    outcome: Outcome,
    state: State,
    last: Option<Last>,
    gate: Option<Wants>,
    most_iterations: Option<u32>,
    reports: Vec<PathBuf>,
}

/// The last stage that was left.
struct Last {
    stage: String,
    by: By,
    rule: Option<usize>,
    condition: Option<String>,
    words: String,
}

impl Conclusion {
    /// How a run stands now.
    pub(crate) fn of(directory: &RunDirectory) -> Result<Self, Error> {
        let outcome = Outcome::of(directory)?;
        let workflow = directory.workflow()?;
        let mut names = Names::new(&workflow);
        let mut transitions = Transitions::new(&workflow);
        let mut report_directory = PathBuf::new();
        directory.read(&mut |record| {
            if let Entry::Fact(Fact::Started(start)) = &record.entry {
                report_directory = PathBuf::from(&start.report_directory);
            }
            names.learn(&record);
            transitions.see(&record);
        })?;
        let reports = outcome.reports.iter().map(|file| report_directory.join(file)).collect();
        let last = transitions.finish().pop().map(|transition| Last::new(transition, &workflow));
        let waits = outcome.reason.as_deref() == Some("person");
        let gate = if waits { Some(open_gate(directory)?.2) } else { None };
        let state = directory.summary()?.state;
        Ok(Self { outcome, state, last, gate, most_iterations: names.most_iterations(), reports })
    }

    /// The exit code that goes with it.
    pub(crate) fn exit(&self) -> u8 {
        self.outcome.exit
    }

    /// The result object.
    pub(crate) fn object(&self) -> ResultObject<'_> {
        let outcome = &self.outcome;
        ResultObject {
            run: &outcome.run,
            definition: &outcome.definition,
            dialect: &outcome.dialect,
            outcome: &outcome.outcome,
            reason: outcome.reason.as_deref(),
            exit: outcome.exit,
            error: outcome.error.as_deref(),
            decided: self.last.as_ref().map(|last| Decided {
                stage: &last.stage,
                rule: last.rule,
                condition: last.condition.as_deref(),
                method: last.by,
            }),
            iterations: outcome.iterations,
            turns: outcome.turns,
            usage: &outcome.usage,
            cost_usd: outcome.cost.map(saihai_model::Usd::dollars),
            reports: self.reports.iter().map(|path| path.to_string_lossy()).collect(),
            output: outcome.output.as_deref(),
            rehearsal: outcome.rehearsal,
            until: outcome.until.map(time::rfc3339),
            answer: self.answer_command(),
            resume: self.resume_command(),
        }
    }

    /// What to type to answer the gate it waits at.
    fn answer_command(&self) -> Option<String> {
        let run = &self.outcome.run;
        self.gate.map(|wants| match wants {
            Wants::YesNo => format!("saihai answer {run} yes"),
            Wants::Text { .. } => format!("saihai answer {run} TEXT"),
        })
    }

    /// What to type to go on.
    fn resume_command(&self) -> Option<String> {
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

    /// Says it to a person.
    pub(crate) fn show(&self, streams: &mut Streams) -> Result<(), Error> {
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
        if let Some(output) = &outcome.output {
            out.data("")?;
            out.data(visible_text(output).trim_end())?;
        }
        out.flush()?;
        Ok(())
    }

    /// Says what to do next.
    fn show_way_on(&self, streams: &mut Streams) {
        let outcome = &self.outcome;
        if let Some(error) = &outcome.error {
            streams.error(&visible_text(error), &[]);
        }
        if let Some(until) = outcome.until {
            streams.note(&format!("nothing can be asked before {}", time::local_until(until, time::now())));
        }
        let resume = self.resume_command().map(|resume| format!("continue with `{resume}`"));
        let answer = self.answer_command().map(|answer| format!("answer with `{answer}`"));
        let steps: Vec<String> = answer.into_iter().chain(resume).collect();
        if !steps.is_empty() {
            streams.note(&steps.join(", then "));
        }
    }

    /// How it stands, and what decided that.
    fn headlines(&self) -> Vec<String> {
        let last = self.last.as_ref().map(|last| last.words.as_str());
        let stands = match &self.state {
            State::Ended { ending } => {
                let words = ending_words(ending);
                return vec![last.map_or_else(|| words.clone(), |last| format!("{words}: {last}"))];
            }
            State::Running { .. } => "running".to_owned(),
            State::Interrupted => "interrupted: nobody drives it".to_owned(),
            State::Parked { hold } => {
                format!("parked: {}", visible_line(&hold_words(hold, time::now())))
            }
        };
        std::iter::once(stands).chain(last.map(|last| format!("last: {last}"))).collect()
    }

    fn figures(&self) -> String {
        let outcome = &self.outcome;
        let mut figures =
            vec![count(u64::from(outcome.iterations), "iteration"), count(outcome.turns, "turn")];
        figures.extend(tokens(&outcome.usage));
        figures.extend(cost(outcome.cost));
        figures.join(", ")
    }
}

impl Last {
    fn new(transition: Transition, workflow: &Workflow) -> Self {
        let names = Names::new(workflow);
        let Transition { stage, by, rule, topic, labels, to, .. } = transition;
        let condition = rule.and_then(|rule| names.rule(&stage, rule));
        let words = exit_words(&stage, &Verdict { by, labels, rule, topic, to }, &names);
        Self { stage: stage.0, by, rule, condition, words }
    }
}

/// The result object.
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
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided: Option<Decided<'a>>,
    iterations: u32,
    turns: u64,
    usage: &'a Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
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

/// What decided the last transition (P-45).
#[derive(Serialize)]
struct Decided<'a> {
    stage: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<&'a str>,
    method: By,
}

/// Shows how a run stands: data on stdout, what to do next on stderr.
pub(crate) fn show_result(conclusion: &Conclusion, json: bool, streams: &mut Streams) -> Result<(), Error> {
    if json {
        json::line(&mut streams.out, "result", conclusion.object())?;
    } else {
        conclusion.show(streams)?;
    }
    conclusion.show_way_on(streams);
    Ok(())
}

/// A path as the person knows it: relative to where they are, where it lies below.
fn shown(path: &Path) -> Cow<'_, str> {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path).to_string_lossy()
}
