//! Long texts in parts: an agent pays for what it reads.

use serde_json::{Value, json};

use crate::error::CommandError;

/// Bytes of a page, unless a call asks for more or less.
const USUAL_BYTES: u64 = 20_000;

/// The largest page.
pub(super) const MOST_BYTES: u64 = 100_000;

/// Returns a page of a text, with the offset of the next one if there is more.
pub(super) fn page(text: &str, offset: u64, limit: Option<u64>) -> Result<Value, CommandError> {
    let total = text.len();
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    if start > total {
        return Err(CommandError::usage(format!("the text ends at offset {total}")));
    }
    let start = boundary(text, start);
    let limit = usize::try_from(limit.unwrap_or(USUAL_BYTES)).unwrap_or(usize::MAX);
    // At least one character, so that every page makes progress.
    let end = boundary(text, start.saturating_add(limit).min(total));
    let mut page = json!({"text": &text[start..end], "offset": start, "total": total});
    if end < total {
        page["next_offset"] = end.into();
    }
    Ok(page)
}

/// Returns the next offset at which a character begins.
fn boundary(text: &str, offset: usize) -> usize {
    (offset..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Cuts a text that is only a part of an answer.
pub(super) fn shortened(text: &str, most: usize) -> Option<String> {
    (text.len() > most).then(|| format!("{}…", &text[..boundary(text, most)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    // N-20
    #[test]
    fn the_pages_of_a_text_are_the_whole_text() {
        let text = "修正 done\n".repeat(50);
        let (mut read, mut offset, mut pages) = (String::new(), Some(0), 0);
        while let Some(at) = offset {
            let page = page(&text, at, Some(7)).unwrap();
            assert_eq!(page["total"], text.len());
            read.push_str(page["text"].as_str().unwrap());
            offset = page["next_offset"].as_u64();
            pages += 1;
        }
        assert_eq!((read == text, pages > 50), (true, true));
        let past = page("abc", 4, None).unwrap_err();
        assert_eq!(past.message(), "the text ends at offset 3");
        assert_eq!(page("", 0, None).unwrap(), json!({"text": "", "offset": 0, "total": 0}));
        assert_eq!(shortened("修正する", 4).as_deref(), Some("修正…"));
        assert_eq!(shortened("short", 5), None);
    }
}
