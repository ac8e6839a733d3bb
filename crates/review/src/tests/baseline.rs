//! comparison with an earlier report.

use insta::assert_snapshot;

use super::*;

fn against(before: Vec<Finding>, now: Vec<Finding>) -> ReviewReport {
    let before = review(before).report();
    let mut review = review(now);
    review.baseline = Some(Baseline::read(&serde_json::to_value(&before).unwrap()).unwrap());
    review.report()
}

//
#[test]
fn only_what_is_new_counts() {
    let report = against(
        vec![
            finding("a", "important", "src/a.rs:7", LEAK),
            finding("a", "important", "src/a.rs:2", "gone"),
            finding("z", "important", "src/a.rs:2", "by an agent that is not asked today"),
            finding("a", "critical", "src/a.rs:14", "first of two"),
        ],
        vec![
            finding("a", "important", "src/a.rs:7", "The same code in other words"),
            finding("b", "important", "src/a.rs:8", LEAK_TOO),
            finding("a", "critical", "src/a.rs:14", "first of two"),
            finding("a", "critical", "src/a.rs:14", "xyz"),
        ],
    );
    assert_snapshot!(told(&report.findings), @"
    critical src/a.rs:14 file by a: first of two persisting (does not count)
    critical src/a.rs:14 file by a: xyz new
    important src/a.rs:7 added by a: The same code in other words persisting (does not count)
    important src/a.rs:8 added by b: When reading fails the handle is never closed, so it leaks. new
    ");
    let fixed: Vec<&str> = report.fixed.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(fixed, ["gone"]);
}

// findings that never counted are not known
#[test]
fn what_was_put_aside_before_counts_once_nothing_holds_it_back() {
    let unsure = |confidence: u8| {
        let mut finding = finding("a", "critical", "src/a.rs:7", LEAK);
        finding.confidence = Some(confidence);
        finding
    };
    let mut before = review(vec![unsure(40)]);
    before.plan.min_confidence = 50;
    let before = serde_json::to_value(before.report()).unwrap();
    let later = |confidence: u8| {
        let mut review = review(vec![unsure(confidence)]);
        review.plan.min_confidence = 50;
        review.baseline = Some(Baseline::read(&before).unwrap());
        review.report()
    };
    assert_snapshot!(told(&later(95).findings), @"critical src/a.rs:7 added by a: The handle is never closed when reading fails. new");
    assert_eq!((later(40).outcome, later(40).fixed.len()), (ReviewOutcome::Passed, 0));
}

// Findings put aside today take no baseline entry from a displayed finding, and are not fixed either
#[test]
fn what_is_put_aside_today_was_there_before_only_where_nothing_else_was() {
    let two = |confidence: u8| {
        let mut unsure = finding("a", "critical", "src/a.rs:7", "some other words");
        unsure.confidence = Some(confidence);
        vec![finding("a", "critical", "src/a.rs:7", LEAK), unsure]
    };
    let mut before = review(two(40));
    before.plan.min_confidence = 50;
    let before = Baseline::read(&serde_json::to_value(before.report()).unwrap()).unwrap();
    let later = |findings: Vec<Finding>| {
        let mut review = review(findings);
        review.plan.min_confidence = 50;
        review.baseline = Some(before.clone());
        review.report()
    };
    let report = later(two(40));
    assert_eq!((report.summary.failing, report.filtered.len(), report.fixed.len()), (0, 1, 0));
    assert_eq!(later(two(90)).summary.failing, 1);
    // The known one, with less confidence today.
    let mut known = finding("a", "critical", "src/a.rs:7", LEAK);
    known.confidence = Some(10);
    let report = later(vec![known]);
    assert_eq!((report.filtered[0].state, report.fixed.len()), (Some(BaselineState::Persisting), 0));
}

// a known minor finding does not make a similar worse one known.
#[test]
fn a_known_trifle_hides_nothing_worse_that_became_one_with_it() {
    let trifle = || finding("a", "nitpick", "src/a.rs:7", LEAK);
    let report = against(vec![trifle()], vec![trifle(), finding("b", "critical", "src/a.rs:9", LEAK_TOO)]);
    assert_snapshot!(told(&report.findings), @"critical src/a.rs:9 added by a+b: When reading fails the handle is never closed, so it leaks. new");
    assert_eq!((report.outcome, report.fixed.len()), (ReviewOutcome::Failing, 0));
    // The same from another agent, not worse, is not new. Nor is another comment on a formerly worse finding.
    for (before, now) in [("important", "important"), ("critical", "suggestion")] {
        let before = || finding("a", before, "src/a.rs:7", LEAK);
        let report = against(vec![before()], vec![before(), finding("b", now, "src/a.rs:9", LEAK_TOO)]);
        assert_eq!((report.findings.len(), report.summary.failing), (1, 0), "{now}");
    }
    // Two merged findings existed before if each of them did.
    let two = |line: u32| {
        vec![
            finding("a", "important", "src/a.rs:7", LEAK),
            finding("b", "important", &format!("src/a.rs:{line}"), LEAK_TOO),
        ]
    };
    let (mut before, apart) = (review(two(12)).report(), against(two(12), two(12)));
    assert_eq!((apart.findings.len(), apart.summary.failing), (2, 0));
    before.findings[1].members[0].fingerprint =
        review(two(9)).report().findings[0].members[1].fingerprint.clone();
    let mut now = review(two(9));
    now.baseline = Some(Baseline::read(&serde_json::to_value(&before).unwrap()).unwrap());
    let now = now.report();
    assert_eq!((now.findings.len(), now.summary.failing, now.fixed.len()), (1, 0, 0));
}

// a fingerprint covers code and no words, so the words decide which of two on a line existed.
#[test]
fn of_two_findings_on_a_line_the_one_that_was_said_before_was_there() {
    let at = |severity: &str, message: &str| finding("a", severity, "src/a.rs:7", message);
    let report = against(
        vec![at("nitpick", "Names are too short.")],
        vec![at("critical", "SQL injection"), at("nitpick", "The names are short.")],
    );
    assert_snapshot!(told(&report.findings), @"
    critical src/a.rs:7 added by a: SQL injection new
    nitpick src/a.rs:7 added by a: The names are short. persisting (does not count)
    ");
    let states = |before: &str, now: Finding| {
        let report = against(vec![at(before, "Names are too short.")], vec![now]);
        report.findings[0].state.unwrap()
    };
    assert_eq!(
        states("nitpick", at("critical", "SQL injection")),
        BaselineState::New,
        "worse, and something else"
    );
    assert_eq!(
        states("nitpick", at("critical", "The names are too short.")),
        BaselineState::Persisting,
        "worse today"
    );
    assert_eq!(
        states("critical", at("nitpick", "SQL injection")),
        BaselineState::Persisting,
        "told anew, no worse"
    );
}

// A renamed file is the same file, by its code and by similar messages on nearly the same lines.
#[test]
fn what_was_found_in_a_file_that_is_renamed_is_neither_new_nor_fixed() {
    let found = |file: &str| {
        let at = |line: u32| format!("{file}:{line}");
        vec![
            finding("a", "important", &at(7), LEAK),
            finding("b", "critical", &at(14), "The lock is taken twice and never given back"),
            finding("a", "nitpick", file, "a word about the whole file, version 1"),
        ]
    };
    let before = serde_json::to_value(review(found("src/a.rs")).report()).unwrap();
    let mut now = review(found("src/new.rs"));
    let text = numbered("a", 20).replace("a(14)", "renamed(14)");
    let renamed = CodeFile::changed(Some(text), "").called_before(Some("src/a.rs".to_owned()));
    now.code = ReviewedCode::new("").with("src/new.rs", renamed);
    now.baseline = Some(Baseline::read(&before).unwrap());
    let mut unknown = now.clone();
    let report = now.report();
    let states: Vec<_> = report.findings.iter().map(|one| one.state).collect();
    assert_eq!(states, [Some(BaselineState::Persisting); 3]);
    assert_eq!(report.fixed, []);

    unknown.code = ReviewedCode::new("").with("src/new.rs", CodeFile::changed(Some(numbered("a", 20)), ""));
    let report = unknown.report();
    assert!(report.findings.iter().all(|one| one.state == Some(BaselineState::New)));
    assert_eq!(report.fixed.len(), 3, "another file is another place");
}

/// Returns the fixed findings, given one earlier finding of `a` in each file and none today.
fn fixed(files: &[&str], change: impl Fn(&mut ReportInputs)) -> Vec<String> {
    let places = files.iter().map(|file| finding("a", "important", file, file)).collect();
    let before = serde_json::to_value(review(places).report()).unwrap();
    let mut review = review(Vec::new());
    review.results.push(AgentResult::new("a", AgentStatus::Success, Millis(1)));
    review.baseline = Some(Baseline::read(&before).unwrap());
    change(&mut review);
    review.report().fixed.into_iter().map(|one| one.message).collect()
}

// A finding that no agent looked for may still exist.
#[test]
fn only_what_was_looked_for_again_is_fixed() {
    let files = ["src/a.rs", "src/b.rs", ""];
    assert_eq!(fixed(&files, |_| {}), ["src/a.rs", ""], "`src/b.rs` was not reviewed");
    let gone = |review: &mut ReportInputs| review.code = ReviewedCode::new("");
    assert_eq!(fixed(&files, gone), ["src/a.rs", "src/b.rs", ""], "none of the files is there any more");
    let cut = |review: &mut ReportInputs| {
        review.results[0].status = AgentStatus::Truncated { reason: TruncatedBy::OutputLimit };
    };
    assert_eq!(fixed(&files, cut), [""; 0], "the rest of the answer may have held it");
    let left_out = |agent: Option<&str>| ReviewGap {
        file: "src/a.rs".to_owned(),
        agent: agent.map(str::to_owned),
        reason: GapReason::Size,
    };
    for (agent, expected) in [(None, vec![""]), (Some("a"), vec![""]), (Some("b"), vec!["src/a.rs", ""])] {
        let without = |review: &mut ReportInputs| review.plan.left_out = vec![left_out(agent)];
        assert_eq!(fixed(&files, without), expected, "left out for {agent:?}");
    }
    let elsewhere = |review: &mut ReportInputs| {
        review.plan.selection.push(ConsideredAgent {
            agent: "a".to_owned(),
            description: String::new(),
            origin: String::new(),
            phase: "main".to_owned(),
            selected: true,
            why: String::new(),
            shown: vec![vec!["src/c.rs".to_owned()]],
        });
    };
    assert_eq!(fixed(&files, elsewhere), [""], "the agent was shown another file only");
}

//
#[test]
fn a_baseline_is_a_report_of_ours() {
    use serde_json::json;
    assert_eq!(Baseline::read(&json!({"findings": 1})).unwrap_err(), BaselineError);
    assert_eq!(Baseline::read(&json!([])).unwrap_err(), BaselineError);
    assert!(
        Baseline::read(&json!({"runs": [{"results": [{"message": {"text": "another tool's"}}]}]})).is_ok()
    );
}
