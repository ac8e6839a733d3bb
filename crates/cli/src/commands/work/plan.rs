//! The plan, printed before any work starts.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use saihai::ProjectSource;
use saihai_config::delivery::Wishes;
use saihai_config::{ForgeKind, RememberedSource};
use saihai_delivery::{
    BaseChoice, IssueDefinition, Listing, NextWork, RepeatFlags, issue_item, status_labels,
};
use saihai_git::RefSnapshot;
use saihai_model::{Issue, IssueNumber, IssueSource, Json, Usd};
use serde::Serialize;
use serde_json::json;

use super::Work;
use super::preparation::{Ground, chosen, insist_on_copies, load_definition, origin};
use super::words::{base_source_words, obstacle_words, refused_by_git};
use crate::definitions::insist_on_providers;
use crate::error::CommandError;
use crate::project::Project;
use crate::report::budget_words;
use crate::terminal::{Stream, Streams, Table, visible_line};

/// Most characters of a title in its column, on a wide and on a narrow terminal.
const TITLE: usize = 40;
const SHORT_TITLE: usize = 12;

/// The plans of all items.
pub(super) struct IssuePlans {
    pub(super) items: BTreeMap<IssueNumber, IssuePlan>,
    /// Checked pairs of base branch and branch prefix, with the base's commit if it is available locally. A server is asked
    /// only once about each pair.
    checked: BTreeMap<(String, String), Option<String>>,
    /// Files of `copy_files` that were checked against a commit.
    copies: BTreeSet<(Vec<String>, Option<String>)>,
    /// The local refs, read once for all issues.
    refs: Option<RefSnapshot>,
    /// The definition files as they were at the start. They apply to all runs that start later (I-76).
    files: RememberedSource<ProjectSource>,
}

/// The plan of one item.
#[derive(Clone)]
pub(super) struct IssuePlan {
    pub(super) definition: String,
    pub(super) by: String,
    pub(super) base: BaseChoice,
    /// The definition, prepared for this issue.
    pub(super) ready: Arc<IssueDefinition>,
}

#[derive(Serialize)]
struct PlanObject<'a> {
    issue: IssueNumber,
    title: &'a str,
    definition: &'a str,
    definition_from: &'a str,
    base: &'a str,
    base_from: &'a str,
    branch: String,
    after: &'a [IssueNumber],
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked: Option<String>,
    gates: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most_turns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most_usd: Option<f64>,
    /// Status labels, if no forge shows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<String>,
    /// Other effective settings, each with its source.
    settings: Vec<EffectiveSetting>,
}

impl IssuePlans {
    /// Plans each item that has no plan yet. An error ends the command before any work starts.
    pub(super) fn plan_all(
        &mut self,
        listing: &Listing,
        ground: &Ground,
        flags: &Work,
        streams: &mut Streams,
    ) -> Result<(), CommandError> {
        for item in &listing.plan.items {
            let is_known = self.items.contains_key(&item.number);
            if let Some(issue) = listing.issues.get(&item.number).filter(|_| !is_known) {
                self.plan(issue, ground, flags, streams)?;
            }
        }
        Ok(())
    }

    pub(super) fn none(project: &Project) -> Self {
        let files = RememberedSource::new(project.source.clone());
        Self { items: BTreeMap::new(), checked: BTreeMap::new(), copies: BTreeSet::new(), refs: None, files }
    }

    /// Reads all definitions that may be needed later. Their errors appear when they are used.
    pub(super) fn remember_definitions(&self, ground: &Ground, flags: &Work) {
        let work = &ground.work;
        let set = work.definition.iter().chain(work.definitions.iter().map(|(_, name)| name));
        let Some(any) = IssueNumber::new(1) else { return };
        for name in flags.definition.iter().chain(set) {
            let read = load_definition(name, any, &self.files, ground, &flags.flags, &mut Streams::silent());
            drop(read);
        }
    }

