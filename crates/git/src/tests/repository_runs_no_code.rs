//! Repositories that try to make us run programs.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::tests::*;

/// Programs that an agent left in a repository. Each leaves a trace of its name when it runs.
struct Trap {
    scene: Scene,
}

/// Keys that name a program.
const KEYS: [&str; 27] = [
    "core.fsmonitor",
    "core.sshCommand",
    "core.pager",
    "core.editor",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "sequence.editor",
    "diff.external",
    "diff.own.command",
    "diff.own.textconv",
    "merge.own.driver",
    "filter.own.clean",
    "filter.own.smudge",
    "filter.own.process",
    "credential.helper",
    "gpg.program",
    "gpg.ssh.program",
    "pager.diff",
    "pager.log",
    "interactive.diffFilter",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "uploadpack.packObjectsHook",
    "gc.recentObjectsHook",
    "trailer.own.command",
    "submodule.x.update",
];
const HOOKS: [&str; 22] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

impl Trap {
    fn new() -> Self {
        let scene = Scene::new();
        scene.git(&["init", "--quiet", "--bare", "../remote.git"]);
        fs::create_dir(scene.beside("traces")).unwrap();
        Self { scene }
    }

    /// Creates a program that leaves a trace.
    fn program(&self, name: &str) -> String {
        let path = self.scene.beside(&format!("programs/{name}"));
        let trace = self.scene.beside(&format!("traces/{name}"));
        write(&path, &format!("#!/bin/sh\ntouch '{}'\n", trace.display()));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    fn configure(&self, key: &str) {
        self.scene.git(&["config", key, &self.program(key)]);
    }

    fn hook(&self, name: &str) {
        let program = self.program(name);
        let hook = self.scene.made.root().join(".git/hooks").join(name);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        symlink(program, hook).unwrap();
    }

    /// Arms everything except some keys, as the first agent would for the second.
    fn arm(&self, but: &[&str]) {
        for key in KEYS.iter().filter(|key| !but.contains(key)) {
            self.configure(key);
        }
        for hook in HOOKS {
            self.hook(hook);
        }
        for command in ["status", "commit-tree", "read-tree", "update-ref", "push", "merge-tree"] {
            let program = self.program(&format!("alias.{command}"));
            self.scene.git(&["config", &format!("alias.{command}"), &format!("!{program}")]);
        }
        self.scene.git(&["config", "commit.gpgSign", "true"]);
        self.scene.git(&["config", "filter.own.required", "true"]);
        self.scene.git(&["config", "remote.origin.url", &format!("ext::{} x", self.program("ext"))]);
        self.scene.git(&["config", "protocol.ext.allow", "always"]);
        self.scene.git(&["config", "url.ext::evil.insteadOf", "file://"]);
        let included = format!("[core]\n\tfsmonitor = {}\n", self.program("included"));
        self.scene.write("repository/.git/more", &included);
        if !but.contains(&"include.path") {
            self.scene.git(&["config", "include.path", "more"]);
        }
        self.scene.write("repository/.git/info/attributes", "* filter=own diff=own merge=own\n");
    }

    fn traces(&self) -> Vec<String> {
        let mut traces: Vec<String> = fs::read_dir(self.scene.beside("traces"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        traces.sort();
        traces
    }

    /// Redirects the `.git` file of a worktree to a repository that starts a program.
    fn redirect(&self, worktree: &Worktree) {
        self.scene.git(&["init", "--quiet", "../elsewhere"]);
        let elsewhere = self.scene.beside("elsewhere");
        git(&elsewhere, &["config", "core.fsmonitor", &self.program("redirected")]);
        fs::write(worktree.path().join(".git"), format!("gitdir: {}/.git\n", elsewhere.display())).unwrap();
    }

    /// Runs all our operations on a repository: create, status, commit, push, merge, rescue, clean up.
    fn do_everything(&self, repository: &Repository) {
        let scene = &self.scene;
        let base = repository.base("main").unwrap();
        let item = item(7);
        let root = Path::new(".worktrees");
        let placing = PlaceItemRequest {
            item: &item,
            base: &base,
            worktree_root: root,
            copy_files: &[],
            ours: BranchOwnership::ByTrailers,
            refill: WorktreeContent::Rescue,
        };
        repository.exclude(&[root]).unwrap();
        let PlaceItemOutcome::Created(worktree) = repository.place(placing).unwrap() else {
            panic!("it was there")
        };
        let lock = lock(repository, 7);
        self.redirect(&worktree);
        write(&worktree.path().join("a.txt"), "two\n");
        write(&worktree.path().join(".gitattributes"), "* filter=own diff=own merge=own\n");
        let finalizing = CommitWorkRequest {
            worktree: &worktree,
            base: &base,
            title: "t",
            run: "r",
            copied: &[],
            secrets: &[b"not to be found".to_vec()],
        };
        let CommitWorkOutcome::Ready(ready) = repository.finalize(finalizing, &lock).unwrap() else {
            panic!("not ready")
        };
        let url = format!("file://{}", scene.beside("remote.git").display());
        let pushing =
            GitPushRequest { url: &url, branch: "feature/issue-7", commit: &ready.commit, token: None };
        assert_eq!(repository.push(pushing, &lock).unwrap(), GitPushOutcome::Done);
        let merging =
            GitMergeRequest { item: &item, base: "main", commit: &ready.commit, title: "t", run: "r" };
        let merged = repository.merge(merging, Some(&mut |_: &Path| true), &lock).unwrap();
        assert!(matches!(merged, GitMergeOutcome::Done { .. }), "{merged:?}");
        write(&worktree.path().join("left"), "left\n");
        let (worktree, base, merged_into) = (&worktree, &base, &base.holders());
        let cleaning = CleanUpRequest { worktree, base, copied: &[], merged_into };
        let cleaned = repository.clean_up(cleaning, &lock).unwrap();
        assert!(
            matches!(cleaned, CleanUpOutcome::Removed { rescued: Some(_), branch: BranchRemoval::Removed }),
            "{cleaned:?}"
        );
    }
}

// I-37, T-82, with the next two tests and the one about embedded repositories
#[test]
fn nothing_that_an_agent_left_in_a_repository_runs() {
    let trap = Trap::new();
    let repository = trap.scene.repository();
    trap.arm(&[]);
    trap.do_everything(&repository);
    assert_eq!(trap.traces(), [""; 0]);
}

#[test]
fn nothing_runs_where_the_agent_was_there_before_us_either() {
    let trap = Trap::new();
    // Git would prefer these to others with the same effect.
    trap.arm(&["include.path", "filter.own.process", "diff.external"]);
    trap.do_everything(&trap.scene.repository());
    assert_eq!(trap.traces(), [""; 0]);
}

// I-18, I-37: git runs in a worktree, and a relative entry in `PATH` could lead to an agent's file.
#[test]
fn no_file_of_a_worktree_is_taken_for_a_program_and_none_is_told_the_token() {
    let trap = Trap::new();
    let scene = &trap.scene;
    for name in ["git", "bin/git", "bin/shout"] {
        scene.made.write(name, &format!("#!/bin/sh\ntouch '{}'\n", scene.beside("traces/taken").display()));
        let file = scene.made.root().join(name);
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    scene.made.commit("with programs");
    let told = scene.beside("told");
    let own = fs::read_to_string(scene.beside("home/.gitconfig")).unwrap();
    let filter = format!("[filter \"own\"]\n\tclean = \"env >> '{}'; shout; cat\"\n", told.display());
    scene.write("home/.gitconfig", &format!("{own}{filter}"));
    let path = std::env::var("PATH").unwrap();
    let variables = |path: &str| {
        let home = scene.beside("home");
        GitEnvironment::of([
            ("PATH".into(), path.into()),
            ("GIT_CONFIG_GLOBAL".into(), home.join(".gitconfig").into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
            ("HOME".into(), home.into()),
            ("GITHUB_TOKEN".into(), "ghs_one".into()),
            ("GH_TOKEN".into(), "ghs_two".into()),
            ("GH_ENTERPRISE_TOKEN".into(), "ghs_three".into()),
        ])
    };
    let environment = variables(&format!(":./bin:bin:.:{path}:"));
    trap.do_everything(&Repository::open(scene.made.root(), &environment).unwrap());
    assert_eq!(trap.traces(), [""; 0]);
    let told = fs::read_to_string(told).unwrap();
    assert!(!told.contains("ghs_"), "{told}");
    let only_relative = Repository::open(scene.made.root(), &variables("./bin:"));
    assert!(only_relative.is_ok(), "git is where it usually is: {only_relative:?}");
    assert_eq!(trap.traces(), [""; 0]);
}

// Without this control, the first two tests could pass because nothing was armed.
#[test]
fn plain_git_runs_what_an_agent_left() {
    let trap = Trap::new();
    trap.arm(&[]);
    let plain = |arguments: &[&str]| {
        Command::new("git")
            .args(arguments)
            .current_dir(trap.scene.made.root())
            .env("GIT_CONFIG_GLOBAL", trap.scene.beside("home/.gitconfig"))
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap()
    };
    trap.scene.write("repository/a.txt", "two\n");
    for command in [
        &["status"][..],
        &["diff"],
        // That filter fails, and git stops there.
        &["-c", "filter.own.process=", "-c", "filter.own.required=false", "diff"],
        &["-c", "filter.own.process=", "-c", "filter.own.required=false", "commit", "--all", "-m", "x"],
        &["add", "--all"],
        &["checkout", "-b", "other"],
        &["log", "-p", "--ext-diff"],
        &["fetch", "origin"],
        &["push", "origin", "main"],
        &["push", "ssh://nobody@localhost.invalid/x", "main"],
    ] {
        plain(command);
    }
    let traces = trap.traces();
    assert!(traces.len() >= 8, "{traces:?}");
}

// I-37
#[test]
fn a_git_file_that_leads_elsewhere_is_not_followed() {
    let trap = Trap::new();
    let work = Work::on(trap.scene);
    let other = Scene::new();
    fs::write(work.worktree.path().join(".git"), format!("gitdir: {}/.git\n", other.made.root().display()))
        .unwrap();
    work.write("a.txt", "two\n");
    let before = other.git(&["for-each-ref"]);
    let ready = work.ready();
    assert_eq!(work.scene.git(&["rev-parse", "feature/issue-7"]), ready.commit);
    let (worktree, base) = (&work.worktree, &work.base);
    let cleaning = CleanUpRequest { worktree, base, copied: &[], merged_into: &[] };
    let cleaned = work.repository.clean_up(cleaning, &work.lock).unwrap();
    assert_eq!(cleaned, CleanUpOutcome::Removed { rescued: None, branch: BranchRemoval::Kept });
    assert_eq!(other.git(&["for-each-ref"]), before);
    assert!(other.made.root().join("a.txt").exists());
}

#[test]
fn the_configuration_of_an_embedded_repository_does_not_run() {
    let trap = Trap::new();
    let inner = Scene::new();
    let from = inner.made.root().display().to_string();
    trap.scene.git(&["submodule", "--quiet", "add", &from, "sub"]);
    trap.scene.made.commit("with a submodule");
    let program = trap.program("inner");
    let Trap { scene } = trap;
    let work = Work::on(scene);
    work.git(&["submodule", "--quiet", "update", "--init"]);
    work.git(&["init", "--quiet", "emb"]);
    for directory in ["sub", "emb"] {
        let directory = work.worktree.path().join(directory);
        for key in ["core.fsmonitor", "diff.external", "filter.own.clean"] {
            git(&directory, &["config", key, &program]);
        }
    }
    work.write("sub/a.txt", "changed\n").write("emb/x", "x\n").write("a.txt", "two\n");
    assert!(matches!(work.finalize(), CommitWorkOutcome::Failed { .. }));
    let keep = RescueCondition::Everything;
    work.repository.rescue(&work.worktree, &work.base.commit, &[], keep).unwrap();
    assert!(!work.scene.beside("traces/inner").exists());
}

#[test]
fn an_address_that_names_a_program_is_not_pushed_to() {
    let trap = Trap::new();
    let program = trap.program("ext");
    let traces = trap.scene.beside("traces");
    let work = Work::on(trap.scene);
    work.write("a.txt", "two\n");
    let commit = work.ready().commit;
    for url in
        [format!("ext::{program} x"), format!("--upload-pack={program}"), format!("--receive-pack={program}")]
    {
        let pushing = GitPushRequest { url: &url, branch: "feature/issue-7", commit: &commit, token: None };
        let pushed = work.repository.push(pushing, &work.lock).unwrap();
        assert!(matches!(pushed, GitPushOutcome::Unread { .. }), "{url}: {pushed:?}");
    }
    assert_eq!(fs::read_dir(traces).unwrap().count(), 0);
}

// The user's own filters are trusted.
#[test]
fn a_filter_of_the_users_own_is_used() {
    let scene = Scene::new();
    let own = fs::read_to_string(scene.beside("home/.gitconfig")).unwrap();
    scene.write(
        "home/.gitconfig",
        &format!("{own}[filter \"own\"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n"),
    );
    scene.made.write(".gitattributes", "*.up filter=own\n").commit("with a filter");
    let work = Work::on(scene);
    work.write("x.up", "loud\n");
    let ready = work.ready();
    assert_eq!(work.scene.git(&["show", &format!("{}:x.up", ready.commit)]), "LOUD");
    let again = work.scene.git(&["rev-parse", "feature/issue-7"]);
    fs::remove_dir_all(work.worktree.path()).unwrap();
    let worktree = work.scene.place(7);
    assert_eq!(fs::read_to_string(worktree.path().join("x.up")).unwrap(), "loud\n");
    assert_eq!(again, ready.commit);
}

// A person who looks with plain git at a gate would see the replaced objects instead of the merged ones.
#[test]
fn our_git_goes_by_neither_replaced_objects_nor_grafts() {
    let work = Work::new();
    work.write("new.sh", "new\n").git(&["add", "--all"]);
    work.git(&["commit", "--quiet", "-m", "x"]);
    let commit = work.git(&["rev-parse", "HEAD"]);
    let tree = format!("{}^{{tree}}", work.base.commit);
    let harmless = work.git(&["commit-tree", "-p", &work.base.commit, "-m", "x", &tree]);
    work.git(&["replace", &commit, &harmless]);
    work.scene.write("repository/.git/info/grafts", &format!("{commit}\n"));
    assert_eq!(work.git(&["diff", "--name-only", &work.base.commit, "HEAD"]), "", "the control");
    let ready = work.ready();
    assert_eq!((ready.files, ready.commit), (vec![PathBuf::from("new.sh")], commit));
}
