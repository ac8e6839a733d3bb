//! Landlock: a process gives up access for itself and everything it starts (B-3).
//!
//! Landlock knows rules that allow, below a path, and none that deny. A directory with a hidden or protected
//! path below it therefore gets no rule of its own; its other entries get one each. Inside such a directory,
//! a program cannot create entries, and it can still list names.

#[cfg(target_os = "linux")]
pub use linux::LandlockSupport;
#[cfg(target_os = "linux")]
pub(crate) use linux::{confine_this_process, support};
#[cfg(not(target_os = "linux"))]
pub use other::LandlockSupport;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{confine_this_process, support};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io;
    use std::path::{Path, PathBuf};

    use landlock::{
        ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
        RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
    };

    use super::super::policy::{PathAccess, SandboxPolicy};
    use crate::sandbox::SandboxProblem;

    /// The part of Landlock that this kernel has.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum LandlockSupport {
        /// Files only: programs can still send signals to programs outside, and control devices.
        Files,
        /// Files, devices, signals and abstract sockets.
        All,
    }

    /// Returns the support of this kernel. Without the third version, a program could empty every file.
    pub(crate) fn support() -> Result<LandlockSupport, SandboxProblem> {
        let supports = |abi: ABI| required(abi).and_then(Ruleset::create).is_ok();
        if supports(ABI::V6) {
            Ok(LandlockSupport::All)
        } else if supports(ABI::V3) {
            Ok(LandlockSupport::Files)
        } else if supports(ABI::V1) {
            Err(SandboxProblem::OldLandlock)
        } else {
            Err(SandboxProblem::NoLandlock)
        }
    }

    fn required(abi: ABI) -> Result<Ruleset, RulesetError> {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let ruleset = ruleset.handle_access(AccessFs::from_all(abi))?;
        let scopes = Scope::from_all(abi);
        if scopes.is_empty() { Ok(ruleset) } else { ruleset.scope(scopes) }
    }

    /// Applies a policy to this process, for good.
    pub(crate) fn confine_this_process(argument: &str) -> io::Result<()> {
        let policy = SandboxPolicy::of_argument(argument)?;
        let confined = confine(&policy).map_err(io::Error::other)?;
        if confined == RulesetStatus::NotEnforced {
            return Err(io::Error::other("this kernel has no Landlock"));
        }
        Ok(())
    }

    fn confine(policy: &SandboxPolicy) -> Result<RulesetStatus, RulesetError> {
        let abi = match support() {
            Ok(LandlockSupport::All) => ABI::V6,
            // A kernel without the required part fails here, at the hard requirement.
            Ok(LandlockSupport::Files) | Err(_) => ABI::V3,
        };
        let mut ruleset = required(abi)?.create()?;
        for (path, rights) in grants(policy) {
            // An entry that is gone in the meantime needs no rule.
            let Ok(opened) = PathFd::new(&path) else { continue };
            let all = rights.to_flags(abi);
            let fitting = if path.is_dir() { all } else { all & AccessFs::from_file(abi) };
            if !fitting.is_empty() {
                ruleset = ruleset.add_rule(PathBeneath::new(opened, fitting))?;
            }
        }
        Ok(ruleset.restrict_self()?.ruleset)
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum GrantedRights {
        List,
        Read,
        Write,
    }

    impl GrantedRights {
        fn to_flags(self, abi: ABI) -> BitFlags<AccessFs> {
            match self {
                Self::List => AccessFs::ReadDir.into(),
                Self::Read => AccessFs::from_read(abi),
                Self::Write => AccessFs::from_all(abi),
            }
        }
    }

    /// Returns the rules for a policy.
    pub(super) fn grants(policy: &SandboxPolicy) -> Vec<(PathBuf, GrantedRights)> {
        let mut grants = Vec::new();
        let root = Path::new("/");
        if !policy.has(root) {
            cover(policy, root, PathAccess::Read, &mut grants);
        }
        for (path, access) in policy.rules() {
            cover(policy, path, access, &mut grants);
        }
        grants
    }

    fn cover(
        policy: &SandboxPolicy,
        path: &Path,
        access: PathAccess,
        grants: &mut Vec<(PathBuf, GrantedRights)>,
    ) {
        let rights = match access {
            PathAccess::Hidden => return,
            PathAccess::Read => GrantedRights::Read,
            PathAccess::Write => GrantedRights::Write,
        };
        if !policy.narrows_below(path, access) {
            grants.push((path.to_owned(), rights));
            return;
        }
        grants.push((path.to_owned(), GrantedRights::List));
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        for entry in entries {
            // A rule for a link would be a rule for its target.
            let is_link = entry.file_type().map_or(true, |kind| kind.is_symlink());
            if !is_link && !policy.has(&entry.path()) {
                cover(policy, &entry.path(), access, grants);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;

    use crate::sandbox::SandboxProblem;

    /// Landlock is a part of Linux.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum LandlockSupport {
        Files,
        All,
    }

    pub(crate) fn support() -> Result<LandlockSupport, SandboxProblem> {
        Err(SandboxProblem::NotLinux)
    }

    pub(crate) fn confine_this_process(_argument: &str) -> io::Result<()> {
        Err(io::Error::other("this system has no Landlock"))
    }
}
