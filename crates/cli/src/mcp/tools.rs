//! The tools, and what each does.

use std::path::Path;

use saihai::RunDirectory;
use saihai_connect::CurrentTurn;
use serde_json::{Map, Value, json};

use super::arguments::{ToolArguments, ToolParameter, ToolParameterKind};
use super::paging::{MOST_BYTES, page};
use super::run_start::{RunCommandLine, RunStart};
use super::run_status::RunStatus;
use crate::arguments;
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::captured;
use crate::watching::steering;

/// A tool as clients see it.
pub(super) struct McpTool {
    pub(super) kind: ToolKind,
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) parameters: &'static [ToolParameter],
    /// True if the tool changes nothing.
    pub(super) only_reads: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolKind {
    ListDefinitions,
    Check,
    StartRun,
    ListRuns,
    GetRun,
    Read,
    Explain,
    Review,
    CancelRun,
}

const RUN: ToolParameter =
    ToolParameter::required("run", ToolParameterKind::Text, "Run id, a unique beginning of it, or `last`");

const BUDGET: ToolParameter = ToolParameter::required(
    "budget",
    ToolParameterKind::Text,
    "Maximum spending: any of `usd=5,tokens=2000000,turns=40,minutes=90`",
);

const PROVIDER: ToolParameter = ToolParameter::optional(
    "provider",
    ToolParameterKind::Text,
    "Provider to ask, overriding the definition",
);

const MODEL: ToolParameter =
    ToolParameter::optional("model", ToolParameterKind::Text, "Model to use, overriding the definition");

const OFFSET: ToolParameter = ToolParameter::optional(
    "offset",
    ToolParameterKind::Number(0, u64::MAX),
    "Where to start: the `next_offset` of the page before",
);

