//! Examples of diagnostics on manual pages: a command and its output.
//!
//! Below the heading of a code, a `console wrong` block holds a command that reports the code. A
//! `console right` block holds one that does not. A block `LANG wrong file=PATH` is a file of the
//! wrong example, `LANG right file=PATH` of the right one. Both share `LANG file=PATH`. File blocks
//! above the first code belong to every example. Each example runs in its own project.

use crate::manual::{Block, fences, steps};
use crate::{Page, Project};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    pub code: String,
    /// True if the example must report the code.
    pub wrong: bool,
    page: Page,
}

impl Example {
    /// Parses the examples of a page, in order.
    pub fn all(name: &str, text: &str) -> Vec<Self> {
        let fences = fences(text);
        let mut examples = Vec::new();
        for fence in &fences {
            let wrong = match fence.info {
                "console wrong" => true,
                "console right" => false,
                _ => continue,
            };
            let belongs = |heading: &str| heading == fence.heading || !heading.contains('/');
            let files = fences.iter().filter(|file| belongs(file.heading));
            let mut blocks: Vec<Block> =
                files.filter_map(|file| file_of(file.info, wrong, &file.content)).collect();
            blocks.push(Block::Console { line: fence.line, steps: steps(&fence.content) });
            let page = Page { name: name.to_owned(), blocks };
            examples.push(Self { code: fence.heading.to_owned(), wrong, page });
        }
        examples
    }

    /// Runs the example, and compares the output with the page and the presence of the code with
    /// `wrong`.
    pub fn run(&self, project: &Project) -> Result<(), String> {
        let code = format!("[{}]", self.code);
        let steps = self.page.blocks.iter().flat_map(|block| match block {
            Block::Console { steps, .. } => &steps[..],
            Block::File { .. } => &[],
        });
        let says = steps.filter(|step| step.output.contains(&code)).count() > 0;
        if says != self.wrong {
            let what = if self.wrong { "does not report it" } else { "reports it" };
            return Err(format!("{}: the example of {} {what}", self.page.name, self.code));
        }
        self.page.run(project)
    }
}

/// Returns the file of a block, if it belongs to this kind of example.
fn file_of(info: &str, wrong: bool, content: &str) -> Option<Block> {
    let (kind, path) = info.split_once("file=")?;
    let of_other = if wrong { "right" } else { "wrong" };
    let file = || Block::File { path: path.to_owned(), content: content.to_owned() };
    (!kind.split(' ').any(|word| word == of_other)).then(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "```yaml file=all.yaml
a
```
### area/code
```toml wrong file=one.toml
b
```
```console wrong
$ saihai check
error[area/code]: x
```
```toml right file=one.toml
c
```
```console right
$ saihai check
```
### area/other
```text file=other.txt
d
```
";

    #[test]
    fn an_example_has_its_own_files_and_those_of_the_page() {
        let examples = Example::all("page", PAGE);
        let [wrong, right] = &examples[..] else { panic!("two: {examples:?}") };
        assert!(wrong.wrong && !right.wrong);
        let file =
            |path: &str, content: &str| Block::File { path: path.to_owned(), content: content.to_owned() };
        assert_eq!(wrong.page.blocks[..2], [file("all.yaml", "a\n"), file("one.toml", "b\n")]);
        assert_eq!(right.page.blocks[..2], [file("all.yaml", "a\n"), file("one.toml", "c\n")]);
        assert_eq!(wrong.page.blocks.len(), 3);
    }
}
