//! `saihai demo`.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use saihai::{Beginning, Clock, Driver, RunDirectory};
use saihai_config::{Area, Diagnostics, Document, Format, Options, Places, Variables, read_script};
use saihai_connect::Connections;
use saihai_model::{Script, Workflow, slug};

use crate::diagnostics;
use crate::driving::{Past, Showing, block_on, drive};
use crate::error::{Error, exit};
use crate::prepared::{Prepared, Wanted};
use crate::project::Project;
use crate::terminal::{Streams, style, visible_line, visible_text};

/// Watch a process at work: a tour of a minute, without an agent
#[derive(Debug, Args)]
#[command(
    after_help = "Makes a small git repository with a failing program in a temporary directory and runs the built-in \
                  definition `default` on it. The agents are played by a script; the files they change and the tests \
                  they run are real. Nothing outside that directory is touched, and it is kept."
)]
pub(crate) struct Demo {}

const DEFINITION: &str = "default";
/// Replies and actions of the agents.
const REPLIES: &str = include_str!("demo/replies.yaml");
const FILES: [(&str, &str); 3] = [
    ("greet.sh", include_str!("demo/greet.sh")),
    ("test.sh", include_str!("demo/test.sh")),
    (".gitignore", ".saihai/runs/\n.takt/reports/\n"),
];
/// The report that best shows the benefit of the process.
const REPORT: &str = "03-review-tests.md";

impl Demo {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let repository = Repository::make()?;
        let project = repository.project();
        let settings = project.settings(false, streams)?;
        let interactive = streams.can_ask();
        let options = Options { provider: Some("script".into()), interactive, ..Options::default() };
        let wanted = Wanted { definition: DEFINITION, options: &options, settings: &settings, strict: false };
        let prepared = Prepared::new(&project, wanted, streams)?;
        let script = script(&prepared.workflow, streams)?;
        let task = script.task.clone().unwrap_or_default();
        introduce(&repository, &task, streams)?;
        let beginning = Beginning {
            workflow: prepared.workflow,
            script: Some(script),
            definition: DEFINITION.to_owned(),
            dialect: prepared.definition.dialect.name().to_owned(),
            slug: slug("demo"),
            task,
            seed: 0,
            interactive,
            rehearsal: false,
            patience: settings.short_wait,
            directory: repository.path.clone(),
            reports: settings.reports_dir.clone(),
            subject: std::collections::BTreeMap::new(),
            placement: None,
            texts: Vec::new(),
        };
        let workflow = beginning.workflow.clone();
        let showing = Showing { past: Past::None, json: false, interactive, auto: false };
        let (directory, code) = block_on(async {
            let driver = Driver::start(&project.runs(), beginning, Connections::default(), Clock::system())?;
            let directory = driver.directory().clone();
            drive(driver, &workflow, showing, streams).await.map(|code| (directory, code))
        })?;
        if code == exit::DONE {
            conclude(&repository, &directory, streams)?;
        } else {
            streams.note(&format!("the repository of the tour is kept in `{}`", repository.path.display()));
        }
        Ok(code)
    }
}

/// Returns the bundled script at a readable pace, or without delays if no person is watching.
fn script(workflow: &Workflow, streams: &mut Streams) -> Result<Script, Error> {
    let mut found = Diagnostics::new();
    let document =
        Document::parse(REPLIES.as_bytes(), Format::Yaml, "the demo's script", Area::Script, &mut found);
    let (script, more) = document.map(|document| read_script(&document, Some(workflow))).unwrap_or_default();
    found.append(more);
    diagnostics::insist(&found, true, streams)?;
    let mut script = script.ok_or_else(|| Error::unavailable("the script of the demo cannot be played"))?;
    if !streams.err.is_terminal() {
        script.replies.iter_mut().for_each(|reply| reply.delay = None);
    }
    Ok(script)
}

fn introduce(repository: &Repository, task: &str, streams: &mut Streams) -> Result<(), Error> {
    title("A program with a failing test", streams)?;
    let out = &mut streams.out;
    out.data(&format!("{} (a git repository of its own, kept)", repository.path.display()))?;
    out.data("")?;
    out.data("$ sh test.sh")?;
    out.data(visible_text(&repository.run("sh", &["test.sh"])?).trim_end())?;
    title("The process: saihai run default", streams)?;
    let out = &mut streams.out;
    out.data(&format!("The task: {}", visible_line(task)))?;
    out.data(
        "Agents plan, implement, review from three sides and fix, until all approve. A script plays them",
    )?;
    out.data(
        "here; what they change and run is real. One of them will say that all is well when it is not.",
    )?;
    out.data("")?;
    out.flush()?;
    Ok(())
}

