//! Settings for work on issues.

use std::path::PathBuf;

use indexmap::IndexMap;
use saihai_model::{Budget, IssueSource, MergeMethod, Millis, RepositoryName};

use super::values::Section;

#[derive(Debug, Clone, PartialEq)]
pub struct WorkSettings {
    pub definition: Option<String>,
    /// Definitions by issue label, in file order.
    pub definitions: IndexMap<String, String>,
    pub source: Option<IssueSource>,
    pub from: PathBuf,
    pub repo: Option<RepositoryName>,
    /// API URL of the forge. A value from a variable is unchecked.
    pub api: String,
    pub forge: Option<ForgeKind>,
    pub remote: String,
    /// Target branch of the changes.
    pub base: Option<String>,
    pub branch_prefix: String,
    /// Maximum number of parallel runs.
    pub jobs: u32,
    pub gates: Vec<WorkGate>,
    /// Maximum wait for an answer at a gate.
    pub gate_timeout: Option<Millis>,
    pub pull_request: bool,
    /// Open it as a draft.
    pub draft: bool,
    pub merge: bool,
    pub merge_method: MergeMethod,
    pub checks_timeout: Millis,
    /// Merge even if no checks exist.
    pub merge_without_checks: bool,
    /// Command that must succeed in the merged tree, program first.
    pub verify: Option<Vec<String>>,
    pub worktree_root: PathBuf,
    /// Files to copy into each worktree, as written.
    pub copy_files: Vec<String>,
    /// Show the state of an issue by labels.
    pub labels: bool,
    pub label_prefix: String,
    /// Comment authors whose comments agents see.
    pub comments: Comments,
    /// Condition for deleting a worktree.
    pub cleanup: CleanUp,
    /// Budget of all issues together.
    pub budget: Budget,
    /// Budget of one issue over all its runs.
    pub budget_per_issue: Budget,
    /// Polling interval for new issues.
    pub every: Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgeKind {
    /// No forge: the work stays in this repository.
    Local,
    Github,
}

/// Points in the work on an issue that ask a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkGate {
    PreLoop,
    PostCompletion,
    /// Before a push or merge.
    BeforePr,
}

impl WorkGate {
    pub const ALL: [Self; 3] = [Self::PreLoop, Self::PostCompletion, Self::BeforePr];

    /// Returns the name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreLoop => "pre-loop",
            Self::PostCompletion => "post-completion",
            Self::BeforePr => "before-pr",
        }
    }
}

/// Comment authors whose comments agents see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comments {
    None,
    Trusted,
}

/// Condition for deleting a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanUp {
    /// After its work is safe elsewhere.
    Delivered,
    Never,
}

impl Default for WorkSettings {
    fn default() -> Self {
        Self {
            definition: None,
            definitions: IndexMap::new(),
            source: None,
            from: PathBuf::from(crate::issues::FOLDER),
            repo: None,
            api: "https://api.github.com".to_owned(),
            forge: None,
            remote: "origin".to_owned(),
            base: None,
            branch_prefix: "feature/".to_owned(),
            jobs: 1,
            gates: WorkGate::ALL.to_vec(),
            gate_timeout: None,
            pull_request: true,
            draft: false,
            merge: false,
            merge_method: MergeMethod::Merge,
            checks_timeout: Millis::seconds(3600),
            merge_without_checks: false,
            verify: None,
            worktree_root: PathBuf::from(".worktrees"),
            copy_files: Vec::new(),
            labels: true,
            label_prefix: "saihai".to_owned(),
            comments: Comments::None,
            cleanup: CleanUp::Delivered,
            budget: Budget::default(),
            budget_per_issue: Budget::default(),
            every: Millis::seconds(60),
        }
    }
}

impl WorkSettings {
    /// Applies the set values. The caller reads paths and budgets, because it knows their base
    /// directories.
    pub(super) fn with(self, section: &Section<'_>) -> Self {
        let text = |name: &str| section.text(name).map(str::to_owned);
        let flag = |name: &str, unset: bool| section.bool(name).unwrap_or(unset);
        let definitions = section.within("definitions");
        let label = |(label, setting): (&str, &super::Setting)| {
            Some((label.to_owned(), setting.node.as_text()?.to_owned()))
        };
        Self {
            definition: text("definition"),
            definitions: definitions.each().filter_map(label).collect(),
            source: text("source").map(|source| source_named(&source)),
            repo: section.text("repo").and_then(RepositoryName::parse),
            api: text("api").unwrap_or(self.api),
            forge: text("forge").map(|forge| forge_named(&forge)),
            remote: text("remote").unwrap_or(self.remote),
            base: text("base"),
            branch_prefix: text("branch_prefix").unwrap_or(self.branch_prefix),
            jobs: section.count("jobs").unwrap_or(self.jobs),
            gates: section.texts("gates").map_or(self.gates, |names| gates_named(&names)),
            gate_timeout: section.duration("gate_timeout"),
            pull_request: flag("pull_request", self.pull_request),
            draft: flag("draft", self.draft),
            merge: flag("merge", self.merge),
            merge_method: section.text("merge_method").and_then(MergeMethod::named).unwrap_or_default(),
            checks_timeout: section.duration("checks_timeout").unwrap_or(self.checks_timeout),
            merge_without_checks: flag("merge_without_checks", self.merge_without_checks),
            verify: section.texts("verify"),
            copy_files: section.texts("copy_files").unwrap_or_default(),
            labels: flag("labels", self.labels),
            label_prefix: text("label_prefix").unwrap_or(self.label_prefix),
            comments: match section.text("comments") {
                Some("trusted") => Comments::Trusted,
                Some(_) | None => Comments::None,
            },
            cleanup: match section.text("cleanup") {
                Some("never") => CleanUp::Never,
                Some(_) | None => CleanUp::Delivered,
            },
            every: section.duration("every").unwrap_or(self.every),
            ..self
        }
    }
}

fn source_named(name: &str) -> IssueSource {
    if name == IssueSource::Github.name() { IssueSource::Github } else { IssueSource::Folder }
}

fn forge_named(name: &str) -> ForgeKind {
    if name == "github" { ForgeKind::Github } else { ForgeKind::Local }
}

/// Returns the gates in run order, independent of the order in the file.
fn gates_named(names: &[String]) -> Vec<WorkGate> {
    WorkGate::ALL.into_iter().filter(|gate| names.iter().any(|name| name == gate.name())).collect()
}
