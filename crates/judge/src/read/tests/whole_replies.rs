//! Whole replies, and laws for every reply.

use indexmap::IndexMap;
use proptest::prelude::*;
use saihai_model::{
    BlockUse, Blocks, Choice, Directives, EndWord, ExpectedReply, InvalidOutputPolicy, Keyword, Method,
    Offer, Output, OutputCheck, OutputSchema, Prompt, Reading, Reads, Report, Target,
};
use serde_json::json;

use crate::read::markdown::{QuotedLines, code_spans};
use crate::read::reply::ReplyLines;
use crate::read::{ReplyText, read, reply};

fn everything() -> Reads {
    let offers = ["approved", "needs fix", "cannot say"].iter().enumerate();
    let report = |file: &str, label: &str| Report {
        file: file.to_owned(),
        label: label.to_owned(),
        heading: Some("# Findings".to_owned()),
    };
    Reads {
        choice: Some(Choice {
            options: offers.map(|(number, label)| Offer { number, label: (*label).into() }).collect(),
            found_by: vec![Method::Tag],
        }),
        directives: Some(Directives {
            words: vec![EndWord {
                word: "ALL_DONE".to_owned(),
                requires: Vec::new(),
                then: Target::Complete,
                quiet: false,
            }],
            known: vec!["tests.passing".into()],
            declared: None,
            enforce: false,
            extraction: Default::default(),
        }),
        output: Some(Output {
            schema: OutputSchema { schema: json!({"required": ["score"]}), required: false },
            corrections: 1,
            correction: Prompt::default(),
            still_wrong: InvalidOutputPolicy::Go(Target::Complete),
            checked: OutputCheck::BySchema,
            shaping: Default::default(),
            kept_as: None,
            names: None,
        }),
        reports: vec![report("review.md", "Review"), report("notes/scope.md", "Scope")],
        blocks: Some(Blocks {
            fence: "action".to_owned(),
            uses: IndexMap::from([("log".to_owned(), BlockUse::Signal)]),
        }),
        keywords: vec![Keyword { word: "FINISHED".to_owned(), whole_line: false }],
        ..Reads::default()
    }
}

fn read_all(prompt: &str, text: &str) -> Reading {
    read(ExpectedReply::Work(&everything()), prompt, ReplyText { text, structured: None })
}

// P-36, P-40, H-34, S-44
#[test]
fn a_whole_reply_is_read_at_once() {
    let text = "\
\x1b[1mレビュー結果です。\x1b[0m

## Review

```markdown
# Findings
`login()` never checks the *password*:

```rust
fn login() -> bool { true }
```

```

## Scope
```markdown
One file.
```

```json
{\"score\": 7}
```
```action
{\"type\": \"log\", \"content\": \"reviewed\"}
```
> EVENT: tests.passing
EVENT: review.revise - see `review.md`

[STEP:1]
";
    let mut reading = read_all("Review this.", text);
    assert_eq!((reading.digest.len(), reading.tail.as_str()), (64, text));
    (reading.digest, reading.tail) = (String::new(), String::new());
    insta::assert_snapshot!(serde_json::to_string_pretty(&reading).unwrap(), @r#"
    {
      "digest": "",
      "quotation": "`login()` never checks the *password*:",
      "tag": {
        "number": 1,
        "line": 29
      },
      "events": [
        {
          "topic": "review.revise",
          "message": "see `review.md`",
          "line": 27
        }
      ],
      "near_misses": [
        "quoted: > EVENT: tests.passing"
      ],
      "output": {
        "score": 7
      },
      "reports": [
        {
          "file": "review.md",
          "how": "clue",
          "start": 60,
          "end": 152
        },
        {
          "file": "notes/scope.md",
          "how": "clue",
          "start": 178,
          "end": 188
        }
      ],
      "blocks": [
        {
          "kind": "log",
          "value": {
            "content": "reviewed",
            "type": "log"
          }
        }
      ]
    }
    "#);
    let report = |index: usize| {
        let found = &reading.reports[index];
        &text[usize::try_from(found.start).unwrap()..usize::try_from(found.end).unwrap()]
    };
    assert!(report(0).starts_with("# Findings\n") && report(0).ends_with("{ true }\n```\n\n"));
    assert_eq!(report(1), "One file.\n");
}

#[test]
fn nothing_is_found_where_nothing_is_wanted() {
    let text = "[STEP:0]\nEVENT: a\n{\"score\":1}\n```markdown\n```";
    let reading = read(ExpectedReply::Work(&Reads::default()), "", ReplyText { text, structured: None });
    // The quotation is for people: it decides nothing.
    let (digest, quotation) = (reading.digest.clone(), "EVENT: a".to_owned());
    assert_eq!(reading, Reading { digest, quotation, tail: text.to_owned(), ..Reading::default() });
}

// P-44, T-93
#[test]
fn the_tail_is_bounded_in_characters() {
    let reading = read_all("", &format!("{}{}", "x".repeat(5_000), "終".repeat(1_999)));
    assert_eq!(reading.tail, format!("x{}", "終".repeat(1_999)));
}

// C-52, T-96
#[test]
fn a_reply_of_ten_megabytes_is_read_by_its_end() {
    let text =
        format!("[STEP:0]\nEVENT: early\n{}\nEVENT: late\n[STEP:2]", "まだ作業中です\n".repeat(500_000));
    let reading = read_all("", &text);
    assert_eq!(reading.tag.map(|tag| (tag.number, tag.line)), Some((Some(2), 500_005)));
    let events: Vec<_> = reading.events.iter().map(|event| (event.topic.as_str(), event.line)).collect();
    assert_eq!(events, [("late", 500_004)]);
    insta::assert_snapshot!(reading.warnings[0], @"the reply is longer than 4 MiB: its first 6805744 bytes were kept but not read");
}

/// Lines with a meaning for some reader, and some without.
const TELLING: [&str; 40] = [
    "",
    " ",
    "text",
    "テキスト。",
    "[STEP:0]",
    "[STEP:1] = needs fix",
    "[step: 2 ]",
    "[STEP:9]",
    "[STEP:NONE]",
    "EVENT: tests.passing",
    "EVENT: a.b: done",
    "event: tests.passing",
    "EVENT: <x>",
    "so EVENT：b。",
    "ALL_DONE",
    "not ALL_DONE",
    "**ALL_DONE**!",
    "all_done",
    "FINISHED",
    "> FINISHED",
    "> EVENT: q",
    "```",
    "```json",
    "```markdown review.md",
    "````md",
    "````",
    "~~~",
    "~~~action",
    "```action",
    "{\"score\": 1}",
    "{\"score\": [{}",
    "}]}",
    "{\"type\": \"log\"}",
    "## Scope",
    "# Findings",
    "notes/scope.md",
    "\x1b[1m",
    "\x1b]8;;",
    "\u{9b}",
    "\r",
];

fn telling() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(TELLING.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
        1 => any::<String>(),
    ]
}

