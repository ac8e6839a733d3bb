//! Renders the findings of one agent as Markdown for later agents (P-61).

use std::path::Path;

use saihai_config::Language;
use saihai_judge::review::{Code, Finding, Payload};
use saihai_model::{Json, Reading};

use super::mark_up::{self, code, line};
use super::words::{Words, assessment};
use crate::subject::whole;

/// Renders the findings of one agent, worst first, and its overall assessment.
pub(crate) fn passed_on(agent: &str, reading: &Reading, root: &Path, language: Language) -> String {
    let words = Words::of(language);
    let output = reading.output.as_ref().unwrap_or(&Json::Null);
    let Payload { findings, assessments, mut refused, .. } = Payload::read(agent, &Json::Null, output);
    if reading.output.is_none() {
        refused = vec![reading.tail.trim().to_owned()];
        refused.retain(|words| !words.is_empty());
    }
    let mut findings: Vec<Finding> = findings.into_iter().map(|finding| placed(root, finding)).collect();
    findings.sort_by(|one, other| order(one).cmp(&order(other)));
    let mut paragraphs: Vec<String> = findings.iter().map(|finding| item(words, finding)).collect();
    if !reading.violations.is_empty() {
        paragraphs.push(words.not_read(&line(&reading.violations.join("; "))));
    } else if paragraphs.is_empty() {
        paragraphs.push(words.nothing_found().to_owned());
    }
    paragraphs.extend(refused.iter().map(|text| format!("- {}", line(&words.refused(text)))));
    let assessed: Vec<String> =
        assessments.iter().map(|one| format!("- {}", line(&assessment(one)))).collect();
    paragraphs.extend((!assessed.is_empty()).then(|| assessed.join("\n")));
    paragraphs.join("\n\n")
}

/// Formats a finding: severity, location and remarks, then the description and the suggestion.
fn item(words: Words, finding: &Finding) -> String {
    let parts = [
        Some(format!("**{}**", words.severity(finding.severity))),
        finding.place().map(|place| code(&place)),
        finding.category.as_deref().map(line),
        finding.confidence.map(|percent| words.certain(percent)),
        finding.claimed.as_deref().map(|place| line(&words.claimed(place))),
    ];
    let head = parts.into_iter().flatten().collect::<Vec<String>>().join(" · ");
    let suggestion = finding.suggestion.as_deref().map(|text| words.suggestion(text));
    let blocks = std::iter::once(finding.message.clone()).chain(suggestion).map(|text| block(&text));
    std::iter::once(format!("- {head}")).chain(blocks).collect::<Vec<_>>().join("\n\n")
}

/// Indents an agent's text into its list item.
fn block(text: &str) -> String {
    let lines = mark_up::lines(text).into_iter().map(|one| format!("  {one}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// Makes the location of a finding relative to the root if it exists. Otherwise keeps it as a claim (R-47).
fn placed(root: &Path, mut finding: Finding) -> Finding {
    let Some(named) = finding.file.clone() else { return finding };
    let lines = |path: &str| whole(root, Path::new(path)).map(|text| text.lines().count());
    let places = Code::new(&root.display().to_string()).places(&named);
    let start = finding.start_line.unwrap_or(0) as usize;
    let place = places.into_iter().find(|path| lines(path).is_some_and(|count| start <= count));
    if place.is_none() {
        finding.claimed = finding.place();
        (finding.start_line, finding.end_line) = (None, None);
    }
    finding.file = place;
    finding
}

/// Returns the sort key: worst first, then by location. Findings without a location come last.
fn order(finding: &Finding) -> impl Ord {
    (finding.severity, finding.file.is_none(), finding.file.as_deref(), finding.start_line, finding)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(output: Option<Json>, violations: &[&str], language: Language) -> String {
        told(Reading { output, violations: texts(violations), ..Reading::default() }, language)
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|one| (*one).to_owned()).collect()
    }

    fn told(reading: Reading, language: Language) -> String {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("src")).unwrap();
        std::fs::write(directory.path().join("src/a.rs"), "one\ntwo\n").unwrap();
        passed_on("guard", &reading, directory.path(), language)
    }

    #[test]
    fn findings_are_passed_on_worst_first_with_places_that_are_there() {
        let at = |file: &str, line: u32| json!({ "file_path": file, "line_number": line });
        let output = json!({
            "overall_score": 4,
            "issues": [
                { "severity": "suggestion", "description": "long\nname", "location": at("src/a.rs", 9) },
                { "severity": "critical", "description": "joined", "location": at("./src/a.rs", 2),
                  "suggestion": "bind it", "category": "sql", "confidence": 80 },
                { "severity": "important", "description": "leaks", "location": at("../out", 1) },
            ],
        });
        insta::assert_snapshot!(said(Some(output), &[], Language::English), @"
        - **critical** · `src/a.rs:2` · sql · 80 % certain

          joined

          Suggestion: bind it

        - **important** · the place that was named could not be found: ../out:1

          leaks

        - **suggestion** · the place that was named could not be found: src/a.rs:9

          long
          name

        - guard: overall_score 4/10
        ");
    }

    // P-61, R-43: text that is not a valid finding is passed on as well
    #[test]
    fn what_could_not_be_read_is_passed_on_in_its_own_words() {
        let output = json!({"issues": [{"severity": "High", "description": "SQL injection"}]});
        let why = "issues/0/severity: \"High\" is none of them";
        insta::assert_snapshot!(said(Some(output), &[why], Language::English), @r#"
        A part of the reply could not be read: issues/0/severity: "High" is none of them

        - refused: {"description":"SQL injection","severity":"High"}
        "#);
        let tail = r#"{"issues": [{"severity": "critical"},]}"#.to_owned();
        let broken = Reading { tail, violations: texts(&["trailing comma"]), ..Reading::default() };
        insta::assert_snapshot!(told(broken, Language::English), @r#"
        A part of the reply could not be read: trailing comma

        - refused: {"issues": [{"severity": "critical"},]}
        "#);
    }

    #[test]
    fn nothing_found_and_a_reply_that_could_not_be_read_are_told_apart() {
        assert_eq!(said(Some(json!({ "issues": [] })), &[], Language::English), "No findings.");
        assert_eq!(said(Some(json!({ "issues": [] })), &[], Language::Japanese), "指摘なし。");
        assert_eq!(
            said(None, &["no JSON object"], Language::English),
            "A part of the reply could not be read: no JSON object"
        );
    }
}