/// All tools, in the order in which an agent needs them.
pub(super) const TOOLS: [McpTool; 9] = [
    McpTool {
        kind: ToolKind::ListDefinitions,
        name: "list_definitions",
        title: "List definitions",
        about: "List the definitions (workflows, review agents) that this project can run.",
        parameters: &[],
        only_reads: true,
    },
    McpTool {
        kind: ToolKind::Check,
        name: "check",
        title: "Check definitions",
        about: "Report all errors in definitions and settings, and the maximum number of agent calls and cost of each \
                definition.",
        parameters: &[ToolParameter::optional(
            "paths",
            ToolParameterKind::Texts,
            "Definitions, or directories of definitions (default: all, and the settings)",
        )],
        only_reads: true,
    },
    McpTool {
        kind: ToolKind::StartRun,
        name: "start_run",
        title: "Start a run",
        about: "Start a run of a definition on a task and return its id at once. The run continues in a process of \
                its own; poll `get_run`. It works in a new git worktree, on a new branch, unless `worktree` is false.",
        parameters: &[
            ToolParameter::required(
                "definition",
                ToolParameterKind::Text,
                "Name of a definition, as `list_definitions` lists it, or a path",
            ),
            ToolParameter::optional("task", ToolParameterKind::Text, "Task for the agents"),
            BUDGET,
            ToolParameter::optional(
                "worktree",
                ToolParameterKind::Flag,
                "Work in a new worktree (default: true); false: in the current directory (`--no-worktree`)",
            ),
            PROVIDER,
            MODEL,
            ToolParameter::optional(
                "max_iterations",
                ToolParameterKind::Number(1, 100_000),
                "Maximum number of iterations",
            ),
            ToolParameter::optional(
                "values",
                ToolParameterKind::Values,
                "Values for the parameters of the definition, by name",
            ),
        ],
        only_reads: false,
    },
    McpTool {
        kind: ToolKind::ListRuns,
        name: "list_runs",
        title: "List runs",
        about: "List the runs of this project, newest first.",
        parameters: &[
            ToolParameter::optional(
                "limit",
                ToolParameterKind::Number(1, 200),
                "Maximum number of runs (default: 20)",
            ),
            ToolParameter::optional(
                "state",
                ToolParameterKind::OneOf(&[
                    "running",
                    "interrupted",
                    "parked",
                    "completed",
                    "failed",
                    "declined",
                    "cancelled",
                ]),
                "Only runs in this state",
            ),
        ],
        only_reads: true,
    },
    McpTool {
        kind: ToolKind::GetRun,
        name: "get_run",
        title: "Get the state of a run",
        about: "Return the state of a run, its stages, cost, reports and result. `state` is `working`, \
                `input_required`, `completed`, `failed`, `declined` or `cancelled`. If it is `input_required`, only a person can continue \
                the run: show them `input_required.commands`.",
        parameters: &[RUN],
        only_reads: true,
    },
    McpTool {
        kind: ToolKind::Read,
        name: "read",
        title: "Read a report, reply or diff",
        about: "Return a text of a run in pages: a report, the replies of a stage, or the changes to files.",
        parameters: &[
            RUN,
            ToolParameter::required(
                "what",
                ToolParameterKind::OneOf(&["report", "reply", "diff"]),
                "Text to read",
            ),
            ToolParameter::optional(
                "report",
                ToolParameterKind::Text,
                "File name of the report (default: the only one)",
            ),
            ToolParameter::optional(
                "stage",
                ToolParameterKind::Text,
                "Stage, or `stage/turn`, of the reply (default: the last) or of the diff (default: the whole run)",
            ),
            ToolParameter::optional(
                "visit",
                ToolParameterKind::Number(1, u32::MAX as u64),
                "Number of the visit to the stage (default: the last); only for a reply",
            ),
            OFFSET,
            ToolParameter::optional(
                "limit",
                ToolParameterKind::Number(1, MOST_BYTES),
                "Maximum number of bytes (default: 20000)",
            ),
        ],
        only_reads: true,
    },
    McpTool {
        kind: ToolKind::Explain,
        name: "explain",
        title: "Explain transitions",
        about: "Explain why a run took each transition: the rule, the labels of the turns, and the quoted reply.",
        parameters: &[
            RUN,
            OFFSET,
            ToolParameter::optional(
                "limit",
                ToolParameterKind::Number(1, 100),
                "Maximum number of transitions (default: 20)",
            ),
        ],
        only_reads: true,
    },
    McpTool {
        kind: ToolKind::Review,
        name: "review",
        title: "Review a change",
        about: "Start a review of the current changes by the project's review agents and return the id of its run at \
                once. Poll `get_run`; then `read` its report.",
        parameters: &[
            BUDGET,
            ToolParameter::optional(
                "base",
                ToolParameterKind::Text,
                "Revision to compare with (default: the branch of the remote)",
            ),
            ToolParameter::optional(
                "files",
                ToolParameterKind::Texts,
                "Files and directories to review whole, instead of changes",
            ),
            ToolParameter::optional(
                "agents",
                ToolParameterKind::Texts,
                "Review agents to ask (default: those whose patterns match)",
            ),
            PROVIDER,
            MODEL,
        ],
        only_reads: false,
    },
    McpTool {
        kind: ToolKind::CancelRun,
        name: "cancel_run",
        title: "Cancel a run",
        about: "Cancel a run for good. Only runs that `start_run` or `review` started can be cancelled here.",
        parameters: &[RUN],
        only_reads: false,
    },
];

/// The result of a tool.
pub(super) enum ToolOutcome {
    Answer(Value),
    /// A run has started.
    Started(RunDirectory),
}

impl McpTool {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// Performs a call of the tool.
    pub(super) fn call(&self, given: Option<Map<String, Value>>) -> Result<ToolOutcome, CommandError> {
        let arguments = ToolArguments::read(given, self.parameters)?;
        let answer = match self.kind {
            ToolKind::StartRun => return start_run(&arguments),
            ToolKind::Review => return review(&arguments),
            ToolKind::ListDefinitions => {
                json!({"definitions": objects_of(&["list", "--json"])?})
            }
            ToolKind::Check => check(&arguments)?,
            ToolKind::ListRuns => list_runs(&arguments)?,
            ToolKind::GetRun => RunStatus::read(&run_of(&Project::find()?, &arguments)?)?.object(),
            ToolKind::Read => read(&arguments)?,
            ToolKind::Explain => explain(&arguments)?,
            ToolKind::CancelRun => {
                let project = Project::find()?;
                let run = run_of(&project, &arguments)?;
                json!({"run": run.id(), "words": cancel(&run)?})
            }
        };
        Ok(ToolOutcome::Answer(answer))
    }
}

