//! Fixed lines of prompts, in both languages (P-28). The Japanese ones are part of the format.

use crate::Language;

/// Text that Saihai adds to a prompt.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) context: &'static str,
    pub(super) working_directory: &'static str,
    pub(super) piece: &'static str,
    pub(super) movement: &'static str,
    pub(super) iteration: &'static str,
    /// C6, before and after the number
    pub(super) movement_iteration: (&'static str, &'static str),
    pub(super) task: &'static str,
    pub(super) previous: &'static str,
    pub(super) inputs: &'static str,
    pub(super) knowledge: &'static str,
    pub(super) policy: &'static str,
    pub(super) report: &'static str,
    pub(super) one_report: &'static str,
    /// R4, and the second half of R8
    pub(super) file_name: &'static str,
    pub(super) format: &'static str,
    pub(super) several_reports: &'static str,
    pub(super) status: &'static str,
    pub(super) appendix: (&'static str, &'static str),
    pub(super) output: &'static str,
    pub(super) judgment: &'static str,
    /// J1: before the cycle, between cycle and count, after the count
    pub(super) cycle: (&'static str, &'static str, &'static str),
    /// P-26: placeholder for a report that does not exist yet
    pub(super) report_missing: &'static str,
}

impl Words {
    pub(super) fn of(language: Language) -> &'static Self {
        match language {
            Language::Japanese => &JAPANESE,
            Language::English => &ENGLISH,
        }
    }
}

static JAPANESE: Words = Words {
    context: "## 実行コンテキスト",
    working_directory: "- ワーキングディレクトリ: ",
    piece: "- ピース: ",
    movement: "- Movement: ",
    iteration: "- イテレーション: ",
    movement_iteration: ("- Movement イテレーション: ", " 回目"),
    task: "## ユーザーのタスク",
    previous: "## 前の movement の出力",
    inputs: "## 追加のユーザー入力",
    knowledge: "## ナレッジ",
    policy: "## ポリシー",
    report: "## レポート出力（必須）",
    one_report: "作業完了後、以下のフォーマットに従ってレポートを出力してください。\n\
                 レポートは ```markdown ブロックで囲んで出力してください。",
    file_name: "ファイル名: ",
    format: "フォーマット:",
    several_reports: "作業完了後、以下の各レポートを出力してください。\n\
                      各レポートは見出し付きの ```markdown ブロックで囲んで出力してください。",
    status: "## ステータス出力（必須）\n\
             全ての作業とレポート出力が完了した後、最後に以下のいずれかのタグを出力してください。\n\
             あなたの作業結果に最も合致するものを1つだけ選んでください。",
    appendix: ("", " を選ぶ場合は、タグの前に次の内容も出力してください:"),
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

static ENGLISH: Words = Words {
    context: "## Execution Context",
    working_directory: "- Working directory: ",
    piece: "- Piece: ",
    movement: "- Movement: ",
    iteration: "- Iteration: ",
    movement_iteration: ("- Movement iteration: ", ""),
    task: "## User Task",
    previous: "## Previous Movement Output",
    inputs: "## Additional User Inputs",
    knowledge: "## Knowledge",
    policy: "## Policy",
    report: "## Report Output (required)",
    one_report: "When the work is done, output a report in the following format.\n\
                 Enclose the report in a ```markdown block.",
    file_name: "File name: ",
    format: "Format:",
    several_reports: "When the work is done, output each of the following reports.\n\
                      Enclose each report in a ```markdown block under its own heading.",
    status: "## Status Output (required)\n\
             After all work and report output is finished, output one of the following tags at the very end.\n\
             Choose only the one that best matches the result of your work.",
    appendix: ("If you choose ", ", also output the following before the tag:"),
    output: "## Output",
    judgment: "## Judgment\n\
               Choose the one condition that best matches the output above and reply with its tag only. \
               If none matches, reply [STEP:NONE].",
    cycle: ("The cycle ", " has repeated ", " times. Judge whether it makes progress or repeats itself."),
    report_missing: "(report not yet created)",
};
