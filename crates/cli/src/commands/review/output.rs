//! Report forms and their destinations (R-48), and the colours of a report in a terminal.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anstyle::Style;
use saihai_config::{Language, ProjectPaths, plain};
use saihai_review::{ReportFile, ReportFormat, ReviewReport, to_github, to_json, to_markdown, to_sarif};

use crate::error::CommandError;
use crate::terminal::{Stream, Streams, style};

/// Makes the path absolute, because a later command may have another working directory.
pub(super) fn absolute(file: &ReportFile, places: &ProjectPaths) -> ReportFile {
    let path = places.current.join(&file.path);
    let own = Some(plain(&path)).filter(|own| own.starts_with(&places.root));
    let root = own.as_ref().map(|_| places.root.display().to_string());
    ReportFile { path: own.unwrap_or(path).display().to_string(), root, ..file.clone() }
}

/// Rejects a file that is not writable, before any paid request.
pub(super) fn insist_on_writable(file: &ReportFile) -> Result<(), CommandError> {
    insist_on_no_link(file)?;
    let path = Path::new(&file.path);
    let why = match path.parent() {
        _ if path.is_dir() => "it is a directory",
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => "its directory does not exist",
        Some(_) | None => return Ok(()),
    };
    Err(CommandError::usage(format!("the report cannot be written to `{}`: {why}", file.path)))
}

/// Rejects links inside the project. A change under review could contain one that leads to any file the user can
/// write. Links outside the project are the user's choice.
fn insist_on_no_link(file: &ReportFile) -> Result<(), CommandError> {
    let Some(root) = file.root.as_deref().map(Path::new) else { return Ok(()) };
    let below = Path::new(&file.path).ancestors().take_while(|place| *place != root);
    let Some(link) = below.filter(|place| place.is_symlink()).last() else { return Ok(()) };
    let link = link.strip_prefix(root).unwrap_or(link).display();
    let hint = "use a path without links";
    let message = format!("the report cannot be written to `{}`: `{link}` is a link", file.path);
    Err(CommandError::usage(message).hint(hint))
}

/// Rejects two reports for the same file, because the second would overwrite the first.
pub(super) fn insist_on_different(files: &[ReportFile]) -> Result<(), CommandError> {
    let mut seen: Vec<PathBuf> = Vec::new();
    for one in files {
        let path = Path::new(&one.path);
        // A missing file is identified by its directory and name.
        let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
        let named = parent.zip(path.file_name()).map(|(parent, name)| parent.join(name));
        let real = path.canonicalize().ok().or(named).unwrap_or_else(|| path.to_owned());
        // Devices such as `/dev/null` may occur twice.
        let is_kept = real.metadata().map_or(true, |metadata| metadata.is_file());
        if is_kept && seen.contains(&real) {
            let message = format!("two reports cannot be written to `{}`", one.path);
            return Err(
                CommandError::usage(message).hint("`--out` and `--write-baseline` need different files")
            );
        }
        seen.push(real);
    }
    Ok(())
}

pub(super) fn report_file(text: &str) -> Result<ReportFile, String> {
    let wrong = || "write FORM=FILE, where FORM is `md`, `json`, `sarif` or `github`".to_owned();
    let (form, path) = text.split_once('=').filter(|(_, file)| !file.is_empty()).ok_or_else(wrong)?;
    let format = ReportFormat::named(form).ok_or_else(wrong)?;
    Ok(ReportFile { format, path: path.to_owned(), baseline: false, root: None })
}

fn rendered(format: ReportFormat, report: &ReviewReport, language: Language) -> String {
    match format {
        ReportFormat::Md => to_markdown(report, language),
        ReportFormat::Json => to_json(report),
        ReportFormat::Sarif => to_sarif(report),
        ReportFormat::Github => to_github(report),
    }
}

/// A report and its language.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportOutput<'a> {
    pub(crate) report: &'a ReviewReport,
    pub(crate) language: Language,
}

