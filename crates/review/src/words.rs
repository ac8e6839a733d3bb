//! The wording of a report, in each language.

use std::path::Path;

use saihai_config::Language;
use saihai_judge::{Assessment, Finding, FindingKind, ReviewReply};
use saihai_model::{Json, Reading, Severity};

use crate::code::ReviewedCode;
use crate::markdown::{code, line, mark_up_lines};
use crate::report::{AgentResult, AgentStatus, BaselineState, ReportedFinding, ReviewOutcome, ReviewReport};
use crate::subject::whole;

#[derive(Debug, Clone, Copy)]
pub(super) struct ReportWords {
    language: Language,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum ReportHeading {
    Findings,
    NoPlace,
    Outside,
    Assessments,
    Agents,
    LoadErrors,
    Suppressed,
    SuppressedHere,
    Filtered,
    Fixed,
    NotReviewed,
    Notices,
    Actions,
}

impl ReportWords {
    pub(super) fn of(language: Language) -> Self {
        Self { language }
    }

    fn pick<T>(self, english: T, japanese: T) -> T {
        self.language.pick(english, japanese)
    }

    pub(super) fn heading(self, heading: ReportHeading) -> &'static str {
        match heading {
            ReportHeading::Findings => self.pick("Findings", "指摘"),
            ReportHeading::NoPlace => self.pick("Without a place", "場所の指定なし"),
            ReportHeading::Outside => self.pick("Outside the change", "変更の範囲外"),
            ReportHeading::Assessments => self.pick("Assessments", "評価"),
            ReportHeading::Agents => self.pick("Agents", "エージェント"),
            ReportHeading::LoadErrors => self.pick("Definitions that were refused", "読み込めなかった定義"),
            ReportHeading::Suppressed => self.pick("Suppressed", "抑制された指摘"),
            ReportHeading::SuppressedHere => {
                self.pick("Suppressed by this change", "この変更自身が抑制した指摘")
            }
            ReportHeading::Filtered => self.pick("Not certain enough", "確信度が足りない指摘"),
            ReportHeading::Fixed => self.pick("Fixed", "解消した指摘"),
            ReportHeading::NotReviewed => self.pick("Not reviewed", "レビューしていないもの"),
            ReportHeading::Notices => self.pick("About suppressions", "抑制について"),
            ReportHeading::Actions => self.pick("Recommended actions", "推奨する対応"),
        }
    }

    /// Returns one line with the outcome and its reason.
    pub(super) fn outcome(self, report: &ReviewReport) -> String {
        let summary = &report.summary;
        let ended = match report.outcome {
            ReviewOutcome::Passed => self.pick("Review passed", "レビュー合格"),
            ReviewOutcome::Failing => self.pick("Review failed", "レビュー不合格"),
            ReviewOutcome::Cancelled => self.pick("Review stopped", "レビュー中断"),
            ReviewOutcome::NothingDelivered => {
                self.pick("Review failed: no agent answered", "レビュー失敗：回答なし")
            }
            ReviewOutcome::Incomplete => {
                self.pick("Review incomplete: something was left out", "レビュー未完了：対象の一部を除外")
            }
            ReviewOutcome::AgentFailed => self
                .pick("Review failed: an agent did not answer", "レビュー失敗：回答しないエージェントあり"),
        };
        let counted = Severity::ALL.into_iter().map(|severity| (severity, summary.by_severity.of(severity)));
        let counted: Vec<String> = counted
            .filter(|(_, count)| *count > 0)
            .map(|(severity, count)| self.counted(severity, count))
            .collect();
        let (all, failing) = (summary.findings, summary.failing);
        let found = match (all, self.language) {
            (0, Language::English) => "no findings".to_owned(),
            (0, Language::Japanese) => "指摘なし".to_owned(),
            (_, Language::English) => {
                format!("{} ({}), {failing} failing", number(all, "finding"), counted.join(", "))
            }
            (_, Language::Japanese) => {
                format!("指摘 {all} 件（{}）、うち不合格の対象 {failing} 件", counted.join("、"))
            }
        };
        let asked = summary.delivered + summary.failed;
        let agents = self.pick(
            format!("{} of {} answered", summary.delivered, number(asked, "agent")),
            format!("エージェント {asked} 個中 {} 個が回答", summary.delivered),
        );
        let cost = summary.cost.map(|cost| cost.to_string());
        let parts = [Some(found), Some(agents), Some(seconds(summary.wall_ms.0)), cost];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("{ended} - {}", parts.join(self.pick("; ", "；")))
    }

