//! The plan, printed before any work starts.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use saihai::ProjectSource;
use saihai_config::delivery::Wishes;
use saihai_config::{ForgeKind, RememberedSource};
use saihai_engine::work::Obstacle;
use saihai_model::{Issue, IssueNumber, IssueSource, Usd};
use serde::Serialize;

use super::Work;
use super::again::{Before, standing};
use super::base::{BaseChoice, Checked};
use super::definition::{Ready, chosen, origin};
use super::ground::{Ground, insist_on_copies, refused_by_git};
use super::origins;
use super::selection::Listing;
use crate::error::Error;
use crate::json;
use crate::prepared::insist_on_providers;
use crate::project::Project;
use crate::report::{budget_words, count};
use crate::terminal::{Stream, Streams, Table, visible_line};

/// The plans of all items.
pub(super) struct Planned {
    pub(super) items: BTreeMap<IssueNumber, PlannedItem>,
    checked: Checked,
    /// The definition files as they were at the start. They apply to all runs that start later (I-76).
    files: RememberedSource<ProjectSource>,
}

/// The plan of one item.
#[derive(Clone)]
pub(super) struct PlannedItem {
    pub(super) definition: String,
    pub(super) by: String,
    pub(super) base: BaseChoice,
    /// The definition, prepared for this issue.
    pub(super) ready: Ready,
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
    settings: Vec<origins::Said>,
}

impl Planned {
    /// Plans each item that has no plan yet. An error ends the command before any work starts.
    pub(super) fn plan_all(
        &mut self,
        listing: &Listing,
        ground: &Ground,
        flags: &Work,
        streams: &mut Streams,
    ) -> Result<(), Error> {
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
        Self { items: BTreeMap::new(), checked: Checked::new(), files }
    }

    /// Reads all definitions that may be needed later. Their errors appear when they are used.
    pub(super) fn remember_definitions(&self, ground: &Ground, flags: &Work) {
        let work = &ground.work;
        let set = work.definition.iter().chain(work.definitions.iter().map(|(_, name)| name));
        let Some(any) = IssueNumber::new(1) else { return };
        for name in flags.definition.iter().chain(set) {
            let read = Ready::load(name, any, &self.files, ground, &flags.flags, &mut Streams::silent());
            drop(read);
        }
    }

    pub(super) fn plan(
        &mut self,
        issue: &Issue,
        ground: &Ground,
        flags: &Work,
        streams: &mut Streams,
    ) -> Result<(), Error> {
        let chosen = chosen(issue, ground, flags.definition.as_deref())?;
        if let Some((label, other)) = &chosen.overruled {
            streams.warning(&format!(
                "{} is worked on with `{}`, though its label `{}` names `{other}`",
                issue.number,
                chosen.name,
                visible_line(label)
            ));
        }
        // Print the warnings of a definition only once.
        let is_known = self.items.values().any(|item| item.definition == chosen.name);
        let mut silent = Streams::silent();
        let said = if is_known { &mut silent } else { streams };
        let ready = Ready::load(&chosen.name, issue.number, &self.files, ground, &flags.flags, said)?;
        let base = BaseChoice::of(issue, ground, flags.base.as_ref())?;
        let commit = base.check(issue, &ready.work.branch_prefix, ground, &mut self.checked)?;
        ground.repository.check_worktree_root(&ready.work.worktree_root).map_err(refused_by_git)?;
        if ground.forge == ForgeKind::Local && ready.merges(ground) {
            ground.repository.check_merging(&base.branch).map_err(refused_by_git)?;
        }
        insist_on_copies(&ground.repository, &ready.work, commit.as_deref(), said)?;
        let item = PlannedItem { by: origin(&chosen.by), definition: chosen.name, base, ready };
        self.items.insert(issue.number, item);
        Ok(())
    }

    /// Checks that all providers exist, before creating a branch, worktree or label (H-54).
    pub(super) fn find_all(&self, listing: &Listing, ground: &Ground, flags: &Work) -> Result<(), Error> {
        let mut found = BTreeSet::new();
        for (number, item) in &self.items {
            let acts = |issue: &Issue| {
                Before::of(ground, issue, flags, listing.reworked.contains(&issue.number)) != Before::Told
            };
            if listing.issues.get(number).is_some_and(acts) && found.insert(&item.definition) {
                insist_on_providers(&item.ready.workflow, &ground.connections())?;
            }
        }
        Ok(())
    }

    /// Returns the issues whose definitions also work on their dependencies.
    pub(super) fn resolving(&self) -> BTreeSet<IssueNumber> {
        let resolving = self.items.iter().filter(|(_, item)| item.ready.resolve);
        resolving.map(|(number, _)| *number).collect()
    }

    pub(super) fn ready(&self, number: IssueNumber) -> Option<(&PlannedItem, &Ready)> {
        self.items.get(&number).map(|item| (item, &item.ready))
    }