impl ReportOutput<'_> {
    /// Prints the report, with colour on a terminal.
    pub(crate) fn print(self, form: ReportFormat, out: &mut Stream) -> Result<(), CommandError> {
        let text = rendered(form, self.report, self.language);
        let text = if form == ReportFormat::Md && out.is_styled() { painted(&text, out) } else { text };
        out.raw(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }

    /// Writes all files, then prints the report. One failed file does not prevent the others. A closed stdout does
    /// not change the exit code (R-53).
    pub(super) fn tell(
        self,
        form: ReportFormat,
        files: &[ReportFile],
        streams: &mut Streams,
    ) -> Result<(), CommandError> {
        let written: Vec<_> = files.iter().map(|file| self.write(file, streams)).collect();
        self.summarise(form, streams);
        let printed = match self.print(form, &mut streams.out) {
            Err(CommandError::ClosedPipe) => Ok(()),
            printed => printed,
        };
        written.into_iter().collect::<Result<(), CommandError>>()?;
        printed
    }

    /// Writes the report. An incomplete one is not a baseline: unreviewed findings would look new next time.
    pub(super) fn write(self, file: &ReportFile, streams: &mut Streams) -> Result<(), CommandError> {
        let path = &file.path;
        if let Some(why) = self.report.is_no_baseline().filter(|_| file.baseline) {
            streams.warning(&format!("the baseline `{path}` is not written: {why}"));
            return Ok(());
        }
        // A link may have appeared since the first check.
        insist_on_no_link(file)?;
        std::fs::write(path, rendered(file.format, self.report, self.language)).map_err(|error| {
            CommandError::unavailable(format!("cannot write the report to `{path}`: {error}"))
        })
    }

    /// Appends the report to the GitHub job summary if the form is meant for GitHub. A failed write is not an error.
    fn summarise(self, form: ReportFormat, streams: &mut Streams) {
        let summary = std::env::var("GITHUB_STEP_SUMMARY").ok();
        let Some(path) = summary.filter(|path| form == ReportFormat::Github && !path.is_empty()) else {
            return;
        };
        let text = to_markdown(self.report, self.language);
        let added = OpenOptions::new().create(true).append(true).open(&path);
        if let Err(error) = added.and_then(|mut file| file.write_all(text.as_bytes())) {
            streams.warning(&format!("the report could not be added to `{path}`: {error}"));
        }
    }
}

/// Adds colour to the text. Only emphasis marks are removed.
fn painted(markdown: &str, out: &Stream) -> String {
    let mut text = String::with_capacity(markdown.len() * 2);
    let mut fence: Option<&str> = None;
    for (number, line) in markdown.lines().enumerate() {
        let inner = line.trim_start();
        let ticks = &inner[..inner.len() - inner.trim_start_matches('`').len()];
        match fence {
            Some(open) if inner == open => fence = None,
            Some(_) => text.push_str(&format!("{}\n", out.paint(style::QUIET, line))),
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => {
                text.push_str(&line_of(line, number == 0, out));
                text.push('\n');
            }
        }
    }
    text
}

fn line_of(line: &str, is_outcome: bool, out: &Stream) -> String {
    if let Some(heading) = line.strip_prefix("### ") {
        return out.paint(style::STRONG, heading);
    }
    if let Some(heading) = line.strip_prefix("## ") {
        return out.paint(style::NOTE, heading);
    }
    if is_outcome {
        return out.paint(style::STRONG, line.trim_matches('*'));
    }
    match line.split_once("**").and_then(|(before, rest)| Some((before, rest.split_once("**")?))) {
        Some((before, (strong, behind))) if matches!(before, "- " | "> ") => {
            format!("{before}{}{behind}", out.paint(of(strong), strong))
        }
        _ => line.to_owned(),
    }
}

/// Returns the style of a severity in English or Japanese. Other emphasised words are bold.
fn of(word: &str) -> Style {
    match word {
        "critical" | "重大" => style::ERROR,
        "important" | "重要" => style::WARNING,
        "suggestion" | "提案" => style::NOTE,
        "nitpick" | "些細" => style::QUIET,
        _ => style::STRONG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R-48
    #[test]
    fn a_file_is_named_with_its_form() {
        let read = |text: &str| report_file(text).map(|file| (file.format, file.path));
        assert_eq!(read("sarif=out/a=b.sarif"), Ok((ReportFormat::Sarif, "out/a=b.sarif".to_owned())));
        for junk in ["", "sarif", "sarif=", "xml=a.xml", "=a"] {
            assert!(read(junk).is_err(), "{junk}");
        }
    }
}

#[cfg(test)]
mod painted_tests {
    use super::*;
    use crate::terminal::streams::captured;

    #[test]
    fn marks_become_colour_and_words_stay() {
        let (out, _) = captured::styled();
        let text = "**Review failed - 1 finding**\n\n## Findings\n\n### a.py\n\n- **critical** · `a.py:1` · x\n\n  \
                    It is **bold**.\n\n  ```\n  1 | x = 1\n  ```\n";
        let plain = anstream::adapter::strip_str(&painted(text, &out)).to_string();
        assert_eq!(
            plain,
            "Review failed - 1 finding\n\nFindings\n\na.py\n\n- critical · `a.py:1` · x\n\n  It is **bold**.\n\n  1 | x = 1\n"
        );
        assert!(painted(text, &out).contains(&out.paint(style::ERROR, "critical")));
    }
}
