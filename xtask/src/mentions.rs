//! Finds the requirements named in test code: in a test name (`t10_crash_matrix`) or in a comment
//! (`// P-17`, `// P-1–P-7`).

use crate::requirement::{AREAS, Id};

/// Returns the requirements named in one line of test code.
pub fn in_line(line: &str) -> Vec<Id> {
    let mut ids = in_test_name(line).into_iter().collect::<Vec<_>>();
    if let Some((_, comment)) = line.split_once("//") {
        ids.extend(in_comment(comment));
    }
    ids
}

fn in_test_name(line: &str) -> Option<Id> {
    let (_, name) = line.trim_start().split_once("fn ").filter(|(before, _)| is_qualifier(before))?;
    let (word, _) = name.split_once('_')?;
    let letter = word.chars().next()?.to_ascii_uppercase();
    let number = word.get(1..)?.parse().ok()?;
    AREAS.contains(letter).then_some(Id { area: letter, number })
}

/// Returns true for the keywords that may precede `fn`.
fn is_qualifier(before: &str) -> bool {
    before.split_whitespace().all(|word| matches!(word, "pub" | "pub(crate)" | "async"))
}

fn in_comment(comment: &str) -> Vec<Id> {
    let mut found = Vec::new();
    let mut rest = comment;
    let mut before = None;
    while !rest.is_empty() {
        if let Some((id, length)) = id_at_start(rest, before) {
            rest = &rest[length..];
            match range_end(rest, id.area) {
                Some((last, length)) if last >= id.number => {
                    found.extend((id.number..=last).map(|number| Id { area: id.area, number }));
                    rest = &rest[length..];
                }
                _ => found.push(id),
            }
            before = Some('0');
        } else {
            let letter = rest.chars().next().expect("it is not empty");
            rest = &rest[letter.len_utf8()..];
            before = Some(letter);
        }
    }
    found
}

/// Parses `P-17` as a whole word at the start of a text. Returns the id and its length.
fn id_at_start(text: &str, before: Option<char>) -> Option<(Id, usize)> {
    if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '-' || letter == '_') {
        return None;
    }
    let area = text.chars().next().filter(|letter| AREAS.contains(*letter))?;
    let digits = digits(text[1..].strip_prefix('-')?);
    let number = digits.parse().ok()?;
    Some((Id { area, number }, 2 + digits.len()))
}

/// Parses the end of a range: `–P-7`, `–7` or ` to P-7`. Returns the number and its length.
fn range_end(text: &str, area: char) -> Option<(u32, usize)> {
    let dashed =
        ["–", "…", "..", " – ", " to "].iter().find_map(|dash| Some((dash, text.strip_prefix(dash)?)));
    let (dash, end) = dashed?;
    let named = end.strip_prefix(area).and_then(|end| end.strip_prefix('-'));
    let skipped = dash.len() + named.map_or(0, |_| 2);
    let digits = digits(named.unwrap_or(end));
    Some((digits.parse().ok()?, skipped + digits.len()))
}

fn digits(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[&str]) {
        let found: Vec<String> = in_line(line).iter().map(Id::to_string).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn a_comment_names_requirements() {
        check("    // P-17", &["P-17"]);
        check("x(); // P-17, K-20 and C-75.", &["P-17", "K-20", "C-75"]);
        check("//! T-12; (T-13)", &["T-12", "T-13"]);
    }

    #[test]
    fn ranges_are_expanded() {
        check("// P-1–P-3", &["P-1", "P-2", "P-3"]);
        check("// P-8–10, P-12", &["P-8", "P-9", "P-10", "P-12"]);
        check("// T-10 to T-12", &["T-10", "T-11", "T-12"]);
        check("// P-3–P-1", &["P-3", "P-1"]);
    }

    #[test]
    fn the_name_of_a_test_names_one() {
        check("fn t10_crash_matrix() {", &["T-10"]);
        check("    async fn p46_a_gate_parks() {", &["P-46"]);
        check("fn t_shirts() {", &[]);
    }

    #[test]
    fn code_strings_and_parts_of_words_do_not_count() {
        check("check(\"P-17\");", &[]);
        check("// UTF-8, RFC-3339, XP-17, ISO-P-17", &[]);
        check("let fn_name = call(t10_crash);", &[]);
    }
}
