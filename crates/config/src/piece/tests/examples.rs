//! Complete pieces.

use saihai_model::Workflow;

use super::{Project, places};

/// Piece with the older spelling of keys.
const BUGFIX: &str = r##"# .takt/pieces/bugfix.yaml — the older words, Japanese prompts
name: bugfix
max_iterations: 12
movements:
  - name: reproduce
    agent: ../agents/investigator.md
    report: {name: 01-cause.md, format: "# 原因\n## 再現手順\n## 根拠"}
    instruction_template: "次の不具合を再現し、原因を一つに絞ってください: {task}"
    rules: [{condition: 原因を特定した, next: repair}, {condition: 再現できない, next: ABORT, appendix: 試した手順を列挙してください。}]
  - name: repair
    edit: true
    instruction_template: "原因:\n{report:01-cause.md}\n\n指摘があれば対応し、最小の変更で直してください。"
    rules:
      - {condition: 修正した, next: verify}
      - {condition: 仕様の確認が必要, next: repair, requires_user_input: true, interactive_only: true}
  - name: verify
    parallel:
      - {name: tests, instruction_template: テストを実行して結果を述べてください。, rules: [{condition: 合格}, {condition: 不合格}]}
      - {name: review, agent: ../agents/reviewer.md, rules: [{condition: 合格}, {condition: 不合格}]}
    rules: [{condition: 'all("合格")', next: COMPLETE}, {condition: 'any("不合格")', next: repair}]
loop_monitors:
  - cycle: [verify, repair]
    judge: {rules: [{condition: 前進している, next: verify}, {condition: 堂々巡りである, next: ABORT}]}
"##;

const NOTES: &str = r##"# .takt/workflows/notes.yaml — newer words, the same model
name: notes
personas: {writer: You write release notes for users.}
steps:
  - name: draft
    persona: writer
    instruction: "Write notes for: {task}"
    output_contracts: {report: [{name: notes.md, format: "# Release notes"}]}
    rules: [{condition: done, next: COMPLETE}, {condition: cannot proceed, next: ABORT}]
"##;

/// Formats a workflow in a few lines, with the activity and targets of each stage.
fn outline(workflow: &Workflow) -> String {
    let mut lines =
        vec![format!("{} from {}, at most {:?}", workflow.name, workflow.entry, workflow.limits.rounds)];
    for (id, stage) in &workflow.stages {
        lines.push(format!(
            "{id}{}: {}",
            if stage.aside { " (aside)" } else { "" },
            super::lowering::does(stage)
        ));
        lines.extend(super::lowering::exits(stage).into_iter().map(|line| format!("  {line}")));
    }
    for monitor in &workflow.monitors {
        lines.push(format!("{:?} -> {:?}", monitor.watches, monitor.then));
    }
    lines.join("\n")
}

// P-42, P-44, P-45, P-46, P-51: lowering of all rules of a complete piece
#[test]
fn the_bugfix_example_lowers_without_a_word() {
    let project = Project::new(BUGFIX)
        .file("/p/.takt/agents/investigator.md", "調べる人です。")
        .file("/p/.takt/agents/reviewer.md", "読む人です。")
        .options(|options| options.interactive = true);
    assert_eq!(project.said(), "");
    insta::assert_snapshot!(outline(&project.workflow()), @r#"
    bugfix from reproduce, at most Some(12)
    reproduce: reproduce readonly ["01-cause.md"]
      Is(Label("原因を特定した")) -> repair
      Is(Label("再現できない")) -> Failed(Abort)
      otherwise -> Failed(NoMatch)
    repair: repair edit []
      Is(Label("修正した")) -> verify
      Is(Label("仕様の確認が必要")) -> repair/input[1]
      otherwise -> Failed(NoMatch)
    repair/input[1]: gate Text { max_chars: 10000 }
      Is(Label("answered")) -> repair
      otherwise -> Failed(NoMatch)
    verify: tests readonly [], review readonly []
      All([Label("合格")]) -> Complete
      Any([Label("不合格")]) -> repair
      otherwise -> Failed(NoMatch)
    judge(verify, repair) (aside): judge(verify, repair) readonly []
      Is(Label("前進している")) -> verify
      Is(Label("堂々巡りである")) -> Failed(Abort)
      otherwise -> Failed(NoMatch)
    Cycle { stages: [StageId("verify"), StageId("repair")], times: 3, returning: false, passed: PassedStages { ignored: [], groups: [] } } -> Go(Stage(StageId("judge(verify, repair)")))
    "#);
}

// P-11
#[test]
fn the_notes_example_in_newer_words_lowers_to_the_same_model() {
    let project = Project::new(NOTES);
    assert_eq!(project.said(), "");
    insta::assert_snapshot!(outline(&project.workflow()), @r#"
    notes from draft, at most Some(10)
    draft: draft readonly ["notes.md"]
      Is(Label("done")) -> Complete
      Is(Label("cannot proceed")) -> Failed(Abort)
      otherwise -> Failed(NoMatch)
    "#);
    let older = NOTES.replace("steps:", "movements:").replace("persona:", "agent:");
    let older = older.replace("instruction:", "instruction_template:");
    let older = older.replace(
        "output_contracts: {report: [{name: notes.md, format: \"# Release notes\"}]}",
        "report: {name: notes.md, format: \"# Release notes\"}",
    );
    assert_eq!(project.workflow(), Project::new(&older).workflow());
}

// P-6
#[test]
fn every_file_a_piece_uses_is_named_once() {
    let project = Project::new(BUGFIX)
        .file("/p/.takt/agents/investigator.md", "調べる人です。")
        .file("/p/.takt/agents/reviewer.md", "読む人です。");
    let uses: Vec<String> = project.load().uses.iter().map(|path| places().shown(path)).collect();
    assert_eq!(uses, [".takt/pieces/t.yaml", ".takt/agents/investigator.md", ".takt/agents/reviewer.md"]);
}
