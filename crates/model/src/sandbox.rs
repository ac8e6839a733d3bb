//! The sandbox that agent programs run in: what people can ask for (B-1).

use std::path::PathBuf;

/// A sandbox as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxChoice {
    Off,
    /// The strongest sandbox that works on this machine.
    Auto,
    Landlock,
    Bwrap,
    /// A program of the user's, with its arguments. The command line of the agent follows them.
    Program(Vec<String>),
}

impl SandboxChoice {
    /// The names in settings and flags. A program is a list instead.
    pub const WORDS: [&'static str; 4] = ["off", "auto", "landlock", "bwrap"];

    pub fn named(word: &str) -> Option<Self> {
        match word {
            "off" => Some(Self::Off),
            "auto" => Some(Self::Auto),
            "landlock" => Some(Self::Landlock),
            "bwrap" => Some(Self::Bwrap),
            _ => None,
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Off => "off",
            Self::Auto => "auto",
            Self::Landlock => "landlock",
            Self::Bwrap => "bwrap",
            Self::Program(argv) => argv.first().map_or("", String::as_str),
        }
    }
}

/// Network access inside a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SandboxNetwork {
    /// The network of the machine.
    #[default]
    Open,
    /// No network, except a loopback of its own.
    Closed,
}

/// Settings of the sandbox of all agents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxSettings {
    /// Absent: off, except for stages that require a sandbox.
    pub choice: Option<SandboxChoice>,
    /// No agent runs outside a sandbox.
    pub required: bool,
    pub network: SandboxNetwork,
    /// Secret files and directories that agents may read.
    pub read: Vec<PathBuf>,
    /// More files and directories that agents may change.
    pub write: Vec<PathBuf>,
}

impl SandboxSettings {
    /// Returns the sandbox of a turn. A required sandbox that no setting names is `auto`; one that a setting turns off
    /// stays `Off`, which the caller refuses.
    pub fn effective(&self, of_provider: Option<&SandboxChoice>, required: bool) -> SandboxChoice {
        match of_provider.or(self.choice.as_ref()) {
            Some(choice) => choice.clone(),
            None if required || self.required => SandboxChoice::Auto,
            None => SandboxChoice::Off,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // B-1
    #[test]
    fn a_required_sandbox_that_no_setting_names_is_the_strongest_one() {
        let unset = SandboxSettings::default();
        assert_eq!(unset.effective(None, false), SandboxChoice::Off);
        assert_eq!(unset.effective(None, true), SandboxChoice::Auto);
        let project = SandboxSettings { choice: Some(SandboxChoice::Bwrap), ..SandboxSettings::default() };
        assert_eq!(project.effective(None, false), SandboxChoice::Bwrap);
        assert_eq!(project.effective(Some(&SandboxChoice::Off), true), SandboxChoice::Off);
        let all = SandboxSettings { required: true, ..SandboxSettings::default() };
        assert_eq!(all.effective(None, false), SandboxChoice::Auto);
    }
}
