//! State and script of the fake agent.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::fault::Fault;
use crate::lingering;

/// Directory with script and state.
pub(crate) struct Home(PathBuf);

impl Home {
    pub(crate) fn of_environment() -> Self {
        Self(PathBuf::from(std::env::var_os("HOME").expect("HOME is always passed on")).join(".fake-agent"))
    }

    /// Returns the fault of the next call. It is read before the call is taken, because it may
    /// affect the reading of the input.
    pub(crate) fn next_fault(&self) -> Option<Fault> {
        let taken = fs::read_dir(self.0.join("claims")).map_or(0, Iterator::count);
        self.answers().into_iter().nth(taken)?.fault
    }

    fn answers(&self) -> Vec<Answer> {
        let script = fs::read_to_string(self.0.join("script.json")).expect("there is a script");
        serde_json::from_str(&script).expect("the script can be read")
    }

    /// Takes the next answer and records the call. Parallel calls get different answers.
    pub(crate) fn next(&self, words: &[String], input: &str, persona: Option<String>) -> Answer {
        let number = self.claim();
        let variables: serde_json::Map<String, Value> =
            std::env::vars().map(|(name, value)| (name, Value::String(value))).collect();
        let call = json!({
            "arguments": words, "input": input, "persona": persona, "variables": variables,
            "directory": std::env::current_dir().ok(), "process": std::process::id(),
            "lingering": lingering::is_there(),
        });
        self.record(number, &call);
        let answer = self.answers().into_iter().nth(number);
        let answer = answer.unwrap_or_else(|| panic!("the script has no answer to call {number}"));
        for (path, content) in &answer.writes {
            fs::write(path, content).expect("it can write where it is called");
        }
        answer
    }

    /// Stores a call as a whole or not at all: some faults get this process killed at any moment.
    fn record(&self, number: usize, call: &Value) {
        let (calls, unfinished) = (self.0.join("calls"), self.0.join(format!("call-{number:04}")));
        fs::create_dir_all(&calls).expect("calls can be kept");
        fs::write(&unfinished, call.to_string()).expect("the call is kept");
        fs::rename(unfinished, calls.join(format!("{number:04}.json"))).expect("the call is kept");
    }

    fn claim(&self) -> usize {
        let claims = self.0.join("claims");
        fs::create_dir_all(&claims).expect("calls can be kept");
        for number in 0.. {
            match fs::File::create_new(claims.join(number.to_string())) {
                Ok(_) => return number,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => panic!("a call could not be kept: {error}"),
            }
        }
        unreachable!("there are fewer calls than numbers")
    }

    /// Returns the number of answers in a session, or `None` if it does not exist.
    pub(crate) fn session(&self, id: &str) -> Option<u64> {
        fs::read_to_string(self.0.join("sessions").join(id)).ok()?.trim().parse().ok()
    }

    /// Stores the number of answers in a session.
    pub(crate) fn remember(&self, id: &str, answers: u64) {
        let sessions = self.0.join("sessions");
        fs::create_dir_all(&sessions).expect("sessions can be kept");
        fs::write(sessions.join(id), answers.to_string()).expect("the session is kept");
    }

    pub(crate) fn forget(&self, id: &str) {
        fs::remove_file(self.0.join("sessions").join(id)).expect("the session was kept");
    }

    /// Returns an id for a new session.
    pub(crate) fn new_session(&self) -> String {
        let known = fs::read_dir(self.0.join("sessions")).map_or(0, Iterator::count);
        format!("01a1e076-0000-7000-8000-{:012}", known + 1)
    }
}
