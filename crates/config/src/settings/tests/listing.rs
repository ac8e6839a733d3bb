use super::*;

fn shown(listed: Vec<ListedSetting>) -> String {
    listed.iter().map(|one| format!("{} = {} ({})\n", one.key, one.value, one.origin)).collect()
}

#[test]
fn secrets_are_masked() {
    let text = "[providers.claude.env]\nMY_API_KEY = \"abc123\"\nmode = \"fast\"\nGithub_Token = \"t\"\nDB_PASSWORD = \"p\"\n";
    let settings = World::default().user(text).settings();
    assert_snapshot!(shown(settings.find("providers").unwrap()), @r#"
    providers.claude.env.MY_API_KEY = "***" (/home/me/.config/saihai/config.toml:2)
    providers.claude.env.mode = "fast" (/home/me/.config/saihai/config.toml:3)
    providers.claude.env.Github_Token = "***" (/home/me/.config/saihai/config.toml:4)
    providers.claude.env.DB_PASSWORD = "***" (/home/me/.config/saihai/config.toml:5)
    "#);
}

#[test]
fn a_key_or_a_group_can_be_asked_for() {
    let settings = World::default()
        .user("[providers.claude]\nmodel = \"m\"\n[review.agents.x]\nenabled = false\n")
        .settings();
    let find = |key: &str| settings.find(key).map(shown);
    assert_snapshot!(find("retry.max_wait").unwrap(), @r#"retry.max_wait = "6h" (default)"#);
    assert_snapshot!(find("limits").unwrap(), @"limits.hard_iterations = 100 (default)");
    assert_snapshot!(find("provider").unwrap(), @"provider = null (default)");
    assert_snapshot!(find("providers.claude").unwrap(), @r#"providers.claude.model = "m" (/home/me/.config/saihai/config.toml:2)"#);
    assert_snapshot!(find("providers.claude.turn_timeout").unwrap(), @r#"providers.claude.turn_timeout = "60m" (default)"#);
    assert_snapshot!(find("review.agents").unwrap(), @"review.agents.x.enabled = false (/home/me/.config/saihai/config.toml:4)");
}

#[test]
fn a_key_that_does_not_exist_is_an_error_with_a_suggestion() {
    let settings = World::default().settings();
    let wrong = |key: &str| {
        let diagnostic = *settings.find(key).unwrap_err();
        to_human(&Diagnostics::from_iter([diagnostic]), Colour::Never)
    };
    assert_snapshot!(wrong("retry.max_wiat"), @"
    error[settings/unknown-key]: unknown setting `retry.max_wiat`
      = help: did you mean `retry.max_wait`?
    ");
    assert_snapshot!(wrong("provider.x"), @"
    error[settings/unknown-key]: unknown setting `provider.x`
      = help: did you mean `provider`?
    ");
    assert_snapshot!(wrong(""), @"error[settings/unknown-key]: unknown setting ``");
}

#[test]
fn a_name_with_a_dot_is_listed_in_quotes() {
    let settings =
        World::default().user("[providers.\"a.b\"]\nkind = \"claude\"\nmodel = \"m\"\n").settings();
    assert_snapshot!(shown(settings.find("providers").unwrap()), @r#"
    providers["a.b"].kind = "claude" (/home/me/.config/saihai/config.toml:2)
    providers["a.b"].model = "m" (/home/me/.config/saihai/config.toml:3)
    "#);
}
