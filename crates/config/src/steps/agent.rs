//! Reader of `agent.json`, in both shapes, and of `config.json` (S-7, S-14, S-18).

use std::collections::HashMap;

use saihai_model::LogFormat;

use super::actions::BlockActions;
use super::completion::AgentCompletion;
use super::parameters::Parameter;
use super::shape::{FileSection, checked, checked_except, checked_part};
use super::tables;
use crate::breaker::ProgressSetting;
use crate::delivery::Wishes;
use crate::{Cursor, Diagnostics, Document, Located, Location, list_of, quoted};

#[derive(Debug, Clone)]
pub(super) struct StepAgent {
    pub(super) name: Located<String>,
    pub(super) display_name: Option<String>,
    pub(super) description: Option<String>,
    /// Declared language of the prompts.
    pub(super) language: Option<String>,
    /// File of the system prompt.
    pub(super) system_prompt: Option<Located<String>>,
    pub(super) completion: Option<AgentCompletion>,
    pub(super) tools: Vec<String>,
    /// Permission mode, in the agent's own terms.
    pub(super) permission: String,
    /// Default model of its steps.
    pub(super) model: Option<String>,
    pub(super) parameters: Vec<Parameter>,
    /// File of the step registry.
    pub(super) registry: Option<Located<String>>,
    /// Directory for prompts that are missing elsewhere.
    pub(super) fallback: Option<Located<String>>,
    pub(super) schemas: Option<Located<String>>,
    pub(super) actions: BlockActions,
    pub(super) logging: Option<AgentLogging>,
    pub(super) closure: Option<IssueClosure>,
    pub(super) wishes: Wishes,
    pub(super) progress: ProgressSetting,
}

/// Additional log of the run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AgentLogging {
    pub(super) directory: Located<String>,
    pub(super) format: LogFormat,
    /// Number of logs to keep.
    pub(super) keep: u32,
    /// True if the log omits details.
    pub(super) brief: bool,
}

/// Action of `closing` on the run's issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IssueClosure {
    pub(super) close: bool,
    pub(super) add: Vec<String>,
    pub(super) remove: Vec<String>,
}

impl StepAgent {
    /// Reads an agent. It reports all errors, not only the first.
    pub(super) fn read(
        document: &Document,
        overrides: AgentOverrides,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let is_later = document.root.get("runner").is_some();
        // Parts of the other shape are reported as a whole, so their contents are not checked.
        let skipped = if is_later { &EARLIER_SHAPE[..] } else { &[] };
        let agent = checked_except(&document.cursor(), &tables::AGENT, skipped, diagnostics)?;
        check_version(&agent, diagnostics);
        let parts = match is_later {
            true => AgentParts::of_runner(&agent, diagnostics),
            false => AgentParts::of_behavior(&agent, diagnostics),
        };
        let config = parts.completion_config.as_ref();
        let completion = parts.completion_type.as_ref();
        let completion = completion.and_then(|name| AgentCompletion::read(name, config, diagnostics));
        check_sandbox(&parts.sandbox, diagnostics);
        let AgentParts { role, boundaries, worktree, logging, .. } = parts;
        let (mut tools, permission) = (boundaries.words("allowedTools"), boundaries.word("permissionMode"));
        // Only the later format may leave them out; `behavior` itself is the section of the earlier one.
        if let Some(at) = agent.key("runner").filter(|_| !boundaries.is_present() && is_later) {
            let message =
                "`runner` has no `boundaries`: the agent can only read, with `Read`, `Glob` and `Grep`";
            let diagnostic = at.warning("missing-key", message).label("no permissions");
            diagnostics.push(diagnostic.hint("add `boundaries` with `allowedTools` and `permissionMode`"));
            tools = Some(["Read", "Glob", "Grep"].map(str::to_owned).to_vec());
        }
        Some(Self {
            name: read_name(&agent, diagnostics),
            display_name: agent.word("displayName"),
            description: agent.word("description"),
            language: agent.word("language"),
            system_prompt: role.text("systemPromptPath"),
            completion,
            tools: overrides.tools.or(tools).unwrap_or_default(),
            permission: overrides.permission.or(permission).unwrap_or_else(|| "plan".to_owned()),
            model: parts.model,
            parameters: read_parameters(&agent, diagnostics),
            registry: parts.prompts.text("registry"),
            fallback: parts.prompts.text("fallbackDir"),
            schemas: parts.schemas,
            actions: BlockActions::read(&parts.actions, parts.github.is_on("enabled"), diagnostics),
            closure: parts.closure,
            progress: agent.progress(),
            wishes: Wishes {
                worktree: overrides.worktree.or(worktree.flag("enabled").map(|flag| flag.value)),
                worktree_root: overrides.worktree_root.or(worktree.word("root")),
                ..Wishes::default()
            },
            logging: logging.text("directory").map(|directory| AgentLogging {
                directory,
                format: match logging.word("format").as_deref() {
                    Some("text") => LogFormat::Text,
                    _ => LogFormat::Jsonl,
                },
                keep: overrides.max_files.or(logging.count("maxFiles").map(|most| most.value)).unwrap_or(1),
                brief: overrides.verbose == Some(false),
            }),
        })
    }
}

