//! Explains the exit of each stage.

use std::collections::BTreeMap;

use saihai_judge::JudgeAnswer;
use saihai_model::{
    AnsweredBy, By, CallId, Choice, Destination, Exit, ExpectedReply, Json, Label, Moment, NearMiss, Outcome,
    ProgramExit, Purpose, Reading, Remark, Replied, RoundPosition, RuleCondition, Stage, StageId,
    StallConsequence, StallEvidence, Text, Topic, TreeFact, TreeGap, TurnId, Verdict, VerdictChannel,
    VerdictToolProblem, Watch, Workflow,
};
use serde::Serialize;

use crate::run_view::{NoteKind, NoteView};
use crate::{CallView, ExitView, PersonNoteView, RoundView, RunView, VisitView};

/// An exit of a stage, with its explanation.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    pub seq: u64,
    pub at: Moment,
    pub stage: StageId,
    pub visit: u32,
    pub round: u32,
    pub iteration: u32,
    /// Number of entries of the stage in a row.
    pub consecutive: u32,
    pub by: By,
    pub rule: Option<usize>,
    pub topic: Option<Topic>,
    /// Label of each turn, in order.
    pub labels: Vec<Option<Label>>,
    pub to: Destination,
    /// Turns that decided, in order, each with its own words.
    pub decisive: Vec<DecisiveTurn>,
    /// Evidence turn by turn, then for the exit's own question, then for overrides.
    pub evidence: Vec<Evidence>,
}

/// A turn that decided an exit, and the reason in its own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecisiveTurn {
    /// Absent if the stage has only one turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// Exit of its program, if it asked no agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<ProgramExit>,
    /// Quotation of its reply, or the text of a person's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quotation: Option<String>,
    /// Way in which its label arrived; absent for text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<VerdictChannel>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// A status tag of a reply.
    Tag {
        turn: Option<TurnId>,
        /// Tag number; `None` is the tag for "none of these".
        number: Option<usize>,
        /// Line of the reply, from 1.
        line: u32,
    },
    /// A verdict by the verdict tool. It counts more than the text.
    Verdict {
        turn: Option<TurnId>,
        label: Option<Label>,
        findings: Vec<String>,
        /// Number of valid calls; the last one counts.
        calls: u32,
        /// Label of a tag in the text that names another rule.
        tagged: Option<Label>,
    },
    /// The verdict tool gave no verdict, so the text or a judge decided.
    Degraded {
        turn: Option<TurnId>,
        problem: VerdictToolProblem,
    },
    /// A status tag in code or a quotation that names another rule. It does not count.
    QuotedTag {
        turn: Option<TurnId>,
        number: Option<usize>,
        line: u32,
    },
    /// A question and its answer.
    Question {
        #[serde(skip)]
        call: CallId,
        /// Turn in question; absent for the question of the exit.
        turn: Option<TurnId>,
        question: Text,
        answer: Text,
        number: Option<usize>,
        /// Value in the answer, if a form was requested.
        value: Option<Json>,
        /// True if the answer was unreadable. The question's default then applies.
        unreadable: bool,
    },
    WrongOutput {
        violations: Vec<String>,
    },
    Published {
        topic: Topic,
        /// Line of the reply, from 1.
        line: u32,
        message: Option<String>,
        /// True if the run follows this event.
        leads: bool,
    },
    /// The end of a program.
    Program {
        turn: Option<TurnId>,
        /// Command line, as typed in a shell.
        command: String,
        exit: ProgramExit,
        /// Last line of its output that is not blank.
        last_line: Option<String>,
    },
    EndWord {
        word: String,
    },
    /// Events that a closing word still lacked.
    Refused {
        missing: Vec<Topic>,
    },
    /// A published topic that did not follow its definition.
    Remarked {
        topic: Topic,
        remark: Remark,
    },
    /// A near miss of a directive.
    NearMiss {
        what: NearMiss,
    },
    /// A note of a person that prompts of the stage showed.
    Note {
        number: u32,
        text: String,
    },
    Answer {
        by: AnsweredBy,
        label: Label,
        text: Option<String>,
    },
    /// A proof of a reply.
    Proof {
        name: String,
        holds: bool,
        found: Option<String>,
    },
    Monitor {
        /// Index of the monitor in the definition.
        monitor: usize,
        count: u32,
        /// Watched stages, if it watches a cycle.
        cycle: Vec<StageId>,
        /// Label that the exit would have used.
        overrode: Option<Label>,
    },
    /// The cycle makes no progress.
    Stalled {
        then: StallConsequence,
        #[serde(flatten)]
        evidence: StallEvidence,
    },
    /// Detectors that need the files are silent. Only one exit says so.
    FilesNotCompared {
        reason: TreeGap,
    },
}

