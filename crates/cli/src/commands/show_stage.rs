//! `saihai show RUN STAGE`: the prompts, replies, reports and tool calls of a stage.

use clap::Args;
use saihai::{LoadedRun, RunDirectory, StoreError, TurnFileChanges};
use saihai_config::{list_of, nearest};
use saihai_model::{Activity, Json, Purpose, Replied, RoundPosition, StageId, Text, ToolUsed, TurnId};
use saihai_view::{AttemptResult, CallView, ReportVersion};
use serde::Serialize;

use crate::error::CommandError;
use crate::quantities;
use crate::quantities::{cost, count, tokens};
use crate::terminal::{Streams, cut, style, visible_line, visible_text};

/// The part of a turn to print. Without one, prompt and reply.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(super) struct StagePartFlags {
    /// Print only the prompts
    #[arg(long, help_heading = "Parts of a stage")]
    prompt: bool,

    /// Print only the replies
    #[arg(long, help_heading = "Parts of a stage")]
    reply: bool,

    /// Print only the reports
    #[arg(long, help_heading = "Parts of a stage")]
    report: bool,

    /// Print the tool calls with their inputs and outputs
    #[arg(long, help_heading = "Parts of a stage")]
    tools: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StagePart {
    Prompt,
    Reply,
    Report,
    Tools,
}

impl StagePartFlags {
    pub(super) fn is_given(&self) -> bool {
        self.part().is_some()
    }

    fn part(&self) -> Option<StagePart> {
        let given = [
            (self.prompt, StagePart::Prompt),
            (self.reply, StagePart::Reply),
            (self.report, StagePart::Report),
            (self.tools, StagePart::Tools),
        ];
        given.iter().find(|(given, _)| *given).map(|(_, part)| *part)
    }
}

/// A stage of a run, or one of its turns, in one visit.
pub(super) struct StageTarget {
    stage: StageId,
    turn: Option<TurnId>,
    visit: u32,
}

impl StageTarget {
    /// Finds the typed stage and turn. The default is the last stage that asked an agent, in its last visit. A stage
    /// name may contain `/`, so the full name is tried first.
    pub(super) fn find(
        run: &LoadedRun,
        typed: Option<&str>,
        visit: Option<u32>,
    ) -> Result<Self, CommandError> {
        let (stage, turn) = match typed {
            None => (last_stage(run)?, None),
            Some(typed) => Self::named(run, typed)?,
        };
        let visits: Vec<u32> =
            run.view.visits.iter().filter(|one| one.stage == stage).map(|one| one.visit).collect();
        let Some(last) = visits.last() else {
            let error =
                CommandError::usage(format!("run `{}` has not entered `{stage}`", run.directory.id()));
            return Err(error.hint("`saihai show` lists the stages that it entered"));
        };
        let visit = visit.unwrap_or(*last);
        if !visits.contains(&visit) {
            let error = CommandError::usage(format!("`{stage}` has no visit {visit}"));
            return Err(error.hint(format!("it has {}", count(visits.len() as u64, "visit"))));
        }
        Ok(Self { stage, turn, visit })
    }

    fn named(run: &LoadedRun, typed: &str) -> Result<(StageId, Option<TurnId>), CommandError> {
        let stages = &run.workflow.stages;
        if let Some((stage, _)) = stages.get_key_value(typed) {
            return Ok((stage.clone(), None));
        }
        if let Some((name, turn)) = typed.rsplit_once('/')
            && let Some((id, stage)) = stages.get_key_value(name)
        {
            let turns: Vec<&str> = stage.turns().iter().map(|turn| turn.id.as_str()).collect();
            return match turns.iter().find(|one| **one == turn) {
                Some(_) => Ok((id.clone(), Some(turn.into()))),
                None => {
                    let error = CommandError::usage(format!("stage `{id}` has no turn `{turn}`"));
                    Err(error.hint(suggestion(turn, &turns)))
                }
            };
        }
        let names: Vec<&str> = stages.keys().map(StageId::as_str).collect();
        let error = CommandError::usage(format!("run `{}` has no stage `{typed}`", run.directory.id()));
        Err(error.hint(suggestion(typed, &names)))
    }

