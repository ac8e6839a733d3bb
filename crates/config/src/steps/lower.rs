//! Lowering of a step agent to a workflow (section 7 of the format).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use indexmap::IndexMap;
use saihai_model::{
    Activity, Again, Alarm, AnswerForm, CarriedWords, Choice, Ending, Exit, ExitRule, FailureReason, Gate,
    GateMode, InvalidOutputPolicy, Join, Limits, Method, Monitor, Offer, OnFailure, Output, OutputCheck,
    OutputNames, OutputSchema, Permission, Prompt, PromptPart, PromptSection, Question, QuestionSession,
    Reads, Rounds, RuleCondition, SectionCondition, SessionKey, SessionPolicy, Stage, StageId, Target, Text,
    TextFile, Turn, TurnId, Variable, Wants, Watch, Workflow,
};
use serde_json::json;

use super::agent::IssueClosure;
use super::agent_files::AgentMeaning;
use super::completion::{AgentCompletion, engine_messages, lower_completion};
use super::flow::StepFlow;
use super::intent_gate::{IntentGate, closing_proofs, reply_shaping};
use super::prompt_files::PromptPassage;
use super::prompt_texts::{
    PromptPhrases, PromptTemplate, PromptUse, added_tokens, answer_format, blank_line_after, check_prompt,
    correction_prompt, has_json_fence, read_template, supplied, unreadable_prompt, work_prompt,
};
use super::registry::{AgentStep, StepExit, StepRegistry, StepTarget};
use super::variables::{MissingInput, output_name};
use crate::check::Spot;
use crate::lowering::{ProviderResolver, ResolvedProvider, Spots};
use crate::{Diagnostics, Located, Options, Settings, TextUse, quoted};

/// Maximum number of consecutive transitions from a step to itself (S-40).
const SELF_ENTRIES: u32 = 10;

/// Files of a step's texts.
#[derive(Debug, Clone, Default)]
pub(super) struct StepPassages {
    pub(super) role: Option<PromptPassage>,
    pub(super) work: Option<PromptPassage>,
    pub(super) check: Option<PromptPassage>,
    /// Retry prompts, in the order of the validators.
    pub(super) retries: Vec<Option<PromptPassage>>,
}

/// Texts of a step with their variables resolved.
#[derive(Debug, Default)]
struct StepTemplates {
    work: PromptTemplate,
    check: Option<PromptTemplate>,
    retries: Vec<PromptTemplate>,
}

impl StepTemplates {
    fn all(&self) -> impl Iterator<Item = &PromptTemplate> {
        std::iter::once(&self.work).chain(&self.check).chain(&self.retries)
    }
}

/// Input of the lowering, and its output so far.
pub(super) struct AgentLowering<'a> {
    pub(super) meaning: &'a AgentMeaning,
    pub(super) flow: &'a StepFlow<'a>,
    /// File of the step registry.
    pub(super) file: &'a Path,
    pub(super) directory: &'a Path,
    pub(super) phrases: &'static PromptPhrases,
    pub(super) options: &'a Options,
    pub(super) settings: &'a Settings,
    pub(super) providers: ProviderResolver<'a>,
    pub(super) spots: Spots,
    /// Tokens that Saihai adds to each turn's first prompt.
    pub(super) added_tokens: Vec<(StageId, TurnId, u64)>,
    /// Texts in use, with the source of each variable.
    pub(super) text_uses: Vec<TextUse>,
    pub(super) roles: HashMap<String, String>,
    /// True if some prompt uses the task.
    pub(super) uses_task: bool,
}

