//! What agents are told (H-30 to H-33). Every byte between the values is ours or the definition's, so sections are put
//! together as they are: instructions must arrive unchanged.

use std::collections::BTreeMap;

use saihai_model::{Form, Join, Part, Prompt, Section, Text, Topic, Variable, When, tokens};

use super::words::{Around, Words};
use super::written::TopicTexts;

/// Everything a prompt is made of.
#[derive(Debug, Clone)]
pub(super) struct Speech<'a> {
    pub(super) words: &'static Words,
    pub(super) base_prompt: Option<&'a str>,
    /// The active hat's name and instructions.
    pub(super) hat: Option<(&'a str, &'a str)>,
    pub(super) topics: Vec<&'a str>,
    /// The closing word, where the agent is told of it.
    pub(super) keyword: Option<&'a str>,
    /// What is said about the topics that lead here, each with its topic.
    pub(super) triggered: Vec<(&'a str, &'a str)>,
    /// What is said about the topics that may be published.
    pub(super) publishing: Vec<(&'a str, &'a TopicTexts)>,
    /// Whether the instructions report in a way that is not read.
    pub(super) foreign: bool,
    /// Whether silence is told of also where nothing looked like a report.
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

    /// What the next round is told after a reply that decided nothing (H-48).
    pub(super) fn note(&self) -> Prompt {
        let (before, behind) = self.words.silent;
        let when = if self.reminds { When::Always } else { When::Reasoned };
        let topics =
            if self.topics.is_empty() { String::new() } else { around(self.words.topics, &self.listed()) };
        let what = [text(before.to_owned()), value(Variable::Reasons), text(format!("{topics}{behind}"))];
        let tail = [Part::Value(Variable::ReplyTail, Form::Quote)];
        Prompt { sections: vec![section(when, what), section(when, tail)], join: Join::Paragraphs }
    }

    /// How many tokens of the first prompt are ours.
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

    /// Section 6: what the file says about topics, then S1 and S2. The last word is ours (H-32): a reply's last line is
    /// always read, so an agent that only repeats its prompt must not end with anybody else's.
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

/// A text with one blank line behind it.
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
