//! Power failures: unsynced data is randomly kept, dropped, torn or full of holes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use saihai_model::{Fact, Record, RecordEntry};

use super::crashes::{end, live, quick, undisturbed};
use crate::disk::{DiskOperation, DiskStep, FaultPlan, Tape};
use crate::testing::{Project, watch};
use crate::{DriverEvent, Runs};

/// A disk after a power failure.
#[derive(Default)]
struct Platter {
    directories: BTreeMap<PathBuf, Durable>,
    files: BTreeMap<PathBuf, File>,
    /// The file created last, which is renamed next.
    draft: PathBuf,
}

#[derive(Default)]
struct File {
    named: Durable,
    writes: Vec<(Vec<u8>, Durable)>,
    /// The previous file of this name, until its directory is synced.
    before: Option<Box<File>>,
    /// The name before the rename, until the directory is synced.
    from: Option<PathBuf>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Durable {
    Yes,
    #[default]
    Unknown,
}

/// A repeatable random number generator (T-1).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        // A step of splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn keeps(&mut self, durable: Durable) -> bool {
        durable == Durable::Yes || self.below(2) == 0
    }
}

impl Platter {
    fn take(&mut self, step: &DiskStep) {
        let path = &step.path;
        match step.kind {
            DiskOperation::CreateDirectory => {
                self.directories.insert(path.clone(), Durable::Unknown);
            }
            DiskOperation::Create => {
                self.files.insert(path.clone(), File::default());
                self.draft.clone_from(path);
            }
            DiskOperation::Write => {
                let file = self.files.entry(path.clone()).or_default();
                file.writes.push((step.bytes.clone(), Durable::Unknown));
            }
            DiskOperation::Sync => {
                for (_, durable) in &mut self.files.get_mut(path).unwrap().writes {
                    *durable = Durable::Yes;
                }
            }
            DiskOperation::SyncDirectory => self.sync_directory(path),
            DiskOperation::Rename => {
                let mut file = self.files.remove(&self.draft).unwrap();
                file.before = self.files.remove(path).map(Box::new);
                file.from = Some(self.draft.clone());
                file.named = Durable::Unknown;
                self.files.insert(path.clone(), file);
            }
            DiskOperation::Remove => {
                self.files.remove(path);
            }
            // Without faults, only a lock file is truncated, and its content does not matter.
            DiskOperation::Truncate => assert!(path.ends_with("lock"), "{path:?}"),
        }
    }

    fn sync_directory(&mut self, directory: &Path) {
        let inside = |path: &Path| path.parent() == Some(directory);
        self.files.iter_mut().filter(|(path, _)| inside(path)).for_each(|(_, file)| {
            file.named = Durable::Yes;
            file.before = None;
            file.from = None;
        });
        let directories = self.directories.iter_mut().filter(|(path, _)| inside(path));
        directories.for_each(|(_, durable)| *durable = Durable::Yes);
    }

    /// Writes the remaining state below another root.
    fn restore(self, chance: &mut Chance, from: &Path, to: &Path) {
        let mut gone = Vec::new();
        for (path, durable) in &self.directories {
            let lost = !chance.keeps(*durable) || gone.iter().any(|gone: &PathBuf| path.starts_with(gone));
            if lost {
                gone.push(path.clone());
            } else {
                std::fs::create_dir_all(to.join(path.strip_prefix(from).unwrap())).unwrap();
            }
        }
        for (path, file) in self.files {
            if !gone.iter().any(|gone| path.starts_with(gone)) {
                file.restore(chance, &to.join(path.strip_prefix(from).unwrap()));
            }
        }
    }
}

impl File {
    fn restore(self, chance: &mut Chance, path: &Path) {
        if chance.keeps(self.named) {
            std::fs::write(path, self.content(chance)).unwrap();
            return;
        }
        if let Some(draft) = &self.from {
            let draft = path.with_file_name(draft.file_name().unwrap());
            std::fs::write(draft, self.content(chance)).unwrap();
        }
        if let Some(before) = self.before {
            before.restore(chance, path);
        }
    }

    fn content(&self, chance: &mut Chance) -> Vec<u8> {
        let mut content = Vec::new();
        for (bytes, durable) in &self.writes {
            let mut bytes = bytes.clone();
            let part = usize::try_from(chance.below(bytes.len() as u64 + 1)).unwrap();
            match (durable, chance.below(4)) {
                (Durable::Yes, _) | (Durable::Unknown, 0) => {}
                (Durable::Unknown, 1) => bytes.clear(),
                (Durable::Unknown, 2) => bytes.truncate(part),
                // The end of the data reached the disk, the start did not.
                (Durable::Unknown, _) => bytes[..part].fill(0),
            }
            content.extend(bytes);
        }
        content
    }
}

