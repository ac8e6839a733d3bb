mod iterations;
mod runs;

use saihai_model::{
    Alarm, AnswerForm, Destination, Join, Method, Monitor, PassedStages, Prompt, Question, QuestionSession,
    Script, ScriptReply, Target, Usage, Usd, Variable, Wants, Watch, Workflow,
};

use crate::testing::{
    PAIR, Project, choosing, drive, fixed, gate, hats, plan_and_review, reporting, script, stage, turn,
    value, workflow,
};
use crate::{DriveOptions, LoadedRun, RunDirectory};
use saihai_view::Transition;

async fn finished(workflow: Workflow, script: Script) -> Project {
    let project = Project::new();
    let driver = project.start(workflow, script).unwrap();
    drive(driver, DriveOptions { auto: true, ..DriveOptions::default() }).await.0.unwrap();
    project
}

fn transitions(directory: &RunDirectory) -> Vec<Transition> {
    LoadedRun::read(directory).unwrap().transitions()
}

fn told(directory: &RunDirectory) -> String {
    let lines = transitions(directory).into_iter().map(|told| {
        let evidence: Vec<_> = told.evidence.iter().map(|evidence| format!("\n    {evidence:?}")).collect();
        format!(
            "{} {}.{}.{} iteration {} by {:?} rule {:?} {:?}{}",
            told.seq,
            told.stage,
            told.visit,
            told.round,
            told.iteration,
            told.by,
            told.rule,
            told.to,
            evidence.concat()
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

// P-57
#[tokio::test(start_paused = true)]
async fn a_transition_rests_on_the_tag_and_its_line() {
    let texts = ["a plan", "one\ntwo [STEP:1]\n", "a plan", "[STEP:0]"];
    let project = finished(plan_and_review(), script(&texts)).await;
    insta::assert_snapshot!(told(&project.last()), @r#"
    7 plan.1.1 iteration 1 by Only rule Some(0) Stage(StageId("review"))
    13 review.1.1 iteration 2 by Tag rule Some(1) Stage(StageId("plan"))
        Tag { turn: Some(TurnId("review")), number: Some(1), line: 2 }
    19 plan.2.1 iteration 3 by Only rule Some(0) Stage(StageId("review"))
    25 review.2.1 iteration 4 by Tag rule Some(0) Complete
        Tag { turn: Some(TurnId("review")), number: Some(0), line: 1 }
    "#);
}

/// A turn that is asked again if its tag is missing.
fn asking() -> Workflow {
    let mut review = choosing(turn("review", vec![fixed("Review.")]), &["ok", "fix"]);
    let ask = Question {
        prompt: Prompt { sections: vec![fixed("Which?"), value(Variable::Combined)], join: Join::Paragraphs },
        provider: None,
        model: None,
        session: QuestionSession::Fresh,
        answer: AnswerForm::Tag,
        correction: Prompt::default(),
        corrections: 0,
        unreadable: None,
    };
    review.reads.choice.as_mut().unwrap().found_by.push(Method::Ask(Box::new(ask)));
    workflow(vec![
        ("review", stage(vec![review], &[("ok", "ask"), ("fix", "ABORT")])),
        ("ask", gate(Wants::YesNo, "COMPLETE")),
    ])
}

// P-57
#[tokio::test(start_paused = true)]
async fn a_transition_rests_on_the_question_and_its_answer_or_on_a_person() {
    let project = finished(asking(), script(&["looks fine", "[STEP:0]"])).await;
    insta::assert_snapshot!(told(&project.last()), @r#"
    10 review.1.1 iteration 1 by Judge rule Some(0) Stage(StageId("ask"))
        Question { call: CallId { stage: StageId("review"), visit: 1, round: 1, n: 2 }, turn: Some(TurnId("review")), question: Inline("Which?\n\nlooks fine\n"), answer: Inline("[STEP:0]"), number: Some(0), value: None, unreadable: false }
    15 ask.1.1 iteration 1 by Answer rule Some(0) Complete
        Answer { by: Auto, label: Label("yes"), text: None }
    "#);
}

// P-57
#[tokio::test(start_paused = true)]
async fn a_monitor_tells_its_cycle_its_count_and_what_it_overrode() {
    let mut workflow = plan_and_review();
    let stages = vec!["plan".into(), "review".into()];
    workflow.monitors.push(Monitor {
        watches: Watch::Cycle { stages, times: 2, returning: false, passed: PassedStages::default() },
        then: Alarm::Go(Target::failed("loop")),
    });
    let texts = ["p", "[STEP:1]", "p", "[STEP:1]"];
    let project = finished(workflow, script(&texts)).await;
    let last = transitions(&project.last()).pop().unwrap();
    insta::assert_snapshot!(format!("{:?}\n{:?}", last.to, last.evidence), @r#"
    End(Failed(Verbatim("loop")))
    [Tag { turn: Some(TurnId("review")), number: Some(1), line: 1 }, Monitor { monitor: 0, count: 2, cycle: [StageId("plan"), StageId("review")], overrode: Some(Label("fix")) }]
    "#);
}

// Only the event that decided the verdict counts as the way forward. An event seen by a monitor belongs to
// its own transition.
#[tokio::test(start_paused = true)]
async fn an_event_leads_on_only_where_it_was_gone_by() {
    let strict = format!("required_events: [code.written]\nenforce_hat_scope: true\nstall_after: 2\n{PAIR}");
    let texts = [
        "EVENT: a.b\nEVENT: tests.failing\nLOOP_COMPLETE",
        "EVENT: code.written",
        "EVENT: tests.passing",
        "hm",
    ];
    let project = Project::new();
    let driver = project.start(hats(&strict), script(&texts)).unwrap();
    drive(driver, DriveOptions { auto: true, ..DriveOptions::default() }).await.0.unwrap();
    insta::assert_snapshot!(told(&project.last()), @r#"
    8 tester.1.1 iteration 1 by Directive rule None Stage(StageId("coder"))
        Published { topic: Topic("a.b"), line: 1, message: None, leads: false }
        Published { topic: Topic("tests.failing"), line: 2, message: None, leads: true }
        EndWord { word: "LOOP_COMPLETE" }
        Refused { missing: [Topic("code.written")] }
    14 coder.1.1 iteration 2 by Directive rule None Stage(StageId("tester"))
        Published { topic: Topic("code.written"), line: 1, message: None, leads: true }
    21 tester.2.1 iteration 3 by Directive rule None Again
        Published { topic: Topic("tests.passing"), line: 1, message: None, leads: false }
        Remarked { topic: Topic("tests.passing"), remark: OutOfScope }
    26 tester.2.2 iteration 4 by Directive rule None Again
        Monitor { monitor: 0, count: 2, cycle: [], overrode: None }
    "#);
}

#[tokio::test(start_paused = true)]
async fn stages_are_told_with_their_rounds_times_and_costs() {
    let mut script = script(&["a plan", "[STEP:1]", "a plan", "[STEP:0]"]);
    script.replies[0].cost = Some(Usd(250_000));
    script.replies[0].usage = Usage { input: Some(10), output: Some(5), ..Usage::default() };
    script.replies[1].delay = Some(saihai_model::Millis::seconds(2));
    let project = finished(plan_and_review(), script).await;
    let run = LoadedRun::read(&project.last()).unwrap();
    let told = run.view.visits.iter().map(|visit| {
        let took = visit.left.unwrap().since(visit.entered).0;
        let (usd, tokens, rounds) = (visit.cost.usd, visit.cost.tokens, visit.counted_rounds());
        format!("{}.{} {rounds} round, {took} ms, {usd}, {tokens} tokens", visit.stage, visit.visit)
    });
    insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @r"
    plan.1 1 round, 0 ms, $0.2500, 15 tokens
    review.1 1 round, 2000 ms, $0.0000, 0 tokens
    plan.2 1 round, 0 ms, $0.0000, 0 tokens
    review.2 1 round, 0 ms, $0.0000, 0 tokens
    ");
}

// P-39
#[tokio::test(start_paused = true)]
async fn every_version_of_a_report_is_listed_with_where_its_content_stands() {
    let plan = reporting(turn("plan", vec![fixed("Plan.")]), &["plan.md"]);
    let review = choosing(turn("review", vec![fixed("Review.")]), &["ok", "fix"]);
    let workflow = workflow(vec![
        ("plan", stage(vec![plan], &[("", "review")])),
        ("review", stage(vec![review], &[("ok", "COMPLETE"), ("fix", "plan")])),
    ]);
    let texts = ["```markdown\none\n```", "[STEP:1]", "two without a block", "[STEP:0]"];
    let project = finished(workflow, script(&texts)).await;
    let directory = project.last();
    let told = LoadedRun::read(&directory).unwrap().view.reports().into_iter().map(|version| {
        let content =
            crate::reports::content(&directory.blobs(), &version.text, version.start, version.end).unwrap();
        assert_eq!(crate::blobs::sha256(&content), version.sha256);
        let content = String::from_utf8(content).unwrap();
        format!("{} {} by {} as {:?}: {content:?}", version.seq, version.file, version.call, version.how)
    });
    insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @r#"
    9 plan.md by plan.1.1.1 as Only: "one\n"
    24 plan.md by plan.2.1.1 as Whole: "two without a block"
    "#);
}

// K-20, the result object
#[tokio::test(start_paused = true)]
async fn the_result_of_a_run_has_everything_the_command_line_shows() {
    let plan = reporting(turn("plan", vec![fixed("Plan.")]), &["plan.md", "todo.md"]);
    let workflow = workflow(vec![("plan", stage(vec![plan], &[("", "COMPLETE")]))]);
    let mut script = script(&["`plan.md`\n```markdown\none\n```\n`todo.md`\n```markdown\ntwo\n```"]);
    script.replies[0].usage = Usage { input: Some(10), output: Some(5), ..Usage::default() };
    script.replies[0].cost = Some(Usd(1_500_000));
    let project = finished(workflow, script).await;
    let mut outcome = LoadedRun::read(&project.last()).unwrap().outcome().unwrap();
    outcome.report_directory =
        outcome.report_directory.replace(&project.path("").canonicalize().unwrap().display().to_string(), "");
    insta::assert_snapshot!(format!("{outcome:#?}"), @r#"
    RunOutcome {
        run: "20260206-085600-make-it-so",
        definition: "small",
        dialect: "piece",
        outcome: "completed",
        reason: Some(
            "complete",
        ),
        exit: 0,
        unmatched: [],
        iterations: 1,
        turns: 1,
        usage: Usage {
            input: Some(
                10,
            ),
            output: Some(
                5,
            ),
            cached: None,
            reasoning: None,
            cumulative: false,
        },
        cost: Some(
            Usd(
                1500000,
            ),
        ),
        unpriced: {},
        report_directory: "/.takt/reports/20260206-085600-make-it-so",
        reports: [
            "plan.md",
            "todo.md",
        ],
        output: Some(
            "`plan.md`\n```markdown\none\n```\n`todo.md`\n```markdown\ntwo\n```",
        ),
        rehearsal: true,
        resumable: false,
        until: None,
    }
    "#);
}

// P-44
#[tokio::test(start_paused = true)]
async fn a_run_no_rule_matched_shows_the_end_of_what_was_said() {
    let text = format!("{}the end", "x".repeat(2_000));
    let project = finished(plan_and_review(), script(&["a plan", &text])).await;
    let outcome = LoadedRun::read(&project.last()).unwrap().outcome().unwrap();
    assert_eq!(
        (outcome.outcome.as_str(), outcome.reason.as_deref(), outcome.exit),
        ("failed", Some("no_match"), 1)
    );
    let [unmatched] = &outcome.unmatched[..] else { panic!("{outcome:?}") };
    assert_eq!((unmatched.turn.as_str(), &unmatched.label), ("review", &None));
    assert!(unmatched.tail.chars().count() == 1_000 && unmatched.tail.ends_with("xthe end"));
}

// C-31: the failure is in the result.
#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_a_provider_says_what_it_said() {
    let mut script = script(&[]);
    let fail = saihai_model::ScriptFailure {
        class: saihai_model::FailureClass::Auth,
        message: "who are you?".to_owned(),
        retry_after: None,
        until: None,
    };
    script.replies.push(ScriptReply { fail: Some(fail), ..ScriptReply::default() });
    let project = finished(plan_and_review(), script).await;
    let outcome = LoadedRun::read(&project.last()).unwrap().outcome().unwrap();
    assert_eq!(
        (outcome.outcome.as_str(), outcome.reason.as_deref(), outcome.exit, outcome.resumable),
        ("parked", Some("provider"), 4, true)
    );
    let failure = LoadedRun::read(&project.last()).unwrap().view.last_failure.unwrap();
    assert_eq!((failure.class.name(), failure.message.as_str()), ("auth", "who are you?"));
}

// P-33: outputs of parallel turns are joined as a later prompt would show them.
#[tokio::test(start_paused = true)]
async fn the_output_of_a_parallel_stage_is_that_of_all_its_turns() {
    let turns = ["a", "b"].map(|id| {
        let mut turn = turn(id, vec![fixed(id)]);
        turn.heading = format!("## {id}\n");
        turn
    });
    let mut stage = stage(turns.to_vec(), &[("", "COMPLETE")]);
    if let saihai_model::Activity::Turns { between, .. } = &mut stage.does {
        "\n\n---\n\n".clone_into(between);
    }
    let project = finished(workflow(vec![("all", stage)]), script(&["one", "two"])).await;
    let outcome = LoadedRun::read(&project.last()).unwrap().outcome().unwrap();
    assert_eq!(outcome.output.as_deref(), Some("## a\none\n\n---\n\n## b\ntwo"));
    assert_eq!(transitions(&project.last())[0].to, Destination::Complete);
}

// The view counts spending like the engine's budget, without replaying the engine.
#[tokio::test(start_paused = true)]
async fn spending_is_what_the_budget_counts() {
    let mut workflow = plan_and_review();
    workflow.limits.budget.usd = Some(Usd(9_000_000));
    for stage in workflow.stages.values_mut() {
        let saihai_model::Activity::Turns { turns, .. } = &mut stage.does else { continue };
        turns[0].price = Some(Usd(70));
    }
    let mut script = script(&["a plan", "[STEP:1]", "a plan", "[STEP:0]"]);
    // The first turn counts with its price, the third with the most expensive turn before it.
    script.replies[1].cost = Some(Usd(250_000));
    script.replies[1].usage = Usage { input: Some(10), output: Some(5), ..Usage::default() };
    script.replies[3].cost = Some(Usd(1));
    let project = finished(workflow, script).await;
    let run = LoadedRun::read(&project.last()).unwrap();
    let spending = run.view.spending(&run.workflow).unwrap();
    let engine = crate::ReplayedRun::read(&project.last()).unwrap();
    let engine = engine.run();
    assert_eq!((spending.spent, spending.driven), (engine.spent(), engine.driven()));
    assert_eq!((spending.budget, spending.spent.turns), (engine.limits().budget.clone(), 4));
    assert_eq!(spending.spent.usd, Usd(70 + 250_000 + 250_000 + 1));
}
