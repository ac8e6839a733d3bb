//! Prompt templates. A text is parsed once, so inserted values are never parsed for variables (S-47).

/// Part of a prompt's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    Text(&'t str),
    Variable {
        name: &'t str,
        /// The variable as written, with its brackets.
        written: &'t str,
        at: usize,
    },
    /// Starts like a variable but is not a valid one.
    Malformed {
        at: usize,
    },
}

const OPEN: &str = "{uv-";

/// Splits a text at its variables: `{uv-NAME}`, and `{NAME}` for those in `bare`.
pub(super) fn parse<'t>(text: &'t str, bare: &[&str]) -> Vec<Piece<'t>> {
    let mut pieces = Vec::new();
    let (mut rest, mut fixed) = (text, text);
    while let Some(open) = rest.find('{') {
        let from = &rest[open..];
        let at = text.len() - from.len();
        let end = from.find(|c: char| c != '{' && c != '_' && c != '-' && !c.is_ascii_alphanumeric());
        let closed =
            end.filter(|end| from[*end..].starts_with('}')).map(|end| (&from[..=end], &from[1..end]));
        let name = closed.and_then(|(written, inside)| match inside.strip_prefix("uv-") {
            Some(name) if !name.is_empty() && !name.contains('{') => Some((written, name)),
            _ => bare.contains(&inside).then_some((written, inside)),
        });
        if let Some((written, name)) = name {
            let before = &fixed[..at - (text.len() - fixed.len())];
            if !before.is_empty() {
                pieces.push(Piece::Text(before));
            }
            pieces.push(Piece::Variable { name, written, at });
            rest = &from[written.len()..];
            fixed = rest;
        } else {
            if from.starts_with(OPEN) {
                pieces.push(Piece::Malformed { at });
            }
            rest = &from[1..];
        }
    }
    if !fixed.is_empty() {
        pieces.push(Piece::Text(fixed));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let shown: Vec<String> = parse(text, &["input_text"])
            .into_iter()
            .map(|piece| match piece {
                Piece::Text(text) => format!("{text:?}"),
                Piece::Variable { name, at, .. } => format!("<{name}@{at}>"),
                Piece::Malformed { at } => format!("!{at}"),
            })
            .collect();
        assert_eq!(shown.join(" "), expected, "{text}");
    }

    // S-47
    #[test]
    fn variables_are_found_in_one_pass_and_everything_else_stays() {
        check("Height {uv-a_b} cm for {uv-C-1}.", r#""Height " <a_b@7> " cm for " <C-1@23> ".""#);
        check("{uv-a}{uv-b}", "<a@0> <b@6>");
        check("{{uv-a}}", r#""{" <a@1> "}""#);
        check("no {variable} here, {input_text} is", r#""no {variable} here, " <input_text@20> " is""#);
        check("", "");
        check("{\"uv\": 1}", r#""{\"uv\": 1}""#);
    }

    // S-51
    #[test]
    fn what_only_begins_like_a_variable_is_told_of_and_left() {
        check("{uv-} x", r#"!0 "{uv-} x""#);
        check("a {uv-b c}", r#"!2 "a {uv-b c}""#);
        check("{uv-a", r#"!0 "{uv-a""#);
        check("{uv-{uv-a}", r#"!0 "{uv-" <a@4>"#);
    }
}
