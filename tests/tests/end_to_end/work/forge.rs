//! Reads from and writes to a forge, one complete requirement per test.

use std::os::unix::fs::PermissionsExt as _;

use saihai_connect::forge::testing::{Board, BoardItem, ForgeState, KeptComment, Wrong};

use super::github::Scene;
use super::{outcomes, writes};

const TOKEN: &str = "canary-token-4711";

fn seven(state: &mut ForgeState) {
    state.issue(7, "Login fails", &["saihai"]);
}

// I-1: Saihai lists issues, starts one run for each, waits, delivers, merges, and reports all results.
#[test]
fn issues_are_listed_begun_waited_for_handed_over_and_collected_in_this_order() {
    let reply = |title: &str, file: &str| {
        format!("  - {{text: 'Done. [STEP:0]', prompt: '{title}', writes: [{{path: {file}, content: x}}]}}\n")
    };
    let replies = format!("{}{}", reply("Login fails", "one"), reply("Another", "two"));
    let scene = Scene::new(&replies, |state| {
        seven(state);
        state.issue(8, "Another", &["saihai"]);
    });
    let outcome = scene.work(&["--label", "saihai", "--merge"]).exits(0);
    let notes = |number: &str| {
        let own = format!("#{number} ");
        outcome.stderr.lines().filter_map(|line| line.strip_prefix(&own)).collect::<Vec<&str>>()
    };
    for (number, title) in [("7", "Login fails"), ("8", "Another")] {
        let own = notes(number);
        assert!(own[0].trim_start().starts_with(title), "the plan: {own:?}");
        assert!(own[1].starts_with("run ") && own[1].ends_with(&format!("-issue-{number}")), "{own:?}");
        let stages: Vec<&str> =
            own[2..].iter().map(|stage| stage.rsplit('/').next().unwrap_or(stage)).collect();
        let around = ["pre-loop", "worktree", "fix", "finalize", "post-completion"];
        let handed = ["push", "pull-request", "checks", "merge", "comment", "clean-up", "merged"];
        assert_eq!(stages, [&around[..], &handed].concat());
    }
    assert_eq!(scene.project.runs().len(), 2, "one for each");
    let lines: Vec<String> = scene.server.requests().iter().map(|request| request.line()).collect();
    let place =
        |line: &str| lines.iter().position(|one| one == line).unwrap_or_else(|| panic!("{line}: {lines:?}"));
    let first_write = lines.iter().position(|line| !line.starts_with("GET ")).expect("a write");
    assert!(place("GET /repos/me/tool/issues") < first_write, "{lines:?}");
    assert!(place("POST /repos/me/tool/pulls") < place("PUT /repos/me/tool/pulls/9/merge"), "{lines:?}");
    assert_eq!(outcomes(&outcome), ["#7 merged", "#8 merged"]);
}

// I-13: if the forge has no such base, the plan fails before Saihai writes anything to the forge.
#[test]
fn a_base_that_the_forge_has_not_is_refused_in_the_plan_and_so_is_a_merge_without_a_pull_request() {
    let scene = Scene::new(&writes("fixed.txt"), seven);
    super::git(&scene.project, &["branch", "only-here"]);
    let refused = |flags: &[&str]| {
        let outcome = scene.work(&[&["--label", "saihai"], flags].concat()).exits(2);
        assert_eq!((scene.project.runs().len(), scene.server.writes().len()), (0, 0), "{outcome}");
        super::without_exclude_note(&outcome.stderr)
    };
    for none in ["only-here", "main~1", "HEAD"] {
        let said = refused(&["--base", none, "--list"]);
        assert_eq!(said, refused(&["--base", none]));
        let expected = format!(
            "error: the server has no branch `{none}`\n  = help: push it, or name a branch that is there: `git ls-remote --heads`\n  = help: the base branch comes from: `--base`\n"
        );
        assert_eq!(said, expected);
    }
    let nothing = refused(&["--merge", "--no-pr"]);
    let expected = "error: a merge on the forge needs a pull request, and `--no-pr` disables pull requests\n  = help: remove it, or do not pass `--merge` (`work.merge`)\n";
    assert_eq!(nothing, expected);
    scene.remote(&["branch", "feature", "main"]);
    assert!(refused(&[]).contains("another `branch_prefix`"), "{}", refused(&[]));
    // An unreachable server is not a usage error.
    super::git(&scene.project, &["remote", "set-url", "origin", "/nowhere/at/all"]);
    let away = scene.work(&["--label", "saihai"]).exits(4);
    assert!(away.stderr.contains("error: cannot query the server"), "{away}");
}