fn conclude(repository: &Repository, directory: &RunDirectory, streams: &mut Streams) -> Result<(), Error> {
    title("The way it took", streams)?;
    let run = saihai::LoadedRun::read(directory)?;
    let stages: Vec<&str> = run.view.visits.iter().map(|visit| visit.stage.as_str()).collect();
    streams.out.data(&format!("{} → done", visible_line(&stages.join(" → "))))?;
    title("What was changed", streams)?;
    let colour = if streams.out.is_styled() { "--color=always" } else { "--color=never" };
    streams.out.data(repository.git(&["diff", "--no-ext-diff", colour])?.trim_end())?;
    streams.out.data("")?;
    streams.out.data("$ sh test.sh")?;
    streams.out.data(visible_text(&repository.run("sh", &["test.sh"])?).trim_end())?;
    title(&format!("One of the reports: {REPORT}"), streams)?;
    let report = repository.path.join(".takt/reports").join(directory.id()).join(REPORT);
    let report = std::fs::read_to_string(&report)
        .map_err(|error| Error::unavailable(format!("cannot read `{}`: {error}", report.display())))?;
    streams.out.data(visible_text(&report).trim_end())?;
    title("Three things to try next", streams)?;
    streams.out.data(&format!("  cd {}", quoted(&repository.path)))?;
    let program = program();
    for (arguments, what) in NEXT {
        streams.out.data(&format!("{what}:\n  {program} {arguments}"))?;
    }
    streams.out.flush()?;
    Ok(())
}

const NEXT: [(&str, &str); 3] = [
    ("explain last", "Why it went this way, decision for decision"),
    ("graph last --format svg --out run.svg", "The way it took, as a drawing to open in a browser"),
    ("record last --out test.yaml", "This run as a test that needs no agent"),
];

/// Returns a command for this program: its name if `PATH` finds it, otherwise its path. A freshly built program is
/// not installed.
fn program() -> String {
    const NAME: &str = "saihai";
    let Some(own) = std::env::current_exe().ok().and_then(|path| path.canonicalize().ok()) else {
        return NAME.to_owned();
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|directory| directory.join(NAME)).find(|file| file.is_file());
    let is_own = found.and_then(|file| file.canonicalize().ok()).is_some_and(|file| file == own);
    if is_own { NAME.to_owned() } else { quoted(&own) }
}

fn title(text: &str, streams: &mut Streams) -> Result<(), Error> {
    let text = streams.out.paint(style::STRONG, &format!("── {text}"));
    streams.out.data(&format!("\n{text}"))?;
    Ok(())
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.');
    if path.bytes().all(plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

struct Repository {
    path: PathBuf,
}

impl Repository {
    /// Creates the repository with one commit.
    fn make() -> Result<Self, Error> {
        let failed = |error| Error::unavailable(format!("cannot make a temporary directory: {error}"));
        let directory = tempfile::Builder::new().prefix("saihai-demo-").tempdir().map_err(failed)?;
        let path = directory.path().canonicalize().map_err(failed)?;
        let repository = Self { path };
        for (name, content) in FILES {
            let file = repository.path.join(name);
            std::fs::write(&file, content)
                .map_err(|error| Error::unavailable(format!("cannot write `{}`: {error}", file.display())))?;
        }
        repository.git(&["init", "--quiet"])?;
        repository.git(&["add", "--all"])?;
        let author = ["-c", "user.name=Saihai", "-c", "user.email=saihai@localhost"];
        let commit = ["commit", "--quiet", "--no-gpg-sign", "--message", "A program with a failing test"];
        repository.git(&[&author[..], &commit[..]].concat())?;
        // Keep the directory only if the repository is complete.
        drop(directory.keep());
        Ok(repository)
    }

    /// Returns the demo project. The user's own settings and definitions do not apply.
    fn project(&self) -> Project {
        let (root, current) = (self.path.clone(), self.path.clone());
        let variables = Variables::new(std::iter::empty::<(String, String)>());
        let places = Places { current, root, user: None, home: None };
        Project::at(places, variables)
    }

    /// Runs git, independent of the user's git configuration, and returns its output.
    fn git(&self, arguments: &[&str]) -> Result<String, Error> {
        self.run("git", arguments)
    }

    /// Runs a program in the repository and returns its output. A failing test is expected here.
    fn run(&self, program: &str, arguments: &[&str]) -> Result<String, Error> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.path);
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_TEMPLATE_DIR"] {
            command.env_remove(name);
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().map_err(|error| {
            Error::unavailable(format!("cannot start `{program}`: {error}"))
                .hint("the demo needs `git` and `sh`")
        })?;
        if program == "git" && !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let message = format!("`git {}` failed: {}", arguments.join(" "), said.trim());
            return Err(Error::unavailable(message));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
