//! What the settings say of working on issues.

use std::path::PathBuf;

use indexmap::IndexMap;
use saihai_model::{Budget, IssueSource, MergeMethod, Millis, RepositoryName};

use super::values::Section;

/// What the settings say of working on issues.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkSettings {
    /// The definition issues are worked on with, where nothing else names one.
    pub definition: Option<String>,
    /// The definition for issues with a label, in the order of the file.
    pub definitions: IndexMap<String, String>,
    pub source: Option<IssueSource>,
    /// The folder of issue files.
    pub from: PathBuf,
    /// The repository on the forge.
    pub repo: Option<RepositoryName>,
    /// Where the forge is spoken to. What a variable says has not been checked.
    pub api: String,
    pub forge: Option<ForgeKind>,
    pub remote: String,
    /// The branch changes go to.
    pub base: Option<String>,
    /// What names of branches begin with.
    pub branch_prefix: String,
    /// How many runs are driven at the same time.
    pub jobs: u32,
    /// Where a person is asked.
    pub gates: Vec<WorkGate>,
    /// How long an answer is waited for.
    pub gate_timeout: Option<Millis>,
    /// Whether a pull request is opened.
    pub pull_request: bool,
    /// Whether it is a draft.
    pub draft: bool,
    pub merge: bool,
    pub merge_method: MergeMethod,
    /// How long checks are waited for.
    pub checks_timeout: Millis,
    /// Whether it is merged where there are no checks.
    pub merge_without_checks: bool,
    /// The command that must succeed in the merged tree, the program first.
    pub verify: Option<Vec<String>>,
    pub worktree_root: PathBuf,
    /// Files copied into each worktree, as they are written.
    pub copy_files: Vec<String>,
    /// Whether labels show how an issue stands.
    pub labels: bool,
    /// What these labels begin with.
    pub label_prefix: String,
    /// Whose comments agents are shown.
    pub comments: Comments,
    /// When a worktree is removed.
    pub cleanup: CleanUp,
    /// What all issues together may cost.
    pub budget: Budget,
    /// What one issue may cost, all its runs together.
    pub budget_per_issue: Budget,
    /// How often new issues are looked for.
    pub every: Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgeKind {
    /// Nowhere: they stay in this repository.
    Local,
    Github,
}

/// Where a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkGate {
    PreLoop,
    /// When the work is committed.
    PostCompletion,
    /// Before anything leaves the machine, or is merged.
    BeforePr,
}

impl WorkGate {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::PreLoop, Self::PostCompletion, Self::BeforePr];

    /// As it is written in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreLoop => "pre-loop",
            Self::PostCompletion => "post-completion",
            Self::BeforePr => "before-pr",
        }
    }
}

/// Whose comments agents are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comments {
    None,
    /// Those of owners, members and collaborators.
    Trusted,
}

/// When a worktree is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanUp {
    /// When what was made in it is safe elsewhere.
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
    /// The same with what is set. Paths and budgets are read by whoever knows what they are relative to.
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

/// The gates in their own order, whatever order they are written in.
fn gates_named(names: &[String]) -> Vec<WorkGate> {
    WorkGate::ALL.into_iter().filter(|gate| names.iter().any(|name| name == gate.name())).collect()
}
