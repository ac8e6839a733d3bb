//! Tests of events and closing words.

use saihai_model::{DirectiveExtraction, Directives, EndWord, ExpectedReply, Reading, Reads, Target};

use crate::read::{ReplyText, read};

const PROMPT: &str = "\
# Task
Add a login page. EVENT: tests.passing
# Hat: 🧪 Tester
失敗なら EVENT: tests.failing、成功なら EVENT: tests.passing を出力します。
整理が不要なら LOOP_COMPLETE だけを一行に出力してください。
# How to end your reply
End your reply with one line `EVENT: <topic>`, not in a code block; a short message may follow on the same line. Topics: tests.failing, tests.passing.
Only when the whole task is finished, write LOOP_COMPLETE on a line of its own, outside any code block, and no EVENT line.
";

fn directives(words: &[&str]) -> Directives {
    let word = |word: &&str| EndWord {
        word: (*word).to_owned(),
        requires: Vec::new(),
        then: Target::Complete,
        quiet: false,
    };
    Directives {
        words: words.iter().map(word).collect(),
        known: ["tests.failing", "tests.passing", "review.revise", "build.*", "*"].map(Into::into).to_vec(),
        declared: None,
        enforce: false,
        extraction: Default::default(),
    }
}

fn reading(words: &[&str], prompt: &str, text: &str) -> Reading {
    let reads = Reads { directives: Some(directives(words)), ..Reads::default() };
    read(ExpectedReply::Work(&reads), prompt, ReplyText { text, structured: None })
}

/// Formats events as `line topic: message`, the closing word as `end word`, near misses as `? code: the line`.
fn found(reading: &Reading) -> Vec<String> {
    let events = reading.events.iter().map(|event| {
        let message = event.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
        format!("{} {}{message}", event.line, event.topic)
    });
    let end = reading.end_word.iter().map(|word| format!("end {word}"));
    let misses = reading.near_misses.iter().map(|miss| format!("? {miss}"));
    events.chain(end).chain(misses).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(found(&reading(&["LOOP_COMPLETE"], PROMPT, text)), expected, "{text}");
}

#[track_caller]
fn check_topics(text: &str, expected: &[&str]) {
    let reading = reading(&["LOOP_COMPLETE"], PROMPT, text);
    let topics: Vec<_> = reading.events.iter().map(|event| event.topic.as_str()).collect();
    assert_eq!((topics.as_slice(), &reading.end_word), (expected, &None), "{text}");
}

// H-34, H-38
#[test]
fn an_event_may_stand_anywhere_in_capitals_and_at_the_start_of_a_line_in_any_case() {
    check("EVENT: tests.passing", &["1 tests.passing"]);
    check("done\n\nso EVENT:tests.passing", &["3 tests.passing"]);
    check("結果はEVENT: tests.passing", &["1 tests.passing"]);
    check("EVENT：tests.passing", &["1 tests.passing"]);
    check("event:tests.passing", &["1 tests.passing"]);
    check("  - **Event: tests.passing**", &["1 tests.passing"]);
    check("12) `event: build.done`", &["1 build.done"]);
    check("## Event: build.done", &["1 build.done"]);
    check("__EVENT: tests.passing__", &["1 tests.passing"]);
    check("EVENT: Tests.Passing", &["1 Tests.Passing"]);
}

// H-38, HC-14
#[test]
fn what_only_resembles_an_event_is_none() {
    check("PREVENT: tests.passing", &[]);
    check("MY_EVENT: x, PRE-EVENT: x, a.EVENT: x, 1EVENT: x", &[]);
    check("EVENT : tests.passing", &[]);
    check("an event: click", &[]);
    check("Event: click", &[]);
    check("Events: tests.passing", &[]);
    check("the event: tests.passing was seen", &["? wrong_case: the event: tests.passing was seen"]);
    check("EVENT:\nand prose", &["? malformed_topic: EVENT:"]);
}

// H-39, HC-13
#[test]
fn the_topic_ends_where_its_own_form_ends() {
    for end in [".", ",", ")", "`", "**", "\x1b[0m", "。", "を発行", "!\"", "_"] {
        check_topics(&format!("EVENT: tests.passing{end}"), &["tests.passing"]);
    }
}

