//! Prompts of a turn: the agent's text with its variables, and Saihai's lines (S-37, S-46, S-47, S-52, S-55).

use indexmap::IndexSet;
use saihai_model::{
    Join, Json, Prompt, PromptPart, PromptSection, SectionCondition, StageId, Text, ValueForm, Variable,
    tokens,
};

use super::prompt_files::PromptPassage;
use super::registry::{AgentStep, CustomVariable};
use super::variables::{AgentVariables, MissingInput, StepOutputRef, VariableSupply, shown_value};
use crate::{Diagnostics, Language, Located, quoted};

/// Text of a prompt with its variables resolved.
#[derive(Debug, Default)]
pub(super) struct PromptTemplate {
    /// Fixed text and values, in order.
    pub(super) parts: Vec<PromptPart>,
    pub(super) used: IndexSet<String>,
    /// Used variables that hold a validator's output.
    pub(super) found: IndexSet<String>,
    /// Outputs of other steps that the text needs.
    pub(super) needs: Vec<Located<(StageId, String)>>,
}

/// Use of a text. It determines the available variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptUse<'a> {
    /// System prompt, before the run has values.
    Role,
    Work,
    /// Check of a step. It can use the output that the step just produced.
    Check,
    /// Retry after a failed validator. These variables hold the validator's output.
    Retry(&'a [String]),
}

/// Reads the text of a prompt. Every variable in it must have a source.
pub(super) fn read_template(
    passage: &PromptPassage,
    step: Option<&AgentStep>,
    usage: PromptUse<'_>,
    variables: &AgentVariables,
    diagnostics: &mut Diagnostics,
) -> PromptTemplate {
    let mut text = PromptTemplate::default();
    let bare: Vec<&str> = step.into_iter().flat_map(bare_names).collect();
    for piece in split_template(passage.text(), &bare) {
        match piece {
            TemplatePiece::Text(fixed) => text.parts.push(PromptPart::Fixed(fixed.into())),
            TemplatePiece::Malformed { at } => {
                let message = "this looks like a variable but is not one";
                let diagnostic = passage.at(at, "{uv-".len()).warning("malformed-variable", message);
                diagnostics.push(diagnostic.label("stays as written").hint("write `{uv-NAME}`"));
            }
            TemplatePiece::Variable { name, written, at } => {
                let place = Located::new(name.to_owned(), passage.at(at, written.len()));
                let found =
                    VariableResolver { step, usage, variables }.part(&place, written, &mut text, diagnostics);
                text.parts.extend(found);
                text.used.insert(name.to_owned());
            }
        }
    }
    text
}

/// Returns the names of variables without the `uv-` prefix.
fn bare_names(step: &AgentStep) -> impl Iterator<Item = &str> {
    let custom = step.custom.iter().map(|custom| custom.name.value.as_str());
    custom.chain(step.uses_stdin.iter().map(|_| "input_text"))
}

#[derive(Clone, Copy)]
struct VariableResolver<'a> {
    step: Option<&'a AgentStep>,
    usage: PromptUse<'a>,
    variables: &'a AgentVariables,
}

