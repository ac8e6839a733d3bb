//! Prompts of a turn: the agent's own text with its variables, and the lines that Saihai adds.

use indexmap::IndexSet;
use saihai_model::{Form, Join, Json, Part, Prompt, Section, StageId, Text, Variable, When, tokens};

use super::input::Missing;
use super::prompts::Passage;
use super::step::{CustomVariable, Step};
use super::template::{self, Piece};
use super::variables::{Supply, Taken, Variables, shown};
use super::words::Words;
use crate::{Diagnostics, Located, quoted};

/// Text of a prompt with its variables resolved.
#[derive(Debug, Default)]
pub(super) struct Template {
    /// Fixed text and values, in order.
    pub(super) parts: Vec<Part>,
    pub(super) used: IndexSet<String>,
    /// Used variables that hold a validator's output.
    pub(super) found: IndexSet<String>,
    /// Outputs of other steps that the text needs.
    pub(super) needs: Vec<Located<(StageId, String)>>,
}

/// Use of a text. It determines the available variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment<'a> {
    /// System prompt, before the run has values.
    Role,
    Work,
    /// Check of a step. It can use the output that the step just produced.
    Check,
    /// Retry after a failed validator. These variables hold the validator's output.
    Retry(&'a [String]),
}

/// Reads the text of a prompt. Every variable in it must have a source.
pub(super) fn read(
    passage: &Passage,
    step: Option<&Step>,
    moment: Moment<'_>,
    variables: &Variables,
    diagnostics: &mut Diagnostics,
) -> Template {
    let mut text = Template::default();
    let bare: Vec<&str> = step.into_iter().flat_map(bare_names).collect();
    for piece in template::parse(passage.text(), &bare) {
        match piece {
            Piece::Text(fixed) => text.parts.push(Part::Fixed(fixed.into())),
            Piece::Malformed { at } => {
                let message = "this begins like a variable and is none";
                let diagnostic = passage.at(at, "{uv-".len()).warning("malformed-variable", message);
                diagnostics.push(diagnostic.label("left as it is").hint("write `{uv-NAME}`"));
            }
            Piece::Variable { name, written, at } => {
                let place = Located::new(name.to_owned(), passage.at(at, written.len()));
                let found = Reader { step, moment, variables }.part(&place, written, &mut text, diagnostics);
                text.parts.extend(found);
                text.used.insert(name.to_owned());
            }
        }
    }
    text
}

/// Returns the names of variables without the `uv-` prefix.
fn bare_names(step: &Step) -> impl Iterator<Item = &str> {
    let custom = step.custom.iter().map(|custom| custom.name.value.as_str());
    custom.chain(step.uses_stdin.iter().map(|_| "input_text"))
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    step: Option<&'a Step>,
    moment: Moment<'a>,
    variables: &'a Variables,
}

