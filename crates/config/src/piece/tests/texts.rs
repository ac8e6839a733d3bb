//! Files and facets.

use super::{Project, VALUES, render, turn, with_rule};

fn text(project: &Project) -> String {
    render(&turn(&project.workflow(), "m").prompt, &VALUES)
}

// P-5
#[test]
fn an_agent_is_a_file_next_to_the_piece_at_home_or_anywhere() {
    let check = |agent: &str, path: &str| {
        let project = Project::new(&with_rule(&format!("agent: {agent}"))).file(path, "  You are Ada.\n\n");
        assert!(text(&project).starts_with("You are Ada.\n\n---\n\n## Execution Context\n"), "{agent}");
    };
    check("ada.md", "/p/.takt/pieces/ada.md");
    check("../agents/ada.md", "/p/.takt/agents/ada.md");
    check("../agents/ada", "/p/.takt/agents/ada");
    check("~/ada.md", "/home/me/ada.md");
    check("/opt/ada.md", "/opt/ada.md");
}

// P-5, case 29
#[test]
fn a_file_that_cannot_be_used_is_an_error_where_it_is_named() {
    let project = |agent: &str| {
        Project::new(&with_rule(&format!("agent: {agent}")))
            .file("/p/.takt/agents/blank.md", " \n")
            .file("/p/.takt/agents/latin.md", b"caf\xe9".as_slice())
            .file("/p/.takt/agents/dir/x.md", "x")
            .file("/p/.takt/agents/huge.md", vec![b'x'; 1024 * 1024 + 1])
            .said()
    };
    assert_eq!(
        project("../agents/nope.md"),
        "error piece/missing-file 4:12 the file `.takt/agents/nope.md` does not exist"
    );
    assert_eq!(
        project("../agents/blank.md"),
        "error piece/bad-file 4:12 the file `.takt/agents/blank.md` is blank"
    );
    assert_eq!(
        project("../agents/latin.md"),
        "error piece/bad-file 4:12 the file `.takt/agents/latin.md` is not UTF-8"
    );
    assert_eq!(
        project("../agents/dir"),
        "error piece/bad-file 4:12 the file `.takt/agents/dir` cannot be read: it is a directory, not a file"
    );
    assert_eq!(
        project("../agents/huge.md"),
        "error piece/too-large 4:12 the file `.takt/agents/huge.md` cannot be used: it is larger than 1 MiB"
    );
}

// P-6, case 29
#[test]
fn the_file_of_a_judge_is_read_before_anything_runs() {
    let piece = format!(
        "{}\nloop_monitors: [{{cycle: [m], judge: {{agent: nope.md, rules: [{{condition: c, next: ABORT}}]}}}}]",
        with_rule("edit: true").replace("COMPLETE", "ABORT")
    );
    assert_eq!(
        Project::new(&piece).said(),
        "error piece/missing-file 7:45 the file `.takt/pieces/nope.md` does not exist"
    );
}

// P-7
#[test]
fn a_template_is_a_file_only_if_it_is_one_line_that_ends_in_md() {
    let template = |value: &str| {
        let project = Project::new(&with_rule(&format!("instruction_template: {value}")));
        project.file("/p/.takt/pieces/do.md", "From the file: {task}")
    };
    assert!(text(&template("do.md")).contains("From the file: Fix the login"));
    assert!(text(&template("\"See\\ndo.md\"")).contains("See\ndo.md"));
    assert!(text(&template("\"Read a/b and do it\"")).contains("Read a/b and do it"));
    assert_eq!(
        template("gone.md").said(),
        "error piece/missing-file 4:27 the file `.takt/pieces/gone.md` does not exist"
    );
}

// P-7, P-53: a diagnostic points into the file with the error
#[test]
fn what_is_wrong_in_a_template_file_is_shown_in_that_file() {
    let project = Project::new(&with_rule("instruction_template: do.md"));
    let project = project.file("/p/.takt/pieces/do.md", "First line\nthen {tsak}\n");
    assert_eq!(
        project.said(),
        "warning piece/unknown-variable .takt/pieces/do.md2:6 `{tsak}` is not a variable and stays as written (did you mean `{task}`?)"
    );
}

// P-27: Saihai expands only templates
#[test]
fn personas_formats_conditions_and_appendices_are_not_templates() {
    let piece = "name: t
personas: {p: 'I am {task}'}
movements:
  - name: m
    agent: p
    report: {name: r.md, format: 'F {task}'}
    rules: [{condition: 'C {task}', next: COMPLETE, appendix: 'A {task}'}]
";
    let shown = text(&Project::new(piece));
    for literal in ["I am {task}", "F {task}", "C {task}", "A {task}"] {
        assert!(shown.contains(literal), "{literal}: {shown}");
    }
}

