//! Folds results into one report.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use saihai_judge::Finding;
use saihai_model::Millis;

use crate::baseline::Baseline;
use crate::code::ReviewedCode;
use crate::plan::{ConsideredAgent, ReviewPlan};
use crate::report::{
    AgentResult, AgentStatus, BaselineState, CodeExcerpt, Decisive, FindingAnchor, FindingMember,
    FixedFinding, ReportSummary, ReportedFinding, ReviewMode, ReviewOutcome, ReviewReport, ReviewStop,
    SuppressedFinding,
};
use crate::suppression::{HeededComments, ReviewingAgents, SuppressionNotice, Suppressions};
use jiff::civil::Date;
use saihai_config::review::FailScope;

/// All inputs of a report.
#[derive(Debug, Clone)]
pub(crate) struct ReportInputs {
    pub run: String,
    pub mode: ReviewMode,
    pub base: Option<String>,
    pub head: Option<String>,
    /// Decisions before the review, with gaps and warnings that came later.
    pub plan: ReviewPlan,
    /// Results of the agents, in any order.
    pub results: Vec<AgentResult>,
    /// Files that current or earlier findings refer to.
    pub code: ReviewedCode,
    pub baseline: Option<Baseline>,
    /// Current day, for entries that expire.
    pub today: Date,
    pub wall: Millis,
    /// Reason why it stopped early, if it did.
    pub stopped: Option<ReviewStop>,
}

impl ReportInputs {
    /// Verifies places, merges similar findings, compares with the baseline, applies suppressions, and counts the rest.
    pub(crate) fn report(mut self) -> ReviewReport {
        self.sort();
        let found = self.found();
        let mut rules = Suppressions::new(&self.code, &self.plan.ignores, self.today, self.heeded());
        rules.assign(&found, &self.code);
        let (mut findings, mut suppressed, mut filtered) = (Vec::new(), Vec::new(), Vec::new());
        for (index, reported) in found.into_iter().enumerate() {
            let confidence = reported.finding.confidence;
            if let Some(aside) = rules.apply(index, &reported) {
                suppressed.push(aside);
            } else if confidence.is_some_and(|percent| percent < self.plan.min_confidence) {
                filtered.push(reported);
            } else {
                findings.push(reported);
            }
        }
        let warning = rules.warning();
        let notices = rules.notices(&self.code, &self.agents());
        self.plan.warnings.extend(warning);
        let mut parts = SortedFindings { findings, suppressed, filtered, fixed: Vec::new(), notices };
        self.compare(&mut parts);
        for reported in &mut parts.findings {
            reported.counts = self.counts(reported);
        }
        self.conclude(parts)
    }

    /// Marks existing findings and collects fixed ones. Suppressed and filtered findings match last, so that they take
    /// no baseline entry from a displayed finding.
    fn compare(&self, parts: &mut SortedFindings) {
        let Some(baseline) = &self.baseline else { return };
        let looked = |agent: &str, file: Option<&str>| self.has_looked(agent, file);
        let aside = parts.suppressed.iter_mut().map(|one| &mut one.reported).chain(&mut parts.filtered);
        parts.fixed =
            baseline.compare(parts.findings.iter_mut().collect(), aside.collect(), &self.code, looked);
    }

    fn conclude(self, parts: SortedFindings) -> ReviewReport {
        let plan = &self.plan;
        let fails = |one: &&ReportedFinding| {
            one.counts && plan.fail_on.severity().is_some_and(|least| one.finding.severity <= least)
        };
        let failing = parts.findings.iter().filter(fails).count();
        let decisive = Decisive {
            stopped: self.stopped,
            failing,
            results: &self.results,
            not_reviewed: &self.plan.left_out,
        };
        let outcome = ReviewOutcome::of(plan, decisive);
        let summary = ReportSummary::new(&parts.findings, &self.results, failing, self.wall);
        ReviewReport {
            version: 1,
            run: self.run,
            mode: self.mode,
            base: self.base,
            head: self.head,
            outcome,
            warnings: self.plan.warnings,
            // The files of each turn belong to the plan alone.
            selection: (self.plan.selection.into_iter())
                .map(|agent| ConsideredAgent { shown: Vec::new(), ..agent })
                .collect(),
            load_errors: self.plan.load_errors,
            assessments: self.results.iter().flat_map(|result| result.assessments.clone()).collect(),
            results: self.results,
            findings: parts.findings,
            suppressed: parts.suppressed,
            filtered: parts.filtered,
            fixed: parts.fixed,
            not_reviewed: self.plan.left_out,
            notices: parts.notices,
            summary,
        }
    }

