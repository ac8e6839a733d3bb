//! Crate dependencies follow `ARCHITECTURE.md`, and the pure crates build without tokio.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Violation;

const PURE: [&str; 7] = [
    "saihai-model",
    "saihai-json-schema",
    "saihai-judge",
    "saihai-engine",
    "saihai-config",
    "saihai-view",
    "saihai-telemetry",
];

/// Cargo metadata of the workspace and all its dependencies.
pub struct Metadata {
    json: Value,
}

impl Metadata {
    /// Runs `cargo metadata`, which needs no network here.
    pub fn of_workspace() -> Result<Self> {
        let manifest = xtask::source::root().join("Cargo.toml");
        // Without a platform filter, cargo would fetch packages for other platforms.
        let metadata = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args([
                "metadata",
                "--format-version=1",
                "--offline",
                "--filter-platform",
                &host()?,
                "--manifest-path",
            ])
            .arg(manifest)
            .output()
            .context("cargo could not be started")?;
        ensure!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
        Ok(Self { json: serde_json::from_slice(&metadata.stdout)? })
    }

    /// Returns the workspace crates with their workspace dependencies.
    fn edges(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let ours: Vec<&Value> =
            list(&self.json["packages"]).iter().filter(|one| one["source"].is_null()).collect();
        let names: BTreeSet<&str> = ours.iter().filter_map(|one| one["name"].as_str()).collect();
        ours.iter()
            .filter_map(|one| {
                let dependencies = list(&one["dependencies"]).iter().filter(|edge| edge["kind"] != "dev");
                let of_ours =
                    dependencies.filter_map(|edge| edge["name"].as_str()).filter(|name| names.contains(name));
                Some((one["name"].as_str()?, of_ours.collect()))
            })
            .collect()
    }

    /// Returns every transitive dependency of a crate.
    fn tree(&self, name: &str) -> BTreeSet<&str> {
        let nodes: BTreeMap<&str, &Value> = list(&self.json["resolve"]["nodes"])
            .iter()
            .filter_map(|node| Some((node["id"].as_str()?, node)))
            .collect();
        let names: BTreeMap<&str, &str> = list(&self.json["packages"])
            .iter()
            .filter_map(|one| Some((one["id"].as_str()?, one["name"].as_str()?)))
            .collect();
        let mut open: Vec<&str> =
            names.iter().filter(|(_, known)| **known == name).map(|(id, _)| *id).collect();
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                let edges = nodes.get(id).map_or(&[][..], |node| list(&node["deps"]));
                let built = edges
                    .iter()
                    .filter(|edge| list(&edge["dep_kinds"]).iter().any(|one| one["kind"] != "dev"));
                open.extend(built.filter_map(|edge| edge["pkg"].as_str()));
            }
        }
        seen.into_iter().filter_map(|id| names.get(id).copied()).collect()
    }
}

/// Returns the target platform of this compiler.
fn host() -> Result<String> {
    let compiler = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .arg("-vV")
        .output()
        .context("rustc could not be started")?;
    let text = String::from_utf8(compiler.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say its host")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Compares the crates with the table in `ARCHITECTURE.md`. Each crate needs a row and may use only
/// the crates in it.
pub fn edges_are_as_drawn(metadata: &Metadata, architecture: &str) -> Vec<Violation> {
    let allowed = drawn(architecture);
    let mut found = Vec::new();
    for (name, uses) in metadata.edges() {
        let Some(may_use) = allowed.get(name) else {
            found
                .push(Violation { place: name.to_owned(), what: "has no row in ARCHITECTURE.md".to_owned() });
            continue;
        };
        for used in uses.into_iter().filter(|used| !may_use.contains(*used)) {
            let what = format!("depends on {used}, which ARCHITECTURE.md does not allow");
            found.push(Violation { place: name.to_owned(), what });
        }
    }
    found
}

/// Parses the table: each crate with the crates it may use. A name without the prefix is a crate,
/// `all above` the previous rows, `all` every row.
fn drawn(architecture: &str) -> BTreeMap<String, BTreeSet<String>> {
    let rows: Vec<(String, String)> = architecture
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.strip_prefix("| `")?.split('|').map(str::trim).collect();
            let [first, _, last, ""] = cells.as_slice() else { return None };
            Some((first.split('`').next()?.to_owned(), (*last).to_owned()))
        })
        .collect();
    let names: Vec<&String> = rows.iter().map(|(name, _)| name).collect();
    let resolve = |index: usize, cell: &str| -> BTreeSet<String> {
        match cell {
            "all" => names.iter().map(|name| (*name).clone()).collect(),
            "all above" => names[..index].iter().map(|name| (*name).clone()).collect(),
            "–" => BTreeSet::new(),
            words => words.split(", ").map(|word| format!("saihai-{word}")).collect(),
        }
    };
    rows.iter().enumerate().map(|(index, (name, cell))| (name.clone(), resolve(index, cell))).collect()
}

