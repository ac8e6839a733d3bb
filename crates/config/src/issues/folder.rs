//! Issue files in a folder: front matter, number, title and text.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use saihai_model::{Issue, IssueNumber, IssueSource, IssueState};

use super::dependencies::{mentioned, visible};
use super::text::clean_title;
use crate::diagnostic::{Area, Diagnostics, DocumentPath, Location, SourceFile, Span, quoted, quoted_path};
use crate::document::{Document, Format, LARGEST_FILE, Value, cannot_read};
use crate::fields::{Cursor, Field, Fields, Object, ValueKind};
use crate::source::{ReadError, Source};

/// Reads every issue of a folder, in file order. Reports all errors at once and skips invalid
/// files. `name` is the display name of the folder. Never writes to the folder.
pub fn load_folder(
    source: &dyn Source,
    folder: &Path,
    name: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<Issue> {
    let names = match source.list(folder) {
        Ok(names) => names,
        Err(error) => {
            diagnostics.push(
                cannot_read(&error, name, Area::Work)
                    .hint("create the folder, or set `from` or `source` in `[work]`"),
            );
            return Vec::new();
        }
    };
    let mut issues: Vec<ReadIssue> = Vec::new();
    for file in names.iter().filter(|file| is_issue(file)) {
        let shown = format!("{}/{}", name.trim_end_matches('/'), file.display());
        let Some(file) = file.to_str() else {
            let at = Location::whole(&SourceFile::new(Area::Work, shown.as_str(), "").into());
            let error = at.error("bad-file", format!("the name of {} is not UTF-8", quoted_path(&shown)));
            diagnostics.push(error.hint("give the file another name"));
            continue;
        };
        issues.extend(load(source, folder, file, &shown, diagnostics));
    }
    refuse_doubles(&issues, diagnostics);
    issues.into_iter().map(|read| read.issue).collect()
}

/// Returns true if the file name is that of an issue.
fn is_issue(file: &OsStr) -> bool {
    let name = file.as_encoded_bytes();
    name.ends_with(b".md") && !name.starts_with(b".") && !name.starts_with(b"_")
}

fn load(
    source: &dyn Source,
    folder: &Path,
    file: &str,
    shown: &str,
    diagnostics: &mut Diagnostics,
) -> Option<ReadIssue> {
    let path = folder.join(file);
    if is_link(source, folder, file) {
        let at = Location::whole(&SourceFile::new(Area::Work, shown, "").into());
        let message = format!("{} is a symbolic link", quoted_path(shown));
        let hint = "agents follow the text of an issue; put the file itself into the folder";
        diagnostics.push(at.error("bad-file", message).hint(hint));
        return None;
    }
    match source.read(&path, LARGEST_FILE) {
        // Subfolders hold private notes, not issues.
        Err(ReadError::Directory) => None,
        Ok(bytes) => read_issue(&bytes, file, shown, diagnostics),
        Err(error) => {
            diagnostics.push(cannot_read(&error, shown, Area::Work));
            None
        }
    }
}

/// Returns true if the file is a symbolic link, even a broken one.
fn is_link(source: &dyn Source, folder: &Path, file: &str) -> bool {
    let own = source.canonical(folder).map(|folder| folder.join(file));
    match (source.canonical(&folder.join(file)), own) {
        (Ok(real), Ok(own)) => real != own,
        // The directory listing contains it, so a missing target means a broken link.
        (Err(ReadError::Missing), _) => true,
        (Err(_), _) | (_, Err(_)) => false,
    }
}

fn refuse_doubles(issues: &[ReadIssue], diagnostics: &mut Diagnostics) {
    let mut first: BTreeMap<IssueNumber, &ReadIssue> = BTreeMap::new();
    for read in issues {
        let number = read.issue.number;
        let Some(other) = first.get(&number) else {
            first.insert(number, read);
            continue;
        };
        let names = [&other.number_at, &read.number_at].map(|at| quoted(at.file.name()));
        let message = format!("{} and {} are both issue {}", names[0], names[1], number.get());
        let diagnostic = read.number_at.error("duplicate-id", message).label("the second");
        diagnostics
            .push(diagnostic.also(&other.number_at, "the first").hint("give one of them another `id`"));
    }
}

/// An issue and the location of its number.
pub(super) struct ReadIssue {
    pub(super) issue: Issue,
    pub(super) number_at: Location,
}

/// Reads an issue. If it returns `None`, it has added an error.
pub(super) fn read_issue(
    bytes: &[u8],
    file_name: &str,
    shown: &str,
    diagnostics: &mut Diagnostics,
) -> Option<ReadIssue> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        // Parse only to report the error with its position, in the usual words.
        Document::parse(bytes, Format::Yaml, shown, Area::Work, diagnostics);
        return None;
    };
    let file = Arc::new(SourceFile::new(Area::Work, shown, text));
    let (front, body) = match FrontMatter::of(text) {
        FrontMatter::Plain => (None, text),
        FrontMatter::Front { front, body } => {
            (Some(parse_front_matter(text, front, &file, diagnostics)?), &text[body..])
        }
        FrontMatter::Unclosed(line) => {
            let at = Location { file, span: Some(line), path: DocumentPath::root() };
            let message = "the front matter is not closed";
            let hint = "close it with a second line `---`";
            diagnostics.push(at.error("syntax", message).label("opened here").hint(hint));
            return None;
        }
    };
    // An empty front matter is valid.
    let front = front.filter(|document| document.root.value != Value::Null);
    let fields = match &front {
        Some(document) => Some(Fields::read(&Cursor::new(document), &ISSUE, diagnostics)?),
        None => None,
    };
    let whole = Location::whole(&file);
    IssueReader { fields: fields.as_ref(), whole, file_name, diagnostics }.issue(body)
}

