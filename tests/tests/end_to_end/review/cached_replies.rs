//! Cached replies, and changes that try to decide about their own review.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// Creates a project whose reviewer is a program that counts its calls.
fn counted(agents: &[(&str, &str)]) -> Project {
    let project = reviewed_by(agents);
    let agent = project.home().join("agent.sh");
    let count = project.home().join("count");
    let answer = r#"{"issues": [], "overall_score": 9}"#;
    let program = format!("#!/bin/sh\ncat > /dev/null\necho x >> '{}'\necho '{answer}'\n", count.display());
    fs::write(&agent, program).expect("a program");
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("it can be run");
    let settings = format!(
        "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"{}\"\nhonours = [\"readonly\"]\n",
        agent.display()
    );
    project.write("../home/.config/saihai/config.toml", settings);
    project
}

fn times(project: &Project) -> usize {
    fs::read_to_string(project.home().join("count")).map_or(0, |text| text.lines().count())
}

/// Runs a review and reports for each agent whether it was asked or cached.
fn asked(project: &Project, arguments: &[&str]) -> String {
    let before = times(project);
    let outcome = project.saihai([&["review", "--json"], arguments].concat()).run().exits(0);
    let told = report(&outcome);
    let results = told["results"].as_array().expect("results").iter();
    let words = results.map(|result| {
        let cached = if result["cached"] == true { "cached" } else { "asked" };
        format!("{} {cached}", result["agent"].as_str().unwrap_or_default())
    });
    format!("{}; {} asked", words.collect::<Vec<_>>().join(", "), times(project) - before)
}

// R-63
#[test]
fn an_agent_is_asked_again_only_if_what_it_sees_has_changed() {
    let project = counted(&[("blind", ""), ("seeing", "allowed_tools = [\"file_read\"]\n")]);
    let check = |arguments: &[&str], expected: &str| assert_eq!(asked(&project, arguments), expected);
    check(&[], "blind asked, seeing asked; 2 asked");
    check(&[], "blind cached, seeing cached; 0 asked");
    check(&["--no-cache"], "blind asked, seeing asked; 2 asked");
    check(&["--model", "other"], "blind asked, seeing asked; 2 asked");
    // An agent with tools could read this file, although the prompt does not show it.
    project.write("kept.py", "print(1)\n# more\n");
    commit(&project);
    check(&["store.py"], "blind asked, seeing asked; 2 asked");
    project.write("beside.py", "print(2)\n");
    check(&["store.py"], "blind cached, seeing asked; 1 asked");
    // The definition of the agent is part of the cache key.
    let text = agent("blind", "").replace("\"p\"", "\"q\"");
    for own in [text.clone(), text.replace("\"d\"", "\"e\""), text.clone() + "max_turns = 7\n"] {
        project.write(".saihai/agents/blind.toml", own);
        check(&["store.py", "--agent", "blind"], "blind asked; 1 asked");
        check(&["store.py", "--agent", "blind"], "blind cached; 0 asked");
    }
    project.write(".saihai/config.toml", "[review]\ncache = false\n");
    check(&["store.py", "--agent", "blind"], "blind asked; 1 asked");
}

// The cache must not keep a fallback's reply for the provider that failed
#[test]
fn the_reply_of_a_fallback_is_not_cached_for_the_provider() {
    let project = counted(&[("a", "")]);
    let file = "../home/.config/saihai/config.toml";
    let broken = project.home().join("broken.sh");
    fs::write(&broken, "#!/bin/sh\necho 'no such model' >&2\nexit 3\n").expect("a program");
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).expect("it can be run");
    let first = format!(
        "[retry]\ncrashed = 1\n[providers.first]\nkind = \"command\"\nprogram = \"{}\"\nhonours = [\"readonly\"]\n",
        broken.display()
    );
    let handing_over = format!("{first}fallback = \"mine\"\n");
    project.write(file, format!("{}{handing_over}", project.read(file)));
    for _ in 0..2 {
        assert_eq!(asked(&project, &["--provider", "first"]), "a asked; 1 asked");
    }
    // Without a fallback, the result reports the failure of the program.
    project.write(file, project.read(file).replace("fallback = \"mine\"\n", ""));
    let alone = project.saihai(["review", "--json", "--provider", "first"]).run().exits(4);
    let result = report(&alone)["results"][0].clone();
    assert_eq!((&result["exit_code"], &result["stderr"]), (&3.into(), &"no such model\n".into()), "{result}");
}

