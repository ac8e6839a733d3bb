//! `cargo xtask docs`: builds the documentation site with mdBook, and checks every link between its pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use xtask::source;

use crate::cargo;

const MDBOOK_VERSION: &str = "0.5.4";

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    ensure!(arguments.is_empty(), "`docs` takes no arguments");
    build()?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the site below the target directory. Fails with a list of all broken links.
pub(crate) fn build() -> Result<()> {
    let target = cargo::target_directory()?;
    let site = target.join("book");
    let status = Command::new(mdbook(&target)?)
        .arg("build")
        .arg(source::root().join("docs"))
        .arg("--dest-dir")
        .arg(&site)
        .status()
        .context("mdbook could not be started")?;
    ensure!(status.success(), "`mdbook build` failed ({status})");
    let pages = read_pages(&site)?;
    let broken = broken_links(&pages, &|file| site.join(file).is_file());
    if !broken.is_empty() {
        bail!("broken links in the documentation site:\n  {}", broken.join("\n  "));
    }
    println!("{} pages without a broken link: {}", pages.len(), site.join("index.html").display());
    Ok(())
}

/// Returns mdBook of the pinned version, and installs it on first use.
fn mdbook(target: &Path) -> Result<PathBuf> {
    let root = target.join("tools").join(format!("mdbook-{MDBOOK_VERSION}"));
    let program = root.join("bin").join(format!("mdbook{}", std::env::consts::EXE_SUFFIX));
    if !program.is_file() {
        let root = root.display().to_string();
        cargo::cargo(&[
            "install",
            "mdbook",
            "--version",
            MDBOOK_VERSION,
            "--locked",
            "--no-default-features",
            "--features",
            "search",
            "--root",
            &root,
        ])?;
    }
    Ok(program)
}

/// Returns the text of every HTML page by its path in the site.
fn read_pages(site: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut pages = BTreeMap::new();
    let mut directories = vec![site.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in
            fs::read_dir(&directory).with_context(|| format!("cannot read {}", directory.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "html") {
                let name = path.strip_prefix(site)?.to_owned();
                // These two repeat the links of other pages, relative to another place.
                if !["print.html", "404.html", "toc.html"]
                    .iter()
                    .any(|generated| name == Path::new(generated))
                {
                    pages.insert(name, fs::read_to_string(&path)?);
                }
            }
        }
    }
    Ok(pages)
}

/// Lists links whose file or whose section does not exist. Links to other hosts are not followed.
fn broken_links(pages: &BTreeMap<PathBuf, String>, exists: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let sections: BTreeMap<&Path, BTreeSet<&str>> =
        pages.iter().map(|(page, html)| (page.as_path(), values(html, " id=\"").collect())).collect();
    let mut broken = Vec::new();
    for (page, html) in pages {
        for link in values(html, " href=\"").chain(values(html, " src=\"")) {
            if link.contains("://") || link.starts_with("mailto:") || link.starts_with("data:") {
                continue;
            }
            let (file, section) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { Some(page.clone()) } else { resolve(page, file) };
            let is_whole = target.is_some_and(|target| match sections.get(target.as_path()) {
                Some(known) => section.is_empty() || known.contains(section),
                None => exists(&target),
            });
            if !is_whole {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    broken
}

/// Returns the values of an attribute, given with the space before it and the quotation mark after it.
fn values<'h>(html: &'h str, attribute: &'h str) -> impl Iterator<Item = &'h str> {
    html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next())
}

/// Resolves a link relative to its page. Returns `None` if it leads out of the site.
fn resolve(page: &Path, link: &str) -> Option<PathBuf> {
    let mut resolved = page.parent()?.to_owned();
    for component in Path::new(link).components() {
        match component {
            Component::Normal(name) => resolved.push(name),
            Component::ParentDir => {
                if !resolved.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    // U-25: requirements are for contributors, and CONTRIBUTING.md says where they are
    #[test]
    fn the_sidebar_lists_only_pages_for_readers() {
        let summary = fs::read_to_string(source::root().join("docs/SUMMARY.md")).unwrap();
        assert!(summary.contains("(guides/first-workflow.md)"), "{summary}");
        assert!(!summary.contains("requirements/"), "{summary}");
    }

    /// Returns the paragraphs of prose: no headings, tables, lists, code, bold titles or rows of links.
    fn prose(page: &str) -> Vec<String> {
        let (mut paragraphs, mut open, mut fence) = (Vec::new(), String::new(), None);
        for line in page.lines().chain([""]) {
            let indent = line.len() - line.trim_start().len();
            // Code that shows code in Markdown indents its marks.
            if line.trim_start().starts_with("```") && fence.is_none_or(|open| indent <= open) {
                fence = if fence.is_none() { Some(indent) } else { None };
            } else if fence.is_some() {
                continue;
            } else if !line.trim().is_empty() {
                open = format!("{open} {}", line.trim()).trim().to_owned();
                continue;
            }
            let is_other = open.starts_with(['#', '|', '-', '<', '!', '['])
                || open.starts_with("* ")
                || open.starts_with(|first: char| first.is_ascii_digit())
                || (open.starts_with("**") && open.ends_with("**"))
                || open.contains(" · ");
            let paragraph = std::mem::take(&mut open);
            paragraphs.extend(Some(paragraph).filter(|text| !is_other && !text.is_empty()));
        }
        paragraphs
    }

    // U-25
    #[test]
    fn every_paragraph_of_the_manual_ends_with_a_full_stop() {
        let found = prose(
            "# A\n\nOne\ntwo.\n\n```text\nno\n\nprose\n```\n| a |\n\nBefore code:\n```text\n```\nNo end\n",
        );
        assert_eq!(found, ["One two.", "Before code:", "No end"]);
        let docs = source::root().join("docs");
        let mut unended = Vec::new();
        for folder in ["", "concepts", "guides", "guides/providers", "reference"] {
            for entry in fs::read_dir(docs.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_none_or(|extension| extension != "md") || path.ends_with("SUMMARY.md")
                {
                    continue;
                }
                let is_unended = |text: &String| {
                    !text.trim_end_matches([')', '*', '`', '"']).ends_with(['.', ':', '?', '!'])
                };
                let page = fs::read_to_string(&path).unwrap();
                unended.extend(prose(&page).into_iter().filter(is_unended).map(|text| (path.clone(), text)));
            }
        }
        assert!(unended.is_empty(), "{unended:?}");
    }

    // U-25
    #[test]
    fn a_link_to_a_missing_page_section_or_file_is_found() {
        let page = |name: &str, html: &str| (PathBuf::from(name), html.to_owned());
        let pages = BTreeMap::from([
            page("index.html", r#"<a href="guides/a.html#one">a</a> <a href="https://example.org/x">x</a>"#),
            page(
                "guides/a.html",
                r##"<h2 id="one">1</h2> <a href="#two">2</a> <a href="../index.html">i</a> <img src="a.svg"> <a href="b.html">b</a> <a href="../../out.md">o</a>"##,
            ),
        ]);
        let broken = broken_links(&pages, &|file| file == Path::new("guides/a.svg"));
        assert_eq!(broken, ["guides/a.html: #two", "guides/a.html: b.html", "guides/a.html: ../../out.md"]);
    }
}
