//! A definition with a delivery, and a fake outside world that records the actions.

use std::path::Path;
use std::sync::{Arc, Mutex};

use saihai_config::WorkGate;
use saihai_config::delivery::{Delivery, Handing, deliver};
use saihai_model::{Action, Ending, GateMode, Given, Hold, Label, Outcome, Workflow};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::delivery::{OwnTree, Placement};
use crate::testing::{Project, drive, fixed, go_on, script, stage, turn, workflow};
use crate::{Deed, Driver, Going, Outside, Performing};

/// A fake repository and forge: the performed actions, and the outcome of each next action.
#[derive(Debug, Default)]
struct World {
    done: Mutex<Vec<String>>,
    /// Outcomes that replace the usual one, once each.
    instead: Mutex<Vec<(&'static str, Outcome)>>,
}

impl World {
    fn saying(deed: &'static str, outcome: Outcome) -> Arc<Self> {
        Arc::new(Self { instead: Mutex::new(vec![(deed, outcome)]), ..Self::default() })
    }

    fn done(&self) -> Vec<String> {
        std::mem::take(&mut self.done.lock().expect("nobody panicked"))
    }

    fn came(&self, deed: &Deed) -> Outcome {
        let known = [
            (Action::Worktree, ["worktree", "ready", "path"]),
            (Action::Finalize, ["finalize", "committed", "commit"]),
            (Action::Push, ["push", "pushed", "pushed"]),
            (Action::PullRequest, ["pull-request", "created", "url"]),
            (Action::CleanUp, ["clean-up", "pr-created", "removed"]),
        ];
        let [name, label, key] = known.into_iter().find(|(does, _)| *does == deed.does).expect("a deed").1;
        let told = match &deed.given {
            Given::Outputs(outputs) => outputs.keys().map(|key| format!(" {key}")).collect::<String>(),
            Given::Block(_) | Given::Reports { .. } => panic!("{:?}", deed.given),
        };
        let look_up = if deed.look_up { " after looking" } else { "" };
        self.done.lock().expect("nobody panicked").push(format!("{name}{look_up}{told}"));
        let mut instead = self.instead.lock().expect("nobody panicked");
        if let Some(index) = instead.iter().position(|(of, _)| *of == name) {
            return instead.remove(index).1;
        }
        let output = [(key.to_owned(), json!(name)), ("tree".to_owned(), json!("t"))];
        Outcome::Done { label: Some(Label::from(label)), output: output.into() }
    }
}

impl Outside for World {
    fn perform(&self, deed: Deed, _: CancellationToken) -> Performing {
        let outcome = self.came(&deed);
        Box::pin(async move { outcome })
    }
}

fn delivered(gates: &[WorkGate]) -> Workflow {
    let work = stage(vec![turn("work", vec![fixed("Work.")])], &[("", "COMPLETE")]);
    let delivery = Delivery {
        about: "#7 Login fails, from main".to_owned(),
        bound: String::new(),
        gates: gates.to_vec(),
        mode: GateMode::Person,
        gate_timeout: None,
        handing: Handing::PullRequest { checks: saihai_model::Millis(1) },
        merge: false,
        comment: false,
    };
    deliver(workflow(vec![("work", work)]), &delivery)
}

fn started(project: &Project, gates: &[WorkGate], world: &Arc<World>) -> Driver {
    let driver = project.start(delivered(gates), script(&["done"])).expect("a run");
    driver.reaching(Arc::clone(world) as Arc<dyn Outside>)
}

#[tokio::test(start_paused = true)]
async fn a_delivery_goes_from_worktree_to_pull_request_and_tells_each_what_it_needs() {
    let (project, world) = (Project::new(), Arc::new(World::default()));
    let finish = drive(started(&project, &[], &world), Going::default()).await.0.expect("an end");
    assert_eq!(finish.ending, Some(Ending::Completed("pr-created".to_owned())));
    let deeds = [
        "worktree",
        "finalize",
        "push deliver/finalize.commit deliver/finalize.tree",
        "pull-request deliver/finalize.commit",
        "clean-up deliver/finalize.commit deliver/finalize.tree deliver/pull-request.url deliver/push.pushed",
    ];
    assert_eq!(world.done(), deeds);
}

// I-70: an effect that may have happened is looked up before it is repeated.
#[tokio::test(start_paused = true)]
async fn what_waits_outside_holds_the_run_and_is_looked_up_when_it_goes_on() {
    let waiting = Outcome::Waiting { reason: "closed by a person".to_owned() };
    let (project, world) = (Project::new(), World::saying("pull-request", waiting));
    let finish = drive(started(&project, &[], &world), Going::default()).await.0.expect("an end");
    assert!(matches!(&finish.hold, Some(Hold::Outside(_, why)) if why == "closed by a person"), "{finish:?}");
    world.done();
    let driver = project.resume(go_on()).expect("the run").reaching(Arc::clone(&world) as Arc<dyn Outside>);
    let finish = drive(driver, Going::default()).await.0.expect("an end");
    assert_eq!(finish.exit_code(), 0, "{finish:?}");
    assert_eq!(world.done()[0], "pull-request after looking deliver/finalize.commit");
}

// I-43: a tree that differs from the approved one is shown again.
#[tokio::test(start_paused = true)]
async fn a_branch_that_moved_is_committed_and_asked_about_again() {
    let moved = Outcome::Done { label: Some("moved".into()), output: [].into() };
    let (project, world) = (Project::new(), World::saying("push", moved));
    let driver = started(&project, &[WorkGate::BeforePr], &world);
    let finish = drive(driver, Going { auto: true, ..Going::default() }).await.0.expect("an end");
    assert_eq!(finish.exit_code(), 0, "{finish:?}");
    let names: Vec<String> =
        world.done().iter().map(|deed| deed.split(' ').next().unwrap_or_default().to_owned()).collect();
    assert_eq!(names, ["worktree", "finalize", "push", "finalize", "push", "pull-request", "clean-up"]);
    let answers =
        project.records().iter().filter(|record| format!("{record:?}").contains("Answered(")).count();
    assert_eq!(answers, 2);
}

// I-44
#[tokio::test(start_paused = true)]
async fn who_says_no_before_the_first_turn_has_no_worktree() {
    let (project, world) = (Project::new(), Arc::new(World::default()));
    let finish = drive(started(&project, &WorkGate::ALL, &world), Going::default()).await.0.expect("a rest");
    assert!(matches!(finish.hold, Some(Hold::Person(_))), "{finish:?}");
    assert_eq!(world.done(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_reaches_outside_a_delivery_says_so() {
    let project = Project::new();
    let driver = project.start(delivered(&[]), script(&["done"])).expect("a run");
    let finish = drive(driver, Going::default()).await.0.expect("a rest");
    assert_ne!(finish.exit_code(), 0);
    let said = project
        .records()
        .iter()
        .any(|record| format!("{record:?}").contains("this version of Saihai cannot do `worktree` here"));
    assert!(said);
}

/// The first fact contains the frozen part of a delivery.
#[tokio::test(start_paused = true)]
async fn the_names_of_a_delivery_are_frozen() {
    let project = Project::new();
    let own_tree = OwnTree {
        commit: "c0ffee".to_owned(),
        worktree_root: ".worktrees".into(),
        copy_files: vec![".env".to_owned()],
    };
    let placement = Placement::Own { own_tree };
    let beginning = crate::Beginning {
        placement: Some(placement.clone()),
        ..project.beginning(delivered(&[]), script(&["done"]))
    };
    let clock = crate::Clock::starting_at(crate::testing::BEGINNING);
    let connections = saihai_connect::Connections::default();
    let driver = Driver::start(&project.runs(), beginning, connections, clock).expect("a run");
    drive(driver.reaching(Arc::new(World::default())), Going::default()).await.0.expect("an end");
    let first = serde_json::to_value(&project.records()[0].entry).expect("JSON");
    let names = json!({"commit": "c0ffee", "worktree_root": ".worktrees", "copy_files": [".env"]});
    let started = &first["fact"]["started"];
    assert_eq!(started["delivery"], json!({"own_tree": names}), "{first}");
    // The run works in a directory with its own name.
    let run = project.runs().find("last").expect("the run");
    let works_in = started["directory"].as_str().map(Path::new).expect("a directory");
    assert!(works_in.ends_with(Path::new(".worktrees").join(run.id())), "{works_in:?}");
    assert_eq!(Placement::of(&run.start().expect("its start")), Some(placement));
}
