//! Properties of the reader.

use proptest::prelude::*;
use saihai_model::{Alarm, Exit, StageId, Target, Watch, Workflow};

use super::{Project, listed};

/// A piece with every feature, as lines to delete, repeat and reorder.
const LINES: [&str; 34] = [
    "name: t",
    "language: ja",
    "max_iterations: 5",
    "initial_movement: a",
    "personas: {p: You are P., q: q.md}",
    "knowledge: {k: Know this.}",
    "movements:",
    "  - name: a",
    "    agent: p",
    "    edit: true",
    "    permission_mode: edit",
    "    knowledge: [k]",
    "    instruction_template: \"Do {task} and {report:r.md} {cycle_count}\"",
    "    report: {name: r.md, format: \"# R\"}",
    "    session: continue",
    "    allowed_tools: [Read]",
    "    rules:",
    "      - {condition: ok, next: b, requires_user_input: true}",
    "      - {condition: 'ai(\"no\")', next: ABORT, interactive_only: true, appendix: why}",
    "  - name: b",
    "    parallel:",
    "      - {name: s, rules: [{condition: x}, {condition: y}]}",
    "      - {name: u, report: [{L: l.md}], rules: [{condition: x}, {condition: y}]}",
    "    rules:",
    "      - {condition: 'all(\"x\")', next: COMPLETE}",
    "      - {condition: 'any(\"y\")', next: a}",
    "      - {condition: else, next: ABORT}",
    "loop_monitors:",
    "  - cycle: [a, b]",
    "    threshold: 2",
    "    judge:",
    "      rules:",
    "        - {condition: fine, next: a}",
    "        - {condition: stuck, next: ABORT}",
];

/// Returns every stage that a workflow names.
fn stages_named(workflow: &Workflow) -> Vec<&StageId> {
    let mut named = vec![&workflow.entry];
    for stage in workflow.stages.values() {
        let Exit::Rules { rules, otherwise, .. } = &stage.exit else { panic!("a piece has rules") };
        let targets = rules.iter().map(|rule| &rule.then).chain([otherwise]);
        named.extend(
            targets.filter_map(|target| if let Target::Stage(id) = target { Some(id) } else { None }),
        );
    }
    for monitor in &workflow.monitors {
        if let Watch::Cycle { stages, .. } = &monitor.watches {
            named.extend(stages);
        }
        if let Alarm::Go(Target::Stage(id)) = &monitor.then {
            named.push(id);
        }
    }
    named
}

/// Checks the properties that hold for any input.
fn law(piece: &str, interactive: bool) -> Result<(), TestCaseError> {
    let project = Project::new(piece)
        .file("/p/.takt/pieces/q.md", "Q")
        .options(|options| options.interactive = interactive);
    let loaded = project.load();
    prop_assert_eq!(
        loaded.workflow.is_none(),
        loaded.diagnostics.has_errors(),
        "{}",
        listed(&loaded.diagnostics)
    );
    if let Some(workflow) = &loaded.workflow {
        for id in stages_named(workflow) {
            prop_assert!(workflow.stages.contains_key(id), "{id} does not exist");
        }
        let again = project.load();
        prop_assert_eq!(again.workflow.as_ref(), Some(workflow), "lowering is deterministic");
    }
    Ok(())
}

#[test]
fn the_piece_that_is_mutated_is_sound_itself() {
    let project = Project::new(&LINES.join("\n")).file("/p/.takt/pieces/q.md", "Q");
    assert!(project.load().workflow.is_some(), "{}", project.said());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // invariant 10, P-53: either a workflow in which every stage exists, or errors; never both, never a panic
    #[test]
    fn lines_taken_away_and_moved_give_a_workflow_or_errors(
        mut lines in Just(LINES.to_vec()),
        changes in prop::collection::vec((0_usize..64, 0_usize..64, 0_u8..3), 1..5),
        interactive in any::<bool>(),
    ) {
        for (from, to, change) in changes {
            let (from, to) = (from % lines.len(), to % lines.len());
            match change {
                0 => drop(lines.remove(from)),
                1 => lines.swap(from, to),
                _ => lines.insert(to, lines[from]),
            }
        }
        law(&lines.join("\n"), interactive)?;
    }

    #[test]
    fn bytes_changed_anywhere_give_a_workflow_or_errors(
        changes in prop::collection::vec((0_usize..2000, r#"[-{}\[\]:"' ,\n#&*|a0]{0,3}"#), 1..4),
    ) {
        let mut piece = LINES.join("\n");
        for (at, text) in changes {
            let mut at = at % piece.len();
            while !piece.is_char_boundary(at) {
                at -= 1;
            }
            let end = piece[at..].char_indices().nth(1).map_or(piece.len(), |(next, _)| at + next);
            piece.replace_range(at..end, &text);
        }
        law(&piece, false)?;
    }
}
