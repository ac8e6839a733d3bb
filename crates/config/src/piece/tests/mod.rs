//! Tests of pieces, from text to workflow.

mod examples;
mod format;
mod lowering;
mod programs;
mod progress;
mod prompts;
mod properties;
mod reviewers;
mod rules;
mod takt;
mod takt_head;
mod texts;

use std::path::PathBuf;

use saihai_model::{
    Join, Prompt, PromptPart, PromptSection, SectionCondition, Stage, Text, Turn, ValueForm, Variable,
    Workflow,
};

use crate::{
    Definition, Diagnostics, Dialect, LoadedDefinition, MemorySource, Options, Origin, ProjectPaths,
    SessionDefault, Settings, load,
};

pub(super) struct Project {
    pub(super) source: MemorySource,
    pub(super) options: Options,
    pub(super) settings: Settings,
}

impl Project {
    /// Creates a project with the piece `.takt/pieces/t.yaml` and default settings.
    pub(super) fn new(piece: &str) -> Self {
        let source = MemorySource::new([("/p/.takt/pieces/t.yaml", piece)]);
        Self { source, options: Options::default(), settings: Settings::default() }
    }

    pub(super) fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.source.add(path, content);
        self
    }

    pub(super) fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    pub(super) fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    pub(super) fn load(&self) -> LoadedDefinition {
        let definition = Definition {
            name: "t".to_owned(),
            dialect: Dialect::Piece,
            origin: Origin::Project,
            path: Some(PathBuf::from("/p/.takt/pieces/t.yaml")),
        };
        load(&self.source, &places(), &definition, &self.options, &self.settings)
    }

    /// Returns the workflow of a piece without errors.
    pub(super) fn workflow(&self) -> Workflow {
        let loaded = self.load();
        loaded.workflow.unwrap_or_else(|| panic!("{}", listed(&loaded.diagnostics)))
    }

    /// Returns all diagnostics, one line each.
    pub(super) fn said(&self) -> String {
        listed(&self.load().diagnostics)
    }
}

pub(super) fn places() -> ProjectPaths {
    ProjectPaths {
        current: "/p".into(),
        root: "/p".into(),
        user: Some("/home/me/.config/saihai".into()),
        home: Some("/home/me".into()),
    }
}

/// Formats diagnostics as `error piece/unknown-key 3:5 message (hint)`, one line each.
pub(super) fn listed(diagnostics: &Diagnostics) -> String {
    let line = |diagnostic: &crate::Diagnostic| {
        let place = diagnostic.location.as_ref().map(|location| {
            let name =
                location.file.name().strip_prefix(".takt/pieces/t.yaml").map_or(location.file.name(), |_| "");
            let at = location.start().map_or(String::new(), |at| format!("{}:{}", at.line, at.column));
            format!(" {name}{at}")
        });
        let hint = diagnostic.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let place = place.unwrap_or_default();
        format!("{} {}{place} {}{hint}", diagnostic.severity.name(), diagnostic.code, diagnostic.message)
    };
    diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns a piece with one movement `m` and these extra lines, indented by four spaces.
pub(super) fn movement(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("name: t\nmovements:\n  - name: m\n{lines}")
}

/// Returns a piece with one movement, these lines, and a rule that completes.
pub(super) fn with_rule(lines: &str) -> String {
    movement(&format!("{lines}\nrules: [{{condition: done, next: COMPLETE}}]"))
}

pub(super) fn stage<'w>(workflow: &'w Workflow, id: &str) -> &'w Stage {
    workflow.stages.get(id).unwrap_or_else(|| panic!("no stage {id}"))
}

pub(super) fn turn<'w>(workflow: &'w Workflow, id: &str) -> &'w Turn {
    &stage(workflow, id).turns()[0]
}

/// Values of a run for rendering prompts in tests. Others are absent.
pub(super) const VALUES: [(&str, &str); 8] = [
    ("Task", "Fix the login"),
    ("Iteration", "2"),
    ("MaxIterations", "10"),
    ("Visits", "1"),
    ("WorkingDirectory", "/p"),
    ("ReportDirectory", "/p/.takt/reports/r"),
    ("Previous", "It is broken."),
    ("Combined", "Done, I think."),
];

/// Renders a prompt with these values.
pub(super) fn render(prompt: &Prompt, values: &[(&str, &str)]) -> String {
    let sections = prompt.sections.iter().filter_map(|section| render_section(section, values));
    match prompt.join {
        Join::AsIs => sections.collect(),
        Join::Paragraphs => {
            let trimmed: Vec<String> = sections.map(|text| text.trim().to_owned()).collect();
            let kept: Vec<String> = trimmed.into_iter().filter(|text| !text.is_empty()).collect();
            format!("{}\n", kept.join("\n\n"))
        }
    }
}

pub(super) fn render_section(section: &PromptSection, values: &[(&str, &str)]) -> Option<String> {
    let value = |variable: &Variable| {
        let name = format!("{variable:?}");
        values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    };
    let filled = section.body.iter().any(|part| match part {
        PromptPart::Value(variable, _) => value(variable).is_some(),
        PromptPart::Fixed(_) => false,
    });
    if section.when == SectionCondition::Filled && !filled {
        return None;
    }
    let mut text = String::new();
    for part in &section.body {
        match part {
            PromptPart::Fixed(Text::Inline(fixed)) => text.push_str(fixed),
            PromptPart::Fixed(Text::Blob { .. }) => panic!("a lowered text is inline"),
            PromptPart::Value(variable, ValueForm::Bullets) => {
                let items = value(variable).unwrap_or_default().split('|').filter(|item| !item.is_empty());
                let items: Vec<String> =
                    items.map(|item| format!("- {}", item.replace('\n', "\n  "))).collect();
                text.push_str(&items.join("\n"));
            }
            PromptPart::Value(variable, _) => text.push_str(value(variable).unwrap_or_default()),
        }
    }
    Some(text)
}

pub(super) const CONTINUE: SessionDefault = SessionDefault::Continue;
