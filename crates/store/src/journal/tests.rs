use std::path::Path;

use proptest::prelude::*;
use saihai_model::{CallId, Decision, Fact, Moment, Record, RecordEntry};

use super::{Journal, JournalReader, TornBatch};
use crate::disk::{Deadly, Death, Errno, FaultPlan};
use crate::{Disk, StoreError};

fn call(n: u32) -> CallId {
    CallId { stage: "plan \"1\"\n".into(), visit: 1, round: 1, n }
}

fn asked(n: u32, prompt: &str) -> RecordEntry {
    RecordEntry::Fact(Fact::Asked { call: call(n), attempt: 1, prompt: Some(prompt.into()) })
}

fn entered(visit: u32) -> RecordEntry {
    RecordEntry::Decision(Decision::Entered { stage: "plan".into(), visit, consecutive: 1 })
}

/// Builds batches of these sizes, and their records.
fn batches(sizes: &[u32]) -> Vec<Vec<(Moment, RecordEntry)>> {
    let mut number = 0;
    let mut next = |_| {
        number += 1;
        let entry =
            if number % 2 == 0 { entered(number) } else { asked(number, "Do {\"v\":1} J\u{2028}語") };
        (Moment(1_770_368_160_000 + u64::from(number)), entry)
    };
    sizes.iter().map(|size| (0..*size).map(&mut next).collect()).collect()
}

/// The bytes of a journal, the records of each batch, and the start of each batch.
struct Written {
    bytes: Vec<u8>,
    batches: Vec<Vec<Record>>,
    starts: Vec<usize>,
}

fn written(sizes: &[u32]) -> Written {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    let mut journal = Journal::create(&path, &Disk::new()).unwrap();
    let (mut records, mut starts) = (Vec::new(), Vec::new());
    for batch in batches(sizes) {
        starts.push(std::fs::read(&path).unwrap().len());
        records.push(journal.append(batch).unwrap());
    }
    Written { bytes: std::fs::read(&path).unwrap(), batches: records, starts }
}

/// Reads the complete batches and the torn part.
fn read(bytes: &[u8]) -> Result<(Vec<Vec<Record>>, Option<TornBatch>), StoreError> {
    let mut reader = JournalReader::new(bytes, Path::new("journal.ndjson"));
    let mut batches = Vec::new();
    while let Some(batch) = reader.next_records()? {
        batches.push(batch);
    }
    Ok((batches, reader.torn()))
}

