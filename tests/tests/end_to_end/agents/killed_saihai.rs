//! A killed Saihai while an agent works. C-58, Connections case 32.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use saihai_tests::{FakeAgent, Live, Project};
use serde_json::{Value, json};

use super::fake;
use super::one_request::is_alive;
use super::personality::{ACP, ALL, settings_file, with_each};
use crate::support::PROGRAM;

const DEFINITION: &str = "
name: it
movements:
  - {name: work, rules: [{condition: done, next: COMPLETE}]}
";

/// Waits until a file exists and reads it.
fn read(path: &Path) -> String {
    let begun = Instant::now();
    loop {
        match fs::read_to_string(path) {
            Ok(text) => return text,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(60), "{}: {error}", path.display()),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn project(name: &'static str) -> Project {
    let project = Project::new(PROGRAM);
    project.write(".takt/pieces/it.yaml", DEFINITION);
    project.write("../home/.config/saihai/config.toml", settings_file(name));
    project
}

/// Kills a run during its first turn, and returns the process that the agent left behind.
fn killed_run(fake: &FakeAgent<'_>, project: &Project, name: &str, kill: impl FnOnce(&Live, u32)) -> u32 {
    let live = fake.saihai(["run", "it", "T", "--provider", name]).start();
    let lingering: u32 = read(&project.root().join("lingering")).parse().expect("a number");
    let agent = fake.calls()[0].process();
    kill(&live, agent);
    live.finish();
    wait_until("the agent outlives Saihai", || !is_alive(agent));
    lingering
}

fn script(fault: &str) -> Value {
    json!([{"text": "part", "no_end": true, "fault": fault}, {"text": "[STEP:0]"}])
}

// T-71: every program leaves a child, a process in its own session, or one with neither parent nor mark.
#[test]
fn c58_everything_an_agent_started_dies_with_saihai() {
    let faults = ["forks", "setsid", "bare_double_fork"];
    let cases: Vec<_> = faults.into_iter().flat_map(|fault| ALL.map(|name| (name, fault))).collect();
    with_each(&cases, |case @ (name, fault)| {
        let project = project(name);
        let fake = fake(&project, name, &script(fault));
        let lingering = killed_run(&fake, &project, name, |live, _| live.signal(Signal::KILL));
        wait_until(&format!("a process outlives Saihai: {case:?}"), || !is_alive(lingering));
        fake.saihai(["resume", "last"]).run().exits(0);
    });
}

// T-71: the test also kills the supervisor. Only the agent itself dies then, and the run's next owner ends the rest.
#[test]
fn c58_resume_ends_what_outlived_saihai_and_the_supervisor() {
    let setsid = ["claude", "codex", ACP].map(|name| (name, "setsid"));
    let cases: Vec<_> = ALL.map(|name| (name, "double_fork")).into_iter().chain(setsid).collect();
    with_each(&cases, |case @ (name, fault)| {
        let project = project(name);
        let fake = fake(&project, name, &script(fault));
        let lingering = killed_run(&fake, &project, name, |live, agent| {
            let supervisor = parent(agent);
            assert_eq!(parent(supervisor), live.pid(), "the control: {case:?}");
            // While Saihai is stopped, it cannot react to the end of the supervisor.
            live.signal(Signal::STOP);
            kill(supervisor, Signal::KILL);
            live.signal(Signal::KILL);
        });
        assert!(is_alive(lingering), "the control: it outlives both: {case:?}");
        fake.saihai(["resume", "last"]).run().exits(0);
        assert!(!is_alive(lingering), "{case:?}");
        assert!(!fake.calls()[1].saw_lingering(), "it was gone before anything was asked: {case:?}");
    });
}

fn parent(process: u32) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it is alive");
    let (_, fields) = stat.rsplit_once(") ").expect("the end of its name");
    fields.split(' ').nth(1).and_then(|number| number.parse().ok()).expect("the number of its parent")
}

fn kill(process: u32, signal: Signal) {
    let process = rustix::process::Pid::from_raw(process.cast_signed()).expect("not zero");
    rustix::process::kill_process(process, signal).expect("it is alive");
}
