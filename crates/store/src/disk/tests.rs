use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_replaced_file_is_the_old_one_or_the_new_one_wherever_the_process_dies() {
    for operation in 1..=5 {
        for moment in [Death::Before, Death::Half, Death::After] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("file");
            std::fs::write(&path, "old").unwrap();
            let disk = Disk::failing(FaultPlan {
                die: Some((Deadly::Number(operation), moment)),
                ..FaultPlan::default()
            });
            let done = disk.replace(&path, b"new and longer");
            let now = std::fs::read_to_string(&path).unwrap();
            assert!(done.is_err(), "operation {operation}");
            let renamed = (operation, moment) > (4, Death::Half);
            assert_eq!(now, if renamed { "new and longer" } else { "old" }, "{operation} {moment:?}");
        }
    }
}

// T-7
#[test]
fn operations_are_counted_by_kind_and_clones_count_together() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Disk::new();
    disk.clone().create_directories(&directory.path().join("a/b")).unwrap();
    disk.replace(&directory.path().join("a/b/c"), b"x").unwrap();
    disk.remove(&directory.path().join("a/b/c")).unwrap();
    assert_eq!(disk.operations(), Operations { all: 4 + 5 + 1, writes: 1, syncs: 2 + 2 });
}

// T-14
#[test]
fn an_operation_fails_as_planned_once_or_from_then_on() {
    let check = |for_ever: bool, expected: &str| {
        let directory = tempfile::tempdir().unwrap();
        let disk =
            Disk::failing(FaultPlan { fail: Some((2, Errno::NoSpace)), for_ever, ..FaultPlan::default() });
        let path = directory.path().join("file");
        let file = disk.create_new(&path).unwrap();
        let tries = (0..3).map(|_| disk.write(&file, &path, b"abcd"));
        let said: Vec<_> =
            tries.map(|done| done.map_or_else(|error| error.kind().to_string(), |()| "ok".into())).collect();
        assert_eq!(said.join(", "), expected);
    };
    check(false, "no storage space, ok, ok");
    check(true, "no storage space, no storage space, no storage space");
}

// T-14
#[test]
fn a_short_write_leaves_half_of_its_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let disk = Disk::failing(FaultPlan { fail: Some((2, Errno::Short)), ..FaultPlan::default() });
    let file = disk.create_new(&path).unwrap();
    disk.write(&file, &path, b"abcdef").unwrap_err();
    assert_eq!(std::fs::read(&path).unwrap(), b"abc");
}

#[test]
fn plans_are_read_from_text_and_nonsense_is_none() {
    let plan = FaultPlan::parse("kill-half=7, fail-from=3:EIO,no-sync,log=/tmp/x").unwrap();
    assert_eq!(plan.die, Some((Deadly::Number(7), Death::Half)));
    assert_eq!((plan.fail, plan.for_ever, plan.no_sync), (Some((3, Errno::Io)), true, true));
    assert_eq!(plan.log.as_deref(), Some(Path::new("/tmp/x")));
    let plan = FaultPlan::parse("kill-after=write:\"called\"").unwrap();
    assert_eq!(plan.die, Some((Deadly::Writing("\"called\"".to_owned()), Death::After)));
    assert!(FaultPlan::parse("").is_some());
    for nonsense in ["kill", "kill-before=x", "fail=3", "fail=3:ENOENT", "sync"] {
        assert!(FaultPlan::parse(nonsense).is_none(), "{nonsense}");
    }
}

