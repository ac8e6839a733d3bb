//! Findings that speak of the same thing become one.

use std::collections::BTreeSet;

use super::similar::Gist;
use super::{Finding, Member};

/// Groups of members that speak of the same thing. What is like the first member of a group joins it, and the first
/// members of two groups are never alike. Members come in the order of file, line and agent, whatever order they
/// were given in.
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

/// File, line, agent, and then everything else, so that no order is left to chance.
fn key(member: &Member) -> (Option<&str>, Option<u32>, &str, &Finding) {
    let finding = &member.finding;
    (finding.file.as_deref(), finding.start_line, &finding.agent, finding)
}

/// A group with the worst of its members in front: it stands for all of them. Of several that are as bad, the first.
pub(super) fn worst_first(mut group: Vec<Member>) -> Vec<Member> {
    let worst = (0..group.len()).min_by_key(|index| group[*index].finding.severity);
    group[..=worst.unwrap_or_default()].rotate_right(1);
    group
}

/// What is shown of a group: its first member, as certain as any of them.
pub(super) fn shown(group: &[Member]) -> Option<(Finding, usize)> {
    let findings = || group.iter().map(|member| &member.finding);
    let confidence = findings().filter_map(|finding| finding.confidence).max();
    let shown = Finding { confidence, ..findings().next()?.clone() };
    let agents: BTreeSet<&str> = findings().map(|finding| finding.agent.as_str()).collect();
    Some((shown, agents.len()))
}
