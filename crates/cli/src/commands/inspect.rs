//! Commands that show definitions: `saihai list`, `saihai prompt` and `saihai graph`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use saihai::{PreviewInput, PromptPreview, preview};
use saihai_config::review::{AgentOrigin, agent_text, load as load_agents};
use saihai_config::{
    Definition, DefinitionStanding, Dialect, ListedDefinition, Options, Origin, ProjectPaths, did_you_mean,
    list, list_of, nearest,
};
use saihai_model::{ExitStatus, StageId, TurnId, Workflow};
use serde::Serialize;

use crate::commands::flags::ValueFlags;
use crate::completion::{
    complete_all_definitions, complete_definition_stages, complete_graphs, complete_review_agents, completer,
};
use crate::definitions::{DefinitionRequest, PreparedDefinition, TASK_PLACEHOLDER, read_task};
use crate::error::{CommandError, write_file};
use crate::graph;
use crate::project::Project;
use crate::quantities::count;
use crate::terminal::{Streams, Table, visible_line, visible_text};

/// List all definitions
#[derive(Debug, Args)]
#[command(after_help = "\
Lookup order: project, user, built-in. Another definition of the same name hides a `shadowed` one;
use its path to run it.

Examples:
  saihai list
  saihai list --agents security-reviewer
  saihai list --json")]
pub(crate) struct ListCommand {
    /// List only review agents, or print the file of one
    #[arg(long, value_name = "NAME", num_args = 0..=1, add = completer(complete_review_agents))]
    agents: Option<Option<String>>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct DefinitionObject {
    name: String,
    dialect: &'static str,
    origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// True if this version can parse the definition.
    readable: bool,
    /// True if the file is an unedited copy of a built-in definition. Such a copy has no effect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unedited_copy: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shadows: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadowed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ambiguous_with: Option<String>,
}

impl ListCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        if let Some(Some(name)) = &self.agents {
            return self.print_agent(name, &project, streams);
        }
        let mut listed = list(&project.source, &project.places, project.language());
        listed.retain(|one| self.agents.is_none() || one.definition.dialect == Dialect::Review);
        let objects = objects(&listed, &project.places);
        if self.json {
            for object in objects {
                streams.out.json("definition", object)?;
            }
            return Ok(ExitStatus::Done);
        }
        let lines = table(&objects).lines_for(&streams.out);
        streams.out.lines(&lines)?;
        Ok(ExitStatus::Done)
    }

    /// Prints the whole file of a review agent, with its origin as a comment.
    fn print_agent(
        &self,
        name: &str,
        project: &Project,
        streams: &mut Streams,
    ) -> Result<ExitStatus, CommandError> {
        if self.json {
            let error = CommandError::usage("`--json` lists agents and does not print the file of one");
            return Err(error.hint(format!("the file is TOML: `saihai list --agents {name}`")));
        }
        let language = project.language();
        let loaded = load_agents(&project.source, &project.places, language).unwrap_or_default();
        let agent = loaded.agents.iter().find(|agent| agent.definition.name == name);
        let Some((agent, text)) =
            agent.and_then(|agent| Some((agent, agent_text(&project.source, agent, language)?)))
        else {
            let names = loaded.names();
            let refused = names.contains(&name);
            let error = match refused {
                true => CommandError::usage(format!("the review agent `{name}` cannot be used"))
                    .hint("`saihai check` prints the errors in its file"),
                false => CommandError::usage(format!("no review agent is named `{name}`")).hint(
                    did_you_mean(name, names.iter().copied())
                        .unwrap_or_else(|| "`saihai list --agents` lists them".to_owned()),
                ),
            };
            return Err(error);
        };
        let origin = match &agent.origin {
            AgentOrigin::BuiltIn | AgentOrigin::UneditedCopy(_) if agent.is_optional() => {
                "built-in, off by default"
            }
            AgentOrigin::BuiltIn | AgentOrigin::UneditedCopy(_) => "built-in",
            AgentOrigin::Custom { path, .. } => &project.places.shown(path),
        };
        let text = format!("# {origin}\n{text}");
        streams.out.data(visible_text(&text).trim_end())?;
        Ok(ExitStatus::Done)
    }
}

