//! A hostile agent in a sandbox (B-1 – B-4). The agent is a shell script of the provider `command`: it tries
//! everything that a boundary must stop and writes what worked.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use saihai_tests::{Outcome, Project};

use crate::support::PROGRAM;

/// One movement that edits. The agent of each test is its program.
const PIECE: &str = "
name: it
movements:
  - {name: work, edit: true, permission_mode: full, instruction: Do it., rules: [{condition: done, next: COMPLETE}]}
";

/// Tries each attack and names those that worked. `$1` is the directory of the whole test.
const ATTACKS: &str = r#"
cat > /dev/null
try() { name=$1; shift; if "$@" 2>/dev/null; then echo "worked: $name"; else echo "denied: $name"; fi; }
append() { echo evil >> "$1"; }
empty() { : > "$1"; }
holds() { grep -q PRIVATE "$1"; }
base=$1
project=$base/project
run=$SAIHAI_RUN_DIRECTORY
try journal append "$run/journal.ndjson.evil"
try journal-of-another-run append "$project/.saihai/runs/other/journal.ndjson"
try inbox append "$run/inbox/answer.json"
try start-file append "$HOME/.bashrc"
try git-settings-of-user append "$HOME/.gitconfig"
try git-hooks append "$project/.git/hooks/post-checkout"
try git-config append "$project/.git/config"
try sibling append "$base/sibling/notes.txt"
try binary append "$base/saihai-copy"
try key holds "$HOME/.ssh/id_ed25519"
try link-to-key holds "$HOME/link-to-key"
try cloud-key holds "$HOME/.aws/credentials"
try environment-file holds "$project/.env"
try edit append src/lib.txt
try new-file append src/new.txt
try temporary append "$TMPDIR/mine"
try work-of-programs sh -c 'echo x | cat > /dev/null'
echo "[STEP:0]"
"#;

/// A project with everything that the agent attacks. It does not lie in `/dev/shm`, which is private inside bwrap.
fn project() -> Project {
    let project = Project::below(&std::env::temp_dir(), PROGRAM);
    project.git(["init", "-q"]).run().exits(0);
    project.write(".saihai/pieces/it.yaml", PIECE);
    project.write(".saihai/runs/other/journal.ndjson", "");
    project.write("src/lib.txt", "text\n").write(".env", "PRIVATE=1\n");
    let base = project.root().parent().expect("a parent").to_owned();
    let home = project.home();
    for (path, text) in [
        (home.join(".ssh/id_ed25519"), "PRIVATE KEY\n"),
        (home.join(".aws/credentials"), "PRIVATE\n"),
        (home.join(".bashrc"), ""),
        (home.join(".gitconfig"), "[user]\n\tname = a\n\temail = a@example.com\n"),
        (base.join("sibling/notes.txt"), ""),
        (base.join("saihai-copy"), ""),
        (base.join("attack.sh"), ATTACKS),
    ] {
        fs::create_dir_all(path.parent().expect("a parent")).expect("readable files");
        fs::write(path, text).expect("readable files");
    }
    std::os::unix::fs::symlink(home.join(".ssh/id_ed25519"), home.join("link-to-key"))
        .expect("readable files");
    settings(&project, "");
    project
}

/// Writes the user's own settings, which need no trust.
fn settings(project: &Project, more: &str) {
    let base = project.root().parent().expect("a parent").display().to_string();
    let text = format!(
        "provider = \"mine\"\n{more}\n[providers.mine]\nkind = \"command\"\nprogram = \"sh\"\nargs = [\"{base}/attack.sh\", \
         \"{base}\"]\nhonours = [\"readonly\", \"edit\"]\n"
    );
    let path = project.home().join(".config/saihai/config.toml");
    fs::create_dir_all(path.parent().expect("a parent")).expect("readable files");
    fs::write(path, text).expect("readable files");
}

fn run(project: &Project, more: &[&str]) -> Outcome {
    project.saihai(["run", "it", "T", "--json"].iter().chain(more)).run()
}

/// Returns `worked` or `denied` by attack.
fn attacks(project: &Project) -> BTreeMap<String, String> {
    let output = fs::read_dir(project.run_directory().join("scratch")).expect("readable files").flatten();
    let output =
        output.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "out"));
    let output = fs::read_to_string(output.expect("the output of the agent")).expect("readable files");
    let lines = output.lines().filter_map(|line| line.split_once(": "));
    let known = |(result, _): &(&str, &str)| ["worked", "denied"].contains(result);
    lines.filter(known).map(|(result, attack)| (attack.to_owned(), result.to_owned())).collect()
}

