//! The words of a reply that say why it was decided so.
//!
//! A tag names a rule; the sentence before it, or the first finding of the report, gives the reason. Screens quote it,
//! so that a transition can be understood without the reply.

use saihai_model::{Json, Reading, ReportClue};

use crate::read::reply::{ParsedReply, ReplyLines, ReplyWindow, essence, strip_escapes};
use crate::read::{excerpt_head, tags};

/// Keys under which a structured reply gives its reason, the best first.
const REASONS: [&str; 4] = ["reason", "summary", "message", "description"];

/// Returns the quotation of a reply that has been read: its last own sentence before the tag, else the first item of
/// its report, else the reason in its structured value. Empty if the reply has none of them.
pub(crate) fn quotation(reply: &ParsedReply<'_>, reading: &Reading) -> String {
    let end = match &reading.tag {
        Some(tag) => (0..reply.page.count()).find(|line| reply.number(*line) == tag.line),
        None => None,
    };
    let report = || report_item(reply, reading);
    let found = match own_words(reply, end, reading) {
        Some(words) if words.is_next_to_the_end => Some(words.text),
        Some(words) => report().or(Some(words.text)),
        None => report(),
    };
    let found = found.or_else(|| reading.output.as_ref().and_then(reason).map(str::to_owned));
    found.map(|text| one_line(&text)).unwrap_or_default()
}

/// Returns the last line of a program's output, which usually sums it up.
pub(crate) fn last_line(output: &str) -> String {
    let plain = strip_escapes(ReplyWindow::of(output).text);
    plain.lines().rev().find(|line| is_prose(line)).map(one_line).unwrap_or_default()
}

struct OwnWords {
    text: String,
    /// False if a block stands between the words and the end.
    is_next_to_the_end: bool,
}

/// Finds the last own words before the line of the tag, or before the end of the reply. Headings, blocks, quotations
/// and echoes of the prompt are not own words.
fn own_words(reply: &ParsedReply<'_>, tag: Option<usize>, reading: &Reading) -> Option<OwnWords> {
    let page = &reply.page;
    // The words may stand on the line of the tag, in front of it.
    if let Some(line) = tag {
        let words = without_tag(page.line(line));
        if is_prose(words) {
            let text = last_sentence(words).to_owned();
            return Some(OwnWords { text, is_next_to_the_end: true });
        }
    }
    let mut is_next_to_the_end = true;
    let mut last = None;
    for line in (0..tag.unwrap_or(page.count())).rev() {
        let text = page.line(line);
        if text.trim().is_empty() {
            continue;
        }
        if reply.quoted().line(page, line) || text.trim_start().starts_with(['`', '~']) && is_fence(text) {
            is_next_to_the_end = false;
            continue;
        }
        let is_event = reading.events.iter().any(|event| event.line == reply.number(line));
        let is_closing = reading.end_word.as_deref() == Some(text.trim());
        let is_own = !is_event && !is_closing && !reply.is_echo(line) && is_prose(text);
        if is_heading(text) || tags::is_only_a_tag(text) || !is_own {
            continue;
        }
        last = Some(line);
        break;
    }
    let last = last?;
    let text = match list_item(page.line(last)) {
        Some(_) => first_of_list(page, last),
        None if page.line(last).starts_with([' ', '\t']) => first_of_list(page, last),
        None => last_sentence(&wrapped_lines(page, last)).to_owned(),
    };
    Some(OwnWords { text, is_next_to_the_end })
}

/// Returns a line together with the lines before it whose sentence it continues.
fn wrapped_lines(page: &ReplyLines<'_>, last: usize) -> String {
    let mut first = last;
    while first > 0 && page.line(first).starts_with(char::is_lowercase) && is_text(page.line(first - 1)) {
        first -= 1;
    }
    (first..=last).map(|line| page.line(line).trim()).collect::<Vec<_>>().join(" ")
}

/// Returns true if a line belongs to a paragraph.
fn is_text(line: &str) -> bool {
    is_prose(line) && !is_heading(line) && !is_fence(line) && list_item(line).is_none()
}

