//! Reads pages of the manual.

use std::path::Path;

pub(crate) fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns every page of the manual, with its path.
pub(crate) fn all_pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut open, mut pages) =
        (vec![root.join("docs")], vec![root.join("README.md"), root.join("README.ja.md")]);
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).expect("a directory of the manual") {
            let path = entry.expect("an entry of it").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                pages.push(path);
            }
        }
    }
    let read = |path: std::path::PathBuf| {
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path.display().to_string(), text)
    };
    pages.into_iter().map(read).collect()
}

/// A fenced block, with the heading above it.
pub(crate) struct Block {
    pub(crate) heading: String,
    pub(crate) info: String,
    pub(crate) text: String,
}

pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut heading, mut open) = (String::new(), None::<Block>);
    for line in page.lines() {
        match (open.take(), line.strip_prefix("```")) {
            (Some(block), Some(_)) => blocks.push(block),
            (Some(block), None) => open = Some(Block { text: format!("{}{line}\n", block.text), ..block }),
            (None, Some(info)) => {
                open = Some(Block { heading: heading.clone(), info: info.to_owned(), text: String::new() });
            }
            (None, None) => {
                if let Some(title) =
                    line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
                {
                    title.clone_into(&mut heading);
                }
            }
        }
    }
    blocks
}

/// Pages with entries of diagnostics.
pub(crate) const PAGES: [&str; 8] = [
    "docs/reference/diagnostics-of-pieces.md",
    "docs/reference/diagnostics-of-hats.md",
    "docs/reference/diagnostics-of-workflows.md",
    "docs/reference/diagnostics-of-settings.md",
    "docs/reference/diagnostics-of-scripts.md",
    "docs/reference/diagnostics-of-steps.md",
    "docs/reference/diagnostics-of-reviews.md",
    "docs/reference/diagnostics-of-issues.md",
];

/// Returns the headings of a page that are codes, in order.
pub(crate) fn codes(page: &str) -> Vec<&str> {
    page.lines().filter_map(|line| line.strip_prefix("### ")).filter(|title| title.contains('/')).collect()
}

/// Returns the single-file examples for the codes of these areas, from all pages. Their info is `lang wrong` or
/// `lang right`.
pub(crate) fn examples(areas: &[&str]) -> Vec<Block> {
    let of_areas = |block: &Block| {
        let area = block.heading.split_once('/').map(|(area, _)| area);
        area.is_some_and(|area| areas.contains(&area))
    };
    let is_example = |block: &Block| {
        let mut words = block.info.split(' ');
        words.next() != Some("console")
            && matches!(words.next(), Some("wrong" | "right"))
            && words.next().is_none()
    };
    let all = PAGES.iter().flat_map(|page| blocks(&read(page)));
    all.filter(|block| of_areas(block) && is_example(block)).collect()
}

/// Checks the examples of diagnostics: a wrong one gives only its own diagnostic, a right one gives none.
pub(crate) fn check_examples(
    areas: &[&str],
    language: &str,
    more_than: usize,
    found: impl Fn(&str) -> Vec<String>,
) {
    let examples = examples(areas);
    assert!(examples.len() > more_than, "only {}", examples.len());
    for block in examples {
        let (code, found) = (&block.heading, found(&block.text));
        match block.info.strip_prefix(language) {
            Some(" wrong") => {
                assert!(found.iter().all(|one| one == code) && !found.is_empty(), "{code}: {found:?}")
            }
            Some(" right") => assert!(found.is_empty(), "{code}: {found:?}"),
            Some(_) | None => panic!("an example is `wrong` or `right`, not {:?}", block.info),
        }
    }
}
