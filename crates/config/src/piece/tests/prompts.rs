//! Prompts of pieces.

use super::{Project, VALUES, render, stage, turn, with_rule};

/// A Japanese piece that uses every part of a prompt.
const JAPANESE: &str = r#"
name: 修正
movements:
  - name: plan
    agent: ../agents/planner.md
    knowledge: 設計
    policy: [規約, 検査]
    instruction_template: |
      原因を調べてください。

      {report:00-memo.md}
    report:
      name: 01-plan.md
      format: |
        # タスク計画
        ## 元の要求
    rules:
      - {condition: 計画が完成した, next: COMPLETE}
      - {condition: 'ai("進められない")', next: ABORT, appendix: 理由を書いてください。}
knowledge: {設計: "認証は `auth` にあります。\n"}
policies: {規約: 既存の書き方に従う。, 検査: テストを実行する。}
"#;

fn japanese() -> Project {
    Project::new(JAPANESE).file("/p/.takt/agents/planner.md", "# プランナー\n\nあなたは計画の担当です。\n")
}

// P-23, P-24, P-28, P-29: the format's own words in order, with report and status in the same prompt
#[test]
fn a_japanese_prompt_has_every_part_in_its_place() {
    let workflow = japanese().workflow();
    let inputs = [("Inputs", "急いで|二行の\n入力"), ("ReportFile(\"00-memo.md\")", "メモ")];
    let values: Vec<(&str, &str)> = VALUES.into_iter().chain(inputs).collect();
    insta::assert_snapshot!(render(&turn(&workflow, "plan").prompt, &values), @r"
    # プランナー

    あなたは計画の担当です。

    ---

    ## 実行コンテキスト
    - ワーキングディレクトリ: /p
    - ピース: 修正
    - Movement: plan
    - イテレーション: 2 / 10
    - Movement イテレーション: 1 回目

    ## ナレッジ
    認証は `auth` にあります。

    ## ポリシー
    既存の書き方に従う。

    テストを実行する。

    原因を調べてください。

    メモ

    ## ユーザーのタスク
    Fix the login

    ## 前の movement の出力
    It is broken.

    ## 追加のユーザー入力
    - 急いで
    - 二行の
      入力

    ---
    ## レポート出力（必須）
    作業完了後、以下のフォーマットに従ってレポートを出力してください。
    レポートは ```markdown ブロックで囲んで出力してください。

    ファイル名: 01-plan.md
    フォーマット:
    # タスク計画
    ## 元の要求

    ---
    ## ステータス出力（必須）
    全ての作業とレポート出力が完了した後、最後に以下のいずれかのタグを出力してください。
    あなたの作業結果に最も合致するものを1つだけ選んでください。

    [STEP:0] = 計画が完成した
    [STEP:1] = 進められない

    [STEP:1] を選ぶ場合は、タグの前に次の内容も出力してください:
    理由を書いてください。
    ");
}

// P-41, Q1 to Q3
#[test]
fn a_judging_question_in_japanese() {
    let workflow = japanese().workflow();
    let choice = turn(&workflow, "plan").reads.choice.as_ref().unwrap();
    insta::assert_snapshot!(render(&choice.question().unwrap().prompt, &VALUES), @r"
    ## 出力
    <output>
    Done, I think.
    </output>

    ## 判定
    上の出力に最も合致する条件を1つだけ選び、そのタグだけを出力してください。どれにも合致しない場合は [STEP:NONE] を出力してください。

    [STEP:0] = 計画が完成した
    [STEP:1] = 進められない
    ");
}

const ENGLISH: &str = r##"
name: fix
movements:
  - name: plan
    persona: planner
    instruction: "Find the cause of: {task}"
    output_contracts:
      report:
        - Summary: summary.md
        - {name: scope/01.md, format: "# Scope\n## Files\n"}
    rules:
      - {condition: The plan is complete, next: COMPLETE}
      - {condition: Blocked, next: ABORT, appendix: "Say why.\n"}
personas: {planner: You plan.}
"##;

// P-24, P-28, P-29
#[test]
fn an_english_prompt_with_a_list_of_reports() {
    let workflow = Project::new(ENGLISH).workflow();
    insta::assert_snapshot!(render(&turn(&workflow, "plan").prompt, &VALUES), @r"
    You plan.

    ---

    ## Execution Context
    - Working directory: /p
    - Piece: fix
    - Movement: plan
    - Iteration: 2 / 10
    - Movement iteration: 1

    Find the cause of: Fix the login

    ## Previous Movement Output
    It is broken.

    ---
    ## Report Output (required)
    When the work is done, output each of the following reports.
    Enclose each report in a ```markdown block under its own heading.

    1. Summary → File name: summary.md
    2. scope/01.md → File name: scope/01.md
    Format:
    # Scope
    ## Files

    ---
    ## Status Output (required)
    After all work and report output is finished, output one of the following tags at the very end.
    Choose only the one that best matches the result of your work.

    [STEP:0] = The plan is complete
    [STEP:1] = Blocked

    If you choose [STEP:1], also output the following before the tag:
    Say why.
    ");
}

// P-41
#[test]
fn a_judging_question_in_english() {
    let workflow = Project::new(ENGLISH).workflow();
    let choice = turn(&workflow, "plan").reads.choice.as_ref().unwrap();
    insta::assert_snapshot!(render(&choice.question().unwrap().prompt, &VALUES), @r"
    ## Output
    <output>
    Done, I think.
    </output>

    ## Judgment
    Choose the one condition that best matches the output above and reply with its tag only. If none matches, reply [STEP:NONE].

    [STEP:0] = The plan is complete
    [STEP:1] = Blocked
    ");
}

// P-25, case 19
#[test]
fn without_an_agent_the_prompt_begins_with_its_context() {
    let workflow = Project::new(&with_rule("instruction_template: Do it.")).workflow();
    insta::assert_snapshot!(render(&turn(&workflow, "m").prompt, &VALUES), @r"
    ## Execution Context
    - Working directory: /p
    - Piece: t
    - Movement: m
    - Iteration: 2 / 10
    - Movement iteration: 1

    Do it.

    ## User Task
    Fix the login

    ## Previous Movement Output
    It is broken.

    ---
    ## Status Output (required)
    After all work and report output is finished, output one of the following tags at the very end.
    Choose only the one that best matches the result of your work.

    [STEP:0] = done
    ");
}

fn text(lines: &str, values: &[(&str, &str)]) -> String {
    let workflow = Project::new(&with_rule(lines)).workflow();
    render(&turn(&workflow, "m").prompt, values)
}

// P-24, case 20
#[test]
fn the_task_is_added_unless_the_template_shows_it() {
    assert!(text("instruction_template: Do it.", &VALUES).contains("## User Task\nFix the login\n"));
    assert!(text("edit: true", &VALUES).contains("## User Task\nFix the login\n"));
    let shown = text("instruction_template: 'Do: {task}'", &VALUES);
    assert!(shown.contains("Do: Fix the login\n"), "{shown}");
    assert!(!shown.contains("## User Task"), "{shown}");
}

// P-27, case 21
#[test]
fn what_is_inserted_is_never_expanded_again() {
    let shown = text(
        "instruction_template: 'Do: {task}'",
        &[("Task", "{iteration} {report:x.md}"), ("Iteration", "7")],
    );
    assert!(shown.contains("Do: {iteration} {report:x.md}\n"), "{shown}");
}

// P-24 item 6, P-26, case 23
#[test]
fn the_previous_output_is_added_unless_refused_shown_or_absent() {
    let heading = "## Previous Movement Output\nIt is broken.\n";
    let first: Vec<(&str, &str)> = VALUES.into_iter().filter(|(name, _)| *name != "Previous").collect();
    assert!(text("instruction_template: Do it.", &VALUES).contains(heading));
    assert!(!text("instruction_template: Do it.", &first).contains("## Previous"));
    assert!(!text("pass_previous_response: false", &VALUES).contains("## Previous"));
    let shown = text("instruction_template: 'Then <{previous_response}>'", &VALUES);
    assert!(shown.contains("Then <It is broken.>") && !shown.contains("## Previous"), "{shown}");
    assert!(text("instruction_template: 'Then <{previous_response}>'", &first).contains("Then <>"));
    let refused = "pass_previous_response: false\ninstruction_template: 'Then <{previous_response}>'";
    assert!(text(refused, &VALUES).contains("Then <It is broken.>"));
}

// P-24 item 6b
#[test]
fn what_people_added_is_shown_once() {
    let values = [("Inputs", "Use OAuth|Two\nlines")];
    let added = text("instruction_template: Do it.", &values);
    assert!(added.contains("## Additional User Inputs\n- Use OAuth\n- Two\n  lines\n"), "{added}");
    let shown = text("instruction_template: \"Heed:\\n{user_inputs}\"", &values);
    assert!(shown.contains("Heed:\n- Use OAuth\n") && !shown.contains("## Additional"), "{shown}");
    assert!(!text("instruction_template: Do it.", &VALUES).contains("## Additional"));
}

// P-26, case 22: the placeholder for a missing report
#[test]
fn a_missing_report_is_spoken_of_in_the_language_of_the_piece() {
    let missing = |project: Project| project.workflow().words["report-missing"].clone();
    assert_eq!(missing(japanese()), "（レポート未作成）");
    assert_eq!(missing(Project::new(ENGLISH)), "(report not yet created)");
}

// P-29
#[test]
fn a_lone_report_without_a_format_is_a_list_of_one() {
    for report in ["report: 00-plan.md", "report: {name: 00-plan.md}", "report: [{00-plan.md: 00-plan.md}]"] {
        let shown = text(report, &VALUES);
        assert!(shown.contains("\n\n1. 00-plan.md → File name: 00-plan.md\n"), "{report}: {shown}");
    }
}

// P-28, R6 to R8
#[test]
fn several_reports_are_asked_for_in_japanese() {
    let shown = text("description: にほんご\nreport: [{Summary: summary.md}, {Scope: 01-scope.md}]", &VALUES);
    let block = "---
## レポート出力（必須）
作業完了後、以下の各レポートを出力してください。
各レポートは見出し付きの ```markdown ブロックで囲んで出力してください。

1. Summary → ファイル名: summary.md
2. Scope → ファイル名: 01-scope.md

---
";
    assert!(shown.contains(block), "{shown}");
}

// P-29, case 8
#[test]
fn a_single_rule_has_its_status_block_too() {
    assert!(text("edit: true", &VALUES).ends_with("\n\n[STEP:0] = done\n"));
}

// P-47, case 38
#[test]
fn a_rule_for_interactive_runs_is_not_shown_in_others_and_no_number_shifts() {
    let piece = super::movement(
        "rules:\n- {condition: ask me, next: m, interactive_only: true, appendix: What?}\n- {condition: done, next: COMPLETE}",
    );
    let alone = Project::new(&piece).workflow();
    let shown = render(&turn(&alone, "m").prompt, &VALUES);
    assert!(shown.ends_with("result of your work.\n\n[STEP:1] = done\n"), "{shown}");
    let question = turn(&alone, "m").reads.choice.as_ref().unwrap().question().unwrap();
    assert!(render(&question.prompt, &VALUES).ends_with("\n\n[STEP:1] = done\n"));

    let attended = Project::new(&piece).options(|options| options.interactive = true).workflow();
    let shown = render(&turn(&attended, "m").prompt, &VALUES);
    assert!(shown.contains("\n[STEP:0] = ask me\n[STEP:1] = done\n"), "{shown}");
    assert!(
        shown.ends_with("\nIf you choose [STEP:0], also output the following before the tag:\nWhat?\n"),
        "{shown}"
    );
}

const MONITORED: &str = r#"
name: loop
movements:
  - {name: check, rules: [{condition: bad, next: mend}, {condition: good, next: COMPLETE}]}
  - {name: mend, rules: [{condition: mended, next: check}]}
loop_monitors:
  - cycle: [check, mend]
    judge: {rules: [{condition: getting better, next: check}, {condition: going round, next: ABORT}]}
"#;

// P-52, J1
#[test]
fn a_judge_is_told_which_cycle_repeated_and_how_often() {
    let workflow = Project::new(MONITORED).workflow();
    let values: Vec<(&str, &str)> = VALUES.into_iter().chain([("Cycles", "3")]).collect();
    insta::assert_snapshot!(render(&turn(&workflow, "judge(check, mend)").prompt, &values), @r"
    ## Execution Context
    - Working directory: /p
    - Piece: loop
    - Movement: judge(check, mend)
    - Iteration: 2 / 10
    - Movement iteration: 1

    The cycle check → mend has repeated 3 times. Judge whether it makes progress or repeats itself.

    ## User Task
    Fix the login

    ## Previous Movement Output
    It is broken.

    ---
    ## Status Output (required)
    After all work and report output is finished, output one of the following tags at the very end.
    Choose only the one that best matches the result of your work.

    [STEP:0] = getting better
    [STEP:1] = going round
    ");
}

// J1
#[test]
fn a_judge_is_told_so_in_japanese_too() {
    let workflow = Project::new(&MONITORED.replace("good", "よい")).workflow();
    let shown = render(&turn(&workflow, "judge(check, mend)").prompt, &[("Cycles", "3")]);
    let told = "check → mend のサイクルが 3 回繰り返されました。進捗があるか、同じことを繰り返しているかを判断してください。";
    assert!(shown.contains(told), "{shown}");
}

// P-26
#[test]
fn a_judge_can_say_the_count_in_its_own_words() {
    let own = MONITORED.replace("judge: {", "judge: {instruction_template: 'Round {cycle_count}.', ");
    let workflow = Project::new(&own).workflow();
    assert!(render(&turn(&workflow, "judge(check, mend)").prompt, &[("Cycles", "4")]).contains("Round 4."));
}

// P-43: a parent's question covers the combined output
#[test]
fn a_parent_asks_about_its_plain_conditions_under_their_own_numbers() {
    let piece = super::movement(
        "parallel:\n- {name: a, rules: [{condition: ok}]}\nrules:\n- {condition: 'all(\"ok\")', next: COMPLETE}\n- {condition: something else, next: ABORT}",
    );
    let workflow = Project::new(&piece).workflow();
    let question = stage(&workflow, "m").exit.question().unwrap().question().unwrap();
    insta::assert_snapshot!(render(&question.prompt, &VALUES), @r"
    ## Output
    <output>
    Done, I think.
    </output>

    ## Judgment
    Choose the one condition that best matches the output above and reply with its tag only. If none matches, reply [STEP:NONE].

    [STEP:1] = something else
    ");
}

// DESIGN section 7
#[test]
fn the_language_is_that_of_the_piece_and_its_files_not_of_its_comments() {
    let language = |project: Project| project.load().language.name();
    assert_eq!(language(Project::new(&with_rule("edit: true  # にほんご"))), "en");
    assert_eq!(language(Project::new(&with_rule("description: にほんご"))), "ja");
    assert_eq!(
        language(Project::new(&format!("language: en\n{}", with_rule("description: にほんご")))),
        "en"
    );
    assert_eq!(language(Project::new(&format!("language: ja\n{}", with_rule("edit: true")))), "ja");
    let with_file = Project::new(&with_rule("agent: a.md")).file("/p/.takt/pieces/a.md", "あなたは…");
    assert_eq!(language(with_file), "ja");
}

// P-60, T-105
#[test]
fn what_we_add_to_a_prompt_does_not_depend_on_what_the_definition_says() {
    let added = |project: &Project| project.load().added_tokens[0].2;
    let japanese = japanese();
    // Headings, labels and instructions of P-28: 6 context lines, both blocks, N1, N2 and T1.
    assert_eq!(added(&japanese), 273);
    let longer = JAPANESE
        .replace("原因を調べてください。", &"とても長い指示。".repeat(100))
        .replace("計画が完成した", &"長い条件".repeat(10))
        .replace("既存の書き方に従う。", &"規約。".repeat(100))
        .replace("## 元の要求", &"## 要求\n".repeat(50))
        .replace("name: plan", "name: planning");
    let persona = "あ".repeat(1000);
    assert_eq!(added(&Project::new(&longer).file("/p/.takt/agents/planner.md", persona)), added(&japanese));
}

const TWO_RULES: &str = "name: t\nmovements:\n  - name: m\n    rules: [{condition: done, next: COMPLETE}, {condition: stuck, next: ABORT, appendix: Why?}]\n";

/// Renders the end of the prompt with a way of verdicts and a provider.
fn status(verdict: saihai_model::VerdictMode, provider: &str) -> String {
    let project = Project::new(TWO_RULES).settings(|settings| {
        settings.verdict = verdict;
        settings.provider = Some(provider.into());
    });
    let values: Vec<(&str, &str)> = VALUES.into_iter().chain([("Nonce", "kxqf")]).collect();
    let prompt = render(&turn(&project.workflow(), "m").prompt, &values);
    prompt.split_once("at the very end.\n").unwrap().1.to_owned()
}

// N-2: TAKT's own text, unless tags have a word or do not count
#[test]
fn a_prompt_asks_for_a_verdict_as_the_settings_say() {
    use saihai_model::VerdictMode::{Auto, Nonce, Plain, Verified};
    let plain = status(Plain, "claude");
    insta::assert_snapshot!(plain, @"
    Choose only the one that best matches the result of your work.

    [STEP:0] = done
    [STEP:1] = stuck

    If you choose [STEP:1], also output the following before the tag:
    Why?
    ");
    assert_eq!(status(Auto, "claude"), plain);
    assert_eq!(status(Nonce, "script"), plain);
    let nonce = plain.replace("[STEP:0]", "[STEP:0 kxqf]").replace("[STEP:1]", "[STEP:1 kxqf]");
    assert_eq!(status(Nonce, "command"), nonce);
    assert_eq!(status(Nonce, "claude"), nonce);
    let only = "Report your choice with the tool `saihai_verdict` before your last message. A tag alone does not count.";
    assert_eq!(status(Verified, "claude"), format!("{plain}\n{only}\n"));
}

// Issue 26: a verdict tool adds at most 250 tokens to a prompt, with its sentence.
#[test]
fn the_sentence_about_the_tool_costs_few_tokens() {
    for language in [crate::Language::English, crate::Language::Japanese] {
        let words = super::super::prompt::PieceWords::of(language);
        assert!(saihai_model::tokens(words.verdict_tool) <= 60, "{language:?}");
    }
}
