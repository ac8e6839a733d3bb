//! Several issues at the same time.

use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use saihai_tests::{Answer, ApiServer, Fault, Project, Refusal};

use super::github::Scene;
use super::{auto, commit, outcomes, repository, work};

// I-45
#[test]
fn issues_run_side_by_side_within_the_limit_and_none_is_harmed_by_another() {
    at_most_so_many_run_at_once();
    who_waits_holds_no_place();
    a_failure_a_panic_and_a_kill_are_nobody_elses();
    a_quota_pauses_what_is_yet_to_begin_on_that_provider_alone();
    a_quota_that_is_sat_out_pauses_it_as_well();
}

fn at_most_so_many_run_at_once() {
    let project = repository("");
    let log = project.home().join("log").display().to_string();
    let commands = format!("echo + >> {log}; sleep 0.5; echo - >> {log}; echo x > f");
    let reply =
        format!("  - {{text: 'Done. [STEP:0]', times: '*', runs: [{{argv: [sh, -c, '{commands}']}}]}}\n");
    project.write("script.yaml", format!("script: 1\nreplies:\n{reply}"));
    for number in 1..=5 {
        project.write(&format!(".saihai/issues/{number}.md"), format!("# Issue {number}\n"));
    }
    commit(&project);
    auto(&project, &["--jobs", "2"]).exits(0);
    let mut now = 0;
    let log = project.read("../home/log");
    let most = log.lines().map(|line| {
        now += if line == "+" { 1 } else { -1 };
        now
    });
    assert_eq!(most.max(), Some(2), "{log}");
}

fn who_waits_holds_no_place() {
    let fails = |title: &str, failure: &str| format!("  - {{prompt: {title}, fail: {{{failure}}}}}\n");
    let writes = |title: &str| {
        format!("  - {{prompt: {title}, text: 'Done. [STEP:0]', writes: [{{path: {title}, content: x}}]}}\n")
    };
    let replies = [
        writes("Merges"),
        fails("Limited", "class: rate_limited, message: slow down, retry_after: 3600"),
        fails("Parked", "class: auth, message: not logged in"),
        writes("Last"),
    ];
    let scene = Scene::new(&replies.concat(), |state| {
        for (number, title) in (1..).zip(["Merges", "Limited", "Parked", "Last"]) {
            state.issue(number, title, &["saihai"]);
        }
        state.pending = true;
    });
    let mut call = scene.call(&["--label", "saihai", "--merge", "--jobs", "1"]).start();
    // Issue 1 waits for its checks, 2 for a short time and 3 for a person. Issue 4 still gets its turn.
    let asked = |scene: &Scene, number: u64| {
        scene.server.state().pull_requests.values().any(|one| one.head == format!("feature/issue-{number}"))
    };
    while !asked(&scene, 4) {
        std::thread::park_timeout(std::time::Duration::from_millis(50));
    }
    scene.server.change(|state| state.pending = false);
    let merged: String = (0..2).map(|_| call.wait_for_note("merged")).collect();
    assert!(merged.contains("#1 merged") && merged.contains("#4 merged"), "{merged}");
    call.signal(Signal::INT);
    let outcome = call.finish().exits(4);
    let rows = outcomes(&outcome);
    assert_eq!(rows, ["#1 merged", "#2 provider", "#3 provider", "#4 merged"], "{outcome}");
}

