//! Files of climpt, orchestrator-hybrid, ralph and hachimoku in the words of their releases: what runs and what is refused.
//!
//! `SAIHAI_MANUAL=update cargo test -p saihai-config --test families` writes the table of the manual and the recorded paths.
//! Read the difference: a changed path is a changed meaning of a file that people have.
//!
//! `*.txt` holds the cases of one family. `## NAME` starts the cases of some releases, `# FEATURE` starts a case, and
//! `--- PATH` starts one of its files. Files before the first case belong to all cases, unless a case replaces them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use saihai_config::review::{AgentOrigin, load as load_agents};
use saihai_config::{
    Definition, Dialect, Language, MemorySource, Options, Origin, ProjectPaths, Settings, Severity, load,
};
use saihai_engine::rehearse::{Rehearse, Rehearsed, UntakenReason, rehearse};
use saihai_model::{StageId, Workflow};

/// Families with their dialect and their cases.
const FAMILIES: [(&str, Dialect, &str); 4] = [
    ("climpt", Dialect::Steps, include_str!("climpt.txt")),
    ("orchestrator-hybrid", Dialect::Hats, include_str!("hybrid.txt")),
    ("ralph", Dialect::Hats, include_str!("ralph.txt")),
    ("hachimoku", Dialect::Review, include_str!("hachimoku.txt")),
];

/// One case of a family.
struct FamilyCase {
    releases: String,
    feature: String,
    files: Vec<(String, String)>,
}

fn cases(text: &str) -> Vec<FamilyCase> {
    let (mut cases, mut releases, mut shared): (Vec<FamilyCase>, _, Vec<(String, String)>) =
        (Vec::new(), String::new(), Vec::new());
    let mut is_shared = true;
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("--- ") {
            let files = if is_shared { &mut shared } else { &mut cases.last_mut().expect("a case").files };
            files.retain(|(known, _)| known != path);
            files.push((path.to_owned(), String::new()));
        } else if let Some(name) = line.strip_prefix("## ") {
            name.clone_into(&mut releases);
        } else if let Some(feature) = line.strip_prefix("# ") {
            is_shared = false;
            let (releases, feature) = (releases.clone(), feature.to_owned());
            cases.push(FamilyCase { releases, feature, files: shared.clone() });
        } else {
            let files = if is_shared { &mut shared } else { &mut cases.last_mut().expect("a case").files };
            if let Some((_, content)) = files.last_mut() {
                content.push_str(line);
                content.push('\n');
            }
        }
    }
    cases
}

fn places() -> ProjectPaths {
    ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: Some("/home/me".into()) }
}

fn source(case: &FamilyCase) -> MemorySource {
    let mut source = MemorySource::default();
    for (path, text) in &case.files {
        source.add(format!("/p/{path}"), text.as_str());
    }
    source
}

/// The result of a case: a workflow, a usable review agent, or the messages of its errors.
enum FamilyResult {
    Workflow(Box<Workflow>),
    Agent,
    Refused(Vec<String>),
}

fn result(case: &FamilyCase, dialect: Dialect) -> FamilyResult {
    let source = source(case);
    if dialect == Dialect::Review {
        return match load_agents(&source, &places(), Language::English) {
            Err(refused) => FamilyResult::Refused(refused.iter().map(|one| one.message.clone()).collect()),
            Ok(loaded) => {
                let errors = loaded.errors.iter().flat_map(|error| error.diagnostics.iter());
                let errors: Vec<String> = errors.map(|error| error.message.clone()).collect();
                let is_own = |origin: &AgentOrigin| matches!(origin, AgentOrigin::Custom { .. });
                let own = loaded.agents.iter().filter(|agent| is_own(&agent.origin)).count();
                assert!(own > 0 || !errors.is_empty() || !loaded.remarks.is_empty(), "{}", case.feature);
                if errors.is_empty() { FamilyResult::Agent } else { FamilyResult::Refused(errors) }
            }
        };
    }
    let (path, _) = case.files.first().expect("a definition");
    let path = PathBuf::from(format!("/p/{path}"));
    let name = match dialect {
        Dialect::Steps => path.parent().and_then(Path::file_name),
        _ => path.file_stem(),
    };
    let name = name.expect("a name").to_string_lossy().into_owned();
    let options = Options { interactive: true, ..Options::default() };
    let definition = Definition { name, dialect, origin: Origin::Project, path: Some(path) };
    let loaded = load(&source, &places(), &definition, &options, &Settings::default());
    let errors = loaded.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let errors: Vec<String> = errors.map(|error| error.message.clone()).collect();
    match loaded.workflow {
        Some(workflow) if errors.is_empty() => FamilyResult::Workflow(Box::new(workflow)),
        _ => FamilyResult::Refused(errors),
    }
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
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

// Issue 25
#[test]
fn the_manual_says_what_runs_from_which_release() {
    let mut page = String::from(include_str!("head.md"));
    for (family, dialect, text) in FAMILIES {
        let _ = write!(page, "\n## {family}\n\n| release | feature | result |\n|---|---|---|\n");
        for case in cases(text) {
            let result = match result(&case, dialect) {
                FamilyResult::Workflow(_) | FamilyResult::Agent => "runs".to_owned(),
                FamilyResult::Refused(errors) => {
                    assert!(!errors.is_empty(), "{family}: {}", case.feature);
                    // A table cell ends at a bar.
                    format!("refused: {}", errors.join("; ").replace('|', "\\|"))
                }
            };
            let _ = writeln!(page, "| {} | {} | {result} |", case.releases, case.feature);
        }
    }
    check_recorded(&here("../../docs/reference/releases.md"), &page);
}

// Issue 25
#[test]
fn a_rehearsal_takes_every_exit_of_the_files_that_run() {
    let mut recorded = String::new();
    for (family, dialect, text) in FAMILIES {
        for case in cases(text) {
            let FamilyResult::Workflow(workflow) = result(&case, dialect) else { continue };
            let rehearsal = rehearse(&workflow, Rehearse::default());
            let line = |run: &Rehearsed| {
                let path = run.path();
                let stages: Vec<&str> = path.iter().map(StageId::as_str).collect();
                format!("  {}: {}\n", stages.join(" → "), run.end)
            };
            let runs: String = rehearsal.runs.iter().map(line).collect();
            let _ = write!(recorded, "{family}: {}\n{runs}", case.feature);
            // A fallback of the definition may take the place of an exit.
            for exit in &rehearsal.untaken {
                assert_eq!(exit.why, UntakenReason::Overruled, "{family}: {}: {exit:?}", case.feature);
                let _ = writeln!(recorded, "  never: {}: {}", exit.stage, exit.way);
            }
        }
    }
    check_recorded(&here("tests/families/paths.txt"), &recorded);
}
