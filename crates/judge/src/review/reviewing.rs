//! Folds results into one report.

use std::collections::{BTreeMap, BTreeSet};

use saihai_model::Millis;

use super::outcome::{Decisive, Stopped};
use super::suppression::{Agents, Heeded, Suppressions};
use super::{
    AgentResult, Anchor, Baseline, Code, Considered, Day, Excerpt, FailScope, Finding, Fixed, Ignore,
    LoadError, Member, Mode, NotReviewed, Notice, Outcome, Policy, Report, Reported, State, Status, Summary,
    Suppressed, dedupe, fingerprint,
};

/// All inputs of a report.
#[derive(Debug, Clone)]
pub struct Review {
    pub run: String,
    pub mode: Mode,
    pub base: Option<String>,
    pub head: Option<String>,
    /// All considered agents, in work order.
    pub selection: Vec<Considered>,
    pub load_errors: Vec<LoadError>,
    /// Results of the agents, in any order.
    pub results: Vec<AgentResult>,
    /// Files that current or earlier findings refer to.
    pub code: Code,
    /// Files that an agent saw, if not all reviewed ones.
    pub shown: BTreeMap<String, BTreeSet<String>>,
    pub baseline: Option<Baseline>,
    /// Entries of the project's ignore list.
    pub ignores: Vec<Ignore>,
    pub not_reviewed: Vec<NotReviewed>,
    pub warnings: Vec<String>,
    pub policy: Policy,
    /// Current day, for entries that expire.
    pub today: Day,
    pub wall: Millis,
    /// Reason why it stopped early, if it did.
    pub stopped: Option<Stopped>,
}

impl Review {
    /// Verifies places, merges similar findings, compares with the baseline, applies suppressions, and counts the rest.
    pub fn report(mut self) -> Report {
        self.sort();
        let found = self.found();
        let mut rules = Suppressions::new(&self.code, &self.ignores, self.today, self.heeded());
        rules.assign(&found, &self.code);
        let (mut findings, mut suppressed, mut filtered) = (Vec::new(), Vec::new(), Vec::new());
        for (index, reported) in found.into_iter().enumerate() {
            let confidence = reported.finding.confidence;
            if let Some(aside) = rules.apply(index, &reported) {
                suppressed.push(aside);
            } else if confidence.is_some_and(|percent| percent < self.policy.min_confidence) {
                filtered.push(reported);
            } else {
                findings.push(reported);
            }
        }
        let warning = rules.warning();
        let notices = rules.notices(&self.code, &self.agents());
        self.warnings.extend(warning);
        let mut parts = Parts { findings, suppressed, filtered, fixed: Vec::new(), notices };
        self.compare(&mut parts);
        for reported in &mut parts.findings {
            reported.counts = self.counts(reported);
        }
        self.conclude(parts)
    }

    /// Marks existing findings and collects fixed ones. Suppressed and filtered findings match last, so that they take
    /// no baseline entry from a displayed finding.
    fn compare(&self, parts: &mut Parts) {
        let Some(baseline) = &self.baseline else { return };
        let looked = |agent: &str, file: Option<&str>| self.has_looked(agent, file);
        let aside = parts.suppressed.iter_mut().map(|one| &mut one.reported).chain(&mut parts.filtered);
        parts.fixed =
            baseline.compare(parts.findings.iter_mut().collect(), aside.collect(), &self.code, looked);
    }

    fn conclude(self, parts: Parts) -> Report {
        let policy = &self.policy;
        let fails = |one: &&Reported| one.counts && policy.fail_on.takes(one.finding.severity);
        let failing = parts.findings.iter().filter(fails).count();
        let decisive = Decisive {
            stopped: self.stopped,
            failing,
            results: &self.results,
            not_reviewed: &self.not_reviewed,
        };
        let outcome = Outcome::of(policy, decisive);
        let summary = Summary::new(&parts.findings, &self.results, failing, self.wall);
        Report {
            version: 1,
            run: self.run,
            mode: self.mode,
            base: self.base,
            head: self.head,
            outcome,
            warnings: self.warnings,
            selection: self.selection,
            load_errors: self.load_errors,
            assessments: self.results.iter().flat_map(|result| result.assessments.clone()).collect(),
            results: self.results,
            findings: parts.findings,
            suppressed: parts.suppressed,
            filtered: parts.filtered,
            fixed: parts.fixed,
            not_reviewed: self.not_reviewed,
            notices: parts.notices,
            summary,
        }
    }

    /// Sorts results in work order, because the order of replies is random.
    fn sort(&mut self) {
        let order: Vec<&str> = self.selection.iter().map(|one| one.agent.as_str()).collect();
        let place = |agent: &str| order.iter().position(|one| *one == agent).unwrap_or(order.len());
        self.results
            .sort_by(|one, other| (place(&one.agent), &one.agent).cmp(&(place(&other.agent), &other.agent)));
        self.load_errors.sort();
        self.not_reviewed.sort();
        self.not_reviewed.dedup();
    }

