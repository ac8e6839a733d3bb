use saihai_model::{MergeMethod, StatusLabel};

use super::super::testing::{KeptComment, Wrong};
use super::super::{
    ForgeError, NewIssue, NewPullRequest, PullRequestStanding, PullRequestState, marker, rewrite, standing,
};
use super::*;

const BRANCH: &str = "feature/issue-7";

fn new(body: &str) -> NewPullRequest {
    NewPullRequest {
        title: "Login fails (#7)".to_owned(),
        body: body.to_owned(),
        head: BRANCH.to_owned(),
        base: "main".to_owned(),
        draft: true,
    }
}

/// Returns the pull request of the branch, as a word and a number.
async fn found(github: &Github) -> (&'static str, Option<u64>) {
    let all = github.pull_requests_of(BRANCH).await.expect("pull requests");
    match standing(all, "main").expect("one at most") {
        PullRequestStanding::None => ("none", None),
        PullRequestStanding::Open(one) => ("open", Some(one.number)),
        PullRequestStanding::Merged(one) => ("merged", Some(one.number)),
        PullRequestStanding::ClosedByPerson(one) => ("closed", Some(one.number)),
    }
}

// I-53
#[tokio::test]
async fn a_pull_request_is_opened_found_again_rewritten_and_merged() {
    let (server, github) = forge(|state| {
        state.branches.insert(BRANCH.to_owned(), "abc".to_owned());
    });
    assert_eq!(found(&github).await, ("none", None));
    let body = rewrite("", number(7), "run-1", "First.");
    let opened = github.open_pull_request(&new(&body)).await.expect("a pull request");
    assert_eq!(
        (opened.state, opened.draft, opened.head_commit.as_str()),
        (PullRequestState::Open, true, "abc")
    );
    assert!(opened.body.contains(&marker(number(7), "run-1")));
    assert_eq!(found(&github).await, ("open", Some(opened.number)));

    let again = rewrite(&format!("A person's words.\n\n{}", opened.body), number(7), "run-2", "Second.");
    let changed = github.set_pull_request_body(opened.number, &again).await.expect("a change");
    assert_eq!(
        changed.body,
        "A person's words.\n\n<!-- saihai:issue=7 run=run-2 -->\nSecond.\n<!-- saihai:end -->"
    );
    let merged = github.merge(opened.number, "abc", MergeMethod::Merge).await;
    assert_eq!(merged, Ok("merge-of-abc".to_owned()));
    assert_eq!(found(&github).await, ("merged", Some(opened.number)));
    assert_eq!(
        server.writes(),
        ["POST /repos/me/tool/pulls", "PATCH /repos/me/tool/pulls/1", "PUT /repos/me/tool/pulls/1/merge"]
    );
}

#[tokio::test]
async fn a_pull_request_that_was_opened_before_the_connection_broke_is_found_and_was_asked_for_once() {
    for wrong in [Wrong::CutAfter, Wrong::CutWithin] {
        let (server, github) = forge(|state| {
            state.branches.insert(BRANCH.to_owned(), "abc".to_owned());
        });
        server.goes_wrong("POST", "/repos/me/tool/pulls", wrong, 1);
        let lost = github.open_pull_request(&new("text")).await.expect_err("no answer came");
        assert!(lost.is_transient(), "{lost}");
        assert_eq!(found(&github).await, ("open", Some(1)));
        assert_eq!(server.writes(), ["POST /repos/me/tool/pulls"]);
    }
}

#[tokio::test]
async fn an_effect_that_never_reached_the_forge_is_not_found() {
    let (server, github) = forge(|state| {
        state.branches.insert(BRANCH.to_owned(), "abc".to_owned());
    });
    server.goes_wrong("POST", "/repos/me/tool/pulls", Wrong::CutBefore, 1);
    let lost = github.open_pull_request(&new("text")).await.expect_err("no answer came");
    assert!(lost.is_transient(), "{lost}");
    assert_eq!(found(&github).await, ("none", None));
}

