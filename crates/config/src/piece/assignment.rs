use std::path::Path;

use saihai_model::Permission;

use super::facet::Facet;
use super::report::Contract;
use super::tables;
use super::template::{RemarkKind, Speaker, Template};
use super::texts::{Passage, Texts};
use crate::{Cursor, Diagnostic, Diagnostics, Fields, Kind, Located, Value, quoted};

/// Tools that change files. A read-only turn never gets them.
const WRITING_TOOLS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// Settings of one turn: persona, template, permission, tools, session and reports.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Assignment {
    /// Name of the review agent that does the work.
    pub(super) reviewer: Option<Located<String>>,
    /// The `agent` value as written.
    pub(super) agent: Option<String>,
    pub(super) persona: Option<String>,
    pub(super) role: String,
    pub(super) template: Option<Located<Template>>,
    /// True if the prompt includes the previous output.
    pub(super) pass_previous: bool,
    pub(super) knowledge: Vec<String>,
    pub(super) policy: Vec<String>,
    pub(super) reports: Vec<Contract>,
    pub(super) permission: Permission,
    pub(super) tools: Option<Vec<String>>,
    /// Session mode; `None` uses the default of the settings.
    pub(super) session: Option<Session>,
    pub(super) session_key: Option<Located<String>>,
    pub(super) provider: Option<Located<String>>,
    pub(super) model: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Session {
    Refresh,
    /// Continues the last session with the same key.
    Continue,
}

impl Assignment {
    /// Reads the keys of a movement that asks one agent.
    pub(super) fn read(
        fields: &Fields<'_>,
        name: &str,
        texts: &mut Texts<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let agent = fields.text("agent");
        let persona = agent.as_ref().and_then(|agent| texts.resolve(Facet::Persona, agent, diagnostics));
        let template = read_template(fields, Speaker::Movement, texts, diagnostics);
        let permission = read_permission(fields, diagnostics);
        Self {
            reviewer: fields.text("reviewer"),
            role: role(fields, agent.as_ref(), name),
            agent: agent.map(|agent| agent.value),
            persona: persona.map(|passage| passage.text),
            template,
            pass_previous: fields.bool("pass_previous_response").is_none_or(|flag| flag.value),
            knowledge: read_facets(fields, Facet::Knowledge, texts, diagnostics),
            policy: read_facets(fields, Facet::Policy, texts, diagnostics),
            reports: read_reports(fields, texts, diagnostics),
            permission,
            tools: read_tools(fields, permission, diagnostics),
            session: read_session(fields, diagnostics),
            session_key: fields.text("session_key"),
            provider: fields.text("provider"),
            model: fields.text("model").map(|model| model.value),
        }
    }
}

/// Reads the template of a movement or a judge.
pub(super) fn read_template(
    fields: &Fields<'_>,
    speaker: Speaker,
    texts: &mut Texts<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Located<Template>> {
    let value = fields.any("instruction_template")?;
    if let Value::List(_) = value.node().value {
        let spelling = fields.spelling("instruction_template").unwrap_or("instruction_template");
        let message = format!("a list as `{spelling}` is not supported");
        diagnostics.push(value.error("not-supported", message).hint("write one text"));
        return None;
    }
    if !value.must_be(&Kind::Text, diagnostics) {
        return None;
    }
    let passage = texts.resolve(Facet::Instruction, &value.text()?, diagnostics)?;
    let template = Template::parse(&passage.text, speaker);
    for remark in &template.remarks {
        let diagnostic = remarked(&passage, &remark.kind, &remark.written, remark.at);
        diagnostics.push(diagnostic);
    }
    Some(Located::new(template, passage.at))
}

fn remarked(passage: &Passage, kind: &RemarkKind, written: &str, at: usize) -> Diagnostic {
    let place = passage.find(written, at);
    let shown = quoted(written);
    match kind {
        RemarkKind::Misspelt(meant) => place
            .warning("unknown-variable", format!("{shown} is no variable and stays as it is written"))
            .hint(format!("did you mean `{{{meant}}}`?")),
        RemarkKind::OnlyInJudges => place
            .warning("unknown-variable", format!("{shown} is known only to the judge of a loop monitor"))
            .label("stays as it is written"),
        RemarkKind::NotSupported => {
            place.error("not-supported", format!("the variable {shown} is not supported"))
        }
        RemarkKind::UnsafeFile(reason) => {
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

fn read_session(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Session> {
    let value = fields.any("session")?;
    if value.node().as_text() == Some("compact") {
        diagnostics.push(value.error("not-supported", "`session: compact` is not supported"));
        return None;
    }
    if !value.must_be(&Kind::OneOf(&["refresh", "continue"]), diagnostics) {
        return None;
    }
    Some(if value.node().as_text() == Some("continue") { Session::Continue } else { Session::Refresh })
}

fn read_facets(
    fields: &Fields<'_>,
    facet: Facet,
    texts: &mut Texts<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<String> {
    let named = fields.texts(facet.noun()).unwrap_or_default();
    named.iter().filter_map(|name| Some(texts.resolve(facet, name, diagnostics)?.text)).collect()
}

/// Reads `report`, or its newer form `output_contracts.report`.
fn read_reports(fields: &Fields<'_>, texts: &mut Texts<'_>, diagnostics: &mut Diagnostics) -> Vec<Contract> {
    let newer = fields.object("output_contracts", &tables::OUTPUT_CONTRACTS, diagnostics);
    if let (Some(older), Some(newer)) =
        (fields.key("report"), newer.as_ref().and_then(|new| new.key("report")))
    {
        let message = "`report` and `output_contracts.report` are two spellings of one key";
        let diagnostic = newer.error("duplicate-field", message).label("given again");
        diagnostics.push(diagnostic.also(older, "first given here"));
    }
    let value: Option<Cursor<'_>> =
        fields.any("report").or_else(|| newer.and_then(|newer| newer.any("report")));
    value.map(|value| Contract::read_all(&value, texts, diagnostics)).unwrap_or_default()
}

/// Returns the display name of a role: `agent_name`, else the file stem, else the movement's name.
fn role(fields: &Fields<'_>, agent: Option<&Located<String>>, name: &str) -> String {
    if let Some(said) = fields.text("agent_name") {
        return said.value;
    }
    let stem = agent.and_then(|agent| Path::new(&agent.value).file_stem()?.to_str().map(str::to_owned));
    stem.unwrap_or_else(|| name.to_owned())
}
