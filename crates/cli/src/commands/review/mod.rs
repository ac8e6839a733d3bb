//! `saihai review`.

mod asking;
mod baseline;
mod cached;
mod committed;
mod explain;
mod flags;
mod form;
mod ignores;
mod looked_at;
mod painted;
mod pull_request;
mod subject;
mod untouched;

use std::path::Path;

use clap::Args;
use saihai::RevisionSource;
use saihai_config::review::{LoadResult, Wish, check_agent, load, select};
use saihai_config::{Diagnostic, Diagnostics, Settings, Severity, Source};
use saihai_model::{Subject, SubjectMode};

use crate::commands::flags::RunFlags;
use crate::diagnostics;
use crate::error::{Error, exit};
use crate::project::Project;
use crate::terminal::Streams;
use crate::values;
use asking::Asking;
use flags::{AskingFlags, ReportFlags};
use subject::Wanted;

pub(crate) use asking::say;
pub(crate) use form::{Form, Said};
pub(crate) use looked_at::LookedAt;
pub(crate) use pull_request::{check_out_again, clean_up};
pub(crate) use untouched::Untouched;

/// Have specialised agents review a change
#[derive(Debug, Args)]
#[command(
    after_help = "Reviewed is what differs from where the current branch left its base: commits, staged and unstaged \
                  edits, and files git does not track yet. Which agents a change needs is decided by their patterns, \
                  without asking a model. The exit code is 1 where a finding fails the review, see `--fail-on`."
)]
pub(crate) struct Review {
    /// The revision to compare with, or files and directories to review whole [default: the remote's branch]
    #[arg(value_name = "BASE|FILES")]
    what: Vec<String>,

    /// Compare with this revision
    #[arg(long, value_name = "REVISION", conflicts_with = "what")]
    base: Option<String>,

    /// Review this pull request, as it is on the forge
    #[arg(long, value_name = "NUMBER", value_parser = values::pull_request)]
    #[arg(conflicts_with_all = ["what", "base", "no_untracked"])]
    pr: Option<u64>,

    /// Leave out files that git does not track yet
    #[arg(long)]
    no_untracked: bool,

    /// Ask exactly these agents, whether or not the change needs them
    #[arg(long, value_name = "NAME")]
    agent: Vec<String>,

    /// Do not ask these agents
    #[arg(long, value_name = "NAME")]
    skip: Vec<String>,

    /// Ask nobody: say of each agent whether it is selected, and why
    #[arg(long)]
    explain_selection: bool,

    #[command(flatten)]
    asking: AskingFlags,

    #[command(flatten)]
    report: ReportFlags,
}

