//! Settings of one turn: persona, template, permission, tools, session, and the reports it must output.

use std::collections::HashMap;
use std::path::Path;

use saihai_model::Permission;

use super::capabilities::{Capabilities, ProviderTools};
use super::command_gate::CommandGate;
use super::tables;
use super::takt_keys::read_quality_gates;
use super::template::{PieceTemplate, TemplateRemarkKind, TemplateSpeaker};
use super::texts::{Facet, PiecePassage, PieceReader};
use crate::{Cursor, Diagnostic, Diagnostics, Fields, Located, Location, Value, ValueKind, quoted};

/// Tools that change files. A read-only turn never gets them.
const WRITING_TOOLS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// Settings of one turn: persona, template, permission, tools, session and reports.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TurnAssignment {
    /// Name of the review agent that does the work.
    pub(super) reviewer: Option<Located<String>>,
    /// The `agent` value as written.
    pub(super) agent: Option<String>,
    pub(super) persona: Option<String>,
    pub(super) role: String,
    pub(super) template: Option<Located<PieceTemplate>>,
    /// True if the prompt includes the previous output.
    pub(super) pass_previous: bool,
    pub(super) knowledge: Vec<String>,
    pub(super) policy: Vec<String>,
    pub(super) reports: Vec<ReportContract>,
    pub(super) permission: Permission,
    /// True if the movement says nothing about its permission.
    pub(super) permission_is_usual: bool,
    pub(super) tools: Option<Vec<String>>,
    /// Tools by provider, from `capabilities` and `provider_options`.
    pub(super) provider_tools: ProviderTools,
    /// Conditions of good work, for the prompt.
    pub(super) quality_gates: Vec<String>,
    /// Commands that must succeed after the work.
    pub(super) command_gates: Vec<CommandGate>,
    /// Text that the piece adds to every prompt.
    pub(super) rules_of_all: Option<String>,
    /// True for a written `edit: false`.
    pub(super) forbids_edits: bool,
    /// Session mode; `None` uses the default of the settings.
    pub(super) session: Option<SessionChoice>,
    pub(super) session_key: Option<Located<String>>,
    pub(super) provider: Option<Located<String>>,
    pub(super) model: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionChoice {
    Refresh,
    /// Continues the last session with the same key.
    Continue,
}

impl TurnAssignment {
    /// Reads the keys of a movement that asks one agent.
    pub(super) fn read(fields: &Fields<'_>, name: &str, reader: &mut PieceReader<'_>) -> Self {
        let agent = fields.text("agent");
        let persona = agent.as_ref().and_then(|agent| reader.resolve(Facet::Persona, agent));
        let template = read_template(fields, TemplateSpeaker::Movement, reader);
        let permission_is_usual = !fields.has("edit") && !fields.has("permission_mode");
        let capabilities = Capabilities::read(fields, reader).unwrap_or_default();
        let permission = match permission_is_usual && capabilities.edits {
            true => Permission::Edit { commands: true },
            false => read_permission(fields, &mut reader.diagnostics),
        };
        let ProviderReference { provider, model } = ProviderReference::read(fields, &mut reader.diagnostics);
        let (quality_gates, command_gates) = read_quality_gates(fields, reader);
        let options = fields.any("provider_options");
        let options = options.map(|options| reader.provider_options(&options, name));
        Self {
            reviewer: fields.text("reviewer"),
            role: role(fields, agent.as_ref(), name),
            agent: agent.map(|agent| agent.value),
            persona: persona.map(|passage| passage.text),
            template,
            pass_previous: fields.bool("pass_previous_response").is_none_or(|flag| flag.value),
            knowledge: read_facets(fields, Facet::Knowledge, reader),
            policy: read_facets(fields, Facet::Policy, reader),
            reports: read_reports(fields, reader),
            permission,
            permission_is_usual,
            tools: read_tools(fields, permission, &mut reader.diagnostics),
            provider_tools: ProviderTools::merged([Some(capabilities.tools), options]),
            quality_gates,
            command_gates,
            rules_of_all: None,
            forbids_edits: fields.bool("edit").is_some_and(|edit| !edit.value),
            session: read_session(fields, &mut reader.diagnostics),
            session_key: fields.text("session_key"),
            provider,
            model,
        }
    }
}

/// Provider and model: two keys, or one mapping.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct ProviderReference {
    pub(super) provider: Option<Located<String>>,
    pub(super) model: Option<String>,
}

