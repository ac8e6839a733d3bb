use super::*;

#[test]
fn the_project_is_the_git_top_level_or_the_nearest_that_holds_its_files() {
    // K-10
    let check = |files: &[&str], directory: &str, expected: &str| {
        let source = MemorySource::new(files.iter().map(|file| (*file, "")));
        assert_eq!(project_root(&source, Path::new(directory)), Path::new(expected), "{files:?}");
    };
    check(&["/a/.git/HEAD", "/a/b/.saihai/config.toml"], "/a/b/c", "/a");
    check(&["/a/b/.git"], "/a/b/c", "/a/b");
    check(&["/a/.takt/pieces/x.yaml", "/a/b/orch.yml"], "/a/b/c", "/a/b");
    check(&["/a/.agent/x/agent.json"], "/a/b", "/a");
    check(&["/a/.hachimoku/agents/x.toml"], "/a/b", "/a");
    check(&["/other/.git/HEAD"], "/a/b", "/a/b");
}

#[cfg(not(windows))]
#[test]
fn the_user_directory_follows_the_rules_of_the_system() {
    // K-10
    let check = |variables: &[(&str, &str)], expected: Option<&str>| {
        let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        assert_eq!(Variables::new(pairs).user_directory().as_deref(), expected.map(Path::new));
    };
    check(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")], Some("/x/saihai"));
    check(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "")], Some("/h/.config/saihai"));
    check(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "relative")], Some("/h/.config/saihai"));
    check(&[], None);
}
