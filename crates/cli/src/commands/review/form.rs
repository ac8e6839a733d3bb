//! Report forms and their destinations.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use saihai::review::{Report, to_github, to_json, to_markdown, to_sarif};
use saihai_config::review::PlannedFile;
use saihai_config::{Language, Places, plain};

use super::painted::painted;
use crate::error::Error;
use crate::terminal::{Stream, Streams};

/// A form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Markdown, for people
    Md,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code scanning services
    Sarif,
    /// Annotations of GitHub Actions; the Markdown joins the summary of the job
    Github,
}

/// A report form with its file.
#[derive(Debug, Clone)]
pub(super) struct Written {
    form: Form,
    file: PathBuf,
    /// True if later reviews use this file as their baseline.
    is_baseline: bool,
    /// The project root, if the file is inside the project.
    root: Option<PathBuf>,
}

impl Written {
    /// Creates a baseline for later reviews: one JSON object.
    pub(super) fn baseline(file: &Path) -> Self {
        Self { form: Form::Json, file: file.to_owned(), is_baseline: true, root: None }
    }

    /// Restores a file from the review's plan. An unknown form falls back to the one for people.
    pub(super) fn planned(planned: &PlannedFile) -> Self {
        let form = Form::named(&planned.format).unwrap_or(Form::Md);
        let root = planned.root.as_ref().map(PathBuf::from);
        Self { form, file: PathBuf::from(&planned.path), is_baseline: planned.baseline, root }
    }

    /// Makes the path absolute, because a later command may have another working directory.
    pub(super) fn from(&self, places: &Places) -> Self {
        let file = places.current.join(&self.file);
        let own = Some(plain(&file)).filter(|own| own.starts_with(&places.root));
        let root = own.as_ref().map(|_| places.root.clone());
        Self { file: own.unwrap_or(file), root, ..self.clone() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.file
    }

    /// Rejects a file that is not writable, before any paid request.
    pub(super) fn insist(&self) -> Result<(), Error> {
        self.insist_on_no_link()?;
        let why = match self.file.parent() {
            _ if self.file.is_dir() => "it is a directory",
            Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
                "its directory does not exist"
            }
            Some(_) | None => return Ok(()),
        };
        Err(Error::usage(format!("the report cannot be written to `{}`: {why}", self.file.display())))
    }

    /// Rejects links inside the project. A change under review could contain one that leads to any file the user can
    /// write. Links outside the project are the user's choice.
    fn insist_on_no_link(&self) -> Result<(), Error> {
        let Some(root) = &self.root else { return Ok(()) };
        let below = self.file.ancestors().take_while(|place| place != root);
        let Some(link) = below.filter(|place| place.is_symlink()).last() else { return Ok(()) };
        let link = link.strip_prefix(root).unwrap_or(link).display();
        let (file, hint) = (self.file.display(), "name a file that no link of the project leads to");
        Err(Error::usage(format!("the report cannot be written to `{file}`: `{link}` is a link")).hint(hint))
    }

    pub(super) fn plan(&self) -> PlannedFile {
        PlannedFile {
            format: self.form.name().to_owned(),
            path: self.file.display().to_string(),
            baseline: self.is_baseline,
            root: self.root.as_ref().map(|root| root.display().to_string()),
        }
    }
}

/// Rejects two reports for the same file, because the second would overwrite the first.
pub(super) fn insist_on_different(files: &[Written]) -> Result<(), Error> {
    let mut seen: Vec<PathBuf> = Vec::new();
    for one in files {
        // A missing file is identified by its directory and name.
        let parent = one.file.parent().and_then(|parent| parent.canonicalize().ok());
        let named = parent.zip(one.file.file_name()).map(|(parent, name)| parent.join(name));
        let real = one.file.canonicalize().ok().or(named).unwrap_or_else(|| one.file.clone());
        // Devices such as `/dev/null` may occur twice.
        let is_kept = real.metadata().map_or(true, |metadata| metadata.is_file());
        if is_kept && seen.contains(&real) {
            let message = format!("two reports cannot be written to `{}`", one.file.display());
            return Err(
                Error::usage(message).hint("`--out` and `--write-baseline` each want a file of their own")
            );
        }
        seen.push(real);
    }
    Ok(())
}

