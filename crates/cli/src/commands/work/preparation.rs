//! Collects everything that `saihai work` needs from flags, settings and the project, before work starts.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use saihai::ActionExecutor;
use saihai_config::delivery::Wishes;
use saihai_config::issues::{ChosenBy, ChosenDefinition, SourcesAtHand, choose_definition, choose_source};
use saihai_config::{ForgeKind, Settings, Source, Use, WorkSettings};
use saihai_connect::forge::{ForgeAccess, ForgeAddress, ForgeComment, ForgeToken, Github, find_token};
use saihai_connect::{CommandSurroundings, Connections};
use saihai_delivery::{IssueDefinition, IssueRuns, WorkContext, WorkError, WorkHost};
use saihai_git::GitEnvironment;
use saihai_git::Repository;
use saihai_model::{Issue, IssueNumber, IssueSource, Json, MergeMethod, Millis, RepositoryName, Workflow};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::Work;
use super::words::refused_by_git;
use crate::checkout::hide_directories;
use crate::checkout::insist_on_own_root;
use crate::commands::flags::RunFlags;
use crate::definitions::read_script_file;
use crate::definitions::script_path;
use crate::definitions::untrusted_programs;
use crate::definitions::{DefinitionRequest, PreparedDefinition, connections, recommend_sandbox, unready};
use crate::error::CommandError;
use crate::issue_actions::issue_executor_with;
use crate::issue_tracker::IssueTracker;
use crate::issue_tracker::RemoteRepository;
use crate::issue_tracker::issue_variables;
use crate::issue_tracker::no_source;
use crate::issue_tracker::with_comments;
use crate::project::Project;
use crate::quantities;
use crate::report::count;
use crate::terminal::{Streams, visible_line};

/// The project and the surroundings of the work.
pub(crate) struct Ground {
    pub(crate) project: Project,
    pub(crate) context: Arc<WorkContext>,
    /// True for `--list`, which only prints the plan.
    pub(crate) only_lists: bool,
    /// True if a flag disables pull requests.
    pub(crate) no_pull_request: bool,
    pub(crate) notices: Arc<WorkNotices>,
}

impl std::ops::Deref for Ground {
    type Target = WorkContext;

    fn deref(&self) -> &WorkContext {
        &self.context
    }
}

/// Services of this program for the work on issues.
struct CommandLineHost {
    notices: Arc<WorkNotices>,
}

/// Notices of worker threads. While a screen is shown, it alone writes to the terminal.
#[derive(Default)]
pub(crate) struct WorkNotices {
    screen: Mutex<Option<UnboundedSender<String>>>,
}

impl WorkNotices {
    /// Sends all further notices to a screen.
    pub(crate) fn attach(&self) -> UnboundedReceiver<String> {
        let (sender, notices) = unbounded_channel();
        *self.screen.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        notices
    }

    fn say(&self, notice: &str) {
        let screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_shown = screen.as_ref().is_some_and(|screen| screen.send(notice.to_owned()).is_ok());
        if !is_shown {
            // A failed write to stderr must not end the wait.
            std::io::stderr().write_all(format!("note: {notice}\n").as_bytes()).unwrap_or(());
        }
    }
}

impl WorkHost for CommandLineHost {
    fn rate_limited(&self, wait: Duration) {
        let wait = quantities::length(Millis(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)));
        self.notices.say(&format!("the forge's rate limit is reached; waiting {wait}"));
    }

    fn issue_actions(
        &self,
        workflow: &Workflow,
        context: &WorkContext,
        github: Option<&Github>,
    ) -> Option<Arc<dyn ActionExecutor>> {
        let tracker = match github {
            Some(github) => IssueTracker::on(github.clone(), context.forge),
            None => IssueTracker::Folder(context.work.from.clone()),
        };
        issue_executor_with(workflow, tracker)
    }

    fn with_comments(&self, issue: &Issue, comments: Vec<ForgeComment>) -> Issue {
        with_comments(issue, comments)
    }

    fn prompt_variables(&self, issue: &Issue) -> BTreeMap<String, Json> {
        issue_variables(issue)
    }
}

