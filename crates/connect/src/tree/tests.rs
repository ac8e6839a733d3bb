use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use insta::assert_snapshot;
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::ConfinedTree;

/// Creates a working directory with links that lead outside, and a file that must not change.
fn world() -> tempfile::TempDir {
    let world = tempfile::tempdir().unwrap();
    let inside = world.path().join("inside");
    fs::create_dir_all(inside.join("real")).unwrap();
    fs::create_dir(world.path().join("outside")).unwrap();
    fs::write(world.path().join("outside/secret"), "secret").unwrap();
    symlink("../outside", inside.join("out")).unwrap();
    symlink(world.path().join("outside/secret"), inside.join("file")).unwrap();
    symlink("real", inside.join("near")).unwrap();
    mknodat(CWD, inside.join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    world
}

fn tree(world: &Path) -> ConfinedTree {
    ConfinedTree::open(&world.join("inside")).unwrap()
}

fn refused(path: &str) -> String {
    let world = world();
    let tree = tree(world.path());
    let checked = tree.check(path).unwrap_err().to_string();
    let written = tree.write(path, "x").unwrap_err().to_string();
    assert_eq!(checked, written, "checking and writing agree");
    assert_eq!(fs::read_to_string(world.path().join("outside/secret")).unwrap(), "secret");
    written
}

// C-75, Connections case 38: no escape by `..`, absolute paths or symbolic links.
#[test]
fn nothing_is_written_through_a_path_that_leads_outside() {
    let paths =
        ["../x", "real/../../x", "/tmp/x", "", ".", "a/", "a\0b", "out/x", "file", "near/x", "pipe", "real"];
    let said: Vec<_> = paths.iter().map(|path| refused(path).replace('\0', "␀")).collect();
    assert_snapshot!(said.join("\n"), @"
    `../x` is not a relative path that stays inside the working directory
    `real/../../x` is not a relative path that stays inside the working directory
    `/tmp/x` is not a relative path that stays inside the working directory
    `` is not a relative path that stays inside the working directory
    `.` is not a relative path that stays inside the working directory
    `a/` is not a relative path that stays inside the working directory
    `a␀b` is not a relative path that stays inside the working directory
    `out/x` goes through the symbolic link `out`
    `file` goes through the symbolic link `file`
    `near/x` goes through the symbolic link `near`
    `pipe` is not a file
    `real` is not a file
    ");
}

#[test]
fn a_file_below_another_file_cannot_be_written() {
    let world = world();
    let tree = tree(world.path());
    tree.write("real/f", "x").unwrap();
    assert_snapshot!(tree.write("real/f/g", "x").unwrap_err(), @"`real/f/g` could not be opened: Not a directory (os error 20)");
}

#[test]
fn a_file_that_is_not_text_cannot_be_edited() {
    let world = world();
    fs::write(world.path().join("inside/raw"), [0xff, 0xfe]).unwrap();
    let edit = saihai_model::ScriptEdit { path: "raw".into(), find: "a".into(), replace: "b".into() };
    assert_snapshot!(tree(world.path()).edit(&edit, super::EditState::Once).unwrap_err(), @"`raw` cannot be edited because it is not UTF-8 text");
}

#[test]
fn a_working_directory_reached_through_a_link_is_the_users_own_choice() {
    let world = world();
    symlink("inside", world.path().join("alias")).unwrap();
    ConfinedTree::open(&world.path().join("alias")).unwrap().write("a/b/c", "x").unwrap();
    assert_eq!(fs::read_to_string(world.path().join("inside/a/b/c")).unwrap(), "x");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // P8: no path changes anything outside.
    #[test]
    fn no_path_touches_the_world_outside(
        parts in prop::collection::vec(prop::sample::select(vec!["..", ".", "", "out", "file", "near", "real", "a", "secret"]), 1..6),
        absolute: bool,
    ) {
        let world = world();
        let path = format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"));
        let _ = tree(world.path()).write(&path, "overwritten");
        prop_assert_eq!(fs::read_to_string(world.path().join("outside/secret")).unwrap(), "secret");
        prop_assert_eq!(fs::read_dir(world.path().join("outside")).unwrap().count(), 1);
        prop_assert_eq!(fs::read_dir(world.path()).unwrap().count(), 2);
    }
}

// T-10: a process that is killed during a write leaves the old file or the new one, never half of one. A
// reader with the old file open keeps reading it. So the new one must be another file with the same name.
#[test]
fn a_file_is_replaced_whole_and_keeps_who_may_run_it() {
    use std::io::Read as _;
    use std::os::unix::fs::PermissionsExt as _;
    let world = world();
    let inside = world.path().join("inside");
    let path = inside.join("tool");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let mut before = fs::File::open(&path).unwrap();
    let names = || fs::read_dir(&inside).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    let there = names();
    tree(world.path()).write("tool", "new").unwrap();
    let mut old = String::new();
    before.read_to_string(&mut old).unwrap();
    assert_eq!((old.as_str(), fs::read_to_string(&path).unwrap().as_str()), ("old", "new"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(names().len(), there.len(), "nothing is left beside it");
}
