//! Questions to a person, one at a time.

use saihai::delivery::Past;
use saihai::{Clock, Given};
use saihai_engine::work::Standing;
use saihai_model::{IssueNumber, WorkOutcome};

use super::Batch;
use crate::commands::work::answer::{Question, Typed, understood};
use crate::commands::work::over::Over;
use crate::driving::{Keyboard, Typed as Keyed};
use crate::error::Error;
use crate::time;

impl Batch<'_> {
    /// Asks the next question, if none is open.
    pub(super) fn ask_next(&mut self) {
        if self.questions.len() == 1 {
            self.show_first();
        }
    }

    /// Shows the first question, if there is one.
    fn show_first(&mut self) {
        let Some(text) = self.questions.front().map(Question::ask) else { return };
        self.take_frame_away();
        Keyboard::before_asking(&mut self.keyboard);
        self.streams.err.send(&text);
    }

    pub(super) async fn typed(&mut self, typed: Keyed) -> Result<(), Error> {
        let line = match typed {
            Keyed::Line(line) => line,
            Keyed::End => {
                // Stdin is closed, so runs that wait for a person keep waiting.
                self.keyboard = None;
                self.can_ask = false;
                self.streams.err.line("");
                for question in std::mem::take(&mut self.questions) {
                    self.leave(&question)?;
                }
                self.say_held();
                return Ok(());
            }
        };
        let Some(question) = self.questions.front() else { return Ok(()) };
        let given = match understood(question.wants, &line) {
            Typed::Given(given) => given,
            Typed::YesToAll => {
                self.yes.insert(question.gate.clone());
                Given::Yes(None)
            }
            Typed::Unclear => {
                let again = question.ask_again();
                self.streams.err.send(again);
                return Ok(());
            }
        };
        self.answer(given).await
    }

    /// Answers the first question, and all later ones covered by the same answer.
    pub(super) async fn answer(&mut self, given: Given) -> Result<(), Error> {
        let mut given = Some(given);
        while let Some(question) = self.questions.front() {
            let answer = match given.take() {
                Some(answer) => answer,
                None if self.yes.contains(&question.gate) => Given::Yes(None),
                None => break,
            };
            let Some(question) = self.questions.pop_front() else { break };
            // Another process may have answered the gate. The run then continues with that answer.
            drop(saihai::answer(&question.directory, answer, Clock::system()).await);
            self.standings.insert(question.number, Standing::Parked { until: Some(time::now()) });
            self.board.state(question.number, "answered");
        }
        self.show_first();
        self.say_held();
        Ok(())
    }

    /// Handles a timeout of the first question: its run continues, and the gate counts as timed out.
    pub(super) fn give_up_asking(&mut self) {
        let Some(question) = self.questions.pop_front() else { return };
        self.standings.insert(question.number, Standing::Parked { until: Some(time::now()) });
        self.take_frame_away();
        self.streams.err.line("");
        self.streams.note(&format!("{}: nobody has answered in time", question.number));
        self.show_first();
        self.say_held();
    }

    /// Drops a question without an answer.
    pub(super) fn leave(&mut self, question: &Question) -> Result<(), Error> {
        let past = Past::read(&question.directory)?;
        let over = past.as_ref().and_then(Past::came).map(Over::came);
        let over = over.unwrap_or_else(|| Over::told(WorkOutcome::Waiting, ""));
        self.end(question.number, &Over { past, ..over });
        Ok(())
    }

    /// Reports the runs that wait for a point in time when everything stops. The next invocation continues them.
    pub(super) fn leave_waiting(&mut self) {
        let is_waiting = |standing: &Standing| matches!(standing, Standing::Parked { until: Some(_) });
        let waiting = self.standings.iter().filter(|(_, standing)| is_waiting(standing));
        let waiting: Vec<IssueNumber> =
            waiting.map(|(number, _)| *number).filter(|number| !self.controls.contains_key(number)).collect();
        for number in waiting {
            let past = self.issues.get(&number).and_then(|issue| self.ground.past(issue).ok());
            let past = past.into_iter().flatten().find(|past| past.delivers);
            let over = past.as_ref().and_then(Past::came).map(Over::came);
            let over = over.unwrap_or_else(|| Over::told(WorkOutcome::Cancelled, "interrupted"));
            self.end(number, &Over { past, ..over });
        }
    }
}
