//! `saihai explain`.

use clap::Args;
use saihai::{LoadedRun, RunDirectory};
use saihai_config::review::{Plan, PlannedAgent};
use saihai_model::{AnsweredBy, Text, TextFile, TextSource, TurnId, Verdict, Workflow};
use saihai_view::{Evidence, Transition};

use crate::error::{Error, exit};
use crate::project::Project;
use crate::report::{
    Names, TransitionObject, alarm_words, exit_words, near_miss_words, refused_words, remark_words,
};
use crate::terminal::{Streams, style, visible_line, visible_text};
use crate::{json, time};

/// Tell why a run went the way it went
#[derive(Debug, Args)]
#[command(
    after_help = "Every transition with its rule, the method that found it, the evidence and the counters; of a review also who \
                  was chosen, and why. No model is asked."
)]
pub(crate) struct Explain {
    /// The run: its id, a unique beginning of it, or `last`
    #[arg(value_name = "RUN")]
    run: String,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let directory = Project::find()?.runs().find(&self.run)?;
        let run = LoadedRun::read(&directory)?;
        if let Some(torn) = run.torn {
            streams.warning(&saihai::Warning::torn(&directory, torn).to_string());
        }
        let told = run.transitions();
        let workflow = &run.workflow;
        if !self.json {
            for line in selection_lines(workflow) {
                streams.out.data(&line)?;
            }
        }
        if told.is_empty() {
            streams.note("no stage has been left yet");
        }
        for transition in told {
            if self.json {
                let object = TransitionObject::new(&directory, workflow, &transition)?;
                json::line(&mut streams.out, "transition", object)?;
            } else {
                let prompts = prompt_lines(&run.view.start.texts, &transition);
                for line in lines(&directory, workflow, transition, &prompts, streams)? {
                    streams.out.data(&line)?;
                }
            }
        }
        Ok(exit::DONE)
    }
}

/// Lists the selected reviewers and the reasons for their selection. Empty for other runs.
fn selection_lines(workflow: &Workflow) -> Vec<String> {
    let selection = Plan::of(workflow).map(|plan| plan.selection).unwrap_or_default();
    let line = |one: &PlannedAgent| {
        let chosen = if one.selected { "chosen" } else { "not chosen" };
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
        Some(format!("       {part} from the {why} `{}`", visible_line(&text.file)))
    };
    own.filter_map(line).collect()
}

fn lines(
    directory: &RunDirectory,
    workflow: &Workflow,
    told: Transition,
    prompts: &[String],
    streams: &Streams,
) -> Result<Vec<String>, Error> {
    let names = Names::new(workflow);
    let verdict =
        Verdict { by: told.by, labels: told.labels, rule: told.rule, topic: told.topic, to: told.to };
    let place = format!("{:>5}  {}", told.seq, time::local_clock(told.at));
    let words = streams.out.paint(style::STRONG, &exit_words(&told.stage, &verdict, &names));
    let mut lines = vec![format!("{place}  {words}")];
    lines.extend_from_slice(prompts);
    for evidence in &told.evidence {
        let text = evidence_words(directory, workflow, evidence)?;
        lines.extend(text.lines().map(|line| format!("       {line}")));
    }
    lines.push(format!(
        "       iteration {}, visit {}, round {}, {} in a row",
        told.iteration, told.visit, told.round, told.consecutive
    ));
    Ok(lines)
}

fn evidence_words(
    directory: &RunDirectory,
    workflow: &Workflow,
    evidence: &Evidence,
) -> Result<String, Error> {
    Ok(match evidence {
        Evidence::Tag { turn, number, line } => {
            format!("{}tag {} on line {line} of the reply", whose(turn.as_ref()), tag(*number))
        }
        Evidence::QuotedTag { turn, number, line } => format!(
            "{}tag {} on line {line} of the reply does not count: it is in code or a quotation",
            whose(turn.as_ref()),
            tag(*number)
        ),
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
            format!("its output is wrong: {}", visible_line(&violations.join("; ")))
        }
        Evidence::Published { topic, line, message, leads } => {
            let said = message.as_ref().map(|message| format!(": {}", visible_line(message)));
            let lost = if *leads { "" } else { " (not routed)" };
            let topic = visible_line(topic.as_str());
            format!("published `{topic}` on line {line} of the reply{lost}{}", said.unwrap_or_default())
        }
        Evidence::EndWord { word } => format!("closing word `{}` in the reply", visible_line(word)),
        Evidence::Refused { missing } => refused_words(missing),
        Evidence::Remarked { topic, remark } => remark_words(topic, *remark, workflow),
        Evidence::NearMiss { what } => format!("near miss: {}", near_miss_words(what)),
        Evidence::Answer { by, label, text } => {
            let by = match by {
                AnsweredBy::Person => "a person",
                AnsweredBy::Auto => "`--auto`",
                AnsweredBy::Timeout => "nobody in time",
                AnsweredBy::Script => "the script",
            };
            let text = text.as_deref().map(|text| format!(": {}", visible_line(text))).unwrap_or_default();
            let label = match label.as_str() {
                // The line already says that the stage answered.
                "answered" => String::new(),
                label => format!(" `{}`", visible_line(label)),
            };
            format!("answered{label} by {by}{text}")
        }
        Evidence::Proof { name, holds, found } => {
            let is = if *holds { "is satisfied" } else { "is not satisfied" };
            let found = found.as_deref().map(|found| format!(":\n{}", indented(found)));
            format!("`{}` {is}{}", visible_line(name), found.unwrap_or_default())
        }
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
                crate::report::count(u64::from(*count), "time"),
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

fn quoted(directory: &RunDirectory, text: &Text) -> Result<String, Error> {
    Ok(indented(&directory.text(text)?))
}

fn indented(text: &str) -> String {
    let text = visible_text(text.trim_end());
    text.lines().map(|line| format!("  > {line}")).collect::<Vec<_>>().join("\n")
}
