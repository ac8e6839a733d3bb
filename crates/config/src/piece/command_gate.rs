//! Quality gates of `type: command`: after the work a command must succeed, otherwise the agent repairs (X-22).

use saihai_model::{
    Action, ActionSpec, CommandVerdict, FailureReason, Json, Label, Millis, Once, PromptPart, PromptSection,
    Proof, RefutedProofPolicy, SectionCondition, Target, ValueForm, Variable,
};

use super::exit;
use super::program::inside;
use super::prompt::PieceWords;
use super::read::Movement;
use super::tables;
use super::texts::PieceReader;
use crate::lowering::{section, text_part};
use crate::{Cursor, Fields, Location, Options};

/// Time limit of a gate that sets none. It is long, because test suites are slow.
const TIMEOUT: Millis = Millis::seconds(30 * 60);

/// Maximum repairs in one visit. TAKT sets no bound of its own.
const REPAIRS: u32 = 5;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct CommandGate {
    name: String,
    command: String,
    directory: Option<String>,
    timeout: Millis,
    pub(super) at: Location,
}

impl CommandGate {
    /// Reads a gate. Reports its mistakes.
    pub(super) fn read(item: &Cursor<'_>, reader: &mut PieceReader<'_>) -> Option<Self> {
        let fields = Fields::read(item, &tables::COMMAND_GATE, &mut reader.diagnostics)?;
        let command = fields.text("command")?;
        if command.value.trim().is_empty() || command.value.contains('\0') {
            let message = "`command` must be a line for the shell";
            reader.diagnostics.push(command.error("bad-value", message));
            return None;
        }
        let timeout = fields.integer("timeout_ms").and_then(|length| u64::try_from(length.value).ok());
        let directory = fields.text("cwd").filter(|path| path.value != ".");
        Some(Self {
            name: fields.text("name").map_or_else(|| command.value.trim().to_owned(), |name| name.value),
            command: command.value.trim().to_owned(),
            directory: directory.and_then(|path| inside(&path, &mut reader.diagnostics)),
            timeout: timeout.map_or(TIMEOUT, Millis),
            at: fields.location(),
        })
    }

    /// Returns the proof that every rule of the movement needs, except for those that give up.
    pub(super) fn proof(&self, movement: &Movement, options: &Options, written: Option<&str>) -> Proof {
        let rules = movement.rules.iter().enumerate().filter(|(_, rule)| {
            exit::is_offered(rule, options) && rule.next.as_ref().is_none_or(|next| next.value != "ABORT")
        });
        let mut argv = ["/bin/sh", "-c"].map(str::to_owned).to_vec();
        match &self.directory {
            None => argv.push(self.command.clone()),
            Some(directory) => {
                argv.extend(["cd \"$0\" && eval \"$1\"".to_owned(), directory.clone(), self.command.clone()]);
            }
        }
        let does = Action::Command {
            argv,
            timeout: self.timeout,
            input: Json::Null,
            told: CommandVerdict::ByExitCode,
            written: written.map(str::to_owned),
        };
        let reason = FailureReason::ValidationFailed {
            step: movement.name.value.clone(),
            validator: self.name.clone(),
        };
        Proof {
            of: Label::from(""),
            rules: rules.map(|(number, _)| number).collect(),
            name: self.name.clone(),
            by: ActionSpec { does, inputs: Vec::new(), once: Once::ReadOnly, poll: None },
            refuted: RefutedProofPolicy::Again { at_most: REPAIRS, exhausted: Target::failed(reason) },
        }
    }

    /// Returns the section of the next prompt after the gate has failed.
    pub(super) fn section(&self, number: usize, words: &PieceWords) -> PromptSection {
        let (before, behind) = words.failed_gate;
        let body = vec![
            text_part(format!("{before}{}{behind}\n\n```\n", self.command)),
            PromptPart::Value(Variable::Refutation, ValueForm::Plain),
            text_part("\n```"),
        ];
        section(SectionCondition::Refuted(number), body)
    }
}