// A merge by a person counts even if our run failed. Saihai also reports dependencies on other repositories
// that the forge lists.
#[test]
fn a_pull_request_that_a_person_merged_after_our_run_failed_frees_its_dependants() {
    let replies = format!("  - {{text: 'No. [STEP:1]', prompt: 'Login fails'}}\n{}", writes("two.txt"));
    let scene = Scene::new(&replies, |state| {
        seven(state);
        let another = state.issue(8, "Another", &["saihai"]);
        another.body = "Depends on #7".to_owned();
        another.blocked_by = vec![("other/repo".to_owned(), 12)];
    });
    let first = scene.work(&["--label", "saihai"]).exits(1);
    assert_eq!(outcomes(&first), ["#7 failed", "#8 blocked"]);
    let warning = "warning: #8 depends on other/repo#12, which is in another repository and is ignored";
    assert_eq!(first.stderr.matches(warning).count(), 1, "{first}");
    // A pull request from an earlier life of the issue: the base contained it before our run started.
    let before = scene.remote(&["rev-parse", "main"]);
    let merged = |number: u64, commit: &str| {
        scene.server.change(|state| {
            let request = state.pull_request(number, "feature/issue-7", commit);
            (request.merged, request.closed) = (true, true);
        });
    };
    merged(9, &before);
    assert_eq!(outcomes(&scene.work(&["--label", "saihai"]).exits(1)), ["#7 failed", "#8 blocked"]);
    super::git(&scene.project, &["commit", "--quiet", "--allow-empty", "--message", "by hand"]);
    let by_hand = super::git(&scene.project, &["rev-parse", "HEAD"]);
    merged(10, &by_hand);
    // A pull request to another branch does not count for this base (I-70).
    let goes_to = |base: &str| {
        let base = base.to_owned();
        scene.server.change(|state| state.pull_requests.get_mut(&10).expect("it").base = base);
    };
    goes_to("other");
    assert_eq!(outcomes(&scene.work(&["--label", "saihai"]).exits(1)), ["#7 failed", "#8 blocked"]);
    goes_to("main");
    scene.project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("two.txt")));
    let after = scene.work(&["--label", "saihai"]).exits(0);
    assert_eq!(outcomes(&after), ["#8 pr-created", "#7 merged"], "{after}");
}

