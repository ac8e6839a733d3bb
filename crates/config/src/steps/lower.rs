//! An agent as it was written becomes a workflow (section 7 of the format).

use std::collections::{HashMap, HashSet};
use std::path::Path;

use indexmap::IndexMap;
use saihai_model::{
    Activity, Alarm, Checked, Limits, Monitor, OnFailure, Output, OutputSchema, Part, Permission, Reads,
    SessionKey, SessionPolicy, Shaping, Spoken, Stage, StageId, StillWrong, Target, Text, Turn, TurnId,
    Variable, Watch, Workflow,
};

use super::agent::Agent;
use super::done;
use super::exit;
use super::flow::Flow;
use super::input::Missing;
use super::prompts::Passage;
use super::registry::Registry;
use super::speech::{self, Moment, Template};
use super::step::Step;
use super::variables::Variables;
use super::words::Words;
use crate::check::Spot;
use crate::lowering::{Answerer, Providers, Spots};
use crate::{Diagnostics, Located, Options, Settings, TextUse, quoted};

/// So often a step may lead to itself in a row (S-40).
const SELF_ENTRIES: u32 = 10;

/// The texts of a step.
#[derive(Debug, Clone, Default)]
pub(super) struct Spoke {
    /// The role its agent has.
    pub(super) role: Option<Passage>,
    /// What it is told to do.
    pub(super) work: Option<Passage>,
    /// What it is asked about that.
    pub(super) check: Option<Passage>,
}

/// Everything lowering looks at, and what it has made so far.
pub(super) struct Lowering<'a> {
    pub(super) agent: &'a Agent,
    pub(super) registry: &'a Registry,
    pub(super) entry: &'a Located<String>,
    pub(super) flow: &'a Flow<'a>,
    pub(super) texts: &'a IndexMap<String, Spoke>,
    pub(super) variables: &'a Variables,
    pub(super) parameters: &'a IndexMap<String, String>,
    /// Where the agent's files are.
    pub(super) directory: &'a Path,
    pub(super) words: &'static Words,
    pub(super) options: &'a Options,
    pub(super) settings: &'a Settings,
    pub(super) providers: Providers<'a>,
    pub(super) spots: Spots,
    /// Tokens of each turn's first prompt that are Saihai's.
    pub(super) added_tokens: Vec<(StageId, TurnId, u64)>,
    /// What is said, and who supplies its variables.
    pub(super) said: Vec<TextUse>,
    /// Roles by their files.
    pub(super) roles: HashMap<String, String>,
    /// Whether some prompt shows the task.
    pub(super) uses_task: bool,
}

