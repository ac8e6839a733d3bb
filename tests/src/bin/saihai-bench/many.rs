//! I-45: cost of many parallel issues beyond the cost of git itself.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::law::Law;
use crate::numbers::{has_ended, peak_size, time_of_family};

const ISSUES: u32 = 50;
const REPETITIONS: usize = 3;

/// Baseline: the git commands that every issue needs, eight at a time.
const BY_HAND: &str = "seq $1 | xargs -P 8 -I N sh -c '
set -e
flock .git/turn git worktree add --quiet -b feature/issue-N .worktrees/issue-N main
cd .worktrees/issue-N
echo x > f
git add --all
git commit --quiet --message N
cd ../..
flock .git/turn git worktree remove .worktrees/issue-N
'";

pub(crate) fn measure() -> Result<Vec<Law>> {
    let (mut processor, mut wall, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    let mut raw = [const { String::new() }; 2];
    for _ in 0..REPETITIONS {
        let ours = work(ISSUES)?;
        let one = work(1)?;
        let floor = by_hand(ISSUES)?;
        processor.push(ours.processor / floor.processor);
        wall.push(ours.wall / floor.wall);
        memory.push((ours.peak - one.peak) / 1e6);
        raw[0] = format!("{:.1} s against {:.1} s by hand", ours.processor, floor.processor);
        raw[0] += &format!("; from the beginning to the end {:.1} s against {:.1} s", ours.wall, floor.wall);
        raw[1] = format!("{:.1} MB against {:.1} MB", ours.peak / 1e6, one.peak / 1e6);
    }
    let [processor_raw, memory_raw] = raw;
    let law = |what, limit, unit, measured, raw| Law { id: "I-45", what, limit, unit, measured, raw };
    Ok(vec![
        law(
            "processor time of 50 issues, git's included, against git by hand",
            10.0,
            "×",
            processor,
            processor_raw.clone(),
        ),
        law("time of 50 issues with `--jobs 8`, against git by hand", 8.0, "×", wall, processor_raw),
        law("peak size with 50 issues, beyond that with one", 20.0, "MB", memory, memory_raw),
    ])
}

/// Resources used by a process and its children.
pub(crate) struct Spent {
    pub(crate) wall: f64,
    processor: f64,
    /// Peak memory of the process itself, in bytes.
    peak: f64,
}

/// Runs the release build on this many issues of a folder. Each issue is a scripted turn that
/// writes a file.
fn work(issues: u32) -> Result<Spent> {
    let saihai = std::env::var("SAIHAI_BENCH_PROGRAM").context("start this with `cargo xtask bench`")?;
    let scene = Scene::new(issues)?;
    let arguments = ["work", "--definition", "it", "--script", "script.yaml", "--auto", "--jobs", "8"];
    scene.spend(Command::new(saihai).args(arguments))
}

fn by_hand(issues: u32) -> Result<Spent> {
    let scene = Scene::new(issues)?;
    scene.spend(Command::new("sh").args(["-c", BY_HAND, "by-hand", &issues.to_string()]))
}

/// A repository with an issue folder on the measured disk.
pub(crate) struct Scene {
    place: tempfile::TempDir,
    issues: u32,
}

impl Scene {
    fn new(issues: u32) -> Result<Self> {
        Self::with_script(
            issues,
            "script: 1\nreplies:\n  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}]}\n",
        )
    }

    pub(crate) fn with_script(issues: u32, script: &str) -> Result<Self> {
        let scene = Self { place: tempfile::tempdir_in(std::env::current_dir()?)?, issues };
        let piece =
            "name: it\nmovements: [{name: fix, edit: true, rules: [{condition: done, next: COMPLETE}]}]\n";
        scene.write("home/.gitconfig", "[user]\n\tname = B Ench\n\temail = bench@example.com\n")?;
        scene.write("repository/.saihai/pieces/it.yaml", piece)?;
        scene.write("repository/script.yaml", script)?;
        for number in 1..=issues {
            scene.write(&format!("repository/.saihai/issues/{number}.md"), &format!("# Issue {number}\n"))?;
        }
        scene.git(&["init", "--quiet", "--initial-branch=main"])?;
        scene.git(&["add", "--all"])?;
        scene.git(&["commit", "--quiet", "--message", "first"])?;
        Ok(scene)
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.path(path);
        fs::create_dir_all(path.parent().context("it is below the root")?)?;
        Ok(fs::write(path, text)?)
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> Result<String> {
        let output = self.here(Command::new("git").args(arguments)).output()?;
        ensure!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Isolates a command from this machine's configuration.
    pub(crate) fn here<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let command = command.current_dir(self.place.path().join("repository")).env_clear();
        let command = command.env("PATH", path).env("HOME", self.place.path().join("home"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").stdin(Stdio::null())
    }

    /// Works on every issue and returns the used resources.
    fn spend(&self, command: &mut Command) -> Result<Spent> {
        let spent = self.watch(command)?;
        let branches = self.git(&["for-each-ref", "refs/heads/feature"])?.lines().count();
        ensure!(branches == usize::try_from(self.issues)?, "{branches} branches of {}", self.issues);
        Ok(spent)
    }

    /// Runs a command to its end and returns the used resources.
    pub(crate) fn watch(&self, command: &mut Command) -> Result<Spent> {
        let begun = Instant::now();
        let mut child = self.here(command).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let id = child.id().to_string();
        let mut peak = 0.0;
        // A finished process keeps its times until it is reaped, but not its size.
        while !has_ended(&id)? {
            peak = peak_size(&id).unwrap_or(peak);
            thread::sleep(Duration::from_millis(5));
        }
        let spent = Spent {
            wall: begun.elapsed().as_secs_f64(),
            processor: time_of_family(&id)?.as_secs_f64(),
            peak,
        };
        ensure!(child.wait()?.success(), "it failed");
        Ok(spent)
    }
}
