//! How files begin that git does not compare.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::process::ChildStdout;

use super::command::stream;
use super::{Changed, Error, Git};

/// How a file begins, and how large it is.
#[derive(Debug)]
pub struct Begun {
    pub bytes: Vec<u8>,
    pub size: u64,
}

impl Git {
    /// How a changed file begins, before the change and after it, as far as it was there.
    pub fn begun(&self, changed: &Changed, most: usize) -> Result<Vec<Begun>, Error> {
        let is_named = |object: &&String| object.bytes().any(|digit| digit != b'0');
        let [before, after] = &changed.objects;
        let object = |object: &String| match self.begun_object(object, most) {
            // Git names what it has compared in the directory as if it had it.
            Err(Error::Refused { .. }) => Ok(None),
            read => read.map(Some),
        };
        let mut all = Vec::new();
        if is_named(&before) {
            all.extend(object(before)?);
        }
        let after = if is_named(&after) { object(after)? } else { None };
        // What is no object yet lies in the directory, unless it was deleted.
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
