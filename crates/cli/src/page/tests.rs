//! The data of the page over the golden journals of all dialects, and the types of its TypeScript part.

use std::path::{Path, PathBuf};

use saihai::{Disk, LoadedRun, RunDirectory};
use ts_rs::{Config, TS};

use super::model::*;
use super::row::budget_uses;
use crate::watching::{FollowedRow, LiveTexts, SeenRun};

fn golden(name: &str) -> LoadedRun {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/0.1.0").join(name);
    LoadedRun::read(&RunDirectory::new(&place, "run".to_owned(), &Disk::new())).unwrap()
}

fn page(run: &LoadedRun) -> RunPage {
    RunPage::of(run, None, run.view.last_at).unwrap()
}

// V-4, V-14
#[test]
fn every_dialect_has_a_page() {
    for name in ["piece", "hats", "steps", "review"] {
        let run = golden(name);
        let page = page(&run);
        assert_eq!(page.since, 0, "{name}");
        assert_eq!(page.last_seq, run.view.last_seq, "{name}");
        assert!(!page.calls.is_empty(), "{name}");
        assert!(!page.exits.is_empty(), "{name}");
        assert!(page.graph.contains("data-stage=") && !page.graph.contains("<style>"), "{name}");
        for call in &page.calls {
            assert!(page.visits.iter().any(|visit| visit.index == call.visit), "{name}: {call:?}");
            let texts = super::texts::find_call(&run, &call.id).unwrap();
            let texts = CallTexts::of(&run, texts, &LiveTexts::new()).unwrap();
            assert_eq!(texts.call, call.id, "{name}");
        }
        insta::assert_json_snapshot!(format!("page_of_{name}"), &page, {".graph" => "[drawing]"});
    }
}

// V-8: what a browser has, together with what happened since, is the whole run
#[test]
fn a_run_in_parts_is_the_whole_run() {
    for name in ["piece", "hats", "steps", "review"] {
        let whole = page(&golden(name));
        for seq in 0..=whole.last_seq {
            let mut merged = whole.clone().after(0);
            merged.calls.retain(|call| call.seq <= seq);
            merged.exits.retain(|exit| exit.seq <= seq);
            for call in whole.clone().after(seq).calls {
                merged.calls.retain(|known| known.id != call.id);
                merged.calls.push(call);
            }
            merged.exits.extend(whole.clone().after(seq).exits);
            let order = |call: &PageCall| whole.calls.iter().position(|one| one.id == call.id);
            merged.calls.sort_by_key(order);
            assert_eq!(merged.calls, whole.calls, "{name} after {seq}");
            assert_eq!(merged.exits, whole.exits, "{name} after {seq}");
        }
    }
}

#[test]
fn a_row_has_no_cost_if_none_was_reported() {
    let run = golden("piece");
    let LoadedRun { directory, view, state, workflow, .. } = &run;
    let now = view.last_at;
    let row = PageRow::of(&SeenRun { directory, view, state, workflow: Some(workflow), now });
    assert_eq!(row.cost.is_some(), view.cost.is_some());
    assert_eq!(row.budget, view.spending(workflow).as_ref().map(budget_uses).unwrap_or_default());
}

// V-13
#[test]
fn the_types_of_the_page_are_those_of_the_server() {
    let config = Config::new().with_large_int("number");
    let mut types = "// Generated from crates/cli/src/page/model.rs by its tests. Do not edit.\n".to_owned();
    macro_rules! declare {
        ($($name:ty),* $(,)?) => {$(
            types.push_str(&format!("\nexport {}\n", <$name as TS>::decl(&config)));
        )*};
    }
    declare!(
        HomePage, ProjectName, PageRow, PageState, BudgetUse, RunPage, PageStage, StageKind, PageVisit, PageCall,
        CallKind, CallMark, PageAttempt, TokenCounts, PageExit, TurnLabel, PagePause, PageNote, PageGate,
        PageReport, PageReportVersion, PageFinding, CallTexts, ToolText, ReportText, RunChanges, ChangedFile,
        TurnChanges, SearchPage, SearchHit, BatchPage, BatchIssue, BatchColumn, PageReply, PageEvent, SavedPage,
        SavedReportText,
    );
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("page/src/model.ts");
    if std::env::var_os("SAIHAI_MANUAL").is_some_and(|value| value == "update") {
        std::fs::write(&path, &types).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), types, "write it anew with SAIHAI_MANUAL=update");
}
