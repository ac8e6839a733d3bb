use std::path::Path;

use super::{DiskSource, FileKind, MemorySource, ReadError, RememberedSource, Source};

fn check(source: &dyn Source, root: &Path) {
    let at = |name: &str| root.join(name);
    assert_eq!(source.read(&at("a.txt"), 10), Ok(b"hello".to_vec()));
    assert_eq!(source.read(&at("a.txt"), 5), Ok(b"hello".to_vec()));
    assert_eq!(source.read(&at("a.txt"), 4), Err(ReadError::TooLarge { limit: 4 }));
    assert_eq!(source.read(&at("b.txt"), 10), Err(ReadError::Missing));
    assert_eq!(source.read(&at("a.txt/b"), 10), Err(ReadError::Missing));
    assert_eq!(source.read(&at("sub"), 10), Err(ReadError::Directory));
    assert_eq!(source.kind(&at("sub")), Some(FileKind::Directory));
    assert_eq!(source.kind(&at("sub/c.txt")), Some(FileKind::File));
    assert_eq!(source.kind(&at("nowhere")), None);
    assert_eq!(source.list(root), Ok(vec!["a.txt".into(), "link.txt".into(), "sub".into()]));
    assert_eq!(source.list(&at("nowhere")), Err(ReadError::Missing));
    assert_eq!(source.read(&at("link.txt"), 10), Ok(b"inner".to_vec()));
    assert_eq!(source.canonical(&at("link.txt")), Ok(at("sub/c.txt")));
    assert_eq!(source.canonical(&at("sub/../a.txt")), Ok(at("a.txt")));
    assert_eq!(source.canonical(&at("nowhere")), Err(ReadError::Missing));
}

#[test]
fn files_in_memory_behave_like_files_on_disk() {
    let mut memory = MemorySource::new([("/p/a.txt", "hello"), ("/p/sub/c.txt", "inner")]);
    memory.link("/p/link.txt", "/p/sub/c.txt");
    check(&memory, Path::new("/p"));

    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::fs::write(root.join("a.txt"), "hello").unwrap();
    std::fs::create_dir(root.join("sub")).unwrap();
    std::fs::write(root.join("sub/c.txt"), "inner").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(root.join("sub/c.txt"), root.join("link.txt")).unwrap();
    check(&DiskSource, &root);
}

#[test]
fn links_in_a_circle_lead_nowhere() {
    let mut memory = MemorySource::default();
    memory.link("/a", "/b");
    memory.link("/b", "/a");
    assert_eq!(memory.read(Path::new("/a"), 10), Err(ReadError::Missing));
}

#[cfg(unix)]
#[test]
fn a_device_is_refused_instead_of_being_read_for_ever() {
    let error = DiskSource.read(Path::new("/dev/zero"), 10).unwrap_err();
    assert_eq!(error, ReadError::Other("it is not an ordinary file".to_owned()));
}

#[test]
fn a_large_file_is_refused_without_reading_it() {
    // K-37: 50 MB with a limit of 1 MiB. The file is sparse, so only reading it would cost
    // anything.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large.yaml");
    std::fs::File::create(&path).unwrap().set_len(50_000_000).unwrap();
    let error = DiskSource.read(&path, 1024 * 1024).unwrap_err();
    assert_eq!(error.to_string(), "it is larger than 1 MiB");
}

#[test]
fn what_was_looked_at_stays_as_it_was_and_the_rest_is_as_it_is() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let files = RememberedSource::new(DiskSource);
    std::fs::write(at("a"), "one").expect("a file");
    assert_eq!(files.read(&at("a"), 9), Ok(b"one".to_vec()));
    assert_eq!((files.kind(&at("b")), files.list(directory.path())), (None, Ok(vec!["a".into()])));
    for name in ["a", "b", "c"] {
        std::fs::write(at(name), "two").expect("a file");
    }
    assert_eq!(files.read(&at("a"), 9), Ok(b"one".to_vec()));
    assert_eq!((files.kind(&at("b")), files.list(directory.path())), (None, Ok(vec!["a".into()])));
    assert_eq!(files.read(&at("c"), 9), Ok(b"two".to_vec()));
}
