//! Findings of an earlier report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use saihai_model::{Json, Severity};

use crate::assemble::{FindingGist, previous_fingerprint};
use crate::code::ReviewedCode;
use crate::report::{BaselineState, FindingMember, FixedFinding, ReportedFinding};

/// Findings of an earlier report.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    entries: Vec<BaselineEntry>,
}

/// An earlier finding: one, or several merged into one.
#[derive(Debug, Clone)]
struct BaselineEntry {
    members: Vec<BaselineMember>,
    agents: Vec<String>,
    severity: Option<Severity>,
    file: Option<String>,
    lines: Option<(u32, u32)>,
    message: String,
}

/// Error: the file is not an earlier report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaselineError;

impl fmt::Display for BaselineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("neither the report of a review nor a SARIF log")
    }
}

impl std::error::Error for BaselineError {}

/// Name of the fingerprint in SARIF.
const SARIF_FINGERPRINT: &str = "saihaiFinding/v1";

impl Baseline {
    /// Reads one of our reports, as JSON or SARIF.
    pub fn read(value: &Json) -> Result<Self, BaselineError> {
        let list = |value: &Json, name: &str| value.get(name).and_then(Json::as_array).cloned();
        let entries = if let Some(runs) = list(value, "runs") {
            let results = runs.iter().filter_map(|run| list(run, "results")).flatten();
            results.filter_map(|result| sarif_entry(&result)).collect()
        } else {
            // Suppressed and filtered findings never counted. They count as new once nothing holds them back.
            let findings = list(value, "findings").ok_or(BaselineError)?;
            findings.iter().filter_map(own_entry).collect()
        };
        Ok(Self { entries })
    }

    /// Marks new and existing findings, and returns the fixed ones. A finding is existing if all its worst members were
    /// in the baseline. Findings put `aside` match an entry only if no counted finding does. An entry is fixed only if
    /// its agent `looked` at its file again.
    pub(super) fn compare(
        &self,
        findings: Vec<&mut ReportedFinding>,
        aside: Vec<&mut ReportedFinding>,
        code: &ReviewedCode,
        looked: impl Fn(&str, Option<&str>) -> bool,
    ) -> Vec<FixedFinding> {
        let known: Vec<&[BaselineMember]> =
            self.entries.iter().map(|entry| entry.members.as_slice()).collect();
        let heard = findings.len();
        let mut all: Vec<&mut ReportedFinding> = findings.into_iter().chain(aside).collect();
        let matched = BaselineMatching::of(&known, &all, heard, code);
        for (index, reported) in all.iter_mut().enumerate() {
            let worst = reported.members.iter().enumerate().filter(|(_, one)| reported.is_worst(one));
            let was_there = worst.map(|(member, _)| (index, member)).all(|one| matched.knows(one));
            reported.state = Some(if was_there { BaselineState::Persisting } else { BaselineState::New });
        }
        let gone = self.entries.iter().enumerate().filter(|(index, _)| !matched.has_used(*index));
        gone.map(|(_, entry)| entry)
            .filter(|entry| entry.agents.iter().any(|agent| looked(agent, entry.file.as_deref())))
            .map(BaselineEntry::fixed)
            .collect()
    }

    /// Returns the files with findings.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| entry.file.as_deref())
    }
}

impl BaselineEntry {
    /// Adds its members, or itself as the only member under this name. An entry without a name is not ours.
    fn with(mut self, members: Option<&Json>, named: Option<String>) -> Option<Self> {
        let members = members.and_then(Json::as_array).into_iter().flatten();
        self.members = members.filter_map(|member| self.member(member)).collect();
        if self.members.is_empty() {
            self.members.push(self.known(named?, self.severity, self.lines, &self.message));
        }
        Some(self)
    }

    /// Reads a member. Missing values default to those of the whole.
    fn member(&self, value: &Json) -> Option<BaselineMember> {
        let severity = text(value, "/severity").as_deref().and_then(Severity::named).or(self.severity);
        let message = text(value, "/message").unwrap_or_else(|| self.message.clone());
        let start = line(value, "/start_line");
        let own = start.map(|start| (start, line(value, "/end_line").unwrap_or(start).max(start)));
        let placed = || lines_of(&text(value, "/place")?, self.file.as_deref()?);
        let lines = own.or_else(placed).or(self.lines);
        Some(self.known(text(value, "/fingerprint")?, severity, lines, &message))
    }

