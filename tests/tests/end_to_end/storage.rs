//! Failing disks and full disks. P-55.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use saihai_tests::{At, End, Fault, Outcome, Project, Workload, in_parallel};

use crate::support::PROGRAM;

/// Returns the operations of the first call of an uninterrupted workload.
fn operations() -> Vec<At> {
    let workload = Workload::new(PROGRAM);
    let log = workload.project.home().join("operations.log");
    workload.begin().fault(&Fault::note(&log)).run().exits(6);
    At::noted(&log)
}

/// Checks that the run stopped because of the disk, asked nothing unacknowledged, and continues later.
fn stops_and_goes_on(workload: &Workload, outcome: &Outcome, expected: &End) -> Result<(), String> {
    if outcome.code != Some(4) {
        return Err(format!("{outcome}"));
    }
    let began = !workload.project.begun().is_empty();
    if began {
        let calls: usize = workload.calls().iter().map(|(_, count)| count).sum();
        let listed = workload.project.saihai(["runs", "--json"]).run();
        let state = listed.json().first().map(|run| run["state"].clone());
        let asked = acknowledged_asks(workload);
        if calls > asked {
            return Err(format!("{calls} calls, {asked} acknowledged asks: {outcome}"));
        }
        if !matches!(state.as_ref().and_then(|state| state.as_str()), Some("parked" | "interrupted")) {
            return Err(format!("state {state:?}: {outcome}"));
        }
    }
    let finished = if began { workload.finish() } else { anew(workload) };
    if finished.code != Some(0) {
        return Err(format!("{outcome}\n{finished}"));
    }
    if workload.end() != *expected {
        return Err(format!("it ended otherwise: {outcome}"));
    }
    Ok(())
}

fn anew(workload: &Workload) -> Outcome {
    workload.begin().run().exits(6);
    workload.finish()
}

/// Returns the number of requests in the readable part of the journal.
fn acknowledged_asks(workload: &Workload) -> usize {
    let bytes = std::fs::read(workload.project.run_directory().join("journal.ndjson")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).matches("\"asked\"").count()
}

fn every_operation_fails_once(how: &str) {
    let (_, expected) = Workload::uninterrupted(PROGRAM);
    in_parallel(&operations(), |at| {
        let workload = Workload::new(PROGRAM);
        let outcome = workload.begin().fault(&Fault::fail(at.number, how)).run();
        stops_and_goes_on(&workload, &outcome, &expected).map_err(|what| format!("{how} at {at:?}: {what}"))
    });
}

#[test]
fn t14_any_operation_may_find_the_disk_full() {
    every_operation_fails_once("ENOSPC");
}

#[test]
fn t14_any_operation_may_meet_a_broken_disk() {
    every_operation_fails_once("EIO");
}

#[test]
fn t14_a_disk_that_stays_full_is_named_with_path_and_cause() {
    let operations = operations();
    let middle = operations[operations.len() / 2].number;
    let workload = Workload::new(PROGRAM);
    let outcome = workload.begin().fault(&Fault::fail_from(middle, "ENOSPC")).run().exits(4);
    assert!(outcome.stderr.contains("No space left on device"), "{outcome}");
    assert!(outcome.stderr.contains(".saihai/runs/"), "{outcome}");
    assert!(outcome.stderr.contains("saihai resume"), "{outcome}");
}

#[test]
fn t16_a_failed_sync_is_never_believed() {
    let (_, expected) = Workload::uninterrupted(PROGRAM);
    let syncs: Vec<At> = operations().into_iter().filter(|at| at.kind == "Sync").collect();
    assert!(syncs.len() > 40, "{} syncs", syncs.len());
    // Later writes succeed, so a runner that retried the sync would continue instead of stopping.
    in_parallel(&syncs, |at| {
        let workload = Workload::new(PROGRAM);
        let outcome = workload.begin().fault(&Fault::fail(at.number, "EIO")).run();
        stops_and_goes_on(&workload, &outcome, &expected).map_err(|what| format!("{at:?}: {what}"))
    });
}