    /// Returns true if the changes belong to this stage, turn and visit.
    pub(super) fn has_call(&self, run: &LoadedRun, changed: &TurnFileChanges) -> bool {
        run.view.call(&changed.call).is_some_and(|call| self.has(run, call))
    }

    fn has(&self, run: &LoadedRun, call: &CallView) -> bool {
        let turns = run.workflow.stage(&self.stage).map(|stage| stage.turns()).unwrap_or_default();
        let is_of_turn = |turn: &TurnId| match call.place {
            RoundPosition::Main(index) | RoundPosition::Check(index) => {
                turns.get(index).is_some_and(|one| one.id == *turn)
            }
            _ => false,
        };
        call.id.stage == self.stage
            && call.id.visit == self.visit
            && call.purpose.is_some()
            && self.turn.as_ref().is_none_or(is_of_turn)
    }
}

fn suggestion(typed: &str, known: &[&str]) -> String {
    match nearest(typed, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {}", list_of(known.iter().copied(), "and")),
    }
}

fn last_stage(run: &LoadedRun) -> Result<StageId, CommandError> {
    let asked = run.view.calls.iter().rev().find(|call| call.prompt().is_some());
    let asked = asked.map(|call| call.id.stage.clone());
    asked.ok_or_else(|| CommandError::usage(format!("run `{}` has asked no agent yet", run.directory.id())))
}

/// One call to an agent, with its texts.
#[derive(Debug, Serialize)]
pub(crate) struct TurnObject {
    run: String,
    stage: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<String>,
    visit: u32,
    round: u32,
    purpose: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reply: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failures: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reports: Vec<ReportTextObject>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolObject>,
    #[serde(skip)]
    figures: Vec<String>,
    /// True if the prompt or the reply is only the start of it.
    #[serde(skip)]
    pub(crate) is_cut: bool,
}

#[derive(Debug, Serialize)]
struct ReportTextObject {
    file: String,
    text: String,
}

#[derive(Debug, Serialize)]
struct ToolObject {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Json>,
    duration_ms: u64,
}

/// Returns the words of the agent, without what only programs read.
pub(crate) fn spoken_text(reply: &Replied) -> &Text {
    reply.spoken.as_ref().unwrap_or(&reply.text)
}

impl TurnObject {
    /// Reads the texts of a call. Of a prompt or reply with more than `most` bytes it reads only the start.
    pub(crate) fn of(
        run: &LoadedRun,
        call: &CallView,
        reports: &[ReportVersion],
        most: u64,
    ) -> Result<Self, CommandError> {
        let directory = &run.directory;
        let turns = run.workflow.stage(&call.id.stage).map(|stage| stage.turns()).unwrap_or_default();
        let turn = match call.place {
            RoundPosition::Main(index) | RoundPosition::Check(index) => turns.get(index),
            _ => None,
        };
        let reply = call.reply();
        let failures = call.attempts.iter().filter_map(|attempt| match &attempt.result {
            AttemptResult::Failed { failed, .. } => {
                Some(format!("{}: {}", failed.failure.class.name(), failed.failure.message))
            }
            AttemptResult::Open | AttemptResult::Replied { .. } => None,
        });
        let own = reports.iter().filter(|version| version.call == call.id);
        let figures = reply.map(|reply| {
            let time = Some(quantities::length(reply.duration));
            time.into_iter().chain(tokens(&reply.usage)).chain(cost(reply.cost)).collect()
        });
        let mut is_cut = false;
        let mut start_of = |text: &Text| -> Result<String, StoreError> {
            let (text, cut) = directory.text_start(text, most)?;
            is_cut |= cut;
            Ok(text)
        };
        let prompt = call.prompt().map(&mut start_of).transpose()?;
        let said = reply.map(spoken_text).map(&mut start_of).transpose()?;
        let tools = reply.map(|reply| reply.tools_used.as_slice()).unwrap_or_default();
        Ok(Self {
            run: directory.id().to_owned(),
            stage: call.id.stage.to_string(),
            turn: turn.filter(|_| turns.len() > 1).map(|turn| turn.id.to_string()),
            visit: call.id.visit,
            round: call.id.round,
            purpose: match call.purpose {
                Some(Purpose::Correction) => "correction",
                Some(Purpose::Question) => "question",
                Some(Purpose::Work) | None => "work",
            },
            provider: reply.and_then(|reply| reply.provider.as_ref()).map(ToString::to_string),
            prompt,
            reply: said,
            failures: failures.collect(),
            reports: own
                .map(|version| {
                    let text = report_text(directory, version)?;
                    Ok(ReportTextObject { file: version.file.clone(), text })
                })
                .collect::<Result<_, StoreError>>()?,
            tools: tools.iter().map(|tool| ToolObject::of(directory, tool)).collect::<Result<_, _>>()?,
            figures: figures.unwrap_or_default(),
            is_cut,
        })
    }

