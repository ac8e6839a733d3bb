//! Reference workload: 12 stages, a loop of four rounds, a parallel stage of four turns, a gate, a
//! judge question and two reports; 51 turns.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::{Invocation, Outcome, Project};

/// Stages of one loop round before the parallel stage.
const LOOP: [&str; 7] = ["plan", "research", "implement", "selfcheck", "tests", "docs", "security"];
const REVIEWERS: [&str; 4] = ["alice", "bob", "carol", "dave"];
const ROUNDS: u32 = 4;

/// The reference workload in its own project.
#[derive(Debug)]
pub struct Workload {
    pub project: Project,
}

/// Result of a workload without times, paths and attempts. Interruptions must not change it.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub path: Vec<String>,
    pub exits: Vec<Value>,
    pub rounds: Vec<Value>,
    /// Sent prompt of each call.
    pub prompts: Vec<(String, String)>,
    /// Final outcome of the run.
    pub finished: Vec<Value>,
    pub reports: Vec<(String, String)>,
}

impl Workload {
    /// Number of prompts and questions in an uninterrupted run.
    pub const TURNS: usize = 51;

    /// Creates the definition, the script and the files in which the scripted agents log their
    /// calls.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let project = Project::new(program);
        project.write(".takt/pieces/workload.yaml", definition()).write("script.json", script().to_string());
        for agent in agents() {
            project.write(&call_log(&agent), "--end--\n");
        }
        Self { project }
    }

    /// Starts the run, which stops at its gate.
    pub fn begin(&self) -> Invocation {
        self.project.saihai(["run", "workload", "Deliver the feature.", "--script", "script.json"])
    }

    /// Starts the run with all events on stdout.
    pub fn begin_json(&self) -> Invocation {
        let arguments = ["run", "workload", "Deliver the feature.", "--script", "script.json", "--json"];
        self.project.saihai(arguments)
    }

    pub fn answer(&self) -> Invocation {
        self.project.saihai(["answer", "last", "Mention the migration.", "--no-resume"])
    }

    pub fn resume(&self) -> Invocation {
        self.project.saihai(["resume", "last"])
    }

    /// Resumes the run with all events on stdout.
    pub fn resume_json(&self) -> Invocation {
        self.project.saihai(["resume", "last", "--json"])
    }

    /// Returns the logged number of calls of each scripted agent.
    pub fn calls(&self) -> Vec<(String, usize)> {
        let count = |agent: &str| self.project.read(&call_log(agent)).matches("called\n").count();
        agents().into_iter().map(|agent| (agent.clone(), count(&agent))).collect()
    }

    pub fn end(&self) -> End {
        let journal = self.project.journal();
        let all = |name: &str| journal.decisions(name).cloned().collect::<Vec<_>>();
        let run = self.project.begun().concat();
        let root = self.project.root().display().to_string();
        let neutral = |text: String| text.replace(&run, "RUN").replace(&root, "ROOT");
        let mut prompts: Vec<(String, String)> =
            journal.prompts().into_iter().map(|(call, text)| (call, neutral(text))).collect();
        // Parallel turns log in any order.
        prompts.sort();
        End {
            path: journal.path_taken().into_iter().map(str::to_owned).collect(),
            exits: all("exited"),
            rounds: all("round"),
            prompts,
            finished: all("finished"),
            reports: self.project.reports(),
        }
    }

    /// Runs the workload to its end without faults.
    pub fn uninterrupted(program: impl Into<PathBuf>) -> (Self, End) {
        let workload = Self::new(program);
        workload.begin().run().exits(6);
        workload.answer().run().exits(0);
        workload.resume().run().exits(0);
        let end = workload.end();
        (workload, end)
    }

    /// Continues from any state until the run ends. Returns the last outcome.
    pub fn finish(&self) -> Outcome {
        let outcome = self.resume().run();
        if outcome.code != Some(6) {
            return outcome;
        }
        self.answer().run().exits(0);
        self.resume().run()
    }
}

fn agents() -> Vec<String> {
    let single =
        LOOP.iter().chain(&["fix", "approve", "summary", "release"]).map(|stage| (*stage).to_owned());
    single.chain(REVIEWERS.iter().map(|name| format!("reviewers/{name}"))).collect()
}

