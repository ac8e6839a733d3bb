//! A subject as it is kept in a run: with the whole texts of what was changed, so that a report needs nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use saihai_model::{Json, Subject, SubjectMode};
use serde::{Deserialize, Serialize};

use super::text::{Content, content};

/// The name under which a run keeps its subject.
pub const SUBJECT: &str = "subject";

/// A subject as it is kept in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FrozenSubject {
    /// What is reviewed.
    pub(crate) subject: Subject,
    /// The whole new texts of files of which it shows only changes.
    #[serde(default)]
    pub(crate) texts: BTreeMap<String, String>,
}

/// A subject to be kept in a run. What cannot be read any more has no whole text: it was deleted, or is no text.
pub fn frozen(root: &Path, subject: &Subject) -> Json {
    let mut texts = BTreeMap::new();
    if let SubjectMode::Changes { .. } = &subject.mode {
        for file in subject.files.iter().filter(|file| file.left_out.is_none()) {
            texts.extend(whole(&root.join(&file.path)).map(|text| (file.path.clone(), text)));
        }
    }
    let kept = FrozenSubject { subject: subject.clone(), texts };
    serde_json::to_value(kept).expect("a subject has text keys only")
}

/// The text of an ordinary file.
pub(crate) fn whole(path: &Path) -> Option<String> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    match is_file.then(|| content(path).ok())?? {
        Content::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Content::LeftOut(_) => None,
    }
}
