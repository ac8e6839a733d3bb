use insta::assert_snapshot;
use saihai_model::Millis;

use super::*;
use crate::diagnostic::{Area, Colour, DocumentPath, to_human};
use crate::document::{Document, Format};

static RULE: Object = Object {
    title: "a rule",
    fields: &[Field::required("condition", ValueKind::Text), Field::new("next", ValueKind::Text)],
};

static MOVEMENT: Object = Object {
    title: "a movement",
    fields: &[
        Field::required("name", ValueKind::Text),
        Field::new("agent", ValueKind::Text).aliases(&["persona"]),
        Field::new("edit", ValueKind::Bool),
        Field::new("permission_mode", ValueKind::OneOf(&["readonly", "edit", "full"])),
        Field::new("times", ValueKind::Integer { min: 1, max: 100 }),
        Field::new("price", ValueKind::Number { min: 0.0, above: true }),
        Field::new("timeout", ValueKind::Duration { zero: false }),
        Field::new("policy", ValueKind::TEXTS),
        Field::new("tools", ValueKind::List(&ValueKind::Text)),
        Field::new("rules", ValueKind::Filled(&ValueKind::Object(&RULE))),
        Field::new("judge", ValueKind::Object(&RULE)),
        Field::new("facets", ValueKind::Map(&ValueKind::Text)),
        Field::new("anything", ValueKind::Any),
        Field::refused("team_leader"),
        Field::refused_because("answer_agent", "is read but never used; remove it"),
        Field::refused_because("parallel", "has no effect here").slug("no-effect"),
    ],
};

fn read(text: &str) -> (Document, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let document = Document::parse(text.as_bytes(), Format::Yaml, "a.yaml", Area::Piece, &mut diagnostics);
    (document.unwrap(), diagnostics)
}

fn check(text: &str) -> String {
    let (document, mut diagnostics) = read(text);
    if let Some(fields) = Fields::read(&document.cursor(), &MOVEMENT, &mut diagnostics) {
        for rule in fields.list("rules") {
            Fields::read(&rule, &RULE, &mut diagnostics);
        }
        fields.object("judge", &RULE, &mut diagnostics);
    }
    to_human(&diagnostics, Colour::Never)
}

