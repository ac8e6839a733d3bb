//! Kills Saihai at every disk operation, and resumes the run. T-7, T-8.

use saihai_tests::{At, End, Fault, Invocation, Journal, Moment, Workload, in_parallel};

use crate::support::PROGRAM;

/// One of the three calls of an uninterrupted workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Begin,
    Answer,
    Resume,
}

/// The operation and the moment of a kill.
#[derive(Debug, Clone)]
struct Point {
    call: Call,
    moment: Moment,
    at: At,
}

impl Call {
    fn of(self, workload: &Workload) -> Invocation {
        match self {
            Self::Begin => workload.begin(),
            Self::Answer => workload.answer(),
            Self::Resume => workload.resume(),
        }
    }
}

/// Returns every operation of an uninterrupted workload, with every moment at which a kill makes a difference.
fn points() -> Vec<Point> {
    let workload = Workload::new(PROGRAM);
    let mut points = Vec::new();
    for (call, code) in [(Call::Begin, 6), (Call::Answer, 0), (Call::Resume, 0)] {
        let log = workload.project.home().join("operations.log");
        call.of(&workload).fault(&Fault::note(&log)).run().exits(code);
        for at in At::noted(&log) {
            points.extend(at.moments().iter().map(|moment| Point { call, moment: *moment, at: at.clone() }));
        }
        std::fs::remove_file(log).expect("the log was there");
    }
    points
}

/// Runs a new workload up to the point, kills it there, finishes the run and compares the end.
fn check(point: &Point, expected: &End) -> Result<(), String> {
    let workload = Workload::new(PROGRAM);
    for (call, code) in [(Call::Begin, 6), (Call::Answer, 0)] {
        if call == point.call {
            break;
        }
        call.of(&workload).run().exits(code);
    }
    let killed = point.call.of(&workload).fault(&Fault::kill(point.moment, point.at.number)).run();
    if killed.signal != Some(9) {
        return Err(format!("{point:?}: was not killed: {killed}"));
    }
    if workload.project.begun().is_empty() {
        return starts_anew(&workload, expected, point);
    }
    let acknowledged = acknowledged(&workload);
    let in_flight = in_flight(&workload);
    let outcome = workload.finish();
    if outcome.code != Some(0) {
        return Err(format!("{point:?}: {outcome}"));
    }
    compare(&workload, expected, &acknowledged, in_flight).map_err(|what| format!("{point:?}: {what}"))
}

/// Checks a kill before the first acknowledged append: there is no run, and the same call creates one.
fn starts_anew(workload: &Workload, expected: &End, point: &Point) -> Result<(), String> {
    let begun = workload.begin().run();
    let listed = workload.project.saihai(["runs"]).run();
    if (begun.code, listed.code) != (Some(6), Some(0)) {
        return Err(format!("{point:?}: {begun}\n{listed}"));
    }
    let outcome = workload.finish();
    if outcome.code == Some(0) && workload.end() == *expected {
        return Ok(());
    }
    Err(format!("{point:?}: begun again it ends otherwise: {outcome}"))
}

fn compare(workload: &Workload, expected: &End, acknowledged: &[u8], in_flight: usize) -> Result<(), String> {
    let bytes =
        std::fs::read(workload.project.run_directory().join("journal.ndjson")).map_err(|e| e.to_string())?;
    if !bytes.starts_with(acknowledged) {
        return Err("acknowledged bytes were changed".to_owned());
    }
    let end = workload.end();
    if end != *expected {
        return Err(format!("it ended otherwise\n{:#?}\n{:#?}", end.exits, expected.exits));
    }
    // T-20: only turns in flight may run again, and only once.
    let calls: usize = workload.calls().iter().map(|(_, count)| count).sum();
    let without_questions = Workload::TURNS - 1;
    if !(without_questions..=without_questions + in_flight).contains(&calls) {
        return Err(format!("{calls} calls, {in_flight} in flight: {:?}", workload.calls()));
    }
    Ok(())
}

/// Returns the bytes of all complete appends.
fn acknowledged(workload: &Workload) -> Vec<u8> {
    let bytes = std::fs::read(workload.project.run_directory().join("journal.ndjson")).expect("a journal");
    Journal::whole(&bytes).to_vec()
}

/// Returns the number of turns without an answer when the process died.
fn in_flight(workload: &Workload) -> usize {
    let copy = workload.project.home().join("acknowledged.ndjson");
    std::fs::write(&copy, acknowledged(workload)).expect("a copy of the journal");
    let journal = Journal::read(&copy);
    let ended = journal.facts("replied").count() + journal.facts("failed").count();
    journal.facts("asked").count() - ended
}

// T-1: the test is deterministic; a failure names the call, the operation and the moment.
#[test]
fn t10_crash_matrix() {
    let (_, expected) = Workload::uninterrupted(PROGRAM);
    let points = points();
    let journal_writes = points.iter().filter(|point| point.at.path.ends_with("journal.ndjson")).count();
    assert!(
        points.len() > 150 && journal_writes > 100,
        "{} points, {journal_writes} of the journal",
        points.len()
    );
    in_parallel(&points, |point| check(point, &expected));
}

// T-8: the test would notice a disk that lost an acknowledged append, and a repeated turn.
#[test]
fn t10_control_a_lost_append_is_noticed() {
    let (_, expected) = Workload::uninterrupted(PROGRAM);
    let workload = Workload::new(PROGRAM);
    workload.begin().fault(&Fault::kill(Moment::After, 120)).run();
    let whole = acknowledged(&workload);
    let in_flight = in_flight(&workload);
    let path = workload.project.run_directory().join("journal.ndjson");
    let without_last_line = &whole[..whole.len() - 2];
    std::fs::write(&path, Journal::whole(without_last_line)).expect("a journal that lost its last append");
    workload.finish().exits(0);
    let noticed = compare(&workload, &expected, &whole, in_flight).expect_err("it is another journal");
    assert_eq!(noticed, "acknowledged bytes were changed");
    let asked_twice = compare(&workload, &expected, &[], 0).expect_err("a turn was asked again");
    assert!(asked_twice.contains("calls"), "{asked_twice}");
}

#[test]
fn t20_an_uninterrupted_workload_asks_every_turn_once() {
    let (workload, end) = Workload::uninterrupted(PROGRAM);
    let journal = workload.project.journal();
    assert_eq!(journal.asked().len(), Workload::TURNS);
    assert!(journal.asked().values().all(|count| *count == 1));
    assert_eq!(workload.calls().iter().map(|(_, count)| count).sum::<usize>(), Workload::TURNS - 1);
    let appends = journal.lines.last().expect("lines").batch;
    assert!(appends >= 60, "{appends} appends");
    let mut stages = end.path.clone();
    stages.sort();
    stages.dedup();
    // Twelve movements, and the gate that lowering adds between two of them.
    assert_eq!(stages.len(), 13, "{stages:?}");
    assert_eq!(end.reports.len(), 2);
}