    /// Sorts results in work order, because the order of replies is random.
    fn sort(&mut self) {
        let order: Vec<&str> = self.plan.selection.iter().map(|one| one.agent.as_str()).collect();
        let place = |agent: &str| order.iter().position(|one| *one == agent).unwrap_or(order.len());
        self.results
            .sort_by(|one, other| (place(&one.agent), &one.agent).cmp(&(place(&other.agent), &other.agent)));
        self.plan.load_errors.sort();
        self.plan.left_out.sort();
        self.plan.left_out.dedup();
    }

    fn agents(&self) -> ReviewingAgents<'_> {
        let asked = self.results.iter().map(|result| result.agent.as_str());
        let considered = self.plan.selection.iter().map(|one| one.agent.as_str());
        let delivered = self.results.iter().filter(|result| result.status.has_delivered());
        ReviewingAgents {
            known: considered.chain(asked).collect(),
            delivered: delivered.map(|result| result.agent.as_str()).collect(),
        }
    }

    /// Decides which suppression comments in reviewed files apply.
    fn heeded(&self) -> HeededComments {
        match (self.plan.distrusts_change, self.mode) {
            (false, _) => HeededComments::All,
            (true, ReviewMode::Diff | ReviewMode::Pr) => HeededComments::Unchanged,
            (true, ReviewMode::Files) => HeededComments::None,
        }
    }

    /// Returns true if an agent would have found its earlier finding in this file again. It must have given a whole
    /// answer, and have seen the file, or the file is gone. A finding without a file is searched everywhere.
    fn has_looked(&self, agent: &str, file: Option<&str>) -> bool {
        let mut own = self.results.iter().filter(|result| result.agent == agent);
        if !own.any(|result| result.status == AgentStatus::Success) {
            return false;
        }
        let Some(file) = file else { return true };
        let Some(source) = self.code.get(file) else { return true };
        let is_shown = self.shown(agent).is_none_or(|files| files.contains(&file));
        let is_left_out = self.plan.left_out.iter().any(|left_out| {
            left_out.file == file && left_out.agent.as_deref().is_none_or(|named| named == agent)
        });
        source.is_reviewed && is_shown && !is_left_out
    }

    /// Returns every finding, worst first, with its place verified.
    fn found(&self) -> Vec<ReportedFinding> {
        let findings = self.results.iter().flat_map(|result| &result.findings);
        let members = findings.map(|finding| self.member(finding.clone())).collect();
        let groups = groups(members).into_iter();
        let mut found: Vec<ReportedFinding> = groups.filter_map(|group| self.reported(group)).collect();
        found.sort_by(|one, other| order(one).cmp(&order(other)));
        found
    }

    fn reported(&self, group: Vec<FindingMember>) -> Option<ReportedFinding> {
        let members = worst_first(group);
        let (finding, votes) = shown(&members)?;
        let first = members.first()?;
        Some(ReportedFinding {
            fingerprint: first.fingerprint.clone(),
            anchor: nearest(&members).unwrap_or(first.anchor),
            votes,
            state: None,
            counts: false,
            excerpt: excerpt(&self.code, &finding),
            perhaps: self.perhaps(&finding),
            finding,
            members,
        })
    }

    /// Returns a file that a finding without a place may be about. This is the named file if it was reviewed, else the
    /// first file that its agent saw.
    fn perhaps(&self, finding: &Finding) -> Option<String> {
        if finding.file.is_some() {
            return None;
        }
        let is_reviewed = |path: &str| self.code.get(path).is_some_and(|source| source.is_reviewed);
        let claimed = finding.claimed.as_deref();
        let parts =
            claimed.into_iter().flat_map(|place| [Some(place), place.rsplit_once(':').map(|(file, _)| file)]);
        let named = parts.flatten().find_map(|file| self.code.find(file)).filter(|path| is_reviewed(path));
        let shown = self.shown(&finding.agent);
        let mut files = self.code.files().filter(|(_, source)| source.is_reviewed).map(|(path, _)| path);
        named.or_else(|| {
            files.find(|path| shown.as_ref().is_none_or(|shown| shown.contains(path))).map(str::to_owned)
        })
    }

    /// Returns the files that an agent saw, if not all reviewed ones.
    fn shown(&self, agent: &str) -> Option<BTreeSet<&str>> {
        let planned = self.plan.selection.iter().find(|one| one.agent == agent && !one.shown.is_empty())?;
        Some(planned.shown.iter().flatten().map(String::as_str).collect())
    }

    fn member(&self, mut finding: Finding) -> FindingMember {
        let anchor = self.anchor(&mut finding);
        FindingMember { fingerprint: fingerprint(&self.code, &finding), anchor, finding }
    }

    /// Verifies a finding's place, removes a wrong one, and returns its distance from the change.
    fn anchor(&self, finding: &mut Finding) -> FindingAnchor {
        let Some(named) = finding.file.clone() else {
            return if finding.claimed.is_some() { FindingAnchor::Unverified } else { FindingAnchor::None };
        };
        let Some((path, source)) = self.code.find(&named).and_then(|path| {
            let source = self.code.get(&path)?;
            Some((path, source))
        }) else {
            finding.unplace();
            return FindingAnchor::Unverified;
        };
        if finding.lines().is_some_and(|(start, _)| !source.has(start)) {
            finding.unplace();
            return FindingAnchor::Unverified;
        }
        finding.file = Some(path);
        // An agent that is off by one line at the end still means this place.
        let length = source.length().unwrap_or(u32::MAX);
        finding.end_line = finding.lines().map(|(_, end)| end.min(length));
        match (finding.lines(), &source.change) {
            // In a review of whole files there is no change to be outside of.
            _ if self.mode == ReviewMode::Files => FindingAnchor::File,
            _ if !source.is_reviewed => FindingAnchor::Outside,
            (Some(lines), Some(change)) if change.adds(lines) => FindingAnchor::Added,
            (Some(lines), Some(change)) if change.shows(lines) => FindingAnchor::Context,
            (Some(_) | None, _) => FindingAnchor::File,
        }
    }

    /// Returns true if a finding can fail the review, apart from its severity.
    fn counts(&self, reported: &ReportedFinding) -> bool {
        // In whole files no line is nearer than others.
        let scope = match self.mode {
            ReviewMode::Diff | ReviewMode::Pr => self.plan.fail_scope,
            ReviewMode::Files => self.plan.fail_scope.max(FailScope::File),
        };
        reported.state != Some(BaselineState::Persisting) && is_near_enough(reported.anchor, scope)
    }
}

