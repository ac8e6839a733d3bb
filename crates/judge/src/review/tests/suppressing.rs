//! what somebody decided not to hear of.

use insta::assert_snapshot;

use super::*;

fn suppressing(text: &str, findings: Vec<Finding>, change: impl FnOnce(&mut Review)) -> String {
    let mut review = review(findings);
    review.results.push(AgentResult::new("quiet", Status::Success, Millis(1)));
    review.code = Code::new("").with("x.py", Source::changed(Some(text.to_owned()), "@@ -0,0 +1 @@\n+x\n"));
    change(&mut review);
    let report = review.report();
    let mut shown = told(&report.findings);
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
    let dead = AgentResult::new("dead", Status::Timeout { timeout_seconds: 1 }, Millis(1));
    assert_snapshot!(suppressing(text, vec![at("a", 2, "one"), at("a", 5, "two")], |review| review.results.push(dead)), @"
    important x.py:2 file by a: one
    important x.py:5 file by a: two
    error x.py:1 the suppression of `a` has no reason and is not applied; write `saihai-ignore[AGENT]: REASON` or `saihai-ignore[FINGERPRINT]: REASON`
    error x.py:3 the suppression names nothing; write `saihai-ignore[AGENT]: REASON` or `saihai-ignore[FINGERPRINT]: REASON`
    warning x.py:4 the suppression ended on 2026-02-05 and is not applied any more
    error x.py:6 the suppression of `a` is not applied: `untill=2026-02-05` is not of the form `until=YYYY-MM-DD`
    note x.py:7 the suppression is not needed: nothing it is about was found
    error x.py:8 the suppression of `a` has no reason and is not applied; write `saihai-ignore[AGENT]: REASON` or `saihai-ignore[FINGERPRINT]: REASON`
    error x.py:10 the suppression names nothing; write `saihai-ignore[AGENT]: REASON` or `saihai-ignore[FINGERPRINT]: REASON`
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
        review.code = Code::new("").with("x.py", Source::whole("\ngo()\n"));
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

fn ignore(agent: Option<&str>, path: Option<&str>, expires: Option<&str>, line: u32) -> Ignore {
    Ignore {
        fingerprint: None,
        agent: agent.map(str::to_owned),
        path: path.and_then(PathPattern::new),
        reason: "we know".to_owned(),
        expires: expires.and_then(Day::parse),
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
    assert_snapshot!(suppressing("a()\n\nb()\n", findings, |review| review.ignores = entries), @"
    important x.py:3 file by b: xyz
    suppressed by .saihai/review-ignore.toml:1: one - we know
    warning .saihai/review-ignore.toml:9 the suppression ended on 2020-01-01 and is not applied any more
    note .saihai/review-ignore.toml:13 the suppression is not needed: nothing it is about was found
    note .saihai/review-ignore.toml:17 the suppression is not needed: nothing it is about was found
    ");
}

#[test]
fn what_the_reviewed_change_itself_suppresses_is_marked() {
    let own = |review: &mut Review| {
        let list = Source::changed(Some(String::new()), "@@ -0,0 +5 @@\n+x\n");
        review.code = review.code.clone().with(".saihai/review-ignore.toml", list);
        review.ignores = vec![ignore(Some("b"), None, None, 1), ignore(Some("c"), None, None, 4)];
    };
    let findings = vec![at("a", 1, "one"), at("b", 4, "two"), at("c", 9, "three")];
    assert_snapshot!(suppressing(&format!("# saihai-ignore[a]: here\n{}", "x()\n".repeat(9)), findings, own), @"
    suppressed by x.py:1: one - here (by this very change)
    suppressed by .saihai/review-ignore.toml:1: two - we know
    suppressed by .saihai/review-ignore.toml:4: three - we know (by this very change)
    ");
}