fn objects(listed: &[ListedDefinition], places: &ProjectPaths) -> Vec<DefinitionObject> {
    let object = |one: &ListedDefinition| {
        let Definition { name, dialect, origin, path } = &one.definition;
        let (shadowed_by, ambiguous_with) = match &one.standing {
            DefinitionStanding::Used | DefinitionStanding::Refused => (None, None),
            DefinitionStanding::Shadowed(by) => (Some(file(by.as_deref(), places)), None),
            DefinitionStanding::Ambiguous(with) => (None, Some(places.shown(with))),
        };
        DefinitionObject {
            name: name.clone(),
            dialect: dialect.name(),
            origin: origin.name(),
            path: path.as_ref().map(|path| places.shown(path)),
            description: one.description.clone(),
            readable: one.is_readable,
            unedited_copy: *dialect == Dialect::Review && *origin == Origin::BuiltIn && path.is_some(),
            shadows: shadows(one, listed, places),
            shadowed_by,
            ambiguous_with,
        }
    };
    listed.iter().map(object).collect()
}

/// Returns the files that this definition hides because they have the same name.
fn shadows(one: &ListedDefinition, listed: &[ListedDefinition], places: &ProjectPaths) -> Vec<String> {
    let behind = |other: &&ListedDefinition| {
        let same = other.definition.name == one.definition.name
            && other.definition.dialect == one.definition.dialect;
        same && matches!(&other.standing, DefinitionStanding::Shadowed(by) if *by == one.definition.path)
    };
    listed.iter().filter(behind).map(|other| file(other.definition.path.as_deref(), places)).collect()
}

fn file(path: Option<&Path>, places: &ProjectPaths) -> String {
    path.map_or_else(|| "built-in".to_owned(), |path| places.shown(path))
}

fn table(objects: &[DefinitionObject]) -> Table {
    let head = ["NAME", "DIALECT", "ORIGIN", "FILE", "ABOUT"];
    let mut table = Table::new(&head).optional(&["FILE", "ORIGIN"]);
    for object in objects {
        let cells = [
            &object.name,
            object.dialect,
            object.origin,
            object.path.as_deref().unwrap_or("-"),
            &about(object),
        ];
        table.row(cells.iter().map(|cell| visible_line(cell).into_owned()).collect());
    }
    table
}

/// Describes a definition: a different meaning of its name, parse failures, and the first line of its description.
fn about(object: &DefinitionObject) -> String {
    let mut about = Vec::new();
    about.extend(object.shadowed_by.as_ref().map(|by| format!("shadowed by {by}")));
    about.extend(object.ambiguous_with.as_ref().map(|with| format!("ambiguous with {with}")));
    if !object.shadows.is_empty() {
        about.push(format!("shadows {}", object.shadows.join(", ")));
    }
    if !object.readable {
        about.push("cannot be read: see `saihai check`".to_owned());
    }
    if object.unedited_copy {
        about.push("builtin, unedited copy".to_owned());
    }
    about.extend(object.description.as_ref().and_then(|text| text.lines().next()).map(str::to_owned));
    about.join("; ")
}

/// Print the first prompt that an agent would get
#[derive(Debug, Args)]
#[command(after_help = "\
Prints the prompt to stdout, and the number of tokens that Saihai adds to stderr.

Examples:
  saihai prompt default
  saihai prompt default review/tests --task \"fix the login\"")]
pub(crate) struct PromptCommand {
    /// Definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or .toml)
    #[arg(value_name = "DEFINITION", add = completer(complete_all_definitions))]
    definition: String,

    /// Stage, and one of its turns [default: the first]
    #[arg(value_name = "STAGE[/TURN]", add = completer(complete_definition_stages))]
    stage: Option<String>,

    /// Task for the agent [default: a placeholder]
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,

    #[command(flatten)]
    values: ValueFlags,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct PromptObject<'a> {
    stage: &'a str,
    turn: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    persona: Option<&'a str>,
    text: &'a str,
    added_tokens: u64,
    /// Tokens of the verdict tool, which every request of the turn carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict_tool_tokens: Option<u64>,
}