struct SortedFindings {
    findings: Vec<ReportedFinding>,
    suppressed: Vec<SuppressedFinding>,
    filtered: Vec<ReportedFinding>,
    fixed: Vec<FixedFinding>,
    notices: Vec<SuppressionNotice>,
}

/// Returns true if a finding with this anchor is near enough. A finding with an unknown place always is.
fn is_near_enough(anchor: FindingAnchor, scope: FailScope) -> bool {
    let needed = match anchor {
        FindingAnchor::None | FindingAnchor::Unverified => return true,
        FindingAnchor::Added => FailScope::Added,
        FindingAnchor::Context => FailScope::Context,
        FindingAnchor::File => FailScope::File,
        FindingAnchor::Outside => FailScope::All,
    };
    needed <= scope
}

/// Returns the anchor of the member nearest to the change: all members describe the same problem.
fn nearest(members: &[FindingMember]) -> Option<FindingAnchor> {
    let near = [FindingAnchor::Added, FindingAnchor::Context];
    near.into_iter().find(|anchor| members.iter().any(|member| member.anchor == *anchor))
}

/// Sort key: severity, file, line, agent, and then everything else. Findings without a place come last.
fn order(reported: &ReportedFinding) -> impl Ord {
    let finding = &reported.finding;
    let place = (finding.file.is_none(), finding.file.as_deref(), finding.start_line);
    (finding.severity, place, finding.agent.as_str(), finding)
}

