//! One requirement after the other, each shown whole.

mod limits;
mod results;
mod subjects;
mod tools;

use saihai_tests::Journal;
use serde_json::Value;

use super::*;

/// What a review told and what its only agent was sent, by somebody who finds nothing.
fn reviewed(project: &Project, arguments: &[&str]) -> (Value, String) {
    let told = review(project, &none("main/a"), &[&["--json", "--no-cache"], arguments].concat()).exits(0);
    let told = report(&told);
    let run = told["run"].as_str().expect("a run").to_owned();
    let directory = project.root().join(".saihai/runs").join(run);
    (told, Journal::read(&directory.join("journal.ndjson")).prompt("main"))
}

/// The files a prompt lists, and what it shows between its marks.
fn shown(prompt: &str) -> String {
    let listed = prompt.split("files:\n").nth(1).expect("a list of files").lines();
    let listed: Vec<&str> = listed.take_while(|line| line.starts_with("- ")).collect();
    let lines = prompt.lines().skip_while(|line| !line.starts_with("==== begin ")).skip(1);
    let text: Vec<&str> = lines.take_while(|line| !line.starts_with("==== end ")).collect();
    format!("{}\n\n{}", listed.join("\n"), text.join("\n"))
}

/// The files a prompt lists.
fn listed(prompt: &str) -> Vec<String> {
    let listed = prompt.split("files:\n").nth(1).expect("a list of files").lines();
    listed.map_while(|line| line.strip_prefix("- ")).map(str::to_owned).collect()
}
