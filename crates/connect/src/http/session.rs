//! The conversations of earlier turns (C-83).
//!
//! A server has no memory, so the run's directory keeps the conversation. Each turn writes only its own
//! messages, under their hash, with the name of the turn before. So a long session needs no more space than
//! its messages, and two turns may continue from the same point.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::http::api::ModelApi;

const PREFIX: &str = "http-";
/// Half of a SHA-256 hash in hexadecimal.
const DIGITS: usize = 32;
/// Maximum length of a conversation, above the limit of any model.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The messages of one turn.
#[derive(Debug, Serialize, Deserialize)]
struct SessionTurn {
    v: u32,
    api: String,
    /// The session that it continues.
    after: Option<String>,
    messages: Vec<Value>,
}

/// The reason why a conversation cannot continue.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionFileError {
    /// The file is missing or was changed.
    #[error("session `{id}` cannot be continued: {why}")]
    Lost { id: String, why: String },
    /// The conversation is longer than any request can be.
    #[error("session `{id}` has grown over {} MiB", LONGEST / (1024 * 1024))]
    TooLong { id: String },
}

/// Loads all messages of a session.
pub(super) fn load(scratch: &Path, api: ModelApi, id: &str) -> Result<Vec<Value>, SessionFileError> {
    let mut chapters = Vec::new();
    let mut next = Some(id.to_owned());
    let mut bytes = 0_u64;
    while let Some(name) = next {
        let lost = |why: String| SessionFileError::Lost { id: id.to_owned(), why };
        let path =
            file(scratch, &name).ok_or_else(|| lost("it was not begun by this provider".to_owned()))?;
        let text = read(&path, LONGEST.saturating_sub(bytes)).map_err(|error| lost(error.to_string()))?;
        let Some(text) = text else { return Err(SessionFileError::TooLong { id: id.to_owned() }) };
        bytes += text.len() as u64;
        if name_of(&text) != name {
            return Err(lost("its file was changed".to_owned()));
        }
        let chapter: SessionTurn = serde_json::from_slice(&text).map_err(|error| lost(error.to_string()))?;
        if chapter.api != api.name() {
            return Err(lost(format!("it was held with `{}`", chapter.api)));
        }
        // A name is the hash of its content, so a chapter cannot be its own predecessor and the loop ends.
        next = chapter.after.clone();
        chapters.push(chapter.messages);
    }
    Ok(chapters.into_iter().rev().flatten().collect())
}

/// Saves the messages of a turn and returns the session's new name.
pub(super) fn save(
    scratch: &Path,
    api: ModelApi,
    after: Option<&str>,
    added: &[Value],
) -> io::Result<String> {
    let (api, after) = (api.name().to_owned(), after.map(str::to_owned));
    let text = serde_json::to_vec(&SessionTurn { v: 1, api, after, messages: added.to_vec() })?;
    let name = name_of(&text);
    let path = file(scratch, &name).ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(scratch)?;
    // The rename makes the file either complete or absent.
    let beside = scratch.join(format!("{name}.{}.tmp", std::process::id()));
    let mut out = File::create(&beside)?;
    out.write_all(&text)?;
    out.sync_all()?;
    fs::rename(&beside, &path)?;
    Ok(name)
}

fn name_of(text: &[u8]) -> String {
    let hash = Sha256::digest(text);
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{PREFIX}{}", &digits[..DIGITS])
}

/// Returns the path of a session file if the name is one of ours. No other name may become part of a path.
fn file(scratch: &Path, name: &str) -> Option<PathBuf> {
    let digits = name.strip_prefix(PREFIX)?;
    let is_hash =
        digits.len() == DIGITS && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hash.then(|| scratch.join(format!("{name}.json")))
}

/// Reads the whole file, unless it is longer than `most`.
fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut text = Vec::new();
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut text)?;
    Ok((text.len() as u64 <= most).then_some(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // C-83
    #[test]
    fn a_session_is_what_was_said_in_all_its_turns() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("scratch");
        let first = save(&path, ModelApi::Openai, None, &[json!("a"), json!("b")]).unwrap();
        let second = save(&path, ModelApi::Openai, Some(&first), &[json!("c")]).unwrap();
        let other = save(&path, ModelApi::Openai, Some(&first), &[json!("d")]).unwrap();
        assert!(first.starts_with("http-") && first.len() == 37, "{first}");
        assert_eq!(load(&path, ModelApi::Openai, &second).unwrap(), [json!("a"), json!("b"), json!("c")]);
        assert_eq!(load(&path, ModelApi::Openai, &other).unwrap(), [json!("a"), json!("b"), json!("d")]);
        assert_eq!(load(&path, ModelApi::Openai, &first).unwrap(), [json!("a"), json!("b")]);
        let size = |name: &str| fs::metadata(path.join(format!("{name}.json"))).unwrap().len();
        assert!(size(&second) < 120, "a turn keeps only what it added");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 3, "nothing is left beside them");
    }

    // C-32: `SessionLost`
    #[test]
    fn a_session_that_is_gone_or_changed_or_foreign_is_lost() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path();
        let first = save(path, ModelApi::Openai, None, &[json!("a")]).unwrap();
        let second = save(path, ModelApi::Openai, Some(&first), &[json!("b")]).unwrap();
        let lost = |api: ModelApi, id: &str| load(path, api, id).unwrap_err().to_string();
        assert_eq!(
            lost(ModelApi::Anthropic, &second),
            format!("session `{second}` cannot be continued: it was held with `openai`")
        );
        for id in ["../../etc/passwd", "http-../x", "script-1", "", "http-0123456789ABCDEF0123456789ABCDEF"] {
            assert_eq!(
                lost(ModelApi::Openai, id),
                format!("session `{id}` cannot be continued: it was not begun by this provider")
            );
        }
        fs::write(path.join(format!("{first}.json")), "{}").unwrap();
        assert_eq!(
            lost(ModelApi::Openai, &second),
            format!("session `{second}` cannot be continued: its file was changed")
        );
        fs::remove_file(path.join(format!("{first}.json"))).unwrap();
        assert!(lost(ModelApi::Openai, &second).contains("No such file"));
    }
}