impl RunView {
    /// Returns every exit with its evidence, in order.
    pub fn transitions(&self, workflow: &Workflow) -> Vec<Transition> {
        let mut told: Vec<Transition> = Vec::new();
        let mut pending: Vec<Evidence> = Vec::new();
        let mut notes = self.notes.iter().peekable();
        for (visit, round) in self.rounds() {
            let Some(exit) = &round.exit else { continue };
            while let Some(note) = notes.next_if(|note| note.seq < exit.seq) {
                attach(note, workflow, &mut told, &mut pending);
            }
            let mut evidence = self.evidence(workflow, &visit.stage, round, &exit.verdict);
            evidence.append(&mut pending);
            mark_leading(&mut evidence, exit.verdict.topic.as_ref());
            let decisive = self.decisive_turns(workflow, &visit.stage, round, &exit.verdict);
            told.push(transition(visit, round, exit, decisive, evidence));
        }
        notes.for_each(|note| attach(note, workflow, &mut told, &mut pending));
        say_gaps_once(&mut told);
        told
    }

    /// Returns the turns that decided an exit: all of a stage, unless a rule looks for one with a label.
    pub fn decisive_turns(
        &self,
        workflow: &Workflow,
        stage: &StageId,
        round: &RoundView,
        verdict: &Verdict,
    ) -> Vec<DecisiveTurn> {
        let definition = workflow.stage(stage);
        let turns = definition.map_or(&[][..], Stage::turns);
        let wanted = match (definition.map(|stage| &stage.exit), verdict.rule) {
            (Some(Exit::Rules { rules, .. }), Some(rule)) => match rules.get(rule).map(|rule| &rule.when) {
                Some(RuleCondition::Any(labels)) => Some(labels),
                _ => None,
            },
            _ => None,
        };
        let mut words: BTreeMap<usize, String> = BTreeMap::new();
        let mut exits: BTreeMap<usize, ProgramExit> = BTreeMap::new();
        let mut channels: BTreeMap<usize, VerdictChannel> = BTreeMap::new();
        for call in self.calls_of(round) {
            // A correction repairs only the form of the reply before it.
            if let (RoundPosition::Main(index), Some(reply)) = (call.place, call.reply()) {
                exits.extend(reply.reading.exit.map(|exit| (index, exit)));
                channels.extend(reply.reading.channel.map(|channel| (index, channel)));
                // The message of an event is written for the one who receives it.
                let mut events = reply.reading.events.iter().rev();
                let event = events.find(|event| Some(&event.topic) == verdict.topic.as_ref());
                let message = event.and_then(|event| event.message.as_ref());
                let quotation = message.unwrap_or(&reply.reading.quotation);
                if call.purpose == Some(Purpose::Work) || !quotation.is_empty() {
                    words.insert(index, quotation.clone());
                }
            }
            // A judge that gives a reason knows best why it decided so.
            if let (RoundPosition::Check(index), Some(reply)) = (call.place, call.reply())
                && !reply.reading.quotation.is_empty()
            {
                words.insert(index, reply.reading.quotation.clone());
            }
            if let Some(text) = call.answer.as_ref().and_then(|answer| answer.text.as_ref()) {
                words.insert(0, text.clone());
            }
        }
        let of = |index: usize| DecisiveTurn {
            turn: turns.get(index).filter(|_| turns.len() > 1).map(|turn| turn.id.clone()),
            label: verdict.labels.get(index).cloned().flatten(),
            exit: exits.get(&index).copied(),
            quotation: words.get(&index).filter(|words| !words.is_empty()).cloned(),
            channel: channels.get(&index).copied(),
        };
        let decides = |one: &&DecisiveTurn| {
            wanted.is_none_or(|wanted| one.label.as_ref().is_some_and(|label| wanted.contains(label)))
        };
        let all: Vec<DecisiveTurn> = (0..turns.len().max(1)).map(of).collect();
        let decisive: Vec<DecisiveTurn> = all.iter().filter(decides).cloned().collect();
        if decisive.is_empty() { all } else { decisive }
    }

    /// Returns the notes of a person that prompts of a round show.
    fn notes_in(&self, round: &RoundView) -> impl Iterator<Item = &PersonNoteView> {
        let calls = self.calls_of(round);
        let is_in = |call: &CallId| calls.iter().any(|one| one.id == *call);
        self.person_notes.iter().filter(move |note| note.shown_in.iter().any(is_in))
    }

