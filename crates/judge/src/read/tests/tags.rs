//! Tests of status tags.

use saihai_model::{
    AnswerForm, Choice, ExpectedReply, LabelField, Method, Offer, Prompt, Question, QuestionSession, Reads,
};

use crate::read::tags::is_only_a_tag;
use crate::read::{ReplyText, read};

const PROMPT: &str = "\
You are a careful engineer.
---
## 実行コンテキスト
- ピース: bugfix
## ユーザーのタスク
Say [STEP:0] at once.

---
## ステータス出力（必須）
全ての作業とレポート出力が完了した後、最後に以下のいずれかのタグを出力してください。
あなたの作業結果に最も合致するものを1つだけ選んでください。

[STEP:0] = タスク完了
[STEP:1] = 進行できない
";

const QUESTION: &str = "\
## 出力
<output>
I did it. [STEP:5]
</output>
## 判定
上の出力に最も合致する条件を1つだけ選び、そのタグだけを出力してください。どれにも合致しない場合は [STEP:NONE] を出力してください。
[STEP:0] = タスク完了
[STEP:1] = 進行できない
";

fn choice(offers: &[(usize, &str)]) -> Choice {
    let options = offers.iter().map(|(number, label)| Offer { number: *number, label: (*label).into() });
    Choice { options: options.collect(), found_by: vec![Method::Tag] }
}

fn rules() -> Choice {
    choice(&[(0, "タスク完了"), (1, "進行できない")])
}

fn tag(choice: Choice, prompt: &str, text: &str) -> Option<(Option<usize>, u32)> {
    let reads = Reads { choice: Some(choice), ..Reads::default() };
    let reading = read(ExpectedReply::Work(&reads), prompt, ReplyText { text, structured: None });
    reading.tag.map(|tag| (tag.number, tag.line))
}

/// Checks the tag of a reply to a prompt with two rules: its number and its line.
#[track_caller]
fn check(text: &str, expected: Option<(usize, u32)>) {
    assert_eq!(tag(rules(), PROMPT, text), expected.map(|(number, line)| (Some(number), line)), "{text}");
}

/// Checks the tag of an answer to the question.
#[track_caller]
fn check_answer(text: &str, expected: Option<Option<usize>>) {
    let question = Question {
        prompt: Prompt::default(),
        provider: None,
        model: None,
        session: QuestionSession::Fresh,
        answer: AnswerForm::Tag,
        correction: Prompt::default(),
        corrections: 0,
        unreadable: None,
    };
    let choice = rules();
    let reading =
        read(ExpectedReply::Answer(&choice, &question), QUESTION, ReplyText { text, structured: None });
    assert_eq!(reading.tag.map(|tag| tag.number), expected, "{text}");
}

// P-40, cases 1 and 2
#[test]
fn the_last_tag_of_a_reply_counts() {
    check("修正しました。\n\n[STEP:0]", Some((0, 3)));
    check("[STEP:0]\nOn second thought:\n[STEP:1]\n\n", Some((1, 3)));
    check("Between [STEP:0] and [STEP:1] I choose [STEP:0].", Some((0, 1)));
    check("No tag at all.", None);
    check("", None);
}

// P-40, case 3
#[test]
fn case_and_blanks_inside_the_brackets_do_not_matter() {
    check("[step: 0]", Some((0, 1)));
    check("[ Step\t:　1 ]", Some((1, 1)));
    check("**[STEP:1]**", Some((1, 1)));
    check("```\n[STEP:1]\n```", Some((1, 2)));
    check("\x1b[1m[\x1b[32mSTEP:1\x1b[0m]", Some((1, 1)));
    check("[ST EP:0] [STEP:0 [STEP:] STEP:0 [STEP:0\n]", None);
}

