use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use tempfile::TempDir;

use crate::published::wrong_lines;
use crate::{Invocation, Journal};

/// A temporary project with its own home directory and the program under test.
#[derive(Debug)]
pub struct Project {
    directory: TempDir,
    program: PathBuf,
}

impl Project {
    /// Creates an empty project. Prefers a memory file system, because tests check the order of
    /// operations and not the disk.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Self::below(&place, program)
    }

    /// Creates an empty project below a directory.
    pub fn below(place: &Path, program: impl Into<PathBuf>) -> Self {
        let directory =
            tempfile::Builder::new().prefix("saihai-").tempdir_in(place).expect("a temporary directory");
        let project = Self { directory, program: program.into() };
        fs::create_dir(project.root()).expect("its root");
        fs::create_dir(project.home()).expect("its home");
        project
    }

    /// Returns the project root, which is also the working directory.
    pub fn root(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// Returns the home directory of the user.
    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Writes a file and creates its parent directories.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("it is below the root")).expect("its directory");
        fs::write(path, content).expect("a file of the project");
        self
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Returns an invocation of the program in the project root.
    pub fn saihai<I>(&self, arguments: I) -> Invocation
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        Invocation::new(&self.program, &self.root(), &self.home(), arguments)
    }

    /// Returns a git invocation in the project root. It sets the user's name, because commits need
    /// one.
    pub fn git<I>(&self, arguments: I) -> Invocation
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let configuration = self.home().join(".gitconfig");
        if !configuration.exists() {
            let text =
                "[user]\n\tname = A Person\n\temail = person@example.com\n[init]\n\tdefaultBranch = main\n";
            fs::write(configuration, text).expect("a configuration of git");
        }
        let call = Invocation::new(Path::new("git"), &self.root(), &self.home(), arguments);
        call.env("GIT_CONFIG_NOSYSTEM", "1")
    }

    /// Returns the ids of the started runs, i.e. those with an acknowledged append.
    pub fn begun(&self) -> Vec<String> {
        let journal = |run: &String| self.root().join(".saihai/runs").join(run).join("journal.ndjson");
        let begun =
            |run: &String| fs::read(journal(run)).is_ok_and(|bytes| !Journal::whole(&bytes).is_empty());
        self.runs().into_iter().filter(begun).collect()
    }

    /// Returns the names of all run directories, in order, independent of their content.
    pub fn runs(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root().join(".saihai/runs")) else { return Vec::new() };
        let directories = entries.filter_map(Result::ok).filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> =
            directories.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Returns the directory of the only run.
    pub fn run_directory(&self) -> PathBuf {
        match self.begun().as_slice() {
            [only] => self.root().join(".saihai/runs").join(only),
            runs => panic!("not exactly one run: {runs:?}"),
        }
    }

    /// Returns the journal of the only run.
    pub fn journal(&self) -> Journal {
        Journal::read(&self.run_directory().join("journal.ndjson"))
    }

    /// Returns names and contents of the reports of the only run, in order.
    pub fn reports(&self) -> Vec<(String, String)> {
        let run = self.run_directory();
        let reports = if self.root().join(".takt").is_dir() { ".takt/reports" } else { ".saihai/reports" };
        let directory = self.root().join(reports).join(run.file_name().expect("a run has a name"));
        let entries = fs::read_dir(&directory).expect("a run has a report directory");
        let mut reports: Vec<(String, String)> = entries
            .map(|entry| {
                let path = entry.expect("an entry").path();
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                (name, fs::read_to_string(&path).expect("a report"))
            })
            .collect();
        reports.sort();
        reports
    }

    /// Returns true if any file below the root contains this text.
    pub fn snapshot_contains(&self, text: &str) -> bool {
        let holds = |bytes: &Vec<u8>| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        self.snapshot().files.values().any(holds)
    }

    /// Returns every file below the root, to check that nothing changed. Omits the lock, because it
    /// names its last reader.
    pub fn snapshot(&self) -> Snapshot {
        let mut files = BTreeMap::new();
        let mut open = vec![self.root()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).expect("a directory of the project") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    open.push(path);
                } else if path.file_name() != Some(OsStr::new("lock")) {
                    let bytes = fs::read(&path).expect("a file of the project");
                    files.insert(path, bytes);
                }
            }
        }
        Snapshot { files }
    }
}

/// Checks in every test that its journals follow the published schema.
impl Drop for Project {
    fn drop(&mut self) {
        // Do not add a second failure to a failed test.
        if std::thread::panicking() {
            return;
        }
        for run in self.runs() {
            let path = self.root().join(".saihai/runs").join(run).join("journal.ndjson");
            let wrong = fs::read(&path).map(|journal| wrong_lines(&journal)).unwrap_or_default();
            assert!(wrong.is_empty(), "{}: not as the schema says\n{}", path.display(), wrong.join("\n"));
        }
    }
}

#[derive(PartialEq, Eq)]
pub struct Snapshot {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Snapshot {
    /// Returns the files that differ in another snapshot, or are missing in one of both.
    pub fn differences(&self, other: &Self) -> Vec<PathBuf> {
        let all: std::collections::BTreeSet<&PathBuf> = self.files.keys().chain(other.files.keys()).collect();
        all.into_iter().filter(|path| self.files.get(*path) != other.files.get(*path)).cloned().collect()
    }
}

impl fmt::Debug for Snapshot {
    /// Prints names and lengths only; compare the file itself to find a difference.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.files.iter().map(|(path, bytes)| (path, bytes.len()))).finish()
    }
}
