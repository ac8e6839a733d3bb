//! The providers of a run, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use saihai_model::{
    Ask, CallId, Choice, Failure, FailureClass, Millis, ProgramCommand, ProgramExit, Progress,
    ProviderAnswer, ProviderKind, ProviderName, ProviderRefusal, ProviderSettings, Reply, SandboxChoice,
    SandboxSettings, Script, Stage, StageId, Workflow,
};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::agent::AgentProgram;
use crate::attempt::{AgentAttempt, AttemptResources, IdleAgents, InstalledAgent};
use crate::clock::GracePeriod;
use crate::clock::{Clock, RealTime};
use crate::forge::{ForgeRepository, ForgeToken, ForgeViewer};
use crate::http::{HttpTurn, ModelService, Unreachable, WebAccess};
use crate::process::CommandSurroundings;
use crate::program_turn::ProgramTurn;
use crate::redact::Redactor;
use crate::sandbox::{self, AgentSandboxes, SandboxProblem};
use crate::script::{BadScript, ScriptAccounts, ScriptAsk, ScriptPerformance, ScriptProvider};
use crate::{agents, process};

/// Everything needed to open the providers of a run.
#[derive(Clone)]
pub struct Connections {
    /// Settings of providers, by name. A provider without settings is the built-in one of its name.
    pub settings: BTreeMap<ProviderName, ProviderSettings>,
    /// The script of the `script` provider.
    pub script: Option<Script>,
    /// Check and display the writes, edits and commands of a scripted reply without executing them.
    pub dry: bool,
    /// The clock for scripted replies and for the deadlines of agents.
    pub clock: Arc<dyn Clock>,
    /// Time between the request to end a program and the kill. `hurry` shortens it.
    pub grace: Millis,
    /// The repository on a forge that models may read.
    pub forge: Option<ForgeRepository>,
    /// Models may fetch pages of the public web.
    pub web: bool,
    /// Our own environment. A program gets only the allowed part of it.
    pub environment: Vec<(OsString, OsString)>,
    /// The token of a forge, if any. Redaction needs it here, because it may come from `gh`, not a variable.
    pub token: Option<ForgeToken>,
    /// The program that starts all others, so that they do not outlive us: one that accepts
    /// [`crate::launcher::ARGUMENT`]. Without it they start directly.
    pub launcher: Option<PathBuf>,
    /// We run as root: some programs then refuse part of their features.
    pub root: bool,
    /// The sandbox of all programs that do turns.
    pub sandbox: SandboxSettings,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            settings: BTreeMap::new(),
            script: None,
            dry: false,
            clock: Arc::new(RealTime),
            grace: Millis::seconds(10),
            forge: None,
            web: false,
            environment: std::env::vars_os().collect(),
            token: None,
            launcher: None,
            root: rustix::process::geteuid().is_root(),
            sandbox: SandboxSettings::default(),
        }
    }
}

impl Connections {
    /// Adds the provider that a workflow itself describes. Settings for its name have priority.
    pub fn describing(mut self, workflow: &Workflow) -> Self {
        if let Some(own) = &workflow.provider {
            self.settings.entry(own.name.clone()).or_insert_with(|| own.settings());
        }
        self
    }

    /// Returns a redactor for all secrets in our environment and the settings (C-55), and for the token.
    pub fn redactor(&self) -> Redactor {
        let ours = self.environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let set = self.settings.values().flat_map(|set| &set.env);
        let set = set.map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        let token = self.token.iter().map(|token| (OsStr::new("GITHUB_TOKEN"), OsStr::new(token.secret())));
        Redactor::new(ours.chain(set).chain(token))
    }
}

