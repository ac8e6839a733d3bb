//! JSON objects in the middle of prose, whole or cut off.

use saihai_model::Json;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::error::Category;

use crate::read::reply::ParsedReply;

/// Returns the last balanced object outside fences that is not inside another object.
pub(crate) fn last_object<'a>(reply: &ParsedReply<'a>) -> Option<&'a str> {
    let text = reply.page.text();
    let ends = outside_fences(reply).into_iter().rev();
    ends.filter_map(|(from, to)| last_in(&text[from..to]).map(|object| (from, object))).find_map(
        |(from, (start, end))| {
            let (first, last) = (reply.page.line_at(from + start), reply.page.line_at(from + end - 1));
            (!reply.is_echo_in_context(first, last)).then(|| &text[from + start..from + end])
        },
    )
}

/// Returns every balanced object outside fences that is not inside another object, the last one first.
pub(crate) fn all_objects<'a>(reply: &ParsedReply<'a>) -> Vec<&'a str> {
    let text = reply.page.text();
    let mut all = Vec::new();
    for (from, to) in outside_fences(reply) {
        for (start, end) in scan_objects(&text[from..to]).0 {
            let (first, last) = (reply.page.line_at(from + start), reply.page.line_at(from + end - 1));
            if !reply.is_echo_in_context(first, last) {
                all.push(&text[from + start..from + end]);
            }
        }
    }
    all.reverse();
    all
}

/// Returns the first apparent start of an object outside fences, with the text after it, and its line.
pub(crate) fn opened_object<'a>(reply: &ParsedReply<'a>) -> Option<(usize, &'a str)> {
    let text = reply.page.text();
    outside_fences(reply).into_iter().find_map(|(from, to)| {
        let braces = text[from..to].match_indices('{').map(|(at, _)| from + at);
        let mut objects = braces.filter(|at| text[at + 1..to].trim_start().starts_with('"'));
        let at = objects.find(|at| {
            let line = reply.page.line_at(*at);
            !reply.is_echo_in_context(line, line)
        })?;
        Some((reply.page.line_at(at), &text[at..to]))
    })
}

/// Returns the text of an unfinished value: in an unclosed JSON block, or at the end of the reply.
pub(crate) fn cut_off_object<'a>(reply: &ParsedReply<'a>) -> Option<&'a str> {
    let (page, fences) = (&reply.page, reply.fences());
    let unclosed = fences.unclosed.iter().find(|(_, info)| info.eq_ignore_ascii_case("json"));
    let from = match unclosed {
        Some((line, _)) => page.start(*line + 1),
        None => fences.blocks.last().map_or(0, |block| page.start(block.close + 1)),
    };
    let rest = &page.text()[from..];
    scan_objects(rest).1.map(|start| &rest[start..])
}

/// Returns the text between fenced blocks. An unclosed JSON block was truncated and gives no value.
fn outside_fences(reply: &ParsedReply<'_>) -> Vec<(usize, usize)> {
    let page = &reply.page;
    let fences = reply.fences();
    let cut_off = fences.unclosed.iter().find(|(_, info)| info.eq_ignore_ascii_case("json"));
    let end = cut_off.map_or(page.text().len(), |(line, _)| page.start(*line));
    let mut parts = Vec::new();
    let mut from = 0;
    for block in &fences.blocks {
        parts.push((from.min(end), page.start(block.open).min(end)));
        from = page.start(block.close + 1);
    }
    parts.push((from.min(end), end));
    parts
}

/// Returns the last object of a text without fences, as its first byte and one past its last.
fn last_in(text: &str) -> Option<(usize, usize)> {
    scan_objects(text).0.pop()
}

