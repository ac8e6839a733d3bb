//! Tools of review agents. All of them are read-only.

use crate::diagnostic::did_you_mean;

const CATEGORIES: [(&str, &[&str]); 4] = [
    ("file_read", &["read_file", "list_files", "grep"]),
    ("git_read", &["git_diff", "git_log", "git_show", "git_blame"]),
    ("gh_read", &["pr_view", "issue_view"]),
    ("web_fetch", &["web_fetch"]),
];

/// Tool names of other programs.
const FOREIGN: [(&str, &str); 5] = [
    ("Read", "read_file"),
    ("Grep", "grep"),
    ("Glob", "list_files"),
    ("LS", "list_files"),
    ("WebFetch", "web_fetch"),
];

/// Tools that write or run something, with the category to use instead.
const REFUSED: [(&str, &str); 4] =
    [("Write", "file_read"), ("Edit", "file_read"), ("Bash", "git_read"), ("run_git", "git_read")];

/// Reason why a name is not a review tool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoTool {
    pub(super) why: &'static str,
    pub(super) hint: String,
}

/// Returns the tools that a name refers to.
pub(super) fn resolve(name: &str) -> Result<Vec<&'static str>, NoTool> {
    if let Some((_, tools)) = CATEGORIES.iter().find(|(category, _)| *category == name) {
        return Ok(tools.to_vec());
    }
    let known = FOREIGN.iter().find(|(foreign, _)| *foreign == name).map_or(name, |(_, own)| own);
    if let Some(tool) = every().find(|tool| *tool == known) {
        return Ok(vec![tool]);
    }
    if let Some((_, instead)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        let hint = format!("use the category `{instead}`");
        return Err(NoTool { why: "a reviewer only reads", hint });
    }
    let hint = did_you_mean(name, names()).unwrap_or_else(|| {
        "the categories are `file_read`, `git_read`, `gh_read` and `web_fetch`".to_owned()
    });
    Err(NoTool { why: "no tool has this name", hint })
}

/// Returns all tools in a fixed order.
pub(super) fn every() -> impl Iterator<Item = &'static str> {
    CATEGORIES.iter().flat_map(|(_, tools)| tools.iter().copied())
}

fn names() -> impl Iterator<Item = &'static str> {
    let categories = CATEGORIES.iter().map(|(category, _)| *category);
    categories.chain(every()).chain(FOREIGN.iter().map(|(foreign, _)| *foreign))
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn names_mean_tools_that_only_look() {
        let check = |name: &str, expected: &[&str]| assert_eq!(resolve(name).unwrap(), expected, "{name}");
        check("file_read", &["read_file", "list_files", "grep"]);
        check("git_read", &["git_diff", "git_log", "git_show", "git_blame"]);
        check("gh_read", &["pr_view", "issue_view"]);
        check("web_fetch", &["web_fetch"]);
        check("git_blame", &["git_blame"]);
        check("Read", &["read_file"]);
        check("Grep", &["grep"]);
        check("Glob", &["list_files"]);
        check("LS", &["list_files"]);
        check("WebFetch", &["web_fetch"]);
    }

    //
    #[test]
    fn what_writes_is_refused_and_what_is_misspelt_gets_a_suggestion() {
        let refused = |name: &str| resolve(name).unwrap_err();
        for (name, category) in REFUSED {
            let hint = format!("use the category `{category}`");
            assert_eq!(refused(name), NoTool { why: "a reviewer only reads", hint });
        }
        assert_eq!(refused("git_raed").hint, "did you mean `git_read`?");
        assert_eq!(refused("grpe").hint, "did you mean `grep`?");
        assert!(refused("").hint.starts_with("the categories are"));
    }
}
