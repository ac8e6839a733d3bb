//! `pr_view` and `issue_view`: issues and pull requests on the forge.

use serde_json::{Value, json};

use super::page::Page;
use super::waiting::wait;
use super::{Input, Reach, Tool};
use crate::forge::viewer::ForgePageKind;

pub(super) static PR_VIEW: Tool = Tool {
    name: "pr_view",
    description: "Shows a pull request of this repository on the forge: its title, state, branches, text and comments.",
    schema,
    run: |reach, input| view(reach, input, ForgePageKind::PullRequest),
};

pub(super) static ISSUE_VIEW: Tool = Tool {
    name: "issue_view",
    description: "Shows an issue of this repository on the forge: its title, state, labels, text and comments.",
    schema,
    run: |reach, input| view(reach, input, ForgePageKind::Issue),
};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "number": { "type": "integer", "minimum": 1, "description": "its number" } },
        "required": ["number"],
        "additionalProperties": false,
    })
}

fn view(reach: &Reach, input: &Input<'_>, kind: ForgePageKind) -> Result<String, String> {
    let number = input.number("number", u64::MAX)?.ok_or("`number` is missing")?;
    let viewer = reach.viewer.as_ref().ok_or("it is not known here which repository of a forge is meant")?;
    let text = wait(&reach.halt, viewer.view(kind, number))?;
    let mut page = Page::default();
    for line in text.lines() {
        reach.halt.check()?;
        if !page.line(line) {
            return Ok(page.with_note("cut: the rest is too long"));
        }
    }
    Ok(page.finish())
}

#[cfg(test)]
mod tests {
    use super::super::Halt;
    use super::*;
    use crate::forge::testing::{ForgeServer, ForgeState, KeptComment};
    use crate::forge::{ForgeAddress, ForgePlace, ForgeViewer};

    const TOKEN: &str = "canary-token-4711";

    fn told(server: &ForgeServer, tool: &Tool, input: &Value) -> Result<String, String> {
        let place = ForgePlace {
            address: ForgeAddress::parse(&server.url()).unwrap(),
            repository: saihai_model::RepositoryName::parse("me/tool").unwrap(),
        };
        let viewer = ForgeViewer::new(place, &[("GITHUB_TOKEN".into(), TOKEN.into())]);
        let directory = tempfile::tempdir().unwrap();
        let (halt, _guard) = Halt::after_a_while();
        let reach = Reach::open(&directory.path().display().to_string(), "run", halt).unwrap();
        tool.run(&reach.viewing(Some(viewer)), input)
    }

    //
    #[test]
    fn an_issue_and_a_pull_request_are_shown_by_number_and_nothing_else_is_asked_of_the_forge() {
        let mut state = ForgeState::default();
        let issue = state.issue(3, "It leaks", &["bug"]);
        issue.body = "Open a file.\n\nIt stays open.".to_owned();
        issue.comments.push(KeptComment {
            id: 1,
            author: "me".to_owned(),
            association: "OWNER".to_owned(),
            body: "Still there.".to_owned(),
        });
        state.pull_request(7, "topic", "0123456789abcdef");
        let server = ForgeServer::start(state);
        insta::assert_snapshot!(told(&server, &ISSUE_VIEW, &json!({"number": 3})).unwrap(), @"
        #3 It leaks
        state: open
        author: author
        labels: bug

        Open a file.

        It stays open.

        comment by me:
        Still there.
        ");
        insta::assert_snapshot!(told(&server, &PR_VIEW, &json!({"number": 7})).unwrap(), @"
        #7 Change 7
        state: open
        base: main
        head: topic (0123456789abcdef)

        (no text)

        [what was said on pull request #7 was not found]
        ");
        let missing = told(&server, &ISSUE_VIEW, &json!({"number": 9})).unwrap_err();
        assert_eq!(missing, "issue #9 was not found");
        for junk in
            [json!({}), json!({"number": 0}), json!({"number": "../3"}), json!({"number": 3, "repo": "a/b"})]
        {
            assert!(told(&server, &ISSUE_VIEW, &junk).is_err(), "{junk}");
        }
        assert_eq!(server.writes(), [""; 0]);
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_and_says_so() {
        let mut state = ForgeState::default();
        state.issue(3, "It leaks", &[]).body = "a line of it\n".repeat(20_000);
        let server = ForgeServer::start(state);
        let said = told(&server, &ISSUE_VIEW, &json!({"number": 3})).unwrap();
        assert!(said.len() <= super::super::page::LONGEST && said.ends_with("[cut: the rest is too long]\n"));
    }

    #[test]
    fn without_a_repository_or_anybody_who_waits_nothing_is_asked() {
        let directory = tempfile::tempdir().unwrap();
        let reach = Reach::open(&directory.path().display().to_string(), "run", Halt::now()).unwrap();
        let said = PR_VIEW.run(&reach, &json!({"number": 1})).unwrap_err();
        assert_eq!(said, "it is not known here which repository of a forge is meant");
    }
}