// I-17, with the test of the client: board items that are no issues of this repository are skipped and listed.
#[test]
fn a_board_is_worked_off_and_what_is_none_of_our_issues_is_listed_as_skipped() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        seven(state);
        state.issue(8, "Another", &[]);
        let here = |number| BoardItem::Issue("me/tool".to_owned(), number);
        let todo = || Some("Todo".to_owned());
        let items = vec![
            (here(7), todo()),
            (here(8), Some("Done".to_owned())),
            (BoardItem::Draft("An idea".to_owned()), todo()),
            (BoardItem::Issue("other/repo".to_owned(), 3), todo()),
        ];
        state.boards.insert(("me".to_owned(), 5), Board(items));
    });
    let outcome = scene.work(&["--project", "me/5", "--project-status", "Todo"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 pr-created"]);
    for skipped in
        ["skipped: the draft `An idea` has no number", "skipped: other/repo#3 belongs to another repository"]
    {
        assert_eq!(outcome.stderr.matches(skipped).count(), 1, "{skipped}: {outcome}");
    }
}

// I-30: a board selects only the issues that it lists under the right status.
#[test]
fn what_is_not_of_the_board_is_in_the_way_of_what_depends_on_it_until_it_is_closed() {
    let reply = "  - {text: 'Done. [STEP:0]', times: '*', writes: [{path: f, content: x}]}\n";
    let scene = Scene::new(reply, |state| {
        state.issue(5, "Not on the board", &[]);
        state.issue(6, "Under another status", &[]);
        seven(state);
        state.issues.get_mut(&7).expect("it").body = "Depends on #5".to_owned();
        state.issue(8, "Another", &[]).body = "Blocked by: #6".to_owned();
        state.issue(9, "Free", &[]);
        let here = |number| BoardItem::Issue("me/tool".to_owned(), number);
        let status = |word: &str| Some(word.to_owned());
        let items = [(6, "Later"), (7, "Todo"), (8, "Todo"), (9, "Todo")];
        let items = items.map(|(number, word)| (here(number), status(word)));
        state.boards.insert(("me".to_owned(), 5), Board(items.to_vec()));
    });
    let board = ["--project", "me/5", "--project-status", "Todo"];
    let outcome = scene.work(&board).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 blocked", "#8 blocked", "#9 pr-created"], "{outcome}");
    for (number, of) in [(7, 5), (8, 6)] {
        let why = format!(
            "#{number}: dependency: #{of} is open; `--resolve-deps` also works on it, `--ignore-deps` ignores it"
        );
        assert!(outcome.stdout.contains(&why), "{why}: {outcome}");
    }
    assert_eq!(scene.project.runs().len(), 1);
    scene.server.change(|state| state.issues.get_mut(&5).expect("it").closed = true);
    let closed = scene.work(&board).exits(1);
    assert_eq!(outcomes(&closed), ["#7 pr-created", "#8 blocked", "#9 pr-created"], "{closed}");
    let both = scene.work(&[&board[..], &["--resolve-deps"]].concat()).exits(6);
    assert_eq!(outcomes(&both), ["#7 pr-created", "#6 pr-created", "#8 waiting", "#9 pr-created"], "{both}");
    let all = scene.work(&[&board[..], &["--ignore-deps"]].concat()).exits(0);
    assert_eq!(outcomes(&all), ["#7 pr-created", "#8 pr-created", "#9 pr-created"], "{all}");
}

// `comments`: the agent sees comments only on request, and only from people whom the repository trusts.
#[test]
fn comments_reach_the_agent_only_if_asked_for_and_only_from_those_who_are_trusted() {
    let told = |settings: &str, arguments: &[&str]| {
        let scene = Scene::new(&writes("fixed.txt"), |state| {
            let comment = |id, association: &str| KeptComment {
                id,
                author: association.to_lowercase(),
                association: association.to_owned(),
                body: format!("Said by {association}."),
            };
            let roles = ["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "NONE"];
            seven(state);
            state.issues.get_mut(&7).expect("it").comments =
                roles.iter().zip(1..).map(|(role, id)| comment(id, role)).collect();
        });
        scene.project.write(".saihai/config.toml", format!("[work]\ndefinition = \"it\"\n{settings}"));
        let all = [arguments, &["--script", "script.yaml", "--auto"]].concat();
        let call = scene.project.saihai(all).env("GITHUB_API_URL", scene.server.url());
        call.env("GITHUB_TOKEN", TOKEN).env("SAIHAI_WORK__REPO", "me/tool").run().exits(0);
        let journal = scene.project.journal();
        let said = journal.facts("asked").next().expect("a turn").to_string();
        ["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "NONE"]
            .into_iter()
            .filter(|role| said.contains(&format!("Said by {role}.")))
            .collect::<Vec<&str>>()
    };
    let (work, run) = (["work", "--issues", "7"], ["run", "it", "--issue", "7"]);
    for arguments in [&work[..], &run] {
        assert_eq!(told("", arguments), [""; 0], "{arguments:?}");
        let trusted = told("comments = \"trusted\"\n", arguments);
        assert_eq!(trusted, ["OWNER", "MEMBER", "COLLABORATOR"], "{arguments:?}");
    }
}

// I-16: Saihai reads the needed fields and all pages, and a pull request is no issue; see also the tests of
// the client
#[test]
fn a_pull_request_is_no_issue_also_where_it_is_named() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        seven(state);
        state.issue(8, "A change", &["saihai"]).is_pull_request = true;
    });
    let refused = scene.work(&["--issues", "7,8"]).exits(2);
    assert!(refused.stderr.contains("#8 is a pull request, not an issue"), "{refused}");
    assert_eq!((scene.project.runs().len(), scene.server.writes().len()), (0, 0));
}

