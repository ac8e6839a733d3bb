//! Built-in review agents.

use super::super::load::{ALL, unedited};
use super::super::patterns::NamePattern;
use super::super::python::PythonRegex;
use super::super::{AgentDefinition, AgentOrigin, OutputSchema, Phase};
use super::*;

// R-1, R-27: case 1
#[test]
fn eleven_agents_come_with_saihai_and_load_without_a_word() {
    let result = loaded(&[]);
    assert!(result.errors.is_empty() && result.remarks.is_empty());
    assert!(result.agents.iter().all(|agent| agent.origin == AgentOrigin::BuiltIn));
    let shown: Vec<String> = result
        .agents
        .iter()
        .map(|agent| {
            let AgentDefinition { name, output_schema, phase, applicability, .. } = &agent.definition;
            let always = if applicability.always { "always" } else { "by patterns" };
            let optional = if agent.is_optional() { ", off" } else { "" };
            format!("{name} {} {} {always}{optional}", output_schema.name(), phase.name())
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    architecture-reviewer multi_dimensional_analysis main by patterns, off
    breaking-change-reviewer severity_classified main by patterns
    code-reviewer scored_issues main always
    code-simplifier improvement_suggestions final always
    comment-analyzer category_classification final by patterns
    dependency-reviewer severity_classified main by patterns
    performance-reviewer severity_classified main by patterns, off
    pr-test-analyzer test_gap_assessment main by patterns
    security-reviewer severity_classified main by patterns
    silent-failure-hunter severity_classified main by patterns
    type-design-analyzer multi_dimensional_analysis main by patterns
    ");
}

// R-27
#[test]
fn each_is_the_same_agent_in_both_languages_with_a_prompt_of_its_own() {
    for built_in in &ALL {
        let [english, japanese] = [Language::English, Language::Japanese].map(|one| built_in.definition(one));
        assert_eq!((english.name.as_str(), japanese.name.as_str()), (built_in.name, built_in.name));
        assert_eq!(english.language(), Language::English);
        assert_eq!(japanese.language(), Language::Japanese);
        let same = |agent: &AgentDefinition| {
            let patterns: Vec<String> = agent
                .applicability
                .file_patterns
                .iter()
                .map(NamePattern::source)
                .chain(agent.applicability.content_patterns.iter().map(PythonRegex::source))
                .map(str::to_owned)
                .collect();
            (agent.output_schema, agent.phase, agent.model.clone(), agent.allowed_tools.clone(), patterns)
        };
        assert_eq!(same(&english), same(&japanese), "{}", built_in.name);
        assert_eq!(english.model, "default");
        assert_eq!(english.allowed_tools, ["file_read", "git_read"]);
        assert!(!same(&english).4.is_empty(), "{} has no pattern", built_in.name);
        for agent in [&english, &japanese] {
            assert!(agent.system_prompt.lines().count() <= 60, "{}", built_in.name);
            for word in ["critical", "important", "suggestion", "nitpick"] {
                assert!(agent.system_prompt.contains(word), "{} does not say what {word} is", built_in.name);
            }
        }
        assert!(english.system_prompt.contains("valid answer"), "{}", built_in.name);
        assert!(japanese.system_prompt.contains("正しい答えである"), "{}", built_in.name);
    }
}

// R-66: built-in agents are a model for new ones
#[test]
fn nothing_in_them_is_warned_about() {
    for built_in in &ALL {
        for language in [Language::English, Language::Japanese] {
            // Under a different name it replaces nothing.
            let text = built_in.text(language).replacen(built_in.name, "mine", 1);
            let result = loaded(&[("x.toml", &text)]);
            assert_eq!(codes(&result.remarks), Vec::<String>::new(), "{}", built_in.name);
            assert!(result.errors.is_empty(), "{}", errors(result));
        }
    }
}

// R-45
#[test]
fn every_schema_is_named_once_and_used_by_one_of_them() {
    let used: Vec<OutputSchema> =
        loaded(&[]).agents.iter().map(|agent| agent.definition.output_schema).collect();
    for schema in OutputSchema::ALL {
        assert_eq!(OutputSchema::named(schema.name()), Some(schema));
        assert!(used.contains(&schema), "{schema:?}");
    }
    let names: Vec<&str> = OutputSchema::ALL.map(OutputSchema::name).to_vec();
    assert!(names.is_sorted(), "{names:?}");
    assert_eq!(Phase::ALL.map(Phase::name), ["early", "main", "final"]);
}

/// Builds an example of a schema: strings, minimum numbers, one item per list and no nulls.
fn example(schema: &serde_json::Value) -> serde_json::Value {
    use serde_json::json;
    if let Some(first) = schema["anyOf"].get(0) {
        return example(first);
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match schema["type"].as_str().unwrap() {
        "object" => {
            let properties = schema["properties"].as_object().unwrap().iter();
            properties.map(|(name, schema)| (name.clone(), example(schema))).collect()
        }
        "array" => json!([example(&schema["items"])]),
        "string" => json!("text"),
        "integer" | "number" => schema["minimum"].clone(),
        other => panic!("{other}"),
    }
}

// R-45: the form that every structured-output mode accepts
#[test]
fn every_object_of_a_schema_requires_all_it_has_and_takes_nothing_else() {
    fn walk(schema: &serde_json::Value, seen: &mut usize) {
        if let Some(properties) = schema["properties"].as_object() {
            let required: Vec<&str> =
                schema["required"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
            assert_eq!(properties.keys().collect::<Vec<_>>(), required);
            assert_eq!(schema["additionalProperties"], false);
            *seen += 1;
        }
        match schema {
            serde_json::Value::Object(map) => map.values().for_each(|inner| walk(inner, seen)),
            serde_json::Value::Array(items) => items.iter().for_each(|inner| walk(inner, seen)),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::String(_) => {}
        }
    }
    for schema in OutputSchema::ALL {
        let json = schema.json();
        let mut seen = 0;
        walk(&json, &mut seen);
        assert!(seen >= 3, "{schema:?}");
        let validator = saihai_json_schema::JsonSchema::compile(&json).unwrap();
        let value = example(&json);
        assert!(validator.accepts(&value), "{value}");
        for (name, _) in value.as_object().unwrap() {
            let mut less = value.clone();
            less.as_object_mut().unwrap().remove(name);
            assert!(!validator.accepts(&less), "{schema:?} without {name}");
        }
        let mut more = value.clone();
        more["agent_name"] = serde_json::json!("x");
        assert!(!validator.accepts(&more), "{schema:?}");
    }
}

// R-8
#[test]
fn a_copy_is_known_by_its_hash_whatever_its_line_ends() {
    let built_in = ALL.iter().find(|one| one.name == "code-reviewer").unwrap();
    let text = built_in.copy(Language::English);
    assert_eq!(unedited(text.as_bytes()).map(|one| one.name), Some("code-reviewer"));
    assert_eq!(unedited(text.replace('\n', "\r\n").as_bytes()).map(|one| one.name), Some("code-reviewer"));
    assert!(unedited(text.replacen("review", "Review", 1).as_bytes()).is_none());
    assert!(unedited(built_in.text(Language::English).as_bytes()).is_none());
    assert!(unedited(text.replacen("code-reviewer sha", "nobody sha", 1).as_bytes()).is_none());
    assert!(unedited(text.replacen("code-reviewer sha", "code-simplifier sha", 1).as_bytes()).is_none());
}
