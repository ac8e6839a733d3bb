//! Effects outside a run happen once or are reported as unknown. The tests kill every effect at every
//! moment, with every kind of forge failure.

use std::os::unix::fs::PermissionsExt as _;

use saihai_connect::forge::testing::Wrong;
use saihai_tests::{Fault, Moment};

use super::github::Scene;
use super::{git, outcomes, writes};

/// An effect outside the directory of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Push,
    PullRequest,
    Comment,
    Label,
    MergeThere,
    MergeHere,
    CleanUp,
}

/// The forge's reaction to the first request of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Good,
    /// Carries out the request and drops the connection.
    DropsAfter,
    /// Carries out the request and reports a failure.
    FailsAfter,
    FailsBefore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    BeforeIntent,
    AfterIntent,
    /// The process dies before it writes any part of the result.
    AfterCall,
    BeforeResult,
}

const EFFECTS: [Effect; 7] = [
    Effect::Push,
    Effect::PullRequest,
    Effect::Comment,
    Effect::Label,
    Effect::MergeThere,
    Effect::MergeHere,
    Effect::CleanUp,
];
const DEATHS: [Death; 4] = [Death::BeforeIntent, Death::AfterIntent, Death::AfterCall, Death::BeforeResult];

impl Effect {
    fn is_local(self) -> bool {
        matches!(self, Self::MergeHere | Self::CleanUp)
    }

    /// Returns the journal records before and after the effect.
    fn records(self) -> [String; 2] {
        let (stage, result) = match self {
            Self::Push => ("deliver/push", "performed"),
            Self::PullRequest => ("deliver/pull-request", "performed"),
            Self::Comment => ("deliver/comment", "performed"),
            // Labels follow the run; the `running` label appears at this turn.
            Self::Label => ("fix", "replied"),
            Self::MergeThere | Self::MergeHere => ("deliver/merge", "performed"),
            Self::CleanUp => ("deliver/clean-up", "performed"),
        };
        ["called", result].map(|kind| format!("\"{kind}\":{{\"call\":{{\"stage\":\"{stage}\""))
    }

    fn fault(self, death: Death) -> Fault {
        let [intent, result] = self.records();
        match death {
            Death::BeforeIntent => Fault::kill_at(Moment::Before, &intent),
            Death::AfterIntent => Fault::kill_at(Moment::After, &intent),
            Death::AfterCall => Fault::kill_at(Moment::Before, &result),
            Death::BeforeResult => Fault::kill_at(Moment::Half, &result),
        }
    }
}

/// Makes the forge fail once for this effect.
fn upset(scene: &Scene, effect: Effect, number: u64, mood: Mood) {
    let issue = format!("/repos/me/tool/issues/{number}");
    let (method, path) = match effect {
        Effect::Push => return upset_git(scene, mood),
        Effect::PullRequest => ("POST", "/repos/me/tool/pulls".to_owned()),
        Effect::Comment => ("POST", format!("{issue}/comments")),
        Effect::Label => ("POST", format!("{issue}/labels")),
        // The forge gets no write for local effects, only reads.
        Effect::MergeHere | Effect::CleanUp => ("GET", issue),
        Effect::MergeThere => ("PUT", "/repos/me/tool/pulls/".to_owned()),
    };
    let wrong = match mood {
        Mood::Good => return,
        Mood::DropsAfter => Wrong::CutAfter,
        Mood::FailsAfter => Wrong::StatusAfter(500, "no".to_owned()),
        Mood::FailsBefore => Wrong::Status(502, "no".to_owned()),
    };
    scene.server.goes_wrong(method, &path, wrong, 1);
}

/// Makes the remote git fail once: a hook kills the receiver before, during or after the push.
fn upset_git(scene: &Scene, mood: Mood) {
    let (name, when) = match mood {
        Mood::Good => return,
        Mood::DropsAfter => ("reference-transaction", "test \"$1\" = committed || exit 0\n"),
        Mood::FailsAfter => ("post-receive", ""),
        Mood::FailsBefore => ("pre-receive", ""),
    };
    let hook = scene.project.root().parent().expect("a parent").join("remote.git/hooks").join(name);
    std::fs::write(&hook, format!("#!/bin/sh\n{when}rm \"$0\"\nkill -9 $PPID\n")).expect("a hook");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
}

fn is_upset(scene: &Scene) -> bool {
    let hooks = scene.project.root().parent().expect("a parent").join("remote.git/hooks");
    let left = ["reference-transaction", "post-receive", "pre-receive"];
    scene.server.is_to_go_wrong() > 0 || left.iter().any(|name| hooks.join(name).exists())
}