/// Returns the first item of the list that a line belongs to.
fn first_of_list(page: &ReplyLines<'_>, last: usize) -> String {
    let mut first = last;
    for line in (0..last).rev() {
        let text = page.line(line);
        match list_item(text) {
            Some(_) => first = line,
            None if text.trim().is_empty() || text.starts_with([' ', '\t']) => {}
            None => break,
        }
    }
    item_text(page, first, last + 1)
}

/// Returns the first list item of the first report, or its first line of prose.
fn report_item(reply: &ParsedReply<'_>, reading: &Reading) -> Option<String> {
    let report = reading.reports.iter().find(|report| report.how != ReportClue::Whole)?;
    let said = ReplyLines::new(reply.window.text);
    let line = |at: u64| {
        let at = usize::try_from(at).unwrap_or(usize::MAX).saturating_sub(reply.window.offset);
        said.line_at(at.min(reply.window.text.len()))
    };
    let (first, mut end) = (line(report.start), line(report.end));
    if report.unclosed {
        end = end.max(reply.page.count());
    }
    let page = &reply.page;
    let item = (first..end).find(|line| list_item(page.line(*line)).is_some_and(is_prose));
    let item = item.map(|line| item_text(page, line, end));
    item.or_else(|| {
        let lines = (first..end).map(|line| page.line(line));
        let paragraph = lines.skip_while(|line| !is_text(line)).take_while(|line| is_text(line));
        let paragraph: Vec<&str> = paragraph.map(str::trim).collect();
        (!paragraph.is_empty()).then(|| paragraph.join(" "))
    })
}

/// Returns an item with its indented lines.
fn item_text(page: &ReplyLines<'_>, line: usize, end: usize) -> String {
    let mut text = list_item(page.line(line)).unwrap_or_else(|| page.line(line)).trim().to_owned();
    for next in (line + 1..end).map(|line| page.line(line)) {
        let continues = next.starts_with([' ', '\t']) && list_item(next).is_none() && !next.trim().is_empty();
        if !continues || text.len() > 4 * Reading::QUOTATION {
            break;
        }
        text.push(' ');
        text.push_str(next.trim());
    }
    text
}

/// Returns the text of a list item: `- x`, `* x`, `+ x`, `1. x`, `1) x`, also with a box to tick.
fn list_item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+', '・'])?,
        1..=3 => line[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    let is_japanese = line.starts_with('・');
    let rest = if is_japanese { rest } else { rest.strip_prefix([' ', '\t'])? };
    let rest = rest.trim();
    let ticked = ["[ ]", "[x]", "[X]"].iter().find_map(|tick| rest.strip_prefix(tick));
    Some(ticked.unwrap_or(rest).trim_start())
}

fn is_heading(line: &str) -> bool {
    let line = line.trim_start();
    let marks = line.len() - line.trim_start_matches('#').len();
    (1..=6).contains(&marks) && line[marks..].starts_with([' ', '\t'])
}

fn is_fence(line: &str) -> bool {
    let line = essence(line);
    line.starts_with("```") || line.starts_with("~~~")
}

/// Returns true if a line says something: it has letters or digits outside of table rules and brackets.
fn is_prose(line: &str) -> bool {
    let line = line.trim();
    line.chars().any(char::is_alphanumeric) && !line.starts_with(['{', '}', '<', '|'])
}

fn without_tag(line: &str) -> &str {
    line.split_once('[').map_or("", |(before, _)| before).trim()
}

/// Returns the last sentence of a line. A full stop inside a word or a number ends nothing.
fn last_sentence(line: &str) -> &str {
    let line = line.trim();
    let body =
        line.trim_end_matches(['.', '!', '?', '。', '！', '？', '*', '_', '"', '”', '」', ')', '）', ' ']);
    let mut ends = body.char_indices().filter_map(|(at, character)| {
        let after = at + character.len_utf8();
        match character {
            '.' | '!' | '?' => body[after..].starts_with(' ').then_some(after),
            '。' | '！' | '？' => Some(after),
            _ => None,
        }
    });
    ends.next_back().map_or(line, |at| line[at..].trim_start())
}

