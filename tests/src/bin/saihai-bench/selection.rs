//! T-106, R-34: cost of selecting review agents for a very large change, compared with Python's own
//! `re` and `fnmatch`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use saihai_config::review::{Agent, NamePattern, PythonRegex, load};
use saihai_config::{Language, MemorySource, ProjectPaths};
use saihai_model::{Subject, SubjectFile, SubjectMode};
use saihai_review::{AgentFilter, select};
use serde_json::{Value, json};

use crate::law::Law;
use crate::numbers::{median, peak_size, processor_time};

const FILES: usize = 10_000;
/// Bytes of one file in the diff.
const EACH: usize = 2_100;

/// The same selection in Python. Prints the CPU seconds and the selected agents.
const IN_PYTHON: &str = r#"
import fnmatch, json, re, sys, time
asked = json.load(open(sys.argv[1], encoding="utf-8"))
agents, files = asked["agents"], asked["files"]
for agent in agents:
    agent["names"] = [re.compile(fnmatch.translate(one)) for one in agent["file_patterns"]]
    agent["contents"] = [re.compile(one) for one in agent["content_patterns"]]
begun = time.process_time()
selected = []
for agent in agents:
    if agent["always"] \
       or any(one.match(path.rsplit("/", 1)[-1]) for one in agent["names"] for path, _ in files) \
       or any(one.search(text) for one in agent["contents"] for _, text in files):
        selected.append(agent["name"])
print(json.dumps({"seconds": time.process_time() - begun, "selected": sorted(selected)}))
"#;

pub(crate) fn measure() -> Result<Vec<Law>> {
    let agents = built_in()?;
    let subject = subject(FILES);
    let twice = doubled(&agents, &subject);
    let mut measured = Vec::new();
    let mut selected = Vec::new();
    for _ in 0..5 {
        let mut times = Vec::new();
        for _ in 0..5 {
            let (passed, names) = selection(&agents, &subject);
            times.push(passed);
            selected = names;
        }
        measured.push(median(&times) * 1e3);
    }
    let python = in_python(&agents, &subject, &selected)?;
    let bytes: usize = subject.files.iter().map(|file| file.text.len()).sum();
    let raw = format!("{FILES} files, {} MB; {} selected; {python}", bytes / 1_000_000, selected.len());
    let what = "processor time of selecting among the built-in review agents";
    Ok(vec![Law { id: "T-106", what, limit: 100.0, unit: "ms", measured, raw }, twice, grown()?])
}

/// Measures the memory that selection adds to a process with the change loaded. A copy per agent
/// would double it.
fn grown() -> Result<Law> {
    let output =
        Command::new(std::env::current_exe()?).arg("selecting").output().context("this program again")?;
    ensure!(output.status.success(), "`selecting` failed: {}", String::from_utf8_lossy(&output.stderr));
    let grown: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    let what = "what selecting adds to the peak size of a process that holds the change";
    let raw = format!("{FILES} files, {} MB, ten times the built-in agents", FILES * EACH / 1_000_000);
    Ok(Law { id: "T-106", what, limit: 8.0, unit: "MB", measured: vec![grown / 1e6], raw })
}

/// Selects among ten times the built-in agents in a separate process, and prints the growth of its
/// peak memory.
pub(crate) fn selecting() -> Result<()> {
    let agents = built_in()?;
    let many: Vec<Agent> = (0..10).flat_map(|_| agents.iter().cloned()).collect();
    let subject = subject(FILES);
    let before = peak_size("self")?;
    selection(&many, &subject);
    println!("{}", peak_size("self")? - before);
    Ok(())
}

fn built_in() -> Result<Vec<Agent>> {
    let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let loaded = load(&MemorySource::default(), &places, Language::English);
    let mut agents = loaded.map_err(|_| anyhow::anyhow!("the built-in agents"))?.agents;
    // Agents that are off by default are never searched for.
    agents.retain(|agent| !agent.is_optional());
    Ok(agents)
}

/// Compares a change of double size with the change itself, alternating.
fn doubled(agents: &[Agent], once: &Subject) -> Law {
    let twice = subject(2 * FILES);
    let mut measured = Vec::new();
    let mut raw = String::new();
    for _ in 0..5 {
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            short.push(selection(agents, once).0);
            long.push(selection(agents, &twice).0);
        }
        measured.push(median(&long) / median(&short));
        raw = format!("{:.1} ms against {:.1} ms", median(&long) * 1e3, median(&short) * 1e3);
    }
    let what = "the same for twice as many files and bytes, against that";
    Law { id: "T-106", what, limit: 2.3, unit: "×", measured, raw }
}

/// Returns the CPU seconds and the selected agents.
fn selection(agents: &[Agent], subject: &Subject) -> (f64, Vec<String>) {
    let begun = processor_time();
    let selection = select(agents, subject, &AgentFilter::default());
    let passed = (processor_time() - begun).as_secs_f64();
    let mut names: Vec<String> =
        selection.selected().map(|(agent, _)| agent.definition.name.clone()).collect();
    names.sort();
    (passed, names)
}

/// Returns a change whose files must be searched to the end, because nothing in it selects an
/// agent.
fn subject(files: usize) -> Subject {
    let line = "+the quick brown fox jumps over the lazy dog and counts 12345 sheep\n";
    let files = (0..files).map(|number| {
        let path = format!("docs/part{:02}/chapter{number:05}.txt", number % 100);
        let head = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,9 +1,40 @@\n");
        let lines = (EACH - head.len()) / line.len();
        let text = head + &line.repeat(lines);
        SubjectFile { path, previous: None, text, left_out: None, lossy: false }
    });
    let mode = SubjectMode::Changes { base: "main".into(), merge_base: None, head: None, pull_request: None };
    Subject { mode, files: files.collect() }
}

/// Describes Python's time for the same selection. Without Python, the other measurements still
/// work.
fn in_python(agents: &[Agent], subject: &Subject, selected: &[String]) -> Result<String> {
    let agents: Vec<Value> = agents.iter().map(described).collect();
    let files: Vec<Value> = subject.files.iter().map(|file| json!([file.path, file.text])).collect();
    let directory = tempfile::tempdir()?;
    let asked = directory.path().join("asked.json");
    std::fs::write(&asked, json!({ "agents": agents, "files": files }).to_string())?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let Some((seconds, names)) = once(&asked)? else {
            return Ok("python3 is missing here, so there is nothing to hold it against".to_owned());
        };
        ensure!(names == selected, "Python selects {names:?}, we select {selected:?}");
        times.push(seconds);
    }
    Ok(format!("Python's `re` and `fnmatch` take {:.0} ms for the same choice", median(&times) * 1e3))
}

fn described(agent: &Agent) -> Value {
    let applies = &agent.definition.applicability;
    json!({
        "name": agent.definition.name,
        "always": applies.always,
        "file_patterns": applies.file_patterns.iter().map(NamePattern::source).collect::<Vec<_>>(),
        "content_patterns": applies.content_patterns.iter().map(PythonRegex::source).collect::<Vec<_>>(),
    })
}

fn once(asked: &Path) -> Result<Option<(f64, Vec<String>)>> {
    let output = match Command::new("python3").args(["-I", "-c", IN_PYTHON]).arg(asked).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    ensure!(output.status.success(), "python3: {}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout)?;
    let seconds = said["seconds"].as_f64().context("seconds")?;
    let names = said["selected"].as_array().context("names")?.iter();
    Ok(Some((seconds, names.filter_map(Value::as_str).map(str::to_owned).collect())))
}