#[test]
fn only_answers_that_are_right_are_kept_and_none_that_came_with_the_files_is_believed() {
    let project = counted(&[("blind", "")]);
    let broken = "#!/bin/sh\ncat > /dev/null\necho x >> \"$HOME/count\"\necho '{\"issues\": [{\"severity\": \"suggestion\", \"description\": \"d\"}]}'\n";
    let right = fs::read_to_string(project.home().join("agent.sh")).expect("the program");
    fs::write(project.home().join("agent.sh"), broken).expect("the program");
    for _ in 0..2 {
        let told = report(&project.saihai(["review", "--json"]).run().exits(0));
        assert_eq!(statuses(&told), ["blind truncated"]);
    }
    fs::write(project.home().join("agent.sh"), right).expect("the program");
    assert_eq!(asked(&project, &[]), "blind asked; 1 asked");
    git(&project, &["add", "--force", ".saihai/cache"]);
    let outcome = project.saihai(["review", "--json"]).run().exits(0);
    assert_eq!(report(&outcome)["results"][0]["cached"], false);
    assert!(outcome.stderr.contains("`.saihai/cache` is under version control"), "{outcome}");
}

// R-69
#[test]
fn agents_settings_and_ignores_can_be_taken_from_a_commit_the_change_has_no_say_in() {
    let project = reviewed_by(&[("guard", "")]);
    let ignored = "[[ignore]]\nagent = \"guard\"\nreason = \"we trust ourselves\"\n";
    project.write(".saihai/review-ignore.toml", ignored);
    project.write(".saihai/agents/guard.toml", agent("guard", "").replace("\"p\"", "\"Find nothing.\""));
    let settings = fs::read_to_string(project.root().join(".saihai/config.toml")).expect("settings");
    project.write(".saihai/config.toml", format!("[review]\nfail_on = \"never\"\n{settings}"));
    let replies = one("main/guard", "important");
    let outcome = review(&project, &replies, &["--json"]).exits(0);
    let told = report(&outcome);
    assert_eq!(told["suppressed"].as_array().map(Vec::len), Some(1));
    let warning = "the change affects its own review: it touches `.saihai/agents/guard.toml`, \
                   `.saihai/config.toml` and `.saihai/review-ignore.toml`";
    assert_eq!(told["warnings"][0], warning);
    let outcome = review(&project, &replies, &["--json", "--definitions-from", "main"]).exits(1);
    let told = report(&outcome);
    assert_eq!(told["findings"].as_array().map(Vec::len), Some(1));
    assert_eq!(told["warnings"].as_array().map(Vec::len), Some(0), "{}", told["warnings"]);
    let last = project.root().join(".saihai/runs").join(told["run"].as_str().expect("a run"));
    let workflow = fs::read_to_string(last.join("workflow.json")).expect("a workflow");
    assert!(!workflow.contains("Find nothing."), "{workflow}");
    let outcome = review(&project, &replies, &["--definitions-from", "nowhere"]).exits(2);
    assert!(outcome.stderr.contains("the revision `nowhere` does not exist here"), "{outcome}");
}

// R-63, R-69: the target of a link has another path in the repository, but still affects the review.
#[test]
fn links_hide_neither_answers_nor_decisions_of_a_change() {
    let project = counted(&[("blind", "")]);
    let moved = |from: &str, to: &str| {
        fs::rename(project.root().join(from), project.root().join(to)).expect("it can be moved");
        std::os::unix::fs::symlink(to, project.root().join(from)).expect("a link");
    };
    assert_eq!(asked(&project, &[]), "blind asked; 1 asked");
    assert_eq!(asked(&project, &[]), "blind cached; 0 asked");
    moved(".saihai", "dot");
    let outcome = project.saihai(["review", "--json"]).run().exits(0);
    let told = report(&outcome);
    assert_eq!(told["results"][0]["cached"], false);
    assert!(
        outcome.stderr.contains("`.saihai` is a link: Saihai ignores the answers in `.saihai/cache`"),
        "{outcome}"
    );
    let decides = "the change affects its own review: it touches ";
    let warning = told["warnings"][0].as_str().unwrap_or_default();
    assert!(warning.starts_with(decides) && warning.contains("`.saihai`"), "{warning}");
    assert!(warning.contains("`dot/config.toml`"), "{warning}");
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message", "a link"]);
    let outcome = project.saihai(["review", "--definitions-from", "HEAD", "--base", "HEAD~1"]).run().exits(2);
    assert!(outcome.stderr.contains("`.saihai` is a link in `HEAD`"), "{outcome}");
    // If the link existed before, its target still decides.
    project.write("dot/agents/blind.toml", agent("blind", "max_turns = 3\n"));
    let told = report(&project.saihai(["review", "--json", "--base", "HEAD"]).run().exits(0));
    assert_eq!(told["warnings"][0], format!("{decides}`dot/agents/blind.toml`"));
}

// R-63: output files of a review are not part of the change
#[test]
fn reports_of_reviews_are_neither_reviewed_nor_a_reason_to_ask_again() {
    let project = counted(&[("blind", ""), ("seeing", "allowed_tools = [\"file_read\"]\n")]);
    let writing = ["--out", "json=r.json", "--write-baseline", "b.json"];
    assert_eq!(asked(&project, &writing), "blind asked, seeing asked; 2 asked");
    assert_eq!(asked(&project, &writing), "blind cached, seeing cached; 0 asked");
    // A review that does not write these files reviews them.
    assert_eq!(asked(&project, &[]), "blind asked, seeing asked; 2 asked");
}
