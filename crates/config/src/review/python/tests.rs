use super::*;

fn refused(pattern: &str, why: &str) {
    match PythonRegex::new(pattern, &mut PatternMemory::default()) {
        Ok(_) => panic!("`{pattern}` was taken"),
        Err(bad) => assert_eq!(bad.to_string(), why, "{pattern}"),
    }
}

/// Checks the texts that a pattern matches and those that it does not.
fn check(pattern: &str, found: &[&str], not_found: &[&str]) {
    let regex = PythonRegex::new(pattern, &mut PatternMemory::default())
        .unwrap_or_else(|bad| panic!("`{pattern}`: {bad}"));
    for text in found {
        assert!(matches!(regex.find(text), PythonMatch::At(_)), "`{pattern}` is not found in {text:?}");
    }
    for text in not_found {
        assert_eq!(regex.find(text), PythonMatch::Nowhere, "`{pattern}` is found in {text:?}");
    }
}

// R-23
#[test]
fn what_python_refuses_is_refused_in_its_words() {
    refused("x(?i)y", "global flags not at the start of the expression at position 1");
    refused("(?<n>a)", "unknown extension ?<n at position 0");
    refused(r"\z", r"bad escape \z at position 0");
    refused(r"\p{L}", r"bad escape \p at position 0");
    refused(r"a\h", r"bad escape \h at position 1");
    for letter in ["e", "K", "G"] {
        refused(&format!(r"\{letter}"), &format!(r"bad escape \{letter} at position 0"));
    }
    refused("(?U)a", "unknown extension ?U at position 0");
    refused("a**", "multiple repeat at position 2");
    refused("a{2}{3}", "multiple repeat at position 4");
    refused("^*", "nothing to repeat at position 1");
    refused(r"[a-\d]", r"bad character range a-\d at position 1");
    refused("(?P<n>a)(?P<n>b)", "redefinition of group name 'n' as group 2; was group 1 at position 8");
    refused("(?<=a*)b", "look-behind requires fixed-width pattern at position 0");
    refused("(?L)a", "bad inline flags: cannot use 'L' flag with a str pattern at position 3");
    refused("(a", "missing ), unterminated subpattern at position 0");
    refused("a)", "unbalanced parenthesis at position 1");
    refused("[a", "unterminated character set at position 0");
    refused(r"(a)\2", "invalid group reference 2 at position 3");
    refused(r"(a\1)", "cannot refer to an open group at position 2");
    refused("a{3,2}", "min repeat greater than max repeat at position 1");
    refused("(?(1)a|b|c)", "conditional backref with more than two branches at position 8");
    refused(r"\N{DIGIT ONE}", "\\N{NAME} is not supported at position 0");
    refused("^((?(1)a|b)){2,}$", "a condition on its own group is not supported at position 0");
    refused(r"\400", r"octal escape value \400 outside of range 0-0o377 at position 0");
}

// R-23: `regex` parses these differently or not at all.
#[test]
fn what_only_python_takes_means_what_it_means_there() {
    check("{", &["{"], &["a"]);
    check("x{", &["x{"], &["x"]);
    check("a{1,x}", &["a{1,x}"], &["a"]);
    check("^a{,2}$", &["", "a", "aa"], &["aaa"]);
    check("a++b", &["aab"], &["aa"]);
    check("a++a", &[], &["aaa"]);
    check("[[a]", &["[", "a"], &["]"]);
    check("[a&&b]", &["a", "&", "b"], &["c"]);
    check(r"a\Z", &["ba"], &["a\n"]);
    check(r"\0", &["\0"], &["0"]);
    check(r"\101", &["A"], &["1"]);
    check(r"[\b]", &["\u{8}"], &["b"]);
    check(r"(?a)^\w$", &["a"], &["é"]);
    check("(?x) a b # both\n c", &["abc"], &["a b c"]);
    check("a(?#not)b", &["ab"], &["a(?#not)b"]);
    check("(?>a+)b", &["aab"], &["b"]);
    check("(?P<q>['\"])x(?P=q)", &["'x'", "\"x\""], &["'x\""]);
    check("^(a)?(?(1)b|c)$", &["ab", "c"], &["ac", "b"]);
    check("[]a]", &["]", "a"], &["["]);
    check("x(?=a)*()?+y", &["xy"], &["xay"]);
    check("(?:$)*a", &["a", "ba"], &["b"]);
    check("x(?:(?=a))*y|(?:(?!b){2})+c", &["xy", "c"], &["xa"]);
    check(r"^((?<!b))+(?=(a))?\2$", &["a"], &["", "b"]);
}