impl Reader<'_> {
    fn part(
        self,
        name: &Located<String>,
        written: &str,
        text: &mut Template,
        diagnostics: &mut Diagnostics,
    ) -> Option<Part> {
        let id = self.step.map_or("", |step| step.id.value.as_str());
        if !written.starts_with("{uv-") {
            return self.bare(name, text, diagnostics);
        }
        if let Moment::Retry(params) = self.moment
            && params.contains(&name.value)
        {
            text.found.insert(name.value.clone());
            return Some(Part::Value(Variable::Refutation, Form::Plain));
        }
        match self.variables.supply(id, &name.value) {
            Some(Supply::Text(value)) => Some(Part::Fixed(value.as_str().into())),
            Some(Supply::Value(variable)) if self.moment != Moment::Role => {
                Some(Part::Value(variable.clone(), Form::Plain))
            }
            Some(Supply::Output(taken)) if self.moment != Moment::Role => {
                Some(self.taken(id, taken, name, text))
            }
            Some(Supply::Value(_) | Supply::Output(_)) => {
                let message = format!("{} has no value yet where a role is given", quoted(written));
                let hint = "a role can use parameters; move the rest into a prompt";
                diagnostics.push(name.error("unknown-variable", message).label("not known here").hint(hint));
                None
            }
            Some(Supply::Nothing(why)) => {
                let message = format!("{} has no value in this agent", quoted(written));
                diagnostics
                    .push(name.error("unknown-variable", message).label("nothing supplies it").hint(*why));
                None
            }
            None => {
                let hint = diagnostics.suggest(&name.value, self.variables.names(id));
                let message = format!("nothing supplies the variable {}", quoted(written));
                let usual = format!(
                    "add it to `variables` and give it with `--set {}=VALUE`, or make it a parameter",
                    name.value
                );
                let diagnostic = name.error("unknown-variable", message).label("no such variable");
                diagnostics.push(diagnostic.hint(hint.unwrap_or(usual)));
                None
            }
        }
    }

    fn taken(self, id: &str, taken: &Taken, name: &Located<String>, text: &mut Template) -> Part {
        let stage = StageId::from(taken.step.as_str());
        let fresh = self.moment == Moment::Check && taken.step == id;
        if taken.missing == Missing::Fails && !fresh {
            text.needs.push(Located::new((stage.clone(), taken.key.clone()), name.at.clone()));
        }
        let otherwise = match &taken.missing {
            Missing::Default(value) => Some(shown(value).into()),
            Missing::Fails | Missing::Skipped => None,
        };
        Part::Value(Variable::Output { stage, key: taken.key.clone(), otherwise }, Form::Plain)
    }

    /// Resolves a variable without the `uv-` prefix.
    fn bare(
        self,
        name: &Located<String>,
        text: &mut Template,
        diagnostics: &mut Diagnostics,
    ) -> Option<Part> {
        let step = self.step?;
        let custom = step.custom.iter().find(|custom| custom.name.value == name.value);
        let Some(custom) = custom else {
            return Some(Part::Value(Variable::Task, Form::Plain));
        };
        match supplied(step, custom, self.variables, diagnostics)? {
            Supply::Text(value) => Some(Part::Fixed(value.into())),
            Supply::Value(variable) => Some(Part::Value(variable, Form::Plain)),
            Supply::Output(taken) => Some(self.taken(&step.id.value, &taken, name, text)),
            Supply::Nothing(_) => None,
        }
    }
}

/// Returns the value of a variable with a declared source. It reports a missing required value.
pub(super) fn supplied(
    step: &Step,
    custom: &CustomVariable,
    variables: &Variables,
    diagnostics: &mut Diagnostics,
) -> Option<Supply> {
    let (name, source) = (&custom.name, custom.source.as_str());
    let supply = variables.custom(&step.id.value, custom);
    if source == "github" && supply.is_none() {
        let message = format!("an issue has no {}", quoted(&name.value));
        let hint = "it has `issue_number`, `issue_title`, `issue_body` and `issue_labels`";
        diagnostics.push(name.error("unknown-variable", message).hint(hint));
        return None;
    }
    if custom.required && matches!(supply, Some(Supply::Nothing(_)) | None) {
        let message = format!("nothing supplies {} from {}", quoted(&name.value), quoted(source));
        let hint = match source {
            "github" => "add `--issue N`",
            "parameter" => "declare it in `parameters` of `agent.json`",
            _ => "no step outputs it, and Saihai has no variable of that name",
        };
        diagnostics.push(name.error("unknown-variable", message).label("it is required").hint(hint));
        return None;
    }
    supply
}

