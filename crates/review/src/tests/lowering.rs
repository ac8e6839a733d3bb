//! Workflows of reviews.

use saihai_model::{Prompt, PromptPart, Subject, SubjectFile, SubjectMode, Turn};

use saihai_config::review::load;
use saihai_config::{Colour, Diagnostics, Language, Settings, SettingsFrom, Variables, to_human};

use super::agents::{agent, places, source};
use crate::lower::{LoweredReview, ReviewOptions, ReviewRequest, lower};
use crate::select::{AgentFilter, select};

/// Lowers a review by the agent `a` with these settings and files.
fn lowered(further: &str, settings: &str, files: &[&str]) -> LoweredReview {
    let mut source = source(&[("a.toml", &agent("a", further))]);
    source.add("/p/.saihai/config.toml", settings);
    let places = places();
    let from = SettingsFrom {
        root: &places.root,
        user: None,
        current: &places.current,
        variables: &Variables::new([]),
        flags: &[],
        trust_project: true,
    };
    let mut found = Diagnostics::new();
    let settings = Settings::load(&source, &from, &mut found);
    assert!(!found.has_errors(), "{}", to_human(&found, Colour::Never));
    let loaded = load(&source, &places, Language::English).unwrap();
    let file = |path: &&str| SubjectFile {
        path: (*path).to_owned(),
        previous: None,
        text: format!("text of {path}\n"),
        left_out: None,
        lossy: false,
    };
    let subject = Subject { mode: SubjectMode::Files, files: files.iter().map(file).collect() };
    let others = loaded.names().into_iter().filter(|name| *name != "a").map(str::to_owned).collect();
    let selection = select(&loaded.agents, &subject, &AgentFilter { skip: others, ..AgentFilter::default() });
    let options = ReviewOptions::default();
    lower(ReviewRequest {
        loaded: &loaded,
        selection: &selection,
        subject: &subject,
        options: &options,
        settings: &settings,
        places: &places,
    })
}

fn turn(lowered: &LoweredReview) -> Turn {
    let workflow = lowered.loaded.workflow.as_ref().expect("a workflow");
    workflow.stages["main"].turns()[0].clone()
}

fn words(prompt: &Prompt) -> String {
    let parts = prompt.sections.iter().flat_map(|section| &section.body);
    let fixed = parts.map(|part| match part {
        PromptPart::Fixed(text) => format!("{text:?}"),
        PromptPart::Value(..) => String::new(),
    });
    fixed.collect()
}

// The prompt omits the schema if the provider takes it separately, unless a fallback needs it
#[test]
fn the_schema_is_in_the_prompt_only_if_the_provider_has_no_field_for_it() {
    let check = |settings: &str, expected: bool| {
        let turn = turn(&lowered("", settings, &["x.py"]));
        let correction = &turn.reads.output.as_ref().expect("an output").correction;
        for (what, prompt) in [("prompt", &turn.prompt), ("correction", correction)] {
            assert_eq!(words(prompt).contains("overall_score"), expected, "{what} for {settings}");
        }
    };
    for native in ["claude", "codex", "anthropic", "openai"] {
        check(&format!("provider = \"{native}\"\n"), false);
    }
    for told in ["gemini", "opencode", "copilot", "script"] {
        check(&format!("provider = \"{told}\"\n"), true);
    }
    check("provider = \"claude\"\n[providers.claude]\nfallback = \"codex\"\n", false);
    check("provider = \"claude\"\n[providers.claude]\nfallback = \"gemini\"\n", true);
    let chain = "[providers.claude]\nfallback = \"codex\"\n[providers.codex]\nfallback = \"gemini\"\n";
    check(&format!("provider = \"claude\"\n{chain}"), true);
}

// An agent's own time limit overrides the general turn limit of its provider
#[test]
fn an_agent_has_the_time_that_reviews_give_it() {
    let settings =
        "provider = \"claude\"\n[providers.claude]\nturn_timeout = \"10s\"\n[review]\ntimeout = 7200\n";
    let turn = turn(&lowered("", settings, &["x.py"]));
    assert_eq!((turn.timeout, turn.within.map(|within| within.0)), (None, Some(7_200_000)));
}

// The plan records a partial share, but not a share of all files in one turn
#[test]
fn what_an_agent_is_shown_is_planned_where_it_is_not_everything() {
    let shown = |further: &str| {
        let plan = lowered(further, "provider = \"claude\"\n", &["a.py", "b.sql"]).plan;
        plan.selection.into_iter().find(|agent| agent.agent == "a").expect("it").shown
    };
    assert_eq!(shown(""), Vec::<Vec<String>>::new());
    assert_eq!(shown("[applicability]\nfile_patterns = ['*.sql']\n"), [["b.sql"]]);
    assert_eq!(shown("[applicability]\nalways = true\nexclude_patterns = ['*.sql']\n"), [["a.py"]]);
}

// An agent that requests more than its provider grants causes a warning
#[test]
fn what_a_provider_cannot_give_is_a_warning() {
    let warnings = |provider: &str, tools: &str| {
        let tools = format!("allowed_tools = {tools}\n");
        lowered(&tools, &format!("provider = \"{provider}\"\n"), &["x.py"]).warnings
    };
    assert_eq!(warnings("claude", "[\"file_read\"]"), [""; 0]);
    assert_eq!(warnings("claude", "[\"git_blame\"]").len(), 1);
    assert_eq!(warnings("codex", "[]").len(), 1);
}
