use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use saihai_model::{
    Ask, FailureClass, Json, Millis, Moment, Permission, Progress, ProviderAnswer, Script, ScriptEdit,
    ScriptFailure, ScriptReply, ScriptRun, ScriptWrite, Usage, Usd,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::say::{ask, reply, script};
use crate::clock::{Clock, NoTime, RealTime, Sleep};
use crate::providers::Connections;
use crate::script::Scripted;

/// A run in a directory of its own, on a script.
struct Stage {
    directory: TempDir,
    scripted: Scripted,
    seen: Mutex<Vec<String>>,
}

impl Stage {
    fn new(replies: Vec<ScriptReply>, adjust: impl FnOnce(&mut Connections)) -> Self {
        let mut with = Connections {
            script: Some(Script { strict: true, lenient_roles: false, replies }),
            clock: Arc::new(NoTime),
            grace: Millis(20),
            ..Connections::default()
        };
        adjust(&mut with);
        let directory = tempfile::tempdir().unwrap();
        Self { directory, scripted: Scripted::open(with).unwrap(), seen: Mutex::default() }
    }

    fn ask(&self, permission: Permission) -> Ask {
        Ask { directory: self.path().display().to_string(), permission, ..ask("implement", 1) }
    }

    async fn answer(&mut self, ask: Ask) -> ProviderAnswer {
        self.answer_or_stop(ask, CancellationToken::new()).await
    }

    async fn answer_or_stop(&mut self, ask: Ask, stop: CancellationToken) -> ProviderAnswer {
        let seen = &self.seen;
        let progress = |progress| seen.lock().unwrap().push(shown(progress));
        self.scripted.ask(ask).answer(&progress, stop).await
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn seen(&self) -> String {
        self.seen.lock().unwrap().join("\n")
    }

    /// Every file, with what is in it.
    fn files(&self) -> String {
        let mut files = Vec::new();
        collect(self.path(), self.path(), &mut files);
        files.sort();
        files.join("\n")
    }
}

fn shown(progress: Progress) -> String {
    match progress {
        Progress::Text(text) => format!("text {text}"),
        Progress::ToolStarted(tool) => format!("started {tool}"),
        Progress::ToolFinished(tool) => format!("finished {tool}"),
        Progress::Retrying(why) | Progress::Denied(why) => why,
    }
}

fn collect(root: &Path, directory: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            collect(root, &entry, files);
        } else {
            let name = entry.strip_prefix(root).unwrap().display().to_string();
            files.push(format!("{name}: {:?}", fs::read_to_string(&entry).unwrap()));
        }
    }
}

fn writes(path: &str, content: &str) -> ScriptWrite {
    ScriptWrite { path: path.into(), content: content.into() }
}

fn edits(path: &str, find: &str, replace: &str) -> ScriptEdit {
    ScriptEdit { path: path.into(), find: find.into(), replace: replace.into() }
}

fn runs(argv: &[&str], exit: i32) -> ScriptRun {
    ScriptRun { argv: argv.iter().map(|word| (*word).to_owned()).collect(), exit }
}

/// The failure in one line.
fn failure(answer: &ProviderAnswer) -> String {
    let refusal = answer.as_ref().unwrap_err();
    format!("{}: {}", refusal.failure.class.name(), refusal.failure.message)
}

const EDIT: Permission = Permission::Edit { commands: true };

