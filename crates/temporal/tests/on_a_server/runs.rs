//! Whole runs: the same outcome as on one machine, many at once, and one per branch.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::setting::{Setting, shown};

const REVIEWED: &str = "\
name: reviewed
max_movements: 20
initial_movement: write
movements:
  - {name: write, edit: true, instruction_template: 'Write.', rules: [{condition: ok, next: review}]}
  - name: review
    parallel:
      - {name: style, instruction_template: 'Style.', rules: [{condition: approved}, {condition: rejected}]}
      - {name: tests, instruction_template: 'Tests.', rules: [{condition: approved}, {condition: rejected}]}
    rules: [{condition: 'all(\"approved\")', next: COMPLETE}, {condition: 'any(\"rejected\")', next: write}]
";
const REVIEWED_REPLIES: &str = "\
script: 1
replies:
  - {for: write, text: 'first [STEP:0]'}
  - {for: review/style, text: 'good [STEP:0]'}
  - {for: review/tests, text: 'bad [STEP:1]'}
  - {for: write, text: 'second [STEP:0]'}
  - {for: review/style, text: 'good [STEP:0]'}
  - {for: review/tests, text: 'good [STEP:0]'}
";
const LIMITED_REPLIES: &str = "\
script: 1
replies:
  - {for: one, fail: {class: rate_limited, message: too many, retry_after: 1}}
  - {for: one, text: '[STEP:0]'}
  - {for: two, text: '[STEP:0]'}
  - {for: three, text: '[STEP:0]'}
  - {for: four, fail: {class: transient, message: gone}}
  - {for: four, text: '[STEP:0]'}
  - {for: five, text: '[STEP:0]'}
";

/// Returns the transitions in their order, and all other entries. These have no times, and no facts of asks: another
/// machine adds the prompt later. Siblings end in any order.
fn course(journal: &[Value]) -> (Vec<Value>, Vec<String>) {
    let (mut transitions, mut others) = (Vec::new(), Vec::new());
    for record in journal {
        let mut entry = match record.get("decision") {
            Some(decision) => json!({"decision": decision}),
            None => {
                let (kind, fact) = match &record["fact"] {
                    Value::Object(fact) => {
                        fact.iter().next().map(|(kind, fact)| (kind.clone(), fact)).expect("a fact")
                    }
                    other => (other.as_str().expect("a fact").to_owned(), &Value::Null),
                };
                if matches!(kind.as_str(), "asked" | "files_counted" | "started") {
                    continue;
                }
                json!({"fact": kind, "call": fact["call"], "text": fact["text"], "failure": fact["failure"]["class"]})
            }
        };
        without_times(&mut entry);
        let is_transition = |name| entry["decision"].get(name).is_some();
        match ["entered", "round", "exited", "finished"].into_iter().any(is_transition) {
            true => transitions.push(entry),
            false => others.push(entry.to_string()),
        }
    }
    others.sort();
    (transitions, others)
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in ["at", "not_before", "until", "took", "driven"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(without_times);
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}

// D-T6, D-6: the pulled journal has the same course as that of this machine, and the same commands read it
#[test]
fn a_run_has_the_same_course_on_a_server_as_on_this_machine() {
    let setting = Setting::new();
    setting.write("project/.saihai/pieces/reviewed.yaml", REVIEWED);
    let _worker = setting.worker("worker", 4);
    for (definition, replies) in [("reviewed", REVIEWED_REPLIES), ("five", LIMITED_REPLIES)] {
        setting.write("project/replies.yaml", replies);
        let script = ["--script", "replies.yaml"];
        let run = setting.submit(definition, &script);
        let there = setting.journal_of(&run);
        setting.done(&["run", definition, "do it", "--script", "replies.yaml", "--no-worktree", "--json"]);
        let listed = setting.done(&["runs", "--json"]);
        let local = listed
            .lines()
            .flat_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|line| line["run"].as_str().or(line["id"].as_str()).map(str::to_owned))
            .find(|id| *id != run && setting.path(&format!("project/.saihai/runs/{id}")).is_dir());
        let local = local.unwrap_or_else(|| panic!("{listed}"));
        let here = setting.local_journal_of(&local);
        assert_eq!(course(&there), course(&here), "{definition}");
        for command in ["show", "explain", "log", "graph"] {
            setting.done(&[command, &run]);
        }
        setting.done(&["fork", &run]);
    }
}

