//! Requirements of the work on issues, one complete requirement per test.

use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use saihai_connect::forge::testing::ForgeState;
use saihai_tests::Project;

use super::github::Scene;
use super::{auto, branches, commit, git, outcomes, repository, work, writes};

fn with(issues: &[(u32, &str)], replies: &str) -> Project {
    let project = repository(replies);
    for (number, text) in issues {
        project.write(&format!(".saihai/issues/{number}.md"), text);
    }
    commit(&project);
    project
}

// I-5: Saihai merges into the base branch, even if another branch is checked out meanwhile.
#[test]
fn work_is_merged_into_where_it_branched_from() {
    let project = with(&[(7, "# Login fails\n")], &writes("fixed.txt"));
    let settings = "[work]\ndefinition = \"it\"\ngates = [\"before-pr\"]\n";
    project.write(".saihai/config.toml", settings);
    work(&project, &["--merge"]).run().exits(6);
    git(&project, &["switch", "--quiet", "-c", "other"]);
    let run = project.runs()[0].clone();
    project.saihai(["answer", &run, "yes"]).run().exits(0);
    let outcome = work(&project, &["--merge"]).run().exits(0);
    assert_eq!(outcomes(&outcome), ["#7 merged"]);
    assert_eq!(git(&project, &["show", "main:fixed.txt"]), "fixed.txt");
    let held = git(&project, &["ls-tree", "--name-only", "other"]);
    assert!(!held.contains("fixed.txt"), "{held}");
}

