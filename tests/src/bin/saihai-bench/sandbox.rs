//! B-4: cost of a sandbox per turn. A turn of a program that does nothing, with a sandbox and without one.
//!
//! The law counts processor time, which other work on the machine hardly changes. The elapsed time is printed next to
//! it: most of it is the kernel's wait for namespaces, which `bwrap` alone shows.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::{Context, Result, ensure};

use crate::law::Law;
use crate::numbers::{has_ended, median, time_of_family};

const TURNS: u32 = 20;
const RUNS: usize = 5;

const SETTINGS: &str = "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"sh\"\n\
    args = [\"-c\", \"cat > /dev/null; echo '[STEP:0]'\"]\nhonours = [\"readonly\", \"edit\"]\n";

pub(crate) fn measure() -> Result<Vec<Law>> {
    let program = env::var("SAIHAI_BENCH_PROGRAM").context("start this with `cargo xtask bench`")?;
    let directory = tempfile::tempdir()?;
    let (home, project) = (directory.path().join("home"), directory.path().join("project"));
    fs::create_dir_all(home.join(".config/saihai"))?;
    fs::write(home.join(".config/saihai/config.toml"), SETTINGS)?;
    // Secrets below a full home directory make the longest list of rules.
    for number in 0..200 {
        fs::create_dir(home.join(format!("folder-{number}")))?;
    }
    fs::create_dir(home.join(".ssh"))?;
    fs::create_dir_all(project.join(".saihai/pieces"))?;
    let movement = |number: u32| {
        let next = if number == TURNS { "COMPLETE".to_owned() } else { format!("m{}", number + 1) };
        format!(
            "  - {{name: m{number}, edit: true, instruction: Do it., rules: [{{condition: done, next: {next}}}]}}\n"
        )
    };
    let movements: String = (1..=TURNS).map(movement).collect();
    fs::write(
        project.join(".saihai/pieces/it.yaml"),
        format!("name: it\nmax_iterations: 100\nmovements:\n{movements}"),
    )?;
    let run = |sandbox: &str| run(Path::new(&program), &home, &project, sandbox);
    run("off")?;
    let mut laws = Vec::new();
    for (sandbox, what) in [
        ("landlock", "processor time of a turn under landlock, more"),
        ("bwrap", "processor time of a turn under bwrap, more"),
    ] {
        let mut measured = Vec::new();
        let (mut inside, mut outside, mut floor) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..5 {
            let mut processor = Duration::ZERO;
            let mut processor_outside = Duration::ZERO;
            for _ in 0..RUNS {
                let (spent, elapsed) = run("off")?;
                processor_outside += spent;
                outside.push(elapsed.as_secs_f64() / f64::from(TURNS));
                let (spent, elapsed) = run(sandbox)?;
                processor += spent;
                inside.push(elapsed.as_secs_f64() / f64::from(TURNS));
                floor.push(bwrap_alone()?.as_secs_f64());
            }
            let turns = f64::from(TURNS) * RUNS as f64;
            measured.push((processor.as_secs_f64() - processor_outside.as_secs_f64()) / turns * 1e3);
        }
        let [inside, outside, floor] = [inside, outside, floor].map(|times| median(&times) * 1e3);
        let raw = format!(
            "elapsed {inside:.2} ms a turn against {outside:.2} ms; `bwrap` alone with `true` takes {floor:.2} ms"
        );
        laws.push(Law { id: "B-4", what, limit: 5.0, unit: "ms", measured, raw });
    }
    Ok(laws)
}

/// Returns the processor time of a run with all its programs, and the elapsed time.
fn run(program: &Path, home: &Path, project: &Path, sandbox: &str) -> Result<(Duration, Duration)> {
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.args(["run", "it", "T", "--json", "--sandbox", sandbox]).current_dir(project);
    command.env("HOME", home).env_remove("XDG_CONFIG_HOME");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let id = child.id().to_string();
    while !has_ended(&id)? {
        thread::sleep(Duration::from_millis(2));
    }
    let elapsed = begun.elapsed();
    // Before the process is reaped, and after it has reaped its own.
    let processor = time_of_family(&id)?;
    ensure!(child.wait()?.success(), "`saihai run --sandbox {sandbox}` failed");
    Ok((processor, elapsed))
}

/// Returns the time that namespaces take without Saihai.
fn bwrap_alone() -> Result<Duration> {
    let begun = Instant::now();
    let arguments = "--unshare-pid --unshare-ipc --unshare-uts --ro-bind / / --dev /dev --proc /proc true";
    let status = Command::new("bwrap").args(arguments.split(' ')).status()?;
    ensure!(status.success(), "`bwrap` failed");
    Ok(begun.elapsed())
}
