//! Tests of reports.

use saihai_model::{ExpectedReply, ProgramExit, Reading, Reads, Report, ReportClue, ReportLocation};

use crate::read::{ReplyText, read, read_program};

fn report(file: &str, label: &str, heading: Option<&str>) -> Report {
    Report { file: file.to_owned(), label: label.to_owned(), heading: heading.map(str::to_owned) }
}

fn plan() -> Vec<Report> {
    vec![report("00-plan.md", "00-plan.md", None)]
}

fn two() -> Vec<Report> {
    vec![report("summary.md", "Summary", None), report("scope.md", "Scope", None)]
}

fn reading(reports: Vec<Report>, text: &str) -> Reading {
    let reads = Reads { reports, ..Reads::default() };
    read(ExpectedReply::Work(&reads), "", ReplyText { text, structured: None })
}

fn content<'a>(text: &'a str, found: &ReportLocation) -> &'a str {
    &text[usize::try_from(found.start).unwrap()..usize::try_from(found.end).unwrap()]
}

/// Formats each report as `file how` with its content, and warnings as `! …`.
fn shown(reports: Vec<Report>, text: &str) -> Vec<String> {
    let reading = reading(reports, text);
    let found = reading.reports.iter().map(|found| {
        let how = match found.how {
            ReportClue::Clue => "clue",
            ReportClue::Only => "only",
            ReportClue::Position => "position",
            ReportClue::Whole => "whole",
            ReportClue::Agent => "agent",
        };
        let unclosed = if found.unclosed { " unclosed" } else { "" };
        format!("{} {how}{unclosed}: {}", found.file, content(text, found))
    });
    found.chain(reading.warnings.iter().map(|warning| format!("! {warning}"))).collect()
}

#[track_caller]
fn check(reports: Vec<Report>, text: &str, expected: &[&str]) {
    assert_eq!(shown(reports, text), expected, "{text}");
}

/// Checks the content of one report in one block.
#[track_caller]
fn check_block(text: &str, expected: &str) {
    check(plan(), text, &[&format!("00-plan.md only: {expected}")]);
}

// P-36, case 24
#[test]
fn code_inside_a_report_does_not_cut_it() {
    check_block(
        "Done.\n```markdown\n# Plan\n```rust\nfn main() {}\n```\n\nThat is all.\n```\n[STEP:0]",
        "# Plan\n```rust\nfn main() {}\n```\n\nThat is all.\n",
    );
    check_block(
        "```markdown\n# Plan\n```\ncode\n```\n\nmore\n```\n\n[STEP:0]\n",
        "# Plan\n```\ncode\n```\n\nmore\n",
    );
    check_block("```md\n# Plan\n```sh\nls\n```\n## Next\n```\n[STEP:0]", "# Plan\n```sh\nls\n```\n## Next\n");
}

// P-36
#[test]
fn the_fence_may_be_longer_of_tildes_indented_and_in_any_case() {
    check_block("````Markdown\n```\n\nx\n```\ny\n````\n", "```\n\nx\n```\ny\n");
    check_block("~~~MD\n```rust\nx\n```\n~~~\n", "```rust\nx\n```\n");
    check_block("- here:\n  ```markdown\n  x\n  ```\n", "  x\n");
    check_block("```markdown title=\"x\"\nx\n```", "x\n");
    check_block("```markdown:plan\nx\n```", "x\n");
    check_block("\x1b[2m```markdown\x1b[0m\nx\n\x1b[2m```\x1b[0m", "x\n");
    check_block("```markdown\r\nx\r\n```\r\n[STEP:0]", "x\r\n");
    check_block("```markdown\n```\n", "");
}

// P-36
#[test]
fn marks_that_cannot_close_a_block_are_its_content() {
    check_block("```markdown\n````text\n```\nx\n````\n\nend\n```\n", "````text\n```\nx\n````\n\nend\n");
    check_block(
        "```markdown\n```text\nTitle\n~~~~~\n```\n\nend\n```\n",
        "```text\nTitle\n~~~~~\n```\n\nend\n",
    );
}

