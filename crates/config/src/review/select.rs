//! Which agents a subject needs, and why. No model is asked.

mod place;

use saihai_model::{Subject, SubjectFile, SubjectMode};

use super::python::{Found, LONGEST_BACKTRACKED, PythonRegex};
use super::{Agent, Applicability, share};
use crate::diagnostic::quoted;
use place::place;

/// What was asked for beside what the agents say themselves.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// Exactly these, whether or not they apply; empty: whichever apply.
    pub only: Vec<String>,
    pub skip: Vec<String>,
    /// Not these either: the settings say so.
    pub disabled: Vec<String>,
}

/// Every agent, and whether it is selected.
#[derive(Debug, Clone)]
pub struct Selection<'a> {
    /// By phase, then by name.
    pub agents: Vec<Considered<'a>>,
}

/// An agent that was considered.
#[derive(Debug, Clone)]
pub struct Considered<'a> {
    pub agent: &'a Agent,
    /// Why it is selected, or why it is not.
    pub verdict: Result<Why, WhyNot>,
}

/// Why an agent is selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It was asked for by name.
    Asked,
    /// It is for every change.
    Always,
    /// A pattern takes the name of a file.
    FileName { pattern: String, file: String },
    /// A pattern takes the path of a file.
    Path { pattern: String, file: String },
    /// A pattern is found in a text.
    Content {
        pattern: String,
        file: String,
        /// The line in it, where it has one: headers of a diff have none.
        line: Option<u32>,
        /// That line, cut where it is long.
        text: String,
    },
    /// Whether a pattern is found could not be known within the limits of a search.
    Limit { pattern: String, file: String },
}

/// Why an agent is not selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyNot {
    /// None of its patterns matches.
    NothingMatches,
    NoPatterns,
    /// It would be shown nothing: all that it is for is no text, or excluded.
    NothingToRead,
    /// Only others were asked for.
    NotAsked,
    /// It was to be skipped.
    Skipped,
    Disabled,
}

/// A name of no agent that could be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownAgent {
    pub name: String,
    /// Whether there is a file for it, which cannot be used.
    pub is_refused: bool,
    /// What was probably meant, or what there is.
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
        // whoever is shown nothing finds nothing, and is paid for it.
        if share::is_empty(&agent.definition, &why, subject) { Err(WhyNot::NothingToRead) } else { Ok(why) }
    }
}

impl<'a> Selection<'a> {
    pub fn selected(&self) -> impl Iterator<Item = (&'a Agent, &Why)> {
        self.agents.iter().filter_map(|one| one.verdict.as_ref().ok().map(|why| (one.agent, why)))
    }

    /// what a person should know of searches that were given up.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.selected().filter_map(|(agent, why)| match why {
            Why::Limit { .. } => {
                Some(format!("`{}` is asked to be safe: {}", agent.definition.name, why.words()))
            }
            Why::Asked | Why::Always | Why::FileName { .. } | Why::Path { .. } | Why::Content { .. } => None,
        })
    }
}

/// Says of every agent whether a subject needs it. The order of the agents does not matter.
pub fn select<'a>(agents: &'a [Agent], subject: &Subject, wish: &Wish) -> Selection<'a> {
    let considered = agents.iter().map(|agent| Considered { agent, verdict: wish.verdict(agent, subject) });
    let mut agents: Vec<Considered<'a>> = considered.collect();
    agents.sort_by(|one, other| {
        let key = |one: &Considered<'a>| (one.agent.definition.phase, &one.agent.definition.name);
        key(one).cmp(&key(other))
    });
    Selection { agents }
}

/// any condition is enough; names are looked at before texts, because that costs less.
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

/// Whether the texts alone would select an agent. A search that was given up counts as found, as everywhere.
pub(super) fn decides_by_content(applicability: &Applicability, subject: &Subject) -> bool {
    let files = counted(applicability, subject);
    found_in(&applicability.content_patterns, &files, &subject.mode).is_some()
}

/// The files that an agent does not exclude. Every pattern is held against them, so this is asked once.
fn counted<'s>(applicability: &Applicability, subject: &'s Subject) -> Vec<&'s SubjectFile> {
    subject.files.iter().filter(|file| !applicability.excludes(&file.path)).collect()
}

/// Where the first of these patterns that is found anywhere is found first. A search that was given up counts only if no
/// other file decides.
///
/// All of them are searched for in one file before the next is looked at: a text that was just read is still near.
fn found_in(patterns: &[PythonRegex], files: &[&SubjectFile], mode: &SubjectMode) -> Option<Why> {
    let search = |pattern| Search { pattern, left: LONGEST_BACKTRACKED, given_up: None };
    // Those that could still decide: none behind one that does.
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

/// One pattern on its way through the files.
struct Search<'a> {
    pattern: &'a PythonRegex,
    /// How much may still be searched by going back and forth.
    left: usize,
    /// The first file in which it was given up.
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
