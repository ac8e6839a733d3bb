//! Selections of random agents, kept as data with the answer of the first design: `tests/corpora/generate.py`.

use serde_json::Value as Json;

use super::agents::{agent, places, source};
use crate::select::{AgentFilter, select};
use saihai_config::Language;
use saihai_config::review::{Agent, LoadResult, load};
use saihai_model::{Subject, SubjectFile, SubjectMode};

const SELECTIONS: &str = include_str!("../../../../tests/corpora/selections.jsonl");

fn list(value: &Json) -> &[Json] {
    value.as_array().expect("an array")
}

fn text(value: &Json) -> &str {
    value.as_str().expect("a text")
}

/// Returns the file of an agent, which JSON strings and arrays can write because TOML has the same ones. The number of
/// its set leads its name.
fn file(set: usize, described: &Json) -> (String, String) {
    let [name, phase, always, names, contents] = list(described) else { panic!("five items") };
    let applies = format!(
        "phase = {phase}\n[applicability]\nalways = {always}\nfile_patterns = {names}\ncontent_patterns = {contents}\n"
    );
    let name = format!("{set:03}-{}", text(name));
    (format!("{name}.toml"), agent(&name, &applies))
}

fn subject(files: &Json) -> Subject {
    let files = list(files).iter().map(|file| SubjectFile {
        path: text(&file[0]).to_owned(),
        previous: None,
        text: text(&file[1]).to_owned(),
        left_out: None,
        lossy: false,
    });
    Subject { mode: SubjectMode::Files, files: files.collect() }
}

// 900 sets of agents
#[test]
fn random_agents_are_selected_as_the_first_design_selects_them() {
    let rows: Vec<Json> =
        SELECTIONS.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON")).collect();
    // Loading compiles the built-in agents too, so sets are loaded together.
    for (number, rows) in rows.chunks(150).enumerate() {
        let agents = rows
            .iter()
            .enumerate()
            .flat_map(|(set, row)| list(&row[0]).iter().map(move |one| file(set, one)));
        let files: Vec<(String, String)> = agents.collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let LoadResult { agents, errors, .. } =
            load(&source(&files), &places(), Language::English).expect("agents");
        assert!(errors.is_empty(), "{number}: {:?}", errors.first());
        for (set, row) in rows.iter().enumerate() {
            let prefix = format!("{set:03}-");
            let of_set = agents.iter().filter(|agent| agent.definition.name.starts_with(&prefix));
            let of_set: Vec<Agent> = of_set.cloned().collect();
            let selection = select(&of_set, &subject(&row[1]), &AgentFilter::default());
            let selected = selection.selected().map(|(agent, _)| &agent.definition.name[prefix.len()..]);
            let expected: Vec<&str> = list(&row[2]).iter().map(text).collect();
            assert_eq!(selected.collect::<Vec<_>>(), expected, "{row}");
        }
    }
}
