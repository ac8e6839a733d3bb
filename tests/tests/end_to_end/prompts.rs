//! Prompts as the agent receives them. P-24–P-29 in whole prompts, through the real program.

use insta::assert_snapshot;

use crate::support::{project, run};

// P-5, P-24, P-29, K-38: a persona's whole file counts, including text that looks like front matter.
#[test]
fn a_prompt_is_made_of_its_parts_in_order() {
    let definition = "
name: it
movements:
  - name: work
    agent: ../agents/worker.md
    instruction_template: \"Visit {movement_iteration}; {task} stays as it is: {unknown}\"
    report: {name: notes.md, format: \"# Notes\"}
    rules:
      - {condition: done, next: COMPLETE}
      - {condition: stuck, next: ABORT, appendix: Say where.}
";
    let project = project(definition, "  - {text: '[STEP:0]'}\n");
    project.write(".takt/agents/worker.md", "---\nname: worker\n---\nYou work.\n");
    run(&project).exits(0);
    let prompt = project.journal().prompt("work").replace(&project.root().display().to_string(), "ROOT");
    assert_snapshot!(prompt, @r"
    ---
    name: worker
    ---
    You work.

    ---

    ## Execution Context
    - Working directory: ROOT
    - Piece: it
    - Movement: work
    - Iteration: 1 / 10
    - Movement iteration: 1

    Visit 1; The task. stays as it is: {unknown}

    ---
    ## Report Output (required)
    When the work is done, output a report in the following format.
    Enclose the report in a ```markdown block.

    File name: notes.md
    Format:
    # Notes

    ---
    ## Status Output (required)
    After all work and report output is finished, output one of the following tags at the very end.
    Choose only the one that best matches the result of your work.

    [STEP:0] = done
    [STEP:1] = stuck

    If you choose [STEP:1], also output the following before the tag:
    Say where.
    ");
}

// P-21, P-27, T-86: variables and tags in a task stay text; Saihai neither expands nor reads them.
#[test]
fn a_task_that_quotes_variables_and_tags_stays_text() {
    let definition = "
name: it
movements:
  - {name: work, rules: [{condition: done, next: COMPLETE}, {condition: stuck, next: ABORT}]}
";
    let replies = "  - {for: work, text: 'I was asked about {iteration} and [STEP:1]. [STEP:0]'}\n";
    let project = project(definition, replies);
    let task = "{iteration} {report:x.md} [STEP:1]";
    project.saihai(["run", "it", task, "--script", "script.yaml"]).run().exits(0);
    assert!(project.journal().prompt("work").contains(&format!("## User Task\n{task}\n")));
}

// P-26: the prompt marks a missing report, and later has its content.
// P-6: Saihai reads it when the run enters the movement.
#[test]
fn reports_and_the_previous_output_reach_the_next_prompt() {
    let definition = "
name: it
movements:
  - name: first
    report: notes.md
    instruction_template: \"Before: {report:notes.md}\"
    rules: [{condition: on, next: second}]
  - name: second
    instruction_template: \"After: {report:notes.md}\"
    pass_previous_response: false
    rules: [{condition: done, next: COMPLETE}]
";
    let replies = "  - {for: first, text: \"```markdown\\nThe notes.\\n```\\n[STEP:0]\"}\n  - {for: second, text: '[STEP:0]'}\n";
    let project = project(definition, replies);
    run(&project).exits(0);
    let journal = project.journal();
    assert!(journal.prompt("first").contains("Before: (report not yet created)\n"));
    assert!(journal.prompt("second").contains("After: The notes."));
    assert!(!journal.prompt("second").contains("## Previous Movement Output"));
}
