//! Routes of the forge.

use serde_json::{Value, json};

use super::answer::Answer;
use super::http::{Request, decoded};
use super::state::{BoardItem, ForgeState, KeptComment, KeptPullRequest};

/// Our account on the forge.
const WE: &str = "saihai-bot";
const REPOSITORY: &str = "/repos/me/tool";

/// Executes a request and returns its answer.
pub(super) fn answer(state: &mut ForgeState, request: &Request) -> Answer {
    if request.path == "/graphql" {
        return graphql(state, request);
    }
    if let Some(to) = state.redirects.get(&request.path) {
        return Answer::raw(301, "").with("location", to);
    }
    if let Some(seen) = state.outside.get(&request.path) {
        return Answer::json(200, seen);
    }
    let Some(below) = request.path.strip_prefix(REPOSITORY) else { return Answer::not_found() };
    let parts: Vec<String> = below.split('/').skip(1).map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (request.method.as_str(), parts.as_slice()) {
        ("GET", []) => {
            Answer::json(200, &json!({"default_branch": state.default_branch, "html_url": state.home}))
        }
        ("GET", ["issues"]) => issues(state, request),
        ("POST", ["issues"]) => open_issue(state, &request.body),
        ("PATCH", ["issues", number]) => change_issue(state, &request.body, number),
        ("GET", ["issues", number]) => found(number, |number| state.issue_json(number)),
        ("GET", ["issues", number, "dependencies", "blocked_by"]) => blocked_by(state, request, number),
        (_, ["issues", number, "labels", rest @ ..]) => issue_labels(state, request, number, rest),
        (_, ["issues", number, "comments"]) => comments(state, request, number),
        (_, ["labels"]) => labels(state, request),
        ("GET", ["pulls"]) => pull_requests(state, request),
        ("POST", ["pulls"]) => open_pull_request(state, &request.body),
        ("GET", ["pulls", number]) => found(number, |number| state.pull_request_json(number)),
        ("PATCH", ["pulls", number]) => change_pull_request(state, &request.body, number),
        ("PUT", ["pulls", number, "merge"]) => merge(state, &request.body, number),
        ("GET", ["commits", commit, "check-runs"]) => check_runs(state, request, commit),
        ("GET", ["commits", commit, "status"]) => statuses(state, request, commit),
        _ => Answer::not_found(),
    }
}

fn found(number: &str, look: impl FnOnce(u64) -> Option<Value>) -> Answer {
    let value = number.parse().ok().and_then(look);
    value.map_or_else(Answer::not_found, |value| Answer::json(200, &value))
}

/// Returns one page of a list, with the URL of the next.
fn page(request: &Request, all: Vec<Value>, wrap: impl FnOnce(Vec<Value>) -> Value) -> Answer {
    let number =
        |name: &str, unset: usize| request.value(name).and_then(|text| text.parse().ok()).unwrap_or(unset);
    let (size, current) = (number("per_page", 30).clamp(1, 100), number("page", 1).max(1));
    let is_last = current * size >= all.len();
    let items: Vec<Value> = all.into_iter().skip((current - 1) * size).take(size).collect();
    let answer = Answer::json(200, &wrap(items));
    if is_last {
        return answer;
    }
    let others: Vec<&str> = request.query.split('&').filter(|pair| !pair.starts_with("page=")).collect();
    let host = request.header("host").unwrap_or_default();
    let next = format!("http://{host}{}?{}&page={}", request.path, others.join("&"), current + 1);
    answer.with("link", format!("<{next}>; rel=\"next\", <{next}>; rel=\"last\""))
}

fn list(request: &Request, all: Vec<Value>) -> Answer {
    page(request, all, Value::Array)
}

fn issues(state: &ForgeState, request: &Request) -> Answer {
    let labels = request.value("labels").unwrap_or_default();
    let wanted: Vec<&str> = labels.split(',').filter(|label| !label.is_empty()).collect();
    let fits = |number: &&u64| {
        let issue = &state.issues[*number];
        !issue.closed && wanted.iter().all(|label| issue.labels.iter().any(|one| one == label))
    };
    list(request, state.issues.keys().filter(fits).filter_map(|number| state.issue_json(*number)).collect())
}

