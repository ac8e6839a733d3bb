//! What our merges brought into a branch, by what they say of themselves.

use super::private::Private;
use super::{Error, Item, Repository};

/// The merges of ours that a branch holds, or what waits beside it. For whoever has no journal of them: another checkout, or one
/// whose runs are gone.
#[derive(Debug, Clone, Default)]
pub struct Landed(Vec<Merge>);

#[derive(Debug, Clone)]
struct Merge {
    /// What it says.
    message: String,
    /// What the commits say that it brought.
    brought: String,
}

impl Repository {
    /// The merges of ours in a branch; none where there is no such branch. An agent can make a merge on its own branch and have it
    /// say whatever ours say. So only those count that continue the branch itself, or the one beside it that a person took in: what
    /// they brought is the agents'.
    pub fn landed(&self, branch: &str) -> Result<Landed, Error> {
        let beside = Self::beside(branch);
        let mut lines = Vec::new();
        for tip in [self.tip(&format!("refs/heads/{branch}"))?, self.tip_beside(branch)?] {
            lines.extend(tip.map(|tip| vec![tip]));
        }
        let mut merges = Vec::new();
        if lines.is_empty() {
            return Ok(Landed(merges));
        }
        let private = Private::make(self, None)?;
        while let Some(line) = lines.pop() {
            // The messages of a long history are many; only those that can matter are read.
            let matter = ["--grep=^Saihai-Issue: ", "--grep=saihai/merge/"];
            let only = ["-z", "--merges", "--first-parent", "--format=%H %B"].into_iter().chain(matter);
            let said = private.run("log", only.chain(line.iter().map(String::as_str)))?;
            let said = String::from_utf8_lossy(&said);
            for (commit, message) in said.split('\0').filter_map(|one| one.split_once(' ')) {
                let (theirs, before) = (format!("{commit}^2"), format!("{commit}^1"));
                if says_whose(message) {
                    let brought = private.run("log", ["-z", "--format=%B", &theirs, "--not", &before])?;
                    let brought = String::from_utf8_lossy(&brought).into_owned();
                    merges.push(Merge { message: message.to_owned(), brought });
                } else if message.lines().next().is_some_and(|subject| subject.contains(&beside)) {
                    lines.push(vec![theirs, format!("^{before}")]);
                }
            }
        }
        Ok(Landed(merges))
    }
}

fn says_whose(message: &str) -> bool {
    message.lines().any(|line| line.starts_with("Saihai-Issue: "))
}

impl Landed {
    /// Whether the work on an item is among it. An issue of the same number from elsewhere is another one, and where its number comes
    /// from is said by the commit that was made for it; an agent that commits everything itself leaves none.
    pub fn holds(&self, item: &Item) -> bool {
        let ours = self.0.iter().filter(|merge| item.made_for(&merge.message).is_some());
        let mut sources =
            ours.map(|merge| merge.brought.split('\0').find_map(|message| item.made_for(message)));
        sources.any(|source| source.is_none() || source == item.source())
    }
}
