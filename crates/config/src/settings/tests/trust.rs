use saihai_model::{SandboxHost, SandboxNetwork};

use super::*;

const PROJECT_TEXT: &str = "[providers.mine]\nkind = \"command\"\nprogram = \"agent\"\nmodel = \"m\"\n[providers.claude]\nargs = [\"--x\"]\nmodel = \"large\"\n[work]\nverify = [\"make\"]\njobs = 2\n[distributed]\nserver = \"evil.example:7233\"\n";

fn refused(settings: &Settings, uses: &[Use<'_>]) -> String {
    to_human(&settings.check_trust(uses), Colour::Never)
}

#[test]
fn an_untrusted_project_runs_no_program_and_the_rest_of_its_file_works() {
    // K-39
    let settings = World::default().project(PROJECT_TEXT).settings();
    let claude = settings.provider("claude").unwrap();
    assert_eq!((claude.args.len(), claude.model.as_deref()), (0, Some("large")));
    let mine = settings.provider("mine").unwrap();
    assert_eq!((mine.program, mine.model.as_deref()), (None, Some("m")));
    assert!(settings.knows_provider("mine"));
    assert_eq!(refused(&settings, &[Use::Provider("codex"), Use::Provider("script")]), "");
    assert_snapshot!(refused(&settings, &[Use::Provider("mine")]), @r#"
    error[settings/untrusted]: `.saihai/config.toml` is not trusted, and `providers.mine.kind` and `providers.mine.program` can run programs or send secrets elsewhere
    --> .saihai/config.toml:2:8
      |
    2 | kind = "command"
      |        ^^^^^^^^^ needs trust
    ::: .saihai/config.toml:3:11
      |
    3 | program = "agent"
      |           ------- needs trust
      = help: review the file, then run `saihai trust`; `--trust-project` trusts it for one call
    "#);
    assert_snapshot!(refused(&settings, &[Use::Work, Use::Distributed]), @r#"
    error[settings/untrusted]: `.saihai/config.toml` is not trusted, and `work.verify` and `distributed.server` can run programs or send secrets elsewhere
     --> .saihai/config.toml:9:10
       |
     9 | verify = ["make"]
       |          ^^^^^^^^ needs trust
     ::: .saihai/config.toml:12:10
       |
    12 | server = "evil.example:7233"
       |          ------------------- needs trust
       = help: review the file, then run `saihai trust`; `--trust-project` trusts it for one call
    "#);
    assert_snapshot!(refused(&settings, &[Use::Provider("claude")]), @r#"
    error[settings/untrusted]: `.saihai/config.toml` is not trusted, and `providers.claude.args` can run programs or send secrets elsewhere
    --> .saihai/config.toml:6:8
      |
    6 | args = ["--x"]
      |        ^^^^^^^ needs trust
      = help: review the file, then run `saihai trust`; `--trust-project` trusts it for one call
    "#);
}

#[test]
fn a_fallback_is_used_with_its_provider() {
    // K-39
    let text =
        "[providers.codex]\nfallback = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"agent\"\n";
    let settings = World::default().project(text).settings();
    assert!(refused(&settings, &[Use::Provider("codex")]).contains("providers.mine.program"));
}

#[test]
fn a_trusted_file_works_until_it_changes() {
    // K-39
    let path = Path::new(PROJECT);
    let mut trust = Trust::default();
    trust.record(path, PROJECT_TEXT.as_bytes());
    let trusting = |text: &str| {
        let mut world = World::default().project(text);
        world.source.add("/home/me/.config/saihai/trust.toml", trust.to_toml());
        world.settings()
    };
    let settings = trusting(PROJECT_TEXT);
    assert_eq!(settings.provider("mine").unwrap().program.as_deref(), Some("agent"));
    assert_eq!(refused(&settings, &[Use::Provider("mine"), Use::Work, Use::Distributed]), "");
    let changed = trusting(&format!("{PROJECT_TEXT}# changed\n"));
    assert_ne!(refused(&changed, &[Use::Provider("mine")]), "");
}

#[test]
fn a_call_can_trust_the_project_once() {
    // K-39
    let uses = [Use::Provider("mine"), Use::Work];
    let by_flag = World { trust_project: true, ..World::default() }.project(PROJECT_TEXT);
    assert_eq!(refused(&by_flag.settings(), &uses), "");
    let by_variable = |value: &str| {
        let world = World::default().project(PROJECT_TEXT).variable("SAIHAI_TRUST_PROJECT", value);
        refused(&world.settings(), &uses)
    };
    assert_eq!(by_variable("1"), "");
    assert_ne!(by_variable("0"), "");
}

#[test]
fn what_the_user_says_too_needs_no_trust() {
    // K-39
    let user = "[providers.mine]\nkind = \"command\"\nprogram = \"agent\"\n";
    let project = "[providers.mine]\nkind = \"command\"\nprogram = \"agent\"\nargs = [\"x\"]\n";
    let settings = World::default().user(user).project(project).settings();
    let shown = refused(&settings, &[Use::Provider("mine")]);
    assert!(shown.contains("`providers.mine.args` can run"), "{shown}");
    assert_eq!(settings.provider("mine").unwrap().program.as_deref(), Some("agent"));
}

#[test]
fn a_variable_that_overrides_an_untrusted_key_makes_it_unused() {
    let world = World::default()
        .project("[providers.openai]\nbase_url = \"https://evil.example\"\n")
        .variable("SAIHAI_PROVIDERS__OPENAI__BASE_URL", "https://api.example.com");
    let settings = world.settings();
    assert_eq!(refused(&settings, &[Use::Provider("openai")]), "");
    assert_eq!(settings.provider("openai").unwrap().base_url.as_deref(), Some("https://api.example.com"));
}

#[test]
fn exactly_the_dangerous_keys_need_trust() {
    // K-39
    let mut diagnostics = Diagnostics::new();
    let text = "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"p\"\nargs = []\nmodel = \"m\"\nbase_url = \"https://x\"\nenv_pass = []\nenv = { A = \"1\" }\nsystem_prompt = \"s\"\ntools = []\nhonours = []\nturn_timeout = 1\nfallback = \"claude\"\nprotocol = \"text\"\n[providers.gemini]\ntrust = true\n[providers.script]\nfile = \"s.yaml\"\n[work]\napi = \"https://x\"\nverify = [\"x\"]\ncopy_files = []\nrepo = \"a/b\"\n[distributed]\nserver = \"s\"\nqueue = \"q\"\n";
    let source = MemorySource::new([(PROJECT, text)]);
    let request = TrustRequest::examine(&source, Path::new(PROJECT), &mut diagnostics).unwrap();
    let keys: String = request.keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    assert_snapshot!(keys, @r#"
    providers.mine.kind = "command"
    providers.mine.program = "p"
    providers.mine.args = []
    providers.mine.base_url = "https://x"
    providers.mine.env_pass = []
    providers.mine.env.A = "1"
    providers.mine.honours = []
    providers.gemini.trust = true
    providers.script.file = "s.yaml"
    work.api = "https://x"
    work.verify = ["x"]
    work.copy_files = []
    distributed.server = "s"
    "#);
    assert_eq!((request.path.as_path(), request.content.as_slice()), (Path::new(PROJECT), text.as_bytes()));
}

#[test]
fn what_is_trusted_is_remembered_and_forgotten() {
    // K-39
    let mut trust = Trust::default();
    trust.record(Path::new("/a/.saihai/config.toml"), b"x");
    trust.record(Path::new("/日本 \"語\"/config.toml"), b"y");
    assert_snapshot!(trust.to_toml(), @r#"
    # Project files that may run programs, with the hash of their trusted content.
    # Written by `saihai trust`. Trust a changed file again.

    [files]
    "/a/.saihai/config.toml" = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    '/日本 "語"/config.toml' = "sha256:a1fce4363854ff888cff4b8e7875d600c2682390412a8cf79b37d0b11148b0fa"
    "#);
    let source = MemorySource::new([("/u/trust.toml", trust.to_toml().as_str())]);
    let mut diagnostics = Diagnostics::new();
    let mut again = Trust::load(&source, Some(Path::new("/u")), &mut diagnostics);
    assert_eq!(again, trust);
    assert!(again.trusts(Path::new("/a/.saihai/config.toml"), b"x"));
    assert!(!again.trusts(Path::new("/a/.saihai/config.toml"), b"z"));
    assert!(again.revoke(Path::new("/a/.saihai/config.toml")));
    assert!(!again.revoke(Path::new("/a/.saihai/config.toml")));
    assert!(!again.knows(Path::new("/a/.saihai/config.toml")));
    assert_eq!(again.files().count(), 1);
    assert!(diagnostics.is_empty());
}

#[test]
fn a_damaged_record_trusts_nothing_and_says_so() {
    let mut world = World::default().project(PROJECT_TEXT);
    world.source.add("/home/me/.config/saihai/trust.toml", "[files\n");
    let (settings, wrong) = world.load();
    assert!(wrong.contains("settings/syntax"), "{wrong}");
    assert_ne!(refused(&settings, &[Use::Work]), "");
}

// B-1, B-2: a project may take rights from agents, and may not replace what the user set.
#[test]
fn an_untrusted_project_can_only_narrow_the_network() {
    let network = |user: &str, project: &str| {
        let of = |value: &str| match value {
            "" => String::new(),
            value => format!("sandbox_network = {value}\n"),
        };
        World::default().user(&of(user)).project(&of(project)).settings().sandbox.network
    };
    let hosts = |text: &str| SandboxNetwork::Hosts(vec![SandboxHost::parse(text).unwrap()]);
    let (list, other) = ("[\"a.example:443\"]", "[\"*.b.example:443\"]");
    assert_eq!(network("", list), hosts("a.example:443"));
    assert_eq!(network("", "\"none\""), SandboxNetwork::Closed);
    assert_eq!(network(list, other), hosts("a.example:443"));
    assert_eq!(network("\"none\"", list), SandboxNetwork::Closed);
    assert_eq!(network("\"open\"", list), SandboxNetwork::Open);
}