// I-6: Saihai reports each default with its origin before the start, and asks for required values.
#[test]
fn every_default_is_listed_with_its_origin() {
    let project = with(&[(7, "# Login fails\n")], &writes("fixed.txt"));
    let listed = work(&project, &["--list", "-v", "--auto"]).run().exits(0);
    let (_, settings) = listed.stdout.split_once("\n\n").expect("settings");
    insta::assert_snapshot!(settings, @r#"
    SETTING        VALUE                                       FROM
    definition     it                                          `work.definition`
    base           main                                        checked out now
    source         "folder"                                    default
    from           ".saihai/issues"                            default
    forge          "local"                                     default
    merge          false                                       default
    jobs           1                                           default
    branch_prefix  "feature/"                                  default
    auto           true                                        `--auto`
    gates          ["pre-loop","post-completion","before-pr"]  default
    worktree_root  ".worktrees"                                default
    copy_files     []                                          default
    labels         true                                        default
    label_prefix   "saihai"                                    default
    comments       "none"                                      default
    cleanup        "delivered"                                 default
    "#);
    // U-19: without `-v`, the plan is one line for each issue.
    let plan = work(&project, &["--list", "--auto"]).run().exits(0).stdout;
    assert_eq!(plan.lines().count(), 2, "{plan}");
    // With `--json`, stdout has only the results.
    project.write(".saihai/issues/9.md", "# A third\n");
    let json = auto(&project, &["--issues", "9", "--json", "--keep"]).exits(0);
    assert!(!json.stderr.contains("cleanup"), "{json}");
    assert_eq!(json.json().len(), 2);
    // Each value names its origin: a flag, the definition, a file, or the default.
    project.write(
        "orch.yml",
        "gates: [before-pr]\nhats:\n  h: {name: H, triggers: [task.start], publishes: [task.go], instructions: x}\n",
    );
    let settings = "[work]\ndefinition = \"orch\"\nlabel_prefix = \"x\"\ngates = []\nbase = \"main\"\n";
    project.write(".saihai/config.toml", settings);
    let list =
        |flags: &[&str]| project.saihai([&["work", "--list", "--jobs", "3"], flags].concat()).run().exits(0);
    let plan = list(&["--json"]).json()[0].clone();
    let origin = |key: &str| {
        let said = plan["settings"].as_array().expect("settings").iter().find(|said| said["key"] == key);
        said.map(|said| format!("{} by {}", said["value"], said["origin"].as_str().unwrap_or_default()))
    };
    assert_eq!(origin("jobs").as_deref(), Some("3 by `--jobs`"));
    assert_eq!(origin("gates").as_deref(), Some("[\"before-pr\"] by the definition"));
    assert_eq!(origin("label_prefix").as_deref(), Some("\"x\" by .saihai/config.toml:3"));
    assert_eq!(origin("comments").as_deref(), Some("\"none\" by default"));
    assert_eq!((&plan["base_from"], &plan["base"]), (&"`work.base`".into(), &"main".into()));
    let text = list(&["-v"]).stdout;
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(rows.contains(&vec!["gates", "[\"before-pr\"]", "`orch`"]), "{text}");
    assert!(rows.contains(&vec!["label_prefix", "\"x\"", ".saihai/config.toml:3"]), "{text}");
    project.write(".saihai/config.toml", "");
    project.write(".saihai/issues/8.md", "# Another\n");
    let unnamed = auto(&project, &["--issues", "8"]).exits(2);
    assert!(unnamed.stderr.contains("no definition for #8"), "{unnamed}");
}

// Case 5: numbers with the same prefix stay distinct.
#[test]
fn four_and_forty_two_are_never_mixed() {
    let labels = |scene: &Scene, number: u64| scene.server.state().issues[&number].labels.clone();
    let reply = |title: &str, file: &str| {
        format!("  - {{text: 'Done. [STEP:0]', prompt: '{title}', writes: [{{path: {file}, content: x}}]}}\n")
    };
    let replies = format!("{}{}", reply("Four", "4.txt"), reply("Forty-two", "42.txt"));
    let scene = Scene::new(&replies, |state| {
        state.issue(4, "Four", &["saihai"]);
        state.issue(42, "Forty-two", &["saihai"]).body = "Depends on #4".to_owned();
    });
    let outcome = scene.work(&["--label", "saihai", "--keep"]).exits(6);
    assert_eq!(outcomes(&outcome), ["#4 pr-created", "#42 waiting"]);
    assert_eq!(labels(&scene, 4), ["saihai", "saihai:completed", "saihai:pr-created"]);
    assert_eq!(labels(&scene, 42), ["saihai", "saihai:queued"]);
    assert_eq!(branches(&scene.project), ["feature/issue-4", "main"]);
    let outcome = scene.work(&["--issues", "42", "--ignore-deps", "--keep"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#42 pr-created"]);
    let state = scene.server.state();
    let heads: Vec<&str> = state.pull_requests.values().map(|one| one.head.as_str()).collect();
    assert_eq!(heads, ["feature/issue-4", "feature/issue-42"]);
    assert_eq!((state.issues[&4].comments.len(), state.issues[&42].comments.len()), (1, 1));
    for number in ["4", "42"] {
        assert!(scene.project.root().join(format!(".worktrees/issue-{number}/{number}.txt")).exists());
        assert!(scene.project.root().join(format!(".git/saihai/issue-{number}.lock")).exists());
    }
}

// Case 22, I-23: Saihai shortens a title to the available space and treats a blank title as missing.
#[test]
fn titles_are_cut_where_they_go_and_a_blank_one_fails_before_the_start() {
    let long = "長い ".repeat(100);
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(7, "\u{7}\u{202e}\n", &["saihai"]);
        state.issue(8, &format!("a\u{202e}b\n{long}"), &["saihai"]).body = "x".repeat(100_001);
    });
    let outcome = scene.work(&["--label", "saihai"]).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 failed", "#8 pr-created"]);
    assert!(outcome.stdout.contains("blank-title"), "{outcome}");
    assert!(outcome.stderr.contains("warning: #8: 1 character of its text omitted"), "{outcome}");
    let subject = scene.remote(&["log", "-1", "--format=%s", "feature/issue-8"]);
    let title = &scene.server.state().pull_requests[&9].title;
    assert!(subject.starts_with("a b 長い 長い") && title.starts_with("a b 長い 長い"), "{subject} {title}");
    assert!(subject.chars().count() <= 72 + " (#8)".len(), "{subject}");
    assert!(title.chars().count() <= 200 + " (#8)".len(), "{title}");
    assert!(title.chars().count() > 190, "{title}");
    // The same for a local merge.
    let here = repository(&writes("fixed.txt"));
    here.write(".saihai/issues/8.md", format!("# {long}\n"));
    commit(&here);
    auto(&here, &["--merge"]).exits(0);
    let message = git(&here, &["log", "-1", "--format=%B", "saihai/merge/main"]);
    assert!(message.starts_with("Merge feature/issue-8 into main\n\n長い 長い"), "{message}");
    assert!(message.lines().all(|line| line.chars().count() <= 72), "{message}");
    // The prompt says that the text is shortened; the run keeps the whole text.
    let prompt = scene.project.journal().prompt("fix");
    assert_eq!(longest_row_of_x(prompt.as_bytes()), 100_000);
    assert!(prompt.contains("[The text of this issue goes on for 1 "), "{}", &prompt[prompt.len() - 400..]);
    let kept = scene.project.run_directory();
    let mut longest = 0;
    for directory in [kept.clone(), kept.join("blobs")] {
        for entry in std::fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            longest = longest.max(std::fs::read(path).map_or(0, |bytes| longest_row_of_x(&bytes)));
        }
    }
    assert_eq!(longest, 100_001);
}

