use proptest::prelude::*;

use super::super::mentioned;
use super::*;

const HOME: &str = "https://github.com/me/tool";

#[track_caller]
fn check(body: &str, expected: &str) {
    assert_eq!(mentioned(body, Some(HOME)).issues, numbers(expected), "{body}");
}

// I-26, cases 10 and 11
#[test]
fn a_line_that_only_names_issues_behind_its_words_names_dependencies() {
    check("Blocked by #3", "3");
    check("blocked  by: #3, #4 and #5", "3 4 5");
    check("DEPENDS ON #3", "3");
    check("Needs: #3", "3");
    check("Needs #3.", "3");
    check("text\n\n- Depends on #3\n* needs #4\n1. Blocked by #5\n- [ ] Needs #6", "3 4 5 6");
    check("## Blocked by #3", "3");
    check("**Depends on**: #3", "3");
    check("**Depends on:** #3", "3");
    check("__Needs__ #3", "3");
    check("前提Issue： #3、#4", "3 4");
    check("前提issue:#3と#4", "3 4");
    check("Depends on #3, and #4", "3 4");
    check("Depends on #3\r\nNeeds #3\r\nNeeds #2", "3 2");
    check("Depends on https://github.com/me/tool/issues/12", "12");
    check("Depends on https://GitHub.com/Me/tool/issues/12, #4", "12 4");
    check("Depends on https://github.com/me/tool/pull/12", "");
    check("Depends on #0, #1000000000, #7", "7");
}

#[test]
fn words_alone_name_what_the_list_below_begins_with() {
    check("Blocked by:\n- #3\n- [x] #4 the old form", "3 4");
    check("### Depends on\n\n* #3: first\n\n* #4\n\nThen #9.", "3 4");
    check("Needs\n- #3\n  goes on with #8\n  - #9\n- about #7\n- #5", "3 5");
    check("前提Issue\n1. #3\n2) #4", "3 4");
    check("Blocked by:\n- #3\n- Needs: #4\n- #5", "3 4");
    check("Blocked by:\n- #3\n## Notes\n- #4", "3");
    check("Blocked by\n- `#3`\n- #4", "4");
}

// As many nested quotations as fit. Hiding each one again would cost sixty thousand passes over
// sixty thousand characters.
#[test]
fn quotations_of_quotations_are_hidden_once() {
    for text in [">".repeat(60_000), "> ".repeat(30_000)] {
        check(&format!("{text}\n\nDepends on #3"), "3");
    }
}

// I-27
#[test]
fn prose_code_comments_and_quotes_name_nothing() {
    check("No longer blocked by #5", "");
    check("This needs work, see #99", "");
    check("needs work, see #9", "");
    check("Needs #9 to be done", "");
    check("Needs more of #9", "");
    check("Needsmore #9", "");
    check("Blocked by #3rd", "");
    check("Blocked by #3 #4", "");
    check("```\nBlocked by #5\n```", "");
    check("~~~text\nBlocked by #5", "");
    check("text\n\n    Blocked by #5", "");
    check("Blocked by `#5`", "");
    check("`x` Blocked by #5", "");
    check("<!-- Depends on #5 -->", "");
    check("<!--\nDepends on #5\n\n-->\nNeeds #6", "6");
    check("a <!-- \nDepends on #5 --> b", "");
    check("<!-- Depends on #5", "");
    check("> Blocked by #5\nBlocked by #6", "");
    check("<pre>\nBlocked by #5\n</pre>", "");
    check("<blockquote>\n\nBlocked by #5\n\n</blockquote>\n\nNeeds #6", "6");
    check("<details>\nNeeds #6\n</details>", "6");
    check("", "");
}

// I-27
#[test]
fn issues_of_other_repositories_are_told_and_not_followed() {
    let check = |body: &str, home, issues: &str, elsewhere: &[&str]| {
        let found = mentioned(body, home);
        assert_eq!(
            (found.issues, found.elsewhere),
            (numbers(issues), elsewhere.iter().map(|one| (*one).to_owned()).collect())
        );
    };
    check("Depends on other/repo#12, #3", Some(HOME), "3", &["other/repo#12"]);
    check("Depends on https://github.com/a/b/issues/1", Some(HOME), "", &["https://github.com/a/b/issues/1"]);
    check(
        "Depends on https://github.com/me/tool/issues/1",
        None,
        "",
        &["https://github.com/me/tool/issues/1"],
    );
    check("See other/repo#12", Some(HOME), "", &[]);
}

/// Generates lines that may surround a dependency without changing it.
fn around() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just(String::new()),
        "[a-zA-Z,. 計画]{0,20}",
        "#{1,3} [a-z]{1,8}",
        "[-*] [a-z#0-9 ]{1,12}",
        Just("see #8 for more".to_owned()),
    ];
    proptest::collection::vec(line, 0..6).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn what_is_fenced_quoted_or_commented_is_never_a_dependency(
        before in around(),
        after in around(),
        words in "(Blocked by|depends on|NEEDS|前提Issue)",
        way in 0..4,
    ) {
        let line = format!("{words}: #51, #52");
        let hidden = match way {
            0 => format!("```\n{line}\n```"),
            1 => format!("~~~~ yaml\n{line}\n~~~~"),
            2 => format!("> {line}\n> - #51"),
            _ => format!("<!--\n{line}\n-->"),
        };
        let found = mentioned(&format!("{before}\n\n{hidden}\n\n{after}"), None);
        prop_assert!(!found.issues.iter().any(|number| number.get() > 50), "{:?}", found);
        let said = mentioned(&format!("{before}\n\n{line}\n\n{after}"), None);
        prop_assert!(said.issues.iter().any(|number| number.get() == 51), "{:?}", said);
    }

    #[test]
    fn any_text_is_read(text in any::<String>(), marked in "[-*#>`~<!\\[\\]a-z0-9:,\n .]{0,80}") {
        mentioned(&text, Some(HOME));
        mentioned(&marked, None);
    }
}
