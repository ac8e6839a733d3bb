//! Programs that a definition runs, and the check that the user trusts them (K-39).

use std::path::Path;

use saihai_config::{Area, Diagnostic, Diagnostics, DiskSource, Source as _, Trust};
use saihai_model::Workflow;

use crate::project::Project;

/// Maximum size of a checked program.
pub(crate) const LARGEST: u64 = 16 << 20;

/// Rejects every program of a definition whose current content the user has not trusted. A cloned repository must not
/// run programs without consent.
pub(crate) fn untrusted(project: &Project, workflow: &Workflow, trust_project: bool) -> Diagnostics {
    let mut found = Diagnostics::new();
    let by_variable =
        project.variables.get("SAIHAI_TRUST_PROJECT").is_some_and(|value| matches!(value, "1" | "true"));
    let commands = workflow.commands();
    if trust_project || by_variable || commands.is_empty() {
        return found;
    }
    let trust = Trust::load(&project.source, project.places.user.as_deref(), &mut found);
    for command in commands {
        let Some(program) = command.written.or(command.argv.first().map(String::as_str)).map(Path::new)
        else {
            continue;
        };
        // Links are followed, because nothing is displayed and programs are often links: `node_modules/.bin`,
        // `.venv/bin`.
        let content = DiskSource.read(program, LARGEST).ok();
        let canonical = DiskSource.canonical(program).ok();
        let trusted = canonical.zip(content).is_some_and(|(path, content)| trust.trusts(&path, &content));
        let own = program.starts_with(&project.places.root);
        if trusted && own {
            continue;
        }
        let shown = project.shown(program);
        let would = match command.written {
            Some(_) => format!("it says to run `{}`", command.typed()),
            None => "the definition would run it".to_owned(),
        };
        let message = format!("`{shown}` is not trusted, and {would}");
        let hint = if own {
            format!("look at it, then run `saihai trust {shown}`; `--trust-project` trusts it for one call")
        } else {
            "look at the definition; `--trust-project` trusts it for one call".to_owned()
        };
        found.push(Diagnostic::error(Area::Settings.code("untrusted"), message).hint(hint));
    }
    found
}
