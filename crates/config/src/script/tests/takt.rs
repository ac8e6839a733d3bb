use super::*;

fn scenario(text: &str) -> (Option<Script>, String) {
    read(text, Format::Json)
}

#[test]
fn a_scenario_is_read_as_it_is() {
    // C-76, Connections case 39
    let (script, wrong) = scenario(
        r#"[{"agent": "coder", "content": "a"}, {"content": "b"}, {"persona": "planner", "content": "c", "structured_output": {"x": 1}, "delay_ms": 1500, "file_writes": [{"path": "a.txt", "content": "y"}], "wait_for_abort": true, "stream_events": [{"type": "tool_use", "tool": "Read", "id": "1", "input": {}}], "text_chunks": ["one", "two"]}]"#,
    );
    assert_eq!(wrong, "");
    let script = script.unwrap();
    assert!(script.lenient_roles && !script.strict);
    assert_snapshot!(replies(&script), @r#"
    {"origin":"s:1:2","role":"coder","text":"a"}
    {"origin":"s:1:38","text":"b"}
    {"delay":1500,"hang":true,"origin":"s:1:56","progress":["uses `Read`","one","two"],"role":"planner","structured":{"x":1},"text":"c","writes":[{"content":"y","path":"a.txt"}]}
    "#);
}

#[test]
fn statuses_become_replies_or_failures() {
    // C-76
    let check = |entry: &str, expected: Option<FailureClass>| {
        let (script, wrong) = scenario(&format!("[{{\"content\": \"c\", {entry}}}]"));
        assert_eq!(wrong, "");
        let reply = script.unwrap().replies.remove(0);
        assert_eq!(reply.fail.as_ref().map(|fail| fail.class), expected, "{entry}");
        assert_eq!(reply.text.is_some(), expected.is_none(), "{entry}");
    };
    for status in ["done", "approved", "rejected", "improve"] {
        check(&format!("\"status\": \"{status}\""), None);
    }
    check(r#""status": "blocked""#, Some(FailureClass::Refused));
    check(r#""status": "rate_limited""#, Some(FailureClass::RateLimited));
    check(r#""status": "error""#, Some(FailureClass::Crashed));
    check(r#""error": "boom""#, Some(FailureClass::Crashed));
    check(r#""status": "error", "failure_category": "external_abort""#, Some(FailureClass::Cancelled));
    check(r#""error": "x", "failure_category": "part_timeout""#, Some(FailureClass::Transient));
    check(r#""error": "x", "failure_category": "stream_idle_timeout""#, Some(FailureClass::Transient));
    check(r#""error": "x", "failure_category": "provider_error""#, Some(FailureClass::Crashed));
    check(r#""failure_category": "part_timeout""#, None);
}

#[test]
fn mistakes_name_the_entry() {
    // Connections case 39
    let (script, wrong) = scenario(
        r#"[{"content": "a"}, {"agent": "coder"}, 3, {"content": 1, "status": "gone"}, {"content": "x", "agent": "a", "persona": "b", "file_writes": [{"path": "../x", "content": ""}], "stream_events": [{}]}]"#,
    );
    assert!(script.is_none());
    assert_snapshot!(wrong, @r#"
    error[script/missing-key]: the scenario entry `[1]` needs `content`
    --> s:1:20
      |
    1 | [{"content": "a"}, {"agent": "coder"}, 3, {"content": 1, "status": "gone"}, {"content": "x", "agent": "a", "persona": "b…
      |                    ^^^^^^^^^^^^^^^^^^ `content` is missing here

    error[script/bad-type]: `[2]` must be a mapping, not a whole number
    --> s:1:40
      |
    1 | [{"content": "a"}, {"agent": "coder"}, 3, {"content": 1, "status": "gone"}, {"content": "x", "agent": "a", "persona": "b…
      |                                        ^ a whole number

    error[script/bad-type]: `content` must be text, not a whole number
    --> s:1:55
      |
    1 | [{"content": "a"}, {"agent": "coder"}, 3, {"content": 1, "status": "gone"}, {"content": "x", "agent": "a", "persona": "b…
      |                                                       ^ a whole number
      = help: write it in quotes: `"1"`

    error[script/bad-value]: `status` must be `done`, `approved`, `rejected`, `improve`, `blocked`, `rate_limited` or `error`, not `gone`
    --> s:1:68
      |
    1 | [{"content": "a"}, {"agent": "coder"}, 3, {"content": 1, "status": "gone"}, {"content": "x", "agent": "a", "persona": "b…
      |                                                                    ^^^^^^ not one of them
      = help: did you mean `done`?

    error[script/duplicate-field]: `agent` and `persona` are two spellings of one key
    --> s:1:108
      |
    1 | …tent": 1, "status": "gone"}, {"content": "x", "agent": "a", "persona": "b", "file_writes": [{"path": "../x", "content": …
      |                                                              ^^^^^^^^^ given again
    ::: s:1:94
      |
    1 | …er"}, 3, {"content": 1, "status": "gone"}, {"content": "x", "agent": "a", "persona": "b", "file_writes": [{"path": "../x…
      |                                                              ------- first given here

    error[script/unsafe-path]: `../x` leads out of the working directory
    --> s:1:149
      |
    1 | …"x", "agent": "a", "persona": "b", "file_writes": [{"path": "../x", "content": ""}], "stream_events": [{}]}]
      |                                                              ^^^^^^ not allowed
      = help: a scripted agent writes only below the directory it works in

    error[script/bad-value]: a stream event must be a mapping with a `tool`
    --> s:1:192
      |
    1 | …ites": [{"path": "../x", "content": ""}], "stream_events": [{}]}]
      |                                                              ^^ no tool is named
    "#);
}

#[test]
fn a_key_that_takt_reads_over_is_only_a_warning() {
    let (script, wrong) = scenario(r#"[{"content": "a", "contents": "b"}]"#);
    assert!(script.is_some());
    assert_snapshot!(wrong, @r#"
    warning[script/unknown-key]: unknown key `contents`
    --> s:1:19
      |
    1 | [{"content": "a", "contents": "b"}]
      |                   ^^^^^^^^^^ not a key of a scenario entry
      = help: did you mean `content`?
    "#);
}

// X-5: a scenario names an agent by its file
#[test]
fn a_path_of_an_agent_means_its_role() {
    let (script, wrong) = scenario(
        r#"[{"agent": "../agents/coder.md", "content": "a"}, {"persona": "agents/plan/lead.md", "content": "b"}]"#,
    );
    assert_eq!(wrong, "");
    let roles: Vec<_> = script.unwrap().replies.into_iter().filter_map(|reply| reply.role).collect();
    assert_eq!(roles, ["coder", "lead"]);
}