// I-18, case 43: the token comes from the variable or from `gh`, and reaches no other process.
#[test]
fn a_token_is_found_in_two_ways_and_reaches_neither_agents_nor_command_lines_nor_anything_that_is_kept() {
    let seen = |settings: &str| {
        let scene = Scene::new("", seven);
        let home = scene.project.home();
        let programs = home.join("programs");
        std::fs::create_dir_all(&programs).expect("a directory");
        let program = |name: &str, text: &str| {
            let path = programs.join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a program");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
            path.display().to_string()
        };
        let log = home.join("said");
        let agent = program(
            "agent",
            &format!("cat > /dev/null; env > {}; echo x > f; echo '[STEP:0]'", home.join("given").display()),
        );
        program("git", &format!("echo \"git $*\" >> {}; exec /usr/bin/git \"$@\"", log.display()));
        program("gh", &format!("test \"$1 $2\" = 'auth token' && echo {TOKEN}"));
        let directory = home.join(".config/saihai");
        std::fs::create_dir_all(&directory).expect("a directory");
        let own = format!(
            "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"{agent}\"\nhonours = [\"readonly\", \"edit\"]\n{settings}"
        );
        std::fs::write(directory.join("config.toml"), own).expect("settings");
        let path = format!("{}:/usr/bin:/bin", programs.display());
        let arguments = ["work", "--repo", "me/tool", "--auto", "--label", "saihai"];
        let call = || scene.project.saihai(arguments).env("GITHUB_API_URL", scene.server.url());
        let none = call().run().exits(2);
        assert!(
            none.stderr.contains("set `GITHUB_TOKEN`, or log in with `gh auth login --hostname"),
            "{none}"
        );
        let call = call().env("PATH", path);
        let call = if settings.is_empty() { call } else { call.env("GITHUB_TOKEN", TOKEN) };
        let outcome = call.run().exits(0);
        assert_eq!(outcomes(&outcome), ["#7 pr-created"]);
        assert!(!format!("{outcome}").contains(TOKEN), "{outcome}");
        let said = std::fs::read_to_string(log).expect("command lines");
        assert!(said.contains("push") && !said.contains(TOKEN), "{said}");
        assert!(!scene.project.snapshot_contains(TOKEN), "it was kept");
        let state = scene.server.state();
        let bodies = state.pull_requests.values().map(|one| &one.body);
        assert!(
            bodies
                .chain(state.issues[&7].comments.iter().map(|one| &one.body))
                .all(|text| !text.contains(TOKEN))
        );
        assert!(scene.server.requests().iter().all(|request| !request.line().contains(TOKEN)));
        let held = scene.remote(&["log", "--all", "--format=%B", "-p"]);
        assert!(!held.contains(TOKEN), "{held}");
        std::fs::read_to_string(home.join("given")).expect("what the agent was given")
    };
    let given = seen("");
    assert!(given.contains("SAIHAI_RUN=") && !given.contains(TOKEN), "{given}");
    let passed = seen("env_pass = [\"GITHUB_TOKEN\"]\n");
    assert!(passed.contains(&format!("GITHUB_TOKEN={TOKEN}")), "{passed}");
}

// I-20: each cause has its own message and exit code; see also the tests of the client
#[test]
fn what_a_forge_does_not_give_is_told_by_its_cause() {
    let scene = Scene::new(&writes("fixed.txt"), seven);
    let path = "/repos/me/tool/issues/7";
    let check = |wrong: Wrong, code: i32, expected: &str| {
        scene.server.goes_wrong("GET", path, wrong.clone(), 4);
        let outcome = scene.work(&["--issues", "7"]).exits(code);
        assert!(outcome.stderr.contains(expected), "{wrong:?}: {outcome}");
        scene.server.goes_right();
    };
    let status = |code: u16| Wrong::Status(code, "words of the forge".to_owned());
    check(status(404), 2, "issue #7 was not found");
    check(status(410), 2, "issue #7 was not found");
    check(status(401), 4, "no rights for issue #7: words of the forge");
    check(status(403), 4, "no rights for issue #7: words of the forge");
    check(status(502), 4, "issue #7 failed for now");
    check(Wrong::CutBefore, 4, "issue #7 failed for now");
    check(Wrong::Body("{\"number\": \"x\"}".to_owned()), 4, "cannot parse the answer about");
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    scene.server.goes_wrong("GET", path, Wrong::RateLimit { reset: now + 2 }, 1);
    scene.server.change(|state| state.issues.get_mut(&7).expect("it").closed = true);
    let closed = scene.work(&["--issues", "7"]).exits(0);
    assert!(closed.stderr.contains("the forge's rate limit is reached; waiting"), "{closed}");
    assert_eq!(outcomes(&closed), ["#7 closed"]);
    assert!(closed.stderr.contains("nothing to do"), "{closed}");
    assert_eq!((scene.project.runs().len(), scene.server.writes().len()), (0, 0));
}

