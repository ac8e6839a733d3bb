//! Prompts of hats (H-30 to H-33, H-48, H-69).

use saihai_model::{Prompt, PromptPart, SectionCondition, Text, ValueForm, Variable};

use super::{Project, RING, hat, stage, turn};

/// Formats a prompt with its variables in angle brackets, and marks conditional sections.
fn shown(prompt: &Prompt) -> String {
    let mut text = String::new();
    for section in &prompt.sections {
        match section.when {
            SectionCondition::Always => {}
            SectionCondition::Filled => text.push('⟦'),
            SectionCondition::Reasoned => text.push_str("⟦reasoned:"),
            SectionCondition::NewSession => text.push_str("⟦new session:"),
            SectionCondition::Unrefuted | SectionCondition::Refuted(_) => panic!("hats prove nothing"),
        }
        for part in &section.body {
            match part {
                PromptPart::Fixed(Text::Inline(words)) => text.push_str(words),
                PromptPart::Fixed(Text::Blob { .. }) => panic!("a definition has no blobs"),
                PromptPart::Value(Variable::ReplyTail, ValueForm::Quote) => text.push_str("> <ReplyTail>"),
                PromptPart::Value(variable, form) => text.push_str(&format!(
                    "<{variable:?}{}>",
                    if *form == ValueForm::Plain { String::new() } else { format!(" {form:?}") }
                )),
            }
        }
        if section.when != SectionCondition::Always {
            text.push('⟧');
        }
    }
    text
}

fn note(project: &Project, id: &str) -> String {
    match &stage(&project.workflow(), id).exit {
        saihai_model::Exit::Topics { silent, .. } => shown(silent.note.as_ref().unwrap()),
        saihai_model::Exit::Rules { .. } => panic!("hats leave by topics"),
    }
}

