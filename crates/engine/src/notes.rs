//! Notes of a person to the agents. A note waits until a prompt of its stage is drafted, and becomes a section of it.

use saihai_model::{
    CallId, Decision, Draft, Effect, Join, PersonNote, Purpose, RoundPosition, Splice, StageId, ValueForm,
    Workflow,
};
use serde::{Deserialize, Serialize};

use crate::launch::is_program;
use crate::run::{CallState, Run, Slot};

/// Notes that no prompt has shown yet.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonNotes {
    /// Number of notes so far, including shown and withdrawn ones.
    pub told: u32,
    pub waiting: Vec<NumberedNote>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedNote {
    /// Number in the run, from 1.
    pub number: u32,
    pub note: PersonNote,
}

impl PersonNotes {
    pub(crate) fn withdraw(&mut self, number: u32) {
        self.waiting.retain(|waiting| waiting.number != number);
    }

    /// Removes and returns the notes for a stage.
    fn take_for(&mut self, stage: &StageId) -> Vec<NumberedNote> {
        let is_due = |waiting: &NumberedNote| waiting.note.to.as_ref().is_none_or(|to| to == stage);
        let (due, later) = std::mem::take(&mut self.waiting).into_iter().partition(is_due);
        self.waiting = later;
        due
    }
}

impl Run {
    /// Returns the notes that no prompt has shown yet.
    pub fn waiting_notes(&self) -> &[NumberedNote] {
        &self.notes.waiting
    }

    /// Keeps a note. A turn that waits for another attempt is drafted again, because its prompt is the next one; a
    /// running turn only if the note says so.
    pub(crate) fn told(&mut self, workflow: &Workflow, note: &PersonNote, out: &mut Vec<Effect>) {
        self.notes.told = self.notes.told.saturating_add(1);
        self.notes.waiting.push(NumberedNote { number: self.notes.told, note: note.clone() });
        let Some(visit) = &mut self.visit else { return };
        if note.to.as_ref().is_some_and(|to| *to != visit.stage) {
            return;
        }
        for (place, slot) in &mut visit.round.slots {
            let is_work = |call: &CallState| {
                matches!(place, RoundPosition::Main(_))
                    && call.purpose == Some(Purpose::Work)
                    && !is_program(workflow, *place, call)
            };
            match slot {
                Slot::Busy(call) if note.now && is_work(call) => {
                    call.stopped_for_note = true;
                    out.push(Effect::Stop { call: call.id.clone() });
                }
                Slot::Waiting { call, .. } if is_work(call) => call.prompt = None,
                Slot::Busy(_) | Slot::Waiting { .. } | Slot::Open { .. } | Slot::Done(_) => {}
            }
        }
    }

    /// Adds the due notes to the prompt of a turn. All turns of a round that start after a note show it.
    pub(crate) fn show_notes(&mut self, call: &CallId, draft: &mut Draft, out: &mut Vec<Effect>) {
        let due = self.notes.take_for(&call.stage);
        let Some(visit) = &mut self.visit else { return };
        visit.round.notes.extend(due);
        let notes = &visit.round.notes;
        if notes.is_empty() {
            return;
        }
        draft.sections.extend(notes.iter().map(|note| section(&note.note, draft.join)));
        let numbers = notes.iter().map(|note| note.number).collect();
        out.push(Effect::Record(Decision::Noted { call: call.clone(), notes: numbers }));
    }
}

fn section(note: &PersonNote, join: Join) -> Vec<Splice> {
    let plain = |text: &str| Splice::Text(text.into(), ValueForm::Plain);
    let gap = match join {
        Join::AsIs => "\n\n",
        Join::Paragraphs => "",
    };
    vec![
        plain(gap),
        plain(&note.heading),
        plain("\n\n"),
        Splice::Text(note.text.as_str().into(), ValueForm::Quote),
    ]
}

impl CallState {
    /// Forgets the prompt of a call that was stopped for a note, so that the next attempt shows the note. Returns true
    /// for such a call.
    pub(crate) fn make_room_for_note(&mut self) -> bool {
        let was_stopped = std::mem::take(&mut self.stopped_for_note);
        if was_stopped {
            self.prompt = None;
        }
        was_stopped
    }
}