// I-26: dependencies that the forge records count once each; the parser tests cover dependencies in text
#[test]
fn what_blocks_an_issue_on_the_forge_comes_first() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        let issue = state.issue(7, "Second", &["saihai"]);
        issue.blocked_by = vec![("me/tool".to_owned(), 9), ("other/repo".to_owned(), 8)];
        issue.body = "Depends on #9".to_owned();
        state.issue(9, "First", &["saihai"]);
    });
    let listed = scene.work(&["--label", "saihai", "--list", "--json"]).exits(0).json();
    let order: Vec<String> =
        listed.iter().map(|one| format!("{} after {}", one["issue"], one["after"])).collect();
    assert_eq!(order, ["9 after []", "7 after [9]"]);
    assert_eq!((scene.server.writes(), scene.project.runs()), (vec![], vec![]), "a plan does nothing");
}

// Case 2
#[test]
fn of_three_issues_two_become_pull_requests_and_the_third_keeps_its_files() {
    let replies = "  - {text: 'No. [STEP:1]', prompt: Bad, writes: [{path: half.txt, content: x}]}\n  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}], times: '*'}\n";
    let scene = Scene::new(replies, |state| {
        for (number, title) in [(1, "Good"), (2, "Bad"), (3, "Also")] {
            state.issue(number, title, &["saihai"]);
        }
    });
    let outcome = scene.work(&["--label", "saihai", "--jobs", "3"]).exits(1);
    assert_eq!(outcomes(&outcome), ["#1 pr-created", "#2 failed", "#3 pr-created"]);
    assert_eq!((scene.project.runs().len(), scene.server.state().pull_requests.len()), (3, 2));
    let kept = scene.project.root().join(".worktrees/issue-2");
    assert!(outcome.stdout.contains(&format!("#2: its files are in `{}`", kept.display())), "{outcome}");
    assert!(kept.join("half.txt").exists());
    assert_eq!(std::fs::read_dir(scene.project.root().join(".worktrees")).expect("it").count(), 1);
    assert!(!outcome.stdout.contains("all done"), "{outcome}");
}

// I-60, with the tests of red checks, of drafts and of checks that never appear
#[test]
fn a_merge_waits_until_it_can_be_and_says_what_a_person_must_do() {
    let scene = |settings: &str, change: &dyn Fn(&mut ForgeState)| {
        let scene = Scene::new(&writes("fixed.txt"), |state| {
            seven(state);
            change(state);
        });
        let settings = format!("[work]\ndefinition = \"it\"\nchecks_timeout = \"2s\"\n{settings}");
        scene.project.write(".saihai/config.toml", settings);
        scene
    };
    let merge = |scene: &Scene, code: i32| scene.work(&["--label", "saihai", "--merge"]).exits(code);
    let pending = |state: &mut ForgeState| state.pending = true;
    // The check misses its time limit and finishes later.
    let slow = scene("", &pending);
    let waits = merge(&slow, 6);
    assert!(waits.stdout.contains("checks-timeout"), "{waits}");
    slow.server.change(|state| state.pending = false);
    assert_eq!(outcomes(&merge(&slow, 0)), ["#7 merged"]);
    let merged = slow.server.requests().into_iter().find(|request| request.path.ends_with("/merge"));
    let tip = slow.remote(&["log", "-1", "--format=%H", "--grep=^Saihai-Issue: 7$", "--no-merges", "main"]);
    assert_eq!(merged.expect("a merge").body["sha"], tip, "that very commit");
    // The forge has not yet computed whether the pull request is mergeable.
    let computing = scene("", &|state| state.mergeable = None);
    assert!(merge(&computing, 6).stdout.contains("checks-timeout"));
    computing.server.change(|state| state.pull_requests.get_mut(&8).expect("it").mergeable = Some(true));
    assert_eq!(outcomes(&merge(&computing, 0)), ["#7 merged"]);
    // The settings allow a merge without checks.
    let unchecked = scene("merge_without_checks = true\n", &|state| state.all_green = false);
    assert_eq!(outcomes(&merge(&unchecked, 0)), ["#7 merged"]);
    // The forge forbids the merge method, so a person decides.
    let forbidden = scene("merge_method = \"squash\"\n", &|state| {
        state.forbidden_method = Some("squash".to_owned());
    });
    let waits = merge(&forbidden, 6);
    assert!(waits.stdout.contains("Squash merges are not allowed on this repository."), "{waits}");
    assert!(!forbidden.server.state().pull_requests[&8].merged);
}

