//! Directives in realistic replies of agents.

use saihai_config::{Definition, Dialect, MemorySource, Options, Origin, ProjectPaths, Settings, load};
use saihai_model::{Exit, ExpectedReply, Prompt, PromptPart, Stage, Text, Workflow};
use saihai_tests::story;

use super::failures::{Speaks, ask, calls, with_agent, with_agent_that};
use super::{RING, check, near_misses, project, prompts, run};

// HC-15
#[test]
fn a_malformed_topic_is_no_event_and_the_reminder_says_so() {
    for reply in ["EVENT: <topic>", "EVENT: a|b", "EVENT: http://x"] {
        let project = project(RING, &[reply, "LOOP_COMPLETE"]);
        run(&project).exits(0);
        assert_eq!(project.journal().path_taken(), ["tester"], "{reply}");
        assert!(
            prompts(&project)[1].contains("What followed EVENT was no topic."),
            "{}",
            prompts(&project)[1]
        );
    }
}

// HC-17
#[test]
fn what_is_only_shown_is_no_event_and_the_reminder_says_why() {
    let echo = "Write a failing test first, and report.\nEVENT: tests.failing or EVENT: tests.passing\nNothing else.\nok";
    for (reply, why) in [
        ("```\nEVENT: tests.passing\n```\nok", "stood in a code block"),
        ("> EVENT: tests.passing\nok", "stood in a quotation"),
        (echo, "only repeated its prompt"),
    ] {
        let project = project(RING, &[reply, "LOOP_COMPLETE"]);
        run(&project).exits(0);
        assert_eq!(project.journal().path_taken(), ["tester"], "{reply}");
        let told = format!("What it reported {why} and does not count.");
        assert!(prompts(&project)[1].contains(&told), "{}", prompts(&project)[1]);
    }
    let unclosed = ["```\nEVENT: tests.passing", "LOOP_COMPLETE"];
    check(RING, &unclosed, "tester closer; finished: completed complete; 0");
}

// H-37: two lines are no echo, three lines are, and the last line of a reply always counts.
#[test]
fn three_lines_of_the_prompt_in_a_row_do_not_steer_and_the_last_line_does() {
    let two = "EVENT: tests.failing or EVENT: tests.passing\nNothing else.\nok";
    check(RING, &[two, "LOOP_COMPLETE"], "tester closer; finished: completed complete; 0");
    let indented = "  Write a failing test first, and report.\n\n  EVENT: tests.failing or EVENT: tests.passing\n  Nothing else.\nok";
    check(RING, &[indented, "LOOP_COMPLETE"], "tester; finished: completed complete; 0");
    let last = "# Hat: 🧪 Tester\nWrite a failing test first, and report.\nEVENT: tests.failing or EVENT: tests.passing";
    check(RING, &[last, "LOOP_COMPLETE"], "tester closer; finished: completed complete; 0");
    let quoted = format!("{last}\n> as the hat says");
    check(RING, &[&quoted, "LOOP_COMPLETE"], "tester closer; finished: completed complete; 0");
}

// H-35, HC-20: `cargo xtask bench` shows that the time grows linearly with the length.
#[test]
fn an_event_is_found_behind_ten_megabytes_over_a_border_and_behind_broken_bytes() {
    let many = "head -c 10485760 /dev/zero | tr '\\0' 'x' | fold -w 100\necho\necho 'EVENT: tests.passing'";
    let split = "printf 'EVENT: tests.pas'\nsleep 0.3\nprintf 'sing'";
    let broken = "printf 'a \\377\\376 b \\303\\nEVENT: tests.passing \\377'";
    for script in [many, split, broken] {
        let project = with_agent("", &format!("[ $n = 1 ] && echo LOOP_COMPLETE && exit 0\n{script}\n"));
        let outcome = ask(&project).run().exits(0);
        assert_eq!(project.journal().path_taken(), ["tester", "closer"], "{script}\n{outcome}");
    }
}

// H-35: only the agent's own final text counts.
#[test]
fn neither_complaints_nor_tools_nor_thoughts_nor_failed_turns_direct_anything() {
    let complaining = "[ $n = 0 ] && echo 'EVENT: tests.failing' >&2\n[ $n = 0 ] && echo LOOP_COMPLETE && exit 1\n[ $n = 1 ] && echo 'EVENT: tests.passing' && echo LOOP_COMPLETE >&2 && exit 0\necho LOOP_COMPLETE\n";
    let project = with_agent("", complaining);
    ask(&project).run().exits(0);
    assert_eq!((project.journal().path_taken(), calls(&project)), (vec!["tester", "closer"], 3));
    let lines = [
        r#"{"type":"tool","id":1,"name":"Read","status":"done","input":"EVENT: tests.failing","output":"LOOP_COMPLETE"}"#,
        r#"{"type":"thinking","text":"LOOP_COMPLETE"}"#,
        r#"{"type":"done","text":"EVENT: tests.passing"}"#,
    ];
    let says = lines.map(|line| format!("echo '{line}'\n")).concat();
    let first = format!(
        "if [ $n = 0 ]; then\n{says}else\necho '{{\"type\":\"done\",\"text\":\"LOOP_COMPLETE\"}}'\nfi\n"
    );
    let project = with_agent_that(Speaks::Json, "", &first);
    ask(&project).run().exits(0);
    assert_eq!(project.journal().path_taken(), ["tester", "closer"]);
}

