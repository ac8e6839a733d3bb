//! Contents of a scripted reply.

use insta::assert_snapshot;
use saihai_model::{
    Ask, FailureClass, Json, Millis, Moment, Permission, Script, ScriptFailure, ScriptReply, Usage, Usd,
};

use super::say::{ask, reply, script};
use super::stage::{EDIT, Stage, failure};

// C-75: the answer contains everything in the reply.
#[tokio::test]
async fn a_reply_carries_everything_the_script_says() {
    let said = ScriptReply {
        structured: Some(serde_json::json!({ "approved": true })),
        session: Some("s-9".into()),
        usage: Usage { input: Some(900), output: Some(120), ..Usage::default() },
        cost: Usd::from_dollars(0.25),
        progress: vec!["wor".into(), "king".into()],
        ..reply("-> done [STEP:0]")
    };
    let mut stage = Stage::new(vec![said], |_| {});
    let answer = stage.answer(stage.ask(Permission::ReadOnly)).await.unwrap();
    assert_snapshot!(format!("{answer:#?}"), @r#"
    Reply {
        text: "done [STEP:0]",
        responses: [
            "done [STEP:0]",
        ],
        structured: Some(
            Object {
                "approved": Bool(true),
            },
        ),
        structured_error: None,
        verdict: None,
        exit: None,
        session: Some(
            "s-9",
        ),
        usage: Usage {
            input: Some(
                900,
            ),
            output: Some(
                120,
            ),
            cached: None,
            reasoning: None,
            cumulative: false,
        },
        cost: Some(
            Usd(
                250000,
            ),
        ),
        tools_used: [],
        denied: 0,
        metered: None,
        warnings: [],
    }
    "#);
    assert_eq!(stage.seen(), "text wor\ntext king");
}

// C-75: `structured` alone also fills the text.
#[tokio::test]
async fn a_structured_value_alone_is_also_the_text() {
    let value = serde_json::json!({ "approved": true, "notes": ["a"] });
    let said = ScriptReply { text: None, structured: Some(value.clone()), ..ScriptReply::default() };
    let mut stage = Stage::new(vec![said], |_| {});
    let answer = stage.answer(stage.ask(EDIT)).await.unwrap();
    assert_eq!(serde_json::from_str::<Json>(&answer.text).unwrap(), value);
    assert_eq!(answer.structured, Some(value));
}

// C-75: an absent session becomes `script-<n>`; a continued one keeps its id.
#[tokio::test]
async fn a_new_session_is_named_by_its_number_and_a_continued_one_kept() {
    let mut stage = Stage::new(vec![reply("times:* -> ok")], |_| {});
    let mut sessions = Vec::new();
    for (n, session) in (1..).zip([None, None, Some("script-1".to_owned())]) {
        let mut ask = Ask { session, ..stage.ask(EDIT) };
        ask.call.n = n;
        sessions.push(stage.answer(ask).await.unwrap().session.unwrap());
    }
    assert_eq!(sessions, ["script-1", "script-2", "script-1"]);
}

// C-75: `fail` takes any class, with its times; C-26: its usage counts.
#[tokio::test]
async fn a_scripted_failure_of_every_class_comes_back_as_it_is() {
    for class in FailureClass::ALL {
        let fail = ScriptFailure {
            class,
            message: "slow down".into(),
            retry_after: Some(Millis(2000)),
            until: Some(Moment(7)),
        };
        let cost = Usd::from_dollars(0.5);
        let said = ScriptReply { text: None, fail: Some(fail), cost, ..ScriptReply::default() };
        let mut stage = Stage::new(vec![said], |_| {});
        let refusal = stage.answer(stage.ask(EDIT)).await.unwrap_err();
        assert_eq!((refusal.failure.class, refusal.failure.until), (class, Some(Moment(7))));
        assert_eq!((refusal.retry_after, refusal.cost), (Some(Millis(2000)), cost));
        assert_eq!(refusal.failure.message, "slow down");
    }
}

// Connections case 36: a missing reply fails its turn, and the error names stage and visit.
#[tokio::test]
async fn a_missing_reply_is_a_bad_request() {
    let mut stage = Stage::new(Vec::new(), |_| {});
    let answer = stage.answer(ask("reviewers/security 3", 1)).await;
    assert_snapshot!(failure(&answer), @"bad_request: the script has no reply for `reviewers/security` at visit 3");
}

#[tokio::test]
async fn a_script_that_lacks_a_reply_and_is_not_strict_says_something_generic() {
    let mut stage = Stage::new(Vec::new(), |with| {
        with.script = Some(Script { strict: false, ..script("") });
    });
    let answer = stage.answer(stage.ask(EDIT)).await.unwrap();
    assert_snapshot!(answer.text, @"Done. (The script has no reply for this turn.)");
}