impl AgentLowering<'_> {
    /// Builds the workflow. After errors it serves only to find more of them.
    pub(super) fn workflow(&mut self, diagnostics: &mut Diagnostics) -> Workflow {
        let registry = &self.meaning.registry;
        let read: Vec<StepTemplates> =
            registry.steps.iter().map(|step| self.read(step, diagnostics)).collect();
        let shows_task = |text: &PromptTemplate| text.parts.iter().any(is_task);
        self.uses_task = read.iter().flat_map(StepTemplates::all).any(shows_task);
        let mut stages = IndexMap::new();
        for (step, templates) in registry.steps.iter().zip(read) {
            let id = StageId::from(step.id.value.as_str());
            self.spots.put(Spot::Stage(id.clone()), &step.id.at);
            if let Some(question) = &step.gate {
                stages.insert(gate_of(&step.id.value), gate_stage(step, question));
            }
            let stage = self.stage(step, templates, diagnostics);
            stages.insert(id, stage);
        }
        Workflow {
            name: self.meaning.agent.name.value.clone(),
            entry: entrance(&self.meaning.entry.value, registry),
            stages,
            topics: None,
            monitors: vec![Monitor {
                watches: Watch::SelfEntries { times: SELF_ENTRIES },
                then: Alarm::Go(Target::failed(FailureReason::StepFailed { step: None })),
            }],
            breakers: Vec::new(),
            completion: lower_completion(self),
            limits: self.limits(diagnostics),
            retry: self.settings.retry(),
            afterwards: None,
            provider: None,
            log: None,
            groups: Vec::new(),
            issue: None,
            words: engine_messages(),
        }
    }

    fn stage(&mut self, step: &AgentStep, templates: StepTemplates, diagnostics: &mut Diagnostics) -> Stage {
        let turn = self.turn(step, templates, diagnostics);
        Stage {
            title: turn.title.clone(),
            does: Activity::Turns {
                turns: vec![turn],
                at_once: None,
                on_failure: OnFailure::Park,
                between: String::new(),
            },
            exit: step_exit(step, &self.meaning.registry),
            rounds: Rounds {
                min: step.iterations.0,
                max: step.iterations.1,
                too_many: failed(&step.id.value),
            },
            visits: None,
            aside: false,
            description: step.description.clone(),
        }
    }

    /// Reads the texts of a step, and compares the variables in use with the declared ones.
    fn read(&mut self, step: &AgentStep, diagnostics: &mut Diagnostics) -> StepTemplates {
        let passages = self.meaning.texts.get(&step.id.value).cloned().unwrap_or_default();
        let mut read = |passage: &PromptPassage, usage| {
            read_template(passage, Some(step), usage, &self.meaning.variables, diagnostics)
        };
        let mut templates = StepTemplates::default();
        let mut uses = Vec::new();
        if let Some(passage) = &passages.work {
            templates.work = read(passage, PromptUse::Work);
            uses.push(self.text_use(step, passage, &templates.work, false));
        }
        if let Some(passage) = &passages.check {
            let text = read(passage, PromptUse::Check);
            uses.push(self.text_use(step, passage, &text, true));
            templates.check = Some(text);
        }
        let validators = step.gate().into_iter().flat_map(|gate| &gate.validators);
        for (passage, validator) in passages.retries.iter().zip(validators) {
            let text = passage.as_ref().map(|passage| read(passage, PromptUse::Retry(&validator.params)));
            if let (Some(passage), Some(text)) = (passage, &text) {
                uses.push(self.text_use(step, passage, text, false));
            }
            templates.retries.push(text.unwrap_or_default());
        }
        self.text_uses.append(&mut uses);
        if passages.work.is_some() {
            report_unused(step, &templates, diagnostics);
            let is_used = |name: &String| templates.all().any(|text| text.used.contains(name));
            for custom in step.custom.iter().filter(|custom| !is_used(&custom.name.value)) {
                // A required variable must have a value even if no text uses it.
                supplied(step, custom, &self.meaning.variables, diagnostics);
            }
        }
        for need in templates.all().flat_map(|text| &text.needs) {
            let (from, key) = (need.value.0.as_str(), need.value.1.as_str());
            let is_input =
                step.inputs.iter().any(|input| input.output.step == from && input.output.key == key);
            if !is_input {
                self.flow.check_order(&step.id.value, from, &need.at, diagnostics);
            }
        }
        templates
    }

    fn text_use(
        &self,
        step: &AgentStep,
        passage: &PromptPassage,
        text: &PromptTemplate,
        is_check: bool,
    ) -> TextUse {
        let id = &step.id.value;
        let origin = |name: &String| match text.found.contains(name) {
            true => "what a validator printed".to_owned(),
            false => self.meaning.variables.origin(id, name).unwrap_or_else(|| "the task".to_owned()),
        };
        TextUse {
            text: TextFile {
                stage: id.as_str().into(),
                is_check,
                source: passage.source(),
                file: passage.name().to_owned(),
            },
            variables: text.used.iter().map(|name| (name.clone(), origin(name))).collect(),
        }
    }

    fn turn(&mut self, step: &AgentStep, templates: StepTemplates, diagnostics: &mut Diagnostics) -> Turn {
        let id = &step.id.value;
        let model = step.model.as_deref().or(self.meaning.agent.model.as_deref());
        let answerer = self.providers.resolve(id, &step.id.at, None, model, diagnostics);
        let turn_id = TurnId::from(id.as_str());
        let tools = step.tools.as_ref().unwrap_or(&self.meaning.agent.tools).clone();
        let mode = step.permission.as_ref().unwrap_or(&self.meaning.agent.permission);
        let asked = permission(mode, &tools);
        let granted = asked.at_most(self.ceiling());
        let persona = self.role(id, diagnostics).or_else(|| answerer.system_prompt.clone());
        let needs = self.needs(step, &templates);
        let reads = self.reads(step, templates.check);
        let prompt = self.prompt(step, templates.work, templates.retries);
        let ResolvedProvider { provider, model, timeout, price, .. } = answerer;
        Turn {
            id: turn_id,
            title: step.name.clone().unwrap_or_else(|| id.clone()),
            description: step.description.clone(),
            persona: persona.map(Text::from),
            role: Some(self.meaning.agent.name.value.clone()),
            prompt,
            session: SessionPolicy::Continue(SessionKey::from(format!(
                "{provider}:{}",
                self.meaning.agent.name.value
            ))),
            provider,
            program: None,
            model,
            permission: granted,
            asked_permission: (granted != asked).then_some(asked),
            sandbox_required: false,
            tools: Some(tools),
            timeout,
            within: None,
            max_calls: None,
            price,
            needs,
            heading: String::new(),
            reads,
        }
    }

    /// Builds the prompt of a step: its own text, or the retry prompt of the validator that failed.
    fn prompt(&mut self, step: &AgentStep, work: PromptTemplate, retries: Vec<PromptTemplate>) -> Prompt {
        let id = &step.id.value;
        let wanted = match (&step.output, step.gate()) {
            (Some(output), _) => Some(output.schema.clone()),
            (None, gate) => gate.map(IntentGate::form),
        };
        let form = wanted.filter(|_| !self.shows_form(id));
        let form = form
            .map(|form| format!("{}{}", blank_line_after(&work.parts), answer_format(self.phrases, &form)));
        self.added_tokens.push((id.as_str().into(), id.as_str().into(), added_tokens(form.as_ref())));
        let appends_task = !self.uses_task && self.meaning.entry.value == *id;
        let retries = retries.into_iter().map(|retry| retry.parts).collect();
        work_prompt(self.phrases, work.parts, retries, form, appends_task)
    }

    /// Returns the items to extract from the reply.
    fn reads(&self, step: &AgentStep, check: Option<PromptTemplate>) -> Reads {
        let checked = check.zip(step.check()).map(|(text, check)| {
            check_choice(
                check_prompt(self.phrases, text.parts.clone(), &check.form),
                unreadable_prompt(self.phrases, text.parts, &check.form),
            )
        });
        let gated = step.gate().map(|gate| gate.choice(&self.meaning.registry));
        let written = self.file.display().to_string();
        let completion = self.meaning.agent.completion.as_ref();
        Reads {
            choice: checked.or(gated),
            output: Some(self.output(step)),
            proofs: closing_proofs(step, &written, self.closure()),
            blocks: self.meaning.agent.actions.blocks(completion),
            keywords: completion.map(AgentCompletion::keywords).unwrap_or_default(),
            carry: CarriedWords::AllMessages,
            ..Reads::default()
        }
    }

    /// Returns the action of `closing` on the run's issue, if there is an issue.
    fn closure(&self) -> Option<&IssueClosure> {
        self.meaning.agent.closure.as_ref().filter(|_| self.meaning.values.issue.number().is_some())
    }

    /// Returns the outputs that must exist before the turn. They come from declared inputs and from all
    /// texts, including the check, where a missing output would be noticed too late. A check or retry prompt
    /// may use the step's own output, which exists by then.
    fn needs(&self, step: &AgentStep, templates: &StepTemplates) -> Vec<(StageId, String)> {
        let inputs = step.inputs.iter().filter(|input| input.output.missing == MissingInput::Fails);
        let inputs =
            inputs.map(|input| (StageId::from(input.output.step.as_str()), input.output.key.clone()));
        let of_others = templates.check.iter().chain(&templates.retries).flat_map(|text| &text.needs);
        let of_others = of_others.filter(|need| need.value.0.as_str() != step.id.value);
        let shown = templates.work.needs.iter().chain(of_others);
        let mut needs: Vec<(StageId, String)> = Vec::new();
        for need in inputs.chain(shown.map(|need| need.value.clone())) {
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        needs
    }

    /// Without a schema, the run keeps JSON from a reply but never asks for it.
    fn output(&self, step: &AgentStep) -> Output {
        let schema = match &step.output {
            Some(output) => OutputSchema { schema: output.schema.clone(), required: true },
            None => OutputSchema { schema: serde_json::json!({}), required: false },
        };
        // Without a schema or a gate, output can only be invalid because of its key names.
        let can_be_wrong = step.output.is_some() || step.gate().is_some();
        Output {
            corrections: u32::from(can_be_wrong),
            schema,
            correction: correction_prompt(self.phrases),
            still_wrong: match can_be_wrong {
                true => InvalidOutputPolicy::Go(failure_target(step, &self.meaning.registry)),
                false => InvalidOutputPolicy::KeepValidItems,
            },
            checked: OutputCheck::BySchema,
            shaping: reply_shaping(step),
            kept_as: None,
            names: Some(Box::new(OutputNames {
                prefix: output_name(&step.id.value, ""),
                taken: self.meaning.variables.taken(&step.id.value),
                collided: failure_target(step, &self.meaning.registry),
            })),
        }
    }

    /// Returns the system prompt of a step. It is parsed only once if several steps share it.
    fn role(&mut self, step: &str, diagnostics: &mut Diagnostics) -> Option<String> {
        let passage = self.meaning.texts.get(step)?.role.as_ref()?;
        if let Some(role) = self.roles.get(passage.name()) {
            return Some(role.clone());
        }
        let text = read_template(passage, None, PromptUse::Role, &self.meaning.variables, diagnostics);
        let words = text.parts.iter().filter_map(|part| match part {
            PromptPart::Fixed(Text::Inline(text)) => Some(&**text),
            PromptPart::Fixed(Text::Blob { .. }) | PromptPart::Value(..) => None,
        });
        let role: String = words.collect();
        self.roles.insert(passage.name().to_owned(), role.clone());
        Some(role)
    }

    fn shows_form(&self, step: &str) -> bool {
        let work = self.meaning.texts.get(step).and_then(|passages| passages.work.as_ref());
        work.is_some_and(|passage| has_json_fence(passage.text()))
    }

    fn ceiling(&self) -> Permission {
        self.options.max_permission.or(self.settings.max_permission).unwrap_or(Permission::Full)
    }

    /// S-28, S-29: only the user can raise the hard limit, not the agent.
    fn limits(&self, diagnostics: &mut Diagnostics) -> Limits {
        let own =
            self.meaning.agent.completion.as_ref().and_then(|completion| completion.max_iterations.as_ref());
        let hard = self.options.max_iterations.unwrap_or(self.settings.limits.hard_iterations);
        let composed = match self.meaning.agent.completion.as_ref() {
            Some(completion) => completion.composed_budgets(),
            None => Vec::new(),
        };
        let written = own.into_iter().chain(composed);
        for own in written.filter(|own| self.options.max_iterations.is_none() && own.value > hard) {
            let message =
                format!("a run is stopped after {hard} iterations, before these {} are done", own.value);
            let hint = "a person can raise that: `--max-iterations`, or the setting `limits.hard_iterations`";
            diagnostics.push(own.warning("hard-limit", message).label("never reached").hint(hint));
        }
        Limits {
            silence: None,
            rounds: self.options.max_iterations.or(own.map(|own| own.value)),
            hard_rounds: Some(hard),
            runtime: self.options.run_timeout.or(self.settings.limits.run_timeout),
            budget: self.settings.budget.replaced_by(&self.options.budget),
        }
    }
}