    /// Collects notes of a person, evidence turn by turn, then evidence for the exit's own question.
    fn evidence(
        &self,
        workflow: &Workflow,
        stage: &StageId,
        round: &RoundView,
        verdict: &Verdict,
    ) -> Vec<Evidence> {
        let mut by_place: BTreeMap<RoundPosition, Vec<Evidence>> = BTreeMap::new();
        for call in self.calls_of(round) {
            if let Some(evidence) = evidence_of(workflow, stage, call) {
                by_place.insert(call.place, evidence);
            }
        }
        // An invalid output explains an exit only if it decided it.
        let decides =
            |one: &Evidence| verdict.by == By::Output || !matches!(one, Evidence::WrongOutput { .. });
        let notes = self
            .notes_in(round)
            .map(|note| Evidence::Note { number: note.number, text: note.note.text.clone() });
        notes.chain(by_place.into_values().flatten().filter(decides)).collect()
    }
}

fn transition(
    visit: &VisitView,
    round: &RoundView,
    exit: &ExitView,
    decisive: Vec<DecisiveTurn>,
    evidence: Vec<Evidence>,
) -> Transition {
    let verdict = &exit.verdict;
    Transition {
        seq: exit.seq,
        at: exit.at,
        stage: visit.stage.clone(),
        visit: visit.visit,
        round: round.round,
        iteration: round.iteration,
        consecutive: visit.consecutive,
        by: verdict.by,
        rule: verdict.rule,
        topic: verdict.topic.clone(),
        labels: verdict.labels.clone(),
        to: verdict.to.clone(),
        decisive,
        evidence,
    }
}

/// Monitors that watch exits explain the previous exit; other notes explain the next one.
fn attach(note: &NoteView, workflow: &Workflow, told: &mut [Transition], pending: &mut Vec<Evidence>) {
    match &note.kind {
        NoteKind::Refused { missing } => pending.push(Evidence::Refused { missing: missing.clone() }),
        // The decision follows the exit that it belongs to.
        NoteKind::Stalled { evidence, then } => {
            let stalled = Evidence::Stalled { then: *then, evidence: evidence.clone() };
            match told.last_mut() {
                Some(exited) => exited.evidence.push(stalled),
                None => pending.push(stalled),
            }
        }
        NoteKind::Remarked { topic, remark } => {
            pending.push(Evidence::Remarked { topic: topic.clone(), remark: *remark });
        }
        NoteKind::Alarm { monitor, count, overrode } => {
            let watch = workflow.monitors.get(*monitor).map(|monitor| &monitor.watches);
            let cycle = match watch {
                Some(Watch::Cycle { stages, .. }) => stages.clone(),
                Some(Watch::Silent { .. } | Watch::Same { .. } | Watch::SelfEntries { .. }) | None => {
                    Vec::new()
                }
            };
            let alarm =
                Evidence::Monitor { monitor: *monitor, count: *count, cycle, overrode: overrode.clone() };
            let watches_exits = matches!(watch, Some(Watch::Silent { .. } | Watch::Same { .. }));
            match told.last_mut().filter(|_| watches_exits) {
                Some(exited) => exited.evidence.push(alarm),
                None => pending.push(alarm),
            }
        }
    }
}

/// Keeps the third mention of each reason why files are not compared: no detector could have fired before.
fn say_gaps_once(told: &mut [Transition]) {
    let mut times: BTreeMap<&'static str, u32> = BTreeMap::new();
    for transition in told {
        transition.evidence.retain(|evidence| match evidence {
            Evidence::FilesNotCompared { reason } => {
                let times = times.entry(reason.code()).or_default();
                *times += 1;
                *times == 3
            }
            _ => true,
        });
    }
}

fn evidence_of(workflow: &Workflow, stage: &StageId, call: &CallView) -> Option<Vec<Evidence>> {
    if let Some(answer) = &call.answer {
        let (by, label, text) = (answer.by, answer.label.clone(), answer.text.clone());
        return Some(vec![Evidence::Answer { by, label, text }]);
    }
    let turn = |index: usize| workflow.stage(stage)?.turns().get(index).map(|turn| turn.id.clone());
    match call.place {
        RoundPosition::Main(index) => {
            let ran = program(workflow, call, index);
            let reply = call.reply()?;
            let choice =
                workflow.stage(stage).and_then(|stage| stage.turns().get(index)?.reads.choice.as_ref());
            let verdict = verdict(&reply.reading, turn(index), choice);
            let gap = match &reply.tree {
                Some(TreeFact::Unknown(reason)) => Some(Evidence::FilesNotCompared { reason: *reason }),
                Some(TreeFact::Seen(_)) | None => None,
            };
            let said = said(&reply.reading, turn(index));
            Some(ran.into_iter().chain(verdict).chain(said).chain(gap).collect())
        }
        RoundPosition::Check(index) => call.reply().map(|reply| question(workflow, call, reply, turn(index))),
        RoundPosition::Exit => call.reply().map(|reply| question(workflow, call, reply, None)),
        RoundPosition::Proof(index) => proof(workflow, stage, index, call).map(|proof| vec![proof]),
        _ => None,
    }
}

