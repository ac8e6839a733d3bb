//! Selects the agents that a subject needs, with reasons. No model is asked.

use saihai_config::review::{
    Agent, Applicability, LONGEST_BACKTRACKED, LoadResult, PythonMatch, PythonRegex,
};
use saihai_config::{did_you_mean, list_of, quoted};
use saihai_model::{Subject, SubjectFile, SubjectMode};

use crate::prompt::is_empty;

/// Agents requested or excluded by flags and settings.
#[derive(Debug, Clone, Default)]
pub struct AgentFilter {
    /// Run exactly these agents, applicable or not; empty means all applicable agents.
    pub only: Vec<String>,
    pub skip: Vec<String>,
    /// Agents that the settings disable.
    pub disabled: Vec<String>,
    /// Agents that the settings enable. This matters only for agents that are off by default.
    pub enabled: Vec<String>,
}

/// Every agent with its verdict.
#[derive(Debug, Clone)]
pub struct AgentSelection<'a> {
    /// Sorted by phase, then by name.
    pub agents: Vec<AgentDecision<'a>>,
}

#[derive(Debug, Clone)]
pub struct AgentDecision<'a> {
    pub agent: &'a Agent,
    pub verdict: Result<SelectionReason, SkipReason>,
}

/// Reason to select an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectionReason {
    Asked,
    /// It applies to every change.
    Always,
    /// A pattern matches a file name.
    FileName {
        pattern: String,
        file: String,
    },
    /// A pattern matches a file path.
    Path {
        pattern: String,
        file: String,
    },
    /// A pattern matches the text of a file.
    Content {
        pattern: String,
        file: String,
        /// Line number; absent for diff headers.
        line: Option<u32>,
        /// Matching line, shortened if long.
        text: String,
    },
    /// The search for a pattern exceeded its limit, so its result is unknown.
    Limit {
        pattern: String,
        file: String,
    },
}

/// Reason not to select an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    NothingMatches,
    NoPatterns,
    /// Every file it applies to is excluded or not text.
    NothingToRead,
    /// The person named other agents only.
    NotAsked,
    /// A flag or setting skips it.
    Skipped,
    Disabled,
    /// A built-in agent that takes part only on request.
    Optional,
}

/// A name without a usable agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownAgent {
    pub name: String,
    /// True if a file exists for the name but is invalid.
    pub is_refused: bool,
    /// Closest existing name, or a list of all names.
    pub hint: String,
}

impl AgentFilter {
    /// Checks that flags and settings name existing agents. The error holds the first unknown name.
    pub fn check(&self, loaded: &LoadResult) -> Result<(), UnknownAgent> {
        let is_right = |name: &str| loaded.agents.iter().any(|agent| agent.definition.name == name);
        let names = loaded.names();
        let asked = self.only.iter().map(|name| (name, true));
        for (name, is_needed) in asked.chain(self.skip.iter().chain(&self.disabled).map(|name| (name, false)))
        {
            let is_known = names.contains(&name.as_str());
            if is_right(name) || (is_known && !is_needed) {
                continue;
            }
            let there_is = || format!("there is {}", list_of(names.iter().copied(), "and"));
            return Err(UnknownAgent {
                name: name.clone(),
                is_refused: is_known,
                hint: match is_known {
                    true => "fix its file first; see the errors above".to_owned(),
                    false => did_you_mean(name, names.iter().copied()).unwrap_or_else(there_is),
                },
            });
        }
        Ok(())
    }

    fn verdict(&self, agent: &Agent, subject: &Subject) -> Result<SelectionReason, SkipReason> {
        let has = |names: &[String]| names.contains(&agent.definition.name);
        if has(&self.skip) {
            return Err(SkipReason::Skipped);
        }
        let why = match (has(&self.only), self.only.is_empty()) {
            (true, _) => SelectionReason::Asked,
            (false, false) => return Err(SkipReason::NotAsked),
            (false, true) if has(&self.disabled) => return Err(SkipReason::Disabled),
            (false, true) if agent.is_optional() && !has(&self.enabled) => return Err(SkipReason::Optional),
            (false, true) => why(&agent.definition.applicability, subject)?,
        };
        // an agent without input finds nothing but still costs money.
        if is_empty(&agent.definition, &why, subject) { Err(SkipReason::NothingToRead) } else { Ok(why) }
    }
}

