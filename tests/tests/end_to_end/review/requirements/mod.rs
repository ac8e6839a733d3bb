//! One complete requirement per test.

mod results;
mod settings;
mod subjects;
mod tools;

use saihai_tests::Journal;
use serde_json::Value;

use super::*;

/// Runs a review with one agent that finds nothing. Returns the report and the prompt.
fn reviewed(project: &Project, arguments: &[&str]) -> (Value, String) {
    let told = review(project, &none("main/a"), &[&["--json", "--no-cache"], arguments].concat()).exits(0);
    let told = report(&told);
    let run = told["run"].as_str().expect("a run").to_owned();
    let directory = project.root().join(".saihai/runs").join(run);
    (told, Journal::read(&directory.join("journal.ndjson")).prompt("main"))
}

/// Returns the file list of a prompt and the text between its markers.
fn shown(prompt: &str) -> String {
    let listed = prompt.split("files:\n").nth(1).expect("a list of files").lines();
    let listed: Vec<&str> = listed.take_while(|line| line.starts_with("- ")).collect();
    let lines = prompt.lines().skip_while(|line| !line.starts_with("==== begin ")).skip(1);
    let text: Vec<&str> = lines.take_while(|line| !line.starts_with("==== end ")).collect();
    format!("{}\n\n{}", listed.join("\n"), text.join("\n"))
}

fn listed(prompt: &str) -> Vec<String> {
    let listed = prompt.split("files:\n").nth(1).expect("a list of files").lines();
    listed.map_while(|line| line.strip_prefix("- ")).map(str::to_owned).collect()
}