/// The reason why a provider cannot be used, reported before the first turn. No other replaces it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// A known provider that this version does not support.
    #[error("provider `{name}` is not available in this version of Saihai; use `--provider script`")]
    NotInThisVersion { name: ProviderName },
    #[error("there is no provider `{name}`{}", did_you_mean(.suggestion.as_deref()))]
    Unknown { name: ProviderName, suggestion: Option<String> },
    #[error(
        "provider `{name}`: there is no program `{program}`; searched: {path}{}",
        install_line(.install.as_deref())
    )]
    NotInstalled {
        name: ProviderName,
        program: String,
        path: String,
        /// The install command, if known.
        install: Option<String>,
    },
    /// Any program is possible, and the settings name none.
    #[error("provider `{name}` needs a program; set `providers.{name}.program`")]
    NoProgram { name: ProviderName },
    /// The program refuses to work for root.
    #[error(
        "provider `{name}` refuses permission `full` to root, which `{stage}` needs; run as another user, or pass \
         `--max-permission edit`"
    )]
    NotForRoot {
        name: ProviderName,
        /// The stage that needs it.
        stage: StageId,
    },
    /// The chosen or required sandbox does not work here.
    #[error("provider `{name}` cannot run in a sandbox: {problem}{}", required_by(.stage.as_ref()))]
    NoSandbox {
        name: ProviderName,
        problem: SandboxProblem,
        /// The stage that requires a sandbox, if one does.
        stage: Option<StageId>,
    },
    /// A sandbox is required, and a setting or flag turns it off.
    #[error(
        "provider `{name}` has `sandbox` set to `off`{}; remove one of them, or pass `--sandbox auto`",
        required_by(.stage.as_ref())
    )]
    SandboxOff { name: ProviderName, stage: Option<StageId> },
    /// A network provider that these settings cannot reach.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// The `script` provider has no script.
    #[error("provider `script` needs a script; pass `--script FILE`")]
    NoScript,
    #[error(transparent)]
    BadScript(#[from] BadScript),
}

impl Unavailable {
    /// Returns true if the provider itself is missing; otherwise the settings are wrong.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::NotInThisVersion { .. }
            | Self::NotInstalled { .. }
            | Self::NotForRoot { .. }
            | Self::NoSandbox { .. } => true,
            Self::Unreachable(unreachable) => unreachable.is_missing(),
            Self::Unknown { .. }
            | Self::NoProgram { .. }
            | Self::SandboxOff { .. }
            | Self::NoScript
            | Self::BadScript(_) => false,
        }
    }
}

/// The providers of a run, by name. The owner of the run owns this too.
pub struct Providers {
    found: BTreeMap<ProviderName, OpenedProvider>,
    script: Option<ScriptProvider>,
    staying: IdleAgents,
    grace: GracePeriod,
    /// The environment of programs that do turns.
    surroundings: CommandSurroundings,
    /// Stages that require a sandbox.
    requiring: BTreeSet<StageId>,
}

enum OpenedProvider {
    Script,
    Agent(Arc<InstalledAgent>),
    /// A service on the network.
    Http(Box<ModelService>),
}

impl Providers {
    /// Looks up every provider that the workflow can use, without asking any.
    pub fn open(workflow: &Workflow, with: Connections) -> Result<Self, Vec<Unavailable>> {
        let mut unavailable = Vec::new();
        let mut found = BTreeMap::new();
        let grace = GracePeriod::new(with.grace);
        let staying = IdleAgents::new(&grace, &with.clock);
        let search = ProviderSearch::new(workflow, &with, &grace, &staying);
        for name in reachable(workflow) {
            match search.look_up(&name) {
                Ok(one) => drop(found.insert(name, one)),
                Err(missing) => unavailable.push(missing),
            }
        }
        if with.root {
            unavailable.extend(not_for_root(workflow, &found));
        }
        unavailable.extend(without_model(workflow, &found));
        let has_programs = workflow.stages.values().flat_map(Stage::turns).any(|turn| turn.program.is_some());
        let wants_script = found.values().any(|one| matches!(one, OpenedProvider::Script))
            || (has_programs && with.script.is_some());
        let surroundings = CommandSurroundings::of(&with).with_grace(&grace);
        if has_programs {
            let name = ProviderName::from(ProgramCommand::PROVIDER);
            unavailable.extend(search.sandboxes(&name, None).err());
        }
        let script = match (wants_script, with.script.is_some()) {
            (false, _) => None,
            (true, false) => {
                unavailable.push(Unavailable::NoScript);
                None
            }
            (true, true) => ScriptProvider::open(with, &grace)
                .map_err(|bad| unavailable.push(Unavailable::BadScript(bad)))
                .ok(),
        };
        if unavailable.is_empty() {
            let requiring = requiring_sandbox(workflow);
            Ok(Self { found, script, staying, grace, surroundings, requiring })
        } else {
            Err(unavailable)
        }
    }