/// Finds the reason in a structured value, at its top or one level below.
fn reason(value: &Json) -> Option<&str> {
    let inner = value.as_object().into_iter().flat_map(|object| object.values());
    std::iter::once(value).chain(inner).find_map(|value| {
        let mut texts = REASONS.iter().filter_map(|key| value.get(key)?.as_str());
        texts.find(|text| !text.trim().is_empty())
    })
}

/// Joins the text into one line without emphasis and control characters, and cuts it.
pub(crate) fn one_line(text: &str) -> String {
    let visible: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let text = words.join(" ").replace("**", "").replace("__", "");
    excerpt_head(text.trim(), Reading::QUOTATION - 1)
}

#[cfg(test)]
mod tests {
    use saihai_model::{Choice, ExpectedReply, Method, Offer, Reads, Report};
    use serde_json::json;

    use crate::{ReplyText, read};

    fn reads(has_report: bool) -> Reads {
        let options = (0..3).map(|number| Offer { number, label: "x".into() }).collect();
        let choice = Choice { options, found_by: vec![Method::Tag] };
        let report = Report { file: "01.md".to_owned(), label: "review".to_owned(), heading: None };
        Reads {
            choice: Some(choice),
            reports: has_report.then_some(report).into_iter().collect(),
            ..Reads::default()
        }
    }

    #[track_caller]
    fn check(has_report: bool, text: &str, expected: &str) {
        let said = ReplyText { text, structured: None };
        let reading = read(ExpectedReply::Work(&reads(has_report)), "", said);
        assert_eq!(reading.quotation, expected);
    }

    // U-1
    #[test]
    fn the_last_own_sentence_before_the_tag_is_quoted() {
        check(false, "I looked. Left or right?\n[STEP:1]", "Left or right?");
        check(false, "I looked at v1.2 of it. **2 of 14 tests fail.** [STEP:1]", "2 of 14 tests fail.");
        check(false, "調べました。テストが二つ失敗します。\n\n[STEP:1]", "テストが二つ失敗します。");
        check(false, "# Done\nAll is well.\n\n## Status\n[STEP:0]\n", "All is well.");
        check(false, "I looked. It fails\nin two places.\n[STEP:1]", "It fails in two places.");
        check(false, "> quoted words\n[STEP:0]", "");
        check(false, "[STEP:0]", "");
    }

    // U-1
    #[test]
    fn the_first_item_of_a_list_or_of_the_report_is_quoted() {
        check(false, "Two things:\n- a.rs:3 is\n  wrong\n- b.rs\n[STEP:1]", "a.rs:3 is wrong");
        let report =
            "Here it is.\n```markdown\n# Review\n## Findings\n1. `t.sh` fails.\n   Twice.\n2. more\n```\n";
        check(true, &format!("{report}[STEP:1]"), "`t.sh` fails. Twice.");
        check(true, &format!("{report}All checks pass, I think.\n[STEP:1]"), "All checks pass, I think.");
        check(
            true,
            "```markdown\n# Review\nNothing: it is\nfine.\n\nMore.\n```\n[STEP:0]",
            "Nothing: it is fine.",
        );
    }

    // U-1
    #[test]
    fn a_quotation_is_short_and_has_no_control_characters() {
        check(false, "a\u{7}b\tc \u{1b}[31mred\n[STEP:0]", "a b c red");
        let long = "ß".repeat(500);
        check(false, &format!("{long}\n[STEP:0]"), &format!("{}…", "ß".repeat(199)));
    }

    // U-1
    #[test]
    fn a_structured_reply_is_quoted_by_its_reason() {
        let value = json!({"next_action": {"action": "repeat", "reason": "the height is missing"}});
        assert_eq!(super::reason(&value), Some("the height is missing"));
        assert_eq!(super::reason(&json!({"summary": " ", "message": "x"})), Some("x"));
        assert_eq!(super::reason(&json!([1])), None);
    }
}
