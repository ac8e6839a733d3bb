//! Questions of gates at the terminal of `saihai work`, one at a time.

use std::path::Path;
use std::process::{Command, Stdio};

use saihai::{Clock, GateAnswer, RunDirectory};
use saihai_delivery::{IssueEnd, IssueProgress, IssueResult, IssueRun, stage};
use saihai_git::{ChangedFile, FileDiff, Git};
use saihai_model::{IssueNumber, Moment, StageId, Wants, WorkOutcome};

use super::screen::WorkScreen;
use crate::driving::{Keyboard, TypedLine};
use crate::error::CommandError;
use crate::quantities;
use crate::terminal::{visible_line, visible_text};

/// Most lines of a diff on the screen.
const MOST_DIFF_LINES: usize = 1_000;

impl WorkScreen<'_> {
    /// Asks the next question, if none is open.
    pub(super) fn ask_next(&mut self) {
        if self.questions.len() == 1 {
            self.show_first();
        }
    }

    /// Shows the first question, if there is one.
    fn show_first(&mut self) {
        let Some(text) = self.questions.front().map(GateQuestion::ask) else { return };
        self.take_frame_away();
        Keyboard::before_asking(&mut self.keyboard);
        self.streams.err.send(&text);
    }

    pub(super) async fn typed(&mut self, typed: TypedLine) -> Result<(), CommandError> {
        let line = match typed {
            TypedLine::Line(line) => line,
            TypedLine::End => {
                // Stdin is closed, so runs that wait for a person keep waiting.
                self.keyboard = None;
                self.can_ask = false;
                self.streams.err.line("");
                for question in std::mem::take(&mut self.questions) {
                    self.leave(&question)?;
                }
                self.say_held();
                return Ok(());
            }
        };
        let Some(question) = self.questions.front() else { return Ok(()) };
        let again = question.ask_again();
        let given = match question.understood(&line) {
            TypedAnswer::Given(given) => given,
            TypedAnswer::YesToAll => {
                self.yes.insert(question.gate.clone());
                GateAnswer::Yes(None)
            }
            TypedAnswer::Diff(changes) => {
                let shown = changes.diff(self.ground.repository.root());
                self.streams.err.send(&format!("{shown}{again}"));
                return Ok(());
            }
            TypedAnswer::Open(target) => {
                self.streams.err.send(&format!("  {}\n{again}", visible_line(&open(target))));
                return Ok(());
            }
            TypedAnswer::Unclear(help) => {
                self.streams.err.send(&format!("  {help}\n{again}"));
                return Ok(());
            }
        };
        self.answer(given).await
    }

    /// Answers the first question, and all later ones covered by the same answer.
    async fn answer(&mut self, given: GateAnswer) -> Result<(), CommandError> {
        let mut given = Some(given);
        while let Some(question) = self.questions.front() {
            let answer = match given.take() {
                Some(answer) => answer,
                None if self.yes.contains(&question.gate) => GateAnswer::Yes(None),
                None => break,
            };
            let Some(question) = self.questions.pop_front() else { break };
            // Another process may have answered the gate. The run then continues with that answer.
            drop(saihai::answer(&question.directory, answer, Clock::system()).await);
            let until = Some(quantities::now());
            self.batch.progress.insert(question.number, IssueProgress::Parked { until });
            self.board.state(question.number, "answered");
        }
        self.show_first();
        self.say_held();
        Ok(())
    }

    /// Handles a timeout of the first question: its run continues, and the gate counts as timed out.
    pub(super) fn give_up_asking(&mut self) {
        let Some(question) = self.questions.pop_front() else { return };
        let until = Some(quantities::now());
        self.batch.progress.insert(question.number, IssueProgress::Parked { until });
        self.take_frame_away();
        self.streams.err.line("");
        self.streams.note(&format!("{}: the gate timed out and counts as declined", question.number));
        self.show_first();
        self.say_held();
    }

    /// Drops a question without an answer.
    pub(super) fn leave(&mut self, question: &GateQuestion) -> Result<(), CommandError> {
        let run = IssueRun::read(&question.directory)?;
        let result = run.as_ref().and_then(IssueRun::result);
        let result = result.unwrap_or_else(|| IssueResult::plain(WorkOutcome::Waiting));
        self.end(question.number, &IssueEnd { run, ..IssueEnd::of(result) });
        Ok(())
    }
}

