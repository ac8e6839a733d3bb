//! V-17: the screen of `saihai top` costs little while a run writes many events.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use saihai_tests::{Project, Terminal};

use crate::law::Law;
use crate::numbers::time_of_family;

/// About ten turns a second, each with at least five events.
const PIECE: &str = "\
name: it
max_iterations: 100000
movements:
  - name: plan
    run: [sleep, '0.08']
    rules: [{condition: exit(0), next: plan}, {condition: 'exit(1..)', next: COMPLETE}]
";
const MEASURED: Duration = Duration::from_secs(6);

pub(crate) fn measure() -> Result<Vec<Law>> {
    let saihai = std::env::var("SAIHAI_BENCH_PROGRAM").context("start this with `cargo xtask bench`")?;
    let project = Project::new(&saihai);
    project.write(".takt/pieces/it.yaml", PIECE);
    let mut run = Command::new(&saihai);
    run.args(["run", "it", "The task.", "--provider", "script", "--trust-project"])
        .current_dir(project.root());
    let mut run = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    sleep(Duration::from_secs(1));
    let top = project.saihai(["top"]).without_env("NO_COLOR").env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(top);
    terminal.wait_for_screen("the run", |screen| screen.contains("> running"));
    let mut shares = Vec::new();
    let events = || std::fs::read_to_string(project.journal().path()).map(|text| text.lines().count());
    let mut raw = String::new();
    for is_opened in [false, true] {
        if is_opened {
            terminal.press("\rF");
            terminal.wait_for_screen("the run from the inside", |screen| screen.contains("following"));
        }
        let (before, spent, begun) =
            (events()?, time_of_family(&terminal.pid().to_string())?, Instant::now());
        sleep(MEASURED);
        let spent = time_of_family(&terminal.pid().to_string())?.saturating_sub(spent);
        let seconds = begun.elapsed().as_secs_f64();
        shares.push(100.0 * spent.as_secs_f64() / seconds);
        raw = format!("at {:.0} events a second", f64::from(u32::try_from(events()? - before)?) / seconds);
    }
    run.kill()?;
    run.wait()?;
    ensure!(terminal.text().contains("1049h"), "nothing was drawn");
    terminal.press("q");
    let law = |what, share: f64| Law {
        id: "V-17",
        what,
        limit: 5.0,
        unit: "% of a core",
        measured: vec![share],
        raw: raw.clone(),
    };
    Ok(vec![
        law("`saihai top` with its list, while a run works", shares[0]),
        law("`saihai top` inside of a run that it follows", shares[1]),
    ])
}
