//! What was found before.

use std::fmt;

use saihai_model::Json;

use super::similar::Gist;
use super::{Code, Fixed, Reported, Severity, State, fingerprint};

/// What was found before, read from an earlier report.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    fingerprints: Vec<String>,
    agents: Vec<String>,
    severity: Option<Severity>,
    file: Option<String>,
    lines: Option<(u32, u32)>,
    message: String,
}

/// A file that is no earlier report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotABaseline;

impl fmt::Display for NotABaseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("neither the report of a review nor a SARIF log")
    }
}

impl std::error::Error for NotABaseline {}

/// The name under which SARIF carries a fingerprint.
const SARIF_FINGERPRINT: &str = "saihaiFinding/v1";

impl Baseline {
    /// Reads a report of ours, as JSON or as SARIF.
    pub fn read(value: &Json) -> Result<Self, NotABaseline> {
        let list = |value: &Json, name: &str| value.get(name).and_then(Json::as_array).cloned();
        let entries = if let Some(runs) = list(value, "runs") {
            let results = runs.iter().filter_map(|run| list(run, "results")).flatten();
            results.filter_map(|result| sarif_entry(&result)).collect()
        } else {
            let findings = list(value, "findings").ok_or(NotABaseline)?;
            // What is suppressed or put aside was there too: it does not become new by being heard of again.
            let aside = ["suppressed", "filtered"].into_iter().filter_map(|name| list(value, name)).flatten();
            findings.into_iter().chain(aside).filter_map(|finding| own_entry(&finding)).collect()
        };
        Ok(Self { entries })
    }

    /// Marks what is new and what was there before, and says what is no more. An entry is used once: first for the
    /// findings that share a name with it, then for those that speak of the same thing; a file that the change renamed
    /// is the same file. What nobody who knew it has `looked` for again, an agent in a file, is not known to be gone.
    pub(super) fn compare<'a>(
        &self,
        findings: impl IntoIterator<Item = &'a mut Reported>,
        code: &Code,
        looked: impl Fn(&str, Option<&str>) -> bool,
    ) -> Vec<Fixed> {
        let mut open: Vec<Option<&Entry>> = self.entries.iter().map(Some).collect();
        let mut unknown = Vec::new();
        for reported in findings {
            let before =
                reported.members.iter().filter_map(|member| fingerprint::before(code, &member.finding));
            let names: Vec<String> = reported.fingerprints().map(str::to_owned).chain(before).collect();
            let known = take(&mut open, |entry| names.iter().any(|name| entry.fingerprints.contains(name)));
            match known {
                true => reported.state = Some(State::Persisting),
                false => unknown.push(reported),
            }
        }
        for reported in unknown {
            let finding = &reported.finding;
            let gist = |file| Gist::new(file, finding.lines(), &finding.message);
            let gists =
                [Some(gist(finding.file.as_deref())), code.previous(finding).map(|file| gist(Some(file)))];
            let known =
                take(&mut open, |entry| gists.iter().flatten().any(|gist| entry.gist().is_like(gist)));
            reported.state = Some(if known { State::Persisting } else { State::New });
        }
        let gone = open.into_iter().flatten();
        gone.filter(|entry| entry.agents.iter().any(|agent| looked(agent, entry.file.as_deref())))
            .map(Entry::fixed)
            .collect()
    }

    /// The files in which something was found.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| entry.file.as_deref())
    }
}

/// Uses up the first entry for which this holds.
fn take(open: &mut [Option<&Entry>], holds: impl Fn(&Entry) -> bool) -> bool {
    let found = open.iter_mut().find(|entry| entry.is_some_and(&holds));
    found.map(|entry| *entry = None).is_some()
}

impl Entry {
    fn gist(&self) -> Gist {
        Gist::new(self.file.as_deref(), self.lines, &self.message)
    }

    fn fixed(&self) -> Fixed {
        Fixed {
            fingerprint: self.fingerprints.first().cloned().unwrap_or_default(),
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

fn own_entry(value: &Json) -> Option<Entry> {
    let mut fingerprints = texts(value.get("members"), "fingerprint");
    if fingerprints.is_empty() {
        fingerprints.push(text(value, "/fingerprint")?);
    }
    let mut agents = texts(value.get("members"), "agent");
    if agents.is_empty() {
        agents.extend(text(value, "/agent"));
    }
    let start = line(value, "/start_line");
    Some(Entry {
        fingerprints,
        agents,
        severity: text(value, "/severity").as_deref().and_then(Severity::named),
        file: text(value, "/file"),
        lines: start.map(|start| (start, line(value, "/end_line").unwrap_or(start).max(start))),
        message: text(value, "/message").unwrap_or_default(),
    })
}

/// A result of SARIF. One that says of itself that it is no more is none.
fn sarif_entry(value: &Json) -> Option<Entry> {
    if text(value, "/baselineState").as_deref() == Some("absent") {
        return None;
    }
    let mut fingerprints = texts(value.pointer("/properties/members"), "fingerprint");
    if fingerprints.is_empty() {
        let named = value.get("partialFingerprints")?.get(SARIF_FINGERPRINT)?;
        fingerprints.push(named.as_str()?.to_owned());
    }
    let mut agents = texts(value.pointer("/properties/members"), "agent");
    if agents.is_empty() {
        agents.extend(text(value, "/ruleId"));
    }
    let place = value.pointer("/locations/0/physicalLocation").unwrap_or(&Json::Null);
    let start = line(place, "/region/startLine");
    Some(Entry {
        fingerprints,
        agents,
        severity: text(value, "/properties/severity").as_deref().and_then(Severity::named),
        file: text(place, "/artifactLocation/uri").map(|uri| decoded(&uri)),
        lines: start.map(|start| (start, line(place, "/region/endLine").unwrap_or(start).max(start))),
        message: text(value, "/properties/message").or(text(value, "/message/text")).unwrap_or_default(),
    })
}

/// The path a URI stands for.
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
