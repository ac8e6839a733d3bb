//! Actions of blocks in an agent's replies (S-64 to S-67).

use indexmap::IndexMap;
use saihai_model::{Action, ActionSpec, BlockUse, Blocks, Once};

use super::completion::{AgentCompletion, CompletionCondition};
use super::shape::FileSection;
use crate::{Diagnostics, Located, did_you_mean, list_of, quoted};

/// Block types that control completion: a plan, a review, a phase change, the end.
pub(super) const SIGNALS: [&str; 4] = ["project-plan", "review-result", "phase-advance", "complete"];

/// Default info string of a block's fence.
const FENCE: &str = "action";
/// Default file for a block that names none.
const FILE: &str = "output.md";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct BlockActions {
    fence: String,
    uses: IndexMap<String, BlockHandler>,
}

/// Handler of one block type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockHandler {
    Log,
    File,
    Signal,
    OpenIssue,
    Comment,
}

impl BlockActions {
    /// Reads `actions`. If they are off, the run looks for no blocks. `github`: the agent may use GitHub.
    pub(super) fn read(actions: &FileSection<'_>, github: bool, diagnostics: &mut Diagnostics) -> Self {
        let types = actions.words("types").unwrap_or_default().into_iter();
        let usual = |kind: String| {
            let handler =
                if SIGNALS.contains(&kind.as_str()) { BlockHandler::Signal } else { BlockHandler::Log };
            (kind, handler)
        };
        let mut uses: IndexMap<String, BlockHandler> = types.map(usual).collect();
        for (kind, handler) in actions.map("handlers") {
            if !uses.contains_key(&kind.value) {
                let message = format!("{} is not among `types`", quoted(&kind.value));
                let hint = did_you_mean(&kind.value, uses.keys().map(String::as_str));
                diagnostics.push(kind.error("bad-value", message).label("no such type").maybe_hint(hint));
            }
            let Some(name) = handler.text() else { continue };
            let handler = BlockHandler::read(&name, &kind.value, diagnostics);
            if matches!(handler, Some(BlockHandler::OpenIssue | BlockHandler::Comment)) && !github {
                let message = format!("the handler {} needs GitHub, which is off", quoted(&name.value));
                let hint = "add `\"github\": {\"enabled\": true}` to `agent.json`, in the later format to `integrations`";
                diagnostics.push(name.error("bad-value", message).hint(hint));
            }
            if let (Some(handler), Some(used)) = (handler, uses.get_mut(&kind.value)) {
                *used = handler;
            }
        }
        Self {
            fence: actions.word("outputFormat").unwrap_or_else(|| FENCE.to_owned()),
            uses: if actions.is_on("enabled") { uses } else { IndexMap::new() },
        }
    }

    /// Returns true if blocks of this type control completion.
    pub(super) fn signals(&self, kind: &str) -> bool {
        self.uses.get(kind) == Some(&BlockHandler::Signal)
    }

    /// Returns true if blocks can change the phase.
    pub(super) fn signals_phase(&self) -> bool {
        let [plan, review, advance, _] = SIGNALS;
        [plan, review, advance].iter().any(|signal| self.signals(signal))
    }

    /// Returns the blocks to look for. Completion by a signal needs its block even if actions are off.
    pub(super) fn blocks(&self, completion: Option<&AgentCompletion>) -> Option<Blocks> {
        let mut uses: IndexMap<String, BlockUse> = self
            .uses
            .iter()
            .map(|(kind, handler)| (kind.clone(), handler.block_use(kind, completion)))
            .collect();
        for condition in completion.into_iter().flat_map(AgentCompletion::all) {
            if let CompletionCondition::Signal { kind, .. } = condition {
                uses.entry(kind.clone()).or_insert(BlockUse::Signal);
            }
        }
        (!uses.is_empty()).then(|| Blocks { fence: self.fence.clone(), uses })
    }
}

impl BlockHandler {
    fn read(name: &Located<String>, kind: &str, diagnostics: &mut Diagnostics) -> Option<Self> {
        match name.value.strip_prefix("builtin:").unwrap_or(&name.value) {
            "log" => Some(Self::Log),
            "file" => Some(Self::File),
            "github-issue" => Some(Self::OpenIssue),
            "github-comment" => Some(Self::Comment),
            "completion-signal" if SIGNALS.contains(&kind) => Some(Self::Signal),
            "completion-signal" => {
                let message = format!("a block of type {} does not control the completion", quoted(kind));
                let hint = format!("these types do: {}", list_of(SIGNALS, "and"));
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

    fn block_use(self, kind: &str, completion: Option<&AgentCompletion>) -> BlockUse {
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
fn steers(kind: &str, completion: Option<&AgentCompletion>) -> bool {
    let mut all = completion.into_iter().flat_map(AgentCompletion::all);
    all.any(|condition| match condition {
        CompletionCondition::Signal { kind: wanted, .. } if wanted == kind => true,
        CompletionCondition::Phase(_) => true,
        // A claim in a reply does not change external state.
        CompletionCondition::Issue
        | CompletionCondition::File { .. }
        | CompletionCondition::Composite(..) => false,
        _ => kind == "complete",
    })
}
