//! Templates: text with variables, parsed once when a piece is loaded.
//!
//! A template becomes a list of parts here, so text inserted at run time is never parsed (P-27).

use saihai_model::{PromptPart, ValueForm, Variable};

use super::assignment::{UnsafeReportFile, check_report_file};

/// Variables of every template, in addition to `{report:FILE}`.
const VARIABLES: [&str; 10] = [
    "task",
    "previous_response",
    "iteration",
    "max_iterations",
    "max_steps",
    "max_movements",
    "movement_iteration",
    "step_iteration",
    "report_dir",
    "user_inputs",
];

const CYCLE_COUNT: &str = "cycle_count";

/// Variables of newer versions of the format.
const NOT_SUPPORTED: [&str; 5] =
    ["review_scope", "current_report", "previous_report", "report_history", "peer_reports"];

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct PieceTemplate {
    /// Fixed text and values, in order.
    pub(super) parts: Vec<PromptPart>,
    pub(super) remarks: Vec<TemplateRemark>,
}

/// A suspicious place in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TemplateRemark {
    pub(super) kind: TemplateRemarkKind,
    /// The variable as written, with its brackets.
    pub(super) written: String,
    /// Byte offset in the template.
    pub(super) at: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TemplateRemarkKind {
    /// An unknown name that is similar to this variable.
    Misspelt(&'static str),
    /// A known variable in two pairs of brackets, as other tools write it. The outer pair stays.
    DoubledBrackets,
    /// A judge variable outside a judge's template.
    OnlyInJudges,
    /// A variable of newer versions.
    NotSupported,
    /// An invalid report file, with the reason.
    UnsafeFile(UnsafeReportFile),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplateSpeaker {
    Movement,
    Judge,
}

impl PieceTemplate {
    /// Returns a copy with only the values, to count the tokens that Saihai adds.
    pub(super) fn without_words(&self) -> Self {
        let is_value = |part: &&PromptPart| matches!(part, PromptPart::Value(..));
        Self { parts: self.parts.iter().filter(is_value).cloned().collect(), remarks: Vec::new() }
    }

    /// Parses a template in one pass from left to right. Anything that is not a variable stays unchanged.
    pub(super) fn parse(text: &str, speaker: TemplateSpeaker) -> Self {
        let mut template = Self::default();
        let mut fixed = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (before, from) = rest.split_at(open);
            fixed.push_str(before);
            let at = text.len() - from.len();
            let Some(name) = bracketed(from) else {
                fixed.push('{');
                rest = &from[1..];
                continue;
            };
            match lookup(name, speaker) {
                Ok(Some((variable, form))) => {
                    rest = &from[name.len() + 2..];
                    if text[..at].ends_with('{') && rest.starts_with('}') {
                        let (kind, written) =
                            (TemplateRemarkKind::DoubledBrackets, format!("{{{{{name}}}}}"));
                        template.remarks.push(TemplateRemark { kind, written, at: at - 1 });
                    }
                    template.push_fixed(&mut fixed);
                    template.parts.push(PromptPart::Value(variable, form));
                }
                Ok(None) => {
                    fixed.push('{');
                    rest = &from[1..];
                }
                Err(kind) => {
                    template.remarks.push(TemplateRemark { kind, written: format!("{{{name}}}"), at });
                    fixed.push('{');
                    rest = &from[1..];
                }
            }
        }
        fixed.push_str(rest);
        template.push_fixed(&mut fixed);
        template
    }

    /// Appends another template as a paragraph.
    pub(super) fn append(&mut self, other: Self) {
        self.push_fixed(&mut "\n\n".to_owned());
        self.parts.extend(other.parts);
        self.remarks.extend(other.remarks);
    }

    /// Returns true if the template uses the variable.
    pub(super) fn shows(&self, wanted: &Variable) -> bool {
        self.parts.iter().any(|part| match part {
            PromptPart::Value(variable, _) => variable == wanted,
            PromptPart::Fixed(_) => false,
        })
    }

    fn push_fixed(&mut self, fixed: &mut String) {
        if !fixed.is_empty() {
            self.parts.push(PromptPart::Fixed(std::mem::take(fixed).into()));
        }
    }
}

/// Returns the text between a leading `{` and the next `}`. It must be on one line and contain no other `{`.
fn bracketed(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('{')?;
    let end = inside.find(['{', '}', '\n'])?;
    inside[end..].starts_with('}').then(|| &inside[..end])
}

/// Returns the variable of this name, `None` for ordinary text, or a remark.
fn lookup(name: &str, speaker: TemplateSpeaker) -> Result<Option<(Variable, ValueForm)>, TemplateRemarkKind> {
    if let Some(file) = name.strip_prefix("report:") {
        let file = file.trim();
        check_report_file(file).map_err(TemplateRemarkKind::UnsafeFile)?;
        return Ok(Some((Variable::ReportFile(file.to_owned()), ValueForm::Plain)));
    }
    let variable = match name {
        "task" => Variable::Task,
        "previous_response" => Variable::Previous,
        "iteration" => Variable::Iteration,
        "max_iterations" | "max_steps" | "max_movements" => Variable::MaxIterations,
        "movement_iteration" | "step_iteration" => Variable::Visits,
        "report_dir" => Variable::ReportDirectory,
        "user_inputs" => return Ok(Some((Variable::Inputs, ValueForm::Bullets))),
        CYCLE_COUNT if speaker == TemplateSpeaker::Judge => Variable::Cycles,
        CYCLE_COUNT => return Err(TemplateRemarkKind::OnlyInJudges),
        _ if NOT_SUPPORTED.contains(&name) => return Err(TemplateRemarkKind::NotSupported),
        _ => {
            return misspelt(name, speaker)
                .map_or(Ok(None), |meant| Err(TemplateRemarkKind::Misspelt(meant)));
        }
    };
    Ok(Some((variable, ValueForm::Plain)))
}

/// Returns the variable within two edits of a name.
fn misspelt(name: &str, speaker: TemplateSpeaker) -> Option<&'static str> {
    if let Some((before, _)) = name.split_once(':') {
        return (strsim::damerau_levenshtein(before, "report") <= 2).then_some("report:FILE");
    }
    let judges = (speaker == TemplateSpeaker::Judge).then_some(CYCLE_COUNT);
    VARIABLES
        .into_iter()
        .chain(judges)
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .filter(|(edits, _)| *edits <= 2)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use saihai_model::{PromptPart, Text};

    use super::{PieceTemplate, TemplateSpeaker};

    /// Formats the parts as text, with values as `<variable>`, then the remarks.
    fn shown(template: &PieceTemplate) -> String {
        let mut shown = String::new();
        for part in &template.parts {
            match part {
                PromptPart::Fixed(Text::Inline(text)) => shown.push_str(text),
                PromptPart::Fixed(Text::Blob { .. }) => unreachable!("templates are inline"),
                PromptPart::Value(variable, form) => shown.push_str(&format!("<{variable:?} {form:?}>")),
            }
        }
        for remark in &template.remarks {
            shown.push_str(&format!(" !{}@{} {:?}", remark.written, remark.at, remark.kind));
        }
        shown
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(shown(&PieceTemplate::parse(text, TemplateSpeaker::Movement)), expected, "{text}");
    }

    // P-26
    #[test]
    fn every_variable_becomes_a_value_of_the_run() {
        check("a {task} b", "a <Task Plain> b");
        check(
            "{previous_response}{iteration}/{max_iterations}",
            "<Previous Plain><Iteration Plain>/<MaxIterations Plain>",
        );
        check(
            "{max_steps}{step_iteration}{movement_iteration}",
            "<MaxIterations Plain><Visits Plain><Visits Plain>",
        );
        check("{report_dir}/x {report:a/b.md}", r#"<ReportDirectory Plain>/x <ReportFile("a/b.md") Plain>"#);
        check("{user_inputs}", "<Inputs Bullets>");
    }

    // P-26
    #[test]
    fn only_judges_know_how_often_a_cycle_repeated() {
        check("{cycle_count}", "{cycle_count} !{cycle_count}@0 OnlyInJudges");
        assert_eq!(shown(&PieceTemplate::parse("{cycle_count}", TemplateSpeaker::Judge)), "<Cycles Plain>");
    }

    // P-27
    #[test]
    fn whatever_is_no_variable_stays_as_it_is_written() {
        check("fn main() { println!(\"{x}\") }", "fn main() { println!(\"{x}\") }");
        check("{\ntask}", "{\ntask}");
        check("{", "{");
        check("}{}", "}{}");
    }

    // P-27
    #[test]
    fn a_near_miss_is_remarked_with_the_variable_that_was_meant() {
        check("x {tsak}", r#"x {tsak} !{tsak}@2 Misspelt("task")"#);
        check("{ task }", r#"{ task } !{ task }@0 Misspelt("task")"#);
        check("{max_iteration}", r#"{max_iteration} !{max_iteration}@0 Misspelt("max_iterations")"#);
        check("{reprot:x.md}", r#"{reprot:x.md} !{reprot:x.md}@0 Misspelt("report:FILE")"#);
    }

    // P-27, U-16
    #[test]
    fn doubled_brackets_around_a_variable_are_remarked() {
        check("a {{task}}", "a {<Task Plain>} !{{task}}@2 DoubledBrackets");
        check("{{x}} { {task} }", "{{x}} { <Task Plain> }");
    }

    // P-12
    #[test]
    fn variables_of_newer_versions_are_remarked_by_name() {
        check("{report_history}", "{report_history} !{report_history}@0 NotSupported");
    }

    // P-26, case 22
    #[test]
    fn a_report_outside_the_report_directory_is_remarked() {
        check("{report:../../x}", "{report:../../x} !{report:../../x}@0 UnsafeFile(Leaves)");
        check("{report:}", "{report:} !{report:}@0 UnsafeFile(Empty)");
    }

    proptest! {
        // P-27
        #[test]
        fn a_template_without_brackets_is_one_fixed_text(text in r"[^{]{1,40}") {
            let template = PieceTemplate::parse(&text, TemplateSpeaker::Movement);
            prop_assert_eq!(template.parts, vec![PromptPart::Fixed(text.into())]);
        }

        #[test]
        fn no_text_makes_parsing_a_template_panic(text in r"[{}a-z:_/.\nあ]{0,30}") {
            let _ = PieceTemplate::parse(&text, TemplateSpeaker::Judge);
        }
    }
}