/// An open gate of an issue's run.
pub(super) struct GateQuestion {
    pub(super) number: IssueNumber,
    pub(super) directory: RunDirectory,
    pub(super) gate: StageId,
    pub(super) text: String,
    pub(super) wants: Wants,
    /// The timeout of the gate.
    pub(super) expires: Option<Moment>,
    pub(super) offer: GateOffer,
}

/// The work of a run at its gate, as far as it exists: a person can look at it before the answer.
#[derive(Default)]
pub(super) struct GateOffer {
    changes: Option<IssueChanges>,
    /// The address of the pull request, or the path of the worktree.
    target: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct IssueChanges {
    base: String,
    commit: String,
}

impl GateOffer {
    pub(super) fn of(run: Option<&IssueRun>) -> Self {
        let Some(run) = run else { return Self::default() };
        let (base, commit) = (run.assignment.base.commit.clone(), run.commit().map(str::to_owned));
        let commit = commit.filter(|commit| *commit != base);
        let worktree = Some(&run.assignment.worktree).filter(|worktree| worktree.is_dir());
        let request = run.outputs.text(stage::PULL_REQUEST, "url").map(str::to_owned);
        Self {
            changes: commit.map(|commit| IssueChanges { base, commit }),
            target: request.or_else(|| worktree.map(|worktree| worktree.display().to_string())),
        }
    }
}

impl GateQuestion {
    /// Formats the question, which ends with the input prompt.
    fn ask(&self) -> String {
        let gate = visible_line(self.gate.as_str().rsplit('/').next().unwrap_or_default()).into_owned();
        let mut text = format!("? {} {gate}\n", self.number);
        for line in visible_text(self.text.trim()).lines() {
            text.push_str(&format!("  {line}\n"));
        }
        text.push_str(&self.ask_again());
        text
    }

    /// Returns the input prompt for a repeated question.
    fn ask_again(&self) -> String {
        match self.wants {
            Wants::YesNo => {
                let diff = self.offer.changes.as_ref().map_or("", |_| " [d]iff");
                let open = self.offer.target.as_ref().map_or("", |_| " [o]pen");
                format!("[y]es [n]o [a]ll{diff}{open} > ")
            }
            Wants::Text { .. } => "Your answer in one line > ".to_owned(),
        }
    }

    /// Parses a typed line as an answer of the wanted kind.
    fn understood(&self, line: &str) -> TypedAnswer<'_> {
        let line = line.trim();
        if let Wants::Text { max_chars } = self.wants {
            return match line.chars().count() {
                length if length > 0 && length <= max_chars as usize => {
                    TypedAnswer::Given(GateAnswer::Text(line.to_owned()))
                }
                _ => TypedAnswer::Unclear(format!("an answer has 1 to {max_chars} characters")),
            };
        }
        let (changes, target) = (self.offer.changes.as_ref(), self.offer.target.as_deref());
        match (line.to_lowercase().as_str(), changes, target) {
            ("" | "y" | "yes", ..) => TypedAnswer::Given(GateAnswer::Yes(None)),
            ("n" | "no" | "q", ..) => TypedAnswer::Given(GateAnswer::No(None)),
            ("a" | "all", ..) => TypedAnswer::YesToAll,
            ("d" | "diff", Some(changes), _) => TypedAnswer::Diff(changes),
            ("o" | "open", _, Some(target)) => TypedAnswer::Open(target),
            _ => TypedAnswer::Unclear(self.keys()),
        }
    }

    /// Explains the keys of a question for yes or no.
    fn keys(&self) -> String {
        let diff = self.offer.changes.as_ref().map_or("", |_| ", d = show the changes");
        let open = self.offer.target.as_ref().map_or("", |_| ", o = open the work");
        format!("y = yes, n = no, a = yes to this gate of every issue{diff}{open}")
    }
}