fn telling_text() -> impl Strategy<Value = String> {
    let line = (telling(), prop::sample::select(vec!["\n", "\n", "\n", "\r\n", " ", ""]));
    prop::collection::vec(line, 0..30)
        .prop_map(|lines| lines.iter().map(|(line, end)| format!("{line}{end}")).collect())
}

/// Summarises a reading without its positions.
fn decides(reading: &Reading) -> String {
    let events: Vec<_> = reading.events.iter().map(|event| (&event.topic, &event.message)).collect();
    format!(
        "{:?} {events:?} {:?} {:?} {:?} {:?}",
        reading.tag.as_ref().map(|tag| tag.number),
        reading.end_word,
        reading.keywords,
        reading.output,
        reading.blocks,
    )
}

proptest! {
    // T-90
    #[test]
    fn no_reply_is_too_strange_to_be_read(prompt in telling_text(), text in telling_text()) {
        let reading = read_all(&prompt, &text);
        let lines = u32::try_from(text.split('\n').count()).unwrap();
        for found in &reading.reports {
            let range = usize::try_from(found.start).unwrap()..usize::try_from(found.end).unwrap();
            prop_assert!(text.get(range).is_some(), "{found:?}");
        }
        prop_assert_eq!(reading.reports.len(), 2);
        prop_assert!(reading.tag.iter().all(|tag| tag.number.is_some_and(|number| number < 3) && (1..=lines).contains(&tag.line)));
        prop_assert!(reading.events.iter().all(|event| (1..=lines).contains(&event.line)));
        prop_assert!(reading.blocks.iter().all(|block| block.kind == "log"));
        prop_assert!(text.ends_with(&reading.tail));
        prop_assert_eq!(&reading, &read_all(&prompt, &text));
    }

    // H-36
    #[test]
    fn what_is_fenced_or_quoted_never_directs(
        lines in prop::collection::vec(prop::sample::select(TELLING[..19].to_vec()), 1..12),
        hidden in prop::collection::vec(prop::sample::select(TELLING.to_vec()), 1..12),
        at in any::<prop::sample::Index>(),
        fenced in any::<bool>(),
    ) {
        let at = at.index(lines.len());
        let inserted = if fenced {
            format!("~~~~~~\n{}\n~~~~~~\n", hidden.join("\n"))
        } else {
            hidden.iter().map(|line| format!("> {line}\n")).collect()
        };
        let with = format!("{}\n{inserted}{}", lines[..at].join("\n"), lines[at..].join("\n"));
        let (with, without) = (read_all("", &with), read_all("", &lines.join("\n")));
        let directs = |reading: &Reading| {
            let events: Vec<_> = reading.events.iter().map(|event| (event.topic.clone(), event.message.clone())).collect();
            (events, reading.end_word.clone())
        };
        // After the last line of the reply something is always read; a line there would end the reply instead.
        prop_assume!(!lines[at..].iter().all(|line| line.trim().is_empty()));
        prop_assert_eq!(directs(&with), directs(&without));
    }
}

