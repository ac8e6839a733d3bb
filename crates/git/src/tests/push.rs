//! Pushes to a repository on this disk.

use crate::private_git::PrivateGit;
use crate::tests::*;

/// A remote next to the repository.
struct GitServer {
    work: Work,
    url: String,
}

impl GitServer {
    fn new() -> Self {
        let scene = Scene::new();
        scene.git(&["init", "--quiet", "--bare", "../remote.git"]);
        let url = format!("file://{}", scene.beside("remote.git").display());
        scene.git(&["remote", "add", "origin", &url]);
        let work = Work::on(scene);
        work.write("a.txt", "two\n");
        Self { work, url }
    }

    fn push(&self, commit: &str) -> GitPushOutcome {
        let pushing = GitPushRequest { url: &self.url, branch: "feature/issue-7", commit, token: None };
        self.work.repository.push(pushing, &self.work.lock).unwrap()
    }

    fn tip(&self) -> String {
        git(&self.work.scene.beside("remote.git"), &["for-each-ref", "--format=%(refname) %(objectname)"])
    }
}

#[test]
fn a_branch_is_pushed_once_and_then_forward() {
    let remote = GitServer::new();
    assert_eq!(remote.work.repository.frozen().remote_url("origin"), Some(remote.url.as_str()));
    let first = remote.work.ready().commit;
    assert_eq!(remote.push(&first), GitPushOutcome::Done);
    assert_eq!(remote.tip(), format!("refs/heads/feature/issue-7 {first}"));
    assert_eq!(remote.push(&first), GitPushOutcome::Already);
    remote.work.write("a.txt", "three\n");
    let second = remote.work.ready().commit;
    assert_eq!(remote.push(&second), GitPushOutcome::Done);
    assert_eq!(remote.tip(), format!("refs/heads/feature/issue-7 {second}"));
}

#[test]
fn a_branch_that_moved_there_is_never_overwritten() {
    let remote = GitServer::new();
    let ours = remote.work.ready().commit;
    let theirs = remote.work.scene.git(&["commit-tree", "main^{tree}", "-m", "theirs"]);
    remote.work.scene.git(&["push", "--quiet", "origin", &format!("{theirs}:refs/heads/feature/issue-7")]);
    let expected =
        format!("`feature/issue-7` is at {theirs} on the server, which these commits do not contain");
    assert_eq!(remote.push(&ours), GitPushOutcome::Rejected { said: expected.clone() });
    // Also for a commit that is not here, or one after ours.
    let elsewhere = remote.work.scene.beside("elsewhere");
    remote.work.scene.git(&["clone", "--quiet", &remote.url, "../elsewhere"]);
    git(&elsewhere, &["switch", "--quiet", "feature/issue-7"]);
    git(&elsewhere, &["commit", "--quiet", "--allow-empty", "-m", "later"]);
    git(&elsewhere, &["push", "--quiet"]);
    let later = git(&elsewhere, &["rev-parse", "HEAD"]);
    for commit in [&ours, &theirs] {
        assert!(matches!(remote.push(commit), GitPushOutcome::Rejected { .. }));
        assert_eq!(remote.tip(), format!("refs/heads/feature/issue-7 {later}"));
    }
}

#[test]
fn a_ref_that_only_ends_alike_is_another_one() {
    let remote = GitServer::new();
    let commit = remote.work.ready().commit;
    let odd = format!("{commit}:refs/heads/x/refs/heads/feature/issue-7");
    remote.work.scene.git(&["push", "--quiet", "origin", &odd]);
    assert_eq!(remote.push(&commit), GitPushOutcome::Done);
}

#[test]
fn a_remote_that_does_not_take_it_is_said() {
    let remote = GitServer::new();
    let commit = remote.work.ready().commit;
    git(&remote.work.scene.beside("remote.git"), &["config", "transfer.hideRefs", "refs/heads/feature"]);
    let pushed = remote.push(&commit);
    assert!(matches!(&pushed, GitPushOutcome::Rejected { .. }), "{pushed:?}");
    assert_eq!(remote.tip(), "");
}