    /// Returns the missing providers of a workflow. It opens nothing. A missing script does not count,
    /// because it may still be found.
    pub fn missing(workflow: &Workflow, with: &Connections) -> Vec<Unavailable> {
        let mut missing = Self::open(workflow, with.clone()).err().unwrap_or_default();
        missing.retain(|one| *one != Unavailable::NoScript);
        missing
    }

    /// Passes an ask to its provider. Call this in the order of the asks.
    pub fn ask(&mut self, ask: Ask) -> Asking {
        if ask.program.is_some() {
            return self.run_program(ask);
        }
        match (self.found.get(&ask.provider), &mut self.script) {
            (Some(OpenedProvider::Script), Some(scripted)) => {
                scripted.ask(ask).expect("a script gives only programs back")
            }
            (Some(OpenedProvider::Agent(_) | OpenedProvider::Http(_)), _)
                if !Path::new(&ask.directory).is_dir() =>
            {
                Asking::refused(gone(&ask.directory).into())
            }
            (Some(OpenedProvider::Agent(installed)), _) => {
                let sandbox = installed.sandbox_of(&ask, self.requiring.contains(&ask.stage));
                // The boundary of a process stays as it was at its start.
                let stayed = self.staying.take(&ask).filter(|stayed| stayed.sandbox == sandbox);
                Asking::attempt(AgentAttempt::new(ask, Arc::clone(installed), stayed, sandbox))
            }
            (Some(OpenedProvider::Http(service)), _) => Asking::http(service.ask(ask)),
            // `open` has looked up all reachable providers, so this ask belongs to another workflow.
            (Some(OpenedProvider::Script), None) | (None, _) => {
                Asking::refused(ProviderRefusal::from(Failure::new(
                    FailureClass::Missing,
                    format!("provider `{}` was not opened for this run", ask.provider),
                )))
            }
        }
    }

    /// Runs the program of a turn, unless the script has a reply for it. Rehearsals run none.
    fn run_program(&mut self, ask: Ask) -> Asking {
        let ask = match &mut self.script {
            Some(scripted) => match scripted.ask(ask) {
                Ok(asking) => return asking,
                Err(ask) => *ask,
            },
            None => ask,
        };
        if self.surroundings.dry || ask.rehearsal {
            return Asking(AskRoute::Rehearsed);
        }
        let command = ask.program.as_deref().cloned().unwrap_or_default();
        let required = self.requiring.contains(&ask.stage);
        let turn = ProgramTurn::new(ask, command, self.surroundings.clone(), required);
        Asking(AskRoute::Program(Box::new(turn)))
    }

    /// Ends processes whose session is over (C-67), without waiting for them.
    pub fn part(&mut self, goes_on: impl Fn(&str) -> bool) {
        self.staying.part(goes_on);
    }

    /// Ends every process that stays, and waits for it.
    pub async fn close(&mut self) {
        self.staying.close().await;
    }

    /// Shortens the grace of all stopping programs, now and later (C-56): a person waits for us to exit.
    pub fn hurry(&self) {
        self.grace.hurry();
    }

