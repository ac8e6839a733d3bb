//! Tests of blocks.

use indexmap::IndexMap;
use saihai_model::{
    BlockUse, Blocks, ExpectedReply, InvalidOutputPolicy, Output, OutputCheck, OutputSchema, Prompt, Reading,
    Reads, Target,
};
use serde_json::json;

use crate::read::{ReplyText, read};

fn reads(fence: &str) -> Reads {
    let uses = ["log", "complete"].map(|kind| (kind.to_owned(), BlockUse::Signal));
    Reads { blocks: Some(Blocks { fence: fence.to_owned(), uses: IndexMap::from(uses) }), ..Reads::default() }
}

fn shown(reading: &Reading) -> Vec<String> {
    let blocks = reading.blocks.iter().map(|block| format!("{} {}", block.kind, block.value));
    blocks.chain(reading.warnings.iter().map(|warning| format!("! {warning}"))).collect()
}

#[track_caller]
fn check(fence: &str, text: &str, expected: &[&str]) {
    let reading = read(ExpectedReply::Work(&reads(fence)), "", ReplyText { text, structured: None });
    assert_eq!(shown(&reading), expected, "{text}");
}

#[test]
fn blocks_of_known_types_are_taken_in_order() {
    check(
        "action",
        "```action\n{\"content\":\"x\",\"type\":\"log\"}\n```\nand\n~~~action\n{\"type\":\"complete\"}\n~~~",
        &[r#"log {"content":"x","type":"log"}"#, r#"complete {"type":"complete"}"#],
    );
    check("action", "{\"type\":\"log\"}", &[]);
}

#[test]
fn the_info_string_is_compared_exactly() {
    for info in ["", "Action", "action x", "actions", "json"] {
        check("action", &format!("```{info}\n{{\"type\":\"log\"}}\n```"), &[]);
    }
}

// Case 37
#[test]
fn what_is_meant_as_a_block_and_is_none_is_told() {
    check(
        "action",
        "\n```action\n{oops}\n```\n```action\n{\"type\":\"lgo\"}\n```\n```action\n[]\n```\n```action\n{\"type\":1}\n```\n```action\n{}",
        &[
            "! the `action` block on line 2 is not valid JSON: key must be a string at line 1 column 2",
            "! the `action` block on line 5 has the unknown type `lgo`",
            "! the `action` block on line 8 is not an object with a `type`",
            "! the `action` block on line 11 is not an object with a `type`",
            "! the `action` block on line 14 is never closed",
        ],
    );
}

#[test]
fn in_a_json_fence_other_objects_are_no_blocks() {
    check("json", "```json\n{\"height\":1}\n```\n```json\n{\"type\":\"other\"}\n```", &[]);
    check("json", "```json\n{\"type\":\"log\"}\n```", &[r#"log {"type":"log"}"#]);
}

// S-44
#[test]
fn a_block_is_no_candidate_for_the_output() {
    let output = Output {
        schema: OutputSchema { schema: json!({}), required: true },
        corrections: 0,
        correction: Prompt::default(),
        still_wrong: InvalidOutputPolicy::Go(Target::Complete),
        checked: OutputCheck::BySchema,
        shaping: Default::default(),
        kept_as: None,
        names: None,
    };
    let reads = Reads { output: Some(output), ..reads("json") };
    let text = "```json\n{\"height\":1}\n```\n```json\n{\"type\":\"log\"}\n```";
    let reading = read(ExpectedReply::Work(&reads), "", ReplyText { text, structured: None });
    assert_eq!((reading.output, reading.blocks.len()), (Some(json!({"height": 1})), 1));
}

// T-86
#[test]
fn a_block_repeated_with_the_prompt_around_it_asks_for_nothing() {
    let prompt = "To log, write:\n```action\n{\"type\":\"log\"}\n```\nNow begin.\n";
    let reading =
        read(ExpectedReply::Work(&reads("action")), prompt, ReplyText { text: prompt, structured: None });
    assert_eq!(shown(&reading), [""; 0]);
    let text = "I log:\n```action\n{\"type\":\"log\"}\n```";
    let reading = read(ExpectedReply::Work(&reads("action")), prompt, ReplyText { text, structured: None });
    assert_eq!(shown(&reading), [r#"log {"type":"log"}"#]);
}
