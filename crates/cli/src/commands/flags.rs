//! Flags that several commands share, and parsers of flag values.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use saihai::{RunDirectory, names_run};
use saihai_config::{Options, Settings};
use saihai_model::{Budget, IssueNumber, Millis, Permission, ProviderName, SandboxChoice};

use crate::completion::{
    complete_providers, complete_run_stages, complete_runs, complete_runs_and_stages, completer,
};
use crate::error::CommandError;
use crate::project::Project;
use crate::server_runs::OnBusy;

/// The run that a command works on.
#[derive(Debug, Args)]
pub(crate) struct RunArgument {
    /// Run id, a unique beginning of it, or `last`
    #[arg(value_name = "RUN", default_value = "last", add = completer(complete_runs))]
    run: String,
}

impl RunArgument {
    pub(crate) fn find(&self, project: &Project) -> Result<RunDirectory, CommandError> {
        Ok(project.runs().find(&self.run)?)
    }
}

/// A run, and optionally one of its stages. One argument alone is a run if it can only mean one (`last`, or the date
/// of an id); otherwise it is a stage of the last run.
#[derive(Debug, Args)]
pub(crate) struct RunAndStage {
    /// Run id, a unique beginning of it, or `last`; or a stage of the last run [default: last]
    #[arg(value_name = "RUN", add = completer(complete_runs_and_stages))]
    run: Option<String>,

    /// Stage, and one of its turns
    #[arg(value_name = "STAGE[/TURN]", add = completer(complete_run_stages))]
    stage: Option<String>,
}

impl RunAndStage {
    pub(crate) fn find(&self, project: &Project) -> Result<(RunDirectory, Option<&str>), CommandError> {
        let (run, stage) = match (self.run.as_deref(), self.stage.as_deref()) {
            (Some(stage), None) if !names_run(stage) => ("last", Some(stage)),
            (run, stage) => (run.unwrap_or("last"), stage),
        };
        Ok((project.runs().find(run)?, stage))
    }
}

/// Flags that name a server for runs.
#[derive(Debug, Default, Args)]
pub(crate) struct ServerFlags {
    /// Use the Temporal server at this address; needs the program `saihai-temporal`
    #[arg(long, help_heading = "Several machines", value_name = "HOST:PORT")]
    pub(crate) server: Option<String>,

    /// Namespace on the server [default: default]
    #[arg(long, help_heading = "Several machines", value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// Common head of the names of the queues [default: saihai]
    #[arg(long, help_heading = "Several machines", value_name = "NAME")]
    pub(crate) queue: Option<String>,

    /// Directory for texts, shared by all machines
    #[arg(long, help_heading = "Several machines", value_name = "DIR")]
    pub(crate) blobs: Option<PathBuf>,
}

/// Flags of a run on a server.
#[derive(Debug, Default, Args)]
pub(crate) struct SubmitFlags {
    #[command(flatten)]
    pub(crate) place: ServerFlags,

    /// Branch that the run holds: a server runs one run per branch [default: a branch of its own]
    #[arg(long, help_heading = "Several machines", value_name = "NAME", requires = "server")]
    pub(crate) branch: Option<String>,

    /// If another run works on the branch: refuse, name that run, or begin after it [default: reject]
    #[arg(long, help_heading = "Several machines", value_name = "ACTION", value_enum, requires = "server")]
    pub(crate) on_busy: Option<OnBusy>,

    /// Repeat a turn elsewhere if its worker is silent for this long [default: 30s]
    #[arg(long, help_heading = "Several machines", value_name = "TIME", value_parser = parse_lost_after, requires = "server")]
    pub(crate) lost_after: Option<Millis>,
}

fn parse_lost_after(text: &str) -> Result<Millis, String> {
    let time = parse_duration(text)?;
    if time < Millis::seconds(4) { Err("write at least 4 seconds".to_owned()) } else { Ok(time) }
}

/// Flags of commands that start a run.
#[derive(Debug, Args)]
pub(crate) struct RunFlags {
    /// Ask this provider, overriding the definition
    #[arg(long, value_name = "NAME", help_heading = "Agents", add = completer(complete_providers))]
    pub(crate) provider: Option<String>,

    /// Use this model, overriding the definition
    #[arg(long, value_name = "NAME", help_heading = "Agents")]
    pub(crate) model: Option<String>,