impl<'a> AgentSelection<'a> {
    pub fn selected(&self) -> impl Iterator<Item = (&'a Agent, &SelectionReason)> {
        self.agents.iter().filter_map(|one| one.verdict.as_ref().ok().map(|why| (one.agent, why)))
    }

    /// warns about searches that exceeded their limit.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.selected().filter_map(|(agent, why)| match why {
            SelectionReason::Limit { .. } => {
                Some(format!("`{}` is asked as a precaution: {}", agent.definition.name, why.words()))
            }
            SelectionReason::Asked
            | SelectionReason::Always
            | SelectionReason::FileName { .. }
            | SelectionReason::Path { .. }
            | SelectionReason::Content { .. } => None,
        })
    }
}

/// Returns a verdict for every agent. The order of the agents does not matter.
pub fn select<'a>(agents: &'a [Agent], subject: &Subject, wish: &AgentFilter) -> AgentSelection<'a> {
    let considered =
        agents.iter().map(|agent| AgentDecision { agent, verdict: wish.verdict(agent, subject) });
    let mut agents: Vec<AgentDecision<'a>> = considered.collect();
    agents.sort_by(|one, other| {
        let key = |one: &AgentDecision<'a>| (one.agent.definition.phase, &one.agent.definition.name);
        key(one).cmp(&key(other))
    });
    AgentSelection { agents }
}

/// one condition is enough. Names are checked before texts, because that costs less.
fn why(applicability: &Applicability, subject: &Subject) -> Result<SelectionReason, SkipReason> {
    if applicability.always {
        return Ok(SelectionReason::Always);
    }
    if applicability.is_never() {
        return Err(SkipReason::NoPatterns);
    }
    let files = counted(applicability, subject);
    let by_name = applicability.file_patterns.iter().find_map(|pattern| {
        let file = files.iter().find(|file| pattern.takes(&file.path))?;
        Some(SelectionReason::FileName { pattern: pattern.source().to_owned(), file: file.path.clone() })
    });
    let by_path = || {
        applicability.path_patterns.iter().find_map(|pattern| {
            let file = files.iter().find(|file| pattern.takes(&file.path))?;
            Some(SelectionReason::Path { pattern: pattern.source().to_owned(), file: file.path.clone() })
        })
    };
    let by_content = || found_in(&applicability.content_patterns, &files, &subject.mode);
    by_name.or_else(by_path).or_else(by_content).ok_or(SkipReason::NothingMatches)
}

/// Returns true if the texts alone would select the agent. A search over its limit counts as a match.
pub(super) fn decides_by_content(applicability: &Applicability, subject: &Subject) -> bool {
    let files = counted(applicability, subject);
    found_in(&applicability.content_patterns, &files, &subject.mode).is_some()
}

/// Returns the files that an agent does not exclude, once for all patterns.
fn counted<'s>(applicability: &Applicability, subject: &'s Subject) -> Vec<&'s SubjectFile> {
    subject.files.iter().filter(|file| !applicability.excludes(&file.path)).collect()
}

/// Returns the first match of the first pattern that matches any file. A search over its limit
/// counts only if no other file decides.
///
/// Searches each file for all patterns at once, while its text is still in the CPU cache.
fn found_in(patterns: &[PythonRegex], files: &[&SubjectFile], mode: &SubjectMode) -> Option<SelectionReason> {
    let search = |pattern| PatternSearch { pattern, left: LONGEST_BACKTRACKED, given_up: None };
    // Patterns that can still decide: none after one that has matched.
    let mut open: Vec<PatternSearch<'_>> = patterns.iter().map(search).collect();
    let mut found = None;
    for file in files.iter().filter(|file| file.left_out.is_none()) {
        let mut at = 0;
        while let Some(search) = open.get_mut(at) {
            match search.look(file) {
                PythonMatch::Nowhere => {}
                PythonMatch::Unknown => open.truncate(at + 1),
                PythonMatch::At(offset) => {
                    found = Some((search.pattern.source(), *file, offset));
                    open.truncate(at);
                }
            }
            at += 1;
        }
    }
    open.iter().find_map(PatternSearch::limit).or_else(|| {
        let (pattern, file, offset) = found?;
        let (line, text) = place(mode, &file.text, offset);
        Some(SelectionReason::Content { pattern: pattern.to_owned(), file: file.path.clone(), line, text })
    })
}

/// State of one pattern while the search goes through the files.
struct PatternSearch<'a> {
    pattern: &'a PythonRegex,
    /// Bytes that backtracking may still search.
    left: usize,
    /// First file whose search exceeded the limit.
    given_up: Option<&'a str>,
}

