//! Who wrote a file, as far as the kernel knows: a living process that still has it open.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Whether a process has a file open. Nobody can make another process do that by writing its number somewhere.
///
/// Where processes cannot be looked at, everybody is believed.
pub fn has_open(process: u32, file: &Path) -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let Ok(wanted) = std::fs::symlink_metadata(file) else { return false };
    let Ok(open) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    // What stands there leads to the file itself, whatever it is called by now.
    let mut open = open.flatten().filter_map(|entry| std::fs::metadata(entry.path()).ok());
    open.any(|found| (found.dev(), found.ino()) == (wanted.dev(), wanted.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_is_open_in_a_process_until_it_is_closed_there() {
        let directory = tempfile::tempdir().unwrap();
        let [ours, renamed] = ["a", "b"].map(|name| directory.path().join(name));
        let open = std::fs::File::create(&ours).unwrap();
        assert!(has_open(std::process::id(), &ours));
        std::fs::rename(&ours, &renamed).unwrap();
        assert!(has_open(std::process::id(), &renamed));
        assert!(!has_open(std::process::id(), &ours), "a name that is gone");
        assert!(!has_open(1_000_000_000, &renamed), "a process that is not there");
        drop(open);
        assert!(!has_open(std::process::id(), &renamed));
    }
}