// Case 23
#[test]
fn ends_possession_and_separators_are_pythons() {
    check("a$", &["a\n"], &[]);
    check(r"a\Z", &[], &["a\n"]);
    check(r"(a$)\n", &["a\n"], &[]);
    check("a++a", &[], &["aaa"]);
    check(r"\s", &["\u{1c}"], &[]);
}

// Case 24
#[test]
fn what_another_engine_would_take_or_refuse_is_decided_as_python_does() {
    for pattern in [r"\z", r"\p{L}", "x(?i)y", "a**", "(?<n>a)"] {
        assert!(PythonRegex::new(pattern, &mut PatternMemory::default()).is_err(), "{pattern}");
    }
    for pattern in ["a{,2}", "x{", "[[a]", "[a&&b]"] {
        assert!(PythonRegex::new(pattern, &mut PatternMemory::default()).is_ok(), "{pattern}");
    }
}

// R-24
#[test]
fn classes_and_anchors_are_pythons() {
    check(r"^\w$", &["é", "漢", "٣", "½"], &["\u{301}", "‿"]);
    check(r"^\d$", &["1", "٣"], &["½", "a"]);
    check("(a$)\n", &["a\n"], &["ab\n"]);
    check(r"^\s$", &["\u{1c}", "\u{85}", "\u{3000}"], &["\u{200b}"]);
    check("a$", &["a", "a\n"], &["a\n\n", "ab"]);
    check("(?m)a$", &["a\nb"], &["ab"]);
    check("a$\nb", &[], &["a\nb"]);
    check("a$|b", &["a\n", "bc"], &["ac"]);
    check("(a$)+", &["a\n"], &["ab"]);
    check(r"\B", &["ab", " "], &["", "a"]);
    check("a.b", &["a\rb"], &["a\nb"]);
    check("(?s)a.b", &["a\nb"], &["ab"]);
    check("(?i)straße", &["STRAßE"], &["strasse"]);
    check("(?i)^[h-j]I$", &["ıİ", "Hi"], &["kı"]);
    check("(?i)^[^İ]$", &["k"], &["i", "I", "ı"]);
    check("(?ia)^i$", &["I"], &["ı", "İ"]);
    check("(?ia)^[k-k]$", &["K"], &["\u{212a}"]);
    check(r"(?i)(a)\1", &["aA"], &["ab"]);
    check(r"(?a)\bx\b", &["éx"], &["ax"]);
    check(r"(?a)a\B.", &["ab"], &["a-"]);
    check(r"\ud800", &[], &["a", "\u{fffd}"]);
    check("", &["", "a"], &[]);
}

// R-25
#[test]
fn a_search_that_would_never_end_is_given_up() {
    let regex = PythonRegex::new(r"^(?=(a+)+$)b", &mut PatternMemory::default()).unwrap();
    assert!(regex.backtracks());
    let regex = PythonRegex::new(r"(a|aa)+(?=b)\1c", &mut PatternMemory::default()).unwrap();
    assert_eq!(regex.find(&"a".repeat(60)), PythonMatch::Unknown);
    assert_eq!(regex.find(&"x".repeat(LONGEST_BACKTRACKED + 1)), PythonMatch::Unknown);
    assert!(!PythonRegex::new(r"(a+)+$", &mut PatternMemory::default()).unwrap().backtracks());
}

