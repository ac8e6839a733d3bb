//! Environment of an agent: sandbox, GitHub, worktree and log (S-7).

use saihai_model::LogFormat;

use super::tables;
use crate::delivery::Wishes;
use crate::{Diagnostics, Fields, Located, Object};

/// Settings of an additional log of the run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Logging {
    pub(super) directory: Located<String>,
    pub(super) format: LogFormat,
    /// Number of logs to keep.
    pub(super) keep: u32,
    /// True if the log omits details.
    pub(super) brief: bool,
}

/// Action of `closing` on the run's issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Closure {
    pub(super) close: bool,
    pub(super) add: Vec<String>,
    pub(super) remove: Vec<String>,
}

/// Reads the keys next to `behavior`, and reports those without effect. Returns true if the agent may use
/// GitHub.
pub(super) fn read(agent: &Fields<'_>, diagnostics: &mut Diagnostics) -> bool {
    let github = agent.object("github", &tables::GITHUB, diagnostics);
    if let Some(at) = github.as_ref().and_then(|github| github.key("labels")) {
        diagnostics.push(at.note("no-effect", "`labels` has no effect: a block names its own labels"));
    }
    github.is_some_and(|github| is_on(&github))
}

/// Does the same for `runner`, and also returns the action of `closing` on the issue.
pub(super) fn read_runner(runner: &Fields<'_>, diagnostics: &mut Diagnostics) -> (bool, Option<Closure>) {
    let integrations = runner.object("integrations", &tables::INTEGRATIONS, diagnostics);
    let github = integrations.and_then(|fields| fields.object("github", &tables::LATER_GITHUB, diagnostics));
    let on = github.filter(is_on);
    (on.is_some(), on.map(|github| read_closure(&github, diagnostics)))
}

fn is_on(github: &Fields<'_>) -> bool {
    github.bool("enabled").is_some_and(|on| on.value)
}

fn read_closure(github: &Fields<'_>, diagnostics: &mut Diagnostics) -> Closure {
    let action = github.text("defaultClosureAction").map(|action| action.value);
    let labels = github.map("labels").into_iter().find(|(use_of, _)| use_of.value == "completion");
    let labels =
        labels.and_then(|(_, labels)| Fields::read(&labels, &tables::COMPLETION_LABELS, diagnostics));
    let named = |name: &str| -> Vec<String> {
        let listed = labels.as_ref().and_then(|labels| labels.texts(name)).unwrap_or_default();
        listed.into_iter().map(|label| label.value).collect()
    };
    match action.as_deref() {
        Some("label-only") => Closure { close: false, add: named("add"), remove: named("remove") },
        Some("label-and-close") => Closure { close: true, add: named("add"), remove: named("remove") },
        Some(_) | None => Closure { close: true, add: Vec::new(), remove: Vec::new() },
    }
}

/// Worktree option of a run, from `agent.json` or `config.json`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Worktree {
    pub(super) enabled: Option<Located<bool>>,
    /// Directory of worktrees, relative to the project root or absolute.
    pub(super) root: Option<String>,
}

impl Worktree {
    pub(super) fn read(fields: &Fields<'_>, table: &'static Object, diagnostics: &mut Diagnostics) -> Self {
        let Some(worktree) = fields.object("worktree", table, diagnostics) else { return Self::default() };
        let root = worktree.text("root").map(|root| root.value);
        Self { enabled: worktree.bool("enabled"), root }
    }

    /// Merges with `below`; values in `self` win.
    pub(super) fn over(self, below: Self) -> Self {
        Self { enabled: self.enabled.or(below.enabled), root: self.root.or(below.root) }
    }

    /// Converts to the options for work on an issue.
    pub(super) fn wishes(&self) -> Wishes {
        let worktree = self.enabled.as_ref().map(|enabled| enabled.value);
        Wishes { worktree, worktree_root: self.root.clone(), ..Wishes::default() }
    }
}

pub(super) fn read_logging(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Logging> {
    let fields = fields.object("logging", &tables::LOGGING, diagnostics)?;
    let format = match fields.text("format")?.value.as_str() {
        "text" => LogFormat::Text,
        _ => LogFormat::Jsonl,
    };
    let keep = fields.count("maxFiles")?.value;
    Some(Logging { directory: fields.text("directory")?, format, keep, brief: false })
}

/// An agent's file cannot configure a provider's sandbox, so a message tells the user.
pub(super) fn read_sandbox(fields: &Fields<'_>, name: &str, diagnostics: &mut Diagnostics) {
    let Some(sandbox) = fields.object(name, &tables::SANDBOX, diagnostics) else { return };
    let enabled = sandbox.bool("enabled").is_none_or(|flag| flag.value);
    let hint = "`permissionMode` and `allowedTools` are enforced";
    if enabled && !sandbox.has("network") && !sandbox.has("filesystem") {
        let message = format!("no provider can be told `{name}` by an agent's file");
        let diagnostic = sandbox.location().warning("sandbox", message);
        diagnostics.push(diagnostic.label("not enforced").hint(hint));
    }
    for (name, table) in [("network", &tables::NETWORK), ("filesystem", &tables::FILESYSTEM)] {
        if sandbox.object(name, table, diagnostics).is_none() {
            continue;
        }
        if let Some(at) = sandbox.key(name).filter(|_| enabled) {
            let message = format!("no provider can be held to `{name}` of a sandbox");
            diagnostics.push(at.warning("sandbox", message).label("not enforced").hint(hint));
        }
    }
}
