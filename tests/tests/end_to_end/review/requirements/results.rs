//! Results of the agents.

use std::path::Path;

use saihai_tests::{Answer, ApiServer};

use super::*;

// R-42
#[test]
fn every_agent_has_a_result_with_all_that_is_known_of_it_whatever_became_of_the_others() {
    scripted_agents_end_in_every_way();
    programs_and_services_end_in_every_way();
    what_is_not_paid_for_is_not_begun();
}

/// Formats one result per line, without its duration and with counts of findings and assessments.
fn results(told: &Value) -> String {
    let lines = told["results"].as_array().expect("results").iter().map(|result| {
        let mut fields = result.as_object().expect("an object").clone();
        assert!(fields.remove("elapsed_ms").is_some_and(|elapsed| elapsed.is_u64()), "{result}");
        assert!(fields["agent"].is_string(), "{result}");
        for counted in ["findings", "assessments"] {
            let number = fields.get(counted).and_then(Value::as_array).map_or(0, Vec::len);
            fields.insert(counted.to_owned(), number.into());
        }
        serde_json::to_string(&fields).expect("JSON") + "\n"
    });
    lines.collect()
}

fn scripted_agents_end_in_every_way() {
    let project = reviewed_by(&[
        ("calls", "max_turns = 2\n"),
        ("late", "timeout = 4\n"),
        ("partly", ""),
        ("refused", ""),
        ("retried", ""),
        ("sound", ""),
        ("unread", ""),
        ("waits", "timeout = 5\n"),
    ]);
    let settings = project.read(".saihai/config.toml");
    project.write(".saihai/config.toml", format!("[retry]\ntransient = 2\n{settings}"));
    let issue = "{severity: nitpick, description: \"It leaks.\"}";
    let found = format!("structured: {{issues: [{issue}], overall_score: 9}}");
    let replies = format!(
        "  - {{for: main/calls, calls: 3, {found}}}
  - {{for: main/late, fail: {{class: transient, message: not now}}}}
  - {{for: main/late, hang: true}}
  - {{for: main/partly, times: 2, structured: {{issues: [{issue}, {{severity: nitpick}}], overall_score: 5}}}}
  - {{for: main/refused, fail: {{class: auth, message: not logged in}}}}
  - {{for: main/retried, times: '*', fail: {{class: transient, message: out of order}}}}
  - {{for: main/sound, {found}, usage: {{input: 7, output: 2}}, cost: 0.25}}
  - {{for: main/unread, times: 2, text: looks good}}
  - {{for: main/waits, fail: {{class: rate_limited, message: slow down, retry_after: 3600}}}}
"
    );
    let told = report(&review(&project, &replies, &["--json", "--jobs", "8"]).exits(0));
    insta::assert_snapshot!(results(&told), @r#"
    {"agent":"calls","assessments":1,"cached":false,"findings":1,"reason":"max_turns","status":"truncated"}
    {"agent":"late","assessments":0,"cached":false,"findings":0,"status":"timeout","timeout_seconds":4}
    {"agent":"partly","assessments":1,"cached":false,"findings":1,"notes":["issues/1/description: is missing"],"reason":"invalid_output","refused":["{\"severity\":\"nitpick\"}"],"status":"truncated"}
    {"agent":"refused","assessments":0,"cached":false,"class":"auth","findings":0,"message":"not logged in","status":"error"}
    {"agent":"retried","assessments":0,"cached":false,"class":"transient","findings":0,"message":"out of order","status":"error"}
    {"agent":"sound","assessments":1,"cached":false,"cost_usd":0.25,"findings":1,"status":"success","usage":{"input":7,"output":2}}
    {"agent":"unread","assessments":0,"cached":false,"class":"invalid_output","findings":0,"message":"no JSON object","refused":["looks good"],"status":"error"}
    {"agent":"waits","assessments":0,"cached":false,"class":"rate_limited","findings":0,"message":"slow down","status":"error"}
    "#);
    let asked = project.journal().asked();
    let attempts: Vec<usize> = (1..=8).map(|n| asked[&format!("main.1.1.{n}")]).collect();
    // In name order: `late` was retried within its time limit, `retried` as often as the settings allow.
    assert_eq!(attempts, [1, 2, 1, 1, 2, 1, 1, 1], "{asked:?}");
    assert_eq!(told["findings"].as_array().map(Vec::len), Some(3), "{told:#}");
}

fn programs_and_services_end_in_every_way() {
    let tools = "allowed_tools = [\"file_read\"]\n";
    let project = reviewed_by(&[
        ("broken", ""),
        ("full", tools),
        ("sound", ""),
        ("streamed", &format!("timeout = 2\n{tools}")),
        ("stuck", "timeout = 1\n"),
    ]);
    let home = project.home().display().to_string();
    let broken = "cat > /dev/null\nseq 1000 2000 >&2\necho 'the end' >&2\nexit 7\n";
    let stuck = format!("cat > /dev/null\nsleep 600 &\necho $$ $! > '{home}/processes'\nwait\n");
    let sound = "cat > /dev/null\necho '{\"issues\": [], \"overall_score\": 9}'\n";
    let first = r#"{"severity": "nitpick", "description": "It leaks."}"#;
    let rest =
        format!(r#"{{"severity": "nitpick", "description": "{}"}}"#, "never said to its end, ".repeat(40));
    let cut = format!("{{\"overall_score\": 4, \"issues\": [{first}, {{\"sev");
    let endless = format!("{{\"overall_score\": 4, \"issues\": [{first}, {rest}]}}");
    // The agents run one after the other, in name order.
    let server = ApiServer::start(|_| [Answer::Full(cut), Answer::Endless(endless)]);
    let mut settings = format!("[providers.openai]\nmodel = \"m\"\nbase_url = \"{}/v1\"\n", server.url());
    for (name, program) in [("broken", broken), ("sound", sound), ("stuck", &*stuck)] {
        project.write(&format!("../home/{name}.sh"), program);
        settings.push_str(&format!(
            "[providers.{name}-program]\nkind = \"command\"\nprogram = \"sh\"\nargs = [\"{home}/{name}.sh\"]\n\
             honours = [\"readonly\"]\n[review.agents.{name}]\nprovider = \"{name}-program\"\n"
        ));
    }
    settings.push_str(
        "[review.agents.full]\nprovider = \"openai\"\n[review.agents.streamed]\nprovider = \"openai\"\n",
    );
    project.write("../home/.config/saihai/config.toml", settings);
    let review = project.saihai(["review", "--json", "--jobs", "1"]).env("OPENAI_API_KEY", "sk-of-the-test");
    let mut told = report(&review.run().exits(0));
    let last_words = told["results"][0]["stderr"].take();
    let last_words = last_words.as_str().expect("last words");
    assert!(last_words.len() <= 4096 && last_words.trim_end().ends_with("\n2000\nthe end"), "{last_words}");
    assert!(last_words.len() > 4000, "{}", last_words.len());
    insta::assert_snapshot!(results(&told), @r#"
    {"agent":"broken","assessments":0,"cached":false,"class":"crashed","exit_code":7,"findings":0,"message":"command failed (exit code 7): 1997\n1998\n1999\n2000\nthe end","status":"error","stderr":null}
    {"agent":"full","assessments":1,"cached":false,"findings":1,"reason":"output_limit","status":"truncated","usage":{"cached":40,"input":100,"output":20,"reasoning":5}}
    {"agent":"sound","assessments":1,"cached":false,"findings":0,"status":"success"}
    {"agent":"streamed","assessments":1,"cached":false,"findings":1,"status":"timeout","timeout_seconds":2}
    {"agent":"stuck","assessments":0,"cached":false,"findings":0,"status":"timeout","timeout_seconds":1}
    "#);
    // A cached reply needs no program, and the result says that it is cached.
    std::fs::remove_file(project.home().join("sound.sh")).expect("the program");
    let told = report(&project.saihai(["review", "--json", "--agent", "sound"]).run().exits(0));
    insta::assert_snapshot!(results(&told), @r#"{"agent":"sound","assessments":1,"cached":true,"cost_usd":0.0,"findings":0,"status":"success"}"#);
    let processes = project.read("../home/processes");
    for process in processes.split_whitespace() {
        let status =
            std::fs::read_to_string(Path::new("/proc").join(process).join("stat")).unwrap_or_default();
        assert!(status.is_empty() || status.contains(") Z "), "{process} is still there: {status}");
    }
}

fn what_is_not_paid_for_is_not_begun() {
    let project = reviewed_by(&[("first", ""), ("second", "")]);
    let told = report(
        &review(&project, &one("main/first", "nitpick"), &["--json", "--jobs", "1", "--budget", "turns=1"])
            .exits(5),
    );
    insta::assert_snapshot!(results(&told), @r#"
    {"agent":"first","assessments":1,"cached":false,"findings":1,"status":"success"}
    {"agent":"second","assessments":0,"cached":false,"class":"budget","findings":0,"message":"it was not asked: the rest of the budget is too small","status":"error"}
    "#);
    assert_eq!(project.journal().asked().len(), 1);
}