impl Lowering<'_> {
    /// The workflow. Where errors were found before it is only good for finding more of them.
    pub(super) fn workflow(&mut self, diagnostics: &mut Diagnostics) -> Workflow {
        let registry = self.registry;
        let read: Vec<(Template, Option<Template>)> =
            registry.steps.iter().map(|step| self.read(step, diagnostics)).collect();
        let shows_task = |text: &Template| text.parts.iter().any(is_task);
        self.uses_task =
            read.iter().any(|(work, check)| shows_task(work) || check.as_ref().is_some_and(shows_task));
        let mut stages = IndexMap::new();
        for (step, (work, check)) in registry.steps.iter().zip(read) {
            let id = StageId::from(step.id.value.as_str());
            self.spots.put(Spot::Stage(id.clone()), &step.id.at);
            if let Some(question) = &step.gate {
                stages.insert(exit::gate_of(&step.id.value), exit::gate(step, question));
            }
            let stage = self.stage(step, work, check, diagnostics);
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
            words: done::words(),
        }
    }

    fn stage(
        &mut self,
        step: &Step,
        work: Template,
        check: Option<Template>,
        diagnostics: &mut Diagnostics,
    ) -> Stage {
        let turn = self.turn(step, work, check, diagnostics);
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

    /// Reads the texts of a step, and compares what is used with what was declared.
    fn read(&mut self, step: &Step, diagnostics: &mut Diagnostics) -> (Template, Option<Template>) {
        let spoke = self.texts.get(&step.id.value).cloned().unwrap_or_default();
        let mut read = |passage: &Passage, moment| {
            speech::read(passage, Some(step), moment, self.variables, diagnostics)
        };
        let work = spoke.work.as_ref().map(|passage| read(passage, Moment::Work)).unwrap_or_default();
        let check = spoke.check.as_ref().map(|passage| read(passage, Moment::Check));
        let texts = [(spoke.work.as_ref(), Some(&work), false), (spoke.check.as_ref(), check.as_ref(), true)];
        for (passage, text, is_check) in texts {
            if let (Some(passage), Some(text)) = (passage, text) {
                self.said.push(self.text_use(step, passage, text, is_check));
            }
        }
        if spoke.work.is_some() {
            let used: HashSet<&String> =
                work.used.iter().chain(check.iter().flat_map(|text| &text.used)).collect();
            for name in step.variables.iter().filter(|name| !used.contains(&name.value)) {
                let message = format!("the variable {} is used nowhere in this step", quoted(&name.value));
                diagnostics.push(name.warning("unused-variable", message).label("declared here"));
            }
        }
        for need in work.needs.iter().chain(check.iter().flat_map(|text| &text.needs)) {
            let (from, key) = (need.value.0.as_str(), need.value.1.as_str());
            let is_input = step.inputs.iter().any(|input| input.step == from && input.key == key);
            if !is_input {
                self.flow.check_order(&step.id.value, from, &need.at, diagnostics);
            }
        }
        (work, check)
    }

    fn text_use(&self, step: &Step, passage: &Passage, text: &Template, is_check: bool) -> TextUse {
        let id = &step.id.value;
        let origin = |name: &String| self.variables.origin(id, name).unwrap_or("the task").to_owned();
        TextUse {
            stage: id.as_str().into(),
            is_check,
            file: passage.name().to_owned(),
            variables: text.used.iter().map(|name| (name.clone(), origin(name))).collect(),
        }
    }

    fn turn(
        &mut self,
        step: &Step,
        work: Template,
        check: Option<Template>,
        diagnostics: &mut Diagnostics,
    ) -> Turn {
        let id = &step.id.value;
        let answerer = self.providers.resolve(id, &step.id.at, None, step.model.as_deref(), diagnostics);
        let form = step.output.as_ref().filter(|_| !self.shows_form(id));
        let form = form.map(|output| {
            format!("{}{}", speech::gap(&work.parts), speech::wanted(self.words, &output.schema))
        });
        let turn_id = TurnId::from(id.as_str());
        self.added_tokens.push((id.as_str().into(), turn_id.clone(), speech::added(form.as_ref())));
        let appends_task = !self.uses_task && self.entry.value == *id;
        let tools = step.tools.as_ref().unwrap_or(&self.agent.tools).clone();
        let mode = step.permission.as_ref().unwrap_or(&self.agent.permission);
        let asked = permission(mode, &tools);
        let granted = asked.at_most(self.ceiling());
        let persona = self.role(id, diagnostics).or_else(|| answerer.system_prompt.clone());
        let check = check.zip(step.check()).map(|(text, check)| {
            exit::choice(
                speech::check(self.words, text.parts, &check.form),
                speech::unreadable(self.words, &check.form),
            )
        });
        let Answerer { provider, model, timeout, price, .. } = answerer;
        Turn {
            id: turn_id,
            title: step.name.clone().unwrap_or_else(|| id.clone()),
            description: step.description.clone(),
            persona: persona.map(Text::from),
            role: Some(self.agent.name.value.clone()),
            prompt: speech::work(self.words, work.parts, form, appends_task),
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
            needs: self.needs(step, &work.needs),
            heading: String::new(),
            reads: Reads {
                choice: check,
                output: Some(self.output(step)),
                blocks: self.agent.actions.blocks(self.agent.completion.as_ref()),
                keywords: done::keywords(self.agent.completion.as_ref()),
                carry: Spoken::AllMessages,
                ..Reads::default()
            },
        }
    }

    /// What the step says it takes, and what its text shows, without which it is not asked.
    fn needs(&self, step: &Step, shown: &[Located<(StageId, String)>]) -> Vec<(StageId, String)> {
        let inputs = step.inputs.iter().filter(|input| input.missing == Missing::Fails);
        let inputs = inputs.map(|input| (StageId::from(input.step.as_str()), input.key.clone()));
        let mut needs: Vec<(StageId, String)> = Vec::new();
        for need in inputs.chain(shown.iter().map(|need| need.value.clone())) {
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        needs
    }

    /// Without a schema JSON is kept where it is there, and never asked for.
    fn output(&self, step: &Step) -> Output {
        let schema = match &step.output {
            Some(output) => OutputSchema { schema: output.schema.clone(), required: true },
            None => OutputSchema { schema: serde_json::json!({}), required: false },
        };
        Output {
            corrections: u32::from(schema.required),
            schema,
            correction: speech::correction(self.words),
            // What has no schema cannot be wrong.
            still_wrong: match step.output {
                Some(_) => StillWrong::Go(exit::on_failure(step, self.registry)),
                None => StillWrong::KeepValidItems,
            },
            checked: Checked::BySchema,
            shaping: Shaping::default(),
        }
    }

    /// The role of a step's agent. One that several steps have is read once.
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

    /// S-28, S-29: only the person can raise the hard limit.
    fn limits(&self, diagnostics: &mut Diagnostics) -> Limits {
        let own = self.agent.completion.as_ref().and_then(|completion| completion.max_iterations.as_ref());
        let hard = self.options.max_iterations.unwrap_or(self.settings.limits.hard_iterations);
        if let Some(own) = own.filter(|own| self.options.max_iterations.is_none() && own.value > hard) {
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

fn is_task(part: &Part) -> bool {
    matches!(part, Part::Value(Variable::Task, _))
}

/// Tools that change files.
const WRITING_TOOLS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// What a permission mode allows.
fn permission(mode: &str, tools: &[String]) -> Permission {
    match mode {
        "acceptEdits" => Permission::Edit { commands: false },
        "bypassPermissions" => Permission::Full,
        // It names no level, so the tools decide.
        "default" if tools.iter().any(|tool| WRITING_TOOLS.contains(&tool.as_str())) => {
            Permission::Edit { commands: false }
        }
        _ => Permission::ReadOnly,
    }
}
