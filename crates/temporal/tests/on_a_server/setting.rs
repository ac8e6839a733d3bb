//! A development server, workers and a project on this machine. Everything is below one temporary directory, and every
//! process is ended by its id.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longest wait of a test.
pub(crate) const LONG: Duration = Duration::from_secs(120);

pub(crate) struct Setting {
    directory: tempfile::TempDir,
    port: u16,
    server: Option<Child>,
}

/// A process that ends with the test.
pub(crate) struct Worker(Child);

/// The lines that the agents wrote: what, run, turn, process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentLine {
    pub(crate) what: String,
    pub(crate) run: String,
    pub(crate) turn: String,
    pub(crate) process: i32,
    /// Nanoseconds since 1970.
    pub(crate) at: u128,
}

/// The agent of the tests. It reports its start and its end, changes a file, and does what the files next to it say.
const AGENT: &str = r#"#!/bin/sh
prompt=$(cat)
turn=$(printf '%s' "$prompt" | sed -n 's/.*Do step \([a-z]*\)\..*/\1/p' | head -1)
run=$(basename "$(pwd)" | sed 's/\.[0-9]*$//')
say() { printf '%s %s %s %s %s\n' "$1" "$run" "$turn" $$ "$(date +%s%N)" >> "$PLACE/log"; }
say start
printf '%s\n' "$turn" >> work.txt
[ -f "$PLACE/stubborn" ] && { trap '' TERM INT; sleep 60 & say child; while :; do sleep 1; done; }
sleep "$(cat "$PLACE/nap" 2>/dev/null || echo 0.1)"
say end
printf 'done with %s\n[STEP:0]\n' "$turn"
"#;

