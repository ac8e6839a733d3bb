use clap::Args;
use saihai::{LoadedRun, RunDirectory};
use saihai_model::{
    By, Destination, ExitStatus, Json, Label, Text, TextFile, TextSource, TurnId, Verdict,
    VerdictToolProblem, Workflow,
};
use saihai_review::{ConsideredAgent, ReviewPlan};
use saihai_view::{DecisiveTurn, Evidence, Transition};
use serde::Serialize;
use serde_json::json;

use crate::commands::flags::RunArgument;
use crate::error::CommandError;
use crate::project::Project;
use crate::quantities;
use crate::report::{
    RunNames, alarm_words, answer_words, channel_words, mechanism_words, near_miss_words, program_words,
    refused_words, remark_words, stall_lines, tag_words, transition_head, transition_lines, tree_gap_words,
    verdict_problem_words,
};
use crate::terminal::{Stream, Streams, style, visible_line, visible_text, wrapped};

/// Explain why a run took each transition
#[derive(Debug, Args)]
#[command(after_help = "\
Prints every decision in the words of the definition and quotes the reply that led to it.
For a review, also prints why each agent was selected. `-v` adds rules, tags, questions and counters.
Asks no model.

Examples:
  saihai explain
  saihai explain 20260206-0856
  saihai explain --json")]
pub(crate) struct ExplainCommand {
    #[command(flatten)]
    run: RunArgument,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl ExplainCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let directory = self.run.find(&Project::find()?)?;
        let run = LoadedRun::read(&directory)?;
        if let Some(torn) = run.torn {
            streams.warning(&saihai::DriverWarning::torn(&directory, torn).to_string());
        }
        let told = run.transitions();
        let workflow = &run.workflow;
        if !self.json {
            streams.out.lines(&selection_lines(workflow))?;
        }
        if told.is_empty() {
            streams.note("no stage has ended yet");
        }
        for transition in told {
            if self.json {
                let object = TransitionObject::new(&directory, workflow, &transition)?;
                streams.out.json("transition", object)?;
            } else {
                let prompts = prompt_lines(&run.view.start.texts, &transition);
                streams.out.lines(&lines(&directory, workflow, transition, &prompts, streams)?)?;
            }
        }
        Ok(ExitStatus::Done)
    }
}

/// Lists the selected reviewers and the reasons for their selection. Empty for other runs.
fn selection_lines(workflow: &Workflow) -> Vec<String> {
    let selection = ReviewPlan::of(workflow).map(|plan| plan.selection).unwrap_or_default();
    let line = |one: &ConsideredAgent| {
        let chosen = if one.selected { "selected" } else { "not selected" };
        format!("`{}` ({}) {chosen}: {}", one.agent, one.phase, visible_line(&one.why))
    };
    selection.iter().map(line).collect()
}

/// Lists the texts of the stage that did not come from the named file (S-49).
fn prompt_lines(texts: &[TextFile], told: &Transition) -> Vec<String> {
    let own = texts.iter().filter(|text| text.stage == told.stage);
    let line = |text: &TextFile| {
        let why = match text.source {
            TextSource::Primary => return None,
            TextSource::Fallback => "fallback",
            TextSource::GlobalFallback => "global fallback",
        };
        let part = if text.is_check { "check" } else { "prompt" };
        Some(format!("{:INDENT$}{part} from the {why} `{}`", "", visible_line(&text.file)))
    };
    own.filter_map(line).collect()
}

/// Explains a transition without colours and line breaks, for a pane of a screen.
pub(crate) fn plain_transition(run: &LoadedRun, told: Transition) -> Result<Vec<String>, CommandError> {
    let prompts = prompt_lines(&run.view.start.texts, &told);
    lines(&run.directory, &run.workflow, told, &prompts, &Streams::silent())
}

