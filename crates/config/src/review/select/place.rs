//! Position of a match in a file.

use saihai_model::SubjectMode;

/// Maximum length of a quoted line, in characters.
const LONGEST: usize = 80;

/// Returns line number and text at a byte offset. In a diff, the number refers to the new version.
pub(super) fn place(mode: &SubjectMode, text: &str, offset: usize) -> (Option<u32>, String) {
    let start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let number = match mode {
        SubjectMode::Files => Some(1 + count(text[..start].matches('\n'))),
        SubjectMode::Changes { .. } => new_line(&text[..start], line),
    };
    let mut shown: String = line.trim().chars().take(LONGEST).collect();
    if line.trim().chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    (number, shown)
}

/// Returns the line number of a hunk line in the new version, or `None` for headers. Counts from
/// the hunk header over the lines of the new version.
fn new_line(before: &str, line: &str) -> Option<u32> {
    if line.starts_with("@@ ") {
        return None;
    }
    let header = before.rmatch_indices("@@ -").find(|(at, _)| *at == 0 || before[..*at].ends_with('\n'))?.0;
    let mut lines = before[header..].lines();
    let start = lines.next()?.split(" +").nth(1)?;
    let start: u32 = start.split([',', ' ']).next()?.parse().ok()?;
    Some(start + count(lines.filter(|line| !line.starts_with(['-', '\\']))))
}

fn count(items: impl Iterator) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mode: &SubjectMode, text: &str, word: &str, expected: (Option<u32>, &str)) {
        let (line, shown) = place(mode, text, text.find(word).unwrap());
        assert_eq!((line, shown.as_str()), expected, "{word}");
    }

    //
    #[test]
    fn lines_of_a_diff_are_those_of_the_new_version_and_headers_have_none() {
        let changes =
            SubjectMode::Changes { base: "main".into(), merge_base: None, head: None, pull_request: None };
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,3 +10,4 @@ fn main\n same\n-old\n+new\n+newer\n last\n";
        let check = |word, expected| check(&changes, diff, word, expected);
        check("a/x", (None, "diff --git a/x b/x"));
        check("@@ -3", (None, "@@ -3,3 +10,4 @@ fn main"));
        check("same", (Some(10), "same"));
        check("old", (Some(11), "-old"));
        check("newer", (Some(12), "+newer"));
        check("last", (Some(13), "last"));
    }

    #[test]
    fn lines_of_a_file_are_counted_and_long_ones_are_cut() {
        check(&SubjectMode::Files, "one\ntwo\n", "two", (Some(2), "two"));
        let long = "x".repeat(100);
        let shown = format!("{}…", "x".repeat(80));
        check(&SubjectMode::Files, &long, "x", (Some(1), &shown));
    }
}
