use std::ffi::OsStr;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::Redactor;

fn redactor(variables: &[(&str, &str)]) -> Arc<Redactor> {
    Arc::new(Redactor::new(variables.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value)))))
}

/// Redacts a text in pieces, cut at these positions.
fn in_pieces(redactor: &Arc<Redactor>, text: &[u8], cuts: &[usize]) -> String {
    let mut stream = redactor.stream();
    let mut clean = Vec::new();
    let mut at = 0;
    for cut in cuts.iter().map(|cut| cut % (text.len() + 1)) {
        if cut > at {
            stream.push(&text[at..cut], &mut clean);
            at = cut;
        }
    }
    stream.push(&text[at..], &mut clean);
    stream.finish(&mut clean);
    String::from_utf8_lossy(&clean).into_owned()
}

#[track_caller]
fn check(variables: &[(&str, &str)], text: &str, expected: &str) {
    let redactor = redactor(variables);
    assert_eq!(redactor.text(text), expected);
    for cut in 0..=text.len() {
        assert_eq!(in_pieces(&redactor, text.as_bytes(), &[cut]), expected, "cut at {cut}");
    }
    let every: Vec<usize> = (1..text.len()).collect();
    assert_eq!(in_pieces(&redactor, text.as_bytes(), &every), expected, "byte by byte");
}

// C-55: values of variables named `*KEY* *TOKEN* *SECRET* *PASSWORD*`, from 8 bytes on.
#[test]
fn values_are_known_by_the_names_of_their_variables() {
    let variables = [
        ("OPENAI_API_KEY", "open-sesame"),
        ("my_token", "tttttttt"),
        ("A_SECRET_B", "ssssssss"),
        ("PGPASSWORD", "pppppppp"),
        ("SHORT_KEY", "1234567"),
        ("HOME", "/home/somebody"),
    ];
    check(
        &variables,
        "open-sesame tttttttt ssssssss pppppppp 1234567 /home/somebody",
        "[redacted:OPENAI_API_KEY] [redacted:my_token] [redacted:A_SECRET_B] [redacted:PGPASSWORD] 1234567 /home/somebody",
    );
}

// C-55: the longest of those with the same start.
#[test]
fn a_value_that_begins_like_another_is_taken_out_whole() {
    let variables = [("SHORT_KEY", "abcdefgh"), ("LONG_KEY", "abcdefghijkl")];
    check(
        &variables,
        "abcdefgh abcdefghijkl abcdefghijk",
        "[redacted:SHORT_KEY] [redacted:LONG_KEY] [redacted:SHORT_KEY]ijk",
    );
    check(&variables, "abcdefgh", "[redacted:SHORT_KEY]");
    check(&variables, "abcdefg", "abcdefg");
}

#[test]
fn of_values_that_overlap_nothing_is_left() {
    let variables = [("A_KEY", "aaaabbbb"), ("B_KEY", "bbbbcccc")];
    check(&variables, "x aaaabbbbcccc y", "x [redacted:A_KEY] y");
    check(&[("A_KEY", "aaaaaaaa")], "aaaaaaaaaaab", "[redacted:A_KEY]b");
}

// Agents print JSON, which escapes quotes and line ends in a value.
#[test]
fn a_value_is_also_found_inside_a_json_text() {
    check(
        &[("DB_PASSWORD", "pass\"word\n2")],
        r#"{"x":"pass\"word\n2"}"#,
        r#"{"x":"[redacted:DB_PASSWORD]"}"#,
    );
}

// URLs, headers and encoded files: at any alignment, and in pieces of any size.
#[test]
fn a_value_is_also_found_where_it_is_encoded() {
    let variables = [("MY_TOKEN", "open-sesame/42")];
    let gone = |before: &str, after: &str| format!("{before}[redacted:MY_TOKEN]{after}");
    check(&variables, "https://me:open-sesame%2F42@host/", &gone("https://me:", "@host/"));
    check(&variables, "https://me:open-sesame%2f42@host/", &gone("https://me:", "@host/"));
    for (plain, encoded) in [
        ("open-sesame/42", "b3Blbi1zZXNhbWUvNDI="),
        ("user:open-sesame/42", "dXNlcjpvcGVuLXNlc2FtZS80Mg=="),
        ("xy:open-sesame/42!", "eHk6b3Blbi1zZXNhbWUvNDIh"),
    ] {
        let clean = redactor(&variables).text(encoded).into_owned();
        assert!(clean.contains("[redacted:MY_TOKEN]"), "{plain}: {clean}");
        assert!(clean.len() - "[redacted:MY_TOKEN]".len() <= encoded.len() - 17, "{plain}: {clean}");
        check(&variables, encoded, &clean);
    }
}

