//! `saihai check`: everything wrong with definitions and settings, and upper bounds on the cost of a run.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use saihai_config::check::{Charge, Money, most_calls, most_money};
use saihai_config::{
    Definition, Diagnostic, Diagnostics, Dialect, FileKind, Options, Settings, Severity, Source as _,
    TextUse, find, list, load, review, to_github, to_sarif,
};
use saihai_model::{ExitStatus, Limits, ProviderName, Workflow};
use serde::Serialize;

use crate::definitions::{unsaved_reports, unusable};
use crate::error::CommandError;
use crate::project::Project;
use crate::quantities::{BudgetObject, budget_words, count};
use crate::terminal::{Streams, defused, visible_line};

/// Report all errors in definitions and settings
#[derive(Debug, Args)]
#[command(after_help = "\
For each definition, also prints the maximum number of agent calls, without retries.
If all of them have a price, prints the maximum cost.

Examples:
  saihai check
  saihai check .saihai/pieces/first.yaml
  saihai check --strict --format github")]
pub(crate) struct CheckCommand {
    /// Definitions, or directories of definitions [default: all definitions, and the settings]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,

    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = CheckFormat::Human)]
    format: CheckFormat,

    /// Short for `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    /// Text with source excerpts
    Human,
    /// One JSON object
    Json,
    /// Annotations for GitHub Actions
    Github,
    /// SARIF 2.1.0
    Sarif,
}

#[derive(Serialize)]
struct CheckObject<'a> {
    diagnostics: Vec<&'a Diagnostic>,
    bounds: Vec<&'a BoundObject>,
}

/// Definitions and review agents to check.
struct CheckedDefinitions {
    definitions: Vec<Definition>,
    /// Number of review agents, which are already checked together.
    agents: usize,
}

impl CheckedDefinitions {
    fn files(&self) -> usize {
        self.definitions.len() + self.agents
    }
}

/// Result of checking one definition.
struct CheckedDefinition {
    name: String,
    errors: usize,
    warnings: usize,
    /// `None` if the definition has errors.
    bound: Option<BoundObject>,
    needs_default_provider: bool,
}

impl CheckCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        let mut found = Diagnostics::new();
        let settings = project.load_settings(false, &mut found);
        let asked = self.definitions(&project, &settings, &mut found);
        let checked: Vec<CheckedDefinition> = asked
            .definitions
            .iter()
            .map(|definition| one(&project, definition, &settings, &mut found))
            .collect();
        if checked.iter().any(|one| one.bound.is_some()) {
            found.append(unsaved_reports(&settings));
        }
        let found = found.sorted();
        match if self.json { CheckFormat::Json } else { self.format } {
            CheckFormat::Human => self.people(&found, &checked, asked.files(), streams)?,
            CheckFormat::Github => streams.out.raw(to_github(&found).as_bytes())?,
            CheckFormat::Sarif => streams.out.raw(to_sarif(&found).as_bytes())?,
            CheckFormat::Json => {
                let bounds = checked.iter().filter_map(|one| one.bound.as_ref()).collect();
                let object = CheckObject { diagnostics: found.iter().collect(), bounds };
                streams.out.json("check", object)?;
            }
        }
        let strict = self.strict || settings.strict;
        Ok(if found.forbids(strict) { ExitStatus::Usage } else { ExitStatus::Done })
    }

    /// Collects the definitions to check. Adds missing ones to `found`.
    fn definitions(
        &self,
        project: &Project,
        settings: &Settings,
        found: &mut Diagnostics,
    ) -> CheckedDefinitions {
        if self.paths.is_empty() {
            let (agents, wrong) = review_agents(project, settings);
            found.append(wrong);
            let all = list(&project.source, &project.places, settings.language)
                .into_iter()
                .map(|listed| listed.definition);
            let own =
                all.filter(|definition| definition.path.is_some() && definition.dialect != Dialect::Review);
            return CheckedDefinitions { definitions: own.collect(), agents };
        }
        let mut asked = Vec::new();
        for path in &self.paths {
            asked.extend(self.files(project, path));
        }
        let mut definitions = Vec::new();
        for name in asked {
            match find(&project.source, &project.places, &name) {
                Ok(definition) => definitions.push(definition),
                Err(diagnostics) => found.append(diagnostics),
            }
        }
        CheckedDefinitions { definitions, agents: 0 }
    }

    /// Returns a definition's name or path, or every candidate file in a directory.
    fn files(&self, project: &Project, path: &Path) -> Vec<String> {
        let name = path.to_string_lossy().into_owned();
        let place = project.places.current.join(path);
        let holds_agent = project.source.is_file(&place.join("agent.json"));
        if project.source.kind(&place) != Some(FileKind::Directory) || holds_agent {
            return vec![name];
        }
        let files = project.source.texts(&place);
        let ends = [".yaml", ".yml", ".toml"];
        let could_be = files.into_iter().filter(|file| ends.iter().any(|end| file.ends_with(end)));
        could_be.map(|file| place.join(file).to_string_lossy().into_owned()).collect()
    }

    fn people(
        &self,
        found: &Diagnostics,
        checked: &[CheckedDefinition],
        files: usize,
        streams: &mut Streams,
    ) -> Result<(), CommandError> {
        let text = streams.out.diagnostics(found);
        streams.out.raw(defused(&text).as_bytes())?;
        if files == 0 && found.is_empty() {
            streams.note("nothing to check: no definitions found");
            return Ok(());
        }
        if !found.is_empty() {
            streams.out.data("")?;
        }
        for one in checked {
            streams.out.lines(&one.lines())?;
        }
        streams.out.data(&summary(found, files))?;
        streams.out.flush()?;
        if checked.iter().any(|one| one.errors == 0 && one.needs_default_provider) {
            streams.note(
                "no default provider is set: to run, pass `--provider NAME` or set `provider` in `.saihai/config.toml`",
            );
        }
        Ok(())
    }
}

