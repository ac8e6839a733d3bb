//! Whether the address of a remote is the person's own, or an agent's of an earlier call (I-37).
//!
//! Each call takes the address that it finds for the person's own and keeps it in the journals of its runs. So an address that a
//! call has once begun with was looked at then. Any other came since: from the person, or from the agent of a run.

use std::collections::BTreeMap;

use saihai_config::delivery::stage;
use saihai_model::{Decision, Entry, Fact, Json, Moment, Outcome, StageId};
use serde::Serialize;

use crate::{Error, RunDirectory, Runs};

/// What stages say of remotes: where they were when the call began …
pub(super) const REMOTES: &str = "remotes";
/// … and which were elsewhere when the work was committed.
pub(super) const MOVED: &str = "moved";

/// Remotes that are elsewhere than they were when the call began; gone is one that is nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Moved(BTreeMap<String, Option<String>>);

impl Moved {
    pub(super) fn between(own: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Self {
        let names = own.keys().chain(now.keys());
        let moved = names.filter(|name| own.get(*name) != now.get(*name));
        Self(moved.map(|name| (name.clone(), now.get(name).cloned())).collect())
    }

    /// Those alone that there were when the call began.
    pub(super) fn known_to(mut self, own: &BTreeMap<String, String>) -> Self {
        self.0.retain(|name, _| own.contains_key(name));
        self
    }

    /// As a person is told of them.
    pub(super) fn words(&self, own: &BTreeMap<String, String>) -> Vec<String> {
        let words = |(name, now): (&String, &Option<String>)| match (now, own.get(name)) {
            (Some(now), Some(was)) => format!("the remote `{name}` is now `{now}`, and was `{was}`"),
            (Some(now), None) => format!("the remote `{name}` is new: `{now}`"),
            (None, _) => format!("the remote `{name}` is gone"),
        };
        self.0.iter().map(words).collect()
    }
}

/// Why an address may not be the person's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The run that gives reason for it.
    pub run: String,
    /// Where the remote was when that began, if there was one.
    pub was: Option<String>,
    /// What is known of who set it.
    pub set: Set,
}

/// What is known of who set an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// It was set during the run, and a person can still agree to that.
    Asked,
    /// It was set during the run, and no person has agreed to that.
    Declined,
    /// Nobody was shown what changed during the run: its agent may have set it, another one, or the person.
    Unseen,
}

/// Whether the address that a remote has now may be that of an agent.
///
/// # Errors
/// The directory of runs cannot be read.
pub fn doubt(runs: &Runs, remote: &str, now: &str) -> Result<Option<Doubt>, Error> {
    let mut witnesses = Vec::new();
    for directory in runs.named("")? {
        // A run that cannot be read shows nothing, neither this nor that.
        let Ok(Some(witness)) = Witness::of(&directory, remote) else { continue };
        if witness.vouches_for(now) {
            return Ok(None);
        }
        witnesses.push(witness);
    }
    Ok(doubted(&witnesses, now))
}

/// What a run knows of a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Witness {
    run: String,
    /// When it was last told where the remote is, and where that was.
    at: Moment,
    own: Option<String>,
    /// It came to its commit.
    committed: bool,
    /// Where the remote was then, if elsewhere.
    moved: Option<String>,
    /// What a person says to that, where one is asked.
    answer: Option<Set>,
    /// They have agreed to it.
    agreed: bool,
}

impl Witness {
    fn of(directory: &RunDirectory, remote: &str) -> Result<Option<Self>, Error> {
        let mut found: Option<Self> = None;
        let run = directory.id();
        directory.read(&mut |record| match &record.entry {
            Entry::Fact(Fact::Performed { call, outcome: Outcome::Done { output, .. } }) => {
                let said = |key: &str| Some(output.get(key)?.get(remote)?.as_str()?.to_owned());
                if !output.get(REMOTES).is_some_and(Json::is_object) {
                    return;
                }
                found = Some(Self {
                    run: run.to_owned(),
                    at: record.at,
                    own: said(REMOTES),
                    committed: call.stage.as_str() == stage::FINALIZE,
                    moved: said(MOVED),
                    answer: None,
                    agreed: false,
                });
            }
            Entry::Decision(Decision::Entered { stage, .. }) if is_gate(stage) => {
                found.iter_mut().for_each(|witness| witness.answer = Some(Set::Asked));
            }
            Entry::Fact(Fact::Answered(answer)) if is_gate(&answer.call.stage) => {
                let agreed = answer.label.as_str() == "yes";
                let declined = Some(Set::Declined);
                found.iter_mut().for_each(|witness| (witness.answer, witness.agreed) = (declined, agreed));
            }
            Entry::Fact(Fact::Cancelled { .. }) => {
                let is_asked = |witness: &&mut Self| witness.answer.is_some();
                found.iter_mut().filter(is_asked).for_each(|witness| witness.answer = Some(Set::Declined));
            }
            Entry::Fact(_) | Entry::Decision(_) => {}
        })?;
        Ok(found)
    }

