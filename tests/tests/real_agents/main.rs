//! Runs the five agent programs of the vendors against a scripted API (C-85).
//!
//! `cargo xtask test --real-agents` runs this as an ordinary user, with access to the loopback only. Every test
//! has its own project, home and server. The details of a program are its row in `saihai_tests::RealAgent`; the
//! cases are the same for all.

mod acp;
mod cases;
mod every_tool;
mod mcp;
mod permissions;
mod processes;
mod sandbox;
mod scene;
mod verdicts;

use saihai_tests::{Answer, RealAgent, Refusal};
use serde_json::json;

/// Generates all cases for each program.
macro_rules! each_drives {
    ($($agent:ident)*) => { $(
        mod $agent {
            use super::{RealAgent, cases, every_tool, permissions, sandbox};

            fn agent() -> &'static RealAgent {
                RealAgent::named(stringify!($agent))
            }

            // B-2, B-3
            #[test]
            fn works_inside_landlock() {
                sandbox::a_turn_that_edits_inside(agent(), "landlock");
            }

            // B-2, B-3
            #[test]
            fn works_inside_bwrap() {
                sandbox::a_turn_that_edits_inside(agent(), "bwrap");
            }

            // B-2
            #[test]
            fn works_in_a_limited_network() {
                sandbox::a_turn_in_a_limited_network(agent());
            }

            // C-20, C-24, C-27
            #[test]
            fn answers_a_plain_turn() {
                cases::a_plain_turn(agent());
            }

            // C-40, C-42
            #[test]
            fn writes_a_file_in_a_turn_that_may_edit() {
                cases::a_turn_that_edits(agent());
            }

            // C-40, C-42
            #[test]
            fn runs_a_command_in_a_turn_that_may_edit_if_it_can_be_told_to() {
                cases::a_command_in_a_turn_that_edits(agent());
            }

            // C-41, C-43
            #[test]
            fn writes_nothing_in_a_turn_that_may_only_read() {
                cases::a_turn_that_may_only_read(agent());
            }

            // C-43, C-64, Connections case 5
            #[test]
            fn may_only_read_whatever_a_project_allows() {
                cases::a_generous_project(agent());
            }

            // C-41, C-43
            #[test]
            fn writes_and_runs_nothing_by_any_tool_of_a_read_only_turn() {
                every_tool::a_read_only_turn(agent(), None);
            }

            // C-42, C-43
            #[test]
            fn writes_nothing_outside_its_directory_in_a_turn_that_may_edit() {
                permissions::an_edit_outside(agent());
            }

            // C-43
            #[test]
            fn runs_no_command_where_only_edits_are_allowed() {
                permissions::a_command_in_edit_only(agent());
            }

            // C-41, C-43
            #[test]
            fn has_no_tool_of_an_mcp_server_in_a_read_only_turn() {
                permissions::an_mcp_server_of_the_user(agent());
            }

            // C-4, C-22
            #[test]
            fn goes_on_in_its_session() {
                cases::a_session_that_goes_on(agent());
            }

            // C-37
            #[test]
            fn survives_a_rate_limit_that_passes() {
                cases::a_rate_limit_that_passes(agent());
            }

            // C-32, C-33
            #[test]
            fn parks_the_run_at_a_rate_limit_without_end() {
                cases::failing(agent(), super::endless(429), "rate_limited");
            }

            // C-32, C-33
            #[test]
            fn parks_the_run_at_a_bad_key() {
                cases::failing(agent(), super::endless(401), "auth");
            }

            // C-32
            #[test]
            fn loses_nothing_but_the_turn_when_a_stream_is_cut() {
                cases::failing(agent(), saihai_tests::Answer::Cut(cases::DONE.to_owned()), "transient");
            }

            // C-29
            #[test]
            fn starts_again_when_its_session_is_lost() {
                cases::a_session_that_is_lost(agent());
            }

            // C-24, C-51
            #[test]
            fn is_sent_a_prompt_of_900_kilobytes_whole() {
                cases::a_long_prompt(agent());
            }

            // C-56, C-57
            #[test]
            fn leaves_no_process_behind_when_it_is_interrupted() {
                cases::an_interruption(agent());
            }

            // C-42, C-56, C-57
            #[test]
            fn leaves_no_command_behind_when_it_is_interrupted() {
                cases::an_interruption_of_a_command(agent());
            }

            // C-57, C-58
            #[test]
            fn leaves_no_process_behind_when_saihai_is_killed() {
                cases::a_kill_of_saihai(agent());
            }
        }
    )* };
}

