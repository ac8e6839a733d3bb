//! A subject as it is kept in a run: with the whole texts of what was changed, so that a report needs nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

use saihai_model::{Json, Subject, SubjectFile, SubjectMode};
use serde::{Deserialize, Serialize};

use super::text::{Content, content};

/// The name under which a run keeps its subject.
pub const SUBJECT: &str = "subject";

/// A subject as it is kept in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FrozenSubject {
    pub(crate) subject: Subject,
    /// The whole new texts of files of which it shows only changes.
    #[serde(default)]
    pub(crate) texts: BTreeMap<String, String>,
}

/// A subject to be kept in a run. What the change deletes has no whole text, whatever lies in its place now: a link to
/// somewhere else, or a file that git ignores from now on. Nor has what is no text.
pub fn frozen(root: &Path, subject: &Subject) -> Json {
    let mut texts = BTreeMap::new();
    if let SubjectMode::Changes { .. } = &subject.mode {
        for file in subject.files.iter().filter(|file| file.left_out.is_none() && !is_deleted(file)) {
            texts.extend(whole(root, Path::new(&file.path)).map(|text| (file.path.clone(), text)));
        }
    }
    let kept = FrozenSubject { subject: subject.clone(), texts };
    serde_json::to_value(kept).expect("a subject has text keys only")
}

/// Whether a file's section of the diff takes it away.
fn is_deleted(file: &SubjectFile) -> bool {
    let mut header = file.text.lines().take_while(|line| !line.starts_with("@@"));
    header.any(|line| line.starts_with("deleted file mode "))
}

/// The text of an ordinary file below a directory. No link is followed on the way to it and nothing of git's own is
/// read: reports are published, and what a link leads to is none of the project.
pub(crate) fn whole(root: &Path, path: &Path) -> Option<String> {
    let mut place = root.to_owned();
    for part in path.components() {
        let Component::Normal(name) = part else { return None };
        let is_directory = fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_dir());
        // The root is given by whoever asks, and may be a link.
        if name == ".git" || (place != root && !is_directory) {
            return None;
        }
        place.push(name);
    }
    let is_file = fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_file());
    match is_file.then(|| content(&place).ok())?? {
        Content::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Content::LeftOut(_) => None,
    }
}