// P-36
#[test]
fn where_context_leaves_a_block_open_every_bare_fence_closes() {
    check_block(
        "```markdown\n# Plan\n```rust\nx\n```\nText right below the code.\n```\nBye.\n[STEP:0]",
        "# Plan\n```rust\nx\n```\nText right below the code.\n",
    );
    check_block("```markdown\n# Plan\n```rust\nx\n```\n```\n[STEP:0]", "# Plan\n```rust\nx\n```\n");
    check(
        two(),
        "## Summary\n```markdown\n```sh\na\n```\nb\n```\n\n## Scope\n```markdown\nc\n```\n[STEP:0]",
        &["summary.md clue: ```sh\na\n```\nb\n", "scope.md clue: c\n"],
    );
}

// P-36
#[test]
fn a_block_that_is_never_closed_ends_with_the_reply_less_its_tag() {
    check(
        plan(),
        "```markdown\n# Plan\n```rust\nx\n```\n\n**[STEP:0]**\n",
        &[
            "00-plan.md only unclosed: # Plan\n```rust\nx\n```\n\n",
            "! the block of the report `00-plan.md` is never closed: it ends with the reply",
        ],
    );
    check(
        plan(),
        "```markdown\n# Plan",
        &[
            "00-plan.md only unclosed: # Plan",
            "! the block of the report `00-plan.md` is never closed: it ends with the reply",
        ],
    );
}

// P-36
#[test]
fn a_block_quoted_in_a_stronger_fence_is_no_report() {
    check(
        plan(),
        "Like this:\n````\n```markdown\nexample\n```\n````\nOK",
        &[
            "00-plan.md whole: Like this:\n````\n```markdown\nexample\n```\n````\nOK",
            "! no block was found for the report `00-plan.md`: the whole reply was taken",
        ],
    );
    check_block("```bash\ncat <<E\n```\nE\n```\n\n```markdown\nx\n```\n", "x\n");
}

// P-37, case 25
#[test]
fn a_heading_above_the_block_says_whose_it_is() {
    check(
        two(),
        "## Scope\n```markdown\nsmall\n```\n\n## Summary\n\n```markdown\nfine\n```\n[STEP:0]",
        &["summary.md clue: fine\n", "scope.md clue: small\n"],
    );
    check(
        vec![report("a.md", "変更", None), report("b.md", "変更範囲", None)],
        "### 変更範囲（詳細）\n```markdown\n1\n```\n### 変更\n```markdown\n2\n```",
        &["a.md clue: 2\n", "b.md clue: 1\n"],
    );
}

