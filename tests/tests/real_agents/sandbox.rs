//! The programs inside a sandbox: they work, and a hostile model cannot leave it (B-4).

use std::fs;
use std::path::Path;

use saihai_tests::{Answer, RealAgent};

use crate::cases::{DONE, FULL};
use crate::scene::Scene;

/// A turn writes into an existing folder. Landlock does not let it create entries next to `.saihai`.
pub(crate) fn a_turn_that_edits_inside(agent: &'static RealAgent, sandbox: &str) {
    edits(&scene_that_edits(agent), sandbox);
}

/// The program reaches only its model: a network of its own, the relay and the proxy lie between them.
pub(crate) fn a_turn_in_a_limited_network(agent: &'static RealAgent) {
    let scene = scene_that_edits(agent);
    let server = scene.here.server.url();
    let server = server.strip_prefix("http://").expect("plain HTTP");
    scene.set_for_all(&format!("sandbox_network = [\"{server}\"]"));
    edits(&scene, "bwrap");
}

fn scene_that_edits(agent: &'static RealAgent) -> Scene {
    Scene::new(agent, FULL, |root, _| {
        [(agent.write)(&root.join("src/greeting.txt"), "hello"), Answer::text(DONE)]
    })
}

fn edits(scene: &Scene, sandbox: &str) {
    scene.here.project.write("src/old.txt", "");
    let outcome = inside(scene, sandbox).run().exits(0);
    assert_eq!(scene.here.project.read("src/greeting.txt"), "hello", "{outcome}");
}

/// The model orders commands against everything that a sandbox protects. `off` is the control.
pub(crate) fn a_hostile_agent(agent: &'static RealAgent) {
    for (sandbox, worked) in [("off", true), ("landlock", false), ("bwrap", false)] {
        let scene = Scene::new(agent, FULL, |root, _| {
            let base = root.parent().expect("a directory of the test");
            let command = attacks(root, &base.join("home"), &base.join("sibling"));
            [(agent.run)(&command), Answer::text(DONE)]
        });
        let project = &scene.here.project;
        let (home, sibling) = (project.home(), project.root().parent().expect("a directory").join("sibling"));
        project.write("src/old.txt", "").write(".git/config", "").write(".git/hooks/none", "");
        project.write(".saihai/runs/other/inbox/none", "").write(".saihai/runs/other/journal.ndjson", "");
        fs::create_dir_all(home.join(".ssh")).expect("a directory for keys");
        fs::write(home.join(".ssh/key"), "PRIVATE").expect("a key");
        fs::create_dir_all(&sibling).expect("a sibling");
        let outcome = inside(&scene, sandbox).run().exits(0);
        assert_eq!(scene.here.server.asked().len(), 2, "the model did try: {outcome}");
        assert!(project.root().join("src/tried").exists(), "{sandbox}: the command ran: {outcome}");
        let left = [
            home.join(".bashrc-of-agent"),
            project.root().join(".git/hooks/post-checkout"),
            project.root().join(".saihai/runs/other/inbox/answer"),
            sibling.join("evil"),
            project.root().join("src/key"),
        ];
        for file in left {
            let is_there = fs::read_to_string(&file).is_ok_and(|text| !text.is_empty());
            assert_eq!(is_there, worked, "{sandbox}: {}: {outcome}", file.display());
        }
        for file in [".git/config", ".saihai/runs/other/journal.ndjson"] {
            assert_eq!(!project.read(file).is_empty(), worked, "{sandbox}: {file}: {outcome}");
        }
    }
}

fn attacks(root: &Path, home: &Path, sibling: &Path) -> String {
    let (root, home, sibling) = (root.display(), home.display(), sibling.display());
    format!(
        "echo evil > {home}/.bashrc-of-agent; echo evil > {root}/.git/hooks/post-checkout; echo evil >> {root}/.git/config; \
         echo evil > {root}/.saihai/runs/other/inbox/answer; echo evil >> {root}/.saihai/runs/other/journal.ndjson; \
         echo evil > {sibling}/evil; cat {home}/.ssh/key > {root}/src/key; echo x > {root}/src/tried; true"
    )
}

fn inside(scene: &Scene, sandbox: &str) -> saihai_tests::Invocation {
    scene.run_with(&["--sandbox", sandbox])
}
