//! Settings of TAKT. X-4.

use super::*;

const USERS: &str = "/home/me/.takt/config.yaml";
const OF_PROJECT: &str = "/p/.takt/config.yaml";

fn world(users: &str, project: &str) -> World {
    let mut world = World::default();
    for (path, text) in [(USERS, users), (OF_PROJECT, project)] {
        if !text.is_empty() {
            world.source.add(path, text);
        }
    }
    world
}

#[test]
fn values_of_takt_that_mean_the_same_are_defaults() {
    let settings = world(
        "provider: codex\nlanguage: ja\nlog_level: debug\n",
        "piece: default\nprovider: claude-sdk\nmodel: opus\nconcurrency: 3\n",
    )
    .settings();
    assert_eq!(settings.provider, Some("claude".into()));
    assert_eq!(settings.language, Language::Japanese);
    assert_eq!(origin(&settings, "provider"), "provider = \"claude\" (.takt/config.yaml:2)\n");
    assert_eq!(
        origin(&settings, "providers.claude.model"),
        "providers.claude.model = \"opus\" (.takt/config.yaml:3)\n"
    );
    let newer = world("", "provider: {type: codex, model: gpt-5}\n").settings();
    assert_eq!(newer.provider, Some("codex".into()));
    assert_eq!(newer.provider("codex").and_then(|codex| codex.model), Some("gpt-5".to_owned()));
    assert_eq!(world("", "provider: mock\n").settings().provider, Some("script".into()));
}

#[test]
fn settings_of_saihai_win() {
    let both = world("", "provider: codex\nmodel: o3\nlanguage: ja\n");
    let settings = both.user("provider = \"claude\"\nlanguage = \"en\"\n").settings();
    assert_eq!((settings.provider, settings.language), (Some("claude".into()), Language::English));
    let variable = world("", "provider: codex\n").variable("SAIHAI_PROVIDER", "claude").settings();
    assert_eq!(variable.provider, Some("claude".into()));
}

#[test]
fn a_provider_that_saihai_lacks_is_a_warning() {
    let (settings, said) = world("", "provider: cursor\n").load();
    assert_eq!(settings.provider, None);
    assert!(said.contains("Saihai does not know TAKT's provider `cursor`"), "{said}");
}