    /// Replays an ask from before this process took over the run, so that later asks get the same replies.
    /// Call it for every `Asked` of the journal, in order, together with [`Self::ended`].
    pub fn already_asked(&mut self, provider: &ProviderName, asked: &ScriptAsk<'_>) {
        let is_scripted = matches!(self.found.get(provider), Some(OpenedProvider::Script));
        if let Some(scripted) = self.script.as_mut().filter(|_| is_scripted || asked.program.is_some()) {
            scripted.already_asked(asked);
        }
    }

    /// Records that the journal has a call's reply (`None`) or failure, both live and in a replay.
    pub fn ended(&mut self, call: &CallId, failure: Option<&Failure>) {
        if let Some(scripted) = &mut self.script {
            scripted.ended(call, failure);
        }
    }

    /// Returns true if a replay needs the real prompt in [`ScriptAsk::prompt`].
    pub fn reads_prompts(&self) -> bool {
        self.script.as_ref().is_some_and(ScriptProvider::reads_prompts)
    }

    /// Returns the unused replies of a script and the asks without a reply, for the end of the run.
    pub fn accounts(&self) -> ScriptAccounts {
        self.script.as_ref().map(ScriptProvider::accounts).unwrap_or_default()
    }
}

/// Builds the failure for a missing working directory. Each provider would report it differently, if at all.
/// A script needs the directory only for actions of a reply.
pub(crate) fn gone(directory: &str) -> Failure {
    let words = format!(
        "the directory `{directory}` is missing; `saihai resume` recreates a worktree of Saihai from its branch"
    );
    Failure::new(FailureClass::Missing, words)
}

/// Returns the providers that refuse to work for root, each with the first stage that needs it (C-44).
fn not_for_root(workflow: &Workflow, found: &BTreeMap<ProviderName, OpenedProvider>) -> Vec<Unavailable> {
    let mut refusing: BTreeMap<&ProviderName, &StageId> = BTreeMap::new();
    for (id, stage) in &workflow.stages {
        for turn in stage.agent_turns() {
            if let Some(OpenedProvider::Agent(installed)) = found.get(&turn.provider)
                && installed.agent.refuses_root(turn.permission, &installed.settings)
            {
                refusing.entry(&turn.provider).or_insert(id);
            }
        }
    }
    let named = |(name, stage): (&ProviderName, &StageId)| Unavailable::NotForRoot {
        name: name.clone(),
        stage: stage.clone(),
    };
    refusing.into_iter().map(named).collect()
}

/// Returns the stages that require a sandbox.
fn requiring_sandbox(workflow: &Workflow) -> BTreeSet<StageId> {
    let requires = |stage: &Stage| stage.turns().iter().any(|turn| turn.sandbox_required);
    workflow.stages.iter().filter(|(_, stage)| requires(stage)).map(|(id, _)| id.clone()).collect()
}

struct ProviderSearch<'a> {
    with: &'a Connections,
    requiring: BTreeSet<StageId>,
    means: Arc<AttemptResources>,
}

impl<'a> ProviderSearch<'a> {
    fn new(workflow: &Workflow, with: &'a Connections, grace: &GracePeriod, staying: &IdleAgents) -> Self {
        let means = Arc::new(AttemptResources {
            clock: Arc::clone(&with.clock),
            grace: grace.clone(),
            environment: with.environment.clone(),
            launcher: with.launcher.clone(),
            redactor: Arc::new(with.redactor()),
            staying: staying.hand_in(),
        });
        Self { with, requiring: requiring_sandbox(workflow), means }
    }

    /// Returns the sandbox of ordinary stages, and that of stages that require one.
    fn sandboxes(
        &self,
        name: &ProviderName,
        own: Option<&SandboxChoice>,
    ) -> Result<AgentSandboxes, Unavailable> {
        let settings = &self.with.sandbox;
        let find = |required: bool, stage: Option<&StageId>| {
            let choice = settings.effective(own, required);
            if choice == SandboxChoice::Off && (required || settings.required) {
                return Err(Unavailable::SandboxOff { name: name.clone(), stage: stage.cloned() });
            }
            let found =
                sandbox::resolve(&choice, settings, &self.with.environment, self.with.launcher.as_deref());
            found.map_err(|problem| Unavailable::NoSandbox {
                name: name.clone(),
                problem,
                stage: stage.cloned(),
            })
        };
        let usual = find(false, None)?;
        let required = match self.requiring.first() {
            Some(stage) if usual.is_none() => find(true, Some(stage))?,
            Some(_) | None => usual.clone(),
        };
        Ok(AgentSandboxes { usual, required, settings: settings.clone() })
    }

