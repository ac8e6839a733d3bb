//! Prompt sections of a turn, top to bottom (P-24), and the judging question (P-41).

use std::fmt::Write as _;

use saihai_model::{Form, Join, Part, Prompt, Section, Text, Variable, When, tokens};

use super::report::Contract;
use super::template::Template;
use super::words::Words;

/// Content of a turn's prompt.
#[derive(Debug)]
pub(super) struct Speech<'a> {
    /// Fixed lines in the language of the definition.
    pub(super) words: &'static Words,
    pub(super) piece: &'a str,
    pub(super) movement: &'a str,
    pub(super) persona: Option<&'a str>,
    pub(super) knowledge: &'a [String],
    pub(super) policy: &'a [String],
    pub(super) template: Option<&'a Template>,
    /// True if the prompt includes the previous output.
    pub(super) pass_previous: bool,
    pub(super) reports: &'a [Contract],
    /// Offered rules; without any, the prompt has no status block.
    pub(super) offered: &'a [Offered<'a>],
}

/// A rule as the prompt offers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offered<'a> {
    pub(super) number: usize,
    pub(super) condition: &'a str,
    /// Text that the agent must output in addition to the tag.
    pub(super) appendix: Option<&'a str>,
}

/// Placeholder for a facet without its text.
static WORDLESS: [String; 1] = [String::new()];

impl Speech<'_> {
    pub(super) fn prompt(&self) -> Prompt {
        let mut sections = Vec::new();
        // P-25: without a persona, no separator is needed.
        if let Some(persona) = self.persona {
            sections.push(fixed(persona));
            sections.push(fixed("---"));
        }
        sections.push(self.context());
        sections.extend(texts(self.words.knowledge, self.knowledge));
        sections.extend(texts(self.words.policy, self.policy));
        sections.extend(self.template.map(|template| always(template.parts.clone())));
        if !self.shows(&Variable::Task) {
            sections.push(under(self.words.task, Variable::Task, Form::Plain));
        }
        if self.pass_previous && !self.shows(&Variable::Previous) {
            sections.push(under(self.words.previous, Variable::Previous, Form::Plain));
        }
        if !self.shows(&Variable::Inputs) {
            sections.push(under(self.words.inputs, Variable::Inputs, Form::Bullets));
        }
        if !self.reports.is_empty() {
            sections.push(fixed(&report_block(self.words, self.reports)));
        }
        if !self.offered.is_empty() {
            sections.push(fixed(&status_block(self.words, self.offered)));
        }
        Prompt { sections, join: Join::Paragraphs }
    }

    /// Returns the tokens of the first prompt that Saihai adds. The words of the definition, the task and the
    /// run's values do not count.
    pub(super) fn added_tokens(&self) -> u64 {
        let reports: Vec<Contract> = self.reports.iter().map(Contract::without_words).collect();
        let offered: Vec<Offered<'_>> = self.offered.iter().map(Offered::without_words).collect();
        let template = self.template.map(Template::without_words);
        let bare = Speech {
            piece: "",
            movement: "",
            persona: self.persona.map(|_| ""),
            knowledge: &WORDLESS[..self.knowledge.len().min(1)],
            policy: &WORDLESS[..self.policy.len().min(1)],
            template: template.as_ref(),
            reports: &reports,
            offered: &offered,
            ..*self
        };
        let sections = bare.prompt().sections;
        // The first prompt has no previous output, so sections that depend on it do not appear.
        let appears = |section: &&Section| {
            let is_task = |part: &Part| matches!(part, Part::Value(Variable::Task, _));
            section.when == When::Always || section.body.iter().any(is_task)
        };
        let bodies = sections.iter().filter(appears).flat_map(|section| &section.body);
        tokens(&bodies.filter_map(words_of).collect::<String>())
    }

    fn shows(&self, variable: &Variable) -> bool {
        self.template.is_some_and(|template| template.shows(variable))
    }

    fn context(&self) -> Section {
        let words = self.words;
        let (before, behind) = words.movement_iteration;
        let mut body = vec![
            text(format!("{}\n{}", words.context, words.working_directory)),
            value(Variable::WorkingDirectory),
            text(format!(
                "\n{}{}\n{}{}\n{}",
                words.piece, self.piece, words.movement, self.movement, words.iteration
            )),
            value(Variable::Iteration),
            text(" / ".to_owned()),
            value(Variable::MaxIterations),
            text(format!("\n{before}")),
            value(Variable::Visits),
        ];
        body.extend((!behind.is_empty()).then(|| text(behind.to_owned())));
        always(body)
    }
}

