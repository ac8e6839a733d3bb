//! B-4: cost of a sandbox per turn. A turn of a program that does nothing, with a sandbox and without one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context, Result, ensure};

use crate::law::Law;
use crate::numbers::median;

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
    for (sandbox, what) in
        [("landlock", "a turn under landlock, more"), ("bwrap", "a turn under bwrap, more")]
    {
        let mut measured = Vec::new();
        let mut raw = String::new();
        for _ in 0..5 {
            let (mut inside, mut outside) = (Vec::new(), Vec::new());
            for _ in 0..RUNS {
                outside.push(run("off")?.as_secs_f64());
                inside.push(run(sandbox)?.as_secs_f64());
            }
            let per_turn = |times: &[f64]| median(times) / f64::from(TURNS) * 1e3;
            measured.push(per_turn(&inside) - per_turn(&outside));
            raw = format!("{:.2} ms a turn against {:.2} ms", per_turn(&inside), per_turn(&outside));
        }
        laws.push(Law { id: "B-4", what, limit: 5.0, unit: "ms", measured, raw });
    }
    Ok(laws)
}

fn run(program: &Path, home: &Path, project: &Path, sandbox: &str) -> Result<Duration> {
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.args(["run", "it", "T", "--json", "--sandbox", sandbox]).current_dir(project);
    command.env("HOME", home).env_remove("XDG_CONFIG_HOME").stdin(Stdio::null());
    let output = command.output()?;
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "`--sandbox {sandbox}` failed: {complaint}");
    Ok(begun.elapsed())
}
