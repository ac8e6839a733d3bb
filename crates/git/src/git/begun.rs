//! The first bytes of files that git does not compare.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::process::ChildStdout;

use super::command::stream;
use super::{Changed, Error, Git};

/// The first bytes of a file, and its size.
#[derive(Debug)]
pub struct Begun {
    pub bytes: Vec<u8>,
    pub size: u64,
}

impl Git {
    /// Returns the first bytes of a changed file before and after the change, if they exist.
    pub fn begun(&self, changed: &Changed, most: usize) -> Result<Vec<Begun>, Error> {
        let is_named = |object: &&String| object.bytes().any(|digit| digit != b'0');
        let [before, after] = &changed.objects;
        let object = |object: &String| match self.begun_object(object, most) {
            // Git also prints object names for compared files of the directory that it does not store.
            Err(Error::Refused { .. }) => Ok(None),
            read => read.map(Some),
        };
        let mut all = Vec::new();
        if is_named(&before) {
            all.extend(object(before)?);
        }
        let after = if is_named(&after) { object(after)? } else { None };
        // A version without an object is in the directory, unless it was deleted.
        all.extend(after.or_else(|| self.begun_file(changed.names.last()?, most)));
        Ok(all)
    }

    fn begun_object(&self, object: &str, most: usize) -> Result<Begun, Error> {
        let unreadable = || Error::Unreadable { command: "cat-file" };
        let size = self.say("cat-file", &["-s", object])?.trim().parse().map_err(|_| unreadable())?;
        let mut git = self.command("cat-file");
        let read = |said: ChildStdout| {
            let mut bytes = Vec::new();
            said.take(most as u64).read_to_end(&mut bytes).map(|_| bytes)
        };
        let bytes = stream(git.args(["blob", object]), "cat-file", b"", read)?;
        Ok(Begun { bytes, size })
    }

    fn begun_file(&self, path: &OsStr, most: usize) -> Option<Begun> {
        let file = self.root.join(path);
        let metadata = fs::symlink_metadata(&file).ok().filter(fs::Metadata::is_file)?;
        let mut bytes = Vec::new();
        File::open(file).ok()?.take(most as u64).read_to_end(&mut bytes).ok()?;
        Some(Begun { bytes, size: metadata.len() })
    }
}
