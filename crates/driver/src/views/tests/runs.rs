use saihai_model::{CallId, FailureClass, Hold, Moment, Wants};

use saihai_view::RunState;

use crate::testing::{
    BEGINNING, Project, drive, fixed, gate, go_on, plan_and_review, script, stage, turn, workflow,
};
use crate::{DriveOptions, FollowedRun, Runs, list_runs};

fn ids(runs: &Runs) -> Vec<String> {
    runs.list().unwrap().into_iter().map(|run| run.id().to_owned()).collect()
}

fn states(runs: &Runs) -> Vec<String> {
    let listed = list_runs(runs).unwrap().map(|listed| match listed.run {
        Ok((_, state)) => {
            let reason = state.reason().map(|reason| format!(" {reason}")).unwrap_or_default();
            format!("{} {}{reason}", listed.directory.id(), state.name())
        }
        Err(error) => format!("{} {}", listed.directory.id(), error.to_string().rsplit('/').next().unwrap()),
    });
    listed.collect()
}

// The first run in a project creates the shared files. Runs that start at the same time must cope with that.
#[test]
fn many_runs_can_begin_at_once_where_there_was_none() {
    for _ in 0..50 {
        let project = Project::new();
        let (runs, reports) = (project.runs(), project.path("reports"));
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (runs, reports, start) = (&runs, &reports, &start);
                scope.spawn(move || {
                    start.wait();
                    runs.create(&format!("issue-{number}"), BEGINNING, reports).unwrap();
                });
            }
        });
        assert_eq!(std::fs::read_to_string(runs.directory().join(".gitignore")).unwrap(), "*\n");
    }
}

// K-5, T-18
#[test]
fn a_hundred_runs_of_one_second_have_a_hundred_ids_in_both_directories() {
    let project = Project::new();
    let (runs, reports) = (project.runs(), project.path("reports"));
    let make = |_| {
        let (directory, report_directory) = runs.create("a-task", BEGINNING, &reports).unwrap();
        assert_eq!(report_directory.file_name().unwrap(), directory.id());
        directory.id().to_owned()
    };
    let made: Vec<_> = (0..100).map(make).collect();
    assert_eq!(made[..3], ["20260206-085600-a-task", "20260206-085600-a-task-2", "20260206-085600-a-task-3"]);
    assert_eq!(made.iter().collect::<std::collections::BTreeSet<_>>().len(), 100);
    assert_eq!(std::fs::read_to_string(runs.directory().join(".gitignore")).unwrap(), "*\n");
}

// P-30
#[test]
fn a_name_taken_by_an_old_report_directory_is_not_used_again() {
    let project = Project::new();
    std::fs::create_dir_all(project.path("reports/20260206-085600-a-task")).unwrap();
    let (directory, _) = project.runs().create("a-task", BEGINNING, &project.path("reports")).unwrap();
    assert_eq!(directory.id(), "20260206-085600-a-task-2");
    assert!(!project.path(".saihai/runs/20260206-085600-a-task").exists());
}

// K-5
#[tokio::test(start_paused = true)]
async fn a_run_is_found_by_its_id_a_unique_beginning_or_last() {
    let project = Project::new();
    assert!(matches!(project.runs().find("last"), Err(saihai_store::StoreError::NoRuns { .. })));
    for _ in 0..2 {
        let driver = project.start(plan_and_review(), script(&["a plan", "fine [STEP:0]"])).unwrap();
        drive(driver, DriveOptions::default()).await.0.unwrap();
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
    }
    // A run that died before its first append does not count.
    project.runs().create("zombie", Moment(BEGINNING.0 + 9_000), &project.path("reports")).unwrap();
    let (runs, first) = (project.runs(), "20260206-085600-make-it-so");
    assert_eq!(ids(&runs), [format!("{first}-2"), first.to_owned()]);
    assert_eq!(runs.find("last").unwrap().id(), format!("{first}-2"));
    assert_eq!(runs.find(first).unwrap().id(), first);
    assert_eq!(runs.find("20260206-085600-make-it-so-").unwrap().id(), format!("{first}-2"));
    let check = |name: &str, expected: &str| assert_eq!(runs.find(name).unwrap_err().to_string(), expected);
    check("2026", &format!("`2026` is ambiguous: it matches `{first}-2`, `{first}`"));
    check("nope", "there is no run `nope`");
    check("", "there is no run ``");
    check("../runs", "there is no run `../runs`");
    // U-3: by the beginning of the name after the time, too.
    assert_eq!(runs.find("make-it-so-2").unwrap().id(), format!("{first}-2"));
    check("make", &format!("`make` is ambiguous: it matches `{first}-2`, `{first}`"));
    let named = |id: &str| runs.find(id).unwrap().short_name();
    assert_eq!(named(&format!("{first}-2")), "last");
    // Its id begins the other one, so it is typed whole.
    assert_eq!(named(first), first);
}

// U-3
#[tokio::test(start_paused = true)]
async fn an_older_run_is_named_by_the_shortest_beginning_with_its_time() {
    let project = Project::new();
    let runs = project.runs();
    let begin = async |slug: &str, seconds: u64| {
        let driver = project.start(plan_and_review(), script(&["a plan", "fine [STEP:0]"])).unwrap();
        let made = driver.directory().path().to_owned();
        drive(driver, DriveOptions::default()).await.0.unwrap();
        let stamp = format!("20260206-0856{seconds:02}");
        std::fs::rename(&made, made.with_file_name(format!("{stamp}-{slug}"))).unwrap();
    };
    begin("fix-the-login", 0).await;
    begin("fix-the-title", 0).await;
    begin("other", 5).await;
    assert_eq!(runs.short_name("20260206-085600-fix-the-login"), "20260206-085600-fix-the-l");
    assert_eq!(runs.short_name("20260206-085605-other"), "last");
    begin("latest", 9).await;
    assert_eq!(runs.short_name("20260206-085605-other"), "20260206-085605");
}

