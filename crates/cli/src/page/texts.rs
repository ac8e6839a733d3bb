//! The texts of a run: prompts, replies, tools, reports and changes.

use std::io::Read;

use saihai::LoadedRun;
use saihai_model::CallId;
use saihai_view::CallView;
use serde::Deserialize;

use super::model::{CallTexts, ChangedFile, ReportText, RunChanges, ToolText, TurnChanges};
use crate::commands::diff::{RunDiff, turn_diff};
use crate::commands::show_stage::{TurnObject, report_text, spoken_text};
use crate::error::CommandError;
use crate::project::Project;
use crate::watching::{LiveTexts, call_results};

/// Longer texts are cut. A browser cannot show more of them at once.
const MOST_BYTES: usize = 1_000_000;

/// A text of a call that a browser can load whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WholeCallText {
    Prompt,
    Reply,
}

/// Opens a text of a call for reading in parts: it may be larger than the memory.
pub(super) fn open_whole(
    run: &LoadedRun,
    call: &CallView,
    text: WholeCallText,
) -> Result<Box<dyn Read + Send>, CommandError> {
    let found = match text {
        WholeCallText::Prompt => call.prompt(),
        WholeCallText::Reply => call.reply().map(spoken_text),
    };
    let found =
        found.ok_or_else(|| CommandError::usage(format!("call `{}` has no such text yet", call.id)))?;
    Ok(run.directory.open_text(found)?)
}

impl CallTexts {
    /// Reads the texts of a call.
    pub(super) fn of(run: &LoadedRun, call: &CallView, live: &LiveTexts) -> Result<Self, CommandError> {
        let mut turn = TurnObject::of(run, call, &run.view.reports(), MOST_BYTES as u64)?;
        let mut is_cut = turn.is_cut;
        let mut short = |text: String| {
            let (text, cut) = shortened(text);
            is_cut |= cut;
            text
        };
        let tools = turn.tool_texts().map(|(name, input, output, duration)| ToolText {
            name: name.to_owned(),
            input: short(input),
            output: short(output),
            duration,
        });
        let tools = tools.collect();
        let reports = turn
            .reports()
            .map(|(file, text)| ReportText { file: file.to_owned(), text: short(text.to_owned()) })
            .collect();
        Ok(Self {
            call: call.id.to_string(),
            prompt: turn.prompt.take().map(&mut short),
            reply: turn.reply.take().map(&mut short),
            live: live.get(&call.id).map(|text| live_end(text).to_owned()),
            failures: turn.failures.clone(),
            tools,
            reports,
            results: call_results(call),
            is_cut,
        })
    }
}

/// Finds a call by its displayed id.
pub(super) fn find_call<'a>(run: &'a LoadedRun, id: &str) -> Result<&'a CallView, CommandError> {
    let call = CallId::parse(id).and_then(|id| run.view.call(&id));
    call.ok_or_else(|| CommandError::usage(format!("run `{}` has no call `{id}`", run.directory.id())))
}

/// Reads a version of a report.
pub(super) fn saved_report_text(run: &LoadedRun, file: &str, seq: u64) -> Result<ReportText, CommandError> {
    let versions = run.view.reports();
    let version = versions.iter().find(|version| version.seq == seq && version.file == file);
    let version = version.ok_or_else(|| {
        let id = run.directory.id();
        CommandError::usage(format!("run `{id}` has saved no report `{file}` at event {seq}"))
    })?;
    let (text, _) = shortened(report_text(&run.directory, version)?);
    Ok(ReportText { file: file.to_owned(), text })
}

/// Bytes of the output of a running turn that the page shows.
const LIVE_END: usize = 16 * 1024;

/// Returns the end of the output of a running turn.
pub(super) fn live_end(text: &str) -> &str {
    let start = text.len().saturating_sub(LIVE_END);
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[start..]
}

fn shortened(mut text: String) -> (String, bool) {
    if text.len() <= MOST_BYTES {
        return (text, false);
    }
    let end = (0..=MOST_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(end);
    (text, true)
}

impl RunChanges {
    /// Compares the files of a run. A missing repository is a remark, not an error.
    pub(super) fn of(run: &LoadedRun, project: &Project) -> Result<Self, CommandError> {
        let (files, mut remarks) = match RunDiff::of(run, project) {
            Ok(diff) => {
                let remarks = diff.remarks(run);
                (diff.files, remarks)
            }
            Err(error) => (Vec::new(), vec![error.message().to_owned()]),
        };
        let files = files.into_iter().map(|file| {
            let left_out = file.left_out.is_some();
            let (diff, is_cut) = shortened(file.text);
            ChangedFile { path: file.path, previous: file.previous, diff, left_out: left_out || is_cut }
        });
        let files: Vec<ChangedFile> = files.collect();
        let turns: Vec<TurnChanges> = run
            .file_changes()?
            .iter()
            .map(|changed| TurnChanges {
                call: changed.call.to_string(),
                diff: shortened(turn_diff(changed)).0,
                is_complete: !changed.is_partial,
            })
            .filter(|changed| !changed.diff.is_empty() || !changed.is_complete)
            .collect();
        if files.is_empty() && remarks.is_empty() {
            remarks.push("the run changed no files".to_owned());
        }
        Ok(Self { files, turns, remarks })
    }
}
