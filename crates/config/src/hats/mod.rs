//! Hats: roles that published events activate, in the formats of orchestrator-hybrid and ralph.
//!
//! The tables of [`tables`] read a file into [`written`], and [`ralph`] reads files of ralph. The file then
//! inherits from its [`preset`]. The result is [`check`]ed and [`lower`]ed. A hat becomes a stage with one
//! turn, and triggers become the workflow's topic table. `EVENT:` lines and the closing word become
//! directives that judgment reads.

mod backend;
mod check;
mod gate_stage;
mod gates;
mod hat;
mod lower;
mod preset;
mod prompt;
mod ralph;
mod ralph_tables;
mod read;
mod routes;
mod tables;
mod topic;
mod words;
mod written;

use std::path::Path;

pub use self::tables::ORCH;

use self::lower::{Lowered, Lowering};
use self::routes::Routes;
use self::written::Written;
use crate::definition::{BuiltIn, ignored_hats};
use crate::lowering::Providers;
use crate::{
    Area, Definition, Diagnostic, Diagnostics, Document, Format, Language, Loaded, Location, Node, Options,
    Places, Settings, Source, Value, list_of, quoted,
};

/// Reads hats and their preset, and lowers them to a workflow.
pub(crate) fn load(
    source: &dyn Source,
    places: &Places,
    definition: &Definition,
    options: &Options,
    settings: &Settings,
) -> Loaded {
    let mut diagnostics = Diagnostics::new();
    warn_of_ignored(source, places, definition, &mut diagnostics);
    let Some(document) = open(source, places, definition, settings, &mut diagnostics) else {
        return Loaded::refused(diagnostics);
    };
    let is_ralph = ralph::is_one(definition, &document);
    let written = if is_ralph {
        let beside = definition.path.as_deref().and_then(Path::parent);
        let files = ralph::Files { source, places, beside };
        let file = definition.path.as_deref().map(Path::to_string_lossy);
        let backends = backend::Reader {
            file: file.as_deref(),
            settings,
            is_replaced: options.provider.is_some(),
            starts: options.starts,
        };
        ralph::read(&document, &files, backends, &mut diagnostics)
    } else {
        read::read(&document, &mut diagnostics)
    };
    let Some(written) = written else { return Loaded::refused(diagnostics) };
    let mut texts = texts_of(&document);
    let mut uses: Vec<_> = definition.path.iter().cloned().collect();
    let usual = if Language::of(texts.iter().copied()) == Language::Japanese {
        Language::Japanese
    } else {
        settings.language
    };
    let usual = written.language.as_deref().and_then(Language::named).unwrap_or(usual);
    let preset = if is_ralph {
        None
    } else if definition.path.is_some() {
        preset::find(source, places, written.preset.as_ref(), usual, &mut diagnostics)
    } else {
        preset::refuse_chain(&written, &definition.name, &mut diagnostics);
        None
    };
    let written = match &preset {
        Some(preset) => {
            texts.extend(texts_of(&preset.document));
            uses.extend(preset.path.clone());
            written.over(preset.written.clone())
        }
        None => written,
    };
    let language = written.language.as_deref().and_then(Language::named);
    let language = language.unwrap_or_else(|| Language::of(texts.iter().copied()));
    let whole = Whole { definition, at: document.cursor().location(), written: &written, language };
    Loaded { uses, ..whole.lower(options, settings, diagnostics) }
}

/// Hats merged with their preset.
struct Whole<'a> {
    definition: &'a Definition,
    at: Location,
    written: &'a Written,
    language: Language,
}

impl Whole<'_> {
    fn lower(&self, options: &Options, settings: &Settings, mut diagnostics: Diagnostics) -> Loaded {
        let written = self.written;
        let mut gates = gates::settle(written, &mut diagnostics);
        let mut wishes = written.wishes.clone();
        wishes.auto = written.gates.auto;
        wishes.gates =
            written.gates.are_said().then(|| gates.iter().filter_map(|(point, _)| point.of_work()).collect());
        if options.delivers {
            // Delivery asks these questions itself.
            gates.retain(|(point, _)| point.of_work().is_none());
        }
        check::errors(written, &mut diagnostics);
        let routes = Routes::of(written.hats.values());
        if !diagnostics.has_errors() {
            check::warnings(written, &routes, &mut diagnostics);
        }
        let described = settings.describing(written.own_provider.as_ref());
        let mut providers = Providers::new(options, &described, &mut diagnostics);
        let backend = written.backend.as_ref();
        let at = backend.map_or(&self.at, |backend| &backend.at);
        let model = written.model.as_ref().map(|model| model.value.as_str());
        let answerer = providers.resolve(&self.definition.name, at, backend, model, &mut diagnostics);
        let rehearsal = providers.rehearsal(&mut diagnostics);
        let lowering = Lowering {
            name: &self.definition.name,
            written,
            routes: &routes,
            gates: &gates,
            answerer: &answerer,
            options,
            settings,
            language: self.language,
        };
        let Lowered { workflow, added_tokens } = lowering.lower();
        let mut notes = providers.notes;
        notes.extend(self.undelivered().filter(|_| !options.delivers));
        Loaded {
            workflow: (!diagnostics.has_errors()).then_some(workflow),
            diagnostics: diagnostics.sorted(),
            notes,
            uses: Vec::new(),
            language: self.language,
            added_tokens,
            description: BuiltIn::of(self.definition).and_then(|built_in| built_in.summary(self.language)),
            rehearsal,
            needs_task: true,
            texts: Vec::new(),
            task: written.task.clone(),
            wishes,
        }
    }

    /// I-9: `run` ignores keys about work on issues, so a note says so.
    fn undelivered(&self) -> Option<String> {
        let asking = self.written.delivery.iter().filter(|(_, asks)| **asks);
        let keys: Vec<&str> = asking.map(|(key, _)| *key).collect();
        (!keys.is_empty()).then(|| {
            format!("{} only hold for work on an issue: `saihai run` delivers nothing", list_of(keys, "and"))
        })
    }
}

/// H-5: Saihai uses only the first of several files.
fn warn_of_ignored(
    source: &dyn Source,
    places: &Places,
    definition: &Definition,
    diagnostics: &mut Diagnostics,
) {
    for path in ignored_hats(source, places, definition) {
        let used = definition.path.as_ref().map(|path| places.shown(path)).unwrap_or_default();
        let message = format!("{} is not read: {} comes first", quoted(&places.shown(&path)), quoted(&used));
        let diagnostic = Diagnostic::warning(Area::Hats.code("ignored-file"), message);
        diagnostics.push(diagnostic.hint("keep one of them, or give the path of the one you mean"));
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
        return Document::load(source, path, &places.shown(path), Area::Hats, diagnostics);
    }
    let text = BuiltIn::of(definition)?.text(settings.language);
    let name = format!("(built-in)/{}.yaml", definition.name);
    Document::parse(text.as_bytes(), Format::Yaml, &name, Area::Hats, diagnostics)
}

/// Returns all texts of a document, to detect its language. Comments do not count.
fn texts_of(document: &Document) -> Vec<&str> {
    fn collect<'d>(node: &'d Node, texts: &mut Vec<&'d str>) {
        match &node.value {
            Value::Text(text) => texts.push(text),
            Value::List(items) => items.iter().for_each(|item| collect(item, texts)),
            Value::Map(entries) => entries.iter().for_each(|entry| collect(&entry.value, texts)),
            Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Date(_) => {}
        }
    }
    let mut texts = Vec::new();
    collect(&document.root, &mut texts);
    texts
}

#[cfg(test)]
mod tests;
