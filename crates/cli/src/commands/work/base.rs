//! The base branch of an issue, and the check that git can create the issue's branch.

use std::collections::BTreeMap;

use saihai_config::ForgeKind;
use saihai_model::Issue;

use super::ground::{Ground, refused_by_git};
use super::item::as_item;
use crate::error::Error;

/// The base branch of an issue and the source of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BaseChoice {
    pub(super) branch: String,
    /// The source of the name, as the plan shows it.
    pub(super) by: String,
}

/// Checked pairs of base branch and branch prefix, with the base's commit if it is available locally. A server is
/// asked only once about each pair.
pub(super) type Checked = BTreeMap<(String, String), Option<String>>;

impl BaseChoice {
    /// Returns the base from the first source that names one (I-13).
    pub(super) fn of(issue: &Issue, ground: &Ground, flag: Option<&String>) -> Result<Self, Error> {
        let chosen = |branch: &String, by: &str| Self { branch: branch.clone(), by: by.to_owned() };
        let flag = flag.map(|branch| chosen(branch, "`--base`"));
        let own = || issue.base.as_ref().map(|branch| chosen(branch, "the issue"));
        let set = || ground.work.base.as_ref().map(|branch| chosen(branch, "`work.base`"));
        let default = || {
            let by = match ground.forge {
                ForgeKind::Local => "checked out now",
                ForgeKind::Github => "the repository's default",
            };
            ground.default_base.as_ref().map(|branch| chosen(branch, by))
        };
        flag.or_else(own).or_else(set).or_else(default).ok_or_else(|| {
            Error::usage("no branch is checked out, so it is not known what work goes to")
                .hint("name one with `--base`, or as `base` in `[work]`")
        })
    }

    /// Checks that the base exists and the issue's branch can be created, before any change. Returns the local commit
    /// of the base, if it exists.
    pub(super) fn check(
        &self,
        issue: &Issue,
        branch_prefix: &str,
        ground: &Ground,
        checked: &mut Checked,
    ) -> Result<Option<String>, Error> {
        let item = as_item(issue, branch_prefix);
        ground.repository.check_branch(&item).map_err(refused_by_git)?;
        let both = (self.branch.clone(), branch_prefix.to_owned());
        if let Some(commit) = checked.get(&both) {
            return Ok(commit.clone());
        }
        let named = |error| refused_by_git(error).hint(format!("the base is named by: {}", self.by));
        let commit = match ground.forge {
            ForgeKind::Local => Some(ground.repository.base(&self.branch).map_err(named)?.commit),
            ForgeKind::Github => {
                let (url, token) = (ground.url()?, ground.push_token());
                let found = ground.repository.check_server(&url, &self.branch, &item, token.as_ref());
                found.map_err(named)?
            }
        };
        checked.insert(both, commit.clone());
        Ok(commit)
    }
}