fn longest_row_of_x(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte != b'x').map(<[u8]>::len).max().unwrap_or(0)
}

// I-28, cases 8 and 12: the check comes first, even before a label.
#[test]
fn a_circle_is_refused_before_the_forge_hears_of_anything() {
    let refused = |change: &dyn Fn(&mut ForgeState), path: &str| {
        let scene = Scene::new(&writes("f"), change);
        let outcome = scene.work(&["--label", "saihai", "--resolve-deps"]).exits(2);
        assert!(outcome.stderr.contains(path), "{outcome}");
        assert_eq!(scene.server.writes(), [""; 0]);
        assert_eq!(branches(&scene.project), ["main"]);
    };
    refused(&|state| state.issue(1, "One", &["saihai"]).body = "Depends on #1".to_owned(), "#1 -> #1");
    refused(
        &|state| {
            state.issue(1, "One", &["saihai"]).body = "Depends on #2".to_owned();
            state.issue(2, "Two", &[]).body = "Blocked by #1".to_owned();
        },
        "#1 -> #2 -> #1",
    );
    refused(
        &|state| {
            for number in 1..=21 {
                let body = format!("Depends on #{}", number + 1);
                state.issue(number, "N", &["saihai"]).body = body;
            }
            state.issue(22, "N", &[]);
        },
        "more than 20 issues",
    );
}

// I-30, cases 13 and 16
#[test]
fn a_dependency_that_is_open_is_added_or_passed_over_only_when_that_is_said() {
    let issues = [(1, "# One\n\nDepends on #2\n"), (2, "# Two\n")];
    let after = |flags: &[&str]| {
        let project = with(&issues, &writes("fixed.txt"));
        let arguments = [&["--issues", "1", "--merge"], flags].concat();
        let outcome = auto(&project, &arguments);
        (outcomes(&outcome), outcome)
    };
    let (rows, outcome) = after(&[]);
    assert_eq!((rows, outcome.code), (vec!["#1 blocked".to_owned()], Some(1)));
    assert!(
        outcome.stdout.contains("--resolve-deps") && outcome.stdout.contains("--ignore-deps"),
        "{outcome}"
    );
    assert_eq!(after(&["--resolve-deps"]).0, ["#2 merged", "#1 no-changes"]);
    assert_eq!(after(&["--ignore-deps"]).0, ["#1 merged"]);
    assert_eq!(after(&["--resolve-deps", "--ignore-deps"]).1.code, Some(2));
    let missing = with(&[(1, "# One\n\nDepends on #404\n")], &writes("fixed.txt"));
    let outcome = auto(&missing, &[]).exits(1);
    assert_eq!(outcomes(&outcome), ["#1 blocked"]);
    assert_eq!(missing.runs(), [""; 0]);
}