// A substitute for a separate file system: it needs no privilege and always runs (T-4).
#[test]
fn t15_a_file_that_may_not_grow_stops_the_run() {
    let (_, expected) = Workload::uninterrupted(PROGRAM);
    let workload = Workload::new(PROGRAM);
    let outcome = workload.begin().under_shell("trap '' XFSZ; ulimit -f 40").run();
    stops_and_goes_on(&workload, &outcome, &expected).unwrap_or_else(|what| panic!("{what}"));
}

#[test]
fn t15_a_really_full_disk_stops_the_run() {
    let possible =
        Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|status| status.success());
    if !possible {
        println!(
            "skipped: no user namespace here; t15_a_file_that_may_not_grow_stops_the_run is its substitute"
        );
        return;
    }
    let workload = Workload::new(PROGRAM);
    let codes = on_a_small_disk(&workload);
    assert_eq!(codes, "4\n6\n0\n0\n");
}

/// Runs the workload on a nearly full file system of 1 MiB, then frees space and continues. Returns the exit
/// codes. The agents write to another file system, because a full disk there would be a failure of the agent.
fn on_a_small_disk(workload: &Workload) -> String {
    let script = r#"
        set -u
        mount -t tmpfs -o size=1m tmpfs "$2" && cp -r "$1/." "$2" && cd "$2" || exit 1
        mount -t tmpfs tmpfs calls && cp -r "$1/calls/." calls || exit 1
        free=$(df --output=avail -B1 . | tail -n 1)
        head -c $((free - 300000)) /dev/zero > ballast
        "$3" run workload "Deliver the feature." --script script.json >/dev/null 2>&1; echo $?
        rm ballast
        "$3" resume last >/dev/null 2>&1; echo $?
        "$3" answer last words >/dev/null 2>&1; echo $?
        "$3" resume last >/dev/null 2>&1; echo $?
    "#;
    let mount = workload.project.home().join("disk");
    std::fs::create_dir(&mount).expect("a mount point");
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-c", script, "sh"])
        .args([workload.project.root().as_path(), &mount, Path::new(PROGRAM)])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", workload.project.home())
        .output()
        .expect("unshare");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

// P-55: Saihai cannot store an agent's output
#[test]
fn a_disk_that_is_full_while_an_agent_speaks_parks_the_run_for_storage() {
    let project = Project::new(PROGRAM);
    let piece = "
name: it
movements:
  - {name: one, rules: [{condition: ok, next: two}]}
  - {name: two, rules: [{condition: ok, next: COMPLETE}]}
";
    project.write(".takt/pieces/it.yaml", piece);
    // The output file of the second turn is a link to `/dev/full`.
    let agent = project.home().join("agent.sh");
    let program = "#!/bin/sh
cat > input
for run in .saihai/runs/*/; do ln -s /dev/full \"$run/scratch/two.1.1.1-1.out\" 2> /dev/null; done
echo '[STEP:0]'
";
    std::fs::write(&agent, program).expect("a program");
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    let settings = format!(
        "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"{}\"\nhonours = [\"readonly\"]\n",
        agent.display()
    );
    project.write("../home/.config/saihai/config.toml", settings);
    let stopped = project.saihai(["run", "it", "T", "--json"]).run().exits(4);
    let result = stopped.result();
    assert_eq!((&result["outcome"], &result["reason"]), (&"parked".into(), &"storage".into()), "{stopped}");
    let file = project.run_directory().join("scratch/two.1.1.1-1.out");
    let error = format!("cannot write `{}`: No space left on device (os error 28)", file.display());
    assert_eq!(result["error"], error.as_str(), "{stopped}");
    assert_eq!(project.journal().facts("failed").count(), 0);
    project.saihai(["resume", "last"]).run().exits(0);
}