each_drives! { claude codex opencode gemini copilot }

// C-41, C-65
#[test]
fn gemini_leaves_its_plan_mode_in_no_read_only_turn() {
    permissions::a_plan_that_approves_itself(RealAgent::named("gemini"), cases::READONLY);
}

/// Generates the case of the verdict tool for each program that takes a server for one turn.
macro_rules! each_reports {
    ($($agent:ident $tool:literal)*) => {
        mod verdict_tool { $(
            // N-1, N-2, N-4
            #[test]
            fn $agent() {
                super::verdicts::a_verdict_by_the_tool(super::RealAgent::named(stringify!($agent)), $tool);
            }
        )* }
    };
}

each_reports! {
    claude "mcp__saihai-turn__saihai_verdict"
    codex "mcp__saihai_turn.saihai_verdict"
    opencode "saihai-turn_saihai_verdict"
    copilot "saihai-turn-saihai_verdict"
}

// N-1, N-4, C-67
#[test]
fn gemini_reports_a_verdict_by_the_tool_through_acp() {
    let arguments = ["--acp", "--skip-trust", "--model", "gemini-2.5-pro"];
    verdicts::a_verdict_through_acp("gemini", "mcp_saihai-turn_saihai_verdict", &arguments);
}

// N-1, N-4, C-67
#[test]
fn opencode_reports_a_verdict_by_the_tool_through_acp() {
    verdicts::a_verdict_through_acp("opencode", "saihai-turn_saihai_verdict", &["acp"]);
}

// N-1: without the tool, the tag decides.
#[test]
fn gemini_is_read_by_its_tag() {
    verdicts::a_verdict_by_tag(RealAgent::named("gemini"));
}

// C-42, C-65
#[test]
fn gemini_enters_and_leaves_its_plan_mode_in_no_turn_that_edits() {
    permissions::a_plan_that_approves_itself(RealAgent::named("gemini"), cases::EDIT);
}

// C-41, C-61: the tools of codex depend on its model. This model has `apply_patch`.
#[test]
fn codex_writes_and_runs_nothing_by_any_tool_of_a_model_that_patches() {
    every_tool::a_read_only_turn(RealAgent::named("codex"), Some("gpt-5.5"));
}

// C-41, C-61: this model calls tools from JavaScript.
#[test]
fn codex_writes_and_runs_nothing_by_any_tool_of_a_model_that_writes_code() {
    every_tool::a_read_only_turn(RealAgent::named("codex"), Some("gpt-6-sol"));
    every_tool::a_turn_with_every_permission(RealAgent::named("codex"), "gpt-6-sol");
}

// C-43
#[test]
fn claude_is_kept_from_servers_where_a_turn_names_its_tools() {
    permissions::named_tools_without_those_of_a_server(RealAgent::named("claude"));
}

// C-42
#[test]
fn claude_uses_only_the_tools_of_a_server_that_a_turn_names() {
    permissions::a_tool_of_a_server_in_an_editing_turn(RealAgent::named("claude"));
}

// C-41, C-43
#[test]
fn claude_is_refused_a_read_only_turn_that_names_a_tool_of_a_server() {
    permissions::a_tool_of_a_server_in_a_read_only_turn(RealAgent::named("claude"));
}

// C-46, Connections case 8
#[test]
fn copilot_is_never_given_the_variable_that_allows_everything() {
    cases::a_generous_variable(RealAgent::named("copilot"), "COPILOT_ALLOW_ALL", "true");
}