fn count(said: &str) -> usize {
    said.lines().count()
}

/// Counts the effects for an issue: pull requests, comments, merges, commits, runs, remaining worktrees,
/// own labels.
fn done(scene: &Scene, effect: Effect, number: u64) -> [usize; 7] {
    let state = scene.server.state();
    let head = format!("feature/issue-{number}");
    let trailer = format!("--grep=^Saihai-Issue: {number}$");
    let (merges, commits) = if effect.is_local() {
        let of = |kind: &str| {
            count(&git(&scene.project, &["log", "--oneline", kind, &trailer, "saihai/merge/main"]))
        };
        (of("--merges"), of("--no-merges"))
    } else {
        let commits = scene.remote(&["log", "--format=%H", "--no-merges", &trailer, "main"]);
        let merged = scene.remote(&["log", "--merges", "--format=%P", "main"]);
        let of_it = merged.lines().filter(|parents| commits.lines().any(|one| parents.ends_with(one)));
        (of_it.count(), count(&commits))
    };
    let begun = scene.project.begun();
    let runs = begun.iter().filter(|run| format!("{run}-").contains(&format!("-issue-{number}-"))).count();
    let five = ["queued", "running", "completed", "failed", "blocked"].map(|name| format!("saihai:{name}"));
    [
        state.pull_requests.values().filter(|one| one.head == head).count(),
        state.issues[&number].comments.len(),
        merges,
        commits,
        runs,
        usize::from(scene.project.root().join(format!(".worktrees/issue-{number}")).exists()),
        state.issues[&number].labels.iter().filter(|label| five.contains(label)).count(),
    ]
}

/// Kills every effect at every moment, with a forge in this mood.
fn once(mood: Mood) {
    let file = "script: 1\nreplies:\n  - {text: 'Done. [STEP:0]', runs: [{argv: [sh, -c, 'basename $PWD > $(basename $PWD)']}], times: '*'}\n";
    let scene = Scene::new(&writes("f"), |state| {
        state.closes = true;
        for number in 1..=28 {
            state.issue(number, &format!("Issue {number}"), &["saihai"]);
        }
    });
    scene.project.write("script.yaml", file);
    let cases = EFFECTS.iter().flat_map(|effect| DEATHS.iter().map(move |death| (*effect, *death)));
    for (number, (effect, death)) in (1..).zip(cases) {
        let what = format!("{effect:?}, {mood:?}, {death:?}, issue {number}");
        let settings = if effect.is_local() { "forge = \"local\"\n" } else { "" };
        scene.project.write(".saihai/config.toml", format!("[work]\ndefinition = \"it\"\n{settings}"));
        let issue = number.to_string();
        let call = || scene.call(&["--issues", &issue, "--merge"]);
        upset(&scene, effect, number, mood);
        let killed = call().fault(&effect.fault(death)).run();
        assert_eq!(killed.code, None, "{what}: it was to die: {killed}");
        let mut ended = call().run();
        if ended.code == Some(1) {
            // The result is unknown: no effect happened twice, and the next call finds it.
            assert_eq!(outcomes(&ended), [format!("#{number} unknown")], "{what}: {ended}");
            let times = done(&scene, effect, number);
            assert!(times[..6].iter().all(|times| *times <= 1), "{what}: {times:?}");
            ended = call().run();
        }
        assert_eq!(ended.code, Some(0), "{what}: {ended}");
        assert_eq!(outcomes(&ended), [format!("#{number} merged")], "{what}: {ended}");
        let there = usize::from(!effect.is_local());
        assert_eq!(
            done(&scene, effect, number),
            [there, there, 1, 1, 1, 0, there],
            "{what}: {killed}\n{ended}"
        );
        assert!(!is_upset(&scene), "{what}: nothing went wrong");
    }
}

#[test]
fn t40_every_effect_killed_at_every_moment_happens_once() {
    once(Mood::Good);
}

#[test]
fn t40_every_effect_killed_on_a_forge_that_drops_what_it_has_done_happens_once() {
    once(Mood::DropsAfter);
}

#[test]
fn t40_every_effect_killed_on_a_forge_that_denies_what_it_has_done_happens_once() {
    once(Mood::FailsAfter);
}

#[test]
fn t40_every_effect_killed_on_a_forge_that_is_away_happens_once() {
    once(Mood::FailsBefore);
}