    fn look_up(&self, name: &ProviderName) -> Result<OpenedProvider, Unavailable> {
        let settings = self.settings(name)?;
        if settings.kind == ProviderKind::Script {
            return Ok(OpenedProvider::Script);
        }
        if let Some(service) =
            ModelService::open(name, &settings, &self.with.environment, &self.means.redactor)
        {
            let forge = self.with.forge.clone();
            let web = if self.with.web { WebAccess::Open } else { WebAccess::Closed };
            let viewer = forge.map(|place| ForgeViewer::new(place, &self.with.environment));
            return Ok(OpenedProvider::Http(Box::new(service?.viewing(viewer, web))));
        }
        match agents::of(settings.kind) {
            Some(agent) => {
                self.install(name, agent, settings).map(|found| OpenedProvider::Agent(Arc::new(found)))
            }
            None => Err(Unavailable::NotInThisVersion { name: name.clone() }),
        }
    }

    /// Returns the settings of a provider, or the defaults of its built-in name.
    fn settings(&self, name: &ProviderName) -> Result<ProviderSettings, Unavailable> {
        let set = &self.with.settings;
        let built_in = || ProviderKind::named(name.as_str()).map(ProviderSettings::new);
        if let Some(settings) = set.get(name).cloned().or_else(built_in) {
            return Ok(settings);
        }
        let known =
            ProviderKind::ALL.iter().map(|kind| kind.name()).chain(set.keys().map(ProviderName::as_str));
        let near = known.map(|known| (strsim::damerau_levenshtein(known, name.as_str()), known)).min();
        let suggestion = near.filter(|(distance, _)| *distance <= 2).map(|(_, known)| known.to_owned());
        Err(Unavailable::Unknown { name: name.clone(), suggestion })
    }

    /// C-12: finds the program before the first turn, and keeps it for the whole run.
    fn install(
        &self,
        name: &ProviderName,
        agent: &'static dyn AgentProgram,
        settings: ProviderSettings,
    ) -> Result<InstalledAgent, Unavailable> {
        let profile = agent.profile();
        let program = settings.program.as_deref().unwrap_or(profile.program);
        if program.is_empty() {
            return Err(Unavailable::NoProgram { name: name.clone() });
        }
        let path = self.with.environment.iter().find(|(variable, _)| variable == "PATH");
        let found = process::find(program, path.map(|(_, path)| OsStr::new(path)));
        let file = found.map_err(|missing| Unavailable::NotInstalled {
            name: name.clone(),
            program: program.to_owned(),
            path: missing.path,
            // The install command is only right for the usual program.
            install: (program == profile.program).then(|| profile.install.to_owned()),
        })?;
        Ok(InstalledAgent {
            sandboxes: self.sandboxes(name, settings.sandbox.as_ref())?,
            agent,
            settings,
            program: file,
            means: Arc::clone(&self.means),
            probed: OnceCell::new(),
        })
    }
}

/// Returns services that need a model name but would get none from a turn, a question or a setting.
fn without_model(workflow: &Workflow, found: &BTreeMap<ProviderName, OpenedProvider>) -> Vec<Unavailable> {
    let unset = found.iter().filter(|(name, one)| {
        let OpenedProvider::Http(service) = one else { return false };
        let falls_to_it = workflow.retry.fallback.iter().any(|(_, to)| to == *name);
        let mut models = models_of(workflow, name);
        service.needs_a_model() && (falls_to_it || models.any(|model| model.is_none()))
    });
    unset.map(|(name, _)| Unreachable::NoModel { name: name.clone() }.into()).collect()
}