/// Checks that configuration, judge, engine and model do not depend on tokio, even indirectly
/// (C-1).
pub fn pure_crates_build_without_tokio(metadata: &Metadata) -> Vec<Violation> {
    let mut found = Vec::new();
    for name in PURE {
        let tree = metadata.tree(name);
        if !tree.contains(name) {
            found.push(Violation { place: name.to_owned(), what: "is not in the workspace".to_owned() });
        }
        for heavy in
            tree.into_iter().filter(|one| matches!(*one, "tokio" | "reqwest" | "hyper" | "process-wrap"))
        {
            found.push(Violation { place: name.to_owned(), what: format!("is built with {heavy}") });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::shown;
    use super::*;

    const TABLE: &str = "\
| crate (directory) | what it is | may use of ours |
|---|---|---|
| `saihai-model` (`crates/model`) | words | – |
| `saihai-engine` (`crates/engine`) | the machine | model |
| `saihai` (`crates/driver`) | the loop | all above |
| `xtask` | tasks | all |
";

    /// Creates a workspace with these dependencies.
    fn workspace(edges: &[(&str, &[&str])]) -> Metadata {
        let dependency = |name: &&str| json!({"name": name, "kind": null});
        let packages: Vec<Value> = edges
            .iter()
            .map(|(name, uses)| {
                let dependencies: Vec<Value> = uses.iter().map(dependency).collect();
                let source = if *name == "tokio" { json!("registry") } else { Value::Null };
                json!({"id": format!("#{name}"), "name": name, "source": source, "dependencies": dependencies})
            })
            .collect();
        let node = |name: &&str| json!({"pkg": format!("#{name}"), "dep_kinds": [{"kind": null}]});
        let nodes: Vec<Value> = edges
            .iter()
            .map(|(name, uses)| json!({"id": format!("#{name}"), "deps": uses.iter().map(node).collect::<Vec<_>>()}))
            .collect();
        Metadata { json: json!({"packages": packages, "resolve": {"nodes": nodes}}) }
    }

    #[test]
    fn an_edge_that_is_not_drawn_is_found() {
        let good = workspace(&[
            ("saihai-model", &[]),
            ("saihai-engine", &["saihai-model"]),
            ("saihai", &["saihai-engine"]),
        ]);
        assert_eq!(shown(&edges_are_as_drawn(&good, TABLE)), [""; 0]);
        let bad = workspace(&[
            ("saihai-model", &["saihai-engine"]),
            ("saihai-engine", &["saihai"]),
            ("saihai", &[]),
        ]);
        assert_eq!(
            shown(&edges_are_as_drawn(&bad, TABLE)),
            [
                "saihai-engine: depends on saihai, which ARCHITECTURE.md does not allow",
                "saihai-model: depends on saihai-engine, which ARCHITECTURE.md does not allow",
            ]
        );
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        let strange = workspace(&[("saihai-utils", &[])]);
        assert_eq!(
            shown(&edges_are_as_drawn(&strange, TABLE)),
            ["saihai-utils: has no row in ARCHITECTURE.md"]
        );
    }

    #[test]
    fn tokio_is_found_behind_another_crate() {
        let pure: &[&str] = &[];
        let bad = workspace(&[
            ("saihai-model", pure),
            ("saihai-judge", &["between"]),
            ("saihai-engine", &[]),
            ("saihai-config", &[]),
            ("saihai-json-schema", &[]),
            ("saihai-view", &[]),
            ("saihai-telemetry", &[]),
            ("between", &["tokio"]),
            ("tokio", &[]),
        ]);
        assert_eq!(shown(&pure_crates_build_without_tokio(&bad)), ["saihai-judge: is built with tokio"]);
    }
}