impl Setting {
    /// Prepares files only.
    pub(crate) fn without_server() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let setting = Self { directory, port: free_port(), server: None };
        for name in ["home/.config/saihai", "blobs", "project/.saihai/pieces"] {
            fs::create_dir_all(setting.path(name)).expect("a directory");
        }
        setting.write("agent.sh", &AGENT.replace("$PLACE", &setting.path("").display().to_string()));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(setting.path("agent.sh"), mode).expect("a mode");
        setting.write(
            "home/.config/saihai/config.toml",
            &format!(
                "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"{}\"\nhonours = \
                 [\"readonly\", \"edit\"]\n",
                setting.path("agent.sh").display()
            ),
        );
        setting.write("home/.gitconfig", "[user]\n\tname = T\n\temail = t@example.com\n");
        setting.write("project/.saihai/pieces/five.yaml", &five());
        setting.write("project/a.txt", "a\n");
        setting.git(&["init", "--quiet", "--bare", &setting.path("origin.git").display().to_string()]);
        setting.git(&["init", "--quiet", "--initial-branch=main"]);
        setting.git(&["remote", "add", "origin", &setting.path("origin.git").display().to_string()]);
        setting.git(&["add", "--all"]);
        setting.git(&["commit", "--quiet", "--message", "begin"]);
        setting
    }

    /// Starts the server with a data file.
    pub(crate) fn new() -> Self {
        let mut setting = Self::without_server();
        setting.start_server();
        setting
    }

    pub(crate) fn start_server(&mut self) {
        let program = temporal();
        let log = fs::File::create(self.path("server.log")).expect("a file");
        let child = Command::new(&program)
            .args(["server", "start-dev", "--ip", "127.0.0.1", "--headless", "--log-level", "error"])
            .args(["--port", &self.port.to_string()])
            .arg("--db-filename")
            .arg(self.path("data"))
            .env("HOME", self.path("home"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .spawn()
            .expect("a server");
        self.server = Some(child);
        wait_for("the server", || {
            let health = Command::new(&program)
                .args(["operator", "cluster", "health", "--address", &self.address()])
                .output()
                .expect("the program");
            String::from_utf8_lossy(&health.stdout).contains("SERVING")
        });
        // The namespace appears a moment later.
        wait_for("the namespace", || {
            let described = Command::new(&program)
                .args(["operator", "namespace", "describe", "-n", "default", "--address", &self.address()])
                .output();
            described.expect("the program").status.success()
        });
    }

    pub(crate) fn kill_server(&mut self) {
        let mut server = self.server.take().expect("a server");
        server.kill().expect("a process");
        server.wait().expect("a process");
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(self.path("project"))
            .env("HOME", self.path("home"))
            .output()
            .expect("git");
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    /// Returns the text of a file as a run left it.
    pub(crate) fn file_of(&self, run: &str, name: &str) -> String {
        let reference = format!("refs/saihai/wip/{run}");
        self.git(&["fetch", "--quiet", "origin", &reference]);
        self.git(&["show", &format!("FETCH_HEAD:{name}")])
    }

    /// Returns the program in the project, with nothing of the user around it.
    pub(crate) fn saihai(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_saihai-temporal"));
        command
            .args(arguments)
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .stdin(Stdio::null());
        command
    }

    /// Runs a command that must succeed, and returns its output.
    #[track_caller]
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.saihai(arguments).output().expect("the program");
        assert!(output.status.success(), "{arguments:?}: {}", shown(&output));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    /// Adds the flags of the server.
    pub(crate) fn on_server<'a>(&self, arguments: &[&'a str], more: &'a [String]) -> Vec<&'a str> {
        arguments.iter().copied().chain(more.iter().map(String::as_str)).collect()
    }

    pub(crate) fn place(&self) -> Vec<String> {
        let blobs = self.path("blobs").display().to_string();
        ["--server".to_owned(), self.address(), "--blobs".to_owned(), blobs].into()
    }

    /// Submits a run of the definition and returns its id.
    #[track_caller]
    pub(crate) fn submit(&self, definition: &str, flags: &[&str]) -> String {
        let place = self.place();
        let arguments = [&["run", definition, "do it", "--lost-after", "5s"][..], flags].concat();
        self.done(&self.on_server(&arguments, &place))
    }

    pub(crate) fn worker(&self, name: &str, slots: u32) -> Worker {
        self.worker_with(name, slots, &[])
    }

    pub(crate) fn worker_with(&self, name: &str, slots: u32, variables: &[(&str, &str)]) -> Worker {
        let place = self.place();
        let area = self.path(name).display().to_string();
        let slots = slots.to_string();
        let arguments = ["worker", "--area", &area, "--slots", &slots];
        let log = self.path(&format!("{name}.log"));
        let file = fs::File::create(&log).expect("a file");
        let mut command = self.saihai(&self.on_server(&arguments, &place));
        command.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(file);
        let worker = Worker(command.spawn().expect("a worker"));
        wait_for("the worker", || fs::read_to_string(&log).is_ok_and(|said| said.contains("takes up to")));
        worker
    }

    /// Waits until the run has ended, and returns its journal.
    #[track_caller]
    pub(crate) fn journal_of(&self, run: &str) -> Vec<Value> {
        let ticket = self.path(&format!("project/.saihai/runs/{run}/server.json"));
        wait_for(run, || {
            let output = self.saihai(&["pull", run]).output().expect("the program");
            let is_early = String::from_utf8_lossy(&output.stderr).contains("has not started yet");
            assert!(output.status.success() || is_early, "{}", shown(&output));
            !ticket.exists()
        });
        self.local_journal_of(run)
    }

    pub(crate) fn local_journal_of(&self, run: &str) -> Vec<Value> {
        let path = self.path(&format!("project/.saihai/runs/{run}/journal.ndjson"));
        let text = fs::read_to_string(path).expect("a journal");
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
    }

    pub(crate) fn log(&self) -> Vec<AgentLine> {
        let text = fs::read_to_string(self.path("log")).unwrap_or_default();
        text.lines()
            .map(|line| {
                let words: Vec<&str> = line.split(' ').collect();
                let [what, run, turn, process, at] = words[..] else { panic!("{line}") };
                AgentLine {
                    what: what.to_owned(),
                    run: run.to_owned(),
                    turn: turn.to_owned(),
                    process: process.parse().expect("a number"),
                    at: at.parse().expect("a number"),
                }
            })
            .collect()
    }

    /// Counts the lines of each turn.
    pub(crate) fn counted(&self, what: &str) -> BTreeMap<(String, String), usize> {
        let mut counted = BTreeMap::new();
        for line in self.log().into_iter().filter(|line| line.what == what) {
            *counted.entry((line.run, line.turn)).or_default() += 1;
        }
        counted
    }

    /// Returns the status of the workflow of a run, as the server shows it.
    pub(crate) fn status(&self, run: &str) -> String {
        self.described(run)["status"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the server's name of the last execution of a run.
    pub(crate) fn execution_of(&self, run: &str) -> Value {
        self.described(run)["execution"]["runId"].clone()
    }

    fn described(&self, run: &str) -> Value {
        let id = format!("{}#saihai/{run}", self.path("origin.git").display());
        let described = Command::new(temporal())
            .args(["workflow", "describe", "-w", &id, "--address", &self.address(), "-o", "json"])
            .output()
            .expect("the program");
        let described: Value = serde_json::from_slice(&described.stdout).unwrap_or_default();
        described["workflowExecutionInfo"].clone()
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            drop(server.kill());
            drop(server.wait());
        }
        if std::thread::panicking() {
            for entry in fs::read_dir(self.path("")).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.extension().is_some_and(|kind| kind == "log") {
                    eprintln!("-- {}\n{}", path.display(), fs::read_to_string(&path).unwrap_or_default());
                }
            }
        }
    }
}

impl Worker {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(pid(i32::try_from(self.0.id()).expect("a process")), signal).expect("a process");
    }

    pub(crate) fn kill(mut self) {
        self.0.kill().expect("a process");
        self.0.wait().expect("a process");
    }

    pub(crate) fn wait(mut self) {
        self.0.wait().expect("a process");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Returns true unless the process has ended. One that has ended may still wait for its parent to read its status.
pub(crate) fn is_alive(process: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

fn pid(process: i32) -> Pid {
    Pid::from_raw(process).expect("a process")
}

/// Returns the command line of Temporal, which `cargo xtask test --temporal` installs.
fn temporal() -> PathBuf {
    let path = std::env::var_os("SAIHAI_TEMPORAL_CLI");
    PathBuf::from(path.expect("run these tests with `cargo xtask test --temporal`"))
}

#[track_caller]
pub(crate) fn wait_for(what: &str, mut is_done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_done() {
        assert!(begun.elapsed() < LONG, "{what} took too long");
        std::thread::sleep(Duration::from_millis(100));
    }
}

pub(crate) fn shown(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn free_port() -> u16 {
    // The server also needs the port of its HTTP interface and others, which it finds itself.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A piece with five turns that change files.
fn five() -> String {
    let names = ["one", "two", "three", "four", "five"];
    let mut text = "name: five\nmax_movements: 20\ninitial_movement: one\nmovements:\n".to_owned();
    for (index, name) in names.iter().enumerate() {
        let next = names.get(index + 1).unwrap_or(&"COMPLETE");
        text.push_str(&format!(
            "  - name: {name}\n    edit: true\n    instruction_template: \"Do step {name}.\"\n    rules: [{{condition: \
             ok, next: {next}}}]\n"
        ));
    }
    text
}