pub(super) fn work(
    words: &Words,
    text: Vec<Part>,
    retries: Vec<Vec<Part>>,
    form: Option<String>,
    appends_task: bool,
) -> Prompt {
    let gap = if form.is_some() { "\n" } else { gap(&text) };
    let carried = carried(words, Variable::Previous);
    let when = if retries.is_empty() { When::Always } else { When::Unrefuted };
    let mut sections = vec![carried, Section { body: text, when }];
    let retries = retries.into_iter().enumerate();
    sections.extend(retries.map(|(index, body)| Section { body, when: When::Refuted(index) }));
    sections.extend(form.map(|form| Section { body: vec![fixed(form)], when: When::Always }));
    if appends_task {
        let body = vec![fixed(format!("{gap}{}\n", words.task)), Part::Value(Variable::Task, Form::Plain)];
        sections.push(Section { body, when: When::Filled });
    }
    Prompt { sections, join: Join::AsIs }
}

/// Builds the section that carries earlier output into a new session (S-55, S-58).
fn carried(words: &Words, said: Variable) -> Section {
    let body = vec![
        fixed(format!("{}\n\n", words.carried)),
        Part::Value(said, Form::Tail(4000)),
        fixed("\n\n".to_owned()),
        Part::Value(Variable::Context, Form::Plain),
        fixed("\n\n".to_owned()),
    ];
    Section { body, when: When::NewSession }
}

/// Builds the question of a check. It is about the reply of the same round.
pub(super) fn check(words: &Words, text: Vec<Part>, form: &Json) -> Prompt {
    let form = vec![fixed(format!("{}{}", gap(&text), wanted(words, form)))];
    let said = [text, form].map(|body| Section { body, when: When::Always });
    Prompt {
        sections: [carried(words, Variable::Combined)].into_iter().chain(said).collect(),
        join: Join::AsIs,
    }
}

/// Builds the prompt after an unreadable answer to a check. A new session needs the question again.
pub(super) fn unreadable(words: &Words, text: Vec<Part>, form: &Json) -> Prompt {
    let gap = fixed(gap(&text).to_owned());
    let question = text.into_iter().chain([gap]).collect();
    let again = vec![fixed(format!("{}\n\n{}", words.unreadable, wanted(words, form)))];
    let sections = vec![
        carried(words, Variable::Combined),
        Section { body: question, when: When::NewSession },
        Section { body: again, when: When::Always },
    ];
    Prompt { sections, join: Join::AsIs }
}

/// Builds the prompt after invalid output.
pub(super) fn correction(words: &Words) -> Prompt {
    let (before, behind) = words.violation;
    let wrong = vec![
        fixed(before.to_owned()),
        Part::Value(Variable::Violations, Form::Plain),
        fixed(behind.to_owned()),
    ];
    let wrong = Section { body: wrong, when: When::Always };
    Prompt { sections: vec![carried(words, Variable::Combined), wrong], join: Join::AsIs }
}

/// Formats the requested answer format, to follow a text.
pub(super) fn wanted(words: &Words, form: &Json) -> String {
    let form = serde_json::to_string_pretty(form).unwrap_or_default();
    format!("{}\n```json\n{form}\n```\n", words.form)
}

/// Returns the line breaks that leave one blank line after a text.
pub(super) fn gap(text: &[Part]) -> &'static str {
    match text.last() {
        Some(Part::Fixed(Text::Inline(text))) if text.ends_with('\n') => "\n",
        Some(Part::Fixed(_) | Part::Value(..)) | None => "\n\n",
    }
}

/// Returns true if a prompt already shows the requested JSON.
pub(super) fn has_json_fence(text: &str) -> bool {
    // The same rule reads replies (S-44): at least three marks of either kind, then `json` as the first word.
    let fences = text.lines().map(str::trim).filter_map(|line| {
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let info = line.trim_start_matches(mark);
        (line.len() - info.len() >= 3).then_some(info)
    });
    let mut words = fences.filter_map(|info| info.split_whitespace().next());
    words.any(|word| word.eq_ignore_ascii_case("json"))
}

/// Returns the tokens of the text that Saihai adds.
pub(super) fn added(form: Option<&String>) -> u64 {
    form.map_or(0, |form| tokens(form))
}

fn fixed(text: String) -> Part {
    Part::Fixed(text.into())
}