// C-75: what a reply says is what is answered.
#[tokio::test]
async fn a_reply_carries_everything_the_script_says() {
    let said = ScriptReply {
        structured: Some(serde_json::json!({ "approved": true })),
        session: Some("s-9".into()),
        usage: Usage { input: Some(900), output: Some(120), ..Usage::default() },
        cost: Usd::from_dollars(0.25),
        progress: vec!["wor".into(), "king".into()],
        ..reply("-> done [STEP:0]")
    };
    let mut stage = Stage::new(vec![said], |_| {});
    let answer = stage.answer(stage.ask(Permission::ReadOnly)).await.unwrap();
    assert_snapshot!(format!("{answer:#?}"), @r#"
    Reply {
        text: "done [STEP:0]",
        responses: [
            "done [STEP:0]",
        ],
        structured: Some(
            Object {
                "approved": Bool(true),
            },
        ),
        session: Some(
            "s-9",
        ),
        usage: Usage {
            input: Some(
                900,
            ),
            output: Some(
                120,
            ),
            cached: None,
            reasoning: None,
            cumulative: false,
        },
        cost: Some(
            Usd(
                250000,
            ),
        ),
        tools_used: [],
        denied: 0,
    }
    "#);
    assert_eq!(stage.seen(), "text wor\ntext king");
}

// C-75: `structured` alone also fills the text.
#[tokio::test]
async fn a_structured_value_alone_is_also_the_text() {
    let value = serde_json::json!({ "approved": true, "notes": ["a"] });
    let said = ScriptReply { text: None, structured: Some(value.clone()), ..ScriptReply::default() };
    let mut stage = Stage::new(vec![said], |_| {});
    let answer = stage.answer(stage.ask(EDIT)).await.unwrap();
    assert_eq!(serde_json::from_str::<Json>(&answer.text).unwrap(), value);
    assert_eq!(answer.structured, Some(value));
}

// C-75: an absent session is `script-<n>`; one that is continued stays the same.
#[tokio::test]
async fn a_new_session_is_named_by_its_number_and_a_continued_one_kept() {
    let mut stage = Stage::new(vec![reply("times:* -> ok")], |_| {});
    let mut sessions = Vec::new();
    for (n, session) in (1..).zip([None, None, Some("script-1".to_owned())]) {
        let mut ask = Ask { session, ..stage.ask(EDIT) };
        ask.call.n = n;
        sessions.push(stage.answer(ask).await.unwrap().session.unwrap());
    }
    assert_eq!(sessions, ["script-1", "script-2", "script-1"]);
}

// C-75: `fail` is any class, with its times; C-26: what it spent counts.
#[tokio::test]
async fn a_scripted_failure_of_every_class_comes_back_as_it_is() {
    for class in FailureClass::ALL {
        let fail = ScriptFailure {
            class,
            message: "slow down".into(),
            retry_after: Some(Millis(2000)),
            until: Some(Moment(7)),
        };
        let cost = Usd::from_dollars(0.5);
        let said = ScriptReply { text: None, fail: Some(fail), cost, ..ScriptReply::default() };
        let mut stage = Stage::new(vec![said], |_| {});
        let refusal = stage.answer(stage.ask(EDIT)).await.unwrap_err();
        assert_eq!((refusal.failure.class, refusal.failure.until), (class, Some(Moment(7))));
        assert_eq!((refusal.retry_after, refusal.cost), (Some(Millis(2000)), cost));
        assert_eq!(refusal.failure.message, "slow down");
    }
}

// Case 36: a missing reply fails its turn, naming stage and visit.
#[tokio::test]
async fn a_missing_reply_is_a_bad_request() {
    let mut stage = Stage::new(Vec::new(), |_| {});
    let answer = stage.answer(ask("reviewers/security 3", 1)).await;
    assert_snapshot!(failure(&answer), @"bad_request: the script has no reply for `reviewers/security` at visit 3");
}

// C-75: `writes` and `edits` happen inside the working directory.
#[tokio::test]
async fn files_are_written_and_edited_in_order() {
    let said = ScriptReply {
        writes: vec![writes("src/deep/a.txt", "one two\n"), writes("b.txt", "b")],
        edits: vec![edits("src/deep/a.txt", "two", "2"), edits("./old.txt", "x", "y")],
        ..reply("-> ok")
    };
    let mut stage = Stage::new(vec![said], |_| {});
    fs::write(stage.path().join("old.txt"), "x").unwrap();
    fs::write(stage.path().join("b.txt"), "longer than before").unwrap();
    stage.answer(stage.ask(Permission::Edit { commands: false })).await.unwrap();
    assert_snapshot!(stage.files(), @r#"
    b.txt: "b"
    old.txt: "y"
    src/deep/a.txt: "one 2\n"
    "#);
    assert_snapshot!(stage.seen(), @"
    started write src/deep/a.txt
    started write b.txt
    started edit src/deep/a.txt
    started edit ./old.txt
    finished write src/deep/a.txt
    finished write b.txt
    finished edit src/deep/a.txt
    finished edit ./old.txt
    ");
}

// C-42 and case 38: what a level does not allow is refused before anything is done.
#[tokio::test]
async fn a_reply_never_does_more_than_its_turn_may() {
    let write = ScriptReply { writes: vec![writes("a", "a")], ..reply("-> ok") };
    let edit = ScriptReply { edits: vec![edits("a", "a", "b")], ..reply("-> ok") };
    let run = ScriptReply { runs: vec![runs(&["touch", "a"], 0)], ..reply("-> ok") };
    let both = ScriptReply { writes: vec![writes("a", "a")], ..run.clone() };
    let cases = [
        (Permission::ReadOnly, write),
        (Permission::ReadOnly, edit),
        (Permission::ReadOnly, run.clone()),
        (Permission::Edit { commands: false }, run),
        (Permission::Edit { commands: false }, both),
    ];
    let mut said = Vec::new();
    for (permission, reply) in cases {
        let mut stage = Stage::new(vec![reply], |_| {});
        said.push(failure(&stage.answer(stage.ask(permission)).await));
        assert_eq!(stage.files(), "");
    }
    assert_snapshot!(said.join("\n"), @"
    bad_request: script:ok: a turn with permission `readonly` cannot write, edit or run anything
    bad_request: script:ok: a turn with permission `readonly` cannot write, edit or run anything
    bad_request: script:ok: a turn with permission `readonly` cannot write, edit or run anything
    bad_request: script:ok: a turn with permission `edit-only` cannot run programs
    bad_request: script:ok: a turn with permission `edit-only` cannot run programs
    ");
}

// Case 38: a path that leads outside is an error and nothing is written, the good paths beside it neither.
#[tokio::test]
async fn a_path_that_leads_outside_stops_the_whole_reply() {
    let said = ScriptReply { writes: vec![writes("good", "g"), writes("../x", "x")], ..reply("-> ok") };
    let mut stage = Stage::new(vec![said], |_| {});
    let answer = stage.answer(stage.ask(Permission::Full)).await;
    assert_snapshot!(failure(&answer), @"bad_request: script:ok: `../x` is not a relative path that stays inside the working directory");
    assert_eq!(stage.files(), "");
}

// C-75: `find` must occur once.
#[tokio::test]
async fn an_edit_whose_text_is_not_there_once_fails() {
    for (content, times) in [("b", 0), ("aa", 2)] {
        let said = ScriptReply { edits: vec![edits("f", "a", "c")], ..reply("-> ok") };
        let mut stage = Stage::new(vec![said], |_| {});
        fs::write(stage.path().join("f"), content).unwrap();
        let expected = format!("bad_request: script:ok: \"a\" occurs {times} times in `f` instead of once");
        assert_eq!(failure(&stage.answer(stage.ask(EDIT)).await), expected);
    }
}

// A crash after the edit and before the reply was recorded must not make the repeated call fail.
#[tokio::test]
async fn a_repeated_call_accepts_an_edit_it_has_already_made() {
    let said = ScriptReply { edits: vec![edits("f", "old", "new")], ..reply("-> ok") };
    let mut stage = Stage::new(vec![said.clone()], |_| {});
    fs::write(stage.path().join("f"), "old").unwrap();
    stage.answer(stage.ask(EDIT)).await.unwrap();
    stage.answer(stage.ask(EDIT)).await.unwrap();
    assert_eq!(stage.files(), "f: \"new\"");

    // Control: without the crash it is an error.
    let mut fresh = Stage::new(vec![said], |_| {});
    fs::write(fresh.path().join("f"), "new").unwrap();
    assert!(fresh.answer(fresh.ask(EDIT)).await.is_err());
}

// K-20: in a rehearsal writes, edits and runs are checked and shown, not done.
#[tokio::test]
async fn a_rehearsal_checks_and_shows_but_does_nothing() {
    let said = ScriptReply {
        writes: vec![writes("new.txt", "n")],
        edits: vec![edits("new.txt", "n", "m"), edits("old.txt", "x", "y")],
        runs: vec![runs(&["touch", "made.txt"], 0)],
        ..reply("-> ok")
    };
    let mut stage = Stage::new(vec![said], |with| with.dry = true);
    fs::write(stage.path().join("old.txt"), "x").unwrap();
    stage.answer(stage.ask(EDIT)).await.unwrap();
    assert_eq!(stage.files(), "old.txt: \"x\"");
    assert_snapshot!(stage.seen(), @"
    started would write new.txt
    started would edit new.txt
    started would edit old.txt
    finished would write new.txt
    finished would edit new.txt
    finished would edit old.txt
    started would run touch made.txt
    finished would run touch made.txt
    ");
}

#[tokio::test]
async fn a_rehearsal_finds_what_would_go_wrong() {
    let escape = ScriptReply { writes: vec![writes("/etc/x", "")], ..reply("-> ok") };
    let stale = ScriptReply { edits: vec![edits("f", "x", "y")], ..reply("-> ok") };
    let mut said = Vec::new();
    for reply in [escape, stale] {
        let mut stage = Stage::new(vec![reply], |with| with.dry = true);
        fs::write(stage.path().join("f"), "z").unwrap();
        said.push(failure(&stage.answer(stage.ask(EDIT)).await));
    }
    assert_snapshot!(said.join("\n"), @r#"
    bad_request: script:ok: `/etc/x` is not a relative path that stays inside the working directory
    bad_request: script:ok: "x" occurs 0 times in `f` instead of once
    "#);
}

/// A clock on which time only passes as far as other tasks let it: a wait gives way so many times.
struct Yielding;

impl Clock for Yielding {
    fn sleep(&self, length: Millis) -> Sleep<'_> {
        Box::pin(async move {
            for _ in 0..length.0 {
                tokio::task::yield_now().await;
            }
        })
    }
}

// Case 40: two parallel turns, unkeyed replies: taken in ask order in 100 of 100 runs, whatever the delays.
#[tokio::test]
async fn parallel_turns_get_their_replies_in_the_order_of_the_asks() {
    let mut finished_first = [0, 0];
    for run in 0..100 {
        let delays = [run * 7 % 11, run * 5 % 13];
        let replies = ["-> first", "-> second"].map(reply);
        let replies = replies.into_iter().zip(delays);
        let replies = replies.map(|(reply, delay)| ScriptReply { delay: Some(Millis(delay)), ..reply });
        let mut stage = Stage::new(replies.collect(), |with| with.clock = Arc::new(Yielding));
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut turns = Vec::new();
        for (n, turn) in ["reviewers/a", "reviewers/b"].into_iter().enumerate() {
            let asking = stage.scripted.ask(ask(turn, u32::try_from(n).unwrap() + 1));
            let order = Arc::clone(&order);
            turns.push(tokio::spawn(async move {
                let answer = asking.answer(&|_| {}, CancellationToken::new()).await;
                order.lock().unwrap().push(n);
                answer.unwrap().text
            }));
        }
        let mut said = Vec::new();
        for turn in turns {
            said.push(turn.await.unwrap());
        }
        assert_eq!(said, ["first", "second"], "run {run}");
        finished_first[order.lock().unwrap()[0]] += 1;
    }
    // Control: the delays did change who finished first.
    assert!(finished_first.iter().all(|count| *count > 10), "{finished_first:?}");
}

// C-75: `hang` answers only to cancel or deadline.
#[tokio::test]
async fn a_hang_ends_when_it_is_stopped() {
    let said = ScriptReply { hang: true, ..ScriptReply::default() };
    let mut stage = Stage::new(vec![said], |with| with.clock = Arc::new(RealTime));
    let stop = CancellationToken::new();
    let asking = stage.scripted.ask(stage.ask(EDIT));
    let token = stop.clone();
    let turn = tokio::spawn(async move { asking.answer(&|_| {}, token).await });
    tokio::task::yield_now().await;
    assert!(!turn.is_finished());
    stop.cancel();
    assert_eq!(failure(&turn.await.unwrap()), "cancelled: stopped");
}

// C-36: the deadline of the ask is kept on the run's clock.
#[tokio::test]
async fn a_hang_and_a_long_delay_end_at_the_deadline() {
    let hang = ScriptReply { hang: true, ..ScriptReply::default() };
    let late = ScriptReply { delay: Some(Millis(60_000)), ..reply("-> late") };
    for said in [hang, late] {
        let mut stage = Stage::new(vec![said], |_| {});
        let ask = Ask { timeout: Some(Millis(60_000)), ..stage.ask(EDIT) };
        let refusal = stage.answer(ask).await.unwrap_err();
        assert_eq!(refusal.failure.class, FailureClass::Transient);
        assert!(refusal.failure.by_deadline);
        assert_eq!(refusal.failure.message, "timed out after 60000 ms");
    }
    // Control: a delay below the deadline is only a delay.
    let soon = ScriptReply { delay: Some(Millis(59_999)), ..reply("-> soon") };
    let mut stage = Stage::new(vec![soon], |_| {});
    let ask = Ask { timeout: Some(Millis(60_000)), ..stage.ask(EDIT) };
    assert_eq!(stage.answer(ask).await.unwrap().text, "soon");
}

#[tokio::test]
async fn a_stopped_delay_is_cancelled_and_nothing_is_written() {
    let said = ScriptReply { delay: Some(Millis(1)), writes: vec![writes("a", "a")], ..reply("-> late") };
    let mut stage = Stage::new(vec![said], |_| {});
    let stop = CancellationToken::new();
    stop.cancel();
    let answer = stage.answer_or_stop(stage.ask(EDIT), stop).await;
    assert_eq!(failure(&answer), "cancelled: stopped");
    assert_eq!(stage.files(), "");
}

// C-75: `runs` without a shell; another exit code is a crash.
#[tokio::test]
async fn programs_are_run_without_a_shell_and_must_end_as_the_script_says() {
    let said = ScriptReply {
        runs: vec![runs(&["touch", "$(touch x); y"], 0), runs(&["false"], 1), runs(&["true"], 3)],
        ..reply("-> ok")
    };
    let mut stage = Stage::new(vec![said], |_| {});
    let answer = stage.answer(stage.ask(EDIT)).await;
    assert_snapshot!(failure(&answer), @"crashed: script:ok: `true` ended with exit code 0 instead of 3");
    assert_snapshot!(stage.files(), @r#"$(touch x); y: """#);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_crash_that_names_it() {
    let said = ScriptReply { runs: vec![runs(&["no-such-program-of-ours"], 0)], ..reply("-> ok") };
    let mut stage = Stage::new(vec![said], |_| {});
    let answer = stage.answer(stage.ask(EDIT)).await;
    assert_snapshot!(failure(&answer), @"crashed: script:ok: `no-such-program-of-ours` could not be started: No such file or directory (os error 2)");
}

// C-54: a program sees the allowed variables, its run and its turn.
#[tokio::test]
async fn a_program_sees_only_the_allowed_environment() {
    let said = ScriptReply { runs: vec![runs(&["sh", "-c", "env > out"], 0)], ..reply("-> ok") };
    let mut stage = Stage::new(vec![said], |with| {
        let ours = [("PATH", "/usr/bin:/bin"), ("OPENAI_API_KEY", "secret"), ("LC_ALL", "C"), ("MINE", "1")];
        with.environment = ours.map(|(name, value)| (name.into(), value.into())).to_vec();
        with.env_pass = vec!["MINE".into()];
    });
    stage.answer(stage.ask(EDIT)).await.unwrap();
    let out = fs::read_to_string(stage.path().join("out")).unwrap();
    // What the shell sets for itself is not ours.
    let mut lines: Vec<_> = out
        .lines()
        .filter(|line| !["PWD=", "SHLVL=", "_=", "OLDPWD="].iter().any(|own| line.starts_with(own)))
        .collect();
    lines.sort_unstable();
    assert_snapshot!(lines.join("\n"), @"
    LC_ALL=C
    MINE=1
    NO_COLOR=1
    PATH=/usr/bin:/bin
    SAIHAI_RUN=20260206-085600-task
    SAIHAI_TURN=implement.1.1.1
    TERM=dumb
    ");
}

#[tokio::test]
async fn a_script_that_lacks_a_reply_and_is_not_strict_says_something_generic() {
    let mut stage = Stage::new(Vec::new(), |with| {
        with.script = Some(Script { strict: false, ..script("") });
    });
    let answer = stage.answer(stage.ask(EDIT)).await.unwrap();
    assert_snapshot!(answer.text, @"Done. (The script has no reply for this turn.)");
}