// I-71: Saihai does not repeat an action whose result is unknown. The next call checks again.
#[test]
fn what_may_have_happened_is_looked_up_and_not_repeated_where_nobody_can_say() {
    let unknown = |scene: &Scene, why: &str| {
        let outcome = scene.work(&["--label", "saihai", "--merge"]).exits(1);
        assert_eq!(outcomes(&outcome), ["#7 unknown"], "{outcome}");
        assert!(outcome.stdout.contains(why), "{outcome}");
        assert!(outcome.stdout.contains("check the pull request, then run this command again"), "{outcome}");
        assert_eq!(scene.server.state().issues[&7].labels, ["saihai", "saihai:failed"]);
    };
    let again = |scene: &Scene, requests: usize| {
        let outcome = scene.work(&["--label", "saihai", "--merge"]).exits(0);
        assert_eq!(outcomes(&outcome), ["#7 merged"], "{outcome}");
        let state = scene.server.state();
        assert_eq!((state.pull_requests.len(), state.issues[&7].comments.len()), (requests, 1));
        assert_eq!(state.issues[&7].labels, ["saihai", "saihai:completed", "saihai:merged"]);
    };
    let down = || Wrong::Status(502, "bad gateway".to_owned());
    // The pull request exists, but the answer got lost and the lookup fails.
    let opened = Scene::new(&writes("fixed.txt"), seven);
    opened.server.goes_wrong("POST", "/repos/me/tool/pulls", Wrong::CutAfter, 1);
    opened.server.goes_wrong_after("/repos/me/tool/pulls", "/repos/me/tool/pulls", down(), 4);
    unknown(&opened, "it is unknown if a pull request of `feature/issue-7` was opened");
    again(&opened, 1);
    // The same for a merge.
    let merged = Scene::new(&writes("fixed.txt"), seven);
    merged.server.goes_wrong("PUT", "/repos/me/tool/pulls/8/merge", Wrong::CutAfter, 1);
    merged.server.goes_wrong_after("/repos/me/tool/pulls/8/merge", "/repos/me/tool/pulls/8", down(), 4);
    unknown(&merged, "it is unknown if pull request #8 was merged");
    again(&merged, 1);
    // Two pull requests match until a person closes one.
    let two = Scene::new(&writes("fixed.txt"), |state| {
        seven(state);
        state.pull_request(3, "feature/issue-7", "0000");
        state.pull_request(4, "feature/issue-7", "0000");
    });
    let outcome = two.work(&["--label", "saihai"]).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 unknown"], "{outcome}");
    assert!(outcome.stdout.contains("#3, #4"), "{outcome}");
    two.server.change(|state| state.pull_requests.get_mut(&3).expect("it").closed = true);
    let outcome = two.work(&["--label", "saihai"]).exits(0);
    assert!(outcome.stdout.contains("/pull/4"), "{outcome}");
    assert_eq!(two.server.state().pull_requests.len(), 2);
}

// I-16, I-22: an issue of another repository is no task here, even if it once had a number here.
#[test]
fn an_issue_that_was_transferred_is_refused_and_blocks_its_dependants() {
    let scene = Scene::new(&writes("f"), |state| {
        let there = "/repositories/99/issues/51".to_owned();
        let foreign = "{\"number\": 51, \"title\": \"Theirs\", \"state\": \"closed\", \
                       \"repository_url\": \"https://api.github.com/repos/other/repo\"}";
        state.outside.insert(there.clone(), serde_json::from_str(foreign).expect("an issue"));
        state.redirects.insert("/repos/me/tool/issues/50".to_owned(), there);
        state.issue(7, "Needs it", &["saihai"]).body = "Depends on #50".to_owned();
    });
    let refused = scene.work(&["--issues", "50"]).exits(2);
    assert!(refused.stderr.contains("issue #50 was transferred to other/repo#51"), "{refused}");
    let blocked = scene.work(&["--label", "saihai"]).exits(1);
    assert_eq!(outcomes(&blocked), ["#7 blocked"], "{blocked}");
    assert_eq!(scene.project.runs(), [""; 0]);
}
