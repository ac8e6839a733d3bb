//! A review agent as its file describes it, and the six reply schemas.

use saihai_model::Millis;
use serde_json::{Value as Json, json};

use super::patterns::{NamePattern, PathPattern};
use super::python::PythonRegex;
use crate::Language;

/// A review agent as its file describes it.
#[derive(Debug, Clone)]
pub struct AgentDefinition {
    pub name: String,
    /// One-line summary for lists and reports.
    pub description: String,
    /// Model name; `default` means the provider's default model.
    pub model: String,
    pub output_schema: OutputSchema,
    pub system_prompt: String,
    /// Allowed tool names, exactly as the file writes them.
    pub allowed_tools: Vec<String>,
    /// Resolved tools, without duplicates and in a fixed order.
    pub tools: Vec<&'static str>,
    pub phase: Phase,
    pub applicability: Applicability,
    pub timeout: Option<Millis>,
    /// Maximum number of model calls in the agent's single turn.
    pub max_turns: Option<u32>,
}

impl AgentDefinition {
    /// Returns the language of the agent's own text; prompts use the same language.
    pub fn language(&self) -> Language {
        Language::of([self.description.as_str(), self.system_prompt.as_str()])
    }
}

/// Changes that an agent applies to. Any one of these conditions is enough.
#[derive(Debug, Clone, Default)]
pub struct Applicability {
    pub always: bool,
    pub file_patterns: Vec<NamePattern>,
    pub path_patterns: Vec<PathPattern>,
    pub content_patterns: Vec<PythonRegex>,
    /// Files that no condition considers and the agent never sees.
    pub exclude_patterns: Vec<PathPattern>,
}

impl Applicability {
    /// Applies to every change. This is the default if a file has no `[applicability]`.
    pub fn always() -> Self {
        Self { always: true, ..Self::default() }
    }

    /// Returns true if only an explicit name can select the agent.
    pub fn is_never(&self) -> bool {
        !self.always
            && self.file_patterns.is_empty()
            && self.path_patterns.is_empty()
            && self.content_patterns.is_empty()
    }

    pub fn exclude_patterns(&self) -> impl Iterator<Item = &str> {
        self.exclude_patterns.iter().map(PathPattern::source)
    }

    pub fn excludes(&self, path: &str) -> bool {
        self.exclude_patterns.iter().any(|pattern| pattern.takes(path))
    }

    /// Returns true if the name or path of the file alone selects the agent.
    pub fn takes_file(&self, path: &str) -> bool {
        let by_name = self.file_patterns.iter().any(|pattern| pattern.takes(path));
        by_name || self.path_patterns.iter().any(|pattern| pattern.takes(path))
    }
}

/// The part of a review in which an agent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Phase {
    Early,
    #[default]
    Main,
    Final,
}

impl Phase {
    pub const ALL: [Self; 3] = [Self::Early, Self::Main, Self::Final];

    /// Returns the name used in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Main => "main",
            Self::Final => "final",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

/// Reply schema of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutputSchema {
    CategoryClassification,
    ImprovementSuggestions,
    MultiDimensionalAnalysis,
    ScoredIssues,
    SeverityClassified,
    /// Missing tests and their risk.
    TestGapAssessment,
}

impl OutputSchema {
    /// All schemas, sorted by name.
    pub const ALL: [Self; 6] = [
        Self::CategoryClassification,
        Self::ImprovementSuggestions,
        Self::MultiDimensionalAnalysis,
        Self::ScoredIssues,
        Self::SeverityClassified,
        Self::TestGapAssessment,
    ];

    /// Returns the name used in agent files.
    pub fn name(self) -> &'static str {
        match self {
            Self::CategoryClassification => "category_classification",
            Self::ImprovementSuggestions => "improvement_suggestions",
            Self::MultiDimensionalAnalysis => "multi_dimensional_analysis",
            Self::ScoredIssues => "scored_issues",
            Self::SeverityClassified => "severity_classified",
            Self::TestGapAssessment => "test_gap_assessment",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|schema| schema.name() == name)
    }

    /// Returns a short description for lists.
    pub fn about(self) -> &'static str {
        match self {
            Self::CategoryClassification => "a reviewer's reply: issues by category",
            Self::ImprovementSuggestions => "a reviewer's reply: issues, and improvements with a priority",
            Self::MultiDimensionalAnalysis => "a reviewer's reply: issues, and scores of several dimensions",
            Self::ScoredIssues => "a reviewer's reply: issues and one score",
            Self::SeverityClassified => "a reviewer's reply: issues in lists by severity",
            Self::TestGapAssessment => "a reviewer's reply: issues, and gaps in the tests",
        }
    }

    pub fn json(self) -> Json {
        match self {
            Self::CategoryClassification => {
                let category = object(json!({"name": text(), "issues": list(issue())}));
                object(json!({"issues": list(issue()), "categories": list(category)}))
            }
            Self::ImprovementSuggestions => {
                let suggestion = object(json!({
                    "title": text(),
                    "description": text(),
                    "priority": severity(),
                    "location": or_null(location()),
                }));
                object(json!({"issues": list(issue()), "suggestions": list(suggestion)}))
            }
            Self::MultiDimensionalAnalysis => {
                let dimension = object(json!({"name": text(), "score": score(), "description": text()}));
                object(json!({"issues": list(issue()), "dimensions": list(dimension)}))
            }
            Self::ScoredIssues => object(json!({"issues": list(issue()), "overall_score": score()})),
            Self::SeverityClassified => object(json!({
                "critical_issues": list(issue()),
                "important_issues": list(issue()),
                "suggestion_issues": list(issue()),
                "nitpick_issues": list(issue()),
            })),
            Self::TestGapAssessment => {
                let gap = object(json!({
                    "file_path": text(),
                    "line_number": or_null(line()),
                    "description": text(),
                    "priority": severity(),
                }));
                let issues = list(issue());
                object(json!({"issues": issues, "coverage_gaps": list(gap), "risk_level": severity()}))
            }
        }
    }
}

fn issue() -> Json {
    object(json!({
        "severity": severity(),
        "description": text(),
        "location": or_null(location()),
        "suggestion": or_null(text()),
        "category": or_null(text()),
        "confidence": or_null(json!({"type": "integer", "minimum": 0, "maximum": 100})),
    }))
}

fn location() -> Json {
    object(json!({"file_path": text(), "line_number": line(), "end_line": or_null(line())}))
}

/// Returns an object schema with exactly these properties.
fn object(properties: Json) -> Json {
    let names: Vec<&String> = properties.as_object().into_iter().flat_map(|map| map.keys()).collect();
    json!({"type": "object", "required": names, "additionalProperties": false, "properties": properties})
}

fn list(item: Json) -> Json {
    json!({"type": "array", "items": item})
}

fn or_null(schema: Json) -> Json {
    json!({"anyOf": [schema, {"type": "null"}]})
}

fn text() -> Json {
    json!({"type": "string", "minLength": 1})
}

fn line() -> Json {
    json!({"type": "integer", "minimum": 1})
}

fn score() -> Json {
    json!({"type": "number", "minimum": 0, "maximum": 10})
}

fn severity() -> Json {
    json!({"type": "string", "enum": ["critical", "important", "suggestion", "nitpick"]})
}
