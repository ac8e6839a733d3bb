//! Rules of git for branch names.

/// Returns the reason why git would reject a branch name. Checking here reports the error early.
pub(super) fn problem(name: &str) -> Option<&'static str> {
    let parts = || name.split('/');
    if name.is_empty() || name == "@" {
        Some("it is empty")
    } else if name.starts_with('-') {
        Some("it begins with `-`")
    } else if name.chars().any(|c| c.is_control() || c == ' ' || "~^:?*[\\".contains(c)) {
        Some("a space, a control character and `~`, `^`, `:`, `?`, `*`, `[`, `\\` cannot stand in it")
    } else if name.contains("..") || name.contains("@{") {
        Some("`..` and `@{` cannot stand in it")
    } else if parts().any(str::is_empty) {
        Some("there is nothing before, behind or between its slashes")
    } else if parts().any(|part| part.starts_with('.') || part.ends_with(".lock")) || name.ends_with('.') {
        Some("no part of it can begin with `.` or end with `.lock`, and it cannot end with `.`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn names_that_git_would_refuse_are_refused() {
        for name in ["main", "feature/issue-7", "a/b.c/d", "計画", "feature/@"] {
            assert_eq!(problem(name), None, "{name}");
        }
        for name in [
            "", "@", "-x", "a b", "a..b", "a/", "/a", "a//b", ".a", "a/.b", "a.lock", "a.", "a~1", "a@{1}",
            "a\\b", "a\tb",
        ] {
            assert!(problem(name).is_some(), "{name}");
        }
    }
}
