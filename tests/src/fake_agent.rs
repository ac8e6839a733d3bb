//! The fake agent, put where Saihai finds it (C-84).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Invocation, Project};

/// The fake agent in a project, under the names of the programs it stands for.
#[derive(Debug)]
pub struct FakeAgent<'a> {
    project: &'a Project,
}

/// What one call of it was given.
#[derive(Debug, Clone)]
pub struct FakeCall(Value);

impl<'a> FakeAgent<'a> {
    /// Puts `program` under these names, to answer the calls to come from `answers`.
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

    /// A call of Saihai that finds the fake before any real agent.
    pub fn saihai<const N: usize>(&self, arguments: [&str; N]) -> Invocation {
        let path = format!("{}:/usr/bin:/bin", self.place().join("bin").display());
        self.project.saihai(arguments).env("PATH", path)
    }

    /// Every call of it so far, in order.
    pub fn calls(&self) -> Vec<FakeCall> {
        let Ok(entries) = fs::read_dir(self.place().join("calls")) else { return Vec::new() };
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        let read = |file: &PathBuf| serde_json::from_slice(&fs::read(file).expect("a call")).expect("JSON");
        files.iter().map(read).map(FakeCall).collect()
    }

    /// The first call of it, as soon as there is one.
    pub fn wait_for_call(&self) -> FakeCall {
        let (file, begun) = (self.place().join("calls/0000.json"), Instant::now());
        loop {
            // It is there a moment before it is written.
            let call = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            if let Some(call) = call {
                return FakeCall(call);
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it was not called");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl FakeCall {
    /// The arguments, joined by blanks.
    pub fn arguments(&self) -> String {
        let words = self.0["arguments"].as_array().into_iter().flatten().filter_map(Value::as_str);
        words.collect::<Vec<_>>().join(" ")
    }

    /// The value after a flag.
    pub fn after(&self, flag: &str) -> Option<String> {
        let mut words = self.0["arguments"].as_array().into_iter().flatten().filter_map(Value::as_str);
        words.find(|word| *word == flag)?;
        words.next().map(str::to_owned)
    }

    /// What stood on its standard input.
    pub fn input(&self) -> &str {
        self.0["input"].as_str().unwrap_or_default()
    }

    /// The role it was given, where it has a slot for one.
    pub fn persona(&self) -> Option<&str> {
        self.0["persona"].as_str()
    }

    /// The directory it was called in.
    pub fn directory(&self) -> PathBuf {
        self.0["directory"].as_str().map(PathBuf::from).unwrap_or_default()
    }

    /// The number of its process.
    pub fn process(&self) -> u32 {
        self.0["process"].as_u64().and_then(|number| number.try_into().ok()).expect("the number of a process")
    }

    /// Whether a process that an earlier call left behind was still there.
    pub fn saw_lingering(&self) -> bool {
        self.0["lingering"] == true
    }

    /// A variable it was given.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.0["variables"][name].as_str()
    }
}
