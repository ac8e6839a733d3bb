//! Subjects of a review.

use super::*;

fn told(arguments: &[&str], project: &Project) -> String {
    let outcome = explain(project, &[&["--agent", "code-reviewer"], arguments].concat());
    format!("{}? {}", outcome.stderr, outcome.code.expect("an exit code"))
}

// case 31
#[test]
fn one_word_is_a_revision_or_a_file_and_never_guessed() {
    let project = repository();
    project.write("main/x.py", "print(2)\n").write("only", "x\n");
    insta::assert_snapshot!(told(&["main"], &project), @"
    error: `main` is both a revision and a file
      = help: `saihai review --base main` reviews the changes since that revision
      = help: `saihai review ./main` reviews the file or directory
    ? 2
    ");
    insta::assert_snapshot!(told(&["nothing"], &project), @"
    error: `nothing` is neither a revision nor a file here
      = help: `git fetch` downloads revisions that only the remote has
    ? 2
    ");
    insta::assert_snapshot!(told(&["123"], &project), @"
    error: `123` is neither a revision nor a file here
      = help: `saihai review --pr 123` reviews a pull request
    ? 2
    ");
    for right in [&["--base", "main"][..], &["./main"], &["only"], &["HEAD"], &["main", "only"], &["*.py"]] {
        assert_eq!(told(right, &project), "? 0", "{right:?}");
    }
    insta::assert_snapshot!(told(&["only", "gone", "lost"], &project), @"
    error: `gone`, `lost` do not exist
    ? 2
    ");
    insta::assert_snapshot!(told(&["--base", "nowhere"], &project), @"
    error: the revision `nowhere` does not exist here
      = help: `git fetch` downloads revisions of the remote
    ? 2
    ");
}

// case 29
#[test]
fn an_unchanged_tree_is_nothing_to_review() {
    assert_eq!(told(&[], &repository()), "note: nothing to review against `main`\n? 0");
}

// cases 27 and 30
#[test]
fn what_cannot_be_read_as_text_is_said_and_ignored_files_are_not_looked_at() {
    let project = repository();
    project.write(".gitignore", "secret.env\n").write("secret.env", "try:\n");
    project.write("latin.txt", b"caf\xe9\n").write("logo.png", b"\x89PNG\0");
    insta::assert_snapshot!(told(&[], &project), @"
    warning: `latin.txt` is not UTF-8: invalid bytes are read as `�`
    note: `logo.png` is skipped: binary
    ? 0
    ");
    let agents = explain(&project, &["--json"]).exits(0).json()[0]["agents"].clone();
    let hunter = agents.as_array().expect("agents").iter().find(|one| one["name"] == "silent-failure-hunter");
    assert_eq!(hunter.expect("it")["selected"], false);
}

//
#[test]
fn bytes_that_are_no_text_break_nothing_and_are_matched_and_shown_alike() {
    let applies = |patterns: &str| format!("[applicability]\n{patterns}\n");
    let project = reviewed_by(&[
        ("hidden", &applies("content_patterns = ['canary']")),
        ("name", &applies("file_patterns = ['*.png']")),
        ("text", &applies("content_patterns = ['caf\\uFFFD!']")),
    ]);
    project
        .write(".gitattributes", "marked.txt -diff\n")
        .write("marked.txt", "1\n")
        .write("tracked.png", b"\0");
    commit(&project);
    project.write("marked.txt", "text all the same\n").write("tracked.png", b"\0canary");
    project.write("new.png", [vec![b'x'; 8_191], b"\0canary".to_vec()].concat());
    project
        .write("latin.py", b"caf\xe9! \xff\n")
        .write("also.py", b"caf\xe9!\n")
        .write("two\nlines.py", "x = 1\n");
    let outcome = review(&project, &[none("main/name"), none("main/text")].concat(), &["--json"]).exits(0);
    let told = report(&outcome);
    assert_eq!(statuses(&told), ["name success", "text success"]);
    let left = |file: &str| serde_json::json!({"file": file, "reason": "binary"});
    assert_eq!(told["not_reviewed"], serde_json::json!([left("new.png"), left("tracked.png")]));
    let warned: Vec<&str> = outcome.stderr.lines().filter(|line| line.contains("is not UTF-8")).collect();
    assert_eq!(warned.len(), 2, "{outcome}");
    assert!(warned[0].contains("`also.py`") && warned[1].contains("`latin.py`"), "{outcome}");
    let prompts = project.journal().prompts();
    let shown = |text: &str| prompts.iter().filter(|(_, prompt)| prompt.contains(text)).count();
    assert_eq!(
        (shown("+caf\u{fffd}! \u{fffd}\n"), shown("+text all the same"), shown("canary"), shown("lines.py")),
        (1, 1, 0, 1),
        "{prompts:?}"
    );
}

// attributes in a foreign change hide nothing from reviewers
#[test]
fn a_change_that_calls_its_own_files_binary_is_reviewed_like_any_other() {
    let project = reviewed_by(&[("a", "[applicability]\ncontent_patterns = ['drop_all']")]);
    git(&project, &["switch", "--quiet", "--create", "topic"]);
    project.write(".gitattributes", "*.py -diff\n").write("store.py", "def run():\n    drop_all()\n");
    commit(&project);
    let arguments = ["--json", "--require-all", "--definitions-from", "main"];
    let told = report(&review(&project, &one("main/a", "critical"), &arguments).exits(1));
    assert_eq!(told["not_reviewed"], serde_json::json!([]));
    let finding = &told["findings"][0];
    assert_eq!((&finding["anchor"], &finding["start_line"]), (&"added".into(), &2.into()), "{told:#}");
}

// Binary content is never sent, even if an attribute marks it as text. The report lists the file
#[test]
fn what_an_attribute_calls_text_is_left_out_and_listed_where_it_is_none() {
    let project = reviewed_by(&[("a", "")]);
    project.write(".gitattributes", "*.bin diff\n").write("data.bin", b"canary-1\n\0\n");
    commit(&project);
    project.write("data.bin", b"canary-2\n\0\n").write("more.py", "more = 1\n");
    let told = report(&review(&project, &none("main/a"), &["--json"]).exits(0));
    assert_eq!(told["not_reviewed"], serde_json::json!([{"file": "data.bin", "reason": "binary"}]));
    let prompt = project.journal().prompt("main");
    assert!(prompt.contains("- data.bin") && prompt.contains("more = 1"), "{prompt}");
    assert!(!prompt.contains("canary"), "{prompt}");
}

// Renamed files have their new name, nested repositories are skipped, and `--no-untracked` skips new files
#[test]
fn a_change_is_told_by_the_names_its_files_have_now() {
    let reviewed = |arguments: &[&str]| {
        let project = reviewed_by(&[("a", "")]);
        git(&project, &["mv", "kept.py", "renamed.py"]);
        project.write("other/x", "1\n");
        git(&project, &["init", "--quiet", "other"]);
        let outcome = review(&project, &none("main/a"), &[arguments, &["--json"]].concat()).exits(0);
        (project.journal().prompt("main"), report(&outcome)["not_reviewed"].clone())
    };
    let (prompt, left) = reviewed(&[]);
    assert!(prompt.contains("files:\n- renamed.py <- kept.py\n- store.py\n"), "{prompt}");
    assert_eq!(left, serde_json::json!([{"file": "other", "reason": "submodule"}]));
    let (prompt, left) = reviewed(&["--no-untracked"]);
    assert!(prompt.contains("files:\n- renamed.py <- kept.py\n\n"), "{prompt}");
    assert_eq!(left, serde_json::json!([]));
}

// case 29: a clone without the required history
#[test]
fn where_there_is_no_common_history_the_hint_says_how_to_get_it() {
    let project = repository();
    git(&project, &["switch", "--quiet", "--orphan", "alone"]);
    project.write("b.py", "print(2)\n");
    commit(&project);
    insta::assert_snapshot!(told(&["main"], &project), @"
    error: `main` and the current commit have no common history here
      = help: a shallow clone lacks it: `git fetch --unshallow` downloads the history
    ? 2
    ");
}

// case 27: in the review itself
#[test]
fn what_is_no_text_is_shown_as_far_as_it_goes() {
    let project = reviewed_by(&[("a", "")]);
    project.write("latin.txt", b"caf\xe9 au lait\n").write("logo.png", b"\x89PNG\0");
    let told = report(&review(&project, &none("main/a"), &["--json"]).exits(0));
    let warning = "`latin.txt` is not UTF-8: invalid bytes are read as `\u{fffd}`";
    assert_eq!(told["warnings"], serde_json::json!([warning]));
    assert_eq!(told["not_reviewed"], serde_json::json!([{"file": "logo.png", "reason": "binary"}]));
    let prompt = project.journal().prompt("main");
    assert!(prompt.contains("+caf\u{fffd} au lait\n") && prompt.contains("- logo.png: binary\n"), "{prompt}");
}

// without git, Saihai reviews whole files but no changes
#[test]
fn without_git_only_files_can_be_looked_at() {
    let project = Project::new(PROGRAM);
    project.write("a.py", "print(1)\n");
    assert_eq!(told(&["a.py"], &project), "? 0");
    let refused = explain(&project, &[]).exits(2);
    assert!(refused.stderr.contains("is not in a git repository"), "{refused}");
    assert!(refused.stderr.contains("= help: name files to review them whole"), "{refused}");
}

// the setting names the base, and a flag overrides it
#[test]
fn the_setting_names_the_base() {
    let project = repository();
    git(&project, &["branch", "--quiet", "develop"]);
    project.write(".saihai/config.toml", "[review]\nbase = \"develop\"\n");
    commit(&project);
    git(&project, &["branch", "--quiet", "--force", "develop"]);
    assert_eq!(told(&[], &project), "note: nothing to review against `develop`\n? 0");
    assert_eq!(told(&["--base", "HEAD"], &project), "note: nothing to review against `HEAD`\n? 0");
}

// K-20
#[test]
fn an_agent_that_is_run_by_its_file_reviews_what_has_changed() {
    let project = reviewed_by(&[("x", "[applicability]\n")]);
    project.write("script.yaml", format!("script: 1\nreplies:\n{}", one("main/x", "important")));
    let run = |arguments: &[&str]| {
        project
            .saihai([&["run", ".saihai/agents/x.toml", "--script", "script.yaml"], arguments].concat())
            .run()
    };
    assert!(run(&[]).exits(1).stdout.contains("main/x found it"));
    insta::assert_snapshot!(run(&["a task"]).exits(2).stderr, @"
    error: `.saihai/agents/x.toml` is a review agent and takes no task
      = help: it reviews changes: see `saihai review --help`
    ");
    project.write("elsewhere/x.toml", agent("y", ""));
    insta::assert_snapshot!(project.saihai(["run", "elsewhere/x.toml"]).run().exits(2).stderr, @"
    error: `elsewhere/x.toml` is not a review agent of this project
      = help: agents are files in `.saihai/agents/` or `.hachimoku/agents/`
    ");
}

// git reports a hash for a file in the working directory as if the object existed.
#[test]
fn a_binary_file_that_was_moved_and_edited_is_no_reason_to_refuse_a_review() {
    let project = reviewed_by(&[("a", "")]);
    project.write("logo.bin", [&b"\0\x01"[..], &b"logo ".repeat(200)].concat());
    commit(&project);
    git(&project, &["mv", "logo.bin", "sign.bin"]);
    project.write("sign.bin", [&b"\0\x01"[..], &b"logo ".repeat(200), b"more"].concat());
    project.write("new.py", "print(3)\n");
    let told = report(&review(&project, &none("main/a"), &["--json", "--base", "HEAD"]).exits(0));
    let left_out = told["not_reviewed"].to_string();
    assert!(left_out.contains("sign.bin") && left_out.contains("binary"), "{left_out}");
}
