//! Medians, CPU time and peak memory.

use std::time::Duration;

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the CPU time of this process so far.
pub(crate) fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(spent.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(spent.tv_nsec).unwrap_or(0))
}

/// Returns the peak resident memory of a process in bytes.
pub(crate) fn peak_size(process: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes * 1024.0)
}

/// Returns true if a child has ended but is not yet reaped.
pub(crate) fn has_ended(process: &str) -> Result<bool> {
    Ok(counts(process)?.first().is_some_and(|state| state == "Z"))
}

/// Returns the CPU time of a child and of its reaped descendants.
pub(crate) fn time_of_family(process: &str) -> Result<Duration> {
    let counts = counts(process)?;
    // User and system time of the process, then those of its reaped children.
    let ticks: u64 = counts.get(11..15).context("times")?.iter().map(|one| one.parse().unwrap_or(0)).sum();
    // Linux reports these in hundredths of a second, independent of its tick rate.
    Ok(Duration::from_millis(10 * ticks))
}

/// Returns the fields of `/proc/…/stat` after the process name, which may contain any character.
fn counts(process: &str) -> Result<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, counts) = stat.rsplit_once(')').context("a name")?;
    Ok(counts.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_read_until_it_is_waited_for() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
        let mut child =
            std::process::Command::new("sh").args(["-c", &format!("sh -c '{busy}'; true")]).spawn().unwrap();
        let id = child.id().to_string();
        while !has_ended(&id).unwrap() {
            std::thread::yield_now();
        }
        assert!(
            time_of_family(&id).unwrap() >= Duration::from_millis(20),
            "the child of the child is counted"
        );
        assert!(child.wait().unwrap().success());
        assert!(has_ended(&id).is_err());
    }

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!(median(&[]).is_nan());
    }
}
