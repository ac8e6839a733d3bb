use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use saihai::{Clock, Driver, RunDirectory, RunSpec};
use saihai_config::{Area, Diagnostics, Document, Format, Options, ProjectPaths, Variables, read_script};
use saihai_connect::Connections;
use saihai_model::{ExitStatus, RunOrigin, Script, Workflow, slug};

use crate::definitions::{DefinitionRequest, PreparedDefinition};
use crate::driving::{DisplayOptions, RunKeeping, block_on, drive};
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::{Streams, style, visible_line, visible_text, wrapped};

/// Watch a workflow run for a minute, without an agent
#[derive(Debug, Args)]
#[command(after_help = "\
Creates a small git repository with a failing test in a temporary directory and runs the built-in
definition `default` on it. A script plays the agents; the edits and the tests are real.
Changes nothing outside that directory, and keeps the directory.

Examples:
  saihai demo
  saihai demo --color never")]
pub(crate) struct DemoCommand {}

const DEFINITION: &str = "default";
/// Replies and actions of the agents.
const REPLIES: &str = include_str!("demo/replies.yaml");
const FILES: [(&str, &str); 4] = [
    ("greet.sh", include_str!("demo/greet.sh")),
    ("test.sh", include_str!("demo/test.sh")),
    (
        ".saihai/config.toml",
        "# The process runs these commands after every change.\nchecks = [\"sh test.sh\"]\n",
    ),
    (".gitignore", ".saihai/runs/\n.saihai/reports/\n"),
];
const PROCESS: &str = "Agents plan, implement, review from three sides and fix, until all reviewers approve. A script \
                       plays the agents; the files they change are real, and so are the tests.";
const CLAIM: &str = "Watch `implement`: it claims that all checks pass. The setting `checks` makes the process run \
                     `sh test.sh` after every change, and its exit code decides.";
/// The report that best shows the benefit of the process.
const REPORT: &str = "03-review-tests.md";

impl DemoCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let repository = DemoRepository::make()?;
        let project = repository.project();
        let settings = project.settings(false, streams)?;
        let interactive = streams.can_ask();
        let options = Options { provider: Some("script".into()), interactive, ..Options::default() };
        let wanted = DefinitionRequest {
            definition: DEFINITION,
            options: &options,
            settings: &settings,
            strict: false,
        };
        let prepared = PreparedDefinition::new(&project, wanted, streams)?;
        let script = script(&prepared.workflow, streams)?;
        let task = script.task.clone().unwrap_or_default();
        introduce(&repository, &task, streams)?;
        let beginning = RunSpec {
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
            origin: RunOrigin::default(),
        };
        let workflow = beginning.workflow.clone();
        let showing = DisplayOptions {
            json: false,
            interactive,
            auto: false,
            keeping: RunKeeping::Kept,
            completed: ExitStatus::Done,
            otel: false,
        };
        let (directory, code) = block_on(async {
            let driver = Driver::start(&project.runs(), beginning, Connections::default(), Clock::system())?;
            let directory = driver.directory().clone();
            drive(driver, &workflow, showing, streams).await.map(|code| (directory, code))
        })?;
        if code == ExitStatus::Done {
            conclude(&repository, &directory, streams)?;
        } else {
            streams.note(&format!("the demo repository stays in `{}`", repository.path.display()));
        }
        Ok(code)
    }
}

/// Returns the bundled script at a readable pace, or without delays if no person is watching.
fn script(workflow: &Workflow, streams: &mut Streams) -> Result<Script, CommandError> {
    let mut found = Diagnostics::new();
    let document =
        Document::parse(REPLIES.as_bytes(), Format::Yaml, "the demo's script", Area::Script, &mut found);
    let (script, more) = document.map(|document| read_script(&document, Some(workflow))).unwrap_or_default();
    found.append(more);
    streams.diagnose(&found, true)?;
    let mut script = script.ok_or_else(|| CommandError::unavailable("the script of the demo is invalid"))?;
    if !streams.err.is_terminal() {
        script.replies.iter_mut().for_each(|reply| reply.delay = None);
    }
    Ok(script)
}