// I-53
#[tokio::test]
async fn a_branch_of_the_same_name_in_a_fork_is_another_one() {
    let (_server, github) = forge(|state| {
        state.pull_request(3, BRANCH, "f00").head_repository = Some("stranger/tool".to_owned());
        // A fork of the same owner, and a deleted fork.
        state.pull_request(4, BRANCH, "f01").head_repository = Some("me/tool-fork".to_owned());
        state.pull_request(5, BRANCH, "f02").head_repository = None;
    });
    assert_eq!(found(&github).await, ("none", None));
}

// I-53
#[tokio::test]
async fn a_pull_request_that_a_person_closed_is_told_and_what_happened_last_counts() {
    let (server, github) = forge(|state| state.pull_request(3, BRANCH, "abc").closed = true);
    assert_eq!(found(&github).await, ("closed", Some(3)));
    server.change(|state| {
        let merged = state.pull_request(4, BRANCH, "abd");
        (merged.closed, merged.merged) = (true, true);
    });
    assert_eq!(found(&github).await, ("merged", Some(4)));
    server.change(|state| state.pull_request(5, BRANCH, "abe").base = "other".to_owned());
    assert_eq!(found(&github).await, ("merged", Some(4)), "it goes somewhere else");
    server.change(|state| {
        state.pull_request(6, BRANCH, "abf");
    });
    assert_eq!(found(&github).await, ("open", Some(6)));
    server.change(|state| {
        state.pull_request(7, BRANCH, "abf");
    });
    let several = standing(github.pull_requests_of(BRANCH).await.expect("pull requests"), "main");
    let said = several.expect_err("two are open").to_string();
    assert_eq!(said, "the open pull request to `main` is ambiguous: #6, #7");
}

#[tokio::test]
async fn a_merge_names_its_commit_and_tells_why_it_was_refused() {
    let (server, github) = forge(|state| {
        state.pull_request(3, BRANCH, "abc");
        state.forbidden_method = Some("squash".to_owned());
    });
    let moved = github.merge(3, "older", MergeMethod::Merge).await;
    assert_eq!(moved, Err(ForgeError::HeadMoved { what: "pull request #3".to_owned() }));
    let forbidden = github.merge(3, "abc", MergeMethod::Squash).await.expect_err("forbidden");
    assert_eq!(
        forbidden.to_string(),
        "pull request #3 was refused (405): Squash merges are not allowed on this repository."
    );
    server.change(|state| state.pull_requests.get_mut(&3).expect("it").mergeable = None);
    assert_eq!(github.pull_request(3).await.expect("it").mergeable, None, "the forge is still computing");
    server.change(|state| state.pull_requests.get_mut(&3).expect("it").mergeable = Some(true));
    server.goes_wrong("PUT", "/repos/me/tool/pulls/3/merge", Wrong::CutAfter, 1);
    assert!(github.merge(3, "abc", MergeMethod::Merge).await.is_err_and(|error| error.is_transient()));
    assert_eq!(github.pull_request(3).await.expect("it").state, PullRequestState::Merged);
}