/// Warns about variables that a step declares but does not use.
fn report_unused(step: &AgentStep, templates: &StepTemplates, diagnostics: &mut Diagnostics) {
    let used: HashSet<&String> = templates.all().flat_map(|text| &text.used).collect();
    let declared = step.variables.iter().chain(step.custom.iter().map(|custom| &custom.name));
    for name in declared.filter(|name| !used.contains(&name.value)) {
        let message = format!("the variable {} is not used in this step", quoted(&name.value));
        diagnostics.push(name.warning("unused-variable", message).label("declared here"));
    }
}

fn is_task(part: &PromptPart) -> bool {
    matches!(part, PromptPart::Value(Variable::Task, _))
}

const WRITING_TOOLS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

fn permission(mode: &str, tools: &[String]) -> Permission {
    match mode {
        "acceptEdits" => Permission::Edit { commands: false },
        "bypassPermissions" => Permission::Full,
        // The mode names no level, so the tools decide.
        "default" if tools.iter().any(|tool| WRITING_TOOLS.contains(&tool.as_str())) => {
            Permission::Edit { commands: false }
        }
        _ => Permission::ReadOnly,
    }
}

const PASSED: &str = "ok";
const FAILED: &str = "ng";

fn step_exit(step: &AgentStep, registry: &StepRegistry) -> Exit {
    let id = &step.id.value;
    let always = |then| vec![ExitRule { when: RuleCondition::Always, then }];
    let rules = match &step.exit {
        Some(StepExit::Always(target)) => always(lower_target(id, target, registry)),
        Some(StepExit::Check(check)) => {
            let targets = [(PASSED, &check.pass), (FAILED, &check.fail)].into_iter();
            let targets = targets.filter_map(|(label, target)| Some((label, target.as_ref()?)));
            let rule = |(label, target): (&str, _)| ExitRule {
                when: RuleCondition::Is(label.into()),
                then: lower_target(id, target, registry),
            };
            targets.map(rule).collect()
        }
        Some(StepExit::Intent(gate)) => gate.rules(id, registry),
        Some(StepExit::Phase(targets)) => {
            let stage = |(phase, target): &(&str, StepTarget)| {
                Some(((*phase).to_owned(), entrance(&target.step()?.value, registry)))
            };
            always(Target::ByPhase { stages: targets.iter().filter_map(stage).collect() })
        }
        None => Vec::new(),
    };
    Exit::Rules { rules, question: None, otherwise: failed(id) }
}

