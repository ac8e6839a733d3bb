//! folds results into one report.

use insta::assert_snapshot;
use saihai_model::FailureClass;

use super::*;

//
#[test]
fn places_are_made_sure_of() {
    let places = [
        ("src/a.rs:7", "alpha"),
        ("src/a.rs:5", "bravo"),
        ("src/a.rs:1", "charlie"),
        ("src/a.rs", "delta"),
        ("src/b.rs:2", "echo"),
        ("", "foxtrot"),
        ("src/a.rs:9999", "golf"),
        ("../../x:1", "hotel"),
        ("src/none.rs:1", "india"),
        ("/home/me/project/src/a.rs:8-9999", "juliett"),
    ];
    let findings = places.map(|(place, message)| finding("a", "important", place, message));
    assert_snapshot!(told(&review(findings.to_vec()).report().findings), @"
    important src/a.rs file by a: delta
    important src/a.rs:1 file by a: charlie
    important src/a.rs:5 context by a: bravo
    important src/a.rs:7 added by a: alpha
    important src/a.rs:8-20 added by a: juliett
    important src/b.rs:2 outside by a: echo (does not count)
    important - none by a: foxtrot
    important - unverified by a: golf
    important - unverified by a: hotel
    important - unverified by a: india
    ");
}

// No agent saw a line of a deleted, binary or too large file; a link has the one line of the change
#[test]
fn a_line_of_a_file_without_a_text_is_one_that_the_change_shows() {
    let places = ["gone.rs:1", "gone.rs", "logo.png:3", "link:1", "link:2"];
    let words = ["alpha", "bravo", "charlie", "delta", "echo"];
    let findings = places.into_iter().zip(words);
    let mut review = review(findings.map(|(place, word)| finding("a", "important", place, word)).collect());
    review.code = ReviewedCode::new("")
        .with("gone.rs", CodeFile::changed(None, "@@ -1,2 +0,0 @@\n-1\n-2\n"))
        .with("logo.png", CodeFile::changed(None, ""))
        .with("link", CodeFile::changed(None, "@@ -0,0 +1 @@\n+elsewhere\n"));
    let mut whole = review.clone();
    (whole.mode, whole.code) =
        (ReviewMode::Files, ReviewedCode::new("").with("logo.png", CodeFile::unread()));
    assert_snapshot!(told(&review.report().findings), @"
    important gone.rs file by a: bravo
    important link:1 added by a: delta
    important - unverified by a: alpha
    important - unverified by a: charlie
    important - unverified by a: echo
    ");
    assert_snapshot!(told(&whole.report().findings), @"
    important - unverified by a: alpha
    important - unverified by a: bravo
    important - unverified by a: charlie
    important - unverified by a: delta
    important - unverified by a: echo
    ");
}

//
#[test]
fn what_was_claimed_of_a_place_that_does_not_exist_is_kept() {
    let report = review(vec![finding("a", "nitpick", "src/a.rs:9999", "x")]).report();
    assert_eq!(report.findings[0].finding.claimed.as_deref(), Some("src/a.rs:9999"));
    assert_eq!(
        (report.findings[0].finding.file.as_deref(), report.findings[0].anchor),
        (None, FindingAnchor::Unverified)
    );
}

//
#[test]
fn whole_files_have_no_nearer_lines() {
    let mut whole = review(vec![finding("a", "important", "src/a.rs:7", "x")]);
    whole.mode = ReviewMode::Files;
    whole.code = ReviewedCode::new("").with("src/a.rs", CodeFile::whole(numbered("a", 9)));
    whole.plan.fail_scope = FailScope::Added;
    whole.results[0].findings.push(finding("a", "important", "src/b.rs:2", "in a file beside it"));
    whole.code = whole.code.with("src/b.rs", CodeFile::other(numbered("b", 9)));
    assert_snapshot!(told(&whole.report().findings), @"
    important src/a.rs:7 file by a: x
    important src/b.rs:2 file by a: in a file beside it
    ");
}

//
#[test]
fn two_agents_on_the_same_thing_are_two_votes_for_one_finding() {
    let mut sure = finding("b", "critical", "src/a.rs:9-10", LEAK_TOO);
    sure.confidence = Some(90);
    sure.suggestion = Some("Close it.".to_owned());
    let report = review(vec![
        sure,
        finding("a", "important", "src/a.rs:7", LEAK),
        finding("a", "important", "src/a.rs:7", "Names are too short."),
        finding("c", "important", "src/a.rs:13", LEAK),
        finding("c", "important", "src/b.rs:1", LEAK),
        finding("d", "important", "", LEAK),
        finding("e", "important", "", LEAK),
    ])
    .report();
    assert_snapshot!(told(&report.findings), @"
    critical src/a.rs:9-10 added by a+b: When reading fails the handle is never closed, so it leaks.
    important src/a.rs:7 added by a: Names are too short.
    important src/a.rs:13 file by c: The handle is never closed when reading fails.
    important src/b.rs:1 outside by c: The handle is never closed when reading fails. (does not count)
    important - none by d: The handle is never closed when reading fails.
    important - none by e: The handle is never closed when reading fails.
    ");
    let one = &report.findings[0];
    assert_eq!(
        (one.votes, one.finding.confidence, one.finding.suggestion.as_deref()),
        (2, Some(90), Some("Close it."))
    );
    assert_eq!(one.members.len(), 2);
    assert_ne!(one.members[0].fingerprint, one.members[1].fingerprint);
}

fn fingerprint_of(text: &str, finding: Finding) -> String {
    let mut review = review(vec![finding]);
    review.code = ReviewedCode::new("").with("x.py", CodeFile::whole(text));
    review.report().findings[0].fingerprint.clone()
}

//
#[test]
fn a_fingerprint_names_the_code_and_neither_line_nor_words() {
    let at =
        |agent: &str, line: u32, message: &str| finding(agent, "nitpick", &format!("x.py:{line}"), message);
    let name = fingerprint_of("def f():\n  go( 1 )\n", at("a", 2, "bad"));
    assert_eq!(name, "deaebe595c96911a", "16 digits that are published must never change");
    assert_eq!(name, fingerprint_of("import x\n\ndef f():\n\tgo(1)\n", at("a", 4, "awful")));
    assert_ne!(name, fingerprint_of("def f():\n  go(2)\n", at("a", 2, "bad")));
    assert_ne!(name, fingerprint_of("def f():\n  go(1)\n", at("b", 2, "bad")));
    let words = |message: &str| fingerprint_of("\n\n", finding("a", "nitpick", "", message));
    assert_eq!(words("Waits 10 s, then 5"), words("waits 3 s, then 70"));
    assert_ne!(words("Waits 10 s"), words("Waits 10 m"));
    assert_ne!(fingerprint_of("\n\n", at("a", 1, "x")), fingerprint_of("\n\n", at("a", 1, "y")));
}

fn codes(change: impl Fn(&mut ReportInputs), severities: &[&str]) -> (ReviewOutcome, u8) {
    let findings = severities.iter().enumerate().map(|(index, severity)| {
        finding("a", severity, &format!("src/a.rs:{}", 3 * index + 1), &"abcdefgh"[index..index + 3])
    });
    let mut review = review(findings.collect());
    if severities.is_empty() {
        review.results.push(AgentResult::new("a", AgentStatus::Success, Millis(1)));
    }
    change(&mut review);
    let outcome = review.report().outcome;
    (outcome, outcome.exit_code())
}

//
#[test]
fn the_exit_code_is_the_first_that_holds() {
    let failed =
        |agent: &str| AgentResult::new(agent, AgentStatus::failed(FailureClass::Auth, "no"), Millis(1));
    let left_out = |reason| ReviewGap { file: "x".to_owned(), agent: None, reason };
    let all: Vec<String> = [
        codes(|_| {}, &[]),
        codes(|_| {}, &["important"]),
        codes(|_| {}, &["suggestion", "nitpick"]),
        codes(|review| review.plan.fail_on = FailOn::Suggestion, &["suggestion"]),
        codes(|review| review.plan.fail_on = FailOn::Never, &["critical"]),
        codes(|review| review.stopped = Some(ReviewStop::FromOutside), &["critical"]),
        codes(|review| review.results.push(failed("b")), &["important"]),
        codes(|review| review.results.push(failed("b")), &[]),
        codes(
            |review| {
                review.plan.require_all = true;
                review.results.push(failed("b"));
            },
            &[],
        ),
        codes(|review| review.results = vec![failed("a"), failed("b")], &[]),
        codes(
            |review| review.results[0].status = AgentStatus::Truncated { reason: TruncatedBy::OutputLimit },
            &[],
        ),
        codes(|review| review.plan.left_out = vec![left_out(GapReason::Size)], &[]),
        codes(|review| review.plan.left_out = vec![left_out(GapReason::Size)], &["critical"]),
        codes(|review| review.plan.left_out = vec![left_out(GapReason::Binary)], &[]),
        codes(
            |review| {
                review.plan.allow_partial = true;
                review.plan.left_out.push(left_out(GapReason::Size));
            },
            &[],
        ),
        codes(|review| review.results[0].status = AgentStatus::error(AgentStatus::BUDGET, "used up"), &[]),
        codes(
            |review| {
                review.plan.allow_partial = true;
                review.results[0].status = AgentStatus::error(AgentStatus::BUDGET, "used up");
            },
            &[],
        ),
        codes(|review| review.results.clear(), &[]),
    ]
    .iter()
    .map(|(outcome, code)| format!("{code} {outcome:?}"))
    .collect();
    assert_snapshot!(all.join("\n"), @"
    0 Passed
    1 Failing
    0 Passed
    1 Failing
    0 Passed
    3 Cancelled
    1 Failing
    0 Passed
    4 AgentFailed
    4 NothingDelivered
    0 Passed
    5 Incomplete
    1 Failing
    0 Passed
    0 Passed
    5 Incomplete
    4 NothingDelivered
    0 Passed
    ");
}

// like the process itself
#[test]
fn a_review_that_met_a_limit_is_not_whole_or_has_failed() {
    let limited = |review: &mut ReportInputs| review.stopped = Some(ReviewStop::AtLimit);
    assert_eq!(codes(limited, &[]), (ReviewOutcome::Incomplete, 5));
    assert_eq!(codes(limited, &["critical"]), (ReviewOutcome::Failing, 1));
}

//
#[test]
fn every_agent_must_answer_where_that_is_required() {
    let (outcome, code) = codes(
        |review| {
            review.plan.require_all = true;
            review.results.push(AgentResult::new(
                "b",
                AgentStatus::Timeout { timeout_seconds: 600 },
                Millis(600_000),
            ));
        },
        &[],
    );
    assert_eq!((outcome, code), (ReviewOutcome::AgentFailed, 4));
}

//
#[test]
fn uncertain_and_distant_findings_do_not_count() {
    let mut unsure = finding("a", "critical", "src/a.rs:7", "unsure");
    unsure.confidence = Some(49);
    let mut sure = finding("a", "important", "src/a.rs:14", "sure");
    sure.confidence = Some(50);
    let mut review = review(vec![
        unsure,
        sure,
        finding("a", "critical", "src/b.rs:1", "elsewhere"),
        finding("b", "nitpick", "", "silent"),
    ]);
    review.plan.min_confidence = 50;
    let report = review.report();
    assert_snapshot!(format!("{}---\n{}", told(&report.findings), told(&report.filtered)), @"
    critical src/b.rs:1 outside by a: elsewhere (does not count)
    important src/a.rs:14 file by a: sure
    nitpick - none by b: silent
    ---
    critical src/a.rs:7 added by a: unsure (does not count)
    ");
    assert_eq!((report.summary.failing, report.outcome), (1, ReviewOutcome::Failing));
}

//
#[test]
fn one_agents_failure_loses_nothing_of_another() {
    let mut review = review(vec![finding("b", "suggestion", "src/a.rs:7", "x")]);
    let mut late = AgentResult::new("c", AgentStatus::Timeout { timeout_seconds: 5 }, Millis(5_000));
    late.findings.push(finding("c", "nitpick", "", "streamed before"));
    review.results.insert(0, late);
    review.results.push(AgentResult::new(
        "a",
        AgentStatus::failed(FailureClass::Quota, "used up"),
        Millis(1),
    ));
    let report = review.report();
    let names: Vec<String> =
        report.results.iter().map(|one| format!("{} {}", one.agent, one.status.name())).collect();
    assert_eq!(names, ["a error", "b success", "c timeout"]);
    assert_eq!(report.findings.len(), 2);
    let summary = &report.summary;
    assert_eq!((summary.delivered, summary.failed, summary.max_severity), (1, 2, Some(Severity::Suggestion)));
    assert_eq!(super::review(Vec::new()).report().summary.max_severity, None);
}

// Case 40
#[test]
fn similar_words_of_two_agents_on_one_line_are_one_finding_which_lines_above_do_not_rename() {
    let found = |line: u32| {
        let place = format!("src/a.rs:{line}");
        vec![finding("a", "important", &place, LEAK), finding("b", "important", &place, LEAK_TOO)]
    };
    let before = review(found(7)).report().findings;
    assert_eq!((before.len(), before[0].votes), (1, 2));
    let mut moved = review(found(9));
    let text = format!("// one\n// two\n{}", numbered("a", 20));
    moved.code = ReviewedCode::new("").with("src/a.rs", CodeFile::changed(Some(text), ""));
    let after = moved.report().findings;
    assert_eq!((after.len(), after[0].votes), (1, 2));
    assert_eq!(after[0].fingerprint, before[0].fingerprint);
}
