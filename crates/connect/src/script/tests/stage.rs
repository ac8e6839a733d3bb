//! Performs a scripted reply in a temporary directory.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use saihai_model::{
    Ask, Millis, Permission, Progress, ProviderAnswer, Script, ScriptEdit, ScriptReply, ScriptRun,
    ScriptWrite,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::say::ask;
use crate::clock::GracePeriod;
use crate::clock::NoTime;
use crate::providers::Connections;
use crate::script::ScriptProvider;

/// A run of a script in a temporary directory.
pub(super) struct Stage {
    directory: TempDir,
    pub(super) scripted: ScriptProvider,
    seen: Mutex<Vec<String>>,
}

impl Stage {
    pub(super) fn new(replies: Vec<ScriptReply>, adjust: impl FnOnce(&mut Connections)) -> Self {
        let mut with = Connections {
            script: Some(Script { strict: true, replies, ..Script::default() }),
            clock: Arc::new(NoTime),
            grace: Millis(20),
            ..Connections::default()
        };
        adjust(&mut with);
        let directory = tempfile::tempdir().unwrap();
        let grace = GracePeriod::new(with.grace);
        Self { directory, scripted: ScriptProvider::open(with, &grace).unwrap(), seen: Mutex::default() }
    }

    pub(super) fn ask(&self, permission: Permission) -> Ask {
        Ask { directory: self.path().display().to_string(), permission, ..ask("implement", 1) }
    }

    pub(super) async fn answer(&mut self, ask: Ask) -> ProviderAnswer {
        self.answer_or_stop(ask, CancellationToken::new()).await
    }

    pub(super) async fn answer_or_stop(&mut self, ask: Ask, stop: CancellationToken) -> ProviderAnswer {
        let seen = &self.seen;
        let progress = |progress| seen.lock().unwrap().push(shown(progress));
        let Ok(asked) = self.scripted.ask(ask) else { panic!("the script answers") };
        asked.answer(&progress, stop).await
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn seen(&self) -> String {
        self.seen.lock().unwrap().join("\n")
    }

    /// Returns every file with its content.
    pub(super) fn files(&self) -> String {
        let mut files = Vec::new();
        collect(self.path(), self.path(), &mut files);
        files.sort();
        files.join("\n")
    }
}

fn shown(progress: Progress) -> String {
    match progress {
        Progress::Text(text) => format!("text {text}"),
        Progress::ToolStarted(tool) => format!("started {tool}"),
        Progress::ToolFinished(tool) => format!("finished {tool}"),
        Progress::Retrying(why) | Progress::Denied(why) => why,
    }
}

fn collect(root: &Path, directory: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            collect(root, &entry, files);
        } else {
            let name = entry.strip_prefix(root).unwrap().display().to_string();
            files.push(format!("{name}: {:?}", fs::read_to_string(&entry).unwrap()));
        }
    }
}

pub(super) fn writes(path: &str, content: &str) -> ScriptWrite {
    ScriptWrite { path: path.into(), content: content.into() }
}

pub(super) fn edits(path: &str, find: &str, replace: &str) -> ScriptEdit {
    ScriptEdit { path: path.into(), find: find.into(), replace: replace.into() }
}

pub(super) fn runs(argv: &[&str], exit: i32) -> ScriptRun {
    ScriptRun { argv: argv.iter().map(|word| (*word).to_owned()).collect(), exit }
}

/// Summarizes the failure in one line.
pub(super) fn failure(answer: &ProviderAnswer) -> String {
    let refusal = answer.as_ref().unwrap_err();
    format!("{}: {}", refusal.failure.class.name(), refusal.failure.message)
}

pub(super) const EDIT: Permission = Permission::Edit { commands: true };