/// Parses the front matter with positions relative to the whole file.
fn parse_front_matter(
    text: &str,
    front: Span,
    file: &Arc<SourceFile>,
    diagnostics: &mut Diagnostics,
) -> Option<Document> {
    // Blank out the text before it instead of cutting it, so that every byte keeps its offset.
    let blank: String = text[..front.start].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
    let padded = format!("{blank}{}", &text[front.start..front.end]);
    let mut found = Diagnostics::new();
    let document = Document::parse(padded.as_bytes(), Format::Yaml, file.name(), Area::Work, &mut found);
    diagnostics.extend(found.into_iter().map(|mut diagnostic| {
        let places = diagnostic.location.iter_mut().chain(diagnostic.further.iter_mut().map(|(at, _)| at));
        places.for_each(|at| at.file = Arc::clone(file));
        diagnostic
    }));
    document.map(|document| Document { file: Arc::clone(file), ..document })
}

struct IssueReader<'a, 'd> {
    fields: Option<&'a Fields<'d>>,
    whole: Location,
    file_name: &'a str,
    diagnostics: &'a mut Diagnostics,
}

impl IssueReader<'_, '_> {
    fn issue(mut self, body: &str) -> Option<ReadIssue> {
        let body = IssueBody::of(body);
        let (number, title) = (self.number(), self.title(&body));
        let ((number, number_at), title) = (number?, title?);
        let depends_on = self.depends_on(&body);
        let named = |name: &str| self.fields.and_then(|fields| fields.text(name)).map(|text| text.value);
        let texts = |name: &str| self.fields.and_then(|fields| fields.texts(name)).unwrap_or_default();
        let issue = Issue {
            source: IssueSource::Folder,
            number,
            title,
            labels: texts("labels").into_iter().map(|label| label.value).collect(),
            state: match named("state").as_deref() {
                Some("closed") => IssueState::Closed,
                Some(_) | None => IssueState::Open,
            },
            priority: self.fields.and_then(|fields| fields.integer("priority")).map_or(0, |one| one.value),
            definition: named("definition"),
            base: named("base"),
            depends_on,
            body: body.behind.filter(|_| named("title").is_none()).unwrap_or(body.text),
            author: None,
            reopened: false,
        };
        Some(ReadIssue { issue, number_at })
    }

    fn number(&mut self) -> Option<(IssueNumber, Location)> {
        if let Some(fields) = self.fields.filter(|fields| fields.has("id")) {
            let id = fields.integer("id")?;
            let number = u64::try_from(id.value).ok().and_then(IssueNumber::new)?;
            return Some((number, id.at));
        }
        let digits = self.file_name.bytes().take_while(u8::is_ascii_digit).count();
        if let Some(number) = IssueNumber::parse(&self.file_name[..digits]) {
            return Some((number, self.whole.clone()));
        }
        let message = format!("{} has no number", quoted(self.whole.file.name()));
        let hint = "add `id: 7` to its front matter, or start the file name with it: `007-login.md`";
        self.diagnostics.push(self.whole.error("missing-key", message).hint(hint));
        None
    }

