//! Exits by published topic, the only open list of exits.

use std::collections::BTreeSet;

use saihai_model::{
    Again, By, Directives, EndWord, Place, Published, Reading, Remark, Stage, Target, Topic, Workflow,
};

use crate::Run;
use crate::verdict::Ruling;

impl Run {
    /// A closing word takes precedence over an event, and an event over silence.
    pub(crate) fn directed(
        &self,
        workflow: &Workflow,
        stage: &Stage,
        silent: &Again,
        default: Option<&Topic>,
    ) -> Ruling {
        let again = Target::Again(Box::new(silent.clone()));
        let Some(done) = self.round().done(Place::Main(0)) else { return Ruling::new(By::Directive, again) };
        let directives = stage.turns().first().and_then(|turn| turn.reads.directives.as_ref());
        let mut reasons = done.reading.near_misses.clone();
        let mut missing = Vec::new();
        if let Some(word) = closing(directives, &done.reading) {
            missing = self.lacking(word, directives, &done.reading);
            if missing.is_empty() {
                return Ruling { directive: true, ..Ruling::new(By::Directive, word.then.clone()) };
            }
            reasons.extend(missing.iter().map(missing_event));
        }
        let ruling = match done.reading.events.last() {
            Some(event) if out_of_scope(directives, event) => {
                reasons.push(format!("outside_scope: {}", event.topic));
                let remarks = vec![(event.topic.clone(), Remark::OutOfScope)];
                Ruling { remarks, ..Ruling::new(By::Directive, again) }
            }
            Some(event) => {
                let ruling = routed(workflow, event.clone());
                let undeclared = is_undeclared(directives, event);
                let undeclared = undeclared.then(|| (event.topic.clone(), Remark::Undeclared));
                let remarks = undeclared.into_iter().chain(ruling.remarks).collect();
                Ruling { directive: true, remarks, ..ruling }
            }
            None => match (default, self.visit.as_ref()) {
                // A second silent round, after a reminder, publishes the stage's default topic. That topic proves
                // nothing.
                (Some(topic), Some(visit)) if visit.agains > 0 => {
                    routed(workflow, Published { topic: topic.clone(), message: None, line: 0 })
                }
                (Some(_) | None, _) => Ruling::new(By::Directive, again),
            },
        };
        Ruling { reasons, missing, ..ruling }
    }

    /// Returns the missing events of a closing word. Events outside the publisher's scope do not count.
    fn lacking(&self, word: &EndWord, directives: Option<&Directives>, reading: &Reading) -> Vec<Topic> {
        let counted = reading.events.iter().filter(|event| !out_of_scope(directives, event));
        let now: BTreeSet<&Topic> = counted.map(|event| &event.topic).collect();
        let lacking = word
            .requires
            .iter()
            .filter(|topic| !self.counts.published.contains(*topic) && !now.contains(topic));
        lacking.cloned().collect()
    }
}

/// Formats the reason for a missing event of a closing word.
pub(crate) fn missing_event(topic: &Topic) -> String {
    format!("missing_event: {topic}")
}

fn closing<'a>(directives: Option<&'a Directives>, reading: &Reading) -> Option<&'a EndWord> {
    let said = reading.end_word.as_deref()?;
    directives?.words.iter().find(|word| word.word == said)
}

pub(crate) fn out_of_scope(directives: Option<&Directives>, event: &Published) -> bool {
    directives.is_some_and(|directives| directives.enforce) && is_undeclared(directives, event)
}

fn is_undeclared(directives: Option<&Directives>, event: &Published) -> bool {
    let declared = directives.and_then(|directives| directives.declared.as_ref());
    declared.is_some_and(|declared| !declared.contains(&event.topic))
}

fn routed(workflow: &Workflow, event: Published) -> Ruling {
    let Some(topics) = &workflow.topics else {
        return Ruling::new(By::Directive, Target::failed("no_topics"));
    };
    let (to, taken) = saihai_judge::route(topics, &event.topic);
    let orphaned = !taken && topics.has_orphans();
    let remarks = orphaned.then(|| (event.topic.clone(), Remark::Orphaned)).into_iter().collect();
    Ruling { event: Some(event), remarks, ..Ruling::new(By::Directive, Target::Stage(to.clone())) }
}