impl VariableResolver<'_> {
    fn part(
        self,
        name: &Located<String>,
        written: &str,
        text: &mut PromptTemplate,
        diagnostics: &mut Diagnostics,
    ) -> Option<PromptPart> {
        let id = self.step.map_or("", |step| step.id.value.as_str());
        if !written.starts_with("{uv-") {
            return self.bare(name, text, diagnostics);
        }
        if let PromptUse::Retry(params) = self.usage
            && params.contains(&name.value)
        {
            text.found.insert(name.value.clone());
            return Some(PromptPart::Value(Variable::Refutation, ValueForm::Plain));
        }
        match self.variables.supply(id, &name.value) {
            Some(VariableSupply::Text(value)) => Some(PromptPart::Fixed(value.as_str().into())),
            Some(VariableSupply::Value(variable)) if self.usage != PromptUse::Role => {
                Some(PromptPart::Value(variable.clone(), ValueForm::Plain))
            }
            Some(VariableSupply::Output(output)) if self.usage != PromptUse::Role => {
                Some(self.output_part(id, output, name, text))
            }
            Some(VariableSupply::Value(_) | VariableSupply::Output(_)) => {
                let message = format!("{} has no value in a role", quoted(written));
                let hint = "a role can use parameters; move the rest into a prompt";
                diagnostics.push(name.error("unknown-variable", message).label("not known here").hint(hint));
                None
            }
            Some(VariableSupply::Nothing(why)) => {
                let message = format!("{} has no value in this agent", quoted(written));
                let diagnostic = self.variables.unknown(id, name, message).label("nothing supplies it");
                diagnostics.push(diagnostic.hint(*why));
                None
            }
            None => {
                let hint = diagnostics.suggest(&name.value, self.variables.names(id));
                let message = format!("nothing supplies the variable {}", quoted(written));
                let usual = format!(
                    "add it to `variables` and give it with `--set {}=VALUE`, or make it a parameter",
                    name.value
                );
                let diagnostic = self.variables.unknown(id, name, message).label("no such variable");
                diagnostics.push(diagnostic.hint(hint.unwrap_or(usual)));
                None
            }
        }
    }

    fn output_part(
        self,
        id: &str,
        output: &StepOutputRef,
        name: &Located<String>,
        text: &mut PromptTemplate,
    ) -> PromptPart {
        let stage = StageId::from(output.step.as_str());
        let fresh = self.usage == PromptUse::Check && output.step == id;
        if output.missing == MissingInput::Fails && !fresh {
            text.needs.push(Located::new((stage.clone(), output.key.clone()), name.at.clone()));
        }
        let otherwise = match &output.missing {
            MissingInput::Default(value) => Some(shown_value(value).into()),
            MissingInput::Fails | MissingInput::Skipped => None,
        };
        PromptPart::Value(Variable::Output { stage, key: output.key.clone(), otherwise }, ValueForm::Plain)
    }

    /// Resolves a variable without the `uv-` prefix.
    fn bare(
        self,
        name: &Located<String>,
        text: &mut PromptTemplate,
        diagnostics: &mut Diagnostics,
    ) -> Option<PromptPart> {
        let step = self.step?;
        let custom = step.custom.iter().find(|custom| custom.name.value == name.value);
        let Some(custom) = custom else {
            return Some(PromptPart::Value(Variable::Task, ValueForm::Plain));
        };
        match supplied(step, custom, self.variables, diagnostics)? {
            VariableSupply::Text(value) => Some(PromptPart::Fixed(value.into())),
            VariableSupply::Value(variable) => Some(PromptPart::Value(variable, ValueForm::Plain)),
            VariableSupply::Output(output) => Some(self.output_part(&step.id.value, &output, name, text)),
            VariableSupply::Nothing(_) => None,
        }
    }
}

/// Returns the value of a variable with a declared source. It reports a missing required value.
pub(super) fn supplied(
    step: &AgentStep,
    custom: &CustomVariable,
    variables: &AgentVariables,
    diagnostics: &mut Diagnostics,
) -> Option<VariableSupply> {
    let (name, source) = (&custom.name, custom.source.as_str());
    let supply = variables.custom(&step.id.value, custom);
    if source == "github" && supply.is_none() {
        let message = format!("an issue has no {}", quoted(&name.value));
        let hint = "it has `issue_number`, `issue_title`, `issue_body` and `issue_labels`";
        diagnostics.push(name.error("unknown-variable", message).hint(hint));
        return None;
    }
    if custom.required && matches!(supply, Some(VariableSupply::Nothing(_)) | None) {
        let message = format!("nothing supplies {} from {}", quoted(&name.value), quoted(source));
        let hint = match source {
            "github" => "add `--issue N`",
            "parameter" => "declare it in `parameters` of `agent.json`",
            _ => "no step outputs it, and Saihai has no variable of that name",
        };
        let diagnostic = variables.unknown(&step.id.value, name, message).label("it is required");
        diagnostics.push(diagnostic.hint(hint));
        return None;
    }
    supply
}