fn a_failure_a_panic_and_a_kill_are_nobody_elses() {
    let project = repository(
        "  - {prompt: Fails, text: 'No. [STEP:1]'}\n  - {prompt: Dies, times: '*', fail: {class: crashed, message: killed}}\n  \
         - {prompt: Hangs, hang: true}\n  - {text: 'Done. [STEP:0]', times: '*', writes: [{path: f, content: x}]}\n",
    );
    let titles = ["Fails", "Panics", "Dies", "Good", "Good too"];
    for (number, title) in (1..).zip(titles) {
        project.write(&format!(".saihai/issues/{number}.md"), format!("# {title}\n"));
    }
    commit(&project);
    let call = work(&project, &["--auto", "--jobs", "5"]).fault(&Fault::panic("-issue-2/journal"));
    let outcome = call.run().exits(70);
    let expected = ["#1 failed", "#2 failed", "#3 provider", "#4 branch-ready", "#5 branch-ready"];
    assert_eq!(outcomes(&outcome), expected, "{outcome}");
    // Kills the whole process while one issue hangs. The next call still knows the outcomes of the others.
    project.write(".saihai/issues/6.md", "# Hangs\n").write(".saihai/issues/7.md", "# Good as well\n");
    let mut call = work(&project, &["--auto", "--jobs", "2", "--issues", "6,7"]).start();
    call.wait_for_note("#7 branch-ready");
    call.signal(Signal::KILL);
    call.finish();
    let runs = project.runs().len();
    let again = auto(&project, &["--issues", "4,5,7"]).exits(0);
    assert_eq!(outcomes(&again), ["#4 branch-ready", "#5 branch-ready", "#7 branch-ready"]);
    assert_eq!(project.runs().len(), runs, "nothing was done twice");
}

/// Refuses a request because the quota is used up. `seconds` is the wait, if the provider names one.
fn used_up(seconds: Option<u64>) -> Answer {
    Answer::Refused(Refusal {
        status: 429,
        headers: seconds.into_iter().map(|seconds| ("retry-after", seconds.to_string())).collect(),
        code: Some("insufficient_quota".to_owned()),
        message: "used up".to_owned(),
    })
}

/// Tests a short quota. The run waits in its process without counting towards `--jobs`. No other run calls
/// that provider meanwhile.
fn a_quota_that_is_sat_out_pauses_it_as_well() {
    const WAIT: u64 = 8;
    let done = Answer::text("Nothing to do. [STEP:0]");
    let poor = ApiServer::start(|_| [used_up(Some(WAIT)), done]);
    let project = repository("");
    let go = project.home().join("go");
    // The rich agent works until the file `go` exists, so only one of two jobs is free.
    let agent = project.home().join("agent");
    let waits = format!("while ! test -e {}; do sleep 0.05; done", go.display());
    std::fs::write(&agent, format!("#!/bin/sh\ncat > /dev/null\n{waits}\necho '[STEP:0]'\n")).expect("it");
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    poor_and_rich(&project, "mine");
    let own = format!(
        "provider = \"openai\"\n[providers.openai]\nmodel = \"m\"\nbase_url = \"{}/v1\"\n[providers.mine]\nkind = \"command\"\nprogram = \"{}\"\nhonours = [\"readonly\"]\n",
        poor.url(),
        agent.display()
    );
    project.write("../home/.config/saihai/config.toml", own);
    let rich = "---\nlabels: [rich]\n---\n# Rich\n";
    for (number, text) in [(1, "# Meets it\n"), (2, rich), (3, "# Must wait\n"), (4, rich)] {
        project.write(&format!(".saihai/issues/{number}.md"), text);
    }
    commit(&project);
    let call = project.saihai(["work", "--auto", "--jobs", "2"]).env("OPENAI_API_KEY", "sk-of-the-test");
    let mut call = call.start();
    call.wait_for_note("#4 fix");
    assert_eq!(poor.asked().len(), 1);
    std::fs::write(go, "").expect("it is written");
    let outcome = call.finish().exits(0);
    let rows = ["#1 no-changes", "#2 no-changes", "#3 no-changes", "#4 no-changes"];
    assert_eq!(outcomes(&outcome), rows, "{outcome}");
    assert_eq!(poor.asked().len(), 3, "{outcome}");
    let said = |part: &str| outcome.stderr.find(part).unwrap_or_else(|| panic!("{part}: {outcome}"));
    assert!(said("#4 fix") < said("#3 run"), "{outcome}");
    // Issue 3 starts only after the quota has returned.
    let begun = |number: u64| {
        let run = project.runs().into_iter().find(|run| run.ends_with(&format!("-issue-{number}")));
        let stamp = run.expect("a run")[..15].replace('-', "T");
        stamp.parse::<jiff::civil::DateTime>().expect("a moment")
    };
    let later = begun(3).since(begun(1)).expect("a length").get_seconds();
    assert!(later >= i64::try_from(WAIT).expect("a number"), "{later} s: {outcome}");
}