// H-39
#[test]
fn a_malformed_topic_is_a_near_miss() {
    check("EVENT: <topic>", &["? malformed_topic: EVENT: <topic>"]);
    check("EVENT: a|b", &["? malformed_topic: EVENT: a|b"]);
    check("EVENT: http://x", &["? malformed_topic: EVENT: http://x"]);
    check(
        &format!("EVENT: {}", "x".repeat(129)),
        &[&format!("? malformed_topic: EVENT: {}…", "x".repeat(113))],
    );
}

// H-40, HC-19
#[test]
fn what_follows_the_topic_is_its_message() {
    check(r#"EVENT: review.revise {"file":"a.rs"}"#, &[r#"1 review.revise: {"file":"a.rs"}"#]);
    check("EVENT: review.revise: fix a.rs", &["1 review.revise: fix a.rs"]);
    check("EVENT: a - x", &["1 a: x"]);
    check("EVENT: a — x — y ", &["1 a: x — y"]);
    check("EVENT: a | x", &["1 a: x"]);
    check("EVENT: a: - x", &["1 a: - x"]);
    check("EVENT: a** - x", &["1 a: x"]);
    check("EVENT: a – x", &["1 a: x"]);
    check("**EVENT: a**", &["1 a"]);
    check("**EVENT: a** all *green*", &["1 a: all *green*"]);
    check("**EVENT: a all green**", &["1 a: all green"]);
    check("EVENT: a 。、！」", &["1 a"]);
    check("EVENT: a ...", &["1 a"]);
    check("EVENT: a 🎉", &["1 a: 🎉"]);
    check("EVENT: a を発行", &["1 a: を発行"]);
}

// H-40
#[test]
fn a_long_message_is_cut_and_says_so() {
    let reading = reading(&[], "", &format!("EVENT: a {}", "あ".repeat(4_001)));
    let message = reading.events[0].message.as_deref().unwrap();
    assert_eq!(message, format!("{} …[cut]", "あ".repeat(4_000)));
    check(&format!("EVENT: a {}", "x".repeat(4_000)), &[&format!("1 a: {}", "x".repeat(4_000))]);
}

// H-41
#[test]
fn several_events_are_recorded_in_order() {
    check(
        "EVENT: tests.failing two of them\nfixed\nEVENT: tests.passing",
        &["1 tests.failing: two of them", "3 tests.passing"],
    );
    check("EVENT: a then; EVENT: b. And event: c", &["1 a: then;", "1 b: And event: c"]);
}

// H-36
#[test]
fn fenced_and_quoted_lines_are_not_read() {
    check("```\nEVENT: tests.passing\n```", &["? in_code_block: EVENT: tests.passing"]);
    check("~~~~ text\nLOOP_COMPLETE\n~~~~\nok", &["? in_code_block: LOOP_COMPLETE"]);
    check("> EVENT: tests.passing", &["? quoted: > EVENT: tests.passing"]);
    check("  >LOOP_COMPLETE", &["? quoted: >LOOP_COMPLETE"]);
    check("```\nEVENT: tests.passing", &["2 tests.passing"]);
    check("```x\nEVENT: a\n~~~\nEVENT: b", &["2 a", "4 b"]);
    check("`EVENT: tests.passing`", &["1 tests.passing"]);
    check("```\nEVENT: <topic>, loop_complete\n```", &[]);
}

// H-37
#[test]
fn three_repeated_lines_are_an_echo() {
    let echo = "# Task\nAdd a login page. EVENT: tests.passing\n# Hat: 🧪 Tester\n";
    check(&format!("{echo}ok"), &["? echoed: Add a login page. EVENT: tests.passing"]);
    check("# Task\nEVENT: tests.passing\nok", &["2 tests.passing"]);
    check("Add a login page. EVENT: tests.passing", &["1 tests.passing"]);
}

// T-86
#[test]
fn an_agent_that_prints_its_prompt_directs_nothing() {
    let reading = reading(&["LOOP_COMPLETE"], PROMPT, PROMPT);
    assert_eq!((reading.events.as_slice(), reading.end_word.as_deref()), ([].as_slice(), None));
    let misses: Vec<String> = reading.near_misses.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(misses.join("\n"), @"
    echoed: Add a login page. EVENT: tests.passing
    echoed: 失敗なら EVENT: tests.failing、成功なら EVENT: tests.passing を出力します。
    echoed: 整理が不要なら LOOP_COMPLETE だけを一行に出力してください。
    inside_sentence: Only when the whole task is finished, write LOOP_COMPLETE on a line of its own, outside any code block, and no EVENT lin…
    ");
    check_topics(&format!("{PROMPT}\nEVENT: tests.failing"), &["tests.failing"]);
}

#[test]
fn our_own_sentences_direct_nothing() {
    for sentence in [
        "End your reply with one line `EVENT: <topic>`, not in a code block; a short message may follow on the same line. Topics: a.b, c.",
        "返答の最後に `EVENT: <topic>` を一行で書いてください（コードブロックの外に。同じ行に短い説明を続けてもかまいません）。トピック: a.b, c。",
        "Only when the whole task is finished, write LOOP_COMPLETE on a line of its own, outside any code block, and no EVENT line.",
        "タスク全体が完了したときだけ、EVENT 行を書かず、LOOP_COMPLETE のみを一行で、コードブロックの外に書いてください。",
        "Where the instructions say `ralph emit TOPIC TEXT` or `<event …>`, write the EVENT line instead.",
    ] {
        let reading = reading(&["LOOP_COMPLETE"], "", sentence);
        assert_eq!((reading.events.as_slice(), reading.end_word), ([].as_slice(), None), "{sentence}");
    }
}

// H-44, HC-24
#[test]
fn a_closing_word_stands_alone_or_is_published_or_ends_the_reply() {
    for text in [
        "LOOP_COMPLETE",
        "**LOOP_COMPLETE**",
        "✅ LOOP_COMPLETE!",
        "✔️ `LOOP_COMPLETE` 🎉",
        "「LOOP_COMPLETE」。",
        "_LOOP_COMPLETE_",
        "# LOOP_COMPLETE",
        "\"LOOP_COMPLETE\"",
        "'LOOP_COMPLETE'！",
        "- EVENT: LOOP_COMPLETE all done",
        "event: LOOP_COMPLETE",
        "実装しました。LOOP_COMPLETE",
        "実装しましたLOOP_COMPLETE",
        "pass。LOOP_COMPLETE",
        "Everything is done **LOOP_COMPLETE**",
        "- LOOP_COMPLETE",
        "All is done, EVENT:LOOP_COMPLETE.",
        "Nothing is left, notes are written: LOOP_COMPLETE",
        "LOOP_COMPLETE\nBye.",
        "- EVENT: LOOP_COMPLETE all done\nBye.",
        "Everything is done LOOP_COMPLETE\n\n> the task said so",
        "Everything is done LOOP_COMPLETE\n```\ncargo test\n```\n",
    ] {
        check(text, &["end LOOP_COMPLETE"]);
    }
}

// H-44
#[test]
fn a_closing_word_inside_a_sentence_ends_nothing() {
    for text in [
        "do not print LOOP_COMPLETE yet",
        "I do not say LOOP_COMPLETE",
        "It isn't LOOP_COMPLETE",
        "We cannot print LOOP_COMPLETE",
        "まだ LOOP_COMPLETE",
        "完了ではないので LOOP_COMPLETE",
        "Wait until LOOP_COMPLETE",
        "I never write LOOP_COMPLETE",
        "- [ ] LOOP_COMPLETE",
        "❌ LOOP_COMPLETE",
        "pass.LOOP_COMPLETE",
        "PREVENT:LOOP_COMPLETE",
        "MY_EVENT:LOOP_COMPLETE",
        "(LOOP_COMPLETE)",
    ] {
        check(text, &[&format!("? inside_sentence: {text}")]);
    }
    check("All done LOOP_COMPLETE\nBye.", &["? inside_sentence: All done LOOP_COMPLETE"]);
    check("I write EVENT: LOOP_COMPLETE then.\n", &["? inside_sentence: I write EVENT: LOOP_COMPLETE then."]);
    check("loop_complete", &["? wrong_case: loop_complete"]);
    check("All is done. loop_complete", &["? wrong_case: All is done. loop_complete"]);
    check("実装しました。Loop_Complete!", &["? wrong_case: 実装しました。Loop_Complete!"]);
    // Not in the position of a directive, or negated: not meant.
    check("All is done. loop_complete\nor so", &[]);
    check("This is not loop_complete", &[]);
    check("the loop_complete word", &[]);
    check("MY_LOOP_COMPLETE LOOP_COMPLETED", &[]);
    check(
        "EVENT: tests.failing not yet LOOP_COMPLETE",
        &[
            "1 tests.failing: not yet LOOP_COMPLETE",
            "? inside_sentence: EVENT: tests.failing not yet LOOP_COMPLETE",
        ],
    );
}

#[test]
fn events_next_to_a_closing_word_are_still_recorded() {
    check("LOOP_COMPLETE\nEVENT: tests.failing", &["2 tests.failing", "end LOOP_COMPLETE"]);
    check("EVENT: tests.failing\nLOOP_COMPLETE", &["1 tests.failing", "end LOOP_COMPLETE"]);
}

#[test]
fn only_the_words_of_the_definition_close() {
    let end = |words: &[&str], text: &str| reading(words, "", text).end_word;
    assert_eq!(end(&["DONE"], "LOOP_COMPLETE"), None);
    assert_eq!(end(&["DONE"], "DONE").as_deref(), Some("DONE"));
    assert_eq!(end(&[], "LOOP_COMPLETE"), None);
    assert_eq!(end(&["", "A.B"], "\n \nA.B"), Some("A.B".to_owned()));
    // The last closing word counts.
    assert_eq!(end(&["DONE", "GIVE_UP"], "DONE\nGIVE_UP").as_deref(), Some("GIVE_UP"));
    assert_eq!(reading(&["DONE"], "", "All done.\nWell done, done.").near_misses, []);
}

#[test]
fn near_misses_are_few_and_the_last_ones() {
    let text: String = (0..1_000).map(|number| format!("> EVENT: n{number}\n")).collect();
    let misses = reading(&[], "", &text).near_misses;
    assert_eq!((misses.len(), misses[7].to_string().as_str()), (8, "quoted: > EVENT: n999"));
}

// H-41
#[test]
fn of_too_many_events_the_last_are_recorded() {
    let text: String = (1..=1_002).map(|number| format!("EVENT: n{number}\n")).collect();
    let reading = reading(&[], "", &text);
    let topic = |index: usize| reading.events[index].topic.as_str();
    assert_eq!((reading.events.len(), topic(0), topic(999)), (1_000, "n3", "n1002"));
    assert_eq!(reading.warnings, ["too many events: the first 2 were not recorded"]);
}

// H-35
#[test]
fn an_event_behind_ten_megabytes_is_found() {
    let line = "working on `src/lib.rs`, event handling, 試験 and so on\n";
    let lines = 10 * 1024 * 1024 / line.len();
    let text = format!("{}EVENT: tests.passing", line.repeat(lines));
    let reading = reading(&["LOOP_COMPLETE"], PROMPT, &text);
    assert_eq!(found(&reading), [format!("{} tests.passing", lines + 1)]);
    assert_eq!(reading.warnings.len(), 1);
}

// H-35, T-94
#[test]
fn hostile_replies_cost_no_square() {
    let size = 200_000;
    for text in [
        "EVENT: a ".repeat(size / 9),
        format!("{}{}", "*".repeat(size), "EVENT: a ".repeat(size / 9)),
        format!("EVENT: a{}", ".".repeat(size)),
        "LOOP_COMPLETE ".repeat(size / 14),
        "> EVENT: a\n".repeat(size / 11),
        "```\nEVENT: a\n".repeat(size / 13),
        "1. ".repeat(size / 3) + "EVENT: a",
        "\n".repeat(size) + "EVENT: a",
        "EVENT: a\n\n\n".repeat(size / 11),
    ] {
        let prompt = format!("x\n{}\ny\nz\n", &text[..size / 2]);
        let reading = reading(&["LOOP_COMPLETE"], &prompt, &text);
        assert!(!reading.events.is_empty() || reading.end_word.is_some() || !reading.near_misses.is_empty());
    }
}

// Issue 25: forms that models really write.
#[test]
fn decorated_directives_count() {
    check("EVENT: `tests.passing`", &["1 tests.passing"]);
    check("**EVENT:** tests.passing all green", &["1 tests.passing: all green"]);
    check("**EVENT: `tests.passing`** — all green", &["1 tests.passing: all green"]);
    check("EVENT: \"tests.passing\"", &["1 tests.passing"]);
    check("EVENT:\n\ntests.passing\n", &["3 tests.passing"]);
    check("**EVENT:**\n- `build.done`\n\nBye.", &["2 build.done"]);
    check("EVENT:\n> tests.passing", &["? malformed_topic: EVENT:"]);
    check("EVENT:\nunknown.topic", &["? malformed_topic: EVENT:"]);
    for text in [
        "LOOP_COMPLETE.",
        "LOOP_COMPLETE: all tests pass\nBye.",
        "**LOOP_COMPLETE**: all tests pass\nBye.",
        "- LOOP_COMPLETE — merged\nBye.",
        "<promise>LOOP_COMPLETE</promise>\nBye.",
        "**<promise>LOOP_COMPLETE</promise>**\nBye.",
    ] {
        check(text, &["end LOOP_COMPLETE"]);
    }
    for text in ["LOOP_COMPLETE: not yet", "I write <promise>LOOP_COMPLETE</promise> later."] {
        check(&format!("{text}\nBye."), &[&format!("? inside_sentence: {text}")]);
    }
}

// Issue 25
#[test]
fn a_mention_inside_a_sentence_is_a_near_miss() {
    for text in
        ["I publish EVENT: tests.passing when they pass.", "結果はEVENT: tests.passing になる予定です。"]
    {
        check(&format!("{text}\nBye."), &[&format!("? inside_sentence: {text}")]);
    }
    let last = "I do not publish EVENT: tests.passing";
    check(last, &[&format!("? inside_sentence: {last}")]);
}

// Issue 25: the seed names no rule for topics.
#[test]
fn a_topic_is_a_run_without_blanks() {
    let mut directives = directives(&["LOOP_COMPLETE"]);
    directives.known = ["テスト.失敗", "build:done", "review/done", "build"].map(Into::into).to_vec();
    let reads = Reads { directives: Some(directives), ..Reads::default() };
    let reading =
        |text: &str| found(&read(ExpectedReply::Work(&reads), "", ReplyText { text, structured: None }));
    for (text, topic) in [
        ("EVENT: テスト.失敗", "テスト.失敗"),
        ("EVENT: テスト.失敗を発行", "テスト.失敗"),
        ("EVENT: `テスト.失敗`。", "テスト.失敗"),
        ("EVENT: build:done", "build:done"),
        ("EVENT: review/done.", "review/done"),
        ("EVENT: テスト.成功", "テスト.成功"),
        ("EVENT: other/topic", "other/topic"),
    ] {
        let message = if text.ends_with("発行") { ": を発行" } else { "" };
        assert_eq!(reading(text), [format!("1 {topic}{message}")], "{text}");
    }
    assert_eq!(reading("EVENT: build: done"), ["1 build: done"]);
    assert_eq!(reading("EVENT: http://x"), ["? malformed_topic: EVENT: http://x"]);
}

// Issue 25: the seed's literal rule.
#[test]
fn extraction_anywhere_reads_the_whole_text() {
    let directives =
        Directives { extraction: DirectiveExtraction::Anywhere, ..directives(&["LOOP_COMPLETE"]) };
    let reads = Reads { directives: Some(directives), ..Reads::default() };
    let reading =
        |text: &str| found(&read(ExpectedReply::Work(&reads), PROMPT, ReplyText { text, structured: None }));
    assert_eq!(reading("```\nEVENT: tests.passing\n```\nBye."), ["2 tests.passing"]);
    assert_eq!(reading("> EVENT: tests.failing x\nBye."), ["1 tests.failing: x"]);
    assert_eq!(reading("I publish EVENT: tests.passing now.\nBye."), ["1 tests.passing: now."]);
    assert_eq!(reading("do not print LOOP_COMPLETE yet"), ["end LOOP_COMPLETE"]);
}