    /// Prints the plan with the sources of its settings (I-6, I-9).
    pub(super) fn print(
        &self,
        listing: &Listing,
        ground: &Ground,
        flags: &Work,
        out: &mut Stream,
    ) -> io::Result<()> {
        if listing.plan.items.is_empty() {
            out.data("nothing to do")?;
            return out.flush();
        }
        let mut head = vec!["ISSUE", "TITLE", "DEFINITION", "BASE", "AFTER", "GATES", "TURNS"];
        head.extend(shows_labels(ground).then_some("LABELS"));
        let mut table = Table::new(&head);
        for item in &listing.plan.items {
            let Some((planned, ready)) = self.ready(item.number) else { continue };
            let title =
                listing.issues.get(&item.number).map(|issue| issue.title.as_str()).unwrap_or_default();
            let after: Vec<String> = item.after.iter().map(IssueNumber::to_string).collect();
            let after = item
                .obstacle
                .map_or(after.join(" "), |it| format!("{}: {}", it.outcome().word(), obstacle_words(it)));
            let gates: Vec<&str> = ready.gates().iter().map(|gate| gate.name()).collect();
            let gates = if ready.auto { "(auto)".to_owned() } else { gates.join(" ") };
            let mut most =
                ready.most_calls().map_or_else(|| "no limit".to_owned(), |most| format!("≤ {most}"));
            most.extend(ready.most_usd(ground).map(|usd| format!(", ≤ {usd}")));
            let mut row = vec![
                item.number.to_string(),
                saihai_config::issues::cut(&visible_line(title), 40),
                format!("{} ({})", visible_line(&planned.definition), planned.by),
                visible_line(&planned.base.branch).into_owned(),
                after,
                gates,
                most,
            ];
            row.push(visible_line(&labels(item.number, listing, ground, ready).join(" ")).into_owned());
            table.row(row);
        }
        for line in table.lines() {
            out.data(&line)?;
        }
        for line in self.settings(ground, flags) {
            out.data(&line)?;
        }
        if ground.repository.root().join(".gitmodules").is_file() {
            out.data("submodules stay empty in worktrees")?;
        }
        out.flush()
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
                base_from: &planned.base.by,
                branch: item.number.branch(&ready.work.branch_prefix),
                after: &item.after,
                blocked: item.obstacle.map(obstacle_words),
                gates: ready.gates().iter().map(|gate| gate.name()).collect(),
                most_turns: ready.most_calls(),
                most_usd: ready.most_usd(ground).map(Usd::dollars),
                labels: labels(item.number, listing, ground, ready),
                settings: origins::all(ground, flags, &ready.wishes),
            };
            json::line(out, "plan", object)?;
        }
        Ok(())
    }

    /// Lists the other settings that apply to all items, with their sources.
    fn settings(&self, ground: &Ground, flags: &Work) -> Vec<String> {
        let work = &ground.work;
        let flagged = [
            ("source", flags.from.is_some() || flags.names_github()),
            ("merge", flags.merge),
            ("jobs", flags.jobs.is_some()),
        ];
        let origin = |key: &str| {
            if flagged.contains(&(key, true)) {
                return format!("`--{key}`").replace("`--source`", "flags");
            }
            let found =
                ground.settings.find(&format!("work.{key}")).ok().and_then(|found| found.into_iter().next());
            found.map_or_else(|| "default".to_owned(), |found| found.origin.to_string())
        };
        let forge = match ground.forge {
            ForgeKind::Local => "local: branches stay in this repository",
            ForgeKind::Github => "github",
        };
        let source = format!("issues from {} ({})", ground.source.name(), origin("source"));
        let merge = if work.merge { "merged" } else { "not merged" };
        let mut lines = vec![
            source,
            format!("results to {forge} ({}); {merge} ({})", origin("forge"), origin("merge")),
            format!("{} at a time ({})", count(u64::from(work.jobs), "issue"), origin("jobs")),
        ];
        lines.extend(self.bases());
        let all = origins::all(ground, flags, &Wishes::default());
        lines.extend(origins::lines(&all, &["source", "forge", "merge", "jobs"]));
        lines.extend(self.own_words(ground, flags));
        let stand_in = ground.repository.frozen().stand_in();
        lines.extend(stand_in.map(|name| format!("commits are by `{name}`: git knows nobody else here")));
        lines.extend(budget_words(&work.budget).map(|budget| format!("all together may cost {budget}")));
        lines.extend(budget_words(&work.budget_per_issue).map(|budget| format!("each may cost {budget}")));
        lines
    }
}

impl Planned {
    /// Returns the distinct base branches.
    fn bases(&self) -> BTreeSet<String> {
        let bases = self.items.values().map(|item| &item.base);
        bases.map(|base| format!("work begins at `{}` ({})", visible_line(&base.branch), base.by)).collect()
    }

    /// Lists the definitions' own settings.
    fn own_words(&self, ground: &Ground, flags: &Work) -> BTreeSet<String> {
        let mut words = BTreeSet::new();
        for item in self.items.values() {
            let mut said = origins::all(ground, flags, &item.ready.wishes);
            said.retain(|said| said.origin == origins::DEFINITION);
            let name = format!("`{}`", visible_line(&item.definition));
            let lines = origins::lines(&said, &[]);
            words.extend(lines.iter().map(|line| line.replacen(origins::DEFINITION, &name, 1)));
        }
        words
    }
}

/// Returns true if the plan shows status labels: only for a plan without work, and if no forge shows them.
fn shows_labels(ground: &Ground) -> bool {
    ground.only_lists && ground.source == IssueSource::Folder
}

fn labels(number: IssueNumber, listing: &Listing, ground: &Ground, ready: &Ready) -> Vec<String> {
    let issue = listing.issues.get(&number).filter(|_| shows_labels(ground) && ready.work.labels);
    let labels = issue.map(|issue| standing(ground, issue)).unwrap_or_default();
    labels.iter().map(|label| label.name(&ready.work.label_prefix)).collect()
}

/// Explains why an item cannot start.
pub(super) fn obstacle_words(obstacle: Obstacle) -> String {
    match obstacle {
        Obstacle::NotSelected(number) => format!("{number} is open"),
        Obstacle::NotMerged(number) => format!("{number} is not merged yet"),
        Obstacle::NotFound(number) => format!("{number} is not there"),
    }
}