fn program(workflow: &Workflow, call: &CallView, index: usize) -> Option<Evidence> {
    let turn = workflow.stage(&call.id.stage)?.turns().get(index)?;
    let reading = &call.reply()?.reading;
    Some(Evidence::Program {
        turn: Some(turn.id.clone()),
        command: turn.program.as_ref()?.typed(),
        exit: reading.exit?,
        last_line: reading.last_line().map(str::to_owned),
    })
}

fn proof(workflow: &Workflow, stage: &StageId, index: usize, call: &CallView) -> Option<Evidence> {
    let Outcome::Done { label, output } = &call.performed.last()?.outcome else { return None };
    let name = workflow.stage(stage)?.proofs().nth(index)?.name.clone();
    let found = output.get("output").and_then(Json::as_str).filter(|found| !found.is_empty());
    let holds = label.as_ref().is_some_and(|label| label.as_str() == "ok");
    Some(Evidence::Proof { name, holds, found: found.map(str::to_owned) })
}

fn question(workflow: &Workflow, call: &CallView, reply: &Replied, turn: Option<TurnId>) -> Vec<Evidence> {
    let unreadable = match workflow.wanted(&call.id.stage, call.place) {
        Some(ExpectedReply::Answer(choice, question)) => {
            saihai_judge::answered(choice, question, &reply.reading) == JudgeAnswer::Unreadable
        }
        Some(ExpectedReply::Work(_)) | None => false,
    };
    let quoted: Vec<Evidence> = quoted_tags(&reply.reading, turn.as_ref()).collect();
    let question = Evidence::Question {
        call: call.id.clone(),
        turn,
        question: call.prompt().cloned().unwrap_or_else(|| Text::from("")),
        answer: reply.text.clone(),
        number: reply.reading.tag.as_ref().and_then(|tag| tag.number),
        value: reply.reading.output.clone(),
        unreadable,
    };
    std::iter::once(question).chain(quoted).collect()
}

/// Marks the event that the run follows. Only the last event of a reply qualifies, and only if the verdict used it. An
/// event out of scope, or next to an accepted closing word, does not.
fn mark_leading(evidence: &mut [Evidence], led: Option<&Topic>) {
    let last = evidence.iter_mut().rev().find_map(|one| match one {
        Evidence::Published { topic, leads, .. } => Some((topic, leads)),
        _ => None,
    });
    if let Some((topic, leads)) = last {
        *leads = led == Some(&*topic);
    }
}

/// Returns the verdict by the verdict tool, or the reason why there is none.
fn verdict(reading: &Reading, turn: Option<TurnId>, choice: Option<&Choice>) -> Option<Evidence> {
    let label = |number: usize| {
        let offer = choice?.options.iter().find(|offer| offer.number == number)?;
        Some(offer.label.clone())
    };
    if let Some(problem) = &reading.degraded {
        return Some(Evidence::Degraded { turn, problem: problem.clone() });
    }
    let verdict = reading.verdict.as_ref()?;
    let tagged = reading.tag.as_ref().and_then(|tag| tag.number).filter(|number| *number != verdict.number);
    Some(Evidence::Verdict {
        turn,
        label: label(verdict.number),
        findings: verdict.findings.clone(),
        calls: verdict.calls,
        tagged: tagged.and_then(label),
    })
}

/// Collects the directions in a reply to a turn's work.
fn said(reading: &Reading, turn: Option<TurnId>) -> Vec<Evidence> {
    let quoted: Vec<Evidence> = quoted_tags(reading, turn.as_ref()).collect();
    let tag = reading.tag.as_ref().map(|tag| Evidence::Tag { turn, number: tag.number, line: tag.line });
    let events = reading.events.iter().map(|event| Evidence::Published {
        topic: event.topic.clone(),
        line: event.line,
        message: event.message.clone(),
        leads: false,
    });
    let word = reading.end_word.iter().map(|word| Evidence::EndWord { word: word.clone() });
    let misses = reading.near_misses.iter().map(|what| Evidence::NearMiss { what: what.clone() });
    let violations = reading.violations.clone();
    let wrong = (!violations.is_empty()).then_some(Evidence::WrongOutput { violations });
    tag.into_iter().chain(quoted).chain(events).chain(word).chain(misses).chain(wrong).collect()
}

fn quoted_tags(reading: &Reading, turn: Option<&TurnId>) -> impl Iterator<Item = Evidence> {
    let tags = reading.quoted_tags.iter();
    tags.map(move |tag| Evidence::QuotedTag { turn: turn.cloned(), number: tag.number, line: tag.line })
}
