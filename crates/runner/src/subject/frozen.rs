//! A subject as stored in a run, with the full text of changed files. A report needs nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

use saihai_model::{Json, Subject, SubjectFile, SubjectMode};
use serde::{Deserialize, Serialize};

use super::text::{Content, content};

/// The name under which a run stores its subject.
pub const SUBJECT: &str = "subject";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FrozenSubject {
    pub(crate) subject: Subject,
    /// The full new text of files that the subject shows as changes.
    #[serde(default)]
    pub(crate) texts: BTreeMap<String, String>,
}

/// Freezes a subject. A deleted file has no full text, even if something replaced it: a link, or a newly
/// ignored file. Binary files have none either.
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

/// Returns true if the diff section of a file deletes it.
fn is_deleted(file: &SubjectFile) -> bool {
    let mut header = file.text.lines().take_while(|line| !line.starts_with("@@"));
    header.any(|line| line.starts_with("deleted file mode "))
}

/// Returns the text of a regular file below a directory. It follows no link and reads nothing of git's own.
/// Reports are published, and the target of a link is not part of the project.
pub(crate) fn whole(root: &Path, path: &Path) -> Option<String> {
    let mut place = root.to_owned();
    for part in path.components() {
        let Component::Normal(name) = part else { return None };
        let is_directory = fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_dir());
        // The caller chooses the root, which may be a link.
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