/// Assigns issues to a provider without quota, and issues with the label `rich` to another provider.
fn poor_and_rich(project: &Project, rich: &str) {
    for (name, provider) in [("poor", "openai"), ("rich", rich)] {
        let piece = super::PIECE.replace("name: it", &format!("name: {name}"));
        let piece = piece.replace("edit: true", &format!("provider: {provider}"));
        project.write(&format!(".saihai/pieces/{name}.yaml"), piece);
    }
    let settings = "[work]\ndefinition = \"poor\"\ndefinitions = { rich = \"rich\" }\n";
    project.write(".saihai/config.toml", settings);
}

fn a_quota_pauses_what_is_yet_to_begin_on_that_provider_alone() {
    let poor = ApiServer::start(|_| [used_up(None)]);
    let rich = ApiServer::start(|_| [Answer::text("Nothing to do. [STEP:0]")]);
    let project = repository("");
    poor_and_rich(&project, "anthropic");
    let own = format!(
        "provider = \"openai\"\n[providers.openai]\nmodel = \"m\"\nbase_url = \"{}/v1\"\n[providers.anthropic]\nmodel = \"m\"\nbase_url = \"{}\"\n",
        poor.url(),
        rich.url()
    );
    project.write("../home/.config/saihai/config.toml", own);
    project.write(".saihai/issues/1.md", "# Used up\n").write(".saihai/issues/2.md", "# Must wait\n");
    project.write(".saihai/issues/3.md", "---\nlabels: [rich]\n---\n# Of another\n");
    commit(&project);
    let call = project.saihai(["work", "--auto", "--jobs", "1"]).env("OPENAI_API_KEY", "sk-of-the-test");
    let mut call = call.env("ANTHROPIC_API_KEY", "sk-of-the-test").start();
    call.wait_for_note("#3 no-changes");
    call.signal(Signal::INT);
    let outcome = call.finish().exits(4);
    assert!(!outcome.stderr.contains("#2 fix"), "{outcome}");
    assert_eq!((poor.asked().len(), rich.asked().len(), project.runs().len()), (1, 1, 2), "{outcome}");
}

// I-36: Saihai registers worktrees one at a time, but checks out their files in parallel. Each checkout
// here waits until the other has started.
#[test]
fn files_of_worktrees_are_checked_out_at_the_same_time() {
    let project = repository("  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}], times: '*'}\n");
    let begun = project.home().join("begun");
    std::fs::create_dir(&begun).expect("a directory");
    let script = format!(
        "#!/bin/sh\ntouch {0}/$$\nfor i in $(seq 300); do test $(ls {0} | wc -l) -ge 2 && exec cat; sleep 0.1; done\nexit 1\n",
        begun.display()
    );
    let filter = project.home().join("filter");
    std::fs::write(&filter, script).expect("a program");
    std::fs::set_permissions(&filter, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    project.write("slow.txt", "slow\n");
    project.write(".gitattributes", "slow.txt filter=slow\n");
    for number in [1, 2] {
        project.write(&format!(".saihai/issues/{number}.md"), format!("# Issue {number}\n"));
    }
    commit(&project);
    let configuration = project.home().join(".gitconfig");
    let own = std::fs::read_to_string(&configuration).expect("a configuration");
    let own = format!(
        "{own}[filter \"slow\"]\n\tclean = cat\n\tsmudge = {}\n\trequired = true\n",
        filter.display()
    );
    std::fs::write(&configuration, own).expect("a configuration");
    let outcome = work(&project, &["--auto", "--jobs", "2"]).run().exits(0);
    assert_eq!(outcomes(&outcome), ["#1 branch-ready", "#2 branch-ready"], "{outcome}");
}
