//! The effective settings of `work`, each with its source (I-6).

use saihai_config::ForgeKind;
use saihai_config::delivery::Wishes;
use saihai_model::{IssueSource, Json};
use serde::Serialize;
use serde_json::json;

use super::Work;
use super::ground::Ground;

/// One effective setting of `work`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Said {
    pub(super) key: &'static str,
    pub(super) value: Json,
    /// A flag, the definition, a settings file, a variable, or `default`.
    pub(super) origin: String,
}

/// Source name for settings of the definition.
pub(super) const DEFINITION: &str = "the definition";

/// Settings that apply to every issue.
const KEYS: [&str; 16] = [
    "source",
    "from",
    "forge",
    "merge",
    "jobs",
    "branch_prefix",
    "auto",
    "gates",
    "gate_timeout",
    "verify",
    "worktree_root",
    "copy_files",
    "labels",
    "label_prefix",
    "comments",
    "cleanup",
];

/// Settings that apply only with a forge.
const OF_FORGES: [&str; 8] = [
    "repo",
    "api",
    "remote",
    "pull_request",
    "draft",
    "merge_method",
    "checks_timeout",
    "merge_without_checks",
];

/// Lists all effective settings, in the order of the manual. Unset keys without a default are omitted.
pub(super) fn all(ground: &Ground, flags: &Work, wishes: &Wishes) -> Vec<Said> {
    let is_on_forge = ground.source == IssueSource::Github || ground.forge == ForgeKind::Github;
    let forge = OF_FORGES.into_iter().filter(|_| is_on_forge);
    let watch = flags.watch.then_some("every");
    let own = KEYS.into_iter().filter(|key| *key != "from" || ground.source == IssueSource::Folder);
    let keys = own.chain(forge).chain(watch);
    keys.filter_map(|key| one(key, ground, flags, wishes)).collect()
}

fn one(key: &'static str, ground: &Ground, flags: &Work, wishes: &Wishes) -> Option<Said> {
    let by = |value: Json, origin: &str| Said { key, value, origin: origin.to_owned() };
    let said = flagged(key, ground, flags).map(|(value, flag)| by(value, flag));
    let said = said.or_else(|| wished(key, wishes).map(|value| by(value, DEFINITION)));
    let said = said.or_else(|| {
        let found = ground.settings.find(&format!("work.{key}")).ok()?.into_iter().next()?;
        Some(by(found.value, &found.origin.to_string())).filter(|said| !said.value.is_null())
    });
    said.or_else(|| found(key, ground).map(|(value, origin)| by(value, origin)))
}

fn flagged(key: &str, ground: &Ground, flags: &Work) -> Option<(Json, &'static str)> {
    let when = |is_typed: bool, value: Json, flag: &'static str| is_typed.then_some((value, flag));
    match key {
        "source" => when(flags.from.is_some(), json!("folder"), "`--from`")
            .or_else(|| when(flags.names_github(), json!("github"), "flags")),
        "from" => flags.from.as_ref().map(|from| (json!(from), "`--from`")),
        "repo" => flags.repo.as_ref().map(|repo| (json!(repo.to_string()), "`--repo`")),
        "merge" => when(flags.merge, json!(true), "`--merge`"),
        "jobs" => flags.jobs.map(|jobs| (json!(jobs), "`--jobs`")),
        "auto" => when(flags.flags.presence.auto, json!(true), "`--auto`"),
        "pull_request" => when(flags.no_pr, json!(false), "`--no-pr`"),
        "draft" => when(flags.draft, json!(true), "`--draft`"),
        "cleanup" => when(flags.keep, json!("never"), "`--keep`"),
        "every" => flags.every.map(|_| (json!(format!("{}s", ground.work.every.0 / 1_000)), "`--every`")),
        _ => None,
    }
}

/// Returns the definition's own value of a setting.
fn wished(key: &str, wishes: &Wishes) -> Option<Json> {
    match key {
        "auto" => wishes.auto.map(Json::from),
        "gates" => {
            let names = |gates: &Vec<saihai_config::WorkGate>| gates.iter().map(|gate| gate.name()).collect();
            wishes.gates.as_ref().map(names).map(|names: Vec<&str>| json!(names))
        }
        "pull_request" => wishes.pull_request.map(Json::from),
        "worktree_root" => wishes.worktree_root.clone().map(Json::from),
        "copy_files" => wishes.copy_files.clone().map(Json::from),
        "labels" => wishes.labels.map(Json::from),
        "label_prefix" => wishes.label_prefix.clone().map(Json::from),
        _ => None,
    }
}

/// Returns a detected value for an unset key.
fn found(key: &str, ground: &Ground) -> Option<(Json, &'static str)> {
    match key {
        "source" => Some((json!(ground.source.name()), "default")),
        "forge" => {
            let name = match ground.forge {
                ForgeKind::Local => "local",
                ForgeKind::Github => "github",
            };
            Some((json!(name), "default"))
        }
        "auto" => Some((json!(false), "default")),
        "repo" => ground.access.as_ref().map(|access| (json!(access.repository.to_string()), "the remote")),
        "api" => {
            let is_set = ground.project.variables.get("GITHUB_API_URL").is_some();
            Some((json!(ground.work.api), if is_set { "`GITHUB_API_URL`" } else { "default" }))
        }
        _ => None,
    }
}

/// Formats the settings with one line for each source. Defaults come last.
pub(super) fn lines(all: &[Said], leave_out: &[&str]) -> Vec<String> {
    let mut origins: Vec<&str> = Vec::new();
    let shown = || all.iter().filter(|said| !leave_out.contains(&said.key));
    for said in shown() {
        if !origins.contains(&said.origin.as_str()) {
            origins.push(&said.origin);
        }
    }
    origins.sort_by_key(|origin| *origin == "default");
    let of = |origin: &str| {
        let pairs = shown().filter(|said| said.origin == origin);
        pairs.map(|said| format!("{} = {}", said.key, said.value)).collect::<Vec<_>>().join(", ")
    };
    origins.iter().map(|origin| format!("{origin}: {}", of(origin))).collect()
}