impl Offered<'_> {
    fn without_words(&self) -> Self {
        Self { number: self.number, condition: "", appendix: self.appendix.map(|_| "") }
    }
}

/// Builds the question for the condition that matches an output.
pub(super) fn question(words: &Words, offered: &[Offered<'_>]) -> Prompt {
    let output = always(vec![
        text(format!("{}\n<output>\n", words.output)),
        value(Variable::Combined),
        text("\n</output>".to_owned()),
    ]);
    let judgment = fixed(&format!("{}\n\n{}", words.judgment, tags(offered)));
    Prompt { sections: vec![output, judgment], join: Join::Paragraphs }
}

/// J1: the default template of a judge.
pub(super) fn judge_template(words: &Words, cycle: &[&str]) -> Template {
    let (before, between, behind) = words.cycle;
    Template {
        parts: vec![
            text(format!("{before}{}{between}", cycle.join(" → "))),
            value(Variable::Cycles),
            text(behind.to_owned()),
        ],
        remarks: Vec::new(),
    }
}

/// Builds the question for a rule that needs a person's input. Messages to people are in English.
pub(super) fn gate_question(movement: &str, condition: &str) -> Prompt {
    let asked = fixed(&format!("Movement `{movement}` needs your input: {condition}"));
    let output =
        Section { body: vec![Part::Value(Variable::Previous, Form::Tail(1000))], when: When::Filled };
    Prompt { sections: vec![asked, output], join: Join::Paragraphs }
}

fn texts(heading: &str, texts: &[String]) -> Option<Section> {
    let trimmed: Vec<&str> = texts.iter().map(|text| text.trim()).collect();
    (!texts.is_empty()).then(|| fixed(&format!("{heading}\n{}", trimmed.join("\n\n"))))
}

/// Builds a section with a value under a heading. It appears only if the value is not empty.
fn under(heading: &str, variable: Variable, form: Form) -> Section {
    Section { body: vec![text(format!("{heading}\n")), Part::Value(variable, form)], when: When::Filled }
}

/// P-29: a single report with a format has its own layout. All other cases are a list.
fn report_block(words: &Words, reports: &[Contract]) -> String {
    let mut block = format!("---\n{}\n", words.report);
    if let [Contract { file, format: Some(format), .. }] = reports {
        let _ =
            write!(block, "{}\n\n{}{file}\n{}\n{format}", words.one_report, words.file_name, words.format);
        return block;
    }
    let _ = writeln!(block, "{}", words.several_reports);
    for (index, Contract { file, label, format, .. }) in reports.iter().enumerate() {
        let _ = write!(block, "\n{}. {label} → {}{file}", index + 1, words.file_name);
        if let Some(format) = format {
            let _ = write!(block, "\n{}\n{format}", words.format);
        }
    }
    block
}

fn status_block(words: &Words, offered: &[Offered<'_>]) -> String {
    let (before, behind) = words.appendix;
    let mut block = format!("---\n{}\n\n{}", words.status, tags(offered));
    for rule in offered {
        if let Some(appendix) = rule.appendix {
            let _ = write!(block, "\n\n{before}[STEP:{}]{behind}\n{}", rule.number, appendix.trim());
        }
    }
    block
}

/// S4, one line per rule.
fn tags(offered: &[Offered<'_>]) -> String {
    let lines: Vec<String> =
        offered.iter().map(|rule| format!("[STEP:{}] = {}", rule.number, rule.condition)).collect();
    lines.join("\n")
}

fn always(body: Vec<Part>) -> Section {
    Section { body, when: When::Always }
}

fn fixed(content: &str) -> Section {
    always(vec![text(content.to_owned())])
}

fn words_of(part: &Part) -> Option<&str> {
    match part {
        Part::Fixed(Text::Inline(words)) => Some(words),
        Part::Fixed(Text::Blob { .. }) | Part::Value(..) => None,
    }
}

fn text(content: String) -> Part {
    Part::Fixed(content.into())
}

fn value(variable: Variable) -> Part {
    Part::Value(variable, Form::Plain)
}