const FACETS: &str = "name: t
personas: {ada: You are Ada., spare: Nobody.}
policies: {tests: rules/tests.md}
instructions: {go: 'Go: {task}'}
report_formats: {plan: '# Plan'}
movements:
  - name: m
    persona: ada
    policy: tests
    knowledge: [domain, house]
    instruction: go
    report: {name: p.md, format: plan}
    rules: [{condition: done, next: COMPLETE}]
";

// P-8
#[test]
fn a_facet_is_an_entry_of_a_map_a_file_or_found_in_the_facet_directories() {
    let project = Project::new(FACETS)
        .file("/p/.takt/pieces/rules/tests.md", "Run the tests.")
        .file("/p/.takt/facets/knowledge/domain.md", "The domain.")
        .file("/home/me/.takt/facets/knowledge/domain.md", "Shadowed.")
        .file("/home/me/.takt/facets/knowledge/house.md", "The house.");
    assert_eq!(project.said(), "warning piece/unused-facet 2:31 persona `spare` is never used");
    let shown = text(&project);
    assert!(shown.starts_with("You are Ada.\n\n---\n"), "{shown}");
    assert!(
        shown.contains("## Knowledge\nThe domain.\n\nThe house.\n\n## Policy\nRun the tests.\n\nGo: Fix"),
        "{shown}"
    );
    assert!(shown.contains("File name: p.md\nFormat:\n# Plan\n"), "{shown}");
}

// P-8
#[test]
fn a_name_found_nowhere_and_text_outside_a_map_are_refused() {
    let said = |lines: &str| Project::new(&format!("personas: {{coder: X}}\n{}", with_rule(lines))).said();
    let unused = "\nwarning piece/unused-facet 1:12 persona `coder` is never used";
    let in_order = |lines: &str| {
        let mut lines: Vec<String> = said(lines).lines().map(str::to_owned).collect();
        lines.sort();
        lines.join("\n")
    };
    assert_eq!(
        in_order("persona: codr"),
        format!("error piece/unknown-facet 5:14 no persona is named `codr` (did you mean `coder`?){unused}")
    );
    assert_eq!(
        in_order("policy: You are a coder."),
        format!(
            "error piece/unknown-facet 5:13 no policy is named `You are a coder.` (add it to `policies:`, name a `.md` file, or put one into `.takt/facets/policies` or `.takt/policies` or `~/.takt/facets/policies` or `~/.takt/policies`){unused}"
        )
    );
}

// P-8, U-16: as in TAKT
#[test]
fn one_word_is_an_instruction_unless_a_facet_has_that_name() {
    let project = |word: &str| {
        Project::new(&format!(
            "instructions: {{implement: X}}\n{}",
            with_rule(&format!("instruction: {word}"))
        ))
        .file("/p/.takt/facets/instructions/deploy.md", "Deploy it.")
    };
    let said = |word: &str| {
        let said = project(word).said();
        said.lines().filter(|line| !line.contains("unused-facet")).collect::<Vec<_>>().join("\n")
    };
    assert!(text(&project("Investigate")).contains("\nInvestigate\n"));
    assert_eq!(said("Investigate"), "");
    assert!(text(&project("deploy")).contains("Deploy it."));
    assert_eq!(
        said("implment"),
        "warning piece/unknown-facet 5:18 no instruction is named `implment`, so the word itself is the text (did you mean `implement`?)"
    );
    assert_eq!(
        said("depoly"),
        "warning piece/unknown-facet 5:18 no instruction is named `depoly`, so the word itself is the text (did you mean `deploy`?)"
    );
    assert_eq!(
        said("fix-tests"),
        "warning piece/unknown-facet 5:18 no instruction is named `fix-tests`, so the word itself is the text (if it is a name, add it to `instructions:`, or name a `.md` file)"
    );
}

// P-9, K-37: many uses of one large text are refused before they exhaust memory
#[test]
fn texts_that_are_too_much_together_are_refused_once() {
    let movements: Vec<String> = (0..200)
        .map(|number| {
            format!("  - {{name: m{number}, agent: big.md, rules: [{{condition: c, next: ABORT}}]}}\n")
        })
        .collect();
    let piece = format!("name: t\nmovements:\n{}", movements.concat());
    let said = Project::new(&piece).file("/p/.takt/pieces/big.md", vec![b'x'; 1024 * 1024]).said();
    assert_eq!(
        said.lines().filter(|line| line.starts_with("error")).collect::<Vec<_>>(),
        ["error piece/too-large 67:24 the texts of this piece are larger than 64 MiB together"]
    );
}

// P-8
#[test]
fn a_blank_entry_of_a_map_is_refused() {
    let piece = format!("personas: {{coder: ' '}}\n{}", with_rule("persona: coder"));
    assert_eq!(Project::new(&piece).said(), "error piece/bad-value 1:19 the text of this persona is blank");
}