// D-T1: a lost worker costs the turns in flight, and nothing else
#[test]
fn fifty_runs_complete_although_a_worker_is_killed() {
    let setting = Setting::new();
    setting.write("nap", "0.2");
    let (killed, _other) = (setting.worker("killed", 5), setting.worker("other", 5));
    let runs: Vec<String> = (0..50).map(|_| setting.submit("five", &[])).collect();
    crate::setting::wait_for("half of the turns", || setting.counted("end").len() > 80);
    killed.kill();
    for run in &runs {
        let journal = setting.journal_of(run);
        let replies: Vec<&Value> =
            journal.iter().filter_map(|record| record["fact"]["replied"]["call"].get("stage")).collect();
        assert_eq!(replies, ["one", "two", "three", "four", "five"], "{run}");
        assert_eq!(setting.file_of(run, "work.txt"), "one\ntwo\nthree\nfour\nfive", "{run}");
    }
    let started: usize = setting.counted("start").values().sum();
    assert!((250..=255).contains(&started), "{started} turns for 250, with 5 slots lost");
}

// D-5: a long run continues in new histories, and its journal is whole
#[test]
fn a_run_with_many_histories_has_one_journal() {
    let setting = Setting::new();
    let _worker = setting.worker("worker", 1);
    let place = setting.place();
    let arguments = setting.on_server(&["run", "five", "do it"], &place);
    let mut command = setting.saihai(&arguments);
    let submitted = command.env("SAIHAI_TEMPORAL_LONGEST_HISTORY", "12").output().unwrap();
    let run = String::from_utf8_lossy(&submitted.stdout).trim().to_owned();
    let ticket = std::fs::read(setting.path(&format!("project/.saihai/runs/{run}/server.json"))).unwrap();
    let ticket: Value = serde_json::from_slice(&ticket).unwrap();
    let journal = setting.journal_of(&run);
    let numbers: Vec<u64> = journal.iter().filter_map(|record| record["seq"].as_u64()).collect();
    assert_eq!(numbers, (1..=journal.len() as u64).collect::<Vec<_>>());
    let entered = journal.iter().filter_map(|record| record["decision"]["entered"]["stage"].as_str());
    assert_eq!(entered.collect::<Vec<_>>(), ["one", "two", "three", "four", "five"]);
    assert_eq!(setting.file_of(&run, "work.txt"), "one\ntwo\nthree\nfour\nfive");
    assert_ne!(setting.execution_of(&run), ticket["execution"], "the run never left its first history");
}

// D-T2, D-4: a branch belongs to one run
#[test]
fn of_twenty_submissions_for_one_branch_one_runs_and_the_others_name_it() {
    let setting = Setting::new();
    let place = setting.place();
    let arguments = ["run", "five", "do it", "--branch", "feature/x"];
    let arguments = setting.on_server(&arguments, &place);
    let submitted: Vec<_> = (0..20)
        .map(|_| {
            let mut command = setting.saihai(&arguments);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let outputs: Vec<_> = submitted.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let (taken, refused): (Vec<_>, Vec<_>) = outputs.iter().partition(|output| output.status.success());
    let [taken] = taken[..] else { panic!("{}", taken.into_iter().map(shown).collect::<String>()) };
    let run = String::from_utf8_lossy(&taken.stdout).trim().to_owned();
    let expected = format!(
        "error: run `{run}` works on branch `feature/x`\n  = help: `--on-busy queue` begins after it, `--branch NAME` \
         uses another branch\n"
    );
    for output in refused {
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
            (Some(2), &*expected)
        );
    }
    let attached = setting.done(&[&arguments[..], &["--on-busy", "attach"]].concat());
    assert_eq!(attached, run);

    let _worker = setting.worker("worker", 4);
    let queued: Vec<String> =
        (0..3).map(|_| setting.done(&[&arguments[..], &["--on-busy", "queue"]].concat())).collect();
    for run in std::iter::once(&run).chain(&queued) {
        setting.journal_of(run);
    }
    let log = setting.log();
    let order: Vec<&str> = log.iter().map(|line| line.run.as_str()).collect();
    let mut runs = order.clone();
    runs.dedup();
    assert_eq!(runs, std::iter::once(&run).chain(&queued).collect::<Vec<_>>(), "they never overlap");
    let refs = setting.path("origin.git");
    let kept = std::process::Command::new("git").arg("-C").arg(refs).arg("for-each-ref").output().unwrap();
    let kept = String::from_utf8_lossy(&kept.stdout).lines().filter(|line| line.contains("/wip/")).count();
    assert_eq!(kept, 4, "refused runs leave no ref");
}
