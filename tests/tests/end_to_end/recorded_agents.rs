//! Runs on OpenCode, Gemini CLI, Copilot CLI and an agent with the Agent Client Protocol. A program plays each
//! agent: it prints the recorded output of the real one, call after call.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use rustix::process::Signal;
use saihai_tests::{Invocation, Project};
use serde_json::Value;

use crate::support::PROGRAM;

const ONE: &str = "
name: it
movements:
  - {name: work, rules: [{condition: done, next: COMPLETE}]}
";

const TWO: &str = "
name: it
movements:
  - {name: first, session: continue, session_key: one, rules: [{condition: on, next: second}]}
  - {name: second, session: continue, session_key: one, rules: [{condition: done, next: COMPLETE}]}
";

/// A project with an agent's program on its path.
struct Scene {
    project: Project,
}

impl Scene {
    /// Creates an agent that plays these transcripts, one per call.
    fn playing(agent: &str, piece: &str, transcripts: &[&str]) -> Self {
        let scene = Self::with(agent, piece, "", PLAY);
        for (number, name) in transcripts.iter().enumerate() {
            scene.record(number + 1, &transcript(agent, name));
        }
        scene
    }

    fn with(agent: &str, piece: &str, settings: &str, program: &str) -> Self {
        let project = Project::new(PROGRAM);
        project.write(".takt/pieces/it.yaml", piece);
        let scene = Self { project };
        let config = scene.project.home().join(".config/saihai");
        fs::create_dir_all(&config).expect("a directory");
        fs::create_dir(scene.programs()).expect("a directory");
        fs::write(config.join("config.toml"), format!("provider = \"{agent}\"\n{settings}"))
            .expect("settings");
        let file = scene.programs().join(agent);
        fs::write(&file, program).expect("a program");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it can be run");
        scene
    }

    fn programs(&self) -> PathBuf {
        self.project.home().join("bin")
    }

    fn record(&self, number: usize, transcript: &str) {
        let (exit, rest) = transcript.split_once("\n--- stdout\n").expect("an output");
        let rest = format!("\n{rest}");
        let (output, rest) = rest.split_once("\n--- stderr\n").expect("complaints");
        let complaints = rest.split("--- outcome\n").next().unwrap_or_default();
        let put = |what: &str, text: &str| {
            fs::write(self.programs().join(format!("{number}.{what}")), text).expect("a recording");
        };
        put("out", &format!("{}\n", output.trim_start()));
        put("err", complaints);
        put("exit", exit.strip_prefix("exit ").expect("an exit code"));
    }

    fn saihai(&self, arguments: &[&str]) -> Invocation {
        let path = format!("{}:/usr/bin:/bin", self.programs().display());
        self.project.saihai(arguments).env("PATH", path)
    }

    fn run(&self) -> Invocation {
        self.saihai(&["run", "it", "The task."])
    }

    /// Returns the arguments of a call in one line.
    fn call(&self, number: usize) -> String {
        fs::read_to_string(self.programs().join(format!("{number}.args"))).expect("it was called")
    }

    /// Returns the result of every attempt.
    fn attempts(&self) -> String {
        let mut told = String::new();
        for line in &self.project.journal().lines {
            let told = &mut told;
            match line.name.as_str() {
                "replied" => {
                    writeln!(told, "replied in {}, usage {}", line.body["session"], usage(&line.body))
                }
                "failed" => writeln!(told, "failed: {}", line.body["failure"]["class"]),
                _ => Ok(()),
            }
            .expect("a line");
        }
        told.replace('"', "")
    }
}

fn usage(replied: &Value) -> String {
    let usage = &replied["usage"];
    match (usage["input"].as_u64(), usage["output"].as_u64()) {
        (Some(input), Some(output)) => format!("{input}/{output}"),
        (_, _) => "unknown".to_owned(),
    }
}

/// A program that prints the recording for its call. Saihai first asks OpenCode for `agent list`, which does not count.
const PLAY: &str = r#"#!/bin/sh
here=$(dirname "$0")
[ "$1 $2" = "agent list" ] && { echo "saihai-readonly (primary)"; exit 0; }
number=1
while [ -e "$here/$number.args" ]; do number=$((number + 1)); done
echo "$*" > "$here/$number.args"
cat > "$here/$number.prompt"
cat "$here/$number.err" >&2
cat "$here/$number.out"
exit "$(cat "$here/$number.exit")"
"#;

/// Returns the recorded output of the real program, with a tag in its answer that ends the movement.
fn transcript(agent: &str, name: &str) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    let file = format!("{root}/../crates/connect/src/agents/{agent}/transcripts/{name}.txt");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    ["done", "again"]
        .iter()
        .fold(text, |text, word| text.replace(&format!("\"{word}\""), &format!("\"{word} [STEP:0]\"")))
}