    fn title(&mut self, body: &IssueBody) -> Option<String> {
        let given = self.fields.filter(|fields| fields.has("title"));
        let (title, at) = match given {
            Some(fields) => {
                let title = fields.text("title")?;
                (Some(title.value), title.at)
            }
            None => (body.heading.clone(), self.whole.clone()),
        };
        let is_blank = title.as_deref().is_none_or(|title| clean_title(title).is_err());
        if is_blank {
            let message = format!("{} has no title", quoted(self.whole.file.name()));
            let hint = "add a `# ` heading, or `title:` to its front matter";
            self.diagnostics.push(at.error("missing-key", message).hint(hint));
            return None;
        }
        title
    }

    /// Returns the dependencies from the front matter, then from the text, without duplicates.
    fn depends_on(&mut self, body: &IssueBody) -> Vec<IssueNumber> {
        let listed = self.fields.map(|fields| fields.list("depends_on")).unwrap_or_default();
        let listed =
            listed.iter().filter_map(|one| u64::try_from(one.integer()?).ok().and_then(IssueNumber::new));
        let said = mentioned(&body.text, None);
        for other in &said.elsewhere {
            let message = format!("{} is an issue of another repository and is not followed", quoted(other));
            self.diagnostics.push(self.whole.warning("not-followed", message));
        }
        let mut depends_on: Vec<IssueNumber> = Vec::new();
        for number in listed.chain(said.issues) {
            if !depends_on.contains(&number) {
                depends_on.push(number);
            }
        }
        depends_on
    }
}

/// Text of an issue and the title inside it.
pub(super) struct IssueBody {
    pub(super) heading: Option<String>,
    pub(super) text: String,
    /// Text after the heading that the body starts with, so that the title does not appear twice.
    pub(super) behind: Option<String>,
}

impl IssueBody {
    pub(super) fn of(text: &str) -> Self {
        // Quotations, comments and code contain no heading. Hiding them keeps the line structure,
        // so both texts align.
        let hidden = visible(text);
        let lines = || hidden.lines().zip(text.split_inclusive('\n'));
        let found = lines().position(|(line, _)| line.starts_with("# "));
        let heading = found.and_then(|at| lines().nth(at)).map(|(_, line)| title_of(line));
        let before: usize = lines().take(found.unwrap_or(0)).map(|(_, line)| line.len()).sum();
        let is_first = found.is_some() && text[..before].trim().is_empty();
        let rest = is_first.then(|| text[before..].split_once('\n').map_or("", |(_, rest)| rest));
        let tidy = |text: &str| text.trim_start_matches(['\r', '\n']).trim_end().to_owned();
        Self { heading, text: tidy(text), behind: rest.map(tidy) }
    }
}

/// Returns a heading without its opening and closing marks.
fn title_of(line: &str) -> String {
    let title = line.trim_start_matches('#').trim();
    let open = title.trim_end_matches('#');
    if open.ends_with([' ', '\t']) || open.is_empty() { open.trim() } else { title }.to_owned()
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum FrontMatter {
    Plain,
    /// Byte range of the front matter, and offset of the body.
    Front {
        front: Span,
        body: usize,
    },
    /// Opened by these bytes but never closed.
    Unclosed(Span),
}

impl FrontMatter {
    pub(super) fn of(text: &str) -> Self {
        let is_line = |line: &str| line.trim_end() == "---";
        let mut lines = text.split_inclusive('\n');
        let Some(first) = lines.next().filter(|line| is_line(line)) else { return Self::Plain };
        let mut at = first.len();
        for line in lines {
            if is_line(line) {
                return Self::Front { front: Span::new(first.len(), at), body: at + line.len() };
            }
            at += line.len();
        }
        Self::Unclosed(Span::new(0, first.trim_end().len()))
    }
}

const ID: ValueKind = ValueKind::Integer { min: 1, max: IssueNumber::LARGEST as i64 };

pub static ISSUE: Object = Object {
    title: "an issue",
    fields: &[
        Field::new("id", ID).about("number; absent: the digits at the start of the file name"),
        Field::new("title", ValueKind::Text).about("title; absent: the first `# ` heading"),
        Field::new("labels", ValueKind::List(&ValueKind::Text)).default("[]").about("labels"),
        Field::new("depends_on", ValueKind::List(&ID)).default("[]").about("issues that must be done first"),
        Field::new("state", ValueKind::OneOf(&["open", "closed"]))
            .default("\"open\"")
            .about("state of the issue"),
        Field::new("definition", ValueKind::Text).about("definition for the work on this issue"),
        Field::new("base", ValueKind::Text).about("base branch of its changes"),
        Field::new("priority", ValueKind::Integer { min: -1_000_000, max: 1_000_000 })
            .default("0")
            .about("priority; higher values come first"),
    ],
};
