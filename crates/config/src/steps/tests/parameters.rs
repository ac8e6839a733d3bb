//! Parameters: declaration and values.

use serde_json::json;

use super::Project;
use crate::{MemorySource, flags};

fn declares(parameter: saihai_model::Json) -> Project {
    Project::tailor().agent("/parameters/x", parameter)
}

// S-12
#[test]
fn what_is_wrong_with_a_parameter_is_told() {
    insta::assert_snapshot!(declares(json!({"type": "text", "cli": "-x"})).said(), @r"
    warning steps/no-description agent.json:21:5 the parameter `x` has no description (describe it)
    error steps/bad-value agent.json:23:15 `type` must be `string`, `number`, `boolean` or `array`, not `text`
    ");
    insta::assert_snapshot!(declares(json!({"type": "string", "cli": "--X", "description": "d"})).said(), @"error steps/bad-value agent.json:22:14 `--X` is not a flag (write `--name`, in small letters, digits and `-`)");
    insta::assert_snapshot!(declares(json!({"type": "string", "cli": "--customer", "description": "d"})).said(), @"error steps/duplicate-flag agent.json:22:14 `customer` and `x` have the same flag `--customer`");
    let default =
        json!({"type": "number", "cli": "--x", "description": "d", "default": 9, "validation": {"max": 5}});
    insta::assert_snapshot!(declares(default).said(), @"error steps/bad-value agent.json:23:18 the default of `x` is not allowed: `9` is more than 5");
    let default = json!({"type": "number", "cli": "--x", "description": "d", "default": "9"});
    insta::assert_snapshot!(declares(default).said(), @"error steps/bad-type agent.json:23:18 the default of `x` is not of its type");
    let both = json!({"type": "number", "cli": "--x", "description": "d", "default": 9, "required": true});
    insta::assert_snapshot!(declares(both).said(), @"warning steps/shadowed agent.json:23:18 `x` is required, so its default is never used (remove `required` or `default`)");
    let rules =
        json!({"type": "string", "cli": "--x", "description": "d", "validation": {"min": 1, "pattern": "("}});
    insta::assert_snapshot!(declares(rules).said(), @r"
    error steps/bad-value agent.json:26:16 `min` is for numbers only
    error steps/bad-value agent.json:27:20 `(` is not a regular expression (error: unclosed group)
    ");
    let named = Project::tailor()
        .agent("/parameters/a b", json!({"type": "string", "cli": "--a", "description": "d"}));
    insta::assert_snapshot!(named.said(), @"error steps/bad-value agent.json:15:5 `a b` cannot be the name of a parameter (use letters, digits, `_` and `-`)");
}

// In any position, and also from `work`.
#[test]
fn a_parameter_with_the_flag_of_the_issue_is_filled_from_it() {
    let number = json!({"type": "number", "cli": "--issue", "description": "which", "required": true});
    let project = |values: &[(&str, &str)], issue: u64| {
        let project = Project::tailor().agent("/parameters/ticket", number.clone());
        let project = project.file("prompts/order/measure/text/f_default.md", "{uv-ticket} of {uv-customer}");
        project.given(values).options(|options| options.issue = saihai_model::IssueNumber::new(issue))
    };
    let filled = project(&[("customer", "Sato")], 12);
    assert_eq!(filled.said(), "");
    assert_eq!(
        super::shown(&super::turn(&filled.workflow(), "measure").prompt).lines().next(),
        Some("12 of Sato")
    );
    let said = project(&[("customer", "Sato"), ("ticket", "3")], 12).workflow();
    assert_eq!(super::shown(&super::turn(&said, "measure").prompt).lines().next(), Some("3 of Sato"));
    assert!(project(&[("customer", "Sato")], 0).said().contains("the parameter `ticket` is not given"));
    // S-12: the same holds for Saihai's other flags.
    let text = |flag: &str| json!({"type": "string", "cli": flag, "description": "which", "required": true});
    let both = Project::tailor()
        .agent("/parameters/by", text("--model"))
        .agent("/parameters/who", text("--provider"));
    let both = both.file("prompts/order/measure/text/f_default.md", "{uv-by} of {uv-who} for {uv-customer}");
    let both = both.given(&[("customer", "Sato")]).options(|options| {
        options.model = Some("m".to_owned());
        options.provider = Some("script".into());
    });
    let shown = super::shown(&super::turn(&both.workflow(), "measure").prompt);
    assert_eq!(shown.lines().next(), Some("m of script for Sato"));
}

// S-12, case 39
#[test]
fn what_is_missing_unknown_or_not_allowed_is_told() {
    insta::assert_snapshot!(Project::tailor().given(&[]).said(), @"error steps/missing-parameter agent.json:15:5 the parameter `customer` is not given (add `--customer VALUE`)");
    insta::assert_snapshot!(Project::tailor().given(&[("customer", "x"), ("custmer", "y"), ("z", "")]).said(), @r"
    error steps/unknown-parameter this agent has no parameter `custmer` (did you mean `customer`?)
    error steps/unknown-parameter this agent has no parameter `z` (it has `customer`)
    ");
    let given = |parameter: saihai_model::Json, value: &str| {
        let project = declares(parameter).given(&[("customer", "Sato"), ("x", value)]);
        project.said()
    };
    let number =
        json!({"type": "number", "cli": "--x", "description": "d", "validation": {"min": 1, "max": 5}});
    insta::assert_snapshot!(given(number.clone(), "0"), @"error steps/bad-parameter agent.json:21:5 the value of `--x` does not fit: `0` is less than 1");
    insta::assert_snapshot!(given(number.clone(), "6"), @"error steps/bad-parameter agent.json:21:5 the value of `--x` does not fit: `6` is more than 5");
    insta::assert_snapshot!(given(number.clone(), "NaN"), @"error steps/bad-parameter agent.json:21:5 the value of `--x` does not fit: `NaN` is not a finite number");
    assert_eq!(given(number, "2.5"), "");
    let one_of = json!({"type": "string", "cli": "--x", "description": "d", "validation": {"enum": ["a", "b"], "pattern": "^a"}});
    insta::assert_snapshot!(given(one_of.clone(), "c"), @"error steps/bad-parameter agent.json:21:5 the value of `--x` does not fit: `c` does not match `^a`");
    insta::assert_snapshot!(given(one_of, "b"), @"error steps/bad-parameter agent.json:21:5 the value of `--x` does not fit: `b` does not match `^a`");
    let boolean = json!({"type": "boolean", "cli": "--x", "description": "d"});
    insta::assert_snapshot!(given(boolean, "yes"), @"error steps/bad-parameter agent.json:21:5 the value of `--x` does not fit: `yes` is neither `true` nor `false`");
}

// S-12, S-43
#[test]
fn values_are_shown_by_their_type() {
    let check = |kind: &str, values: &[&str], expected: &str| {
        let values: Vec<(&str, &str)> =
            std::iter::once(("customer", "Sato")).chain(values.iter().map(|value| ("x", *value))).collect();
        let project = declares(json!({"type": kind, "cli": "--x", "description": "d"}))
            .file("prompts/order/quote/text/f_default.md", "{uv-x}")
            .given(&values);
        assert_eq!(
            super::shown(&super::turn(&project.workflow(), "quote").prompt),
            expected,
            "{kind} {values:?}"
        );
    };
    check("string", &["a", "b"], "b");
    check("number", &["1e3"], "1000.0");
    check("number", &["-7"], "-7");
    check("boolean", &["true"], "true");
    check("array", &["a,b", "c"], r#"["a","b","c"]"#);
    check("string", &[], "");
}

// S-12
#[test]
fn the_flags_of_an_agent_are_known_even_where_it_is_wrong() {
    let agent = r#"{"parameters": {"a": {"cli": "--a", "type": "boolean", "description": "all", "default": false},
        "b": {"cli": "--b", "required": true}, "c": {}}}"#;
    let source = MemorySource::new([("/p/.agent/x/agent.json", agent)]);
    let found: Vec<String> = flags(&source, &super::places(), "x")
        .into_iter()
        .map(|flag| format!("{} {} {} {}", flag.key, flag.flag, flag.alone, flag.about))
        .collect();
    assert_eq!(found, ["a --a true all (default: false)", "b --b false (required)"]);
    assert!(flags(&source, &super::places(), "minimal").is_empty(), "a piece has none");
    assert!(flags(&source, &super::places(), "nothing").is_empty());
}