// P-40, P-47, cases 3, 4 and 38
#[test]
fn numbers_that_are_not_offered_are_skipped() {
    check("[STEP:1]\n[STEP:7]", Some((1, 1)));
    check("[STEP:-1] [STEP:99999999999999999999] [STEP:+1] [STEP:１] [STEP:1.0]", None);
    check(&format!("[STEP:{}]", "9".repeat(100_000)), None);
    check("[STEP:0001]", Some((1, 1)));
    let offered = || choice(&[(1, "修正した")]);
    assert_eq!(tag(offered(), "", "[STEP:1]\n[STEP:0]"), Some((Some(1), 1)));
    assert_eq!(tag(choice(&[]), "", "[STEP:0]"), None);
}

// P-40, case 5
#[test]
fn the_repeated_list_is_an_echo_and_one_line_of_it_an_answer() {
    check("[STEP:0] = タスク完了\n[STEP:1] = 進行できない\n", None);
    check("どちらか:\n\n> [STEP:0] = タスク完了\n>\n> [STEP:1] = 進行できない\n", None);
    check("[STEP:0] = タスク完了", Some((0, 1)));
    check("[STEP:0] = タスク完了\n[STEP:1] = 進行できない\n[STEP:1] = 進行できない", Some((1, 3)));
    check("[STEP:1] = 進行できない\n[STEP:0] = タスク完了", Some((0, 2)));
    check("[STEP:1]\n[STEP:0] = タスク完了\n[STEP:1] = 進行できない", Some((1, 1)));
    check("[STEP:0] = タスク完了 と思います\n[STEP:1] = 進行できない", Some((1, 2)));
}

// P-40, T-86
#[test]
fn a_repeated_prompt_is_an_echo() {
    check(PROMPT, None);
    check(&format!("{PROMPT}\nDone.\n"), None);
    check(&format!("{PROMPT}\nDone.\n[STEP:1]"), Some((1, 17)));
    check(&format!("[STEP:1]\n{PROMPT}"), Some((1, 1)));
    let quoted: String = PROMPT.lines().map(|line| format!("> {line}\n")).collect();
    check(&quoted, None);
}

// P-40
#[test]
fn two_repeated_lines_are_no_echo() {
    check("## ユーザーのタスク\nSay [STEP:0] at once.\nNo.", Some((0, 2)));
    check("- ピース: bugfix\n## ユーザーのタスク\nSay [STEP:0] at once.\nNo.", None);
}

// P-40
#[test]
fn the_last_line_is_read_unless_it_ends_the_repeated_status_block() {
    check("- ピース: bugfix\n## ユーザーのタスク\nSay [STEP:0] at once.", Some((0, 3)));
    let alone = || choice(&[(0, "done")]);
    let prompt =
        "Work.\n\n## Status Output (required)\nChoose only the one that matches.\n\n[STEP:0] = done\n";
    assert_eq!(tag(alone(), prompt, prompt), None);
    assert_eq!(tag(alone(), prompt, "Finished.\n[STEP:0] = done"), Some((Some(0), 2)));
}

/// Checks the tag of a reply, and the quoted tags that name another rule and do not count.
#[track_caller]
fn check_quoted(text: &str, expected: Option<(usize, u32)>, quoted: &[(usize, u32)]) {
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let reads = Reads { choice: Some(rules()), ..Reads::default() };
        let reading = read(ExpectedReply::Work(&reads), PROMPT, ReplyText { text: &text, structured: None });
        let place = |tag: &saihai_model::Tag| (tag.number.unwrap(), tag.line);
        let found: Vec<_> = reading.quoted_tags.iter().map(place).collect();
        assert_eq!((reading.tag.as_ref().map(place), found.as_slice()), (expected, quoted), "{text}");
    }
}

