//! Torn and damaged journals. H-62 requires the same for every dialect.

use std::fs;
use std::path::PathBuf;

use saihai_tests::{Project, in_parallel};

use crate::support::{Chance, project, run};

const DEFINITION: &str = "
name: it
max_iterations: 4
movements:
  - name: ask
    rules: [{condition: more, next: ask}, {condition: words, next: use, requires_user_input: true}]
  - name: use
    rules: [{condition: done, next: COMPLETE}]
";

const REPLIES: &str = "  - {for: ask, visit: 1, text: '[STEP:0]'}
  - {for: ask, visit: 2, text: 'One question: which? [STEP:1]'}
  - {for: use, text: '[STEP:0]'}
";

/// A run that waits at a gate, and its journal.
struct Parked {
    project: Project,
    path: PathBuf,
    bytes: Vec<u8>,
    /// Offset of the last append.
    last: usize,
}

impl Parked {
    fn new() -> Self {
        let project = project(DEFINITION, REPLIES);
        run(&project).exits(6);
        let path = project.run_directory().join("journal.ndjson");
        let bytes = fs::read(&path).expect("a journal");
        let batches: Vec<u64> = project.journal().lines.iter().map(|line| line.batch).collect();
        let before = batches.iter().filter(|batch| Some(*batch) != batches.last()).count();
        let mut parked = Self { project, path, bytes, last: 0 };
        parked.last = parked.lines()[before];
        parked
    }

    /// Returns the offset of each line and the end.
    fn lines(&self) -> Vec<usize> {
        let ends = self.bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        [0].into_iter().chain(ends).collect()
    }

    /// Replaces the journal and resumes the run. Returns the exit code and stderr.
    fn resumed_with(&self, bytes: &[u8]) -> (Option<i32>, String) {
        fs::write(&self.path, bytes).expect("the journal");
        let outcome = self.project.saihai(["resume", "last"]).run();
        (outcome.code, outcome.stderr)
    }

    /// Checks a torn journal: Saihai drops the torn part with one warning, and the run reaches its gate again.
    fn is_mended(&self, bytes: &[u8], torn: bool) -> Result<(), String> {
        let (code, stderr) = self.resumed_with(bytes);
        let warnings = stderr.lines().filter(|line| line.starts_with("warning")).count();
        let mended = self.project.journal();
        let waits =
            mended.decisions("parked").last().is_some_and(|parked| !parked["hold"]["person"].is_null());
        if code == Some(6) && warnings == usize::from(torn) && waits {
            return Ok(());
        }
        Err(format!("code {code:?}, {warnings} warnings, waits: {waits}\n{stderr}"))
    }

    /// Checks a damaged journal: Saihai refuses it, names the file and the line, and changes nothing.
    fn is_refused(&self, bytes: &[u8], line: usize) -> Result<(), String> {
        let (code, stderr) = self.resumed_with(bytes);
        let named = stderr.contains(&format!("journal.ndjson`:{line}: "));
        let untouched = fs::read(&self.path).is_ok_and(|now| now == bytes);
        if code == Some(2) && named && untouched {
            return Ok(());
        }
        Err(format!("line {line}: code {code:?}, named: {named}, untouched: {untouched}\n{stderr}"))
    }
}

#[test]
fn t12_a_journal_cut_at_any_byte_of_its_last_lines_is_repaired() {
    // Offsets count from the end, because names of directories differ between runs.
    let one = Parked::new();
    let lines = one.lines();
    let cuts: Vec<usize> = (1..=one.bytes.len() - lines[lines.len() - 4]).collect();
    assert!(cuts.len() > 100);
    let halves: Vec<&[usize]> = cuts.chunks(cuts.len().div_ceil(2)).collect();
    in_parallel(&halves, |cuts| {
        let parked = Parked::new();
        cuts.iter().try_for_each(|cut| {
            let length = parked.bytes.len() - cut;
            let torn = length != parked.last;
            let result = parked.is_mended(&parked.bytes[..length], torn);
            result.map_err(|what| format!("{cut} bytes from the end: {what}"))
        })
    });
}

