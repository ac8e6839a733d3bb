use std::path::Path;

use super::{FIRST, NewFile, eject, scaffold};
use crate::{
    Area, Definition, Diagnostics, Dialect, Document, Format, Language, LoadedDefinition, MemorySource,
    Options, Origin, ProjectPaths, Settings, SettingsFrom, Severity, Source as _, Variables, find, load,
    schema,
};

const LANGUAGES: [Language; 2] = [Language::English, Language::Japanese];

fn places() -> ProjectPaths {
    ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None }
}

fn loaded(source: &MemorySource, name: &str, language: Language) -> LoadedDefinition {
    let mut settings = Settings::default();
    settings.language = language;
    let definition = find(source, &places(), name).unwrap();
    load(source, &places(), &definition, &Options::default(), &settings)
}

fn source(files: impl IntoIterator<Item = NewFile>) -> MemorySource {
    let mut source = MemorySource::default();
    for file in files {
        source.add(file.path, file.text);
    }
    source
}

fn project(language: Language) -> MemorySource {
    source(scaffold(Path::new("/p"), language))
}

#[track_caller]
fn assert_faultless(diagnostics: &Diagnostics) {
    let bad: Vec<_> = diagnostics.iter().filter(|one| one.severity != Severity::Note).collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn a_new_project_has_its_files_under_one_directory() {
    let paths: Vec<String> = scaffold(Path::new("/p"), Language::English)
        .iter()
        .map(|file| file.path.display().to_string())
        .collect();
    insta::assert_snapshot!(paths.join("\n"), @r"
    /p/.saihai/config.toml
    /p/.saihai/pieces/first.yaml
    /p/.saihai/.gitignore
    /p/.saihai/schema/piece.json
    /p/.saihai/schema/settings.json
    ");
}

#[test]
fn the_first_definition_is_faultless_and_in_its_language() {
    for language in LANGUAGES {
        let loaded = loaded(&project(language), FIRST, language);
        assert_faultless(&loaded.diagnostics);
        assert!(loaded.workflow.is_some());
        assert_eq!(loaded.language, language);
    }
}

/// Reads settings and their diagnostics.
fn settings(text: &str) -> (Settings, Diagnostics) {
    let source = MemorySource::new([("/p/.saihai/config.toml", text)]);
    let variables = Variables::default();
    let from = SettingsFrom {
        root: Path::new("/p"),
        user: None,
        current: Path::new("/p"),
        variables: &variables,
        flags: &[],
        trust_project: false,
    };
    let mut diagnostics = Diagnostics::new();
    let settings = Settings::load(&source, &from, &mut diagnostics);
    (settings, diagnostics)
}

#[test]
fn the_settings_are_right_as_written_and_with_every_key_switched_on() {
    for language in LANGUAGES {
        let text = &scaffold(Path::new("/p"), language)[0].text;
        let (read, found) = settings(text);
        assert_faultless(&found);
        assert_eq!((read.language, &read.provider), (language, &None));

        let on = |line: &str| match line.strip_prefix('#') {
            Some(key) if key.starts_with(|first: char| first == '[' || first.is_ascii_lowercase()) => {
                key.to_owned()
            }
            Some(_) | None => line.to_owned(),
        };
        let all: String = text.lines().map(|line| on(line) + "\n").collect();
        let (read, found) = settings(&all);
        assert_faultless(&found);
        assert!(read.provider.is_some() && read.strict, "{all}");
    }
}

#[test]
fn both_languages_explain_the_same_keys() {
    let keys = |language: Language| {
        let files = scaffold(Path::new("/p"), language);
        let lines = files[0].text.lines().filter(|line| !line.contains("language ="));
        let keys = lines.filter(|line| line.starts_with('#') && !line.starts_with("# "));
        keys.map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(keys(Language::English).len() > 20);
    assert_eq!(keys(Language::English), keys(Language::Japanese));
}

#[test]
fn editors_find_the_schemas_the_files_point_at() {
    for language in LANGUAGES {
        let source = project(language);
        for (file, prefix) in [("pieces/first.yaml", "$schema="), ("config.toml", "#:schema ")] {
            let path = Path::new("/p/.saihai").join(file);
            let text = String::from_utf8(source.read(&path, 1 << 20).unwrap()).unwrap();
            let (_, target) = text.lines().next().unwrap().split_once(prefix).unwrap();
            let target = path.parent().unwrap().join(target);
            let schema: serde_json::Value =
                serde_json::from_slice(&source.read(&target, 1 << 20).unwrap()).unwrap();
            let mut found = Diagnostics::new();
            let document =
                Document::parse(text.as_bytes(), Format::of(&path), file, Area::Piece, &mut found).unwrap();
            let schema = saihai_json_schema::JsonSchema::compile(&schema).unwrap();
            assert!(schema.accepts(&document.root.to_json()), "{file}");
        }
    }
    assert!(project(Language::English).is_file(Path::new("/p/.saihai/schema/piece.json")));
    assert_eq!(schema("nothing"), None);
}

fn built_in(name: &str) -> Definition {
    Definition { name: name.into(), dialect: Dialect::Piece, origin: Origin::BuiltIn, path: None }
}

// P-2
#[test]
fn what_was_ejected_takes_the_place_of_the_built_in_and_is_the_same_workflow() {
    for name in built_in_names(Dialect::Piece) {
        for language in LANGUAGES {
            let empty = MemorySource::default();
            let [file] = &eject(&empty, &places(), &built_in(name), language).unwrap()[..] else { panic!() };
            assert_eq!(file.path, Path::new("/p/.saihai/pieces").join(format!("{name}.yaml")));
            let ejected = source([file.clone()]);
            assert_eq!(find(&ejected, &places(), name).unwrap().path.as_ref(), Some(&file.path));
            let (own, original) = (loaded(&ejected, name, language), loaded(&empty, name, language));
            assert_faultless(&own.diagnostics);
            assert!(own.workflow.is_some());
            assert_eq!(own.workflow, original.workflow);
        }
    }
}

fn built_in_names(dialect: Dialect) -> impl Iterator<Item = &'static str> {
    let all = crate::definition::BuiltInDefinition::all().iter();
    all.filter(move |built_in| built_in.dialect == dialect).map(|built_in| built_in.name)
}

// H-8
#[test]
fn hats_that_were_ejected_are_what_orch_means() {
    for name in built_in_names(Dialect::Hats) {
        for language in LANGUAGES {
            let empty = MemorySource::default();
            let definition = Definition { dialect: Dialect::Hats, ..built_in(name) };
            let files = eject(&empty, &places(), &definition, language).unwrap();
            assert_eq!(files[0].path, Path::new("/p/orch.yml"));
            let ejected = source(files);
            let (own, original) = (loaded(&ejected, "orch", language), loaded(&empty, name, language));
            assert_faultless(&own.diagnostics);
            let named = own.workflow.map(|own| saihai_model::Workflow { name: name.to_owned(), ..own });
            assert!(named.is_some());
            assert_eq!(named, original.workflow);
        }
    }
}

// S-2
#[test]
fn an_agent_that_was_ejected_takes_the_place_of_the_built_in_and_is_the_same_workflow() {
    for name in built_in_names(Dialect::Steps) {
        for language in LANGUAGES {
            let empty = MemorySource::default();
            let definition = Definition { dialect: Dialect::Steps, ..built_in(name) };
            let files = eject(&empty, &places(), &definition, language).unwrap();
            let ejected = source(files.clone());
            assert_eq!(find(&ejected, &places(), name).unwrap().path.as_ref(), Some(&files[0].path));
            let (own, original) = (loaded(&ejected, name, language), loaded(&empty, name, language));
            assert_faultless(&own.diagnostics);
            assert!(own.workflow.is_some());
            assert_eq!(own.workflow, original.workflow);
            assert!(original.uses.is_empty(), "no file of the project's was read");
            assert_eq!(own.uses.len(), files.len(), "every file is used");
        }
    }
}

// P-2: two files with the same name are ambiguous
#[test]
fn what_is_ejected_goes_to_the_file_that_has_the_name_already() {
    let source = MemorySource::new([("/p/.saihai/pieces/minimal.yml", "name: own")]);
    let files = eject(&source, &places(), &built_in("minimal"), Language::English).unwrap();
    assert_eq!(files[0].path, Path::new("/p/.saihai/pieces/minimal.yml"));
}

#[test]
fn only_what_is_built_in_is_ejected() {
    let source = MemorySource::new([("/p/.saihai/pieces/own.yaml", "name: own")]);
    let own = Definition { origin: Origin::Project, ..built_in("minimal") };
    assert_eq!(eject(&source, &places(), &own, Language::English), None);
    assert_eq!(eject(&source, &places(), &built_in("own"), Language::English), None);
}