#[test]
fn where_nobody_can_tell_nothing_is_pushed() {
    let remote = GitServer::new();
    let commit = remote.work.ready().commit;
    fs::rename(remote.work.scene.beside("remote.git"), remote.work.scene.beside("gone.git")).unwrap();
    let pushed = remote.push(&commit);
    assert!(matches!(&pushed, GitPushOutcome::Unread { .. }), "{pushed:?}");
}

// I-51: only a refusal of the server itself is a rejection, in its own words.
#[test]
fn a_server_that_goes_away_has_rejected_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let remote = GitServer::new();
    let commit = remote.work.ready().commit;
    let hook = |name: &str, text: &str| {
        let path = remote.work.scene.beside("remote.git/hooks").join(name);
        write(&path, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    hook("pre-receive", "kill -9 $PPID");
    let away = GitPushOutcome::Unanswered { said: "fatal: the remote end hung up unexpectedly".to_owned() };
    assert_eq!(remote.push(&commit), away);
    hook("pre-receive", "echo 'not before ten'; exit 1");
    let refused = "[remote rejected] (pre-receive hook declined): not before ten".to_owned();
    assert_eq!(remote.push(&commit), GitPushOutcome::Rejected { said: refused });
    assert_eq!(remote.tip(), "");
    // The server has the commit, even though its process died.
    hook("pre-receive", "exit 0");
    hook("reference-transaction", "test \"$1\" = committed || exit 0\nkill -9 $PPID");
    assert_eq!(remote.push(&commit), GitPushOutcome::Done);
}

#[test]
fn without_its_lock_nothing_is_pushed() {
    let remote = GitServer::new();
    let commit = remote.work.ready().commit;
    fs::remove_file(remote.work.scene.beside("repository/.git/saihai/issue-7.lock")).unwrap();
    let pushing =
        GitPushRequest { url: &remote.url, branch: "feature/issue-7", commit: &commit, token: None };
    let pushed = remote.work.repository.push(pushing, &remote.work.lock);
    assert!(matches!(pushed, Err(RepositoryError::LockLost { .. })), "{pushed:?}");
    assert_eq!(remote.tip(), "");
}

#[test]
fn a_token_is_shown_to_the_server_of_the_address_and_to_no_other() {
    let scene = Scene::new();
    let own = fs::read_to_string(scene.beside("home/.gitconfig")).unwrap();
    let helper = "!echo username=own; echo password=own; true";
    scene.write("home/.gitconfig", &format!("{own}[credential]\n\thelper = \"{helper}\"\n"));
    let repository = scene.repository();
    let private = PrivateGit::make(&repository, None).unwrap();
    let token = GitAccessToken::new("a token \"of\" $ours", "forge.example");
    let asked = |url: &str, host: &str| {
        let mut git = private.command("credential");
        token.lend(git.arg("fill"), url);
        assert!(!format!("{:?}", git.get_args()).contains("token"));
        let said = crate::git_program::feed(
            &mut git,
            "credential",
            format!("protocol=https\nhost={host}\n\n").as_bytes(),
        );
        String::from_utf8(said.unwrap()).unwrap().lines().last().unwrap().to_owned()
    };
    let forge = "https://forge.example/o/r.git";
    assert_eq!(asked(forge, "forge.example"), "password=a token \"of\" $ours");
    assert_eq!(asked("https://name@forge.example", "forge.example"), "password=a token \"of\" $ours");
    assert_eq!(
        asked("https://Forge.example:443/o/r.git", "Forge.example:443"),
        "password=a token \"of\" $ours"
    );
    // An agent may have set another server, or one with a similar name.
    for evil in [
        "https://evil.example/o/r.git",
        "https://forge.example@evil.example",
        "https://evil.example?@forge.example",
    ] {
        assert_eq!(asked(evil, "evil.example"), "password=own", "{evil}");
    }
    assert_eq!(asked(forge, "other.example"), "password=own");
    assert_eq!(asked(forge, "forge.example.evil"), "password=own");
    assert_eq!(asked("http://forge.example/o/r.git", "forge.example"), "password=own");
    assert_eq!(format!("{token:?}"), "Token(…)");
}