pub(super) fn written(text: &str) -> Result<Written, String> {
    let wrong = || "write FORM=FILE, where FORM is `md`, `json`, `sarif` or `github`".to_owned();
    let (form, file) = text.split_once('=').filter(|(_, file)| !file.is_empty()).ok_or_else(wrong)?;
    let form = Form::from_str(form, false).map_err(|_| wrong())?;
    Ok(Written { form, file: file.into(), is_baseline: false, root: None })
}

impl Form {
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Md => "md",
            Self::Json => "json",
            Self::Sarif => "sarif",
            Self::Github => "github",
        }
    }

    fn of(self, report: &Report, language: Language) -> String {
        match self {
            Self::Md => to_markdown(report, language),
            Self::Json => to_json(report),
            Self::Sarif => to_sarif(report),
            Self::Github => to_github(report),
        }
    }
}

/// A report and its language.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'a> {
    pub(crate) report: &'a Report,
    pub(crate) language: Language,
}

impl Said<'_> {
    /// Prints the report, with colour on a terminal.
    pub(crate) fn print(self, form: Form, out: &mut Stream) -> Result<(), Error> {
        let text = form.of(self.report, self.language);
        let text = if form == Form::Md && out.is_styled() { painted(&text, out) } else { text };
        out.raw(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }

    /// Writes all files, then prints the report. One failed file does not prevent the others. A closed stdout does
    /// not change the exit code.
    pub(super) fn tell(self, form: Form, files: &[Written], streams: &mut Streams) -> Result<(), Error> {
        let written: Vec<_> = files.iter().map(|file| self.write(file, streams)).collect();
        self.summarise(form, streams);
        let printed = match self.print(form, &mut streams.out) {
            Err(Error::ClosedPipe) => Ok(()),
            printed => printed,
        };
        written.into_iter().collect::<Result<(), Error>>()?;
        printed
    }

    /// Writes the report to a file. An incomplete review is not saved as a baseline: unreviewed findings would look
    /// new next time.
    pub(super) fn write(self, written: &Written, streams: &mut Streams) -> Result<(), Error> {
        let Written { form, file, is_baseline, root: _ } = written;
        if let Some(why) = self.report.is_no_baseline().filter(|_| *is_baseline) {
            streams.warning(&format!("the baseline `{}` is not written: {why}", file.display()));
            return Ok(());
        }
        // A link may have appeared since the first check.
        written.insist_on_no_link()?;
        std::fs::write(file, form.of(self.report, self.language)).map_err(|error| {
            Error::unavailable(format!("cannot write the report to `{}`: {error}", file.display()))
        })
    }

    /// Appends the report to the GitHub job summary if the form is meant for GitHub. A failed write is not an error.
    fn summarise(self, form: Form, streams: &mut Streams) {
        let summary = std::env::var("GITHUB_STEP_SUMMARY").ok();
        let Some(path) = summary.filter(|path| form == Form::Github && !path.is_empty()) else { return };
        let text = to_markdown(self.report, self.language);
        let added = OpenOptions::new().create(true).append(true).open(&path);
        if let Err(error) = added.and_then(|mut file| file.write_all(text.as_bytes())) {
            streams.warning(&format!("the report could not be added to `{path}`: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn a_file_is_named_with_its_form() {
        let read = |text: &str| written(text).map(|written| (written.form, written.file));
        assert_eq!(read("sarif=out/a=b.sarif"), Ok((Form::Sarif, "out/a=b.sarif".into())));
        for junk in ["", "sarif", "sarif=", "xml=a.xml", "=a"] {
            assert!(read(junk).is_err(), "{junk}");
        }
    }
}
