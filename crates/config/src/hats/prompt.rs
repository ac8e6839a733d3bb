//! Prompts of hats (H-30 to H-33). Sections are joined without changes, because instructions must arrive byte
//! for byte.

use std::collections::BTreeMap;

use saihai_model::{Form, Join, Part, Prompt, Section, Text, Topic, Variable, When, tokens};

use super::words::{Around, Words};
use super::written::TopicTexts;

#[derive(Debug, Clone)]
pub(super) struct Speech<'a> {
    pub(super) words: &'static Words,
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

impl Speech<'_> {
    pub(super) fn prompt(&self) -> Prompt {
        let words = self.words;
        let mut sections = Vec::new();
        sections.extend(self.base_prompt.map(|text| fixed(block(text))));
        sections.push(section(
            When::Filled,
            [text(format!("{}\n", words.task)), value(Variable::Task), text("\n\n".to_owned())],
        ));
        let hat = self.hat.filter(|(_, instructions)| !instructions.trim().is_empty());
        sections
            .extend(hat.map(|(name, instructions)| fixed(format!("# Hat: {name}\n{}", block(instructions)))));
        sections.extend(self.event());
        sections.push(section(
            When::Filled,
            [text(format!("{}\n", words.reminder)), value(Variable::Note), text("\n\n".to_owned())],
        ));
        sections.push(fixed(self.ending()));
        Prompt { sections, join: Join::AsIs }
    }

    /// Builds the note for the next round after a reply without a decision (H-48).
    pub(super) fn note(&self) -> Prompt {
        let (before, behind) = self.words.silent;
        let when = if self.reminds { When::Always } else { When::Reasoned };
        let topics =
            if self.topics.is_empty() { String::new() } else { around(self.words.topics, &self.listed()) };
        let what = [text(before.to_owned()), value(Variable::Reasons), text(format!("{topics}{behind}"))];
        let tail = [Part::Value(Variable::ReplyTail, Form::Quote)];
        Prompt { sections: vec![section(when, what), section(when, tail)], join: Join::Paragraphs }
    }

    /// Returns the tokens of the first prompt that Saihai adds.
    pub(super) fn added_tokens(&self) -> u64 {
        let bare = Speech {
            base_prompt: None,
            hat: self.hat.map(|_| ("", "x")),
            triggered: Vec::new(),
            publishing: Vec::new(),
            ..self.clone()
        };
        let told = |section: &Section| !section.body.contains(&value(Variable::Note));
        let sections = bare.prompt().sections;
        let bodies = sections.iter().filter(|section| told(section)).flat_map(|section| &section.body);
        tokens(&bodies.filter_map(words_of).collect::<String>())
    }

    fn event(&self) -> Vec<Section> {
        let words = self.words;
        let mut sections = vec![
            section(
                When::Filled,
                [text(format!("{}\n", words.event)), value(Variable::EventTopic), text("\n".to_owned())],
            ),
            section(
                When::Filled,
                [text(words.from.to_owned()), value(Variable::EventSource), text("\n".to_owned())],
            ),
            section(
                When::Filled,
                [
                    text("\n".to_owned()),
                    Part::Value(Variable::EventMessage, Form::Quote),
                    text("\n".to_owned()),
                ],
            ),
        ];
        let told = self.triggered.iter();
        let told: BTreeMap<Topic, Text> = told
            .map(|(topic, said)| (Topic::from(*topic), format!("- `{topic}`: {}", said.trim()).into()))
            .collect();
        if !told.is_empty() {
            let line = [text("\n".to_owned()), value(Variable::EventText(told)), text("\n".to_owned())];
            sections.push(section(When::Filled, line));
        }
        sections.push(fixed("\n".to_owned()));
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

fn around((before, behind): Around, what: &str) -> String {
    format!("{before}{what}{behind}")
}

fn section(when: When, body: impl IntoIterator<Item = Part>) -> Section {
    Section { body: body.into_iter().collect(), when }
}

fn fixed(content: String) -> Section {
    section(When::Always, [text(content)])
}

fn text(content: String) -> Part {
    Part::Fixed(content.into())
}

fn value(variable: Variable) -> Part {
    Part::Value(variable, Form::Plain)
}

fn words_of(part: &Part) -> Option<&str> {
    match part {
        Part::Fixed(Text::Inline(words)) => Some(words),
        Part::Fixed(Text::Blob { .. }) | Part::Value(..) => None,
    }
}
