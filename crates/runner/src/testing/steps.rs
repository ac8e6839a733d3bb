//! A flow of checked steps, as agents of steps lower into: one session, outputs with one correction, a check in the same
//! session with retries, blocks that are acted on.

use indexmap::IndexMap;
use saihai_model::{
    Action, ActionSpec, Activity, Again, AnswerForm, BlockUse, Blocks, Checked, Choice, Completion, Exit,
    Form, Holds, Join, Limits, Method, Offer, Once, Output, OutputSchema, Part, Prompt, Question,
    QuestionSession, Rule, Script, ScriptReply, ScriptTarget, Section, SessionPolicy, Spoken, Stage,
    StillWrong, Target, Turn, Variable, When, Workflow,
};
use serde_json::json;

use super::{fixed, script, stage, turn, value, workflow};

fn prompt(sections: Vec<Section>) -> Prompt {
    Prompt { sections, join: Join::Paragraphs }
}

fn step(id: &str) -> Turn {
    let mut work = turn(id, vec![fixed(&format!("Do {id}."))]);
    work.session = SessionPolicy::Continue("agent".into());
    work.reads.carry = Spoken::AllMessages;
    let carried = vec![Part::Fixed("Carried: ".into()), Part::Value(Variable::Previous, Form::Tail(4_000))];
    work.prompt.sections.push(Section { body: carried, when: When::NewSession });
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

/// `measure` gives a height; `quote` needs it, is checked, and is tried again twice.
pub(crate) fn tailor() -> Workflow {
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
        still_wrong: StillWrong::Go(Target::failed("step_failed measure")),
        checked: Checked::BySchema,
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
            Rule { when: Holds::Is("ok".into()), then: Target::Complete },
            Rule { when: Holds::Is("ng".into()), then: Target::Again(Box::new(again)) },
        ],
        question: None,
        otherwise: Target::failed("step_failed quote"),
    };
    debug_assert!(matches!(stage.does, Activity::Turns { .. }));
    stage
}

/// A measure that is corrected, a quote that is not right, and one that is and is noted down.
pub(crate) fn tailors_replies() -> Script {
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