impl PromptCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        let settings = project.settings(false, streams)?;
        let options =
            Options { interactive: streams.can_ask(), values: self.values.set, ..Options::default() };
        let wanted = DefinitionRequest {
            definition: &self.definition,
            options: &options,
            settings: &settings,
            strict: false,
        };
        let prepared = PreparedDefinition::to_look_at(&project, wanted, streams)?;
        let place = PromptTarget::find(&prepared.workflow, self.stage.as_deref())?;
        let task = read_task(self.task)?.unwrap_or_else(|| TASK_PLACEHOLDER.to_owned());
        let entering = PreviewInput {
            task: &task,
            directory: &project.places.root,
            report_directory: &settings.reports_dir.join("RUN"),
            interactive: options.interactive,
            subject: &prepared.subject,
        };
        let shown = place.preview(&prepared.workflow, &entering)?;
        let added_tokens = prepared.added_tokens(place.stage, &shown.turn);
        let verdict_tool_tokens = place.verdict_tool_tokens(&prepared.workflow, &shown.turn);
        if self.json {
            let object = PromptObject {
                stage: place.stage.as_str(),
                turn: shown.turn.as_str(),
                persona: shown.persona.as_deref(),
                text: &shown.text,
                added_tokens,
                verdict_tool_tokens,
            };
            streams.out.json("prompt", object)?;
            return Ok(ExitStatus::Done);
        }
        // A program gets the exact bytes. A terminal must not interpret control characters.
        if streams.out.is_terminal() {
            streams.out.raw(visible_text(&shown.text).as_bytes())?;
        } else {
            streams.out.raw(shown.text.as_bytes())?;
        }
        streams.note(&format!("{} of it added by Saihai", count(added_tokens, "token")));
        if let Some(tokens) = verdict_tool_tokens {
            streams.note(&format!("{} for the verdict tool, next to the prompt", count(tokens, "token")));
        }
        Ok(ExitStatus::Done)
    }
}

/// A stage that asks agents, optionally with one of its turns.
struct PromptTarget<'a> {
    stage: &'a StageId,
    turn: Option<&'a str>,
}

impl<'a> PromptTarget<'a> {
    /// Resolves the typed name, or uses the entry stage. Tries the full name first: it may contain `/`.
    fn find(workflow: &'a Workflow, typed: Option<&'a str>) -> Result<Self, CommandError> {
        let Some(typed) = typed else {
            return Ok(Self { stage: &workflow.entry, turn: None });
        };
        let asks = |name: &str| {
            let found = workflow.stages.get_key_value(name).filter(|(_, stage)| !stage.turns().is_empty());
            found.map(|(id, _)| id)
        };
        if let Some(stage) = asks(typed) {
            return Ok(Self { stage, turn: None });
        }
        if let Some((stage, turn)) = typed.rsplit_once('/')
            && let Some(stage) = asks(stage)
        {
            return Ok(Self { stage, turn: Some(turn) });
        }
        let names = asking(workflow);
        let error = CommandError::usage(format!("no stage `{typed}` asks an agent"));
        Err(suggest(error, typed, &names))
    }

    /// Returns the tokens of the verdict tool, if the turn has it.
    fn verdict_tool_tokens(&self, workflow: &Workflow, turn: &TurnId) -> Option<u64> {
        let turn = workflow.stage(self.stage)?.turns().iter().find(|one| one.id == *turn)?;
        Some(turn.reads.choice.as_ref()?.verdict_tool()?.tokens())
    }

    fn preview(
        &self,
        workflow: &Workflow,
        entering: &PreviewInput<'_>,
    ) -> Result<PromptPreview, CommandError> {
        let mut all = preview(workflow, self.stage, entering);
        let names: Vec<String> = all.iter().map(|one| one.turn.to_string()).collect();
        let index = match self.turn {
            None => 0,
            Some(turn) => names.iter().position(|name| name == turn).ok_or_else(|| {
                suggest(
                    CommandError::usage(format!("stage `{}` has no turn `{turn}`", self.stage)),
                    turn,
                    &names,
                )
            })?,
        };
        if index >= all.len() {
            return Err(CommandError::usage(format!("stage `{}` asks no agent", self.stage)));
        }
        let turn = workflow.stage(self.stage).and_then(|stage| stage.turns().get(index));
        if let Some(program) = turn.and_then(|turn| turn.program.as_ref()) {
            let (name, command) = (&names[index], program.typed());
            let error =
                CommandError::usage(format!("`{name}` has no prompt: it runs the program `{command}`"));
            let names = asking(workflow);
            return Err(error.hint(format!("there is {}", list_of(names.iter().map(String::as_str), "and"))));
        }
        Ok(all.swap_remove(index))
    }
}

