//! Results of agents, from hand-written records.

use saihai_model::Millis;

use super::*;
use saihai_model::Raise;
use saihai_model::testing::{stage, turn, workflow};

#[test]
fn a_limit_on_the_turn_cuts_an_answer_off_and_is_no_failure_of_the_agent() {
    let (stage, turn) = (StageId::from("main"), turn("a", Vec::new()));
    let status = |limit: Option<TurnLimit>| {
        let call = CallId { stage: stage.clone(), visit: 1, round: 1, n: 1 };
        let failure = Failure { limit, ..Failure::new(FailureClass::BadRequest, "cut off") };
        let mut asked = AgentTurn::new(&stage, 0, &turn);
        asked.failed(&CallFailed::new(call, failure), Moment(1));
        asked.result(true).status
    };
    assert_eq!(status(Some(TurnLimit::Calls)), AgentStatus::Truncated { reason: TruncatedBy::MaxTurns });
    assert_eq!(status(Some(TurnLimit::Output)), AgentStatus::Truncated { reason: TruncatedBy::OutputLimit });
    assert_eq!(status(None), AgentStatus::failed(FailureClass::BadRequest, "cut off"));
}

fn failed(failure: Failure, output: Option<Json>, until: Moment) -> AgentResult {
    let (stage, turn) = (StageId::from("main"), turn("a", Vec::new()));
    let turn = Turn { within: Some(Millis(5_000)), ..turn };
    let call = CallId { stage: stage.clone(), visit: 1, round: 1, n: 1 };
    let mut asked = AgentTurn::new(&stage, 0, &turn);
    asked.ran.begin(Moment(1_000));
    asked.failed(&CallFailed { output, ..CallFailed::new(call, failure) }, until);
    asked.result(true)
}

// Partial output is kept for every kind of failure
#[test]
fn what_an_agent_had_said_before_it_failed_is_kept() {
    let said = serde_json::json!({"issues": [{"severity": "important", "description": "It leaks."}]});
    let ends = [
        (Failure { by_deadline: true, ..Failure::new(FailureClass::Transient, "late") }, "timeout"),
        (
            Failure { limit: Some(TurnLimit::Calls), ..Failure::new(FailureClass::BadRequest, "") },
            "truncated",
        ),
        (Failure::new(FailureClass::Crashed, "died"), "error"),
    ];
    for (failure, status) in ends {
        let result = failed(failure, Some(said.clone()), Moment(6_000));
        assert_eq!((result.status.name(), result.findings.len()), (status, 1));
    }
}

#[test]
fn a_program_that_failed_is_told_with_its_exit_code_and_last_words() {
    let died = Failure {
        exit_code: Some(7),
        stderr: Some("no such model".into()),
        ..Failure::new(FailureClass::Crashed, "died")
    };
    let status = AgentStatus::Error {
        class: "crashed".to_owned(),
        message: "died".to_owned(),
        exit_code: Some(7),
        stderr: Some("no such model".to_owned()),
    };
    assert_eq!(failed(died, None, Moment(2_000)).status, status);
}

/// Returns the result of an agent after these replies and their violations, in order.
fn replied(replies: &[(Json, &[&str])]) -> AgentResult {
    let (stage, turn) = (StageId::from("main"), turn("a", Vec::new()));
    let mut asked = AgentTurn::new(&stage, 0, &turn);
    for (output, violations) in replies {
        let reading = serde_json::json!({"output": output, "violations": violations});
        let reply =
            serde_json::json!({"call": call(), "text": {"inline": ""}, "duration": 1, "reading": reading});
        asked.replied(&serde_json::from_value(reply).unwrap(), Moment(1));
    }
    asked.result(true)
}

fn issue(severity: &str, message: &str) -> Json {
    serde_json::json!({"severity": severity, "description": message})
}

// The rest of a truncated reply may look complete
#[test]
fn a_reply_that_was_cut_off_is_truncated_with_what_is_whole_of_it() {
    let output = serde_json::json!({"issues": [issue("important", "It leaks.")]});
    let result = replied(&[(output, &["it is cut off"])]);
    assert_eq!(result.status, AgentStatus::Truncated { reason: TruncatedBy::InvalidOutput });
    assert_eq!(result.findings.len(), 1);
    assert_eq!(result.notes, ["it is cut off"]);
    let nothing = serde_json::json!({"overall_score": 1, "issues": []});
    let result = replied(&[(nothing, &["it is cut off"])]);
    assert_eq!(result.status, AgentStatus::error(AgentStatus::INVALID_OUTPUT, "it is cut off"));
}

