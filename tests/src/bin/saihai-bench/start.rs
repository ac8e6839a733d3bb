//! T-100: start-up cost.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::law::Law;
use crate::numbers::median;

const PAIRS: usize = 200;

pub(crate) fn measure() -> Result<Vec<Law>> {
    let saihai = std::env::var("SAIHAI_BENCH_PROGRAM").context("start this with `cargo xtask bench`")?;
    let nothing = std::env::current_exe()?.with_file_name("saihai-nothing");
    let mut ratios = Vec::new();
    let mut shown = (0.0, 0.0);
    for _ in 0..5 {
        let (mut ours, mut empty) = (Vec::new(), Vec::new());
        for _ in 0..PAIRS {
            ours.push(start(Path::new(&saihai), &["--version"])?.as_secs_f64());
            empty.push(start(&nothing, &[])?.as_secs_f64());
        }
        shown = (median(&ours), median(&empty));
        ratios.push(shown.0 / shown.1);
    }
    let raw = format!("{:.2} ms against {:.2} ms for an empty program", shown.0 * 1e3, shown.1 * 1e3);
    let what = "start of `saihai --version` against an empty program";
    Ok(vec![Law { id: "T-100", what, limit: 2.0, unit: "×", measured: ratios, raw }])
}

fn start(program: &Path, arguments: &[&str]) -> Result<Duration> {
    let begun = Instant::now();
    let status = Command::new(program).args(arguments).env_clear().stdout(Stdio::null()).status()?;
    ensure!(status.success(), "{} failed", program.display());
    Ok(begun.elapsed())
}
