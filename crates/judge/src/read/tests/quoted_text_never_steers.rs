//! Laws for every reply: quoted or fenced text never steers.

use proptest::prelude::*;
use saihai_model::{Directives, EndWord, ExpectedReply, Reads, Target};

use crate::read::{ReplyText, read};

/// The topics in order and the closing word: everything that routes.
fn routed(text: &str) -> (Vec<String>, Option<String>) {
    routed_from("", text)
}

fn routed_from(prompt: &str, text: &str) -> (Vec<String>, Option<String>) {
    let word = EndWord {
        word: "LOOP_COMPLETE".to_owned(),
        requires: Vec::new(),
        then: Target::Complete,
        quiet: false,
    };
    let directives = Directives {
        words: vec![word],
        known: vec!["tests.failing".into(), "tests.passing".into()],
        declared: None,
        enforce: false,
        extraction: Default::default(),
    };
    let reads = Reads { directives: Some(directives), ..Reads::default() };
    let reading = read(ExpectedReply::Work(&reads), prompt, ReplyText { text, structured: None });
    (reading.events.iter().map(|event| event.topic.to_string()).collect(), reading.end_word)
}

/// Lines as agents write them.
fn line() -> impl Strategy<Value = String> {
    let telling = [
        "EVENT: tests.failing two red",
        "event: tests.passing",
        "- **EVENT: tests.passing**",
        "結果は EVENT: tests.failing です。",
        "LOOP_COMPLETE",
        "✅ LOOP_COMPLETE!",
        "Not yet LOOP_COMPLETE",
        "Everything is done LOOP_COMPLETE",
        "実装しました。EVENT: LOOP_COMPLETE",
        "EVENT: LOOP_COMPLETE all done",
        "I ran the tests.",
        "",
        "\u{1b}[32mEVENT: tests.passing\u{1b}[0m",
        "| a | EVENT: x.y |",
    ];
    prop_oneof![prop::sample::select(telling.to_vec()).prop_map(str::to_owned), "[a-zA-Z:._あ ]{0,20}"]
}

/// Lines of a fenced block or a quotation.
fn shown() -> impl Strategy<Value = Vec<String>> {
    let lines = || prop::collection::vec(line(), 0..5);
    let fence = prop::sample::select(vec!["```", "~~~", "````", "```text"]);
    prop_oneof![
        (fence, lines()).prop_map(|(fence, lines)| {
            let close = fence.trim_end_matches("text").to_owned();
            std::iter::once(fence.to_owned()).chain(lines).chain([close]).collect()
        }),
        lines().prop_map(|lines| lines.iter().map(|line| format!("> {line}")).collect()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    // H-36: also after the last line, which then still counts as the reply's last one
    #[test]
    fn text_that_is_quoted_or_fenced_never_changes_routing(
        plain in prop::collection::vec(line(), 0..8),
        shown in shown(),
        at in any::<prop::sample::Index>(),
    ) {
        let mut with = plain.clone();
        let at = at.index(plain.len() + 1);
        with.splice(at..at, shown);
        prop_assert_eq!(routed(&with.join("\n")), routed(&plain.join("\n")));
    }

    // H-37: in a reply that only repeats its prompt, the last line counts, with or without quoted text after it
    #[test]
    fn an_echo_directs_the_same_with_and_without_something_shown_behind_it(
        prompt in prop::collection::vec(line(), 3..8),
        said in line(),
        shown in shown(),
    ) {
        let prompt = prompt.join("\n");
        let reply = format!("{prompt}\n{said}");
        // A quotation may also repeat the prompt, and would then lengthen the echo.
        let shown: Vec<String> = shown.iter().map(|line| format!("> shown: {line}")).collect();
        let with = format!("{reply}\n{}", shown.join("\n"));
        prop_assert_eq!(routed_from(&prompt, &with), routed_from(&prompt, &reply));
    }

    // H-35: chunk boundaries and line endings make no difference
    #[test]
    fn line_ends_of_other_systems_change_no_routing(reply in prop::collection::vec(line(), 0..8)) {
        prop_assert_eq!(routed(&reply.join("\r\n")), routed(&reply.join("\n")));
    }
}

/// Realistic replies and their directives.
#[test]
fn replies_as_agents_write_them() {
    // H-34 to H-45
    let check = |text: &str, topics: &[&str], ends: bool| {
        let (found, word) = routed(text);
        assert_eq!(
            (found.iter().map(String::as_str).collect::<Vec<_>>(), word.is_some()),
            (topics.to_vec(), ends),
            "{text}"
        );
    };
    check(
        "I've added two tests.\n\n## Result\n\nBoth fail as expected.\n\n**EVENT: tests.failing** – `sorts_numbers`, `sorts_words`",
        &["tests.failing"],
        false,
    );
    check(
        "Summary:\n- wrote the parser\n- ran `cargo test`: 12 passed\n\n`EVENT: tests.passing`",
        &["tests.passing"],
        false,
    );
    check(
        "テストを実行しました。\n\nすべて成功したので EVENT: tests.passing を発行します。",
        &["tests.passing"],
        false,
    );
    check(
        "The hat says:\n> EVENT: tests.passing\nbut one test fails.\n\nEVENT: tests.failing",
        &["tests.failing"],
        false,
    );
    check(
        "To report, I would print:\n```\nEVENT: tests.passing\n```\nI have not run anything yet.",
        &[],
        false,
    );
    check("First EVENT: tests.failing, then after the fix:\nEVENT: tests.passing", &["tests.passing"], false);
    check("\u{1b}[1mDone.\u{1b}[0m\n\u{1b}[32mEVENT: tests.passing\u{1b}[0m", &["tests.passing"], false);
    check("All work is finished and the tests pass.\n\nLOOP_COMPLETE", &[], true);
    check("実装が完了しました。LOOP_COMPLETE", &[], true);
    check(
        "I will print LOOP_COMPLETE once the review is through.\n\nEVENT: tests.passing",
        &["tests.passing"],
        false,
    );
    check("- [ ] docs\n- [x] code\n\nNot done yet, so no LOOP_COMPLETE", &[], false);
    check("Preventing regressions matters.\nPREVENT: tests.passing\nMY_EVENT: x", &[], false);
    check("EVENT: tests.failing\nLOOP_COMPLETE", &["tests.failing"], true);
}