    /// Reply from this script; implies `--provider script`
    #[arg(long, value_name = "FILE", help_heading = "Agents")]
    pub(crate) script: Option<PathBuf>,

    /// Maximum permission of agents: read, edit files, or edit files and run commands
    #[arg(long, value_name = "LEVEL", value_enum, help_heading = "Agents")]
    pub(crate) max_permission: Option<MaxPermission>,

    #[command(flatten)]
    pub(crate) sandbox: SandboxFlag,

    #[command(flatten)]
    pub(crate) limits: LimitFlags,

    #[command(flatten)]
    pub(crate) presence: PresenceFlags,

    #[command(flatten)]
    pub(crate) values: ValueFlags,

    /// Treat warnings about the definition as errors
    #[arg(long)]
    pub(crate) strict: bool,

    /// Trust this project's settings to run programs and contact hosts, for this call only
    #[arg(long)]
    pub(crate) trust_project: bool,

    /// Send the run to the OpenTelemetry collector of OTEL_EXPORTER_OTLP_ENDPOINT while it runs
    #[arg(long)]
    pub(crate) otel: bool,

    /// Print every event and the result as JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,

    /// Id of the request to `saihai mcp` that starts the run
    #[arg(long, value_name = "ID", hide = true)]
    pub(crate) mcp_request: Option<String>,
}

impl RunFlags {
    /// Converts the flags into options for lowering the definition.
    pub(crate) fn options(&self, interactive: bool) -> Result<Options, CommandError> {
        Ok(Options {
            issue: None,
            provider: chosen_provider(self.provider.as_deref(), self.script.as_deref())?,
            model: self.model.clone(),
            max_iterations: self.limits.max_iterations,
            max_permission: self.max_permission.map(Permission::from),
            budget: self.limits.budget.clone().unwrap_or_default(),
            run_timeout: self.limits.run_timeout,
            values: self.values.set.clone(),
            starts: true,
            interactive,
            delivers: false,
        })
    }
}

const SCRIPT: &str = "script";

/// Returns the provider that the flags name. `--script` alone implies `script`.
pub(crate) fn chosen_provider(
    provider: Option<&str>,
    script: Option<&Path>,
) -> Result<Option<ProviderName>, CommandError> {
    match (provider, script) {
        (Some(name), Some(_)) if name != SCRIPT => {
            let message = format!("`--script` answers for the provider `{SCRIPT}`, not for `{name}`");
            Err(CommandError::usage(message).hint("remove one of them"))
        }
        (None, Some(_)) => Ok(Some(SCRIPT.into())),
        (name, _) => Ok(name.map(ProviderName::from)),
    }
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SandboxFlag {
    /// Sandbox of agent programs: `off`, `auto`, `landlock`, `bwrap`, or a JSON list with a program of your own
    #[arg(long, value_name = "NAME", value_parser = parse_sandbox, help_heading = "Agents")]
    sandbox: Option<SandboxChoice>,
}

impl SandboxFlag {
    /// Overrides the settings, also those of single providers.
    pub(crate) fn apply(&self, settings: &mut Settings) {
        if let Some(choice) = &self.sandbox {
            settings.sandbox.choice = Some(choice.clone());
            settings.providers.values_mut().for_each(|provider| provider.sandbox = None);
        }
    }
}

fn parse_sandbox(text: &str) -> Result<SandboxChoice, String> {
    if text.trim_start().starts_with('[') {
        let argv: Vec<String> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        return if argv.is_empty() {
            Err("write a list with at least a program".to_owned())
        } else {
            Ok(SandboxChoice::Program(argv))
        };
    }
    SandboxChoice::named(text).ok_or_else(|| {
        format!(
            "write {}, or a list such as `[\"program\", \"argument\"]`",
            SandboxChoice::WORDS.map(|word| format!("`{word}`")).join(", ")
        )
    })
}

#[derive(Debug, Args)]
pub(crate) struct LimitFlags {
    /// Maximum number of iterations of the whole run (1 to 100000)
    #[arg(long, value_name = "N", value_parser = parse_iterations, help_heading = "Limits")]
    pub(crate) max_iterations: Option<u32>,

    /// Maximum spending: any of `usd=5,tokens=2000000,turns=40,minutes=90`
    #[arg(long, value_name = "BUDGET", value_parser = parse_budget, help_heading = "Limits")]
    pub(crate) budget: Option<Budget>,

    /// Maximum active run time, e.g. `90s`, `30m` or `2h`
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Limits")]
    pub(crate) run_timeout: Option<Millis>,
}

#[derive(Debug, Args)]
pub(crate) struct ValueFlags {
    /// Set a parameter of the definition; the parameter's own flag does the same
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub(crate) set: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(crate) struct PresenceFlags {
    /// Answer `yes` at every yes/no gate; a gate that asks for a text still waits
    #[arg(long, help_heading = "Gates and waits")]
    pub(crate) auto: bool,

    /// Wait for quotas and rate limits instead of parking the run
    #[arg(long, help_heading = "Gates and waits")]
    pub(crate) wait: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum MaxPermission {
    Readonly,
    EditOnly,
    Edit,
}

impl From<MaxPermission> for Permission {
    fn from(level: MaxPermission) -> Self {
        match level {
            MaxPermission::Readonly => Self::ReadOnly,
            MaxPermission::EditOnly => Self::Edit { commands: false },
            MaxPermission::Edit => Self::Edit { commands: true },
        }
    }
}

pub(crate) fn parse_iterations(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number @ 1..=100_000) => Ok(number),
        _ => Err("write a whole number from 1 to 100000".to_owned()),
    }
}

pub(crate) fn parse_issue(text: &str) -> Result<IssueNumber, String> {
    IssueNumber::parse(text).ok_or_else(|| "write the number of an issue, from 1 to 999999999".to_owned())
}

pub(crate) fn parse_pull_request(text: &str) -> Result<u64, String> {
    match text.trim_start_matches('#').parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err("write the number of a pull request, from 1".to_owned()),
    }
}

