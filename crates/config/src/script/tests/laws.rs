use proptest::prelude::*;

use super::*;

const SEEDS: [&str; 2] = [
    "script: 1\nstrict: false\nreplies:\n- for: plan#judge\n  visit: \"2..\"\n  times: 3\n  prompt: a.*b\n  structured: [1]\n  usage: {input: 1}\n  delay: 2s\n  writes: [{path: a, content: b}]\n  runs: [{argv: [make]}]\n- fail: {class: quota, message: m, until: '2026-02-06T14:00:00Z'}\n",
    "[{\"agent\": \"coder\", \"content\": \"a\", \"status\": \"error\", \"delay_ms\": 5}, {\"content\": \"b\", \"file_writes\": [{\"path\": \"x\", \"content\": \"y\"}]}]",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_makes_a_script_panic_and_none_is_read_with_errors(
        seed in prop::sample::select(&SEEDS[..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<char>()), 0..5),
        format in prop::sample::select(&[Format::Yaml, Format::Json, Format::Toml][..]),
    ) {
        let mut text: Vec<char> = seed.chars().collect();
        for (place, with) in changes {
            let place = place.index(text.len());
            text[place] = with;
        }
        let text: String = text.into_iter().collect();
        let mut diagnostics = Diagnostics::new();
        if let Some(document) = Document::parse(text.as_bytes(), format, "s", Area::Script, &mut diagnostics) {
            let (script, found) = read_script(&document, Some(&workflow()));
            prop_assert_eq!(script.is_some(), !found.has_errors());
        }
    }
}