/// Explains a transition for a place that shows its time by itself.
pub(crate) fn timeless_transition(run: &LoadedRun, told: Transition) -> Result<Vec<String>, CommandError> {
    let mut lines = plain_transition(run, told)?;
    for line in &mut lines {
        // The time and the space below it have the same width.
        *line = line.chars().skip(INDENT).collect();
    }
    Ok(lines)
}

/// Indentation of everything below a transition.
const INDENT: usize = 10;

fn lines(
    directory: &RunDirectory,
    workflow: &Workflow,
    told: Transition,
    prompts: &[String],
    streams: &Streams,
) -> Result<Vec<String>, CommandError> {
    let names = RunNames::new(workflow);
    let (out, verbose) = (&streams.out, streams.is_verbose());
    let columns = out.columns();
    let verdict =
        Verdict { by: told.by, labels: told.labels, rule: told.rule, topic: told.topic, to: told.to };
    let place = quantities::local_clock(told.at);
    let head = transition_head(&told.stage, &verdict);
    let transition = transition_lines(&told.stage, &verdict, &told.decisive, &names);
    let mut lines = Vec::new();
    for (index, line) in transition.iter().enumerate() {
        let text = format!("{:INDENT$}{line}", "");
        let hanging = if index == 0 { INDENT + 2 } else { INDENT + 4 };
        for (part, line) in wrapped(&text, columns, hanging).into_iter().enumerate() {
            lines.push(match line.get(INDENT..) {
                Some(words) if index == 0 && part == 0 => {
                    format!("{}  {}", out.paint(style::QUIET, &place), strong_head(words, &head, out))
                }
                _ => line,
            });
        }
    }
    lines.extend_from_slice(prompts);
    for evidence in told.evidence.iter().filter(|one| verbose || is_meaning(one)) {
        let text = evidence_words(directory, workflow, evidence, verbose)?;
        let indented = text.lines().map(|line| format!("{:INDENT$}{line}", ""));
        lines.extend(indented.flat_map(|line| wrapped(&line, columns, INDENT + 2)));
    }
    if verbose {
        let channels = told.decisive.iter().filter_map(|one| {
            let channel = one.channel?;
            let checked = if channel.is_verified() { "verified" } else { "not verified" };
            Some(format!("{}verdict by {}, {checked}", whose(one.turn.as_ref()), channel_words(channel)))
        });
        let channels: Vec<String> = channels.collect();
        let counters = format!(
            "event {}, iteration {}, visit {}, round {}, {} in a row",
            told.seq, told.iteration, told.visit, told.round, told.consecutive
        );
        let mechanism = mechanism_words(&told.stage, &verdict, &names);
        for line in std::iter::once(mechanism).chain(channels).chain([counters]) {
            lines.extend(wrapped(&format!("{:INDENT$}{line}", ""), columns, INDENT + 2));
        }
    }
    Ok(lines)
}

/// Emphasizes the stages of a transition.
fn strong_head(words: &str, head: &str, out: &Stream) -> String {
    match words.strip_prefix(head) {
        Some(reason) => format!("{}{reason}", out.paint(style::STRONG, head)),
        None => out.paint(style::STRONG, words),
    }
}

/// Returns true if evidence says something beyond the decision and its quotation.
fn is_meaning(evidence: &Evidence) -> bool {
    match evidence {
        Evidence::Tag { .. }
        | Evidence::QuotedTag { .. }
        | Evidence::EndWord { .. }
        | Evidence::Program { .. } => false,
        Evidence::Published { leads, .. } => !leads,
        Evidence::Verdict { findings, tagged, .. } => tagged.is_some() || !findings.is_empty(),
        Evidence::Degraded { problem, .. } => match problem {
            VerdictToolProblem::NotStarted(_) | VerdictToolProblem::Refused(_) => true,
            VerdictToolProblem::NotOffered | VerdictToolProblem::NotCalled => false,
        },
        Evidence::Answer { .. }
        | Evidence::Note { .. }
        | Evidence::Question { .. }
        | Evidence::WrongOutput { .. }
        | Evidence::Refused { .. }
        | Evidence::Remarked { .. }
        | Evidence::NearMiss { .. }
        | Evidence::Proof { .. }
        | Evidence::Stalled { .. }
        | Evidence::FilesNotCompared { .. }
        | Evidence::Monitor { .. } => true,
    }
}

