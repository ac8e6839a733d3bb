use saihai_model::{
    Activity, AnswerForm, Ask, Choice, Exit, FailureClass, Method, Prompt, ProviderKind, ProviderName,
    ProviderSettings, Question, QuestionSession, Retry, Script, ScriptReply, ScriptWrite, Target, Turn,
    Workflow, testing,
};

use insta::assert_snapshot;
use tokio_util::sync::CancellationToken;

use super::{Connections, Providers, Unavailable};
use crate::agent::AgentProgram;
use crate::agents;

fn turn(provider: &str) -> Turn {
    Turn { provider: provider.into(), ..testing::turn(provider, Vec::new()) }
}

fn workflow(providers: &[&str], fallback: &[(&str, &str)]) -> Workflow {
    let turns = providers.iter().map(|name| turn(name)).collect();
    let fallback = fallback.iter().map(|(from, to)| (ProviderName::from(*from), ProviderName::from(*to)));
    let retry = Retry { fallback: fallback.collect(), ..Retry::default() };
    Workflow { retry, ..testing::workflow(vec![("work", testing::stage(turns, &[]))]) }
}

/// Opens the providers of a workflow and returns the errors.
fn open(providers: &[&str], fallback: &[(&str, &str)], with: Connections) -> Vec<String> {
    match Providers::open(&workflow(providers, fallback), with) {
        Ok(_) => Vec::new(),
        Err(unavailable) => unavailable.iter().map(ToString::to_string).collect(),
    }
}

fn scripted() -> Connections {
    let environment = vec![("PATH".into(), "/nowhere".into())];
    Connections { script: Some(Script::default()), environment, ..Connections::default() }
}

#[test]
fn a_script_is_available() {
    assert_eq!(open(&["script"], &[], scripted()), Vec::<String>::new());
}

/// Returns the error for a provider on a machine without any agent.
fn refused(name: &str, kind: ProviderKind) -> String {
    match agents::of(kind).map(AgentProgram::profile) {
        Some(profile) if profile.program.is_empty() => {
            format!("provider `{name}` needs a program; set `providers.{name}.program`")
        }
        Some(profile) => format!(
            "provider `{name}`: there is no program `{}`; searched: /nowhere; install it with `{}`",
            profile.program, profile.install
        ),
        None if kind == ProviderKind::Anthropic => {
            format!("provider `{name}` has no key; set `ANTHROPIC_API_KEY`")
        }
        None if kind == ProviderKind::Openai => format!("provider `{name}` has no key; set `OPENAI_API_KEY`"),
        None => {
            format!("provider `{name}` is not available in this version of Saihai; use `--provider script`")
        }
    }
}

// C-12: an unusable provider is reported before any turn, and no other replaces it.
#[test]
fn every_other_provider_is_refused_by_its_name() {
    for kind in ProviderKind::ALL.into_iter().filter(|kind| *kind != ProviderKind::Script) {
        assert_eq!(open(&[kind.name()], &[], scripted()), [refused(kind.name(), kind)]);
    }
}

// C-12, Connections case 19: the program, the searched path and the install command; exit 4.
#[test]
fn a_missing_program_is_named_with_the_path_and_how_to_get_it() {
    let missing = |install: Option<&str>| Unavailable::NotInstalled {
        name: "claude".into(),
        program: "claude".into(),
        path: "/usr/bin:/bin".into(),
        install: install.map(str::to_owned),
    };
    let said = missing(Some("npm install -g @anthropic-ai/claude-code"));
    assert_snapshot!(said, @"provider `claude`: there is no program `claude`; searched: /usr/bin:/bin; install it with `npm install -g @anthropic-ai/claude-code`");
    assert_snapshot!(missing(None), @"provider `claude`: there is no program `claude`; searched: /usr/bin:/bin");
    assert!(said.is_missing());
    assert!(!Unavailable::NoProgram { name: "mine".into() }.is_missing());
}

// C-10 and Connections case 19: an unknown name is an error with a suggestion.
#[test]
fn an_unknown_provider_is_refused_with_a_suggestion() {
    assert_eq!(
        open(&["cluade", "zzzzzz"], &[], scripted()),
        ["there is no provider `cluade`; did you mean `claude`?", "there is no provider `zzzzzz`"]
    );
}

// C-10: the settings of a custom provider name its kind.
#[test]
fn a_name_of_its_own_means_its_kind() {
    let named = |kind: &str| Connections {
        settings: [("mine".into(), ProviderSettings::new(ProviderKind::named(kind).unwrap()))].into(),
        ..scripted()
    };
    assert_eq!(open(&["mine"], &[], named("script")), Vec::<String>::new());
    assert_eq!(open(&["mine"], &[], named("claude")), [refused("mine", ProviderKind::Claude)]);
}

