//! Pieces: state machines of movements in the format of TAKT.
//!
//! Loading has three steps. [`read`] reads the document with the tables of [`tables`] and loads every text it
//! names. It reports all errors at once. [`lower`] turns the result into a workflow. [`crate::check`] then
//! analyses the workflow, and each finding gets its location in the piece.

mod assignment;
mod call;
mod capabilities;
mod command_gate;
mod exit;
mod expand;
mod lower;
mod partials;
mod program;
mod prompt;
mod read;
mod rule;
mod tables;
mod takt_keys;
mod template;
mod texts;
mod verdict;

use std::path::Path;

use saihai_model::{ProviderName, Workflow};

use self::assignment::TurnAssignment;
use self::lower::PieceLowering;
use self::read::Piece;
pub use self::tables::PIECE;
use self::texts::PieceReader;
use crate::check::FindingProblem;
use crate::lowering::Spots;
use crate::review::{LoadResult, Reviewer};
use crate::{
    Definition, Diagnostics, Document, Language, LoadedDefinition, Located, Options, Origin, ProjectPaths,
    Settings, Source, check, quoted, review,
};

/// Reads a piece and the files it names, and lowers it to a workflow.
pub(crate) fn load(
    source: &dyn Source,
    places: &ProjectPaths,
    definition: &Definition,
    options: &Options,
    settings: &Settings,
) -> LoadedDefinition {
    let mut diagnostics = Diagnostics::new();
    let Some(document) = definition.open(source, places, settings.language, &mut diagnostics) else {
        return LoadedDefinition::refused(diagnostics);
    };
    let directory = definition.path.as_deref().and_then(Path::parent);
    let mut reader = PieceReader::new(source, places, directory, diagnostics);
    let document = expand::expand(document, directory, None, &mut reader);
    let piece = Piece::read(&document, &mut reader);
    let Some(mut piece) = piece else { return LoadedDefinition::refused(reader.diagnostics) };
    piece.inline_calls(&mut reader);
    let mut diagnostics = std::mem::take(&mut reader.diagnostics);
    piece.names_report_directory = mentions_report_directory(&document, &reader);

    piece.leave_out_checks(settings, &mut diagnostics);
    let language = language(&piece, &document, &reader);
    let reviewers = PieceReviewers::find(&mut piece, language, (source, places), settings, &mut diagnostics);
    // A person's own definitions and ours need no trust.
    let asks_trust = matches!(definition.origin, Origin::Project | Origin::Path);
    let written = definition.path.as_deref().filter(|_| asks_trust).map(Path::to_string_lossy);
    let mut lowering = PieceLowering::new(&piece, &reviewers, options, settings, &mut diagnostics);
    lowering.definition = written.as_deref();
    let workflow = lowering.workflow(&mut diagnostics);
    let rehearsal = lowering.providers.rehearsal(&mut diagnostics);
    let needs_default_provider = lowering.providers.needs_default_provider();
    report_findings(&workflow, &lowering.spots, &mut diagnostics);
    LoadedDefinition {
        workflow: (!diagnostics.has_errors()).then_some(workflow),
        diagnostics: diagnostics.sorted(),
        notes: reviewers
            .notes
            .iter()
            .cloned()
            .chain(lowering.providers.notes)
            .chain(reader.idle.notes())
            .collect(),
        added_tokens: lowering.added_tokens,
        uses: definition
            .path
            .iter()
            .cloned()
            .chain(reader.files().map(|(path, _)| path.to_owned()))
            .collect(),
        language,
        description: piece.description,
        rehearsal,
        needs_default_provider,
        needs_task: true,
        task: None,
        texts: Vec::new(),
        wishes: crate::delivery::Wishes::default(),
    }
}

/// Returns the declared language, or detects it from the piece's values and files, not from comments.
fn language(piece: &Piece, document: &Document, reader: &PieceReader<'_>) -> Language {
    let said = piece.language.as_deref().and_then(Language::named);
    said.unwrap_or_else(|| {
        Language::of(document.texts().into_iter().chain(reader.files().map(|(_, file)| file.text())))
    })
}