pub(super) fn work_prompt(
    words: &PromptPhrases,
    text: Vec<PromptPart>,
    retries: Vec<Vec<PromptPart>>,
    form: Option<String>,
    appends_task: bool,
) -> Prompt {
    let gap = if form.is_some() { "\n" } else { blank_line_after(&text) };
    let carried = carried(words, Variable::Previous);
    let when = if retries.is_empty() { SectionCondition::Always } else { SectionCondition::Unrefuted };
    let mut sections = vec![carried, PromptSection { body: text, when }];
    let retries = retries.into_iter().enumerate();
    sections
        .extend(retries.map(|(index, body)| PromptSection { body, when: SectionCondition::Refuted(index) }));
    sections
        .extend(form.map(|form| PromptSection { body: vec![fixed(form)], when: SectionCondition::Always }));
    if appends_task {
        let body = vec![
            fixed(format!("{gap}{}\n", words.task)),
            PromptPart::Value(Variable::Task, ValueForm::Plain),
        ];
        sections.push(PromptSection { body, when: SectionCondition::Filled });
    }
    Prompt { sections, join: Join::AsIs }
}

/// Builds the section that carries earlier output into a new session (S-55, S-58).
fn carried(words: &PromptPhrases, said: Variable) -> PromptSection {
    let body = vec![
        fixed(format!("{}\n\n", words.carried)),
        PromptPart::Value(said, ValueForm::Tail(4000)),
        fixed("\n\n".to_owned()),
        PromptPart::Value(Variable::Context, ValueForm::Plain),
        fixed("\n\n".to_owned()),
    ];
    PromptSection { body, when: SectionCondition::NewSession }
}

/// Builds the question of a check. It is about the reply of the same round.
pub(super) fn check_prompt(words: &PromptPhrases, text: Vec<PromptPart>, form: &Json) -> Prompt {
    let form = vec![fixed(format!("{}{}", blank_line_after(&text), answer_format(words, form)))];
    let said = [text, form].map(|body| PromptSection { body, when: SectionCondition::Always });
    Prompt {
        sections: [carried(words, Variable::Combined)].into_iter().chain(said).collect(),
        join: Join::AsIs,
    }
}

/// Builds the prompt after an unreadable answer to a check. A new session needs the question again.
pub(super) fn unreadable_prompt(words: &PromptPhrases, text: Vec<PromptPart>, form: &Json) -> Prompt {
    let gap = fixed(blank_line_after(&text).to_owned());
    let question = text.into_iter().chain([gap]).collect();
    let again = vec![fixed(format!("{}\n\n{}", words.unreadable, answer_format(words, form)))];
    let sections = vec![
        carried(words, Variable::Combined),
        PromptSection { body: question, when: SectionCondition::NewSession },
        PromptSection { body: again, when: SectionCondition::Always },
    ];
    Prompt { sections, join: Join::AsIs }
}

/// Builds the prompt after invalid output.
pub(super) fn correction_prompt(words: &PromptPhrases) -> Prompt {
    let (before, behind) = words.violation;
    let wrong = vec![
        fixed(before.to_owned()),
        PromptPart::Value(Variable::Violations, ValueForm::Plain),
        fixed(behind.to_owned()),
    ];
    let wrong = PromptSection { body: wrong, when: SectionCondition::Always };
    Prompt { sections: vec![carried(words, Variable::Combined), wrong], join: Join::AsIs }
}

/// Formats the requested answer format, to follow a text.
pub(super) fn answer_format(words: &PromptPhrases, form: &Json) -> String {
    let form = serde_json::to_string_pretty(form).unwrap_or_default();
    format!("{}\n```json\n{form}\n```\n", words.form)
}

/// Returns the line breaks that leave one blank line after a text.
pub(super) fn blank_line_after(text: &[PromptPart]) -> &'static str {
    match text.last() {
        Some(PromptPart::Fixed(Text::Inline(text))) if text.ends_with('\n') => "\n",
        Some(PromptPart::Fixed(_) | PromptPart::Value(..)) | None => "\n\n",
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
pub(super) fn added_tokens(form: Option<&String>) -> u64 {
    form.map_or(0, |form| tokens(form))
}

fn fixed(text: String) -> PromptPart {
    PromptPart::Fixed(text.into())
}

/// Text that Saihai adds to a prompt.
#[derive(Debug)]
pub(super) struct PromptPhrases {
    pub(super) form: &'static str,
    /// Before and after the errors in an output.
    pub(super) violation: (&'static str, &'static str),
    /// Before the answer format, after an unreadable answer.
    pub(super) unreadable: &'static str,
    pub(super) task: &'static str,
    /// Above the text that is carried into a new session.
    pub(super) carried: &'static str,
}

impl PromptPhrases {
    pub(super) fn of(language: Language) -> &'static Self {
        language.pick(&ENGLISH, &JAPANESE)
    }
}

