//! Manual pages with runnable examples.
//!
//! A fenced block with the info string `console tested` holds saihai and git commands and their
//! output. A block whose info string ends in `file=PATH` becomes that file of the project. All
//! blocks of a page share one project and run in order.

use crate::Project;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub(crate) name: String,
    pub(crate) blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Block {
    File { path: String, content: String },
    Console { line: usize, steps: Vec<Step> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    command: String,
    /// Both outputs in the order of a terminal (U-23).
    pub(crate) output: String,
}

impl Page {
    /// Parses a page. Skips prose and other blocks.
    pub fn parse(name: &str, text: &str) -> Self {
        let blocks = fences(text).into_iter();
        let blocks = blocks.filter_map(|fence| Block::of(fence.line, fence.info, fence.content)).collect();
        Self { name: name.to_owned(), blocks }
    }

    pub fn commands(&self) -> usize {
        let count = |block: &Block| match block {
            Block::File { .. } => 0,
            Block::Console { steps, .. } => steps.len(),
        };
        self.blocks.iter().map(count).sum()
    }

    /// Writes the files, runs the commands and compares their output. `[..]` in a line matches any
    /// text. The last line of a failing command is `? 2`, with its exit code.
    pub fn run(&self, project: &Project) -> Result<(), String> {
        for block in &self.blocks {
            match block {
                Block::File { path, content } => drop(project.write(path, content)),
                Block::Console { line, steps } => {
                    for step in steps {
                        step.run(project).map_err(|what| format!("{}:{line}: {what}", self.name))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A fenced block of a page.
pub(crate) struct Fence<'t> {
    /// Line number of the opening fence, from 1.
    pub(crate) line: usize,
    /// Heading above the block, without its marks.
    pub(crate) heading: &'t str,
    /// Info string after the opening fence.
    pub(crate) info: &'t str,
    pub(crate) content: String,
}

/// Returns the fenced blocks of a page, in order.
pub(crate) fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut fences = Vec::new();
    let (mut heading, mut open) = ("", None::<Fence<'_>>);
    for (line, number) in text.lines().zip(1..) {
        match (&mut open, line) {
            (Some(_), "```") => fences.extend(open.take()),
            (Some(fence), line) => {
                fence.content.push_str(line);
                fence.content.push('\n');
            }
            (None, line) if line.starts_with('#') => heading = line.trim_start_matches('#').trim(),
            (None, line) => {
                let opened = |info| Fence { line: number, heading, info, content: String::new() };
                open = line.strip_prefix("```").map(opened);
            }
        }
    }
    fences
}

/// Returns the page with the actual output of its commands. Variable parts become `[..]`.
pub fn updated(text: &str, project: &Project) -> Result<String, String> {
    let mut lines = text.lines();
    let mut page = String::new();
    while let Some(line) = lines.next() {
        page.push_str(line);
        page.push('\n');
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let content: String = body.iter().flat_map(|line| [line, "\n"]).collect();
        match Block::of(0, info, content.clone()) {
            Some(Block::Console { steps, .. }) => {
                for step in steps {
                    let seen = step.seen(project)?;
                    // A page that still matches keeps its `[..]`, such as those for durations in tables.
                    let output = if matches(&step.output, &seen) {
                        step.output
                    } else {
                        lasting(&seen.replace(&project.root().display().to_string(), "[..]"))
                    };
                    page.push_str(&format!("$ {}\n{output}", step.command));
                }
            }
            Some(Block::File { path, content }) => {
                project.write(&path, &content);
                page.push_str(&content);
            }
            None => page.push_str(&content),
        }
        page.push_str("```\n");
    }
    Ok(page)
}

/// Replaces start times and durations, which differ each time. Also replaces nested fences, because
/// they would end the block.
fn lasting(seen: &str) -> String {
    let line = |line: &str| match line {
        fence if fence.trim_start().starts_with("```") => "[..]\n".to_owned(),
        line => without_duration(&without_time(line.trim_end())) + "\n",
    };
    seen.lines().map(line).collect()
}

fn without_time(line: &str) -> String {
    let is_time = |word: &str| {
        let mut letters = word.bytes().enumerate();
        word.len() == 15
            && letters.all(|(at, byte)| if at == 8 { byte == b'-' } else { byte.is_ascii_digit() })
    };
    let starts: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
    let found = starts.iter().find(|at| line.get(**at..**at + 15).is_some_and(is_time));
    match found {
        Some(at) => format!("{}[..]{}", &line[..*at], without_time(&line[at + 15..])),
        None => line.to_owned(),
    }
}

/// Removes the number that tells apart runs started in the same second. Slow machines do not need
/// it, so it varies.
fn without_numbers(seen: &str, runs: &[String]) -> String {
    let slug = |run: &str| run.get(15..).map(str::to_owned).unwrap_or_default();
    let plain = |run: &String| {
        let (before, number) = run.rsplit_once('-')?;
        let is_number = number.parse::<u32>().is_ok_and(|number| number > 1);
        let others = runs.iter().any(|other| other != run && slug(other) == slug(before));
        (is_number && others).then(|| (run.clone(), before.to_owned()))
    };
    runs.iter().filter_map(plain).fold(seen.to_owned(), |seen, (run, plain)| seen.replace(&run, &plain))
}

/// Turns `replied in 12 ms, …` into `replied in [..], …`.
fn without_duration(line: &str) -> String {
    match line.split_once(" replied in ") {
        Some((who, rest)) => {
            let after = rest.find(',').map_or("", |at| &rest[at..]);
            format!("{who} replied in [..]{after}")
        }
        None => match figures(line) {
            Some((run, rest)) => format!("{run}[..]{rest}"),
            None => line.to_owned(),
        },
    }
}

/// Splits the figures of a run around its elapsed time: `run RUN: `, `12 ms`, `, 2 turns`.
fn figures(line: &str) -> Option<(&str, &str)> {
    let start = line.strip_prefix("run ")?.find(": ")? + "run : ".len();
    let (run, rest) = line.split_at(start);
    rest.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
    Some((run, &rest[rest.find(',')?..]))
}

impl Block {
    pub(crate) fn of(line: usize, info: &str, content: String) -> Option<Self> {
        // These blocks belong to an `Example`, which has its own project.
        if info.split(' ').any(|word| matches!(word, "wrong" | "right")) {
            return None;
        }
        if let Some((_, path)) = info.split_once("file=") {
            return Some(Self::File { path: path.to_owned(), content });
        }
        (info == "console tested").then(|| Self::Console { line, steps: steps(&content) })
    }
}

pub(crate) fn steps(content: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in content.lines() {
        // Output may look like a command too: a program's own line is shown with `$`.
        let command = line.strip_prefix("$ ");
        let command = command.filter(|line| line.starts_with("saihai ") || line.starts_with("git "));
        match (command, steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), output: String::new() }),
            (None, Some(step)) => {
                step.output.push_str(line);
                step.output.push('\n');
            }
            (None, None) => {}
        }
    }
    steps
}

impl Step {
    /// Runs the command and returns its output as on a terminal.
    fn seen(&self, project: &Project) -> Result<String, String> {
        let words = words(&self.command);
        let invocation = match words.split_first() {
            Some((program, arguments)) if program == "saihai" => project.saihai(arguments),
            Some((program, arguments)) if program == "git" => project.git(arguments),
            _ => return Err(format!("`{}` is no call of saihai or git", self.command)),
        };
        let outcome = invocation.with_one_output().run();
        let end = match outcome.code {
            Some(0) => String::new(),
            Some(code) => format!("? {code}\n"),
            None => "? killed\n".to_owned(),
        };
        Ok(without_numbers(&(outcome.stdout + &end), &project.runs()))
    }

    fn run(&self, project: &Project) -> Result<(), String> {
        let seen = self.seen(project)?;
        if matches(&self.output, &seen) {
            return Ok(());
        }
        Err(format!("$ {}\n-- the page\n{}-- really\n{seen}", self.command, self.output))
    }
}

/// Splits a command at spaces outside quotes. The manual uses no other shell syntax.
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
            let mut cuts = real.char_indices().map(|(at, _)| at).chain([real.len()]);
            cuts.any(|at| line_matches(rest, &real[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_files_are_taken_and_the_rest_is_prose() {
        let text = "text\n```console\n$ saihai a\n```\n```yaml file=a/b.yaml\nname: x\n```\n\n```console tested\n$ saihai b \"c d\"\nx\ny\n$ saihai e\n```\n";
        let step =
            |command: &str, output: &str| Step { command: command.to_owned(), output: output.to_owned() };
        let page = Page::parse("page", text);
        let file = Block::File { path: "a/b.yaml".to_owned(), content: "name: x\n".to_owned() };
        let steps = vec![step("saihai b \"c d\"", "x\ny\n"), step("saihai e", "")];
        assert_eq!(page.blocks, [file, Block::Console { line: 9, steps }]);
        assert_eq!(page.commands(), 2);
    }

    #[test]
    fn what_differs_each_time_is_left_open() {
        let seen =
            "run 20260206-085600-a-b\n  `x` replied in 3 ms, tag 0\n  `y` replied in 1.2 s\n```markdown\n";
        assert_eq!(
            lasting(seen),
            "run [..]-a-b\n  `x` replied in [..], tag 0\n  `y` replied in [..]\n[..]\n"
        );
    }

    #[test]
    fn numbers_that_tell_runs_apart_are_left_out() {
        let runs = ["20260206-085600-a-b", "20260206-085600-a-b-2", "20260206-085600-v-3"].map(str::to_owned);
        let seen = "20260206-085600-a-b-2 of 20260206-085600-a-b, 20260206-085600-v-3";
        let expected = "20260206-085600-a-b of 20260206-085600-a-b, 20260206-085600-v-3";
        assert_eq!(without_numbers(seen, &runs), expected);
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
