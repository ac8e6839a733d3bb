//! The policy, without a process.

use std::fs;
use std::path::{Path, PathBuf};

use saihai_model::{Permission, ProviderKind, SandboxChoice, SandboxHost, SandboxNetwork, SandboxSettings};

use super::*;

struct Scene {
    place: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        for folder in ["home/.ssh", "project/.git/hooks", "project/.saihai/runs", "project/src", "tmp"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        fs::write(place.path().join("project/.env"), "A=1").unwrap();
        fs::write(place.path().join("project/.env.example"), "A=").unwrap();
        Self { place }
    }

    fn path(&self, below: &str) -> PathBuf {
        fs::canonicalize(self.place.path()).unwrap().join(below)
    }

    fn start(&self, method: SandboxMethod, permission: Permission) -> SandboxedStart {
        SandboxedStart {
            method,
            settings: SandboxSettings::default(),
            permission,
            directory: self.path("project"),
            runs: self.path("project/.saihai/runs"),
            kind: Some(ProviderKind::Codex),
        }
    }

    fn policy(&self, permission: Permission) -> SandboxPolicy {
        let environment = [("HOME".into(), self.path("home").into())];
        let start = self.start(SandboxMethod::Landlock, permission);
        start.policy(Path::new("/bin/codex"), &environment, &self.path("tmp")).unwrap()
    }

    /// Returns the rules below the place, relative to it.
    fn rules(&self, permission: Permission) -> Vec<(String, PathAccess)> {
        let policy = self.policy(permission);
        let ours = policy.rules().filter_map(|(path, access)| {
            let below = path.strip_prefix(self.path("")).ok()?;
            Some((below.display().to_string(), access))
        });
        ours.collect()
    }
}

// B-2
#[test]
fn the_work_tree_is_open_to_stages_that_edit_and_the_rest_stays_closed() {
    let scene = Scene::new();
    let expected = |project: PathAccess| {
        let rules = [
            ("home/.codex", PathAccess::Write),
            ("home/.ssh", PathAccess::Hidden),
            ("project", project),
            ("project/.env", PathAccess::Hidden),
            ("project/.git", PathAccess::Read),
            ("project/.saihai/runs", PathAccess::Read),
            ("tmp", PathAccess::Write),
        ];
        rules.map(|(path, access)| (path.to_owned(), access)).to_vec()
    };
    assert_eq!(scene.rules(Permission::Full), expected(PathAccess::Write));
    assert_eq!(scene.rules(Permission::ReadOnly), expected(PathAccess::Read));
}

// B-2
#[test]
fn a_linked_worktree_opens_only_its_part_of_the_repository() {
    let scene = Scene::new();
    fs::remove_dir_all(scene.path("project/.git")).unwrap();
    for folder in ["git/worktrees/one", "git/objects", "git/refs/heads/feature", "git/hooks"] {
        fs::create_dir_all(scene.path(folder)).unwrap();
    }
    fs::write(scene.path("git/worktrees/one/HEAD"), "ref: refs/heads/feature/one\n").unwrap();
    let link = format!("gitdir: {}\n", scene.path("git/worktrees/one").display());
    fs::write(scene.path("project/.git"), link).unwrap();
    let rules = scene.rules(Permission::Full);
    let open: Vec<&str> =
        rules.iter().map(|(path, _)| path.as_str()).filter(|path| path.starts_with("git")).collect();
    assert_eq!(open, ["git/objects", "git/refs/heads/feature", "git/worktrees/one"]);
}

// B-3: the launcher gets the same policy.
#[test]
fn a_policy_survives_the_way_to_the_launcher() {
    let policy = Scene::new().policy(Permission::Full);
    assert_eq!(SandboxPolicy::of_argument(&policy.to_argument().unwrap()).unwrap(), policy);
}