impl ProviderReference {
    pub(super) fn read(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Self {
        let own = fields.text("model").map(|model| model.value);
        let Some(value) = fields.any("provider") else { return Self { provider: None, model: own } };
        if let Value::Map(_) = value.node().value {
            let inner = Fields::read(&value, &tables::PROVIDER_REFERENCE, diagnostics);
            let text = |key| inner.as_ref().and_then(|inner| inner.text(key));
            return Self { provider: text("type"), model: own.or(text("model").map(|model| model.value)) };
        }
        let provider = value.must_be(&ValueKind::Text, diagnostics).then(|| value.text()).flatten();
        Self { provider, model: own }
    }
}

/// Reads the template of a movement or a judge.
pub(super) fn read_template(
    fields: &Fields<'_>,
    speaker: TemplateSpeaker,
    reader: &mut PieceReader<'_>,
) -> Option<Located<PieceTemplate>> {
    let value = fields.any("instruction_template")?;
    if !value.must_be(&ValueKind::TEXTS, &mut reader.diagnostics) {
        return None;
    }
    let texts = match value.node().value {
        Value::List(_) => value.items().filter_map(|item| item.text()).collect(),
        _ => vec![value.text()?],
    };
    let has_vars = speaker == TemplateSpeaker::Movement;
    let vars = if has_vars { fields.map("vars") } else { Vec::new() };
    let mut whole: Option<Located<PieceTemplate>> = None;
    for text in texts {
        let Some(mut passage) = reader.resolve(Facet::Instruction, &text) else { continue };
        for (name, value) in &vars {
            let Some(value) = value.text() else { continue };
            passage.text = passage.text.replace(&format!("{{{}}}", name.value), &value.value);
        }
        let template = PieceTemplate::parse(&passage.text, speaker);
        for remark in &template.remarks {
            let diagnostic = remarked(&passage, &remark.kind, &remark.written, remark.at);
            reader.diagnostics.push(diagnostic);
        }
        match &mut whole {
            Some(whole) => whole.value.append(template),
            None => whole = Some(Located::new(template, passage.at)),
        }
    }
    whole
}

fn remarked(passage: &PiecePassage, kind: &TemplateRemarkKind, written: &str, at: usize) -> Diagnostic {
    let place = passage.find(written, at);
    let shown = quoted(written);
    match kind {
        TemplateRemarkKind::Misspelt(meant) => place
            .warning("unknown-variable", format!("{shown} is not a variable and stays as written"))
            .hint(format!("did you mean `{{{meant}}}`?")),
        TemplateRemarkKind::DoubledBrackets => place
            .warning("unknown-variable", format!("the outer brackets of {shown} stay in the prompt"))
            .hint(format!("did you mean {}?", quoted(&written[1..written.len() - 1]))),
        TemplateRemarkKind::OnlyInJudges => place
            .warning("unknown-variable", format!("{shown} is available only to the judge of a loop monitor"))
            .label("stays as written"),
        TemplateRemarkKind::NotSupported => {
            place.error("not-supported", format!("the variable {shown} is not supported"))
        }
        TemplateRemarkKind::UnsafeFile(reason) => {
            place.error("unsafe-path", format!("{shown} names no report: {reason}"))
        }
    }
}

/// P-14: derives the permission from `edit` and `permission_mode`.
fn read_permission(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Permission {
    let edit = fields.bool("edit");
    let mode = fields.text("permission_mode");
    let asked = match mode.as_ref().map(|mode| mode.value.as_str()) {
        Some("edit") => Some(Permission::Edit { commands: true }),
        Some("full") => Some(Permission::Full),
        Some(_) => Some(Permission::ReadOnly),
        None => None,
    };
    let Some(edit) = edit else { return asked.unwrap_or(Permission::ReadOnly) };
    let usual = if edit.value { Permission::Edit { commands: true } } else { Permission::ReadOnly };
    let Some((asked, mode)) = asked.zip(mode) else { return usual };
    if edit.value == (asked == Permission::ReadOnly) {
        let message =
            format!("`edit: {}` and `permission_mode: {}` contradict each other", edit.value, mode.value);
        let hint = if edit.value { "`edit` or `full`" } else { "`readonly`" };
        let diagnostic = mode.error("permission-conflict", message).label(format!("could only be {hint}"));
        diagnostics.push(diagnostic.also(&edit.at, "because of this"));
        return usual;
    }
    asked
}

/// P-16: a read-only turn gets no writing tools.
fn read_tools(
    fields: &Fields<'_>,
    permission: Permission,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<String>> {
    let tools = fields.texts("allowed_tools")?;
    if permission == Permission::ReadOnly {
        for tool in tools.iter().filter(|tool| WRITING_TOOLS.contains(&tool.value.as_str())) {
            let message = format!("{} has no effect in a read-only movement", quoted(&tool.value));
            diagnostics.push(tool.warning("no-effect", message).hint("add `edit: true`, or remove it"));
        }
    }
    Some(tools.into_iter().map(|tool| tool.value).collect())
}

fn read_session(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<SessionChoice> {
    let value = fields.any("session")?;
    if value.node().as_text() == Some("compact") {
        diagnostics.push(value.error("not-supported", "`session: compact` is not supported"));
        return None;
    }
    if !value.must_be(&ValueKind::OneOf(&["refresh", "continue"]), diagnostics) {
        return None;
    }
    Some(if value.node().as_text() == Some("continue") {
        SessionChoice::Continue
    } else {
        SessionChoice::Refresh
    })
}

fn read_facets(fields: &Fields<'_>, facet: Facet, reader: &mut PieceReader<'_>) -> Vec<String> {
    let named = fields.texts(facet.noun()).unwrap_or_default();
    named.iter().filter_map(|name| Some(reader.resolve(facet, name)?.text)).collect()
}

/// Reads `report`, or its newer form `output_contracts.report`.
pub(super) fn read_reports(fields: &Fields<'_>, reader: &mut PieceReader<'_>) -> Vec<ReportContract> {
    let newer = fields.object("output_contracts", &tables::OUTPUT_CONTRACTS, &mut reader.diagnostics);
    if let (Some(older), Some(newer)) =
        (fields.key("report"), newer.as_ref().and_then(|new| new.key("report")))
    {
        let message = "`report` and `output_contracts.report` are two spellings of one key";
        let diagnostic = newer.error("duplicate-field", message).label("given again");
        reader.diagnostics.push(diagnostic.also(older, "first given here"));
    }
    let value: Option<Cursor<'_>> =
        fields.any("report").or_else(|| newer.and_then(|newer| newer.any("report")));
    value.map(|value| ReportContract::read_all(&value, reader)).unwrap_or_default()
}

/// Returns the display name of a role: `agent_name`, else the file stem, else the movement's name.
fn role(fields: &Fields<'_>, agent: Option<&Located<String>>, name: &str) -> String {
    if let Some(said) = fields.text("agent_name") {
        return said.value;
    }
    let stem = agent.and_then(|agent| Path::new(&agent.value).file_stem()?.to_str().map(str::to_owned));
    stem.unwrap_or_else(|| name.to_owned())
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReportContract {
    /// Text that replaces the sentence which asks for the report.
    pub(super) order: Option<String>,
    /// File inside the report directory.
    pub(super) file: String,
    /// Label; defaults to the file name.
    pub(super) label: String,
    pub(super) format: Option<String>,
    /// Location of the file name.
    pub(super) at: Location,
}

impl ReportContract {
    /// Returns a copy without the author's words, to count the tokens that Saihai adds.
    pub(super) fn without_words(&self) -> Self {
        let format = self.format.as_ref().map(|_| String::new());
        let order = self.order.as_ref().map(|_| String::new());
        Self { order, file: String::new(), label: String::new(), format, at: self.at.clone() }
    }

    /// Returns the first heading of the format, without its `#` marks.
    pub(super) fn heading(&self) -> Option<String> {
        let heading = |line: &str| {
            let level = line.bytes().take_while(|byte| *byte == b'#').count();
            let text = line.get(level..).filter(|text| text.starts_with([' ', '\t']))?;
            let text = text.trim().trim_end_matches('#').trim();
            ((1..=6).contains(&level) && !text.is_empty()).then(|| text.to_owned())
        };
        self.format.as_deref()?.lines().find_map(|line| heading(line.trim_start()))
    }

    /// Reads `report` in any of its forms.
    pub(super) fn read_all(value: &Cursor<'_>, reader: &mut PieceReader<'_>) -> Vec<Self> {
        let contracts: Vec<Self> = match &value.node().value {
            Value::Text(_) => value
                .text()
                .and_then(|file| report_contract(&file, None, &mut reader.diagnostics))
                .into_iter()
                .collect(),
            Value::Map(_) => read_report(value, reader).into_iter().collect(),
            Value::List(items) if items.is_empty() => {
                let message = "`report` must name at least one report";
                reader.diagnostics.push(value.error("bad-value", message).label("empty"));
                Vec::new()
            }
            Value::List(_) => value.items().filter_map(|item| read_report_item(&item, reader)).collect(),
            _ => {
                let found = value.node().value.kind();
                let message = format!("`report` must be a file name, a mapping or a list, not {found}");
                reader.diagnostics.push(value.error("bad-type", message).label(found));
                Vec::new()
            }
        };
        refuse_duplicates(contracts.iter(), &mut reader.diagnostics);
        contracts
    }
}

/// Reports duplicate files. It ignores case, because some file systems do.
pub(super) fn refuse_duplicates<'a>(
    contracts: impl Iterator<Item = &'a ReportContract>,
    diagnostics: &mut Diagnostics,
) {
    let mut seen: HashMap<String, &ReportContract> = HashMap::new();
    for contract in contracts {
        if let Some(first) = seen.get(&contract.file.to_lowercase()) {
            let message = format!("the report {} is written twice in one movement", quoted(&contract.file));
            let diagnostic = contract.at.error("duplicate-report", message).label("given again");
            diagnostics.push(diagnostic.also(&first.at, "first given here"));
        } else {
            seen.insert(contract.file.to_lowercase(), contract);
        }
    }
}

/// Reads a list item: `{name, format}`, or a single `Label: file`.
fn read_report_item(item: &Cursor<'_>, reader: &mut PieceReader<'_>) -> Option<ReportContract> {
    let entries: Vec<_> = item.entries().collect();
    match entries.as_slice() {
        [(label, file)] if tables::REPORT.find(&label.value).is_none() => {
            if !file.must_be(&ValueKind::Text, &mut reader.diagnostics) {
                return None;
            }
            report_contract(&file.text()?, Some(label), &mut reader.diagnostics)
        }
        _ => read_report(item, reader),
    }
}

fn read_report(value: &Cursor<'_>, reader: &mut PieceReader<'_>) -> Option<ReportContract> {
    let fields = Fields::read(value, &tables::REPORT, &mut reader.diagnostics)?;
    let format = fields.text("format").and_then(|format| reader.resolve(Facet::Format, &format));
    let order = fields.text("order").and_then(|order| reader.resolve(Facet::Instruction, &order));
    let order = order.map(|passage| passage.text.trim().to_owned()).filter(|order| !order.is_empty());
    let contract = report_contract(&fields.text("name")?, None, &mut reader.diagnostics)?;
    let format = format.map(|passage| passage.text.trim_end().trim_start_matches('\n').to_owned());
    Some(ReportContract { order, format: format.filter(|format| !format.is_empty()), ..contract })
}

fn report_contract(
    file: &Located<String>,
    label: Option<&Located<String>>,
    diagnostics: &mut Diagnostics,
) -> Option<ReportContract> {
    if let Err(reason) = check_report_file(&file.value) {
        let message = format!("{} cannot be the name of a report: {reason}", quoted(&file.value));
        let hint = "a report is a file inside the report directory, such as `01-plan.md` or `a/b.md`";
        diagnostics.push(file.error("unsafe-path", message).hint(hint));
        return None;
    }
    let label = label.map_or(&file.value, |label| &label.value);
    Some(ReportContract {
        order: None,
        file: file.value.clone(),
        label: label.clone(),
        format: None,
        at: file.at.clone(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnsafeReportFile {
    #[error("it names no file")]
    Empty,
    /// The name starts with a root or a drive.
    #[error("it is an absolute path")]
    Absolute,
    #[error("`..` leads out of the report directory")]
    Leaves,
    /// A separator on other systems.
    #[error("it contains `\\`")]
    Backslash,
    #[error("it contains a control character")]
    Control,
    #[error("it contains an empty part or `.`")]
    EmptyPart,
}

/// Checks that a name stays inside the report directory.
pub(super) fn check_report_file(name: &str) -> Result<(), UnsafeReportFile> {
    let drive = name.as_bytes().get(1) == Some(&b':') && name.as_bytes()[0].is_ascii_alphabetic();
    if name.is_empty() {
        Err(UnsafeReportFile::Empty)
    } else if name.chars().any(char::is_control) {
        Err(UnsafeReportFile::Control)
    } else if name.contains('\\') {
        Err(UnsafeReportFile::Backslash)
    } else if name.starts_with('/') || drive {
        Err(UnsafeReportFile::Absolute)
    } else if name.split('/').any(|part| part == "..") {
        Err(UnsafeReportFile::Leaves)
    } else if name.split('/').any(|part| part.is_empty() || part == ".") {
        Err(UnsafeReportFile::EmptyPart)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-22
    #[test]
    fn a_report_stays_inside_its_directory() {
        for good in ["plan.md", "a/b.md", "00-計画.md", "..md", "a..b"] {
            assert_eq!(check_report_file(good), Ok(()), "{good}");
        }
        let bad = [
            ("", UnsafeReportFile::Empty),
            ("/etc/passwd", UnsafeReportFile::Absolute),
            ("C:x.md", UnsafeReportFile::Absolute),
            ("../evil.md", UnsafeReportFile::Leaves),
            ("a/../../b", UnsafeReportFile::Leaves),
            ("a\\b", UnsafeReportFile::Backslash),
            ("a\u{0}b", UnsafeReportFile::Control),
            ("a//b", UnsafeReportFile::EmptyPart),
            ("./a", UnsafeReportFile::EmptyPart),
            ("a/", UnsafeReportFile::EmptyPart),
        ];
        for (name, expected) in bad {
            assert_eq!(check_report_file(name), Err(expected), "{name:?}");
        }
    }
}