fn call_log(agent: &str) -> String {
    format!("calls/{agent}.log")
}

fn definition() -> String {
    let mut text = "name: workload\nmax_iterations: 60\nmovements:\n".to_owned();
    let mut movement = |name: &str, more: &str, rules: &str| {
        let _ =
            write!(text, "  - name: {name}\n    edit: true\n    instruction_template: Do the part {name}.\n");
        let _ = writeln!(text, "{more}    rules: [{rules}]");
    };
    let plan = "    report: {name: 00-plan.md, format: \"# Plan\"}\n";
    let followers = LOOP[1..].iter().chain(&["reviewers"]);
    for (stage, next) in LOOP.iter().zip(followers) {
        let report = if *stage == "plan" { plan } else { "" };
        movement(
            stage,
            report,
            &format!("{{condition: done, next: {next}}}, {{condition: stuck, next: ABORT}}"),
        );
    }
    movement("fix", "", "{condition: fixed, next: plan}");
    movement("approve", "", "{condition: words wanted, next: summary, requires_user_input: true}");
    let summary = "    report: [Summary: 01-summary.md]\n";
    movement("summary", summary, "{condition: summed up, next: release}, {condition: unclear, next: ABORT}");
    // This stage rewrites the report of the previous one.
    movement("release", summary, "{condition: released, next: COMPLETE}");
    text.push_str("  - name: reviewers\n    parallel:\n");
    for name in REVIEWERS {
        let rules = "[{condition: approved}, {condition: needs fix}]";
        let _ = writeln!(text, "      - {{name: {name}, edit: true, rules: {rules}}}");
    }
    text.push_str("    rules:\n      - {condition: 'all(\"approved\")', next: approve}\n");
    text.push_str("      - {condition: 'any(\"needs fix\")', next: fix}\n");
    text
}

fn script() -> Value {
    let mut replies = Vec::new();
    let mut reply = |agent: &str, visit: u32, text: String| {
        let note = json!({"path": call_log(agent), "find": "--end--", "replace": "called\n--end--"});
        replies.push(json!({"for": agent, "visit": visit, "text": text, "edits": [note]}));
    };
    for round in 1..=ROUNDS {
        for stage in LOOP {
            reply(stage, round, said(stage, round));
        }
        for name in REVIEWERS {
            let tag = u32::from(name == "carol" && round < ROUNDS);
            reply(
                &format!("reviewers/{name}"),
                round,
                format!("{name} looked, round {round}.\n[STEP:{tag}]"),
            );
        }
        if round < ROUNDS {
            reply("fix", round, format!("Fixed what carol found in round {round}.\n[STEP:0]"));
        }
    }
    reply("approve", 1, "A person should say something.\n[STEP:0]".to_owned());
    reply("summary", 1, "```markdown\n# Summary\nAll four rounds are over.\n```\nNo tag here.".to_owned());
    reply("release", 1, "```markdown\n# Summary\nIt is out.\n```\n[STEP:0]".to_owned());
    replies.push(json!({"for": "summary#judge", "text": "[STEP:0]"}));
    json!({"script": 1, "replies": replies})
}

/// Returns the reply of a stage. The reply of `implement` is long enough to become a blob file.
fn said(stage: &str, round: u32) -> String {
    match stage {
        "plan" => format!("```markdown\n# Plan\nRound {round} of the plan.\n```\n[STEP:0]"),
        "implement" => format!("{}\nround {round}\n[STEP:0]", "A changed line.\n".repeat(1_200)),
        other => format!("{other} is done, round {round}.\n[STEP:0]"),
    }
}

/// Processes the items on all cores and collects the failures.
pub fn in_parallel<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<(), String> + Sync) {
    let next = AtomicUsize::new(0);
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let failures: Vec<String> = thread::scope(|scope| {
        let worker = || {
            let mut failed = Vec::new();
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                failed.extend(work(item).err());
            }
            failed
        };
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|one| one.join().expect("a worker does not panic")).collect()
    });
    assert!(failures.is_empty(), "{} failed\n{}", failures.len(), failures.join("\n"));
}
