//! Laws for any agent replies.

use proptest::prelude::*;

use super::*;

fn findings() -> impl Strategy<Value = Vec<Finding>> {
    let words =
        prop::sample::subsequence(vec!["the", "handle", "leaks", "when", "reading", "fails", "名前"], 1..5);
    let place = prop_oneof![
        (1u32..25, 0u32..4).prop_map(|(start, more)| format!("src/a.rs:{start}-{}", start + more)),
        (1u32..7).prop_map(|line| format!("src/b.rs:{line}")),
        Just("src/a.rs".to_owned()),
        Just("../x:1".to_owned()),
        Just(String::new()),
    ];
    let severity = prop::sample::select(vec!["critical", "important", "suggestion", "nitpick"]);
    let agent = prop::sample::select(vec!["a", "b", "c"]);
    let one = (agent, severity, place, words, prop::option::of(0u8..=100)).prop_map(
        |(agent, severity, place, words, confidence)| Finding {
            confidence,
            ..finding(agent, severity, &place, &words.join(" "))
        },
    );
    prop::collection::vec(one, 0..12)
}

fn members(report: &ReviewReport) -> Vec<&FindingMember> {
    let suppressed = report.suppressed.iter().map(|one| &one.reported);
    let all = report.findings.iter().chain(&report.filtered).chain(suppressed);
    all.flat_map(|one| &one.members).collect()
}

proptest! {
    //
    #[test]
    fn the_order_of_replies_never_matters(
        (given, shuffled) in findings().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle()))
    ) {
        let (mut one, mut other) = (review(given).report(), review(shuffled).report());
        // Findings of one agent stay in their original order.
        for result in one.results.iter_mut().chain(&mut other.results) {
            result.findings.sort();
        }
        prop_assert_eq!(one, other);
    }

    //
    #[test]
    fn every_finding_is_a_member_of_exactly_one(given in findings(), least in 0u8..=100) {
        let mut review = review(given.clone());
        review.plan.min_confidence = least;
        let report = review.report();
        let said = |agent: &str, severity, message: &str| format!("{agent} {severity:?} {message}");
        let mut put_in: Vec<String> = given.iter().map(|one| said(&one.agent, one.severity, &one.message)).collect();
        let mut come_out: Vec<String> =
            members(&report).iter().map(|one| said(&one.finding.agent, one.finding.severity, &one.finding.message)).collect();
        put_in.sort();
        come_out.sort();
        prop_assert_eq!(put_in, come_out);
    }

    //
    #[test]
    fn what_became_one_stays_as_it_is(given in findings()) {
        let report = review(given).report();
        // The group starts with the first member in code order, regardless of the displayed one.
        let place = |one: &&FindingMember| (one.finding.start_line, one.finding.agent.clone(), one.finding.clone());
        let first = |one: &ReportedFinding| one.members.iter().min_by_key(place).cloned();
        let once: Vec<FindingMember> = report.findings.iter().filter_map(first).collect();
        let again = groups(once.clone());
        prop_assert!(again.iter().all(|group| group.len() == 1));
        prop_assert_eq!(again.len(), once.len());
    }

    //
    #[test]
    fn one_is_as_bad_and_as_certain_as_the_worst_of_its_members(given in findings()) {
        for one in review(given).report().findings {
            let inside = || one.members.iter().map(|member| &member.finding);
            prop_assert_eq!(inside().map(|finding| finding.severity).min(), Some(one.finding.severity));
            prop_assert_eq!(inside().filter_map(|finding| finding.confidence).max(), one.finding.confidence);
            prop_assert_eq!(one.votes, one.agents().len());
            let shown = Finding { confidence: one.members[0].finding.confidence, ..one.finding.clone() };
            prop_assert_eq!((&shown, &one.fingerprint), (&one.members[0].finding, &one.members[0].fingerprint));
        }
    }

    //
    #[test]
    fn fingerprints_survive_insertions_above_and_reindenting(
        line in 1u32..9, length in 0u32..7, above in prop::collection::vec("[a-z(){};]{0,9}", 0..5), indent in "[ \t]{0,6}"
    ) {
        let name = |text: String, start: u32| {
            let mut review = review(vec![finding("a", "nitpick", &format!("x:{start}-{}", start + length), "m")]);
            review.code = ReviewedCode::new("").with("x", CodeFile::whole(text));
            review.report().findings[0].fingerprint.clone()
        };
        let text = numbered("a", 20);
        let moved: String = above.iter().map(|line| format!("{line}\n")).collect();
        let indented: String = text.lines().map(|line| format!("{indent}{}\n", line.trim())).collect();
        prop_assert_eq!(name(text, line), name(moved + &indented, line + above.len() as u32));
    }

    //
    #[test]
    fn a_review_against_itself_has_nothing_new_and_nothing_fixed(given in findings()) {
        let first = review(given.clone()).report();
        let mut second = review(given);
        second.baseline = Some(Baseline::read(&serde_json::to_value(&first).unwrap()).unwrap());
        let second = second.report();
        prop_assert!(second.findings.iter().all(|one| one.state == Some(BaselineState::Persisting)));
        prop_assert_eq!((second.fixed.len(), second.summary.failing), (0, 0));
    }

    //
    #[test]
    fn a_report_is_read_back_as_it_was_written(given in findings()) {
        let report = review(given).report();
        let text = serde_json::to_string(&report).unwrap();
        prop_assert_eq!(serde_json::from_str::<ReviewReport>(&text).unwrap(), report);
    }

    //
    #[test]
    fn no_payload_can_break_it(text in "[\\[\\]{}:,\"a-z0-9 ]{0,60}", name in "issues|categories|dimensions|coverage_gaps|suggestions|critical_issues") {
        let inner: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|_| text.clone().into());
        for value in [serde_json::json!({&name: inner}), serde_json::json!({&name: [inner]})] {
            saihai_judge::ReviewReply::read("a", &serde_json::Value::Null, &value);
        }
    }
}
