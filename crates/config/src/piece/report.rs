//! Reports that a turn must output, in all their written forms (P-21).

use std::collections::HashMap;

use super::facet::Facet;
use super::report_file;
use super::tables;
use super::texts::Texts;
use crate::{Cursor, Diagnostics, Fields, Kind, Located, Location, Value, quoted};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contract {
    /// File inside the report directory.
    pub(super) file: String,
    /// Label; defaults to the file name.
    pub(super) label: String,
    pub(super) format: Option<String>,
    /// Location of the file name.
    pub(super) at: Location,
}

impl Contract {
    /// Returns a copy without the author's words, to count the tokens that Saihai adds.
    pub(super) fn without_words(&self) -> Self {
        let format = self.format.as_ref().map(|_| String::new());
        Self { file: String::new(), label: String::new(), format, at: self.at.clone() }
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
    pub(super) fn read_all(
        value: &Cursor<'_>,
        texts: &mut Texts<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Vec<Self> {
        let contracts: Vec<Self> = match &value.node().value {
            Value::Text(_) => {
                value.text().and_then(|file| named(&file, None, diagnostics)).into_iter().collect()
            }
            Value::Map(_) => object(value, texts, diagnostics).into_iter().collect(),
            Value::List(items) if items.is_empty() => {
                let message = "`report` must name at least one report";
                diagnostics.push(value.error("bad-value", message).label("empty"));
                Vec::new()
            }
            Value::List(_) => value.items().filter_map(|item| entry(&item, texts, diagnostics)).collect(),
            Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Date(_) => {
                let found = value.node().value.kind();
                let message = format!("`report` must be a file name, a mapping or a list, not {found}");
                diagnostics.push(value.error("bad-type", message).label(found));
                Vec::new()
            }
        };
        refuse_duplicates(contracts.iter(), diagnostics);
        contracts
    }
}

/// Reports duplicate files. It ignores case, because some file systems do.
pub(super) fn refuse_duplicates<'a>(
    contracts: impl Iterator<Item = &'a Contract>,
    diagnostics: &mut Diagnostics,
) {
    let mut seen: HashMap<String, &Contract> = HashMap::new();
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
fn entry(item: &Cursor<'_>, texts: &mut Texts<'_>, diagnostics: &mut Diagnostics) -> Option<Contract> {
    let entries: Vec<_> = item.entries().collect();
    match entries.as_slice() {
        [(label, file)] if tables::REPORT.find(&label.value).is_none() => {
            if !file.must_be(&Kind::Text, diagnostics) {
                return None;
            }
            named(&file.text()?, Some(label), diagnostics)
        }
        _ => object(item, texts, diagnostics),
    }
}

fn object(value: &Cursor<'_>, texts: &mut Texts<'_>, diagnostics: &mut Diagnostics) -> Option<Contract> {
    let fields = Fields::read(value, &tables::REPORT, diagnostics)?;
    let format = fields.text("format").and_then(|format| texts.resolve(Facet::Format, &format, diagnostics));
    let contract = named(&fields.text("name")?, None, diagnostics)?;
    let format = format.map(|passage| passage.text.trim_end().trim_start_matches('\n').to_owned());
    Some(Contract { format: format.filter(|format| !format.is_empty()), ..contract })
}

fn named(
    file: &Located<String>,
    label: Option<&Located<String>>,
    diagnostics: &mut Diagnostics,
) -> Option<Contract> {
    if let Err(reason) = report_file::check(&file.value) {
        let message = format!("{} cannot be the name of a report: {reason}", quoted(&file.value));
        let hint = "a report is a file inside the report directory, such as `01-plan.md` or `a/b.md`";
        diagnostics.push(file.error("unsafe-path", message).hint(hint));
        return None;
    }
    let label = label.map_or(&file.value, |label| &label.value);
    Some(Contract { file: file.value.clone(), label: label.clone(), format: None, at: file.at.clone() })
}
