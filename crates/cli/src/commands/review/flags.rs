//! Command-line flags of a review (R-41, K-20).

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use saihai_config::review::FailOn;
use saihai_model::{Budget, Millis};
use saihai_review::{ReportFile, ReportFormat, ReviewOptions};

use super::output::report_file;
use crate::commands::flags::{
    MaxPermission, RunFlags, SandboxFlag, chosen_provider, parse_budget, parse_duration,
};
use crate::completion::{complete_providers, completer};
use crate::error::CommandError;

#[derive(Debug, Args)]
pub(super) struct AskingFlags {
    /// Ask this provider, overriding agents and settings
    #[arg(long, value_name = "NAME", help_heading = "Agents", add = completer(complete_providers))]
    provider: Option<String>,

    /// Use this model, overriding agents and settings
    #[arg(long, value_name = "NAME", help_heading = "Agents")]
    model: Option<String>,

    /// Reply from this script; implies `--provider script`
    #[arg(long, value_name = "FILE", help_heading = "Agents")]
    pub(super) script: Option<PathBuf>,

    #[command(flatten)]
    pub(super) sandbox: SandboxFlag,

    /// Number of agents that run at the same time (1 to 64) [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "Limits")]
    jobs: Option<u32>,

    /// Maximum time per agent, including retries, e.g. `90s` or `10m` [default: 600s]
    #[arg(long, value_name = "TIME", value_parser = deadline, help_heading = "Limits")]
    timeout: Option<Millis>,

    /// Maximum number of model calls per agent (1 to 1000) [default: 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Limits")]
    max_turns: Option<u32>,

    /// Maximum size of the diff in one turn, at least 10000 [default: 300000]
    #[arg(long, value_name = "BYTES", value_parser = diff_bytes, help_heading = "Limits")]
    max_diff_bytes: Option<u64>,

    /// Maximum number of turns per agent for a larger diff (1 to 100) [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "Limits")]
    max_chunks: Option<u32>,

    /// Maximum spending: any of `usd=5,tokens=2000000,turns=40,minutes=90`
    #[arg(long, value_name = "BUDGET", value_parser = parse_budget, help_heading = "Limits")]
    budget: Option<Budget>,

    /// Ignore cached replies
    #[arg(long, help_heading = "Agents")]
    pub(super) no_cache: bool,

    /// Read agents, project settings and suppressions from this commit, not from the change
    #[arg(long, value_name = "REVISION")]
    pub(super) definitions_from: Option<String>,

    /// Maximum active run time, e.g. `90s`, `30m` or `2h`
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Limits")]
    run_timeout: Option<Millis>,

    /// Maximum permission of agents; review agents only read
    #[arg(long, value_name = "LEVEL", value_enum, hide = true)]
    max_permission: Option<MaxPermission>,

    /// Wait for quotas and rate limits, up to `--timeout`
    #[arg(long, hide = true)]
    pub(super) wait: bool,

    /// Treat warnings about agents and settings as errors
    #[arg(long)]
    pub(super) strict: bool,

    /// Trust this project's settings to run programs and contact hosts, for this call only
    #[arg(long)]
    pub(super) trust_project: bool,

    /// Id of the request to `saihai mcp` that starts the review
    #[arg(long, value_name = "ID", hide = true)]
    pub(super) mcp_request: Option<String>,
}