    fn known(
        &self,
        fingerprint: String,
        severity: Option<Severity>,
        lines: Option<(u32, u32)>,
        message: &str,
    ) -> BaselineMember {
        BaselineMember {
            fingerprint,
            severity,
            message: message.to_owned(),
            gist: FindingGist::new(self.file.as_deref(), lines, message),
        }
    }

    fn fixed(&self) -> FixedFinding {
        FixedFinding {
            fingerprint: self.members.first().map(|one| one.fingerprint.clone()).unwrap_or_default(),
            agents: self.agents.clone(),
            severity: self.severity,
            file: self.file.clone(),
            start_line: self.lines.map(|(start, _)| start),
            end_line: self.lines.map(|(_, end)| end),
            message: self.message.clone(),
        }
    }
}

fn text(value: &Json, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Json::as_str).map(str::to_owned)
}

fn line(value: &Json, pointer: &str) -> Option<u32> {
    value.pointer(pointer).and_then(Json::as_u64).and_then(|line| u32::try_from(line).ok())
}

/// Parses the lines of `FILE:START-END` or `FILE:LINE`.
fn lines_of(place: &str, file: &str) -> Option<(u32, u32)> {
    let lines = place.strip_prefix(file)?.strip_prefix(':')?;
    let (start, end) = lines.split_once('-').unwrap_or((lines, lines));
    Some((start.parse().ok()?, end.parse().ok()?))
}

fn texts(list: Option<&Json>, name: &str) -> Vec<String> {
    let items = list.and_then(Json::as_array).into_iter().flatten();
    let mut texts: Vec<String> = Vec::new();
    for item in items.filter_map(|item| item.get(name)?.as_str()) {
        if !texts.iter().any(|known| known == item) {
            texts.push(item.to_owned());
        }
    }
    texts
}

fn own_entry(value: &Json) -> Option<BaselineEntry> {
    let mut agents = texts(value.get("members"), "agent");
    if agents.is_empty() {
        agents.extend(text(value, "/agent"));
    }
    let start = line(value, "/start_line");
    let entry = BaselineEntry {
        members: Vec::new(),
        agents,
        severity: text(value, "/severity").as_deref().and_then(Severity::named),
        file: text(value, "/file"),
        lines: start.map(|start| (start, line(value, "/end_line").unwrap_or(start).max(start))),
        message: text(value, "/message").unwrap_or_default(),
    };
    entry.with(value.get("members"), text(value, "/fingerprint"))
}

/// Reads a SARIF result. Ignores one marked as absent, and a suppressed one.
fn sarif_entry(value: &Json) -> Option<BaselineEntry> {
    let is_suppressed = value.get("suppressions").and_then(Json::as_array).is_some_and(|all| !all.is_empty());
    if is_suppressed || text(value, "/baselineState").as_deref() == Some("absent") {
        return None;
    }
    let members = value.pointer("/properties/members");
    let mut agents = texts(members, "agent");
    if agents.is_empty() {
        agents.extend(text(value, "/ruleId"));
    }
    // A placeholder file for an unknown place does not count.
    let is_known = value.pointer("/properties/placeIsKnown").and_then(Json::as_bool).unwrap_or(true);
    let place = value.pointer("/locations/0/physicalLocation").filter(|_| is_known).unwrap_or(&Json::Null);
    let start = line(place, "/region/startLine");
    let entry = BaselineEntry {
        members: Vec::new(),
        agents,
        severity: text(value, "/properties/severity").as_deref().and_then(Severity::named),
        file: text(place, "/artifactLocation/uri").map(|uri| decoded(&uri)),
        lines: start.map(|start| (start, line(place, "/region/endLine").unwrap_or(start).max(start))),
        message: text(value, "/properties/message").or(text(value, "/message/text")).unwrap_or_default(),
    };
    let named = value.get("partialFingerprints").and_then(|names| names.get(SARIF_FINGERPRINT));
    entry.with(members, named.and_then(Json::as_str).map(str::to_owned))
}

