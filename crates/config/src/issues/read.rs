//! Reads one issue from its file.

use std::sync::Arc;

use saihai_model::{Issue, IssueNumber, IssueSource, IssueState};

use super::body::Body;
use super::dependencies::mentioned;
use super::front_matter::Split;
use super::tables::ISSUE;
use super::text::clean_title;
use crate::diagnostic::{Area, Diagnostics, DocumentPath, Location, SourceFile, Span, quoted};
use crate::document::{Document, Format, Value};
use crate::fields::{Cursor, Fields};

/// An issue and the location of its number.
pub(super) struct ReadIssue {
    pub(super) issue: Issue,
    pub(super) number_at: Location,
}

/// Reads an issue. If it returns `None`, it has added an error.
pub(super) fn read(
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
    let (front, body) = match Split::of(text) {
        Split::Plain => (None, text),
        Split::Front { front, body } => (Some(parse(text, front, &file, diagnostics)?), &text[body..]),
        Split::Unclosed(line) => {
            let at = Location { file, span: Some(line), path: DocumentPath::root() };
            let message = "the front matter is opened and never closed";
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
    Reader { fields: fields.as_ref(), whole, file_name, diagnostics }.issue(body)
}

/// Parses the front matter with positions relative to the whole file.
fn parse(text: &str, front: Span, file: &Arc<SourceFile>, diagnostics: &mut Diagnostics) -> Option<Document> {
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

struct Reader<'a, 'd> {
    fields: Option<&'a Fields<'d>>,
    whole: Location,
    file_name: &'a str,
    diagnostics: &'a mut Diagnostics,
}

impl Reader<'_, '_> {
    fn issue(mut self, body: &str) -> Option<ReadIssue> {
        let body = Body::of(body);
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
        let hint = "write `id: 7` into its front matter, or begin the file's name with it: `007-login.md`";
        self.diagnostics.push(self.whole.error("missing-key", message).hint(hint));
        None
    }

    fn title(&mut self, body: &Body) -> Option<String> {
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
            let hint = "write a `# ` heading, or `title:` into its front matter";
            self.diagnostics.push(at.error("missing-key", message).hint(hint));
            return None;
        }
        title
    }

    /// Returns the dependencies from the front matter, then from the text, without duplicates.
    fn depends_on(&mut self, body: &Body) -> Vec<IssueNumber> {
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
