//! Finds the parts of a Markdown text that are the author's own words.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

/// Replaces a hidden character. It is neither a letter nor punctuation nor a space.
const SHOWN: char = '\u{fffc}';

/// Tags whose content is code or a quotation.
const TAGS: [&str; 7] = ["blockquote", "pre", "code", "q", "script", "style", "textarea"];

/// Hides everything that the author does not say, line by line. Comments become blank; code and
/// quotations become placeholder characters.
pub(super) fn visible(text: &str) -> String {
    let mut hidden = vec![None; text.len()];
    let mut hide = |range: Range<usize>, with: char| hidden[range].fill(Some(with));
    let mut tags = OpenTags::default();
    // Hide only the outermost quotation. Nested quotations can be as many as the characters.
    let mut until = 0;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::CodeBlock(_)) | Event::Code(_) if range.end > until => {
                until = range.end;
                hide(range, SHOWN);
            }
            Event::Html(_) | Event::InlineHtml(_) => {
                comments(text, &range).into_iter().for_each(|comment| hide(comment, ' '));
                tags.read(&text[range.clone()], &range).into_iter().for_each(|inside| hide(inside, SHOWN));
            }
            Event::Start(Tag::HtmlBlock) => {
                comments(text, &range).into_iter().for_each(|comment| hide(comment, ' '));
            }
            _ => {}
        }
    }
    if let Some(start) = tags.since {
        hide(start..text.len(), SHOWN);
    }
    let character = |(at, c): (usize, char)| if c == '\n' { c } else { hidden[at].unwrap_or(c) };
    text.char_indices().map(character).collect()
}

/// Returns the comments in some HTML. An unclosed comment extends to the end.
fn comments(text: &str, html: &Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = html.start;
    while let Some(start) = text[at..html.end].find("<!--").map(|start| at + start) {
        let end = text[start + 4..html.end].find("-->").map_or(html.end, |end| start + 4 + end + 3);
        found.push(start..end);
        at = end;
    }
    found
}

/// Tags that hide their content, even if it contains Markdown.
#[derive(Default)]
struct OpenTags {
    depth: usize,
    /// Start of the outermost open tag.
    since: Option<usize>,
}

impl OpenTags {
    /// Reads some HTML and returns the ranges that it closes.
    fn read(&mut self, html: &str, range: &Range<usize>) -> Vec<Range<usize>> {
        let mut closed = Vec::new();
        for (at, _) in html.match_indices('<') {
            let rest = &html[at + 1..];
            let (closing, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
            let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
            if !TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(&rest[..length])) {
                continue;
            }
            let place = range.start + at;
            if !closing {
                self.depth += 1;
                self.since.get_or_insert(place);
            } else if self.depth > 0 {
                self.depth -= 1;
                if self.depth == 0 {
                    closed.extend(self.since.take().map(|start| start..place));
                }
            }
        }
        closed
    }
}
