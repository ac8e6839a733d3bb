use saihai_model::{Issue, IssueSource, IssueState};

use super::super::testing::{Board, BoardItem, KeptComment};
use super::super::{BlockedBy, ChecksVerdict, ForgeError, ProjectName, SkippedItem};
use super::*;

// I-16, with the two tests below
#[tokio::test]
async fn an_issue_is_read_with_everything_that_is_used_of_it() {
    let (_server, github) = forge(|state| {
        let issue = state.issue(7, "Login fails", &["bug", "saihai"]);
        (issue.body, issue.closed) = ("`a+b` is refused".to_owned(), true);
    });
    let expected = Issue {
        source: IssueSource::Github,
        number: number(7),
        title: "Login fails".to_owned(),
        body: "`a+b` is refused".to_owned(),
        labels: vec!["bug".to_owned(), "saihai".to_owned()],
        state: IssueState::Closed,
        priority: 0,
        depends_on: Vec::new(),
        definition: None,
        base: None,
        author: Some("author".to_owned()),
        reopened: false,
    };
    assert_eq!(github.issue(number(7)).await, Ok(expected));
}

#[tokio::test]
async fn the_number_of_a_pull_request_names_no_issue() {
    let (_server, github) = forge(|state| state.issue(8, "A change", &[]).is_pull_request = true);
    let refused = github.issue(number(8)).await.expect_err("a pull request");
    assert_eq!(refused.to_string(), "#8 is a pull request, not an issue");
}

#[tokio::test]
async fn all_pages_of_issues_with_all_labels_are_read_and_pull_requests_are_none() {
    let (_server, github) = forge(|state| {
        for number in 1..=290 {
            let issue = state.issue(number, "One of many", &["saihai", "a, b&c"]);
            issue.is_pull_request = number > 250;
        }
        state.issue(300, "Without the label", &["saihai"]);
        state.issue(301, "Closed", &["saihai"]).closed = true;
    });
    let found = github.issues(&["saihai".to_owned()]).await.expect("issues");
    assert_eq!(found.len(), 251);
    assert!(found.windows(2).all(|two| two[0].number < two[1].number));
    assert_eq!(github.issues(&[]).await.expect("issues").len(), 251);
}

// On a second read, the forge only confirms that nothing has changed. The client then uses its cache,
// including the link to the next page.
#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    let (server, github) = forge(|state| {
        for number in 1..=150 {
            state.issue(number, "One of many", &[]);
        }
    });
    let first = github.issues(&[]).await.expect("issues");
    assert_eq!(server.unchanged(), 0);
    assert_eq!(github.issues(&[]).await.expect("issues"), first);
    assert_eq!((server.unchanged(), server.requests().len()), (2, 4));
    // Another client of the same access shares the cache; a change is visible immediately.
    server.change(|state| state.issues.get_mut(&120).expect("it").title = "Changed".to_owned());
    let changed = github.issues(&[]).await.expect("issues");
    assert_eq!(changed[119].title, "Changed");
    assert_eq!(server.unchanged(), 3);
    // Errors are never cached.
    assert!(github.issue(number(999)).await.is_err());
    server.change(|state| {
        state.issue(999, "New", &[]);
    });
    assert_eq!(github.issue(number(999)).await.expect("it").title, "New");
}

#[tokio::test]
async fn a_label_of_a_query_is_only_a_label() {
    let (server, github) = forge(|state| {
        state.issue(1, "Odd", &["a&state=closed#x"]);
        state.issue(2, "Plain", &["a"]);
    });
    let found = github.issues(&["a&state=closed#x".to_owned()]).await.expect("issues");
    assert_eq!(found.iter().map(|issue| issue.number).collect::<Vec<_>>(), [number(1)]);
    assert_eq!(server.requests()[0].value("state").as_deref(), Some("open"));
}

