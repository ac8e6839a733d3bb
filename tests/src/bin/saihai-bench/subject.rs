//! Benchmark subject: a run with one stage that repeats up to its limit, on scripted replies.

use std::path::Path;

use anyhow::Result;
use saihai::{Clock, DriveOptions, DriveOutcome, Driver, DriverEvent, RunSpec, Runs};
use saihai_config::ValidatedDefinition;
use saihai_connect::Connections;
use saihai_model::{
    Activity, Choice, Completion, Exit, ExitRule, Label, Limits, Method, Millis, Offer, OnFailure,
    Permission, Prompt, PromptPart, PromptSection, ProviderName, Reads, Retry, Rounds, RuleCondition,
    RunOrigin, Script, ScriptReply, SectionCondition, SessionPolicy, Stage, StageId, Target, Text, Times,
    Turn, TurnId, ValueForm, Variable, Workflow,
};

/// Returns an ordinary agent reply: a few paragraphs and a tag.
pub(crate) fn reply() -> String {
    let paragraph = "The function was changed so that it keeps its input, and the two callers were adapted. ";
    format!("{}\n[STEP:0]", paragraph.repeat(8))
}

/// Returns a stage that repeats this many times.
pub(crate) fn workflow(turns: u32) -> Workflow {
    let id = StageId::from("work");
    let label = Label::from("go on");
    let text = |text: &str| PromptPart::Fixed(Text::from(text));
    let section = |body: Vec<PromptPart>, when: SectionCondition| PromptSection { body, when };
    let sections = vec![
        section(vec![text(&"You are a careful engineer. ".repeat(10))], SectionCondition::Always),
        section(
            vec![text("## Iteration\n"), PromptPart::Value(Variable::Iteration, ValueForm::Plain)],
            SectionCondition::Always,
        ),
        section(
            vec![text("## Task\n"), PromptPart::Value(Variable::Task, ValueForm::Plain)],
            SectionCondition::Always,
        ),
        section(
            vec![text("## Before\n"), PromptPart::Value(Variable::Previous, ValueForm::Plain)],
            SectionCondition::Filled,
        ),
    ];
    let choice =
        Choice { options: vec![Offer { number: 0, label: label.clone() }], found_by: vec![Method::Tag] };
    let turn = Turn {
        id: TurnId::from("work"),
        title: "work - bench".to_owned(),
        description: None,
        persona: None,
        role: None,
        prompt: Prompt { sections, ..Prompt::default() },
        provider: ProviderName::from("script"),
        program: None,
        model: None,
        permission: Permission::ReadOnly,
        asked_permission: None,
        sandbox_required: false,
        tools: None,
        session: SessionPolicy::Fresh,
        timeout: None,
        within: None,
        max_calls: None,
        price: None,
        needs: Vec::new(),
        heading: String::new(),
        reads: Reads { choice: Some(choice), ..Reads::default() },
    };
    let does = Activity::Turns {
        turns: vec![turn],
        at_once: None,
        on_failure: OnFailure::Park,
        between: String::new(),
    };
    let rule = ExitRule { when: RuleCondition::Is(label), then: Target::Stage(id.clone()) };
    let exit = Exit::Rules { rules: vec![rule], question: None, otherwise: Target::failed("no_match") };
    let stage = Stage {
        title: "work".to_owned(),
        does,
        exit,
        rounds: Rounds::default(),
        visits: None,
        aside: false,
        description: None,
    };
    Workflow {
        name: "bench".to_owned(),
        entry: id.clone(),
        stages: [(id, stage)].into_iter().collect(),
        topics: None,
        monitors: Vec::new(),
        breakers: Vec::new(),
        completion: Completion::Flow,
        groups: Vec::new(),
        limits: Limits { rounds: Some(turns), ..Limits::default() },
        retry: Retry::default(),
        afterwards: None,
        provider: None,
        log: None,
        issue: None,
        words: std::iter::empty().collect(),
    }
}

/// Returns a script that gives every request the same reply.
pub(crate) fn script(reply: ScriptReply) -> Script {
    Script { strict: true, replies: vec![ScriptReply { times: Times::Always, ..reply }], ..Script::default() }
}

/// Creates a run below a directory without starting it.
pub(crate) fn driver(root: &Path, workflow: Workflow, script: Script) -> Result<Driver> {
    let connections = Connections { script: Some(script.clone()), ..Connections::default() };
    driver_on(root, workflow, Some(script), connections)
}

/// Like [`driver`], with other connections.
pub(crate) fn driver_on(
    root: &Path,
    workflow: Workflow,
    script: Option<Script>,
    connections: Connections,
) -> Result<Driver> {
    let beginning = RunSpec {
        workflow: ValidatedDefinition::validate(workflow)?,
        script,
        definition: "bench".to_owned(),
        dialect: "bench".to_owned(),
        task: "Measure what a turn costs.".to_owned(),
        slug: "bench".to_owned(),
        seed: 1,
        interactive: false,
        rehearsal: false,
        patience: Millis(0),
        directory: root.to_owned(),
        reports: root.join("reports"),
        subject: std::collections::BTreeMap::new(),
        placement: None,
        texts: Vec::new(),
        origin: RunOrigin::default(),
    };
    Ok(Driver::start(&Runs::of_project(root), beginning, connections, Clock::system())?)
}

/// Drives a run to its end on its own runtime.
pub(crate) fn drive(driver: Driver, observer: &mut dyn FnMut(DriverEvent<'_>)) -> Result<DriveOutcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(driver.drive(DriveOptions::default(), observer))?)
}
