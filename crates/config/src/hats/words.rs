//! Text that Saihai adds to prompts of hats, in both languages (H-30, H-31, H-48, H-69).

use crate::Language;

/// Text before and after an inserted value.
pub(super) type Around = (&'static str, &'static str);

#[derive(Debug)]
pub(super) struct Words {
    pub(super) task: &'static str,
    pub(super) event: &'static str,
    pub(super) from: &'static str,
    pub(super) reminder: &'static str,
    pub(super) ending: &'static str,
    pub(super) silent: Around,
    /// Topics of the role; the last part of a reminder's reason.
    pub(super) topics: Around,
    pub(super) publish: Around,
    pub(super) complete: Around,
    /// The word between two alternatives.
    pub(super) or: &'static str,
    /// Added if instructions mention commands that Saihai does not read.
    pub(super) foreign: &'static str,
    /// Reasons why a reply decided nothing, by code. `{}` is the topic, `{keyword}` the closing word.
    pub(super) reasons: [(&'static str, &'static str); 8],
}

impl Words {
    pub(super) fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &ENGLISH,
            Language::Japanese => &JAPANESE,
        }
    }
}

static ENGLISH: Words = Words {
    task: "# Task",
    event: "# Event",
    from: "From: ",
    reminder: "# Reminder",
    ending: "# How to end your reply",
    silent: (
        "The previous turn of this role reported no result.",
        " Check what is already done, finish the rest, then report. It ended with:",
    ),
    topics: (" The topics of this role are: ", "."),
    publish: (
        "End your reply with one line `EVENT: <topic>`, not in a code block; a short message may follow on the same line. Topics: ",
        ".",
    ),
    complete: (
        "Only when the whole task is finished, write ",
        " on a line of its own, outside any code block, and no EVENT line.",
    ),
    or: " or ",
    foreign: "Where the instructions say `ralph emit TOPIC TEXT` or `<event …>`, write the EVENT line instead.",
    reasons: [
        ("in_code_block", " What it reported stood in a code block and does not count."),
        ("quoted", " What it reported stood in a quotation and does not count."),
        ("echoed", " What it reported only repeated its prompt and does not count."),
        ("malformed_topic", " What followed EVENT was no topic."),
        ("inside_sentence", " The word {keyword} stood inside a sentence and does not count."),
        ("wrong_case", " EVENT and {keyword} must be written in exactly these letters."),
        ("outside_scope", " The topic {} does not belong to this role."),
        ("missing_event", " The task cannot be finished before {} was published."),
    ],
};

static JAPANESE: Words = Words {
    task: "# タスク",
    event: "# イベント",
    from: "発行元: ",
    reminder: "# 注意",
    ending: "# 返答の終わり方",
    silent: (
        "前回の返答には結果の報告がありませんでした。",
        " 済んだ作業を確認し、残りを終えてから報告してください。前回の末尾:",
    ),
    topics: ("この役割のトピックは次のとおりです: ", "。"),
    publish: (
        "返答の最後に `EVENT: <topic>` を一行で書いてください（コードブロックの外に。同じ行に短い説明を続けてもかまいません）。トピック: ",
        "。",
    ),
    complete: (
        "タスク全体が完了したときだけ、EVENT 行を書かず、",
        " のみを一行で、コードブロックの外に書いてください。",
    ),
    or: " または ",
    foreign: "指示に `ralph emit TOPIC TEXT` や `<event …>` とあれば、代わりに EVENT 行を書いてください。",
    reasons: [
        ("in_code_block", "報告がコードブロックの中にあったため、無効です。"),
        ("quoted", "報告が引用の中にあったため、無効です。"),
        ("echoed", "報告がプロンプトの繰り返しにすぎないため、無効です。"),
        ("malformed_topic", "EVENT の後がトピックになっていません。"),
        ("inside_sentence", "{keyword} が文の中にあったため、無効です。"),
        ("wrong_case", "EVENT と {keyword} は大文字と小文字をこのとおりに書いてください。"),
        ("outside_scope", "トピック {} はこの役割のものではありません。"),
        ("missing_event", "{} が発行されるまで、タスクは完了できません。"),
    ],
};
