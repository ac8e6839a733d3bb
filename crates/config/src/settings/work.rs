//! Settings for work on issues, and checks beyond the kinds of values.

use std::path::PathBuf;

use indexmap::IndexMap;
use saihai_model::{Budget, IssueSource, MergeMethod, Millis, RepositoryName};

use super::tables::BUDGET;
use super::values::{Setting, SettingValues, setting_types, settings_table};
use crate::diagnostic::{Diagnostic, Diagnostics, DocumentPath, quoted};
use crate::fields::ValueKind;

const TIME: ValueKind = ValueKind::Duration { zero: false };

settings_table! {
    pub struct WorkSettings = WORK("`work`") {
        definition: Option<String> = Text, "definition for work on issues";
        definitions: IndexMap<String, String> = Map(&Text),
            "definitions by issue label";
        source: Option<IssueSource> = OneOf(&["folder", "github"]), "source of issues";
        from: PathBuf = Path, default "\".saihai/issues\"", "directory of issue files";
        repo: Option<RepositoryName> = Text, "repository on the forge, as `owner/name`";
        /// A value from a variable is unchecked.
        api: String = Text, else "https://api.github.com".to_owned(), "address of the forge's API";
        forge: Option<ForgeKind> = OneOf(&["local", "github"]), "destination of changes";
        remote: String = Text, default "\"origin\"", "git remote";
        base: Option<String> = Text, "base branch of the changes";
        branch_prefix: String = Text, default "\"feature/\"", "prefix of branch names";
        jobs: u32 = Integer { min: 1, max: 256 }, default "1",
            "maximum number of issues worked on in parallel";
        gates: Vec<WorkGate> = List(&OneOf(&["pre-loop", "post-completion", "before-pr"])), default "[\"pre-loop\",\"post-completion\",\"before-pr\"]",
            "gates that ask a person";
        gate_timeout: Option<Millis> = TIME, "maximum wait for an answer";
        pull_request: bool = Bool, default "true", "open a pull request";
        draft: bool = Bool, default "false", "open pull requests as drafts";
        merge: bool = Bool, default "false", "merge pull requests when their checks pass";
        merge_method: MergeMethod = OneOf(&["merge", "squash", "rebase"]), default "\"merge\"",
            "merge method";
        checks_timeout: Millis = TIME, default "\"60m\"", "maximum wait for checks";
        merge_without_checks: bool = Bool, default "false",
            "merge pull requests without checks";
        /// Runs in the merged tree. The program comes first.
        verify: Option<Vec<String>> = Filled(&Text),
            "command that must succeed before delivery; no shell";
        worktree_root: PathBuf = Path, default "\".worktrees\"", "directory of worktrees";
        copy_files: Vec<String> = List(&Path), default "[]", "files to copy into each worktree";
        labels: bool = Bool, default "true", "show the state of an issue with labels";
        label_prefix: String = Text, default "\"saihai\"", "prefix of these labels";
        comments: Comments = OneOf(&["none", "trusted"]), default "\"none\"",
            "comments to show to agents";
        cleanup: CleanUp = OneOf(&["delivered", "never"]), default "\"delivered\"",
            "delete worktrees after delivery, or never";
        budget: Budget = Object(&BUDGET), "budget for all issues";
        budget_per_issue: Budget = Object(&BUDGET), "budget for one issue";
        every: Millis = TIME, default "\"60s\"", "interval between searches for new issues";
    }
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

setting_types! {
    ForgeKind: |node| Some(if node.as_text()? == "github" { ForgeKind::Github } else { ForgeKind::Local });
    WorkGate: |node| WorkGate::ALL.into_iter().find(|gate| Some(gate.name()) == node.as_text());
    Comments: |node| Some(if node.as_text()? == "trusted" { Comments::Trusted } else { Comments::None });
    CleanUp: |node| Some(if node.as_text()? == "never" { CleanUp::Never } else { CleanUp::Delivered });
    IssueSource: |node| Some(if node.as_text()? == "github" { IssueSource::Github } else { IssueSource::Folder });
    RepositoryName: |node| RepositoryName::parse(node.as_text()?);
    MergeMethod: |node| MergeMethod::named(node.as_text()?);
}

/// Maximum length of a label prefix. Forges allow 50 characters; suffix and colon take up to 11.
const LABEL_PREFIX: usize = 39;

/// Returns the problem of a text and a suggested fix.
type WorkTextCheck = fn(&str) -> Option<(String, String)>;

/// Reports `work` values of the right kind that are still invalid.
pub(super) fn check_work(said: &SettingValues, diagnostics: &mut Diagnostics) {
    let work = said.section(&DocumentPath::of_keys("work"));
    let checks: [(&str, WorkTextCheck); 6] = [
        ("repo", repository),
        ("api", api),
        ("branch_prefix", branch_prefix),
        ("base", base),
        ("remote", remote),
        ("label_prefix", label_prefix),
    ];
    for (key, check) in checks {
        let Some(setting) = work.get(key) else { continue };
        let wrong = setting.node.as_text().and_then(check);
        diagnostics.extend(wrong.map(|(why, hint)| refused(key, setting, &why).hint(hint)));
    }
    let (method, local) = (work.get("merge_method"), work.text("forge") == Some("local"));
    if let Some(setting) = method.filter(|method| local && method.node.as_text() != Some("merge")) {
        let why = "the forge `local` supports only `merge`";
        diagnostics.push(refused("merge_method", setting, why));
    }
}

fn refused(key: &str, setting: &Setting, why: &str) -> Diagnostic {
    let value = quoted(setting.node.as_text().unwrap_or_default());
    setting.at.error("bad-value", format!("`{key}` cannot be {value}: {why}")).label("not allowed")
}

fn repository(text: &str) -> Option<(String, String)> {
    let wrong = RepositoryName::parse(text).is_none();
    wrong.then(|| ("it is not `OWNER/NAME`".to_owned(), "write `repo = \"me/tool\"`".to_owned()))
}

fn branch_prefix(text: &str) -> Option<(String, String)> {
    let why = branch_name_problem(&format!("{text}issue-1"))?;
    Some((format!("`{text}issue-1` is not a branch name: {why}"), "write `feature/`".to_owned()))
}

fn base(text: &str) -> Option<(String, String)> {
    let why = branch_name_problem(text)?;
    Some((format!("it is not a branch name: {why}"), "write the branch alone, such as `main`".to_owned()))
}

fn remote(text: &str) -> Option<(String, String)> {
    let why = branch_name_problem(text)?;
    Some((format!("it is not a remote name: {why}"), "`git remote` lists the remotes".to_owned()))
}

fn label_prefix(text: &str) -> Option<(String, String)> {
    let odd = |c: char| c.is_control() || c == ',' || c == ':';
    let why = if text.trim().is_empty() || text.trim() != text {
        "it is blank, or starts or ends with a space"
    } else if text.chars().any(odd) {
        "it must not contain a comma, a colon or control characters"
    } else if text.chars().count() > LABEL_PREFIX {
        "it is too long for a label"
    } else {
        return None;
    };
    Some((why.to_owned(), "write a word, such as `saihai`".to_owned()))
}

/// Accepts only URLs that are safe for a token: encrypted, or on this machine.
fn api(text: &str) -> Option<(String, String)> {
    let hint = "write `https://HOST`; `http:` is for this machine alone".to_owned();
    let Some((scheme, rest)) = text.split_once("://") else {
        return Some(("it is not the address of a server".to_owned(), hint));
    };
    let place = rest.split('/').next().unwrap_or_default();
    let why = if place.is_empty() || rest.contains(['?', '#', ' ']) {
        "it is not the address of a server"
    } else if place.contains('@') {
        "it must not contain a user or a password"
    } else if scheme == "http" && !is_loopback(place) {
        "it would send a token without encryption"
    } else if !matches!(scheme, "http" | "https") {
        "it starts neither with `https:` nor with `http:`"
    } else {
        return None;
    };
    Some((why.to_owned(), hint))
}

/// Returns true if a host, with or without a port, is this machine.
fn is_loopback(place: &str) -> bool {
    let host = match place.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => place.split(':').next().unwrap_or_default(),
    };
    let parts: Vec<Option<u8>> = host.split('.').map(|part| part.parse().ok()).collect();
    let is_own = matches!(parts.as_slice(), [Some(127), Some(_), Some(_), Some(_)]);
    is_own || host == "::1" || host.eq_ignore_ascii_case("localhost")
}

