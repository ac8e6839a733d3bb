//! Events of issues: recording and printing them.

use saihai::delivery::Assignment;
use saihai::repository::Repository;
use saihai::{Clock, Given, open_gate};
use saihai_config::delivery::stage;
use saihai_engine::work::Standing;
use saihai_model::{
    Budget, FailureClass, Hold, IssueNumber, ProviderName, StatusLabel, WorkOutcome, work_exit_code,
};

use super::Batch;
use crate::commands::work::answer::Question;
use crate::commands::work::item::Told;
use crate::commands::work::over::Over;
use crate::commands::work::result::{self, ItemResult};
use crate::commands::work::seen::Seen;
use crate::commands::work::summary_file::show_in_actions;
use crate::error::{Error, exit};
use crate::terminal::visible_line;
use crate::time;

impl Batch<'_> {
    pub(super) async fn told(&mut self, told: Told) -> Result<(), Error> {
        match told {
            Told::Begun { number, run, control } => {
                if self.interrupts > 0 {
                    control.interrupt("ctrl-c");
                }
                self.controls.insert(number, control);
                if self.begun.insert(run.clone()) {
                    self.say(&format!("{number} run {run}"));
                }
            }
            Told::Seen { number, seen } => self.seen(number, &seen),
            Told::Over { number, over } => self.over(number, *over).await?,
            Told::Listed(listed) => self.listed(*listed),
        }
        Ok(())
    }

    pub(super) fn seen(&mut self, number: IssueNumber, seen: &Seen) {
        self.board.see(number, seen);
        match seen {
            Seen::Stage(stage) if self.live.is_none() => {
                self.say(&format!("{number} {}", visible_line(stage)))
            }
            Seen::FirstTurn => self.label(number, &[StatusLabel::Running]),
            // A run that only waits for checks does not block other issues.
            Seen::Waiting(Some(until)) => {
                // Release the unspent part of its reservation to other issues.
                let spent = self.board.cost(number);
                self.allotted.entry(number).and_modify(|part| {
                    *part = Budget {
                        usd: Some(spent.usd),
                        tokens: Some(spent.tokens),
                        turns: Some(spent.turns),
                        time: None,
                    };
                });
                self.standings.insert(number, Standing::Parked { until: Some(*until) });
            }
            // A run that starts now would hit the same quota (I-45).
            Seen::Exhausted(provider, until) => {
                self.paused.insert(provider.clone(), *until);
            }
            Seen::Waiting(None) => {
                self.standings.insert(number, Standing::Running);
            }
            Seen::Warning(warning) => {
                self.take_frame_away();
                self.streams.warning(&format!("{number}: {warning}"));
            }
            Seen::Note(reason) => {
                self.take_frame_away();
                self.say(&format!("{number} {reason}"));
            }
            Seen::Turn(cost) if cost.turns > 0 => self.refusals.forget(number),
            Seen::Stage(_) | Seen::Turn(_) => {}
        }
    }

    /// Handles an issue that is no longer driven, because it ended or paused.
    pub(super) async fn over(&mut self, number: IssueNumber, mut over: Over) -> Result<(), Error> {
        let begun = self.controls.remove(&number).is_some();
        self.settle(number, &mut over, begun);
        let hold = over.finish.as_ref().and_then(|finish| finish.hold.clone());
        let directory = over.past.as_ref().map(|past| past.directory.clone());
        if let (Some(hold), Some(directory), 0) = (hold, directory, self.interrupts) {
            match hold {
                Hold::Person(call) if self.yes.contains(&call.stage) => {
                    // If this answer is rejected, another one exists and the run continues with that.
                    drop(saihai::answer(&directory, Given::Yes(None), Clock::system()).await);
                    self.locks.extend(over.lock.take().map(|lock| (number, lock)));
                    self.standings.insert(number, Standing::Parked { until: Some(time::now()) });
                    return Ok(());
                }
                Hold::Person(call) if self.can_ask => {
                    let Ok((_, text, wants)) = open_gate(&directory) else {
                        self.end(number, &over);
                        return Ok(());
                    };
                    self.locks.extend(over.lock.take().map(|lock| (number, lock)));
                    self.standings.insert(number, Standing::Parked { until: None });
                    self.board.state(number, "waits for you");
                    let timeout = self.planned.ready(number).and_then(|(_, ready)| ready.work.gate_timeout);
                    let expires = timeout.map(|timeout| time::now().plus(timeout));
                    let gate = call.stage;
                    let question = Question { number, directory, gate, text, wants, expires };
                    self.questions.push_back(question);
                    self.ask_next();
                    return Ok(());
                }
                Hold::Until(at, class) => {
                    let provider =
                        over.past.as_ref().and_then(|past| past.state.provider()).map(ProviderName::from);
                    if let Some(provider) = provider.filter(|_| class == FailureClass::Quota) {
                        self.paused.insert(provider, at);
                    }
                    self.locks.extend(over.lock.take().map(|lock| (number, lock)));
                    self.standings.insert(number, Standing::Parked { until: Some(at) });
                    self.board.state(number, &format!("waits until {}", time::local_until(at, time::now())));
                    return Ok(());
                }
                Hold::Person(_)
                | Hold::Outside(..)
                | Hold::Provider(..)
                | Hold::Limit(_)
                | Hold::Budget
                | Hold::Storage(_)
                | Hold::Interrupted
                | Hold::Cancelling => {}
            }
        }
        self.end(number, &over);
        Ok(())
    }

    /// Handles the end of an issue's run.
    pub(super) fn end(&mut self, number: IssueNumber, over: &Over) {
        self.locks.remove(&number);
        let title = self.issues.get(&number).map(|issue| issue.title.clone()).unwrap_or_default();
        self.put_labels_right(number, over);
        self.say_edited(number, over);
        self.collect(number, &title, over);
    }

    /// Corrects the labels of an issue that was only reported, if they describe a finished run.
    pub(super) fn put_labels_right(&self, number: IssueNumber, over: &Over) {
        let completed = over.past.as_ref().is_some_and(|past| past.deeds.has(stage::FINALIZE));
        if let Some(labels) = over.came.outcome.labels(completed)
            && (over.acted || self.is_labelled_wrongly(number, labels))
        {
            self.label(number, labels);
        }
    }

    /// Returns true if the issue has a wrong status label. The responsible process may have been killed, or the run
    /// continued elsewhere. Labels that a person removed stay removed.
    fn is_labelled_wrongly(&self, number: IssueNumber, labels: &[StatusLabel]) -> bool {
        let work = self.planned.ready(number).map_or(&self.ground.work, |(_, ready)| &ready.work);
        let carried = self.issues.get(&number).map(|issue| issue.labels.as_slice()).unwrap_or_default();
        let carries = |label: &StatusLabel| {
            let name = label.name(&work.label_prefix);
            carried.iter().any(|one| one.eq_ignore_ascii_case(&name))
        };
        let exclusive = StatusLabel::ALL.iter().filter(|label| label.is_exclusive());
        exclusive.into_iter().any(|label| carries(label) && !labels.contains(label))
    }

    /// Reports that the issue changed after its run started (I-72).
    pub(super) fn say_edited(&mut self, number: IssueNumber, over: &Over) {
        let is_edited = over.past.as_ref().zip(self.issues.get(&number));
        if is_edited.is_some_and(|(past, issue)| past.assignment.text != Assignment::text_of(issue)) {
            self.take_frame_away();
            self.streams.note(&format!("{number} was edited since; its run keeps the text it began with"));
        }
    }

    /// Stores and prints the result of an issue.
    pub(super) fn collect(&mut self, number: IssueNumber, title: &str, over: &Over) {
        let mut result = ItemResult::new(number, title, over, self.spent_whole(number, over));
        result.hints.splice(0..0, self.to_take_in(over));
        self.standings.insert(number, Standing::Ended(over.came.outcome));
        self.board.state(number, result.outcome);
        // A new or continued run with the same result is reported again.
        let same = |one: &ItemResult| {
            (one.issue, one.outcome, &one.reason) == (number, result.outcome, &result.reason)
                && (&one.run, one.turns) == (&result.run, result.turns)
        };
        let is_news = !self.results.iter().any(same);
        // It now waits for something new, so its backoff starts over.
        if is_news && over.came.outcome == WorkOutcome::Waiting {
            self.refusals.forget(number);
        }
        self.results.retain(|one| one.issue != number);
        self.results.push(result.clone());
        if !is_news {
            return;
        }
        // Write the file before printing: a reader of the output must find the result there.
        if let Err(error) = self.files.write(&self.results, over.past.as_ref()) {
            self.streams.warning(&format!("what came of it could not be kept: {error}"));
        }
        let reason = result.reason.as_deref().map(|reason| format!(" ({})", visible_line(reason)));
        self.say(&format!("{number} {}{}", result.outcome, reason.unwrap_or_default()));
        if self.flags.flags.json {
            self.take_frame_away();
            // The files still contain the result if stdout is closed.
            result::write_item(&result, &mut self.streams.out).unwrap_or(());
        }
    }

    /// Returns the issue's total budget if its runs have used it up.
    fn spent_whole(&self, number: IssueNumber, over: &Over) -> Option<&Budget> {
        let issue = self.issues.get(&number).filter(|_| over.came.outcome == WorkOutcome::Limited)?;
        let is_spent = self.ground.left_for(issue).is_ok_and(|left| left.is_spent());
        is_spent.then_some(&self.ground.work.budget_per_issue)
    }

    /// Returns the command to run before resolving a local conflict by hand. The issue also conflicts with the merges
    /// that wait in `saihai/merge/BASE`.
    fn to_take_in(&self, over: &Over) -> Option<String> {
        let past = over.past.as_ref().filter(|past| past.assignment.forge.is_none())?;
        let base = &past.assignment.base.branch;
        let waits = over.came.outcome == WorkOutcome::Conflict
            && self.ground.repository.waits_beside(base).unwrap_or(false);
        waits.then(|| format!("take the merges before it in first: `git merge saihai/merge/{base}`"))
    }

    pub(super) fn label(&self, number: IssueNumber, labels: &[StatusLabel]) {
        let work = self.planned.ready(number).map_or(&self.ground.work, |(_, ready)| &ready.work);
        if work.labels {
            self.labeller.set(number, labels, &work.label_prefix);
        }
    }

    /// Prints all results and returns the exit code.
    pub(super) fn finish(mut self) -> Result<u8, Error> {
        self.take_frame_away();
        let order: Vec<IssueNumber> = self.plan.items.iter().map(|item| item.number).collect();
        let place = |number: IssueNumber| order.iter().position(|one| *one == number).unwrap_or(usize::MAX);
        self.results.sort_by_key(|result| (place(result.issue), result.issue));
        for warning in self.labeller.finish() {
            self.streams.warning(&visible_line(&warning));
        }
        if let Err(error) = show_in_actions(&self.ground.project, &self.results) {
            self.streams.warning(&format!("the summary of the step cannot be written: {error}"));
        }
        for result in &mut self.results {
            // Drop the hint if the base already contains the merges.
            let base =
                result.way.as_deref().and_then(|way| way.split_once("saihai/merge/")).map(|(_, base)| base);
            let waits = base.is_some_and(|base| self.ground.repository.waits_beside(base).unwrap_or(true));
            let diverged = base.is_some_and(|base| has_diverged(&self.ground.repository, base));
            let way = result.way.take().filter(|_| waits);
            result.way = way.map(|way| if diverged { way.replace("--ff-only ", "") } else { way });
        }
        let code = result::exit_code(&self.results);
        let stopped = (self.interrupts > 0).then_some(exit::INTERRUPTED);
        let code = work_exit_code(stopped.into_iter().chain([code]));
        if let Err(error) = self.files.conclude(&self.results, code) {
            self.streams.warning(&format!("what came of it could not be kept: {error}"));
        }
        if self.flags.flags.json {
            result::write_batch(&self.files.id, &self.results, code, &mut self.streams.out)?;
        } else {
            result::print(&self.results, code, &mut self.streams.out)?;
        }
        let nothing = self
            .results
            .iter()
            .all(|result| result.reason.as_deref() == Some("before") || result.word == WorkOutcome::Closed);
        if nothing && self.interrupts == 0 {
            self.streams.note("nothing to do");
        }
        Ok(code)
    }

    pub(super) fn say(&mut self, line: &str) {
        if self.flags.flags.json && self.live.is_none() {
            return;
        }
        // Do not write into the line that a person is typing.
        if !self.questions.is_empty() {
            self.held.push(line.to_owned());
            return;
        }
        match &mut self.live {
            Some(live) => live.keep(&[line.to_owned()], &mut self.streams.err),
            None => self.streams.err.line(line),
        }
    }

    /// Prints the output held back while a question was open.
    pub(super) fn say_held(&mut self) {
        if self.questions.is_empty() {
            for line in std::mem::take(&mut self.held) {
                self.say(&line);
            }
        }
    }

    pub(super) fn redraw(&mut self) {
        let Some(live) = self.live.as_mut().filter(|_| self.questions.is_empty()) else { return };
        let frame = self.board.frame(self.streams.err.columns(), self.streams.err.rows());
        live.draw(frame, &mut self.streams.err);
    }

    pub(super) fn take_frame_away(&mut self) {
        if let Some(live) = &mut self.live {
            live.clear(&mut self.streams.err);
        }
    }
}

/// Returns true if the base has commits that `saihai/merge/BASE` does not contain.
fn has_diverged(repository: &Repository, base: &str) -> bool {
    let tip = |branch: String| repository.tip(&format!("refs/heads/{branch}")).ok().flatten();
    let both = tip(format!("saihai/merge/{base}")).zip(tip(base.to_owned()));
    both.is_some_and(|(beside, base)| !repository.holds(&beside, &base).unwrap_or(true))
}
