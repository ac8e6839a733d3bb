use std::collections::HashMap;

use saihai_model::Severity;

use super::condition::{Condition, Error, Reason};
use super::tables;
use crate::diagnostic::{did_you_mean, list_of};
use crate::{Cursor, Diagnostic, Diagnostics, Fields, Located, Location, quoted};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rule {
    pub(super) condition: Condition,
    /// Target; `None` for a sub-movement.
    pub(super) next: Option<Located<String>>,
    /// True if a person must answer before the run follows the rule.
    pub(super) requires_user_input: bool,
    /// True if the rule is offered only in interactive runs.
    pub(super) interactive_only: bool,
    /// Text that the agent must output in addition to the tag.
    pub(super) appendix: Option<String>,
    pub(super) at: Location,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A movement with one agent.
    Movement,
    /// A movement with several agents.
    Parallel,
    SubMovement,
    /// A movement with a review agent.
    Reviewer,
    /// A sub-movement with a review agent.
    SubReviewer,
    Judge,
}

impl Owner {
    fn has_findings(self) -> bool {
        match self {
            Self::Reviewer | Self::SubReviewer => true,
            Self::Movement | Self::Parallel | Self::SubMovement | Self::Judge => false,
        }
    }
}

const OVER_FINDINGS: &str = "write `findings(\"important\")` or `no_findings(\"important\")`";
const FOR_REVIEWERS: &str = "such conditions are for movements with `reviewer`";

impl Rule {
    /// Reads a list of rules. It reports and skips invalid ones.
    pub(super) fn read_all(items: &[Cursor<'_>], owner: Owner, diagnostics: &mut Diagnostics) -> Vec<Self> {
        let rules: Vec<Self> = items.iter().filter_map(|item| Self::read(item, owner, diagnostics)).collect();
        let mut seen: HashMap<&Condition, &Location> = HashMap::new();
        for rule in &rules {
            if let Some(first) = seen.insert(&rule.condition, &rule.at) {
                let message = format!("the condition {} is given twice", quoted(&rule.condition.to_string()));
                let diagnostic = rule.at.error("duplicate-condition", message).label("given again");
                diagnostics.push(diagnostic.also(first, "first given here"));
            }
        }
        rules
    }

    fn read(item: &Cursor<'_>, owner: Owner, diagnostics: &mut Diagnostics) -> Option<Self> {
        let table = if owner == Owner::Judge { &tables::JUDGE_RULE } else { &tables::RULE };
        let fields = Fields::read(item, table, diagnostics)?;
        let next = fields.text("next");
        let flag = |name| owner != Owner::Judge && fields.bool(name).is_some_and(|flag| flag.value);
        let appendix = (owner != Owner::Judge).then(|| fields.text("appendix")).flatten();
        match owner {
            Owner::Judge => {}
            Owner::SubMovement | Owner::SubReviewer => no_effect_in_sub_movement(&fields, diagnostics),
            Owner::Movement | Owner::Parallel | Owner::Reviewer => {
                if !fields.has("next") {
                    let missing = fields.location().error("missing-key", "a rule needs `next`");
                    diagnostics.push(missing.label("`next` is missing here"));
                }
            }
        }
        no_effect_of_appendix(&fields, owner, diagnostics);
        let condition = read_condition(&fields.text("condition")?, owner, diagnostics)?;
        Some(Self {
            condition: condition.value,
            next,
            requires_user_input: flag("requires_user_input"),
            interactive_only: flag("interactive_only"),
            appendix: appendix.map(|text| text.value).filter(|text| !text.trim().is_empty()),
            at: condition.at,
        })
    }
}

fn no_effect_of_appendix(fields: &Fields<'_>, owner: Owner, diagnostics: &mut Diagnostics) {
    let hint = match owner {
        Owner::Movement | Owner::SubMovement | Owner::Judge => return,
        Owner::Parallel => Some("put it into a sub-movement's rule"),
        Owner::Reviewer | Owner::SubReviewer => None,
    };
    if let Some(key) = fields.key("appendix") {
        let message = "`appendix` has no effect here: no agent chooses among these rules";
        diagnostics.push(key.warning("no-effect", message).maybe_hint(hint.map(str::to_owned)));
    }
}

fn no_effect_in_sub_movement(fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    if let Some(key) = fields.key("next") {
        let message = "`next` has no effect in a sub-movement: the rules of its parent decide what follows";
        diagnostics.push(key.warning("no-effect", message).label("remove it"));
    }
    for name in ["requires_user_input", "interactive_only"] {
        if let Some(key) = fields.key(name) {
            let message = format!("`{name}` has no effect in a sub-movement");
            diagnostics.push(key.error("no-effect", message).hint("put it into a rule of the parent"));
        }
    }
}

fn read_condition(
    text: &Located<String>,
    owner: Owner,
    diagnostics: &mut Diagnostics,
) -> Option<Located<Condition>> {
    let written = text.value.trim();
    if written.is_empty() || written.contains('\n') {
        let message =
            if written.is_empty() { "a condition is blank" } else { "a condition must be one line" };
        diagnostics.push(text.error("bad-value", message));
        return None;
    }
    match Condition::parse(written) {
        Ok(condition) if condition.is_aggregate() && owner != Owner::Parallel => {
            let message = format!("{} speaks of sub-movements, and there are none", quoted(written));
            let hint = "`all(…)` and `any(…)` are for the rules of a movement with `parallel`";
            diagnostics.push(text.error("bad-condition", message).hint(hint));
            None
        }
        Ok(condition) if condition.is_of_findings() != owner.has_findings() => {
            let (what, hint) = match owner.has_findings() {
                true => ("is not about findings, and a review agent has nothing else to say", OVER_FINDINGS),
                false => ("speaks of findings, and no review agent is asked", FOR_REVIEWERS),
            };
            diagnostics.push(text.error("bad-condition", format!("{} {what}", quoted(written))).hint(hint));
            None
        }
        Ok(condition) => Some(Located::new(condition, text.at.clone())),
        Err(error) => {
            diagnostics.push(refused(text, &error));
            None
        }
    }
}

fn refused(text: &Located<String>, error: &Error) -> Diagnostic {
    match error {
        Error::NotSupported(_) => text
            .error("not-supported", error.to_string())
            .hint("a plain text that contains it can be written as `ai(\"…\")`"),
        Error::Malformed { reason: Reason::Severity(name), .. } => {
            let known = Severity::ALL.map(Severity::name);
            let hint = did_you_mean(name, known);
            let hint = hint.unwrap_or_else(|| format!("it is {}", list_of(known, "or")));
            text.error("bad-condition", error.to_string()).hint(hint)
        }
        Error::Malformed { call, .. } => text
            .error("bad-condition", error.to_string())
            .hint(format!("write `{call}(\"text\")`, with `\\\"` for a quote inside")),
    }
}
