//! The inbox of a run. Another process reaches the owner of a run with a file in `inbox/`. The owner removes
//! the file once the journal has it.

use std::io;
use std::path::{Path, PathBuf};

use saihai_model::Answer;
use serde::{Deserialize, Serialize};

use crate::Disk;

/// A request from another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wish {
    Answer(Answer),
    Cancel { by: String },
}

/// A request file in an inbox.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) path: PathBuf,
    /// The content, or the reason why it is unreadable.
    pub(crate) wish: Result<Wish, String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Inbox {
    directory: PathBuf,
    disk: Disk,
}

impl Inbox {
    /// Upper limit for the size of a request file. Every real answer is shorter.
    const MOST: u64 = 256 * 1024;

    pub(crate) fn new(directory: PathBuf, disk: &Disk) -> Self {
        Self { directory, disk: disk.clone() }
    }

    /// Leaves a request for the owner and returns the path of its file.
    pub(crate) fn put(&self, wish: &Wish) -> io::Result<PathBuf> {
        let bytes = serde_json::to_vec(wish).expect("a wish has text keys only");
        // One process can write several files, and several processes can write at once.
        for number in 0_u32.. {
            let name = format!("{}-{number}.json", std::process::id());
            let path = self.directory.join(name);
            if !path.exists() {
                self.disk.replace(&path, &bytes)?;
                return Ok(path);
            }
        }
        unreachable!("some number is free")
    }

    /// Lists the waiting requests in the order of their names. Files still being written do not appear yet.
    pub(crate) fn look(&self) -> io::Result<Vec<Letter>> {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths.into_iter().map(Letter::open).collect())
    }

    /// Removes a request file and returns true if it still existed.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<bool> {
        match self.disk.remove(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Letter {
    fn open(path: PathBuf) -> Self {
        let wish = Self::read(&path);
        Self { path, wish }
    }

    fn read(path: &Path) -> Result<Wish, String> {
        let metadata = std::fs::symlink_metadata(path).map_err(|error| error.to_string())?;
        if !metadata.is_file() || metadata.len() > Inbox::MOST {
            return Err("it is not a letter".to_owned());
        }
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use saihai_model::{AnsweredBy, CallId};

    use super::*;

    fn answer(text: &str) -> Wish {
        let call = CallId { stage: "ask".into(), visit: 1, round: 1, n: 1 };
        let text = Some(text.to_owned());
        Wish::Answer(Answer { call, by: AnsweredBy::Person, label: "answered".into(), text })
    }

    // K-22
    #[test]
    fn wishes_are_found_in_the_order_they_were_left_and_removed_once() {
        let directory = tempfile::tempdir().unwrap();
        let inbox = Inbox::new(directory.path().to_path_buf(), &Disk::new());
        let wishes = [answer("one"), answer("two"), Wish::Cancel { by: "me".into() }];
        for wish in &wishes {
            inbox.put(wish).unwrap();
        }
        let found = inbox.look().unwrap();
        let read: Vec<_> = found.iter().map(|letter| letter.wish.clone().unwrap()).collect();
        assert_eq!(read, wishes);
        assert!(inbox.remove(&found[0].path).unwrap());
        assert!(!inbox.remove(&found[0].path).unwrap());
        assert_eq!(inbox.look().unwrap().len(), 2);
    }

    // P9
    #[test]
    fn a_letter_that_says_nothing_sensible_is_shown_with_its_reason() {
        let directory = tempfile::tempdir().unwrap();
        let inbox = Inbox::new(directory.path().to_path_buf(), &Disk::new());
        std::fs::write(directory.path().join("1.json"), b"{\"answer\":").unwrap();
        std::fs::create_dir(directory.path().join("2.json")).unwrap();
        std::fs::write(directory.path().join("3.json.draft"), b"half").unwrap();
        let reasons: Vec<_> =
            inbox.look().unwrap().into_iter().map(|letter| letter.wish.unwrap_err()).collect();
        insta::assert_snapshot!(reasons.join("\n"), @r"
        EOF while parsing a value at line 1 column 10
        it is not a letter
        ");
    }
}
