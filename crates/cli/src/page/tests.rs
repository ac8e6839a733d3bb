//! The data of the page over the golden journals of all dialects, and the types of its TypeScript part.

use std::path::{Path, PathBuf};

use saihai::{Disk, LoadedRun, RunDirectory};
use ts_rs::{Config, TS};

use super::model::*;
use super::row::budget_uses;
use crate::watching::{FollowedRow, LiveTexts, SeenRun};

fn golden() -> LoadedRun {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/0.1.0/piece");
    LoadedRun::read(&RunDirectory::new(&place, "run".to_owned(), &Disk::new())).unwrap()
}

fn page(run: &LoadedRun) -> RunPage {
    RunPage::of(run, None, run.view.last_at).unwrap()
}

// V-4
#[test]
fn a_run_has_a_page() {
    let run = golden();
    let page = page(&run);
    assert!(page.graph.contains("data-stage=") && !page.graph.contains("<style>"));
    for call in &page.calls {
        let found = super::texts::find_call(&run, &call.id).unwrap();
        let texts = CallTexts::of(&run, found, &LiveTexts::new()).unwrap();
        assert_eq!(texts.call, call.id);
    }
    let page = RunPage { graph: "(drawing)".to_owned(), ..page };
    insta::assert_snapshot!(serde_json::to_string_pretty(&page).unwrap());
}

// V-8: what a browser has, together with what happened since, is the whole run
#[test]
fn a_run_in_parts_is_the_whole_run() {
    let whole = page(&golden());
    for seq in 0..=whole.last_seq {
        let mut merged = whole.clone();
        merged.calls.retain(|call| call.seq <= seq);
        merged.exits.retain(|exit| exit.seq <= seq);
        let news = whole.clone().after(seq);
        merged.calls.retain(|known| news.calls.iter().all(|call| known.id != call.id));
        merged.calls.extend(news.calls);
        merged.exits.extend(news.exits);
        merged.calls.sort_by_key(|call| whole.calls.iter().position(|one| one.id == call.id));
        assert_eq!(merged.calls, whole.calls, "after {seq}");
        assert_eq!(merged.exits, whole.exits, "after {seq}");
    }
}

#[test]
fn a_row_has_no_cost_if_none_was_reported() {
    let run = golden();
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
        HomePage,
        ProjectName,
        PageRow,
        PageState,
        BudgetUse,
        PageChangeCounts,
        RunPage,
        PageStage,
        StageKind,
        PageVisit,
        PageCall,
        CallKind,
        CallMark,
        PageAttempt,
        TokenCounts,
        PageExit,
        TurnLabel,
        PagePause,
        PageNote,
        PageGate,
        PageReport,
        PageReportVersion,
        PageFinding,
        CallTexts,
        ToolText,
        ReportText,
        RunChanges,
        ChangedFile,
        TurnChanges,
        SearchPage,
        SearchHit,
        BatchPage,
        BatchIssue,
        BatchColumn,
        PageReply,
        PageEvent,
        SavedPage,
        SavedReportText,
    );
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("page/src/model.ts");
    if std::env::var_os("SAIHAI_MANUAL").is_some_and(|value| value == "update") {
        std::fs::write(&path, &types).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), types, "run the test with SAIHAI_MANUAL=update");
}
