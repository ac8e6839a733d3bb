//! One report with an example of everything, in every format.

mod promises;
mod snapshots;

use saihai_config::review::FindingIgnore;
use saihai_judge::ReviewReply;
use saihai_model::{FailureClass, Json, Millis, Usd};
use serde_json::json;

use super::{date, plan};
use crate::assemble::ReportInputs;
use crate::baseline::Baseline;
use crate::code::{CodeFile, ReviewedCode};
use crate::plan::{ConsideredAgent, GapReason, RefusedDefinition, ReviewGap, ReviewPlan};
use crate::report::{AgentResult, AgentStatus, ReviewMode, ReviewReport, TruncatedBy};

fn result(agent: &str, status: AgentStatus, payload: &Json) -> AgentResult {
    let payload = ReviewReply::read(agent, &Json::Null, payload);
    AgentResult {
        findings: payload.findings,
        assessments: payload.assessments,
        notes: payload.notes,
        ..AgentResult::new(agent, status, Millis(1_250))
    }
}

fn considered(agent: &str, selected: bool, why: &str) -> ConsideredAgent {
    ConsideredAgent {
        agent: agent.to_owned(),
        description: format!("what {agent} is for"),
        origin: "builtin".to_owned(),
        phase: "main".to_owned(),
        selected,
        why: why.to_owned(),
        shown: Vec::new(),
    }
}

/// `src/load.rs`, to which the change adds lines 3 to 6.
fn code() -> ReviewedCode {
    let text = "use std::fs;\n\nfn load(path: &str) -> String {\n    // saihai-ignore[style]: the name is from the format\n    let Tx = fs::read_to_string(path).ok();\n    Tx.unwrap_or_default()\n}\n";
    let section = "diff --git a/src/load.rs b/src/load.rs\n@@ -1,3 +1,7 @@\n use std::fs;\n \n+fn load(path: &str) -> String {\n+    // ignore\n+    let Tx = 1;\n+    Tx\n }\n";
    ReviewedCode::new("/p")
        .with("src/load.rs", CodeFile::changed(Some(text.to_owned()), section))
        .with("src/other.rs", CodeFile::other("fn other() {}\n"))
}

fn at(file: &str, line: u32) -> Json {
    json!({"file_path": file, "line_number": line})
}

fn results() -> Vec<AgentResult> {
    let code = json!({
        "issues": [
            {"severity": "important", "description": "A file that cannot be read becomes an empty text.",
             "location": at("src/load.rs", 5), "confidence": 80},
            {"severity": "suggestion", "description": "Unused function.", "location": at("src/other.rs", 1)},
            {"severity": "nitpick", "description": "Perhaps too long.", "confidence": 10},
            {"severity": "nitpick", "description": "Wrong place.", "location": at("src/load.rs", 9_999)},
        ],
        "overall_score": 6.5, "mood": "fine",
    });
    let silent = json!({"critical_issues": [{
        "severity": "critical", "description": "A file that cannot be read silently becomes an empty text.",
        "location": {"file_path": "src/load.rs", "line_number": 5, "end_line": 6},
        "suggestion": "Return the error:\n\n```rust\nfs::read_to_string(path)?\n```",
    }]});
    let style = json!({"categories": [{"name": "naming", "issues": [
        {"severity": "important", "description": "`Tx` is no variable's name.", "location": at("src/load.rs", 5)},
    ]}]});
    let tests = json!({
        "coverage_gaps": [{"file_path": "src/load.rs", "description": "No test for a missing file.", "priority": "important"}],
        "risk_level": "important",
        "dimensions": [{"name": "invariants", "score": 3, "description": "Any text is taken."}],
        "suggestions": [{"title": "Inline", "description": "One line does.", "priority": "suggestion", "location": at("src/load.rs", 3)}],
    });
    let mut all = vec![
        result("code", AgentStatus::Success, &code),
        result("silent", AgentStatus::Success, &silent),
        result("style", AgentStatus::Truncated { reason: TruncatedBy::InvalidOutput }, &style),
        result("tests", AgentStatus::Success, &tests),
        result("slow", AgentStatus::Timeout { timeout_seconds: 600 }, &json!({})),
        result("broken", AgentStatus::failed(FailureClass::Auth, "not logged in"), &json!({})),
    ];
    all[0].cost = Some(Usd(12_300));
    all
}

fn review() -> ReportInputs {
    let before = json!({"findings": [
        {"fingerprint": "00000000000000aa", "agent": "code", "severity": "important", "file": "src/load.rs",
         "start_line": 2, "end_line": 2, "message": "Gone since."},
    ]});
    let ignore = FindingIgnore {
        fingerprint: None,
        agent: Some("tests".to_owned()),
        path: Some("docs/".to_owned()),
        reason: "no tests of pages".to_owned(),
        expires: Some("2026-01-01".to_owned()),
        file: ".saihai/review-ignore.toml".to_owned(),
        lines: (1, 4),
    };
    ReportInputs {
        run: "20260206-085600-review".to_owned(),
        mode: ReviewMode::Diff,
        base: Some("main".to_owned()),
        head: Some("4f2c".to_owned()),
        plan: ReviewPlan {
            min_confidence: 20,
            selection: vec![
                considered("code", true, "always"),
                considered("docs", false, "no pattern matches"),
            ],
            load_errors: vec![RefusedDefinition {
                file: ".saihai/agents/x.toml".to_owned(),
                message: "`name` is missing".to_owned(),
            }],
            ignores: vec![ignore],
            left_out: vec![ReviewGap { file: "logo.png".to_owned(), agent: None, reason: GapReason::Binary }],
            warnings: vec!["the reviewed change touches `.saihai/config.toml`".to_owned()],
            ..plan()
        },
        results: results(),
        code: code(),
        baseline: Some(Baseline::read(&before).unwrap()),
        today: date("2026-02-06"),
        wall: Millis(3_400),
        stopped: None,
    }
}

fn report() -> ReviewReport {
    review().report()
}
