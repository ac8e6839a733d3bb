use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// A program that is not on the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    pub path: String,
}

/// Returns the file of a program. An absolute path stays unchanged; a bare name means the first executable
/// file on `path`. Relative entries of the path are skipped, because their meaning depends on the agent's
/// directory (C-10).
pub fn find(program: &str, path: Option<&OsStr>) -> Result<PathBuf, NotFound> {
    let given = Path::new(program);
    let not_found = || NotFound { path: path.unwrap_or_default().to_string_lossy().into_owned() };
    if given.is_absolute() {
        return if is_executable(given) { Ok(given.to_owned()) } else { Err(not_found()) };
    }
    let mut files = path.into_iter().flat_map(absolute).map(|place| place.join(program));
    files.find(|file| is_executable(file)).ok_or_else(not_found)
}

/// Removes relative and empty entries from a path, for a program that searches it.
pub fn absolute_places(path: &OsStr) -> OsString {
    std::env::join_paths(absolute(path)).unwrap_or_default()
}

fn absolute(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(path).filter(|place| place.is_absolute())
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    // C-10, C-12
    #[test]
    fn a_program_is_the_first_executable_file_of_its_name_on_an_absolute_path() {
        let directory = tempfile::tempdir().unwrap();
        let put = |place: &str, mode: u32| {
            let file = directory.path().join(place);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            file
        };
        put("a/agent", 0o644);
        let agent = put("b/agent", 0o755);
        fs::create_dir_all(directory.path().join("c/agent")).unwrap();
        let on = |places: &[&str]| {
            let places = places.iter().map(|place| match place.strip_prefix('/') {
                Some(place) => directory.path().join(place),
                None => PathBuf::from(place),
            });
            std::env::join_paths(places).unwrap()
        };
        let path = on(&["/a", "/c", "/b"]);
        assert_eq!(find("agent", Some(&path)), Ok(agent.clone()));
        assert_eq!(find(agent.to_str().unwrap(), None), Ok(agent));
        let searched = path.to_string_lossy().into_owned();
        assert_eq!(find("other", Some(&path)), Err(NotFound { path: searched }));
        assert!(find("sh", Some(OsStr::new("bin:."))).is_err(), "a relative place is no place");
        assert!(find("sh", None).is_err());
    }

    #[test]
    fn a_path_is_passed_on_without_its_relative_places() {
        assert_eq!(absolute_places(OsStr::new(":/usr/bin:bin:.:/bin:")), "/usr/bin:/bin");
        assert_eq!(absolute_places(OsStr::new("bin::")), "");
    }
}