/// Lists the stages that ask agents.
fn asking(workflow: &Workflow) -> Vec<String> {
    let stages = workflow.stages.iter().filter(|(_, stage)| stage.agent_turns().next().is_some());
    stages.map(|(id, _)| id.to_string()).collect()
}

fn suggest(error: CommandError, typed: &str, known: &[String]) -> CommandError {
    match nearest(typed, known.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("there is {}", list_of(known.iter().map(String::as_str), "and"))),
    }
}

/// Draw a definition, or the path of a run through it
#[derive(Debug, Args)]
#[command(after_help = "\
Highlights loops and dashes monitors. For a run, marks the path with counts and times.
The argument is a run if it is `last` or starts with the date of a run id.

Examples:
  saihai graph default
  saihai graph last --format svg --out run.svg")]
pub(crate) struct GraphCommand {
    /// Definition (name or path), or run (id, a unique beginning of it, or `last`)
    #[arg(value_name = "DEFINITION|RUN", default_value = "last", add = completer(complete_graphs))]
    what: String,

    /// Output format
    #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid, value_name = "FORMAT")]
    format: GraphFormat,

    /// Write the drawing to a file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// Mermaid, for Markdown
    Mermaid,
    /// DOT, for Graphviz
    Dot,
    /// SVG, for browsers; follows light and dark mode
    Svg,
}

impl GraphCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        let graph = if saihai::names_run(&self.what) {
            self.of_run(&project, streams)?
        } else {
            self.of_definition(&project, streams)?
        };
        let text = match self.format {
            GraphFormat::Mermaid => graph::mermaid(&graph),
            GraphFormat::Dot => graph::dot(&graph),
            GraphFormat::Svg => graph::svg(&graph),
        };
        match &self.out {
            None => streams.out.raw(text.as_bytes())?,
            Some(path) => {
                write_file(path, text)?;
                streams.note(&format!("the drawing is in `{}`", path.display()));
            }
        }
        Ok(ExitStatus::Done)
    }

    fn of_run(&self, project: &Project, streams: &mut Streams) -> Result<graph::WorkflowGraph, CommandError> {
        let directory = project.runs().find(&self.what)?;
        let run = saihai::LoadedRun::read(&directory)?;
        if let Some(torn) = run.torn {
            streams.warning(&saihai::DriverWarning::torn(&directory, torn).to_string());
        }
        Ok(graph::WorkflowGraph::of(&run.workflow, Some(&run.view)))
    }

    fn of_definition(
        &self,
        project: &Project,
        streams: &mut Streams,
    ) -> Result<graph::WorkflowGraph, CommandError> {
        let settings = project.settings(false, streams)?;
        // A drawing shows every rule, including those for interactive runs only.
        let options = Options { interactive: true, ..Options::default() };
        let wanted = DefinitionRequest {
            definition: &self.what,
            options: &options,
            settings: &settings,
            strict: false,
        };
        let prepared = PreparedDefinition::to_look_at(project, wanted, streams)?;
        Ok(graph::WorkflowGraph::of(&prepared.workflow, None).described(prepared.description))
    }
}

#[cfg(test)]
mod list_tests {
    use saihai_config::{Language, MemorySource};

    use super::*;
    use crate::terminal::{Stream, TypedObject};

    const AGENT: &str = "name = \"code-reviewer\"\ndescription = \"Mine.\"\nmodel = \"default\"\n\
                         output_schema = \"scored_issues\"\nsystem_prompt = \"p\"\n";

