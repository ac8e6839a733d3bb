//! The typed form of a piece: movements, loop monitors, and checks across its parts.

use std::collections::{HashMap, HashSet};

use saihai_model::{Permission, StallKind, VerdictMode};

use super::assignment::{
    ProviderReference, ReportContract, TurnAssignment, read_template, refuse_duplicates,
};
use super::call::{check_rules, read_call};
use super::program::{ProgramAssignment, refuse_without_program};
use super::rule::{MovementRule, RuleOwner, read_stalled};
use super::tables;
use super::takt_keys::{PieceDefaults, note_idle_keys};
use super::template::{PieceTemplate, TemplateSpeaker};
use super::texts::{Facet, PieceReader};
use crate::breaker::ProgressSetting;
use crate::{
    Cursor, Diagnostic, Diagnostics, Document, Fields, Located, Location, Severity, Value, ValueKind, quoted,
};

const ITERATIONS: u32 = 10;

/// A piece with the texts it names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// Declared language: `ja` or `en`.
    pub(super) language: Option<String>,
    pub(super) max_iterations: u32,
    pub(super) progress: ProgressSetting,
    /// Start of a run; `None` means the first movement.
    pub(super) initial: Option<Located<String>>,
    pub(super) movements: Vec<Movement>,
    pub(super) monitors: Vec<LoopMonitor>,
    /// Movements of each call that was inlined.
    pub(super) groups: Vec<Vec<String>>,
    /// True for a file with `steps:`. Its monitors act only on exits that lead back into their cycle.
    pub(super) newer: bool,
    /// True if a text mentions the report directory, so that prompts name it.
    pub(super) names_report_directory: bool,
}

impl Piece {
    /// Reads a document and the files it names. It reports all errors, not only the first.
    pub(super) fn read(document: &Document, reader: &mut PieceReader<'_>) -> Option<Self> {
        let fields = Fields::read(&document.cursor(), &tables::PIECE, &mut reader.diagnostics)?;
        for facet in Facet::ALL {
            for (name, text) in fields.map(facet.map()) {
                if let Some(text) = text.text() {
                    reader.define(facet, name, text);
                }
            }
        }
        if let Some(subworkflow) = fields.any("subworkflow") {
            Fields::read(&subworkflow, &tables::SUBWORKFLOW, &mut reader.diagnostics);
        }
        let defaults = PieceDefaults::read(&fields, reader);
        let mut piece = Self {
            name: read_name(&fields, &mut reader.diagnostics),
            description: fields.text("description").map(|text| text.value),
            language: fields.text("language").map(|text| text.value),
            max_iterations: read_iterations(&fields, &mut reader.diagnostics),
            progress: ProgressSetting::read(&fields, &mut reader.diagnostics).unwrap_or_default(),
            initial: fields.text("initial_movement"),
            movements: Movement::read_all(fields.list("movements"), MovementLevel::Top, reader),
            monitors: fields
                .list("loop_monitors")
                .iter()
                .filter_map(|item| LoopMonitor::read(item, reader))
                .collect(),
            groups: Vec::new(),
            newer: fields.spelling("movements") == Some("steps"),
            names_report_directory: false,
        };
        for (_, assignment) in piece.movements.iter_mut().flat_map(Movement::assignments_mut) {
            defaults.apply(assignment);
        }
        piece.check_names(&mut reader.diagnostics);
        piece.check_monitors(&mut reader.diagnostics);
        let unused: Vec<Diagnostic> = reader.unused().collect();
        reader.diagnostics.extend(unused);
        Some(piece)
    }

    /// Reports names of movements that do not exist.
    fn check_names(&self, diagnostics: &mut Diagnostics) {
        let rules = self.movements.iter().flat_map(|movement| &movement.rules);
        let judged = self.monitors.iter().flat_map(|monitor| &monitor.judge.rules);
        let nexts: Vec<&Located<String>> =
            rules.chain(judged).filter_map(|rule: &MovementRule| rule.next.as_ref()).collect();
        let watched = self.monitors.iter().flat_map(|monitor| monitor.cycle.iter().chain(&monitor.ignored));
        let starts = self.initial.iter().chain(watched);
        let names: HashSet<&str> =
            self.movements.iter().map(|movement| movement.name.value.as_str()).collect();
        for (name, ends) in nexts.into_iter().map(|name| (name, true)).chain(starts.map(|name| (name, false)))
        {
            let is_end = ends && ENDS.contains(&name.value.as_str());
            if is_end || names.contains(name.value.as_str()) {
                continue;
            }
            let known = self.movements.iter().map(|movement| movement.name.value.as_str());
            let known = known.chain(ENDS.into_iter().filter(|_| ends));
            let end = end_meant_by(&name.value).filter(|_| ends).map(|end| format!("did you mean `{end}`?"));
            let hint = end.or_else(|| diagnostics.suggest(&name.value, known));
            let message = format!("movement {} does not exist", quoted(&name.value));
            let diagnostic = name.error("unknown-movement", message).label("no movement has this name");
            diagnostics.push(diagnostic.maybe_hint(hint));
        }
    }

