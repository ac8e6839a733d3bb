//! Watches for cycles before the exit is judged, and for silent or identical rounds when a round is left.

use saihai_judge::Labelled;
use saihai_model::{
    Activity, Alarm, By, Decision, Effect, Hold, Label, Place, Stage, StageId, Watch, Workflow,
};

use crate::Run;
use crate::advance::Step;
use crate::verdict::Ruling;

impl Run {
    /// Adds the round to the history. The first monitor whose cycle is complete redirects the run.
    pub(crate) fn watch(&mut self, workflow: &Workflow, stage: &Stage, out: &mut Vec<Effect>) -> Step {
        let visit = self.visit.as_mut().expect("a step is only taken during a visit");
        visit.round.watched = true;
        if stage.aside || !matches!(stage.does, Activity::Turns { .. }) {
            return Step::Go;
        }
        let here = visit.stage.clone();
        self.counts.history.push(here);
        let keep = workflow.monitors.iter().map(|monitor| longest(&monitor.watches)).max().unwrap_or(0);
        let surplus = self.counts.history.len().saturating_sub(keep);
        self.counts.history.drain(..surplus);
        for (index, monitor) in workflow.monitors.iter().enumerate() {
            let Watch::Cycle { stages, times } = &monitor.watches else { continue };
            let count = repeats(&self.counts.history, stages);
            if count >= (*times).max(1) {
                self.counts.history.clear();
                self.carry.cycles = count;
                let overrode = self.tag_label(stage);
                out.push(Effect::Record(Decision::Alarm { monitor: index, count, overrode }));
                self.sound(workflow, stage, &monitor.then, out);
                break;
            }
        }
        Step::Go
    }

    fn sound(&mut self, workflow: &Workflow, stage: &Stage, alarm: &Alarm, out: &mut Vec<Effect>) {
        match alarm {
            Alarm::Go(target) => self.leave(workflow, stage, Ruling::new(By::Monitor, target.clone()), out),
            Alarm::Hold(word) => self.set_hold(Hold::Limit(word.clone())),
        }
    }

    /// Returns the exit's label, if it is known without a question.
    fn tag_label(&self, stage: &Stage) -> Option<Label> {
        match self.labelled(stage, 0) {
            Labelled::Found(label, _) if stage.turns().len() == 1 => Some(label),
            Labelled::Found(..) | Labelled::Missing | Labelled::Ask => None,
        }
    }

    /// Counts silent and identical rounds, and holds the run if there are too many in a row. The counts restart, so
    /// that a resume allows the full number again.
    pub(crate) fn watch_exit(&mut self, workflow: &Workflow, ruling: &Ruling, out: &mut Vec<Effect>) {
        if workflow.topics.is_none() {
            return;
        }
        self.counts.silent = if ruling.directive { 0 } else { self.counts.silent.saturating_add(1) };
        self.count_same(ruling);
        for (index, monitor) in workflow.monitors.iter().enumerate() {
            let (count, times) = match &monitor.watches {
                Watch::Silent { times } => (self.counts.silent, *times),
                Watch::Same { times } => (self.counts.same.as_ref().map_or(0, |(_, count)| *count), *times),
                Watch::Cycle { .. } | Watch::SelfEntries { .. } => continue,
            };
            if let (true, Alarm::Hold(word)) = (count >= times.max(1), &monitor.then) {
                out.push(Effect::Record(Decision::Alarm { monitor: index, count, overrode: None }));
                self.set_hold(Hold::Limit(word.clone()));
                self.count_anew();
            }
        }
    }

    /// Resets every counter that can hold a looping run. A resume thus allows the full number again, for any reason of
    /// the hold (H-49, H-52).
    pub(crate) fn count_anew(&mut self) {
        self.counts.silent = 0;
        self.counts.same = None;
        self.counts.activations.clear();
    }

    fn count_same(&mut self, ruling: &Ruling) {
        let said = ruling.event.as_ref().and_then(|event| {
            let visit = self.visit.as_ref()?;
            let digest = &visit.round.done(Place::Main(0))?.reading.digest;
            let message = event.message.as_deref().unwrap_or_default();
            Some(format!("{}\n{}\n{message}\n{digest}", visit.stage, event.topic))
        });
        self.counts.same = said.map(|said| match self.counts.same.take() {
            Some((before, count)) if before == said => (said, count.saturating_add(1)),
            Some(_) | None => (said, 1),
        });
    }
}

fn longest(watch: &Watch) -> usize {
    match watch {
        Watch::Cycle { stages, times } => stages.len().saturating_mul((*times).max(1) as usize),
        Watch::Silent { .. } | Watch::Same { .. } | Watch::SelfEntries { .. } => 0,
    }
}

/// Returns how many times in a row the history ends with a cycle.
fn repeats(history: &[StageId], cycle: &[StageId]) -> u32 {
    if cycle.is_empty() {
        return 0;
    }
    let whole = history.rchunks_exact(cycle.len()).take_while(|chunk| *chunk == cycle).count();
    u32::try_from(whole).unwrap_or(u32::MAX)
}
