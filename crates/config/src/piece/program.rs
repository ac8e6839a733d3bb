//! Movements that run a program instead of asking an agent (U-9), and those that run the checks of the settings.

use std::collections::{BTreeMap, BTreeSet};

use saihai_model::{
    CarriedWords, Choice, ExitCodeLabel, Label, LabelField, Method, Millis, Offer, Permission,
    ProgramCommand, ProgramExit, ProgramExitRange, Prompt, Reads, SessionPolicy, Turn, TurnId,
};

use super::assignment::{ReportContract, read_reports};
use super::exit;
use super::lower::{PieceLowering, report};
use super::read::{ENDS, Movement, MovementWork, Piece};
use super::rule::{MovementCondition, MovementRule};
use super::tables;
use super::texts::PieceReader;
use crate::lowering::fixed_section;
use crate::{Cursor, Diagnostics, Fields, Located, Options, Settings, Value, ValueKind, quoted};

/// Time limit of a program that sets none: that of an agent's turn.
const TIMEOUT: Millis = Millis::seconds(60 * 60);

/// A whole shell line that Saihai replaces by the checks of the settings.
pub(super) const CHECKS: &str = "{checks}";

/// Variables of templates that people may expect in a shell line.
const TEMPLATE_VARIABLES: [(&str, &str); 4] = [
    ("{task}", "{task}"),
    ("{previous_response}", "{previous_response}"),
    ("{report_dir}", "{report_dir}"),
    ("{report:", "{report:…}"),
];

/// The program of a movement.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProgramAssignment {
    pub(super) line: Located<ProgramLine>,
    timeout: Millis,
    env: BTreeMap<String, String>,
    directory: Option<String>,
    pub(super) report: Option<ReportContract>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ProgramLine {
    /// Program and arguments, without a shell.
    Arguments(Vec<String>),
    Shell(String),
    /// The checks of the settings. Without any, the movement is left out.
    Checks,
    /// It could not be read, which is already reported.
    Invalid,
}

impl ProgramAssignment {
    /// Reads the keys of a movement that runs a program.
    pub(super) fn read(fields: &Fields<'_>, reader: &mut PieceReader<'_>) -> Self {
        let own = if fields.has("run") { "run" } else { "shell" };
        for key in fields.keys().filter(|key| !tables::PROGRAM_KEYS.contains(key)) {
            let place = fields.key(key).cloned().unwrap_or_else(|| fields.location());
            let spelling = fields.spelling(key).unwrap_or(key);
            let message =
                format!("`{spelling}` has no effect on a movement with `{own}`: a program does the work");
            reader.diagnostics.push(place.error("no-effect", message).hint("remove it"));
        }
        let directory = fields.text("cwd").and_then(|path| inside(&path, &mut reader.diagnostics));
        Self {
            line: read_line(fields, &mut reader.diagnostics),
            timeout: fields.duration("timeout").map_or(TIMEOUT, |timeout| timeout.value),
            env: read_env(fields, &mut reader.diagnostics),
            directory,
            report: read_report(fields, reader),
        }
    }

    /// Returns the command, with the checks of the settings filled in.
    fn command(&self, settings: &Settings, definition: Option<&str>) -> ProgramCommand {
        let (argv, written) = match &self.line.value {
            ProgramLine::Arguments(argv) => (argv.clone(), definition),
            ProgramLine::Shell(line) => (shell(line), definition),
            ProgramLine::Checks => (shell(&settings.checks.line()), settings.checks.written.as_deref()),
            ProgramLine::Invalid => (Vec::new(), definition),
        };
        ProgramCommand {
            argv,
            env: self.env.clone(),
            directory: self.directory.clone(),
            written: written.map(str::to_owned),
        }
    }
}

fn shell(line: &str) -> Vec<String> {
    ["sh", "-c", line].map(str::to_owned).to_vec()
}

/// Refuses keys of programs on a movement that asks an agent.
pub(super) fn refuse_without_program(fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    for name in ["timeout", "env", "cwd"] {
        if let Some(key) = fields.key(name) {
            let message = format!("`{name}` has no effect on a movement that asks an agent");
            let hint = "it belongs to movements with `run` or `shell`";
            diagnostics.push(key.error("no-effect", message).hint(hint));
        }
    }
}