impl Ground {
    /// Collects and checks the environment. Errors are reported before any change.
    pub(crate) async fn find(
        project: Project,
        settings: Settings,
        flags: &Work,
        streams: &mut Streams,
    ) -> Result<Self, CommandError> {
        streams.diagnose(&settings.check_trust(&[Use::Work]), settings.strict)?;
        // Users of this setting rely on it: another machine may work on the same issue.
        let elsewhere = settings.find("distributed.server").unwrap_or_default();
        if elsewhere.iter().any(|set| !set.value.is_null()) {
            streams.warning(
                "`saihai work` does not use `distributed.server` yet: work on other machines is not detected",
            );
        }
        let work = flags.merged(&project, settings.work.clone());
        let with = connections(&settings);
        let remote = RemoteRepository::of_project(&project.places.root, &work.remote, &with).await;
        let at_hand = SourcesAtHand {
            folder_named: flags.from.is_some(),
            github_named: flags.names_github(),
            set: work.source,
            folder_exists: work.from.is_dir(),
            // A repository named in the settings counts as existing on GitHub.
            remote_on_github: work.repo.is_some()
                || remote.as_ref().is_some_and(|remote| remote.is_on_github(&with)),
        };
        let by_flags = "create the folder, or name one with `--from` or a repository with `--repo`";
        let source = choose_source(at_hand).map_err(|error| no_source(error, by_flags))?;
        let forge = work.forge.unwrap_or(match source {
            IssueSource::Folder => ForgeKind::Local,
            IssueSource::Github => ForgeKind::Github,
        });
        if forge == ForgeKind::Local && work.merge_method != MergeMethod::Merge {
            let method = work.merge_method.name();
            let said =
                format!("`work.merge_method` cannot be `{method}`: the forge `local` supports only `merge`");
            return Err(CommandError::usage(said)
                .hint("set `forge = \"github\"` in `[work]`, or remove `merge_method`"));
        }
        if forge == ForgeKind::Github && work.merge && work.verify.is_some() {
            streams.warning("`verify` is skipped: on a forge, its checks decide about a merge");
        }
        if forge == ForgeKind::Local && work.merge {
            insist_on_program(&work, &with)?;
        }
        let environment = GitEnvironment::of_process();
        let mut repository =
            Repository::open(&project.places.root, &environment).map_err(|error| refused_by_git(&error))?;
        insist_on_own_root(&repository, &work.worktree_root)?;
        if !flags.list {
            hide_directories(&mut repository, &project, &settings, streams)?;
        }
        let needs_forge = source == IssueSource::Github || forge == ForgeKind::Github;
        let access = if needs_forge { Some(access(&work, remote, &with).await?) } else { None };
        let home = access.as_ref().filter(|_| source == IssueSource::Github);
        let home = home.map(|access| access.repository.clone());
        let token = access.as_ref().map(|access| access.token.clone());
        let current_branch = repository.current_branch();
        let notices = Arc::new(WorkNotices::default());
        let mut context = WorkContext {
            root: project.places.root.clone(),
            files: project.source.clone(),
            folder: project.shown(&work.from),
            runs: project.runs(),
            issue_runs: IssueRuns::new(project.runs(), home),
            settings,
            work,
            repository: Arc::new(repository),
            source,
            forge,
            access,
            connections: Connections { token, ..with },
            default_base: None,
            merges: Arc::default(),
            host: Arc::new(CommandLineHost { notices: Arc::clone(&notices) }),
        };
        context.default_base = match forge {
            ForgeKind::Local => current_branch,
            ForgeKind::Github => {
                context.url()?;
                let github = context.github().map_err(WorkError::from)?;
                let github = github.ok_or(WorkError::NoForge)?;
                let about = context.patiently(|| github.about()).await;
                Some(about.map_err(WorkError::from)?.default_branch)
            }
        };
        let (only_lists, no_pull_request) = (flags.list, flags.no_pr);
        Ok(Self { project, context: Arc::new(context), only_lists, no_pull_request, notices })
    }
}