// C-46
#[test]
fn opencode_is_never_given_the_variable_that_allows_everything() {
    cases::a_generous_variable(RealAgent::named("opencode"), "OPENCODE_PERMISSION", r#"{"*":"allow"}"#);
}

// R-69: the files of a project may come from a stranger
#[test]
fn claude_is_told_nothing_by_a_project_that_it_reviews() {
    cases::a_stranger(RealAgent::named("claude"));
}

// R-69
#[test]
fn codex_is_told_nothing_by_a_project_that_it_reviews() {
    cases::a_stranger(RealAgent::named("codex"));
}

// R-69
#[test]
fn opencode_is_told_nothing_by_a_project_that_it_reviews() {
    cases::a_stranger(RealAgent::named("opencode"));
}

// R-69
#[test]
fn copilot_is_told_nothing_by_a_project_that_it_reviews() {
    cases::a_stranger(RealAgent::named("copilot"));
}

// The agent's file decides the tools of the model, even if it lists none.
#[test]
fn opencode_reviews_without_any_tool() {
    cases::a_reviewer_without_tools(RealAgent::named("opencode"));
}

// C-32, C-34: the answer for a used-up subscription, in the headers of its API.
#[test]
fn claude_parks_the_run_at_a_usage_limit_until_it_is_reset() {
    let headers = [
        ("anthropic-ratelimit-unified-status", "rejected"),
        ("anthropic-ratelimit-unified-reset", "1900000000"),
        ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
        ("anthropic-ratelimit-unified-overage-status", "rejected"),
    ];
    let refusal = Refusal {
        status: 429,
        headers: headers.map(|(name, value)| (name, value.to_owned())).into(),
        code: None,
        message: "You have used it up.".to_owned(),
    };
    cases::a_usage_limit(RealAgent::named("claude"), refusal, 1_900_000_000_000);
}

// C-32, C-34: codex omits the seconds of the time.
#[test]
fn codex_is_asked_again_after_the_end_of_a_usage_limit() {
    cases::a_usage_limit_to_the_minute(RealAgent::named("codex"));
}

// C-32
#[test]
fn codex_is_not_asked_again_for_a_model_that_nobody_has() {
    let codex = RealAgent::named("codex");
    let message = "The model `nope` does not exist";
    let body =
        json!({"error": {"message": message, "type": "invalid_request_error", "code": "model_not_found"}});
    cases::failing_once(codex, Answer::Body { status: 404, body }, "bad_request", message);
    let body = json!({"detail": "The nope model is not supported"});
    cases::failing_once(codex, Answer::Body { status: 400, body }, "bad_request", "is not supported");
}

// C-32
#[test]
fn gemini_is_not_asked_again_for_a_model_that_nobody_has() {
    let body = json!({"error": {"code": 404, "message": "models/nope is not found", "status": "NOT_FOUND"}});
    let answer = Answer::Body { status: 404, body };
    cases::failing_once(RealAgent::named("gemini"), answer, "bad_request", "models/nope is not found");
}

// C-32
#[test]
fn gemini_parks_the_run_at_a_daily_quota() {
    let violation = json!({"quotaId": "GenerateRequestsPerDayPerProjectPerModel"});
    let details =
        json!([{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}]);
    let error =
        json!({"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED", "details": details});
    let answer = Answer::Body { status: 429, body: json!({ "error": error }) };
    cases::failing_once(RealAgent::named("gemini"), answer, "quota", "exhausted your daily quota");
}

// C-32: gemini exits with success but has done nothing.
#[test]
fn gemini_that_repeats_itself_has_failed() {
    let answer = Answer::tool("list_directory", json!({"dir_path": "."}));
    cases::failing_once(RealAgent::named("gemini"), answer, "crashed", "Loop detected");
}

// C-32, C-37: opencode would sleep until then without any output.
#[test]
fn opencode_parks_the_run_at_a_rate_limit_of_hours() {
    cases::failing_once(RealAgent::named("opencode"), Answer::slow_down(7_200), "rate_limited", "slow down");
}

// C-36: these programs print whole messages only.
#[test]
fn claude_is_not_idle_while_its_model_speaks() {
    cases::a_slow_reply(RealAgent::named("claude"));
}

// C-36
#[test]
fn codex_is_not_idle_while_its_model_speaks() {
    cases::a_slow_reply(RealAgent::named("codex"));
}

// C-36
#[test]
fn claude_is_idle_when_its_model_says_nothing_more() {
    cases::a_reply_that_hangs(RealAgent::named("claude"));
}

// C-36
#[test]
fn codex_is_idle_when_its_model_says_nothing_more() {
    cases::a_reply_that_hangs(RealAgent::named("codex"));
}

fn endless(status: u16) -> Answer {
    Answer::status(status)
}

// B-4
#[test]
fn claude_cannot_leave_a_sandbox() {
    sandbox::a_hostile_agent(RealAgent::named("claude"));
}

// B-4
#[test]
fn codex_cannot_leave_a_sandbox() {
    sandbox::a_hostile_agent(RealAgent::named("codex"));
}

// N-21
#[test]
fn claude_starts_a_run_by_mcp() {
    mcp::a_run_that_the_agent_starts(RealAgent::named("claude"), |asked| {
        let search = json!({"query": "select:mcp__notes__start_run", "max_results": 1});
        vec![Answer::tool("ToolSearch", search), Answer::tool("mcp__notes__start_run", asked)]
    });
}

// N-21
#[test]
fn codex_starts_a_run_by_mcp() {
    mcp::a_run_that_the_agent_starts(RealAgent::named("codex"), |asked| {
        vec![Answer::tool("mcp__notes.start_run", asked)]
    });
}
