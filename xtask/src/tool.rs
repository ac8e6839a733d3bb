use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// Ensures that a tool is installed: root installs its package, others fail with its name.
pub(crate) fn need(tool: &str, package: &str) -> Result<()> {
    if is_there(tool) {
        return Ok(());
    }
    get(package).with_context(|| format!("`{tool}` is missing"))?;
    ensure!(is_there(tool), "the package `{package}` brought no `{tool}`");
    Ok(())
}

/// Installs a package from the distribution. Without the rights to do so, fails with its name.
pub(crate) fn get(package: &str) -> Result<()> {
    if id("-u")? != "0" || !is_there("apt-get") {
        bail!("install the package `{package}`");
    }
    eprintln!("xtask: apt-get install {package}");
    let updated = Command::new("apt-get").args(["update", "--quiet"]).status()?;
    ensure!(updated.success(), "`apt-get update` failed ({updated})");
    let install = ["install", "--yes", "--quiet", "--no-install-recommends", package];
    let installed = Command::new("apt-get").args(install).status()?;
    ensure!(installed.success(), "`apt-get install {package}` failed ({installed})");
    Ok(())
}

fn is_there(tool: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = env::split_paths(&path).collect();
    places.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    places.iter().any(|place| place.join(tool).is_file())
}

/// Returns a numeric id of this process, as printed by `id` with this flag.
pub(crate) fn id(what: &str) -> Result<String> {
    let output = Command::new("id").arg(what).output().context("`id` could not be started")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Installs pinned Python packages with their hashes into a directory. `content` says what they bring.
pub(crate) fn pip(requirements: &Path, place: &Path, content: &str) -> Result<()> {
    eprintln!("xtask: pip install ({content})");
    let status = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"])
        .args(["--no-deps", "--only-binary=:all:", "--require-hashes", "--target"])
        .arg(place)
        .arg("--requirement")
        .arg(requirements)
        .status()
        .context("`python3` could not be started")?;
    ensure!(status.success(), "`pip install` failed ({status})");
    Ok(())
}
