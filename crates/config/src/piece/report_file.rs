//! Valid names of report files: those that stay inside the report directory (P-22).

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unsafe {
    #[error("it names no file")]
    Empty,
    /// The name starts with a root or a drive.
    #[error("it is an absolute path")]
    Absolute,
    #[error("`..` leads out of the report directory")]
    Leaves,
    /// A separator on other systems.
    #[error("`\\` cannot stand in it")]
    Backslash,
    #[error("a control character stands in it")]
    Control,
    #[error("an empty part or `.` stands in it")]
    EmptyPart,
}

/// Checks that a name stays inside the report directory.
pub(super) fn check(name: &str) -> Result<(), Unsafe> {
    let drive = name.as_bytes().get(1) == Some(&b':') && name.as_bytes()[0].is_ascii_alphabetic();
    if name.is_empty() {
        Err(Unsafe::Empty)
    } else if name.chars().any(char::is_control) {
        Err(Unsafe::Control)
    } else if name.contains('\\') {
        Err(Unsafe::Backslash)
    } else if name.starts_with('/') || drive {
        Err(Unsafe::Absolute)
    } else if name.split('/').any(|part| part == "..") {
        Err(Unsafe::Leaves)
    } else if name.split('/').any(|part| part.is_empty() || part == ".") {
        Err(Unsafe::EmptyPart)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Unsafe, check};

    // P-22
    #[test]
    fn a_report_stays_inside_its_directory() {
        for good in ["plan.md", "a/b.md", "00-計画.md", "..md", "a..b"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let bad = [
            ("", Unsafe::Empty),
            ("/etc/passwd", Unsafe::Absolute),
            ("C:x.md", Unsafe::Absolute),
            ("../evil.md", Unsafe::Leaves),
            ("a/../../b", Unsafe::Leaves),
            ("a\\b", Unsafe::Backslash),
            ("a\u{0}b", Unsafe::Control),
            ("a//b", Unsafe::EmptyPart),
            ("./a", Unsafe::EmptyPart),
            ("a/", Unsafe::EmptyPart),
        ];
        for (name, expected) in bad {
            assert_eq!(check(name), Err(expected), "{name:?}");
        }
    }
}
