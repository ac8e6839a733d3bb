//! Provider and session of each turn. Both depend on all turns of the piece (P-17, P-18).

use std::collections::{HashMap, HashSet};

use saihai_model::{SessionKey, SessionPolicy};

use super::assignment::{Assignment, Session};
use super::movement::Movement;
use crate::lowering::{Answerer, Providers};
use crate::{Diagnostics, SessionDefault, Settings, quoted};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub(super) answerer: Answerer,
    pub(super) session: SessionPolicy,
}

/// A turn without its session policy.
struct Draft<'a> {
    movement: &'a Movement,
    assignment: &'a Assignment,
    answerer: Answerer,
    continues: bool,
    key: SessionKey,
}

/// Plans every turn, by movement and turn.
pub(super) fn plan(
    movements: &[Movement],
    settings: &Settings,
    providers: &mut Providers<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Vec<Plan>> {
    let mut drafts: Vec<Vec<Draft<'_>>> = Vec::new();
    for movement in movements {
        let turns = movement.assignments().into_iter();
        drafts.push(turns.map(|(turn, work)| draft(turn, work, settings, providers, diagnostics)).collect());
    }
    let continued: HashSet<&SessionKey> =
        drafts.iter().flatten().filter(|draft| draft.continues).map(|draft| &draft.key).collect();
    let plans = drafts.iter().map(|siblings| {
        refuse_conflicts(siblings, diagnostics);
        let mut shared: HashMap<&SessionKey, usize> = HashMap::new();
        for turn in siblings {
            *shared.entry(&turn.key).or_default() += 1;
        }
        // If several siblings start a session with one key, none of them counts as the last.
        let kept = |turn: &Draft<'_>| shared[&turn.key] == 1 && continued.contains(&turn.key);
        siblings.iter().map(|turn| settle(turn, kept(turn), diagnostics)).collect()
    });
    plans.collect()
}

fn draft<'a>(
    movement: &'a Movement,
    assignment: &'a Assignment,
    settings: &Settings,
    providers: &mut Providers<'_>,
    diagnostics: &mut Diagnostics,
) -> Draft<'a> {
    let name = &movement.name;
    let (provider, model) = (assignment.provider.as_ref(), assignment.model.as_deref());
    let answerer = providers.resolve(&name.value, &name.at, provider, model, diagnostics);
    let own = assignment.session_key.as_ref().map(|key| &key.value);
    let key = own.or(assignment.agent.as_ref()).unwrap_or(&name.value);
    Draft {
        movement,
        assignment,
        continues: match assignment.session {
            // A review agent must see everything fresh.
            _ if assignment.reviewer.is_some() => false,
            Some(session) => session == Session::Continue,
            None => settings.default_session == SessionDefault::Continue,
        },
        // Only the provider that started a session can continue it.
        key: SessionKey(format!("{}:{key}", answerer.provider)),
        answerer,
    }
}

fn settle(turn: &Draft<'_>, kept: bool, diagnostics: &mut Diagnostics) -> Plan {
    let session = if turn.continues {
        SessionPolicy::Continue(turn.key.clone())
    } else if kept {
        SessionPolicy::Renew(turn.key.clone())
    } else {
        SessionPolicy::Fresh
    };
    if let (SessionPolicy::Fresh, Some(key)) = (&session, &turn.assignment.session_key) {
        let message = format!("the session key {} has no effect: nothing continues it", quoted(&key.value));
        diagnostics.push(key.warning("no-effect", message).hint("add `session: continue`"));
    }
    Plan { answerer: turn.answerer.clone(), session }
}

/// Turns that run at the same time cannot continue the same session.
fn refuse_conflicts(siblings: &[Draft<'_>], diagnostics: &mut Diagnostics) {
    let mut seen: HashMap<&SessionKey, &Movement> = HashMap::new();
    for turn in siblings.iter().filter(|turn| turn.continues) {
        let Some(first) = seen.insert(&turn.key, turn.movement) else { continue };
        let (one, other) = (quoted(&first.name.value), quoted(&turn.movement.name.value));
        let message = format!("{one} and {other} would continue one session at the same time");
        let diagnostic = turn.movement.name.error("session-conflict", message);
        let diagnostic = diagnostic.hint("give each its own `session_key`, or use `session: refresh`");
        diagnostics.push(diagnostic.also(&first.name.at, "continues the same session"));
    }
}