/// Runs a command in this process, and returns the JSON objects that it prints.
fn objects_of(words: &[&str]) -> Result<Vec<Value>, CommandError> {
    let (mut streams, out, err) = captured::streams();
    let words: Vec<_> = ["saihai"].iter().chain(words).map(Into::into).collect();
    let done = arguments::parse(&words, &mut streams).and_then(|parsed| parsed.command.execute(&mut streams));
    if let Err(error @ CommandError::Refused(_)) = done {
        return Err(error);
    }
    let objects: Result<Vec<Value>, _> = out.text().lines().map(serde_json::from_str).collect();
    match objects {
        Ok(objects) if !objects.is_empty() || err.text().is_empty() || done.is_ok() => Ok(objects),
        // The command has said what is wrong.
        Ok(_) => Err(CommandError::usage(err.text().trim_end().trim_start_matches("error: ").to_owned())),
        Err(error) => {
            Err(CommandError::unavailable(format!("the answer of the command is no JSON: {error}")))
        }
    }
}

fn run_of(project: &Project, arguments: &ToolArguments) -> Result<RunDirectory, CommandError> {
    Ok(project.runs().find(arguments.required_text("run"))?)
}

fn check(arguments: &ToolArguments) -> Result<Value, CommandError> {
    let mut words = vec!["check", "--json", "--"];
    words.extend(arguments.texts("paths"));
    let mut objects = objects_of(&words)?;
    objects.pop().ok_or_else(|| CommandError::unavailable("`saihai check` printed nothing"))
}

fn list_runs(arguments: &ToolArguments) -> Result<Value, CommandError> {
    let limit = arguments.number("limit").unwrap_or(20).to_string();
    let mut words = vec!["runs", "--json", "--limit", limit.as_str()];
    words.extend(arguments.text("state").into_iter().flat_map(|state| ["--state", state]));
    Ok(json!({"runs": objects_of(&words)?}))
}

fn explain(arguments: &ToolArguments) -> Result<Value, CommandError> {
    let run = run_of(&Project::find()?, arguments)?;
    let transitions = objects_of(&["explain", "--json", "--", run.id()])?;
    let total = transitions.len();
    let offset = usize::try_from(arguments.number("offset").unwrap_or(0)).unwrap_or(usize::MAX);
    let limit = usize::try_from(arguments.number("limit").unwrap_or(20)).unwrap_or(usize::MAX);
    let shown: Vec<Value> = transitions.into_iter().skip(offset).take(limit).collect();
    let end = offset.saturating_add(shown.len());
    let mut answer = json!({"run": run.id(), "transitions": shown, "total": total});
    if end < total {
        answer["next_offset"] = end.into();
    }
    Ok(answer)
}

fn read(arguments: &ToolArguments) -> Result<Value, CommandError> {
    let run = run_of(&Project::find()?, arguments)?;
    let what = arguments.required_text("what");
    let foreign = match what {
        "report" => ["stage", "visit"].as_slice(),
        "reply" => &["report"],
        _ => &["report", "visit"],
    };
    if let Some(name) =
        foreign.iter().find(|name| arguments.text(name).is_some() || arguments.number(name).is_some())
    {
        return Err(CommandError::usage(format!("a {what} has no `{name}`")));
    }
    let (name, text) = match what {
        "report" => report(&run, arguments.text("report"))?,
        "reply" => replies(&run, arguments)?,
        _ => diff(&run, arguments.text("stage"))?,
    };
    let mut page = page(&text, arguments.number("offset").unwrap_or(0), arguments.number("limit"))?;
    page["run"] = run.id().into();
    page["what"] = what.into();
    if let Some(name) = name {
        page["name"] = name.into();
    }
    Ok(page)
}

