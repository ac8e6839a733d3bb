//! Hats: roles that published events activate, in the formats of orchestrator-hybrid and ralph.
//!
//! [`read`] reads a file with the keys of [`tables`] into the types of [`model`], and [`ralph`] reads files of
//! ralph. The file then inherits from its preset. The result is [`check`]ed and [`lower`]ed. A hat becomes a stage
//! with one turn, and triggers become the workflow's topic table. `EVENT:` lines and the closing word become
//! directives that judgment reads.

mod check;
mod lower;
mod model;
mod prompt;
mod ralph;
mod read;
mod tables;

use std::path::PathBuf;

use self::lower::{HatLowering, LoweredHats};
use self::model::{HatsFile, TopicRoutes};
pub use self::tables::ORCH;
use crate::definition::{BuiltInDefinition, ignored_hats};
use crate::lowering::ProviderResolver;
use crate::{
    Area, Definition, Diagnostic, Diagnostics, Dialect, Document, Language, LoadedDefinition, Located,
    Location, Options, ProjectPaths, Settings, Source, list_of, quoted, quoted_path,
};

/// Reads hats and their preset, and lowers them to a workflow.
pub(crate) fn load(
    source: &dyn Source,
    places: &ProjectPaths,
    definition: &Definition,
    options: &Options,
    settings: &Settings,
) -> LoadedDefinition {
    let mut diagnostics = Diagnostics::new();
    warn_of_ignored(source, places, definition, &mut diagnostics);
    let Some(document) = definition.open(source, places, settings.language, &mut diagnostics) else {
        return LoadedDefinition::refused(diagnostics);
    };
    let is_ralph = ralph::is_one(definition, &document);
    let written = if is_ralph {
        let context = ralph::RalphContext { source, places, definition, options, settings };
        ralph::read(&document, &context, &mut diagnostics)
    } else {
        read::read(&document, &mut diagnostics)
    };
    let Some(written) = written else { return LoadedDefinition::refused(diagnostics) };
    let mut texts = document.texts();
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
        find_preset(source, places, written.preset.as_ref(), usual, &mut diagnostics)
    } else {
        refuse_chain(&written, &definition.name, &mut diagnostics);
        None
    };
    let written = match &preset {
        Some(preset) => {
            texts.extend(preset.document.texts());
            uses.extend(preset.path.clone());
            written.over(preset.written.clone())
        }
        None => written,
    };
    let language = written.language.as_deref().and_then(Language::named);
    let language = language.unwrap_or_else(|| Language::of(texts.iter().copied()));
    let whole = MergedHats { definition, at: document.cursor().location(), written: &written, language };
    LoadedDefinition { uses, ..whole.lower(options, settings, diagnostics) }
}

/// Hats merged with their preset.
struct MergedHats<'a> {
    definition: &'a Definition,
    at: Location,
    written: &'a HatsFile,
    language: Language,
}

impl MergedHats<'_> {
    fn lower(
        &self,
        options: &Options,
        settings: &Settings,
        mut diagnostics: Diagnostics,
    ) -> LoadedDefinition {
        let written = self.written;
        let mut gates = check::settle_gates(written, &mut diagnostics);
        let mut wishes = written.wishes.clone();
        wishes.auto = written.gates.auto;
        wishes.gates =
            written.gates.are_said().then(|| gates.iter().filter_map(|(point, _)| point.of_work()).collect());
        if options.delivers {
            // Delivery asks these questions itself.
            gates.retain(|(point, _)| point.of_work().is_none());
        }
        check::errors(written, &mut diagnostics);
        let routes = TopicRoutes::of(written.hats.values());
        if !diagnostics.has_errors() {
            check::warnings(written, &routes, &mut diagnostics);
        }
        let described = settings.describing(written.own_provider.as_ref());
        let mut providers = ProviderResolver::new(options, &described, &mut diagnostics);
        let backend = written.backend.as_ref();
        let at = backend.map_or(&self.at, |backend| &backend.at);
        let model = written.model.as_ref().map(|model| model.value.as_str());
        let answerer = providers.resolve(&self.definition.name, at, backend, model, &mut diagnostics);
        let own = written.hats.values().filter_map(|hat| Some((hat, hat.backend.as_ref()?)));
        let own_answerers = own.map(|(hat, name)| {
            let answerer = providers.resolve(&hat.id.value, &name.at, Some(name), None, &mut diagnostics);
            (hat.id.value.clone(), answerer)
        });
        let own_answerers = own_answerers.collect();
        let rehearsal = providers.rehearsal(&mut diagnostics);
        let needs_default_provider = providers.needs_default_provider();
        let lowering = HatLowering {
            name: &self.definition.name,
            written,
            routes: &routes,
            gates: &gates,
            answerer: &answerer,
            own_answerers: &own_answerers,
            options,
            settings,
            language: self.language,
        };
        let LoweredHats { workflow, added_tokens } = lowering.lower();
        let mut notes = providers.notes;
        notes.extend(self.undelivered().filter(|_| !options.delivers));
        LoadedDefinition {
            workflow: (!diagnostics.has_errors()).then_some(workflow),
            diagnostics: diagnostics.sorted(),
            notes,
            uses: Vec::new(),
            language: self.language,
            added_tokens,
            description: BuiltInDefinition::of(self.definition)
                .and_then(|built_in| built_in.summary(self.language)),
            rehearsal,
            needs_default_provider,
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
            format!("{} only apply to work on an issue: `saihai run` delivers nothing", list_of(keys, "and"))
        })
    }
}