    fn listed() -> Vec<DefinitionObject> {
        let piece = "name: p\ndescription: |\n  Does it.\n  In two lines.\nmovements: []\n";
        let source = MemorySource::new([
            ("/p/.saihai/pieces/a.yaml", piece),
            ("/p/.takt/pieces/a.yaml", piece),
            ("/home/me/.takt/pieces/a.yaml", "name: \u{1b}[31m"),
            ("/p/.takt/pieces/minimal.yaml", piece),
            ("/p/.takt/pieces/orch.yaml", piece),
            ("/p/orch.yml", "hats: {}"),
            ("/p/.agent/coder/agent.json", "{}"),
            ("/p/.saihai/agents/own.toml", AGENT),
            ("/p/.saihai/agents/bad.toml", ""),
        ]);
        let places = ProjectPaths {
            current: "/p".into(),
            root: "/p".into(),
            user: Some("/home/me/.config/saihai".into()),
            home: Some("/home/me".into()),
        };
        // Other built-in definitions do not matter here.
        let mut listed = list(&source, &places, Language::English);
        listed.retain(|one| {
            one.definition.path.is_some()
                || ["minimal", "code-reviewer"].contains(&one.definition.name.as_str())
        });
        objects(&listed, &places)
    }

    // P-2
    #[test]
    fn people_see_what_a_name_means_and_what_cannot_be_read_yet() {
        insta::assert_snapshot!(table(&listed()).lines_for(&Stream::new(std::io::sink(), false)).join("\n"), @"
        NAME           DIALECT  ORIGIN    FILE                       ABOUT
        a              piece    project   .saihai/pieces/a.yaml      shadows .takt/pieces/a.yaml, ~/.takt/pieces/a.yaml; Does it.
        a              piece    project   .takt/pieces/a.yaml        shadowed by .saihai/pieces/a.yaml; Does it.
        minimal        piece    project   .takt/pieces/minimal.yaml  shadows built-in; Does it.
        orch           piece    project   .takt/pieces/orch.yaml     ambiguous with orch.yml; Does it.
        a              piece    user      ~/.takt/pieces/a.yaml      shadowed by .saihai/pieces/a.yaml; cannot be read: see `saihai check`
        orch           hats     project   orch.yml                   ambiguous with .takt/pieces/orch.yaml
        coder          steps    project   .agent/coder/agent.json
        minimal        piece    built-in  -                          shadowed by .takt/pieces/minimal.yaml; Plan, implement, review; go round until the review approves.
        code-reviewer  review   project   .saihai/agents/own.toml    shadows built-in; Mine.
        code-reviewer  review   built-in  -                          shadowed by .saihai/agents/own.toml
        bad            review   project   .saihai/agents/bad.toml    cannot be read: see `saihai check`
        ");
    }

    // K-3
    #[test]
    fn programs_get_one_object_a_definition() {
        let objects: Vec<String> = listed()
            .into_iter()
            .filter(|object| ["a", "orch", "coder"].contains(&object.name.as_str()))
            .map(|object| serde_json::to_string(&TypedObject::new("definition", object)).unwrap())
            .collect();
        insta::assert_snapshot!(objects.join("\n"), @r#"
        {"v":1,"type":"definition","name":"a","dialect":"piece","origin":"project","path":".saihai/pieces/a.yaml","description":"Does it.\nIn two lines.","readable":true,"shadows":[".takt/pieces/a.yaml","~/.takt/pieces/a.yaml"]}
        {"v":1,"type":"definition","name":"a","dialect":"piece","origin":"project","path":".takt/pieces/a.yaml","description":"Does it.\nIn two lines.","readable":true,"shadowed_by":".saihai/pieces/a.yaml"}
        {"v":1,"type":"definition","name":"orch","dialect":"piece","origin":"project","path":".takt/pieces/orch.yaml","description":"Does it.\nIn two lines.","readable":true,"ambiguous_with":"orch.yml"}
        {"v":1,"type":"definition","name":"a","dialect":"piece","origin":"user","path":"~/.takt/pieces/a.yaml","readable":false,"shadowed_by":".saihai/pieces/a.yaml"}
        {"v":1,"type":"definition","name":"orch","dialect":"hats","origin":"project","path":"orch.yml","readable":true,"ambiguous_with":".takt/pieces/orch.yaml"}
        {"v":1,"type":"definition","name":"coder","dialect":"steps","origin":"project","path":".agent/coder/agent.json","readable":true}
        "#);
    }
}