/// Keys of the earlier shape. In the later one they belong inside `runner`.
const EARLIER_SHAPE: [&str; 6] = ["behavior", "prompts", "actions", "github", "worktree", "logging"];

/// Parts of an agent. Its file has them next to `behavior`, or in the later format inside `runner`.
struct AgentParts<'d> {
    role: FileSection<'d>,
    boundaries: FileSection<'d>,
    sandbox: FileSection<'d>,
    completion_type: Option<Located<String>>,
    completion_config: Option<Cursor<'d>>,
    prompts: FileSection<'d>,
    github: FileSection<'d>,
    actions: FileSection<'d>,
    worktree: FileSection<'d>,
    logging: FileSection<'d>,
    model: Option<String>,
    schemas: Option<Located<String>>,
    closure: Option<IssueClosure>,
}

impl<'d> AgentParts<'d> {
    fn of_behavior(agent: &FileSection<'d>, diagnostics: &mut Diagnostics) -> Self {
        for name in ["behavior", "prompts"].into_iter().filter(|name| !agent.has(name)) {
            let diagnostic = agent.at().error("missing-key", format!("an agent needs `{name}`"));
            diagnostics.push(diagnostic.label(format!("`{name}` is missing here")));
        }
        let (behavior, github) = (agent.part("behavior"), agent.part("github"));
        if let Some(at) = github.key("labels") {
            diagnostics.push(at.note("no-effect", "`labels` has no effect: a block names its own labels"));
        }
        Self {
            sandbox: behavior.part("sandboxConfig"),
            completion_type: behavior.text("completionType"),
            completion_config: behavior.any("completionConfig"),
            role: behavior.clone(),
            boundaries: behavior,
            prompts: agent.part("prompts"),
            github,
            actions: agent.part("actions"),
            worktree: agent.part("worktree"),
            logging: agent.part("logging"),
            model: None,
            schemas: None,
            closure: None,
        }
    }

    fn of_runner(agent: &FileSection<'d>, diagnostics: &mut Diagnostics) -> Self {
        for name in EARLIER_SHAPE {
            if let (Some(at), Some(runner)) = (agent.key(name), agent.key("runner")) {
                let message = format!("an agent has either `{name}` or `runner`, not both");
                let diagnostic = runner.error("mixed-shapes", message).label("of the later format");
                diagnostics.push(diagnostic.also(at, "of the earlier one"));
            }
        }
        let runner = agent.part("runner");
        let (flow, verdict, boundaries) =
            (runner.part("flow"), runner.part("verdict"), runner.part("boundaries"));
        let (schemas, github) = (flow.part("schemas"), runner.part("integrations").part("github"));
        let idle =
            [(&flow, "askUserAutoResponse"), (&schemas, "inspection"), (&boundaries, "askUserAutoResponse")];
        note_idle(
            idle.into_iter().filter_map(|(part, name)| Some((name, part.key(name)?.clone()))),
            diagnostics,
        );
        Self {
            sandbox: boundaries.part("sandbox"),
            completion_type: verdict.text("type"),
            completion_config: verdict.any("config"),
            prompts: flow.part("prompts"),
            actions: runner.part("actions"),
            worktree: runner.part("execution").part("worktree"),
            logging: runner.part("logging"),
            model: flow.word("defaultModel"),
            schemas: schemas.text("base"),
            closure: github.is_on("enabled").then(|| IssueClosure::read(&github, diagnostics)),
            role: flow,
            boundaries,
            github,
        }
    }
}

impl IssueClosure {
    fn read(github: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Self {
        let labels = github.map("labels").into_iter().find(|(purpose, _)| purpose.value == "completion");
        let labels =
            labels.and_then(|(_, labels)| checked_part(&labels, &tables::COMPLETION_LABELS, diagnostics));
        let named = |name| labels.as_ref().and_then(|labels| labels.words(name)).unwrap_or_default();
        match github.word("defaultClosureAction").as_deref() {
            Some("label-only") => Self { close: false, add: named("add"), remove: named("remove") },
            Some("label-and-close") => Self { close: true, add: named("add"), remove: named("remove") },
            _ => Self { close: true, add: Vec::new(), remove: Vec::new() },
        }
    }
}

/// Overrides of an agent on this machine, from `config.json`.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct AgentOverrides {
    permission: Option<String>,
    tools: Option<Vec<String>>,
    /// Number of logs to keep.
    max_files: Option<u32>,
    verbose: Option<bool>,
    worktree: Option<bool>,
    worktree_root: Option<String>,
}

