//! Installs the fake agent where Saihai finds it (C-84).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Invocation, Project};

/// The fake agent in a project, under the names of the programs it imitates.
#[derive(Debug)]
pub struct FakeAgent<'a> {
    project: &'a Project,
}

/// Recorded input of one call.
#[derive(Debug, Clone)]
pub struct FakeCall(Value);

impl<'a> FakeAgent<'a> {
    /// Installs `program` under these names. It takes its replies from `answers`.
    pub fn install(project: &'a Project, program: &Path, names: &[&str], answers: &Value) -> Self {
        let fake = Self { project };
        fs::create_dir_all(fake.place().join("bin")).expect("a directory");
        for name in names {
            symlink(program, fake.place().join("bin").join(name)).expect("a name");
        }
        fs::write(fake.place().join("script.json"), answers.to_string()).expect("a script");
        fake
    }

    fn place(&self) -> PathBuf {
        self.project.home().join(".fake-agent")
    }

    /// Returns a Saihai invocation that finds the fake before any real agent.
    pub fn saihai<const N: usize>(&self, arguments: [&str; N]) -> Invocation {
        let path = format!("{}:/usr/bin:/bin", self.place().join("bin").display());
        self.project.saihai(arguments).env("PATH", path)
    }

    /// Returns all calls so far, in order.
    pub fn calls(&self) -> Vec<FakeCall> {
        let Ok(entries) = fs::read_dir(self.place().join("calls")) else { return Vec::new() };
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        let read = |file: &PathBuf| serde_json::from_slice(&fs::read(file).expect("a call")).expect("JSON");
        files.iter().map(read).map(FakeCall).collect()
    }

    /// Waits for the first call and returns it.
    pub fn wait_for_call(&self) -> FakeCall {
        let (file, begun) = (self.place().join("calls/0000.json"), Instant::now());
        loop {
            if let Ok(bytes) = fs::read(&file) {
                return FakeCall(serde_json::from_slice(&bytes).expect("JSON"));
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it was not called");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl FakeCall {
    /// Returns the arguments, joined by spaces.
    pub fn arguments(&self) -> String {
        let words = self.0["arguments"].as_array().into_iter().flatten().filter_map(Value::as_str);
        words.collect::<Vec<_>>().join(" ")
    }

    /// Returns the value after a flag.
    pub fn after(&self, flag: &str) -> Option<String> {
        let mut words = self.0["arguments"].as_array().into_iter().flatten().filter_map(Value::as_str);
        words.find(|word| *word == flag)?;
        words.next().map(str::to_owned)
    }

    pub fn input(&self) -> &str {
        self.0["input"].as_str().unwrap_or_default()
    }

    /// Returns the role, if the program has an argument for one.
    pub fn persona(&self) -> Option<&str> {
        self.0["persona"].as_str()
    }

    pub fn directory(&self) -> PathBuf {
        self.0["directory"].as_str().map(PathBuf::from).unwrap_or_default()
    }

    pub fn process(&self) -> u32 {
        self.0["process"].as_u64().and_then(|number| number.try_into().ok()).expect("the number of a process")
    }

    /// Returns true if a process left behind by an earlier call still existed.
    pub fn saw_lingering(&self) -> bool {
        self.0["lingering"] == true
    }

    /// Returns an environment variable of the call.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.0["variables"][name].as_str()
    }
}