#[tokio::test]
async fn an_issue_has_at_most_one_status_and_every_other_label_stays() {
    let (server, github) = forge(|state| {
        for label in 0..250 {
            state.labels.insert(format!("label {label:03}"), "ededed".to_owned());
        }
        // This label is on the last page.
        state.labels.insert("x:running".to_owned(), "0e8a16".to_owned());
        state.issue(7, "Many labels", &["bug", "x:queued", "x:failed", "saihai:queued", "x:pr-created"]);
    });
    let labels = || server.state().issues[&7].labels.clone();
    github.set_status(number(7), &[StatusLabel::Running], "x").await.expect("labels");
    assert_eq!(labels(), ["bug", "saihai:queued", "x:pr-created", "x:running"]);
    let created = |line: &String| line == "POST /repos/me/tool/labels";
    assert!(!server.writes().iter().any(created), "it was there");

    github.set_status(number(7), &[StatusLabel::Completed, StatusLabel::Merged], "x").await.expect("labels");
    assert_eq!(labels(), ["bug", "saihai:queued", "x:pr-created", "x:completed", "x:merged"]);
    let colours = server.state().labels;
    assert_eq!((colours["x:completed"].as_str(), colours["x:merged"].as_str()), ("0075ca", "1d76db"));

    let before = server.writes().len();
    github.set_status(number(7), &[StatusLabel::Completed, StatusLabel::Merged], "x").await.expect("labels");
    assert_eq!(server.writes().len(), before, "nothing had to change");
    github.set_status(number(7), &[], "x").await.expect("labels");
    assert_eq!(labels(), ["bug", "saihai:queued", "x:pr-created", "x:merged"]);
}

#[tokio::test]
async fn a_label_that_another_person_made_meanwhile_is_used() {
    let (server, github) = forge(|state| {
        state.issue(7, "One", &[]);
    });
    let exists = r#"Validation Failed"#.to_owned();
    server.goes_wrong("POST", "/repos/me/tool/labels", Wrong::Status(422, exists), 1);
    github.set_status(number(7), &[StatusLabel::Queued], "saihai").await.expect("labels");
    assert_eq!(server.state().issues[&7].labels, ["saihai:queued"]);
}

#[tokio::test]
async fn a_comment_is_found_by_its_mark_if_it_is_ours() {
    let mark = marker(number(7), "run-1");
    let (server, github) = forge(|state| {
        let copied = KeptComment {
            id: 90,
            author: "stranger".to_owned(),
            association: "NONE".to_owned(),
            body: mark.clone(),
        };
        state.issue(7, "Talk", &[]).comments = vec![copied];
    });
    assert_eq!(github.own_comment(number(7), &mark).await, Ok(None), "a stranger copied the mark");
    let made = github.comment(number(7), &format!("Done.\n\n{mark}")).await.expect("a comment");
    assert_eq!(github.own_comment(number(7), &mark).await, Ok(Some(made)));
    assert_eq!(github.own_comment(number(7), &marker(number(7), "run-2")).await, Ok(None));
    assert_eq!(server.writes(), ["POST /repos/me/tool/issues/7/comments"]);
}

#[tokio::test]
async fn an_issue_is_opened_labelled_and_closed_and_nothing_is_written_twice() {
    let (server, github) = forge(|state| {
        state.issue(3, "Broken", &["doing", "bug"]);
    });
    let new = NewIssue {
        title: "Found it".to_owned(),
        body: "There.".to_owned(),
        labels: vec!["bug".to_owned()],
        assignees: vec!["me".to_owned()],
    };
    let opened = github.open_issue(&new).await.expect("an issue");
    assert_eq!((opened.number, opened.title.as_str()), (number(4), "Found it"));
    let kept = server.state().issues[&4].clone();
    assert_eq!((kept.body.as_str(), kept.labels, kept.assignees), ("There.", new.labels, new.assignees));

    let (add, remove) = (["done".to_owned(), "bug".to_owned()], ["doing".to_owned(), "gone".to_owned()]);
    for _ in 0..2 {
        github.change_labels(number(3), &add, &remove).await.expect("labels");
        github.close_issue(number(3)).await.expect("an end");
    }
    let kept = &server.state().issues[&3];
    assert_eq!(
        (kept.labels.as_slice(), kept.closed),
        (["bug".to_owned(), "done".to_owned()].as_slice(), true)
    );
    let closing = "PATCH /repos/me/tool/issues/3";
    let labels = "/repos/me/tool/issues/3/labels";
    assert_eq!(
        server.writes(),
        [
            "POST /repos/me/tool/issues".to_owned(),
            format!("DELETE {labels}/doing"),
            format!("POST {labels}"),
            closing.to_owned(),
            closing.to_owned(),
        ]
    );
}
