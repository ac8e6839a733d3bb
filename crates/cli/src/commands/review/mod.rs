mod agents;
mod flags;
mod launch;
mod output;
mod pull_request;
mod subject;
mod trusted_data;

use std::path::Path;

use clap::Args;
use saihai_config::review::{FindingIgnore, IGNORE_FILE, LoadResult, check_agent, load, load_ignores};
use saihai_config::{Area, Diagnostic, Diagnostics, FileKind, Settings, Severity, Source};
use saihai_model::{ExitStatus, IssueNumber, Subject, SubjectMode};
use saihai_review::subject::CommittedChange;
use saihai_review::{AgentFilter, ReportFormat, RevisionSource, select};

use crate::commands::flags::RunFlags;
use crate::commands::flags::{parse_issue, parse_pull_request};
use crate::completion::{complete_issues, complete_review_agents, completer};
use crate::definitions::connections;
use crate::driving::block_on;
use crate::error::CommandError;
use crate::issue_tracker::{ClosedIssue, IssueTask, issue_task};
use crate::project::Project;
use crate::terminal::Streams;
use flags::{AskingFlags, ReportFlags};
use launch::ReviewLaunch;
use subject::SubjectRequest;

pub(crate) use agents::ReviewAgentDefinition;
pub(crate) use launch::print_report;
pub(crate) use output::ReportOutput;
pub(crate) use pull_request::{UnchangedFiles, check_out_again, clean_up};

/// Review a change with specialised agents
#[derive(Debug, Args)]
#[command(after_help = "\
Reviews all changes since the branch left its base: commits, edits and untracked files.
The patterns of the agents select them for a change, without a model.
The exit code is 1 if a finding fails the review, see `--fail-on`.

Examples:
  saihai review
  saihai review main --agent code-reviewer
  saihai review v1.2..HEAD --issue 7
  saihai review --pr 12 --format sarif --out md=review.md")]
pub(crate) struct Review {
    /// Revision to compare with, a range of commits, or files to review whole [default: the remote's branch]
    #[arg(value_name = "BASE|A..B|FILES")]
    what: Vec<String>,

    /// Compare with this revision
    #[arg(long, value_name = "REVISION", conflicts_with = "what")]
    base: Option<String>,

    /// Review this pull request of the forge
    #[arg(long, value_name = "NUMBER", value_parser = parse_pull_request)]
    #[arg(conflicts_with_all = ["what", "base", "no_untracked"])]
    pr: Option<u64>,

    /// Review what this commit changes
    #[arg(long, value_name = "REVISION", conflicts_with_all = ["what", "base", "pr", "no_untracked"])]
    commit: Option<String>,

    /// Show this issue to the agents: the change works on it
    #[arg(long, value_name = "N", value_parser = parse_issue, add = completer(complete_issues))]
    issue: Option<IssueNumber>,

    /// Leave out untracked files
    #[arg(long)]
    no_untracked: bool,

    /// Run only this agent, even if its patterns do not match; can be repeated
    #[arg(long, value_name = "NAME", help_heading = "Agents", add = completer(complete_review_agents))]
    agent: Vec<String>,

    /// Skip this agent; can be repeated
    #[arg(long, value_name = "NAME", help_heading = "Agents", add = completer(complete_review_agents))]
    skip: Vec<String>,

    /// Print the selected agents and the reasons, and ask none
    #[arg(long, help_heading = "Agents")]
    explain_selection: bool,

    #[command(flatten)]
    asking: AskingFlags,

    #[command(flatten)]
    report: ReportFlags,
}

