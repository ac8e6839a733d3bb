//! Prompts: lookup and content.

use serde_json::json;

use super::{Project, shown, shown_anew, turn};

const MEASURE: &str = "prompts/order/measure/text/f_default.md";

fn work(project: &Project, step: &str) -> String {
    shown(&turn(&project.workflow(), step).prompt)
}

// S-48
#[test]
fn components_edition_and_adaptation_name_a_file() {
    let check = |prompt: saihai_model::Json, file: &str| {
        let project = Project::tailor()
            .registry("/editions", json!({"old": "new"}))
            .registry("/steps/quote/prompt", prompt)
            .file(&format!("prompts/{file}"), "found");
        assert_eq!(work(&project, "quote"), "found", "{file}");
    };
    check(json!({"c1": "a", "c2": "b", "c3": "c"}), "a/b/c/f_default.md");
    check(json!({"c1": "a", "c2": "b", "c3": "c", "edition": "x"}), "a/b/c/f_x.md");
    check(json!({"c1": "a", "c2": "b", "c3": "c", "edition": "x", "adaptation": "y"}), "a/b/c/f_x_y.md");
    check(json!({"c1": "a", "c2": "b", "c3": "c", "adaptation": ""}), "a/b/c/f_default.md");
    check(json!({"c1": "a", "c2": "b", "c3": "c", "edition": "old"}), "a/b/c/f_new.md");
    check(json!({"path": "free/name.txt"}), "free/name.txt");
}

