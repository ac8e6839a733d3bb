use saihai_model::ProgramExit;

use super::*;

#[test]
fn the_example_of_the_manual_is_read_whole() {
    // C-75
    let text = r#"script: 1
replies:
  - { for: plan, text: "計画を立てました。\n[STEP:0]", usage: { input: 900, output: 120 } }
  - { for: implement, visit: 1, fail: { class: rate_limited, message: slow down, retry_after: 2 } }
  - { for: implement, visit: 1, writes: [{ path: src/a.txt, content: "x\n" }], text: "done [STEP:0]" }
  - { for: reviewers/security, times: "*", prompt: "src/a\\.txt", structured: { approved: true } }
"#;
    assert_snapshot!(replies(&script(text)), @r#"
    {"origin":"s:3:5","target":{"judge":false,"stage":"plan","turn":null},"text":"計画を立てました。\n[STEP:0]","usage":{"input":900,"output":120}}
    {"fail":{"class":"rate_limited","message":"slow down","retry_after":2000,"until":null},"origin":"s:4:5","target":{"judge":false,"stage":"implement","turn":null},"visits":{"these":[1]}}
    {"origin":"s:5:5","target":{"judge":false,"stage":"implement","turn":null},"text":"done [STEP:0]","visits":{"these":[1]},"writes":[{"content":"x\n","path":"src/a.txt"}]}
    {"origin":"s:6:5","prompt":"src/a\\.txt","structured":{"approved":true},"target":{"judge":false,"stage":"reviewers","turn":"security"},"times":"always"}
    "#);
}

#[test]
fn every_key_is_read() {
    let text = "script: 1\nstrict: false\nreplies:\n- for: plan#judge\n  visit: \"2..\"\n  times: 3\n  text: t\n  structured: [1]\n  session: s\n  usage: {input: 1, output: 2, cached: 3, reasoning: 4}\n  cost: 0.25\n  tools_used: [{name: Read, input: {a: 1}, output: x, duration_ms: 5}]\n  delay: 2s\n  edits: [{path: a, find: b, replace: ''}]\n  runs: [{argv: [make, test]}, {argv: [x], exit: 1}]\n- hang: true\n- for: reviewers\n  visit: [1, 3]\n  fail: {class: quota, message: m, until: '2026-02-06T14:00:00+09:00'}\n";
    let script = script(text);
    assert!(!script.strict && !script.lenient_roles);
    let [first, second, third] = &script.replies[..] else { panic!("three replies") };
    assert_eq!(first.origin, "s:4:3");
    assert!(first.target.as_ref().unwrap().judge);
    assert_eq!((&first.visits, first.times), (&Some(Visits::From(2)), Times::Exactly(3)));
    assert_eq!((first.cost, first.delay), (Some(Usd(250_000)), Some(Millis::seconds(2))));
    assert_eq!((first.usage.tokens(), first.usage.cached, first.usage.reasoning), (3, Some(3), Some(4)));
    assert_eq!(first.tools_used[0].duration_ms, 5);
    assert_eq!((first.edits.len(), first.runs[0].exit, first.runs[1].exit), (1, 0, 1));
    assert!(second.hang && second.target.is_none());
    assert_eq!(third.visits, Some(Visits::These(vec![1, 3])));
    let until = Some(Moment(1_770_354_000_000));
    let fail =
        ScriptFailure { class: FailureClass::Quota, message: "m".to_owned(), retry_after: None, until };
    assert_eq!(third.fail, Some(fail));
}

#[test]
fn json_says_the_same() {
    let (json, wrong) =
        read(r#"{"script": 1, "replies": [{"for": "plan", "text": "x", "times": "*"}]}"#, Format::Json);
    assert_eq!(wrong, "");
    let yaml = script("script: 1\nreplies:\n- {for: plan, text: x, times: '*'}\n");
    let origin = |mut script: Script| {
        script.replies[0].origin.clear();
        script
    };
    assert_eq!(json.map(origin), Some(origin(yaml)));
}

#[test]
fn four_mistakes_are_four_diagnostics() {
    // Connections case 37
    let text = "script: 1\nreplies:\n- for: plan\n  text: x\n  fail: {class: auth, message: m}\n- {visit: 0, text: x}\n- {for: implment, text: x}\n- {prompt: '(', text: x}\n";
    assert_snapshot!(wrong(text), @"
    error[script/conflict]: `fail` excludes `text`
    --> s:4:3
      |
    4 |   text: x
      |   ^^^^ never said
    ::: s:5:3
      |
    5 |   fail: {class: auth, message: m}
      |   ---- it fails

    error[script/bad-value]: `visit` must be at least 1, not `0`
    --> s:6:11
      |
    6 | - {visit: 0, text: x}
      |           ^ not allowed

    error[script/unknown-stage]: no stage or turn is named `implment`
    --> s:7:9
      |
    7 | - {for: implment, text: x}
      |         ^^^^^^^^ no agent is called by this name
      = help: did you mean `implement`?

    error[script/bad-regex]: `prompt` is not a regular expression: unclosed group
    --> s:8:12
      |
    8 | - {prompt: '(', text: x}
      |            ^^^ this pattern
    ");
}

#[test]
fn misspelt_and_missing_keys_are_told() {
    // C-75
    let text = "scrpt: 1\nreplies:\n- {four: plan, txt: x}\n- {fail: {class: rate_limitted}}\n- {writes: [{path: a}], edits: [{find: ''}], runs: [{argv: []}]}\n- {usage: {inputs: 1}, tools_used: [{}]}\n- x\n";
    assert_snapshot!(wrong(text), @"
    error[script/unknown-key]: unknown key `scrpt`
    --> s:1:1
      |
    1 | scrpt: 1
      | ^^^^^ not a key of a script
      = help: did you mean `script`?

    error[script/unknown-key]: unknown key `four`
    --> s:3:4
      |
    3 | - {four: plan, txt: x}
      |    ^^^^ not a key of a reply
      = help: did you mean `for`?

    error[script/unknown-key]: unknown key `txt`
    --> s:3:16
      |
    3 | - {four: plan, txt: x}
      |                ^^^ not a key of a reply
      = help: did you mean `text`?

    error[script/missing-key]: a failure needs `message`
    --> s:4:10
      |
    4 | - {fail: {class: rate_limitted}}
      |          ^^^^^^^^^^^^^^^^^^^^^^ `message` is missing here

    error[script/bad-value]: `class` must be `transient`, `rate_limited`, `quota`, `auth`, `bad_request`, `missing`, `session_lost`, `refused`, `cancelled` or `crashed`, not `rate_limitted`
    --> s:4:18
      |
    4 | - {fail: {class: rate_limitted}}
      |                  ^^^^^^^^^^^^^ not one of them
      = help: did you mean `rate_limited`?

    error[script/missing-key]: a write needs `content`
    --> s:5:13
      |
    5 | - {writes: [{path: a}], edits: [{find: ''}], runs: [{argv: []}]}
      |             ^^^^^^^^^ `content` is missing here

    error[script/missing-key]: an edit needs `path`
    --> s:5:33
      |
    5 | - {writes: [{path: a}], edits: [{find: ''}], runs: [{argv: []}]}
      |                                 ^^^^^^^^^^ `path` is missing here

    error[script/missing-key]: an edit needs `replace`
    --> s:5:33
      |
    5 | - {writes: [{path: a}], edits: [{find: ''}], runs: [{argv: []}]}
      |                                 ^^^^^^^^^^ `replace` is missing here

    error[script/bad-value]: `find` must not be empty; it must occur once
    --> s:5:40
      |
    5 | - {writes: [{path: a}], edits: [{find: ''}], runs: [{argv: []}]}
      |                                        ^^

    error[script/bad-value]: `argv` must be a list with at least one item, not `[]`
    --> s:5:60
      |
    5 | - {writes: [{path: a}], edits: [{find: ''}], runs: [{argv: []}]}
      |                                                            ^^ not allowed

    error[script/unknown-key]: unknown key `inputs`
    --> s:6:12
      |
    6 | - {usage: {inputs: 1}, tools_used: [{}]}
      |            ^^^^^^ not a key of `usage`
      = help: did you mean `input`?

    error[script/missing-key]: a tool that was used needs `name`
    --> s:6:37
      |
    6 | - {usage: {inputs: 1}, tools_used: [{}]}
      |                                     ^^ `name` is missing here

    error[script/bad-type]: `replies[4]` must be a mapping, not text
    --> s:7:3
      |
    7 | - x
      |   ^ text
    ");
}

#[test]
fn values_that_cannot_be_meant_are_told() {
    let text = "script: 2\nreplies:\n- {visit: '..2', times: 0}\n- {visit: [], times: x}\n- {visit: [1, 0]}\n- {visit: 1.5, delay: soon, cost: -1}\n";
    assert_snapshot!(wrong(text), @r#"
    error[script/bad-value]: `script` must be `1`, not `2`
    --> s:1:9
      |
    1 | script: 2
      |         ^ not allowed

    error[script/bad-value]: `visit` must be a number from 1, a list of them, or a text such as "2.."
    --> s:3:11
      |
    3 | - {visit: '..2', times: 0}
      |           ^^^^^ none of these

    error[script/bad-value]: `times` must be at least 1, not `0`
    --> s:3:25
      |
    3 | - {visit: '..2', times: 0}
      |                         ^ not allowed

    error[script/bad-value]: `visit` must be a number from 1, a list of them, or a text such as "2.."
    --> s:4:11
      |
    4 | - {visit: [], times: x}
      |           ^^ none of these

    error[script/bad-value]: `times` must be a whole number or `*`, not `x`
    --> s:4:22
      |
    4 | - {visit: [], times: x}
      |                      ^ not allowed

    error[script/bad-value]: `visit[1]` must be at least 1, not `0`
    --> s:5:15
      |
    5 | - {visit: [1, 0]}
      |               ^ not allowed

    error[script/bad-value]: `visit` must be a number from 1, a list of them, or a text such as "2.."
    --> s:6:11
      |
    6 | - {visit: 1.5, delay: soon, cost: -1}
      |           ^^^ none of these

    error[script/bad-value]: `delay` is not a duration: `soon`
    --> s:6:23
      |
    6 | - {visit: 1.5, delay: soon, cost: -1}
      |                       ^^^^ here
      = help: a duration is written as "90s", "30m", "2h" or a whole number of seconds

    error[script/bad-value]: `cost` must be a number of at least 0, not `-1`
    --> s:6:35
      |
    6 | - {visit: 1.5, delay: soon, cost: -1}
      |                                   ^^ not allowed
    "#);
}

#[test]
fn replies_that_contradict_themselves_are_told() {
    let text = "script: 1\nreplies:\n- {structured: [.inf], fail: {class: quota, message: m, until: tomorrow}}\n- {prompt: '(?=x)', text: x}\n- {hang: true, text: x}\n- {for: reviewers/style/x}\n- {for: ''}\n";
    assert_snapshot!(wrong(text), @r#"
    error[script/conflict]: `fail` excludes `structured`
    --> s:3:4
      |
    3 | - {structured: [.inf], fail: {class: quota, message: m, until: tomorrow}}
      |    ^^^^^^^^^^ never said
    ::: s:3:24
      |
    3 | - {structured: [.inf], fail: {class: quota, message: m, until: tomorrow}}
      |                        ---- it fails

    error[script/bad-value]: infinity and `.nan` cannot be written as JSON
    --> s:3:16
      |
    3 | - {structured: [.inf], fail: {class: quota, message: m, until: tomorrow}}
      |                ^^^^^^ contains such a number

    error[script/bad-value]: `until` must be a time such as "2026-02-06T14:00:00Z", not `tomorrow`
    --> s:3:64
      |
    3 | - {structured: [.inf], fail: {class: quota, message: m, until: tomorrow}}
      |                                                                ^^^^^^^^ no such time

    error[script/bad-regex]: `prompt` is not a regular expression: look-around, including look-ahead and look-behind, is not supported
    --> s:4:12
      |
    4 | - {prompt: '(?=x)', text: x}
      |            ^^^^^^^ this pattern
      = help: look-around and back-references are not supported

    warning[script/no-effect]: `text` has no effect on a reply that hangs
    --> s:5:16
      |
    5 | - {hang: true, text: x}
      |                ^^^^
    ::: s:5:4
      |
    5 | - {hang: true, text: x}
      |    ---- it hangs

    error[script/unknown-stage]: no stage or turn is named `reviewers/style/x`
    --> s:6:9
      |
    6 | - {for: reviewers/style/x}
      |         ^^^^^^^^^^^^^^^^^ no agent is called by this name
      = help: did you mean `reviewers/style`?

    error[script/unknown-stage]: no stage or turn is named ``
    --> s:7:9
      |
    7 | - {for: ''}
      |         ^^ no agent is called by this name
    "#);
}

#[test]
fn paths_that_lead_out_are_refused() {
    // Connections case 38
    let text = "script: 1\nreplies:\n- writes: [{path: ../x, content: ''}, {path: /x, content: ''}, {path: a/../../x, content: ''}, {path: '', content: ''}]\n  edits: [{path: ~/x, find: a, replace: b}]\n";
    assert_snapshot!(wrong(text), @"
    error[script/unsafe-path]: `../x` leads out of the working directory
    --> s:3:19
      |
    3 | - writes: [{path: ../x, content: ''}, {path: /x, content: ''}, {path: a/../../x, content: ''}, {path: '', content: ''}]
      |                   ^^^^ not allowed
      = help: a scripted agent writes only below the directory it works in

    error[script/unsafe-path]: `/x` leads out of the working directory
    --> s:3:46
      |
    3 | - writes: [{path: ../x, content: ''}, {path: /x, content: ''}, {path: a/../../x, content: ''}, {path: '', content: ''}]
      |                                              ^^ not allowed
      = help: a scripted agent writes only below the directory it works in

    error[script/unsafe-path]: `a/../../x` leads out of the working directory
    --> s:3:71
      |
    3 | - writes: [{path: ../x, content: ''}, {path: /x, content: ''}, {path: a/../../x, content: ''}, {path: '', content: ''}]
      |                                                                       ^^^^^^^^^ not allowed
      = help: a scripted agent writes only below the directory it works in

    error[script/bad-value]: `path` must be the path of a file, not `''`
    --> s:3:103
      |
    3 | …h: /x, content: ''}, {path: a/../../x, content: ''}, {path: '', content: ''}]
      |                                                              ^^ not allowed

    error[script/unsafe-path]: `~/x` leads out of the working directory
    --> s:4:18
      |
    4 |   edits: [{path: ~/x, find: a, replace: b}]
      |                  ^^^ not allowed
      = help: a scripted agent writes only below the directory it works in
    ");
}

#[test]
fn without_a_workflow_names_are_only_taken_apart() {
    let check = |name: &str, expected: Option<(&str, Option<&str>, bool)>| {
        let text = format!("script: 1\nreplies:\n- {{for: '{name}', text: x}}\n");
        let mut diagnostics = Diagnostics::new();
        let document =
            Document::parse(text.as_bytes(), Format::Yaml, "s", Area::Script, &mut diagnostics).unwrap();
        let target = read_script(&document, None).0.and_then(|script| script.replies[0].target.clone());
        let found = target
            .map(|target| (target.stage.to_string(), target.turn.map(|turn| turn.to_string()), target.judge));
        let expected =
            expected.map(|(stage, turn, judge)| (stage.to_owned(), turn.map(str::to_owned), judge));
        assert_eq!(found, expected, "{name}");
    };
    check("plan", Some(("plan", None, false)));
    check("a/b", Some(("a", Some("b"), false)));
    check("a#judge", Some(("a", None, true)));
    check("a/b#judge", Some(("a", Some("b"), true)));
    check("/b", None);
    check("a/", None);
    check("#judge", None);
}

#[test]
fn the_classes_are_those_of_the_model() {
    assert_eq!(tables::CLASSES, FailureClass::ALL.map(FailureClass::name));
}

// C-75: additions of `saihai record`.
#[test]
fn a_task_and_what_is_expected_are_read() {
    let digest = "0123456789abcdef".repeat(4);
    let text = format!(
        "script: 1\nreplies: []\ntask: |\n  fix it\nexpect:\n  outcome: completed\n  stages: [plan, implement, plan]\n  prompts: [{{call: plan.2.1.1, sha256: {digest}}}]\n"
    );
    let script = script(&text);
    assert_eq!(script.task.as_deref(), Some("fix it\n"));
    let call = saihai_model::CallId { stage: "plan".into(), visit: 2, round: 1, n: 1 };
    let expected = saihai_model::Expectation {
        outcome: Some("completed".to_owned()),
        stages: Some(["plan", "implement", "plan"].map(StageId::from).to_vec()),
        prompts: vec![saihai_model::ExpectedPrompt { call, sha256: digest }],
    };
    assert_eq!(script.expect, Some(expected));
}

#[test]
fn mistakes_in_what_is_expected_have_their_places() {
    let text = "script: 1\nreplies: []\nexpect:\n  outcome: complete\n  stage: [plan]\n  prompts: [{call: plan, sha256: 12ab}, {call: plan.1.1.1}]\n";
    assert_snapshot!(wrong(text), @"
    error[script/bad-value]: `outcome` must be `completed`, `failed`, `declined`, `cancelled`, `incomplete` or `undelivered`, not `complete`
    --> s:4:12
      |
    4 |   outcome: complete
      |            ^^^^^^^^ not one of them
      = help: did you mean `completed`?

    error[script/unknown-key]: unknown key `stage`
    --> s:5:3
      |
    5 |   stage: [plan]
      |   ^^^^^ not a key of an expectation
      = help: did you mean `stages`?

    error[script/bad-value]: `call` must be written as `stage.visit.round.number`, not `plan`
    --> s:6:20
      |
    6 |   prompts: [{call: plan, sha256: 12ab}, {call: plan.1.1.1}]
      |                    ^^^^ for example `plan.1.1.1`

    error[script/bad-value]: `sha256` must be 64 digits of 0 to 9 and a to f
    --> s:6:34
      |
    6 |   prompts: [{call: plan, sha256: 12ab}, {call: plan.1.1.1}]
      |                                  ^^^^ no such digest

    error[script/missing-key]: an expected prompt needs `sha256`
    --> s:6:41
      |
    6 |   prompts: [{call: plan, sha256: 12ab}, {call: plan.1.1.1}]
      |                                         ^^^^^^^^^^^^^^^^^^ `sha256` is missing here
    ");
}

#[test]
fn the_words_for_outcomes_are_those_of_the_model() {
    use saihai_model::Ending;
    let endings = [
        Ending::Completed("".into()),
        Ending::Failed("".into()),
        Ending::Declined,
        Ending::Cancelled,
        Ending::Incomplete("".into()),
        Ending::Undelivered,
    ];
    assert_eq!(endings.map(|ending| ending.outcome()), super::super::tables::OUTCOMES);
}

// U-9
#[test]
fn the_end_of_a_program_is_an_exit_code_or_a_timeout_and_agents_have_none() {
    let turns = |turn| testing::stage(vec![turn], &[]);
    let program = testing::running(testing::turn("tests", Vec::new()), "make test");
    let workflow = testing::workflow(vec![
        ("plan", turns(testing::turn("plan", Vec::new()))),
        ("tests", turns(program)),
    ]);
    let read = |replies: &str| {
        let text = format!("script: 1\nreplies: {replies}\n");
        let mut diagnostics = Diagnostics::new();
        let document = Document::parse(text.as_bytes(), Format::Yaml, "s", Area::Script, &mut diagnostics);
        let (script, wrong) = read_script(&document.unwrap(), Some(&workflow));
        let exits =
            script.iter().flat_map(|script| &script.replies).map(|reply| reply.exit).collect::<Vec<_>>();
        (exits, wrong.iter().map(|one| one.message.clone()).collect::<Vec<_>>())
    };
    let (exits, wrong) =
        read("[{for: tests, exit: 101, text: x}, {for: tests, exit: timeout}, {for: tests, text: fine}]");
    assert_eq!(exits, [Some(ProgramExit::Code(101)), Some(ProgramExit::Timeout), None]);
    assert_eq!(wrong, Vec::<String>::new());
    let no_program = "`exit` has no effect: this reply is not for a movement that runs a program";
    assert_eq!(read("[{for: plan, exit: 1}, {exit: 0, text: x}]").1, [no_program; 2]);
    assert_eq!(read("[{for: tests, exit: 256}]").1.len(), 1);
}