impl Review {
    /// Creates a review by one agent, given by its file: `saihai run FILE.toml`.
    pub(crate) fn by(file: &Path, flags: &RunFlags, streams: &mut Streams) -> Result<Self, CommandError> {
        let project = Project::find()?;
        let settings = project.settings(flags.trust_project, streams)?;
        let found = check_agent(&project.source, &project.places, file);
        let strict = flags.strict || settings.strict;
        // Mere warnings appear when the review loads all agents.
        if found.has_errors() {
            streams.diagnose(&found, strict)?;
        }
        let loaded = load(&project.source, &project.places, settings.language).unwrap_or_default();
        let agent = agents::agent_of(&loaded, file, &project)?;
        Ok(Self {
            what: Vec::new(),
            base: None,
            pr: None,
            commit: None,
            issue: None,
            no_untracked: false,
            agent: vec![agent.definition.name.clone()],
            skip: Vec::new(),
            explain_selection: false,
            asking: AskingFlags::of_run(flags),
            report: ReportFlags::of_run(flags),
        })
    }

    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        let source = self.source(&project)?;
        let mut found = Diagnostics::new();
        let mut settings = project.settings_from(&*source, self.asking.trust_project, &mut found);
        self.asking.sandbox.apply(&mut settings);
        let strict = self.asking.strict || settings.strict;
        streams.diagnose(&found.sorted(), strict)?;
        let mut options = flags::options(&self.asking, &self.report)?;
        let loaded = agents(&*source, &project, &settings, strict, streams)?;
        let wish = self.wish(&settings, &loaded)?;
        if !self.explain_selection {
            insist_on_all(&loaded, options.require_all || settings.review.require_all)?;
        }
        let proposed = self.committed(&project, &settings, streams)?;
        let files = self.report.files();
        let files: Vec<_> = files.iter().map(|file| output::absolute(file, &project.places)).collect();
        files.iter().try_for_each(output::insist_on_writable)?;
        output::insist_on_different(&files)?;
        let own: Vec<String> =
            files.iter().flat_map(|file| subject::inside(&project.places, Path::new(&file.path))).collect();
        let baseline = self.report.baseline.iter();
        let baseline: Vec<String> =
            baseline.flat_map(|file| subject::inside(&project.places, Path::new(file))).collect();
        let wanted = self.wanted(&settings);
        let subject = match &proposed {
            Some(proposed) => proposed.subject.clone(),
            None => {
                let mut subject = wanted.take(&project.places)?;
                // Files written by an earlier review are not part of the change.
                subject.files.retain(|file| !own.contains(&file.path) || baseline.contains(&file.path));
                subject
            }
        };
        remark_on(&subject, streams);
        if proposed.is_none() && self.asking.definitions_from.is_none() {
            options.warnings.extend(wanted.decided(&project, &settings)?);
        }
        options.format = Some(self.report.form());
        options.written = files;
        options.led_to = subject::led_to(&project.places);
        options.led_to.extend(baseline);
        options.ignores = read_ignores(&*source, &project, strict, streams)?;
        options.branch = match (self.pr, &proposed) {
            (Some(number), _) => Some(format!("#{number}")),
            (None, Some(_)) => self.commit.clone().or_else(|| self.what.first().cloned()),
            (None, None) => subject::branch(&project.places),
        };
        if let Some(number) = self.issue.filter(|_| !self.explain_selection) {
            let wanted = IssueTask { number, closed: ClosedIssue::IsLookedAt };
            let with = connections(&settings);
            let issue = block_on(issue_task(wanted, &project, &settings, &with, streams))?;
            options.issue = issue.map(|(text, _)| text);
        }
        options.checkout = proposed.as_ref().map(|proposed| proposed.head.clone());
        if settings.review.cache && !self.asking.no_cache && !self.explain_selection {
            let head = proposed.as_ref().map(|proposed| proposed.head.as_str());
            options.cache = trusted_data::cache_policy(&project.places.root, head, &own, streams);
        }
        let selection = select(&loaded.agents, &subject, &wish);
        selection.warnings().for_each(|warning| streams.warning(&warning));
        if self.explain_selection {
            if subject.files.is_empty() {
                streams.note(&nothing(&subject));
            }
            agents::explain_selection(
                &selection,
                &project,
                self.report.form() == ReportFormat::Json,
                streams,
            )?;
            return Ok(ExitStatus::Done);
        }
        let launch = ReviewLaunch {
            project: &project,
            settings: &settings,
            loaded: &loaded,
            selection: &selection,
            subject: &subject,
            options: &options,
            flags: &self.asking,
            report: &self.report,
        };
        //
        if subject.files.is_empty() {
            launch.end_at_once(&nothing(&subject), streams)
        } else if selection.selected().next().is_none() {
            launch.end_at_once("no agent applies", streams)
        } else {
            launch.run(streams)
        }
    }

    /// Returns the change if it lies between two commits: a pull request, a commit or a range.
    fn committed(
        &self,
        project: &Project,
        settings: &Settings,
        streams: &mut Streams,
    ) -> Result<Option<CommittedChange>, CommandError> {
        match (self.pr, &self.commit) {
            (Some(number), _) => pull_request::fetch(number, project, settings, streams).map(Some),
            (None, Some(revision)) => subject::of_commit(revision, &project.places).map(Some),
            (None, None) => subject::of_range(&self.what, &project.places),
        }
    }

    /// Returns the source of agents, settings and ignores.
    fn source(&self, project: &Project) -> Result<Box<dyn Source>, CommandError> {
        match &self.asking.definitions_from {
            None => Ok(Box::new(project.source.clone())),
            Some(revision) => {
                let source = RevisionSource::of(project.source.clone(), &project.places.root, revision);
                let source = source.map_err(subject::refusal)?;
                Ok(Box::new(source))
            }
        }
    }

    fn wish(&self, settings: &Settings, loaded: &LoadResult) -> Result<AgentFilter, CommandError> {
        let (disabled, enabled) = (settings.review.disabled(), settings.review.enabled());
        let wish = AgentFilter { only: self.agent.clone(), skip: self.skip.clone(), disabled, enabled };
        match wish.check(loaded) {
            Ok(()) => Ok(wish),
            Err(unknown) => {
                let message = match unknown.is_refused {
                    true => format!("the review agent `{}` cannot be used", unknown.name),
                    false => format!("no review agent is named `{}`", unknown.name),
                };
                Err(CommandError::usage(message).hint(unknown.hint))
            }
        }
    }

    fn wanted<'a>(&'a self, settings: &'a Settings) -> SubjectRequest<'a> {
        SubjectRequest {
            what: &self.what,
            base: self.base.as_deref(),
            usual: settings.review.base.as_deref(),
            no_untracked: self.no_untracked,
        }
    }
}