impl<'a> PatternSearch<'a> {
    fn look(&mut self, file: &'a SubjectFile) -> PythonMatch {
        let found = self.pattern.find_within(&file.text, &mut self.left);
        if found == PythonMatch::Unknown {
            self.given_up.get_or_insert(&file.path);
        }
        found
    }

    fn limit(&self) -> Option<SelectionReason> {
        let file = self.given_up?.to_owned();
        Some(SelectionReason::Limit { pattern: self.pattern.source().to_owned(), file })
    }
}

impl SelectionReason {
    pub fn words(&self) -> String {
        match self {
            Self::Asked => "asked for by name".to_owned(),
            Self::Always => "always".to_owned(),
            Self::FileName { pattern, file } | Self::Path { pattern, file } => {
                format!("{} takes {file}", quoted(pattern))
            }
            Self::Content { pattern, file, line, text } => {
                let line = line.map(|line| format!(":{line}")).unwrap_or_default();
                format!("{} is found at {file}{line}: {text}", quoted(pattern))
            }
            Self::Limit { pattern, file } => {
                format!("{} took too long to search for in {file}", quoted(pattern))
            }
        }
    }
}

impl SkipReason {
    pub fn words(self) -> &'static str {
        match self {
            Self::NothingMatches => "none of its patterns matches",
            Self::NothingToRead => "no changed file is text for it: all are binary or excluded",
            Self::NoPatterns => "it has no patterns and is not `always` for every change",
            Self::NotAsked => "only other agents were asked for",
            Self::Skipped => "`--skip` names it",
            Self::Disabled => "the settings disable it",
            Self::Optional => "it is off unless named or enabled in the settings",
        }
    }
}

/// Maximum length of a quoted line, in characters.
const LONGEST: usize = 80;

/// Returns line number and text at a byte offset. In a diff, the number refers to the new version.
pub(super) fn place(mode: &SubjectMode, text: &str, offset: usize) -> (Option<u32>, String) {
    let start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let number = match mode {
        SubjectMode::Files => Some(1 + count(text[..start].matches('\n'))),
        SubjectMode::Changes { .. } => new_line(&text[..start], line),
    };
    let mut shown: String = line.trim().chars().take(LONGEST).collect();
    if line.trim().chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    (number, shown)
}

/// Returns the line number of a hunk line in the new version, or `None` for headers. Counts from
/// the hunk header over the lines of the new version.
fn new_line(before: &str, line: &str) -> Option<u32> {
    if line.starts_with("@@ ") {
        return None;
    }
    let header = before.rmatch_indices("@@ -").find(|(at, _)| *at == 0 || before[..*at].ends_with('\n'))?.0;
    let mut lines = before[header..].lines();
    let start = lines.next()?.split(" +").nth(1)?;
    let start: u32 = start.split([',', ' ']).next()?.parse().ok()?;
    Some(start + count(lines.filter(|line| !line.starts_with(['-', '\\']))))
}

fn count(items: impl Iterator) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mode: &SubjectMode, text: &str, word: &str, expected: (Option<u32>, &str)) {
        let (line, shown) = place(mode, text, text.find(word).unwrap());
        assert_eq!((line, shown.as_str()), expected, "{word}");
    }

    //
    #[test]
    fn lines_of_a_diff_are_those_of_the_new_version_and_headers_have_none() {
        let changes =
            SubjectMode::Changes { base: "main".into(), merge_base: None, head: None, pull_request: None };
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,3 +10,4 @@ fn main\n same\n-old\n+new\n+newer\n last\n";
        let check = |word, expected| check(&changes, diff, word, expected);
        check("a/x", (None, "diff --git a/x b/x"));
        check("@@ -3", (None, "@@ -3,3 +10,4 @@ fn main"));
        check("same", (Some(10), "same"));
        check("old", (Some(11), "-old"));
        check("newer", (Some(12), "+newer"));
        check("last", (Some(13), "last"));
    }

    #[test]
    fn lines_of_a_file_are_counted_and_long_ones_are_cut() {
        check(&SubjectMode::Files, "one\ntwo\n", "two", (Some(2), "two"));
        let long = "x".repeat(100);
        let shown = format!("{}…", "x".repeat(80));
        check(&SubjectMode::Files, &long, "x", (Some(1), &shown));
    }
}