    fn counted(self, severity: Severity, count: usize) -> String {
        let name = self.severity(severity);
        let english = match severity {
            Severity::Critical | Severity::Important => format!("{count} {name}"),
            Severity::Suggestion | Severity::Nitpick => number(count, name),
        };
        self.pick(english, format!("{name} {count}"))
    }

    pub(super) fn severity(self, severity: Severity) -> &'static str {
        match severity {
            Severity::Critical => self.pick("critical", "重大"),
            Severity::Important => self.pick("important", "重要"),
            Severity::Suggestion => self.pick("suggestion", "提案"),
            Severity::Nitpick => self.pick("nitpick", "些細"),
        }
    }

    /// Returns the kind of a finding, unless it is a plain issue.
    pub(super) fn kind(self, kind: FindingKind) -> Option<&'static str> {
        match kind {
            FindingKind::Issue => None,
            FindingKind::CoverageGap => Some(self.pick("coverage gap", "テスト不足")),
            FindingKind::Improvement => Some(self.pick("improvement", "改善")),
            FindingKind::Dimension => Some(self.pick("low score", "低い評価")),
        }
    }

    pub(super) fn state(self, state: BaselineState) -> &'static str {
        match state {
            BaselineState::New => self.pick("new", "新規"),
            BaselineState::Persisting => self.pick("was there before", "既存"),
        }
    }

    pub(super) fn certain(self, percent: u8) -> String {
        self.pick(format!("{percent} % certain"), format!("確信度 {percent} %"))
    }

    pub(super) fn suggestion(self, text: &str) -> String {
        self.pick(format!("Suggestion: {text}"), format!("提案：{text}"))
    }

    pub(super) fn nothing_found(self) -> &'static str {
        self.pick("No findings.", "指摘なし。")
    }

    pub(super) fn not_read(self, problems: &str) -> String {
        self.pick(
            format!("A part of the reply could not be read: {problems}"),
            format!("返答の一部を読み取れませんでした: {problems}"),
        )
    }

    /// Labels a text that is not a valid finding.
    pub(super) fn refused(self, text: &str) -> String {
        self.pick(format!("refused: {text}"), format!("採用できなかった内容: {text}"))
    }

    pub(super) fn claimed(self, place: &str) -> String {
        self.pick(
            format!("the named place was not found: {place}"),
            format!("指定された場所が見つかりません: {place}"),
        )
    }

    /// Returns remarks of other agents on a finding.
    pub(super) fn others(self, one: &ReportedFinding) -> Vec<String> {
        let others = one.members.iter().skip(1).filter_map(|member| {
            let (said, shown) = (&member.finding, &one.finding);
            let message = Some(said.message.clone()).filter(|text| *text != shown.message);
            let suggestion = said.suggestion.as_ref().filter(|text| Some(*text) != shown.suggestion.as_ref());
            let parts = [message, suggestion.map(|text| self.suggestion(text))];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            (!parts.is_empty()).then(|| self.also(&said.agent, &parts.join("\n")))
        });
        others.collect()
    }

    /// Appends the suggestion and the remarks of other agents, each on a new line.
    pub(super) fn push_remarks(self, text: &mut String, one: &ReportedFinding) {
        let suggestion = one.finding.suggestion.as_ref().map(|suggestion| self.suggestion(suggestion));
        for remark in suggestion.into_iter().chain(self.others(one)) {
            text.push('\n');
            text.push_str(&remark);
        }
    }

    fn also(self, agent: &str, message: &str) -> String {
        self.pick(format!("Also said by {agent}: {message}"), format!("{agent} も指摘：{message}"))
    }

    pub(super) fn more_findings(self, count: usize) -> String {
        self.pick(
            format!("{} as listed above", number(count, "further finding")),
            format!("上記の残り {count} 件の指摘"),
        )
    }

    pub(super) fn ask_again(self, agents: &str) -> String {
        self.pick(
            format!("Run the review again, because these agents did not answer: {agents}"),
            format!("回答しなかったエージェントのため、レビューを再実行する: {agents}"),
        )
    }

    pub(super) fn allow_more(self, files: usize) -> String {
        self.pick(
            format!("Raise `--max-chunks`, because {} exceeded the size limit", number(files, "file")),
            format!("`--max-chunks` を増やす。{files} 個のファイルがサイズの上限を超えた"),
        )
    }

    pub(super) fn does_not_count(self) -> &'static str {
        self.pick("does not fail the review", "不合格の対象外")
    }

    pub(super) fn warning(self) -> &'static str {
        self.pick("Warning:", "警告：")
    }

    pub(super) fn not_selected(self) -> &'static str {
        self.pick("not selected", "対象外")
    }

    pub(super) fn suppressed_by(self, by: &str) -> String {
        self.pick(format!("suppressed at {by}"), format!("抑制の記述: {by}"))
    }

    pub(super) fn status(self, result: &AgentResult) -> String {
        let found = result.findings.len();
        let found = self.pick(number(found, "finding"), format!("指摘 {found} 件"));
        match &result.status {
            AgentStatus::Success if result.cached => {
                self.pick(format!("{found}, from the cache"), format!("{found}、キャッシュ"))
            }
            AgentStatus::Success => found,
            AgentStatus::Truncated { reason } => self.pick(
                format!("only a part of an answer ({}), {found}", reason.name()),
                format!("回答は一部のみ（{}）、{found}", reason.name()),
            ),
            AgentStatus::Timeout { timeout_seconds } => self.pick(
                format!("no answer within {timeout_seconds} s, {found}"),
                format!("{timeout_seconds} 秒以内に回答なし、{found}"),
            ),
            AgentStatus::Error { class, message, exit_code, .. } => {
                let code = exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
                self.pick(
                    format!("failed ({class}{code}): {message}"),
                    format!("失敗（{class}{code}）: {message}"),
                )
            }
        }
    }
}