// P-40
#[test]
fn a_quoted_tag_counts_only_where_there_is_no_other() {
    check_quoted("[STEP:1]\n```\n[STEP:0]\n```\n", Some((1, 1)), &[(0, 3)]);
    check_quoted("[STEP:1]\n~~~ log\n[STEP:0]\n~~~\nbye", Some((1, 1)), &[(0, 3)]);
    check_quoted("[STEP:1]\n\nThe log:\n```\n[STEP:0]", Some((1, 1)), &[(0, 5)]);
    check_quoted("[STEP:1]\n> [STEP:0]\n>> [STEP:0]", Some((1, 1)), &[(0, 3)]);
    check_quoted("[STEP:1], not `[STEP:0]`", Some((1, 1)), &[(0, 1)]);
    check_quoted("[STEP:1]\n\n    [STEP:0]\n", Some((1, 1)), &[(0, 3)]);
    check_quoted("`[STEP:0]`\n> [STEP:1]", Some((1, 2)), &[(0, 1)]);
    check_quoted("```\n[STEP:0]\n[STEP:1]\n```", Some((1, 3)), &[(0, 2)]);
}

// P-40
#[test]
fn quoted_tags_that_agree_or_are_not_offered_are_not_recorded() {
    check_quoted("[STEP:1]\n```\n[STEP:1]\n[STEP:7]\n```\n", Some((1, 1)), &[]);
    check_quoted("I said [STEP:0]. No:\n[STEP:1]", Some((1, 2)), &[]);
    check_quoted("[STEP:1]\n```\n[STEP:0] = タスク完了\n[STEP:1] = 進行できない\n```", Some((1, 1)), &[]);
}

// P-36, P-40
#[test]
fn a_tag_behind_a_report_with_code_in_it_counts() {
    let report = "```markdown\n# Review\n```rust\nlet a = 1;\n```\nNot [STEP:0].\n```\n";
    check_quoted(&format!("{report}[STEP:1]"), Some((1, 8)), &[(0, 6)]);
    check_quoted(&format!("{report}[STEP:1]\n```\n[STEP:0]\n```"), Some((1, 8)), &[(0, 10)]);
}

// P-40, P-41
#[test]
fn a_quoted_answer_gives_way_to_one_that_is_not_quoted() {
    check_answer("[STEP:NONE]\n> I did it. [STEP:0]", Some(None));
    check_answer("> I did it. [STEP:0]", Some(Some(0)));
}

// P-40
#[test]
fn without_the_method_no_tag_is_looked_for() {
    let mut by_field = rules();
    by_field.found_by =
        vec![Method::Field(LabelField { pointer: "/intent".to_owned(), ..LabelField::default() })];
    assert_eq!(tag(by_field, "", "[STEP:0]"), None);
}

// P-41, cases 6 and 7
#[test]
fn an_answer_is_a_tag_or_the_tag_for_none() {
    check_answer("[STEP:0]", Some(Some(0)));
    check_answer("[step:none]", Some(None));
    check_answer("[STEP:0]? No: [STEP:NONE]", Some(None));
    check_answer("[STEP:NONE]? No: [STEP:1]", Some(Some(1)));
    check_answer("not sure", None);
    check_answer("[STEP:5]", None);
    check_answer(QUESTION, None);
    check("[STEP:NONE]", None);
}

// P-38
#[test]
fn a_line_may_be_nothing_but_a_tag() {
    for line in [
        "[STEP:0]",
        " **[step: 1]** ",
        "`[STEP:99]`",
        "[STEP:0] = done",
        "**[STEP:0]** = done",
        "[STEP:NONE]",
    ] {
        assert!(is_only_a_tag(line), "{line}");
    }
    for line in ["", "I say [STEP:0]", "[STEP:0] it is", "[STEP:x]", "STEP:0"] {
        assert!(!is_only_a_tag(line), "{line}");
    }
}

// H-35, T-96
#[test]
fn half_a_million_tags_in_one_line_cost_no_square() {
    check(&"[STEP:0]".repeat(500_000), Some((0, 1)));
    let line = "[STEP:0]".repeat(100_000);
    let prompt = format!("a\nb\n{line}\nc\n");
    assert_eq!(tag(rules(), &prompt, &format!("a\nb\n{line}\nx")), None);
}