// B-3
#[test]
fn bwrap_mounts_parents_before_their_children() {
    let scene = Scene::new();
    let policy = scene.policy(Permission::Full);
    let arguments = bubblewrap::arguments(&policy, &scene.path("project"), false, None).unwrap();
    let at = |words: [&str; 2]| {
        let target = scene.path(words[1]).display().to_string();
        let found = arguments.windows(3).position(|three| three[0] == words[0] && three[2] == target);
        found.unwrap_or_else(|| panic!("{words:?} in {arguments:?}"))
    };
    assert!(at(["--bind", "project"]) < at(["--ro-bind", "project/.git"]));
    assert!(at(["--bind", "project"]) < at(["--ro-bind", "project/.env"]));
    assert!(arguments.contains(&"--unshare-net".to_owned()));
    assert_eq!(arguments.last().map(String::as_str), Some("--"));
}

fn hosts(texts: &[&str]) -> SandboxNetwork {
    SandboxNetwork::Hosts(texts.iter().map(|text| SandboxHost::parse(text).unwrap()).collect())
}

// B-2
#[test]
fn a_limited_network_starts_the_relay_and_the_relay_the_program() {
    let scene = Scene::new();
    let mut start = scene.start(SandboxMethod::Bwrap("/usr/bin/bwrap".into()), Permission::Full);
    start.settings.network = hosts(&["a.example:443", "localhost:8080"]);
    let gate = NetworkGate { socket: "/dev/shm/one/socket".into(), relay: "/bin/saihai".into() };
    let program = Path::new("/bin/codex");
    let wrapped = start.wrap(program, &["exec".to_owned()], &[], &scene.path("tmp"), Some(&gate)).unwrap();
    let mounts = [
        "--ro-bind",
        "/bin/saihai",
        "/dev/agent-relay",
        "--ro-bind",
        "/dev/shm/one/socket",
        "/dev/agent-network",
    ];
    assert!(wrapped.arguments.windows(6).any(|words| words == mounts), "{:?}", wrapped.arguments);
    assert!(wrapped.arguments.contains(&"--unshare-net".to_owned()));
    let inside = wrapped.arguments.iter().position(|word| word == "--").unwrap();
    let relay = ["--", "/dev/agent-relay", "__launch", "relay", "/dev/agent-network", "localhost:8080"];
    assert_eq!(wrapped.arguments[inside..], [&relay[..], &["/bin/codex", "exec"]].concat());
    let named: Vec<String> = wrapped.variables.iter().map(|(name, _)| name.display().to_string()).collect();
    let proxies = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    let others = ["NO_PROXY", "no_proxy", "NODE_USE_ENV_PROXY"];
    assert_eq!(named, [&["TMPDIR"], &proxies[..], &others[..]].concat());
}

// B-1, B-3: what does not work has a name.
#[test]
fn a_sandbox_that_does_not_work_is_refused_by_name() {
    let resolved = |choice: SandboxChoice, settings: SandboxSettings| {
        let nowhere = [("PATH".into(), "/no/such/place".into())];
        resolve(&choice, &settings, &nowhere, None)
    };
    let usual = SandboxSettings::default;
    let program = |name: &str| SandboxChoice::Program(vec![name.to_owned()]);
    assert_eq!(resolved(SandboxChoice::Off, usual()), Ok(None));
    if cfg!(target_os = "linux") {
        assert_eq!(resolved(SandboxChoice::Bwrap, usual()), Err(SandboxProblem::NoBwrap));
        assert!(matches!(resolved(SandboxChoice::Auto, usual()), Err(SandboxProblem::Nothing { .. })));
    }
    assert_eq!(resolved(program("none"), usual()), Err(SandboxProblem::NoProgram("none".to_owned())));
    let closed = SandboxSettings { network: SandboxNetwork::Closed, ..usual() };
    assert_eq!(resolved(program("/bin/sh"), closed), Err(SandboxProblem::NetworkOfProgram));
    let limited = SandboxSettings { network: hosts(&["a.example:443"]), ..usual() };
    assert_eq!(resolved(program("/bin/sh"), limited), Err(SandboxProblem::NetworkOfProgram));
    let missing = SandboxSettings { write: vec!["/no/such/place".into()], ..usual() };
    let problem = SandboxProblem::MissingPath { key: "sandbox_write", path: "/no/such/place".to_owned() };
    assert_eq!(resolved(program("/bin/sh"), missing), Err(problem));
}