// I-31: a declined or conflicting dependency blocks like a failed one.
#[test]
fn whatever_became_of_a_dependency_decides_about_those_who_need_it() {
    let issues = [(1, "# First\n\nDepends on #2\n"), (2, "# Second\n"), (3, "# Third\n")];
    let declined = with(&issues, &writes("fixed.txt"));
    work(&declined, &["--issues", "2"]).run().exits(6);
    declined.saihai(["answer", &declined.runs()[0], "no"]).run().exits(0);
    let outcome = work(&declined, &["--issues", "1,2"]).run().exits(1);
    assert_eq!(outcomes(&outcome), ["#2 declined", "#1 blocked"], "{outcome}");
    let ready = with(&issues, &writes("fixed.txt"));
    let outcome = auto(&ready, &[]).exits(6);
    assert_eq!(outcomes(&outcome), ["#2 branch-ready", "#1 waiting", "#3 branch-ready"]);
    assert!(outcome.stdout.contains("#2 is branch-ready (feature/issue-2)"), "{outcome}");
}

// I-46: the first signal parks, the second kills. Finished work survives both.
#[test]
fn a_second_signal_ends_everything_at_once_and_nothing_is_lost() {
    let replies = "  - {text: 'Done. [STEP:0]', prompt: First, writes: [{path: f, content: x}]}\n  - {hang: true, prompt: Second}\n  - {text: 'Done. [STEP:0]', prompt: Second, writes: [{path: g, content: x}]}\n";
    let project = with(&[(1, "# First\n"), (2, "# Second\n")], replies);
    let mut call = work(&project, &["--auto", "--jobs", "2"]).start();
    call.wait_for_note("#1 branch-ready");
    call.signal(Signal::INT);
    call.wait_for_note("press Ctrl-C again to quit immediately");
    call.signal(Signal::INT);
    call.finish().exits(3);
    let kept = project.root().join(".saihai/batches");
    let result = std::fs::read_dir(kept).expect("batches").next().expect("one").expect("it").path();
    let result = std::fs::read_to_string(result.join("result.json")).expect("results");
    assert!(result.contains("branch-ready"), "{result}");
    project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("g")));
    let outcome = auto(&project, &["--issues", "1,2"]);
    assert_eq!(outcomes(&outcome)[0], "#1 branch-ready", "{outcome}");
    assert_eq!(project.runs().iter().filter(|run| run.ends_with("issue-1")).count(), 1);
}