/// Returns the objects of a text, and the start of an unfinished one.
fn scan_objects(text: &str) -> (Vec<(usize, usize)>, Option<usize>) {
    let mut found = Vec::new();
    let mut pairs = None;
    let mut at = 0;
    while let Some(start) = text[at..].find('{').map(|offset| at + offset) {
        match object_extent(&text[start..]) {
            ObjectExtent::Object(length) => {
                found.push((start, start + length));
                at = start + length;
            }
            // Objects inside a truncated object do not count.
            ObjectExtent::CutOff => return (found, Some(start)),
            // Neither do objects inside braces that are not JSON.
            ObjectExtent::Broken(length) => {
                let pairs = pairs.get_or_insert_with(|| BracePairs::of(text));
                at = (start + length).max(pairs.end(start).unwrap_or(0));
            }
        }
    }
    (found, None)
}

enum ObjectExtent {
    /// An object of this many bytes.
    Object(usize),
    /// Valid so far, but without an end.
    CutOff,
    /// Invalid after this many bytes.
    Broken(usize),
}

/// Returns the extent of the object at the start of a text. The scan never reads invalid text twice: every object still
/// open at the error fails at the same place.
fn object_extent(text: &str) -> ObjectExtent {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => ObjectExtent::Object(values.byte_offset()),
        Some(Err(error)) if error.classify() == Category::Eof => ObjectExtent::CutOff,
        Some(Err(error)) => ObjectExtent::Broken(error_position(text, &error)),
        None => ObjectExtent::CutOff,
    }
}

/// Returns the byte offset of a parse error, from its line and column; at least 1 for the brace itself.
fn error_position(text: &str, error: &serde_json::Error) -> usize {
    let line_start = match error.line() {
        0 | 1 => 0,
        line => text.match_indices('\n').nth(line - 2).map_or(0, |(at, _)| at + 1),
    };
    let wanted = (line_start + error.column()).saturating_sub(1).clamp(1, text.len());
    (wanted..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Matching braces, without regard to strings.
struct BracePairs(Vec<(usize, usize)>);

impl BracePairs {
    fn of(text: &str) -> Self {
        let mut open = Vec::new();
        let mut pairs = Vec::new();
        for (at, brace) in text.match_indices(['{', '}']) {
            if brace == "{" {
                open.push(at);
            } else if let Some(start) = open.pop() {
                pairs.push((start, at + 1));
            }
        }
        pairs.sort_unstable();
        Self(pairs)
    }

    /// Returns one past the brace that closes the one at `start`.
    fn end(&self, start: usize) -> Option<usize> {
        let index = self.0.binary_search_by_key(&start, |(open, _)| *open).ok()?;
        Some(self.0[index].1)
    }
}

/// Returns the complete part of a truncated object: its own members, the items of its own lists, and objects in deeper
/// lists. Drops an incomplete object in a list, unless it holds such a list itself.
pub(crate) fn whole_part(text: &str) -> Option<Json> {
    let mut open = Vec::new();
    let mut text_state = JsonStringState::Outside;
    let mut whole = None;
    for (at, byte) in text.bytes().enumerate() {
        text_state = text_state.after(byte);
        if text_state != JsonStringState::Outside {
            continue;
        }
        match byte {
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                if open.pop() != Some(byte) {
                    return None;
                }
                if open.len() == 1 || byte == b'}' && open.last() == Some(&b']') {
                    whole = Some((at + 1, open.clone()));
                }
            }
            b',' if open.len() == 1 || open == b"}]" => whole = Some((at, open.clone())),
            _ => {}
        }
    }
    let (end, open) = whole?;
    let mut mended = text[..end].to_owned();
    mended.extend(open.iter().rev().map(|closing| char::from(*closing)));
    serde_json::from_str(&mended).ok().filter(Value::is_object)
}

/// String state of the scan. Inside a string, brackets and commas mean nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonStringState {
    Outside,
    Inside,
    Escaped,
    Ending,
}

impl JsonStringState {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Outside | Self::Ending, b'"') | (Self::Escaped, _) => Self::Inside,
            (Self::Outside | Self::Ending, _) => Self::Outside,
            (Self::Inside, b'\\') => Self::Escaped,
            (Self::Inside, b'"') => Self::Ending,
            (Self::Inside, _) => Self::Inside,
        }
    }
}

