//! V-12: the page costs little more than the commands that show the same, and an idle server is small.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use saihai_tests::PageClient;

use crate::law::Law;
use crate::views::{MEMORY, compare, many_runs, run_of, timed};

const RUNS: usize = 1_000;
/// Turns of a run with at least 10,000 events.
const LONG: u32 = 2_000;

pub(crate) fn measure() -> Result<Vec<Law>> {
    let saihai =
        PathBuf::from(std::env::var("SAIHAI_BENCH_PROGRAM").context("start this with `cargo xtask bench`")?);
    let place = if Path::new(MEMORY).is_dir() { PathBuf::from(MEMORY) } else { std::env::temp_dir() };
    let (empty, many, long) =
        (tempfile::tempdir_in(&place)?, tempfile::tempdir_in(&place)?, tempfile::tempdir_in(&place)?);
    many_runs(many.path(), RUNS)?;
    let journal = run_of(long.path(), LONG)?;
    let idle = Server::start(&saihai, empty.path())?;
    let size = idle.size()?;
    let (list, one) = (Server::start(&saihai, many.path())?, Server::start(&saihai, long.path())?);
    let home = list.client.get("/api/home");
    ensure!(home["runs"].as_array().map(Vec::len) == Some(RUNS), "runs are missing");
    let run = one.client.get("/api/home")["runs"][0]["id"].as_str().context("a run")?.to_owned();
    let path = format!("/api/runs/{run}");
    Ok(vec![
        compare(
            "V-12",
            "the list of 1,000 runs on the page, against `saihai runs`",
            1.0,
            &mut || Ok(list.time("/api/home")),
            &mut || timed(&saihai, many.path(), &["runs"]),
        )?,
        compare(
            "V-12",
            "a run of 10,000 events on the page, against `saihai show` of it",
            3.0,
            &mut || Ok(one.time(&path)),
            &mut || timed(&saihai, long.path(), &["show", "last"]),
        )?,
        Law {
            id: "V-12",
            what: "size of an idle server",
            limit: 12.0,
            unit: "MB",
            measured: vec![size / 1e6],
            raw: format!("the journal of the long run has {} KB", fs::metadata(journal)?.len() / 1000),
        },
    ])
}

/// A server in a process of its own, and a client with its cookie.
struct Server {
    child: Child,
    client: PageClient,
}

impl Server {
    fn start(saihai: &Path, project: &Path) -> Result<Self> {
        let mut command = Command::new(saihai);
        command.args(["serve", "--json", "--port", "0"]).current_dir(project);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("its output")?).read_line(&mut line)?;
        Ok(Self { child, client: PageClient::opened(&line) })
    }

    fn time(&self, path: &str) -> f64 {
        let begun = Instant::now();
        drop(std::hint::black_box(self.client.send("GET", path, &[], "")));
        begun.elapsed().as_secs_f64()
    }

    /// Returns the resident size now.
    fn size(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("a size")?;
        let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes * 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