/// pieces of 0.7 and 0.8 tell their agents to write into the "Report Directory" that the prompt names.
fn mentions_report_directory(document: &Document, reader: &PieceReader<'_>) -> bool {
    let mentions = |text: &str| {
        text.contains("レポートディレクトリ") || text.to_ascii_lowercase().contains("report directory")
    };
    document.texts().into_iter().any(mentions) || reader.files().any(|(_, file)| mentions(file.text()))
}

/// Adds the findings about the workflow; after errors, only those that cannot be their consequence.
fn report_findings(workflow: &Workflow, spots: &Spots, diagnostics: &mut Diagnostics) {
    let sound = !diagnostics.has_errors();
    for finding in check::check(workflow) {
        let Some(at) = spots.get(&finding.spot) else { continue };
        let local = match finding.problem {
            FindingProblem::DeadRule(_)
            | FindingProblem::NotExhaustive(_)
            | FindingProblem::UncoveredExit { .. }
            | FindingProblem::ExtraCall => spots.is_sound(finding.stage()),
            FindingProblem::Unreachable
            | FindingProblem::NoEnd
            | FindingProblem::UnknownReport(_)
            | FindingProblem::UnmonitoredCycle(_)
            | FindingProblem::GateBypass { .. } => false,
        };
        if sound || local {
            diagnostics.push(finding.diagnostic("movement").at(at));
        }
    }
}

/// Review agents of the project. Loaded only if a movement names one.
#[derive(Debug)]
struct PieceReviewers {
    loaded: LoadResult,
    language: Language,
    notes: Vec<String>,
}

impl PieceReviewers {
    /// Loads the agents a piece names, and completes the provider and model of its movements.
    fn find(
        piece: &mut Piece,
        language: Language,
        (source, places): (&dyn Source, &ProjectPaths),
        settings: &Settings,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let mut reviewers = Self { loaded: LoadResult::default(), language, notes: Vec::new() };
        let mut named: Vec<_> =
            piece.movements.iter_mut().flat_map(|movement| movement.assignments_mut()).collect();
        named.retain(|(_, assignment)| assignment.reviewer.is_some());
        if named.is_empty() {
            return reviewers;
        }
        match review::load(source, places, language) {
            Ok(loaded) => reviewers.loaded = loaded,
            Err(refused) => diagnostics.append(refused),
        }
        for (name, assignment) in named {
            reviewers.complete(name, assignment, settings, diagnostics);
        }
        reviewers
    }

    /// Returns the agent that a movement names, if it exists.
    fn of<'a>(&'a self, assignment: &TurnAssignment, settings: &'a Settings) -> Option<Reviewer<'a>> {
        let name = &assignment.reviewer.as_ref()?.value;
        let agent = self.loaded.agents.iter().find(|agent| agent.definition.name == *name)?;
        Some(Reviewer { definition: &agent.definition, settings, language: self.language })
    }

    fn complete(
        &mut self,
        movement: &Located<String>,
        assignment: &mut TurnAssignment,
        settings: &Settings,
        diagnostics: &mut Diagnostics,
    ) {
        let Some(reviewer) = self.of(assignment, settings) else {
            return self.say_unknown(assignment, diagnostics);
        };
        let own: Option<ProviderName> =
            assignment.provider.as_ref().map(|provider| provider.value.as_str().into());
        let named = reviewer.named(own.as_ref(), assignment.model.as_deref());
        if assignment.provider.is_none() {
            let provider =
                named.provider.map(|provider| Located::new(provider.to_string(), movement.at.clone()));
            assignment.provider = provider;
        }
        assignment.model = named.model;
        self.notes.extend(named.note);
    }

    fn say_unknown(&self, assignment: &TurnAssignment, diagnostics: &mut Diagnostics) {
        let Some(name) = &assignment.reviewer else { return };
        let known = self.loaded.agents.iter().map(|agent| agent.definition.name.as_str());
        let hint = diagnostics.suggest(&name.value, known);
        let message = format!("no review agent is named {}", quoted(&name.value));
        let diagnostic = name.error("unknown-reviewer", message).label("no review agent has this name");
        diagnostics.push(diagnostic.maybe_hint(hint));
        // The agent's file may exist but have errors.
        for error in &self.loaded.errors {
            diagnostics.append(error.diagnostics.clone());
        }
    }
}

#[cfg(test)]
mod tests;
