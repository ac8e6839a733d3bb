//! Files in the vocabulary of each TAKT release: what runs, what is refused, and the paths that a run can take.
//!
//! `SAIHAI_MANUAL=update cargo test -p saihai-config --test takt` writes the table of the manual and the recorded
//! paths. Read the difference: a changed path is a changed meaning of a file that people have.

mod random_pieces;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use saihai_config::{
    Definition, Dialect, MemorySource, Options, Origin, ProjectPaths, Settings, Severity, load,
};
use saihai_engine::rehearse::{Rehearsal, Rehearse, Rehearsed, rehearse};
use saihai_model::{StageId, Workflow};

/// Folders of files, and the releases whose words they use.
const GENERATIONS: [(&str, &str); 4] =
    [("0.7", "0.7 – 0.8"), ("0.9", "0.9 – 0.21"), ("0.12", "0.12 – 0.48"), ("head", "0.49 and newer")];

/// A definition of one generation, loaded.
struct ReleaseFile {
    name: String,
    feature: String,
    result: Result<Workflow, Vec<String>>,
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Reads all files of a folder, with their paths relative to it, in order.
fn read_folder(folder: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).expect("the folder exists") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name =
                    path.strip_prefix(folder).expect("below the folder").to_string_lossy().into_owned();
                files.push((name, std::fs::read_to_string(&path).expect("UTF-8")));
            }
        }
    }
    files.sort();
    files
}

fn load_text(files: &[(String, String)], path: &str) -> Result<Workflow, Vec<String>> {
    let mut source = MemorySource::default();
    for (name, text) in files {
        source.add(format!("/p/{name}"), text.as_str());
    }
    let places =
        ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: Some("/home/me".into()) };
    let path = PathBuf::from(format!("/p/{path}"));
    let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
    let options = Options { interactive: true, ..Options::default() };
    let definition = Definition { name, dialect: Dialect::Piece, origin: Origin::Project, path: Some(path) };
    let loaded = load(&source, &places, &definition, &options, &Settings::default());
    let errors = loaded.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let errors: Vec<String> = errors.map(|error| error.message.clone()).collect();
    loaded.workflow.ok_or(errors)
}

fn generation(folder: &str) -> Vec<ReleaseFile> {
    let files = read_folder(&here("tests/takt/files").join(folder));
    let is_definition = |path: &str| path.contains("pieces/") || path.contains("workflows/");
    let definitions = files.iter().filter(|(path, _)| path.ends_with(".yaml") && is_definition(path));
    let loaded = definitions.map(|(path, text)| {
        let feature = text.lines().next().and_then(|line| line.strip_prefix("# feature: "));
        ReleaseFile {
            name: path.strip_prefix(".takt/").unwrap_or(path).to_owned(),
            feature: feature.expect("each file names its feature").to_owned(),
            result: load_text(&files, path),
        }
    });
    loaded.collect()
}

/// Returns one line per run of a rehearsal: its movements and its end.
fn paths(rehearsal: &Rehearsal) -> Vec<String> {
    let line = |run: &Rehearsed| {
        let path = run.path();
        let movements: Vec<&str> = path.iter().map(StageId::as_str).collect();
        format!("{}: {}", movements.join(" → "), run.end)
    };
    rehearsal.runs.iter().map(line).collect()
}

/// Compares a file of the repository with its expected content, or writes it.
fn check_recorded(path: &Path, actual: &str) {
    if std::env::var("SAIHAI_MANUAL").is_ok_and(|mode| mode == "update") {
        std::fs::write(path, actual).expect("the file can be written");
        return;
    }
    let recorded = std::fs::read_to_string(path).unwrap_or_default();
    assert!(recorded == actual, "{} differs; run with SAIHAI_MANUAL=update\n{actual}", path.display());
}

//
#[test]
fn the_manual_says_what_runs_from_which_release() {
    let mut page = String::from(include_str!("takt_releases_head.md"));
    for (folder, releases) in GENERATIONS {
        let _ = write!(page, "\n## TAKT {releases}\n\n| feature | result |\n|---|---|\n");
        for file in generation(folder) {
            let result = match &file.result {
                Ok(_) => "runs".to_owned(),
                Err(errors) => format!("refused: {}", errors.join("; ")),
            };
            // Requirement ids are for the tests, not for readers.
            let feature = file.feature.split(" (X-").next().unwrap_or_default();
            let _ = writeln!(page, "| {feature} | {result} |");
        }
    }
    check_recorded(&here("../../docs/reference/takt-releases.md"), &page);
}

//
#[test]
fn a_rehearsal_takes_every_exit_of_the_files_that_run() {
    let mut recorded = String::new();
    for (folder, _) in GENERATIONS {
        for file in generation(folder) {
            let Ok(workflow) = &file.result else { continue };
            let rehearsal = rehearse(workflow, Rehearse::default());
            assert!(rehearsal.untaken.is_empty(), "{folder}/{}: {:?}", file.name, rehearsal.untaken);
            let _ = writeln!(recorded, "{folder}/{}\n  {}", file.name, paths(&rehearsal).join("\n  "));
        }
    }
    check_recorded(&here("tests/takt/paths.txt"), &recorded);
}

/// The large files are the reason for all others: each generation must run as a whole.
#[test]
fn the_large_file_of_every_generation_runs() {
    for (folder, _) in GENERATIONS {
        let files = generation(folder);
        let large = files.iter().find(|file| file.name.ends_with("/large.yaml")).expect("a large file");
        assert!(large.result.is_ok(), "{folder}: {:?}", large.result);
    }
}
