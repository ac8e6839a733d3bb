//! JSON objects without an end: the agent ran out of room or time in the middle.

use saihai_model::Json;
use serde_json::Value;

/// Returns the complete part of a truncated object: its own members, the items of its own lists, and objects in deeper
/// lists. Drops an incomplete object in a list, unless it holds such a list itself.
pub(super) fn whole_part(text: &str) -> Option<Json> {
    let mut open = Vec::new();
    let mut text_state = Text::Outside;
    let mut whole = None;
    for (at, byte) in text.bytes().enumerate() {
        text_state = text_state.after(byte);
        if text_state != Text::Outside {
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
enum Text {
    Outside,
    Inside,
    Escaped,
    Ending,
}

impl Text {
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
mod tests {
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
