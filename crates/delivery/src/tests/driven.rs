//! A definition with a delivery, and a fake outside world that records the actions.

use std::path::Path;
use std::sync::{Arc, Mutex};

use saihai::{
    ActionExecutor, ActionFuture, ActionRequest, Clock, DriveOptions, DriveOutcome, Driver, RunSpec, Runs,
};
use saihai_config::{ValidatedDefinition, WorkGate};
use saihai_connect::Connections;
use saihai_git::testing::BEGINNING;
use saihai_model::testing::{fixed, script, stage, turn, workflow};
use saihai_model::{
    Action, ActionInput, Budget, Ending, GateMode, Hold, Label, Millis, Outcome, Raise, Record, RunOrigin,
    Workflow,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{DeliveryOptions, DeliveryTarget, OwnTree, Placement, deliver};

struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a project"))
    }

    fn runs(&self) -> Runs {
        Runs::of_project(self.0.path())
    }

    fn beginning(&self, workflow: Workflow) -> RunSpec {
        RunSpec {
            workflow: ValidatedDefinition::validate(workflow).expect("a sound workflow"),
            script: Some(script(&["done"])),
            definition: "small".to_owned(),
            dialect: "piece".to_owned(),
            task: "make it so".to_owned(),
            slug: "make-it-so".to_owned(),
            seed: 7,
            interactive: false,
            rehearsal: true,
            patience: Millis::seconds(60),
            directory: self.0.path().to_path_buf(),
            reports: self.0.path().join(".takt/reports"),
            subject: std::collections::BTreeMap::new(),
            placement: None,
            texts: Vec::new(),
            origin: RunOrigin::default(),
        }
    }

    fn start(&self, beginning: RunSpec) -> Driver {
        let clock = Clock::starting_at(BEGINNING);
        Driver::start(&self.runs(), beginning, Connections::default(), clock).expect("a run")
    }

    fn resume(&self) -> Driver {
        let raise = Raise {
            rounds: None,
            budget: Budget::default(),
            runtime: None,
            patience: Millis::seconds(60),
            now: false,
        };
        let (run, clock) = (self.runs().find("last").expect("a run"), Clock::starting_at(BEGINNING));
        Driver::resume(run, raise, Connections::default(), clock).expect("the run")
    }

    fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        let run = self.runs().find("last").expect("a run");
        run.read(&mut |record| records.push(record)).expect("a journal");
        records
    }
}

async fn drive(driver: Driver, going: DriveOptions) -> DriveOutcome {
    driver.drive(going, &mut |_| {}).await.expect("an end")
}

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

    fn came(&self, deed: &ActionRequest) -> Outcome {
        let known = [
            (Action::Worktree, ["worktree", "ready", "path"]),
            (Action::Finalize, ["finalize", "committed", "commit"]),
            (Action::Push, ["push", "pushed", "pushed"]),
            (Action::PullRequest, ["pull-request", "created", "url"]),
            (Action::CleanUp, ["clean-up", "pr-created", "removed"]),
        ];
        let [name, label, key] = known.into_iter().find(|(does, _)| *does == deed.does).expect("a deed").1;
        let told = match &deed.given {
            ActionInput::Outputs(outputs) => outputs.keys().map(|key| format!(" {key}")).collect::<String>(),
            ActionInput::Block(_) | ActionInput::Reports { .. } => panic!("{:?}", deed.given),
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

impl ActionExecutor for World {
    fn perform(&self, deed: ActionRequest, _: CancellationToken) -> ActionFuture {
        let outcome = self.came(&deed);
        Box::pin(async move { outcome })
    }
}

fn delivered(gates: &[WorkGate]) -> Workflow {
    let work = stage(vec![turn("work", vec![fixed("Work.")])], &[("", "COMPLETE")]);
    let delivery = DeliveryOptions {
        about: "#7 Login fails, from main".to_owned(),
        bound: String::new(),
        gates: gates.to_vec(),
        mode: GateMode::Person,
        gate_timeout: None,
        handing: DeliveryTarget::PullRequest { checks: Millis(1) },
        merge: false,
        comment: false,
    };
    deliver(workflow(vec![("work", work)]), &delivery)
}

fn started(project: &Project, gates: &[WorkGate], world: &Arc<World>) -> Driver {
    let driver = project.start(project.beginning(delivered(gates)));
    driver.reaching(Arc::clone(world) as Arc<dyn ActionExecutor>)
}

#[tokio::test(start_paused = true)]
async fn a_delivery_goes_from_worktree_to_pull_request_and_tells_each_what_it_needs() {
    let (project, world) = (Project::new(), Arc::new(World::default()));
    let finish = drive(started(&project, &[], &world), DriveOptions::default()).await;
    assert_eq!(finish.ending, Some(Ending::Completed("pr-created".into())));
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
    let waiting = Outcome::Waiting { reason: "closed by a person".into() };
    let (project, world) = (Project::new(), World::saying("pull-request", waiting));
    let finish = drive(started(&project, &[], &world), DriveOptions::default()).await;
    assert!(
        matches!(&finish.hold, Some(Hold::Outside(_, why)) if why.code() == "closed by a person"),
        "{finish:?}"
    );
    world.done();
    let driver = project.resume().reaching(Arc::clone(&world) as Arc<dyn ActionExecutor>);
    let finish = drive(driver, DriveOptions::default()).await;
    assert_eq!(finish.exit_code(), 0, "{finish:?}");
    assert_eq!(world.done()[0], "pull-request after looking deliver/finalize.commit");
}

// I-43: a tree that differs from the approved one is shown again.
#[tokio::test(start_paused = true)]
async fn a_branch_that_moved_is_committed_and_asked_about_again() {
    let moved = Outcome::Done { label: Some("moved".into()), output: [].into() };
    let (project, world) = (Project::new(), World::saying("push", moved));
    let driver = started(&project, &[WorkGate::BeforePr], &world);
    let finish = drive(driver, DriveOptions { auto: true, ..DriveOptions::default() }).await;
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
    let finish = drive(started(&project, &WorkGate::ALL, &world), DriveOptions::default()).await;
    assert!(matches!(finish.hold, Some(Hold::Person(_))), "{finish:?}");
    assert_eq!(world.done(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_reaches_outside_a_delivery_says_so() {
    let project = Project::new();
    let driver = project.start(project.beginning(delivered(&[])));
    let finish = drive(driver, DriveOptions::default()).await;
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
    let placed = Some(placement.workplace(project.0.path()));
    let driver = project.start(RunSpec { placement: placed, ..project.beginning(delivered(&[])) });
    drive(driver.reaching(Arc::new(World::default())), DriveOptions::default()).await;
    let first = serde_json::to_value(&project.records()[0].entry).expect("JSON");
    let names = json!({"commit": "c0ffee", "worktree_root": ".worktrees", "copy_files": [".env"]});
    let started = &first["fact"]["started"];
    assert_eq!(started["delivery"], json!({"own_tree": names}), "{first}");
    // The run works in a directory with its own name.
    let run = project.runs().find("last").expect("the run");
    let works_in = started["directory"].as_str().map(Path::new).expect("a directory");
    assert!(works_in.ends_with(Path::new(".worktrees").join(run.id())), "{works_in:?}");
    assert_eq!(Placement::of(run.start().expect("its start")), Some(placement));
}
