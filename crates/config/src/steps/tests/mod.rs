//! Tests of step agents, from text to workflow.

mod agent;
mod catalogue;
mod closing;
mod completion;
mod files;
mod later;
mod lowering;
mod parameters;
mod prompts;
mod properties;
mod registry;
mod releases;
mod variables;

use std::path::PathBuf;

use indexmap::IndexMap;
use saihai_model::{Join, Json, Prompt, PromptPart, SectionCondition, Stage, Text, Turn, Variable, Workflow};
use serde_json::json;

use crate::{
    Definition, Diagnostics, Dialect, LoadedDefinition, MemorySource, Options, Origin, ProjectPaths,
    Settings, Source as _, load,
};

const HOME: &str = "/p/.agent/tailor";

/// A project with one agent. Tests can change its JSON files before loading.
pub(super) struct Project {
    documents: IndexMap<&'static str, Json>,
    pub(super) source: MemorySource,
    pub(super) options: Options,
    pub(super) settings: Settings,
}

impl Project {
    /// Creates the example agent of the format.
    pub(super) fn tailor() -> Self {
        let agent = json!({
            "version": "1.0.0", "name": "tailor",
            "behavior": {
                "systemPromptPath": "prompts/system.md", "completionType": "stepMachine",
                "completionConfig": {"maxIterations": 12}, "allowedTools": ["Read"], "permissionMode": "plan"
            },
            "parameters": {
                "customer": {"type": "string", "description": "who orders", "required": true, "cli": "--customer"}
            },
            "prompts": {"registry": "steps_registry.json"}
        });
        let registry = json!({
            "version": "1.0.0", "basePath": "prompts", "entryStep": "measure",
            "steps": {
                "measure": {
                    "prompt": {"c1": "order", "c2": "measure", "c3": "text"}, "next": "quote",
                    "outputSchema": {"height": {"type": "number"}, "note": {"type": "string", "required": false}}
                },
                "quote": {
                    "prompt": {"c1": "order", "c2": "quote", "c3": "text"}, "inputs": {"measure.height": true},
                    "check": {
                        "prompt": {"c1": "order", "c2": "quote", "c3": "check"},
                        "responseFormat": {"result": "ok|ng", "message": "string"},
                        "onPass": {"complete": true},
                        "onFail": {"retry": true, "maxRetries": 2, "onExhausted": "measure"}
                    }
                }
            }
        });
        let documents = IndexMap::from([("agent.json", agent), ("steps_registry.json", registry)]);
        let project = Self {
            documents,
            source: MemorySource::new([]),
            options: Options::default(),
            settings: Settings::default(),
        };
        project
            .file("prompts/system.md", "You are a tailor.\n")
            .file("prompts/order/measure/text/f_default.md", "Measure {uv-customer}.\n")
            .file(
                "prompts/order/quote/text/f_default.md",
                "Height {uv-measure_height} cm for {uv-customer}.\n",
            )
            .file("prompts/order/quote/check/f_default.md", "Is the quote right?\n")
    }

    /// Adds a file in the agent's directory.
    pub(super) fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.source.add(format!("{HOME}/{path}"), content);
        self
    }

    pub(super) fn without(mut self, path: &str) -> Self {
        self.source.remove(format!("{HOME}/{path}"));
        self
    }

    /// Sets a value of `agent.json` by its JSON pointer.
    pub(super) fn agent(self, pointer: &str, value: Json) -> Self {
        self.set("agent.json", pointer, value)
    }

    /// Sets a value of `steps_registry.json` by its JSON pointer.
    pub(super) fn registry(self, pointer: &str, value: Json) -> Self {
        self.set("steps_registry.json", pointer, value)
    }

    /// Removes a value of a file.
    pub(super) fn dropping(mut self, file: &str, pointer: &str) -> Self {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let parent = self.documents[file].pointer_mut(parent).expect("something there");
        parent.as_object_mut().expect("an object").remove(key).expect("a key that is there");
        self
    }

    pub(super) fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// Sets these values, as for a real run.
    pub(super) fn given(self, values: &[(&str, &str)]) -> Self {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.options(|options| {
            options.values = values;
            options.starts = true;
        })
    }

    pub(super) fn load(&self) -> LoadedDefinition {
        let mut source = self.source.clone();
        for (name, document) in &self.documents {
            let path = format!("{HOME}/{name}");
            // A test may have added a broken file at this path.
            if !source.is_file(path.as_ref()) {
                source.add(path, serde_json::to_string_pretty(document).expect("JSON"));
            }
        }
        let definition = Definition {
            name: "tailor".to_owned(),
            dialect: Dialect::Steps,
            origin: Origin::Project,
            path: Some(PathBuf::from(format!("{HOME}/agent.json"))),
        };
        load(&source, &places(), &definition, &self.options, &self.settings)
    }

    /// Returns the workflow of an agent without errors.
    pub(super) fn workflow(&self) -> Workflow {
        let loaded = self.load();
        loaded.workflow.unwrap_or_else(|| panic!("{}", listed(&loaded.diagnostics)))
    }

    /// Returns all diagnostics, one line each.
    pub(super) fn said(&self) -> String {
        listed(&self.load().diagnostics)
    }

    fn set(mut self, file: &str, pointer: &str, value: Json) -> Self {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let parent =
            self.documents[file].pointer_mut(parent).unwrap_or_else(|| panic!("nothing at {pointer}"));
        parent.as_object_mut().expect("an object").insert(key.to_owned(), value);
        self
    }
}

pub(super) fn places() -> ProjectPaths {
    ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: Some("/home/me".into()) }
}

/// Formats diagnostics as `error steps/unknown-key agent.json:3:5 message (hint)`, one line each.
pub(super) fn listed(diagnostics: &Diagnostics) -> String {
    let line = |diagnostic: &crate::Diagnostic| {
        let place = diagnostic.location.as_ref().map(|location| {
            let name = location.name();
            format!(" {}", name.strip_prefix(".agent/tailor/").unwrap_or(&name))
        });
        let hint = diagnostic.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let place = place.unwrap_or_default();
        format!("{} {}{place} {}{hint}", diagnostic.severity.name(), diagnostic.code, diagnostic.message)
    };
    diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
}

pub(super) fn stage<'w>(workflow: &'w Workflow, id: &str) -> &'w Stage {
    workflow.stages.get(id).unwrap_or_else(|| panic!("no stage {id}"))
}

pub(super) fn turn<'w>(workflow: &'w Workflow, id: &str) -> &'w Turn {
    &stage(workflow, id).turns()[0]
}

/// Renders a prompt for a continued session. Values of the run appear as their names.
pub(super) fn shown(prompt: &Prompt) -> String {
    spelt(prompt, |when| when != SectionCondition::NewSession)
}

/// Renders a prompt for a new session.
pub(super) fn shown_anew(prompt: &Prompt) -> String {
    spelt(prompt, |_| true)
}

fn spelt(prompt: &Prompt, appears: impl Fn(SectionCondition) -> bool) -> String {
    assert_eq!(prompt.join, Join::AsIs, "an agent's text is sent as it is");
    let sections = prompt.sections.iter().filter(|section| appears(section.when));
    let parts = sections.flat_map(|section| &section.body).map(|part| match part {
        PromptPart::Fixed(Text::Inline(text)) => text.to_string(),
        PromptPart::Fixed(Text::Blob { .. }) => panic!("a lowered text is inline"),
        PromptPart::Value(Variable::Output { stage, key, .. }, _) => format!("<{stage}.{key}>"),
        PromptPart::Value(variable, _) => format!("<{variable:?}>"),
    });
    parts.collect()
}