const ALL: [&str; 3] = ["opencode", "gemini", "copilot"];

// C-64, C-65, C-66; Connections case 17: unknown values are absent.
#[test]
fn a_turn_is_answered_and_what_it_cost_is_kept() {
    for (agent, usage) in [("opencode", "100/20"), ("gemini", "100/20"), ("copilot", "unknown")] {
        let scene = Scene::playing(agent, ONE, &["plain"]);
        scene.run().run().exits(0);
        assert!(scene.attempts().ends_with(&format!("usage {usage}\n")), "{agent}: {}", scene.attempts());
        let prompt = fs::read_to_string(scene.programs().join("1.prompt")).expect("a prompt");
        assert!(prompt.contains("The task."), "{agent}: {prompt}");
    }
}

// C-42: a movement without a permission is read-only.
#[test]
fn what_a_movement_may_do_reaches_the_program() {
    let asked = ALL.map(|agent| {
        let scene = Scene::playing(agent, ONE, &["plain"]);
        scene.run().run().exits(0);
        scene.call(1)
    });
    assert!(asked[0].contains("--agent saihai-readonly"), "{asked:?}");
    assert!(asked[1].contains("--approval-mode plan"), "{asked:?}");
    assert!(asked[2].contains("--available-tools=view,grep,glob"), "{asked:?}");
}

#[test]
fn a_session_goes_on_in_the_next_movement() {
    for (agent, flag) in [("opencode", "-s ses_1"), ("gemini", "--resume 0000"), ("copilot", "--resume=0000")]
    {
        let scene = Scene::playing(agent, TWO, &["plain", "resumed"]);
        scene.run().run().exits(0);
        assert!(!scene.call(1).contains(flag), "{agent}: {}", scene.call(1));
        assert!(scene.call(2).contains(flag), "{agent}: {}", scene.call(2));
    }
}

// C-29, Connections case 18
#[test]
fn a_lost_session_starts_again_once_with_a_message() {
    for agent in ALL.into_iter().chain(["claude", "codex"]) {
        let scene = Scene::playing(agent, TWO, &["plain", "session-lost", "plain"]);
        let outcome = scene.run().run().exits(0);
        let warning = "warning: Session disconnected, starting new session\n";
        assert_eq!(outcome.stderr.matches(warning).count(), 1, "{agent}: {outcome}");
        assert_eq!(scene.attempts().matches("failed: session_lost").count(), 1, "{agent}");
        let journal = scene.project.journal();
        let anew = journal.decisions("retry").filter(|retry| retry["new_session"] == true).count();
        assert_eq!(anew, 1, "{agent}");
        let goes_on = [1, 2, 3].map(|call| {
            let arguments = scene.call(call);
            arguments.contains("-s ses_1") || arguments.contains("resume")
        });
        assert_eq!(goes_on, [false, true, false], "{agent}");

        let scene = Scene::playing(agent, TWO, &["plain", "session-lost", "session-lost"]);
        scene.run().run().exits(4);
    }
}

// C-33, C-34, Connections case 13
#[test]
fn a_quota_that_is_used_up_parks_the_run() {
    let scene = Scene::playing("codex", ONE, &["quota"]);
    let outcome = scene.run().run().exits(4);
    assert!(outcome.stdout.starts_with("parked: waiting until "), "{outcome}");
    assert!(outcome.stdout.contains("(quota, codex)"), "{outcome}");
    assert_eq!(scene.attempts(), "failed: quota\n");
}

// C-33: Saihai does not retry a refused key.
#[test]
fn a_refused_key_parks_the_run_after_one_attempt() {
    for agent in ALL {
        let scene = Scene::playing(agent, ONE, &["status-401"]);
        let outcome = scene.run().run().exits(4);
        assert_eq!(scene.attempts(), "failed: auth\n", "{agent}: {outcome}");
    }
}

// C-33, C-38
#[test]
fn a_server_error_is_tried_again_with_a_new_session() {
    let scene = Scene::playing("copilot", ONE, &["status-500", "plain"]);
    scene.run().run().exits(0);
    assert!(scene.attempts().starts_with("failed: transient\nreplied in "), "{}", scene.attempts());
    assert_ne!(scene.call(1), scene.call(2), "an id that was used would be resumed");
    let [first, second] = [1, 2].map(|call| fs::read(scene.programs().join(format!("{call}.prompt"))).ok());
    assert_eq!(first, second, "the prompt is the same, byte for byte");
}