// C-12: all reachable providers, including fallbacks of fallbacks, each reported once.
#[test]
fn everything_that_can_be_reached_is_looked_up() {
    let fallback = [("script", "gemini"), ("gemini", "codex"), ("codex", "script"), ("openai", "acp")];
    let said = open(&["script", "claude", "claude"], &fallback, scripted());
    let names: Vec<_> = said.iter().map(|line| line.split('`').nth(1).unwrap()).collect();
    assert_eq!(names, ["claude", "codex", "gemini"]);
}

// C-81: a service without a model is reported before the first request.
#[test]
fn a_service_without_a_model_is_refused() {
    let set = |model: Option<&str>, base: &str| {
        let settings = ProviderSettings {
            model: model.map(str::to_owned),
            base_url: Some(base.to_owned()),
            ..ProviderSettings::new(ProviderKind::Openai)
        };
        let environment = vec![("OPENAI_API_KEY".into(), "key".into())];
        Connections { settings: [("openai".into(), settings)].into(), environment, ..scripted() }
    };
    let (far, near) = ("https://api.example.com/v1", "http://localhost:8080/v1");
    let refused = "provider `openai` needs a model; set `providers.openai.model` or give `--model`";
    assert_eq!(open(&["openai"], &[], set(None, far)), [refused]);
    assert_eq!(open(&["openai"], &[], set(Some("m"), far)), [""; 0]);
    assert_eq!(open(&["openai"], &[], set(None, near)), [""; 0]);
    assert_eq!(open(&["script"], &[("script", "openai")], set(None, far)), [refused]);
    let mut named = workflow(&["openai"], &[]);
    if let Activity::Turns { turns, .. } = &mut named.stages["work"].does {
        turns[0].model = Some("m".into());
    }
    assert!(Providers::open(&named, set(None, far)).is_ok());
}

// C-12: also the providers of questions about a stage.
#[test]
fn those_who_answer_questions_are_looked_up_too() {
    let mut workflow = workflow(&["script"], &[]);
    let question = |provider: &str| Question {
        prompt: Prompt::default(),
        provider: Some(provider.into()),
        model: None,
        session: QuestionSession::Fresh,
        answer: AnswerForm::Tag,
        correction: Prompt::default(),
        corrections: 0,
        unreadable: None,
    };
    let choice = |provider: &str| Choice {
        options: Vec::new(),
        found_by: vec![Method::Tag, Method::Ask(Box::new(question(provider)))],
    };
    let stage = &mut workflow.stages["work"];
    stage.exit =
        Exit::Rules { rules: Vec::new(), question: Some(choice("codex")), otherwise: Target::Complete };
    if let Activity::Turns { turns, .. } = &mut stage.does {
        turns[0].reads.choice = Some(choice("claude"));
    }
    let said = Providers::open(&workflow, scripted()).err().unwrap_or_default();
    let names: Vec<_> =
        said.iter().map(|one| one.to_string().split('`').nth(1).unwrap().to_owned()).collect();
    assert_eq!(names, ["claude", "codex"]);
}

#[test]
fn a_script_that_is_not_given_or_cannot_be_played_is_said() {
    let nothing = open(&["script"], &[], Connections::default());
    assert_eq!(nothing, ["provider `script` needs a script; pass `--script FILE`"]);
    let bad = ScriptReply { origin: "s.yaml:3:5".into(), prompt: Some("(".into()), ..ScriptReply::default() };
    let script = Script { replies: vec![bad], ..Script::default() };
    let said = open(&["script"], &[], Connections { script: Some(script), ..Connections::default() });
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("s.yaml:3:5: `prompt` is not a regular expression"), "{said:?}");
}

// Each provider would report this differently, if at all. A scripted reply is not used up.
#[tokio::test]
async fn a_turn_whose_directory_is_gone_is_refused_and_asked_again_when_it_is_back() {
    let writes = vec![ScriptWrite { path: "a".into(), content: "a".into() }];
    let reply = ScriptReply { text: Some("Done.".into()), writes, ..ScriptReply::default() };
    let script = Script { replies: vec![reply], ..Script::default() };
    let with = Connections { script: Some(script), ..Connections::default() };
    let mut providers = Providers::open(&workflow(&["script"], &[]), with).unwrap_or_else(|_| panic!("open"));
    let place = tempfile::tempdir().unwrap();
    let gone = place.path().join("gone");
    let ask = Ask { directory: gone.display().to_string(), ..crate::script::tests::say::ask("work", 1) };
    let asked = providers.ask(ask.clone()).answer(&|_| {}, CancellationToken::new()).await;
    let failure = asked.unwrap_err().failure;
    assert_eq!(failure.class, FailureClass::Missing);
    let said = format!(
        "the directory `{}` is missing; `saihai resume` recreates a worktree of Saihai from its branch",
        gone.display()
    );
    assert_eq!(failure.message, said);
    providers.ended(&ask.call, Some(&failure));
    std::fs::create_dir(&gone).unwrap();
    let answer = providers.ask(ask).answer(&|_| {}, CancellationToken::new()).await;
    assert_eq!(answer.unwrap().text, "Done.");
}
