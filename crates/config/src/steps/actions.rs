//! Actions of blocks in an agent's replies (S-64 to S-67).

use indexmap::IndexMap;
use saihai_model::{Action, ActionSpec, BlockUse, Blocks, Once};

use super::completion::{Completion, Condition};
use super::tables;
use crate::{Diagnostics, Fields, Located, did_you_mean, list_of, quoted};

/// Block types that control completion: a plan, a review, a phase change, the end.
pub(super) const SIGNALS: [&str; 4] = ["project-plan", "review-result", "phase-advance", "complete"];

/// Default info string of a block's fence.
const FENCE: &str = "action";
/// Default file for a block that names none.
const FILE: &str = "output.md";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Actions {
    fence: String,
    uses: IndexMap<String, Handler>,
}

/// Handler of one block type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handler {
    Log,
    File,
    Signal,
    OpenIssue,
    Comment,
}

impl Default for Actions {
    fn default() -> Self {
        Self { fence: FENCE.to_owned(), uses: IndexMap::new() }
    }
}

impl Actions {
    /// Reads `actions`. If they are off, the run looks for no blocks. `github` is true if the agent may use
    /// GitHub.
    pub(super) fn read(fields: &Fields<'_>, github: bool, diagnostics: &mut Diagnostics) -> Self {
        let Some(fields) = fields.object("actions", &tables::ACTIONS, diagnostics) else {
            return Self::default();
        };
        let fence = fields.text("outputFormat").map_or_else(|| FENCE.to_owned(), |format| format.value);
        let types = fields.texts("types").unwrap_or_default();
        let mut uses: IndexMap<String, Handler> =
            types.iter().map(|kind| (kind.value.clone(), Handler::usual(&kind.value))).collect();
        for (kind, handler) in fields.map("handlers") {
            if !uses.contains_key(&kind.value) {
                let message = format!("{} is not among `types`", quoted(&kind.value));
                let hint = did_you_mean(&kind.value, uses.keys().map(String::as_str));
                diagnostics.push(kind.error("bad-value", message).label("no such type").maybe_hint(hint));
            }
            let Some(name) = handler.text() else { continue };
            let handler = Handler::read(&name, &kind.value, diagnostics);
            if handler.is_some_and(Handler::reaches_github) && !github {
                let message = format!("the handler {} needs GitHub, which is off", quoted(&name.value));
                let hint = "add `\"github\": {\"enabled\": true}` where the agent says what it may reach";
                diagnostics.push(name.error("bad-value", message).hint(hint));
            }
            if let (Some(handler), Some(used)) = (handler, uses.get_mut(&kind.value)) {
                *used = handler;
            }
        }
        let enabled = fields.bool("enabled").is_some_and(|flag| flag.value);
        Self { fence, uses: if enabled { uses } else { IndexMap::new() } }
    }

    /// Returns true if blocks of this type control completion.
    pub(super) fn signals(&self, kind: &str) -> bool {
        self.uses.get(kind) == Some(&Handler::Signal)
    }

    /// Returns the blocks to look for in a reply. Completion by a signal needs its block even if actions are
    /// off.
    pub(super) fn blocks(&self, completion: Option<&Completion>) -> Option<Blocks> {
        let mut uses: IndexMap<String, BlockUse> = self
            .uses
            .iter()
            .map(|(kind, handler)| (kind.clone(), handler.block_use(kind, completion)))
            .collect();
        for condition in completion.into_iter().flat_map(Completion::all) {
            if let Condition::Signal { kind, .. } = condition {
                uses.entry(kind.clone()).or_insert(BlockUse::Signal);
            }
        }
        (!uses.is_empty()).then(|| Blocks { fence: self.fence.clone(), uses })
    }
}

impl Handler {
    fn usual(kind: &str) -> Self {
        if SIGNALS.contains(&kind) { Self::Signal } else { Self::Log }
    }

    fn read(name: &Located<String>, kind: &str, diagnostics: &mut Diagnostics) -> Option<Self> {
        match name.value.strip_prefix("builtin:").unwrap_or(&name.value) {
            "log" => Some(Self::Log),
            "file" => Some(Self::File),
            "github-issue" => Some(Self::OpenIssue),
            "github-comment" => Some(Self::Comment),
            "completion-signal" if SIGNALS.contains(&kind) => Some(Self::Signal),
            "completion-signal" => {
                let message = format!("a block of type {} steers no completion", quoted(kind));
                let hint = format!("those that do are {}", list_of(SIGNALS, "and"));
                diagnostics.push(name.error("bad-value", message).hint(hint));
                None
            }
            _ => {
                let message = format!("the handler {} is not supported", quoted(&name.value));
                let known = "there is `builtin:log`, `file`, `completion-signal`, `github-issue` and `github-comment`";
                diagnostics.push(name.error("not-supported", message).hint(known));
                None
            }
        }
    }

    fn reaches_github(self) -> bool {
        match self {
            Self::OpenIssue | Self::Comment => true,
            Self::Log | Self::File | Self::Signal => false,
        }
    }

    fn block_use(self, kind: &str, completion: Option<&Completion>) -> BlockUse {
        let act = |does, once| BlockUse::Do(ActionSpec { does, inputs: Vec::new(), once, poll: None });
        match self {
            Self::Signal if steers(kind, completion) => BlockUse::Signal,
            Self::Signal => BlockUse::Idle,
            Self::Log => act(Action::Log, Once::ReadOnly),
            // These actions add to existing content, so they must not run twice.
            Self::OpenIssue => act(Action::OpenIssue, Once::LookUpFirst),
            Self::Comment => act(Action::Comment, Once::LookUpFirst),
            Self::File => act(Action::WriteFile { path: FILE.to_owned(), append: true }, Once::LookUpFirst),
        }
    }
}

/// Returns true if a signal has a meaning for the completion (S-63).
fn steers(kind: &str, completion: Option<&Completion>) -> bool {
    let mut all = completion.into_iter().flat_map(Completion::all);
    all.any(|condition| match condition {
        Condition::Signal { kind: wanted, .. } if wanted == kind => true,
        Condition::Phase(_) => true,
        // A claim in a reply does not change external state.
        Condition::Issue | Condition::File { .. } | Condition::Composite(..) => false,
        Condition::Signal { .. }
        | Condition::Iterations(_)
        | Condition::Keyword { .. }
        | Condition::Checks(_)
        | Condition::Flow { .. }
        | Condition::Custom(_) => kind == "complete",
    })
}