static JAPANESE: PromptPhrases = PromptPhrases {
    form: "次の形式の JSON を ```json ブロックで 1 つだけ返してください:",
    violation: ("出力がスキーマに違反しています: ", "。修正した JSON だけを返してください。"),
    unreadable: "回答を読み取れませんでした。",
    task: "## タスク",
    carried: "## 前イテレーションからの引き継ぎ",
};

static ENGLISH: PromptPhrases = PromptPhrases {
    form: "Reply with exactly one ```json block of this form:",
    violation: ("Your output violates the schema: ", ". Return only the corrected JSON."),
    unreadable: "Your answer could not be read.",
    task: "## Task",
    carried: "## Carried over from the previous iteration",
};

/// Part of a prompt's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplatePiece<'t> {
    Text(&'t str),
    Variable {
        name: &'t str,
        /// The variable as written, with its brackets.
        written: &'t str,
        at: usize,
    },
    /// Starts like a variable but is not a valid one.
    Malformed {
        at: usize,
    },
}

const OPEN: &str = "{uv-";

/// Splits a text at its variables: `{uv-NAME}`, and `{NAME}` for those in `bare`.
pub(super) fn split_template<'t>(text: &'t str, bare: &[&str]) -> Vec<TemplatePiece<'t>> {
    let mut pieces = Vec::new();
    let (mut rest, mut fixed) = (text, text);
    while let Some(open) = rest.find('{') {
        let from = &rest[open..];
        let at = text.len() - from.len();
        let end = from.find(|c: char| c != '{' && c != '_' && c != '-' && !c.is_ascii_alphanumeric());
        let closed =
            end.filter(|end| from[*end..].starts_with('}')).map(|end| (&from[..=end], &from[1..end]));
        let name = closed.and_then(|(written, inside)| match inside.strip_prefix("uv-") {
            Some(name) if !name.is_empty() && !name.contains('{') => Some((written, name)),
            _ => bare.contains(&inside).then_some((written, inside)),
        });
        if let Some((written, name)) = name {
            let before = &fixed[..at - (text.len() - fixed.len())];
            if !before.is_empty() {
                pieces.push(TemplatePiece::Text(before));
            }
            pieces.push(TemplatePiece::Variable { name, written, at });
            rest = &from[written.len()..];
            fixed = rest;
        } else {
            if from.starts_with(OPEN) {
                pieces.push(TemplatePiece::Malformed { at });
            }
            rest = &from[1..];
        }
    }
    if !fixed.is_empty() {
        pieces.push(TemplatePiece::Text(fixed));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let shown: Vec<String> = split_template(text, &["input_text"])
            .into_iter()
            .map(|piece| match piece {
                TemplatePiece::Text(text) => format!("{text:?}"),
                TemplatePiece::Variable { name, at, .. } => format!("<{name}@{at}>"),
                TemplatePiece::Malformed { at } => format!("!{at}"),
            })
            .collect();
        assert_eq!(shown.join(" "), expected, "{text}");
    }

    // S-47
    #[test]
    fn variables_are_found_in_one_pass_and_everything_else_stays() {
        check("Height {uv-a_b} cm for {uv-C-1}.", r#""Height " <a_b@7> " cm for " <C-1@23> ".""#);
        check("{uv-a}{uv-b}", "<a@0> <b@6>");
        check("{{uv-a}}", r#""{" <a@1> "}""#);
        check("no {variable} here, {input_text} is", r#""no {variable} here, " <input_text@20> " is""#);
        check("", "");
        check("{\"uv\": 1}", r#""{\"uv\": 1}""#);
    }

    // S-51
    #[test]
    fn what_only_begins_like_a_variable_is_told_of_and_left() {
        check("{uv-} x", r#"!0 "{uv-} x""#);
        check("a {uv-b c}", r#"!2 "a {uv-b c}""#);
        check("{uv-a", r#"!0 "{uv-a""#);
        check("{uv-{uv-a}", r#"!0 "{uv-" <a@4>"#);
    }
}