fn refused_line(bytes: &[u8]) -> u64 {
    match read(bytes) {
        Err(StoreError::Damaged { line, .. }) => line,
        other => panic!("not refused: {other:?}"),
    }
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

#[test]
fn a_line_is_framed_numbered_and_sealed() {
    let written = written(&[1, 2]);
    insta::assert_snapshot!(String::from_utf8(written.bytes).unwrap(), @r#"
    {"v":1,"seq":1,"batch":1,"left":0,"at":"2026-02-06T08:56:00.001Z","fact":{"asked":{"call":{"stage":"plan \"1\"\n","visit":1,"round":1,"n":1},"attempt":1,"prompt":{"inline":"Do {\"v\":1} J 語"}}},"sum":"c61c09b8"}
    {"v":1,"seq":2,"batch":2,"left":1,"at":"2026-02-06T08:56:00.002Z","decision":{"entered":{"stage":"plan","visit":2,"consecutive":1}},"sum":"65ab76f2"}
    {"v":1,"seq":3,"batch":2,"left":0,"at":"2026-02-06T08:56:00.003Z","fact":{"asked":{"call":{"stage":"plan \"1\"\n","visit":1,"round":1,"n":3},"attempt":1,"prompt":{"inline":"Do {\"v\":1} J 語"}}},"sum":"a4cdefaa"}
    "#);
}

#[test]
fn what_was_appended_is_read_back() {
    let written = written(&[1, 3, 2, 1]);
    let (batches, torn) = read(&written.bytes).unwrap();
    assert_eq!(batches, written.batches);
    assert_eq!(torn, None);
}

// T-12
#[test]
fn a_journal_cut_at_any_byte_keeps_its_whole_batches_and_drops_the_torn_one() {
    let written = written(&[1, 3, 2, 1]);
    for cut in 0..written.bytes.len() {
        let (batches, torn) =
            read(&written.bytes[..cut]).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let whole = written.starts.iter().filter(|start| **start <= cut).count().saturating_sub(1);
        assert_eq!(batches, written.batches[..whole], "cut at {cut}");
        let line = 1 + written.batches[..whole].iter().map(Vec::len).sum::<usize>() as u64;
        let bytes = (cut - written.starts[whole]) as u64;
        assert_eq!(torn, (bytes > 0).then_some(TornBatch { line, bytes }), "cut at {cut}");
    }
}

// T-13
#[test]
fn any_flipped_bit_before_the_last_batch_is_refused_by_its_line() {
    let written = written(&[1, 2, 1, 1]);
    let last = *written.starts.last().unwrap();
    for position in 0..last {
        for bit in 0..8 {
            let mut bytes = written.bytes.clone();
            bytes[position] ^= 1 << bit;
            let line = 1 + written.bytes[..position].iter().filter(|byte| **byte == b'\n').count() as u64;
            assert_eq!(refused_line(&bytes), line, "bit {bit} of byte {position}");
        }
    }
}

// T-12
#[test]
fn any_flipped_bit_of_the_last_batch_drops_it_whole() {
    for sizes in [&[2, 1, 3][..], &[1, 1]] {
        let written = written(sizes);
        let (last, before) = (*written.starts.last().unwrap(), written.batches.len() - 1);
        for position in last..written.bytes.len() {
            for bit in 0..8 {
                let mut bytes = written.bytes.clone();
                bytes[position] ^= 1 << bit;
                let (batches, torn) = read(&bytes).unwrap();
                assert_eq!(batches, written.batches[..before], "bit {bit} of byte {position}");
                assert_eq!(torn.map(|torn| torn.bytes as usize), Some(bytes.len() - last));
            }
        }
    }
}

// T-13
#[test]
fn a_line_deleted_doubled_or_swapped_before_the_last_batch_is_refused() {
    let written = written(&[1, 3, 1, 2, 1]);
    let sound = lines(&written.bytes);
    for index in 0..sound.len() - 1 {
        let mut deleted = sound.clone();
        deleted.remove(index);
        assert_eq!(refused_line(&deleted.concat()), index as u64 + 1, "line {} deleted", index + 1);
        let mut doubled = sound.clone();
        doubled.insert(index, sound[index].clone());
        assert_eq!(refused_line(&doubled.concat()), index as u64 + 2, "line {} doubled", index + 1);
        for other in index + 1..sound.len() - 1 {
            let mut swapped = sound.clone();
            swapped.swap(index, other);
            assert_eq!(refused_line(&swapped.concat()), index as u64 + 1, "{index} and {other} swapped");
        }
    }
}

// T-12
#[test]
fn what_never_was_a_line_behind_the_last_batch_is_dropped() {
    let written = written(&[1, 2]);
    for tail in [&[0_u8; 4096][..], b"\n\n\n", b"{\"v\":1,\"seq\":4,", b"\xff\xfe", b"{}\n"] {
        let bytes = [&written.bytes[..], tail].concat();
        let (batches, torn) = read(&bytes).unwrap();
        assert_eq!(batches, written.batches);
        assert_eq!(torn, Some(TornBatch { line: 4, bytes: tail.len() as u64 }));
    }
}

#[test]
fn a_line_of_a_newer_format_is_refused_as_such() {
    let sealed = br#"{"v":2,"who":"knows""#;
    let line = format!("{},\"sum\":\"{:08x}\"}}\n", str::from_utf8(sealed).unwrap(), crc32fast::hash(sealed));
    let error = read(line.as_bytes()).unwrap_err();
    insta::assert_snapshot!(error, @"`journal.ndjson`:1: written by a newer version of Saihai (format 2)");
}

// T-17
#[test]
fn a_sound_line_that_says_something_unknown_is_refused_and_never_dropped() {
    let sealed = br#"{"v":1,"seq":1,"batch":1,"left":0,"at":"2026-02-06T08:56:00.001Z","fact":{"flew":{}}"#;
    let line = format!("{},\"sum\":\"{:08x}\"}}\n", str::from_utf8(sealed).unwrap(), crc32fast::hash(sealed));
    assert_eq!(refused_line(line.as_bytes()), 1);
}

#[test]
fn a_reopened_journal_cuts_what_was_torn_and_goes_on_with_the_next_number() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    let written = written(&[1, 2]);
    std::fs::write(&path, [&written.bytes[..], b"{\"v\":1,"].concat()).unwrap();
    let mut reader = JournalReader::open(&path).unwrap();
    while reader.next_batch().unwrap().is_some() {}
    let torn = reader.torn().is_some();
    let mut journal = Journal::reopen(&path, &Disk::new(), reader.end(), torn).unwrap();
    let more = journal.append(vec![(Moment(1_770_368_170_000), entered(9))]).unwrap();
    assert_eq!(more[0].seq, 4);
    let (batches, torn) = read(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(batches[..2], written.batches);
    assert_eq!((batches.len(), torn), (3, None));
}

// T-16: a failed sync is never trusted, even if the next one would succeed.
#[test]
fn after_a_failed_append_the_journal_takes_nothing_more() {
    for (operation, errno) in [(2, Errno::NoSpace), (2, Errno::Short), (3, Errno::Io)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.ndjson");
        let disk = Disk::failing(FaultPlan { fail: Some((operation, errno)), ..FaultPlan::default() });
        let mut journal = Journal::create(&path, &disk).unwrap();
        let mut batches = batches(&[1, 1]).into_iter();
        journal.append(batches.next().unwrap()).unwrap_err();
        let before = std::fs::read(&path).unwrap();
        let again = journal.append(batches.next().unwrap()).unwrap_err();
        assert!(again.to_string().ends_with("an earlier append has failed"), "{again}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

// T-101
#[test]
fn an_append_is_one_write_and_one_sync_however_many_lines_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Disk::new();
    let mut journal = Journal::create(&directory.path().join("journal.ndjson"), &disk).unwrap();
    for batch in batches(&[1, 40]) {
        let before = disk.operations();
        journal.append(batch).unwrap();
        let after = disk.operations();
        assert_eq!((after.writes - before.writes, after.syncs - before.syncs), (1, 1));
        assert_eq!(after.all - before.all, 2);
    }
}

#[test]
fn a_journal_that_another_process_has_written_to_is_not_written_to() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    let mut journal = Journal::create(&path, &Disk::new()).unwrap();
    std::fs::write(&path, "something\n").unwrap();
    let error = journal.append(batches(&[1]).remove(0)).unwrap_err();
    assert!(error.to_string().ends_with("another process has written to it"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"something\n");
}

#[test]
fn a_moment_beyond_the_calendar_is_written_as_its_last_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.ndjson");
    let mut journal = Journal::create(&path, &Disk::new()).unwrap();
    journal.append(vec![(Moment(u64::MAX), entered(1))]).unwrap();
    let (batches, _) = read(&std::fs::read(&path).unwrap()).unwrap();
    assert!(batches[0][0].at > Moment(250_000_000_000_000));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // T-10 for the journal: after a death during an append, earlier batches stay. The append is complete or gone.
    #[test]
    fn dying_in_an_append_loses_nothing_before_it(
        sizes in prop::collection::vec(1_u32..5, 1..6),
        operation in 1_u64..14,
        moment in prop::sample::select(vec![Death::Before, Death::Half, Death::After]),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.ndjson");
        let disk = Disk::failing(FaultPlan { die: Some((Deadly::Number(operation), moment)), ..FaultPlan::default() });
        let mut acknowledged = Vec::new();
        if let Ok(mut journal) = Journal::create(&path, &disk) {
            for batch in batches(&sizes) {
                match journal.append(batch) {
                    Ok(records) => acknowledged.push(records),
                    Err(_) => break,
                }
            }
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        let (read, _) = read(&bytes).unwrap();
        prop_assert!(read.starts_with(&acknowledged));
        prop_assert!(read.len() <= acknowledged.len() + 1);
    }

    // P9
    #[test]
    fn no_bytes_make_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        drop(read(&bytes));
    }

    // T-13, with several damages at once: refused or dropped, never accepted.
    #[test]
    fn damaged_bytes_are_never_read_as_other_records(
        sizes in prop::collection::vec(1_u32..4, 1..5),
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let written = written(&sizes);
        let mut bytes = written.bytes.clone();
        for (index, byte) in &damages {
            *index.get_mut(&mut bytes) = *byte;
        }
        if let Ok((batches, _)) = read(&bytes) {
            prop_assert!(written.batches.starts_with(&batches));
        }
    }
}