/// Returns the reason why git would reject a branch name. Checking here reports the error early.
pub(super) fn branch_name_problem(name: &str) -> Option<&'static str> {
    let parts = || name.split('/');
    if name.is_empty() || name == "@" {
        Some("it is empty")
    } else if name.starts_with('-') {
        Some("it begins with `-`")
    } else if name.chars().any(|c| c.is_control() || c == ' ' || "~^:?*[\\".contains(c)) {
        Some("it must not contain a space, a control character or `~`, `^`, `:`, `?`, `*`, `[`, `\\`")
    } else if name.contains("..") || name.contains("@{") {
        Some("it must not contain `..` or `@{`")
    } else if parts().any(str::is_empty) {
        Some("a part between its slashes is empty")
    } else if parts().any(|part| part.starts_with('.') || part.ends_with(".lock")) || name.ends_with('.') {
        Some("no part of it may start with `.` or end with `.lock`, and it must not end with `.`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_git_would_refuse_are_refused() {
        for name in ["main", "feature/issue-7", "a/b.c/d", "計画", "feature/@"] {
            assert_eq!(branch_name_problem(name), None, "{name}");
        }
        for name in [
            "", "@", "-x", "a b", "a..b", "a/", "/a", "a//b", ".a", "a/.b", "a.lock", "a.", "a~1", "a@{1}",
            "a\\b", "a\tb",
        ] {
            assert!(branch_name_problem(name).is_some(), "{name}");
        }
    }
}