impl Review {
    /// Creates a review by one agent, given by its file: `saihai run FILE.toml`.
    pub(crate) fn by(file: &Path, flags: &RunFlags, streams: &mut Streams) -> Result<Self, Error> {
        let project = Project::find()?;
        let settings = project.settings(flags.trust_project, streams)?;
        let found = check_agent(&project.source, &project.places, file);
        let strict = flags.strict || settings.strict;
        // Mere warnings appear when the review loads all agents.
        if found.has_errors() {
            diagnostics::insist(&found, strict, streams)?;
        }
        let loaded = load(&project.source, &project.places, settings.language).unwrap_or_default();
        let agent = looked_at::agent_of(&loaded, file, &project)?;
        Ok(Self {
            what: Vec::new(),
            base: None,
            pr: None,
            no_untracked: false,
            agent: vec![agent.definition.name.clone()],
            skip: Vec::new(),
            explain_selection: false,
            asking: AskingFlags::of_run(flags),
            report: ReportFlags::of_run(flags),
        })
    }

    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        let source = self.source(&project)?;
        let mut found = Diagnostics::new();
        let settings = project.settings_from(&*source, self.asking.trust_project, &mut found);
        let strict = self.asking.strict || settings.strict;
        diagnostics::insist(&found.sorted(), strict, streams)?;
        let mut options = flags::options(&self.asking, &self.report)?;
        let loaded = agents(&*source, &project, &settings, strict, streams)?;
        let wish = self.wish(&settings, &loaded)?;
        if !self.explain_selection {
            insist_on_all(&loaded, options.require_all || settings.review.require_all)?;
        }
        let proposed =
            self.pr.map(|number| pull_request::fetch(number, &project, &settings, streams)).transpose()?;
        let files = self.report.files();
        let files: Vec<_> = files.iter().map(|file| file.from(&project.places)).collect();
        files.iter().try_for_each(form::Written::insist)?;
        form::insist_on_different(&files)?;
        let own: Vec<String> =
            files.iter().flat_map(|file| subject::inside(&project.places, file.path())).collect();
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
        options.format = Some(self.report.form().name().to_owned());
        options.written = files.iter().map(form::Written::plan).collect();
        options.led_to = subject::led_to(&project.places);
        options.led_to.extend(baseline);
        options.ignores = ignores::read(&*source, &project, strict, streams)?;
        options.branch = match self.pr {
            Some(number) => Some(format!("#{number}")),
            None => subject::branch(&project.places),
        };
        options.checkout = proposed.as_ref().map(|proposed| proposed.head.clone());
        if settings.review.cache && !self.asking.no_cache && !self.explain_selection {
            let head = proposed.as_ref().map(|proposed| proposed.head.as_str());
            options.cache = cached::state(&project.places.root, head, &own, streams);
        }
        let selection = select(&loaded.agents, &subject, &wish);
        selection.warnings().for_each(|warning| streams.warning(&warning));
        if self.explain_selection {
            if subject.files.is_empty() {
                streams.note(&nothing(&subject));
            }
            explain::say(&selection, &project, self.report.form() == Form::Json, streams)?;
            return Ok(exit::DONE);
        }
        let asking = Asking {
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
            asking.end_at_once(&nothing(&subject), streams)
        } else if selection.selected().next().is_none() {
            asking.end_at_once("no agent applies", streams)
        } else {
            asking.run(streams)
        }
    }

    /// Returns the source of agents, settings and ignores.
    fn source(&self, project: &Project) -> Result<Box<dyn Source>, Error> {
        match &self.asking.definitions_from {
            None => Ok(Box::new(project.source.clone())),
            Some(revision) => {
                let source = RevisionSource::of(project.source.clone(), revision);
                let source = source.map_err(subject::refusal)?;
                Ok(Box::new(source))
            }
        }
    }

    fn wish(&self, settings: &Settings, loaded: &LoadResult) -> Result<Wish, Error> {
        let disabled = settings.review.disabled();
        let wish = Wish { only: self.agent.clone(), skip: self.skip.clone(), disabled };
        match loaded.check(&wish) {
            Ok(()) => Ok(wish),
            Err(unknown) => {
                let message = match unknown.is_refused {
                    true => format!("the review agent `{}` cannot be used", unknown.name),
                    false => format!("no review agent is named `{}`", unknown.name),
                };
                Err(Error::usage(message).hint(unknown.hint))
            }
        }
    }

    fn wanted<'a>(&'a self, settings: &'a Settings) -> Wanted<'a> {
        Wanted {
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
) -> Result<LoadResult, Error> {
    let loaded = match load(source, &project.places, settings.language) {
        Ok(loaded) => loaded,
        Err(refused) => {
            diagnostics::insist(&refused, strict, streams)?;
            return Err(Error::Said(exit::USAGE));
        }
    };
    let mut refused = Diagnostics::new();
    for error in &loaded.errors {
        refused.append(error.diagnostics.clone());
    }
    if !refused.is_empty() {
        let text = diagnostics::human(&refused, &streams.err);
        streams.err.send(&text);
    }
    let is_note = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Note;
    let notes: Diagnostics = loaded.remarks.iter().filter(is_note).cloned().collect();
    if !notes.is_empty() {
        let text = diagnostics::human(&notes, &streams.err);
        streams.err.send(&text);
    }
    let mut found = settings.review.check_agents(&loaded.names());
    found.append(loaded.remarks.clone());
    diagnostics::insist(&found, strict, streams)?;
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
fn insist_on_all(loaded: &LoadResult, require_all: bool) -> Result<(), Error> {
    if loaded.errors.is_empty() || !require_all {
        return Ok(());
    }
    let error = Error::usage("some review agents cannot be used, and every one must deliver");
    Err(error.hint("mend their files, or leave `--require-all` out"))
}

/// Prints notes about the files under review.
fn remark_on(subject: &Subject, streams: &mut Streams) {
    for file in &subject.files {
        if file.lossy {
            streams.warning(&format!(
                "`{}` is not UTF-8: what is no character is read as `\u{fffd}`",
                file.path
            ));
        }
        if let Some(why) = file.left_out {
            streams.note(&format!("`{}` is not looked into: {}", file.path, why.name()));
        }
    }
}