// C-34
#[test]
fn a_rate_limit_parks_a_run_whose_attempts_are_spent() {
    let scene = Scene::playing("opencode", ONE, &["status-429"]);
    let config = scene.project.home().join(".config/saihai/config.toml");
    fs::write(config, "provider = \"opencode\"\n[retry]\nrate_limited = 1\nmax_wait = \"1s\"\n")
        .expect("settings");
    scene.run().run().exits(4);
    assert_eq!(scene.attempts(), "failed: rate_limited\n");
}

// C-64, Connections case 6
#[test]
fn opencode_is_not_asked_where_nothing_would_hold_it() {
    let scene = Scene::playing("opencode", ONE, &["fell-back"]);
    let outcome = scene.run().run().exits(4);
    assert_eq!(scene.attempts(), "failed: bad_request\n", "{outcome}");

    let program = PLAY.replace("saihai-readonly (primary)", "build (primary)");
    let scene = Scene::with("opencode", ONE, "", &program);
    let outcome = scene.run().run().exits(4);
    assert_eq!(scene.attempts(), "failed: bad_request\n", "{outcome}");
    assert!(!scene.programs().join("1.args").exists(), "it was asked nothing");
}

// C-65: gemini needs a flag before it trusts a folder.
#[test]
fn gemini_is_told_to_trust_a_folder_only_where_that_is_set() {
    let scene = Scene::playing("gemini", ONE, &["untrusted"]);
    let outcome = scene.run().run().exits(4);
    assert!(outcome.stderr.contains("trust = true"), "{outcome}");
    assert!(!scene.call(1).contains("--skip-trust"));
}

const ACP: &str = "[providers.acp]\nprogram = \"acp\"\nargs = [\"--acp\"]\nhonours = [\"readonly\"]\n";

/// An agent that answers every prompt and records its input.
const SPEAK: &str = r#"#!/bin/sh
here=$(dirname "$0")
update() { echo "{\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":$1}}}"; }
while read -r line; do
  echo "$line" >> "$here/heard"
  case $line in
    *'"initialize"'*) echo '{"id":1,"result":{"agentCapabilities":{"loadSession":true}}}' ;;
    *'"session/new"'* | *'"session/load"'*) echo '{"id":2,"result":{"sessionId":"s1"}}' ;;
    *'"session/prompt"'*)
      number=${line#*'"id":'}
      number=${number%%,*}
      echo '{"id":"q","method":"session/request_permission","params":{"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}],"toolCall":{"title":"rm","kind":"execute"}}}' ;;
    *'"id":"q"'*)
      update '"agent_message_chunk","content":{"text":"done [STEP:0]"}'
      echo "{\"id\":$number,\"result\":{\"stopReason\":\"end_turn\"}}" ;;
    *) exit 0 ;;
  esac
done
"#;

fn heard(scene: &Scene) -> String {
    fs::read_to_string(scene.programs().join("heard")).expect("it was spoken with")
}

// C-67
#[test]
fn an_agent_is_spoken_with_and_goes_on_in_its_session_for_the_next_movement() {
    let scene = Scene::with("acp", TWO, ACP, SPEAK);
    scene.run().run().exits(0);
    assert_eq!(scene.attempts(), "replied in s1, usage unknown\n".repeat(2));
    let heard = heard(&scene);
    let said = ["initialize", "session/new", "session/load", "session/prompt"]
        .map(|method| heard.matches(&format!("\"{method}\"")).count());
    assert_eq!(said, [1, 1, 0, 2], "{heard}");
    assert_eq!(
        heard.matches(r#""optionId":"n""#).count(),
        2,
        "a movement that may look runs nothing: {heard}"
    );
    let replied = scene.project.journal();
    let denied: Vec<&Value> = replied.facts("replied").map(|fact| &fact["denied"]).collect();
    assert_eq!(denied, [1, 1]);
}

// C-45
#[test]
fn an_agent_that_nothing_holds_is_not_asked() {
    let scene = Scene::with("acp", ONE, &ACP.replace("honours = [\"readonly\"]\n", ""), SPEAK);
    let outcome = scene.run().run();
    assert_ne!(outcome.code, Some(0), "{outcome}");
    assert!(!scene.programs().join("heard").exists());
}

// C-56, C-67
#[test]
fn a_turn_is_cancelled_in_the_words_of_the_protocol() {
    // This agent reads the prompt and never answers.
    let silent = SPEAK.replace("      echo '{\"id\":\"q\"", "      : '{\"id\":\"q\"");
    let scene = Scene::with("acp", ONE, ACP, &silent);
    let live = scene.run().start();
    while !scene.programs().join("heard").exists() || !heard(&scene).contains("session/prompt") {
        std::thread::yield_now();
    }
    live.signal(Signal::INT);
    let outcome = live.finish().exits(3);
    assert!(heard(&scene).contains("session/cancel"), "{}{outcome}", heard(&scene));
}