/// Records a whole life, and the length of the tape at each acknowledged record.
async fn taped() -> (Project, Vec<DiskStep>, Vec<(Record, usize)>) {
    let tape = Tape::default();
    let project = Project::on(quick(FaultPlan { tape: Some(tape.clone()), ..FaultPlan::default() }));
    let driver = project.start(super::crashes::workload(), super::crashes::replies()).unwrap();
    let mut acknowledged = Vec::new();
    let mut see = |observed: &DriverEvent<'_>| {
        if let DriverEvent::Recorded(record) = observed {
            acknowledged.push(((*record).clone(), tape.lock().unwrap().len()));
        }
    };
    watch(driver, super::crashes::GOING, &mut see).await.0.unwrap();
    let steps = tape.lock().unwrap().clone();
    (project, steps, acknowledged)
}

// T-11
#[tokio::test(start_paused = true)]
async fn t11_whatever_the_power_takes_what_was_acknowledged_stays_and_is_not_asked_again() {
    let (expected, _) = undisturbed().await;
    let (before, steps, acknowledged) = taped().await;
    let mut resumed = 0;
    for seed in 0..500 {
        let mut chance = Chance(seed);
        let cut = usize::try_from(chance.below(steps.len() as u64 + 1)).unwrap();
        let mut platter = Platter::default();
        steps[..cut].iter().for_each(|step| platter.take(step));
        let project = Project::on(quick(FaultPlan::default()));
        platter.restore(&mut chance, before.root.path(), project.root.path());
        rename_root(&project, &before);
        let known: Vec<_> = acknowledged
            .iter()
            .filter(|(_, stood)| *stood <= cut)
            .map(|(record, _)| record.clone())
            .collect();
        resumed += u32::from(!known.is_empty());
        let case = format!("seed {seed}, power lost after operation {cut} of {}", steps.len());
        let (finish, _) = live(&project).await;
        let finish = finish.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(end(&project, &finish), expected, "{case}");
        check_known(&project, &known, &case);
    }
    assert!(resumed > 300, "{resumed}");
}

// T-8: on a disk that only pretends to sync, the same test would fail.
#[tokio::test(start_paused = true)]
async fn t11_control_without_syncs_acknowledged_records_are_lost() {
    let (before, steps, acknowledged) = taped().await;
    let mut lost = 0;
    for seed in 0..50 {
        let mut chance = Chance(seed);
        let cut = usize::try_from(chance.below(steps.len() as u64 + 1)).unwrap();
        let mut platter = Platter::default();
        let lying = steps[..cut]
            .iter()
            .filter(|step| !matches!(step.kind, DiskOperation::Sync | DiskOperation::SyncDirectory));
        lying.for_each(|step| platter.take(step));
        let project = Project::new();
        platter.restore(&mut chance, before.root.path(), project.root.path());
        let known = acknowledged.iter().filter(|(_, stood)| *stood <= cut).count();
        let found = project.runs().find("last").map_or(0, |_| project.records().len());
        lost += u32::from(found < known);
    }
    assert!(lost > 10, "{lost}");
}

/// Checks that acknowledged records exist and that no replied call was asked again.
fn check_known(project: &Project, known: &[Record], case: &str) {
    let records = project.records();
    let facts = |records: &[Record]| records.iter().map(crate::testing::shown).collect::<Vec<_>>();
    assert_eq!(facts(&records[..known.len()]), facts(known), "{case}");
    let replied = known.iter().filter_map(|record| match &record.entry {
        RecordEntry::Fact(Fact::Replied(reply)) => Some(&reply.call),
        RecordEntry::Fact(_) | RecordEntry::Decision(_) => None,
    });
    for call in replied {
        let asked = |record: &&Record| matches!(&record.entry, RecordEntry::Fact(Fact::Asked { call: of, .. }) if of == call);
        assert_eq!(records.iter().filter(asked).count(), 1, "{case}: {call}");
    }
}

/// Updates the directories that the journal names, because the run has moved.
fn rename_root(project: &Project, before: &Project) {
    let runs: Runs = project.runs();
    let Ok(directory) = runs.find("last") else { return };
    let text = std::fs::read(directory.journal()).unwrap();
    let line_end = text.iter().position(|byte| *byte == b'\n').unwrap();
    let first = String::from_utf8(text[..line_end].to_vec()).unwrap();
    let (body, _) = first.split_once(",\"sum\"").unwrap();
    let (old, new) = (before.root.path(), project.root.path());
    let body = body.replace(old.to_str().unwrap(), new.to_str().unwrap());
    let sealed = format!("{body},\"sum\":\"{:08x}\"}}", crc32fast::hash(body.as_bytes()));
    std::fs::write(directory.journal(), [sealed.as_bytes(), &text[line_end..]].concat()).unwrap();
}