    pub(super) fn plan(
        &mut self,
        issue: &Issue,
        ground: &Ground,
        flags: &Work,
        streams: &mut Streams,
    ) -> Result<(), CommandError> {
        let chosen = chosen(issue, ground, flags.definition.as_deref())?;
        if let Some((label, other)) = &chosen.overruled {
            streams.warning(&format!(
                "{} uses the definition `{}`, although its label `{}` selects `{other}`",
                issue.number,
                chosen.name,
                visible_line(label)
            ));
        }
        // Print the warnings of a definition only once.
        let is_known = self.items.values().any(|item| item.definition == chosen.name);
        let mut silent = Streams::silent();
        let said = if is_known { &mut silent } else { streams };
        let ready = load_definition(&chosen.name, issue.number, &self.files, ground, &flags.flags, said)?;
        let base = BaseChoice::of(issue, ground, flags.base.as_ref())?;
        let commit = self.check_base(issue, &base, &ready, ground)?;
        ground
            .repository
            .check_worktree_root(&ready.work.worktree_root)
            .map_err(|error| refused_by_git(&error))?;
        let copies = (ready.work.copy_files.clone(), commit);
        if !self.copies.contains(&copies) {
            insist_on_copies(&ground.repository, &ready.work, copies.1.as_deref(), said)?;
            self.copies.insert(copies);
        }
        let item =
            IssuePlan { by: origin(&chosen.by), definition: chosen.name, base, ready: Arc::new(ready) };
        self.items.insert(issue.number, item);
        Ok(())
    }

    /// Checks that the base exists and the issue's branch can be created, before any change. Returns the local commit of the
    /// base, if it exists. Git is started for the first issue of a base; the others are compared with the refs read then.
    fn check_base(
        &mut self,
        issue: &Issue,
        base: &BaseChoice,
        ready: &IssueDefinition,
        ground: &Ground,
    ) -> Result<Option<String>, CommandError> {
        let (repository, prefix) = (&ground.repository, &ready.work.branch_prefix);
        let item = issue_item(issue.source, issue.number, prefix);
        let refused = |error| refused_by_git(&error);
        let both = (base.branch.clone(), prefix.clone());
        if let (Some(refs), Some(commit)) = (&self.refs, self.checked.get(&both)) {
            refs.check_room(&item).map_err(refused)?;
            return Ok(commit.clone());
        }
        repository.check_branch(&item).map_err(refused)?;
        let named = |error| {
            refused_by_git(&error).hint(format!("the base branch comes from: {}", base_source_words(base.by)))
        };
        let commit = match ground.forge {
            ForgeKind::Local => Some(repository.base(&base.branch).map_err(named)?.commit),
            ForgeKind::Github => {
                let (url, token) = (ground.url()?, ground.push_token());
                repository.check_server(&url, &base.branch, &item, token.as_ref()).map_err(named)?
            }
        };
        if ground.forge == ForgeKind::Local && ready.merges(ground) {
            repository.check_merging(&base.branch).map_err(refused)?;
        }
        if self.refs.is_none() {
            self.refs = Some(repository.ref_snapshot().map_err(refused)?);
        }
        self.checked.insert(both, commit.clone());
        Ok(commit)
    }

    /// Checks that all providers exist, before creating a branch, worktree or label (H-54).
    pub(super) fn find_all(
        &self,
        listing: &Listing,
        ground: &Ground,
        flags: &Work,
    ) -> Result<(), CommandError> {
        let mut found = BTreeSet::new();
        for (number, item) in &self.items {
            let acts = |issue: &Issue| {
                let flags = flags.repeat_flags(listing.state(issue.number));
                next_work(ground, issue, flags) != NextWork::Report
            };
            if listing.issues.get(number).is_some_and(acts) && found.insert(&item.definition) {
                insist_on_providers(&item.ready.workflow, &ground.connections)?;
            }
        }
        Ok(())
    }

    /// Returns the issues whose definitions also work on their dependencies.
    pub(super) fn resolving(&self) -> BTreeSet<IssueNumber> {
        let resolving = self.items.iter().filter(|(_, item)| item.ready.resolve);
        resolving.map(|(number, _)| *number).collect()
    }

    pub(super) fn ready(&self, number: IssueNumber) -> Option<(&IssuePlan, &Arc<IssueDefinition>)> {
        self.items.get(&number).map(|item| (item, &item.ready))
    }

