//! One file is one to three screens, one function never more than one.

use xtask::source::{Line, Source};

use super::Violation;

const FILE: usize = 500;
/// Lines of code in a body; comments and blank lines do not count.
const FUNCTION: usize = 80;

/// Finds files and functions that are too long.
pub fn files_and_functions_are_short(sources: &[Source]) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in sources {
        let lines = source.lines();
        if lines.len() > FILE {
            let what = format!("{} lines, {FILE} are the most", lines.len());
            found.push(Violation { place: source.path.display().to_string(), what });
        }
        for function in functions(&lines) {
            if function.lines > FUNCTION {
                let what =
                    format!("`{}` has {} lines, {FUNCTION} are the most", function.name, function.lines);
                found.push(Violation::at(source, &lines[function.begins], what));
            }
        }
    }
    found
}

struct Function<'a> {
    name: &'a str,
    /// Index of its first line.
    begins: usize,
    lines: usize,
}

fn functions<'a>(lines: &[Line<'a>]) -> Vec<Function<'a>> {
    let begins = lines.iter().enumerate().filter_map(|(index, line)| Some((index, name(line.code)?)));
    begins
        .filter_map(|(begins, name)| Some(Function { name, begins, lines: body(&lines[begins..])? }))
        .collect()
}

/// The name after `fn`, if a function begins on this line.
fn name(code: &str) -> Option<&str> {
    let (before, rest) = code.split_once("fn ")?;
    let qualifies =
        |word: &str| matches!(word, "async" | "const" | "extern" | "pub") || word.starts_with("pub(");
    let name = rest.split(['(', '<']).next()?;
    before.split_whitespace().all(qualifies).then_some(name)
}

/// How many lines of code stand between the braces; nothing for a declaration without a body.
fn body(lines: &[Line<'_>]) -> Option<usize> {
    let mut depth = 0_i32;
    let mut opened = false;
    let mut count = 0;
    for line in lines {
        for letter in line.code.chars() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ';' if !opened && depth == 0 => return None,
                _ => {}
            }
            opened |= depth > 0;
            if opened && depth == 0 {
                return Some(count);
            }
        }
        count += usize::from(opened && !line.code.trim().is_empty());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::{planted, shown};
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(shown(&files_and_functions_are_short(&planted(path, text))), expected);
    }

    #[test]
    fn a_file_may_have_500_lines_also_one_of_tests() {
        for path in ["crates/x/src/a.rs", "crates/x/src/tests.rs", "tests/tests/a/b.rs"] {
            check(path, &"\n".repeat(500), &[]);
            check(path, &"\n".repeat(501), &[&format!("{path}: 501 lines, 500 are the most")]);
        }
    }

    #[test]
    fn a_function_may_have_80_lines_of_code() {
        let function = |lines: usize| {
            format!("\npub(crate) async fn f(\n    a: u8,\n) {{\n{}}}\n", "a;\n".repeat(lines))
        };
        check("crates/x/src/a.rs", &function(79), &[]);
        check(
            "crates/x/src/a.rs",
            &function(80),
            &["crates/x/src/a.rs:2: `f` has 81 lines, 80 are the most"],
        );
    }

    #[test]
    fn comments_blank_lines_and_declarations_do_not_count() {
        let text = format!(
            "fn f() {{\n{}}}\ntrait T {{\n    fn g();\n{}}}\n",
            "// a\n\n".repeat(50),
            "a;\n".repeat(90)
        );
        check("crates/x/src/a.rs", &text, &[]);
    }
}