/// Attacks that every sandbox must stop.
const STOPPED: [&str; 13] = [
    "journal",
    "journal-of-another-run",
    "inbox",
    "start-file",
    "git-settings-of-user",
    "git-hooks",
    "git-config",
    "sibling",
    "binary",
    "key",
    "link-to-key",
    "cloud-key",
    "environment-file",
];

/// Work that must stay possible.
const ALLOWED: [&str; 4] = ["edit", "new-file", "temporary", "work-of-programs"];

fn check_attacks(sandbox: &str, stopped: &str) {
    let project = project();
    run(&project, &["--sandbox", sandbox]).exits(0);
    let results = attacks(&project);
    let expected = STOPPED.iter().map(|attack| ((*attack).to_owned(), stopped.to_owned()));
    let expected = expected.chain(ALLOWED.iter().map(|work| ((*work).to_owned(), "worked".to_owned())));
    // Without a sandbox, `TMPDIR` is the user's own and may be unset.
    let expected: BTreeMap<String, String> = expected.filter(|(name, _)| name != "temporary").collect();
    let results: BTreeMap<String, String> =
        results.into_iter().filter(|(name, _)| name != "temporary").collect();
    assert_eq!(results, expected, "{sandbox}");
}

/// Returns true if a sandbox works here. A test that cannot run says so.
fn works(sandbox: &str) -> bool {
    let project = Project::new(PROGRAM);
    let doctor = project.saihai(["doctor", "--json"]).run();
    let report = doctor.json().into_iter().next().expect("a report")["sandbox"].clone();
    if report[sandbox] == serde_json::Value::Bool(true) {
        return true;
    }
    // CI must not lose these tests silently: it sets the variable.
    assert!(std::env::var_os("SAIHAI_TEST_SANDBOXES").is_none(), "`{sandbox}` does not work here: {report}");
    eprintln!("skipped: `{sandbox}` does not work here: {report}");
    false
}

// B-4: the control. Each attack works without a sandbox, so the other tests can fail.
#[test]
fn b4_without_a_sandbox_a_hostile_agent_can_do_all_this() {
    check_attacks("off", "worked");
}

// B-2, B-3, B-4
#[test]
fn b4_landlock_stops_a_hostile_agent() {
    if works("landlock") {
        check_attacks("landlock", "denied");
    }
}

// B-2, B-3, B-4
#[test]
fn b4_bwrap_stops_a_hostile_agent() {
    if works("bwrap") {
        check_attacks("bwrap", "denied");
    }
}

// B-2
#[test]
fn b2_a_stage_that_reads_cannot_change_the_work_tree() {
    for sandbox in ["landlock", "bwrap"].into_iter().filter(|sandbox| works(sandbox)) {
        let project = project();
        project.write(".saihai/pieces/it.yaml", PIECE.replace("edit: true, permission_mode: full, ", ""));
        run(&project, &["--sandbox", sandbox]).exits(0);
        let results = attacks(&project);
        assert_eq!([&results["edit"], &results["new-file"]], ["denied", "denied"], "{sandbox}");
        assert_eq!(results["temporary"], "worked", "{sandbox}");
    }
}

// B-2: `TMPDIR` is private and gone afterwards.
#[test]
fn b2_temporary_files_are_private_and_removed() {
    for sandbox in ["landlock", "bwrap"].into_iter().filter(|sandbox| works(sandbox)) {
        let project = project();
        let base = project.root().parent().expect("a parent").to_owned();
        fs::write(
            base.join("attack.sh"),
            "cat >/dev/null; echo $TMPDIR > src/place; stat -c %a $TMPDIR > src/mode; echo '[STEP:0]'",
        )
        .expect("readable files");
        run(&project, &["--sandbox", sandbox]).exits(0);
        let place = project.read("src/place");
        assert!(place.contains("/saihai-"), "{place}");
        assert!(!Path::new(place.trim()).exists(), "{place}");
        assert_eq!(project.read("src/mode"), "700\n");
    }
}