fn introduce(repository: &DemoRepository, task: &str, streams: &mut Streams) -> Result<(), CommandError> {
    title("A program with a failing test", streams)?;
    let out = &mut streams.out;
    out.data(&format!("{} (a new git repository; it stays)", repository.path.display()))?;
    out.data("")?;
    out.data("$ sh test.sh")?;
    out.data(visible_text(&repository.run("sh", &["test.sh"])?).trim_end())?;
    title("The process: saihai run default", streams)?;
    let out = &mut streams.out;
    for text in [&*format!("The task: {}", visible_line(task)), PROCESS, CLAIM] {
        out.lines(&wrapped(text, out.columns().min(100), 0))?;
    }
    out.data("")?;
    out.flush()?;
    Ok(())
}

fn conclude(
    repository: &DemoRepository,
    directory: &RunDirectory,
    streams: &mut Streams,
) -> Result<(), CommandError> {
    title("The path it took", streams)?;
    let run = saihai::LoadedRun::read(directory)?;
    let stages: Vec<&str> = run.view.visits.iter().map(|visit| visit.stage.as_str()).collect();
    streams.out.data(&format!("{} → done", visible_line(&stages.join(" → "))))?;
    title("The changes", streams)?;
    let colour = if streams.out.is_styled() { "--color=always" } else { "--color=never" };
    streams.out.data(repository.git(&["diff", "--no-ext-diff", colour])?.trim_end())?;
    streams.out.data("")?;
    streams.out.data("$ sh test.sh")?;
    streams.out.data(visible_text(&repository.run("sh", &["test.sh"])?).trim_end())?;
    title(&format!("One of the reports: {REPORT}"), streams)?;
    let report = repository.path.join(".saihai/reports").join(directory.id()).join(REPORT);
    let report = std::fs::read_to_string(&report)
        .map_err(|error| CommandError::unavailable(format!("cannot read `{}`: {error}", report.display())))?;
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
    ("explain last", "The reason for every decision"),
    ("graph last --format svg --out run.svg", "The path as a drawing, for a browser"),
    ("record last --out test.yaml", "This run as a test that needs no agent"),
];

/// Returns a command for this program: its name if `PATH` finds it, otherwise its path.
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

fn title(text: &str, streams: &mut Streams) -> Result<(), CommandError> {
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

struct DemoRepository {
    path: PathBuf,
}

impl DemoRepository {
    /// Creates the repository with one commit.
    fn make() -> Result<Self, CommandError> {
        let failed = |error| CommandError::unavailable(format!("cannot make a temporary directory: {error}"));
        let directory = tempfile::Builder::new().prefix("saihai-demo-").tempdir().map_err(failed)?;
        let path = directory.path().canonicalize().map_err(failed)?;
        let repository = Self { path };
        for (name, content) in FILES {
            let file = repository.path.join(name);
            let folder = file.parent().unwrap_or(&repository.path);
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, content)).map_err(
                |error| CommandError::unavailable(format!("cannot write `{}`: {error}", file.display())),
            )?;
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
        let places = ProjectPaths { current, root, user: None, home: None };
        Project::at(places, variables)
    }

    /// Runs git, independent of the user's git configuration, and returns its output.
    fn git(&self, arguments: &[&str]) -> Result<String, CommandError> {
        self.run("git", arguments)
    }

    /// Runs a program in the repository and returns its output. A failing test is expected here.
    fn run(&self, program: &str, arguments: &[&str]) -> Result<String, CommandError> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.path);
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_TEMPLATE_DIR"] {
            command.env_remove(name);
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().map_err(|error| {
            CommandError::unavailable(format!("cannot start `{program}`: {error}"))
                .hint("the demo needs `git` and `sh`")
        })?;
        if program == "git" && !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let message = format!("`git {}` failed: {}", arguments.join(" "), said.trim());
            return Err(CommandError::unavailable(message));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