    /// Prints the plan, one line for each issue (I-6).
    pub(super) fn print(&self, listing: &Listing, ground: &Ground, out: &mut Stream) -> io::Result<()> {
        if listing.plan.items.is_empty() {
            out.data("nothing to do")?;
            return out.flush();
        }
        // A row stays one line as long as a shorter title allows it.
        let tables =
            (SHORT_TITLE..=TITLE).rev().map(|title| self.table(listing, ground, title).lines_for(out));
        let rows = listing.plan.items.len() + 1;
        let mut lines = Vec::new();
        for table in tables {
            lines = table;
            if lines.len() <= rows {
                break;
            }
        }
        out.lines(&lines)?;
        for line in self.remarks(ground) {
            out.data(&line)?;
        }
        out.flush()
    }

    /// Prints the settings of the plan with their sources, one row for each (I-9).
    pub(super) fn print_settings(&self, ground: &Ground, flags: &Work, out: &mut Stream) -> io::Result<()> {
        let mut table = Table::new(&["SETTING", "VALUE", "FROM"]);
        for row in self.setting_rows(ground, flags) {
            table.row(row.iter().map(|cell| visible_line(cell).into_owned()).collect());
        }
        out.data("")?;
        out.lines(&table.lines_for(out))?;
        out.flush()
    }

    fn table(&self, listing: &Listing, ground: &Ground, title_width: usize) -> Table {
        let mut head = vec!["ISSUE", "TITLE", "DEFINITION", "BASE", "AFTER", "TURNS"];
        head.extend(shows_labels(ground).then_some("LABELS"));
        let mut table = Table::new(&head).optional(&["LABELS"]);
        for item in &listing.plan.items {
            let Some((planned, ready)) = self.ready(item.number) else { continue };
            let title =
                listing.issues.get(&item.number).map(|issue| issue.title.as_str()).unwrap_or_default();
            let after: Vec<String> = item.after.iter().map(IssueNumber::to_string).collect();
            let after = item
                .obstacle
                .map_or(after.join(" "), |it| format!("{}: {}", it.outcome().word(), obstacle_words(it)));
            let mut most =
                ready.most_calls().map_or_else(|| "no limit".to_owned(), |most| format!("≤ {most}"));
            most.extend(ready.most_usd(ground).map(|usd| format!(", ≤ {usd}")));
            let mut row = vec![
                item.number.to_string(),
                saihai_config::issues::cut(&visible_line(title), title_width),
                visible_line(&planned.definition).into_owned(),
                visible_line(&planned.base.branch).into_owned(),
                after,
                most,
            ];
            row.push(visible_line(&labels(item.number, listing, ground, ready).join(" ")).into_owned());
            table.row(row);
        }
        table
    }

    /// Lists what a person must know before the work starts.
    fn remarks(&self, ground: &Ground) -> Vec<String> {
        let (work, mut lines) = (&ground.work, Vec::new());
        let stand_in = ground.repository.frozen().stand_in();
        lines.extend(stand_in.map(|name| {
            format!("commits use the author `{name}`: git has no `user.name` and `user.email` here")
        }));
        lines.extend(budget_words(&work.budget).map(|budget| format!("budget for all issues: {budget}")));
        lines
            .extend(budget_words(&work.budget_per_issue).map(|budget| format!("budget per issue: {budget}")));
        if ground.repository.root().join(".gitmodules").is_file() {
            lines.push("submodules stay empty in worktrees".to_owned());
        }
        lines
    }

    pub(super) fn write(
        &self,
        listing: &Listing,
        ground: &Ground,
        flags: &Work,
        out: &mut Stream,
    ) -> io::Result<()> {
        for item in &listing.plan.items {
            let Some((planned, ready)) = self.ready(item.number) else { continue };
            let object = PlanObject {
                issue: item.number,
                title: listing.issues.get(&item.number).map(|issue| issue.title.as_str()).unwrap_or_default(),
                definition: &planned.definition,
                definition_from: &planned.by,
                base: &planned.base.branch,
                base_from: base_source_words(planned.base.by),
                branch: item.number.branch(&ready.work.branch_prefix),
                after: &item.after,
                blocked: item.obstacle.map(obstacle_words),
                gates: ready.work.gates.iter().map(|gate| gate.name()).collect(),
                most_turns: ready.most_calls(),
                most_usd: ready.most_usd(ground).map(Usd::dollars),
                labels: labels(item.number, listing, ground, ready),
                settings: effective_settings(ground, flags, &ready.wishes),
            };
            out.json("plan", object)?;
        }
        Ok(())
    }

