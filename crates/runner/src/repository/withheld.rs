//! Files of the user's that are not for the repository, under whatever name they would get into it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::private::Private;
use super::{Error, Repository, lists, regular};

/// What is shorter may be the same by chance.
const SHORTEST: u64 = 8;

impl Repository {
    /// A file of the user's checkout that git ignores or that was copied for the agent, and what the same content is called
    /// among objects that would be delivered. The objects are those that the base does not have.
    pub(super) fn withheld(
        &self,
        base: &str,
        copied: &[String],
        objects: &BTreeMap<&str, &str>,
        sizes: &[(&str, u64)],
    ) -> Result<Option<(PathBuf, String)>, Error> {
        let sizes: BTreeSet<u64> =
            sizes.iter().map(|(_, size)| *size).filter(|size| *size >= SHORTEST).collect();
        if sizes.is_empty() {
            return Ok(None);
        }
        self.refuse_pipes_in_checkout()?;
        let private = Private::make(self, Some(&self.root))?;
        private.run("read-tree", [base])?;
        // What lies in a directory that is ignored as a whole comes from tools, and there may be any number of it.
        let flags = ["-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let ignored = private.run("ls-files", flags)?;
        let ignored = lists::split(&ignored).filter(|path| !path.ends_with(b"/")).map(lists::path);
        for path in copied.iter().map(Path::new).chain(ignored) {
            let file = self.root.join(path);
            let is_candidate =
                file.symlink_metadata().is_ok_and(|found| found.is_file() && sizes.contains(&found.len()));
            if !is_candidate {
                continue;
            }
            // What the user cannot read themselves, their agent has not read either.
            let Ok(content) = regular::read(&file) else { continue };
            let id = private.feed("hash-object", ["--stdin"], &content)?;
            if let Some(name) = objects.get(String::from_utf8_lossy(&id).trim_end()) {
                return Ok(Some((path.to_owned(), (*name).to_owned())));
            }
        }
        Ok(None)
    }
}