/// Rejects a missing program before agents are paid for work that could never be merged.
fn insist_on_program(work: &WorkSettings, with: &Connections) -> Result<(), CommandError> {
    let program = work.verify.as_ref().and_then(|argv| argv.first());
    match program.filter(|program| !CommandSurroundings::of(with).has(program)) {
        Some(program) => {
            let said = format!("cannot run `work.verify`: program `{}` not found", visible_line(program));
            Err(CommandError::usage(said)
                .hint("write the program and its arguments as a list: `[\"cargo\", \"test\"]`"))
        }
        None => Ok(()),
    }
}

/// Returns the access to the forge, from the settings, the flags and the remote.
pub(crate) async fn access(
    work: &WorkSettings,
    remote: Option<RemoteRepository>,
    with: &Connections,
) -> Result<ForgeAccess, CommandError> {
    let address = ForgeAddress::parse(&work.api).map_err(|error| {
        CommandError::usage(error.to_string()).hint("the address comes from `work.api` or `GITHUB_API_URL`")
    })?;
    let named = remote.and_then(|remote| RepositoryName::parse(&remote.name));
    let repository = work.repo.clone().or(named).ok_or_else(|| {
        CommandError::usage("cannot determine the GitHub repository")
            .hint("set `repo = \"OWNER/NAME\"` in `[work]`")
    })?;
    let token: ForgeToken = find_token(address.host(), &with.environment)
        .await
        .map_err(|error| CommandError::usage(error.to_string()))?;
    Ok(ForgeAccess::new(address, repository, token))
}

/// Checks that every file of `copy_files` can be copied, before a worktree exists.
pub(crate) fn insist_on_copies(
    repository: &Repository,
    work: &WorkSettings,
    commit: Option<&str>,
    streams: &mut Streams,
) -> Result<(), CommandError> {
    for path in repository.check_copies(&work.copy_files, commit).map_err(|error| refused_by_git(&error))? {
        streams.warning(&format!(
            "`{}` in `copy_files` does not exist, so worktrees lack it",
            visible_line(&path)
        ));
    }
    Ok(())
}

/// Chooses the definition for an issue.
pub(super) fn chosen(
    issue: &Issue,
    ground: &Ground,
    flag: Option<&str>,
) -> Result<ChosenDefinition, CommandError> {
    choose_definition(issue, flag, &ground.work).ok_or_else(|| {
        let title = visible_line(&issue.title);
        CommandError::usage(format!("no definition for {} (`{title}`)", issue.number))
            .hint("pass `--definition`, or set `definition = \"default\"` in `[work]`")
    })
}

/// Names the source of the definition's name, as the plan shows it.
pub(super) fn origin(by: &ChosenBy) -> String {
    match by {
        ChosenBy::Flag => "`--definition`".to_owned(),
        ChosenBy::Issue => "the issue".to_owned(),
        ChosenBy::Label(label) => format!("label `{}`", visible_line(label)),
        ChosenBy::Settings => "`work.definition`".to_owned(),
    }
}

