//! `saihai show --findings`: the findings of a run's reviews, and what became of each.

use saihai::{LoadedRun, RunDirectory};
use saihai_model::ExitStatus;
use saihai_view::{FindingsLedger, LedgerFinding};
use serde::Serialize;

use crate::error::CommandError;
use crate::quantities::count;
use crate::terminal::{Streams, Table, visible_line};

#[derive(Serialize)]
struct FindingsObject<'a> {
    run: &'a str,
    #[serde(flatten)]
    ledger: &'a FindingsLedger,
}

pub(super) fn show_findings(
    directory: &RunDirectory,
    stage: Option<&str>,
    as_json: bool,
    streams: &mut Streams,
) -> Result<ExitStatus, CommandError> {
    if let Some(stage) = stage {
        let error = CommandError::usage(format!("findings are of a whole run, and not only of `{stage}`"));
        return Err(error.hint("leave the stage out"));
    }
    let run = LoadedRun::read(directory)?;
    let ledger = run.view.findings_ledger(&run.workflow);
    if as_json {
        streams.out.json("findings", FindingsObject { run: directory.id(), ledger: &ledger })?;
        return Ok(ExitStatus::Done);
    }
    if ledger.findings.is_empty() {
        streams.note("no review of this run lists findings");
        return Ok(ExitStatus::Done);
    }
    let lines = table(&ledger).lines_for(&streams.out);
    streams.out.lines(&lines)?;
    let open = ledger.findings.iter().filter(|finding| finding.state.is_open()).count();
    streams.note(&format!("{} open, of {}", count(open as u64, "finding"), ledger.findings.len()));
    Ok(ExitStatus::Done)
}

fn table(ledger: &FindingsLedger) -> Table {
    let mut table = Table::new(&["STATE", "SEVERITY", "ORIGIN", "ITERATIONS", "BY", "FINDING"]);
    for finding in &ledger.findings {
        table.row(vec![
            finding.state.name().to_owned(),
            finding.severity.map_or("-", |severity| severity.name()).to_owned(),
            finding.origin.map_or("-", |origin| origin.name()).to_owned(),
            iterations(finding),
            reviewers(finding),
            words(finding),
        ]);
    }
    table
}

fn iterations(finding: &LedgerFinding) -> String {
    match finding.first == finding.last {
        true => finding.first.to_string(),
        false => format!("{}–{}", finding.first, finding.last),
    }
}

/// Lists the reviewers; `!` marks one that no longer names the finding.
fn reviewers(finding: &LedgerFinding) -> String {
    let mark = |name: &String| {
        let denied = if finding.denied_by.contains(name) { "!" } else { "" };
        format!("{denied}{}", visible_line(name))
    };
    finding.by.iter().map(mark).collect::<Vec<_>>().join(", ")
}

fn words(finding: &LedgerFinding) -> String {
    let file = finding.file.as_ref().map(|file| format!("{}: ", visible_line(file))).unwrap_or_default();
    format!("{file}{}", visible_line(&finding.text))
}
