//! I-45: the cost of an issue does not depend on the number of the others, also if all of them are merged into one
//! branch, and a list of issues starts no git for each.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::law::Law;
use crate::many::Scene;

const FEW: u32 = 25;
const SOME: u32 = 100;
const MANY: u32 = 200;

/// A scripted turn that writes a file of its own, so that every issue has something to merge.
const SCRIPT: &str = "script: 1\nreplies:\n  - {text: 'Done. [STEP:0]', runs: [{argv: [sh, -c, 'basename $PWD > $(basename $PWD)']}]}\n";

pub(crate) fn measure() -> Result<Vec<Law>> {
    let mut laws = Vec::new();
    for (jobs, what) in [
        ("8", "time for each of 200 merged issues with `--jobs 8`, against each of 25"),
        ("64", "time for each of 200 merged issues with `--jobs 64`, against each of 25"),
    ] {
        let mut each = Vec::new();
        for issues in [FEW, SOME, MANY] {
            each.push(merged(issues, jobs)? / f64::from(issues));
        }
        let raw = format!("{:.3} s each of 25, {:.3} s of 100, {:.3} s of 200", each[0], each[1], each[2]);
        let ratio = each[2] / each[0];
        laws.push(Law { id: "I-45", what, limit: 2.0, unit: "×", measured: vec![ratio], raw });
    }
    let (few, many) = (listed(FEW)?, listed(MANY)?);
    laws.push(Law {
        id: "I-45",
        what: "gits that `work --list` starts for each further issue",
        limit: 0.0,
        unit: "processes",
        measured: vec![f64::from(many.saturating_sub(few)) / f64::from(MANY - FEW)],
        raw: format!("{few} with {FEW} issues, {many} with {MANY}"),
    });
    Ok(laws)
}

/// Works on issues and merges all of them. Returns the seconds from start to end.
fn merged(issues: u32, jobs: &str) -> Result<f64> {
    let scene = Scene::with_script(issues, SCRIPT)?;
    let flags =
        ["work", "--definition", "it", "--script", "script.yaml", "--auto", "--merge", "--jobs", jobs];
    let spent = scene.watch(Command::new(program()?).args(flags))?;
    let merges = scene.git(&["rev-list", "--count", "--merges", "saihai/merge/main"])?;
    ensure!(merges.trim() == issues.to_string(), "{} merges of {issues}", merges.trim());
    Ok(spent.wall)
}

/// Lists issues, and returns the number of started gits.
fn listed(issues: u32) -> Result<u32> {
    let scene = Scene::with_script(issues, SCRIPT)?;
    let path = std::env::var("PATH").context("PATH")?;
    let git =
        path.split(':').map(|directory| format!("{directory}/git")).find(|git| fs::metadata(git).is_ok());
    let git = git.context("there is no git")?;
    let log = scene.path("gits");
    scene.write("bin/git", &format!("#!/bin/sh\necho >> {}\nexec {git} \"$@\"\n", log.display()))?;
    fs::set_permissions(scene.path("bin/git"), fs::Permissions::from_mode(0o755))?;
    let mut command = Command::new(program()?);
    let flags = ["work", "--definition", "it", "--script", "script.yaml", "--list"];
    let command = scene.here(command.args(flags));
    let output = command.env("PATH", format!("{}:{path}", scene.path("bin").display())).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(u32::try_from(fs::read(log)?.len())?)
}

fn program() -> Result<String> {
    std::env::var("SAIHAI_BENCH_PROGRAM").context("start this with `cargo xtask bench`")
}
