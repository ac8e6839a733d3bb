//! Flags that several commands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use saihai_config::Options;
use saihai_model::{Budget, Millis, Permission, ProviderName};

use crate::error::Error;
use crate::values;

/// Who answers, and how far a run may go.
#[derive(Debug, Args)]
pub(crate) struct RunFlags {
    /// Ask this provider, whatever the definition says
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,

    /// Ask with this model, whatever the definition says
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// Answer from this script; implies `--provider script`
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) limits: LimitFlags,

    /// The most an agent may do: look, change files, or change files and run commands
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(crate) max_permission: Option<MaxPermission>,

    #[command(flatten)]
    pub(crate) presence: PresenceFlags,

    #[command(flatten)]
    pub(crate) values: ValueFlags,

    /// Treat warnings about the definition as errors
    #[arg(long)]
    pub(crate) strict: bool,

    /// Honour what `.saihai/config.toml` says about programs and addresses, for this call only
    #[arg(long)]
    pub(crate) trust_project: bool,

    /// Print every event and the result as JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

impl RunFlags {
    /// Converts the flags into options for lowering the definition.
    pub(crate) fn options(&self, interactive: bool) -> Result<Options, Error> {
        let provider = match (&self.provider, &self.script) {
            (Some(name), Some(_)) if name != SCRIPT => {
                let message = format!("`--script` answers for the provider `{SCRIPT}`, not for `{name}`");
                return Err(Error::usage(message).hint("leave one of the two out"));
            }
            (None, Some(_)) => Some(SCRIPT.into()),
            (name, _) => name.as_deref().map(ProviderName::from),
        };
        Ok(Options {
            issue: None,
            provider,
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

/// How far a run may go.
#[derive(Debug, Args)]
pub(crate) struct LimitFlags {
    /// The most iterations of the whole run (1 to 100000)
    #[arg(long, value_name = "N", value_parser = values::iterations)]
    pub(crate) max_iterations: Option<u32>,

    /// The most it may cost: any of `usd=5,tokens=2000000,turns=40,minutes=90`
    #[arg(long, value_name = "BUDGET", value_parser = values::budget)]
    pub(crate) budget: Option<Budget>,

    /// The longest the run may be driven: `90s`, `30m`, `2h`
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) run_timeout: Option<Millis>,
}

/// Values for what a definition leaves open.
#[derive(Debug, Args)]
pub(crate) struct ValueFlags {
    /// Give a parameter of the definition a value; its own flag does the same
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::setting)]
    pub(crate) set: Vec<(String, String)>,
}

/// What happens where somebody would have to be there.
#[derive(Debug, Args)]
pub(crate) struct PresenceFlags {
    /// Answer yes to every yes/no gate; one that wants a text still waits
    #[arg(long)]
    pub(crate) auto: bool,

    /// Sit out long waits (a quota, a rate limit) instead of parking the run
    #[arg(long)]
    pub(crate) wait: bool,
}

/// The most an agent may do.
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
