//! Prompt sections of a turn, top to bottom (P-24), the judging question (P-41), and their fixed lines (P-28).

use std::fmt::Write as _;

use saihai_model::{Join, Prompt, PromptPart, PromptSection, SectionCondition, ValueForm, Variable};

use super::assignment::ReportContract;
use super::command_gate::CommandGate;
use super::template::PieceTemplate;
use super::verdict::{VerdictChannels, section_with_nonce};
use crate::Language;
use crate::lowering::{fixed_section, fixed_tokens, section, text_part, value_part};

/// Content of a turn's prompt.
#[derive(Debug)]
pub(super) struct PiecePrompt<'a> {
    /// Fixed lines in the language of the definition.
    pub(super) words: &'static PieceWords,
    pub(super) piece: &'a str,
    pub(super) movement: &'a str,
    pub(super) persona: Option<&'a str>,
    pub(super) knowledge: &'a [String],
    pub(super) policy: &'a [String],
    /// Text that the piece adds to every prompt (X-23).
    pub(super) rules_of_all: Option<&'a str>,
    pub(super) quality_gates: &'a [String],
    pub(super) command_gates: &'a [CommandGate],
    /// True if the context names the report directory, and says that a read-only movement changes nothing (X-9).
    pub(super) names_report_directory: bool,
    pub(super) forbids_edits: bool,
    pub(super) template: Option<&'a PieceTemplate>,
    /// True if the prompt includes the previous output.
    pub(super) pass_previous: bool,
    pub(super) reports: &'a [ReportContract],
    /// Offered rules; without any, the prompt has no status block.
    pub(super) offered: &'a [OfferedRule<'a>],
    pub(super) verdict: VerdictChannels,
}

/// A rule as the prompt offers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OfferedRule<'a> {
    pub(super) number: usize,
    pub(super) condition: &'a str,
    /// True if a reply without a tag needs a question: other rules exist, or the author wrote `ai("…")`.
    pub(super) asks: bool,
    /// Text that the agent must output in addition to the tag.
    pub(super) appendix: Option<&'a str>,
}

/// Placeholder for a facet without its text.
static WORDLESS: [String; 1] = [String::new()];