fn read_line(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Located<ProgramLine> {
    let (run, line) = (fields.any("run"), fields.any("shell"));
    if let (Some(run), Some(line)) = (fields.key("run"), fields.key("shell")) {
        let message = "`run` and `shell` both name the program of this movement";
        let diagnostic = line.error("program-conflict", message).label("given again");
        diagnostics.push(diagnostic.also(run, "first given here").hint("keep one of them"));
    }
    let read = match (&run, &line) {
        (Some(run), _) => read_arguments(run, diagnostics),
        (None, Some(line)) => read_shell(line, diagnostics),
        (None, None) => None,
    };
    let at = run.or(line).map_or_else(|| fields.location(), |value| value.location());
    Located::new(read.unwrap_or(ProgramLine::Invalid), at)
}

fn read_arguments(run: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<ProgramLine> {
    if let Value::Text(line) = &run.node().value {
        let message = "`run` must be a list: the program and its arguments";
        let hint = format!("write `shell: {}` for a line of the shell", serde_json::json!(line.as_ref()));
        diagnostics.push(run.error("bad-type", message).label("text").hint(hint));
        return None;
    }
    if !run.must_be(&ValueKind::Filled(&ValueKind::Text), diagnostics) {
        return None;
    }
    let argv: Vec<Located<String>> = run.items().filter_map(|item| item.text()).collect();
    let wrong = |argument: &&Located<String>| argument.value.contains('\0');
    if let Some(argument) = argv.iter().find(wrong) {
        diagnostics.push(argument.error("bad-value", "an argument cannot contain a zero byte"));
        return None;
    }
    if let Some(program) = argv.first().filter(|program| program.value.trim().is_empty()) {
        diagnostics.push(program.error("bad-value", "the first of `run` must name a program").label("blank"));
        return None;
    }
    Some(ProgramLine::Arguments(argv.into_iter().map(|argument| argument.value).collect()))
}

fn read_shell(line: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<ProgramLine> {
    if !line.must_be(&ValueKind::Text, diagnostics) {
        return None;
    }
    let text = line.text()?.value;
    if text.trim() == CHECKS {
        return Some(ProgramLine::Checks);
    }
    if text.trim().is_empty() || text.contains('\0') {
        diagnostics.push(line.error("bad-value", "`shell` must be a line for the shell"));
        return None;
    }
    if text.contains(CHECKS) {
        let message = format!("`{CHECKS}` must be the only content of `shell`");
        let hint =
            "the setting `checks` lists several commands; add yours there, or write a movement of its own";
        diagnostics.push(line.error("bad-value", message).hint(hint));
        return None;
    }
    // Filling them in would let a task run commands.
    if let Some((_, shown)) = TEMPLATE_VARIABLES.iter().find(|(start, _)| text.contains(start)) {
        let message = format!("`{shown}` stays in the line: a shell line has no template variables");
        diagnostics.push(line.warning("unknown-variable", message).label("stays as written"));
    }
    Some(ProgramLine::Shell(text))
}

fn read_env(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> BTreeMap<String, String> {
    let mut env = BTreeMap::new();
    for (name, value) in fields.map("env") {
        if name.value.is_empty() || name.value.contains(['=', '\0']) {
            let message = format!("{} cannot be the name of a variable", quoted(&name.value));
            diagnostics.push(name.error("bad-value", message));
            continue;
        }
        env.extend(value.text().map(|value| (name.value, value.value)));
    }
    env
}

/// Accepts only a directory inside the working directory.
pub(super) fn inside(path: &Located<String>, diagnostics: &mut Diagnostics) -> Option<String> {
    let written = path.value.as_str();
    if written.is_empty() || written.starts_with(['/', '~']) || written.split('/').any(|part| part == "..") {
        let message = format!("{} is not a directory below the working directory", quoted(written));
        let hint = "write a relative path without `..`, such as `crates/core`";
        diagnostics.push(path.error("unsafe-path", message).hint(hint));
        return None;
    }
    Some(path.value.clone())
}

/// A program has one output, and nothing tells it a format.
fn read_report(fields: &Fields<'_>, reader: &mut PieceReader<'_>) -> Option<ReportContract> {
    let mut reports = read_reports(fields, reader).into_iter();
    let report = reports.next()?;
    if let Some(second) = reports.next() {
        let message = "a program has one output, so its movement can name one report";
        reader.diagnostics.push(second.at.error("bad-value", message).label("a second report"));
    }
    if report.format.is_some() {
        let message = "`format` has no effect on the report of a program: the report is its output";
        reader.diagnostics.push(report.at.error("no-effect", message).hint("remove it"));
    }
    Some(report)
}

impl PieceLowering<'_> {
    /// Builds the turn of a program. Its prompt is its command line, which nothing but the journal sees.
    pub(super) fn program(&self, movement: &Movement, assignment: &ProgramAssignment) -> Turn {
        let name = movement.name.value.as_str();
        let command = assignment.command(self.settings, self.definition);
        Turn {
            id: TurnId::from(name),
            title: format!("{name} - {}", self.piece.name),
            description: movement.description.clone(),
            persona: None,
            role: None,
            prompt: Prompt { sections: vec![fixed_section(command.typed())], ..Prompt::default() },
            provider: ProgramCommand::PROVIDER.into(),
            program: Some(Box::new(command)),
            model: None,
            permission: Permission::Full,
            asked_permission: None,
            sandbox_required: movement.sandbox_required,
            tools: None,
            session: SessionPolicy::Fresh,
            timeout: Some(assignment.timeout),
            within: None,
            max_calls: None,
            price: None,
            needs: Vec::new(),
            heading: String::new(),
            reads: Reads {
                choice: choice(&movement.rules, self.options),
                reports: assignment.report.iter().map(report).collect(),
                carry: CarriedWords::ProgramResult,
                ..Reads::default()
            },
        }
    }
}

/// Builds the choice of a program: by a tag or a value in its output, else by its exit code.
fn choice(rules: &[MovementRule], options: &Options) -> Option<Choice> {
    let mut offers = Vec::new();
    let mut fields: Vec<LabelField> = Vec::new();
    let (mut has_tags, mut codes) = (false, Vec::new());
    for (number, rule) in rules.iter().enumerate().filter(|(_, rule)| exit::is_offered(rule, options)) {
        let label = Label::from(rule.condition.to_string().as_str());
        match &rule.condition {
            MovementCondition::Plain(_) => has_tags = true,
            MovementCondition::Exit(exits) => {
                codes.push(ExitCodeLabel { label: label.clone(), exits: *exits });
            }
            MovementCondition::Json { pointer, word } => {
                let known = fields.iter_mut().find(|field| field.pointer == *pointer);
                let means = BTreeMap::from([(word.to_lowercase(), label.clone())]);
                match known {
                    Some(field) => field.means.extend(means),
                    None => {
                        fields.push(LabelField { pointer: pointer.clone(), means, ..LabelField::default() });
                    }
                }
            }
            MovementCondition::All(_)
            | MovementCondition::Any(_)
            | MovementCondition::Findings(_)
            | MovementCondition::NoFindings(_)
            | MovementCondition::Stalled(_)
            | MovementCondition::Always => continue,
        }
        offers.push(Offer { number, label });
    }
    // A timeout also counts as an exit code, so its own rule goes first.
    codes.sort_by_key(|one| one.exits != ProgramExitRange::Timeout);
    let mut found_by: Vec<Method> = Vec::new();
    found_by.extend(has_tags.then_some(Method::Tag));
    found_by.extend(fields.into_iter().map(Method::Field));
    found_by.extend((!codes.is_empty()).then_some(Method::ExitCode(codes)));
    (!offers.is_empty()).then_some(Choice { options: offers, found_by })
}

impl Piece {
    /// Leaves out the movements that run the checks of the settings, if there are none. Every way to one of them leads
    /// to the movement that follows its success. Movements that only its failure leads to are left out too.
    pub(super) fn leave_out_checks(&mut self, settings: &Settings, diagnostics: &mut Diagnostics) {
        let ways: BTreeMap<String, Option<Located<String>>> = self
            .movements
            .iter()
            .filter(|movement| movement.runs_checks())
            .map(|movement| (movement.name.value.clone(), after_success(movement)))
            .collect();
        for movement in self.movements.iter().filter(|movement| movement.runs_checks()) {
            if after_success(movement).is_none() {
                let message = format!("movement {} needs a rule `exit(0)`", quoted(&movement.name.value));
                let hint =
                    "without `checks` in the settings, the run skips the movement and follows this rule";
                diagnostics.push(movement.name.error("missing-rules", message).hint(hint));
            }
        }
        self.refuse_parallel_checks(diagnostics);
        if ways.is_empty() || !settings.checks.commands.is_empty() || diagnostics.has_errors() {
            return;
        }
        let follow = |name: &mut Located<String>| {
            // Two of them that lead to each other have no way out.
            for _ in 0..=ways.len() {
                match ways.get(&name.value) {
                    Some(Some(next)) => name.value.clone_from(&next.value),
                    Some(None) | None => return,
                }
            }
        };
        if self.initial.is_none() {
            self.initial = self.movements.first().map(|movement| movement.name.clone());
        }
        self.initial.iter_mut().for_each(follow);
        if let Some(initial) = self.initial.as_ref().filter(|name| ENDS.contains(&name.value.as_str())) {
            let message = "without `checks` in the settings, no movement is left to start with";
            diagnostics.push(initial.error("bad-value", message));
        }
        let reached_before = self.reached();
        let judged = self.monitors.iter_mut().flat_map(|monitor| &mut monitor.judge.rules);
        let rules = self.movements.iter_mut().flat_map(|movement| &mut movement.rules).chain(judged);
        rules.filter_map(|rule| rule.next.as_mut()).for_each(follow);
        self.leave_out(&ways.into_keys().collect());
        let reached = self.reached();
        self.leave_out(&reached_before.difference(&reached).cloned().collect());
    }

    fn leave_out(&mut self, names: &BTreeSet<String>) {
        self.movements.retain(|movement| !names.contains(&movement.name.value));
        self.monitors.retain_mut(|monitor| {
            let before = monitor.cycle.len();
            monitor.cycle.retain(|name| !names.contains(&name.value));
            monitor.ignored.retain(|name| !names.contains(&name.value));
            monitor.title.retain(|name| !names.contains(name));
            // One movement alone does not form a cycle.
            monitor.cycle.len() == before || monitor.cycle.len() > 1
        });
    }

    /// Returns the movements that some way leads to from the start.
    fn reached(&self) -> BTreeSet<String> {
        let nexts = |rules: &[MovementRule]| {
            let nexts = rules.iter().filter_map(|rule| rule.next.as_ref());
            nexts.map(|next| next.value.clone()).collect::<Vec<String>>()
        };
        let first = self.movements.first().map(|movement| &movement.name);
        let mut open: Vec<String> =
            self.initial.as_ref().or(first).map(|name| name.value.clone()).into_iter().collect();
        let mut reached = BTreeSet::new();
        while let Some(name) = open.pop() {
            let Some(movement) = self.movements.iter().find(|movement| movement.name.value == name) else {
                continue;
            };
            if reached.insert(name.clone()) {
                open.extend(nexts(&movement.rules));
                let watching =
                    self.monitors.iter().filter(|one| one.cycle.iter().any(|step| step.value == name));
                open.extend(watching.flat_map(|monitor| nexts(&monitor.judge.rules)));
            }
        }
        reached
    }

    fn refuse_parallel_checks(&self, diagnostics: &mut Diagnostics) {
        for movement in &self.movements {
            let MovementWork::Parallel(subs) = &movement.work else { continue };
            for sub in subs.iter().filter(|sub| sub.runs_checks()) {
                let message = format!("`{CHECKS}` is not allowed in a sub-movement");
                let hint = "make it a movement of its own, or name the program";
                diagnostics.push(sub.name.error("bad-value", message).hint(hint));
            }
        }
    }
}

impl Movement {
    fn runs_checks(&self) -> bool {
        matches!(&self.work, MovementWork::Program(program) if program.line.value == ProgramLine::Checks)
    }
}

/// Returns the target of the rule for success.
fn after_success(movement: &Movement) -> Option<Located<String>> {
    let succeeds = |rule: &&MovementRule| match &rule.condition {
        MovementCondition::Exit(exits) => exits.contains(ProgramExit::Code(0)),
        _ => false,
    };
    movement.rules.iter().find(succeeds)?.next.clone()
}