    /// P-52: a cycle should end with the movement that fixes, not with the one that can complete.
    fn check_monitors(&self, diagnostics: &mut Diagnostics) {
        if self.newer {
            return;
        }
        for monitor in &self.monitors {
            let Some(last) = monitor.cycle.last() else { continue };
            let movement = self.movements.iter().find(|movement| movement.name.value == last.value);
            let completes =
                |rule: &&MovementRule| rule.next.as_ref().is_some_and(|next| next.value == "COMPLETE");
            let Some(rule) = movement.and_then(|movement| movement.rules.iter().find(completes)) else {
                continue;
            };
            let message = format!("the judge would override that {} completes the run", quoted(&last.value));
            let diagnostic = last
                .warning("monitor-hides-complete", message)
                .label("the judge is asked right after this movement")
                .hint("end the cycle with the movement that fixes");
            diagnostics.push(diagnostic.also(&rule.at, "completes the run"));
        }
    }
}

fn read_name(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> String {
    let Some(name) = fields.text("name") else { return String::new() };
    if name.value.trim().is_empty() || name.value.chars().any(char::is_control) {
        diagnostics.push(name.error("bad-value", "the name of a piece must be one line that is not blank"));
    }
    name.value
}

fn read_iterations(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> u32 {
    let Some(value) = fields.any("max_iterations") else { return ITERATIONS };
    if value.node().as_text() == Some("infinite") {
        let spelling = fields.spelling("max_iterations").unwrap_or("max_iterations");
        let message = format!("`{spelling}: infinite` is not supported");
        diagnostics.push(value.error("not-supported", message).hint("the most is 100000"));
        return ITERATIONS;
    }
    if !value.must_be(&tables::ITERATIONS, diagnostics) {
        return ITERATIONS;
    }
    value.integer().and_then(|number| u32::try_from(number).ok()).unwrap_or(ITERATIONS)
}

const LONGEST_NAME: usize = 80;

/// Targets that end the run. Movements cannot have these names.
pub(super) const ENDS: [&str; 2] = ["COMPLETE", "ABORT"];

/// Returns the end that people mean by a word of other tools.
fn end_meant_by(word: &str) -> Option<&'static str> {
    match word.to_ascii_lowercase().as_str() {
        "complete" | "completed" | "done" | "end" | "exit" | "finish" | "finished" | "ok" | "success" => {
            Some("COMPLETE")
        }
        "abort" | "aborted" | "error" | "fail" | "failed" | "failure" | "stop" => Some("ABORT"),
        _ => None,
    }
}

/// A movement with the texts it names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Movement {
    pub(super) name: Located<String>,
    pub(super) description: Option<String>,
    pub(super) work: MovementWork,
    pub(super) sandbox_required: bool,
    /// Its own way of verdicts; absent: that of the settings.
    pub(super) verdict: Option<VerdictMode>,
    pub(super) rules: Vec<MovementRule>,
    /// False if the movement has errors. Findings about it would then be noise.
    pub(super) sound: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum MovementWork {
    One(Box<TurnAssignment>),
    /// A program runs, and no agent is asked.
    Program(Box<ProgramAssignment>),
    Parallel(Vec<Movement>),
    /// A call of another workflow, if it could be read. Its steps replace the call before the lowering.
    Call(Option<Box<Piece>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MovementLevel {
    Top,
    Sub,
}

impl Movement {
    /// Reads a list of movements. It reports and skips those without a name.
    pub(super) fn read_all<'d>(
        items: impl IntoIterator<Item = Cursor<'d>>,
        level: MovementLevel,
        reader: &mut PieceReader<'_>,
    ) -> Vec<Self> {
        let items = items.into_iter();
        let movements: Vec<Self> = items.filter_map(|item| Self::read(&item, level, reader)).collect();
        let mut seen: HashMap<&str, &Located<String>> = HashMap::new();
        for Self { name, .. } in &movements {
            if let Some(first) = seen.insert(&name.value, name) {
                let message = format!("two movements are named {}", quoted(&name.value));
                let diagnostic = name.error("duplicate-name", message).label("given again");
                reader.diagnostics.push(diagnostic.also(&first.at, "first given here"));
            }
        }
        movements
    }

    /// Returns the assignments for later completion.
    pub(super) fn assignments_mut(&mut self) -> Vec<(&Located<String>, &mut TurnAssignment)> {
        match &mut self.work {
            MovementWork::One(assignment) => vec![(&self.name, assignment.as_mut())],
            MovementWork::Program(_) | MovementWork::Call(_) => Vec::new(),
            MovementWork::Parallel(subs) => subs.iter_mut().flat_map(Self::assignments_mut).collect(),
        }
    }

    /// Returns itself, or its sub-movements.
    pub(super) fn parts(&self) -> Vec<&Self> {
        match &self.work {
            MovementWork::One(_) | MovementWork::Program(_) => vec![self],
            MovementWork::Parallel(subs) => subs.iter().collect(),
            MovementWork::Call(_) => Vec::new(),
        }
    }

    /// Returns the assignments of its agents: its own, or those of its sub-movements.
    pub(super) fn assignments(&self) -> Vec<(&Self, &TurnAssignment)> {
        match &self.work {
            MovementWork::One(assignment) => vec![(self, assignment.as_ref())],
            MovementWork::Program(_) | MovementWork::Call(_) => Vec::new(),
            MovementWork::Parallel(subs) => subs.iter().flat_map(Self::assignments).collect(),
        }
    }

    fn reports(&self) -> &[ReportContract] {
        match &self.work {
            MovementWork::One(assignment) => &assignment.reports,
            MovementWork::Program(program) => program.report.as_slice(),
            MovementWork::Parallel(_) | MovementWork::Call(_) => &[],
        }
    }

    fn read(item: &Cursor<'_>, level: MovementLevel, reader: &mut PieceReader<'_>) -> Option<Self> {
        let before = reader.diagnostics.len();
        let fields = Fields::read(item, &tables::MOVEMENT, &mut reader.diagnostics)?;
        let name = read_movement_name(&fields, &mut reader.diagnostics);
        let shown = name.as_ref().map_or("", |name| name.value.as_str());
        let runs_program =
            !fields.has("reviewer") && !fields.has("parallel") && (fields.has("run") || fields.has("shell"));
        let calls = is_call(&fields, level, &mut reader.diagnostics);
        let owner = match (level, fields.has("parallel"), fields.has("reviewer")) {
            _ if calls => RuleOwner::Call,
            (MovementLevel::Sub, _, _) if runs_program => RuleOwner::SubProgram,
            (MovementLevel::Top, _, _) if runs_program => RuleOwner::Program,
            (MovementLevel::Sub, _, true) => RuleOwner::SubReviewer,
            (MovementLevel::Sub, _, false) => RuleOwner::SubMovement,
            (MovementLevel::Top, true, _) => RuleOwner::Parallel,
            (MovementLevel::Top, false, true) => RuleOwner::Reviewer,
            (MovementLevel::Top, false, false) => RuleOwner::Movement,
        };
        let sandbox_required = fields.text("sandbox").is_some();
        let verdict = fields.text("verdict").and_then(|mode| VerdictMode::named(&mode.value));
        note_idle_keys(&fields, shown, reader);
        let mut work = if calls {
            MovementWork::Call(read_call(&fields, reader).map(Box::new))
        } else if fields.has("parallel") {
            MovementWork::Parallel(read_parallel(&fields, level, reader))
        } else if runs_program {
            MovementWork::Program(Box::new(ProgramAssignment::read(&fields, reader)))
        } else {
            refuse_beside_reviewer(&fields, &mut reader.diagnostics);
            if !fields.has("reviewer") {
                refuse_without_program(&fields, &mut reader.diagnostics);
            }
            let assignment = TurnAssignment::read(&fields, shown, reader);
            if let Some(gate) = assignment.command_gates.first().filter(|_| level == MovementLevel::Sub) {
                let message = "a command gate in a sub-movement is not supported";
                let hint = "add a movement with `shell:` behind the parallel one, and rules on `exit(0)`";
                reader.diagnostics.push(gate.at.error("not-supported", message).hint(hint));
            }
            MovementWork::One(Box::new(assignment))
        };
        if let MovementWork::Parallel(subs) = &mut work {
            subs.iter_mut().for_each(|sub| sub.sandbox_required |= sandbox_required);
        }
        let rules = fields.list("rules");
        if level == MovementLevel::Top
            && rules.is_empty()
            && (fields.is_missing("rules") || fields.is_right("rules"))
        {
            let message = format!("movement {} has no rules, so nothing can follow it", quoted(shown));
            let place = fields.key("rules").cloned().unwrap_or_else(|| fields.location());
            reader.diagnostics.push(place.error("missing-rules", message).hint("add at least one rule"));
        }
        let rules = MovementRule::read_all(&rules, owner, &mut reader.diagnostics);
        if calls {
            check_rules(&rules, reader);
        }
        let description = fields.text("description").map(|text| text.value);
        Some(Self {
            name: name?,
            description,
            work,
            sandbox_required,
            verdict,
            rules,
            sound: is_sound_since(&reader.diagnostics, before),
        })
    }
}

/// Returns true unless an error follows the first `before` diagnostics.
fn is_sound_since(diagnostics: &Diagnostics, before: usize) -> bool {
    let mut since = diagnostics.iter().skip(before);
    diagnostics.left_off() == 0 && !since.any(|diagnostic| diagnostic.severity == Severity::Error)
}

/// Returns true for a movement that calls another workflow.
fn is_call(fields: &Fields<'_>, level: MovementLevel, diagnostics: &mut Diagnostics) -> bool {
    let kind = fields.any("kind");
    let calls = match kind.as_ref().and_then(|kind| kind.node().as_text()) {
        Some("workflow_call") => true,
        Some("system") => {
            let place = kind.map_or_else(|| fields.location(), |kind| kind.location());
            diagnostics.push(place.error("not-supported", "`kind: system` is not supported"));
            false
        }
        _ => {
            if let Some(kind) = kind {
                kind.must_be(&ValueKind::OneOf(&["agent", "workflow_call"]), diagnostics);
            }
            false
        }
    };
    if calls && level == MovementLevel::Sub {
        diagnostics
            .push(fields.location().error("not-supported", "a call in a sub-movement is not supported"));
    }
    for name in ["call", "args"].into_iter().filter(|_| !calls) {
        if let Some(key) = fields.key(name) {
            let message = format!("`{name}` has no effect without `kind: workflow_call`");
            diagnostics.push(key.error("no-effect", message));
        }
    }
    calls
}

fn read_movement_name(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Located<String>> {
    let name = fields.text("name")?;
    let wrong = if name.value.trim().is_empty() {
        Some("must not be blank".to_owned())
    } else if ENDS.contains(&name.value.as_str()) {
        Some("is reserved for the end of a run".to_owned())
    } else if name.value.contains('/') || name.value.chars().any(char::is_control) {
        Some("must not contain `/` or control characters".to_owned())
    } else if name.value.chars().count() > LONGEST_NAME {
        Some(format!("must not be longer than {LONGEST_NAME} characters"))
    } else {
        None
    };
    if let Some(wrong) = wrong {
        diagnostics.push(name.error("bad-value", format!("the name {} {wrong}", quoted(&name.value))));
    }
    Some(name)
}

/// P-61: a review agent brings its own role, tools and prompt, so the movement must not set them.
fn refuse_beside_reviewer(fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    if !fields.has("reviewer") {
        return;
    }
    for key in fields.keys().filter(|key| !tables::REVIEWER_KEYS.contains(key)) {
        let place = fields.key(key).cloned().unwrap_or_else(|| fields.location());
        let spelling = fields.spelling(key).unwrap_or(key);
        let message =
            format!("`{spelling}` has no effect on a movement with `reviewer`: the review agent decides it");
        diagnostics.push(place.error("no-effect", message).hint("remove it"));
    }
}

fn read_parallel(fields: &Fields<'_>, level: MovementLevel, reader: &mut PieceReader<'_>) -> Vec<Movement> {
    let Some(value) = fields.any("parallel") else { return Vec::new() };
    if level == MovementLevel::Sub {
        let message = "a sub-movement cannot have `parallel` itself";
        reader.diagnostics.push(value.error("bad-value", message).hint("make it a separate movement"));
        return Vec::new();
    }
    for key in fields.keys().filter(|key| !tables::PARALLEL_KEYS.contains(key)) {
        let place = fields.key(key).cloned().unwrap_or_else(|| fields.location());
        let spelling = fields.spelling(key).unwrap_or(key);
        let message =
            format!("`{spelling}` has no effect on a movement with `parallel`: it asks no agent itself");
        let diagnostic = match tables::IDLE_PARALLEL_KEYS.contains(&key) {
            true => place.warning("no-effect", message),
            false => place.error("no-effect", message),
        };
        reader.diagnostics.push(diagnostic.hint("put it into the sub-movements"));
    }
    match &value.node().value {
        Value::Map(_) => {
            reader.diagnostics.push(value.error("not-supported", "`parallel` as a mapping is not supported"));
            return Vec::new();
        }
        Value::List(items) if items.is_empty() => {
            reader
                .diagnostics
                .push(value.error("bad-value", "`parallel` must have at least one sub-movement"));
            return Vec::new();
        }
        Value::List(_) => {}
        _ => {
            let kind = value.node().value.kind();
            let message = format!("`parallel` must be a list of sub-movements, not {kind}");
            reader.diagnostics.push(value.error("bad-type", message).label(kind));
            return Vec::new();
        }
    }
    let subs = Movement::read_all(value.items(), MovementLevel::Sub, reader);
    let reports = subs.iter().flat_map(Movement::reports);
    refuse_duplicates(reports, &mut reader.diagnostics);
    warn_of_parallel_edits(&subs, &mut reader.diagnostics);
    subs
}

fn warn_of_parallel_edits(subs: &[Movement], diagnostics: &mut Diagnostics) {
    let editing: Vec<&Located<String>> = subs
        .iter()
        .flat_map(Movement::assignments)
        .filter(|(_, work)| work.permission != Permission::ReadOnly)
        .map(|(movement, _)| &movement.name)
        .collect();
    if let [first, second, ..] = editing.as_slice() {
        let message = format!(
            "{} and {} may change files at the same time",
            quoted(&first.value),
            quoted(&second.value)
        );
        let diagnostic = second.warning("parallel-edits", message);
        diagnostics.push(diagnostic.also(&first.at, "may change files too"));
    }
}

const THRESHOLD: u32 = 3;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct LoopMonitor {
    /// Movements of the cycle, in order.
    pub(super) cycle: Vec<Located<String>>,
    /// The cycle for people and judges. A call has its own name there.
    pub(super) title: Vec<String>,
    /// Movements that the cycle may pass.
    pub(super) ignored: Vec<Located<String>>,
    /// Movements of each call in the cycle, the one in `cycle` first.
    pub(super) groups: Vec<Vec<String>>,
    /// Number of consecutive repetitions that triggers the judge.
    pub(super) threshold: u32,
    /// Detectors that trigger the judge instead of a number of repetitions.
    pub(super) detectors: Option<Vec<StallKind>>,
    pub(super) judge: LoopJudge,
    pub(super) at: Location,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct LoopJudge {
    pub(super) persona: Option<String>,
    pub(super) template: Option<Located<PieceTemplate>>,
    pub(super) rules: Vec<MovementRule>,
    pub(super) provider: Option<Located<String>>,
    pub(super) model: Option<String>,
}

impl LoopMonitor {
    /// Reads a loop monitor. Returns `None` without a judge or a cycle.
    pub(super) fn read(item: &Cursor<'_>, reader: &mut PieceReader<'_>) -> Option<Self> {
        let fields = Fields::read(item, &tables::MONITOR, &mut reader.diagnostics)?;
        let judge = fields.object("judge", &tables::JUDGE, &mut reader.diagnostics);
        let judge = judge.map(|judge| LoopJudge::read(&judge, reader));
        let cycle = fields.texts("cycle")?;
        Some(Self {
            title: cycle.iter().map(|name| name.value.clone()).collect(),
            ignored: fields.texts("ignore_steps").unwrap_or_default(),
            groups: Vec::new(),
            cycle,
            threshold: fields.count("threshold").map_or(THRESHOLD, |count| count.value),
            detectors: read_detectors(&fields, &mut reader.diagnostics),
            judge: judge?,
            at: fields.location(),
        })
    }

    /// Returns the name of the judge's stage.
    pub(super) fn name(&self) -> String {
        format!("judge({})", self.title.join(", "))
    }
}

fn read_detectors(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Vec<StallKind>> {
    let detectors = read_stalled(&fields.text("condition")?, diagnostics);
    if let Some(key) = fields.key("threshold") {
        let message = "`threshold` has no effect next to `condition`";
        diagnostics.push(key.warning("no-effect", message).label("remove it"));
    }
    detectors
}

impl LoopJudge {
    fn read(fields: &Fields<'_>, reader: &mut PieceReader<'_>) -> Self {
        let agent = fields.text("agent");
        let persona = agent.and_then(|agent| reader.resolve(Facet::Persona, &agent));
        let ProviderReference { provider, model } = ProviderReference::read(fields, &mut reader.diagnostics);
        Self {
            persona: persona.map(|passage| passage.text),
            template: read_template(fields, TemplateSpeaker::Judge, reader),
            rules: MovementRule::read_all(&fields.list("rules"), RuleOwner::Judge, &mut reader.diagnostics),
            provider,
            model,
        }
    }
}
