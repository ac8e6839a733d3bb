//! Merges findings about the same problem.

use std::collections::BTreeSet;

use super::similar::Gist;
use super::{Finding, Member};

/// Groups members about the same problem. A member joins the group whose first member is similar; the first members of
/// two groups are never similar. Members are sorted by file, line and agent, so that their original order does not
/// matter.
pub(super) fn groups(mut members: Vec<Member>) -> Vec<Vec<Member>> {
    members.sort_by(|one, other| key(one).cmp(&key(other)));
    let mut groups: Vec<(Gist, Vec<Member>)> = Vec::new();
    for member in members {
        let finding = &member.finding;
        let gist = Gist::new(finding.file.as_deref(), finding.lines(), &finding.message);
        match groups.iter_mut().find(|(first, _)| first.is_like(&gist)) {
            Some((_, group)) => group.push(member),
            None => groups.push((gist, vec![member])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Sort key: file, line, agent, and then everything else, so that the order is deterministic.
fn key(member: &Member) -> (Option<&str>, Option<u32>, &str, &Finding) {
    let finding = &member.finding;
    (finding.file.as_deref(), finding.start_line, &finding.agent, finding)
}

/// Moves the worst member to the front, to represent the group. Of several equally bad ones, the first.
pub(super) fn worst_first(mut group: Vec<Member>) -> Vec<Member> {
    let worst = (0..group.len()).min_by_key(|index| group[*index].finding.severity);
    group[..=worst.unwrap_or_default()].rotate_right(1);
    group
}

/// Returns the displayed finding of a group: its first member, with the highest confidence of all.
pub(super) fn shown(group: &[Member]) -> Option<(Finding, usize)> {
    let findings = || group.iter().map(|member| &member.finding);
    let confidence = findings().filter_map(|finding| finding.confidence).max();
    let shown = Finding { confidence, ..findings().next()?.clone() };
    let agents: BTreeSet<&str> = findings().map(|finding| finding.agent.as_str()).collect();
    Some((shown, agents.len()))
}