    /// Whether an address was the person's own once.
    fn vouches_for(&self, now: &str) -> bool {
        let is = |address: &Option<String>| address.as_deref() == Some(now);
        is(&self.own) || (is(&self.moved) && self.agreed)
    }

    fn doubt(&self, set: Set) -> Doubt {
        Doubt { run: self.run.clone(), was: self.own.clone(), set }
    }
}

/// Whether a person is asked there about what an agent changed.
fn is_gate(stage: &StageId) -> bool {
    [stage::CHANGED, stage::CHANGED_ALONE].contains(&stage.as_str())
}

/// What is to be doubted of an address that nobody vouches for.
fn doubted(witnesses: &[Witness], now: &str) -> Option<Doubt> {
    let moved = || witnesses.iter().filter(|witness| witness.moved.as_deref() == Some(now));
    if let Some((witness, set)) = moved().find_map(|witness| Some((witness, witness.answer?))) {
        return Some(witness.doubt(set));
    }
    if let Some(witness) = moved().next() {
        return Some(witness.doubt(Set::Unseen));
    }
    // What was the person's own before that was changed by themselves.
    let last = witnesses.iter().max_by_key(|witness| witness.at)?;
    let unseen = witnesses
        .iter()
        .find(|witness| !witness.committed && witness.own.is_some() && witness.own == last.own)?;
    Some(unseen.doubt(Set::Unseen))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn witness(at: u64, own: &str) -> Witness {
        let own = Some(own.to_owned()).filter(|own| !own.is_empty());
        Witness {
            run: at.to_string(),
            at: Moment(at),
            own,
            committed: true,
            moved: None,
            answer: None,
            agreed: false,
        }
    }

    fn set(witnesses: &[Witness], now: &str) -> Option<(String, Set)> {
        let doubt = doubted(witnesses, now)?;
        Some((doubt.run, doubt.set))
    }

    #[test]
    fn an_address_is_doubted_where_an_agent_set_it_or_may_have() {
        let moved = || Witness { moved: Some("evil".to_owned()), ..witness(2, "own") };
        let asked = Witness { answer: Some(Set::Asked), ..moved() };
        let declined = Witness { answer: Some(Set::Declined), ..moved() };
        let lost = Witness { committed: false, ..witness(1, "own") };
        assert_eq!(set(&[asked], "evil"), Some(("2".to_owned(), Set::Asked)));
        let beside = Witness { moved: Some("evil".to_owned()), ..witness(3, "own") };
        let both = [beside.clone(), declined.clone()];
        assert_eq!(set(&both, "evil"), Some(("2".to_owned(), Set::Declined)), "by whom it was");
        assert_eq!(set(&[beside], "evil"), Some(("3".to_owned(), Set::Unseen)));
        assert_eq!(set(&[declined], "new"), None, "somebody has set another one since");
        assert_eq!(set(&[witness(2, "own")], "new"), None);
        assert_eq!(set(&[witness(2, "own"), lost.clone()], "new"), Some(("1".to_owned(), Set::Unseen)));
        assert_eq!(set(&[witness(2, "newer"), lost], "newest"), None, "`newer` was looked at");
        let none = Witness { committed: false, ..witness(1, "") };
        assert_eq!(set(&[none], "first"), None, "there was nothing to change");
        let agreed = Witness { agreed: true, ..moved() };
        assert!(agreed.vouches_for("evil") && !moved().vouches_for("evil"));
    }

    #[test]
    fn what_moved_is_told_with_both_addresses() {
        let map = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter().map(|(name, url)| ((*name).to_owned(), (*url).to_owned())).collect()
        };
        let own = map(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let moved = Moved::between(&own, &map(&[("a", "1"), ("b", "9"), ("d", "4")]));
        let expected = [
            "the remote `b` is now `9`, and was `2`",
            "the remote `c` is gone",
            "the remote `d` is new: `4`",
        ];
        assert_eq!(moved.words(&own), expected);
        assert_eq!(moved.known_to(&own).words(&own), expected[..2]);
    }
}