fn evidence_words(
    directory: &RunDirectory,
    workflow: &Workflow,
    evidence: &Evidence,
    verbose: bool,
) -> Result<String, CommandError> {
    Ok(match evidence {
        Evidence::Tag { turn, number, line } => {
            format!("{}{} of the reply", whose(turn.as_ref()), tag_words(*number, *line))
        }
        Evidence::QuotedTag { turn, number, line } => format!(
            "{}{} of the reply does not count: it is in code or a quotation",
            whose(turn.as_ref()),
            tag_words(*number, *line)
        ),
        Evidence::Verdict { turn, label, findings, calls, tagged } => {
            let named = |label: &Label| format!("“{}”", visible_line(label.as_str()));
            let mut text = whose(turn.as_ref());
            text.push_str("the agent called the verdict tool");
            text.extend(label.as_ref().map(|label| format!(" with {}", named(label))));
            if *calls > 1 {
                text.push_str(&format!(" (last of {calls} calls)"));
            }
            if let Some(tagged) = tagged {
                text.push_str(&format!("; its tag for {} does not count", named(tagged)));
            }
            for finding in findings {
                text.push_str(&format!("\n  - {}", visible_line(finding)));
            }
            text
        }
        Evidence::Degraded { turn, problem } => {
            format!("{}{}", whose(turn.as_ref()), verdict_problem_words(problem))
        }
        Evidence::Question { turn, unreadable, .. } if !verbose => {
            let about = turn.as_ref().map(|turn| format!(" of `{}`", visible_line(turn.as_str())));
            let about = about.unwrap_or_default();
            match workflow.words.get("check-unreadable").filter(|_| *unreadable) {
                Some(words) => format!("a judge read the reply{about}: {words}"),
                None => format!("a judge read the reply{about} and decided"),
            }
        }
        Evidence::Question { turn, question, answer, number, value, unreadable, .. } => {
            let read = value.as_ref().map(|value| visible_line(&value.to_string()).into_owned());
            let about = turn.as_ref().map(|turn| format!(" about `{}`", visible_line(turn.as_str())));
            let came = match workflow.words.get("check-unreadable").filter(|_| *unreadable) {
                Some(words) => words.clone(),
                None => format!("answered {}", read.unwrap_or_else(|| tag(*number))),
            };
            format!(
                "question{}, {came}:\n{}\nanswer:\n{}",
                about.unwrap_or_default(),
                quoted(directory, question)?,
                quoted(directory, answer)?
            )
        }
        Evidence::WrongOutput { violations } => {
            format!("its output is invalid: {}", visible_line(&violations.join("; ")))
        }
        Evidence::Published { topic, line, message, leads } => {
            let said = message.as_ref().map(|message| format!(": {}", visible_line(message)));
            let lost = if *leads { "" } else { " (not routed)" };
            let topic = visible_line(topic.as_str());
            format!("published `{topic}` on line {line} of the reply{lost}{}", said.unwrap_or_default())
        }
        Evidence::Program { turn, command, exit, last_line } => {
            let ended = program_words(command, *exit, None, last_line.as_deref());
            format!("{}{ended}", whose(turn.as_ref()))
        }
        Evidence::EndWord { word } => format!("closing word `{}` in the reply", visible_line(word)),
        Evidence::Refused { missing } => refused_words(missing),
        Evidence::Remarked { topic, remark } => remark_words(topic, *remark, workflow),
        Evidence::NearMiss { what } => format!("near miss: {}", near_miss_words(what)),
        Evidence::Note { number, text } => {
            format!("after note {number} from a person: {}", visible_line(text))
        }
        Evidence::Answer { by, label, text } => {
            // The transition quotes the text already.
            let text = text.as_deref().filter(|_| verbose).map(|text| visible_line(text).into_owned());
            answer_words(*by, label, text)
        }
        Evidence::Proof { name, holds, found } => {
            let is = if *holds { "passed" } else { "failed" };
            let found = found.as_deref().map(|found| format!(":\n{}", indented(found)));
            format!("`{}` {is}{}", visible_line(name), found.unwrap_or_default())
        }
        Evidence::Stalled { then, evidence } => stall_lines(evidence, *then).join("\n"),
        Evidence::FilesNotCompared { reason } => tree_gap_words(*reason).to_owned(),
        Evidence::Monitor { monitor, count, cycle, .. } if cycle.is_empty() => {
            alarm_words(*monitor, *count, workflow)
        }
        Evidence::Monitor { monitor, count, cycle, overrode } => {
            let cycle: Vec<&str> = cycle.iter().map(saihai_model::StageId::as_str).collect();
            let instead =
                overrode.as_ref().map(|label| format!(", instead of `{}`", visible_line(label.as_str())));
            format!(
                "monitor {monitor}: {} seen {}{}",
                visible_line(&cycle.join(" → ")),
                crate::quantities::count(u64::from(*count), "time"),
                instead.unwrap_or_default()
            )
        }
    })
}

