//! Cached answers of review agents.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use saihai_model::Json;
use saihai_store::Disk;
use serde_json::json;

/// The cache directory, next to the runs of the project.
const DIRECTORY: &str = "cache/review";
/// Age at which an unused answer is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Maximum size of an answer, for reading and writing.
const LARGEST: u64 = 1024 * 1024;

#[derive(Debug, Clone)]
pub struct ReviewCache {
    directory: PathBuf,
}

impl ReviewCache {
    pub fn of_project(root: &Path) -> Self {
        Self { directory: root.join(".saihai").join(DIRECTORY) }
    }

    /// Returns the cache of the project that a run belongs to, independent of the agents' directory.
    pub fn of_run(directory: &Path) -> Self {
        let parent = directory.parent().and_then(Path::parent).unwrap_or(directory);
        Self { directory: parent.join(DIRECTORY) }
    }

    /// Returns the answer with this name. An unreadable answer counts as missing and will be overwritten.
    pub fn get(&self, name: &str) -> Option<Json> {
        let path = self.path(name)?;
        let file = File::options().read(true).write(true).open(path).ok()?;
        if file.metadata().ok()?.len() > LARGEST {
            return None;
        }
        let mut kept: Json = serde_json::from_reader(&file).ok()?;
        // Mark it as used. If that fails, it only expires earlier.
        drop(file.set_modified(SystemTime::now()));
        (kept["v"] == 1).then(|| kept["output"].take()).filter(Json::is_object)
    }

    pub fn put(&self, name: &str, output: &Json, disk: &Disk) -> io::Result<()> {
        let Some(path) = self.path(name) else { return Ok(()) };
        disk.create_directories(&self.directory)?;
        // Make git ignore the directory, as other tools do for their caches.
        let ignored = self.directory.join(".gitignore");
        if !ignored.exists() {
            disk.replace(&ignored, b"*\n")?;
        }
        disk.replace(
            &path,
            json!({ "v": 1, "type": "review-answer", "output": output }).to_string().as_bytes(),
        )
    }

    /// Removes answers that were unused for thirty days. Failures are ignored.
    pub fn sweep(&self, now: SystemTime) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        for entry in entries.flatten().filter(|entry| entry.file_name() != ".gitignore") {
            let used = entry.metadata().and_then(|metadata| metadata.modified());
            let age = used.ok().and_then(|used| now.duration_since(used).ok());
            if age.is_some_and(|age| age > UNUSED) {
                drop(fs::remove_file(entry.path()));
            }
        }
    }

    /// Returns the path of an answer. A name must be a hash, so it cannot point elsewhere.
    fn path(&self, name: &str) -> Option<PathBuf> {
        let is_hash = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| self.directory.join(format!("{name}.json")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_until_nobody_asked_for_thirty_days() {
        let root = tempfile::tempdir().unwrap();
        let cache = ReviewCache::of_project(root.path());
        let (used, unused) = ("a".repeat(64), "b".repeat(64));
        let disk = Disk::new();
        for name in [&used, &unused] {
            assert_eq!(cache.get(name), None);
            cache.put(name, &json!({ "issues": [] }), &disk).unwrap();
            let file = File::options().write(true).open(cache.path(name).unwrap()).unwrap();
            file.set_modified(SystemTime::now() - UNUSED - Duration::from_secs(60)).unwrap();
        }
        assert_eq!(cache.get(&used), Some(json!({ "issues": [] })));
        cache.sweep(SystemTime::now());
        assert_eq!(cache.get(&unused), None);
        assert_eq!(cache.get(&used), Some(json!({ "issues": [] })));
    }

    #[test]
    fn what_is_damaged_is_no_answer_and_no_name_leads_out() {
        let root = tempfile::tempdir().unwrap();
        let cache = ReviewCache::of_project(root.path());
        let name = "c".repeat(64);
        cache.put(&name, &json!({}), &Disk::new()).unwrap();
        for broken in ["", "{", "[]", "{\"v\":2,\"output\":{}}", "{\"v\":1}"] {
            fs::write(cache.path(&name).unwrap(), broken).unwrap();
            assert_eq!(cache.get(&name), None, "{broken}");
        }
        assert_eq!(cache.path("../../x"), None);
    }
}
