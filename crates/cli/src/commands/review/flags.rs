//! Command-line flags of a review (R-41, K-20).

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use saihai_config::review::ReviewOptions;
use saihai_model::{Budget, Millis, ProviderName};

use super::form::{Form, Written, written};
use crate::commands::flags::{MaxPermission, RunFlags};
use crate::error::Error;
use crate::values;

/// Who reviews, and how far it may go.
#[derive(Debug, Args)]
pub(super) struct AskingFlags {
    /// Ask this provider, whatever agents and settings say
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// Ask with this model, whatever agents and settings say
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Answer from this script; implies `--provider script`
    #[arg(long, value_name = "FILE")]
    pub(super) script: Option<PathBuf>,

    /// How many agents are asked at the same time (1 to 64) [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: Option<u32>,

    /// How long one agent has, all its attempts together: `90s`, `10m` [default: 600s]
    #[arg(long, value_name = "TIME", value_parser = deadline)]
    timeout: Option<Millis>,

    /// The most model calls of one agent (1 to 1000) [default: 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    max_turns: Option<u32>,

    /// The most bytes of the change that one turn is shown (10000 or more) [default: 300000]
    #[arg(long, value_name = "BYTES", value_parser = diff_bytes)]
    max_diff_bytes: Option<u64>,

    /// Into how many turns of one agent a larger change is split (1 to 100) [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    max_chunks: Option<u32>,

    /// The most it may cost: any of `usd=5,tokens=2000000,turns=40,minutes=90`
    #[arg(long, value_name = "BUDGET", value_parser = values::budget)]
    budget: Option<Budget>,

    /// Ask anew, also what was asked before
    #[arg(long)]
    pub(super) no_cache: bool,

    /// Take agents, the project's settings and its ignored findings from this commit, whatever the change says of them
    #[arg(long, value_name = "REVISION")]
    pub(super) definitions_from: Option<String>,

    /// The longest the review may be driven: `90s`, `30m`, `2h`
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    run_timeout: Option<Millis>,

    /// The most an agent may do; a reviewer never does more than look
    #[arg(long, value_name = "LEVEL", value_enum, hide = true)]
    max_permission: Option<MaxPermission>,

    /// Sit out long waits; a reviewer waits no longer than its `--timeout`
    #[arg(long, hide = true)]
    pub(super) wait: bool,

    /// Treat warnings about agents and settings as errors
    #[arg(long)]
    pub(super) strict: bool,

    /// Honour what `.saihai/config.toml` says about programs and addresses, for this call only
    #[arg(long)]
    pub(super) trust_project: bool,
}

impl AskingFlags {
    /// Converts the flags of `saihai run` for a review agent.
    pub(super) fn of_run(flags: &RunFlags) -> Self {
        Self {
            provider: flags.provider.clone(),
            model: flags.model.clone(),
            script: flags.script.clone(),
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
        }
    }
}

/// Which findings fail the review, and where its report goes.
#[derive(Debug, Args)]
pub(super) struct ReportFlags {
    /// The least severity that fails the review, exit code 1 [default: important]
    #[arg(long, value_name = "SEVERITY", value_enum)]
    fail_on: Option<Severity>,

    /// Put aside findings of which their agent is less certain, in percent [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    min_confidence: Option<u8>,

    /// Every agent must deliver, exit code 4, and every definition must be right, exit code 2
    #[arg(long)]
    require_all: bool,

    /// Do not mind what was left out because of its size or the budget, which is exit code 5
    #[arg(long)]
    allow_partial: bool,

    /// Count only what was not found before: an earlier report (JSON or SARIF), or a run
    #[arg(long, value_name = "FILE|RUN")]
    pub(super) baseline: Option<String>,

    /// Count only what the last review of this branch had not found
    #[arg(long, conflicts_with = "baseline")]
    pub(super) since_last: bool,

    /// Keep the report as a baseline for later
    #[arg(long, value_name = "FILE")]
    pub(super) write_baseline: Option<PathBuf>,

    /// How the report is printed
    #[arg(long, value_name = "FORM", value_enum, default_value_t = Form::Md, conflicts_with = "json")]
    format: Form,

    /// Write the report to a file as well: `sarif=report.sarif`; may be repeated
    #[arg(long, value_name = "FORM=FILE", value_parser = written)]
    out: Vec<Written>,

    /// Short for `--format json`
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Severity {
    Critical,
    Important,
    Suggestion,
    Nitpick,
    Never,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Important => "important",
            Self::Suggestion => "suggestion",
            Self::Nitpick => "nitpick",
            Self::Never => "never",
        }
    }
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
            format: Form::Md,
            out: Vec::new(),
            json: flags.json,
        }
    }

    pub(super) fn files(&self) -> Vec<Written> {
        let baseline = self.write_baseline.iter().map(|file| Written::baseline(file));
        self.out.iter().cloned().chain(baseline).collect()
    }

    /// Returns the form for stdout.
    pub(super) fn form(&self) -> Form {
        if self.json { Form::Json } else { self.format }
    }
}

/// Converts both groups of flags into options for lowering the review.
pub(super) fn options(asking: &AskingFlags, report: &ReportFlags) -> Result<ReviewOptions, Error> {
    let provider = match (&asking.provider, &asking.script) {
        (Some(name), Some(_)) if name != SCRIPT => {
            let message = format!("`--script` answers for the provider `{SCRIPT}`, not for `{name}`");
            return Err(Error::usage(message).hint("leave one of the two out"));
        }
        (None, Some(_)) => Some(SCRIPT.into()),
        (name, _) => name.as_deref().map(ProviderName::from),
    };
    Ok(ReviewOptions {
        provider,
        model: asking.model.clone(),
        concurrency: asking.jobs,
        timeout: asking.timeout,
        max_turns: asking.max_turns,
        fail_on: report.fail_on.map(|severity| severity.name().to_owned()),
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

const SCRIPT: &str = "script";

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