#[test]
fn what_has_the_shape_of_a_key_is_taken_out_too() {
    let key = "x".repeat(34);
    let cases = [
        ("sk-ant-api03-AbCdEfGhIjKlMnOpQrSt_u-v.", "[redacted:api-key]."),
        ("\"ghp_0123456789abcdefghijABCDEFGHIJ012345\"", "\"[redacted:github-token]\""),
        ("github_pat_11ABCDEFG0123456789_abcdefg x", "[redacted:github-token] x"),
        (&format!("AIza{key}S,"), "[redacted:google-key],"),
        ("xoxb-123456789012-abc", "[redacted:slack-token]"),
        ("AKIAIOSFODNN7EXAMPLE\n", "[redacted:aws-key]\n"),
        (
            "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
            "Bearer [redacted:jwt]",
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----\nafter",
            "[redacted:private-key]\nafter",
        ),
    ];
    for (text, expected) in cases {
        check(&[], text, expected);
    }
}

#[test]
fn ordinary_text_is_left_alone() {
    let cases = [
        "task-management-system-for-2-People and risk-adjusted-Returns-over-time",
        "sk-learn-like-names-in-lower-case",
        "sk-short1",
        "AKIA is a prefix, and AKIAlowercaseletters is none",
        "eyJust.eyJoking",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "-----BEGIN ",
        "ghp_",
        "日本語のテキスト",
    ];
    for text in cases {
        check(&[("X_KEY", "日本語の鍵")], text, text);
    }
}

// The name is more useful than the shape.
#[test]
fn a_known_value_is_called_by_its_name() {
    let key = "sk-proj-0123456789abcdefABCDEF";
    check(&[("OPENAI_API_KEY", key)], &format!("key={key};"), "key=[redacted:OPENAI_API_KEY];");
}

#[test]
fn every_text_of_a_value_is_cleaned() {
    let redactor = redactor(&[("A_KEY", "12345678")]);
    let mut value = json!({"a": ["x 12345678", 1], "b": {"c": "12345678"}});
    redactor.json(&mut value);
    assert_eq!(value, json!({"a": ["x [redacted:A_KEY]", 1], "b": {"c": "[redacted:A_KEY]"}}));
}

// A text that mentions a private key does not hide the rest of a transcript.
#[test]
fn a_private_key_that_never_ends_does_not_hide_everything() {
    let redactor = redactor(&[]);
    let text = format!("-----BEGIN PRIVATE KEY-----{}end", "x".repeat(16 * 1024));
    assert_eq!(redactor.text(&text), "[redacted:private-key]end");
}

/// Generates texts that often contain values, parts of values and shapes.
fn pieces() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]{1,9}",
        "[a-c -]{0,4}",
        Just("sk-".to_owned()),
        "[A-Z0-9]{1,22}",
        Just("eyJ".to_owned()),
        Just(".".to_owned()),
        Just("-----BEGIN ".to_owned()),
        Just("PRIVATE KEY-----".to_owned()),
        "\\PC{0,3}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // C-55: also when split over two or more reads.
    #[test]
    fn however_it_is_cut_the_result_is_the_same_and_no_value_survives(
        values in prop::collection::vec("[ab]{8,12}", 1..4),
        parts in prop::collection::vec(pieces(), 0..12),
        mut cuts in prop::collection::vec(0usize..200, 0..8),
    ) {
        let names: Vec<String> = (0..values.len()).map(|n| format!("N{n}_KEY")).collect();
        let variables: Vec<_> = names.iter().zip(&values).map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let redactor = redactor(&variables);
        let text: String = parts.into_iter().chain(values.last().cloned()).collect();
        let whole = redactor.text(&text).into_owned();
        cuts.sort_unstable();
        prop_assert_eq!(in_pieces(&redactor, text.as_bytes(), &cuts), whole.clone());
        for value in &values {
            prop_assert!(!whole.contains(value.as_str()), "{} in {}", value, whole);
        }
    }

    #[test]
    fn bytes_that_are_no_text_pass_unchanged(bytes in prop::collection::vec(128u8..=255, 0..64), cut in 0usize..64) {
        let redactor = redactor(&[("A_KEY", "12345678")]);
        let mut clean = Vec::new();
        let mut stream = redactor.stream();
        let (one, two) = bytes.split_at(cut.min(bytes.len()));
        stream.push(one, &mut clean);
        stream.push(two, &mut clean);
        stream.finish(&mut clean);
        prop_assert_eq!(clean, bytes);
    }
}

mod forms {
    use super::super::*;

    fn shown(forms: &[Vec<u8>]) -> Vec<String> {
        forms.iter().map(|form| String::from_utf8_lossy(form).into_owned()).collect()
    }

    #[test]
    fn a_secret_has_a_form_for_each_way_of_writing_it() {
        assert_eq!(
            shown(&forms(b"p\"s/w?d~ok>>")),
            [
                "p\"s/w?d~ok>>",
                "p\\\"s/w?d~ok>>",
                "p%22s%2Fw%3Fd~ok%3E%3E",
                "p%22s%2fw%3fd~ok%3e%3e",
                "cCJzL3c/ZH5vaz4+",
                "Aicy93P2R+b2s+P",
                "wInMvdz9kfm9rPj",
                "cCJzL3c_ZH5vaz4-",
                "Aicy93P2R-b2s-P",
                "wInMvdz9kfm9rPj",
            ]
        );
    }
}