/// H-5: Saihai uses only the first of several files.
fn warn_of_ignored(
    source: &dyn Source,
    places: &ProjectPaths,
    definition: &Definition,
    diagnostics: &mut Diagnostics,
) {
    for path in ignored_hats(source, places, definition) {
        let used = definition.path.as_ref().map(|path| places.shown(path)).unwrap_or_default();
        let message =
            format!("{} is not read: {} comes first", quoted_path(&places.shown(&path)), quoted(&used));
        let diagnostic = Diagnostic::warning(Area::Hats.code("ignored-file"), message);
        diagnostics.push(diagnostic.hint("keep one of them, or give the path of the one you mean"));
    }
}

const USUAL: &str = "simple";

struct Preset {
    written: HatsFile,
    /// The parsed file, to detect the language of its texts.
    document: Document,
    /// Its file; `None` for a built-in.
    path: Option<PathBuf>,
}

/// Finds a preset: the project's own, else a built-in one. Reports a missing or unreadable one.
fn find_preset(
    source: &dyn Source,
    places: &ProjectPaths,
    asked: Option<&Located<String>>,
    language: Language,
    diagnostics: &mut Diagnostics,
) -> Option<Preset> {
    let name = asked.map_or(USUAL, |asked| &asked.value);
    let (document, path) = match own_preset(source, places, name) {
        Some(path) => {
            let document = Document::load(source, &path, &places.shown(&path), Area::Hats, diagnostics)?;
            (document, Some(path))
        }
        None => match built_in_preset(name) {
            Some(built_in) => (built_in.parse(language, Area::Hats, diagnostics)?, None),
            None => {
                report_unknown_preset(source, places, asked?, diagnostics);
                return None;
            }
        },
    };
    let mut written = read::read(&document, diagnostics)?;
    refuse_chain(&written, name, diagnostics);
    if path.is_none() {
        // Saihai chose the language of the built-in, so it says nothing about the file's language.
        written.language = None;
    }
    Some(Preset { written, document, path })
}

fn built_in_preset(name: &str) -> Option<&'static BuiltInDefinition> {
    BuiltInDefinition::named(name).filter(|built_in| built_in.dialect == Dialect::Hats)
}

fn own_preset(source: &dyn Source, places: &ProjectPaths, name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.contains(['/', '\\']) {
        return None;
    }
    let files = ["yml", "yaml"].map(|end| places.root.join("presets").join(format!("{name}.{end}")));
    files.into_iter().find(|file| source.is_file(file))
}

/// H-21: a preset cannot inherit from another preset.
fn refuse_chain(written: &HatsFile, name: &str, diagnostics: &mut Diagnostics) {
    if let Some(other) = written.preset.as_ref().filter(|other| other.value != name) {
        let message = format!("the preset {} cannot extend another preset", quoted(name));
        let hint = "copy the parts it needs from the other preset";
        diagnostics.push(other.error("bad-value", message).label("another preset").hint(hint));
    }
}

fn report_unknown_preset(
    source: &dyn Source,
    places: &ProjectPaths,
    asked: &Located<String>,
    diagnostics: &mut Diagnostics,
) {
    let files = source.texts(&places.root.join("presets"));
    let own = files.iter().filter_map(|file| file.strip_suffix(".yml").or(file.strip_suffix(".yaml")));
    let built_in =
        BuiltInDefinition::all().iter().filter(|one| one.dialect == Dialect::Hats).map(|one| one.name);
    let names: Vec<&str> = built_in.chain(own).collect();
    let message = format!("no preset is named {}", quoted(&asked.value));
    let near = diagnostics.suggest(&asked.value, names.iter().copied());
    let all = format!("there is {}", list_of(names.iter().copied(), "and"));
    let hint = near.map_or(all.clone(), |near| format!("{near} {all}"));
    diagnostics.push(asked.error("unknown-preset", message).label("not a preset").hint(hint));
}

#[cfg(test)]
mod tests;
