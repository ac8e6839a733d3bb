//! Warnings about hats (H-64).

use super::{Project, RING, hat};

/// Compares the severity, code and path of all diagnostics.
#[track_caller]
fn check(hats: &str, expected: &[&str]) {
    let said = Project::new(hats).said();
    let short = |line: &str| line.split(' ').take(3).collect::<Vec<_>>().join(" ");
    assert_eq!(said.lines().map(short).collect::<Vec<_>>(), expected, "{said}");
}

#[test]
fn the_example_of_the_design_has_two_topics_that_nobody_takes() {
    let example = r#"
hats:
  tester:
    name: "🧪 Tester"
    triggers: ["task.start", "code.written"]
    publishes: ["tests.failing", "tests.passing"]
    instructions: |
      あなたはテストエンジニアです。
      まず失敗するテストを書き、実装後はテストを実行して結果を報告してください。
"#;
    let topic = |index: u8| format!("warning hats/unhandled-topic hats.tester.publishes[{index}]");
    check(example, &[&topic(0), &topic(1)]);
    assert_eq!(Project::new(example).workflow().entry.as_str(), "tester");
}

#[test]
fn a_hat_that_nothing_leads_to_and_a_topic_that_nobody_takes_are_warned_of() {
    check(RING, &[]);
    let hats =
        format!("{RING}  idle: {{name: I, triggers: [never], publishes: [nobody], instructions: x}}\n");
    check(
        &hats,
        &["warning hats/unreachable hats.idle", "warning hats/unhandled-topic hats.idle.publishes[0]"],
    );
    let default = "  default: {name: D, triggers: [], publishes: [never], instructions: x}\n";
    check(&format!("{hats}{default}"), &[]);
    let caught = format!(
        "max_activations: 9\n{}",
        RING.replace("\"tests.passing\"]\n    publishes", "\"*\"]\n    publishes")
    );
    check(&caught.replace("[\"code.written\"]", "[\"code.written\", \"nobody\"]"), &[]);
}

#[test]
fn a_trigger_of_several_hats_is_warned_of_and_the_first_hat_wins() {
    let two = |z: &str, a: &str| {
        format!(
            "max_activations: 9\nhats:\n  z: {{name: Z, triggers: [task.start, {z}], publishes: [build.done, LOOP_COMPLETE], instructions: x}}\n  a: {{name: A, triggers: [{a}], publishes: [LOOP_COMPLETE], instructions: x}}\n"
        )
    };
    insta::assert_snapshot!(Project::new(&two("build.done", "build.done")).said(), @r"
    warning hats/unreachable hats.a 4:3 no published topic leads to `a` (no hat that can be reached publishes one of its triggers)
    warning hats/shadowed-trigger hats.a.triggers[0] 4:27 `build.done` activates `z` and never `a` (the order in the file decides)
    ");
    insta::assert_snapshot!(Project::new(&two("\"build.*\"", "\"*.done\", build.done")).said(), @"warning hats/shadowed-trigger hats.a.triggers[0] 4:27 a topic that matches both `*.done` and `build.*` activates `z` (the order in the file decides)");
    check(&two("\"*\"", "build.done"), &[]);
    let topics = Project::new(&two("build.done", "build.done")).workflow().topics.unwrap();
    let routes: Vec<String> =
        topics.routes.iter().map(|route| format!("{} {}", route.pattern, route.to)).collect();
    assert_eq!(routes, ["task.start z", "build.done z", "build.done a"], "never by the alphabet");
}

#[test]
fn hats_that_never_begin_or_loop_on_themselves_or_end_nowhere_are_warned_of() {
    check(&hat("triggers: [begin]"), &["warning hats/no-start hats.tester"]);
    check(&format!("starting_event: begin\n{}", hat("")), &["warning hats/no-start starting_event"]);
    // Valid, and bounded by a limit.
    let looping = hat("publishes: [task.start]");
    check(&looping, &["warning hats/self-loop hats.tester.publishes[0]"]);
    check(&format!("max_activations: 2\n{looping}"), &[]);
    check(&hat("publishes: []"), &["warning hats/dead-end hats.tester"]);
}

#[test]
fn instructions_that_would_not_work_are_warned_of() {
    let of = |slug: &str| format!("warning hats/{slug} hats.tester.instructions");
    let variable = hat("instructions: \"See {{issue_title}} and {{x}} 🧪\"");
    check(&variable, &[&of("unexpanded-variable")]);
    check(&hat("instructions: \"Half {{ open\""), &[]);
    check(&hat("instructions: \"ralph emit a.b\""), &[&of("foreign-emit")]);
    check(&hat("instructions: \"<event topic='a'>\""), &[&of("foreign-emit")]);
    check(&hat("instructions: \"  \""), &[&of("blank-instructions")]);
}

// H-5
#[test]
fn files_that_are_not_read_are_named() {
    let project = Project::new(RING).file("orch.yaml", "hats: {}").file(".orch.yml", "hats: {}");
    insta::assert_snapshot!(project.said(), @r"
    warning hats/ignored-file `orch.yaml` is not read: `orch.yml` comes first (keep one of them, or give the path of the one you mean)
    warning hats/ignored-file `.orch.yml` is not read: `orch.yml` comes first (keep one of them, or give the path of the one you mean)
    ");
}

// H-13, H-64: in every text that reaches an agent.
#[test]
fn variables_and_commands_are_warned_of_in_names_and_further_instructions_too() {
    let named = Project::new(&super::hat("name: 'T {{x}}'")).said();
    assert!(named.starts_with("warning hats/unexpanded-variable hats.tester.name"), "{named}");
    let hats = "hats:\n  a: {name: A, triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x, extra_instructions: ['use {{y}}', 'ralph emit z']}\n";
    let said = Project::named("ralph.yml", hats).said();
    let codes: Vec<&str> = said.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(codes, ["hats/unexpanded-variable", "hats/foreign-emit"], "{said}");
    let default = hats.replace("extra_instructions", "default_publishes: nobody.takes, extra_instructions");
    assert!(Project::named("ralph.yml", &default).said().contains("hats/unhandled-topic"), "{default}");
}

// H-64: the hat `default` takes all remaining topics, including the start topic.
#[test]
fn a_default_hat_begins_where_no_other_does() {
    let hats = |id: &str| {
        format!(
            "hats:\n  a: {{name: A, triggers: [x], publishes: [LOOP_COMPLETE], instructions: i}}\n  {id}: {{name: D, triggers: [y], publishes: [x], instructions: i}}\n"
        )
    };
    assert!(Project::new(&hats("other")).said().contains("hats/no-start"));
    assert!(!Project::new(&hats("default")).said().contains("hats/no-start"));
}
