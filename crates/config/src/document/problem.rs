//! Parser errors without a file.

use std::sync::Arc;

use super::DEEPEST;
use crate::diagnostic::{Diagnostic, Diagnostics, DocumentPath, Location, SourceFile, Span, quoted};

/// A parser error. Boxed to keep the usual success results small.
#[derive(Debug)]
pub(super) struct Problem(Box<Content>);

#[derive(Debug)]
struct Content {
    slug: &'static str,
    span: Span,
    message: String,
    label: Option<String>,
    hint: Option<String>,
    first: Option<Span>,
}

impl Problem {
    pub(super) fn new(slug: &'static str, span: Span, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Box::new(Content { slug, span, message, label: None, hint: None, first: None }))
    }

    pub(super) fn syntax(span: Span, message: impl Into<String>) -> Self {
        Self::new("syntax", span, message)
    }

    pub(super) fn duplicate_key(key: &str, span: Span, first: Option<Span>) -> Self {
        let message = format!("the key {} is given twice", quoted(key));
        let mut problem =
            Self::new("duplicate-key", span, message).label("given again").hint("keep one of them");
        problem.0.first = first;
        problem
    }

    pub(super) fn too_deep(span: Span) -> Self {
        Self::new("too-large", span, format!("nested more than {DEEPEST} levels deep"))
    }

    pub(super) fn label(mut self, label: impl Into<String>) -> Self {
        self.0.label = Some(label.into());
        self
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    pub(super) fn diagnostic(self, file: &Arc<SourceFile>) -> Diagnostic {
        let Content { slug, span, message, label, hint, first } = *self.0;
        let at = |span| Location { file: Arc::clone(file), span: Some(span), path: DocumentPath::root() };
        let mut diagnostic = at(span).error(slug, message).maybe_hint(hint);
        diagnostic.label = label;
        match first {
            Some(span) => diagnostic.also(&at(span), "first given here"),
            None => diagnostic,
        }
    }
}

/// Recoverable parser errors, limited to the number that can be listed.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    pub(super) fn push(&mut self, problem: Problem) {
        if self.0.len() <= Diagnostics::MOST {
            self.0.push(problem);
        }
    }

    pub(super) fn into_vec(self) -> Vec<Problem> {
        self.0
    }
}