/// Returns the target for unusable output: the failure target of the check, else the run fails (S-40).
fn failure_target(step: &AgentStep, registry: &StepRegistry) -> Target {
    let target = step.check().and_then(|check| check.fail.as_ref());
    target.map_or_else(|| failed(&step.id.value), |target| lower_target(&step.id.value, target, registry))
}

/// Builds the choice between pass and fail.
fn check_choice(prompt: Prompt, correction: Prompt) -> Choice {
    let means = [
        ("ok", PASSED),
        ("pass", PASSED),
        ("true", PASSED),
        ("ng", FAILED),
        ("fail", FAILED),
        ("false", FAILED),
    ];
    let means: BTreeMap<_, _> =
        means.into_iter().map(|(word, label)| (word.to_owned(), label.into())).collect();
    let question = Question {
        prompt,
        provider: None,
        model: None,
        session: QuestionSession::Same,
        answer: AnswerForm::Form {
            schema: OutputSchema {
                schema: json!({"type": "object", "required": ["result"]}),
                required: true,
            },
            field: "result".to_owned(),
            means,
            message: "message".to_owned(),
        },
        correction,
        corrections: 1,
        unreadable: Some(FAILED.into()),
    };
    let options = [PASSED, FAILED].into_iter().enumerate();
    let options = options.map(|(number, label)| Offer { number, label: label.into() }).collect();
    Choice { options, found_by: vec![Method::Ask(Box::new(question))] }
}

