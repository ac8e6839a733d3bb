use insta::assert_snapshot;
use proptest::prelude::*;
use saihai_model::{Issue, IssueNumber, IssueSource, IssueState};

use super::super::{BlankTitle, COMMIT_TITLE, clean_title, cut, task};

fn issue(source: IssueSource, title: &str, body: &str, labels: &[&str]) -> Issue {
    Issue {
        source,
        number: IssueNumber::new(7).expect("a number"),
        title: title.to_owned(),
        body: body.to_owned(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        state: IssueState::Open,
        priority: 0,
        depends_on: Vec::new(),
        definition: None,
        base: None,
        author: None,
        reopened: false,
    }
}

#[test]
fn a_title_is_one_line_without_anything_that_steers() {
    let check = |title: &str, expected: &str| assert_eq!(clean_title(title).as_deref(), Ok(expected));
    check("Login fails", "Login fails");
    check("  two\r\n lines\u{2028}and\ttabs ", "two lines and tabs");
    check("red \u{1b}[31m\u{7}bell", "red [31m bell");
    check("turned \u{202e}txt.exe\u{2066} round\u{200f}", "turned txt.exe round");
    check("$(touch x) `y` \"z\" ; \n --force", "$(touch x) `y` \"z\" ; --force");
    assert_eq!(clean_title("\u{1}\n\u{202e}\u{feff}\t"), Err(BlankTitle));
}

#[test]
fn a_text_is_cut_between_characters() {
    let check = |text: &str, most, expected: &str| assert_eq!(cut(text, most), expected);
    check("計画を立てる", 6, "計画を立てる");
    check("計画を立てる", 5, "計画を立…");
    check("one two three", 8, "one two…");
    check(&"あ".repeat(73), COMMIT_TITLE, &format!("{}…", "あ".repeat(71)));
}

// I-24
#[test]
fn the_task_names_the_issue_and_says_its_labels() {
    let written = |issue: &Issue| task(issue, "saihai").expect("a title").text;
    let body = "`a+b@example.org` is refused.\n\nAdd a test that fails first.\n";
    assert_snapshot!(written(&issue(IssueSource::Github, "Login\nfails", body, &["bug", "ui\u{202e}"])), @"
    # Issue #7: Login fails

    `a+b@example.org` is refused.

    Add a test that fails first.

    Labels: bug, ui
    ");
    assert_snapshot!(written(&issue(IssueSource::Folder, "Login fails", "", &[])), @"# Issue 7: Login fails");
    assert_eq!(task(&issue(IssueSource::Folder, "\u{7}", "text", &[]), "saihai"), Err(BlankTitle));
}

#[test]
fn a_text_that_is_too_long_is_cut_and_says_so() {
    let long = task(&issue(IssueSource::Github, "Long", &"あ".repeat(300_000), &["bug"]), "saihai")
        .expect("a title");
    assert_eq!(long.left_out, 200_000);
    let end = "あ\n\n[The text of this issue goes on for 200000 more characters.]\n\nLabels: bug";
    assert!(long.text.ends_with(end));
    assert_eq!(long.text.matches('あ').count(), 100_000);
    let whole =
        task(&issue(IssueSource::Github, "Long", &"あ".repeat(100_000), &[]), "saihai").expect("a title");
    assert_eq!(whole.left_out, 0);
    assert!(whole.text.ends_with('あ'));
}

proptest! {
    #[test]
    fn no_title_keeps_what_steers_and_no_cut_is_too_long(title in any::<String>(), most in 1..100_usize) {
        if let Ok(clean) = clean_title(&title) {
            let steers = clean.chars().any(|c| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}'));
            prop_assert!(!steers);
            prop_assert_eq!(clean.trim(), clean.as_str());
            let short = cut(&clean, most);
            prop_assert!(short.chars().count() <= most);
            prop_assert!(short == clean || clean.starts_with(short.trim_end_matches('…')));
        }
    }
}
