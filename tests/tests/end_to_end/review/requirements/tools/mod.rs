//! Tools that a model can use.

mod limits;
mod parameters;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use saihai_tests::{Answer, ApiServer, Invocation};
use serde_json::{Value, json};

use super::*;

const NOTHING_FOUND: &str = r#"{"issues": [], "overall_score": 9}"#;

/// Starts an API whose model first calls these tools and then finds nothing.
fn model(calls: &[(&str, Value)]) -> ApiServer {
    let calls = calls.iter().map(|(tool, input)| Answer::tool(*tool, input.clone()));
    let script: Vec<Answer> = calls.chain([Answer::text(NOTHING_FOUND)]).collect();
    ApiServer::start(|_| script)
}

/// Prepares a review with that model only.
fn review_by(project: &Project, model: &ApiServer, further: &str) -> Invocation {
    let provider = format!("[providers.openai]\nmodel = \"m\"\nbase_url = \"{}/v1\"\n", model.url());
    project
        .write("../home/.config/saihai/config.toml", format!("provider = \"openai\"\n{provider}{further}"));
    project.saihai(["review", "--json", "--jobs", "1", "--no-cache"]).env("OPENAI_API_KEY", "sk-of-the-test")
}

/// Returns the answer to each tool call.
fn answers(model: &ApiServer) -> Vec<String> {
    let last = model.asked().pop().expect("a request").body;
    let messages = last["messages"].as_array().expect("messages").iter();
    let of_tools = messages.filter(|message| message["role"] == "tool");
    of_tools.map(|message| message["content"].as_str().expect("a text").to_owned()).collect()
}

/// Runs a review with these tool calls and formats each call with its answer.
fn conversation(project: &Project, calls: &[(&str, Value)]) -> String {
    let model = model(calls);
    review_by(project, &model, "").run().exits(0);
    told(calls, &answers(&model))
}

/// Formats tool calls, each with its answer.
fn told(calls: &[(&str, Value)], answers: &[String]) -> String {
    assert_eq!(answers.len(), calls.len());
    let lines = calls.iter().zip(answers).map(|((tool, input), answer)| {
        format!("{tool} {input}\n    {}\n", answer.trim_end().replace('\n', "\n    "))
    });
    lines.collect()
}

/// Returns the content of every file of a project, without those in `.saihai`.
fn files(project: &Project) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![project.root()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let kind = fs::symlink_metadata(&path).expect("what it is").file_type();
            if kind.is_dir() && !path.ends_with(".saihai") {
                open.push(path);
            } else if kind.is_file() {
                let bytes = fs::read(&path).expect("a file");
                files.insert(path, bytes);
            } else {
                files.insert(path, Vec::new());
            }
        }
    }
    files
}

/// Returns the paths of added, deleted and changed files.
fn changed(project: &Project, before: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    let now = files(project);
    let names: BTreeSet<&PathBuf> = before.keys().chain(now.keys()).collect();
    names.into_iter().filter(|name| before.get(*name) != now.get(*name)).cloned().collect()
}
