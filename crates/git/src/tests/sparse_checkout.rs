//! Sparse checkouts, which leave files out on purpose.

use crate::tests::*;

fn scene() -> Scene {
    let scene = Scene::new();
    scene.made.write("app/a", "a\n").write("app/gone", "a\n").write("docs/d", "d\n").commit("more");
    scene.git(&["sparse-checkout", "set", "app"]);
    scene
}

// I-48
#[test]
fn files_that_a_sparse_checkout_leaves_out_are_not_deleted() {
    let stashes: fn(&Work) = |work| {
        work.write("app/z", "z\n").git(&["stash", "--quiet", "--include-untracked"]);
        work.git(&["stash", "pop", "--quiet"]);
    };
    let narrows: fn(&Work) = |work| {
        work.git(&["sparse-checkout", "set", "app"]);
        work.write("app/z", "z\n");
    };
    for agent in [stashes, narrows] {
        let work = Work::on(scene());
        assert!(work.worktree.path().join("docs/d").exists(), "an agent begins with all files");
        agent(&work);
        assert!(!work.worktree.path().join("docs/d").exists(), "git has taken it away");
        fs::remove_file(work.worktree.path().join("app/gone")).unwrap();
        assert_eq!(work.ready().files, [Path::new("app/gone"), Path::new("app/z")]);
        // The index given to the worktree has the same effect the next time.
        work.write("app/a", "b\n");
        assert_eq!(work.ready().files, ["app/a", "app/gone", "app/z"].map(Path::new));
        assert_eq!(work.git(&["status", "--porcelain"]), "");
    }
}
