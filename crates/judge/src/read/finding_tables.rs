//! Tables and lists of findings in the reports of a reply.
//!
//! A table counts if one column names a place and another one describes a problem. Reports that list fixed findings
//! do so under a heading or in a column that says so; such rows are not open. A list counts under a heading for open
//! findings, and its items count if they name a file and a line.

use std::ops::Range;

use saihai_model::{FindingMark, Severity};

use crate::findings::marks::mark;

const ID: [&str; 3] = ["finding_id", "finding id", "id"];
const PLACE: [&str; 9] =
    ["location", "file", "path", "place", "where", "場所", "ファイル", "箇所", "該当箇所"];
const PROBLEM: [&str; 10] =
    ["issue", "finding", "problem", "description", "details", "問題", "問題点", "指摘", "指摘内容", "内容"];
const CATEGORY: [&str; 5] = ["category", "kind", "type", "カテゴリ", "種別"];
const SEVERITY: [&str; 4] = ["severity", "priority", "重大度", "深刻度"];
const STATE: [&str; 3] = ["status", "state", "状態"];
/// Words of headings and states under which findings are no longer open.
const CLOSED: [&str; 7] = ["resolved", "fixed", "closed", "settled", "解消", "修正済", "解決"];
/// First words of headings above lists of open findings.
const OPEN: [&str; 9] = [
    "to fix",
    "must be fixed",
    "faults",
    "open findings",
    "open issues",
    "直すべき",
    "指摘（",
    "指摘事項",
    "未解決の指摘",
];
/// States of findings that the reviewer accepts.
const WAIVED: [&str; 6] = ["waived", "accepted", "wontfix", "won't fix", "許容", "対応不要"];

/// Columns of a table of findings, by their index.
#[derive(Debug)]
struct Columns {
    id: Option<usize>,
    place: usize,
    problem: usize,
    category: Option<usize>,
    severity: Option<usize>,
    state: Option<usize>,
}

/// Returns the open findings in the tables of these parts of a reply. `None` without such a table.
pub(super) fn read_tables(
    text: &str,
    reports: impl IntoIterator<Item = Range<usize>>,
) -> Option<Vec<FindingMark>> {
    let mut found: Option<Vec<FindingMark>> = None;
    for report in reports {
        read_report(text.get(report).unwrap_or_default(), &mut found);
    }
    if let Some(found) = &mut found {
        found.truncate(FindingMark::MOST);
    }
    found
}

fn read_report(report: &str, found: &mut Option<Vec<FindingMark>>) {
    let (mut is_closed, mut is_list) = (false, false);
    let mut columns: Option<Columns> = None;
    let mut lines = report.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(cells) = cells(line) else {
            columns = None;
            if let Some(heading) = line.trim_start().strip_prefix('#') {
                let heading = heading.trim_start_matches('#').trim().to_lowercase();
                let says_open = OPEN.iter().any(|word| heading.starts_with(word));
                is_list = says_open || matches!(heading.as_str(), "findings" | "issues");
                is_closed = !is_list && says_closed(&heading);
                // Under other headings, findings may be prose, which is not read.
                if says_open {
                    found.get_or_insert_default();
                }
            } else if let Some(item) = list_item(line).filter(|_| is_list) {
                found.get_or_insert_default().extend(placed_item(item));
            }
            continue;
        };
        if lines.peek().is_some_and(|next| is_rule(next)) {
            columns = Columns::of(&cells);
            if columns.is_some() {
                found.get_or_insert_default();
            }
            continue;
        }
        let Some(columns) = columns.as_ref().filter(|_| !is_closed && !is_rule(line)) else { continue };
        found.get_or_insert_default().extend(columns.mark(&cells));
    }
}

impl Columns {
    fn of(heads: &[&str]) -> Option<Self> {
        let heads: Vec<String> =
            heads.iter().map(|head| head.trim_matches('*').trim().to_lowercase()).collect();
        let find = |names: &[&str]| heads.iter().position(|head| names.contains(&head.as_str()));
        Some(Self {
            id: find(&ID),
            place: find(&PLACE)?,
            problem: find(&PROBLEM)?,
            category: find(&CATEGORY),
            severity: find(&SEVERITY),
            state: find(&STATE),
        })
    }

    /// Returns the mark of a row, unless the row is empty or says that the finding is closed.
    fn mark(&self, cells: &[&str]) -> Option<FindingMark> {
        let cell = |index: Option<usize>| cells.get(index?).copied().filter(|cell| is_filled(cell));
        let text = cell(Some(self.problem))?;
        let state = cell(self.state).map(str::to_lowercase).unwrap_or_default();
        if says_closed(&state) {
            return None;
        }
        let waived = WAIVED.iter().any(|word| state.contains(word));
        let severity = cell(self.severity).and_then(severity);
        let file = cell(Some(self.place));
        let marked = mark(cell(self.category).unwrap_or("issue"), file, text, severity);
        Some(match cell(self.id) {
            // The reviewer itself says that it is the same finding.
            Some(id) => FindingMark { fingerprint: mark(id, None, "", None).fingerprint, waived, ..marked },
            None => FindingMark { waived, ..marked },
        })
    }
}

/// Returns the text of an outer list item.
fn list_item(line: &str) -> Option<&str> {
    let numbered = || line.split_once(". ").filter(|(number, _)| number.parse::<u32>().is_ok());
    let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
    item.or_else(|| numbered().map(|(_, item)| item)).map(str::trim)
}