#[cfg(test)]
mod object_tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(last_in(text).map(|(start, end)| &text[start..end]), expected, "{text}");
    }

    // S-44
    #[test]
    fn the_last_object_that_stands_in_no_other_is_taken() {
        check(r#"first {"a":1}, then {"b":{"c":2}} and done."#, Some(r#"{"b":{"c":2}}"#));
        check(r#"採寸です。{"a":"}{"}。以上"#, Some(r#"{"a":"}{"}"#));
        check(r#"use {braces} and { "a": 1 }"#, Some(r#"{ "a": 1 }"#));
        check(r#"a lone { and {"a":1}"#, Some(r#"{"a":1}"#));
        check(r#"{"a":1} and a lone {"#, Some(r#"{"a":1}"#));
        check(r#"{"a":1}}"#, Some(r#"{"a":1}"#));
        check("no object", None);
        check("{}", Some("{}"));
    }

    #[test]
    fn nothing_is_taken_from_inside_what_is_cut_off_or_broken() {
        check(r#"{"issues":[{"severity":"low"},{"sev"#, None);
        check(r#"{"a":1, oops, "b":{"c":1}}"#, None);
        check(r#"fn f() { return {"a":1}; }"#, None);
        check("{\"a\":1,\n \"b\": ?, \"ä\": {\"x\":1}} then {\"y\":2}", Some("{\"y\":2}"));
    }

    // T-92
    #[test]
    fn braces_by_the_hundred_thousand_cost_no_square() {
        check(&"{".repeat(300_000), None);
        check(&r#"{"a":"#.repeat(300_000), None);
        check(&"{x".repeat(300_000), None);
        check(&"{\n?".repeat(100_000), None);
        check(&format!("{}{}", "{x".repeat(100_000), "}".repeat(100_000)), None);
        let deep = format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000));
        check(&deep, Some(&deep));
    }
}

#[cfg(test)]
mod cut_off_tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let whole = whole_part(text).map(|whole| whole.to_string()).unwrap_or_default();
        assert_eq!(whole, expected, "{text}");
    }

    #[test]
    fn only_whole_items_and_members_are_kept() {
        check(r#"{"issues":[{"a":"x"},{"a":"y","b":{"c":1},"d"#, r#"{"issues":[{"a":"x"}]}"#);
        check(r#"{"issues":[{"a":"x"}"#, r#"{"issues":[{"a":"x"}]}"#);
        check(r#"{"score":7,"issues":[{"a":"}],{"#, r#"{"score":7}"#);
        check(r#"{"score":7,"issues":[]"#, r#"{"issues":[],"score":7}"#);
        check(r#"{"names":["a\"]","b","#, r#"{"names":["a\"]","b"]}"#);
        check(
            r#"{"groups":[{"name":"n","issues":[{"a":1},{"a""#,
            r#"{"groups":[{"issues":[{"a":1}],"name":"n"}]}"#,
        );
    }

    #[test]
    fn what_is_no_json_up_to_the_cut_is_nothing() {
        for text in ["", "{", r#"{"a""#, r#"{"a":1"#, r#"{"a":1],"b""#, r#"{a:1,"b":2,"#, "[1,2,"] {
            check(text, "");
        }
    }

    proptest::proptest! {
        // For any cut, the result contains only original values.
        #[test]
        fn a_cut_adds_nothing(cut in 0_usize..200) {
            let all = r#"{"issues":[{"a":"x,]","n":[1,2]},{"a":"ä\\","n":[3]}],"score":7,"more":[{"b":{"c":[4]}}]}"#;
            let end = (0..=cut.min(all.len())).rev().find(|at| all.is_char_boundary(*at)).unwrap_or(0);
            let whole: Json = serde_json::from_str(all).unwrap();
            if let Some(Value::Object(kept)) = whole_part(&all[..end]) {
                for (name, value) in &kept {
                    match (value, &whole[name]) {
                        (Value::Array(items), Value::Array(every)) => {
                            proptest::prop_assert_eq!(&items[..], &every[..items.len()]);
                        }
                        (value, known) => proptest::prop_assert_eq!(value, known),
                    }
                }
            }
        }
    }
}
