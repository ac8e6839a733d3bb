//! Builders of small workflows and scripts, for the tests of every crate (feature `testing`).

use indexmap::IndexMap;
use serde_json::json;

use crate::effect::{Action, ActionSpec, Once};
use crate::exit::{Again, Exit, ExitRule, RuleCondition, Target};
use crate::money::{Limits, Retry};
use crate::prompt::{Join, Prompt, PromptPart, PromptSection, SectionCondition, ValueForm, Variable};
use crate::reads::{
    AnswerForm, BlockUse, Blocks, CarriedWords, Choice, ExitCodeLabel, InvalidOutputPolicy, Method, Offer,
    Output, OutputCheck, OutputSchema, Question, QuestionSession, Reads, Report,
};
use crate::script::{Script, ScriptReply, ScriptTarget};
use crate::workflow::{Activity, OnFailure, Rounds, Stage, Workflow};
use crate::workflow::{Gate, GateMode, Wants};
use crate::workflow::{Permission, SessionPolicy, Turn};

use crate::{Completion, Ending, Label, ProgramCommand, ProgramExitRange, Start};

pub fn fixed(text: &str) -> PromptSection {
    PromptSection { body: vec![PromptPart::Fixed(text.into())], when: SectionCondition::Always }
}

pub fn value(variable: Variable) -> PromptSection {
    PromptSection {
        body: vec![PromptPart::Value(variable, ValueForm::Plain)],
        when: SectionCondition::Always,
    }
}

pub fn turn(id: &str, sections: Vec<PromptSection>) -> Turn {
    Turn {
        id: id.into(),
        title: format!("{id} - small"),
        description: None,
        persona: None,
        role: None,
        prompt: Prompt { sections, join: Join::Paragraphs },
        provider: "script".into(),
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
        reads: Reads::default(),
    }
}

/// Gives a turn labels that it says by its tag.
pub fn choosing(mut turn: Turn, labels: &[&str]) -> Turn {
    let options = labels.iter().enumerate();
    let options = options.map(|(number, label)| Offer { number, label: Label::from(*label) }).collect();
    turn.reads.choice = Some(Choice { options, found_by: vec![Method::Tag] });
    turn
}

/// Lets `sh` do a turn. The labels are `exit(0)` and `exit(1..)`.
pub fn running(mut turn: Turn, line: &str) -> Turn {
    let ranges = [(0, Some(0)), (1, None)].map(|(first, last)| ProgramExitRange::Codes { first, last });
    let labels = ranges.map(|exits| ExitCodeLabel { label: exits.to_string().into(), exits });
    let options = labels.iter().enumerate();
    let options = options.map(|(number, one)| Offer { number, label: one.label.clone() }).collect();
    let argv = ["sh", "-c", line].map(str::to_owned).to_vec();
    turn.program = Some(Box::new(ProgramCommand { argv, ..ProgramCommand::default() }));
    turn.provider = ProgramCommand::PROVIDER.into();
    turn.prompt = Prompt { sections: vec![fixed(line)], join: Join::AsIs };
    turn.permission = Permission::Full;
    turn.reads.choice = Some(Choice { options, found_by: vec![Method::ExitCode(labels.to_vec())] });
    turn.reads.carry = CarriedWords::ProgramResult;
    turn
}

pub fn reporting(mut turn: Turn, files: &[&str]) -> Turn {
    let report = |file: &&str| Report { file: (*file).to_owned(), label: (*file).to_owned(), heading: None };
    turn.reads.reports = files.iter().map(report).collect();
    turn
}

/// Builds a stage of turns with the rules `label -> stage`, `COMPLETE` or `ABORT`.
pub fn stage(turns: Vec<Turn>, rules: &[(&str, &str)]) -> Stage {
    let one = turns.len() == 1;
    let rules = rules.iter().map(|(label, to)| {
        let when = match *label {
            "" => RuleCondition::Always,
            label if one => RuleCondition::Is(label.into()),
            label => RuleCondition::All(vec![label.into()]),
        };
        ExitRule { when, then: target(to) }
    });
    let title = turns.first().map(|turn| turn.title.clone()).unwrap_or_default();
    stage_of(&title, asks(turns, ""), leaves(rules.collect()))
}