/// Loads the agents. Invalid agents are reported and do not stop the review.
fn agents(
    source: &dyn Source,
    project: &Project,
    settings: &Settings,
    strict: bool,
    streams: &mut Streams,
) -> Result<LoadResult, CommandError> {
    let loaded = match load(source, &project.places, settings.language) {
        Ok(loaded) => loaded,
        Err(refused) => {
            streams.diagnose(&refused, strict)?;
            return Err(CommandError::Said(ExitStatus::Usage));
        }
    };
    let mut refused = Diagnostics::new();
    for error in &loaded.errors {
        refused.append(error.diagnostics.clone());
    }
    if !refused.is_empty() {
        let text = streams.err.diagnostics(&refused);
        streams.err.send(&text);
    }
    let is_note = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Note;
    let notes: Diagnostics = loaded.remarks.iter().filter(is_note).cloned().collect();
    if !notes.is_empty() {
        let text = streams.err.diagnostics(&notes);
        streams.err.send(&text);
    }
    let mut found = settings.review.check_agents(&loaded.names());
    found.append(loaded.remarks.clone());
    streams.diagnose(&found, strict)?;
    Ok(loaded)
}

/// Explains why there is nothing to review.
fn nothing(subject: &Subject) -> String {
    match &subject.mode {
        SubjectMode::Changes { base, .. } => format!("nothing to review against `{base}`"),
        SubjectMode::Files => "nothing to review: there are no files".to_owned(),
    }
}

/// with `--require-all`, an unreadable agent ends the review before any paid request.
fn insist_on_all(loaded: &LoadResult, require_all: bool) -> Result<(), CommandError> {
    if loaded.errors.is_empty() || !require_all {
        return Ok(());
    }
    let error = CommandError::usage("some review agents have errors, but `--require-all` needs all of them");
    Err(error.hint("fix their files, or remove `--require-all`"))
}

/// Prints notes about the files under review.
fn remark_on(subject: &Subject, streams: &mut Streams) {
    for file in &subject.files {
        if file.lossy {
            streams.warning(&format!("`{}` is not UTF-8: invalid bytes are read as `\u{fffd}`", file.path));
        }
        if let Some(why) = file.left_out {
            streams.note(&format!("`{}` is skipped: {}", file.path, why.name()));
        }
    }
}

/// Reads the project's suppressed findings.
fn read_ignores(
    source: &dyn Source,
    project: &Project,
    strict: bool,
    streams: &mut Streams,
) -> Result<Vec<FindingIgnore>, CommandError> {
    let mut found = Diagnostics::new();
    found.extend(not_a_file(source, project));
    let ignores = load_ignores(source, &project.places, &mut found);
    streams.diagnose(&found.sorted(), strict)?;
    Ok(ignores)
}

/// Reports a path that is not a regular file: running without suppressions must be intended.
fn not_a_file(source: &dyn Source, project: &Project) -> Option<Diagnostic> {
    let path = project.places.root.join(IGNORE_FILE);
    let is_named = || {
        let names = source.list(path.parent()?).ok()?;
        Some(names.iter().any(|name| path.file_name() == Some(name)))
    };
    let why = match source.kind(&path) {
        Some(FileKind::File) => return None,
        Some(FileKind::Directory) => "it is a directory, not a file",
        Some(FileKind::Other) => "it is a pipe, a socket or a device, not a file",
        None if is_named() == Some(true) => "it is a link that leads to no file",
        None => return None,
    };
    let message = format!("cannot read `{IGNORE_FILE}`: {why}");
    Some(Diagnostic::error(Area::Review.code("file"), message).hint("it is a text file of at most 1 MiB"))
}
