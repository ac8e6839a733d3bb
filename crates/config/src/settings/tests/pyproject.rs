//! Settings of hachimoku in `pyproject.toml`.

use super::*;

const TEXT: &str = "[project]\nname = \"app\"\n\n[tool.hachimoku]\nbase_branch = \"develop\"\ntimeout = 300\n\
                    max_turns = 12\nparallel = false\nshow_cost = true\n\n\
                    [tool.hachimoku.agents.code-reviewer]\nenabled = false\ntimeout = 60\n";

fn with_pyproject(text: &str) -> World {
    let mut world = World::default();
    world.source.add("/p/pyproject.toml", text);
    world
}

// Issue 25
#[test]
fn the_table_of_hachimoku_sets_reviews() {
    let settings = with_pyproject(TEXT).settings();
    assert_snapshot!(origin(&settings, "review"), @r#"
    review.base = "develop" (pyproject.toml:5)
    review.concurrency = 1 (pyproject.toml:8)
    review.timeout = 300 (pyproject.toml:6)
    review.max_turns = 12 (pyproject.toml:7)
    review.fail_on = "important" (default)
    review.fail_scope = "file" (default)
    review.min_confidence = 0 (default)
    review.max_diff_bytes = 300000 (default)
    review.max_chunks = 1 (default)
    review.require_all = false (default)
    review.cache = true (default)
    review.web = false (default)
    review.allow_unconfined = false (default)
    review.agents.code-reviewer.enabled = false (pyproject.toml:12)
    review.agents.code-reviewer.timeout = 60 (pyproject.toml:13)
    "#);
    assert_eq!(settings.review.disabled(), ["code-reviewer"]);
}

#[test]
fn our_own_file_goes_first() {
    let world = with_pyproject(TEXT).project("[review]\nbase = \"main\"\n").user("[review]\nmax_turns = 3\n");
    let review = world.settings().review;
    assert_eq!((review.base.as_deref(), review.max_turns, review.concurrency), (Some("main"), 12, 1));
}

#[test]
fn a_wrong_value_is_shown_where_it_is_written() {
    assert_snapshot!(with_pyproject("[tool.hachimoku]\nmax_turns = \"many\"\n").wrong(), @r#"
    error[settings/bad-type]: `max_turns` must be a whole number, not text
    --> pyproject.toml:2:13
      |
    2 | max_turns = "many"
      |             ^^^^^^ text
      = help: write a whole number, between 1 and 1000
    "#);
    assert_eq!(with_pyproject("[tool.other]\nkey =\n").wrong(), "");
}
