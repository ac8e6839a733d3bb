use proptest::prelude::*;

use super::*;

const SEEDS: [&str; 8] = [
    "name: 計画\nmovements:\n  - name: plan\n    rules:\n      - {condition: \"完了\", next: COMPLETE}\n",
    "a: &a [1, 'x', \"y\\n\"]\nb: *a\nc: |\n  one\n  two\nd: >-\n  folded\n",
    "? complex\n: value\n? [a]\n: b\n--- # next\n...\n",
    "{\"a\": [1, 2.5, {\"b\": null}], \"名\": \"\\u3042\\ud83d\\ude00\"}",
    "[a.b]\nc = 'x' # 注\n[[d]]\ne = [1, {f.g = \"h\"}]\n",
    "!!str tagged\n%YAML 1.2\n--- !x\n",
    "- - - a\n    b\n-\t- c\n- {a, b: , [c]: d}\n",
    "\u{feff}a: \"\\x41\\u0042\\U0001F600\\\n  b\"\r\nc: 'd''e'\r\n",
];

/// Parses bytes in every format and checks every span.
fn read_and_look(bytes: &[u8]) {
    for format in [YAML, JSON, TOML] {
        let mut diagnostics = Diagnostics::new();
        let document = Document::parse(bytes, format, "a", Area::Piece, &mut diagnostics);
        assert!(document.is_some() || diagnostics.has_errors());
        for diagnostic in &diagnostics {
            let Some(at) = &diagnostic.location else { continue };
            if let Some(span) = at.span {
                look(at.file.text(), span);
            }
        }
        to_human(&diagnostics, Colour::Never);
        if let Some(document) = document {
            look_at(&document.root, document.file.text());
        }
    }
}

fn look_at(node: &Node, text: &str) {
    look(text, node.span);
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| look_at(item, text)),
        Value::Map(entries) => entries.iter().for_each(|entry| {
            look(text, entry.key_span);
            look_at(&entry.value, text);
        }),
        Value::Null
        | Value::Bool(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::Date(_) => {}
    }
}

fn look(text: &str, span: Span) {
    assert!(text.get(span.start..span.end).is_some(), "{span:?} is no part of {text:?}");
}

/// Generates a seed with some bytes replaced, removed or doubled.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), 0..4_u8, prop_oneof![any::<u8>(), punctuation()]);
    (prop::sample::select(&SEEDS[..]), prop::collection::vec(change, 1..6)).prop_map(|(seed, changes)| {
        let mut bytes = seed.as_bytes().to_vec();
        for (place, how, byte) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = place.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, byte),
                _ => bytes.truncate(at),
            }
        }
        bytes
    })
}

fn punctuation() -> impl Strategy<Value = u8> {
    prop::sample::select(&b"\n\r\t :-[]{},&*!|>'\"%@`#?.=\\<~"[..])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_and_look(&bytes);
    }

    #[test]
    fn no_text_makes_a_reader_panic_and_every_span_lies_in_it(text in "\\PC{0,120}") {
        read_and_look(text.as_bytes());
    }

    #[test]
    fn no_soup_of_marks_makes_a_reader_panic(
        bytes in prop::collection::vec(prop_oneof![4 => punctuation(), 1 => prop::sample::select(&b"a1 "[..])], 0..80)
    ) {
        read_and_look(&bytes);
    }

    #[test]
    fn no_change_of_a_good_file_makes_a_reader_panic(bytes in mutated()) {
        read_and_look(&bytes);
    }

    #[test]
    fn json_that_serde_reads_is_read_alike(text in json_text()) {
        let (document, diagnostics) = read(text.as_bytes(), JSON);
        let ours = document.map(|document| document.root.to_json());
        // Unlike serde, our parser rejects duplicate keys.
        if !diagnostics.contains("duplicate-key") {
            prop_assert_eq!(ours, serde_json::from_str(&text).ok());
        }
    }

    #[test]
    fn yaml_reads_json_as_json(text in json_text()) {
        let (json, _) = read(text.as_bytes(), JSON);
        if let Some(json) = json {
            let (yaml, diagnostics) = read(text.as_bytes(), YAML);
            prop_assert_eq!(yaml.map(|yaml| yaml.root.to_json()), Some(json.root.to_json()), "{}", diagnostics);
        }
    }
}

/// Generates valid and nearly valid JSON.
fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<i32>().prop_map(|number| format!("{:?}", f64::from(number) / 8.0)),
        "[a-z 日本:#\\-]{0,6}".prop_map(|text| format!("{text:?}")),
        prop::sample::select(&["01", "1.", "\"\\ud800\"", "\"\\u00e9\"", "tru", "\"\\/\"", "1e2"][..])
            .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec(("[a-d]{1,2}", inner), 0..4).prop_map(|entries| {
                let entries: Vec<String> =
                    entries.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
}
