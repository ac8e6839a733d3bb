//! Journal reader that shares no code with the product.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A journal, parsed independently: its format is a public contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Journal {
    path: PathBuf,
    pub lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub seq: u64,
    /// Number of the append that wrote the line.
    pub batch: u64,
    /// Number of later lines in the same append.
    pub left: u64,
    pub kind: &'static str,
    pub name: String,
    pub body: Value,
}

impl Journal {
    pub fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').map(Line::parse).collect();
        Self { path: path.to_owned(), lines }
    }

    /// Returns the leading bytes that consist of complete appends. The rest was never acknowledged.
    pub fn whole(bytes: &[u8]) -> &[u8] {
        let mut whole = 0;
        let mut at = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            at += line.len();
            let json: Value = serde_json::from_slice(line).unwrap_or_default();
            if line.ends_with(b"\n") && json["left"] == 0 {
                whole = at;
            }
        }
        &bytes[..whole]
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the facts with a name, in order.
    pub fn facts<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.of("fact", name)
    }

    /// Returns the decisions with a name, in order.
    pub fn decisions<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.of("decision", name)
    }

    fn of<'a>(&'a self, kind: &'a str, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.lines.iter().filter(move |line| line.kind == kind && line.name == name).map(|line| &line.body)
    }

    /// Returns the entered stages, in order.
    pub fn path_taken(&self) -> Vec<&str> {
        self.decisions("entered").filter_map(|body| body["stage"].as_str()).collect()
    }

    /// Counts the requests of each call.
    pub fn asked(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for fact in self.facts("asked") {
            *counts.entry(call(&fact["call"])).or_insert(0) += 1;
        }
        counts
    }

    /// Returns the sent prompts with their calls. Attempts that repeat a prompt have none.
    pub fn prompts(&self) -> Vec<(String, String)> {
        let with_prompt = self.facts("asked").filter(|fact| !fact["prompt"].is_null());
        with_prompt.map(|fact| (call(&fact["call"]), self.text(&fact["prompt"]))).collect()
    }

    /// Returns the last prompt of a stage.
    pub fn prompt(&self, stage: &str) -> String {
        let wanted = format!("{stage}.");
        let mut prompts = self.prompts().into_iter().filter(|(call, _)| call.starts_with(&wanted));
        prompts.next_back().unwrap_or_else(|| panic!("nothing was sent for {stage}")).1
    }

    /// Returns a text, inline or from its blob file.
    pub fn text(&self, text: &Value) -> String {
        if let Some(inline) = text["inline"].as_str() {
            return inline.to_owned();
        }
        let hash = text["blob"]["hash"].as_str().unwrap_or_else(|| panic!("no text: {text}"));
        let blob = self.path.with_file_name("blobs").join(hash);
        fs::read_to_string(&blob).unwrap_or_else(|error| panic!("{}: {error}", blob.display()))
    }
}

impl Line {
    fn parse(bytes: &[u8]) -> Self {
        let shown = || String::from_utf8_lossy(bytes).into_owned();
        assert!(bytes.ends_with(b"\n"), "a line without an end: {}", shown());
        let json: Value =
            serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{error}: {}", shown()));
        let number = |key: &str| json[key].as_u64().unwrap_or_else(|| panic!("no {key}: {}", shown()));
        let kind = if json["fact"].is_null() { "decision" } else { "fact" };
        let (name, body) =
            match (json[kind].as_str(), json[kind].as_object().and_then(|one| one.iter().next())) {
                (Some(name), _) => (name.to_owned(), Value::Null),
                (None, Some((name, body))) => (name.clone(), body.clone()),
                (None, None) => panic!("neither a fact nor a decision: {}", shown()),
            };
        Self { seq: number("seq"), batch: number("batch"), left: number("left"), kind, name, body }
    }
}

fn call(call: &Value) -> String {
    let stage = call["stage"].as_str().unwrap_or_default();
    format!("{stage}.{}.{}.{}", call["visit"], call["round"], call["n"])
}