impl AskingFlags {
    /// Converts the flags of `saihai run` for a review agent.
    pub(super) fn of_run(flags: &RunFlags) -> Self {
        Self {
            provider: flags.provider.clone(),
            model: flags.model.clone(),
            script: flags.script.clone(),
            sandbox: flags.sandbox.clone(),
            jobs: None,
            timeout: None,
            max_turns: None,
            max_diff_bytes: None,
            max_chunks: None,
            budget: flags.limits.budget.clone(),
            no_cache: false,
            definitions_from: None,
            run_timeout: flags.limits.run_timeout,
            max_permission: flags.max_permission,
            wait: flags.presence.wait,
            strict: flags.strict,
            trust_project: flags.trust_project,
            mcp_request: flags.mcp_request.clone(),
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct ReportFlags {
    /// Lowest severity that fails the review with exit code 1 [default: important]
    #[arg(long, value_name = "SEVERITY", value_parser = fail_on(), help_heading = "Result")]
    fail_on: Option<FailOn>,

    /// Minimum confidence of a finding, in percent [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100), help_heading = "Result")]
    min_confidence: Option<u8>,

    /// Fail if an agent fails (exit code 4) or a definition is invalid (exit code 2)
    #[arg(long, help_heading = "Result")]
    require_all: bool,

    /// Accept a review that left out files because of size or budget (otherwise exit code 5)
    #[arg(long, help_heading = "Result")]
    allow_partial: bool,

    /// Count only findings that are not in this report (JSON or SARIF) or run
    #[arg(long, value_name = "FILE|RUN", help_heading = "Result")]
    pub(super) baseline: Option<String>,

    /// Count only findings that the last review of this branch did not report
    #[arg(long, conflicts_with = "baseline", help_heading = "Result")]
    pub(super) since_last: bool,

    /// Write the report as a baseline for later reviews
    #[arg(long, value_name = "FILE", help_heading = "Result")]
    pub(super) write_baseline: Option<PathBuf>,

    /// Format of the report
    #[arg(long, value_name = "FORM", value_parser = report_format(), default_value = "md", conflicts_with = "json")]
    #[arg(help_heading = "Result")]
    format: ReportFormat,

    /// Write the report to a file too, e.g. `sarif=report.sarif`; can be repeated
    #[arg(long, value_name = "FORM=FILE", value_parser = report_file, help_heading = "Result")]
    out: Vec<ReportFile>,

    /// Short for `--format json`
    #[arg(long, help_heading = "Result")]
    pub(super) json: bool,
}

fn fail_on() -> impl TypedValueParser<Value = FailOn> {
    let names = PossibleValuesParser::new(FailOn::ALL.map(FailOn::name));
    names.map(|name| FailOn::named(&name).unwrap_or_default())
}

fn report_format() -> impl TypedValueParser<Value = ReportFormat> {
    let described = ReportFormat::ALL.map(|format| {
        PossibleValue::new(format.name()).help(match format {
            ReportFormat::Md => "Markdown, for people",
            ReportFormat::Json => "One JSON object",
            ReportFormat::Sarif => "SARIF 2.1.0, for code scanning services",
            ReportFormat::Github => "Annotations for GitHub Actions; the Markdown goes to the job summary",
        })
    });
    PossibleValuesParser::new(described).map(|name| ReportFormat::named(&name).unwrap_or_default())
}

impl ReportFlags {
    /// Uses the defaults, except for the output form.
    pub(super) fn of_run(flags: &RunFlags) -> Self {
        Self {
            fail_on: None,
            min_confidence: None,
            require_all: false,
            allow_partial: false,
            baseline: None,
            since_last: false,
            write_baseline: None,
            format: ReportFormat::Md,
            out: Vec::new(),
            json: flags.json,
        }
    }

    pub(super) fn files(&self) -> Vec<ReportFile> {
        let baseline = self.write_baseline.iter().map(|file| ReportFile {
            format: ReportFormat::Json,
            path: file.display().to_string(),
            baseline: true,
            root: None,
        });
        self.out.iter().cloned().chain(baseline).collect()
    }

    /// Returns the form for stdout.
    pub(super) fn form(&self) -> ReportFormat {
        if self.json { ReportFormat::Json } else { self.format }
    }
}

/// Converts both groups of flags into options for lowering the review.
pub(super) fn options(asking: &AskingFlags, report: &ReportFlags) -> Result<ReviewOptions, CommandError> {
    Ok(ReviewOptions {
        provider: chosen_provider(asking.provider.as_deref(), asking.script.as_deref())?,
        model: asking.model.clone(),
        concurrency: asking.jobs,
        timeout: asking.timeout,
        max_turns: asking.max_turns,
        fail_on: report.fail_on,
        min_confidence: report.min_confidence,
        max_diff_bytes: asking.max_diff_bytes,
        max_chunks: asking.max_chunks,
        budget: asking.budget.clone().unwrap_or_default(),
        run_timeout: asking.run_timeout,
        require_all: report.require_all,
        allow_partial: report.allow_partial,
        definitions_from: asking.definitions_from.clone(),
        ..ReviewOptions::default()
    })
}

fn deadline(text: &str) -> Result<Millis, String> {
    match saihai_config::parse_duration(text) {
        Ok(length) if (Millis::seconds(1)..=Millis::seconds(86_400)).contains(&length) => Ok(length),
        Ok(_) => Err("it must be between `1s` and `24h`".to_owned()),
        Err(bad) => Err(bad.to_string()),
    }
}

fn diff_bytes(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(bytes @ 10_000..) => Ok(bytes),
        _ => Err("it must be a whole number, at least 10000".to_owned()),
    }
}
