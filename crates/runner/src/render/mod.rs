//! Renders a draft to text: splices in blobs and files, and changes nothing else.

use std::io;
use std::path::Path;

use saihai_model::{Changes, Draft, Form, Join, Splice, Text};

use crate::Warning;
use crate::blobs::Blobs;
use crate::disk::{Beneath, Content};
use crate::subject::{self, Base};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Renderer<'a> {
    pub(crate) blobs: &'a Blobs,
    pub(crate) directory: &'a str,
    /// The commit that was checked out in that directory when the run started.
    pub(crate) head: Option<&'a str>,
    pub(crate) report_directory: &'a str,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub(crate) text: String,
    pub(crate) warnings: Vec<Warning>,
}

#[derive(Debug)]
pub(crate) enum Failed {
    /// A blob is missing or damaged.
    Blob {
        text: Text,
        why: String,
    },
    /// A report exists and is unreadable.
    Report {
        file: String,
        source: io::Error,
    },
    Changes(subject::Error),
}

impl Renderer<'_> {
    /// Maximum size of one text that is passed on. The end is kept (C-52).
    const MOST: usize = 4 * 1024 * 1024;

    pub(crate) fn render(&self, draft: &Draft) -> Result<Rendered, Failed> {
        let mut warnings = Vec::new();
        let mut text = String::new();
        for section in &draft.sections {
            let body = self.section(section, &mut warnings)?;
            match draft.join {
                Join::AsIs => text.push_str(&body),
                Join::Paragraphs => paragraph(&mut text, &body),
            }
        }
        if draft.join == Join::Paragraphs && !text.is_empty() {
            text.push('\n');
        }
        Ok(Rendered { text, warnings })
    }

    /// Returns the content of a text, or its end if it is too long.
    pub(crate) fn text(&self, text: &Text) -> Result<String, Failed> {
        let whole = self.blobs.read(text);
        let mut whole = whole.map_err(|bad| Failed::Blob { text: text.clone(), why: bad.to_string() })?;
        if whole.len() > Self::MOST {
            let most = whole.len() - Self::MOST;
            let cut = (most..whole.len()).find(|at| whole.is_char_boundary(*at)).unwrap_or(whole.len());
            whole.drain(..cut);
        }
        Ok(whole)
    }

    fn section(&self, section: &[Splice], warnings: &mut Vec<Warning>) -> Result<String, Failed> {
        let mut body = String::new();
        for splice in section {
            match splice {
                Splice::Text(Text::Inline(text), Form::Plain) => body.push_str(text),
                Splice::Text(text, form) => body.push_str(&formed(self.text(text)?, *form)),
                Splice::ReportFile { file, missing } => {
                    body.push_str(&self.report(file, warnings)?.unwrap_or_else(|| missing.clone()));
                }
                Splice::ReportDirectory => body.push_str(self.report_directory),
                Splice::WorkingDirectory => body.push_str(self.directory),
                Splice::Changes(changes) => body.push_str(&self.changes(changes, warnings)?),
            }
        }
        Ok(body)
    }

    fn changes(&self, changes: &Changes, warnings: &mut Vec<Warning>) -> Result<String, Failed> {
        let base = match &changes.base {
            Some(base) => Base::Usual(base.clone()),
            None => Base::Found { remote: changes.remote.clone() },
        };
        let subject = subject::changes_since(Path::new(self.directory), &base, self.head);
        let subject = subject.map_err(Failed::Changes)?;
        let told = saihai_config::review::tell(changes, &subject);
        if !told.left_out.is_empty() {
            warnings.push(Warning::TooMuchChanged { files: told.left_out, most: changes.most });
        }
        Ok(told.text)
    }

    fn report(&self, file: &str, warnings: &mut Vec<Warning>) -> Result<Option<String>, Failed> {
        let failed = |source| Failed::Report { file: file.to_owned(), source };
        let directory = match Beneath::open(Path::new(self.report_directory)) {
            Ok(directory) => directory,
            // A removed file counts as a missing report.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        match directory.read(file).map_err(failed)? {
            Content::Absent => Ok(None),
            Content::File(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Content::Unsafe(why) => {
                warnings.push(Warning::UnsafeReport { file: file.to_owned(), why });
                Ok(None)
            }
        }
    }
}

/// Adds a trimmed paragraph after a blank line. Adds nothing if it is empty.
fn paragraph(text: &mut String, body: &str) {
    let body = body.trim();
    if body.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(body);
}

fn formed(text: String, form: Form) -> String {
    match form {
        Form::Plain => text,
        Form::Quote => prefixed(&text, "> ", "> "),
        Form::Bullets => prefixed(&text, "- ", "  "),
        Form::Json => serde_json::Value::String(text).to_string(),
        Form::Tail(most) => tail(&text, most as usize),
    }
}

/// Prefixes every line. Empty text stays empty.
fn prefixed(text: &str, first: &str, further: &str) -> String {
    let mut out = String::with_capacity(text.len() + first.len());
    for (index, line) in text.lines().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(if index == 0 { first } else { further });
        out.push_str(line);
    }
    out
}

fn tail(text: &str, most: usize) -> String {
    let Some((cut, _)) = text.char_indices().rev().nth(most.saturating_sub(1)).filter(|_| most > 0) else {
        return if most == 0 && !text.is_empty() { "…".to_owned() } else { text.to_owned() };
    };
    if cut == 0 { text.to_owned() } else { format!("…{}", &text[cut..]) }
}

#[cfg(test)]
mod tests;
