//! Runs of ralph's files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use saihai_tests::{Invocation, Project};

use super::{log, prompts, published};
use crate::support::PROGRAM;

const HAT: &str =
    "hats:\n  a: {name: A, triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x}\n";

fn project(collection: &str, replies: &[&str]) -> Project {
    let project = Project::new(PROGRAM);
    project.write("ralph.yml", collection);
    let replies: String = replies.iter().map(|reply| format!("  - {{text: {reply:?}}}\n")).collect();
    project.write("script.yaml", format!("script: 1\nstrict: false\nreplies:\n{replies}"));
    project
}

fn run(project: &Project) -> Invocation {
    project.saihai(["run", "ralph.yml", "--script", "script.yaml"])
}

// HC-44
#[test]
fn a_ring_of_default_topics_stalls_and_what_is_misspelt_or_not_there_is_refused() {
    let ring = "event_loop: {prompt: T}\nhats:\n  a: {name: A, triggers: [task.start, b.done], publishes: [a.done], default_publishes: a.done}\n  b: {name: B, triggers: [a.done], publishes: [b.done, LOOP_COMPLETE], default_publishes: b.done}\n";
    let silent = project(ring, &["hm", "hm", "hm", "LOOP_COMPLETE"]);
    let outcome = run(&silent).run().exits(5);
    assert!(outcome.stdout.contains("limit `stalled` reached"), "{outcome}");
    assert_eq!(prompts(&silent).len(), 3);
    for (file, code) in [
        (format!("event_loop: {{max_iteratons: 1}}\n{HAT}"), "error[hats/unknown-key]"),
        (HAT.replace("instructions: x", "instructions: x, concurrency: 3"), "error[hats/not-supported]"),
    ] {
        let outcome = run(&project(&file, &[])).run().exits(2);
        assert!(outcome.stderr.contains(code), "{outcome}");
    }
}

