use insta::assert_snapshot;

use crate::rehearse::tests::build::flow;
use crate::rehearse::tests::rehearsed;
use saihai_config::script_file;

// C-77: `--write-script` saves the replies as a script that parses back.
#[test]
fn a_generated_script_is_written_as_a_file() {
    let workflow = flow(
        20,
        "
        plan = done -> review
        review [a b] = all ok -> COMPLETE | ?minor -> plan",
    );
    let rehearsal = rehearsed(&workflow);
    let text = script_file(&rehearsal.runs[0].script);
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
    assert_snapshot!(text, @r#"
    {
      "script": 1,
      "strict": true,
      "replies": [
        {"for":"plan","text":"Rehearsed reply 1.\n\n[STEP:0]","visit":1},
        {"for":"review/a","text":"Rehearsed reply 2.","visit":1},
        {"for":"review/b","text":"Rehearsed reply 3.","visit":1},
        {"for":"review#judge","text":"Rehearsed answer 4.\n\n[STEP:NONE]","visit":1},
        {"for":"review#judge","text":"Rehearsed answer 5.\n\n[STEP:NONE]","visit":1},
        {"for":"review#judge","text":"Rehearsed answer 6.\n\n[STEP:0]","visit":1},
        {"for":"plan","text":"Rehearsed reply 7.","visit":2},
        {"for":"plan#judge","text":"Rehearsed answer 8.\n\n[STEP:NONE]","visit":2}
      ]
    }
    "#);
}