/// Returns the mark of an item that names a file and a line, such as `src/a.rs:12: The error is lost.`
fn placed_item(item: &str) -> Option<FindingMark> {
    let is_place = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '.' && c != '/');
        let (file, line) = word.split_once(':')?;
        let has_line = line.starts_with(|c: char| c.is_ascii_digit());
        (has_line && file.contains(['.', '/']) && !file.ends_with('/')).then(|| word.to_owned())
    };
    let place = item.split_whitespace().find_map(is_place)?;
    let rest = item.trim_start_matches(['*', '`', '[']).strip_prefix(place.as_str());
    // The end of the marks around the place; further marks belong to the text.
    let rest = rest.map(|rest| rest.trim_start_matches(['`', '*', ']']));
    let rest = rest.map(|rest| rest.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '`'));
    Some(mark("issue", Some(&place), rest.filter(|rest| !rest.is_empty()).unwrap_or(item), None))
}

/// Returns the cells of a table's line.
fn cells(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    let inner = line.strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    Some(inner.split('|').map(str::trim).collect())
}

/// Returns true for the line between a table's head and its rows.
fn is_rule(line: &str) -> bool {
    cells(line).is_some_and(|cells| {
        cells.iter().all(|cell| cell.contains('-') && cell.chars().all(|c| matches!(c, '-' | ':' | ' ')))
    })
}

fn is_filled(cell: &str) -> bool {
    !matches!(cell, "" | "-" | "–" | "—" | "…" | "..." | "none" | "None" | "N/A" | "n/a" | "なし")
}

fn says_closed(text: &str) -> bool {
    let text = text.to_lowercase();
    !text.contains("unresolved") && !text.contains("未") && CLOSED.iter().any(|word| text.contains(word))
}

fn severity(text: &str) -> Option<Severity> {
    let word = text.trim_matches(|c: char| !c.is_alphanumeric());
    Severity::named(word).or_else(|| match word.to_lowercase().as_str() {
        "blocker" | "blocking" | "重大" => Some(Severity::Critical),
        "high" | "major" | "高" => Some(Severity::Important),
        "medium" | "moderate" | "minor" | "中" => Some(Severity::Suggestion),
        "low" | "info" | "低" => Some(Severity::Nitpick),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type SeverityFileText = (Option<Severity>, Option<String>, String);

    fn read_marks(report: &str) -> Option<Vec<FindingMark>> {
        read_tables(report, std::iter::once(0..report.len()))
    }

    fn read(report: &str) -> Option<Vec<SeverityFileText>> {
        let found = read_marks(report)?;
        Some(found.into_iter().map(|mark| (mark.severity, mark.file, mark.text)).collect())
    }

    // N-13
    #[test]
    fn open_findings_are_the_rows_of_tables_that_are_not_closed() {
        let report = "# Review\n\
            ## Findings\n\
            | # | Severity | Location | Issue |\n|---|---|:--|---|\n\
            | 1 | High | `src/a.rs:3` | off by one |\n\
            | 2 | low | src/b.rs | - |\n\
            ## Resolved findings\n\
            | Location | Issue |\n|---|---|\n| src/c.rs | gone |\n\
            ## Scores\n\
            | Aspect | Score |\n|---|---|\n| speed | 3 |\n";
        let expected = (Some(Severity::Important), Some("src/a.rs".to_owned()), "off by one".to_owned());
        assert_eq!(read(report), Some(vec![expected]));
        let waived = "| File | Problem | Status |\n|--|--|--|\n| a | b | Waived by the team |\n";
        assert!(read_marks(waived).unwrap()[0].waived);
        assert_eq!(read("| 場所 | 問題 | 状態 |\n|--|--|--|\n| a | b | 解消 |\n"), Some(Vec::new()));
        assert_eq!(read("| Aspect | Score |\n|---|---|\n| speed | 3 |\n"), None);
        assert_eq!(read("no table"), None);
    }

    // N-13: the form of the built-in pieces.
    #[test]
    fn open_findings_are_the_items_of_lists_that_name_a_place() {
        let report = "# Review\n## To fix, with file and line\n- `src/a.rs:3`: off by one\n  - a detail\n\
            - In src/b.rs:12-14 the error is lost.\n- Tidy up.\n## Settled since the last review\n- src/c.rs:1: gone\n";
        let expected = [("src/a.rs", "off by one"), ("src/b.rs", "In src/b.rs:12-14 the error is lost.")];
        let expected = expected.map(|(file, text)| (None, Some(file.to_owned()), text.to_owned()));
        assert_eq!(read(report), Some(expected.to_vec()));
        assert_eq!(
            read("## 直すべきこと（ファイルと行）\n1. src/a.rs:3 境界が1つずれる\n").unwrap().len(),
            1
        );
        assert_eq!(read("## To fix\nNothing.\n"), Some(Vec::new()));
        assert_eq!(read("## Findings left alone, and why\n- src/a.rs:3: no\n"), None);
    }

    #[test]
    fn an_id_of_the_reviewer_is_the_identity() {
        let table = |id: &str, text: &str| {
            format!("| finding_id | location | issue |\n|--|--|--|\n| {id} | src/a.rs:1 | {text} |\n")
        };
        let print = |text: String| read_marks(&text).unwrap()[0].fingerprint.clone();
        assert_eq!(print(table("ARCH-a", "one")), print(table("ARCH-a", "in other words")));
        assert_ne!(print(table("ARCH-a", "one")), print(table("ARCH-b", "one")));
    }
}
