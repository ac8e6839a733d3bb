//! suppressions.

use insta::assert_snapshot;

use super::*;

fn suppressing(text: &str, findings: Vec<Finding>, change: impl FnOnce(&mut ReportInputs)) -> String {
    let mut review = review(findings);
    review.results.push(AgentResult::new("quiet", AgentStatus::Success, Millis(1)));
    review.code =
        ReviewedCode::new("").with("x.py", CodeFile::changed(Some(text.to_owned()), "@@ -0,0 +1 @@\n+x\n"));
    change(&mut review);
    let report = review.report();
    let mut shown: String = report.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    shown.push_str(&told(&report.findings));
    for one in &report.suppressed {
        let apart = if one.added_by_change { " (by this very change)" } else { "" };
        shown.push_str(&format!(
            "suppressed by {}: {} - {}{apart}\n",
            one.by, one.reported.finding.message, one.reason
        ));
    }
    for one in &report.notices {
        shown.push_str(&format!("{} {}:{} {}\n", one.level.name(), one.file, one.line, one.message));
    }
    shown
}

fn at(agent: &str, line: u32, message: &str) -> Finding {
    finding(agent, "important", &format!("x.py:{line}"), message)
}

#[test]
fn a_comment_on_the_line_or_the_one_above_suppresses() {
    let text = "go()  # saihai-ignore[a]: known\n\n\n/* saihai-ignore[a] until=2026-02-06: today still */\ngo()\n\nno()\n";
    let findings = vec![at("a", 1, "one"), at("a", 5, "two"), at("a", 7, "three"), at("b", 5, "xyz")];
    assert_snapshot!(suppressing(text, findings, |_| {}), @"
    important x.py:5 file by b: xyz
    important x.py:7 file by a: three
    suppressed by x.py:1: one - known (by this very change)
    suppressed by x.py:4: two - today still
    ");
}

#[test]
fn comments_without_a_reason_a_day_or_a_use_are_told() {
    let text = "# saihai-ignore[a]\ngo()\n# saihai-ignore[]: x\n# saihai-ignore[a] until=2026-02-05: late\ngo()\n# saihai-ignore[a] untill=2026-02-05: x\n# saihai-ignore[quiet]: x\n# saihai-ignore[a]:  -->\n# saihai-ignore[dead]: of an agent that gave no answer\n# saihai-ignore[a";
    let dead = AgentResult::new("dead", AgentStatus::Timeout { timeout_seconds: 1 }, Millis(1));
    assert_snapshot!(suppressing(text, vec![at("a", 2, "one"), at("a", 5, "two")], |review| review.results.push(dead)), @"
    important x.py:2 file by a: one
    important x.py:5 file by a: two
    error x.py:1 the suppression of `a` has no reason and is not applied; write `saihai-ignore[AGENT]: REASON` or `saihai-ignore[FINGERPRINT]: REASON`
    error x.py:3 the suppression names nothing; write `saihai-ignore[AGENT]: REASON` or `saihai-ignore[FINGERPRINT]: REASON`
    warning x.py:4 the suppression expired on 2026-02-05
    error x.py:6 the suppression of `a` is not applied: `untill=2026-02-05` is not of the form `until=YYYY-MM-DD`
    note x.py:7 the suppression is not needed: it matches no finding
    error x.py:8 the suppression of `a` has no reason and is not applied; write `saihai-ignore[AGENT]: REASON` or `saihai-ignore[FINGERPRINT]: REASON`
    error x.py:10 the suppression names nothing; write `saihai-ignore[AGENT]: REASON` or `saihai-ignore[FINGERPRINT]: REASON`
    ");
}

#[test]
fn each_comment_of_a_line_is_one_of_its_own() {
    let text = "go() /* saihai-ignore[a]: known */ // saihai-ignore[b] until=2026-03-01: known too\n\n\n\
                # saihai-ignore[a] saihai-ignore[b]: one reason is not enough\ngo()\n";
    let findings =
        vec![at("a", 1, "one"), at("b", 1, "xyz"), at("a", 5, "some words"), at("b", 5, "another")];
    assert_snapshot!(suppressing(text, findings, |_| {}), @"
    important x.py:5 file by a: some words
    suppressed by x.py:1: one - known (by this very change)
    suppressed by x.py:1: xyz - known too (by this very change)
    suppressed by x.py:4: another - one reason is not enough
    error x.py:4 the suppression of `a` has no reason and is not applied; write `saihai-ignore[AGENT]: REASON` or `saihai-ignore[FINGERPRINT]: REASON`
    ");
}

// An unknown agent name suppresses nothing; an agent that was not asked may have had a finding
#[test]
fn a_suppression_of_an_agent_that_does_not_exist_is_told() {
    let text = "# saihai-ignore[nope]: x\n# saihai-ignore[asleep]: x\n# saihai-ignore[dead]: x\n";
    let others = |review: &mut ReportInputs| {
        let considered = |agent: &str| ConsideredAgent {
            agent: agent.to_owned(),
            description: String::new(),
            origin: String::new(),
            phase: "main".to_owned(),
            selected: false,
            why: String::new(),
            shown: Vec::new(),
        };
        review.plan.selection = vec![considered("asleep")];
        review.results.push(AgentResult::new("dead", AgentStatus::Timeout { timeout_seconds: 1 }, Millis(1)));
        let names = ["nope", "asleep", "dead"].into_iter().zip(1..);
        review.plan.ignores = names.map(|(agent, line)| ignore(Some(agent), None, None, line)).collect();
    };
    assert_snapshot!(suppressing(text, Vec::new(), others), @"
    note .saihai/review-ignore.toml:1 the suppression is not needed: no agent of this review is named `nope`
    note x.py:1 the suppression is not needed: no agent of this review is named `nope`
    ");
}

// an untrusted change does not decide which findings are shown
#[test]
fn a_change_that_is_not_trusted_silences_nothing_it_brings() {
    // The change adds lines 3, 4 and 8.
    let section = "@@ -1,2 +1,4 @@\n a\n b\n+c\n+d\n@@ -5 +7,2 @@\n g\n+h\n";
    let text = "go() # saihai-ignore[a]: old\n\n# saihai-ignore[a]: new\nnew()\n\n\n\
                # saihai-ignore[a]: old, but about another line\nnew()\n";
    let findings =
        vec![at("a", 1, "one"), at("a", 4, "some words"), at("a", 8, "another"), at("b", 4, "xyz")];
    let list = ignore(Some("b"), None, None, 1);
    let distrusted = |mode: ReviewMode| {
        let list = list.clone();
        let change = move |review: &mut ReportInputs| {
            review.code =
                ReviewedCode::new("").with("x.py", CodeFile::changed(Some(text.to_owned()), section));
            let added = CodeFile::changed(Some(String::new()), "@@ -0,0 +1,9 @@\n+x\n");
            review.code = review.code.clone().with(".saihai/review-ignore.toml", added);
            (review.plan.ignores, review.mode) = (vec![list], mode);
            review.plan.distrusts_change = true;
        };
        suppressing("", findings.clone(), change)
    };
    assert_snapshot!(distrusted(ReviewMode::Pr), @"
    warning: 2 findings count although they are suppressed: with `--definitions-from`, comments that the change adds or moves do not count, nor do comments and fingerprints for lines it adds
    important x.py:4 added by a: some words
    important x.py:8 added by a: another
    suppressed by x.py:1: one - old
    suppressed by .saihai/review-ignore.toml:1: xyz - we know
    ");
    assert_snapshot!(distrusted(ReviewMode::Files), @"
    warning: 3 findings count although they are suppressed: with `--definitions-from`, comments in whole files do not count, because Saihai cannot tell which are new
    important x.py:1 file by a: one
    important x.py:4 file by a: some words
    important x.py:8 file by a: another
    suppressed by .saihai/review-ignore.toml:1: xyz - we know
    ");
}

#[test]
fn an_agent_that_is_not_heard_of_does_not_silence_another() {
    let same = "the same words of the same thing";
    let findings = vec![at("a", 2, same), at("b", 2, same)];
    let one = suppressing("# saihai-ignore[a]: no\ngo()\n", findings.clone(), |_| {});
    let both = suppressing("# saihai-ignore[a]: no\ngo() # saihai-ignore[b]: no\n", findings.clone(), |_| {});
    let name = {
        let mut review = review(findings.clone());
        review.code = ReviewedCode::new("").with("x.py", CodeFile::whole("\ngo()\n"));
        review.report().findings[0].members[1].fingerprint.clone()
    };
    let named = suppressing(&format!("# saihai-ignore[{name}]: no\ngo()\n"), findings, |_| {});
    assert_snapshot!(format!("{one}---\n{both}---\n{named}"), @"
    important x.py:2 file by a+b: the same words of the same thing
    ---
    suppressed by x.py:1: the same words of the same thing - no (by this very change)
    ---
    suppressed by x.py:1: the same words of the same thing - no (by this very change)
    ");
}

fn ignore(agent: Option<&str>, path: Option<&str>, expires: Option<&str>, line: u32) -> FindingIgnore {
    FindingIgnore {
        fingerprint: None,
        agent: agent.map(str::to_owned),
        path: path.map(str::to_owned),
        reason: "we know".to_owned(),
        expires: expires.map(str::to_owned),
        file: ".saihai/review-ignore.toml".to_owned(),
        lines: (line, line + 2),
    }
}

#[test]
fn entries_of_the_list_suppress_by_agent_and_path() {
    let entries = vec![
        ignore(Some("a"), Some("*.py"), None, 1),
        ignore(Some("b"), Some("*.rs"), None, 5),
        ignore(None, Some("x.py"), Some("2020-01-01"), 9),
        ignore(None, None, None, 13),
        ignore(Some("quiet"), None, None, 17),
    ];
    let findings = vec![at("a", 1, "one"), at("b", 3, "xyz")];
    assert_snapshot!(suppressing("a()\n\nb()\n", findings, |review| review.plan.ignores = entries), @"
    important x.py:3 file by b: xyz
    suppressed by .saihai/review-ignore.toml:1: one - we know
    warning .saihai/review-ignore.toml:9 the suppression expired on 2020-01-01
    note .saihai/review-ignore.toml:13 the suppression is not needed: it matches no finding
    note .saihai/review-ignore.toml:17 the suppression is not needed: it matches no finding
    ");
}

#[test]
fn what_the_reviewed_change_itself_suppresses_is_marked() {
    let own = |review: &mut ReportInputs| {
        let list = CodeFile::changed(Some(String::new()), "@@ -0,0 +5 @@\n+x\n");
        review.code = review.code.clone().with(".saihai/review-ignore.toml", list);
        review.plan.ignores = vec![ignore(Some("b"), None, None, 1), ignore(Some("c"), None, None, 4)];
    };
    let findings = vec![at("a", 1, "one"), at("b", 4, "two"), at("c", 9, "three")];
    assert_snapshot!(suppressing(&format!("# saihai-ignore[a]: here\n{}", "x()\n".repeat(9)), findings, own), @"
    suppressed by x.py:1: one - here (by this very change)
    suppressed by .saihai/review-ignore.toml:1: two - we know
    suppressed by .saihai/review-ignore.toml:4: three - we know (by this very change)
    ");
}

// A suppressed minor finding says nothing about a worse one.
#[test]
fn a_named_trifle_does_not_silence_something_worse_that_is_like_it() {
    let same = "the same words of the same thing";
    let named = |first: &str, second: &str| {
        let findings = vec![finding("a", first, "x.py:2", same), finding("b", second, "x.py:4", same)];
        let mut review = review(findings.clone());
        let text = "\ngo()\n\ngo on()\n";
        review.code = ReviewedCode::new("").with("x.py", CodeFile::whole(text));
        let of_a = |one: &&FindingMember| one.finding.agent == "a";
        let known = review.report().findings[0].members.iter().find(of_a).unwrap().fingerprint.clone();
        let entry = FindingIgnore { fingerprint: Some(known), ..ignore(None, None, None, 1) };
        suppressing(text, findings, |review| review.plan.ignores = vec![entry])
    };
    assert_snapshot!(named("nitpick", "critical"), @"critical x.py:4 file by a+b: the same words of the same thing");
    assert_snapshot!(named("critical", "nitpick"), @"suppressed by .saihai/review-ignore.toml:1: the same words of the same thing - we know");
}

/// Reports the findings in `x.py`, with the finding of `a` on this line in the ignore list.
fn named_at(line: u32, text: &str, section: &str, findings: Vec<Finding>, distrusts: bool) -> String {
    let source = || CodeFile::changed(Some(text.to_owned()), section);
    let mut known = review(vec![finding("a", "nitpick", &format!("x.py:{line}"), "known")]);
    known.code = ReviewedCode::new("").with("x.py", source());
    let fingerprint = Some(known.report().findings[0].fingerprint.clone());
    suppressing("", findings, |review| {
        review.code = ReviewedCode::new("").with("x.py", source());
        review.plan.ignores = vec![FindingIgnore { fingerprint, ..ignore(None, None, None, 1) }];
        review.plan.distrusts_change = distrusts;
    })
}

// a fingerprint names code, and a change can copy that code
#[test]
fn a_fingerprint_of_the_list_suppresses_what_was_there_and_not_a_copy_of_it() {
    let text = "run(q)\n\n\n\n\nrun(q)\n";
    let section = "@@ -1,2 +1,6 @@\n run(q)\n \n+\n+\n+\n+run(q)\n";
    let both = vec![at("a", 1, "It leaks."), at("a", 6, "It leaks.")];
    assert_snapshot!(named_at(1, text, section, both.clone(), false), @"
    important x.py:6 added by a: It leaks.
    suppressed by .saihai/review-ignore.toml:1: It leaks. - we know
    note .saihai/review-ignore.toml:1 the suppression covers one finding, but 1 more have the same fingerprint: each needs its own
    ");
    let copy = vec![at("a", 6, "It leaks.")];
    assert_snapshot!(named_at(1, text, section, copy.clone(), false), @"
    important x.py:6 added by a: It leaks.
    note .saihai/review-ignore.toml:1 the suppression covers one finding, but 1 more have the same fingerprint: each needs its own
    ");
    // Re-indented code is the same code, if the change is trusted.
    let (text, section) = ("    run(q)\n", "@@ -1 +1 @@\n-run(q)\n+    run(q)\n");
    let moved = vec![at("a", 1, "It leaks.")];
    assert_snapshot!(named_at(1, text, section, moved.clone(), false), @"suppressed by .saihai/review-ignore.toml:1: It leaks. - we know");
    assert_snapshot!(named_at(1, text, section, moved, true), @"
    warning: 1 finding counts although it is suppressed: with `--definitions-from`, comments that the change adds or moves do not count, nor do comments and fingerprints for lines it adds
    important x.py:1 added by a: It leaks.
    ");
}

// a fingerprint covers no words; of several findings, it means the mildest
#[test]
fn the_fingerprint_of_a_trifle_silences_nothing_worse_on_its_line() {
    let findings = vec![
        finding("a", "critical", "x.py:1", "SQL injection"),
        finding("a", "nitpick", "x.py:1", "Names are too short."),
    ];
    assert_snapshot!(named_at(1, "run(q)\n", "", findings.clone(), false), @"
    critical x.py:1 file by a: SQL injection
    suppressed by .saihai/review-ignore.toml:1: Names are too short. - we know
    note .saihai/review-ignore.toml:1 the suppression covers one finding, but 1 more have the same fingerprint: each needs its own
    ");
    // Each of two entries means one of them.
    let twice = |review: &mut ReportInputs| {
        let mut named = super::review(vec![at("a", 1, "x")]);
        named.code = ReviewedCode::new("").with("x.py", CodeFile::whole("run(q)\n"));
        let fingerprint = Some(named.report().findings[0].fingerprint.clone());
        let entry =
            |line: u32| FindingIgnore { fingerprint: fingerprint.clone(), ..ignore(None, None, None, line) };
        review.plan.ignores = vec![entry(1), entry(5)];
    };
    assert_snapshot!(suppressing("run(q)\n", findings, twice), @"
    suppressed by .saihai/review-ignore.toml:5: SQL injection - we know
    suppressed by .saihai/review-ignore.toml:1: Names are too short. - we know
    ");
}

// the removed lines below a comment may have been its subject
#[test]
fn a_comment_that_comes_to_stand_above_another_line_is_the_changes_own() {
    let text = "# saihai-ignore[a]: constant\nrun(q)\n";
    let section = "@@ -1,3 +1,2 @@\n # saihai-ignore[a]: constant\n-assert_safe(q)\n run(q)\n";
    let moved = |section: &str, distrusts: bool| {
        suppressing("", vec![at("a", 2, "It leaks.")], |review| {
            review.code =
                ReviewedCode::new("").with("x.py", CodeFile::changed(Some(text.to_owned()), section));
            review.plan.distrusts_change = distrusts;
        })
    };
    assert_snapshot!(moved(section, false), @"suppressed by x.py:1: It leaks. - constant (by this very change)");
    assert_snapshot!(moved(section, true), @"
    warning: 1 finding counts although it is suppressed: with `--definitions-from`, comments that the change adds or moves do not count, nor do comments and fingerprints for lines it adds
    important x.py:2 context by a: It leaks.
    ");
    assert_snapshot!(moved("@@ -2 +1,0 @@\n-assert_safe(q)\n", true).lines().count(), @"2");
    // Lines removed elsewhere move nothing.
    assert_snapshot!(moved("@@ -1,3 +1,2 @@\n # saihai-ignore[a]: constant\n run(q)\n-run()\n", true), @"suppressed by x.py:1: It leaks. - constant");
}