/// Counts what was found and where: `2 errors, 1 warning in 3 files`.
fn summary(found: &Diagnostics, files: usize) -> String {
    let (errors, warnings) = severities(found);
    let listed = match (errors, warnings) {
        (0, 0) => "no errors".to_owned(),
        (0, warnings) => format!("no errors, {}", count(warnings as u64, "warning")),
        (errors, 0) => count(errors as u64, "error"),
        (errors, warnings) => {
            format!("{}, {}", count(errors as u64, "error"), count(warnings as u64, "warning"))
        }
    };
    // A name that is not found has no file.
    if files == 0 { listed } else { format!("{listed} in {}", count(files as u64, "file")) }
}

/// Counts errors and warnings.
fn severities(found: &Diagnostics) -> (usize, usize) {
    let of = |severity| found.iter().filter(|one| one.severity == severity).count();
    (of(Severity::Error) + found.left_off(), of(Severity::Warning))
}

/// Counts the project's review agents and checks them together, because their names must be unique.
fn review_agents(project: &Project, settings: &Settings) -> (usize, Diagnostics) {
    let loaded = match review::load(&project.source, &project.places, settings.language) {
        Ok(loaded) => loaded,
        Err(refused) => return (0, refused),
    };
    let own =
        loaded.agents.iter().filter(|agent| !matches!(agent.origin, review::AgentOrigin::BuiltIn)).count();
    let names: Vec<&str> = loaded.agents.iter().map(|agent| agent.definition.name.as_str()).collect();
    let mut found = settings.review.check_agents(&names);
    found.append(loaded.remarks);
    loaded.errors.into_iter().for_each(|error| found.append(error.diagnostics));
    (own, found)
}

fn one(
    project: &Project,
    definition: &Definition,
    settings: &Settings,
    found: &mut Diagnostics,
) -> CheckedDefinition {
    let mut loaded = load(&project.source, &project.places, definition, &Options::default(), settings);
    if let Some(workflow) = &loaded.workflow {
        loaded.diagnostics.append(unusable(workflow, settings));
    }
    let (errors, warnings) = severities(&loaded.diagnostics);
    found.append(loaded.diagnostics);
    let texts = loaded.texts.into_iter().map(TextObject::new).collect();
    let bound = loaded.workflow.map(|workflow| {
        let settings = settings.describing(workflow.provider.as_ref());
        let file = definition.path.as_ref().map(|path| project.shown(path));
        BoundObject { texts, ..BoundObject::new(definition.name.clone(), file, &workflow, &settings) }
    });
    let needs_default_provider = loaded.needs_default_provider;
    CheckedDefinition { name: definition.name.clone(), errors, warnings, bound, needs_default_provider }
}

impl CheckedDefinition {
    /// Formats the result as `flaky: ok (at most 80 agent calls)`, with the texts that the definition uses.
    fn lines(&self) -> Vec<String> {
        let verdict = match (self.errors, self.warnings) {
            (0, 0) => "ok".to_owned(),
            (0, warnings) => format!("ok, {}", count(warnings as u64, "warning")),
            (errors, _) => count(errors as u64, "error"),
        };
        let bound = self.bound.as_ref().filter(|_| self.errors == 0);
        let bound = bound.map(|bound| format!(" ({})", bound.words)).unwrap_or_default();
        let mut lines = vec![format!("{}: {verdict}{bound}", visible_line(&self.name))];
        lines.extend(self.bound.iter().flat_map(BoundObject::text_lines));
        lines
    }
}