/// Returns the last tag of the reply's own words.
fn said_tag(text: &str) -> Option<usize> {
    let plain = reply::strip_escapes(text);
    let page = ReplyLines::new(&plain);
    let tag = read_all("", text).tag?;
    let line = usize::try_from(tag.line).unwrap() - 1;
    let is_code = code_spans(page.line(line)).iter().any(|span| page.line(line)[span.clone()].contains('['));
    (!QuotedLines::of(&page).line(&page, line) && !is_code).then_some(tag.number?)
}

/// Returns true if a fence is open at the end of a text, so that the next one closes it.
fn ends_in_a_block(text: &str) -> bool {
    let text = format!("{}\nend", reply::strip_escapes(text));
    let page = ReplyLines::new(&text);
    QuotedLines::of(&page).line(&page, page.count() - 1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    // P-40
    #[test]
    fn a_tag_in_a_block_behind_the_verdict_never_changes_it(
        before in telling_text(),
        after in telling_text(),
        (verdict, other) in (0_usize..3, 0_usize..3),
        (fence, info) in (prop::sample::select(vec!["```", "~~~", "`````"]), prop::sample::select(vec!["", "log", "md"])),
        around in prop::sample::select(vec!["", "> [STEP:1]\n", "text\n"]),
    ) {
        let text = format!("{before}\n[STEP:{verdict}]\n{after}\n");
        // A bare fence would close an open block, and the tag would then be outside of any block.
        if let Some(verdict) = said_tag(&text) && !(info.is_empty() && ends_in_a_block(&text)) {
            let with = format!("{text}{fence}{info}\n{around}[STEP:{other}]\n{around}{fence}\n");
            let reading = read_all("", &with);
            prop_assert_eq!(reading.tag.unwrap().number, Some(verdict), "{}", with);
            prop_assert!(other == verdict || reading.quoted_tags.iter().any(|tag| tag.number == Some(other)));
        }
    }

    // P-40
    #[test]
    fn a_tag_in_a_quotation_or_a_code_span_never_changes_the_verdict(
        text in telling_text(),
        other in 0_usize..3,
        form in prop::sample::select(vec!["> [STEP:N]", "  >> so [STEP:N] it is", "see `[STEP:N]`", "``a ` [STEP:N]`` b"]),
        at_end in any::<bool>(),
    ) {
        if let Some(verdict) = said_tag(&text) {
            let shown = form.replace('N', &other.to_string());
            let with = if at_end { format!("{text}\n{shown}") } else { format!("{shown}\n{text}") };
            prop_assert_eq!(read_all("", &with).tag.unwrap().number, Some(verdict), "{}", with);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    // P-40, H-37
    #[test]
    fn t86_a_repeated_prompt_never_decides(
        prompt in prop::collection::vec(prompt_part(), 1..8),
        reply in prop::collection::vec(prop::sample::select(REPLIES.to_vec()), 1..6),
    ) {
        let prompt = format!("# Task\n{}\nChoose one:\n[STEP:0] = approved\n[STEP:1] = needs fix\n[STEP:2] = cannot say\n", prompt.concat());
        let reply = reply.join("\n");
        let echoed = format!("{prompt}{reply}");
        prop_assert_eq!(decides(&read_all(&prompt, &echoed)), decides(&read_all(&prompt, &reply)));
        prop_assert_eq!(decides(&read_all(&prompt, &prompt)), decides(&read_all(&prompt, "")));
    }
}

/// Possible contents of tasks, issues, files and earlier reports.
fn prompt_part() -> impl Strategy<Value = String> {
    let parts = [
        "Fix the login page.\n",
        "The issue says [STEP:0].\n",
        "[STEP:2]\n\n",
        "EVENT: a.b do it\n",
        "ALL_DONE\n",
        "Say FINISHED at the end.\n",
        "```json\n{\"score\": 10}\n```\n",
        "The last verdict was {\"score\": 9}.\n\n",
        "{\"score\": 8}\n",
        "```action\n{\"type\": \"log\"}\n```\n",
        "> quoted: EVENT: q\n",
        "  ALL_DONE  \n",
    ];
    prop::sample::select(parts.to_vec()).prop_map(str::to_owned)
}

const REPLIES: [&str; 12] = [
    "I looked at it.",
    "",
    "修正しました。",
    "[STEP:1]",
    "So [STEP:0] it is.",
    "EVENT: tests.passing all green",
    "**ALL_DONE**",
    "FINISHED",
    "{\"score\": 1}",
    "```json\n{\"score\": 2}\n```",
    "```action\n{\"type\": \"log\", \"content\": \"x\"}\n```",
    "The result is {\"score\": 3}.",
];
