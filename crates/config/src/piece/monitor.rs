//! Loop monitors: a cycle to watch, and a judge that decides how to continue (P-51).

use super::assignment::read_template;
use super::facet::Facet;
use super::rule::{Owner, Rule};
use super::tables;
use super::template::{Speaker, Template};
use super::texts::Texts;
use crate::{Cursor, Diagnostics, Fields, Located, Location};

const THRESHOLD: u32 = 3;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Monitor {
    /// Movements of the cycle, in order.
    pub(super) cycle: Vec<Located<String>>,
    /// Number of consecutive repetitions that triggers the judge.
    pub(super) threshold: u32,
    pub(super) judge: Judge,
    pub(super) at: Location,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judge {
    pub(super) persona: Option<String>,
    pub(super) template: Option<Located<Template>>,
    pub(super) rules: Vec<Rule>,
    pub(super) provider: Option<Located<String>>,
    pub(super) model: Option<String>,
}

impl Monitor {
    /// Reads a loop monitor. Returns `None` without a judge or a cycle.
    pub(super) fn read(
        item: &Cursor<'_>,
        texts: &mut Texts<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let fields = Fields::read(item, &tables::MONITOR, diagnostics)?;
        let judge = fields.object("judge", &tables::JUDGE, diagnostics);
        let judge = judge.map(|judge| Judge::read(&judge, texts, diagnostics));
        Some(Self {
            cycle: fields.texts("cycle")?,
            threshold: fields.count("threshold").map_or(THRESHOLD, |count| count.value),
            judge: judge?,
            at: fields.location(),
        })
    }

    /// Returns the name of the judge's stage.
    pub(super) fn name(&self) -> String {
        let cycle: Vec<&str> = self.cycle.iter().map(|name| name.value.as_str()).collect();
        format!("judge({})", cycle.join(", "))
    }
}

impl Judge {
    fn read(fields: &Fields<'_>, texts: &mut Texts<'_>, diagnostics: &mut Diagnostics) -> Self {
        let agent = fields.text("agent");
        let persona = agent.and_then(|agent| texts.resolve(Facet::Persona, &agent, diagnostics));
        Self {
            persona: persona.map(|passage| passage.text),
            template: read_template(fields, Speaker::Judge, texts, diagnostics),
            rules: Rule::read_all(&fields.list("rules"), Owner::Judge, diagnostics),
            provider: fields.text("provider"),
            model: fields.text("model").map(|model| model.value),
        }
    }
}
