use saihai_model::{Fact, RecordEntry, Variable, Workflow};

use super::*;
use crate::DriveOptions;
use crate::testing::{
    BEGINNING, Project, choosing, drive, fixed, go_on, reporting, script, shown, stage, turn, value, workflow,
};
use saihai_view::RunState;

/// `plan` writes a report. `review` sends it back once and then accepts.
fn reported() -> Workflow {
    let plan =
        reporting(turn("plan", vec![fixed("Plan in "), value(Variable::ReportDirectory)]), &["plan.md"]);
    let review = choosing(turn("review", vec![fixed("Review."), value(Variable::Previous)]), &["ok", "fix"]);
    workflow(vec![
        ("plan", stage(vec![plan], &[("", "review")])),
        ("review", stage(vec![review], &[("ok", "COMPLETE"), ("fix", "plan")])),
    ])
}

/// Returns a plan that is long enough for a blob.
fn plan(number: u32) -> String {
    format!("{}\n```markdown\n# Plan {number}\n```\n", "why ".repeat(5_000))
}

async fn finished() -> Project {
    let project = Project::new();
    let script = script(&[&plan(1), "no [STEP:1]", &plan(2), "yes [STEP:0]"]);
    let driver = project.start(reported(), script).unwrap();
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 0);
    project
}

fn forked(project: &Project, at: Option<u64>) -> Result<ForkedRun, DriverError> {
    let clock = Clock::starting_at(saihai_model::Moment(BEGINNING.0 + 3_600_000));
    fork(&project.runs(), &project.last(), at, &project.path(".takt/reports"), clock)
}

fn lines(directory: &RunDirectory) -> Vec<String> {
    let mut lines = Vec::new();
    directory.read(&mut |record| lines.push(shown(&record))).unwrap();
    lines
}

// K-20 `fork`
#[tokio::test(start_paused = true)]
async fn a_fork_has_lived_through_the_beginning_and_waits_to_be_resumed() {
    let project = finished().await;
    let before = project.journal();
    let forked = forked(&project, None).unwrap();
    assert_eq!(
        (forked.from.as_str(), forked.directory.id()),
        ("20260206-085600-make-it-so", "20260206-095600-make-it-so")
    );
    insta::assert_snapshot!(lines(&forked.directory)[20..].join("\n"), @r#"
    21 replied plan.2.1.1
    22 reports plan.2.1.2
    23 called plan.2.1.2
    24 performed plan.2.1.2
    25 exited "plan" {"stage":"review"}
    26 entered "review"
    27 round
    28 called review.2.1.1
    29 interrupted
    30 reopened
    31 parked interrupted
    "#);
    assert_eq!(
        crate::run_state(&forked.directory).unwrap(),
        RunState::Parked { hold: saihai_model::Hold::Interrupted, provider: None }
    );
    let (finish, log) = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    insta::assert_snapshot!(log.0.join("\n"), @r#"
    32 resumed
    33 asked review.2.1.1
    34 replied review.2.1.1
    35 exited "review" "complete"
    36 finished {"completed":"complete"}
    "#);
    assert_eq!(std::fs::read(project.runs().find("20260206-0856").unwrap().journal()).unwrap(), before);
}

// P-58: reports as they were, and prompts rendered for the new directory.
#[tokio::test(start_paused = true)]
async fn a_fork_has_the_reports_of_its_point_and_a_directory_of_its_own() {
    let project = finished().await;
    let entered_again =
        lines(&project.last()).iter().rposition(|line| line.contains("entered \"plan\"")).unwrap();
    let forked = forked(&project, Some(entered_again as u64 + 1)).unwrap();
    let report = |run: &str| {
        let path = project.path(".takt/reports").join(run).join("plan.md");
        std::fs::read_to_string(path).unwrap()
    };
    assert_eq!(report("20260206-085600-make-it-so"), "# Plan 2\n");
    assert_eq!(report("20260206-095600-make-it-so"), "# Plan 1\n");
    let driver = project.resume(go_on()).unwrap();
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 0);
    assert_eq!(report("20260206-095600-make-it-so"), "# Plan 2\n");
    let mut prompts = Vec::new();
    let see = &mut |record: saihai_model::Record| {
        if let RecordEntry::Fact(Fact::Asked { prompt: Some(prompt), .. }) = record.entry {
            prompts.push(forked.directory.text(&prompt).unwrap());
        }
    };
    forked.directory.read(see).unwrap();
    let plans: Vec<_> = prompts.iter().filter(|prompt| prompt.starts_with("Plan")).collect();
    assert!(plans[0].ends_with("20260206-085600-make-it-so\n"), "{}", plans[0]);
    assert!(plans[1].ends_with("20260206-095600-make-it-so\n"), "{}", plans[1]);
}

#[tokio::test(start_paused = true)]
async fn a_fork_keeps_every_blob_it_needs_and_says_where_it_came_from() {
    let project = finished().await;
    let forked = forked(&project, None).unwrap();
    let old = project.runs().find("20260206-0856").unwrap();
    std::fs::remove_dir_all(old.path()).unwrap();
    let history = crate::ReplayedRun::read(&forked.directory).unwrap();
    assert_eq!(history.start().forked_from.as_deref(), Some("20260206-085600-make-it-so"));
    let driver = project.resume(go_on()).unwrap();
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_is_not_forked_where_it_was_over_or_never_was() {
    let project = finished().await;
    let last = lines(&project.last()).len() as u64;
    let check = |at: u64, expected: &str| {
        let error = forked(&project, Some(at)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("run `20260206-085600-make-it-so` cannot be forked at {at}: {expected}")
        );
        assert_eq!(error.exit_code(), 2);
    };
    check(0, "there is no such event");
    check(last + 1, "there is no such event");
    check(last, "the run was completed by then");
    assert_eq!(project.runs().list().unwrap().len(), 1);
}

// Any point of a run can be forked, and every fork ends the same.
#[tokio::test(start_paused = true)]
async fn wherever_a_run_is_forked_it_can_go_on_from_there() {
    let project = finished().await;
    let old = project.last();
    let last = lines(&old).len() as u64;
    let mut ends = 0;
    for at in 1..last - 2 {
        let clock = Clock::starting_at(saihai_model::Moment(BEGINNING.0 + 1_000 * at));
        let forked = fork(&project.runs(), &old, Some(at), &project.path(".takt/reports"), clock).unwrap();
        let driver = project.resume_by(forked.directory.id(), go_on()).unwrap();
        let finish = drive(driver, DriveOptions::default()).await.0.unwrap();
        assert_eq!(finish.exit_code(), 0, "forked at {at}");
        ends += 1;
    }
    assert!(ends > 20, "{ends}");
}
