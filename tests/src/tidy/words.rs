//! Comments and strings in plain English: the worst marks of translated sentences stay out.

use xtask::source::Source;

use super::Violation;

/// Words that have a plain replacement: "a person", "again", "next to", "fix", "continue".
const MARKS: [&str; 9] =
    ["whoever", "somebody", "nobody", "anybody", "anew", "beside", "told of", "mended", "go on with"];

/// A doc comment names a thing or starts with a verb.
const OPENINGS: [&str; 7] = ["What ", "Whether ", "Who ", "Whose ", "Where ", "How ", "Why "];

pub fn comments_are_plain(sources: &[Source]) -> Vec<Violation> {
    let mut found = Vec::new();
    // Docs of arguments are help texts, which tests pin.
    for source in sources.iter().filter(|source| !source.path.starts_with("crates/cli/src/commands")) {
        for line in source.lines() {
            let Some(comment) = line.text.trim_start().strip_prefix("//") else { continue };
            let prose = without_literals(&comment.to_lowercase());
            let mark = MARKS.into_iter().find(|mark| contains_words(&prose, mark));
            found.extend(mark.map(|mark| Violation::at(source, &line, format!("`{mark}` in a comment"))));
            let opening = comment
                .strip_prefix("/ ")
                .and_then(|doc| OPENINGS.into_iter().find(|opening| doc.starts_with(opening)));
            let what = |opening: &str| format!("a doc comment opens with `{}`", opening.trim());
            found.extend(opening.map(|opening| Violation::at(source, &line, what(opening))));
        }
    }
    found
}

/// Words that strings avoid too. People read them in messages, in help and in the manual.
const STRING_MARKS: [&str; 9] =
    ["whoever", "somebody", "nobody", "anew", "beside", "told of", "mend", "mended", "go on with"];

/// Finds marks in strings outside of tests.
pub fn strings_are_plain(sources: &[Source]) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| !source.path.starts_with("tests")) {
        let lines = source.lines();
        for (number, literal) in &source.code.literals {
            let Some(line) = lines.get(number - 1).filter(|line| !line.is_test) else { continue };
            let prose = without_literals(&literal.to_lowercase());
            let mark = STRING_MARKS.into_iter().find(|mark| contains_words(&prose, mark));
            found.extend(mark.map(|mark| Violation::at(source, line, format!("`{mark}` in a string"))));
        }
    }
    found
}

/// Removes text in backticks and the names in placeholders: names are not prose.
fn without_literals(text: &str) -> String {
    let outside: String = text.split('`').step_by(2).collect();
    let mut pieces = outside.split('{');
    let mut prose = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        prose.push('{');
        prose.push_str(piece.split_once('}').map_or(piece, |(_, behind)| behind));
    }
    prose
}

fn contains_words(prose: &str, words: &str) -> bool {
    let is_end = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    prose.match_indices(words).any(|(at, _)| {
        is_end(prose[..at].chars().next_back()) && is_end(prose[at + words.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::super::{planted, shown};
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(shown(&comments_are_plain(&planted("crates/x/src/a.rs", text))), expected);
    }

    #[test]
    fn marks_and_openings_are_found_in_comments_alone() {
        check("// Whoever asks.\n", &["crates/x/src/a.rs:1: `whoever` in a comment"]);
        check("/// Whether it holds.\n", &["crates/x/src/a.rs:1: a doc comment opens with `Whether`"]);
        check("// What follows is code.\n", &[]);
        check("// the user `nobody`, a recommended way, besides\n", &[]);
        check("fn beside() {}\n", &[]);
    }

    /// Checks the violations of one file. Ignores the exceptions for other files.
    fn check_strings(path: &str, text: &str, expected: &[&str]) {
        let found = strings_are_plain(&planted(path, text));
        assert_eq!(shown(&found), expected, "{text}");
    }

    #[test]
    fn marks_are_found_in_strings_outside_of_tests() {
        let path = "crates/x/src/a.rs";
        check_strings(path, "say(\"Nobody answers\");", &["crates/x/src/a.rs:1: `nobody` in a string"]);
        check_strings(
            path,
            "// nobody\nfn f(beside: u8) {\n    say(\"begin anew\");\n}\n",
            &["crates/x/src/a.rs:3: `anew` in a string"],
        );
        check_strings(path, "say(\"refs/heads/{beside}\");", &[]);
        check_strings(path, "say(\"the user `nobody`, a recommendation, besides\");", &[]);
        check_strings("crates/x/src/tests.rs", "say(\"nobody\");", &[]);
        check_strings(path, "#[cfg(test)]\nmod tests {\n    const A: &str = \"nobody\";\n}\n", &[]);
    }
}