/// Reads the last saved version of a report.
fn report(run: &RunDirectory, file: Option<&str>) -> Result<(Option<String>, String), CommandError> {
    let read = saihai::LoadedRun::read(run)?;
    let versions = read.view.reports();
    let mut files: Vec<&str> = versions.iter().map(|version| version.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let has = || format!("it has {}", saihai_config::list_of(files.iter().copied(), "and"));
    let file = match (file, files.as_slice()) {
        (_, []) => return Err(CommandError::usage(format!("run `{}` has saved no report", run.id()))),
        (Some(file), _) => file,
        (None, [only]) => only,
        (None, _) => {
            return Err(CommandError::usage("the argument `report` is missing").hint(has()));
        }
    };
    let version = versions.iter().rev().find(|version| version.file == file).ok_or_else(|| {
        CommandError::usage(format!("run `{}` has saved no report `{file}`", run.id())).hint(has())
    })?;
    Ok((Some(file.to_owned()), crate::commands::show_stage::report_text(run, version)?))
}

/// Reads the replies of a stage, each below its name if there are several.
fn replies(run: &RunDirectory, arguments: &ToolArguments) -> Result<(Option<String>, String), CommandError> {
    let visit = arguments.number("visit").map(|visit| format!("--visit={visit}"));
    let mut words = vec!["show", "--json", "--reply"];
    words.extend(visit.as_deref());
    words.extend(["--", run.id()]);
    words.extend(arguments.text("stage"));
    let turns = objects_of(&words)?;
    let text = |turn: &Value| turn["reply"].as_str().unwrap_or_default().to_owned();
    let name = |turn: &Value| {
        let of_turn = turn["turn"].as_str().map(|turn| format!("/{turn}")).unwrap_or_default();
        format!(
            "{}{of_turn}, visit {}, round {}",
            turn["stage"].as_str().unwrap_or_default(),
            turn["visit"],
            turn["round"]
        )
    };
    match turns.as_slice() {
        [only] => Ok((Some(name(only)), text(only))),
        several => {
            let parts = several.iter().map(|turn| format!("# {}\n\n{}\n", name(turn), text(turn).trim_end()));
            Ok((None, parts.collect::<Vec<_>>().join("\n")))
        }
    }
}

fn diff(run: &RunDirectory, stage: Option<&str>) -> Result<(Option<String>, String), CommandError> {
    let mut words = vec!["diff", "--json", "--", run.id()];
    words.extend(stage);
    let files = objects_of(&words)?;
    let part = |file: &Value| match (file["diff"].as_str(), file["left_out"].as_str()) {
        (_, Some(why)) => format!("{}: {why}, not shown\n", file["path"].as_str().unwrap_or_default()),
        (text, None) => text.unwrap_or_default().to_owned(),
    };
    Ok((stage.map(str::to_owned), files.iter().map(part).collect()))
}

fn start_run(arguments: &ToolArguments) -> Result<ToolOutcome, CommandError> {
    let worktree = arguments.flag("worktree").unwrap_or(true);
    let mut flags = common_flags(arguments);
    flags.push(if worktree { "--worktree" } else { "--no-worktree" }.to_owned());
    flags.extend(arguments.number("max_iterations").map(|most| format!("--max-iterations={most}")));
    let values = arguments.values("values");
    flags.extend(values.iter().map(|(name, value)| format!("--set={name}={value}")));
    let task = arguments.text("task").filter(|task| !task.trim().is_empty());
    let mut rest = vec![arguments.required_text("definition").to_owned()];
    rest.extend(task.map(|_| "-".to_owned()));
    start(RunCommandLine { command: "run", flags, rest, input: task.map(str::to_owned) })
}

fn review(arguments: &ToolArguments) -> Result<ToolOutcome, CommandError> {
    let mut flags = common_flags(arguments);
    let (base, files) = (arguments.text("base"), arguments.texts("files"));
    if base.is_some() && !files.is_empty() {
        return Err(CommandError::usage(
            "`base` is for a change, and `files` for whole files: pass one of them",
        ));
    }
    flags.extend(base.map(|base| format!("--base={base}")));
    flags.extend(arguments.texts("agents").iter().map(|agent| format!("--agent={agent}")));
    let rest = files.into_iter().map(str::to_owned).collect();
    start(RunCommandLine { command: "review", flags, rest, input: None })
}

fn common_flags(arguments: &ToolArguments) -> Vec<String> {
    let flag = |name: &str| arguments.text(name).map(|value| format!("--{name}={value}"));
    ["budget", "provider", "model"].into_iter().filter_map(flag).collect()
}

fn start(command: RunCommandLine) -> Result<ToolOutcome, CommandError> {
    Ok(match command.start(&Project::find()?)? {
        RunStart::Started(run) => ToolOutcome::Started(run),
        RunStart::NothingToDo(output) => {
            let report: Value = serde_json::from_str(&output).unwrap_or(Value::Null);
            ToolOutcome::Answer(json!({"words": "there is nothing to do", "report": report}))
        }
    })
}

/// Cancels a run that an agent started. An agent in a turn can cancel only the runs that its own run started.
pub(super) fn cancel(run: &RunDirectory) -> Result<String, CommandError> {
    let origin = &run.start()?.origin;
    let parent = origin.parent.as_ref().map(|parent| Path::new(&parent.directory));
    let ours = CurrentTurn::of_this_process();
    if origin.mcp_request.is_none() || ours.is_some_and(|turn| parent != Some(turn.directory.as_path())) {
        let error = CommandError::usage(format!("only a person can cancel run `{}`", run.id()));
        return Err(error.hint(format!("`saihai cancel {}` in a terminal cancels it", run.id())));
    }
    steering::cancel(run)
}
