//! Pages of the manual, and the codes the sources use.

use std::collections::BTreeSet;
use std::path::Path;

/// The text of a page.
pub(crate) fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A fenced block with the heading it stands under.
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

/// The codes that have a section of their own.
pub(crate) fn codes(page: &str) -> BTreeSet<&str> {
    page.lines().filter_map(|line| line.strip_prefix("### ")).filter(|title| title.contains('/')).collect()
}

/// The slugs of all diagnostics made in these modules of the sources, tests left out.
pub(crate) fn slugs_of(modules: &[&str]) -> BTreeSet<String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut used = BTreeSet::new();
    for module in modules {
        let files = std::fs::read_dir(sources.join(module)).expect("a directory of the sources");
        let files = files.map(|file| file.expect("an entry of it").path());
        let own = sources.join(module).with_extension("rs");
        for path in files.chain(own.exists().then_some(own)) {
            if path.extension().is_some_and(|end| end == "rs") {
                used.extend(slugs_in(&std::fs::read_to_string(path).expect("a source file")));
            }
        }
    }
    used
}

/// What stands as the first argument of calls that make diagnostics, and beside severities.
fn slugs_in(source: &str) -> Vec<String> {
    let before = [
        ".error(\"",
        ".warning(\"",
        ".note(\"",
        ".code(\"",
        "Severity::Warning, \"",
        "Severity::Error, \"",
        "Severity::Note, \"",
    ];
    let joined: String = source.split_whitespace().collect::<Vec<_>>().join(" ").replace("( \"", "(\"");
    let mut slugs = Vec::new();
    for before in before {
        for rest in joined.split(before).skip(1) {
            slugs.extend(rest.split('"').next().map(str::to_owned));
        }
    }
    slugs
}