// I-46: agents end even if they ignore the signal, and no waiting issue starts.
#[test]
fn agents_end_with_the_second_signal_and_nobody_is_begun_after_the_first() {
    let project = with(&[(1, "# First\n"), (2, "# Second\n"), (3, "# Third\n")], "");
    let marks = project.home().join("agents");
    std::fs::create_dir(&marks).expect("a directory");
    // The agent and its child both ignore the signal.
    let agent = format!(
        "#!/bin/sh\ntrap '' TERM INT HUP\ncat > /dev/null\nsleep 600 &\necho $! > {0}/$$.child\necho $$ > {0}/$$\nwait\nwait\n",
        marks.display()
    );
    project.write("../home/agent", agent);
    let program = project.home().join("agent");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let own = format!(
        "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"{}\"\nhonours = [\"readonly\", \"edit\"]\n",
        program.display()
    );
    project.write("../home/.config/saihai/config.toml", own);
    let mut call = project.saihai(["work", "--auto", "--jobs", "2"]).start();
    let processes = || -> Vec<String> {
        let files = std::fs::read_dir(&marks).expect("a directory").map(|one| one.expect("it").path());
        files.filter_map(|file| std::fs::read_to_string(file).ok()).map(|id| id.trim().to_owned()).collect()
    };
    while processes().iter().filter(|id| !id.is_empty()).count() < 4 {
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    let alive = || {
        let is_there = |id: &String| {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
        };
        processes().into_iter().filter(is_there).count()
    };
    assert_eq!(alive(), 4, "two agents and a child of each");
    call.signal(Signal::INT);
    call.wait_for_note("press Ctrl-C again to quit immediately");
    call.signal(Signal::INT);
    call.finish().exits(3);
    assert_eq!(alive(), 0);
    assert!(project.runs().iter().all(|run| !run.ends_with("issue-3")), "{:?}", project.runs());
}

// I-74: the worst outcome decides the exit code, and only full success counts as success.
#[test]
fn the_exit_code_is_that_of_the_worst_and_success_is_claimed_only_then() {
    let code = |replies: &str| {
        let project = with(&[(1, "# First\n"), (2, "# Second\n")], replies);
        let outcome = auto(&project, &[]);
        assert_eq!(outcome.stdout.contains("all done"), outcome.code == Some(0), "{outcome}");
        outcome.code
    };
    let first = |what: &str| {
        format!("  - {{prompt: First, {what}}}\n  - {{text: 'Done. [STEP:0]', prompt: Second}}\n")
    };
    assert_eq!(code(&first("text: 'Done. [STEP:0]'")), Some(0));
    assert_eq!(code(&first("text: 'No. [STEP:1]'")), Some(1));
    assert_eq!(code(&first("fail: {class: auth, message: no}")), Some(4));
}

// I-32: the error names the owner of an issue, and no process waits. When the owner's process ends, its
// lock is gone.
#[test]
fn an_issue_has_one_owner_whichever_command_asks() {
    let project = with(&[(7, "# Login fails\n")], &format!("  - {{hang: true}}\n{}", writes("fixed.txt")));
    let mut owner = work(&project, &["--auto"]).start();
    owner.wait_for_note("#7 fix");
    let process = owner.pid();
    let run = || project.saihai(["run", "it", "--issue", "7", "--script", "script.yaml"]).run();
    let by = format!("error: #7 is being worked on by process {process}, run `{}`\n", project.runs()[0]);
    assert_eq!(run().exits(2).stderr, by);
    let other = auto(&project, &[]).exits(0);
    assert_eq!(outcomes(&other), ["#7 elsewhere"]);
    assert!(other.stdout.contains(&format!("process {process}")), "{other}");
    // Another worktree of the same repository.
    git(&project, &["worktree", "add", "--quiet", "-b", "beside", "../beside"]);
    let beside = project.root().join("../beside");
    let call = project.saihai(["run", "it", "--issue", "7", "--script", "script.yaml"]).directory(&beside);
    let refused = call.run().exits(2);
    assert!(refused.stderr.contains(&format!("#7 is being worked on by process {process}")), "{refused}");
    assert_eq!(project.runs().len(), 1);
    owner.signal(Signal::KILL);
    owner.finish();
    let lock = project.read(".git/saihai/issue-7.lock");
    assert!(!lock.is_empty(), "the file stays and means nothing");
    let outcome = auto(&project, &[]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready"], "{outcome}");
}

// I-14: Saihai only reads a folder of issues.
#[test]
fn a_folder_of_issues_is_never_written() {
    let text = "---\nid: 7\nlabels: [bug]\npriority: 2\n---\n# Login fails\n";
    let project = with(&[(7, text), (8, "# Another\n\nDepends on #7\n")], &writes("fixed.txt"));
    auto(&project, &["--merge"]).exits(0);
    let folder = project.root().join(".saihai/issues");
    let mut names: Vec<_> =
        std::fs::read_dir(folder).expect("it").map(|one| one.expect("it").file_name()).collect();
    names.sort();
    assert_eq!(names, ["7.md", "8.md"]);
    assert_eq!(project.read(".saihai/issues/7.md"), text);
}
