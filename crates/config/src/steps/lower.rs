//! Lowering of a step agent to a workflow (section 7 of the format).

use std::collections::{HashMap, HashSet};
use std::path::Path;

use indexmap::IndexMap;
use saihai_model::{
    Activity, Alarm, Checked, Json, Limits, Monitor, OnFailure, Output, OutputNames, OutputSchema, Part,
    Permission, Prompt, Reads, SessionKey, SessionPolicy, Spoken, Stage, StageId, StillWrong, Target, Text,
    TextFile, Turn, TurnId, Variable, Watch, Workflow,
};

use super::about::About;
use super::agent::Agent;
use super::done;
use super::exit;
use super::flow::Flow;
use super::gate::Gate;
use super::gated;
use super::input::Missing;
use super::prompts::Passage;
use super::registry::Registry;
use super::setup::Closure;
use super::speech::{self, Moment, Template};
use super::step::Step;
use super::variables::{Variables, output_name};
use super::words::Words;
use crate::check::Spot;
use crate::lowering::{Answerer, Providers, Spots};
use crate::{Diagnostics, Located, Options, Settings, TextUse, quoted};

/// Maximum number of consecutive transitions from a step to itself (S-40).
const SELF_ENTRIES: u32 = 10;

/// Files of a step's texts.
#[derive(Debug, Clone, Default)]
pub(super) struct Spoke {
    pub(super) role: Option<Passage>,
    pub(super) work: Option<Passage>,
    pub(super) check: Option<Passage>,
    /// Retry prompts, in the order of the validators.
    pub(super) retries: Vec<Option<Passage>>,
}

/// Texts of a step with their variables resolved.
#[derive(Debug, Default)]
struct Said {
    work: Template,
    check: Option<Template>,
    retries: Vec<Template>,
}

impl Said {
    fn all(&self) -> impl Iterator<Item = &Template> {
        std::iter::once(&self.work).chain(&self.check).chain(&self.retries)
    }
}

/// Input of the lowering, and its output so far.
pub(super) struct Lowering<'a> {
    pub(super) agent: &'a Agent,
    pub(super) registry: &'a Registry,
    pub(super) entry: &'a Located<String>,
    pub(super) flow: &'a Flow<'a>,
    pub(super) texts: &'a IndexMap<String, Spoke>,
    pub(super) variables: &'a Variables,
    pub(super) parameters: &'a IndexMap<String, Json>,
    pub(super) issue: About,
    /// File of the step registry.
    pub(super) file: &'a Path,
    pub(super) directory: &'a Path,
    pub(super) words: &'static Words,
    pub(super) options: &'a Options,
    pub(super) settings: &'a Settings,
    pub(super) providers: Providers<'a>,
    pub(super) spots: Spots,
    /// Tokens that Saihai adds to each turn's first prompt.
    pub(super) added_tokens: Vec<(StageId, TurnId, u64)>,
    /// Texts in use, with the source of each variable.
    pub(super) said: Vec<TextUse>,
    pub(super) roles: HashMap<String, String>,
    /// True if some prompt uses the task.
    pub(super) uses_task: bool,
}