// HC-25
#[test]
fn a_closing_word_that_is_no_directive_is_a_near_miss() {
    for reply in [
        "do not print LOOP_COMPLETE yet",
        "- [ ] LOOP_COMPLETE",
        "❌ LOOP_COMPLETE",
        "loop_complete",
        "```\nLOOP_COMPLETE\n```",
        "> LOOP_COMPLETE",
    ] {
        let project = project(RING, &[reply, "EVENT: tests.passing", "LOOP_COMPLETE"]);
        run(&project).exits(0);
        assert_eq!(project.journal().path_taken(), ["tester", "closer"], "{reply}");
        assert_eq!(near_misses(&project).len(), 1, "{reply}: {:?}", near_misses(&project));
    }
    let project = project(RING, &["EVENT: tests.failing not yet LOOP_COMPLETE", "LOOP_COMPLETE"]);
    run(&project).exits(0);
    assert_eq!(project.journal().path_taken(), ["tester", "coder"]);
    let miss = "inside_sentence: EVENT: tests.failing not yet LOOP_COMPLETE";
    assert_eq!(near_misses(&project), [miss]);
}

/// Hats with every kind of text, and the built-in presets.
const SPOKEN: [&str; 8] = [
    RING,
    "preset: simple\n",
    "preset: tdd\n",
    "preset: spec-driven\n",
    "preset: simple\nlanguage: ja\n",
    "preset: tdd\nlanguage: ja\n",
    "preset: spec-driven\nlanguage: ja\n",
    "required_events: [a.b]\nhats:\n  a: {name: A, triggers: [task.start, \"*\"], publishes: [a.b, LOOP_COMPLETE], instructions: ralph emit a.b}\n",
];

// HC-18
#[test]
fn an_agent_that_prints_its_whole_prompt_directs_nothing() {
    for hats in SPOKEN {
        let first = project(hats, &[]);
        let prompt = first.saihai(["prompt", "orch", "--task", "The task."]).run().exits(0).stdout;
        let project = project(
            &format!("max_iterations: 3\n{}", hats.replace("max_iterations: 30\n", "")),
            &[prompt.as_str(); 3],
        );
        let outcome = run(&project).exits(5);
        let story = story(&project.journal());
        assert_eq!(story.matches("enter ").count(), 1, "{story}\n{outcome}");
    }
}

fn lowered(hats: &str) -> Workflow {
    let source = MemorySource::new([("/p/orch.yml", hats)]);
    let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let definition = Definition {
        name: "orch".to_owned(),
        dialect: Dialect::Hats,
        origin: Origin::Project,
        path: Some("/p/orch.yml".into()),
    };
    let loaded = load(&source, &places, &definition, &Options::default(), &Settings::default());
    loaded.workflow.expect("sound hats")
}

/// Returns the fixed words of a prompt, without values and without the definition's own text.
fn words(prompt: &Prompt, stage: &Stage) -> Vec<String> {
    let parts = prompt.sections.iter().flat_map(|section| &section.body);
    let fixed = parts.filter_map(|part| match part {
        PromptPart::Fixed(Text::Inline(words)) => Some(words.to_string()),
        PromptPart::Fixed(Text::Blob { .. }) | PromptPart::Value(..) => None,
    });
    fixed.filter(|words| !words.starts_with(&format!("# Hat: {}", stage.title))).collect()
}

// H-32
#[test]
fn text_that_saihai_adds_to_prompts_directs_no_run() {
    for hats in SPOKEN {
        let workflow = lowered(hats);
        let mut said: Vec<String> = workflow.words.values().map(|word| word.replace("{}", "a.b")).collect();
        for stage in workflow.stages.values() {
            let turn = &stage.turns()[0];
            let last = words(&turn.prompt, stage).pop().expect("an end");
            let ends = ["# How to end your reply\n", "# 返答の終わり方\n"];
            assert!(ends.iter().any(|end| last.starts_with(end)), "every prompt ends with it: {last}");
            said.extend(words(&turn.prompt, stage));
            let Exit::Topics { silent, .. } = &stage.exit else { panic!("hats leave by topics") };
            said.extend(silent.note.iter().flat_map(|note| words(note, stage)));
        }
        let reads = &workflow.stages[0].turns()[0].reads;
        let whole = said.join("\n");
        for text in said.iter().chain([&whole]).flat_map(|text| text.lines().chain([text.as_str()])) {
            let said = saihai_judge::ReplyText { text, structured: None };
            let reading = saihai_judge::read(ExpectedReply::Work(reads), "", said);
            assert_eq!((reading.events.len(), &reading.end_word), (0, &None), "{text}");
        }
    }
}

// H-33
#[test]
fn every_turn_starts_without_the_previous_reply() {
    let replies = [
        "I looked at the green door.\nEVENT: tests.failing two red",
        "I painted the blue wall.\nEVENT: code.written",
        "Nothing to report.",
        "LOOP_COMPLETE",
    ];
    let project = project(RING, &replies);
    run(&project).exits(0);
    let told = prompts(&project);
    assert!(
        told.iter().all(|prompt| !prompt.contains("green door") && !prompt.contains("blue wall")),
        "{told:?}"
    );
    assert!(told[1].contains("> two red\n"), "the message is what passes: {}", told[1]);
    assert!(told[3].contains("> Nothing to report.\n"), "but for a turn that is asked again: {}", told[3]);
    let sessions = project.journal();
    let sessions: Vec<&serde_json::Value> =
        sessions.decisions("called").map(|call| &call["session"]).collect();
    assert!(sessions.iter().all(|session| session.is_null()), "{sessions:?}");
}
