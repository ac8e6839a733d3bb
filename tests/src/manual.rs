//! The manual's examples, so that they can be run: fenced blocks whose info string is `console tested`.

use std::fmt;

use crate::Project;

/// A tested block of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The page.
    pub page: String,
    /// The line of its fence, from 1.
    pub line: usize,
    /// The commands, each with the output shown below it.
    pub steps: Vec<Step>,
}

/// A command and its output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// After `$ `.
    pub command: String,
    /// stdout and then stderr, as a person sees them.
    pub output: String,
}

/// The tested blocks of a page. Text between blocks is prose; other fences are not touched.
pub fn blocks(page: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (line, number) in text.lines().zip(1..) {
        match (&mut open, line) {
            (Some(_), "```") => blocks.extend(open.take()),
            (Some(block), line) => block.take(line),
            (None, "```console tested") => {
                open = Some(Block { page: page.to_owned(), line: number, steps: Vec::new() });
            }
            (None, _) => {}
        }
    }
    blocks
}

impl Block {
    fn take(&mut self, line: &str) {
        match (line.strip_prefix("$ "), self.steps.last_mut()) {
            (Some(command), _) => {
                self.steps.push(Step { command: command.to_owned(), output: String::new() })
            }
            (None, Some(step)) => {
                step.output.push_str(line);
                step.output.push('\n');
            }
            (None, None) => {}
        }
    }

    /// Runs its commands one after the other in a project and compares what a person would see. `[..]` in a line of
    /// the page stands for anything; a command that fails says so in a last line `? 2`.
    ///
    /// # Errors
    /// Something else came out: the page's text and the real one.
    pub fn run(&self, project: &Project) -> Result<(), String> {
        for step in &self.steps {
            let real = step.run(project)?;
            if !matches(&step.output, &real) {
                return Err(format!(
                    "{self}: $ {}\n-- the page\n{}-- really\n{real}",
                    step.command, step.output
                ));
            }
        }
        Ok(())
    }
}

impl Step {
    fn run(&self, project: &Project) -> Result<String, String> {
        let words = words(&self.command);
        let Some((program, arguments)) = words.split_first().filter(|(program, _)| *program == "saihai")
        else {
            return Err(format!("`{}` is no call of saihai", self.command));
        };
        debug_assert_eq!(program, "saihai");
        let outcome = project.saihai(arguments).run();
        let mut seen = outcome.stdout + &outcome.stderr;
        match outcome.code {
            Some(0) => {}
            Some(code) => seen.push_str(&format!("? {code}\n")),
            None => seen.push_str("? killed\n"),
        }
        Ok(seen)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.page, self.line)
    }
}

/// Splits a command at blanks, except between quotes. That is all of a shell that the manual uses.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in command.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (Some(_) | None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

fn matches(page: &str, real: &str) -> bool {
    let page: Vec<&str> = page.lines().collect();
    let real: Vec<&str> = real.lines().map(str::trim_end).collect();
    page.len() == real.len() && page.iter().zip(&real).all(|(page, real)| line_matches(page.trim_end(), real))
}

fn line_matches(page: &str, real: &str) -> bool {
    match page.split_once("[..]") {
        None => page == real,
        Some((start, rest)) => real.strip_prefix(start).is_some_and(|real| {
            let cuts = real.char_indices().map(|(at, _)| at).chain([real.len()]);
            cuts.into_iter().any(|at| line_matches(rest, &real[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_marked_as_tested_are_taken() {
        let page = "text\n```console\n$ saihai a\n```\n\n```console tested\n$ saihai b \"c d\"\nx\ny\n$ saihai e\n```\n";
        let step =
            |command: &str, output: &str| Step { command: command.to_owned(), output: output.to_owned() };
        let steps = vec![step("saihai b \"c d\"", "x\ny\n"), step("saihai e", "")];
        assert_eq!(blocks("page", page), [Block { page: "page".to_owned(), line: 6, steps }]);
    }

    #[test]
    fn quotes_hold_words_together() {
        assert_eq!(words("saihai run  a 'b \"c' \"\""), ["saihai", "run", "a", "b \"c", ""]);
    }

    #[test]
    fn dots_in_brackets_stand_for_anything() {
        assert!(matches("run [..]-fix\nok\n", "run 2026-fix\nok\n"));
        assert!(matches("[..]\n", "\n"));
        assert!(!matches("run [..]-fix\n", "run 2026-fax\n"));
        assert!(!matches("ok\n", "ok\nmore\n"));
        assert!(!matches("ok\nmore\n", "ok\n"));
    }
}