/// Builds a stage of any activity.
pub fn stage_of(title: &str, does: Activity, exit: Exit) -> Stage {
    Stage {
        title: title.to_owned(),
        does,
        exit,
        rounds: Rounds::default(),
        visits: None,
        aside: false,
        description: None,
    }
}

/// Builds the activity of asking turns, whose outputs are joined by `between`.
pub fn asks(turns: Vec<Turn>, between: &str) -> Activity {
    Activity::Turns { turns, at_once: None, on_failure: OnFailure::Park, between: between.to_owned() }
}

/// Builds an exit by rules. A run fails if none matches.
pub fn leaves(rules: Vec<ExitRule>) -> Exit {
    Exit::Rules { rules, question: None, otherwise: Target::failed("no_match") }
}

/// Builds a gate whose yes, or text, leads to a stage.
pub fn gate(wants: Wants, to: &str) -> Stage {
    let rule = |label: &str, then| ExitRule { when: RuleCondition::Is(label.into()), then };
    let declined = Target::End(Ending::Declined);
    let rules = vec![rule("yes", target(to)), rule("answered", target(to)), rule("no", declined)];
    let question = Prompt { sections: vec![fixed("May it?")], join: Join::Paragraphs };
    let gate = Gate { question, wants, mode: GateMode::Person, timeout: None };
    stage_of("gate", Activity::Gate(gate), leaves(rules))
}

pub fn target(to: &str) -> Target {
    match to {
        "COMPLETE" => Target::Complete,
        "ABORT" => Target::failed("abort"),
        stage => Target::Stage(stage.into()),
    }
}

pub fn workflow(stages: Vec<(&str, Stage)>) -> Workflow {
    Workflow {
        name: "small".to_owned(),
        entry: stages[0].0.into(),
        stages: stages.into_iter().map(|(id, stage)| (id.into(), stage)).collect(),
        topics: None,
        monitors: Vec::new(),
        breakers: Vec::new(),
        completion: Completion::Flow,
        limits: Limits { rounds: Some(10), ..Limits::default() },
        retry: Retry::default(),
        afterwards: None,
        provider: None,
        log: None,
        groups: Vec::new(),
        issue: None,
        words: [("report-missing".to_owned(), "(none yet)".to_owned())].into_iter().collect(),
    }
}

/// Builds a workflow: `plan` says `next`; then `review` says `ok`, or `fix` to plan again.
pub fn plan_and_review() -> Workflow {
    workflow(vec![
        ("plan", stage(vec![turn("plan", vec![fixed("Plan."), value(Variable::Task)])], &[("", "review")])),
        (
            "review",
            stage(
                vec![choosing(
                    turn("review", vec![fixed("Review."), value(Variable::Previous)]),
                    &["ok", "fix"],
                )],
                &[("ok", "COMPLETE"), ("fix", "plan")],
            ),
        ),
    ])
}

pub fn script(texts: &[&str]) -> Script {
    let say = |text: &&str| ScriptReply { text: Some((*text).to_owned()), ..ScriptReply::default() };
    Script { strict: true, replies: texts.iter().map(say).collect(), ..Script::default() }
}

fn prompt(sections: Vec<PromptSection>) -> Prompt {
    Prompt { sections, join: Join::Paragraphs }
}

fn step(id: &str) -> Turn {
    let mut work = turn(id, vec![fixed(&format!("Do {id}."))]);
    work.session = SessionPolicy::Continue("agent".into());
    work.reads.carry = CarriedWords::AllMessages;
    let carried = vec![
        PromptPart::Fixed("Carried: ".into()),
        PromptPart::Value(Variable::Previous, ValueForm::Tail(4_000)),
    ];
    work.prompt.sections.push(PromptSection { body: carried, when: SectionCondition::NewSession });
    work
}

fn check(id: &str) -> Choice {
    let means = [("ok", "ok"), ("ng", "ng")].map(|(said, label)| (said.to_owned(), label.into())).into();
    let schema = json!({
        "type": "object",
        "required": ["result"],
        "properties": {"result": {"enum": ["ok", "ng"]}, "message": {"type": "string"}},
    });
    let question = Question {
        prompt: prompt(vec![fixed(&format!("Is {id} right?"))]),
        provider: None,
        model: None,
        session: QuestionSession::Same,
        answer: AnswerForm::Form {
            schema: OutputSchema { schema, required: true },
            field: "result".to_owned(),
            means,
            message: "message".to_owned(),
        },
        correction: prompt(vec![fixed("Your answer could not be read.")]),
        corrections: 1,
        unreadable: Some("ng".into()),
    };
    let options = ["ok", "ng"].iter().enumerate();
    let options = options.map(|(number, label)| Offer { number, label: (*label).into() });
    Choice { options: options.collect(), found_by: vec![Method::Ask(Box::new(question))] }
}