// B-2: settings open more.
#[test]
fn b2_settings_allow_more_paths() {
    for sandbox in ["landlock", "bwrap"].into_iter().filter(|sandbox| works(sandbox)) {
        let project = project();
        let base = project.root().parent().expect("a parent").display().to_string();
        let root = project.root().display().to_string();
        let more = format!(
            "sandbox = \"{sandbox}\"\nsandbox_read = [\"{root}/.env\"]\nsandbox_write = [\"{base}/sibling\"]"
        );
        settings(&project, &more);
        run(&project, &[]).exits(0);
        let results = attacks(&project);
        assert_eq!([&results["environment-file"], &results["sibling"]], ["worked", "worked"], "{sandbox}");
        assert_eq!([&results["key"], &results["git-hooks"]], ["denied", "denied"], "{sandbox}");
    }
}

// B-1, B-3: a program of the user's gets the command line and the policy.
#[test]
fn b3_a_program_of_the_user_starts_the_agent() {
    let project = project();
    let wrapper = project.root().parent().expect("a parent").join("wrapper.sh");
    fs::write(&wrapper, "echo \"$1 $SAIHAI_INSIDE_WRITE\" > src/wrapped; shift; exec \"$@\"")
        .expect("readable files");
    let list = format!("[\"sh\", \"{}\", \"word\"]", wrapper.display());
    run(&project, &["--sandbox", &list]).exits(0);
    let wrapped = project.read("src/wrapped");
    assert!(
        wrapped.starts_with("word ") && wrapped.contains(&project.root().display().to_string()),
        "{wrapped}"
    );
    assert_eq!(attacks(&project)["edit"], "worked");
}

// B-2: no network, where it can be held.
#[test]
fn b2_bwrap_closes_the_network_and_landlock_refuses_to() {
    let project = project();
    settings(&project, "sandbox_network = \"none\"");
    if works("landlock") {
        let refused = run(&project, &["--sandbox", "landlock"]).exits(4);
        assert!(refused.stderr.contains("`landlock` cannot close the network"), "{refused}");
        assert_eq!(project.runs(), ["other"], "no run started");
    }
    settings(&project, "sandbox_network = [\"example.com:443\"]");
    if works("landlock") {
        let refused = run(&project, &["--sandbox", "landlock"]).exits(4);
        assert!(refused.stderr.contains("`landlock` cannot limit the network to hosts"), "{refused}");
    }
    settings(&project, "sandbox_network = \"none\"");
    if works("bwrap") {
        let base = project.root().parent().expect("a parent").to_owned();
        fs::write(
            base.join("attack.sh"),
            "cat >/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1 > src/network; echo '[STEP:0]'",
        )
        .expect("readable files");
        run(&project, &["--sandbox", "bwrap"]).exits(0);
        assert_eq!(project.read("src/network").trim(), "lo");
    }
}

/// Asks both servers directly and through the proxy, and shows the code of the proxy.
const CONNECTIONS: &str = r#"
cat > /dev/null
get() { name=$1; shift; echo "$name: $(curl -s -m 5 "$@" 2>/dev/null || echo failed)"; }
{
  get listed-directly http://127.0.0.1:$2/
  get other-directly http://127.0.0.1:$3/
  get listed-by-proxy --noproxy none.invalid http://127.0.0.1:$2/
  get listed-by-tunnel --noproxy none.invalid --proxytunnel http://127.0.0.1:$2/
  get other-by-proxy --noproxy none.invalid http://127.0.0.1:$3/
  get other-by-tunnel --noproxy none.invalid --proxytunnel -w '%{http_connect}' http://127.0.0.1:$3/
  get without-proxy --noproxy '*' http://192.0.2.1/
  echo "proxies: $https_proxy $HTTP_PROXY $ALL_PROXY"
} > src/network
echo "[STEP:0]"
"#;

/// A server on the loopback that answers every request with `name`.
fn loopback_server(name: &'static str) -> u16 {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let length = name.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{name}"
            );
        }
    });
    port
}