impl AgentOverrides {
    pub(super) fn read(document: &Document, diagnostics: &mut Diagnostics) -> Self {
        let Some(config) = checked(document, &tables::CONFIG, diagnostics) else { return Self::default() };
        check_version(&config, diagnostics);
        let github = config.part("github");
        let idle = ["apiVersion", "labels"].into_iter();
        note_idle(idle.filter_map(|name| Some((name, github.key(name)?.clone()))), diagnostics);
        let worktree = config.part("worktree");
        for name in ["enabled", "root"] {
            let spelling = worktree.spelling(name).filter(|spelling| *spelling != name);
            if let (Some(spelling), Some(at)) = (spelling, worktree.key(name)) {
                diagnostics.push(at.note("other-name", format!("`{spelling}` is another name of `{name}`")));
            }
        }
        let (overrides, logging) = (config.part("overrides"), config.part("logging"));
        Self {
            permission: overrides.word("permissionMode"),
            tools: overrides.words("allowedTools"),
            max_files: logging.count("maxFiles").map(|count| count.value),
            verbose: logging.flag("verbose").map(|flag| flag.value),
            worktree: worktree.flag("enabled").map(|flag| flag.value),
            worktree_root: worktree.word("root"),
        }
    }
}

/// Returns the path of the registry before validation.
pub(super) fn registry_path(document: &Document) -> Option<Located<String>> {
    let root = document.cursor();
    let flow = || root.get("runner")?.get("flow")?.get("prompts");
    let prompts = root.get("prompts").or_else(flow)?;
    prompts.get("registry")?.text().filter(|path| !path.value.is_empty())
}

/// An agent's file cannot configure a provider's sandbox, so a message tells the user.
fn check_sandbox(sandbox: &FileSection<'_>, diagnostics: &mut Diagnostics) {
    if !sandbox.is_present() || sandbox.flag("enabled").is_some_and(|flag| !flag.value) {
        return;
    }
    let hint = "`permissionMode` and `allowedTools` are enforced";
    if !sandbox.has("network") && !sandbox.has("filesystem") {
        let name = sandbox.at().path.last_key().unwrap_or_default();
        let message = format!("an agent's file cannot set `{name}` for a provider");
        diagnostics.push(sandbox.at().warning("sandbox", message).label("not enforced").hint(hint));
    }
    for name in ["network", "filesystem"] {
        if let Some(at) = sandbox.key(name) {
            let message = format!("no provider can enforce `{name}` of a sandbox");
            diagnostics.push(at.warning("sandbox", message).label("not enforced").hint(hint));
        }
    }
}

fn read_name(agent: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Located<String> {
    let Some(name) = agent.text("name") else { return Located::new(String::new(), agent.at().clone()) };
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.value.starts_with(|c: char| c.is_ascii_lowercase()) || !name.value.chars().all(letters) {
        let message = format!("{} cannot be the name of an agent", quoted(&name.value));
        let hint = "use lower-case letters, digits and `-`, and start with a letter";
        diagnostics.push(name.error("bad-value", message).hint(hint));
    }
    name
}

fn read_parameters(agent: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Vec<Parameter> {
    let parameters = agent.named_parts("parameters").into_iter();
    let parameters: Vec<Parameter> =
        parameters.filter_map(|(key, part)| Parameter::read(key, &part, diagnostics)).collect();
    let mut flags: HashMap<&str, &Parameter> = HashMap::new();
    for parameter in &parameters {
        if let Some(first) = flags.insert(&parameter.flag.value, parameter) {
            let message = format!(
                "{} and {} have the same flag {}",
                quoted(&first.key.value),
                quoted(&parameter.key.value),
                quoted(&parameter.flag.value)
            );
            let diagnostic = parameter.flag.error("duplicate-flag", message).label("given again");
            diagnostics.push(diagnostic.also(&first.flag.at, "first given here"));
        }
    }
    parameters
}

/// Adds one note for all keys without effect in a file (S-17).
pub(super) fn note_idle(idle: impl Iterator<Item = (&'static str, Location)>, diagnostics: &mut Diagnostics) {
    let (mut names, mut first): (Vec<&str>, Option<Location>) = (Vec::new(), None);
    for (name, at) in idle {
        if !names.contains(&name) {
            names.push(name);
        }
        first.get_or_insert(at);
    }
    let Some(first) = first else { return };
    let verb = if names.len() == 1 { "has" } else { "have" };
    diagnostics.push(first.note("no-effect", format!("{} {verb} no effect here", list_of(names, "and"))));
}

/// Reports a `version` that is not `N.N.N`.
pub(super) fn check_version(file: &FileSection<'_>, diagnostics: &mut Diagnostics) {
    let Some(version) = file.text("version") else { return };
    let numbers: Vec<&str> = version.value.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if numbers.len() != 3 || !numbers.iter().all(is_number) {
        let message = format!("{} is not a version", quoted(&version.value));
        diagnostics.push(version.error("version", message).hint("write three numbers, such as `1.0.0`"));
    }
}