pub(crate) fn parse_event(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err("write the number of an event, as `saihai log` shows it".to_owned()),
    }
}

/// Parses a duration: `90s`, `30m`, `2h`, or whole seconds. Zero is useless as a limit and rejected.
pub(crate) fn parse_duration(text: &str) -> Result<Millis, String> {
    match saihai_config::parse_duration(text) {
        Ok(Millis(0)) => Err("it must be longer than 0".to_owned()),
        Ok(length) => Ok(length),
        Err(bad) => Err(bad.to_string()),
    }
}

/// Parses `--set`: a name, `=`, and any value.
pub(crate) fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

/// Parses `--budget`: any of the four keys, each at most once.
pub(crate) fn parse_budget(text: &str) -> Result<Budget, String> {
    saihai_config::parse_budget(text).map_err(|bad| bad.to_string())
}

#[cfg(test)]
mod values_tests {
    use super::*;

    // K-6
    #[test]
    fn durations_are_seconds_minutes_hours_or_a_bare_number_of_seconds() {
        assert_eq!(parse_duration("90s"), Ok(Millis(90_000)));
        assert_eq!(parse_duration("30m"), Ok(Millis(1_800_000)));
        assert_eq!(parse_duration("2h"), Ok(Millis(7_200_000)));
        assert_eq!(parse_duration("45"), Ok(Millis(45_000)));
        for junk in
            ["", "s", "0", "0s", "-1", "+1", "1.5h", "2 h", "2d", "１s", "99999999999999999999", "m30"]
        {
            assert!(parse_duration(junk).is_err(), "{junk}");
        }
    }

    // S-12, case 39
    #[test]
    fn a_value_may_hold_anything_behind_the_first_equals_sign() {
        let pair = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(parse_setting("customer=Sato"), pair("customer", "Sato"));
        assert_eq!(parse_setting("customer=a=b"), pair("customer", "a=b"));
        assert_eq!(parse_setting("customer="), pair("customer", ""));
        for junk in ["", "customer", "=x"] {
            assert!(parse_setting(junk).is_err(), "{junk}");
        }
    }

    #[test]
    fn iterations_are_one_to_a_hundred_thousand() {
        assert_eq!(parse_iterations("1"), Ok(1));
        assert_eq!(parse_iterations("100000"), Ok(100_000));
        for junk in ["0", "100001", "-1", "x", ""] {
            assert!(parse_iterations(junk).is_err(), "{junk}");
        }
    }
}