// U-3
#[test]
fn only_last_and_dates_can_mean_nothing_but_a_run() {
    for text in ["last", "20260206", "20260206-0856", "20260206-085600-fix"] {
        assert!(saihai_store::names_run(text), "{text}");
    }
    for text in ["", "yes", "plan", "2026", "20260206x", "the last one", "２０２６０２０６"] {
        assert!(!saihai_store::names_run(text), "{text}");
    }
}

// A process that dies at its start leaves an empty journal.
#[test]
fn a_run_with_an_empty_journal_counts_for_nothing() {
    let project = Project::new();
    let runs = project.runs();
    let (run, _) = runs.create("issue-7", BEGINNING, &project.path("reports")).unwrap();
    std::fs::File::create_new(run.journal()).unwrap();
    assert_eq!(runs.named("").unwrap().len(), 0);
    let why =
        "20260206-085600-issue-7 journal.ndjson`:1: the run never started: its first append is incomplete";
    assert_eq!(states(&runs), [why]);
    // The owner is about to write the journal.
    let lock = run.lock().unwrap();
    assert_eq!(states(&runs), [""; 0]);
    drop(lock);
}

// K-21
#[tokio::test(start_paused = true)]
async fn runs_say_how_they_stand_and_a_damaged_one_hides_no_other() {
    let project = Project::new();
    let held = workflow(vec![("ask", gate(Wants::YesNo, "COMPLETE"))]);
    let aborted = workflow(vec![("plan", stage(vec![turn("plan", vec![fixed("Plan.")])], &[("", "ABORT")]))]);
    for (workflow, texts) in [
        (plan_and_review(), &["a plan", "fine [STEP:0]"][..]),
        (aborted, &["a plan"]),
        (held, &[]),
        (plan_and_review(), &["a plan", "fine [STEP:0]"]),
    ] {
        let driver = project.start(workflow, script(texts)).unwrap();
        drive(driver, DriveOptions::default()).await.0.unwrap();
    }
    let runs = project.runs();
    let damaged = runs.find("20260206-085600-make-it-so-4").unwrap().journal();
    let text = std::fs::read_to_string(&damaged).unwrap();
    std::fs::write(&damaged, text.replacen("plan", "plam", 1)).unwrap();
    // The run has an owner. It looks parked only without a look at the lock.
    let owner = project.resume_by("20260206-085600-make-it-so-3", go_on()).unwrap();
    let own = std::process::id();
    // U-4: the process lives, and a person has to act.
    let asked = CallId { stage: "ask".into(), visit: 1, round: 1, n: 1 };
    assert_eq!(
        list_runs(&runs).unwrap().nth(1).unwrap().run.unwrap().1,
        RunState::Running { owner: Some(own), gate: Some(asked) }
    );
    drop(owner);
    assert_eq!(
        states(&runs),
        [
            "20260206-085600-make-it-so-4 journal.ndjson`:2: its checksum does not match",
            "20260206-085600-make-it-so-3 parked person",
            "20260206-085600-make-it-so-2 failed abort",
            "20260206-085600-make-it-so completed complete",
        ]
    );
}

// K-21
#[tokio::test(start_paused = true)]
async fn a_run_whose_process_died_is_interrupted() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), script(&["a plan", "fine [STEP:0]"])).unwrap();
    drive(driver, DriveOptions::default()).await.0.unwrap();
    let journal = project.last().journal();
    let text = std::fs::read_to_string(&journal).unwrap();
    let first: String = text.split_inclusive('\n').take(5).collect();
    std::fs::write(&journal, first).unwrap();
    assert_eq!(states(&project.runs()), ["20260206-085600-make-it-so interrupted"]);
}

#[test]
fn a_state_with_a_wake_up_time_says_it() {
    let state = RunState::Parked { hold: Hold::Until(Moment(5), FailureClass::Quota), provider: None };
    assert_eq!((state.name(), state.reason(), state.until()), ("parked", Some("quota"), Some(Moment(5))));
}

// V-15: a followed journal can end anywhere, even inside a batch, and can shrink when a torn batch is dropped
#[tokio::test(start_paused = true)]
async fn a_followed_run_sees_every_record_once() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), script(&["a plan", "[STEP:0]"])).unwrap();
    drive(driver, DriveOptions::default()).await.0.unwrap();
    let (directory, whole) = (project.last(), project.journal());
    let last = project.records().last().unwrap().seq;
    let mut followed = FollowedRun::new(directory.clone());
    std::fs::write(directory.journal(), &whole[..10]).unwrap();
    assert!(followed.look().is_err(), "its first append is not complete");
    let mut seen = 0;
    for end in (0..whole.len()).step_by(97).chain([whole.len()]) {
        std::fs::write(directory.journal(), &whole[..end]).unwrap();
        let has_grown = followed.look().unwrap_or(false);
        let now = followed.view().map_or(0, |view| view.last_seq);
        assert_eq!(has_grown, now > seen, "at byte {end}");
        seen = now;
    }
    assert_eq!(seen, last);
    assert!(followed.state().unwrap().is_over() && !followed.look().unwrap());
    // A released run is read again only if its journal changes.
    followed.release();
    assert!(!followed.look().unwrap() && followed.view().is_none());
    std::fs::write(directory.journal(), &whole[..whole.len() - 1]).unwrap();
    assert!(followed.look().unwrap() && followed.view().is_some());
    std::fs::write(directory.journal(), "damaged\n").unwrap();
    assert!(followed.look().is_err() && followed.view().is_none());
    assert!(!followed.look().unwrap(), "a broken journal is not read again");
}