/// Maximum number of displayed lines of code, and their maximum length.
const LINES: u32 = 6;
const CHARACTERS: usize = 200;

fn excerpt(code: &ReviewedCode, finding: &Finding) -> Option<CodeExcerpt> {
    let (file, (start, end)) = (finding.file.as_deref()?, finding.lines()?);
    let last = end.min(start.saturating_add(LINES - 1));
    let lines: Vec<String> = code
        .lines(file, (start, last))
        .into_iter()
        .map(|line| line.chars().take(CHARACTERS).collect())
        .collect();
    (!lines.is_empty()).then_some(CodeExcerpt { first_line: start, lines, cut: last < end })
}

/// Groups members about the same problem. A member joins the group whose first member is similar; the first
/// members of two groups are never similar. Members are sorted first, so that their order does not matter.
pub(super) fn groups(mut members: Vec<FindingMember>) -> Vec<Vec<FindingMember>> {
    members.sort_by(|one, other| key(one).cmp(&key(other)));
    let mut groups: Vec<(FindingGist, Vec<FindingMember>)> = Vec::new();
    for member in members {
        let finding = &member.finding;
        let gist = FindingGist::new(finding.file.as_deref(), finding.lines(), &finding.message);
        match groups.iter_mut().find(|(first, _)| first.is_like(&gist)) {
            Some((_, group)) => group.push(member),
            None => groups.push((gist, vec![member])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Sort key: file, line, agent, and then everything else, so that the order is deterministic.
fn key(member: &FindingMember) -> (Option<&str>, Option<u32>, &str, &Finding) {
    let finding = &member.finding;
    (finding.file.as_deref(), finding.start_line, &finding.agent, finding)
}

/// Moves the worst member to the front, to represent the group. Of several equally bad ones, the first.
pub(super) fn worst_first(mut group: Vec<FindingMember>) -> Vec<FindingMember> {
    let worst = (0..group.len()).min_by_key(|index| group[*index].finding.severity);
    group[..=worst.unwrap_or_default()].rotate_right(1);
    group
}

/// Returns the displayed finding of a group: its first member, with the highest confidence of all.
pub(super) fn shown(group: &[FindingMember]) -> Option<(Finding, usize)> {
    let findings = || group.iter().map(|member| &member.finding);
    let confidence = findings().filter_map(|finding| finding.confidence).max();
    let shown = Finding { confidence, ..findings().next()?.clone() };
    let agents: BTreeSet<&str> = findings().map(|finding| finding.agent.as_str()).collect();
    Some((shown, agents.len()))
}

/// Maximum distance between lines of the same place.
const NEAR: u32 = 2;

/// Comparison keys of a finding: its place, and the trigrams of its message.
#[derive(Debug, Clone)]
pub(super) struct FindingGist {
    file: Option<String>,
    lines: Option<(u32, u32)>,
    /// Sorted and without duplicates, for speed: hundreds of findings on one line are compared with each other.
    trigrams: Vec<u64>,
}

impl FindingGist {
    pub(super) fn new(file: Option<&str>, lines: Option<(u32, u32)>, message: &str) -> Self {
        Self { file: file.map(str::to_owned), lines, trigrams: trigrams(message) }
    }

    /// Returns true for the same file, overlapping or near lines, and at least a quarter of all trigrams in common.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (self.lines, other.lines) else { return false };
        let is_near = one.0 <= two.1.saturating_add(NEAR)
            && two.0 <= one.1.saturating_add(NEAR)
            && self.file == other.file;
        is_near && self.says_like(other)
    }

    /// Returns true for at least a quarter of all trigrams in common, regardless of place.
    pub(super) fn says_like(&self, other: &Self) -> bool {
        let (mut one, mut two) = (self.trigrams.as_slice(), other.trigrams.as_slice());
        let (fewer, more) = (one.len().min(two.len()), one.len().max(two.len()));
        if fewer * 4 < more {
            return false;
        }
        let mut common = 0;
        while let ([first, rest @ ..], [second, others @ ..]) = (one, two) {
            match first.cmp(second) {
                Ordering::Less => one = rest,
                Ordering::Greater => two = others,
                Ordering::Equal => {
                    common += 1;
                    (one, two) = (rest, others);
                }
            }
        }
        common * 4 >= fewer + more - common
    }
}

/// Returns the trigrams of a text, in lower case and with single blanks, each as one number.
fn trigrams(text: &str) -> Vec<u64> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let mut letters: Vec<char> = words.join(" ").chars().collect();
    // A text of one or two characters is one group.
    while letters.len() < 3 {
        letters.push(' ');
    }
    let number =
        |three: &[char]| three.iter().fold(0, |number, letter| number << 21 | u64::from(u32::from(*letter)));
    let mut trigrams: Vec<u64> = letters.windows(3).map(number).collect();
    trigrams.sort_unstable();
    trigrams.dedup();
    trigrams
}

/// Maximum number of code lines in a fingerprint.
const FINGERPRINT_LINES: u32 = 5;
const DIGITS: usize = 16;

/// Returns 16 hexadecimal digits of the agent, the file and the code. If there is code, neither line numbers nor the
/// agent's words count. The name thus survives insertions above, new indentation and new wording.
pub(super) fn fingerprint(code: &ReviewedCode, finding: &Finding) -> String {
    named(code, finding, finding.file.as_deref().unwrap_or_default())
}

/// Returns the fingerprint under the file's name before a rename.
pub(super) fn previous_fingerprint(code: &ReviewedCode, finding: &Finding) -> Option<String> {
    code.previous(finding).map(|previous| named(code, finding, previous))
}

/// Returns true if the same code also occurs elsewhere in its file, outside added lines. The earlier finding of this
/// name may then be that one.
pub(super) fn stands_elsewhere(code: &ReviewedCode, finding: &Finding) -> bool {
    let (Some(file), Some((start, end))) = (finding.file.as_deref(), located(finding)) else { return false };
    let Some(change) = code.get(file).and_then(|source| source.change.as_ref()) else { return false };
    let own = squeezed(&code.lines(file, (start, end)));
    let all = code.lines(file, (1, u32::MAX));
    let size = (end - start) as usize + 1;
    all.windows(size).zip(1..).any(|(lines, first)| {
        first != start && !change.adds((first, first.saturating_add(end - start))) && squeezed(lines) == own
    })
}

/// Returns the lines that go into the fingerprint.
fn located(finding: &Finding) -> Option<(u32, u32)> {
    finding.lines().map(|(start, end)| (start, end.min(start.saturating_add(FINGERPRINT_LINES - 1))))
}

/// Removes white space from lines.
fn squeezed(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| line.chars()).filter(|letter| !letter.is_whitespace()).collect()
}

fn named(code: &ReviewedCode, finding: &Finding, called: &str) -> String {
    let file = finding.file.as_deref().unwrap_or_default();
    let lines = located(finding).map(|lines| squeezed(&code.lines(file, lines))).unwrap_or_default();
    // Empty lines are the same everywhere, so the message identifies more.
    let what = if lines.is_empty() { words(&finding.message) } else { lines };
    let mut name = saihai_judge::sha256(&["saihai/v1", &finding.agent, called, &what].join("\n"));
    name.truncate(DIGITS);
    name
}

/// Returns a message in lower case, with all numbers made equal.
fn words(message: &str) -> String {
    let mut words = String::with_capacity(message.len());
    for letter in message.to_lowercase().chars() {
        match letter.is_numeric() {
            true if words.ends_with('#') => {}
            true => words.push('#'),
            false => words.push(letter),
        }
    }
    words
}
