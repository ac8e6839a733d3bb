use std::path::PathBuf;

use super::*;
use crate::disk::{Deadly, Death, Errno, FaultPlan};

/// A report directory, blobs, and replies whose reports are saved there.
struct Desk {
    root: tempfile::TempDir,
    disk: Disk,
    last: BTreeMap<String, String>,
    visit: u32,
}

impl Desk {
    fn new() -> Self {
        Self::on(Disk::new())
    }

    fn on(disk: Disk) -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("blobs")).unwrap();
        std::fs::create_dir(root.path().join("reports")).unwrap();
        Self { root, disk, last: BTreeMap::new(), visit: 1 }
    }

    fn report(&self, file: &str) -> PathBuf {
        self.root.path().join("reports").join(file)
    }

    fn blobs(&self) -> Blobs {
        Blobs::new(self.root.path().join("blobs"), &self.disk)
    }

    fn try_save(&self, text: &str, how: ReportClue, file: &str) -> Result<SavedReport, ReportWriteError> {
        let directory = self.root.path().canonicalize().unwrap().join("reports");
        let (blobs, disk) = (self.blobs(), &self.disk);
        let call = CallId { stage: "plan".into(), visit: self.visit, round: 1, n: 2 };
        let found = [ReportLocation {
            file: file.to_owned(),
            how,
            start: 0,
            end: text.len() as u64,
            unclosed: false,
        }];
        let reports = ReplyReports { call: &call, text, found: &found, last: &self.last };
        let output =
            ReportStore { directory: &directory, blobs: &blobs, disk, secrets: &SecretRedactor::default() }
                .save(&reports)?;
        let (_, saved) = SavedReport::all(&output).next().unwrap();
        Ok(saved)
    }

    /// Saves a reply's report and remembers its hash as the engine does.
    fn save(&mut self, text: &str, how: ReportClue) -> SavedReport {
        let saved = self.try_save(text, how, "plan.md").unwrap();
        self.last.insert("plan.md".to_owned(), saved.sha256.clone());
        self.visit += 1;
        saved
    }

    fn now(&self) -> String {
        std::fs::read_to_string(self.report("plan.md")).unwrap()
    }

    fn kept(&self, text: Option<&Text>) -> String {
        self.blobs().read(text.unwrap()).unwrap()
    }
}

// P-36, P-39
#[test]
fn a_later_version_replaces_an_earlier_one() {
    let mut desk = Desk::new();
    let first = desk.save("one", ReportClue::Clue);
    assert_eq!((first.how, first.bytes, first.agents_own), (ReportClue::Clue, 3, None));
    assert_eq!(first.sha256, sha256(b"one"));
    desk.save("two", ReportClue::Whole);
    assert_eq!(desk.now(), "two");
}

// P-38
#[test]
fn where_no_block_was_found_a_file_the_agent_wrote_stays() {
    let mut desk = Desk::new();
    std::fs::write(desk.report("plan.md"), "the agent's").unwrap();
    let saved = desk.save("the whole reply", ReportClue::Whole);
    assert_eq!((saved.how, saved.sha256.clone()), (ReportClue::Agent, sha256(b"the agent's")));
    assert_eq!(desk.now(), "the agent's");
    assert_eq!(desk.kept(saved.content.as_ref()), "the agent's");
}

// P-38: a file that we saved ourselves is not the agent's.
#[test]
fn a_file_the_agent_did_not_touch_is_replaced_also_by_a_whole_reply() {
    let mut desk = Desk::new();
    desk.save("one", ReportClue::Clue);
    let saved = desk.save("the whole reply", ReportClue::Whole);
    assert_eq!((saved.how, saved.agents_own), (ReportClue::Whole, None));
    assert_eq!(desk.now(), "the whole reply");
}

// P-38, P5
#[test]
fn where_a_block_is_found_it_wins_and_the_agents_version_is_kept() {
    let mut desk = Desk::new();
    desk.save("one", ReportClue::Clue);
    std::fs::write(desk.report("plan.md"), "the agent's").unwrap();
    let saved = desk.save("two", ReportClue::Only);
    assert_eq!(saved.how, ReportClue::Only);
    assert_eq!(desk.now(), "two");
    assert_eq!(desk.kept(saved.agents_own.as_ref()), "the agent's");
}

// P5, T-10: dying at any point of a save and saving again gives the same result as one save.
#[test]
fn saving_again_after_dying_anywhere_loses_neither_version() {
    let mut died = 0;
    for operation in 1.. {
        for moment in [Death::Before, Death::Half, Death::After] {
            let disk = Disk::failing(FaultPlan {
                die: Some((Deadly::Number(operation), moment)),
                ..FaultPlan::default()
            });
            let mut desk = Desk::on(disk);
            std::fs::write(desk.report("plan.md"), "the agent's").unwrap();
            let first = desk.try_save("the block", ReportClue::Clue, "plan.md");
            died += u32::from(first.is_err());
            desk.disk = Disk::new();
            let saved = desk.save("the block", ReportClue::Clue);
            assert_eq!(desk.now(), "the block", "{operation} {moment:?}");
            assert_eq!(desk.kept(saved.agents_own.as_ref()), "the agent's", "{operation} {moment:?}");
            if first.is_ok() {
                assert!(died > 30, "{died}");
                return;
            }
        }
    }
}

// P-55
#[test]
fn a_report_that_cannot_be_written_says_where_and_why_and_leaves_the_old_one() {
    let mut desk = Desk::new();
    desk.save("one", ReportClue::Clue);
    desk.disk = Disk::failing(FaultPlan { fail: Some((2, Errno::NoSpace)), ..FaultPlan::default() });
    let failed = desk.try_save("two", ReportClue::Clue, "plan.md").unwrap_err();
    assert!(failed.path.ends_with("reports/plan.md"), "{failed:?}");
    assert_eq!(failed.source.kind(), io::ErrorKind::StorageFull);
    assert_eq!(desk.now(), "one");
}

// P-22, T-81
#[test]
fn a_report_is_never_saved_through_a_link() {
    let desk = Desk::new();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), desk.report("sub")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("x"), desk.report("plan.md")).unwrap();
    for file in ["sub/a.md", "plan.md", "../a.md"] {
        desk.try_save("text", ReportClue::Clue, file).unwrap_err();
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    assert!(!desk.root.path().join("a.md").exists());
}

#[test]
fn reports_in_folders_are_saved_and_a_removed_report_directory_is_made_again() {
    let desk = Desk::new();
    desk.try_save("text", ReportClue::Clue, "sub/a.md").unwrap();
    std::fs::remove_dir_all(desk.root.path().join("reports")).unwrap();
    desk.try_save("text", ReportClue::Clue, "sub/a.md").unwrap();
    assert_eq!(std::fs::read_to_string(desk.report("sub/a.md")).unwrap(), "text");
}
