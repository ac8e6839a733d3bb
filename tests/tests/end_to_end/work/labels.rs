//! Labels that show the state of an issue.

use super::github::Scene;
use super::writes;

// I-54, case 40: see also the test below and that of a forge that refuses labels
#[test]
fn labels_show_how_an_issue_stands_and_leave_all_others_alone() {
    let replies = "  - {text: 'No. [STEP:1]', prompt: Bad}\n  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}]}\n";
    let scene = Scene::new(replies, |state| {
        state.issue(7, "Good", &["saihai", "x:blocked", "bug"]);
        state.issue(8, "Bad", &["saihai", "x:merged-by-hand"]);
        state.issue(9, "Needs it", &["saihai"]).body = "Depends on #404".to_owned();
        for number in 0..250 {
            state.labels.insert(format!("label {number}"), "ffffff".to_owned());
        }
        // The label is on the last page, and Saihai must not create it again.
        state.labels.insert("x:running".to_owned(), "0e8a16".to_owned());
    });
    scene.project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nlabel_prefix = \"x\"\n");
    scene.work(&["--label", "saihai", "--merge"]).exits(1);
    let state = scene.server.state();
    let labels = |number: u64| state.issues[&number].labels.clone();
    assert_eq!(labels(7), ["saihai", "bug", "x:completed", "x:merged"]);
    assert_eq!(labels(8), ["saihai", "x:merged-by-hand", "x:failed"]);
    assert_eq!(labels(9), ["saihai", "x:blocked"]);
    let colour = |name: &str| state.labels.get(&format!("x:{name}")).map(String::as_str);
    let expected = [
        ("queued", "c2e0c6"),
        ("running", "0e8a16"),
        ("completed", "0075ca"),
        ("failed", "d73a4a"),
        ("blocked", "fbca04"),
        ("merged", "1d76db"),
    ];
    for (name, hex) in expected {
        assert_eq!(colour(name), Some(hex), "{name}");
    }
    // Saihai sets one state label after the other, and never two of the five at once.
    let path = "/repos/me/tool/issues/7/labels";
    let requests = scene.server.requests().into_iter();
    let changes: Vec<String> = requests
        .filter(|request| request.method != "GET" && request.path.starts_with(path))
        .map(|request| {
            let name = request.path.replace(path, "").replace("%3A", ":");
            let added = request.body["labels"].as_array().cloned().unwrap_or_default();
            let added: Vec<&str> = added.iter().filter_map(|label| label.as_str()).collect();
            format!("{} {name}{}", request.method, added.join(","))
        })
        .collect();
    let expected = [
        "DELETE /x:blocked",
        "POST x:queued",
        "DELETE /x:queued",
        "POST x:running",
        "DELETE /x:running",
        "POST x:completed,x:merged",
    ];
    assert_eq!(changes, expected);
    let other = Scene::new(&writes("f"), |state| {
        state.issue(7, "Login fails", &["saihai"]);
    });
    other.work(&["--label", "saihai"]).exits(0);
    assert_eq!(other.server.state().labels["saihai:pr-created"], "6f42c1");
}

// I-54: a folder is read-only, so the plan shows the state.
#[test]
fn the_plan_shows_how_issues_of_a_folder_stand() {
    let replies = "  - {text: 'No. [STEP:1]', prompt: Bad}\n  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}]}\n";
    let project = super::repository(replies);
    project.write(".saihai/issues/1.md", "# Good\n");
    project.write(".saihai/issues/2.md", "# Bad\n");
    super::commit(&project);
    super::auto(&project, &[]).exits(1);
    project.write(".saihai/issues/3.md", "# New\n");
    let listed = super::work(&project, &["--list", "--json"]).run().exits(0).json();
    let labels: Vec<_> = listed.iter().map(|one| one["labels"][0].as_str().unwrap_or_default()).collect();
    assert_eq!(labels, ["saihai:completed", "saihai:failed", "saihai:queued"]);
    let shown = super::work(&project, &["--list"]).run().exits(0);
    assert!(shown.stdout.lines().next().is_some_and(|head| head.ends_with("LABELS")), "{shown}");
    assert!(shown.stdout.contains("saihai:failed"), "{shown}");
}
