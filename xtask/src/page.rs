//! `cargo xtask page`: the part of `saihai serve` in the browser. Checks its types, that its built files belong to its
//! source, and its views in Chromium, over recorded data and with the real program.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::source;

use crate::{cargo, tool};

/// Files that the program embeds.
const BUILT: [&str; 3] = ["app.js", "app.css", "index.html"];

pub(crate) fn test(arguments: &[String]) -> Result<()> {
    ensure!(arguments.is_empty(), "`page` takes no arguments");
    tool::need("npm", "npm")?;
    tool::need("chromium", "chromium")?;
    cargo::cargo(&["build", "--release", "--package", "saihai-cli"])?;
    let target = cargo::target_directory()?;
    let program = target.join("release").join(format!("saihai{}", std::env::consts::EXE_SUFFIX));
    let (page, place) = (source::root().join("crates/cli/page"), target.join("page"));
    copy_source(&page, &place)?;
    npm(&place, &["ci"], &program)?;
    npm(&place, &["run", "check"], &program)?;
    npm(&place, &["run", "build"], &program)?;
    for name in BUILT {
        let read = |root: &Path| fs::read(root.join("dist").join(name)).with_context(|| name.to_owned());
        ensure!(
            read(&page)? == read(&place)?,
            "crates/cli/page/dist/{name} does not belong to its source: run `npm ci && npm run build` there (V-13)"
        );
    }
    npm(&place, &["test"], &program)
}

/// Copies the files of the page, so that the source tree stays clean. Installed packages stay from the last time.
fn copy_source(page: &Path, place: &Path) -> Result<()> {
    fs::create_dir_all(place)?;
    for entry in fs::read_dir(page)? {
        let entry = entry?;
        let (name, to) = (entry.file_name(), place.join(entry.file_name()));
        if name == "node_modules" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            if to.exists() {
                fs::remove_dir_all(&to)?;
            }
            copy_source(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

fn npm(place: &Path, arguments: &[&str], program: &Path) -> Result<()> {
    let words = arguments.join(" ");
    eprintln!("xtask: npm {words} (the page)");
    let status = Command::new("npm").args(arguments).current_dir(place).env("SAIHAI", program).status()?;
    ensure!(status.success(), "`npm {words}` failed ({status})");
    Ok(())
}
