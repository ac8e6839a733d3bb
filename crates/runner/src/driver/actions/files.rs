//! Checks and writes files below the working directory for blocks that request it.

use std::io;

use saihai_model::{Block, Failure, FailureClass, Json, Outcome};
use serde_json::json;

use super::done;
use crate::disk::{Beneath, Content};
use crate::owned::Owned;

/// A write requested by a block.
#[derive(Debug, PartialEq)]
pub(super) struct Wish {
    path: String,
    mode: Mode,
    content: String,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) dry: bool,
    /// The write may have happened already.
    pub(super) look_up: bool,
}

#[derive(Debug, PartialEq)]
enum Mode {
    Write,
    Append,
    Unknown(String),
}

/// Closed directories, ours and git's. Their files can make other programs run, so no block writes there.
const CLOSED: [&str; 2] = [".git", ".saihai"];

impl Wish {
    /// Reads a request. Values of the block take precedence over defaults of the definition (S-66).
    pub(super) fn of(block: &Block, path: &str, append: bool) -> Self {
        let said = |name: &str| block.value.get(name).and_then(Json::as_str);
        Self {
            path: said("filename").unwrap_or(path).to_owned(),
            mode: match said("mode") {
                None if append => Mode::Append,
                None | Some("write") => Mode::Write,
                Some("append") => Mode::Append,
                Some(other) => Mode::Unknown(other.to_owned()),
            },
            content: said("content").unwrap_or_default().to_owned(),
        }
    }
}

/// Checks that a file exists, or is absent, as the definition expects.
pub(super) fn state(owned: &Owned, path: &str, absent: bool) -> Outcome {
    match open(owned).and_then(|directory| directory.has(path)) {
        Ok(there) => done(Some(if there == absent { "open" } else { "reached" }), Default::default()),
        Err(error) => Outcome::Failed(Failure::new(
            FailureClass::BadRequest,
            format!("cannot look at `{path}`: {error}"),
        )),
    }
}

/// Writes a file. A failed write is the action's result and stops nothing (S-65). A write of a dead process
/// is repeated only if writing twice equals writing once (P4).
pub(super) fn write(owned: &Owned, wish: &Wish, way: Way) -> Outcome {
    let refused = |why: String| {
        let message = format!("cannot write `{}`: {why}", wish.path);
        Outcome::Failed(Failure::new(FailureClass::Refused, message))
    };
    let closed = wish.path.split('/').any(|part| CLOSED.iter().any(|name| part.eq_ignore_ascii_case(name)));
    if closed {
        return refused("nothing is written below `.git` and `.saihai`".to_owned());
    }
    let written = match &wish.mode {
        Mode::Unknown(mode) => {
            Err(io::Error::other(format!("there is no mode `{mode}`, only `append` and `write`")))
        }
        Mode::Append if way.look_up => Err(io::Error::other(
            "whether it was done before the run was interrupted is unknown; it is not done again",
        )),
        Mode::Write | Mode::Append if way.dry => Ok(None),
        Mode::Write => put(owned, wish, Vec::new()).map(Some),
        Mode::Append => present(owned, wish).and_then(|before| put(owned, wish, before)).map(Some),
    };
    match written {
        Ok(bytes) => {
            let output = json!({ "path": wish.path, "bytes": bytes, "rehearsed": way.dry });
            let output = output.as_object().cloned().unwrap_or_default();
            done(None, output.into_iter().filter(|(_, value)| !value.is_null() && *value != false).collect())
        }
        Err(error) => refused(error.to_string()),
    }
}

fn put(owned: &Owned, wish: &Wish, mut bytes: Vec<u8>) -> io::Result<u64> {
    bytes.extend_from_slice(wish.content.as_bytes());
    open(owned)?.replace(owned.directory().disk(), &wish.path, &bytes)?;
    Ok(bytes.len() as u64)
}

fn present(owned: &Owned, wish: &Wish) -> io::Result<Vec<u8>> {
    match open(owned)?.read(&wish.path)? {
        Content::File(bytes) => Ok(bytes),
        Content::Absent => Ok(Vec::new()),
        Content::Unsafe(why) => Err(io::Error::new(io::ErrorKind::InvalidInput, why)),
    }
}

/// Opens the working directory. The person chose its path; below it, no link is followed.
fn open(owned: &Owned) -> io::Result<Beneath> {
    Beneath::open(&std::fs::canonicalize(&owned.start().directory)?)
}