fn whose(turn: Option<&TurnId>) -> String {
    turn.map(|turn| format!("`{}`: ", visible_line(turn.as_str()))).unwrap_or_default()
}

fn tag(number: Option<usize>) -> String {
    number.map_or_else(|| "[STEP:NONE]".to_owned(), |number| format!("[STEP:{number}]"))
}

fn quoted(directory: &RunDirectory, text: &Text) -> Result<String, CommandError> {
    Ok(indented(&directory.text(text)?))
}

fn indented(text: &str) -> String {
    let text = visible_text(text.trim_end());
    text.lines().map(|line| format!("  > {line}")).collect::<Vec<_>>().join("\n")
}

#[derive(Serialize)]
pub(crate) struct TransitionObject<'a> {
    run: &'a str,
    seq: u64,
    time: String,
    stage: &'a str,
    to: &'a Destination,
    method: By,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<&'a str>,
    labels: &'a [Option<Label>],
    /// Turns that decided, with their own words.
    decisive: &'a [DecisiveTurn],
    evidence: Vec<Json>,
    iteration: u32,
    visit: u32,
    round: u32,
    consecutive: u32,
}

impl<'a> TransitionObject<'a> {
    /// Creates the object with the texts of its evidence.
    pub(crate) fn new(
        directory: &'a RunDirectory,
        workflow: &Workflow,
        told: &'a Transition,
    ) -> Result<Self, CommandError> {
        let evidence: Result<_, CommandError> =
            told.evidence.iter().map(|one| evidence(directory, one)).collect();
        Ok(Self {
            run: directory.id(),
            seq: told.seq,
            time: quantities::rfc3339(told.at),
            stage: told.stage.as_str(),
            to: &told.to,
            method: told.by,
            rule: told.rule,
            condition: told.rule.and_then(|rule| RunNames::new(workflow).rule(&told.stage, rule)),
            topic: told.topic.as_ref().map(saihai_model::Topic::as_str),
            labels: &told.labels,
            decisive: &told.decisive,
            evidence: evidence?,
            iteration: told.iteration,
            visit: told.visit,
            round: told.round,
            consecutive: told.consecutive,
        })
    }
}

/// Returns the evidence with the texts it refers to, and without unknown values.
fn evidence(directory: &RunDirectory, evidence: &Evidence) -> Result<Json, CommandError> {
    let mut object = json!(evidence);
    if let Evidence::Question { question, answer, unreadable, .. } = evidence {
        object["question"] = json!(directory.text(question)?);
        object["answer"] = json!(directory.text(answer)?);
        object["unreadable"] = json!(unreadable.then_some(true));
    }
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    Ok(object)
}