/// Builds a workflow: `measure` gives a height; `quote` needs it, is checked, and repeats at most twice.
pub fn tailor() -> Workflow {
    let mut measure = step("measure");
    measure.reads.output = Some(Output {
        schema: OutputSchema {
            schema: json!({
                "type": "object",
                "required": ["height"],
                "properties": {"height": {"type": "number"}},
            }),
            required: true,
        },
        corrections: 1,
        correction: prompt(vec![fixed("Your output violates the schema:"), value(Variable::Violations)]),
        still_wrong: InvalidOutputPolicy::Go(Target::failed("step_failed measure")),
        checked: OutputCheck::BySchema,
        shaping: Default::default(),
        kept_as: None,
        names: None,
    });
    let mut quote = step("quote");
    quote.needs = vec![("measure".into(), "height".to_owned())];
    let height = Variable::Output { stage: "measure".into(), key: "height".to_owned(), otherwise: None };
    quote.prompt.sections.push(value(height));
    quote.prompt.sections.push(value(Variable::CheckMessage));
    quote.reads.choice = Some(check("quote"));
    let file = Action::WriteFile { path: "output.md".to_owned(), append: true };
    let note = ActionSpec { does: file, inputs: Vec::new(), once: Once::LookUpFirst, poll: None };
    let uses = IndexMap::from([("note".to_owned(), BlockUse::Do(note))]);
    quote.reads.blocks = Some(Blocks { fence: "action".to_owned(), uses });
    let mut flow =
        workflow(vec![("measure", stage(vec![measure], &[("", "quote")])), ("quote", checked(quote))]);
    flow.completion = Completion::First(vec![Completion::Rounds(12), Completion::Flow]);
    flow.limits = Limits { hard_rounds: Some(100), ..Limits::default() };
    flow.words.insert("completed-flow".to_owned(), "Flow completed at {}".to_owned());
    flow
}

fn checked(turn: Turn) -> Stage {
    let exhausted = Target::failed("retries_exhausted quote 2");
    let again = Again { note: None, at_most: Some(2), exhausted };
    let mut stage = stage(vec![turn], &[]);
    stage.exit = Exit::Rules {
        rules: vec![
            ExitRule { when: RuleCondition::Is("ok".into()), then: Target::Complete },
            ExitRule { when: RuleCondition::Is("ng".into()), then: Target::Again(Box::new(again)) },
        ],
        question: None,
        otherwise: Target::failed("step_failed quote"),
    };
    debug_assert!(matches!(stage.does, Activity::Turns { .. }));
    stage
}

/// Replies for `tailor`: a corrected measure, a rejected quote, and an accepted one that is written down.
pub fn tailors_replies() -> Script {
    let reply = |stage: &str, judge: bool, text: &str| ScriptReply {
        target: Some(ScriptTarget { stage: stage.into(), turn: None, judge }),
        text: Some(text.to_owned()),
        ..ScriptReply::default()
    };
    let mut script = script(&[]);
    script.replies = vec![
        reply("measure", false, "採寸結果です。175 cm"),
        reply("measure", false, "```json\n{\"height\": 175}\n```"),
        reply("quote", false, "9 yen"),
        reply("quote", true, "```json\n{\"result\": \"NG\", \"message\": \"too cheap\"}\n```"),
        reply("quote", false, "900 yen\n```action\n{\"type\": \"note\", \"content\": \"900\"}\n```\n"),
        reply("quote", true, "{\"result\": \"ok\"}"),
    ];
    script
}

/// Returns a start with neutral values.
pub fn start() -> Box<Start> {
    let start = json!({
        "definition": "small", "dialect": "piece", "task": {"inline": "make it so"}, "seed": 7, "interactive": false,
        "rehearsal": true, "patience": 0, "directory": "/", "report_directory": "/", "workflow": "", "version": "",
    });
    serde_json::from_value(start).expect("every field that has no default is given")
}