#[tokio::test]
async fn relations_of_the_forge_itself_are_read_and_those_to_other_repositories_told_apart() {
    let (server, github) = forge(|state| {
        let blocked = state.issue(7, "Blocked", &[]);
        blocked.blocked_by = (1..=120).map(|number| ("Me/Tool".to_owned(), number)).collect();
        blocked.blocked_by.push(("other/repo".to_owned(), 500));
    });
    let found = github.blocked_by(number(7)).await.expect("relations");
    let (issues, elsewhere) = ((1..=120).map(number).collect(), vec!["other/repo#500".to_owned()]);
    assert_eq!(found, BlockedBy { issues, elsewhere });
    let none = github.blocked_by(number(9)).await;
    assert_eq!(none, Ok(BlockedBy::default()), "a forge that knows no relations");
    assert_eq!(server.writes(), Vec::<String>::new());
}

// I-17
#[tokio::test]
async fn a_board_gives_issues_of_this_repository_with_the_status_and_tells_what_it_skips() {
    let here = || "me/tool".to_owned();
    let (_server, github) = forge(|state| {
        let mut items: Vec<(BoardItem, Option<String>)> =
            (1..=120).map(|number| (BoardItem::Issue(here(), number), Some("Ready".to_owned()))).collect();
        items.push((BoardItem::Issue(here(), 200), Some("Done".to_owned())));
        items.push((BoardItem::Issue(here(), 201), None));
        items.push((BoardItem::Issue("other/repo".to_owned(), 5), Some("Ready".to_owned())));
        items.push((BoardItem::PullRequest(here(), 6), None));
        items.push((BoardItem::Draft("An idea".to_owned()), Some("Ready".to_owned())));
        items.push((BoardItem::Hidden, None));
        state.boards.insert(("me".to_owned(), 4), Board(items));
    });
    let project = ProjectName::parse("me/4").expect("a project");
    let ready = github.project_items(&project, Some("Ready")).await.expect("items");
    assert_eq!(ready.issues, (1..=120).map(number).collect::<Vec<_>>());
    let skipped = [
        SkippedItem::Foreign { name: "other/repo#5".to_owned() },
        SkippedItem::PullRequest { name: "me/tool#6".to_owned() },
        SkippedItem::Draft { title: "An idea".to_owned() },
        SkippedItem::Hidden,
    ];
    assert_eq!(ready.skipped, skipped);
    assert_eq!(github.project_items(&project, None).await.expect("items").issues.len(), 122);
    let other = ProjectName::parse("me/5").expect("a project");
    let missing = github.project_items(&other, None).await.expect_err("no such board");
    assert_eq!(missing.to_string(), "the project `me/5` was not found");
}

#[test]
fn a_project_is_an_owner_and_a_number() {
    assert_eq!(ProjectName::parse("me/4").map(|name| name.to_string()).as_deref(), Some("me/4"));
    for none in ["me", "me/0", "me/x", "me/4/5", "/4", "me/-1", "me/99999999999"] {
        assert_eq!(ProjectName::parse(none), None, "{none}");
    }
}