impl PiecePrompt<'_> {
    pub(super) fn prompt(&self) -> Prompt {
        let mut sections = Vec::new();
        // P-25: without a persona, no separator is needed.
        if let Some(persona) = self.persona {
            sections.push(fixed_section(persona));
            sections.push(fixed_section("---"));
        }
        sections.push(self.context());
        sections.extend(texts(self.words.knowledge, self.knowledge));
        sections.extend(texts(self.words.policy, self.policy));
        sections.extend(self.rules_of_all.map(fixed_section));
        sections
            .extend(self.template.map(|template| section(SectionCondition::Always, template.parts.clone())));
        if !self.shows(&Variable::Task) {
            sections.push(under(self.words.task, Variable::Task, ValueForm::Plain));
        }
        if self.pass_previous && !self.shows(&Variable::Previous) {
            sections.push(under(self.words.previous, Variable::Previous, ValueForm::Plain));
        }
        if !self.shows(&Variable::Inputs) {
            sections.push(under(self.words.inputs, Variable::Inputs, ValueForm::Bullets));
        }
        if !self.quality_gates.is_empty() {
            let gates: Vec<String> = self.quality_gates.iter().map(|gate| format!("- {gate}")).collect();
            sections.push(fixed_section(format!("{}\n{}", self.words.quality_gates, gates.join("\n"))));
        }
        let failed = self.command_gates.iter().enumerate();
        sections.extend(failed.map(|(number, gate)| gate.section(number, self.words)));
        if !self.reports.is_empty() {
            sections.push(fixed_section(report_block(self.words, self.reports)));
        }
        if !self.offered.is_empty() {
            sections.push(section_with_nonce(&status_block(self.words, self.offered, self.verdict)));
        }
        Prompt { sections, join: Join::Paragraphs }
    }

    /// Returns the tokens of the first prompt that Saihai adds. The words of the definition, the task and the
    /// run's values do not count.
    pub(super) fn added_tokens(&self) -> u64 {
        let reports: Vec<ReportContract> = self.reports.iter().map(ReportContract::without_words).collect();
        let offered: Vec<OfferedRule<'_>> = self.offered.iter().map(OfferedRule::without_words).collect();
        let template = self.template.map(PieceTemplate::without_words);
        let bare = PiecePrompt {
            piece: "",
            movement: "",
            persona: self.persona.map(|_| ""),
            knowledge: &WORDLESS[..self.knowledge.len().min(1)],
            policy: &WORDLESS[..self.policy.len().min(1)],
            rules_of_all: None,
            quality_gates: &WORDLESS[..self.quality_gates.len().min(1)],
            template: template.as_ref(),
            reports: &reports,
            offered: &offered,
            ..*self
        };
        let sections = bare.prompt().sections;
        // The first prompt has no previous output, so sections that depend on it do not appear.
        let appears = |section: &&PromptSection| {
            let is_task = |part: &PromptPart| matches!(part, PromptPart::Value(Variable::Task, _));
            section.when == SectionCondition::Always || section.body.iter().any(is_task)
        };
        fixed_tokens(sections.iter().filter(appears))
    }

    fn shows(&self, variable: &Variable) -> bool {
        self.template.is_some_and(|template| template.shows(variable))
    }

    fn context(&self) -> PromptSection {
        let words = self.words;
        let (before, behind) = words.movement_iteration;
        let mut body = vec![
            text_part(format!("{}\n{}", words.context, words.working_directory)),
            value_part(Variable::WorkingDirectory),
            text_part(format!(
                "\n{}{}\n{}{}\n{}",
                words.piece, self.piece, words.movement, self.movement, words.iteration
            )),
            value_part(Variable::Iteration),
            text_part(" / "),
            value_part(Variable::MaxIterations),
            text_part(format!("\n{before}")),
            value_part(Variable::Visits),
        ];
        body.extend((!behind.is_empty()).then(|| text_part(behind)));
        if self.names_report_directory {
            body.push(text_part(format!("\n{}", words.report_directory)));
            body.push(value_part(Variable::ReportDirectory));
            body.extend(self.forbids_edits.then(|| text_part(format!("\n{}", words.no_edits))));
        }
        section(SectionCondition::Always, body)
    }
}

impl OfferedRule<'_> {
    fn without_words(&self) -> Self {
        Self { number: self.number, condition: "", asks: self.asks, appendix: self.appendix.map(|_| "") }
    }
}