#[test]
fn every_operation_is_noted_where_that_was_planned() {
    let directory = tempfile::tempdir().unwrap();
    let (log, path) = (directory.path().join("log"), directory.path().join("file"));
    let disk = Disk::failing(FaultPlan { log: Some(log.clone()), ..FaultPlan::default() });
    disk.replace(&path, b"x").unwrap();
    let noted = std::fs::read_to_string(log).unwrap().replace(&directory.path().display().to_string(), "");
    insta::assert_snapshot!(noted, @"
    1 Create /file.draft
    2 Write /file.draft
    3 Sync /file.draft
    4 Rename /file
    5 SyncDirectory 
    ");
}

fn shelf() -> (tempfile::TempDir, tempfile::TempDir, Beneath) {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let beneath = Beneath::open(&inside.path().canonicalize().unwrap()).unwrap();
    (inside, outside, beneath)
}

#[test]
fn files_below_a_directory_are_written_with_their_folders_and_read_back() {
    let (inside, _, beneath) = shelf();
    beneath.replace(&Disk::new(), "a/b/c.md", b"one").unwrap();
    beneath.replace(&Disk::new(), "a/b/c.md", b"two").unwrap();
    assert_eq!(beneath.read("a/b/c.md").unwrap(), FileContent::File(b"two".to_vec()));
    assert_eq!(beneath.read("a/b/d.md").unwrap(), FileContent::Absent);
    assert_eq!(beneath.read("x/y.md").unwrap(), FileContent::Absent);
    assert_eq!(names(&inside.path().join("a/b")), ["c.md"]);
}

#[test]
fn what_is_written_for_people_follows_no_link_either() {
    let (inside, outside, beneath) = shelf();
    let root = inside.path().canonicalize().unwrap();
    replace_below(&root, "a/b/c.md", b"one").unwrap();
    replace_below(&root, "a/b/c.md", b"two").unwrap();
    assert_eq!(beneath.read("a/b/c.md").unwrap(), FileContent::File(b"two".to_vec()));
    assert_eq!(names(&root.join("a/b")), ["c.md"]);
    fs::remove_dir_all(root.join("a/b")).unwrap();
    fs::write(outside.path().join("c.md"), "theirs").unwrap();
    symlink(outside.path(), root.join("a/b")).unwrap();
    let error = replace_below(&root, "a/b/c.md", b"three").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    symlink(outside.path().join("c.md"), root.join("a/d.md")).unwrap();
    replace_below(&root, "a/d.md", b"ours").unwrap();
    assert!(replace_below(&root.join("a/b"), "c.md", b"four").is_err());
    assert_eq!(fs::read_to_string(outside.path().join("c.md")).unwrap(), "theirs");
}

// P-22, T-80
#[test]
fn names_that_lead_elsewhere_are_refused() {
    let (inside, _, beneath) = shelf();
    for name in ["../x", "a/../../x", "/etc/passwd", "a//b", "", ".", "a\\b", "a/./b", "nul\0"] {
        assert!(matches!(beneath.read(name).unwrap(), FileContent::Unsafe(_)), "{name:?}");
        let error = beneath.replace(&Disk::new(), name, b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name:?}");
    }
    assert_eq!(names(inside.path()), Vec::<String>::new());
}

// T-81
#[test]
fn no_link_is_followed_for_reading_or_writing() {
    let (inside, outside, beneath) = shelf();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    symlink(outside.path(), inside.path().join("folder")).unwrap();
    symlink(outside.path().join("secret"), inside.path().join("file")).unwrap();
    symlink(outside.path().join("new"), inside.path().join("dangling")).unwrap();
    for name in ["folder/secret", "file", "dangling"] {
        assert!(matches!(beneath.read(name).unwrap(), FileContent::Unsafe(_)), "{name}");
    }
    beneath.replace(&Disk::new(), "folder/new", b"x").unwrap_err();
    // A replaced link leaves its target unchanged.
    beneath.replace(&Disk::new(), "file", b"ours").unwrap();
    beneath.replace(&Disk::new(), "dangling", b"ours").unwrap();
    assert_eq!(names(outside.path()), ["secret"]);
    assert_eq!(std::fs::read_to_string(outside.path().join("secret")).unwrap(), "s");
    assert_eq!(beneath.read("file").unwrap(), FileContent::File(b"ours".to_vec()));
}

// T-81
#[test]
fn a_directory_whose_path_has_become_a_link_is_not_opened() {
    let (inside, outside, _) = shelf();
    let inside = inside.path().canonicalize().unwrap();
    std::fs::create_dir(outside.path().join("reports")).unwrap();
    symlink(outside.path(), inside.join("moved")).unwrap();
    let error = Beneath::open(&inside.join("moved/reports")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
}

// T-81
#[test]
fn a_pipe_or_a_directory_under_a_reports_name_neither_blocks_nor_counts() {
    let (inside, _, beneath) = shelf();
    let fifo = inside.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    std::fs::create_dir(inside.path().join("folder")).unwrap();
    for name in ["pipe", "folder"] {
        assert!(matches!(beneath.read(name).unwrap(), FileContent::Unsafe(_)), "{name}");
    }
}

// T-81: a folder and a link to another place swap while files are written there.
#[test]
fn nothing_is_written_elsewhere_while_a_folder_and_a_link_change_places() {
    let (inside, outside, beneath) = shelf();
    let (folder, link) = (inside.path().join("f"), inside.path().join("l"));
    std::fs::create_dir(&folder).unwrap();
    symlink(outside.path(), &link).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let (here, swap) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
                rustix::fs::renameat_with(here, &folder, here, &link, swap).unwrap();
            }
        });
        let disk = Disk::failing(FaultPlan { no_sync: true, ..FaultPlan::default() });
        let (mut put, mut refused) = (0, 0);
        // Under any thread schedule, the loop has met both states.
        while put + refused < 2_000 || put < 20 || refused < 20 {
            match beneath.replace(&disk, &format!("f/{put}"), b"x") {
                Ok(()) => put += 1,
                Err(_) => refused += 1,
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(names(outside.path()), Vec::<String>::new());
}
