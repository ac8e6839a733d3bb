//! A review from the selected agents to the report.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::Path;

use saihai::{Clock, DriveOutcome, Driver, RunDirectory, RunSpec};
use saihai_config::review::LoadResult;
use saihai_config::{Dialect, Settings, ValidatedDefinition};
use saihai_connect::code_of_project;
use saihai_model::{ExitStatus, Hold, Script, Subject, SubjectMode, Workflow};
use saihai_review::subject::{SUBJECT, frozen};
use saihai_review::{
    AgentSelection, BASELINE, LoweredReview, ReportFormat, ReviewOptions, ReviewPlan, ReviewReport,
    ReviewRequest, empty_report, lower, report_so_far, saved_report, to_short_markdown,
};

use super::flags::{AskingFlags, ReportFlags};
use super::output::{self, ReportOutput};
use super::pull_request;
use super::trusted_data::BaselineSource;
use crate::checkout::hide_directories_if_possible;
use crate::definitions::check_script;
use crate::definitions::read_script_file;
use crate::definitions::script_path;
use crate::definitions::{connections, providers, recommend_sandbox, unusable};
use crate::driving::{Conclusion, DisplayOptions, RunKeeping, block_on, drive};
use crate::error::CommandError;
use crate::issue_tracker::with_forge;
use crate::project::Project;
use crate::run_origin::{SharedBudget, origin_of_new_run};
use crate::terminal::{Streams, visible_line};

/// A review that is ready to start.
pub(super) struct ReviewLaunch<'a> {
    pub(super) project: &'a Project,
    pub(super) settings: &'a Settings,
    pub(super) loaded: &'a LoadResult,
    pub(super) selection: &'a AgentSelection<'a>,
    pub(super) subject: &'a Subject,
    pub(super) options: &'a ReviewOptions,
    pub(super) flags: &'a AskingFlags,
    pub(super) report: &'a ReportFlags,
}

impl ReviewLaunch<'_> {
    /// Asks all selected agents and prints the report.
    pub(super) fn run(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let strict = self.flags.strict || self.settings.strict;
        let lowered = self.lowered(strict, streams)?;
        let LoweredReview { mut loaded, texts, .. } = lowered;
        let Some(workflow) = loaded.workflow.take() else {
            return Err(CommandError::usage("no review agent matches these changes"));
        };
        let workflow = ValidatedDefinition::validate(workflow).map_err(saihai::DriverError::from)?;
        streams.diagnose(&unusable(&workflow, self.settings), strict)?;
        // The change of a pull request is text of other people.
        if matches!(self.subject.mode, SubjectMode::Changes { pull_request: Some(_), .. }) {
            recommend_sandbox(&workflow, self.settings, streams);
        }
        let script = self.script(&workflow, strict, streams)?;
        let mut subject = texts;
        if let Some(baseline) = self.before().read(streams)? {
            subject.insert(BASELINE.to_owned(), baseline);
        }
        let runs = self.project.runs();
        let place = pull_request::ReviewDirectory::of(self.project, self.options)?;
        self.insist_on_no_code(&workflow, place.path())?;
        subject.insert(SUBJECT.to_owned(), frozen(place.path(), self.subject));
        let origin = origin_of_new_run(self.flags.mcp_request.as_deref())?;
        let shared = SharedBudget::of(&origin, &workflow.limits.budget, false)?;
        let beginning = RunSpec {
            workflow,
            script,
            definition: Dialect::Review.name().to_owned(),
            dialect: Dialect::Review.name().to_owned(),
            task: String::new(),
            slug: Dialect::Review.name().to_owned(),
            seed: RandomState::new().build_hasher().finish(),
            interactive: false,
            rehearsal: false,
            patience: self.settings.short_wait,
            directory: place.path().to_owned(),
            reports: runs.directory().to_owned(),
            subject,
            placement: None,
            texts: Vec::new(),
            origin,
        };
        let workflow = beginning.workflow.clone();
        let showing = DisplayOptions {
            json: false,
            interactive: false,
            auto: false,
            keeping: RunKeeping::Kept,
            completed: ExitStatus::Done,
            otel: self.settings.otel,
        };
        let is_first = !runs.directory().is_dir();
        block_on(async {
            let with = connections(self.settings);
            let with = with_forge(with, &workflow, self.project, self.settings, streams).await?;
            let driver = Driver::start(&runs, beginning, with, Clock::system())?;
            if let Some(shared) = shared
                && let Err(error) = shared.take_for(driver.directory()).await
            {
                driver.withdraw(&runs);
                return Err(error);
            }
            if is_first {
                hide_directories_if_possible(self.project, self.settings, streams);
            }
            self.project.remember();
            // From here on the run owns the directory.
            place.keep();
            drive(driver, &workflow, showing, streams).await
        })
    }

    /// reports that there is nothing to review. Programs get an empty report.
    pub(super) fn end_at_once(self, why: &str, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let strict = self.flags.strict || self.settings.strict;
        // Report configuration errors even without a change to review.
        let LoweredReview { loaded, plan, .. } = lower(self.reviewing());
        streams.diagnose(&loaded.diagnostics, strict)?;
        self.check_script(strict, streams)?;
        self.before().read(streams)?;
        let report = empty_report(self.subject, &plan);
        let said = ReportOutput { report: &report, language: self.settings.language };
        let files = self.report.files();
        let files: Vec<_> = files.iter().map(|file| output::absolute(file, &self.project.places)).collect();
        match self.report.form() {
            ReportFormat::Md => {
                files.iter().try_for_each(|file| said.write(file, streams))?;
                streams.out.raw(to_short_markdown(why, &report, said.language).as_bytes())?;
            }
            form @ (ReportFormat::Json | ReportFormat::Sarif | ReportFormat::Github) => {
                streams.note(why);
                said.tell(form, &files, streams)?;
            }
        }
        Ok(ExitStatus::Done)
    }

    fn reviewing(&self) -> ReviewRequest<'_> {
        ReviewRequest {
            loaded: self.loaded,
            selection: self.selection,
            subject: self.subject,
            options: self.options,
            settings: self.settings,
            places: &self.project.places,
        }
    }

    fn lowered(&self, strict: bool, streams: &mut Streams) -> Result<LoweredReview, CommandError> {
        let mut lowered = lower(self.reviewing());
        streams.diagnose(&std::mem::take(&mut lowered.loaded.diagnostics), strict)?;
        // K-25: a review with generated replies would look like a real one.
        if lowered.loaded.rehearsal {
            let error = CommandError::usage("no provider configured");
            return Err(error
                .hint("pass `--provider claude`, or set `provider` in `.saihai/config.toml`")
                .hint("`saihai review --explain-selection` needs none"));
        }
        for note in &lowered.loaded.notes {
            streams.note(note);
        }
        for warning in &lowered.warnings {
            streams.warning(warning);
        }
        Ok(lowered)
    }

    /// refuses to run code from the files under review.
    fn insist_on_no_code(&self, workflow: &Workflow, place: &Path) -> Result<(), CommandError> {
        if self.options.checkout.is_none() && self.options.definitions_from.is_none() {
            return Ok(());
        }
        for name in providers(workflow) {
            let Some(kind) = self.settings.provider(name.as_str()).map(|provider| provider.kind) else {
                continue;
            };
            if let Some(file) = code_of_project(kind, place) {
                let file = visible_line(&file.to_string_lossy()).into_owned();
                let message =
                    format!("`{name}` would run programs that `{file}` of the reviewed project names");
                let hint = "Saihai cannot prevent this: use another provider, such as `--provider claude`";
                return Err(CommandError::usage(message).hint(hint));
            }
        }
        Ok(())
    }

    fn before(&self) -> BaselineSource<'_> {
        let (branch, revision) = (self.options.branch.as_deref(), self.options.definitions_from.as_deref());
        BaselineSource { project: self.project, flags: self.report, branch, revision }
    }

    /// Checks that a script exists if the `script` provider is used.
    fn check_script(&self, strict: bool, streams: &mut Streams) -> Result<(), CommandError> {
        if self.options.provider.as_ref().is_none_or(|provider| provider.as_str() != "script") {
            return Ok(());
        }
        let file = script_path(self.project, self.flags.script.as_deref(), self.settings);
        check_script(self.project, &file.ok_or_else(no_script)?, strict, streams)
    }

    fn script(
        &self,
        workflow: &Workflow,
        strict: bool,
        streams: &mut Streams,
    ) -> Result<Option<Script>, CommandError> {
        let file = script_path(self.project, self.flags.script.as_deref(), self.settings);
        let mut turns = workflow.stages.values().flat_map(saihai_model::Stage::turns);
        match file {
            Some(file) => read_script_file(self.project, &file, workflow, strict, streams).map(Some),
            None if turns.any(|turn| turn.provider.as_str() == "script") => Err(no_script()),
            None => Ok(None),
        }
    }
}