impl Lowering<'_> {
    /// Builds the workflow. After errors it serves only to find more of them.
    pub(super) fn workflow(&mut self, diagnostics: &mut Diagnostics) -> Workflow {
        let registry = self.registry;
        let read: Vec<Said> = registry.steps.iter().map(|step| self.read(step, diagnostics)).collect();
        let shows_task = |text: &Template| text.parts.iter().any(is_task);
        self.uses_task = read.iter().flat_map(Said::all).any(shows_task);
        let mut stages = IndexMap::new();
        for (step, said) in registry.steps.iter().zip(read) {
            let id = StageId::from(step.id.value.as_str());
            self.spots.put(Spot::Stage(id.clone()), &step.id.at);
            if let Some(question) = &step.gate {
                stages.insert(exit::gate_of(&step.id.value), exit::gate(step, question));
            }
            let stage = self.stage(step, said, diagnostics);
            stages.insert(id, stage);
        }
        Workflow {
            name: self.agent.name.value.clone(),
            entry: exit::entrance(&self.entry.value, registry),
            stages,
            topics: None,
            monitors: vec![Monitor {
                watches: Watch::SelfEntries { times: SELF_ENTRIES },
                then: Alarm::Go(Target::failed("step_failed")),
            }],
            completion: done::completion(self),
            limits: self.limits(diagnostics),
            retry: self.settings.retry(),
            afterwards: None,
            provider: None,
            log: None,
            issue: None,
            words: done::words(),
        }
    }

    fn stage(&mut self, step: &Step, said: Said, diagnostics: &mut Diagnostics) -> Stage {
        let turn = self.turn(step, said, diagnostics);
        Stage {
            title: turn.title.clone(),
            does: Activity::Turns {
                turns: vec![turn],
                at_once: None,
                on_failure: OnFailure::Park,
                between: String::new(),
            },
            exit: exit::of_step(step, self.registry),
            rounds: exit::rounds(step),
            visits: None,
            aside: false,
            description: step.description.clone(),
        }
    }

    /// Reads the texts of a step, and compares the variables in use with the declared ones.
    fn read(&mut self, step: &Step, diagnostics: &mut Diagnostics) -> Said {
        let spoke = self.texts.get(&step.id.value).cloned().unwrap_or_default();
        let mut read = |passage: &Passage, moment| {
            speech::read(passage, Some(step), moment, self.variables, diagnostics)
        };
        let mut said = Said::default();
        let mut uses = Vec::new();
        if let Some(passage) = &spoke.work {
            said.work = read(passage, Moment::Work);
            uses.push(self.text_use(step, passage, &said.work, false));
        }
        if let Some(passage) = &spoke.check {
            let text = read(passage, Moment::Check);
            uses.push(self.text_use(step, passage, &text, true));
            said.check = Some(text);
        }
        let validators = step.gate().and_then(|gate| gate.validation.as_ref()).map(|all| &all.validators);
        for (passage, validator) in spoke.retries.iter().zip(validators.into_iter().flatten()) {
            let text = passage.as_ref().map(|passage| read(passage, Moment::Retry(&validator.params)));
            if let (Some(passage), Some(text)) = (passage, &text) {
                uses.push(self.text_use(step, passage, text, false));
            }
            said.retries.push(text.unwrap_or_default());
        }
        self.said.append(&mut uses);
        if spoke.work.is_some() {
            report_unused(step, &said, diagnostics);
            let is_used = |name: &String| said.all().any(|text| text.used.contains(name));
            for custom in step.custom.iter().filter(|custom| !is_used(&custom.name.value)) {
                // A required variable must have a value even if no text uses it.
                speech::supplied(step, custom, self.variables, diagnostics);
            }
        }
        for need in said.all().flat_map(|text| &text.needs) {
            let (from, key) = (need.value.0.as_str(), need.value.1.as_str());
            let is_input = step.inputs.iter().any(|input| input.step == from && input.key == key);
            if !is_input {
                self.flow.check_order(&step.id.value, from, &need.at, diagnostics);
            }
        }
        said
    }

    fn text_use(&self, step: &Step, passage: &Passage, text: &Template, is_check: bool) -> TextUse {
        let id = &step.id.value;
        let found = |name: &String| text.found.contains(name).then_some("what a validator printed");
        let origin = |name: &String| {
            found(name).or_else(|| self.variables.origin(id, name)).unwrap_or("the task").to_owned()
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

    fn turn(&mut self, step: &Step, said: Said, diagnostics: &mut Diagnostics) -> Turn {
        let id = &step.id.value;
        let model = step.model.as_deref().or(self.agent.model.as_deref());
        let answerer = self.providers.resolve(id, &step.id.at, None, model, diagnostics);
        let turn_id = TurnId::from(id.as_str());
        let tools = step.tools.as_ref().unwrap_or(&self.agent.tools).clone();
        let mode = step.permission.as_ref().unwrap_or(&self.agent.permission);
        let asked = permission(mode, &tools);
        let granted = asked.at_most(self.ceiling());
        let persona = self.role(id, diagnostics).or_else(|| answerer.system_prompt.clone());
        let needs = self.needs(step, &said);
        let reads = self.reads(step, said.check);
        let prompt = self.prompt(step, said.work, said.retries);
        let Answerer { provider, model, timeout, price, .. } = answerer;
        Turn {
            id: turn_id,
            title: step.name.clone().unwrap_or_else(|| id.clone()),
            description: step.description.clone(),
            persona: persona.map(Text::from),
            role: Some(self.agent.name.value.clone()),
            prompt,
            session: SessionPolicy::Continue(SessionKey(format!("{provider}:{}", self.agent.name.value))),
            provider,
            model,
            permission: granted,
            asked_permission: (granted != asked).then_some(asked),
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
    fn prompt(&mut self, step: &Step, work: Template, retries: Vec<Template>) -> Prompt {
        let id = &step.id.value;
        let wanted = match (&step.output, step.gate()) {
            (Some(output), _) => Some(output.schema.clone()),
            (None, gate) => gate.map(Gate::form),
        };
        let form = wanted.filter(|_| !self.shows_form(id));
        let form =
            form.map(|form| format!("{}{}", speech::gap(&work.parts), speech::wanted(self.words, &form)));
        self.added_tokens.push((id.as_str().into(), id.as_str().into(), speech::added(form.as_ref())));
        let appends_task = !self.uses_task && self.entry.value == *id;
        let retries = retries.into_iter().map(|retry| retry.parts).collect();
        speech::work(self.words, work.parts, retries, form, appends_task)
    }

    /// Returns the items to extract from the reply.
    fn reads(&self, step: &Step, check: Option<Template>) -> Reads {
        let checked = check.zip(step.check()).map(|(text, check)| {
            exit::choice(
                speech::check(self.words, text.parts.clone(), &check.form),
                speech::unreadable(self.words, text.parts, &check.form),
            )
        });
        let gated = step.gate().map(|gate| gated::choice(gate, self.registry));
        let written = self.file.display().to_string();
        Reads {
            choice: checked.or(gated),
            output: Some(self.output(step)),
            proofs: gated::proofs(step, &written, self.closure()),
            blocks: self.agent.actions.blocks(self.agent.completion.as_ref()),
            keywords: done::keywords(self.agent.completion.as_ref()),
            carry: Spoken::AllMessages,
            ..Reads::default()
        }
    }

    /// Returns the action of `closing` on the run's issue, if there is an issue.
    fn closure(&self) -> Option<&Closure> {
        self.agent.closure.as_ref().filter(|_| self.issue.number().is_some())
    }

    /// Returns the outputs that must exist before the turn. They come from declared inputs and from all
    /// texts, including the check, where a missing output would be noticed too late. A check or retry prompt
    /// may use the step's own output, which exists by then.
    fn needs(&self, step: &Step, said: &Said) -> Vec<(StageId, String)> {
        let inputs = step.inputs.iter().filter(|input| input.missing == Missing::Fails);
        let inputs = inputs.map(|input| (StageId::from(input.step.as_str()), input.key.clone()));
        let of_others = said.check.iter().chain(&said.retries).flat_map(|text| &text.needs);
        let of_others = of_others.filter(|need| need.value.0.as_str() != step.id.value);
        let shown = said.work.needs.iter().chain(of_others);
        let mut needs: Vec<(StageId, String)> = Vec::new();
        for need in inputs.chain(shown.map(|need| need.value.clone())) {
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        needs
    }

    /// Without a schema, the run keeps JSON from a reply but never asks for it.
    fn output(&self, step: &Step) -> Output {
        let schema = match &step.output {
            Some(output) => OutputSchema { schema: output.schema.clone(), required: true },
            None => OutputSchema { schema: serde_json::json!({}), required: false },
        };
        // Without a schema or a gate, output can only be invalid because of its key names.
        let can_be_wrong = step.output.is_some() || step.gate().is_some();
        Output {
            corrections: u32::from(can_be_wrong),
            schema,
            correction: speech::correction(self.words),
            still_wrong: match can_be_wrong {
                true => StillWrong::Go(exit::on_failure(step, self.registry)),
                false => StillWrong::KeepValidItems,
            },
            checked: Checked::BySchema,
            shaping: gated::shaping(step),
            kept_as: None,
            names: Some(Box::new(OutputNames {
                prefix: output_name(&step.id.value, ""),
                taken: self.variables.taken(&step.id.value),
                collided: exit::on_failure(step, self.registry),
            })),
        }
    }

    /// Returns the system prompt of a step. It is parsed only once if several steps share it.
    fn role(&mut self, step: &str, diagnostics: &mut Diagnostics) -> Option<String> {
        let passage = self.texts.get(step)?.role.as_ref()?;
        if let Some(role) = self.roles.get(passage.name()) {
            return Some(role.clone());
        }
        let text = speech::read(passage, None, Moment::Role, self.variables, diagnostics);
        let words = text.parts.iter().filter_map(|part| match part {
            Part::Fixed(Text::Inline(text)) => Some(text.as_str()),
            Part::Fixed(Text::Blob { .. }) | Part::Value(..) => None,
        });
        let role: String = words.collect();
        self.roles.insert(passage.name().to_owned(), role.clone());
        Some(role)
    }

    fn shows_form(&self, step: &str) -> bool {
        let work = self.texts.get(step).and_then(|spoke| spoke.work.as_ref());
        work.is_some_and(|passage| speech::has_json_fence(passage.text()))
    }

    fn ceiling(&self) -> Permission {
        self.options.max_permission.or(self.settings.max_permission).unwrap_or(Permission::Full)
    }

    /// S-28, S-29: only the user can raise the hard limit, not the agent.
    fn limits(&self, diagnostics: &mut Diagnostics) -> Limits {
        let own = self.agent.completion.as_ref().and_then(|completion| completion.max_iterations.as_ref());
        let hard = self.options.max_iterations.unwrap_or(self.settings.limits.hard_iterations);
        let composed = match self.agent.completion.as_ref() {
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
fn report_unused(step: &Step, said: &Said, diagnostics: &mut Diagnostics) {
    let used: HashSet<&String> = said.all().flat_map(|text| &text.used).collect();
    let declared = step.variables.iter().chain(step.custom.iter().map(|custom| &custom.name));
    for name in declared.filter(|name| !used.contains(&name.value)) {
        let message = format!("the variable {} is used nowhere in this step", quoted(&name.value));
        diagnostics.push(name.warning("unused-variable", message).label("declared here"));
    }
}

fn is_task(part: &Part) -> bool {
    matches!(part, Part::Value(Variable::Task, _))
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
