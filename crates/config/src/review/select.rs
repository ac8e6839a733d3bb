//! Selects the agents that a subject needs, with reasons. No model is asked.

mod place;

use saihai_model::{Subject, SubjectFile, SubjectMode};

use super::python::{Found, LONGEST_BACKTRACKED, PythonRegex};
use super::{Agent, Applicability, share};
use crate::diagnostic::quoted;
use place::place;

/// Agents requested or excluded by flags and settings.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Run exactly these agents, applicable or not; empty means all applicable agents.
    pub only: Vec<String>,
    pub skip: Vec<String>,
    /// Agents that the settings disable.
    pub disabled: Vec<String>,
}

/// Every agent with its verdict.
#[derive(Debug, Clone)]
pub struct Selection<'a> {
    /// Sorted by phase, then by name.
    pub agents: Vec<Considered<'a>>,
}

#[derive(Debug, Clone)]
pub struct Considered<'a> {
    pub agent: &'a Agent,
    pub verdict: Result<Why, WhyNot>,
}

/// Reason to select an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
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
pub enum WhyNot {
    NothingMatches,
    NoPatterns,
    /// Every file it applies to is excluded or not text.
    NothingToRead,
    /// The person named other agents only.
    NotAsked,
    /// A flag or setting skips it.
    Skipped,
    Disabled,
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

impl Wish {
    fn verdict(&self, agent: &Agent, subject: &Subject) -> Result<Why, WhyNot> {
        let has = |names: &[String]| names.contains(&agent.definition.name);
        if has(&self.skip) {
            return Err(WhyNot::Skipped);
        }
        let why = match (has(&self.only), self.only.is_empty()) {
            (true, _) => Why::Asked,
            (false, false) => return Err(WhyNot::NotAsked),
            (false, true) if has(&self.disabled) => return Err(WhyNot::Disabled),
            (false, true) => why(&agent.definition.applicability, subject)?,
        };
        // an agent without input finds nothing but still costs money.
        if share::is_empty(&agent.definition, &why, subject) { Err(WhyNot::NothingToRead) } else { Ok(why) }
    }
}

impl<'a> Selection<'a> {
    pub fn selected(&self) -> impl Iterator<Item = (&'a Agent, &Why)> {
        self.agents.iter().filter_map(|one| one.verdict.as_ref().ok().map(|why| (one.agent, why)))
    }

    /// warns about searches that exceeded their limit.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.selected().filter_map(|(agent, why)| match why {
            Why::Limit { .. } => {
                Some(format!("`{}` is asked to be safe: {}", agent.definition.name, why.words()))
            }
            Why::Asked | Why::Always | Why::FileName { .. } | Why::Path { .. } | Why::Content { .. } => None,
        })
    }
}

/// Returns a verdict for every agent. The order of the agents does not matter.
pub fn select<'a>(agents: &'a [Agent], subject: &Subject, wish: &Wish) -> Selection<'a> {
    let considered = agents.iter().map(|agent| Considered { agent, verdict: wish.verdict(agent, subject) });
    let mut agents: Vec<Considered<'a>> = considered.collect();
    agents.sort_by(|one, other| {
        let key = |one: &Considered<'a>| (one.agent.definition.phase, &one.agent.definition.name);
        key(one).cmp(&key(other))
    });
    Selection { agents }
}

/// one condition is enough. Names are checked before texts, because that costs less.
fn why(applicability: &Applicability, subject: &Subject) -> Result<Why, WhyNot> {
    if applicability.always {
        return Ok(Why::Always);
    }
    if applicability.is_never() {
        return Err(WhyNot::NoPatterns);
    }
    let files = counted(applicability, subject);
    let by_name = applicability.file_patterns.iter().find_map(|pattern| {
        let file = files.iter().find(|file| pattern.takes(&file.path))?;
        Some(Why::FileName { pattern: pattern.source().to_owned(), file: file.path.clone() })
    });
    let by_path = || {
        applicability.path_patterns.iter().find_map(|pattern| {
            let file = files.iter().find(|file| pattern.takes(&file.path))?;
            Some(Why::Path { pattern: pattern.source().to_owned(), file: file.path.clone() })
        })
    };
    let by_content = || found_in(&applicability.content_patterns, &files, &subject.mode);
    by_name.or_else(by_path).or_else(by_content).ok_or(WhyNot::NothingMatches)
}

/// Returns true if the texts alone would select the agent. A search over its limit counts as a
/// match, as everywhere.
pub(super) fn decides_by_content(applicability: &Applicability, subject: &Subject) -> bool {
    let files = counted(applicability, subject);
    found_in(&applicability.content_patterns, &files, &subject.mode).is_some()
}

/// Returns the files that an agent does not exclude. All patterns use this list, so it is computed
/// once.
fn counted<'s>(applicability: &Applicability, subject: &'s Subject) -> Vec<&'s SubjectFile> {
    subject.files.iter().filter(|file| !applicability.excludes(&file.path)).collect()
}

/// Returns the first match of the first pattern that matches any file. A search over its limit
/// counts only if no other file decides.
///
/// The loop searches one file for all patterns before the next file, while its text is still in the
/// CPU cache.
fn found_in(patterns: &[PythonRegex], files: &[&SubjectFile], mode: &SubjectMode) -> Option<Why> {
    let search = |pattern| Search { pattern, left: LONGEST_BACKTRACKED, given_up: None };
    // Patterns that can still decide: none after one that has matched.
    let mut open: Vec<Search<'_>> = patterns.iter().map(search).collect();
    let mut found = None;
    for file in files.iter().filter(|file| file.left_out.is_none()) {
        let mut at = 0;
        while let Some(search) = open.get_mut(at) {
            match search.look(file) {
                Found::Nowhere => {}
                Found::Unknown => open.truncate(at + 1),
                Found::At(offset) => {
                    found = Some((search.pattern.source(), *file, offset));
                    open.truncate(at);
                }
            }
            at += 1;
        }
    }
    open.iter().find_map(Search::limit).or_else(|| {
        let (pattern, file, offset) = found?;
        let (line, text) = place(mode, &file.text, offset);
        Some(Why::Content { pattern: pattern.to_owned(), file: file.path.clone(), line, text })
    })
}

/// State of one pattern while the search goes through the files.
struct Search<'a> {
    pattern: &'a PythonRegex,
    /// Bytes that backtracking may still search.
    left: usize,
    /// First file whose search exceeded the limit.
    given_up: Option<&'a str>,
}

impl<'a> Search<'a> {
    fn look(&mut self, file: &'a SubjectFile) -> Found {
        let found = self.pattern.find_within(&file.text, &mut self.left);
        if found == Found::Unknown {
            self.given_up.get_or_insert(&file.path);
        }
        found
    }

    fn limit(&self) -> Option<Why> {
        let file = self.given_up?.to_owned();
        Some(Why::Limit { pattern: self.pattern.source().to_owned(), file })
    }
}

impl Why {
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
                format!("{} could not be searched for to the end in {file}", quoted(pattern))
            }
        }
    }
}

impl WhyNot {
    pub fn words(self) -> &'static str {
        match self {
            Self::NothingMatches => "none of its patterns matches",
            Self::NothingToRead => "nothing that has changed is text for it: it is binary, or excluded",
            Self::NoPatterns => "it has no patterns and is not `always` for every change",
            Self::NotAsked => "only others were asked for",
            Self::Skipped => "`--skip` names it",
            Self::Disabled => "the settings disable it",
        }
    }
}