/// Upper bounds of one definition (P-56), without retries.
#[derive(Serialize)]
struct BoundObject {
    definition: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Hard limit on iterations, if the definition has one (S-10).
    #[serde(skip_serializing_if = "Option::is_none")]
    most_iterations: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most_calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most_usd_within_budget: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unbounded_usd: Vec<UnboundedObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<BudgetObject>,
    /// The texts that the definition uses (S-71).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    texts: Vec<TextObject>,
    /// The bounds for people, without the name.
    #[serde(skip)]
    words: String,
}

/// A text used by a stage.
#[derive(Serialize)]
struct TextObject {
    stage: String,
    part: &'static str,
    file: String,
    variables: Vec<SupplyObject>,
}

/// A variable and its supplier.
#[derive(Serialize)]
struct SupplyObject {
    name: String,
    from: String,
}

/// A reason why the cost in money has no bound.
#[derive(Serialize)]
struct UnboundedObject {
    provider: String,
    charged: &'static str,
}

impl BoundObject {
    fn new(definition: String, file: Option<String>, workflow: &Workflow, settings: &Settings) -> Self {
        let (calls, money) = (most_calls(workflow), most_money(workflow, settings));
        let Limits { rounds, hard_rounds, budget, .. } = &workflow.limits;
        let iterations = hard_rounds.map(|hard| rounds.map_or(hard, |own| own.min(hard)));
        let mut most = Vec::new();
        most.extend(iterations.map(|most| count(most.into(), "iteration")));
        most.extend(calls.map(|most| count(most, "agent call")));
        let mut words = Vec::new();
        words.extend((!most.is_empty()).then(|| format!("at most {}", most.join(", "))));
        words.extend(calls.is_none().then(|| "no upper bound on agent calls".to_owned()));
        words.extend(money.as_ref().map(money_words));
        let budget_words = budget_words(budget).map(|words| format!("; budget: {words}")).unwrap_or_default();
        let words = format!("{}{budget_words}", words.join(", "));
        let (mut most_usd, mut within, mut unbounded_usd) = (None, None, Vec::new());
        match &money {
            Some(Money::AtMost(usd)) => most_usd = Some(usd.dollars()),
            Some(Money::WithinTokens(usd)) => within = Some(usd.dollars()),
            Some(Money::Open(because)) => unbounded_usd = because.iter().map(UnboundedObject::new).collect(),
            Some(Money::Unlimited) | None => {}
        }
        Self {
            definition,
            file,
            most_iterations: iterations,
            most_calls: calls,
            most_usd,
            most_usd_within_budget: within,
            unbounded_usd,
            budget: BudgetObject::new(budget),
            texts: Vec::new(),
            words,
        }
    }

    fn text_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let built_in = if self.file.is_none() { " (built-in)" } else { "" };
        for TextObject { stage, part, file, variables } in &self.texts {
            let check = if *part == CHECK { " (check)" } else { "" };
            lines.push(format!("  {}{check}: {}{built_in}", visible_line(stage), visible_line(file)));
            lines.extend(variables.iter().map(|SupplyObject { name, from }| {
                format!("    {}: {}", visible_line(name), visible_line(from))
            }));
        }
        lines
    }
}

const CHECK: &str = "check";

impl TextObject {
    fn new(TextUse { text, variables }: TextUse) -> Self {
        Self {
            stage: text.stage.to_string(),
            part: if text.is_check { CHECK } else { "prompt" },
            file: text.file,
            variables: variables.into_iter().map(|(name, from)| SupplyObject { name, from }).collect(),
        }
    }
}

impl UnboundedObject {
    fn new((provider, charge): (&ProviderName, &Charge)) -> Self {
        let charged = match charge {
            Charge::ByTurn => "by_turn",
            Charge::ByToken => "by_token",
            Charge::Told => "told",
            Charge::Unpriced => "unpriced",
        };
        Self { provider: provider.to_string(), charged }
    }
}

fn money_words(money: &Money) -> String {
    match money {
        Money::AtMost(usd) => format!("at most {usd}"),
        Money::WithinTokens(usd) => format!("at most {usd} within the token budget"),
        Money::Unlimited => "no upper bound on cost".to_owned(),
        Money::Open(because) => {
            let why = because.iter().map(|(provider, charge)| match charge {
                Charge::ByTurn => format!("`{provider}` charges per turn"),
                Charge::ByToken => format!("`{provider}` charges per token"),
                Charge::Told => format!("`{provider}` reports the cost of a turn only afterwards"),
                Charge::Unpriced => format!("`{provider}` has no price"),
            });
            format!("no upper bound on cost: {}", why.collect::<Vec<_>>().join("; "))
        }
    }
}
