//! Turns that real programs do (U-9).

use saihai_connect::Connections;
use saihai_model::{
    Ending, Fact, Hold, ProgramExit, RecordEntry, Replied, Script, ScriptReply, ScriptTarget, Variable,
    Workflow,
};

use crate::testing::{
    BEGINNING, Project, drive, fixed, go_on, reporting, running, script, stage, turn, value, watch, workflow,
};
use crate::{Clock, DriveOptions, Driver, DriverEvent, RunSpec};

/// The program `tests` leads to `fix` until it succeeds.
fn tested(line: &str) -> Workflow {
    let program = running(reporting(turn("tests", Vec::new()), &["tests.log"]), line);
    workflow(vec![
        ("tests", stage(vec![program], &[("exit(0)", "COMPLETE"), ("exit(1..)", "fix")])),
        ("fix", stage(vec![turn("fix", vec![fixed("Fix:"), value(Variable::Previous)])], &[("", "tests")])),
    ])
}

fn start(project: &Project, workflow: Workflow, script: Script) -> Driver {
    let spec = RunSpec { rehearsal: false, ..project.spec(workflow, script) };
    Driver::start(&project.runs(), spec, Connections::default(), Clock::starting_at(BEGINNING)).unwrap()
}

fn replies(project: &Project) -> Vec<Replied> {
    let replied = project.records().into_iter().filter_map(|record| match record.entry {
        RecordEntry::Fact(Fact::Replied(reply)) => Some(*reply),
        RecordEntry::Fact(_) | RecordEntry::Decision(_) => None,
    });
    replied.collect()
}

// U-9
#[tokio::test]
async fn a_real_program_decides_and_its_output_reaches_the_agent_and_the_report() {
    let project = Project::new();
    // It succeeds the second time.
    let line = "echo looking >&2; test -e once || { touch once; echo 2 of 14 tests failed; exit 101; }";
    let driver = start(&project, tested(line), script(&["fixed"]));
    let mut shown = Vec::new();
    let (finish, _) = watch(driver, DriveOptions::default(), &mut |event| {
        if let DriverEvent::Progress { progress, .. } = event {
            shown.push(format!("{progress:?}"));
        }
    })
    .await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    let said = replies(&project);
    let exits: Vec<_> = said.iter().map(|reply| reply.reading.exit).collect();
    assert_eq!(exits, [Some(ProgramExit::Code(101)), None, Some(ProgramExit::Code(0))]);
    assert_eq!((said[0].session.as_deref(), said[0].usage.tokens()), (None, 0));
    assert_eq!(said[0].provider.as_ref().map(|name| name.as_str()), Some("program"));
    let directory = project.last();
    assert!(directory.text(&said[0].text).unwrap().contains("2 of 14 tests failed"));
    let prompts: Vec<String> = project
        .records()
        .into_iter()
        .filter_map(|record| match record.entry {
            RecordEntry::Fact(Fact::Asked { prompt, .. }) => prompt,
            RecordEntry::Fact(_) | RecordEntry::Decision(_) => None,
        })
        .map(|prompt| directory.text(&prompt).unwrap())
        .collect();
    assert_eq!(prompts[0], line, "the journal has the command line");
    assert!(prompts[1].starts_with(&format!("Fix:\n\n$ {line}\n")), "{}", prompts[1]);
    assert!(prompts[1].contains("2 of 14 tests failed\n") && prompts[1].ends_with("[exit code 101]\n"));
    assert!(shown.iter().any(|line| line.contains("2 of 14 tests failed")), "{shown:?}");
    let report = std::fs::read_to_string(project.path(".takt/reports/20260206-085600-make-it-so/tests.log"));
    assert_eq!(report.unwrap(), "looking\n");
    let run = crate::LoadedRun::read(&directory).unwrap();
    assert_eq!((run.view.turns, run.view.iterations), (1, 3));
}

// U-9
#[tokio::test]
async fn a_script_can_stand_in_for_a_program_and_a_rehearsal_runs_none() {
    let project = Project::new();
    let reply = |visit: u32, exit| ScriptReply {
        target: Some(ScriptTarget { stage: "tests".into(), turn: None, judge: false }),
        visits: Some(saihai_model::Visits::These(vec![visit])),
        text: Some("as written".to_owned()),
        exit: Some(exit),
        ..ScriptReply::default()
    };
    let mut script = script(&["fixed"]);
    script.replies.extend([reply(1, ProgramExit::Timeout), reply(2, ProgramExit::Code(0))]);
    let driver = project.start(tested("touch ran; exit 3"), script).unwrap();
    let (finish, _) = drive(driver, DriveOptions::default()).await;
    assert_eq!(finish.unwrap().ending, Some(Ending::Completed("complete".into())));
    assert_eq!(replies(&project)[0].reading.exit, Some(ProgramExit::Timeout));
    assert!(!project.path("ran").exists());
    // Without a reply, a rehearsed program counts as successful unless the script is strict.
    let other = Project::new();
    let lenient = Script { strict: false, ..Script::default() };
    let (finish, _) =
        drive(other.start(tested("touch ran; exit 3"), lenient).unwrap(), DriveOptions::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    assert!(!other.path("ran").exists());
}

// U-9
#[tokio::test]
async fn an_interrupted_program_is_ended_and_runs_again_when_the_run_goes_on() {
    let project = Project::new();
    let line = "echo $$ >> pids; test -e go && exit 0; sleep 600";
    let driver = start(&project, tested(line), Script { strict: false, ..Script::default() });
    let control = driver.control();
    let (finish, _) = watch(driver, DriveOptions::default(), &mut |event| {
        if let DriverEvent::Recorded(record) = event
            && matches!(&record.entry, RecordEntry::Fact(Fact::Asked { .. }))
        {
            control.interrupt("ctrl-c");
        }
    })
    .await;
    assert_eq!(finish.unwrap().hold, Some(Hold::Interrupted));
    std::fs::write(project.path("go"), "").unwrap();
    let (finish, log) = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    assert!(log.0.iter().any(|line| line.contains("repeated tests.1.1.1")), "{:?}", log.0);
}

// U-9
#[tokio::test]
async fn a_program_that_does_not_exist_parks_the_run() {
    let project = Project::new();
    let mut workflow = tested("");
    if let saihai_model::Activity::Turns { turns, .. } = &mut workflow.stages["tests"].does {
        turns[0].program.as_mut().unwrap().argv = vec!["no-such-program".to_owned()];
    }
    let driver = start(&project, workflow, Script::default());
    let (finish, _) = drive(driver, DriveOptions::default()).await;
    let outcome = finish.unwrap();
    assert!(
        matches!(&outcome.hold, Some(Hold::Provider(call, _)) if call.stage.as_str() == "tests"),
        "{outcome:?}"
    );
    let run = crate::LoadedRun::read(&project.last()).unwrap();
    assert!(run.view.last_failure.unwrap().message.contains("`no-such-program` could not be started"));
}