#[derive(Debug, PartialEq, Eq)]
enum TypedAnswer<'a> {
    Given(GateAnswer),
    /// Yes, and yes to the same gate of all other issues.
    YesToAll,
    /// Show the changes, then repeat the question.
    Diff(&'a IssueChanges),
    /// Open the pull request or the worktree, then repeat the question.
    Open(&'a str),
    /// Not understood: print this help, then repeat the question.
    Unclear(String),
}

impl IssueChanges {
    /// Formats the changes of an issue's work for the screen.
    fn diff(&self, root: &Path) -> String {
        let Self { base, commit } = self;
        let changed = Git::open(root).and_then(|git| git.map(|git| git.changed(&[base, commit])).transpose());
        match changed {
            Ok(Some(files)) => diff_text(&files, &format!("git diff {base} {commit}")),
            Ok(None) => "  no repository here\n".to_owned(),
            Err(error) => format!("  cannot show the changes: {}\n", visible_line(&error.to_string())),
        }
    }
}

/// Formats changed files as a patch. A long patch ends with the command that shows all of it.
fn diff_text(files: &[ChangedFile], command: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for file in files {
        match &file.section {
            FileDiff::Text(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                lines.extend(visible_text(&text).lines().map(str::to_owned));
            }
            FileDiff::Binary => lines.push(format!("{}: binary file", visible_line(&file.path))),
            FileDiff::Submodule => lines.push(format!("{}: submodule", visible_line(&file.path))),
        }
    }
    if lines.is_empty() {
        return "  no changes\n".to_owned();
    }
    let left_out = lines.len().saturating_sub(MOST_DIFF_LINES);
    lines.truncate(MOST_DIFF_LINES);
    if left_out > 0 {
        lines.push(format!("… {left_out} more lines: {command}"));
    }
    lines.join("\n") + "\n"
}

/// Opens the pull request or the worktree of a run with the program of the desktop, and says where it is. The path
/// also helps on a machine without a desktop.
fn open(target: &str) -> String {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(target).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(mut opened) => {
            // A desktop program can stay open for hours, and nothing depends on its end.
            std::thread::spawn(move || drop(opened.wait()));
            format!("opened {target}")
        }
        Err(_) => target.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(wants: Wants, offer: GateOffer) -> GateQuestion {
        let directory = RunDirectory::new(Path::new("runs"), "r".to_owned(), &saihai::Disk::default());
        let number = IssueNumber::new(7).expect("a number");
        let gate = StageId::from("deliver/pre-loop");
        GateQuestion { number, directory, gate, text: "Start?".to_owned(), wants, expires: None, offer }
    }

    // I-41, U-19, case 18
    #[test]
    fn an_answer_is_understood_in_any_spelling_and_asked_for_again_otherwise() {
        let changes = || IssueChanges { base: "1".to_owned(), commit: "2".to_owned() };
        let offer = GateOffer { changes: Some(changes()), target: Some("/w".to_owned()) };
        let gate = question(Wants::YesNo, offer);
        for yes in ["", "  \n", "y", " YES \n", "Yes"] {
            assert_eq!(gate.understood(yes), TypedAnswer::Given(GateAnswer::Yes(None)), "{yes:?}");
        }
        for no in ["n", "No", " q "] {
            assert_eq!(gate.understood(no), TypedAnswer::Given(GateAnswer::No(None)), "{no:?}");
        }
        assert_eq!(gate.understood("A"), TypedAnswer::YesToAll);
        assert_eq!(gate.understood("d"), TypedAnswer::Diff(&changes()));
        assert_eq!(gate.understood("open"), TypedAnswer::Open("/w"));
        for unclear in ["maybe", "yess", "0", "はい"] {
            assert!(matches!(gate.understood(unclear), TypedAnswer::Unclear(_)), "{unclear:?}");
        }
        insta::assert_snapshot!(gate.ask(), @r"
        ? #7 pre-loop
          Start?
        [y]es [n]o [a]ll [d]iff [o]pen >
        ");
        let text = question(Wants::Text { max_chars: 3 }, GateOffer::default());
        let given = |text: &str| TypedAnswer::Given(GateAnswer::Text(text.to_owned()));
        assert_eq!(text.understood(" abc "), given("abc"));
        assert_eq!(text.understood("d"), given("d"));
        let unclear = TypedAnswer::Unclear("an answer has 1 to 3 characters".to_owned());
        assert_eq!(text.understood("abcd"), unclear);
    }

    // U-19
    #[test]
    fn before_the_work_there_is_nothing_to_show_or_to_open() {
        let gate = question(Wants::YesNo, GateOffer::default());
        assert_eq!(gate.ask_again(), "[y]es [n]o [a]ll > ");
        let keys = || TypedAnswer::Unclear("y = yes, n = no, a = yes to this gate of every issue".to_owned());
        assert_eq!(gate.understood("d"), keys());
        assert_eq!(gate.understood("open"), keys());
    }
}
