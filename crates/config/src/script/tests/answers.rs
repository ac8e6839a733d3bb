//! Gate answers. C-75.

use insta::assert_snapshot;

use super::{script, wrong};

// C-75
#[test]
fn the_first_answer_that_fits_is_given_at_a_gate() {
    let script = script(
        r#"
script: 1
replies: []
answers:
  - {for: approve, visit: 1, answer: "no", text: not yet}
  - {for: approve, visit: "2..", answer: yes}
  - {for: "plan/input[1]", text: Use SQLite.}
"#,
    );
    let said = |gate: &str, visit| {
        let answer = script.answers.iter().find(|answer| answer.is_for(&gate.into(), visit));
        answer.map(|answer| (answer.label.as_str(), answer.text.as_deref()))
    };
    assert_eq!(said("approve", 1), Some(("no", Some("not yet"))));
    assert_eq!(said("approve", 3), Some(("yes", None)));
    assert_eq!(said("plan/input[1]", 7), Some(("answered", Some("Use SQLite."))));
    assert_eq!(said("plan", 1), None);
}

// C-75
#[test]
fn an_answer_must_be_one_that_its_gate_takes() {
    let text = "
script: 1
replies: []
answers:
  - {for: aprove, answer: yes}
  - {for: approve, text: go on}
  - {for: 'plan/input[1]', answer: yes}
  - {for: 'plan/input[1]'}
  - {for: 'plan/input[1]', text: a text that is far too long}
  - {for: plan, text: x}
";
    assert_snapshot!(wrong(text), @"
    error[script/unknown-stage]: no gate is named `aprove`
    --> s:5:11
      |
    5 |   - {for: aprove, answer: yes}
      |           ^^^^^^ no agent is called here
      = help: did you mean `approve`?

    error[script/bad-value]: this gate takes `answer: yes` or `answer: no`
    --> s:6:5
      |
    6 |   - {for: approve, text: go on}
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^ cannot be given

    error[script/bad-value]: this gate takes a `text` and no `answer`
    --> s:7:5
      |
    7 |   - {for: 'plan/input[1]', answer: yes}
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ cannot be given

    error[script/bad-value]: this gate takes a `text`
    --> s:8:5
      |
    8 |   - {for: 'plan/input[1]'}
      |     ^^^^^^^^^^^^^^^^^^^^^^ cannot be given

    error[script/bad-value]: this text is longer than the gate takes
    --> s:9:5
      |
    9 |   - {for: 'plan/input[1]', text: a text that is far too long}
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ cannot be given

    error[script/unknown-stage]: no gate is named `plan`
     --> s:10:11
       |
    10 |   - {for: plan, text: x}
       |           ^^^^ no agent is called here
    ");
}