#[tokio::test]
async fn comments_are_read_with_who_may_be_trusted() {
    let comment = |id, association: &str| KeptComment {
        id,
        author: format!("person-{id}"),
        association: association.to_owned(),
        body: "words".to_owned(),
    };
    let (_server, github) = forge(|state| {
        let words = ["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "FIRST_TIMER", "NONE", ""];
        state.issue(7, "Talk", &[]).comments =
            words.iter().zip(1..).map(|(word, id)| comment(id, word)).collect();
    });
    let trusted: Vec<bool> =
        github.comments(number(7)).await.expect("comments").iter().map(|one| one.trusted).collect();
    assert_eq!(trusted, [true, true, true, false, false, false, false]);
}

#[tokio::test]
async fn checks_and_statuses_are_one_verdict() {
    let check = |name: &str, status: &str, conclusion: Option<&str>| {
        (name.to_owned(), status.to_owned(), conclusion.map(str::to_owned))
    };
    let (_server, github) = forge(|state| {
        let many = (0..150).map(|one| check(&format!("job {one}"), "completed", Some("success")));
        state
            .checks
            .insert("green".to_owned(), many.chain([check("odd", "completed", Some("skipped"))]).collect());
        state.checks.insert("busy".to_owned(), vec![check("slow", "in_progress", None)]);
        state.statuses.insert("busy".to_owned(), vec![("ci".to_owned(), "success".to_owned())]);
        state.checks.insert("red".to_owned(), vec![check("slow", "queued", None)]);
        state.statuses.insert("red".to_owned(), vec![("ci".to_owned(), "failure".to_owned())]);
        state.checks.insert("new".to_owned(), vec![check("word", "completed", Some("brand_new"))]);
        state.checks.insert("cut".to_owned(), vec![check("none", "completed", None)]);
    });
    for (commit, expected) in [
        ("green", ChecksVerdict::Green),
        ("busy", ChecksVerdict::Pending),
        ("red", ChecksVerdict::Red),
        ("new", ChecksVerdict::Red),
        ("cut", ChecksVerdict::Red),
        ("none", ChecksVerdict::None),
    ] {
        let checks = github.checks(commit).await.expect("checks");
        assert_eq!(checks.verdict(), expected, "{commit}: {checks:?}");
    }
    assert_eq!(github.checks("green").await.expect("checks").green.len(), 151);
    assert_eq!(github.checks("red").await.expect("checks").red, ["ci"]);
}

#[tokio::test]
async fn the_repository_names_its_default_branch_and_its_pages() {
    let (_server, github) = forge(|state| state.default_branch = "trunk".to_owned());
    let about = github.about().await.expect("a repository");
    assert_eq!((about.default_branch.as_str(), about.home.as_str()), ("trunk", "https://github.com/me/tool"));
}

#[tokio::test]
async fn what_is_not_there_is_told_by_its_name() {
    let (_server, github) = forge(|_| {});
    let missing = github.issue(number(404)).await;
    assert_eq!(missing, Err(ForgeError::NotFound { what: "issue #404".to_owned() }));
}

/// Returns the JSON of an issue elsewhere.
fn foreign(repository: &str, number: u64) -> serde_json::Value {
    let repository = format!("https://api.github.com/repos/{repository}");
    serde_json::json!({"number": number, "title": "Theirs", "state": "open", "repository_url": repository})
}

// I-16, I-22: the forge redirects to another repository, which has another issue under that number.
#[tokio::test]
async fn an_issue_that_was_transferred_is_not_read_as_another_one() {
    for (to, told) in [(51, "other/repo#51"), (50, "other/repo#50")] {
        let (_server, github) = forge(|state| {
            let there = format!("/repositories/99/issues/{to}");
            state.outside.insert(there.clone(), foreign("other/repo", to));
            state.redirects.insert("/repos/me/tool/issues/50".to_owned(), there);
        });
        let refused = github.issue(number(50)).await.expect_err("a transferred issue");
        assert_eq!(refused.to_string(), format!("issue #50 was transferred to {told}"));
    }
}

#[tokio::test]
async fn an_issue_of_a_repository_that_was_renamed_is_still_its_own() {
    let (_server, github) = forge(|state| {
        state.home = "https://github.com/me/Tool2".to_owned();
        let there = "/repositories/99/issues/50".to_owned();
        state.outside.insert(there.clone(), foreign("me/tool2", 50));
        state.redirects.insert("/repos/me/tool/issues/50".to_owned(), there);
    });
    assert_eq!(github.issue(number(50)).await.expect("the issue").title, "Theirs");
}

#[tokio::test]
async fn a_pull_request_of_another_number_is_not_the_one_that_was_asked_for() {
    let (_server, github) = forge(|state| {
        state.pull_request(8, "feature/issue-7", "c1");
        state.redirects.insert("/repos/me/tool/pulls/50".to_owned(), "/repos/me/tool/pulls/8".to_owned());
    });
    let refused = github.pull_request(50).await.expect_err("another one");
    assert_eq!(refused.to_string(), "pull request #50 was not found");
}
