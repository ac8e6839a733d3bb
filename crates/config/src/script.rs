//! Script files: written replies for the `script` provider.
//!
//! A mapping with `script: 1` is a Saihai script. A list at the top level is a TAKT mock scenario,
//! read unchanged.

mod answer;
mod expect;
mod reply;
mod scenario;
mod tables;
mod target;

use std::path::Path;

use saihai_model::{Script, Workflow};

pub(crate) use tables::ENTRY;
pub use tables::SCRIPT;

use crate::diagnostic::{Area, Diagnostics};
use crate::document::Document;
use crate::fields::Fields;
use crate::source::Source;
use target::Names;

/// Reads a script file. With a workflow, the target names of its replies must exist there.
pub fn load_script(
    source: &dyn Source,
    path: &Path,
    name: &str,
    workflow: Option<&Workflow>,
    diagnostics: &mut Diagnostics,
) -> Option<Script> {
    let mut found = Diagnostics::new();
    let document = Document::load(source, path, name, Area::Script, &mut found);
    let script = document.and_then(|document| {
        let (script, more) = read_script(&document, workflow);
        found.append(more);
        script
    });
    let right = !found.has_errors();
    diagnostics.append(found);
    script.filter(|_| right)
}

/// Reads a script from a document. Returns a script only if it has no errors.
pub fn read_script(document: &Document, workflow: Option<&Workflow>) -> (Option<Script>, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let script = if document.root.as_list().is_some() {
        Some(scenario::read(document, &mut diagnostics))
    } else {
        read_own(document, &Names::new(workflow), &mut diagnostics)
    };
    let right = !diagnostics.has_errors();
    (script.filter(|_| right), diagnostics)
}

fn read_own(document: &Document, names: &Names<'_>, diagnostics: &mut Diagnostics) -> Option<Script> {
    let fields = Fields::read(&document.cursor(), &SCRIPT, diagnostics)?;
    let replies = fields.list("replies");
    Some(Script {
        strict: fields.bool("strict").is_none_or(|strict| strict.value),
        lenient_roles: false,
        replies: replies.iter().filter_map(|one| reply::read(one, names, diagnostics)).collect(),
        task: fields.text("task").map(|task| task.value),
        expect: expect::read(&fields, diagnostics),
        answers: fields
            .list("answers")
            .iter()
            .filter_map(|one| answer::read(one, names, diagnostics))
            .collect(),
        interactive: fields.bool("interactive").map(|interactive| interactive.value),
        recorded: fields.text("recorded").map(|run| run.value),
    })
}

#[cfg(test)]
mod tests;
