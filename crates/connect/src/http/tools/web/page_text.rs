//! Extracts readable text from HTML, and nothing more.

const HIDDEN: [&str; 5] = ["script", "style", "template", "noscript", "svg"];
/// Elements that start and end a line.
const LINES: [&str; 22] = [
    "p", "br", "div", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "section",
    "article", "header", "footer", "title", "dt", "dd",
];

/// Returns the readable text, line by line.
pub(super) fn of(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        text.push_str(&unescaped(&rest[..open]));
        rest = &rest[open..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let Some(close) = rest.find('>') else { break };
        let inside = &rest[1..close];
        let name = tag(inside);
        rest = &rest[close + 1..];
        if HIDDEN.contains(&name.as_str()) && !inside.starts_with('/') && !inside.ends_with('/') {
            rest = behind(rest, &name);
        }
        if LINES.contains(&name.as_str()) {
            text.push('\n');
        }
    }
    if !rest.starts_with('<') {
        text.push_str(&unescaped(rest));
    }
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns the name of an element in lower case.
fn tag(inside: &str) -> String {
    let name = inside.trim_start_matches('/');
    name.chars().take_while(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// Returns the text after the end of an element; empty if it has no end.
fn behind<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        if tag(rest) == name {
            return rest.find('>').map_or("", |end| &rest[end + 1..]);
        }
    }
    ""
}

/// Replaces the most common character references.
fn unescaped(text: &str) -> String {
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " ")];
    let text = names.iter().fold(text.to_owned(), |text, (name, letter)| text.replace(name, letter));
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_reads_is_kept_line_by_line() {
        let page = "<!DOCTYPE html><html><head><title>A &amp; B</title><style>p { color: red }</style>\n\
            <script>if (a < b) { '</p>' }</script></head><body><!-- not <b>this</b> --><h1>Head</h1>\n\
            <p>One   <b>bold</b>\n word &lt;tag&gt; &amp;lt;<br/>two</p><ul><li>x<li>y</ul><SVG><text>z</text></SVG>end";
        insta::assert_snapshot!(of(page), @"
        A & B
        Head
        One bold
        word <tag> &lt;
        two
        x
        y
        end
        ");
    }

    proptest::proptest! {
        #[test]
        fn nothing_breaks_it(page in "[<>/!a-z&;\"' é-]{0,60}|<script>[</a-z>]{0,30}") {
            let _ = of(&page);
        }
    }
}
