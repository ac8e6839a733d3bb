//! Prompts of hats (H-30 to H-33), with the text that Saihai adds in both languages (H-48, H-69). Sections are
//! joined without changes, because instructions must arrive byte for byte.

use std::collections::BTreeMap;

use saihai_model::{
    Join, Prompt, PromptPart, PromptSection, SectionCondition, Text, Topic, ValueForm, Variable,
};

use super::model::TopicTexts;
use crate::Language;
use crate::lowering::{fixed_section, fixed_tokens, section, text_part, value_part};

#[derive(Debug, Clone)]
pub(super) struct HatPrompt<'a> {
    pub(super) words: &'static HatWords,
    pub(super) base_prompt: Option<&'a str>,
    /// Name and instructions of the active hat.
    pub(super) hat: Option<(&'a str, &'a str)>,
    pub(super) topics: Vec<&'a str>,
    /// The completion keyword, if the prompt mentions it.
    pub(super) keyword: Option<&'a str>,
    /// Topics that activate the hat, each with its text.
    pub(super) triggered: Vec<(&'a str, &'a str)>,
    /// Topics that the hat may publish, each with its texts.
    pub(super) publishing: Vec<(&'a str, &'a TopicTexts)>,
    /// True if some instructions report in a way that Saihai does not read.
    pub(super) foreign: bool,
    /// True if every silent reply gets a reminder, even without a failed attempt to report.
    pub(super) reminds: bool,
}

impl HatPrompt<'_> {
    pub(super) fn prompt(&self) -> Prompt {
        let words = self.words;
        let mut sections = Vec::new();
        sections.extend(self.base_prompt.map(|text| fixed_section(block(text))));
        sections.push(section(
            SectionCondition::Filled,
            [text_part(format!("{}\n", words.task)), value_part(Variable::Task), text_part("\n\n")],
        ));
        let hat = self.hat.filter(|(_, instructions)| !instructions.trim().is_empty());
        sections.extend(
            hat.map(|(name, instructions)| fixed_section(format!("# Hat: {name}\n{}", block(instructions)))),
        );
        sections.extend(self.event());
        sections.push(section(
            SectionCondition::Filled,
            [text_part(format!("{}\n", words.reminder)), value_part(Variable::Note), text_part("\n\n")],
        ));
        sections.push(fixed_section(self.ending()));
        Prompt { sections, join: Join::AsIs }
    }

    /// Builds the note for the next round after a reply without a decision (H-48).
    pub(super) fn note(&self) -> Prompt {
        let (before, behind) = self.words.silent;
        let when = if self.reminds { SectionCondition::Always } else { SectionCondition::Reasoned };
        let topics =
            if self.topics.is_empty() { String::new() } else { around(self.words.topics, &self.listed()) };
        let what = [text_part(before), value_part(Variable::Reasons), text_part(format!("{topics}{behind}"))];
        let tail = [PromptPart::Value(Variable::ReplyTail, ValueForm::Quote)];
        Prompt { sections: vec![section(when, what), section(when, tail)], join: Join::Paragraphs }
    }

    /// Returns the tokens of the first prompt that Saihai adds.
    pub(super) fn added_tokens(&self) -> u64 {
        let bare = HatPrompt {
            base_prompt: None,
            hat: self.hat.map(|_| ("", "x")),
            triggered: Vec::new(),
            publishing: Vec::new(),
            ..self.clone()
        };
        let told = |section: &PromptSection| !section.body.contains(&value_part(Variable::Note));
        let sections = bare.prompt().sections;
        fixed_tokens(sections.iter().filter(|section| told(section)))
    }

    fn event(&self) -> Vec<PromptSection> {
        let words = self.words;
        let mut sections = vec![
            section(
                SectionCondition::Filled,
                [text_part(format!("{}\n", words.event)), value_part(Variable::EventTopic), text_part("\n")],
            ),
            section(
                SectionCondition::Filled,
                [text_part(words.from), value_part(Variable::EventSource), text_part("\n")],
            ),
            section(
                SectionCondition::Filled,
                [
                    text_part("\n"),
                    PromptPart::Value(Variable::EventMessage, ValueForm::Quote),
                    text_part("\n"),
                ],
            ),
        ];
        let told = self.triggered.iter();
        let told: BTreeMap<Topic, Text> = told
            .map(|(topic, said)| (Topic::from(*topic), format!("- `{topic}`: {}", said.trim()).into()))
            .collect();
        if !told.is_empty() {
            let line = [text_part("\n"), value_part(Variable::EventText(told)), text_part("\n")];
            sections.push(section(SectionCondition::Filled, line));
        }
        sections.push(fixed_section("\n"));
        sections
    }

    /// Section 6: the file's texts about topics, then S1 and S2. The last line is Saihai's own (H-32). The
    /// last line of a reply is always read, so an agent that repeats its prompt must not end with text from
    /// the file.
    fn ending(&self) -> String {
        let mut lines = vec![self.words.ending.to_owned()];
        for (topic, texts) in &self.publishing {
            lines.extend(texts.publishing.iter().map(|said| format!("- `{topic}`: {}", said.trim())));
        }
        if !self.topics.is_empty() {
            lines.push(around(self.words.publish, &self.listed()));
        }
        if self.foreign {
            lines.push(self.words.foreign.to_owned());
        }
        lines.extend(self.keyword.map(|keyword| around(self.words.complete, keyword)));
        lines.push(String::new());
        lines.join("\n")
    }

    fn listed(&self) -> String {
        self.topics.join(", ")
    }
}

/// Appends one blank line to a text.
fn block(text: &str) -> String {
    let end = if text.ends_with('\n') { "\n" } else { "\n\n" };
    format!("{text}{end}")
}

fn around((before, behind): BeforeAfter, what: &str) -> String {
    format!("{before}{what}{behind}")
}

/// Text before and after an inserted value.
pub(super) type BeforeAfter = (&'static str, &'static str);

#[derive(Debug)]
pub(super) struct HatWords {
    pub(super) task: &'static str,
    pub(super) event: &'static str,
    pub(super) from: &'static str,
    pub(super) reminder: &'static str,
    pub(super) ending: &'static str,
    pub(super) silent: BeforeAfter,
    /// Topics of the role; the last part of a reminder's reason.
    pub(super) topics: BeforeAfter,
    pub(super) publish: BeforeAfter,
    pub(super) complete: BeforeAfter,
    /// The word between two alternatives.
    pub(super) or: &'static str,
    /// Added if instructions mention commands that Saihai does not read.
    pub(super) foreign: &'static str,
    /// Reasons why a reply decided nothing, by code. `{}` is the topic, `{keyword}` the closing word.
    pub(super) reasons: [(&'static str, &'static str); 8],
}

impl HatWords {
    pub(super) fn of(language: Language) -> &'static Self {
        language.pick(&ENGLISH, &JAPANESE)
    }
}

static ENGLISH: HatWords = HatWords {
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

static JAPANESE: HatWords = HatWords {
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
