//! `saihai work` in a job of GitHub Actions.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use saihai_connect::forge::testing::ForgeState;
use serde_json::Value;

use super::github::Scene;
use super::{git_in, writes};
use crate::support::PROGRAM;

/// The job from the manual. The test compares it byte for byte.
const JOB: &str = r#"on: { issues: { types: [labeled] } }
permissions: { contents: write, issues: write, pull-requests: write }
concurrency: saihai-issue-${{ github.event.issue.number }}
jobs:
  saihai:
    if: github.event.label.name == 'saihai'
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: saihai work --event --definition default --auto --json
        env: { GITHUB_TOKEN: "${{ github.token }}" }
"#;

const TOKEN: &str = "ghs_canary4711";

/// Text that a runner would execute as commands if it appeared in the output.
const HOSTILE: &str = "::add-mask::a ##[add-mask]b";

/// Returns the lines that a runner executes: `::name::` at the start of a line, `##[name]` anywhere.
fn obeyed(output: &str) -> Vec<&str> {
    let is_command = |line: &&str| {
        let begins = line.trim_start().strip_prefix("::").is_some_and(|rest| rest.contains("::"));
        begins || line.split_once("##[").is_some_and(|(_, rest)| rest.contains(']'))
    };
    output.split(['\n', '\r']).filter(is_command).collect()
}

/// A GitHub runner for one job: a fresh clone, no git identity, and the variables of the event.
struct Machine<'a> {
    scene: &'a Scene,
    directory: PathBuf,
}

impl<'a> Machine<'a> {
    fn new(scene: &'a Scene, name: &str) -> Self {
        let directory = scene.project.root().parent().expect("a parent").join(name);
        let [checkout, home, programs] = ["checkout", "home", "programs"].map(|one| directory.join(one));
        for made in [&checkout, &home, &programs] {
            std::fs::create_dir_all(made).expect("a directory");
        }
        symlink(PROGRAM, programs.join("saihai")).expect("the program");
        // The same steps as `actions/checkout`.
        let remote = git_in(&scene.project.root(), &["remote", "get-url", "origin"]);
        for step in [
            &["init", "--quiet"][..],
            &["remote", "add", "origin", &remote],
            &["fetch", "--quiet", "--depth=1", &format!("file://{remote}"), "+main:refs/remotes/origin/main"],
            &["checkout", "--quiet", "--force", "-B", "main", "refs/remotes/origin/main"],
        ] {
            git_in(&checkout, step);
        }
        let event =
            "{\"action\": \"labeled\", \"label\": {\"name\": \"saihai\"}, \"issue\": {\"number\": 7}}";
        std::fs::write(directory.join("event.json"), event).expect("the event");
        Self { scene, directory }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Runs a line of the job in a shell, with the environment of a runner.
    fn run(&self, line: &str) -> Output {
        let mut shell = Command::new("bash");
        shell.args(["-e", "-c", line]).current_dir(self.file("checkout")).env_clear();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.file("programs").display());
        for (name, value) in [("CI", "true"), ("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_NAME", "issues")] {
            shell.env(name, value);
        }
        for (name, file) in [
            ("HOME", "home"),
            ("GITHUB_EVENT_PATH", "event.json"),
            ("GITHUB_STEP_SUMMARY", "summary.md"),
            ("GITHUB_OUTPUT", "output"),
            ("GITHUB_ENV", "env"),
        ] {
            shell.env(name, self.file(file));
        }
        shell.env("PATH", path).env("LANG", "C.UTF-8").env("GITHUB_REPOSITORY", "me/tool");
        shell.env("GITHUB_API_URL", self.scene.server.url()).env("GIT_CONFIG_NOSYSTEM", "1");
        // Each machine has its own script.
        shell.env("SAIHAI_SCRIPT", self.file("checkout/script.yaml"));
        // The job passes the token to its step, and the runner fills it in.
        shell.env("GITHUB_TOKEN", TOKEN).output().expect("a shell")
    }
}

impl Machine<'_> {
    /// Makes the agent of this machine write its own file, so that jobs differ.
    fn writes(self, file: &str) -> Self {
        let script = std::fs::read_to_string(self.file("checkout/script.yaml")).expect("a script");
        std::fs::write(self.file("checkout/script.yaml"), script.replace("fixed.txt", file))
            .expect("another");
        self
    }
}

/// Pushes to the base branch, as other people do while a job runs.
fn push_to_main(scene: &Scene) {
    super::git(&scene.project, &["commit", "--quiet", "--allow-empty", "--message", "meanwhile"]);
    super::git(&scene.project, &["push", "--quiet", "origin", "main"]);
}

/// Creates a repository whose agent answers every prompt and writes runner commands.
fn scene(change: impl FnOnce(&mut ForgeState)) -> Scene {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(7, &format!("{HOSTILE} fails"), &["saihai"]);
        change(state);
    });
    let says = format!("text: \"Done.\\n{HOSTILE}\\n[STEP:0]\"");
    let fixes = format!("  - {{{says}, for: implement, writes: [{{path: fixed.txt, content: x}}]}}\n");
    scene.project.write("script.yaml", format!("script: 1\nreplies:\n{fixes}  - {{{says}, times: \"*\"}}\n"));
    scene.project.write(
        ".saihai/config.toml",
        "provider = \"script\"\n[work]\nrepo = \"me/tool\"\nchecks_timeout = \"2s\"\n",
    );
    super::commit(&scene.project);
    super::git(&scene.project, &["push", "--quiet", "origin", "main"]);
    scene
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