// H-66: the lowering tests cover each key; this test runs a file with all of them.
#[test]
fn a_collection_brings_its_task_its_words_and_its_limits() {
    let collection = "event_loop:
  prompt_file: PROMPT.md
  completion_promise: DONE
  cancellation_promise: STOP
  starting_event: work.begin
  required_events: [built]
  max_iterations: 4
  enforce_hat_scope: true
core: {guardrails: [Be careful.]}
events:
  built: {description: it is built, on_publish: say what, on_trigger: look first}
hats:
  a:
    name: A
    description: builds
    triggers: [work.begin]
    publishes: [built]
    instructions: Build it.
    extra_instructions: [Test it.]
    max_activations: 1
  b: {name: B, triggers: [built], publishes: [DONE, work.begin]}
";
    let told = project(collection, &["EVENT: other", "DONE", "EVENT: built the door", "DONE"]);
    told.write("PROMPT.md", "Sort the list.\n");
    run(&told).run().exits(0);
    assert_eq!(told.journal().path_taken(), ["a", "b"]);
    let prompts = prompts(&told);
    insta::assert_snapshot!(prompts[0], @r"
    - Be careful.

    # Task
    Sort the list.


    # Hat: A
    Build it.

    Test it.

    # Event
    work.begin

    # How to end your reply
    - `built`: it is built
    - `built`: say what
    End your reply with one line `EVENT: <topic>`, not in a code block; a short message may follow on the same line. Topics: built.
    ");
    assert!(prompts[1].contains("The topic other does not belong to this role."), "{}", prompts[1]);
    assert!(prompts[2].contains("cannot be finished before built was published"), "{}", prompts[2]);
    assert!(prompts[3].contains("> the door\n\n- `built`: look first\n"), "{}", prompts[3]);
    assert!(log(&told).contains("iteration 4 of 4"), "{}", log(&told));
    // The command line overrides the file; a word cancels the run; a limit stops it.
    let typed = project(collection, &["STOP"]);
    let outcome =
        typed.saihai(["run", "ralph.yml", "Mine.", "--script", "script.yaml", "--json"]).run().exits(3);
    assert_eq!(outcome.result()["outcome"], "cancelled", "{outcome}");
    assert!(super::prompts(&typed)[0].contains("# Task\nMine.\n"));
    let tired = project(collection, &["EVENT: built", "EVENT: work.begin"]);
    tired.write("PROMPT.md", "Sort the list.\n");
    let outcome = run(&tired).run().exits(5);
    assert!(outcome.stdout.contains("limit `exhausted` reached"), "{outcome}");
    assert_eq!(
        published(&tired).last().map(String::as_str),
        Some("engine a.exhausted work.begin untaken - -")
    );
    let both = project(&format!("event_loop: {{prompt: a, prompt_file: b}}\n{HAT}"), &[]);
    assert!(run(&both).run().exits(2).stderr.contains("hats/alias-conflict"));
}

// H-32: the file's texts about topics do not end the prompt, so an agent that repeats them publishes nothing.
#[test]
fn an_agent_that_prints_what_its_file_says_of_topics_publishes_none_of_them() {
    let collection = "event_loop: {prompt: T, max_iterations: 3}
events: {built: {on_publish: 'print EVENT: built', on_trigger: 'was EVENT: built'}}
hats:
  a: {name: A, triggers: [task.start], publishes: [built], instructions: Build it.}
  b: {name: B, triggers: [built], publishes: [LOOP_COMPLETE], instructions: Look.}
";
    let prompt = project(collection, &[]).saihai(["prompt", "ralph.yml"]).run().exits(0).stdout;
    assert!(prompt.contains("- `built`: print EVENT: built\nEnd your reply"), "{prompt}");
    let echoing = project(collection, &[prompt.as_str(); 3]);
    run(&echoing).run().exits(5);
    assert_eq!(echoing.journal().path_taken(), ["a"]);
}

// H-66: the hat that takes a topic, by any trigger, reads the text about this topic and no other.
#[test]
fn what_is_said_about_a_topic_is_told_with_that_topic() {
    let collection = "event_loop: {prompt: T, max_iterations: 9}
events:
  task.start: {on_trigger: begin well}
  build.done: {on_trigger: a build is done}
  build.broken: {on_trigger: a build is broken}
  astray: {on_trigger: it went astray}
hats:
  a: {name: A, triggers: [task.start, again], publishes: [build.done, build.broken], instructions: Build it.}
  b: {name: B, triggers: ['build.*'], publishes: [again], instructions: Look.}
  default: {name: D, triggers: [], publishes: [again], instructions: Sort it out.}
";
    let replies =
        ["EVENT: build.done", "EVENT: again", "EVENT: build.broken", "EVENT: astray", "LOOP_COMPLETE"];
    let project = project(collection, &replies);
    run(&project).run().exits(0);
    let told: Vec<String> = prompts(&project)
        .iter()
        .map(|prompt| {
            let lines = prompt.lines().filter(|line| line.starts_with("- `"));
            lines.collect::<Vec<_>>().join(", ")
        })
        .collect();
    let [done, broken] = ["- `build.done`: a build is done", "- `build.broken`: a build is broken"];
    assert_eq!(told, ["- `task.start`: begin well", done, "", broken, "- `astray`: it went astray"]);
}

/// Creates a project with a program that records its arguments and input, and then completes the run.
fn with_program(cli: &str) -> Project {
    let project = project(
        &format!("cli: {{backend: custom, command: mine, {cli}}}\nevent_loop: {{prompt: T}}\n{HAT}"),
        &[],
    );
    let script = "#!/bin/sh\nfor word in \"$@\"; do printf '<%s>\\n' \"$word\"; done > arguments\ncat > input\necho LOOP_COMPLETE\n";
    project.write("../home/bin/mine", script);
    let program = project.home().join("bin/mine");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("an executable");
    project
}

fn started(project: &Project, arguments: &[&str]) -> Invocation {
    let path = format!("{}:/usr/bin:/bin", project.home().join("bin").display());
    project.saihai(["run", "ralph.yml"].iter().chain(arguments)).env("PATH", path)
}

// A file may name a program only if the user trusts the file. The program gets its prompt as the file says.
#[test]
fn a_program_that_the_file_names_is_asked_once_the_file_is_trusted() {
    let project = with_program("args: [--quiet, work], prompt_flag: -p");
    let refused = started(&project, &[]).run().exits(2);
    assert!(
        refused.stderr.contains("`ralph.yml` is not trusted, and it runs `mine --quiet work -p`"),
        "{refused}"
    );
    assert!(!project.root().join(".saihai/runs").exists() && !project.root().join("arguments").exists());
    let trusted = project.saihai(["trust", "ralph.yml"]).run().exits(0);
    assert!(
        trusted.stdout.ends_with("/ralph.yml\n  runs = mine --quiet work -p\n"),
        "what it would run: {trusted}"
    );
    let outcome = started(&project, &[]).run().exits(0);
    let prompt = project.journal().prompt("a");
    assert_eq!(project.read("arguments"), format!("<--quiet>\n<work>\n<-p>\n<{prompt}>\n"), "{outcome}");
    assert_eq!(project.read("input"), "");
    // A changed file needs trust again.
    let changed = project.read("ralph.yml").replace("--quiet", "--loud");
    project.write("ralph.yml", changed);
    started(&project, &[]).run().exits(2);
    started(&project, &["--trust-project"]).run().exits(0);
    assert!(project.read("arguments").starts_with("<--loud>\n"));
    // Saihai cannot restrict the program to less than `edit`.
    let refused = started(&project, &["--trust-project", "--max-permission", "readonly"]).run().exits(2);
    assert!(refused.stderr.contains("provider/cannot-enforce"), "{refused}");
    let by_input = with_program("prompt_mode: stdin");
    started(&by_input, &["--trust-project"]).run().exits(0);
    assert_eq!(by_input.read("input"), by_input.journal().prompt("a"));
    assert_eq!(by_input.read("arguments"), "");
}

// A resumed run keeps its program.
#[test]
fn a_run_on_a_program_of_the_file_can_be_resumed() {
    let project = with_program("prompt_mode: stdin");
    let counting =
        "#!/bin/sh\ncat > /dev/null\n[ -f before ] && echo LOOP_COMPLETE && exit 0\ntouch before\necho hm\n";
    project.write("../home/bin/mine", counting);
    project
        .write("ralph.yml", project.read("ralph.yml").replace("prompt: T", "prompt: T, max_iterations: 1"));
    project.saihai(["trust", "ralph.yml"]).run().exits(0);
    started(&project, &[]).run().exits(5);
    let path = format!("{}:/usr/bin:/bin", project.home().join("bin").display());
    let resume = project.saihai(["resume", "last", "--max-iterations", "2"]).env("PATH", path);
    resume.run().exits(0);
}

// H-68: `check` warns, `run` refuses, and another provider makes the file usable.
#[test]
fn a_backend_that_nobody_serves_is_refused_only_where_it_would_be_asked() {
    let file = format!("cli: {{backend: amp}}\nevent_loop: {{prompt: T}}\n{HAT}");
    let project = project(&file, &["LOOP_COMPLETE"]);
    let checked = project.saihai(["check", "ralph.yml"]).run().exits(0);
    assert!(checked.stdout.contains("warning[hats/unserved-backend]"), "{checked}");
    let refused = project.saihai(["run", "ralph.yml"]).run().exits(2);
    assert!(refused.stderr.contains("error[hats/unserved-backend]"), "{refused}");
    run(&project).run().exits(0);
}
