use std::time::SystemTime;

use super::super::testing::Wrong;
use super::super::{ForgeAddressError, ForgeError};
use super::*;

const ISSUE: &str = "/repos/me/tool/issues/7";

fn one_issue() -> (ForgeServer, Github) {
    forge(|state| {
        state.issue(7, "Login fails", &[]);
    })
}

/// Reads the issue with this fault every time. Returns the result and the number of requests.
async fn looked(wrong: Wrong) -> (Result<String, ForgeError>, usize) {
    let (server, github) = one_issue();
    server.goes_wrong("GET", ISSUE, wrong, usize::MAX);
    let answer = github.issue(number(7)).await.map(|issue| issue.title);
    (answer, server.requests().len())
}

// I-20, with the five tests below
#[tokio::test]
async fn refusals_are_told_apart_by_their_cause_and_not_tried_again() {
    let check = async |status: u16, expected: &str| {
        let (answer, requests) =
            looked(Wrong::Status(status, "Words of the forge\nand more".to_owned())).await;
        assert_eq!((answer.expect_err("refused").to_string().as_str(), requests), (expected, 1), "{status}");
    };
    check(404, "issue #7 was not found").await;
    check(410, "issue #7 was not found").await;
    check(401, "no rights for issue #7: Words of the forge").await;
    check(403, "no rights for issue #7: Words of the forge").await;
    check(429, "the forge's rate limit is reached").await;
    check(422, "issue #7 was refused (422): Words of the forge").await;
}

// T-42: the wait for each way of stating it, with one request.
#[tokio::test]
async fn a_rate_limit_says_until_when_and_is_not_tried_again() {
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs();
    let check = async |status: u16, headers: &[(&'static str, &str)], expected: Option<u64>| {
        let headers: Vec<(&'static str, String)> =
            headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let (answer, requests) = looked(Wrong::TooMuch(status, headers.clone())).await;
        let Err(ForgeError::RateLimited { until }) = answer else { panic!("{headers:?}: {answer:?}") };
        // Rounded to ten seconds, because the answer takes a moment.
        let wait = until.map(|until| (until.0 / 1_000).saturating_sub(now()).div_ceil(10) * 10);
        assert_eq!((wait, requests), (expected, 1), "{status} {headers:?}");
    };
    let reset = |wait: u64| (now() + wait).to_string();
    for status in [403, 429] {
        check(status, &[], None).await;
        check(status, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &reset(90))], Some(90)).await;
        check(status, &[("retry-after", "30")], Some(30)).await;
        // If there are both, the nearer cause counts.
        check(status, &[("retry-after", "30"), ("x-ratelimit-reset", &reset(90))], Some(30)).await;
        for nonsense in ["NaN", "-1", "", "soon", "1e3", "0"] {
            check(status, &[("retry-after", nonsense)], None).await;
            check(status, &[("retry-after", nonsense), ("x-ratelimit-reset", &reset(90))], Some(90)).await;
        }
        // Ten years, the largest number, and a time in the past.
        for endless in [315_360_000, u64::MAX] {
            check(status, &[("retry-after", &endless.to_string())], Some(3_600)).await;
            let at = now().saturating_add(endless).to_string();
            check(status, &[("x-ratelimit-reset", &at)], Some(3_600)).await;
        }
        check(status, &[("x-ratelimit-reset", "1770368160")], None).await;
    }
}

#[tokio::test]
async fn a_look_is_tried_again_while_the_trouble_may_pass() {
    for wrong in [Wrong::Status(502, "Bad Gateway".to_owned()), Wrong::CutBefore, Wrong::CutWithin] {
        let (server, github) = one_issue();
        server.goes_wrong("GET", ISSUE, wrong.clone(), 3);
        assert_eq!(
            github.issue(number(7)).await.map(|issue| issue.title),
            Ok("Login fails".to_owned()),
            "{wrong:?}"
        );
        assert_eq!(server.requests().len(), 4);
        let (answer, requests) = looked(wrong).await;
        assert!(answer.is_err_and(|error| error.is_transient()));
        assert_eq!(requests, 4);
    }
}

#[tokio::test]
async fn a_forge_that_says_nothing_is_not_waited_for_for_ever() {
    let (server, _) = one_issue();
    let github = open(&server, Millis(50));
    server.goes_wrong("GET", ISSUE, Wrong::Hang, usize::MAX);
    let answer = github.issue(number(7)).await.expect_err("no answer");
    assert_eq!(answer.to_string(), "issue #7 failed for now: no answer within 50 ms");
}