// H-30, H-31
#[test]
fn a_prompt_has_its_sections_in_order() {
    let project = Project::new(&format!("base_prompt: Be brief.\n{RING}"));
    let workflow = project.workflow();
    insta::assert_snapshot!(shown(&turn(&workflow, "closer").prompt), @r"
    Be brief.

    ⟦# Task
    <Task>

    ⟧# Hat: 🧹 Closer
    Tidy up with EVENT: code.written, or end with LOOP_COMPLETE

    ⟦# Event
    <EventTopic>
    ⟧⟦From: <EventSource>
    ⟧⟦
    <EventMessage Quote>
    ⟧
    ⟦# Reminder
    <Note>

    ⟧# How to end your reply
    End your reply with one line `EVENT: <topic>`, not in a code block; a short message may follow on the same line. Topics: code.written.
    Only when the whole task is finished, write LOOP_COMPLETE on a line of its own, outside any code block, and no EVENT line.
    ");
    insta::assert_snapshot!(shown(&turn(&workflow, "(base)").prompt), @r"
    Be brief.

    ⟦# Task
    <Task>

    ⟧⟦# Event
    <EventTopic>
    ⟧⟦From: <EventSource>
    ⟧⟦
    <EventMessage Quote>
    ⟧
    ⟦# Reminder
    <Note>

    ⟧# How to end your reply
    End your reply with one line `EVENT: <topic>`, not in a code block; a short message may follow on the same line. Topics: task.start, code.written, tests.failing, tests.passing.
    Only when the whole task is finished, write LOOP_COMPLETE on a line of its own, outside any code block, and no EVENT line.
    ");
}

// H-30, H-31
#[test]
fn a_prompt_is_in_the_language_of_its_hats() {
    let workflow = Project::new(&format!("language: ja\n{RING}")).workflow();
    insta::assert_snapshot!(shown(&turn(&workflow, "closer").prompt), @r"
    ⟦# タスク
    <Task>

    ⟧# Hat: 🧹 Closer
    Tidy up with EVENT: code.written, or end with LOOP_COMPLETE

    ⟦# イベント
    <EventTopic>
    ⟧⟦発行元: <EventSource>
    ⟧⟦
    <EventMessage Quote>
    ⟧
    ⟦# 注意
    <Note>

    ⟧# 返答の終わり方
    返答の最後に `EVENT: <topic>` を一行で書いてください（コードブロックの外に。同じ行に短い説明を続けてもかまいません）。トピック: code.written。
    タスク全体が完了したときだけ、EVENT 行を書かず、LOOP_COMPLETE のみを一行で、コードブロックの外に書いてください。
    ");
}

// H-31
#[test]
fn the_prompt_explains_the_closing_word_to_hats_that_may_write_it() {
    let told = |hats: &str, id: &str| {
        shown(&turn(&Project::new(hats).workflow(), id).prompt).contains("write LOOP_COMPLETE on")
    };
    assert!(!told(RING, "tester"));
    assert!(told(RING, "closer") && told(RING, "(base)"));
    assert!(told(&hat("publishes: []"), "tester"), "nothing else could be reported");
    let nobody = RING.replace(", \"LOOP_COMPLETE\"]", "]");
    assert!(told(&nobody, "tester") && told(&nobody, "coder"), "nobody publishes it, so everybody may");
    let simple = shown(&turn(&Project::new("{}").workflow(), "(base)").prompt);
    assert!(!simple.contains("EVENT: <topic>"), "there is no topic to name: {simple}");
}

// S0
#[test]
fn a_silent_turn_is_reminded_of_its_topics_and_its_own_end() {
    insta::assert_snapshot!(note(&Project::new(RING), "tester"), @"The previous turn of this role reported no result.<Reasons> The topics of this role are: tests.failing, tests.passing. Check what is already done, finish the rest, then report. It ended with:> <ReplyTail>");
    insta::assert_snapshot!(note(&Project::new(&format!("language: ja\n{RING}")), "tester"), @"前回の返答には結果の報告がありませんでした。<Reasons>この役割のトピックは次のとおりです: tests.failing, tests.passing。 済んだ作業を確認し、残りを終えてから報告してください。前回の末尾:> <ReplyTail>");
    // Without hats, only a near miss gets a reminder
    insta::assert_snapshot!(note(&Project::new("{}"), "(base)"), @"⟦reasoned:The previous turn of this role reported no result.<Reasons> Check what is already done, finish the rest, then report. It ended with:⟧⟦reasoned:> <ReplyTail>⟧");
}

// Every reason from judgment and the engine has a text in both languages
#[test]
fn every_reason_has_words() {
    let codes = [
        "in_code_block",
        "quoted",
        "echoed",
        "malformed_topic",
        "inside_sentence",
        "wrong_case",
        "outside_scope",
        "missing_event",
    ];
    for language in ["en", "ja"] {
        let words =
            Project::new(&format!("language: {language}\ncompletion_keyword: DONE\n{RING}")).workflow().words;
        for code in codes {
            let word = words.get(code).unwrap_or_else(|| panic!("{code} in {language}"));
            assert!(!word.contains("{keyword}") && !word.contains("EVENT:"), "{word}");
            assert_eq!(word.contains("{}"), matches!(code, "outside_scope" | "missing_event"), "{word}");
        }
        assert!(words["inside_sentence"].contains("DONE"));
    }
}

#[test]
fn name_and_instructions_reach_the_prompt_byte_for_byte() {
    let instructions = "  indented {{issue_title}}\n\n絵文字🧪  \n\n\n";
    let hats = format!(
        "hats:\n  試験🧪: {{name: \" {{{{n}}}} 🧪 \", triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: {instructions:?}}}\n"
    );
    let prompt = shown(&turn(&Project::new(&hats).workflow(), "試験🧪").prompt);
    assert!(prompt.contains(&format!("# Hat:  {{{{n}}}} 🧪 \n{instructions}")), "{prompt}");
}

// H-69
#[test]
fn instructions_that_emit_elsewhere_are_put_right_in_every_prompt() {
    let hats = RING.replace("Make the tests pass, then", "ralph emit code.written. Then");
    let told =
        "Where the instructions say `ralph emit TOPIC TEXT` or `<event …>`, write the EVENT line instead.";
    for id in ["coder", "tester"] {
        assert!(shown(&turn(&Project::new(&hats).workflow(), id).prompt).contains(told), "{id}");
    }
    assert!(!shown(&turn(&Project::new(RING).workflow(), "coder").prompt).contains(told));
    let told = "指示に `ralph emit TOPIC TEXT` や `<event …>` とあれば、代わりに EVENT 行を書いてください。";
    let japanese = Project::new(&format!("language: ja\n{hats}")).workflow();
    assert!(shown(&turn(&japanese, "coder").prompt).contains(told));
}
