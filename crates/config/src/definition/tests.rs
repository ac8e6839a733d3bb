//! Resolution of names and paths.

use super::{DefinitionStanding, ListedDefinition, ProjectPaths, find, list, load};
use crate::{Definition, Diagnostics, Dialect, Language, MemorySource, Options, Origin, Settings};

const PIECE: &str = "name: p\nmovements: [{name: m, rules: [{condition: c, next: COMPLETE}]}]\n";

fn places() -> ProjectPaths {
    ProjectPaths {
        current: "/p/sub".into(),
        root: "/p".into(),
        user: Some("/home/me/.config/saihai".into()),
        home: Some("/home/me".into()),
    }
}

fn project(files: &[&str]) -> MemorySource {
    MemorySource::new(files.iter().map(|path| (*path, PIECE)))
}

fn said(diagnostics: &Diagnostics) -> String {
    let line = |diagnostic: &crate::Diagnostic| {
        let hint = diagnostic.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{} {}{hint}", diagnostic.code, diagnostic.message)
    };
    diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the location of a definition, or the error.
fn found(source: &MemorySource, asked: &str) -> String {
    match find(source, &places(), asked) {
        Ok(Definition { path: Some(path), origin, .. }) => format!("{} {}", origin.name(), path.display()),
        Ok(Definition { name, origin, .. }) => format!("{} {name}", origin.name()),
        Err(diagnostics) => said(&diagnostics),
    }
}

// P-2, case 41
#[test]
fn a_name_is_looked_up_in_order_and_the_first_hit_wins() {
    let directories = [
        ("project", "/p/.saihai/pieces"),
        ("project", "/p/.takt/pieces"),
        ("project", "/p/.takt/workflows"),
        ("user", "/home/me/.config/saihai/pieces"),
        ("user", "/home/me/.takt/pieces"),
        ("user", "/home/me/.takt/workflows"),
    ];
    for (first, (whose, directory)) in directories.iter().enumerate() {
        let mut source = project(&[]);
        for (_, later) in &directories[first..] {
            source.add(format!("{later}/bugfix.yml"), PIECE);
        }
        assert_eq!(found(&source, "bugfix"), format!("{whose} {directory}/bugfix.yml"));
        assert_eq!(found(&source, "piece:bugfix"), format!("{whose} {directory}/bugfix.yml"));
    }
}

// P-2
#[test]
fn two_files_of_one_name_in_one_directory_are_ambiguous() {
    let source = project(&["/p/.takt/pieces/x.yaml", "/p/.takt/pieces/x.yml"]);
    assert_eq!(
        found(&source, "x"),
        "piece/ambiguous-name the name `x` means two files: `/p/.takt/pieces/x.yaml` and `/p/.takt/pieces/x.yml` (rename one of them, or give the path)"
    );
}

// P-1, case 41
#[test]
fn what_looks_like_a_path_is_never_looked_up_as_a_name() {
    let source =
        project(&["/p/.takt/pieces/bugfix.yaml", "/p/sub/own.yaml", "/home/me/mine", "/p/other/x.yml"]);
    let missing = |path: &str| {
        format!("piece/missing-file the file `{path}` does not exist (a path is never looked up as a name)")
    };
    assert_eq!(found(&source, "./bugfix"), missing("./bugfix"));
    assert_eq!(found(&source, "bugfix.yaml"), missing("bugfix.yaml"));
    assert_eq!(found(&source, "own.yaml"), "path /p/sub/own.yaml");
    assert_eq!(found(&source, "../other/x.yml"), "path /p/sub/../other/x.yml");
    assert_eq!(found(&source, "~/mine"), "path /home/me/mine");
    assert_eq!(found(&source, "~you/mine"), missing("~you/mine"));
    assert_eq!(found(&source, "/p/other/x.yml"), "path /p/other/x.yml");
    let definition = find(&source, &places(), "/p/other/x.yml").unwrap();
    assert_eq!((definition.name.as_str(), definition.origin), ("x", Origin::Path));
}

// P-3
#[test]
fn an_unknown_name_says_where_it_was_looked_for_and_what_is_near() {
    let source = project(&["/p/.takt/pieces/bugfix.yaml", "/p/.takt/pieces/docs.yaml"]);
    let looked = "looked in `/p/.saihai/pieces`, `/p/.takt/pieces`, `/p/.takt/workflows`, `~/.config/saihai/pieces`, `~/.takt/pieces` and `~/.takt/workflows` and among the built-in ones; the step agents are `iterator` and `reviewer`";
    assert_eq!(
        found(&source, "bugfx"),
        format!("piece/unknown-piece no definition is named `bugfx`; {looked} (did you mean `bugfix`?)")
    );
    assert_eq!(
        found(&source, "something"),
        format!(
            "piece/unknown-piece no definition is named `something`; {looked} (there is `bugfix`, `docs`, `default`, `minimal`, `test-first`, `debug`, `review`, `review-fix`, `specialists` and `research`)"
        )
    );
    assert!(found(&source, "").starts_with("piece/unknown-piece"));
}

// K-11
#[test]
fn a_piece_asked_for_by_its_name_key_is_named_by_its_file() {
    let mut source = project(&[]);
    source.add("/p/.saihai/pieces/fix.yaml", PIECE.replace("name: p", "name: Fix a flaky test"));
    assert!(found(&source, "Fix a flaky test").ends_with(
        "(`/p/.saihai/pieces/fix.yaml` has this `name:`, but pieces are found by their file: write `fix`)"
    ));
}

#[test]
fn a_review_agent_is_a_file_of_toml() {
    let source = project(&["/p/sub/x.toml"]);
    assert_eq!(found(&source, "x.toml"), "path /p/sub/x.toml");
    assert!(found(&source, "code-reviewer").starts_with("piece/unknown-piece"));
}

// S-2, K-11
#[test]
fn a_step_agent_is_a_directory_or_its_file() {
    let source = project(&["/p/.agent/coder/agent.json", "/p/sub/agents/one/agent.json"]);
    assert_eq!(found(&source, "coder"), "project /p/.agent/coder/agent.json");
    assert_eq!(found(&source, "steps:coder"), "project /p/.agent/coder/agent.json");
    assert_eq!(found(&source, "./agents/one"), "path /p/sub/./agents/one/agent.json");
    assert_eq!(found(&source, "/p/.agent/coder/agent.json"), "path /p/.agent/coder/agent.json");
    assert_eq!(
        found(&source, "steps:codre"),
        "steps/unknown-agent no agent is named `codre`; the step agents are `coder`, `iterator` and `reviewer` (did you mean `coder`?)"
    );
    assert_eq!(
        found(&source, "coder/agnet.json"),
        "piece/missing-file the file `coder/agnet.json` does not exist; the step agents are `coder`, `iterator` and `reviewer` (a path is never looked up as a name)"
    );
    assert_eq!(
        found(&project(&[]), "steps:x"),
        "steps/unknown-agent no agent is named `x`; the step agents are `iterator` and `reviewer`"
    );
}

// H-5, H-8
#[test]
fn hats_are_orch_or_built_in() {
    let files = ["/p/.orch.yml", "/p/orch.yaml", "/p/orch.yml"];
    for (first, file) in files.iter().enumerate() {
        assert_eq!(found(&project(&files[..=first]), "orch"), format!("project {file}"));
    }
    assert_eq!(found(&project(&[]), "hats:tdd"), "built-in tdd");
    assert_eq!(found(&project(&[]), "tdd"), "built-in tdd");
    assert_eq!(found(&project(&["/p/.takt/pieces/tdd.yaml"]), "tdd"), "project /p/.takt/pieces/tdd.yaml");
    assert_eq!(
        found(&project(&[]), "hats:tdb"),
        "hats/unknown-definition no hats are named `tdb`; `orch` means `orch.yml`, `orch.yaml` or `.orch.yml` at the root of the project (did you mean `tdd`?)"
    );
    // A path never falls back to a name.
    assert!(found(&project(&["/p/orch.yml"]), "nowhere.yml").starts_with("piece/missing-file"));
}

// P-4
#[test]
fn a_file_is_of_the_dialect_of_its_top_keys() {
    let source = MemorySource::new([
        ("/p/sub/a.yml", "hats: {}"),
        ("/p/sub/b.yml", "hats: {}\nmovements: []"),
        ("/p/sub/c.yml", "steps: []"),
        ("/p/sub/d.yml", "nothing: here"),
        ("/p/sub/e.yml", "event_loop: {}"),
        ("/p/sub/ralph.yml", "cli: {}"),
        ("/p/sub/orch.yml", "max_iterations: 3"),
        ("/p/sub/orch.yaml", "backend: claude"),
        ("/p/sub/.orch.yml", "preset: tdd"),
    ]);
    assert_eq!(found(&source, "a.yml"), "path /p/sub/a.yml");
    let dialect = |asked: &str| find(&source, &places(), asked).unwrap().dialect;
    assert_eq!((dialect("a.yml"), dialect("c.yml")), (Dialect::Hats, Dialect::Piece));
    assert_eq!(
        found(&source, "b.yml"),
        "workflow/ambiguous-definition `b.yml` is written in two dialects at once (`movements` makes a piece, `hats` makes hats: keep one)"
    );
    assert_eq!(found(&source, "c.yml"), "path /p/sub/c.yml");
    assert_eq!(found(&source, "d.yml"), "path /p/sub/d.yml");
    for hats in ["e.yml", "ralph.yml", "orch.yml", "orch.yaml", ".orch.yml"] {
        assert_eq!(dialect(hats), Dialect::Hats, "{hats}");
    }
}

// Two forms of ralph's collections that Saihai refuses. The tests of ralph's files cover the refused keys.
#[test]
fn hats_in_toml_and_addresses_are_refused_by_name() {
    let source = MemorySource::new([
        ("/p/sub/hats.toml", "[hats.a]\nname = \"A\"\n"),
        ("/p/sub/ralph.toml", "[event_loop]\nmax_iterations = 3\n"),
        ("/p/sub/broken.toml", "[hats"),
    ]);
    for file in ["hats.toml", "ralph.toml"] {
        let refused = format!(
            "hats/not-supported `{file}` contains hats in TOML, which is not supported (write them as YAML; the keys are the same)"
        );
        assert_eq!(found(&source, file), refused);
    }
    assert_eq!(found(&source, "broken.toml"), "path /p/sub/broken.toml", "its reader says what is wrong");
    for address in ["https://example.com/hats.yml", "http://example.com/x", "file:///p/sub/hats.toml"] {
        let refused = format!(
            "workflow/not-a-file `{address}` is an address, and definitions are only read from files (save it, review it, and pass the path of the file)"
        );
        assert_eq!(found(&source, address), refused);
        assert_eq!(found(&source, &format!("hats:{address}")), refused);
    }
}

// P-4, K-11
#[test]
fn a_name_in_two_dialects_is_ambiguous_and_can_be_asked_for_by_dialect() {
    let source = project(&["/p/.takt/pieces/orch.yaml", "/p/orch.yml"]);
    assert_eq!(
        found(&source, "orch"),
        "workflow/ambiguous-definition the name `orch` means `/p/.takt/pieces/orch.yaml` (piece) and `/p/orch.yml` (hats) (ask for `piece:orch` or `hats:orch`)"
    );
    assert_eq!(found(&source, "piece:orch"), "project /p/.takt/pieces/orch.yaml");
    assert_eq!(found(&source, "hats:orch"), "project /p/orch.yml");
}

// K-11: a built-in never hides a definition of the user
#[test]
fn what_is_built_in_comes_last() {
    assert_eq!(found(&project(&[]), "minimal"), "built-in minimal");
    assert_eq!(
        found(&project(&["/p/.takt/pieces/minimal.yml"]), "minimal"),
        "project /p/.takt/pieces/minimal.yml"
    );
    assert_eq!(
        found(&project(&["/p/.agent/minimal/agent.json"]), "minimal"),
        "project /p/.agent/minimal/agent.json"
    );
    assert_eq!(found(&project(&["/p/.agent/minimal/agent.json"]), "piece:minimal"), "built-in minimal");
}

// P-2: `saihai list` shows shadowed definitions
#[test]
fn every_definition_is_listed_with_what_its_name_means() {
    let mut source = project(&[
        "/p/.takt/pieces/a.yaml",
        "/home/me/.takt/pieces/a.yaml",
        "/p/.takt/pieces/b.yaml",
        "/p/.takt/pieces/b.yml",
        "/p/.takt/pieces/minimal.yaml",
        "/p/.takt/pieces/notes.md",
        "/p/.agent/coder/agent.json",
        "/p/.takt/pieces/orch.yaml",
        "/p/orch.yml",
    ]);
    source.add("/p/.saihai/pieces/c.yml", "name: c\ndescription: |\n  Does it.\nmovements: []\n");
    let lines: Vec<String> = list(&source, &places(), Language::English)
        .iter()
        .map(|listed| {
            let definition = &listed.definition;
            let path = definition.path.as_ref().map(|path| places().shown(path)).unwrap_or_default();
            let standing = match &listed.standing {
                DefinitionStanding::Used => String::new(),
                DefinitionStanding::Shadowed(by) => {
                    format!(" shadowed by {}", by.as_ref().unwrap().display())
                }
                DefinitionStanding::Ambiguous(with) => format!(" ambiguous with {}", with.display()),
                DefinitionStanding::Refused => " refused".to_owned(),
            };
            let description =
                listed.description.as_ref().map(|text| format!(" - {text}")).unwrap_or_default();
            format!(
                "{} {} {} {path}{standing}{description}",
                definition.name,
                definition.dialect.name(),
                definition.origin.name()
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    c piece project /p/.saihai/pieces/c.yml - Does it.
    a piece project /p/.takt/pieces/a.yaml
    b piece project /p/.takt/pieces/b.yaml ambiguous with /p/.takt/pieces/b.yml
    b piece project /p/.takt/pieces/b.yml ambiguous with /p/.takt/pieces/b.yaml
    minimal piece project /p/.takt/pieces/minimal.yaml
    orch piece project /p/.takt/pieces/orch.yaml ambiguous with /p/orch.yml
    a piece user ~/.takt/pieces/a.yaml shadowed by /p/.takt/pieces/a.yaml
    orch hats project /p/orch.yml ambiguous with /p/.takt/pieces/orch.yaml
    coder steps project /p/.agent/coder/agent.json
    default piece built-in  - Plan, implement, review from three sides, fix until all approve, then check the result against the task.
    minimal piece built-in  shadowed by /p/.takt/pieces/minimal.yaml - Plan, implement, review; go round until the review approves.
    test-first piece built-in  - List the behaviour, write failing tests for it, make them pass, review both.
    debug piece built-in  - Reproduce a fault, prove its cause, remove it with a test, and verify that it was the cause.
    review piece built-in  - Review a change from four sides and sum it up in one report; nothing is changed.
    review-fix piece built-in  - Review a change from three sides and fix what is found, until nothing is left to fix.
    specialists piece built-in  - Implement, and let review agents look at the change until none of them finds anything important.
    docs piece built-in  - Outline, write, have facts and readability checked at once, and revise documentation until both approve.
    research piece built-in  - Answer a question from the project and from outside, every claim with its evidence; nothing is changed.
    simple hats built-in  - No hats: the agent works on the task in turn after turn until it says that all of it is done.
    tdd hats built-in  - Test first: write a failing test, make it pass, tidy up, and go round until nothing is left to do.
    spec-driven hats built-in  - Plan first: write down what is to be built, build it, and have it reviewed against the plan.
    iterator steps built-in  - Work an issue to done: understand it, work with checks, have it verified in another role.
    reviewer steps built-in  - Let a change pass or not: read it, examine it, decide; the exit code is the gate. Nothing is changed.
    architecture-reviewer review built-in  - Judges the structure that a change leaves behind
    breaking-change-reviewer review built-in  - Finds changes that break existing users
    code-reviewer review built-in  - Reviews code for bugs and departures from good practice
    code-simplifier review built-in  - Suggests how a change could be simpler
    comment-analyzer review built-in  - Checks that comments are true and worth reading
    dependency-reviewer review built-in  - Judges new and changed dependencies
    performance-reviewer review built-in  - Finds changes that waste time or memory
    pr-test-analyzer review built-in  - Finds what the tests of a change leave out
    security-reviewer review built-in  - Finds ways to attack the changed code
    silent-failure-hunter review built-in  - Hunts for failures that nobody would notice
    type-design-analyzer review built-in  - Judges the design of types and interfaces
    ");
}

// K-10: a home directory with pieces is the project root of everything below it outside a repository
#[test]
fn the_home_directory_as_a_project_has_its_pieces_once() {
    let source = project(&["/home/me/.takt/pieces/a.yaml"]);
    let places = ProjectPaths { root: "/home/me".into(), ..places() };
    let own = |listed: &ListedDefinition| listed.definition.origin != Origin::BuiltIn;
    let standing: Vec<DefinitionStanding> = list(&source, &places, Language::English)
        .into_iter()
        .filter(own)
        .map(|listed| listed.standing)
        .collect();
    assert_eq!(standing, [DefinitionStanding::Used]);
    let message = find(&source, &places, "x").unwrap_err().iter().next().unwrap().message.clone();
    assert_eq!(message.matches(".takt/pieces").count(), 1, "{message}");
}

//
#[test]
fn a_review_agent_is_read_and_makes_no_workflow_of_its_own() {
    let definition = Definition {
        name: "x".into(),
        dialect: Dialect::Review,
        origin: Origin::Path,
        path: Some("/p/x.toml".into()),
    };
    let loaded = load(&project(&[]), &places(), &definition, &Options::default(), &Settings::default());
    assert_eq!(
        said(&loaded.diagnostics),
        "review/file cannot read `/p/x.toml`: it does not exist (a review agent is a readable text file, UTF-8, of at most 1 MiB)"
    );
    assert_eq!(loaded.workflow, None);
}

#[test]
fn a_piece_that_has_gone_meanwhile_is_refused() {
    let definition = Definition {
        name: "x".into(),
        dialect: Dialect::Piece,
        origin: Origin::Path,
        path: Some("/p/sub/x.yaml".into()),
    };
    let loaded = load(&project(&[]), &places(), &definition, &Options::default(), &Settings::default());
    assert_eq!(said(&loaded.diagnostics), "piece/missing-file cannot read `x.yaml`: it does not exist");
}

// `saihai list` must not call a file readable that `saihai check` refuses as a whole.
#[test]
fn a_file_that_is_not_a_map_of_its_format_is_listed_as_unreadable() {
    let source = MemorySource::new([
        ("/p/.takt/pieces/broken.yaml", "name: [\n"),
        ("/p/.takt/pieces/prose.yaml", "This is a note, not a piece.\n"),
        ("/p/.takt/pieces/whole.yaml", "name: whole\n"),
        ("/p/.agent/torn/agent.json", "{\"version\": "),
    ]);
    let listed: Vec<(String, bool)> = list(&source, &places(), Language::English)
        .into_iter()
        .filter(|one| one.definition.path.is_some())
        .map(|one| (one.definition.name, one.is_readable))
        .collect();
    let expected = [("broken", false), ("prose", false), ("whole", true), ("torn", false)];
    assert_eq!(listed, expected.map(|(name, is_readable)| (name.to_owned(), is_readable)));
}