// I-77
#[test]
fn the_job_of_the_manual_turns_a_labelled_issue_into_a_pull_request_once() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let page = std::fs::read_to_string(page.join("docs/guides/work-in-ci.md")).expect("the manual");
    assert!(page.contains(&format!("```yaml\n{JOB}```\n")), "the manual shows another job");
    let line = JOB.lines().find_map(|line| line.trim().strip_prefix("- run: ")).expect("its line");
    // The complete workflow in the manual contains the same job.
    let complete = page.split("```yaml\n").find(|block| block.starts_with("name: saihai")).expect("it");
    let same = ["types: [labeled]", "contents: write", "issues: write", "pull-requests: write"];
    let same = same.into_iter().chain(JOB.lines().map(str::trim).filter(|line| {
        ["concurrency:", "if:", "runs-on:", "- uses:"].iter().any(|key| line.starts_with(key))
    }));
    for part in same.chain(line.split(' ')).chain(["GITHUB_TOKEN: ${{ github.token }}"]) {
        assert!(complete.contains(part), "{part}");
    }

    let scene = scene(|_| {});
    let first = Machine::new(&scene, "first");
    let output = first.run(line);
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}{told}");
    assert_eq!((obeyed(said), obeyed(told)), (vec![], vec![]));
    let objects: Vec<Value> =
        said.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let [item, batch] = objects.as_slice() else { panic!("{said}") };
    assert_eq!((&item["outcome"], &batch["exit"]), (&"pr-created".into(), &0.into()), "{said}");
    assert_eq!(item["title"], format!("{HOSTILE} fails"), "whoever reads JSON reads what was written");
    let batch = format!("checkout/.saihai/batches/{}/result.md", batch["batch"].as_str().expect("its name"));
    let summary = std::fs::read_to_string(first.file("summary.md")).expect("a summary");
    let results = std::fs::read_to_string(first.file(&batch)).expect("the results");
    assert_eq!(summary, format!("{results}\n"), "a table ends at an empty line");
    assert!(!first.file("output").exists() && !first.file("env").exists());
    let author = scene.remote(&["log", "-1", "--format=%an <%ae>", "feature/issue-7"]);
    assert_eq!(author, "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>");

    // `concurrency` makes the second job of an issue wait. It then finds the work of the first job.
    let writes = scene.server.writes().len();
    let second = Machine::new(&scene, "second").run(line);
    assert_eq!(second.status.code(), Some(0), "{}", text(&second.stderr));
    assert!(text(&second.stdout).contains("\"outcome\":\"pr-created\""), "{}", text(&second.stdout));
    assert_eq!((scene.server.state().pull_requests.len(), scene.server.writes().len()), (1, writes));
}

// Output for people is also escaped: titles, reasons, and the final reply of `run`.
#[test]
fn nothing_that_others_wrote_is_a_command_to_a_runner() {
    let scene = scene(|_| {});
    let machine = Machine::new(&scene, "machine");
    for line in [
        "saihai work --event --definition default --list",
        "saihai work --event --definition default",
        "saihai work --event --definition default --auto",
        "saihai run default 'The task.'",
        "saihai run default 'The task.' --json",
        "saihai show last",
    ] {
        let output = machine.run(line);
        let (said, told) = (text(&output.stdout), text(&output.stderr));
        assert!(matches!(output.status.code(), Some(0 | 6)), "{line}: {said}{told}");
        assert_eq!((obeyed(said), obeyed(told)), (vec![], vec![]), "{line}");
        assert!(format!("{said}{told}").contains("add-mask"), "{line}: {said}{told}");
    }
    assert_eq!(obeyed(&format!("x\n{HOSTILE}\n")), [HOSTILE], "it would have been one");
}

// GitHub starts no checks for a pull request opened with a job token. The message must explain this, not
// only report a timeout.
#[test]
fn who_wants_a_merge_with_the_token_of_a_job_is_told_why_there_are_no_checks() {
    let scene = scene(|state| state.all_green = false);
    let line = "saihai work --event --definition default --auto --merge";
    let output = Machine::new(&scene, "machine").run(line);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(6), "{said}{}", text(&output.stderr));
    let why = "no check has started for https://github.com/me/tool/pull/8; pull requests opened with the token of GitHub Actions start no checks: use another token";
    assert!(said.contains(why), "{said}");
    assert!(!scene.server.state().pull_requests[&8].merged);
    // Outside a job, the message does not mention tokens.
    let elsewhere = scene.work(&["--issues", "7", "--merge", "--definition", "default", "--retry"]).exits(6);
    assert!(elsewhere.stdout.contains("no check has started"), "{elsewhere}");
    assert!(!elsewhere.stdout.contains("token"), "{elsewhere}");
}

// I-34, I-39, I-72: a shallow clone may start after the commit where an earlier job created its branch.
#[test]
fn a_job_goes_on_with_the_branch_of_another_though_its_clone_is_shallow_and_the_base_has_moved() {
    let line = "saihai work --event --definition default --auto";
    let scene = scene(|_| {});
    assert_eq!(Machine::new(&scene, "first").run(line).status.code(), Some(0));
    let began = scene.remote(&["rev-parse", "main"]);
    push_to_main(&scene);
    let second = Machine::new(&scene, "second").writes("second.txt");
    let output = second.run(&format!("{line} --retry"));
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}{told}");
    assert_eq!(scene.remote(&["merge-base", "main", "feature/issue-7"]), began);
    assert_eq!(scene.remote(&["rev-list", "--count", "main..feature/issue-7"]), "2");
    // The same holds when no agent turn is needed.
    push_to_main(&scene);
    let output = Machine::new(&scene, "third").run(&format!("{line} --merge"));
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}{told}");
    assert!(scene.server.state().pull_requests[&8].merged, "{said}{told}");
}
