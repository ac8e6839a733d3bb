//! Body of an issue file, after its front matter.

use super::markdown::visible;

/// Text of an issue and the title inside it.
pub(super) struct Body {
    pub(super) heading: Option<String>,
    pub(super) text: String,
    /// Text after the heading, if the body starts with it. This keeps the title from appearing
    /// twice.
    pub(super) behind: Option<String>,
}

impl Body {
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
