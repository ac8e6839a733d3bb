//! File length: a file is a chapter about one concept, short enough to read in one sitting. Clippy
//! limits functions.

use xtask::source::Source;

use super::Violation;

const MAX_LINES: usize = 800;

pub fn files_are_chapters(sources: &[Source]) -> Vec<Violation> {
    let lengths = sources.iter().map(|source| (source, source.lines().len()));
    let too_long = lengths.filter(|(_, lines)| *lines > MAX_LINES).map(|(source, lines)| Violation {
        place: source.path.display().to_string(),
        what: format!("{lines} lines, the limit is {MAX_LINES}"),
    });
    too_long.collect()
}

#[cfg(test)]
mod tests {
    use super::super::{planted, shown};
    use super::*;

    #[test]
    fn a_file_of_801_lines_is_found_in_code_and_tests() {
        for path in ["crates/x/src/a.rs", "crates/x/src/tests.rs", "tests/tests/a/b.rs"] {
            assert_eq!(shown(&files_are_chapters(&planted(path, &"\n".repeat(800)))), [""; 0]);
            let found = shown(&files_are_chapters(&planted(path, &"\n".repeat(801))));
            assert_eq!(found, [format!("{path}: 801 lines, the limit is 800")]);
        }
    }
}