/// Finds and loads a definition, and reports everything that prevents a run.
pub(super) fn load_definition(
    name: &str,
    issue: IssueNumber,
    files: &dyn Source,
    ground: &Ground,
    flags: &RunFlags,
    streams: &mut Streams,
) -> Result<IssueDefinition, CommandError> {
    let (project, settings) = (&ground.project, &ground.settings);
    let strict = flags.strict || settings.strict;
    // The total budget is divided when each issue starts.
    let mut options = flags.options(false)?;
    options.budget = saihai_model::Budget::default();
    (options.delivers, options.issue) = (true, Some(issue));
    let wanted = DefinitionRequest { definition: name, options: &options, settings, strict };
    let prepared = PreparedDefinition::of_files(files, project, wanted, streams)?;
    // A plan alone needs no provider.
    if prepared.rehearsal && !ground.only_lists {
        let error = CommandError::usage(format!("no provider configured for `{name}`"));
        return Err(error.hint(
            "pass `--provider claude`, or set `provider` in `.saihai/config.toml`; `saihai doctor` lists the providers",
        ));
    }
    let mut found = unready(&prepared.workflow, settings);
    found.append(untrusted_programs(project, &prepared.workflow, flags.trust_project));
    streams.diagnose(&found, strict)?;
    if !ground.only_lists {
        recommend_sandbox(&prepared.workflow, settings, streams);
    }
    let language = prepared.language;
    let wishes = prepared.wishes.clone();
    if wishes.worktree == Some(false) {
        streams.note(&format!("`{name}` disables worktrees, but `saihai work` always uses one"));
    }
    let work = wished(ground.work.clone(), &wishes, ground);
    insist_on_something_to_merge(&work, &wishes, ground)?;
    let resolve = wishes.resolve == Some(true);
    let auto = flags.presence.auto || wishes.auto == Some(true);
    let dialect = prepared.definition.dialect.name().to_owned();
    let texts = prepared.texts.clone();
    let workflow = prepared.workflow.into_workflow();
    let file = script_path(project, flags.script.as_deref(), settings);
    let mut ready = IssueDefinition {
        name: name.to_owned(),
        dialect,
        workflow,
        script: None,
        language,
        texts,
        work,
        wishes,
        auto,
        resolve,
        bound: String::new(),
    };
    ready.bound = cost_bound(&ready, ground);
    if let Some(file) = file {
        let around = ready.around("", ground)?;
        let script = read_script_file(project, &file, &around, strict, streams);
        ready.script = Some(script.inspect_err(|_| {
            streams.note(&format!(
                "one script serves all definitions of a call; these errors are for `{}`, the definition of {issue}",
                visible_line(name)
            ));
        })?);
    }
    Ok(ready)
}

/// Describes the cost before the run starts (I-40).
fn cost_bound(definition: &IssueDefinition, ground: &Ground) -> String {
    let turns = match definition.most_calls() {
        Some(most) => format!("up to {}", count(most, "turn")),
        None => "no limit on turns".to_owned(),
    };
    let cost = match definition.most_usd(ground) {
        Some(most) => format!("up to {most}"),
        None => "cost unknown".to_owned(),
    };
    format!("{turns}; {cost}")
}

/// Rejects `merge` without pull requests on a forge: a forge merges only pull requests.
fn insist_on_something_to_merge(
    work: &WorkSettings,
    wishes: &Wishes,
    ground: &Ground,
) -> Result<(), CommandError> {
    if ground.forge != ForgeKind::Github || !work.merge || work.pull_request {
        return Ok(());
    }
    let by = match (ground.no_pull_request, wishes.pull_request) {
        (true, _) => "`--no-pr`",
        (false, Some(false)) => "`create_pr: false` of the definition",
        (false, _) => "`pull_request = false` in `[work]`",
    };
    let said = format!("a merge on the forge needs a pull request, and {by} disables pull requests");
    Err(CommandError::usage(said).hint("remove it, or do not pass `--merge` (`work.merge`)"))
}

/// Combines the settings of `work` with those of the definition. Flags override both.
fn wished(mut work: WorkSettings, wishes: &Wishes, ground: &Ground) -> WorkSettings {
    if let Some(gates) = &wishes.gates {
        work.gates.clone_from(gates);
    }
    if let Some(wanted) = wishes.pull_request.filter(|_| !ground.no_pull_request) {
        work.pull_request = wanted;
    }
    if let Some(root) = &wishes.worktree_root {
        work.worktree_root = root.into();
    }
    if let Some(files) = &wishes.copy_files {
        work.copy_files.clone_from(files);
    }
    if let Some(prefix) = &wishes.label_prefix {
        work.label_prefix.clone_from(prefix);
    }
    work.labels = wishes.labels.unwrap_or(work.labels);
    work
}