// A score says nothing about findings that could not be parsed
#[test]
fn a_reply_whose_findings_are_all_refused_is_no_answer_and_can_be_read() {
    let output = serde_json::json!({"overall_score": 1, "issues": [issue("High", "SQL injection")]});
    let result = replied(&[(output.clone(), &[]), (output, &[])]);
    let why = "issues/0/severity: \"High\" is not one of `critical`, `important`, `suggestion`, `nitpick`";
    assert_eq!(result.status, AgentStatus::error(AgentStatus::INVALID_OUTPUT, why));
    assert_eq!(result.refused, [r#"{"description":"SQL injection","severity":"High"}"#]);
    let many: Vec<Json> = (0..50).map(|n| issue("High", &n.to_string())).collect();
    let result = replied(&[(serde_json::json!({"issues": many}), &[])]);
    assert_eq!((result.refused.len(), result.refused[20].as_str()), (21, "and 30 more"));
}

// R-43: without JSON, the raw text is the only content
#[test]
fn the_words_of_a_reply_of_which_nothing_could_be_read_are_kept() {
    let (stage, turn) = (StageId::from("main"), turn("a", Vec::new()));
    let mut asked = AgentTurn::new(&stage, 0, &turn);
    let broken = r#"{"issues":[{"severity":"critical","description":"bad"},]}"#;
    let reading = serde_json::json!({"tail": broken, "violations": ["no JSON object"]});
    let reply =
        serde_json::json!({"call": call(), "text": {"inline": ""}, "duration": 1, "reading": reading});
    asked.replied(&serde_json::from_value(reply).unwrap(), Moment(1));
    let result = asked.result(true);
    assert_eq!(result.status, AgentStatus::error(AgentStatus::INVALID_OUTPUT, "no JSON object"));
    assert_eq!(result.refused, [broken]);
}

#[test]
fn a_correction_that_is_wrong_again_loses_no_finding() {
    let all = ["one", "two", "three"].map(|message| issue("important", message));
    let first = [&all[..], &[issue("Blocker", "bad")]].concat();
    let second = [all[1].clone(), issue("Blocker", "bad")];
    let (first, second) = (serde_json::json!({"issues": first}), serde_json::json!({"issues": second}));
    let right = serde_json::json!({"issues": [all[1]]});
    let found = |result: &AgentResult| -> Vec<String> {
        result.findings.iter().map(|one| one.message.clone()).collect()
    };
    let result = replied(&[(first.clone(), &[]), (second, &[])]);
    assert_eq!(result.status, AgentStatus::Truncated { reason: TruncatedBy::InvalidOutput });
    assert_eq!(found(&result), ["two", "one", "three"]);
    assert_eq!(result.refused.len(), 1);
    let result = replied(&[(first, &[]), (right, &[])]);
    assert_eq!((&result.status, found(&result)), (&AgentStatus::Success, vec!["two".to_owned()]));
    assert!(result.refused.is_empty() && result.notes.is_empty());
}

// Only the agent's own deadline is a timeout
#[test]
fn a_silence_that_was_too_long_is_no_timeout_of_the_agent() {
    let late = Failure { by_deadline: true, ..Failure::new(FailureClass::Transient, "silent") };
    assert_eq!(failed(late.clone(), None, Moment(5_999)).status, AgentStatus::failed(late.class, "silent"));
    let whole = failed(late, None, Moment(6_000)).status;
    assert_eq!(whole, AgentStatus::Timeout { timeout_seconds: 5 });
}

/// Returns the result of an agent with five seconds, from events at these seconds.
fn told(happened: &[(u64, Fact)]) -> (u64, AgentStatus) {
    let turn = Turn { within: Some(Millis(5_000)), ..turn("a", Vec::new()) };
    let workflow = workflow(vec![("main", stage(vec![turn], &[]))]);
    let mut results = AgentResults::new(&workflow);
    let called = Decision::Called { call: call(), place: RoundPosition::Main(0), purpose: None };
    let mut see = |second: u64, entry: RecordEntry| {
        results.see(&Record { seq: 0, at: Moment(second * 1_000), entry });
    };
    see(0, RecordEntry::Decision(called));
    for (second, fact) in happened {
        see(*second, RecordEntry::Fact(fact.clone()));
    }
    let result = results.finish().remove(0);
    (result.elapsed_ms.0, result.status)
}

fn call() -> CallId {
    CallId { stage: StageId::from("main"), visit: 1, round: 1, n: 1 }
}

fn asked(attempt: u32) -> Fact {
    Fact::Asked { call: call(), attempt, prompt: None }
}

fn stopped() -> Fact {
    Fact::Failed(Box::new(CallFailed::new(call(), Failure::new(FailureClass::Cancelled, "stopped"))))
}

fn late() -> Fact {
    let failure = Failure { by_deadline: true, ..Failure::new(FailureClass::Transient, "silent") };
    Fact::Failed(Box::new(CallFailed::new(call(), failure)))
}

// Time in which no process drove the run does not count
#[test]
fn an_agent_ran_only_while_its_run_was_driven() {
    let silent = AgentStatus::failed(FailureClass::Transient, "silent");
    let timeout = AgentStatus::Timeout { timeout_seconds: 5 };
    let (reopened, resumed) = (|| Fact::Reopened, || Fact::Resumed(raise()));
    // Attempts and the waits between them count.
    assert_eq!(told(&[(0, asked(1)), (1, late()), (3, asked(2)), (4, late())]), (4_000, silent.clone()));
    // The turn was stopped after two seconds. A day later it was silent for three.
    let parked = [(0, asked(1)), (2, stopped()), (86_400, resumed()), (86_400, asked(2)), (86_403, late())];
    assert_eq!(told(&parked), (5_000, silent));
    // The process died in the third second according to its records. The next one used up a full new
    // deadline.
    let died =
        [(0, asked(1)), (3, Fact::Woke), (60, reopened()), (61, resumed()), (61, asked(2)), (66, late())];
    assert_eq!(told(&died), (8_000, timeout.clone()));
    // The deadline was over before the run stopped for other reasons.
    let over = [(0, asked(1)), (5, late()), (60, resumed())];
    assert_eq!(told(&over), (5_000, timeout));
}

/// Builds a raise that raises nothing.
fn raise() -> Raise {
    Raise {
        rounds: None,
        budget: Default::default(),
        runtime: None,
        patience: Millis::seconds(60),
        now: false,
    }
}