// R-26
#[test]
fn what_is_too_large_is_refused_and_never_compiled() {
    let deep = format!("{}{}", "(".repeat(3_000), ")".repeat(3_000));
    refused(&deep, "too large: groups are nested deeper than 60 at position 61");
    refused("a{65536}", "too large: the most a repeat can count is 65535 at position 1");
    refused(r"(?:\w{1000}){1000}", "too large: compiled it would take more than 10 MiB at position 0");
    refused(&"a".repeat(8_193), "too large: the pattern is longer than 8192 bytes at position 0");
    // Rounds that all succeed never backtrack, so the backtrack limit cannot stop them.
    for bomb in [
        "(?>(?>(?>a?+){65535}){65535}){65535}",
        "(?:(?>(?=a)|b){65535}){65535}",
        "(?=(?:a{999}b){11})c",
        r"(a){65535}\1",
    ] {
        refused(
            bomb,
            "too large: its counted repeats take more than 10000 rounds, one inside the other at position 0",
        );
    }
    check(r"(?<=x)(?:\d{1,3}\.){3}\d{1,3}", &["x10.20.30.40"], &["10.20.30.40"]);
    check(&format!("{}a{}", "(?:".repeat(55), ")".repeat(55)), &["a"], &["b"]);
}

proptest::proptest! {
    // R-11: every input gets an answer.
    #[test]
    fn no_pattern_breaks_the_reader(pattern in r"[ab\\(){}\[\]?*+^$|.,:=!<>PiLmsxua#0-9-]{0,24}", text in "[ab\n 1]{0,12}") {
        if let Ok(regex) = PythonRegex::new(&pattern, &mut PatternMemory::default()) {
            let _ = regex.find(&text);
        }
    }
}

/// Generates expressions from letters, groups, choices and repeats.
fn expressions() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let leaf = proptest::sample::select(vec!["a", "b", "ab", "ba", "-", ".", "[ab]", "^", r"\b", "(?i:ab-)"]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 16, 3, |inner| {
        let joined = |between: &'static str| {
            prop::collection::vec(inner.clone(), 1..4).prop_map(move |parts| parts.join(between))
        };
        let many = proptest::sample::select(vec!["?", "*", "+?", "{2}", "{0,1}"]);
        prop_oneof![
            joined(""),
            joined("|").prop_map(|either| format!("({either})")),
            (inner.clone(), many).prop_map(|(inner, many)| format!("(?:{inner}){many}")),
        ]
    })
}

proptest::proptest! {
    #[test]
    fn looking_for_necessary_texts_first_changes_nothing(pattern in expressions(), text in "[abAB\\- \n]{1,8}") {
        let regex = PythonRegex::new(&pattern, &mut PatternMemory::default()).unwrap();
        let expected = search(&regex.regex, &text);
        proptest::prop_assert_eq!(regex.find(&text), expected, "`{}` in {:?}", pattern, text);
    }
}

#[test]
fn an_expression_is_not_found_without_its_rarest_text() {
    let check = |pattern: &str, expected: &[&str]| {
        let found = Translator::translate(pattern).unwrap().necessary().unwrap_or_default();
        assert_eq!(found, expected, "{pattern}");
    };
    check(r"(?m)^[+ -]?\s*(?:pub\s+)*(?:class|struct|(enum))\s+\w", &["class", "struct", "enum"]);
    check(r"\blet _ =", &["let _ ="]);
    check(r"x\s*(?:/dev/null)+", &["/dev/null"]);
    check(r"(?i)try\s*[:{](?-i:END)", &["END"]);
    check(r"(?i)try\(", &["("]);
    check(r"(?:a|b*)", &[]);
    check(r"\w+(?:ab)?", &[]);
}

// R-26: the backtracking engine would accept each of these pieces alone
#[test]
fn a_pattern_of_many_large_pieces_is_as_large_as_all_of_them() {
    refused(&r"(?=\w{150})".repeat(9), "too large: compiled it would take more than 10 MiB at position 0");
    refused(&r"(?>\w{150})".repeat(9), "too large: compiled it would take more than 10 MiB at position 0");
    assert!(
        PythonRegex::new(r"(?=\w{5})(?<!a)(b)?(?(1)c|d)\1?e++\B(?a:\b\B)$x", &mut PatternMemory::default())
            .is_ok()
    );
}