fn open_issue(state: &mut ForgeState, body: &Value) -> Answer {
    let names = |name: &str| -> Vec<String> {
        let all = body[name].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    if text("title").is_empty() {
        return Answer::refusal(422, "title is missing");
    }
    let number = state.free_number();
    let labels = names("labels");
    let kept = state.issue(number, &text("title"), &labels.iter().map(String::as_str).collect::<Vec<_>>());
    (kept.body, kept.assignees) = (text("body"), names("assignees"));
    Answer::json(201, &state.issue_json(number).unwrap_or_default())
}

fn change_issue(state: &mut ForgeState, body: &Value, number: &str) -> Answer {
    let Some(number) = number.parse().ok().filter(|number| state.issues.contains_key(number)) else {
        return Answer::not_found();
    };
    if let Some(kept) = state.issues.get_mut(&number) {
        kept.closed = match body["state"].as_str() {
            Some(state) => state == "closed",
            None => kept.closed,
        };
    }
    Answer::json(200, &state.issue_json(number).unwrap_or_default())
}

fn blocked_by(state: &ForgeState, request: &Request, number: &str) -> Answer {
    let Some(issue) = number.parse().ok().and_then(|number: u64| state.issues.get(&number)) else {
        return Answer::not_found();
    };
    let blockers = issue.blocked_by.iter().map(|(repository, number)| {
        json!({
            "number": number,
            "title": "blocks",
            "state": "open",
            "repository_url": format!("https://api.github.com/repos/{repository}"),
        })
    });
    list(request, blockers.collect())
}

fn issue_labels(state: &mut ForgeState, request: &Request, number: &str, rest: &[&str]) -> Answer {
    let Some(issue) = number.parse().ok().and_then(|number: u64| state.issues.get_mut(&number)) else {
        return Answer::not_found();
    };
    match (request.method.as_str(), rest) {
        ("GET", []) => list(request, issue.labels.iter().map(|label| json!({"name": label})).collect()),
        ("POST", []) => {
            let names = request.body["labels"].as_array().cloned().unwrap_or_default();
            for name in names.iter().filter_map(Value::as_str) {
                if !issue.labels.iter().any(|one| one == name) {
                    issue.labels.push(name.to_owned());
                }
                // GitHub also creates unknown labels.
                state.labels.entry(name.to_owned()).or_insert_with(|| "ededed".to_owned());
            }
            Answer::json(200, &json!([]))
        }
        ("DELETE", [name]) => {
            let before = issue.labels.len();
            issue.labels.retain(|one| one != name);
            if issue.labels.len() == before { Answer::not_found() } else { Answer::json(200, &json!([])) }
        }
        _ => Answer::not_found(),
    }
}

fn labels(state: &mut ForgeState, request: &Request) -> Answer {
    if request.method == "GET" {
        return list(request, state.labels.keys().map(|name| json!({"name": name})).collect());
    }
    let name = request.body["name"].as_str().unwrap_or_default().to_owned();
    if state.labels.contains_key(&name) {
        return Answer::json(
            422,
            &json!({"message": "Validation Failed", "errors": [{"code": "already_exists"}]}),
        );
    }
    let colour = request.body["color"].as_str().unwrap_or_default().to_owned();
    state.labels.insert(name.clone(), colour);
    Answer::json(201, &json!({"name": name}))
}

fn comments(state: &mut ForgeState, request: &Request, number: &str) -> Answer {
    let Some(issue) = number.parse().ok().and_then(|number: u64| state.issues.get_mut(&number)) else {
        return Answer::not_found();
    };
    let shown = |comment: &KeptComment| {
        json!({
            "id": comment.id,
            "user": {"login": comment.author},
            "author_association": comment.association,
            "body": comment.body,
        })
    };
    if request.method == "GET" {
        return list(request, issue.comments.iter().map(shown).collect());
    }
    state.comments += 1;
    let body = request.body["body"].as_str().unwrap_or_default().to_owned();
    let comment =
        KeptComment { id: state.comments, author: WE.to_owned(), association: "MEMBER".to_owned(), body };
    let answer = Answer::json(201, &shown(&comment));
    issue.comments.push(comment);
    answer
}

fn pull_requests(state: &ForgeState, request: &Request) -> Answer {
    let head = request.value("head").unwrap_or_default();
    let fits = |number: &&u64| {
        let kept = &state.pull_requests[*number];
        let owner = kept.head_repository.as_deref().and_then(|name| name.split('/').next()).unwrap_or("gone");
        head.is_empty() || head == format!("{owner}:{}", kept.head)
    };
    let numbers = state.pull_requests.keys().filter(fits);
    list(request, numbers.filter_map(|number| state.pull_request_json(*number)).collect())
}

fn open_pull_request(state: &mut ForgeState, body: &Value) -> Answer {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let (head, base) = (text("head"), text("base"));
    let exists = state.pull_requests.values().any(|one| {
        !one.closed
            && one.head == head
            && one.base == base
            && one.head_repository.as_deref() == Some("me/tool")
    });
    let Some(commit) = state.tip(&head).filter(|_| !exists) else {
        let why = if exists { "A pull request already exists" } else { "head is invalid" };
        return Answer::json(422, &json!({"message": "Validation Failed", "errors": [{"message": why}]}));
    };
    let number = state.free_number();
    let mergeable = state.mergeable;
    let kept = state.pull_request(number, &head, &commit);
    (kept.title, kept.body, kept.base) = (text("title"), text("body"), base);
    (kept.draft, kept.mergeable) = (body["draft"] == json!(true), mergeable);
    Answer::json(201, &state.pull_request_json(number).unwrap_or_default())
}

fn change_pull_request(state: &mut ForgeState, body: &Value, number: &str) -> Answer {
    let Some(number) = number.parse().ok().filter(|number| state.pull_requests.contains_key(number)) else {
        return Answer::not_found();
    };
    if let (Some(kept), Some(text)) = (state.pull_requests.get_mut(&number), body["body"].as_str()) {
        text.clone_into(&mut kept.body);
    }
    Answer::json(200, &state.pull_request_json(number).unwrap_or_default())
}

fn merge(state: &mut ForgeState, body: &Value, number: &str) -> Answer {
    let number = number.parse().unwrap_or(0);
    let Some(kept) = state.pull_requests.get(&number).cloned() else { return Answer::not_found() };
    let method = body["merge_method"].as_str().unwrap_or_default();
    if state.forbidden_method.as_deref() == Some(method) {
        return Answer::refusal(405, "Squash merges are not allowed on this repository.");
    }
    let head = state.head_of(&kept);
    if kept.merged || kept.closed || state.mergeable(&kept) != Some(true) {
        return Answer::refusal(405, "Pull Request is not mergeable");
    }
    if body["sha"].as_str() != Some(head.as_str()) {
        return Answer::refusal(409, "Head branch was modified. Review and try the merge again.");
    }
    let merged = state.merge_in_git(&kept.base, &head).unwrap_or_else(|| format!("merge-of-{head}"));
    let is_merged = KeptPullRequest { merged: true, closed: true, commit: head, ..kept };
    if state.closes {
        state.close_named_in(&is_merged.body);
    }
    state.pull_requests.insert(number, is_merged);
    Answer::json(200, &json!({"merged": true, "sha": merged}))
}

fn check_runs(state: &ForgeState, request: &Request, commit: &str) -> Answer {
    let green = match state.pending {
        true => vec![("test".to_owned(), "in_progress".to_owned(), None)],
        false => vec![("test".to_owned(), "completed".to_owned(), Some("success".to_owned()))],
    };
    let known = state.checks.get(commit).cloned();
    let runs = known.or_else(|| state.all_green.then_some(green)).unwrap_or_default().into_iter();
    let runs = runs
        .map(|(name, status, conclusion)| json!({"name": name, "status": status, "conclusion": conclusion}));
    page(request, runs.collect(), |items| json!({"total_count": items.len(), "check_runs": items}))
}

fn statuses(state: &ForgeState, request: &Request, commit: &str) -> Answer {
    let all = state.statuses.get(commit).into_iter().flatten();
    let all = all.map(|(context, state)| json!({"context": context, "state": state}));
    page(request, all.collect(), |items| json!({"state": "pending", "statuses": items}))
}

fn graphql(state: &ForgeState, request: &Request) -> Answer {
    let (query, variables) = (request.body["query"].as_str().unwrap_or_default(), &request.body["variables"]);
    if query.contains("viewer") {
        return Answer::json(200, &json!({"data": {"viewer": {"login": WE}}}));
    }
    let owner = variables["owner"].as_str().unwrap_or_default().to_owned();
    let number = variables["number"].as_u64().unwrap_or_default();
    let Some(board) = state.boards.get(&(owner, number)) else {
        let error = json!({"type": "NOT_FOUND", "message": "Could not resolve to a ProjectV2"});
        return Answer::json(200, &json!({"data": {"repositoryOwner": null}, "errors": [error]}));
    };
    let start: usize = variables["after"].as_str().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let nodes: Vec<Value> = board.0.iter().skip(start).take(100).map(node).collect();
    let end = start + nodes.len();
    let info = json!({"hasNextPage": end < board.0.len(), "endCursor": end.to_string()});
    let items = json!({"pageInfo": info, "nodes": nodes});
    Answer::json(200, &json!({"data": {"repositoryOwner": {"projectV2": {"items": items}}}}))
}

fn node((item, status): &(BoardItem, Option<String>)) -> Value {
    let numbered = |kind: &str, repository: &str, number: u64| json!({"__typename": kind, "number": number, "repository": {"nameWithOwner": repository}});
    let content = match item {
        BoardItem::Issue(repository, number) => numbered("Issue", repository, *number),
        BoardItem::PullRequest(repository, number) => numbered("PullRequest", repository, *number),
        BoardItem::Draft(title) => json!({"__typename": "DraftIssue", "title": title}),
        BoardItem::Hidden => Value::Null,
    };
    let status = status.as_ref().map(|status| json!({"name": status}));
    json!({"fieldValueByName": status, "content": content})
}