    /// Returns name, value and source: of the definitions and bases of the issues, of the settings for all issues, and of
    /// the settings that a definition overrides.
    fn setting_rows(&self, ground: &Ground, flags: &Work) -> Vec<[String; 3]> {
        let row =
            |key: &str, value: &str, origin: &str| [key.to_owned(), value.to_owned(), origin.to_owned()];
        let items = || self.items.values();
        let definitions: BTreeSet<_> =
            items().map(|item| row("definition", &item.definition, &item.by)).collect();
        let bases: BTreeSet<_> =
            items().map(|item| row("base", &item.base.branch, base_source_words(item.base.by))).collect();
        let own: BTreeSet<_> = items().flat_map(|item| own_settings(item, ground, flags)).collect();
        let all = effective_settings(ground, flags, &Wishes::default());
        let all = all.iter().map(|said| row(said.key, &said.value.to_string(), &said.origin));
        definitions.into_iter().chain(bases).chain(all).chain(own).collect()
    }
}

/// Returns the rows of the settings that a definition overrides.
fn own_settings(item: &IssuePlan, ground: &Ground, flags: &Work) -> Vec<[String; 3]> {
    let said = effective_settings(ground, flags, &item.ready.wishes).into_iter();
    let own = said.filter(|said| said.origin == DEFINITION);
    own.map(|said| [said.key.to_owned(), said.value.to_string(), format!("`{}`", item.definition)]).collect()
}

/// Decides the work on an issue from its last run. With an unreadable run there is none.
pub(super) fn next_work(ground: &Ground, issue: &Issue, flags: RepeatFlags) -> NextWork {
    match ground.last_delivery(issue) {
        Ok(last) => NextWork::after(last.as_ref(), flags, |run| ground.has_moved(run)),
        Err(_) => NextWork::Report,
    }
}

/// Returns true if the plan shows status labels: only for a plan without work, and if no forge shows them.
fn shows_labels(ground: &Ground) -> bool {
    ground.only_lists && ground.source == IssueSource::Folder
}

fn labels(number: IssueNumber, listing: &Listing, ground: &Ground, ready: &IssueDefinition) -> Vec<String> {
    let issue = listing.issues.get(&number).filter(|_| shows_labels(ground) && ready.work.labels);
    let labels = issue.map(|issue| match ground.last_delivery(issue) {
        Ok(run) => status_labels(Ok(run.as_ref())),
        Err(error) => status_labels(Err(&error)),
    });
    let labels = labels.unwrap_or_default();
    labels.iter().map(|label| label.name(&ready.work.label_prefix)).collect()
}

/// One effective setting of `work`.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct EffectiveSetting {
    key: &'static str,
    value: Json,
    /// A flag, the definition, a settings file, a variable, or `default`.
    origin: String,
}

/// Source name for settings of the definition.
const DEFINITION: &str = "the definition";

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
fn effective_settings(ground: &Ground, flags: &Work, wishes: &Wishes) -> Vec<EffectiveSetting> {
    let is_on_forge = ground.source == IssueSource::Github || ground.forge == ForgeKind::Github;
    let forge = OF_FORGES.into_iter().filter(|_| is_on_forge);
    let watch = flags.watch.then_some("every");
    let own = KEYS.into_iter().filter(|key| *key != "from" || ground.source == IssueSource::Folder);
    let keys = own.chain(forge).chain(watch);
    keys.filter_map(|key| effective_setting(key, ground, flags, wishes)).collect()
}

fn effective_setting(
    key: &'static str,
    ground: &Ground,
    flags: &Work,
    wishes: &Wishes,
) -> Option<EffectiveSetting> {
    let by = |value: Json, origin: &str| EffectiveSetting { key, value, origin: origin.to_owned() };
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