#[test]
fn t12_what_a_lost_write_leaves_in_the_last_append_is_dropped() {
    let parked = Parked::new();
    let start = parked.last;
    let nulls = |count: usize| vec![0; count];
    let middle = start + (parked.bytes.len() - start) / 2;
    let with_nulls_behind = [parked.bytes.clone(), nulls(4_096)].concat();
    let all_nulls = [parked.bytes[..start].to_vec(), nulls(parked.bytes.len() - start)].concat();
    let half_nulls = [parked.bytes[..middle].to_vec(), nulls(parked.bytes.len() - middle)].concat();
    let mut flipped = parked.bytes.clone();
    flipped[middle] ^= 1;
    for (what, bytes) in
        [("behind", with_nulls_behind), ("all", all_nulls), ("half", half_nulls), ("flipped", flipped)]
    {
        parked.is_mended(&bytes, true).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

#[test]
fn t13_a_flipped_bit_before_the_last_append_is_refused_by_line() {
    let mut chance = Chance::new(13);
    let flips: Vec<(usize, u32)> =
        (0..1_000).map(|_| (chance.below(1 << 30), u32::try_from(chance.below(8)).expect("a bit"))).collect();
    let halves: Vec<&[(usize, u32)]> = flips.chunks(500).collect();
    in_parallel(&halves, |flips| {
        let parked = Parked::new();
        flips.iter().try_for_each(|(byte, bit)| {
            let mut damaged = parked.bytes.clone();
            // Names of directories differ between runs, so the offset of the last append varies a little.
            let byte = byte % parked.last;
            damaged[byte] ^= 1 << bit;
            let line = parked.bytes[..byte].iter().filter(|byte| **byte == b'\n').count() + 1;
            parked.is_refused(&damaged, line).map_err(|what| format!("byte {byte}, bit {bit}: {what}"))
        })
    });
}

#[test]
fn t13_a_line_deleted_doubled_or_swapped_is_refused() {
    let parked = Parked::new();
    let starts = parked.lines();
    let last = parked.last;
    let line = |index: usize| &parked.bytes[starts[index]..starts[index + 1]];
    let count = starts.iter().filter(|start| **start < last).count();
    for index in 0..count {
        let (before, after) = (&parked.bytes[..starts[index]], &parked.bytes[starts[index + 1]..]);
        parked
            .is_refused(&[before, after].concat(), index + 1)
            .unwrap_or_else(|what| panic!("deleted {index}: {what}"));
        let doubled = [before, line(index), line(index), after].concat();
        parked.is_refused(&doubled, index + 2).unwrap_or_else(|what| panic!("doubled {index}: {what}"));
        if index + 1 < count {
            let rest = &parked.bytes[starts[index + 2]..];
            let swapped = [before, line(index + 1), line(index), rest].concat();
            parked.is_refused(&swapped, index + 1).unwrap_or_else(|what| panic!("swapped {index}: {what}"));
        }
    }
}

#[test]
fn t13_a_blob_altered_or_missing_is_refused_when_it_is_needed() {
    let definition = "
name: it
max_iterations: 1
movements:
  - {name: long, rules: [{condition: on, next: after}]}
  - {name: after, rules: [{condition: done, next: COMPLETE}]}
";
    let long =
        serde_json::json!({"for": "long", "text": format!("{}\n[STEP:0]", "A long line.\n".repeat(2_000))});
    let replies = format!("  - {long}\n  - {{for: after, text: '[STEP:0]'}}\n");
    for missing in [true, false] {
        let project = project(definition, &replies);
        run(&project).exits(5);
        let blobs: Vec<PathBuf> = fs::read_dir(project.run_directory().join("blobs"))
            .expect("blobs")
            .map(|entry| entry.expect("a blob").path())
            .collect();
        for blob in &blobs {
            let written = if missing { fs::remove_file(blob) } else { fs::write(blob, "something else") };
            written.expect("the blob");
        }
        let before = project.snapshot();
        let outcome = project.saihai(["resume", "last", "--max-iterations", "5"]).run().exits(2);
        let named = blobs
            .iter()
            .any(|blob| outcome.stderr.contains(&*blob.file_name().expect("a name").to_string_lossy()));
        assert!(named, "{outcome}");
        assert_eq!(project.snapshot(), before);
    }
}

#[test]
fn t13_a_frozen_workflow_that_was_altered_is_refused() {
    let parked = Parked::new();
    let frozen = parked.project.run_directory().join("workflow.json");
    let text = fs::read_to_string(&frozen).expect("a frozen workflow").replace("\"use\"", "\"ask\"");
    fs::write(&frozen, text).expect("the frozen workflow");
    let outcome = parked.project.saihai(["resume", "last"]).run().exits(2);
    assert!(outcome.stderr.contains("workflow.json"), "{outcome}");
}
