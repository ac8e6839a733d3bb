//! Findings that speak of the same thing become one.

use std::collections::BTreeSet;

use super::similar::Gist;
use super::{Finding, Member};

/// Groups of members that speak of the same thing. The first member of a group stands for it: what is like it joins it,
/// and what stands for two groups is never alike. Members come in the order of file, line and agent, whatever order they
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

/// What is shown of a group: its first member, as bad and as certain as any of them, with a suggestion if one has one.
pub(super) fn shown(group: &[Member]) -> Option<(Finding, usize)> {
    let first = &group.first()?.finding;
    let findings = || group.iter().map(|member| &member.finding);
    let shown = Finding {
        severity: findings().map(|finding| finding.severity).min().unwrap_or(first.severity),
        confidence: findings().filter_map(|finding| finding.confidence).max(),
        suggestion: findings().find_map(|finding| finding.suggestion.clone()),
        category: findings().find_map(|finding| finding.category.clone()),
        ..first.clone()
    };
    let agents: BTreeSet<&str> = findings().map(|finding| finding.agent.as_str()).collect();
    Some((shown, agents.len()))
}