// P-37
#[test]
fn the_first_clue_that_holds_decides() {
    let owner = |reports: Vec<Report>, block: &str| {
        let text = format!("{block}\n\nand\n```markdown\nother\n```");
        let reading = reading(reports, &text);
        reading
            .reports
            .iter()
            .filter(|found| found.how == ReportClue::Clue)
            .map(|found| found.file.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(owner(two(), "Scope:\n```markdown summary.md\nscope.md\n```"), ["summary.md"]);
    assert_eq!(owner(two(), "`reports/SCOPE.md` (Summary):\n```markdown\nx\n```"), ["scope.md"]);
    assert_eq!(owner(two(), "Scope:\n```markdown\nsummary.md\n```"), ["scope.md"]);
    assert_eq!(owner(two(), "Here:\n```markdown\n---\nfile: scope.md\n```"), ["scope.md"]);
    assert_eq!(owner(two(), "Here:\n```markdown\n1\n2\n3\nscope.md\n```"), [""; 0]);
    let headed = || vec![report("a.md", "a.md", Some("# 原因")), report("b.md", "b.md", Some("対策"))];
    assert_eq!(owner(headed(), "Here:\n```markdown\nintro\n## 対策 ##\n# 原因\n```"), ["b.md"]);
    assert_eq!(owner(headed(), "Here:\n```markdown\n# 原因と対策\n```"), [""; 0]);
}

// P-37
#[test]
fn names_inside_longer_names_are_no_clue() {
    let reports = || {
        vec![
            report("plan.md", "plan.md", None),
            report("a/b.md", "a/b.md", None),
            report("b.md", "b.md", None),
        ]
    };
    let text = "00-plan.md:\n```markdown\n1\n```\nplan.md.bak:\n```markdown\n2\n```\na/b.md:\n```markdown\n3\n```\nx/b.md\n```markdown\n4\n```";
    let reading = reading(reports(), text);
    let found: Vec<_> = reading.reports.iter().map(|found| (found.how, content(text, found).len())).collect();
    assert_eq!(found, [(ReportClue::Whole, text.len()), (ReportClue::Clue, 2), (ReportClue::Clue, 2)]);
    assert!(content(text, &reading.reports[1]).starts_with('3'));
}

// P-37
#[test]
fn a_line_that_names_two_reports_is_no_clue() {
    check(
        two(),
        "Here are Summary and Scope:\n```markdown\n1\n```\n\n```markdown\n2\n```",
        &["summary.md position: 1\n", "scope.md position: 2\n"],
    );
}

// P-37
#[test]
fn of_several_blocks_for_one_file_the_last_counts() {
    check(
        plan(),
        "00-plan.md\n```markdown\nfirst\n```\n00-plan.md\n```markdown\nsecond\n```",
        &["00-plan.md clue: second\n"],
    );
}

// P-38, case 26
#[test]
fn without_a_block_the_report_is_the_whole_reply_less_its_tag() {
    let told = "! no block was found for the report `00-plan.md`: the whole reply was taken";
    check(plan(), "Plan: do it.\n\n[STEP:0]\n", &["00-plan.md whole: Plan: do it.\n\n", told]);
    check(plan(), "Plan: do it. [STEP:0]", &["00-plan.md whole: Plan: do it. [STEP:0]", told]);
    check(plan(), "[STEP:0]", &["00-plan.md whole: ", told]);
    check(plan(), "```rust\nx\n```", &["00-plan.md whole: ```rust\nx\n```", told]);
    check(
        plan(),
        "```markdown\n1\n```\n\n```markdown\n2\n```",
        &["00-plan.md whole: ```markdown\n1\n```\n\n```markdown\n2\n```", told],
    );
}

// P-38
#[test]
fn a_report_without_a_clue_next_to_one_with_a_clue_is_the_whole_reply() {
    let text = "Scope\n```markdown\n1\n```\nHere:\n```markdown\n2\n```";
    let found = reading(two(), text).reports;
    assert_eq!((found[0].how, content(text, &found[0])), (ReportClue::Whole, text));
    assert_eq!((found[1].how, content(text, &found[1])), (ReportClue::Clue, "1\n"));
}

// C-52
#[test]
fn places_are_those_of_the_whole_reply_even_where_only_its_end_is_read() {
    let text = format!("{}\n# 前置き\n```markdown\nplan\n```\n[STEP:0]", "あ\n".repeat(2 * 1024 * 1024));
    let reading = reading(plan(), &text);
    assert_eq!(content(&text, &reading.reports[0]), "plan\n");
    assert_eq!(reading.warnings.len(), 1);
    let whole = format!("{}\nend\n[STEP:0]", "x\n".repeat(4 * 1024 * 1024));
    let found = crate::read::tests::reports::reading(plan(), &whole).reports;
    assert!(content(&whole, &found[0]).ends_with("x\n\nend\n") && found[0].start > 4_000_000);
}

// T-94
#[test]
fn hostile_fences_cost_no_square() {
    let units = 20_000;
    for unit in [
        "```markdown\n",
        "```markdown\n```a\n```\nx\n```\n\n",
        "```markdown\n````a\n````\nx\n```\n\n",
        "```markdown\n```\n",
        "```markdown\n~~~\n",
        "~~~a\n```markdown\n~~~\nx\n```\n\n",
        "```\n\n",
        "````markdown\n```\n\n",
    ] {
        let text = unit.repeat(units);
        assert_eq!(reading(two(), &text).reports.len(), 2, "{unit}");
    }
    let falling: String = (3..1_000).rev().map(|length| "`".repeat(length) + "markdown\n").collect();
    assert_eq!(reading(two(), &(falling + &"`".repeat(1_200).repeat(100))).reports.len(), 2);
}

// U-9
#[test]
fn the_report_of_a_program_is_its_whole_output_also_with_blocks_in_it_or_without_any_text() {
    let reads = Reads { reports: plan(), ..Reads::default() };
    let text = "log\n```markdown\n# 00-plan.md\n```\nend";
    let reading = read_program(&reads, text, ProgramExit::Code(1));
    assert_eq!((reading.exit, reading.warnings), (Some(ProgramExit::Code(1)), Vec::new()));
    assert_eq!(reading.reports.iter().map(|found| content(text, found)).collect::<Vec<_>>(), [text]);
    let reports = read_program(&reads, "", ProgramExit::Code(0)).reports;
    assert_eq!(reports.iter().map(|found| content("", found)).collect::<Vec<_>>(), [""]);
}