/// Returns the stage id of the gate before a step.
pub(super) fn gate_of(step: &str) -> StageId {
    StageId::from(format!("{step}/gate"))
}

/// Returns the stage where a run enters a step: its gate, or the step itself.
fn entrance(step: &str, registry: &StepRegistry) -> StageId {
    match registry.step(step).and_then(|step| step.gate.as_ref()) {
        Some(_) => gate_of(step),
        None => step.into(),
    }
}

fn gate_stage(step: &AgentStep, question: &str) -> Stage {
    let section =
        PromptSection { body: vec![PromptPart::Fixed(question.into())], when: SectionCondition::Always };
    let gate = Gate {
        question: Prompt { sections: vec![section], join: Join::AsIs },
        wants: Wants::YesNo,
        mode: GateMode::Person,
        timeout: None,
    };
    let yes = ExitRule {
        when: RuleCondition::Is("yes".into()),
        then: Target::Stage(step.id.value.as_str().into()),
    };
    Stage {
        title: step.name.clone().unwrap_or_else(|| step.id.value.clone()),
        does: Activity::Gate(gate),
        exit: Exit::Rules { rules: vec![yes], question: None, otherwise: Target::End(Ending::Declined) },
        rounds: Rounds::default(),
        visits: None,
        aside: false,
        description: None,
    }
}

/// Lowers a target of `step`.
pub(super) fn lower_target(step: &str, target: &StepTarget, registry: &StepRegistry) -> Target {
    let enter = |next: &Located<String>| Target::Stage(entrance(&next.value, registry));
    match target {
        StepTarget::Complete => Target::Complete,
        StepTarget::Step(next) => enter(next),
        StepTarget::NamedByReply(pointer) => Target::NamedBy { pointer: pointer.clone() },
        StepTarget::Again { at_most, exhausted } => {
            let exhausted = match (exhausted, at_most) {
                (Some(next), _) => enter(next),
                (None, Some(most)) => {
                    Target::failed(FailureReason::RetriesExhausted { step: step.to_owned(), times: *most })
                }
                (None, None) => failed(step),
            };
            Target::Again(Box::new(Again { note: None, at_most: *at_most, exhausted }))
        }
    }
}

fn failed(step: &str) -> Target {
    Target::failed(FailureReason::StepFailed { step: Some(step.to_owned()) })
}
