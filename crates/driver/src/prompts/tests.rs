use proptest::prelude::*;

use super::*;
use crate::Disk;

/// Renders sections with an existing report `plan.md` and a report directory.
fn render(draft: &Draft) -> RenderedPrompt {
    let directory = tempfile::tempdir().unwrap();
    let reports = directory.path().canonicalize().unwrap();
    std::fs::write(reports.join("plan.md"), "# Plan\n").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", reports.join("link.md")).unwrap();
    let blobs = Blobs::new(reports.join("blobs"), &Disk::new());
    std::fs::create_dir(blobs.directory()).unwrap();
    let report_directory = reports.display().to_string();
    let renderer =
        PromptRenderer { blobs: &blobs, directory: "/work", head: None, report_directory: &report_directory };
    let mut rendered = renderer.render(draft).unwrap();
    rendered.text = rendered.text.replace(&report_directory, "REPORTS");
    rendered
}

fn check(join: Join, sections: &[&[Splice]], expected: &str) {
    let draft = Draft { sections: sections.iter().map(|section| section.to_vec()).collect(), join };
    assert_eq!(render(&draft).text, expected);
}

fn plain(text: &str) -> Splice {
    Splice::Text(text.into(), ValueForm::Plain)
}

fn formed(text: &str, form: ValueForm) -> Splice {
    Splice::Text(text.into(), form)
}

// P-24
#[test]
fn paragraphs_are_trimmed_joined_by_one_blank_line_and_end_with_one_newline() {
    check(
        Join::Paragraphs,
        &[&[plain("\n one\n\n")], &[plain("   ")], &[], &[plain("two "), plain("three\n\n\n")]],
        "one\n\ntwo three\n",
    );
    check(Join::Paragraphs, &[&[plain(" \n")]], "");
    check(Join::Paragraphs, &[], "");
}

#[test]
fn what_is_joined_as_it_is_stays_byte_for_byte() {
    check(Join::AsIs, &[&[plain("\n one\n\n")], &[plain(" two")]], "\n one\n\n two");
}

#[test]
fn forms_write_a_value_as_they_say() {
    check(Join::AsIs, &[&[formed("a\n\nb\n", ValueForm::Quote)]], "> a\n> \n> b");
    check(
        Join::AsIs,
        &[&[formed("a\nb", ValueForm::Bullets), plain("\n"), formed("c", ValueForm::Bullets)]],
        "- a\n  b\n- c",
    );
    check(Join::AsIs, &[&[formed("", ValueForm::Quote), formed("", ValueForm::Bullets)]], "");
    check(Join::AsIs, &[&[formed("say \"a\"\n", ValueForm::Json)]], "\"say \\\"a\\\"\\n\"");
    check(Join::AsIs, &[&[formed("あいう", ValueForm::Tail(2))]], "…いう");
    check(Join::AsIs, &[&[formed("あいう", ValueForm::Tail(3)), formed("x", ValueForm::Tail(0))]], "あいう…");
}

// P-27
#[test]
fn a_value_that_looks_like_a_template_stays_as_it_is() {
    check(Join::AsIs, &[&[plain("{task} {report:plan.md} ${x}")]], "{task} {report:plan.md} ${x}");
}

#[test]
fn reports_and_directories_are_put_in_when_the_prompt_is_rendered() {
    let report = |file: &str| Splice::ReportFile { file: file.to_owned(), missing: "(none yet)".to_owned() };
    check(
        Join::AsIs,
        &[&[
            report("plan.md"),
            report("later.md"),
            plain(" "),
            Splice::ReportDirectory,
            Splice::WorkingDirectory,
        ]],
        "# Plan\n(none yet) REPORTS/work",
    );
}

// P-22, T-81
#[test]
fn a_report_that_is_a_link_counts_as_missing_and_says_so() {
    let splice = Splice::ReportFile { file: "link.md".to_owned(), missing: "(none yet)".to_owned() };
    let rendered = render(&Draft { sections: vec![vec![splice]], join: Join::AsIs });
    assert_eq!(rendered.text, "(none yet)");
    assert!(
        matches!(&rendered.warnings[..], [DriverWarning::UnsafeReport { file, .. }] if file == "link.md")
    );
}

// C-52
#[test]
fn of_a_huge_text_only_the_end_is_passed_on() {
    let directory = tempfile::tempdir().unwrap();
    let blobs = Blobs::new(directory.path().to_path_buf(), &Disk::new());
    let kept = blobs.keep(format!("{}END", "あ".repeat(2 * 1024 * 1024))).unwrap();
    let renderer = PromptRenderer { blobs: &blobs, directory: "", head: None, report_directory: "" };
    let text = renderer.text(&kept).unwrap();
    assert!(text.len() <= 4 * 1024 * 1024 && text.len() > 4 * 1024 * 1024 - 4 && text.ends_with("あEND"));
}

#[test]
fn a_missing_blob_fails_instead_of_leaving_a_gap() {
    let directory = tempfile::tempdir().unwrap();
    let blobs = Blobs::new(directory.path().to_path_buf(), &Disk::new());
    let renderer = PromptRenderer { blobs: &blobs, directory: "", head: None, report_directory: "" };
    let text = Text::Blob { hash: "0".repeat(64), bytes: 1 };
    let draft = Draft { sections: vec![vec![Splice::Text(text, ValueForm::Plain)]], join: Join::AsIs };
    assert!(matches!(renderer.render(&draft), Err(PromptError::Blob { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_tail_is_never_longer_than_asked_and_always_the_end(text in "\\PC*", most in 0_usize..20) {
        let tail = tail(&text, most);
        let kept = tail.strip_prefix('…').filter(|_| tail != text).unwrap_or(&tail);
        prop_assert!(text.ends_with(kept));
        prop_assert_eq!(kept.chars().count(), text.chars().count().min(most));
    }

    #[test]
    fn quoted_lines_are_the_lines_behind_a_mark(text in "[a-c\n]{0,20}") {
        let quoted = super::formed(text.clone(), ValueForm::Quote);
        let lines: Vec<_> = quoted.lines().map(|line| line.strip_prefix("> ").unwrap().to_owned()).collect();
        prop_assert_eq!(lines, text.lines().map(str::to_owned).collect::<Vec<_>>());
    }
}
