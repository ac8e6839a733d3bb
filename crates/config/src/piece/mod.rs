//! Pieces: state machines of movements in the format of TAKT.
//!
//! Loading has three steps. [`read`] reads the document with the tables of [`tables`] and loads every text it
//! names. It reports all errors at once. [`lower`] turns the result into a workflow. [`crate::check`] then
//! analyses the workflow, and each finding gets its location in the piece.

mod assignment;
mod condition;
mod exit;
mod facet;
mod lower;
mod monitor;
mod movement;
mod plan;
mod prompt;
mod read;
mod report;
mod report_file;
mod reviewer;
mod rule;
mod tables;
mod template;
mod texts;
mod words;

use std::path::Path;

use saihai_model::Workflow;

pub use self::tables::PIECE;

use self::lower::Lowering;
use self::read::Piece;
use self::reviewer::Reviewers;
use self::texts::Texts;
use crate::check::{self, Problem};
use crate::definition::BuiltIn;
use crate::lowering::Spots;
use crate::{
    Area, Definition, Diagnostics, Document, DocumentPath, Format, Language, Loaded, Node, Options, Places,
    Settings, Source, Value,
};

/// Reads a piece and the files it names, and lowers it to a workflow.
pub(crate) fn load(
    source: &dyn Source,
    places: &Places,
    definition: &Definition,
    options: &Options,
    settings: &Settings,
) -> Loaded {
    let mut diagnostics = Diagnostics::new();
    let Some(document) = open(source, places, definition, settings, &mut diagnostics) else {
        return Loaded::refused(diagnostics);
    };
    let parameters = read::refuse_parameters(&document.cursor(), &mut diagnostics);
    let mut texts = Texts::new(source, places, definition.path.as_deref().and_then(Path::parent));
    let piece = Piece::read(&document, &mut texts, &mut diagnostics);
    let mut diagnostics = without_echoes(diagnostics, &parameters);
    let Some(mut piece) = piece else { return Loaded::refused(diagnostics) };

    let language = language(&piece, &document, &texts);
    let reviewers = Reviewers::find(&mut piece, language, (source, places), settings, &mut diagnostics);
    let mut lowering = Lowering::new(&piece, &reviewers, options, settings, &mut diagnostics);
    let workflow = lowering.workflow(&mut diagnostics);
    let rehearsal = lowering.providers.rehearsal(&mut diagnostics);
    report_findings(&workflow, &lowering.spots, &mut diagnostics);
    Loaded {
        workflow: (!diagnostics.has_errors()).then_some(workflow),
        diagnostics: diagnostics.sorted(),
        notes: reviewers.notes.iter().cloned().chain(lowering.providers.notes).collect(),
        added_tokens: lowering.added_tokens,
        uses: definition.path.iter().cloned().chain(texts.files().map(|(path, _)| path.to_owned())).collect(),
        language,
        description: piece.description,
        rehearsal,
        needs_task: true,
        task: None,
        texts: Vec::new(),
        wishes: crate::delivery::Wishes::default(),
    }
}

fn open(
    source: &dyn Source,
    places: &Places,
    definition: &Definition,
    settings: &Settings,
    diagnostics: &mut Diagnostics,
) -> Option<Document> {
    if let Some(path) = &definition.path {
        return Document::load(source, path, &places.shown(path), Area::Piece, diagnostics);
    }
    let text = BuiltIn::named(&definition.name)?.text(settings.language);
    let name = format!("(built-in)/{}.yaml", definition.name);
    Document::parse(text.as_bytes(), Format::Yaml, &name, Area::Piece, diagnostics)
}

/// Returns the declared language, or else detects it from the piece's values and files. Comments do not
/// count.
fn language(piece: &Piece, document: &Document, texts: &Texts<'_>) -> Language {
    let said = piece.language.as_deref().and_then(Language::named);
    said.unwrap_or_else(|| {
        let mut values = Vec::new();
        collect_texts(&document.root, &mut values);
        Language::of(values.into_iter().chain(texts.files().map(|(_, file)| file.text())))
    })
}

fn collect_texts<'d>(node: &'d Node, texts: &mut Vec<&'d str>) {
    match &node.value {
        Value::Text(text) => texts.push(text),
        Value::List(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Map(entries) => entries.iter().for_each(|entry| collect_texts(&entry.value, texts)),
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Date(_) => {}
    }
}

/// Removes diagnostics about parameter values. The parameter itself is already reported as unsupported.
fn without_echoes(diagnostics: Diagnostics, parameters: &[DocumentPath]) -> Diagnostics {
    if parameters.is_empty() {
        return diagnostics;
    }
    let echo =
        |path: &DocumentPath| parameters.iter().any(|parameter| path.steps().starts_with(parameter.steps()));
    let kept = diagnostics.into_iter().filter(|diagnostic| {
        let path = diagnostic.location.as_ref().map(|location| &location.path);
        diagnostic.code.slug == "not-supported" || !path.is_some_and(echo)
    });
    kept.collect()
}

/// Adds the findings about the workflow. After errors, it adds only those that cannot be a consequence of
/// them.
fn report_findings(workflow: &Workflow, spots: &Spots, diagnostics: &mut Diagnostics) {
    let sound = !diagnostics.has_errors();
    for finding in check::check(workflow) {
        let Some(at) = spots.get(&finding.spot) else { continue };
        let local = match finding.problem {
            Problem::DeadRule(_) | Problem::NotExhaustive(_) | Problem::ExtraCall => {
                spots.is_sound(finding.stage())
            }
            Problem::Unreachable
            | Problem::NoEnd
            | Problem::UnknownReport(_)
            | Problem::UnmonitoredCycle(_)
            | Problem::GateBypass { .. } => false,
        };
        if sound || local {
            diagnostics.push(finding.diagnostic("movement").at(at));
        }
    }
}

#[cfg(test)]
mod tests;