/// Builds the question for the condition that matches an output.
pub(super) fn question(words: &PieceWords, offered: &[OfferedRule<'_>]) -> Prompt {
    let output = section(
        SectionCondition::Always,
        vec![
            text_part(format!("{}\n<output>\n", words.output)),
            value_part(Variable::Combined),
            text_part("\n</output>"),
        ],
    );
    let judgment = fixed_section(format!("{}\n\n{}", words.judgment, tags(offered, VerdictChannels::PLAIN)));
    Prompt { sections: vec![output, judgment], join: Join::Paragraphs }
}

/// J1: the default template of a judge.
pub(super) fn judge_template(words: &PieceWords, cycle: &[&str]) -> PieceTemplate {
    let (before, between, behind) = words.cycle;
    PieceTemplate {
        parts: vec![
            text_part(format!("{before}{}{between}", cycle.join(" → "))),
            value_part(Variable::Cycles),
            text_part(behind),
        ],
        remarks: Vec::new(),
    }
}

/// Builds the question for a rule that needs a person's input. Messages to people are in English.
pub(super) fn gate_question(movement: &str, condition: &str) -> Prompt {
    let asked = fixed_section(format!("Movement `{movement}` needs your input: {condition}"));
    let output = PromptSection {
        body: vec![PromptPart::Value(Variable::Previous, ValueForm::Tail(1000))],
        when: SectionCondition::Filled,
    };
    Prompt { sections: vec![asked, output], join: Join::Paragraphs }
}

fn texts(heading: &str, texts: &[String]) -> Option<PromptSection> {
    let trimmed: Vec<&str> = texts.iter().map(|text| text.trim()).collect();
    (!texts.is_empty()).then(|| fixed_section(format!("{heading}\n{}", trimmed.join("\n\n"))))
}

/// Builds a section with a value under a heading. It appears only if the value is not empty.
fn under(heading: &str, variable: Variable, form: ValueForm) -> PromptSection {
    PromptSection {
        body: vec![text_part(format!("{heading}\n")), PromptPart::Value(variable, form)],
        when: SectionCondition::Filled,
    }
}

/// P-29: a single report with a format has its own layout. All other cases are a list.
fn report_block(words: &PieceWords, reports: &[ReportContract]) -> String {
    let mut block = format!("---\n{}\n", words.report);
    if let [ReportContract { order, file, format: Some(format), .. }] = reports {
        // X-21: the order replaces the request, not the form that the report is read from.
        let ordered = order.as_ref().map(|order| format!("{order}\n{}", words.enclosed));
        let request = ordered.as_deref().unwrap_or(words.one_report);
        let _ = write!(block, "{request}\n\n{}{file}\n{}\n{format}", words.file_name, words.format);
        return block;
    }
    let _ = writeln!(block, "{}", words.several_reports);
    for (index, ReportContract { order, file, label, format, .. }) in reports.iter().enumerate() {
        let _ = write!(block, "\n{}. {label} → {}{file}", index + 1, words.file_name);
        if let Some(order) = order {
            let _ = write!(block, "\n{order}");
        }
        if let Some(format) = format {
            let _ = write!(block, "\n{}\n{format}", words.format);
        }
    }
    block
}

fn status_block(words: &PieceWords, offered: &[OfferedRule<'_>], verdict: VerdictChannels) -> String {
    let (before, behind) = words.appendix;
    let mut block = format!("---\n{}\n\n{}", words.status, tags(offered, verdict));
    for rule in offered {
        if let Some(appendix) = rule.appendix {
            let _ = write!(block, "\n\n{before}{}{behind}\n{}", verdict.tag(rule.number), appendix.trim());
        }
    }
    if let Some(sentence) = verdict.sentence(words) {
        let _ = write!(block, "\n\n{sentence}");
    }
    block
}

/// S4, one line per rule.
fn tags(offered: &[OfferedRule<'_>], verdict: VerdictChannels) -> String {
    let line = |rule: &OfferedRule<'_>| format!("{} = {}", verdict.tag(rule.number), rule.condition);
    offered.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Text that Saihai adds to a prompt.
#[derive(Debug)]
pub(super) struct PieceWords {
    pub(super) context: &'static str,
    pub(super) working_directory: &'static str,
    pub(super) piece: &'static str,
    pub(super) movement: &'static str,
    pub(super) iteration: &'static str,
    /// C6, before and after the number
    pub(super) movement_iteration: (&'static str, &'static str),
    pub(super) report_directory: &'static str,
    pub(super) no_edits: &'static str,
    pub(super) quality_gates: &'static str,
    /// Before and after the command of a gate that failed
    pub(super) failed_gate: (&'static str, &'static str),
    pub(super) task: &'static str,
    pub(super) previous: &'static str,
    pub(super) inputs: &'static str,
    pub(super) knowledge: &'static str,
    pub(super) policy: &'static str,
    pub(super) report: &'static str,
    pub(super) one_report: &'static str,
    /// The last sentence of `one_report`
    pub(super) enclosed: &'static str,
    /// R4, and the second half of R8
    pub(super) file_name: &'static str,
    pub(super) format: &'static str,
    pub(super) several_reports: &'static str,
    pub(super) status: &'static str,
    pub(super) appendix: (&'static str, &'static str),
    /// If a tag does not count
    pub(super) verdict_tool: &'static str,
    pub(super) output: &'static str,
    pub(super) judgment: &'static str,
    /// J1: before the cycle, between cycle and count, after the count
    pub(super) cycle: (&'static str, &'static str, &'static str),
    /// P-26: placeholder for a report that does not exist yet
    pub(super) report_missing: &'static str,
}

impl PieceWords {
    pub(super) fn of(language: Language) -> &'static Self {
        language.pick(&ENGLISH, &JAPANESE)
    }
}

static JAPANESE: PieceWords = PieceWords {
    context: "## 実行コンテキスト",
    working_directory: "- ワーキングディレクトリ: ",
    piece: "- ピース: ",
    movement: "- Movement: ",
    iteration: "- イテレーション: ",
    movement_iteration: ("- Movement イテレーション: ", " 回目"),
    report_directory: "- レポートディレクトリ: ",
    no_edits: "- 編集: この movement では禁止です。ファイルを作成・変更・削除しないでください。",
    quality_gates: "## 品質ゲート\n完了する前に、次の条件をすべて満たしてください。",
    failed_gate: (
        "## 失敗したチェック\n作業の後に実行したコマンド `",
        "` が失敗しました。原因を取り除いてください。",
    ),
    task: "## ユーザーのタスク",
    previous: "## 前の movement の出力",
    inputs: "## 追加のユーザー入力",
    knowledge: "## ナレッジ",
    policy: "## ポリシー",
    report: "## レポート出力（必須）",
    one_report: "作業完了後、以下のフォーマットに従ってレポートを出力してください。\n\
                 レポートは ```markdown ブロックで囲んで出力してください。",
    enclosed: "レポートは ```markdown ブロックで囲んで出力してください。",
    file_name: "ファイル名: ",
    format: "フォーマット:",
    several_reports: "作業完了後、以下の各レポートを出力してください。\n\
                      各レポートは見出し付きの ```markdown ブロックで囲んで出力してください。",
    status: "## ステータス出力（必須）\n\
             全ての作業とレポート出力が完了した後、最後に以下のいずれかのタグを出力してください。\n\
             あなたの作業結果に最も合致するものを1つだけ選んでください。",
    appendix: ("", " を選ぶ場合は、タグの前に次の内容も出力してください:"),
    verdict_tool: "最後のメッセージの前に、選択をツール `saihai_verdict` で報告してください。タグだけでは判定になりません。",
    output: "## 出力",
    judgment: "## 判定\n\
               上の出力に最も合致する条件を1つだけ選び、そのタグだけを出力してください。\
               どれにも合致しない場合は [STEP:NONE] を出力してください。",
    cycle: (
        "",
        " のサイクルが ",
        " 回繰り返されました。進捗があるか、同じことを繰り返しているかを判断してください。",
    ),
    report_missing: "（レポート未作成）",
};

static ENGLISH: PieceWords = PieceWords {
    context: "## Execution Context",
    working_directory: "- Working directory: ",
    piece: "- Piece: ",
    movement: "- Movement: ",
    iteration: "- Iteration: ",
    movement_iteration: ("- Movement iteration: ", ""),
    report_directory: "- Report Directory: ",
    no_edits: "- Editing: disabled in this movement. Do not create, change or delete files.",
    quality_gates: "## Quality Gates\nMeet all of these conditions before you finish.",
    failed_gate: ("## Failed Check\nAfter your work, the command `", "` failed. Remove the cause."),
    task: "## User Task",
    previous: "## Previous Movement Output",
    inputs: "## Additional User Inputs",
    knowledge: "## Knowledge",
    policy: "## Policy",
    report: "## Report Output (required)",
    one_report: "When the work is done, output a report in the following format.\n\
                 Enclose the report in a ```markdown block.",
    enclosed: "Enclose the report in a ```markdown block.",
    file_name: "File name: ",
    format: "Format:",
    several_reports: "When the work is done, output each of the following reports.\n\
                      Enclose each report in a ```markdown block under its own heading.",
    status: "## Status Output (required)\n\
             After all work and report output is finished, output one of the following tags at the very end.\n\
             Choose only the one that best matches the result of your work.",
    appendix: ("If you choose ", ", also output the following before the tag:"),
    verdict_tool: "Report your choice with the tool `saihai_verdict` before your last message. A tag alone does not count.",
    output: "## Output",
    judgment: "## Judgment\n\
               Choose the one condition that best matches the output above and reply with its tag only. \
               If none matches, reply [STEP:NONE].",
    cycle: ("The cycle ", " has repeated ", " times. Judge whether it makes progress or repeats itself."),
    report_missing: "(report not yet created)",
};
