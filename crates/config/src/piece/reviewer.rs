//! Review agents that movements name (P-61).

use saihai_model::ProviderName;

use super::assignment::Assignment;
use super::read::Piece;
use crate::review::{self, LoadResult, Reviewer};
use crate::{Diagnostics, Language, Located, Places, Settings, Source, quoted};

/// Review agents of the project. Loaded only if a movement names one.
#[derive(Debug)]
pub(super) struct Reviewers {
    loaded: LoadResult,
    pub(super) language: Language,
    pub(super) notes: Vec<String>,
}

impl Reviewers {
    /// Loads the agents a piece names, and completes the provider and model of its movements.
    pub(super) fn find(
        piece: &mut Piece,
        language: Language,
        (source, places): (&dyn Source, &Places),
        settings: &Settings,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let mut reviewers = Self { loaded: LoadResult::default(), language, notes: Vec::new() };
        let mut named: Vec<_> =
            piece.movements.iter_mut().flat_map(|movement| movement.assignments_mut()).collect();
        named.retain(|(_, assignment)| assignment.reviewer.is_some());
        if named.is_empty() {
            return reviewers;
        }
        match review::load(source, places, language) {
            Ok(loaded) => reviewers.loaded = loaded,
            Err(refused) => diagnostics.append(refused),
        }
        for (name, assignment) in named {
            reviewers.complete(name, assignment, settings, diagnostics);
        }
        reviewers
    }

    /// Returns the agent that a movement names, if it exists.
    pub(super) fn of<'a>(&'a self, assignment: &Assignment, settings: &'a Settings) -> Option<Reviewer<'a>> {
        let name = &assignment.reviewer.as_ref()?.value;
        let agent = self.loaded.agents.iter().find(|agent| agent.definition.name == *name)?;
        Some(Reviewer { definition: &agent.definition, settings, language: self.language })
    }

    fn complete(
        &mut self,
        movement: &Located<String>,
        assignment: &mut Assignment,
        settings: &Settings,
        diagnostics: &mut Diagnostics,
    ) {
        let Some(reviewer) = self.of(assignment, settings) else {
            return self.say_unknown(assignment, diagnostics);
        };
        let own: Option<ProviderName> =
            assignment.provider.as_ref().map(|provider| provider.value.as_str().into());
        let named = reviewer.named(own.as_ref(), assignment.model.as_deref());
        if assignment.provider.is_none() {
            let provider =
                named.provider.map(|provider| Located::new(provider.to_string(), movement.at.clone()));
            assignment.provider = provider;
        }
        assignment.model = named.model;
        self.notes.extend(named.note);
    }

    fn say_unknown(&self, assignment: &Assignment, diagnostics: &mut Diagnostics) {
        let Some(name) = &assignment.reviewer else { return };
        let known = self.loaded.agents.iter().map(|agent| agent.definition.name.as_str());
        let hint = diagnostics.suggest(&name.value, known);
        let message = format!("no review agent is named {}", quoted(&name.value));
        let diagnostic = name.error("unknown-reviewer", message).label("no review agent has this name");
        diagnostics.push(diagnostic.maybe_hint(hint));
        // The agent's file may exist but have errors.
        for error in &self.loaded.errors {
            diagnostics.append(error.diagnostics.clone());
        }
    }
}