#[test]
fn a_misspelt_key_is_an_error_with_the_nearest_known_one() {
    // P-10
    assert_snapshot!(check("name: x\nedti: true\nsomething_else: 1\n"), @"
    error[piece/unknown-key]: unknown key `edti`
    --> a.yaml:2:1
      |
    2 | edti: true
      | ^^^^ not a key of a movement
      = help: did you mean `edit`?

    error[piece/unknown-key]: unknown key `something_else`
    --> a.yaml:3:1
      |
    3 | something_else: 1
      | ^^^^^^^^^^^^^^ not a key of a movement
      = help: a movement has the keys `name`, `agent`, `persona`, `edit`, `permission_mode`, `times`, `price`, `timeout`, `policy`, `tools`, `rules`, `judge`, `facets` and `anything`
    ");
}

#[test]
fn refused_keys_say_why() {
    assert_snapshot!(check("name: x\nteam_leader: 1\nanswer_agent: y\nparallel: []\n"), @"
    error[piece/not-supported]: `team_leader` is not supported
    --> a.yaml:2:1
      |
    2 | team_leader: 1
      | ^^^^^^^^^^^

    error[piece/not-supported]: `answer_agent` is read but never used; remove it
    --> a.yaml:3:1
      |
    3 | answer_agent: y
      | ^^^^^^^^^^^^

    error[piece/no-effect]: `parallel` has no effect here
    --> a.yaml:4:1
      |
    4 | parallel: []
      | ^^^^^^^^
    ");
}

#[test]
fn two_spellings_of_one_key_are_an_error_with_both_places() {
    // P-11
    assert_snapshot!(check("name: x\nagent: a\npersona: b\n"), @"
    error[piece/duplicate-field]: `agent` and `persona` are two spellings of one key
    --> a.yaml:3:1
      |
    3 | persona: b
      | ^^^^^^^ given again
    ::: a.yaml:2:1
      |
    2 | agent: a
      | ----- first given here
    ");
}

#[test]
fn a_missing_key_is_told_at_its_object() {
    assert_snapshot!(check("edit: true\nrules:\n  - next: x\n  - {}\n"), @"
    error[piece/missing-key]: a movement needs `name`
    --> a.yaml:1:1
      |
    1 | edit: true
      | ^^^^^^^^^^ `name` is missing here

    error[piece/missing-key]: a rule needs `condition`
    --> a.yaml:3:5
      |
    3 |   - next: x
      |     ^^^^^^^ `condition` is missing here

    error[piece/missing-key]: a rule needs `condition`
    --> a.yaml:4:5
      |
    4 |   - {}
      |     ^^ `condition` is missing here
    ");
}

#[test]
fn values_of_the_wrong_kind_come_with_what_was_probably_meant() {
    // P-9, P-10
    assert_snapshot!(check("name: 12\nedit: yes\ntimes: '3'\ntimeout: []\npolicy: {}\ntools: Read\nrules: {}\njudge: x\nfacets: []\n"), @r#"
    error[piece/bad-type]: `name` must be text, not a whole number
    --> a.yaml:1:7
      |
    1 | name: 12
      |       ^^ a whole number
      = help: write it in quotes: `"12"`

    error[piece/bad-type]: `edit` must be `true` or `false`, not text
    --> a.yaml:2:7
      |
    2 | edit: yes
      |       ^^^ text
      = help: write `true`

    error[piece/bad-type]: `times` must be a whole number, not text
    --> a.yaml:3:8
      |
    3 | times: '3'
      |        ^^^ text
      = help: write `3` without quotes

    error[piece/bad-type]: `timeout` must be a duration such as "90s", "30m" or "2h", not a list
    --> a.yaml:4:10
      |
    4 | timeout: []
      |          ^^ a list

    error[piece/bad-type]: `policy` must be text or a list of text, not a mapping
    --> a.yaml:5:9
      |
    5 | policy: {}
      |         ^^ a mapping

    error[piece/bad-type]: `tools` must be a list of text, not text
    --> a.yaml:6:8
      |
    6 | tools: Read
      |        ^^^^ text
      = help: write `[Read]`

    error[piece/bad-type]: `rules` must be a list of mappings, not a mapping
    --> a.yaml:7:8
      |
    7 | rules: {}
      |        ^^ a mapping

    error[piece/bad-type]: `judge` must be a mapping, not text
    --> a.yaml:8:8
      |
    8 | judge: x
      |        ^ text

    error[piece/bad-type]: `facets` must be a mapping, not a list
    --> a.yaml:9:9
      |
    9 | facets: []
      |         ^^ a list
    "#);
}

#[test]
fn nothing_and_words_where_something_else_is_wanted_are_told() {
    assert_snapshot!(check("name:\nedit: no\ntimes: many\nprice: x\npolicy: 3\npermission_mode: true\n"), @r#"
    error[piece/bad-type]: `name` must be text, but nothing is given
    --> a.yaml:1:5
      |
    1 | name:
      |     ^ no value

    error[piece/bad-type]: `edit` must be `true` or `false`, not text
    --> a.yaml:2:7
      |
    2 | edit: no
      |       ^^ text
      = help: write `false`

    error[piece/bad-type]: `times` must be a whole number, not text
    --> a.yaml:3:8
      |
    3 | times: many
      |        ^^^^ text
      = help: write a whole number, between 1 and 100

    error[piece/bad-type]: `price` must be a number, not text
    --> a.yaml:4:8
      |
    4 | price: x
      |        ^ text

    error[piece/bad-type]: `policy` must be text or a list of text, not a whole number
    --> a.yaml:5:9
      |
    5 | policy: 3
      |         ^ a whole number
      = help: write it in quotes: `"3"`

    error[piece/bad-type]: `permission_mode` must be `readonly`, `edit` or `full`, not true or false
    --> a.yaml:6:18
      |
    6 | permission_mode: true
      |                  ^^^^ true or false
    "#);
    assert_snapshot!(check("- name: x\n"), @"
    error[piece/bad-type]: the document must be a mapping, not a list
    --> a.yaml:1:1
      |
    1 | - name: x
      | ^^^^^^^^^ a list
    ");
}

#[test]
fn values_out_of_range_or_set_say_what_is_allowed() {
    // P-10
    assert_snapshot!(check("name: x\npermission_mode: readonyl\ntimes: 0\nprice: 0\ntimeout: 90x\nrules: []\n"), @r#"
    error[piece/bad-value]: `permission_mode` must be `readonly`, `edit` or `full`, not `readonyl`
    --> a.yaml:2:18
      |
    2 | permission_mode: readonyl
      |                  ^^^^^^^^ not one of them
      = help: did you mean `readonly`?

    error[piece/bad-value]: `times` must be between 1 and 100, not `0`
    --> a.yaml:3:8
      |
    3 | times: 0
      |        ^ not allowed

    error[piece/bad-value]: `price` must be a number greater than 0, not `0`
    --> a.yaml:4:8
      |
    4 | price: 0
      |        ^ not allowed

    error[piece/bad-value]: `timeout` is not a duration: `90x`
    --> a.yaml:5:10
      |
    5 | timeout: 90x
      |          ^^^ here
      = help: a duration is written as "90s", "30m", "2h" or a whole number of seconds

    error[piece/bad-value]: `rules` must be a list with at least one item, not `[]`
    --> a.yaml:6:8
      |
    6 | rules: []
      |        ^^ not allowed
    "#);
    assert_snapshot!(check("name: x\ntimes: 99999999999999999999999999999999999999999999\nprice: .inf\ntimeout: 0\n"), @"
    error[piece/bad-type]: `times` must be a whole number, not a number
    --> a.yaml:2:8
      |
    2 | times: 99999999999999999999999999999999999999999999
      |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a number
      = help: write a whole number, between 1 and 100

    error[piece/bad-value]: `price` must be a number greater than 0, not `.inf`
    --> a.yaml:3:8
      |
    3 | price: .inf
      |        ^^^^ not allowed

    error[piece/bad-value]: `timeout` must be longer than 0, not `0`
    --> a.yaml:4:10
      |
    4 | timeout: 0
      |          ^ not allowed
    ");
}

#[test]
fn every_wrong_item_is_told() {
    assert_snapshot!(check("name: x\ntools: [a, 1, true]\npolicy: [a, {}]\nfacets: {a: x, b: 1, c: []}\nrules: [x, {condition: y, nxt: z}]\n"), @r#"
    error[piece/bad-type]: `tools[1]` must be text, not a whole number
    --> a.yaml:2:12
      |
    2 | tools: [a, 1, true]
      |            ^ a whole number
      = help: write it in quotes: `"1"`

    error[piece/bad-type]: `tools[2]` must be text, not true or false
    --> a.yaml:2:15
      |
    2 | tools: [a, 1, true]
      |               ^^^^ true or false
      = help: write it in quotes: `"true"`

    error[piece/bad-type]: `policy[1]` must be text, not a mapping
    --> a.yaml:3:13
      |
    3 | policy: [a, {}]
      |             ^^ a mapping

    error[piece/bad-type]: `b` must be text, not a whole number
    --> a.yaml:4:19
      |
    4 | facets: {a: x, b: 1, c: []}
      |                   ^ a whole number
      = help: write it in quotes: `"1"`

    error[piece/bad-type]: `c` must be text, not a list
    --> a.yaml:4:25
      |
    4 | facets: {a: x, b: 1, c: []}
      |                         ^^ a list

    error[piece/bad-type]: `rules[0]` must be a mapping, not text
    --> a.yaml:5:9
      |
    5 | rules: [x, {condition: y, nxt: z}]
      |         ^ text

    error[piece/unknown-key]: unknown key `nxt`
    --> a.yaml:5:27
      |
    5 | rules: [x, {condition: y, nxt: z}]
      |                           ^^^ not a key of a rule
      = help: did you mean `next`?
    "#);
}

#[test]
fn what_is_right_can_be_taken_out_with_its_place() {
    let text = "name: x\npersona: p\nedit: true\ntimes: 3\nprice: 0.5\ntimeout: 30m\npolicy: one\ntools: [a, b]\nfacets: {k: v}\nanything: [1]\n";
    let (document, mut diagnostics) = read(text);
    let fields = Fields::read(&document.cursor(), &MOVEMENT, &mut diagnostics).unwrap();
    assert!(diagnostics.is_empty());
    let agent = fields.text("agent").unwrap();
    assert_eq!((agent.value.as_str(), agent.at.name().as_str()), ("p", "a.yaml:2:10"));
    assert_eq!(fields.spelling("agent"), Some("persona"));
    assert_eq!(fields.key("agent").unwrap().name(), "a.yaml:2:1");
    assert!(fields.bool("edit").unwrap().value);
    assert_eq!(fields.count("times").unwrap().value, 3);
    assert_eq!(fields.number("price").unwrap().value, 0.5);
    assert_eq!(fields.duration("timeout").unwrap().value, Millis::seconds(1800));
    let texts = |name| fields.texts(name).unwrap().into_iter().map(|text| text.value).collect::<Vec<_>>();
    assert_eq!(
        (texts("policy"), texts("tools")),
        (vec!["one".to_owned()], vec!["a".to_owned(), "b".to_owned()])
    );
    assert_eq!(fields.map("facets")[0].1.path().to_string(), "facets.k");
    assert_eq!(fields.any("anything").unwrap().path().to_string(), "anything");
    assert!(!fields.has("rules") && fields.list("rules").is_empty());
}

#[test]
fn a_wrong_value_is_given_but_cannot_be_taken_out() {
    let (document, mut diagnostics) = read("name: x\nedit: yes\n");
    let fields = Fields::read(&document.cursor(), &MOVEMENT, &mut diagnostics).unwrap();
    assert!(fields.has("edit") && !fields.is_right("edit"));
    assert_eq!(fields.bool("edit"), None);
}

#[test]
fn durations_are_seconds_minutes_or_hours() {
    // K-6
    let check = |text: &str, expected: Result<u64, BadDuration>| {
        assert_eq!(parse_duration(text), expected.map(Millis::seconds), "{text}");
    };
    check("90s", Ok(90));
    check("30m", Ok(1800));
    check("2h", Ok(7200));
    check("45", Ok(45));
    check("0s", Ok(0));
    for wrong in ["", "s", "1d", "-1s", "1.5h", "1 h", "1h30m", "一s", "+1s"] {
        check(wrong, Err(BadDuration::Malformed));
    }
    check("99999999999999999999h", Err(BadDuration::TooLong));
    check("9999999h", Err(BadDuration::TooLong));
}

#[test]
fn a_document_path_leads_back_to_its_place() {
    let (document, _) = read("a:\n  - b: x\n    c: y\n");
    let path = DocumentPath::root().key("a").index(0).key("c");
    assert_eq!(document.locate(&path).name(), "a.yaml:3:8");
    assert_eq!(document.locate(&path.key("deeper")).name(), "a.yaml:3:8");
}

/// Counts the comparisons made for spelling suggestions.
fn compared(text: &str) -> (usize, Diagnostics) {
    let (document, mut diagnostics) = read(text);
    let before = crate::diagnostic::COMPARED.get();
    let fields = Fields::read(&document.cursor(), &MOVEMENT, &mut diagnostics);
    for word in fields.iter().flat_map(|fields| fields.list("rules")) {
        word.must_be(&ValueKind::OneOf(&["readonly", "edit", "full"]), &mut diagnostics);
    }
    (crate::diagnostic::COMPARED.get() - before, diagnostics)
}

// P9: a file full of mistakes fails as quickly as one with a few
#[test]
fn what_was_meant_is_not_looked_for_once_nobody_will_be_told() {
    let keys = |count: usize| (0..count).map(|n| format!("kez{n}: 1\n")).collect::<String>();
    let (few, _) = compared(&keys(10));
    assert_eq!(few, 10 * MOVEMENT.known().count());
    let (many, diagnostics) = compared(&keys(5000));
    assert_eq!((diagnostics.len(), diagnostics.left_off()), (Diagnostics::MOST, 4001));
    assert_eq!(many, Diagnostics::MOST * MOVEMENT.known().count());
    let words = |count: usize| format!("name: x\nrules:\n{}", "- redonly\n".repeat(count));
    let (few, _) = compared(&words(10));
    assert_eq!(few, 10 * 3);
    let (many, diagnostics) = compared(&words(5000));
    assert_eq!((diagnostics.len(), diagnostics.left_off()), (Diagnostics::MOST, 4000));
    assert_eq!(many, Diagnostics::MOST * 3);
}
