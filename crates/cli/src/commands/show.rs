//! `saihai show`.

use clap::Args;
use saihai::project::RunResult;
use saihai::{LoadedRun, RunDirectory};
use saihai_model::{How, TextFile, TextSource};
use saihai_view::{ReportVersion, VisitView};
use serde::Serialize;

use crate::driving::{Conclusion, ResultObject, show_result};
use crate::error::{Error, exit};
use crate::json::{self, Typed};
use crate::project::Project;
use crate::report::{SpendingObject, grouped, spending_words};
use crate::terminal::{Streams, Table, visible_line};
use crate::time;

/// Show how a run stands: result so far, stages, budget, reports
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The run: its id, a unique beginning of it, or `last`
    #[arg(value_name = "RUN")]
    run: String,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let directory = Project::find()?.runs().find(&self.run)?;
        let told = ShownRun::read(&directory, streams)?;
        if self.json {
            json::line(&mut streams.out, "show", told.object())?;
            return Ok(exit::DONE);
        }
        for line in told.lines() {
            streams.out.data(&line)?;
        }
        show_result(&told.conclusion, false, streams)?;
        Ok(exit::DONE)
    }
}

/// All data for the output of `show`.
struct ShownRun {
    run: LoadedRun,
    conclusion: Conclusion,
    reports: Vec<ReportVersion>,
    result: RunResult,
}

impl ShownRun {
    fn read(directory: &RunDirectory, streams: &mut Streams) -> Result<Self, Error> {
        let run = LoadedRun::read(directory)?;
        if let Some(torn) = run.torn {
            streams.warning(&saihai::Warning::torn(directory, torn).to_string());
        }
        // For example, a warning that the output is truncated.
        let last = run.view.calls.iter().rev().find_map(|call| call.reply());
        for warning in last.iter().flat_map(|reply| &reply.reading.warnings) {
            streams.warning(&visible_line(warning));
        }
        let (conclusion, reports, result) = (Conclusion::of_run(&run)?, run.view.reports(), run.result()?);
        Ok(Self { run, conclusion, reports, result })
    }

    fn object(&self) -> ShowObject<'_> {
        ShowObject {
            result: Typed::new("result", self.conclusion.object()),
            stages: self.run.view.visits.iter().map(StageObject::new).collect(),
            reports: self.reports.iter().map(ReportObject::new).collect(),
            prompts: self.run.view.start.texts.iter().map(PromptObject::new).collect(),
            budget: self.conclusion.spending().and_then(SpendingObject::of),
            returned: &self.result,
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = self.stage_lines();
        if !self.run.view.start.texts.is_empty() {
            lines.push(String::new());
            lines.extend(self.prompt_lines());
        }
        if !self.reports.is_empty() {
            lines.push(String::new());
            lines.extend(self.report_lines());
        }
        lines.extend(self.budget_line());
        lines.push(String::new());
        lines
    }

    fn prompt_lines(&self) -> Vec<String> {
        let mut table = Table::new(&["STAGE", "PROMPT", "SOURCE"]);
        for text in &self.run.view.start.texts {
            let check = if text.is_check { " (check)" } else { "" };
            table.row(vec![
                format!("{}{check}", visible_line(text.stage.as_str())),
                visible_line(&text.file).into_owned(),
                source(text.source).to_owned(),
            ]);
        }
        table.lines()
    }

    fn stage_lines(&self) -> Vec<String> {
        let mut table = Table::new(&["STAGE", "VISIT", "ROUNDS", "TURNS", "TOKENS", "ENTERED", "TOOK"]);
        for visit in &self.run.view.visits {
            table.row(vec![
                visible_line(visit.stage.as_str()).into_owned(),
                visit.visit.to_string(),
                visit.counted_rounds().to_string(),
                visit.cost.turns.to_string(),
                grouped(visit.cost.tokens),
                time::local_clock(visit.entered),
                visit.left.map_or_else(|| "-".to_owned(), |left| time::length(left.since(visit.entered))),
            ]);
        }
        table.lines()
    }

    fn report_lines(&self) -> Vec<String> {
        let mut table = Table::new(&["REPORT", "SAVED", "EVENT", "STAGE", "BYTES", "FOUND"]);
        for version in &self.reports {
            table.row(vec![
                visible_line(&version.file).into_owned(),
                time::local_clock(version.at),
                version.seq.to_string(),
                visible_line(version.stage.as_str()).into_owned(),
                grouped(version.bytes),
                found(version.how).to_owned(),
            ]);
        }
        table.lines()
    }

    fn budget_line(&self) -> Option<String> {
        let words = self.conclusion.spending().and_then(spending_words);
        words.map(|words| format!("\nbudget: {words}"))
    }
}

#[derive(Serialize)]
struct ShowObject<'a> {
    result: Typed<ResultObject<'a>>,
    stages: Vec<StageObject<'a>>,
    reports: Vec<ReportObject<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    prompts: Vec<PromptObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<SpendingObject>,
    #[serde(rename = "loop")]
    returned: &'a RunResult,
}

#[derive(Serialize)]
struct StageObject<'a> {
    stage: &'a str,
    visit: u32,
    rounds: u32,
    turns: u64,
    tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    entered: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<String>,
}

impl<'a> StageObject<'a> {
    fn new(visit: &'a VisitView) -> Self {
        Self {
            stage: visit.stage.as_str(),
            visit: visit.visit,
            rounds: visit.counted_rounds(),
            turns: visit.cost.turns,
            tokens: visit.cost.tokens,
            // Zero also means that the cost is unknown.
            cost_usd: Some(visit.cost.usd.dollars()).filter(|dollars| *dollars > 0.0),
            entered: time::rfc3339(visit.entered),
            left: visit.left.map(time::rfc3339),
        }
    }
}

/// A prompt and its source (S-49).
#[derive(Serialize)]
struct PromptObject<'a> {
    stage: &'a str,
    part: &'static str,
    source: &'static str,
    file: &'a str,
}

impl<'a> PromptObject<'a> {
    fn new(text: &'a TextFile) -> Self {
        Self {
            stage: text.stage.as_str(),
            part: if text.is_check { "check" } else { "prompt" },
            source: text.source.name(),
            file: &text.file,
        }
    }
}

#[derive(Serialize)]
struct ReportObject<'a> {
    file: &'a str,
    seq: u64,
    time: String,
    stage: &'a str,
    how: How,
    sha256: &'a str,
    bytes: u64,
}

impl<'a> ReportObject<'a> {
    fn new(version: &'a ReportVersion) -> Self {
        Self {
            file: &version.file,
            seq: version.seq,
            time: time::rfc3339(version.at),
            stage: version.stage.as_str(),
            how: version.how,
            sha256: &version.sha256,
            bytes: version.bytes,
        }
    }
}

fn found(how: How) -> &'static str {
    match how {
        How::Clue => "by a clue",
        How::Only => "the only block",
        How::Position => "by position",
        How::Whole => "the whole reply",
        How::Agent => "written by the agent",
    }
}

/// Explains why a prompt came from a different file than the named one.
fn source(source: TextSource) -> &'static str {
    match source {
        TextSource::Primary => "as named",
        TextSource::Fallback => "fallback",
        TextSource::GlobalFallback => "global fallback",
    }
}