/// Returns the model name of each turn and question for a provider.
fn models_of<'a>(workflow: &'a Workflow, name: &'a ProviderName) -> impl Iterator<Item = &'a Option<String>> {
    workflow.stages.values().flat_map(move |stage| {
        let turns = stage.agent_turns().filter(move |turn| turn.provider == *name).map(|turn| &turn.model);
        let choices = stage.turns().iter().filter_map(|turn| turn.reads.choice.as_ref());
        let questions = choices.chain(stage.exit.question()).filter_map(Choice::question);
        let asked = questions.filter(move |question| question.provider.as_ref() == Some(name));
        turns.chain(asked.map(|question| &question.model))
    })
}

fn reachable(workflow: &Workflow) -> BTreeSet<ProviderName> {
    let mut names = BTreeSet::new();
    for stage in workflow.stages.values() {
        names.extend(stage.agent_turns().map(|turn| turn.provider.clone()));
        let choices = stage.turns().iter().filter_map(|turn| turn.reads.choice.as_ref());
        let questions = choices.chain(stage.exit.question()).filter_map(Choice::question);
        names.extend(questions.filter_map(|question| question.provider.clone()));
    }
    // A fallback may have a fallback itself. The loop ends because names only accumulate from a short list.
    loop {
        let more: Vec<_> = workflow.retry.fallback.iter().filter(|(from, _)| names.contains(from)).collect();
        let before = names.len();
        names.extend(more.into_iter().map(|(_, to)| to.clone()));
        if names.len() == before {
            return names;
        }
    }
}

fn required_by(stage: Option<&StageId>) -> String {
    stage.map(|stage| format!(", which `{stage}` requires")).unwrap_or_default()
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

fn install_line(install: Option<&str>) -> String {
    install.map(|line| format!("; install it with `{line}`")).unwrap_or_default()
}

/// An ask that its provider has accepted but not started.
#[must_use = "nothing is asked until it is answered"]
pub struct Asking(AskRoute);

enum AskRoute {
    Refused(Box<ProviderRefusal>),
    Script(Box<ScriptPerformance>),
    Agent(Box<AgentAttempt>),
    Http(Box<HttpTurn>),
    Program(Box<ProgramTurn>),
    /// A program that does not run, because this is a rehearsal. It counts as successful.
    Rehearsed,
}

impl Asking {
    pub(crate) fn refused(refusal: ProviderRefusal) -> Self {
        Self(AskRoute::Refused(Box::new(refusal)))
    }

    pub(crate) fn scripted(performance: ScriptPerformance) -> Self {
        Self(AskRoute::Script(Box::new(performance)))
    }

    pub(crate) fn attempt(attempt: AgentAttempt) -> Self {
        Self(AskRoute::Agent(Box::new(attempt)))
    }

    pub(crate) fn http(turn: HttpTurn) -> Self {
        Self(AskRoute::Http(Box::new(turn)))
    }

    /// Runs the ask and enforces its deadline. If `stop` is cancelled it returns soon, as cancelled unless
    /// the reply was already complete. Dropping the future ends everything it started.
    pub async fn answer(
        self,
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: CancellationToken,
    ) -> ProviderAnswer {
        match self.0 {
            AskRoute::Refused(refusal) => Err(*refusal),
            AskRoute::Script(performance) => performance.answer(progress, stop).await,
            AskRoute::Agent(attempt) => attempt.answer(progress, stop).await,
            AskRoute::Http(turn) => turn.answer(progress, stop).await,
            AskRoute::Program(turn) => turn.answer(progress, stop).await,
            AskRoute::Rehearsed => Ok(Reply { exit: Some(ProgramExit::Code(0)), ..Reply::default() }),
        }
    }
}

#[cfg(test)]
mod tests;