    fn headline(&self) -> String {
        let turn = self.turn.as_ref().map(|turn| format!("/{turn}")).unwrap_or_default();
        let purpose = if self.purpose == "work" { String::new() } else { format!(" ({})", self.purpose) };
        let figures = self.figures().map(|figures| format!(": {figures}")).unwrap_or_default();
        let (stage, visit, round) = (&self.stage, self.visit, self.round);
        visible_line(&format!("{stage}{turn}{purpose}, visit {visit}, round {round}{figures}")).into_owned()
    }

    /// Returns the provider, the time, the tokens and the cost in one line.
    pub(crate) fn figures(&self) -> Option<String> {
        let figures: Vec<String> = self.provider.iter().chain(&self.figures).cloned().collect();
        (!figures.is_empty()).then(|| figures.join(", "))
    }

    /// Returns the reports by file.
    pub(crate) fn reports(&self) -> impl Iterator<Item = (&str, &str)> {
        self.reports.iter().map(|report| (report.file.as_str(), report.text.as_str()))
    }

    /// Returns the name, the input, the output and the duration of each tool call.
    pub(crate) fn tool_texts(&self) -> impl Iterator<Item = (&str, String, String, u64)> {
        let shown = |value: &Option<Json>| value.as_ref().map(shown_value).unwrap_or_default();
        self.tools
            .iter()
            .map(move |tool| (tool.name.as_str(), shown(&tool.input), shown(&tool.output), tool.duration_ms))
    }

    /// Returns a line for each tool call, with the start of its input.
    pub(crate) fn tool_lines(&self) -> Vec<String> {
        let line = |tool: &ToolObject| {
            let input = tool.input.as_ref().map(shown_value).unwrap_or_default();
            let input = visible_line(&input);
            format!("[{} {}]", visible_line(&tool.name), cut(&input, TOOL_INPUT))
        };
        self.tools.iter().map(line).collect()
    }

    /// Returns the texts of a part, each with its title.
    fn texts(&self, part: Option<StagePart>) -> Vec<(String, String)> {
        let is_wanted = |one: StagePart| match part {
            None => matches!(one, StagePart::Prompt | StagePart::Reply),
            Some(part) => part == one,
        };
        let mut texts = Vec::new();
        if is_wanted(StagePart::Prompt) {
            texts.extend(self.prompt.iter().map(|text| ("prompt".to_owned(), text.clone())));
        }
        if is_wanted(StagePart::Reply) {
            texts.extend(self.failures.iter().map(|text| ("failed attempt".to_owned(), text.clone())));
            texts.extend(self.reply.iter().map(|text| ("reply".to_owned(), text.clone())));
        }
        if is_wanted(StagePart::Report) {
            texts.extend(
                self.reports.iter().map(|report| (format!("report {}", report.file), report.text.clone())),
            );
        }
        if is_wanted(StagePart::Tools) {
            texts.extend(self.tools.iter().map(|tool| (format!("tool {}", tool.name), tool.text())));
        }
        texts
    }
}

