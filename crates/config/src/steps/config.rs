//! Reader of `config.json`: overrides of an agent on this machine (S-18).

use super::behavior::note_idle;
use super::setup::Worktree;
use super::tables;
use super::version;
use crate::{Diagnostics, Document, Fields};

#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Overrides {
    pub(super) permission: Option<String>,
    pub(super) tools: Option<Vec<String>>,
    /// Number of logs to keep.
    pub(super) max_files: Option<u32>,
    pub(super) verbose: Option<bool>,
    /// Worktree option of a run.
    pub(super) worktree: Worktree,
}

impl Overrides {
    pub(super) fn read(document: &Document, diagnostics: &mut Diagnostics) -> Self {
        let Some(fields) = Fields::read(&document.cursor(), &tables::CONFIG, diagnostics) else {
            return Self::default();
        };
        version::check(&fields, diagnostics);
        let overrides = fields.object("overrides", &tables::OVERRIDES, diagnostics);
        let logging = fields.object("logging", &tables::CONFIG_LOGGING, diagnostics);
        if let Some(github) = fields.object("github", &tables::CONFIG_GITHUB, diagnostics) {
            let idle = ["apiVersion", "labels"].into_iter();
            let idle = idle.filter_map(|name| Some((name, github.key(name)?.clone())));
            note_idle(&idle.collect::<Vec<_>>(), diagnostics);
        }
        if let Some(worktree) = fields.object("worktree", &tables::CONFIG_WORKTREE, diagnostics) {
            for name in ["enabled", "root"] {
                let spelling = worktree.spelling(name).filter(|spelling| *spelling != name);
                if let (Some(spelling), Some(at)) = (spelling, worktree.key(name)) {
                    diagnostics
                        .push(at.note("other-name", format!("`{spelling}` is another name of `{name}`")));
                }
            }
        }
        let tools = overrides.as_ref().and_then(|fields| fields.texts("allowedTools"));
        Self {
            permission: overrides.and_then(|fields| fields.text("permissionMode")).map(|mode| mode.value),
            tools: tools.map(|tools| tools.into_iter().map(|tool| tool.value).collect()),
            worktree: Worktree::read(&fields, &tables::CONFIG_WORKTREE, &mut Diagnostics::new()),
            verbose: logging.as_ref().and_then(|fields| fields.bool("verbose")).map(|flag| flag.value),
            max_files: logging.and_then(|fields| fields.count("maxFiles")).map(|count| count.value),
        }
    }
}
