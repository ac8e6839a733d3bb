use super::*;

#[test]
fn a_syntax_error_is_one_diagnostic_with_its_place() {
    // P-53
    assert_snapshot!(show("name: x\nrules: [a, b\nnext: c\n", YAML), @"
    error[piece/syntax]: this is not valid YAML: illegal placement of ':' indicator
    --> a:3:5
      |
    3 | next: c
      |     ^
    ");
    assert_snapshot!(show("a: b: c\n", YAML), @"
    error[piece/syntax]: this is not valid YAML: mapping values are not allowed in this context
    --> a:1:5
      |
    1 | a: b: c
      |     ^
      = help: put text that contains `: ` in quotes, or on its own lines after `|`
    ");
    assert_snapshot!(show("a:\n\t- x\n", YAML), @"
    error[piece/syntax]: this is not valid YAML: tabs disallowed within this context (block indentation)
    --> a:2:2
      |
    2 |  - x
      |  ^
    ");
    assert_snapshot!(show("a: 'x\n", YAML), @"
    error[piece/syntax]: this is not valid YAML: while scanning a quoted scalar, found unexpected end of stream
    --> a:1:4
      |
    1 | a: 'x
      |    ^
    ");
    assert_snapshot!(show("a: *nowhere\n", YAML), @"
    error[piece/syntax]: this is not valid YAML: while parsing node, found unknown anchor
    --> a:1:4
      |
    1 | a: *nowhere
      |    ^
    ");
    assert_snapshot!(show("[list]\nx = \n", TOML), @"
    error[piece/syntax]: this is not valid TOML: string values must be quoted, expected literal string
    --> a:2:5
      |
    2 | x =
      |     ^
    ");
    assert_snapshot!(show("日本 = 1", TOML), @"
    error[piece/syntax]: this is not valid TOML: invalid unquoted key, expected letters, numbers, `-`, `_`
    --> a:1:1
      |
    1 | 日本 = 1
      | ^^^^
    ");
}

#[test]
fn json_is_exactly_json() {
    for (text, place) in [
        ("", "1:1"),
        ("  ", "1:3"),
        ("{\"a\": 1,}", "1:8"),
        ("[1, 2,]", "1:6"),
        ("[1 2]", "1:4"),
        ("{'a': 1}", "1:2"),
        ("{a: 1}", "1:2"),
        ("{\"a\" 1}", "1:6"),
        ("[01]", "1:2"),
        ("[1.]", "1:2"),
        ("[-]", "1:2"),
        ("[1e]", "1:2"),
        ("[1e999]", "1:2"),
        ("[+1]", "1:2"),
        ("[NaN]", "1:2"),
        ("[nul]", "1:2"),
        ("[\"日本\\x\"]", "1:5"),
        ("[\"\\ud800\"]", "1:3"),
        ("[\"\\ud800\\u0041\"]", "1:3"),
        ("[\"\\udc00\"]", "1:3"),
        ("[\"\\u12\"]", "1:3"),
        ("[\"\\", "1:3"),
        ("[\"a\nb\"]", "1:4"),
        ("[\"a", "1:2"),
        ("[1", "1:3"),
        ("[1] x", "1:5"),
        ("// c\n1", "1:1"),
        ("[\"a\u{0}\"]", "1:4"),
    ] {
        let (document, diagnostics) = read(text.as_bytes(), JSON);
        assert!(document.is_none(), "{text:?} was read");
        assert!(
            diagnostics.starts_with("error[piece/syntax]: this is not valid JSON"),
            "{text:?}: {diagnostics}"
        );
        assert!(diagnostics.contains(&format!("--> a:{place}\n")), "{text:?}: {diagnostics}");
    }
}

#[test]
fn every_duplicate_key_is_told_and_the_first_counts() {
    // P-9
    assert_snapshot!(show("a: 1\nb: {c: 1, \"c\": 2}\na: 2\n? a\n: 3\n", YAML), @r#"
    {"a":1,"b":{"c":1}}
    error[piece/duplicate-key]: duplicate key `c`
    --> a:2:11
      |
    2 | b: {c: 1, "c": 2}
      |           ^^^ given again
    ::: a:2:5
      |
    2 | b: {c: 1, "c": 2}
      |     - first given here
      = help: keep one of them

    error[piece/duplicate-key]: duplicate key `a`
    --> a:3:1
      |
    3 | a: 2
      | ^ given again
    ::: a:1:1
      |
    1 | a: 1
      | - first given here
      = help: keep one of them

    error[piece/duplicate-key]: duplicate key `a`
    --> a:4:3
      |
    4 | ? a
      |   ^ given again
    ::: a:1:1
      |
    1 | a: 1
      | - first given here
      = help: keep one of them
    "#);
    assert_snapshot!(show("{\"a\": 1, \"a\": {\"b\": 1, \"\\u0062\": 2}}", JSON), @r#"
    {"a":1}
    error[piece/duplicate-key]: duplicate key `b`
    --> a:1:24
      |
    1 | {"a": 1, "a": {"b": 1, "\u0062": 2}}
      |                        ^^^^^^^^ given again
    ::: a:1:16
      |
    1 | {"a": 1, "a": {"b": 1, "\u0062": 2}}
      |                --- first given here
      = help: keep one of them

    error[piece/duplicate-key]: duplicate key `a`
    --> a:1:10
      |
    1 | {"a": 1, "a": {"b": 1, "\u0062": 2}}
      |          ^^^ given again
    ::: a:1:2
      |
    1 | {"a": 1, "a": {"b": 1, "\u0062": 2}}
      |  --- first given here
      = help: keep one of them
    "#);
    assert_snapshot!(show("a = 1\na = 2\n", TOML), @"
    error[piece/duplicate-key]: duplicate key `a`
    --> a:2:1
      |
    2 | a = 2
      | ^ given again
      = help: keep one of them
    ");
}

#[test]
fn merge_keys_are_refused_by_name() {
    // K-37
    assert_snapshot!(show("base: &base {a: 1}\nuse:\n  <<: *base\n  b: 2\nquoted: {'<<': 1}\n", YAML), @r#"
    {"base":{"a":1},"quoted":{"<<":1},"use":{"b":2}}
    error[piece/not-supported]: merge keys (`<<`) are not supported
    --> a:3:3
      |
    3 |   <<: *base
      |   ^^
      = help: write the keys where they apply
    "#);
}

#[test]
fn keys_are_texts_whatever_they_would_mean_as_values() {
    assert_snapshot!(show("on: 1\n1: 2\n&x 2: 3\ntrue: 4\n~: 5\n*x : 6\n", YAML), @r#"
    {"1":2,"2":3,"on":1,"true":4,"~":5}
    error[piece/duplicate-key]: duplicate key `2`
    --> a:6:1
      |
    6 | *x : 6
      | ^^ given again
    ::: a:3:1
      |
    3 | &x 2: 3
      | ---- first given here
      = help: keep one of them
    "#);
    assert_snapshot!(show("[a, b]: 1\n", YAML), @"
    error[piece/syntax]: a key must be a text
    --> a:1:1
      |
    1 | [a, b]: 1
      | ^^^^^^ a list
    ");
}

#[test]
fn one_document_only() {
    // P-9
    assert_snapshot!(show("--- \na: 1\n...\n", YAML), @r#"{"a":1}"#);
    assert_snapshot!(show("a: 1\n---\nb: 2\n", YAML), @r#"
    {"a":1}
    error[piece/syntax]: a second document begins here
    --> a:2:1
      |
    2 | ---
      | ^^^
      = help: a file contains one document; remove the `---` and the rest
    "#);
    assert_snapshot!(show("", YAML), @"null");
}

#[test]
fn byte_order_marks_and_line_ends_of_windows_are_read_over() {
    let expected = show("a: 1\nb: |\n  x\n  y\n", YAML);
    assert_eq!(show("\u{feff}a: 1\r\nb: |\r\n  x\r\n  y\r\n", YAML), expected);
    assert_snapshot!(show("\u{feff}a: 1\r\nb: [\r\n", YAML), @"
    error[piece/syntax]: this is not valid YAML: while parsing a node, did not find expected node content
    --> a:3:1
      |
    3 |
      | ^
    ");
    assert_snapshot!(show("\u{feff}{\r\n\"a\": ]}", JSON), @r#"
    error[piece/syntax]: this is not valid JSON: expected a value
    --> a:2:6
      |
    2 | "a": ]}
      |      ^
    "#);
    assert_snapshot!(show("\u{feff}a = 1\r\nb = \r\n", TOML), @"
    error[piece/syntax]: this is not valid TOML: string values must be quoted, expected literal string
    --> a:2:5
      |
    2 | b =
      |     ^
    ");
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    assert_snapshot!(show(b"a: 1\n\xe6\x97\xa5: \xff\xfe\n", YAML), @"
    error[piece/syntax]: the file is not UTF-8
    --> a:2:4
      |
    2 | 日: ��
      |     ^ not a character
    ");
    assert_snapshot!(show("a: 1\nb: x\u{0}y\nc: 2\n", YAML), @r#"
    error[piece/syntax]: the control character U+0000 is not allowed here
    --> a:2:5
      |
    2 | b: x�y
      |     ^
      = help: write it as an escape in double quotes, such as `"\e"`
    "#);
    assert_snapshot!(show("a: \u{1b}[31m\n", YAML), @r#"
    error[piece/syntax]: the control character U+001B is not allowed here
    --> a:1:4
      |
    1 | a: �[31m
      |    ^
      = help: write it as an escape in double quotes, such as `"\e"`
    "#);
    assert_snapshot!(show("a = \"\u{0}\"\n", TOML), @r#"
    error[piece/syntax]: this is not valid TOML: invalid basic string, expected non-double-quote visible characters, `\`
    --> a:1:6
      |
    1 | a = "�"
      |      ^
    "#);
}