#[tokio::test]
async fn an_answer_that_cannot_be_understood_names_the_field() {
    let check = async |body: &str, expected: &str| {
        let (answer, _) = looked(Wrong::Body(body.to_owned())).await;
        assert_eq!(answer.expect_err("malformed").to_string(), expected);
    };
    check(
        r#"{"number": 7, "title": 5, "state": "open"}"#,
        "cannot parse the answer about issue #7 at `title`: invalid type: integer `5`, expected a string at line 1 column 24",
    )
    .await;
    check(
        r#"{"number": 7, "title": "a", "state": "open", "labels": [{"nam": "x"}]}"#,
        "cannot parse the answer about issue #7 at `labels[0]`: missing field `name` at line 1 column 68",
    )
    .await;
    check(
        r#"{"number": 0, "title": "a", "state": "open"}"#,
        "cannot parse the answer about issue #7 at `number`: `0` is not the number of an issue",
    )
    .await;
}

#[tokio::test]
async fn an_answer_without_an_end_is_left_at_a_bound() {
    let (answer, requests) = looked(Wrong::Endless).await;
    assert_eq!(
        answer.expect_err("too much").to_string(),
        "cannot parse the answer about issue #7 at `.`: it is too large"
    );
    assert_eq!(requests, 1);
}

// I-12
#[tokio::test]
async fn a_token_is_sent_to_one_host_only_and_is_shown_nowhere() {
    let (elsewhere, _) = one_issue();
    for status in [301, 302, 307, 308] {
        let (server, github) = one_issue();
        server.goes_wrong("GET", ISSUE, Wrong::Redirect(status, format!("{}{ISSUE}", elsewhere.url())), 1);
        let answer = github.issue(number(7)).await.expect_err("it leads elsewhere");
        assert!(answer.to_string().ends_with("which is not followed"), "{answer}");
        assert!(!format!("{answer} {answer:?}").contains(CANARY));
        let bearer = format!("Bearer {CANARY}");
        assert_eq!(server.requests()[0].header("authorization"), Some(bearer.as_str()));
    }
    assert_eq!(elsewhere.requests(), [], "nothing was sent there, with a token or without");
    let token = ForgeToken::new(CANARY).expect("a token");
    assert!(!format!("{token:?}").contains(CANARY));
}

#[tokio::test]
async fn a_page_that_is_said_to_be_elsewhere_is_not_asked_for_there() {
    let (elsewhere, _) = one_issue();
    let (server, github) = one_issue();
    server.goes_wrong("GET", "/repos/me/tool/issues", Wrong::NextPage(format!("{}/x", elsewhere.url())), 1);
    let answer = github.issues(&[]).await.expect_err("it leads elsewhere");
    assert!(answer.to_string().ends_with("which is not followed"), "{answer}");
    assert_eq!(elsewhere.requests(), []);
}

// I-12
#[tokio::test]
async fn a_look_follows_its_own_host_and_an_effect_follows_nobody() {
    let (server, github) = one_issue();
    let moved = format!("{}/repositories/99/issues/8", server.url());
    let there = serde_json::json!({"number": 8, "title": "It is here", "state": "open"});
    server.change(|state| drop(state.outside.insert("/repositories/99/issues/8".to_owned(), there)));
    server.goes_wrong("GET", "/repos/me/tool/issues/8", Wrong::Redirect(301, moved.clone()), 1);
    assert_eq!(github.issue(number(8)).await.map(|issue| issue.title), Ok("It is here".to_owned()));
    server.goes_wrong("POST", "/repos/me/tool/issues/7/comments", Wrong::Redirect(307, moved), 1);
    assert!(github.comment(number(7), "text").await.is_err());
    assert_eq!(server.writes().len(), 1);
    let circle = format!("{}/repos/me/tool/issues/9", server.url());
    server.goes_wrong("GET", "/repos/me/tool/issues/9", Wrong::Redirect(301, circle), usize::MAX);
    assert!(github.issue(number(9)).await.is_err());
}

// I-12
#[test]
fn plain_http_is_for_this_machine_alone() {
    let bad = ForgeAddress::parse("http://example.org");
    assert_eq!(bad, Err(ForgeAddressError::NotEncrypted("http://example.org".to_owned())));
    assert!(ForgeAddress::parse("http://127.0.0.1:4711").is_ok());
}