// B-2: a list of hosts. The control is the same agent without a sandbox, which reaches both servers.
#[test]
fn b2_bwrap_limits_the_network_to_the_listed_hosts() {
    if !works("bwrap") {
        return;
    }
    let (listed, other) = (loopback_server("listed"), loopback_server("other"));
    let connections = |sandbox: &str| {
        let project = project();
        let base = project.root().parent().expect("a parent").to_owned();
        let script = CONNECTIONS.replace("$2", &listed.to_string()).replace("$3", &other.to_string());
        fs::write(base.join("attack.sh"), script).expect("readable files");
        settings(&project, &format!("sandbox_network = [\"127.0.0.1:{listed}\"]"));
        run(&project, &["--sandbox", sandbox]).exits(0);
        project
    };
    let free = connections("off").read("src/network");
    assert!(free.starts_with("listed-directly: listed\nother-directly: other\n"), "{free}");

    let project = connections("bwrap");
    let expected = format!(
        "listed-directly: listed\nother-directly: failed\nlisted-by-proxy: listed\nlisted-by-tunnel: listed\n\
         other-by-proxy: the sandbox refused 127.0.0.1:{other}; `sandbox_network` does not list it\n\
         other-by-tunnel: 403failed\nwithout-proxy: failed\n\
         proxies: http://127.0.0.1:48128 http://127.0.0.1:48128 http://127.0.0.1:48128\n"
    );
    assert_eq!(project.read("src/network"), expected);
    let journal = fs::read_to_string(project.run_directory().join("journal.ndjson")).expect("a journal");
    let warning = format!("the sandbox refused 127.0.0.1:{other}; `sandbox_network` lists what is allowed");
    assert_eq!(journal.matches(&warning).count(), 1, "one warning for both refusals: {journal}");
}

// B-1: a stage can demand it, and it is refused before the first turn where none works.
#[test]
fn b1_a_required_sandbox_that_does_not_work_is_a_refusal_before_the_first_turn() {
    let project = project();
    project.write(".saihai/pieces/it.yaml", PIECE.replace("edit: true,", "edit: true, sandbox: required,"));
    let off = run(&project, &["--sandbox", "off"]).exits(2);
    assert!(off.stderr.contains("has `sandbox` set to `off`, which `work` requires"), "{off}");
    // Without `bwrap` on the path; `sh` is elsewhere.
    let tools = project.home().join("tools");
    fs::create_dir(&tools).expect("readable files");
    for tool in ["sh", "git"] {
        let found =
            Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().expect("readable files");
        std::os::unix::fs::symlink(
            String::from_utf8(found.stdout).expect("readable files").trim(),
            tools.join(tool),
        )
        .expect("readable files");
    }
    let missing = project.saihai(["run", "it", "T", "--sandbox", "bwrap"]).env("PATH", &tools).run().exits(4);
    assert!(missing.stderr.contains("install it with `apt install bubblewrap`"), "{missing}");
    assert_eq!(project.runs(), ["other"], "no run started");
    if works("landlock") || works("bwrap") {
        run(&project, &[]).exits(0);
        assert_eq!(attacks(&project)["key"], "denied");
    }
}

// B-1
#[test]
fn b1_wrong_settings_are_errors_with_their_place() {
    let check = |text: &str, expected: &str| {
        let project = project();
        settings(&project, text);
        let outcome = project.saihai(["run", "it", "T"]).run().exits(2);
        assert!(outcome.stderr.contains(expected), "{text}\n{outcome}");
    };
    check("sandbox = \"landlok\"", "`sandbox`");
    check("sandbox = 3", "error[settings/bad-type]");
    check("sandbox = []", "a list with at least one item");
    check("sandbox = \"off\"\nsandbox_required = true", "error[settings/sandbox-off]");
    check("sandbox_network = []", "a list with at least one item");
    check("sandbox_network = [\"example.com\"]", "must list hosts with their ports, not `example.com`");
}

// B-1: issues are text of other people.
#[test]
fn b1_work_recommends_a_sandbox_where_none_is_on() {
    let project = project();
    project.write(".saihai/issues/7.md", "# A change\n");
    project.git(["add", "."]).run().exits(0);
    project.git(["commit", "-q", "-m", "first"]).run().exits(0);
    let recommends = |sandbox: &str| {
        let words = ["work", "--issues", "7", "--auto", "--definition", "it", "--sandbox", sandbox];
        project.saihai(words).run().stderr.contains("`--sandbox auto` limits what they can reach")
    };
    assert!(recommends("off"));
    assert!(!recommends("bwrap"));
}

// B-5
#[test]
fn b5_the_manual_lists_the_levels_and_every_sandbox_of_the_help() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/concepts/agents.md"))
        .expect("the page *What agents can do*");
    for level in ["| 1 | clumsy agents", "| 2 | code in the repository", "| 3 | hostile agents"] {
        assert!(page.contains(level), "{level}");
    }
    let help = project().saihai(["run", "--help"]).run().exits(0).stdout;
    let (_, about) = help.split_once("--sandbox").expect("the flag");
    for value in ["off", "auto", "landlock", "bwrap"] {
        assert!(page.contains(&format!("| `{value}` |")) && about.contains(value), "{value}");
    }
}
