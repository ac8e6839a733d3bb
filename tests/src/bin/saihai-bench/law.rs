use std::fmt;
use std::process::Command;

use crate::numbers::median;

/// A cost limit and its measurement.
pub(crate) struct Law {
    pub(crate) id: &'static str,
    pub(crate) what: &'static str,
    pub(crate) limit: f64,
    pub(crate) unit: &'static str,
    pub(crate) measured: Vec<f64>,
    /// Raw numbers behind the value, for display.
    pub(crate) raw: String,
}

impl Law {
    pub(crate) fn is_kept(&self) -> bool {
        median(&self.measured) <= self.limit
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, what, limit, unit, .. } = self;
        let kept = if self.is_kept() { "kept" } else { "BROKEN" };
        writeln!(f, "{id:6} {what}: {:.2} {unit}, law ≤ {limit} {unit}: {kept}", median(&self.measured))?;
        let all: Vec<String> = self.measured.iter().map(|one| format!("{one:.2}")).collect();
        write!(f, "       repetitions {}; {}", all.join(" "), self.raw)
    }
}

pub(crate) fn machine() -> String {
    let said = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().ok();
        output.map_or_else(String::new, |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        processor.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "saihai {}, {}, {} {}, {cores} cores of {}\n",
        env!("CARGO_PKG_VERSION"),
        said("rustc", "--version"),
        said("uname", "-s"),
        said("uname", "-r"),
        model.trim_start_matches([' ', '\t', ':']),
    )
}