impl ToolObject {
    fn of(directory: &RunDirectory, tool: &ToolUsed) -> Result<Self, StoreError> {
        let value = |short: &Option<Json>, long: &Option<Text>| match long {
            // A long value is stored as a blob of JSON.
            Some(text) => directory
                .text(text)
                .map(|text| Some(serde_json::from_str(&text).unwrap_or(Json::String(text)))),
            None => Ok(short.clone()),
        };
        Ok(Self {
            name: tool.name.clone(),
            input: value(&tool.input, &tool.long_input)?,
            output: value(&tool.output, &tool.long_output)?,
            duration_ms: tool.duration_ms,
        })
    }

    fn text(&self) -> String {
        let shown =
            |value: &Option<Json>| value.as_ref().map_or_else(|| "(not recorded)".to_owned(), shown_value);
        format!("input: {}\noutput: {}", shown(&self.input), shown(&self.output))
    }
}

/// Maximum columns of a tool's input in one line.
const TOOL_INPUT: usize = 100;

fn shown_value(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Reads the text of a saved report.
pub(crate) fn report_text(directory: &RunDirectory, version: &ReportVersion) -> Result<String, StoreError> {
    let whole = directory.text(&version.text)?;
    let range = usize::try_from(version.start).ok().zip(usize::try_from(version.end).ok());
    Ok(range.and_then(|(start, end)| whole.get(start..end)).unwrap_or(&whole).to_owned())
}

/// Prints the texts of a stage. A single text goes to stdout as it is, so that it can be piped.
pub(super) fn show_stage(
    run: &LoadedRun,
    target: &StageTarget,
    flags: &StagePartFlags,
    json: bool,
    streams: &mut Streams,
) -> Result<(), CommandError> {
    let reports = run.view.reports();
    let calls = run.view.calls.iter().filter(|call| target.has(run, call));
    let turns: Vec<TurnObject> =
        calls.map(|call| TurnObject::of(run, call, &reports, u64::MAX)).collect::<Result<_, _>>()?;
    if turns.is_empty() {
        return Err(nothing_asked(run, target));
    }
    if json {
        for turn in turns {
            streams.out.json("turn", turn)?;
        }
        return Ok(());
    }
    let part = flags.part();
    let shown: Vec<(String, Vec<(String, String)>)> =
        turns.iter().map(|turn| (turn.headline(), turn.texts(part))).collect();
    let texts = shown.iter().map(|(_, texts)| texts.len()).sum::<usize>();
    if texts == 0 {
        streams.note(&format!("`{}` has nothing of this kind", target.stage));
        return Ok(());
    }
    let is_single = part.is_some() && texts == 1;
    for (headline, texts) in shown.into_iter().filter(|(_, texts)| !texts.is_empty()) {
        if !is_single {
            let headline = streams.out.paint(style::STRONG, &format!("== {headline}"));
            streams.out.data(&headline)?;
        }
        for (title, text) in texts {
            if !is_single {
                let title = streams.out.paint(style::QUIET, &format!("-- {}", visible_line(&title)));
                streams.out.data(&title)?;
            }
            print_text(&text, streams)?;
        }
    }
    Ok(())
}

/// A program gets the exact bytes. A terminal must not interpret control characters.
fn print_text(text: &str, streams: &mut Streams) -> Result<(), CommandError> {
    if streams.out.is_terminal() {
        streams.out.raw(visible_text(text).as_bytes())?;
    } else {
        streams.out.raw(text.as_bytes())?;
    }
    if !text.ends_with('\n') {
        streams.out.raw(b"\n")?;
    }
    Ok(())
}

fn nothing_asked(run: &LoadedRun, target: &StageTarget) -> CommandError {
    let does = run.workflow.stage(&target.stage).map(|stage| &stage.does);
    let what = match does {
        Some(Activity::Gate(_)) => "asks a person",
        Some(Activity::Action(_)) => "asks no agent",
        Some(Activity::Turns { .. }) | None => "has asked no agent yet",
    };
    CommandError::usage(format!("`{}` {what}", target.stage))
        .hint(format!("`saihai log {}` prints all its events", run.directory.short_name()))
}