    fn agents(&self) -> Agents<'_> {
        let asked = self.results.iter().map(|result| result.agent.as_str());
        let considered = self.selection.iter().map(|one| one.agent.as_str());
        let delivered = self.results.iter().filter(|result| result.status.has_delivered());
        Agents {
            known: considered.chain(asked).collect(),
            delivered: delivered.map(|result| result.agent.as_str()).collect(),
        }
    }

    /// Decides which suppression comments in reviewed files apply.
    fn heeded(&self) -> Heeded {
        match (self.policy.distrusts_change, self.mode) {
            (false, _) => Heeded::All,
            (true, Mode::Diff | Mode::Pr) => Heeded::Unchanged,
            (true, Mode::Files) => Heeded::None,
        }
    }

    /// Returns true if an agent would have found its earlier finding in this file again. It must have given a whole
    /// answer, and have seen the file, or the file is gone. A finding without a file is searched everywhere.
    fn has_looked(&self, agent: &str, file: Option<&str>) -> bool {
        let mut own = self.results.iter().filter(|result| result.agent == agent);
        if !own.any(|result| result.status == Status::Success) {
            return false;
        }
        let Some(file) = file else { return true };
        let Some(source) = self.code.get(file) else { return true };
        let is_shown = self.shown.get(agent).is_none_or(|files| files.contains(file));
        let is_left_out = self.not_reviewed.iter().any(|left_out| {
            left_out.file == file && left_out.agent.as_deref().is_none_or(|named| named == agent)
        });
        source.is_reviewed && is_shown && !is_left_out
    }

    /// Returns every finding, worst first, with its place verified.
    fn found(&self) -> Vec<Reported> {
        let findings = self.results.iter().flat_map(|result| &result.findings);
        let members = findings.map(|finding| self.member(finding.clone())).collect();
        let groups = dedupe::groups(members).into_iter();
        let mut found: Vec<Reported> = groups.filter_map(|group| self.reported(group)).collect();
        found.sort_by(|one, other| order(one).cmp(&order(other)));
        found
    }

    fn reported(&self, group: Vec<Member>) -> Option<Reported> {
        let members = dedupe::worst_first(group);
        let (finding, votes) = dedupe::shown(&members)?;
        let first = members.first()?;
        Some(Reported {
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
        let shown = self.shown.get(&finding.agent);
        let mut files = self.code.files().filter(|(_, source)| source.is_reviewed).map(|(path, _)| path);
        named
            .or_else(|| files.find(|path| shown.is_none_or(|shown| shown.contains(*path))).map(str::to_owned))
    }

    fn member(&self, mut finding: Finding) -> Member {
        let anchor = self.anchor(&mut finding);
        Member { fingerprint: fingerprint::fingerprint(&self.code, &finding), anchor, finding }
    }

    /// Verifies the place of a finding and returns its distance from the change. Removes a place that does not exist;
    /// the finding stays.
    fn anchor(&self, finding: &mut Finding) -> Anchor {
        let Some(named) = finding.file.clone() else {
            return if finding.claimed.is_some() { Anchor::Unverified } else { Anchor::None };
        };
        let Some((path, source)) = self.code.find(&named).and_then(|path| {
            let source = self.code.get(&path)?;
            Some((path, source))
        }) else {
            finding.unplace();
            return Anchor::Unverified;
        };
        if finding.lines().is_some_and(|(start, _)| !source.has(start)) {
            finding.unplace();
            return Anchor::Unverified;
        }
        finding.file = Some(path);
        // An agent that is off by one line at the end still means this place.
        let length = source.length().unwrap_or(u32::MAX);
        finding.end_line = finding.lines().map(|(_, end)| end.min(length));
        match (finding.lines(), &source.change) {
            // In a review of whole files there is no change to be outside of.
            _ if self.mode == Mode::Files => Anchor::File,
            _ if !source.is_reviewed => Anchor::Outside,
            (Some(lines), Some(change)) if change.adds(lines) => Anchor::Added,
            (Some(lines), Some(change)) if change.shows(lines) => Anchor::Context,
            (Some(_) | None, _) => Anchor::File,
        }
    }

    /// Returns true if a finding can fail the review, apart from its severity.
    fn counts(&self, reported: &Reported) -> bool {
        // In whole files no line is nearer than others.
        let scope = match self.mode {
            Mode::Diff | Mode::Pr => self.policy.fail_scope,
            Mode::Files => self.policy.fail_scope.max(FailScope::File),
        };
        reported.state != Some(State::Persisting) && scope.takes(reported.anchor)
    }
}

struct Parts {
    findings: Vec<Reported>,
    suppressed: Vec<Suppressed>,
    filtered: Vec<Reported>,
    fixed: Vec<Fixed>,
    notices: Vec<Notice>,
}

/// Returns the anchor of the member nearest to the change: all members describe the same problem.
fn nearest(members: &[Member]) -> Option<Anchor> {
    let near = [Anchor::Added, Anchor::Context];
    near.into_iter().find(|anchor| members.iter().any(|member| member.anchor == *anchor))
}

/// Sort key: severity, file, line, agent, and then everything else. Findings without a place come last.
fn order(reported: &Reported) -> impl Ord {
    let finding = &reported.finding;
    let place = (finding.file.is_none(), finding.file.as_deref(), finding.start_line);
    (finding.severity, place, finding.agent.as_str(), finding)
}

/// Maximum number of displayed lines of code, and their maximum length.
const LINES: u32 = 6;
const CHARACTERS: usize = 200;

fn excerpt(code: &Code, finding: &Finding) -> Option<Excerpt> {
    let (file, (start, end)) = (finding.file.as_deref()?, finding.lines()?);
    let last = end.min(start.saturating_add(LINES - 1));
    let lines: Vec<String> = code
        .lines(file, (start, last))
        .into_iter()
        .map(|line| line.chars().take(CHARACTERS).collect())
        .collect();
    (!lines.is_empty()).then_some(Excerpt { first_line: start, lines, cut: last < end })
}