/// Formats an assessment as `who: what 7.5/10 - why`.
pub(super) fn assessment(assessment: &Assessment) -> String {
    let score = assessment.score.map(|score| format!(" {score}/10"));
    let level = assessment.level.map(|level| format!(" {}", level.name()));
    let description = assessment.description.as_deref().map(|text| format!(" - {text}"));
    let parts = [score, level, description].map(Option::unwrap_or_default).concat();
    format!("{}: {}{parts}", assessment.agent, assessment.name)
}

fn number(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Formats seconds with one decimal.
pub(super) fn seconds(millis: u64) -> String {
    format!("{}.{} s", millis / 1_000, millis % 1_000 / 100)
}

/// Renders the findings of one agent, worst first, and its overall assessment.
pub fn findings_for_agents(agent: &str, reading: &Reading, root: &Path, language: Language) -> String {
    let words = ReportWords::of(language);
    let output = reading.output.as_ref().unwrap_or(&Json::Null);
    let ReviewReply { findings, assessments, mut refused, .. } =
        ReviewReply::read(agent, &Json::Null, output);
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
fn item(words: ReportWords, finding: &Finding) -> String {
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
    let lines = mark_up_lines(text).into_iter().map(|one| format!("  {one}").trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// Makes the location of a finding relative to the root if it exists. Otherwise keeps it as a claim (R-47).
fn placed(root: &Path, mut finding: Finding) -> Finding {
    let Some(named) = finding.file.clone() else { return finding };
    let lines = |path: &str| whole(root, Path::new(path)).map(|text| text.lines().count());
    let places = ReviewedCode::new(&root.display().to_string()).places(&named);
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
        findings_for_agents("guard", &reading, directory.path(), language)
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

        - **important** · the named place was not found: ../out:1

          leaks

        - **suggestion** · the named place was not found: src/a.rs:9

          long
          name

        - guard: overall_score 4/10
        ");
    }

    // P-61, R-43: text that is not a valid finding is passed on as well
    #[test]
    fn what_could_not_be_read_is_passed_on_in_its_own_words() {
        let output = json!({"issues": [{"severity": "High", "description": "SQL injection"}]});
        let why = "issues/0/severity: \"High\" is not one of them";
        insta::assert_snapshot!(said(Some(output), &[why], Language::English), @r#"
        A part of the reply could not be read: issues/0/severity: "High" is not one of them

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
