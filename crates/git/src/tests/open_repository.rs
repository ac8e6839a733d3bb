//! Refused repositories, and frozen settings.

use crate::private_git::PrivateGit;
use std::os::unix::fs::PermissionsExt as _;

use crate::tests::*;

/// Returns the reason for a refused repository and its remedy.
#[track_caller]
fn refused(opened: Result<Repository, RepositoryError>, scene: &Scene) -> String {
    let error = opened.unwrap_err();
    let shown = format!("{error}\n{}", error.remedy().unwrap_or_default());
    shown.replace(&scene.beside("").display().to_string(), "/")
}

#[test]
fn no_repository_is_refused() {
    let scene = Scene::new();
    fs::create_dir(scene.beside("empty")).unwrap();
    let opened = Repository::open(&scene.beside("empty"), &scene.environment());
    insta::assert_snapshot!(refused(opened, &scene), @r"
    `/empty` is not in a git repository
    run `git init` and commit something first
    ");
}

// I-39
#[test]
fn a_bare_repository_is_refused() {
    let scene = Scene::new();
    scene.git(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
    let opened = Repository::open(&scene.beside("bare.git"), &scene.environment());
    insta::assert_snapshot!(refused(opened, &scene), @r"
    `/bare.git` is a bare repository
    work in a clone that has files: `git clone REPOSITORY DIRECTORY`
    ");
}

// I-39
#[test]
fn a_repository_without_a_commit_is_refused() {
    let scene = Scene::new();
    scene.git(&["init", "--quiet", "../new"]);
    let opened = Repository::open(&scene.beside("new"), &scene.environment());
    insta::assert_snapshot!(refused(opened, &scene), @r"
    the repository has no commit yet
    commit something first: `git commit --allow-empty -m start`
    ");
}

#[test]
fn broken_refs_are_not_taken_for_a_beginning() {
    let scene = Scene::new();
    scene.git(&["pack-refs", "--all"]);
    scene.write("repository/.git/packed-refs", "broken\n");
    let said = refused(scene.open(), &scene);
    assert!(said.contains("packed-refs") && !said.contains("no commit yet"), "{said}");
}

// I-39
#[test]
fn a_user_without_a_name_is_refused() {
    let scene = Scene::new();
    scene.write("home/.gitconfig", "[user]\n\temail = user@example.com\n");
    insta::assert_snapshot!(refused(scene.open(), &scene), @r"
    git has no user name and email address
    set both `git config --global user.name NAME` and `git config --global user.email ADDRESS`
    ");
    scene.git(&["config", "user.name", "Local"]);
    assert_eq!(scene.repository().frozen().stand_in(), None);
}

// A GitHub Actions job has no user. The identity that pushes and opens pull requests also commits.
#[test]
fn in_a_job_of_github_actions_its_bot_commits_where_nobody_else_is_named() {
    let scene = Scene::new();
    let inside = || {
        let environment = scene.environment_with(Some(("GITHUB_ACTIONS", "true")));
        Repository::open(scene.made.root(), &environment).unwrap()
    };
    assert_eq!(inside().frozen().stand_in(), None, "somebody is named");
    scene.write("home/.gitconfig", "[user]\n\temail = user@example.com\n");
    let repository = inside();
    assert_eq!(repository.frozen().stand_in(), Some("github-actions[bot]"));
    let private = PrivateGit::make(&repository, None).unwrap();
    for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
        let said = String::from_utf8(private.run("var", [who]).unwrap()).unwrap();
        let expected = "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com> ";
        assert!(said.starts_with(expected), "{said}");
    }
}

// I-39
#[test]
fn another_git_at_work_is_refused_and_its_lock_stays() {
    let scene = Scene::new();
    scene.write("repository/.git/index.lock", "");
    insta::assert_snapshot!(refused(scene.open(), &scene), @r"
    another git process is working in this repository: `/repository/.git/index.lock` exists
    wait until it ends; if no git is running, remove that file
    ");
    assert!(scene.beside("repository/.git/index.lock").exists());
}

#[test]
fn a_repository_whose_files_are_said_to_be_nowhere_is_refused() {
    let scene = Scene::new();
    scene.git(&["config", "core.worktree", &scene.beside("gone").display().to_string()]);
    insta::assert_snapshot!(refused(scene.open(), &scene), @r"
    the configured directory of the repository's files does not exist: `/gone`
    fix `core.worktree`, or remove it: `git config --unset core.worktree`
    ");
}

// I-39
#[test]
fn a_partial_clone_that_lacks_files_of_the_base_is_refused() {
    let scene = Scene::new();
    scene.git(&["config", "uploadpack.allowFilter", "true"]);
    let from = format!("file://{}", scene.made.root().display());
    scene.git(&["clone", "--quiet", "--no-checkout", "--filter=blob:none", &from, "../partial"]);
    let repository = Repository::open(&scene.beside("partial"), &scene.environment()).unwrap();
    let error = repository.base("main").unwrap_err();
    insta::assert_snapshot!(format!("{error}\n{}", error.remedy().unwrap()), @r"
    files of `main` are not in this partial clone: 1
    fetch them: `git fetch --refetch --no-filter origin main`
    ");
    // The suggested command helps.
    git(&scene.beside("partial"), &["fetch", "--quiet", "--refetch", "--no-filter", "origin", "main"]);
    repository.base("main").unwrap();
}

// I-39, with a base on the server
#[test]
fn a_partial_clone_that_lacks_files_of_a_servers_branch_is_refused_in_the_plan_and_at_the_start() {
    let scene = Scene::new();
    scene.git(&["config", "uploadpack.allowFilter", "true"]);
    let from = format!("file://{}", scene.made.root().display());
    scene.git(&["clone", "--quiet", "--no-checkout", "--filter=blob:none", &from, "../partial"]);
    let repository = Repository::open(&scene.beside("partial"), &scene.environment()).unwrap();
    let both = || {
        let planned = repository.check_server(&from, "main", &item(7), None).map(drop).map_err(shown);
        (planned, repository.fetch(&from, "main", None).map(drop).map_err(shown))
    };
    let expected = "files of `main` are not in this partial clone: 1\n\
                    fetch them: `git fetch --refetch --no-filter origin main`";
    assert_eq!(both(), (Err(expected.to_owned()), Err(expected.to_owned())));
    git(&scene.beside("partial"), &["fetch", "--quiet", "--refetch", "--no-filter", "origin", "main"]);
    assert_eq!(both(), (Ok(()), Ok(())));
}

fn shown(error: RepositoryError) -> String {
    format!("{error}\n{}", error.remedy().unwrap_or_default())
}

#[test]
fn a_base_that_is_no_branch_is_refused() {
    let scene = Scene::new();
    scene.git(&["commit", "--quiet", "--allow-empty", "-m", "second"]);
    scene.git(&["tag", "v1"]);
    let repository = scene.repository();
    for none in
        ["mian", "main~1", "HEAD", "v1", "main^{commit}", "main@{0}", "", "tags/v1", "refs/heads/main"]
    {
        let said = repository.base(none).unwrap_err().to_string();
        assert_eq!(said, format!("there is no branch `{none}`"));
    }
    repository.base("main").unwrap();
}

#[test]
fn a_base_that_the_server_has_not_is_refused_and_so_is_a_branch_there_in_the_way() {
    let scene = Scene::new();
    scene.git(&["tag", "v1"]);
    scene.git(&["clone", "--quiet", "--bare", ".", "../remote.git"]);
    scene.git(&["branch", "here-only"]);
    let url = scene.beside("remote.git").display().to_string();
    let repository = scene.repository();
    let check =
        |branch: &str| repository.check_server(&url, branch, &item(7), None).map_err(|it| it.to_string());
    assert_eq!(check("main"), Ok(Some(scene.git(&["rev-parse", "main"]))));
    for none in ["here-only", "main~1", "HEAD", "v1", "*", ""] {
        assert_eq!(check(none), Err(format!("the server has no branch `{none}`")));
    }
    git(&scene.beside("remote.git"), &["branch", "feature", "main"]);
    let way = "branch `feature` exists, so git cannot create `feature/issue-7`";
    assert_eq!(check("main"), Err(way.to_owned()));
    let away = repository.check_server("/nowhere/at/all", "main", &item(7), None).unwrap_err();
    assert!(matches!(away, RepositoryError::Unreachable { .. }), "{away}");
}

#[test]
fn a_repository_is_found_from_below_and_from_a_worktree_of_it() {
    let scene = Scene::new();
    scene.made.write("deep/er/b.txt", "b\n");
    scene.git(&["worktree", "add", "--quiet", "../other"]);
    let common = scene.repository().common;
    for place in ["repository/deep/er", "other"] {
        let opened = Repository::open(&scene.beside(place), &scene.environment()).unwrap();
        assert_eq!(opened.common, common, "{place}");
    }
}

#[test]
fn the_address_of_a_remote_is_the_one_pushed_to_as_it_was() {
    let scene = Scene::new();
    scene.git(&["remote", "add", "origin", "https://example.com/o/r.git"]);
    scene.git(&["remote", "add", "near", "../near.git"]);
    scene.git(&["remote", "add", "both", "https://example.com/fetch.git"]);
    scene.git(&["config", "remote.both.pushurl", "git@example.com:push.git"]);
    let repository = scene.repository();
    scene.git(&["remote", "set-url", "origin", "ext::sh -c evil"]);
    let url = |name| repository.frozen().remote_url(name).map(str::to_owned);
    assert_eq!(url("origin").as_deref(), Some("https://example.com/o/r.git"));
    assert_eq!(url("near"), Some(scene.made.root().join("../near.git").display().to_string()));
    assert_eq!(url("both").as_deref(), Some("git@example.com:push.git"));
    assert_eq!(url("none"), None);
}

// I-37
#[test]
fn the_private_directory_knows_the_users_configuration_and_not_the_repositorys() {
    let scene = Scene::new();
    let own = "[user]\n\tname = U \\\"S\\\" er\n\temail = user@example.com\n[filter \"l\\\\f s\"]\n\tclean = tidy \\\\ %f\n\
               [http \"https://example.com/\"]\n\tproxy\n[alias]\n\tx = y\n[core]\n\tpager = less\n";
    scene.write("home/.gitconfig", own);
    scene.git(&["config", "core.autocrlf", "input"]);
    scene.git(&["config", "filter.evil.clean", "evil"]);
    scene.git(&["config", "credential.helper", "evil"]);
    scene.git(&["config", "url.https://evil.example/.insteadOf", "https://"]);
    let repository = scene.repository();
    let private = PrivateGit::make(&repository, None).unwrap();
    let said = private.run("config", ["--null", "--local", "--list"]).unwrap();
    let said = String::from_utf8(said).unwrap().replace('\n', " = ").replace('\0', "\n");
    let said = said.replace(&private.path("").display().to_string(), "PRIVATE/");
    let said = said.replace(&repository.common.display().to_string(), "COMMON");
    insta::assert_snapshot!(said, @r#"
    lfs.storage = COMMON/lfs
    user.name = U "S" er
    user.email = user@example.com
    filter.l\f s.clean = tidy \ %f
    http.https://example.com/.proxy
    core.filemode = true
    core.autocrlf = input
    core.sshcommand = ssh -oBatchMode=yes
    core.repositoryformatversion = 1
    extensions.objectformat = sha1
    core.bare = true
    core.excludesfile = PRIVATE/own-exclude
    core.attributesfile = PRIVATE/own-attributes
    user.useconfigonly = true
    submodule.recurse = false
    push.recursesubmodules = no
    push.gpgsign = false
    protocol.ext.allow = never
    "#);
    let mode = fs::metadata(private.path("")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let path = private.path("");
    drop(private);
    assert!(!path.exists());
}

#[test]
fn a_repository_that_git_refuses_to_read_is_not_said_to_lack_a_branch() {
    let work = Work::new();
    assert_eq!(work.repository.tip("refs/heads/none").unwrap(), None);
    let config = work.scene.beside("repository/.git/config");
    let own = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{own}[core]\n\trepositoryformatversion = 99\n")).unwrap();
    let error = work.repository.base("main").unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.lasts()),
        (
            "`git rev-parse` failed: fatal: Expected git repo version <= 1, found 99",
            RepositoryErrorDuration::AWhile
        )
    );
}
