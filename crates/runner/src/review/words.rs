//! The wording of a report, in each language.

use saihai_config::Language;
use saihai_judge::review::{
    AgentResult, Assessment, Kind, Outcome, Report, Reported, Severity, State, Status,
};

#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    language: Language,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Heading {
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
}

impl Words {
    pub(super) fn of(language: Language) -> Self {
        Self { language }
    }

    fn pick<T>(self, english: T, japanese: T) -> T {
        match self.language {
            Language::English => english,
            Language::Japanese => japanese,
        }
    }

    pub(super) fn heading(self, heading: Heading) -> &'static str {
        match heading {
            Heading::Findings => self.pick("Findings", "指摘"),
            Heading::NoPlace => self.pick("Without a place", "場所の指定なし"),
            Heading::Outside => self.pick("Outside the change", "変更の範囲外"),
            Heading::Assessments => self.pick("Assessments", "評価"),
            Heading::Agents => self.pick("Agents", "エージェント"),
            Heading::LoadErrors => self.pick("Definitions that were refused", "読み込めなかった定義"),
            Heading::Suppressed => self.pick("Suppressed", "抑制された指摘"),
            Heading::SuppressedHere => {
                self.pick("Suppressed by this very change", "この変更自身が抑制した指摘")
            }
            Heading::Filtered => self.pick("Not certain enough", "確信度が足りない指摘"),
            Heading::Fixed => self.pick("Fixed", "解消した指摘"),
            Heading::NotReviewed => self.pick("Not reviewed", "レビューしていないもの"),
            Heading::Notices => self.pick("About suppressions", "抑制について"),
        }
    }

    /// Returns one line with the outcome and its reason.
    pub(super) fn outcome(self, report: &Report) -> String {
        let summary = &report.summary;
        let ended = match report.outcome {
            Outcome::Passed => self.pick("Review passed", "レビュー合格"),
            Outcome::Failing => self.pick("Review failed", "レビュー不合格"),
            Outcome::Cancelled => self.pick("Review stopped", "レビュー中断"),
            Outcome::NothingDelivered => {
                self.pick("Review failed: no agent answered", "レビュー失敗：回答なし")
            }
            Outcome::Incomplete => {
                self.pick("Review incomplete: something was left out", "レビュー未完了：対象の一部を除外")
            }
            Outcome::AgentFailed => self
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
    pub(super) fn kind(self, kind: Kind) -> Option<&'static str> {
        match kind {
            Kind::Issue => None,
            Kind::CoverageGap => Some(self.pick("coverage gap", "テスト不足")),
            Kind::Improvement => Some(self.pick("improvement", "改善")),
            Kind::Dimension => Some(self.pick("low score", "低い評価")),
        }
    }

    pub(super) fn state(self, state: State) -> &'static str {
        match state {
            State::New => self.pick("new", "新規"),
            State::Persisting => self.pick("was there before", "既存"),
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
            format!("the place that was named could not be found: {place}"),
            format!("指定された場所が見つかりません: {place}"),
        )
    }

    /// Returns remarks of other agents on a finding.
    pub(super) fn others(self, one: &Reported) -> Vec<String> {
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

    fn also(self, agent: &str, message: &str) -> String {
        self.pick(format!("Also said by {agent}: {message}"), format!("{agent} も指摘：{message}"))
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
            Status::Success if result.cached => {
                self.pick(format!("{found}, from the cache"), format!("{found}、キャッシュ"))
            }
            Status::Success => found,
            Status::Truncated { reason } => self.pick(
                format!("only a part of an answer ({}), {found}", reason.name()),
                format!("回答は一部のみ（{}）、{found}", reason.name()),
            ),
            Status::Timeout { timeout_seconds } => self.pick(
                format!("no answer within {timeout_seconds} s, {found}"),
                format!("{timeout_seconds} 秒以内に回答なし、{found}"),
            ),
            Status::Error { class, message, exit_code, .. } => {
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