// S-8, case 25
#[test]
fn a_reference_is_a_path_or_three_components() {
    let check = |prompt: saihai_model::Json| Project::tailor().registry("/steps/quote/prompt", prompt).said();
    insta::assert_snapshot!(check(json!({})), @"error steps/prompt-ref steps_registry.json:45:17 a prompt needs `path`, or `c1`, `c2` and `c3`");
    insta::assert_snapshot!(check(json!({"path": "x.md", "c1": "a"})), @"error steps/prompt-ref steps_registry.json:45:17 a prompt has either `path` or components, not both (keep one of them)");
    insta::assert_snapshot!(check(json!({"c1": "a", "c2": "../x", "c3": "", "edition": ""})), @r"
    error steps/prompt-ref steps_registry.json:47:15 `c2` cannot be `../x`
    error steps/prompt-ref steps_registry.json:48:15 `c3` is empty
    error steps/prompt-ref steps_registry.json:49:20 `edition` is empty
    ");
    insta::assert_snapshot!(check(json!({"c1": "a", "c3": "c"})), @"error steps/prompt-ref steps_registry.json:45:17 a prompt with components needs `c2`");
}

// S-49, case 23
#[test]
fn a_prompt_falls_back_on_its_own_file_and_then_on_the_directory_for_all() {
    let missing = || Project::tailor().without(MEASURE);
    insta::assert_snapshot!(missing().said(), @"error steps/prompt-not-found steps_registry.json:16:17 no prompt was found; tried `.agent/tailor/prompts/order/measure/text/f_default.md` (an empty file counts as missing)");
    let with_fallback = missing()
        .registry("/steps/measure/prompt/fallback", json!("spare/measure.md"))
        .agent("/prompts/fallbackDir", json!("spares"))
        .file("prompts/spare/measure.md", "Spare {uv-customer}.")
        .file("spares/order/measure/text/f_default.md", "Global.");
    insta::assert_snapshot!(with_fallback.said(), @"warning steps/prompt-fallback steps_registry.json:16:17 Using fallback: .agent/tailor/prompts/spare/measure.md");
    let forbidden = with_fallback.load().diagnostics;
    assert!(forbidden.forbids(true) && !forbidden.forbids(false), "only where strict");
    assert!(
        work(&with_fallback, "measure").starts_with("Spare (the customer)."),
        "S-47: values are put in there too"
    );
    let global = with_fallback.without("prompts/spare/measure.md");
    insta::assert_snapshot!(global.said(), @"warning steps/prompt-fallback steps_registry.json:16:17 Using global fallback: .agent/tailor/spares/order/measure/text/f_default.md");
    assert!(work(&global, "measure").starts_with("Global."));
    let forbidden = global.load().diagnostics;
    assert!(forbidden.forbids(true) && !forbidden.forbids(false), "only where strict");
    let nowhere = global.without("spares/order/measure/text/f_default.md");
    insta::assert_snapshot!(nowhere.said(), @"error steps/prompt-not-found steps_registry.json:16:17 no prompt was found; tried `.agent/tailor/prompts/order/measure/text/f_default.md`, `.agent/tailor/prompts/spare/measure.md`, `.agent/tailor/spares/order/measure/text/f_default.md`, `.agent/tailor/spares/f_default.md` (an empty file counts as missing)");
}

// S-49, case 24
#[test]
fn one_bare_file_cannot_stand_in_for_two_prompts() {
    let project = Project::tailor()
        .without(MEASURE)
        .without("prompts/order/quote/text/f_default.md")
        .agent("/prompts/fallbackDir", json!("spares"))
        .file("spares/f_default.md", "Anything.");
    insta::assert_snapshot!(project.said(), @r"
    warning steps/prompt-fallback steps_registry.json:16:17 Using global fallback: .agent/tailor/spares/f_default.md
    warning steps/prompt-fallback steps_registry.json:45:17 Using global fallback: .agent/tailor/spares/f_default.md
    error steps/fallback-ambiguous steps_registry.json:45:17 `.agent/tailor/spares/f_default.md` would serve two prompts: `order/measure/text/f_default.md` and `order/quote/text/f_default.md` (give each its own file in the fallback directory)
    ");
}

// S-50, case 26
#[test]
fn front_matter_is_not_sent_and_a_file_with_nothing_else_is_not_there() {
    let project = Project::tailor().file(MEASURE, "---\ntitle: x\n---\nMeasure.\n```json\n{}\n```\n");
    assert_eq!(work(&project, "measure"), "Measure.\n```json\n{}\n```\n\n## Task\n<Task>");
    let unclosed = Project::tailor().file(MEASURE, "---\ntitle: x\nMeasure.\n```json\n```\n");
    assert!(work(&unclosed, "measure").starts_with("---\ntitle: x\nMeasure."));
    for empty in ["---\ntitle: x\n---\n", "", " \n"] {
        let project = Project::tailor().file(MEASURE, empty);
        assert!(project.said().starts_with("error steps/prompt-not-found"), "{empty:?}: {}", project.said());
    }
}

// S-50, case 25
#[test]
fn what_cannot_be_read_as_text_is_an_error_and_nothing_falls_back() {
    let project = Project::tailor()
        .file(MEASURE, b"caf\xe9".to_vec())
        .registry("/steps/measure/prompt/fallback", json!("spare.md"))
        .file("prompts/spare.md", "Spare.");
    insta::assert_snapshot!(project.said(), @"error steps/bad-file steps_registry.json:16:17 the file `.agent/tailor/prompts/order/measure/text/f_default.md` is not UTF-8");
    let directory = Project::tailor().without(MEASURE).file(&format!("{MEASURE}/x"), "in a directory");
    insta::assert_snapshot!(directory.said(), @"error steps/bad-file steps_registry.json:16:17 the file `.agent/tailor/prompts/order/measure/text/f_default.md` cannot be read: it is a directory, not a file");
}

// S-45 adds nothing if the prompt already shows an answer format.
#[test]
fn a_prompt_that_shows_its_own_form_is_sent_as_it_is() {
    let of = |text: &str| work(&Project::tailor().file(MEASURE, text), "measure");
    let own = "Measure.\n```JSON\n{\"height\": 0}\n```\n";
    assert_eq!(of(own), format!("{own}\n## Task\n<Task>"));
    assert!(of("Measure.\n```jsonc\n{}\n```\n").contains("Reply with exactly one ```json block"));
}

// S-45, S-46
#[test]
fn what_saihai_adds_is_in_the_language_of_the_agent() {
    let english = Project::tailor().workflow();
    insta::assert_snapshot!(spoken(&english), @r###"
    Measure (the customer).

    Reply with exactly one ```json block of this form:
    ```json
    {
      "properties": {
        "height": {
          "type": "number"
        },
        "note": {
          "type": "string"
        }
      },
      "required": [
        "height"
      ],
      "type": "object"
    }
    ```

    ## Task
    <Task>
    =====
    Height <measure.height> cm for (the customer).

    =====
    Is the quote right?

    Reply with exactly one ```json block of this form:
    ```json
    {
      "message": "string",
      "result": "ok|ng"
    }
    ```

    =====
    Your answer could not be read.

    Reply with exactly one ```json block of this form:
    ```json
    {
      "message": "string",
      "result": "ok|ng"
    }
    ```

    =====
    Your output violates the schema: <Violations>. Return only the corrected JSON.
    =====
    [Fixed(Inline("## Carried over from the previous iteration\n\n")), Value(Previous, Tail(4000)), Fixed(Inline("\n\n")), Value(Context, Plain), Fixed(Inline("\n\n"))]
    "###);
    let said = Project::tailor().agent("/language", json!("ja")).workflow();
    assert!(shown(&turn(&said, "measure").prompt).contains("次の形式の JSON を"));
}

// S-45, S-46
#[test]
fn kana_in_a_prompt_makes_it_japanese() {
    let japanese =
        Project::tailor().file("prompts/order/quote/text/f_default.md", "身長 {uv-measure_height} です。\n");
    insta::assert_snapshot!(spoken(&japanese.workflow()), @r###"
    Measure (the customer).

    次の形式の JSON を ```json ブロックで 1 つだけ返してください:
    ```json
    {
      "properties": {
        "height": {
          "type": "number"
        },
        "note": {
          "type": "string"
        }
      },
      "required": [
        "height"
      ],
      "type": "object"
    }
    ```

    ## タスク
    <Task>
    =====
    身長 <measure.height> です。

    =====
    Is the quote right?

    次の形式の JSON を ```json ブロックで 1 つだけ返してください:
    ```json
    {
      "message": "string",
      "result": "ok|ng"
    }
    ```

    =====
    回答を読み取れませんでした。

    次の形式の JSON を ```json ブロックで 1 つだけ返してください:
    ```json
    {
      "message": "string",
      "result": "ok|ng"
    }
    ```

    =====
    出力がスキーマに違反しています: <Violations>。修正した JSON だけを返してください。
    =====
    [Fixed(Inline("## 前イテレーションからの引き継ぎ\n\n")), Value(Previous, Tail(4000)), Fixed(Inline("\n\n")), Value(Context, Plain), Fixed(Inline("\n\n"))]
    "###);
}

// S-55 and S-58 add earlier output before a prompt. For a check and a correction it is the reply in question.
#[test]
fn a_session_that_knows_nothing_is_told_what_a_prompt_is_about() {
    let workflow = Project::tailor().workflow();
    let (measure, quote) = (turn(&workflow, "measure"), turn(&workflow, "quote"));
    let question = quote.reads.choice.as_ref().unwrap().question().unwrap();
    let correction = &measure.reads.output.as_ref().unwrap().correction;
    let all = [&quote.prompt, &question.prompt, &question.correction, correction].map(shown_anew);
    insta::assert_snapshot!(all.join("\n=====\n"), @r#"
    ## Carried over from the previous iteration

    <Previous>

    <Context>

    Height <measure.height> cm for (the customer).

    =====
    ## Carried over from the previous iteration

    <Combined>

    <Context>

    Is the quote right?

    Reply with exactly one ```json block of this form:
    ```json
    {
      "message": "string",
      "result": "ok|ng"
    }
    ```

    =====
    ## Carried over from the previous iteration

    <Combined>

    <Context>

    Is the quote right?

    Your answer could not be read.

    Reply with exactly one ```json block of this form:
    ```json
    {
      "message": "string",
      "result": "ok|ng"
    }
    ```

    =====
    ## Carried over from the previous iteration

    <Combined>

    <Context>

    Your output violates the schema: <Violations>. Return only the corrected JSON.
    "#);
}

/// Renders all prompts of the example agent.
fn spoken(workflow: &saihai_model::Workflow) -> String {
    let (measure, quote) = (turn(workflow, "measure"), turn(workflow, "quote"));
    let question = quote.reads.choice.as_ref().unwrap().question().unwrap();
    let correction = shown(&measure.reads.output.as_ref().unwrap().correction);
    let carried = &quote.prompt.sections[0].body;
    [
        shown(&measure.prompt),
        shown(&quote.prompt),
        shown(&question.prompt),
        shown(&question.correction),
        correction,
        format!("{carried:?}"),
    ]
    .join("\n=====\n")
}

// S-48
#[test]
fn one_file_by_two_splits_is_told() {
    let project = Project::tailor()
        .registry("/steps/measure/prompt", json!({"c1": "o", "c2": "p", "c3": "q", "edition": "a_b"}))
        .registry(
            "/steps/quote/prompt",
            json!({"c1": "o", "c2": "p", "c3": "q", "edition": "a", "adaptation": "b"}),
        )
        .file("prompts/o/p/q/f_a_b.md", "Either.");
    insta::assert_snapshot!(project.said(), @"warning steps/shared-prompt steps_registry.json:46:17 two references mean the file `o/p/q/f_a_b.md`");
}

#[test]
fn a_path_has_neither_edition_nor_adaptation() {
    let prompt = |more: &str| {
        let prompt = json!({"path": "system.md", more: "x"});
        Project::tailor().registry("/steps/measure/prompt", prompt).said()
    };
    insta::assert_snapshot!(prompt("edition"), @"error steps/prompt-ref steps_registry.json:16:17 a prompt has either `path` or components, not both (keep one of them)");
    insta::assert_snapshot!(prompt("adaptation"), @"error steps/prompt-ref steps_registry.json:16:17 a prompt has either `path` or components, not both (keep one of them)");
    let editions = Project::tailor().registry("/editions", json!({"a": "", "b": "x/y", "c": "fine"}));
    insta::assert_snapshot!(editions.said(), @r"
    error steps/prompt-ref steps_registry.json:4:10 an edition is empty
    error steps/prompt-ref steps_registry.json:5:10 an edition cannot be `x/y`
    ");
}

// A file named by a path does not replace another prompt.
#[test]
fn a_bare_file_cannot_serve_a_path_and_another_prompt() {
    let project = Project::tailor()
        .without(MEASURE)
        .registry("/steps/quote/prompt", json!({"path": "f_default.md"}))
        .agent("/prompts/fallbackDir", json!("spares"))
        .file("spares/f_default.md", "Anything.");
    insta::assert_snapshot!(project.said(), @r"
    warning steps/prompt-fallback steps_registry.json:16:17 Using global fallback: .agent/tailor/spares/f_default.md
    warning steps/prompt-fallback steps_registry.json:46:17 Using global fallback: .agent/tailor/spares/f_default.md
    error steps/fallback-ambiguous steps_registry.json:46:17 `.agent/tailor/spares/f_default.md` would serve two prompts: `order/measure/text/f_default.md` and `f_default.md` (give each its own file in the fallback directory)
    ");
}

// A byte order mark marks the encoding and is not part of the text.
#[test]
fn a_byte_order_mark_is_no_text() {
    let project =
        Project::tailor().file(MEASURE, "\u{feff}---\nt: x\n---\nMeasure.\r\n```json x\r\n{}\n```\n");
    assert_eq!(work(&project, "measure"), "Measure.\r\n```json x\r\n{}\n```\n\n## Task\n<Task>");
    for fence in ["~~~json", "````JSON"] {
        let closing = fence.trim_end_matches(char::is_alphabetic);
        let shown = format!("Measure.\n{fence}\n{{}}\n{closing}\n");
        assert_eq!(
            work(&Project::tailor().file(MEASURE, shown.clone()), "measure"),
            format!("{shown}\n## Task\n<Task>")
        );
    }
}