/// Decodes a URI into a path.
fn decoded(uri: &str) -> String {
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let hex =
            behind.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[derive(Debug, Clone)]
pub(super) struct BaselineMember {
    pub(super) fingerprint: String,
    pub(super) severity: Option<Severity>,
    pub(super) message: String,
    pub(super) gist: FindingGist,
}

/// A member of a current finding: index of the finding, index of the member.
type Now = (usize, usize);
/// A member of an earlier entry.
type Then = (usize, usize);

/// Current members that existed before. One current finding uses an earlier member, for every member of its own that
/// fits: they describe the same problem.
#[derive(Debug, Default)]
pub(super) struct BaselineMatching {
    known: BTreeSet<Now>,
    /// Current finding that uses each earlier member.
    used: BTreeMap<Then, usize>,
}

/// Certainty of a match, highest first. A fingerprint covers code and no words, so two findings on one line share it.
/// Then the words tell them apart.
#[derive(Debug, Clone, Copy)]
enum MatchCertainty {
    /// The same name, words and severity.
    Same,
    /// The same name and similar words. An agent may rate the same problem in the same code worse today.
    LikeWords,
    /// The same name, and not worse than before.
    Name,
    /// Similar words about nearly the same lines, and not worse: from another agent, or the code has changed.
    LikePlace,
}

impl BaselineMatching {
    /// Matches findings with earlier entries, each with its members. The first `heard` findings take precedence. Within
    /// both parts, certain matches come first, then the worst findings. A renamed file is the same file.
    pub(super) fn of(
        entries: &[&[BaselineMember]],
        findings: &[&mut ReportedFinding],
        heard: usize,
        code: &ReviewedCode,
    ) -> Self {
        let mut all = Self::default();
        let today: Vec<(Now, CurrentMember<'_>)> = findings
            .iter()
            .enumerate()
            .flat_map(|(index, reported)| {
                let members = reported.members.iter().enumerate();
                members.map(move |(member, one)| ((index, member), CurrentMember::new(one, code)))
            })
            .collect();
        let first_aside = today.partition_point(|((index, _), _)| *index < heard);
        let (heard_of, aside) = today.split_at(first_aside);
        for part in [heard_of, aside] {
            for sureness in [
                MatchCertainty::Same,
                MatchCertainty::LikeWords,
                MatchCertainty::Name,
                MatchCertainty::LikePlace,
            ] {
                for (now, member) in part {
                    if !all.known.contains(now) {
                        all.take(*now, entries, |known| member.is(known, sureness));
                    }
                }
            }
        }
        all
    }

    /// Returns true if this member existed before.
    pub(super) fn knows(&self, now: Now) -> bool {
        self.known.contains(&now)
    }

    /// Returns true if part of this entry still exists.
    pub(super) fn has_used(&self, entry: usize) -> bool {
        self.used.keys().any(|(used, _)| *used == entry)
    }

    fn take(&mut self, now: Now, entries: &[&[BaselineMember]], fits: impl Fn(&BaselineMember) -> bool) {
        for (entry, members) in entries.iter().enumerate() {
            for (member, known) in members.iter().enumerate() {
                let is_free = self.used.get(&(entry, member)).is_none_or(|user| *user == now.0);
                if is_free && fits(known) {
                    self.used.insert((entry, member), now.0);
                    self.known.insert(now);
                    return;
                }
            }
        }
    }
}

/// A current member with its comparison keys.
struct CurrentMember<'a> {
    member: &'a FindingMember,
    /// Fingerprint before the change renamed its file.
    previously: Option<String>,
    gists: Vec<FindingGist>,
}

impl<'a> CurrentMember<'a> {
    fn new(member: &'a FindingMember, code: &ReviewedCode) -> Self {
        let finding = &member.finding;
        let gist = |file| FindingGist::new(file, finding.lines(), &finding.message);
        let previous = code.previous(finding).map(|file| gist(Some(file)));
        Self {
            member,
            previously: previous_fingerprint(code, finding),
            gists: std::iter::once(gist(finding.file.as_deref())).chain(previous).collect(),
        }
    }

    fn is(&self, known: &BaselineMember, sureness: MatchCertainty) -> bool {
        let finding = &self.member.finding;
        let is_named = known.fingerprint == self.member.fingerprint
            || self.previously.as_ref().is_some_and(|name| *name == known.fingerprint);
        let is_no_worse = known.severity.is_none_or(|severity| finding.severity >= severity);
        match sureness {
            MatchCertainty::Same => {
                is_named && known.message == finding.message && known.severity == Some(finding.severity)
            }
            MatchCertainty::LikeWords => {
                is_named && self.gists.iter().any(|gist| gist.says_like(&known.gist))
            }
            MatchCertainty::Name => is_named && is_no_worse,
            MatchCertainty::LikePlace => {
                is_no_worse && self.gists.iter().any(|gist| known.gist.is_like(gist))
            }
        }
    }
}
