//! All programs that the fake can play, for tests that cover every one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use saihai_model::{Protocol, ProviderKind, ProviderSettings};

/// The name of a program and of its provider.
pub(crate) type Name = &'static str;

/// An agent that uses the Agent Client Protocol.
pub(crate) const ACP: Name = "acp";

/// A custom program with the JSON protocol.
pub(crate) const OWN: Name = "mine";

pub(crate) const ALL: [Name; 7] = ["claude", "codex", "opencode", "gemini", "copilot", ACP, OWN];

/// Returns settings that allow the provider to run read-only turns.
pub(crate) fn settings(name: Name) -> ProviderSettings {
    let kind = ProviderKind::named(name).unwrap_or(ProviderKind::Command);
    let mut settings = ProviderSettings::new(kind);
    if let ACP | OWN = name {
        settings.program = Some(name.to_owned());
        settings.honours = vec!["readonly".to_owned()];
    }
    if name == OWN {
        settings.protocol = Protocol::Json;
    }
    settings
}

/// Returns the same settings as a user's settings file.
pub(crate) fn settings_file(name: Name) -> String {
    match name {
        ACP => "[providers.acp]\nprogram = \"acp\"\nhonours = [\"readonly\"]\n".to_owned(),
        OWN => "[providers.mine]\nkind = \"command\"\nprogram = \"mine\"\nprotocol = \"json\"\nhonours = [\"readonly\"]\n"
            .to_owned(),
        _ => String::new(),
    }
}

/// Runs `act` on each case, several at a time. Returns the results in the order of the cases.
pub(crate) fn with_each<C: Sync, A: Send>(cases: &[C], act: impl Fn(&C) -> A + Sync) -> Vec<A> {
    const AT_ONCE: usize = 6;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(number) else { return done };
            done.push((number, act(case)));
        }
    };
    let mut all: Vec<(usize, A)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a case")).collect()
    });
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, answer)| answer).collect()
}