fn no_script() -> CommandError {
    CommandError::usage("the provider `script` needs a script").hint("pass `--script FILE`")
}

/// Prints the report in the forms requested at the start; a stopped review prints a partial report. Returns the exit
/// code. Findings take precedence over an exceeded limit.
pub(crate) fn print_report(
    directory: &RunDirectory,
    workflow: &Workflow,
    finish: &DriveOutcome,
    streams: &mut Streams,
) -> Result<ExitStatus, CommandError> {
    let usual = ExitStatus::of_run(finish.ending.as_ref(), finish.hold.as_ref());
    let Some(report) = report(directory, finish)? else { return Ok(usual) };
    let plan = ReviewPlan::of(workflow).unwrap_or_default();
    let said = ReportOutput { report: &report, language: plan.language() };
    said.tell(plan.format.unwrap_or_default(), &plan.written, streams)?;
    if finish.ending.is_none() {
        let usually = || format!("saihai resume {}", directory.short_name());
        // After a disk failure the journal may be too incomplete to name the resume command.
        let known = Conclusion::of(directory).ok().and_then(|stands| stands.short_resume_command());
        streams.note(&format!("continue with `{}`", known.unwrap_or_else(usually)));
    }
    let is_limited = matches!(finish.hold, Some(Hold::Limit(_) | Hold::Budget | Hold::NoProgress(_)));
    Ok(if finish.ending.is_none() && is_limited && report.summary.failing > 0 {
        ExitStatus::Failed
    } else {
        usual
    })
}

/// Builds the report of a finished or stopped review. Returns nothing for other runs.
fn report(directory: &RunDirectory, finish: &DriveOutcome) -> Result<Option<ReviewReport>, CommandError> {
    let is_over = finish.ending.is_some();
    let saved = if is_over { saved_report(directory)? } else { None };
    match saved {
        Some(report) => Ok(Some(report)),
        None => Ok(report_so_far(directory, finish.hold.as_ref())?),
    }
}
