//! Lowering of hats and their gates to a workflow (section "Lowering" of the dialect).

use indexmap::IndexMap;
use saihai_model::{
    Activity, Again, Alarm, Budget, Completion, Directives, EndWord, Ending, Exit, ExitRule, FailureReason,
    Gate, GateMode, Join, LimitReason, Limits, Monitor, OnFailure, OwnProvider, Permission, Prompt,
    PromptPart, PromptSection, Reads, Retry, Rounds, Route, RuleCondition, SectionCondition, SessionPolicy,
    Stage, StageId, Target, Text, Topic, Topics, Turn, TurnId, Usd, ValueForm, Variable, VisitLimit, Wants,
    Watch, Workflow,
};

use super::check::GatePoint;
use super::model::{BASE, HatsFile, TopicRoutes, takes};
use super::prompt::{HatPrompt, HatWords};
use super::read::{Hat, emits_elsewhere};
use crate::breaker::add_breakers;
use crate::lowering::ResolvedProvider;
use crate::{Language, Options, Settings};

/// Number of identical replies that puts a run on hold (H-51).
const STALE_AFTER: u32 = 3;

pub(super) struct HatLowering<'a> {
    pub(super) name: &'a str,
    pub(super) written: &'a HatsFile,
    pub(super) routes: &'a TopicRoutes,
    pub(super) gates: &'a [(GatePoint, GateMode)],
    pub(super) answerer: &'a ResolvedProvider,
    /// Providers of hats that name one (ralph), by the id of the hat.
    pub(super) own_answerers: &'a IndexMap<String, ResolvedProvider>,
    pub(super) options: &'a Options,
    pub(super) settings: &'a Settings,
    pub(super) language: Language,
}

/// A workflow, and the tokens that Saihai adds to each first prompt.
pub(super) struct LoweredHats {
    pub(super) workflow: Workflow,
    pub(super) added_tokens: Vec<(StageId, TurnId, u64)>,
}

impl HatLowering<'_> {
    pub(super) fn lower(&self) -> LoweredHats {
        let mut added_tokens = Vec::new();
        let mut stages = IndexMap::new();
        let hats = self.written.hats.values().map(Some);
        let base = (self.routes.fallback().as_str() == BASE).then_some(None);
        for hat in hats.chain(base) {
            let speech = self.speech(hat);
            let id = hat.map_or(BASE, |hat| hat.id.value.as_str());
            added_tokens.push((StageId::from(id), TurnId::from(id), speech.added_tokens()));
            stages.insert(StageId::from(id), self.stage(id, hat, &speech));
        }
        let mut workflow = Workflow {
            name: self.name.to_owned(),
            entry: self.routes.destination(self.written.flow.start()),
            stages,
            topics: Some(self.topics()),
            monitors: self.monitors(),
            breakers: Vec::new(),
            completion: Completion::Flow,
            limits: self.limits(),
            retry: self.retry(),
            afterwards: None,
            provider: self.asked_own().cloned(),
            log: None,
            groups: Vec::new(),
            issue: None,
            words: self.words(),
        };
        // Topic gates go first. The pre-loop gate then comes before all of them.
        let (topics, others): (Vec<_>, Vec<_>) =
            self.gates.iter().partition(|(point, _)| matches!(point, GatePoint::Topic(_)));
        for (point, mode) in topics.into_iter().chain(others) {
            put_gate(&mut workflow, point, *mode);
        }
        // All hats have the same permission, so a cycle gets a breaker only if the file asks for it.
        if let Some(progress) = &self.written.bounds.progress {
            add_breakers(&mut workflow, progress, self.language);
        }
        LoweredHats { workflow, added_tokens }
    }

    /// Returns the provider that the file describes, if the run uses it.
    fn asked_own(&self) -> Option<&OwnProvider> {
        self.written.own_provider.as_ref().filter(|own| own.name == self.answerer.provider)
    }

    fn topics(&self) -> Topics {
        let routes: Vec<Route> = self.routes.table();
        let start = Topic::from(self.written.flow.start());
        Topics { start, routes, otherwise: self.routes.fallback(), expected: !self.written.hats.is_empty() }
    }

    /// H-49, H-51. Without hats, repeating until the keyword or the limit is intended.
    fn monitors(&self) -> Vec<Monitor> {
        if self.written.hats.is_empty() {
            return Vec::new();
        }
        let times = self.written.flow.stall_after();
        vec![
            Monitor { watches: Watch::Silent { times }, then: Alarm::Hold(LimitReason::Stalled) },
            Monitor { watches: Watch::Same { times: STALE_AFTER }, then: Alarm::Hold(LimitReason::Stale) },
        ]
    }

    fn limits(&self) -> Limits {
        let bounds = &self.written.bounds;
        let own = Budget { usd: bounds.cost_usd.and_then(Usd::from_dollars), ..Budget::default() };
        let timeout = self.options.run_timeout.or(bounds.runtime).or(self.settings.limits.run_timeout);
        Limits {
            rounds: Some(self.options.max_iterations.unwrap_or(bounds.iterations())),
            hard_rounds: None,
            runtime: timeout,
            silence: bounds.idle,
            budget: self.settings.budget.replaced_by(&own).replaced_by(&self.options.budget),
        }
    }

    fn retry(&self) -> Retry {
        let failures = self.written.bounds.failures();
        Retry { transient: failures, crashed: failures, together: true, ..self.settings.retry() }
    }

    fn words(&self) -> IndexMap<String, String> {
        let words = HatWords::of(self.language);
        let flow = &self.written.flow;
        // A closing word inside a sentence could mean either of the two.
        let closing = match &flow.cancellation {
            Some(cancellation) => format!("{}{}{}", flow.keyword(), words.or, cancellation.value),
            None => flow.keyword().to_owned(),
        };
        let reasons = words.reasons.iter();
        let reasons = reasons.map(|(code, word)| ((*code).to_owned(), word.replace("{keyword}", &closing)));
        // The word for a stage in messages, which are always English.
        reasons.chain([("stage".to_owned(), "hat".to_owned())]).collect()
    }

    /// H-31: returns true if the prompt mentions the keyword. That holds for:
    ///
    /// - hats that list it
    /// - hats that can publish nothing else
    /// - every turn, if no hat lists it
    fn tells_keyword(&self, hat: Option<&Hat>) -> bool {
        let keyword = self.written.flow.keyword();
        let nobody_completes = !self.written.hats.values().any(|hat| hat.may_complete(keyword));
        hat.is_none_or(|hat| hat.may_complete(keyword) || hat.topics(&self.written.flow).next().is_none())
            || nobody_completes
    }

    fn speech<'s>(&'s self, hat: Option<&'s Hat>) -> HatPrompt<'s> {
        let keyword = self.written.flow.keyword();
        let topics: Vec<&str> = match hat {
            Some(hat) => hat.topics(&self.written.flow).map(|topic| topic.value.as_str()).collect(),
            None => self.routes.exact_topics(),
        };
        let said = &self.written.topics;
        let id = hat.map_or(BASE, |hat| hat.id.value.as_str());
        let leads_here = |topic: &str| self.routes.destination(topic).as_str() == id;
        HatPrompt {
            words: HatWords::of(self.language),
            base_prompt: self.written.base_prompt.as_deref().filter(|text| !text.trim().is_empty()),
            hat: hat.map(|hat| (hat.name.as_str(), hat.instructions.value.as_str())),
            keyword: self.tells_keyword(hat).then_some(keyword),
            triggered: said
                .iter()
                .filter(|(topic, _)| leads_here(topic))
                .filter_map(|(topic, texts)| Some((topic.as_str(), texts.triggered.as_deref()?)))
                .collect(),
            publishing: topics.iter().filter_map(|topic| Some((*topic, said.get(*topic)?))).collect(),
            topics,
            foreign: self.written.hats.values().any(|hat| emits_elsewhere(&hat.instructions.value)),
            reminds: !self.written.hats.is_empty(),
        }
    }

    fn stage(&self, id: &str, hat: Option<&Hat>, speech: &HatPrompt<'_>) -> Stage {
        let silent = Again {
            note: Some(speech.note()),
            at_most: None,
            exhausted: Target::failed(FailureReason::Silent),
        };
        let default = hat.and_then(|hat| hat.default_publishes.as_ref());
        let max = hat.and_then(|hat| hat.max_activations.or(self.written.flow.max_activations));
        Stage {
            title: hat.map_or(BASE, |hat| hat.name.as_str()).to_owned(),
            does: Activity::Turns {
                turns: vec![self.turn(id, hat, speech)],
                at_once: None,
                on_failure: OnFailure::Park,
                between: String::new(),
            },
            exit: Exit::Topics { silent, default: default.map(|topic| Topic::from(topic.value.as_str())) },
            rounds: saihai_model::Rounds::default(),
            visits: max.map(|max| self.visit_limit(id, max)),
            aside: false,
            description: hat.and_then(|hat| hat.description.clone()),
        }
    }

    /// H-52: only a hat with an explicit trigger replaces an exhausted one.
    fn visit_limit(&self, id: &str, max: u32) -> VisitLimit {
        let topic = format!("{id}.exhausted");
        VisitLimit {
            max,
            once_instead: self.routes.explicit_taker(&topic).cloned(),
            publishes: Some(Topic::from(topic.as_str())),
        }
    }

    fn turn(&self, id: &str, hat: Option<&Hat>, speech: &HatPrompt<'_>) -> Turn {
        let answerer = self.own_answerers.get(id).unwrap_or(self.answerer).clone();
        let ceiling =
            self.options.max_permission.or(self.settings.max_permission).unwrap_or(Permission::Full);
        // H-1: all hats have the same permission.
        let wanted = Permission::Edit { commands: true };
        let permission = wanted.at_most(ceiling);
        let title = hat.map_or(BASE, |hat| hat.name.as_str());
        Turn {
            id: TurnId::from(id),
            title: title.to_owned(),
            description: hat.and_then(|hat| hat.description.clone()),
            persona: answerer.system_prompt.map(Text::from),
            role: Some(id.to_owned()),
            prompt: speech.prompt(),
            provider: answerer.provider,
            program: None,
            model: answerer.model,
            permission,
            asked_permission: (permission != wanted).then_some(wanted),
            sandbox_required: hat.is_some_and(|hat| hat.sandbox_required),
            tools: answerer.tools,
            session: SessionPolicy::Fresh,
            timeout: hat.and_then(|hat| hat.timeout).or(answerer.timeout),
            within: None,
            max_calls: None,
            price: answerer.price,
            heading: String::new(),
            needs: Vec::new(),
            reads: Reads { directives: Some(self.directives(hat)), ..Reads::default() },
        }
    }

    fn directives(&self, hat: Option<&Hat>) -> Directives {
        let flow = &self.written.flow;
        let required = flow.required_events.iter().flatten().map(|topic| Topic::from(topic.value.as_str()));
        let complete = EndWord {
            word: flow.keyword().to_owned(),
            requires: required.collect(),
            then: Target::Complete,
            quiet: !self.tells_keyword(hat),
        };
        let cancel = flow.cancellation.as_ref().map(|word| EndWord {
            word: word.value.clone(),
            requires: Vec::new(),
            then: Target::End(Ending::Cancelled),
            quiet: false,
        });
        let published = self.written.hats.values().flat_map(|hat| hat.topics(flow));
        let mut known: Vec<Topic> = self.routes.patterns().map(Topic::from).collect();
        for topic in published.map(|topic| Topic::from(topic.value.as_str())) {
            if !known.contains(&topic) {
                known.push(topic);
            }
        }
        let declared = hat.map(|hat| hat.topics(flow));
        Directives {
            words: std::iter::once(complete).chain(cancel).collect(),
            known,
            declared: declared.map(|topics| topics.map(|topic| topic.value.as_str().into()).collect()),
            enforce: flow.enforce_scope.unwrap_or(false),
            extraction: flow.extraction.unwrap_or_default(),
        }
    }
}

/// Inserts the gate at a point of a workflow. Answering no ends the run (H-59).
pub(super) fn put_gate(workflow: &mut Workflow, point: &GatePoint, mode: GateMode) {
    let id = StageId::from(format!("gate/{}", point.name()).as_str());
    let next = match point {
        GatePoint::PreLoop => Target::Stage(std::mem::replace(&mut workflow.entry, id.clone())),
        GatePoint::PostCompletion => {
            workflow.afterwards = Some(id.clone());
            Target::Complete
        }
        // `run` makes no pull request.
        GatePoint::BeforePr => return,
        GatePoint::Topic(topic) => Target::Stage(divert(workflow, topic, &id)),
    };
    workflow.stages.insert(id, gate_stage(point, mode, next));
}

/// Routes a topic to its gate, and returns the hat that handled it before.
fn divert(workflow: &mut Workflow, topic: &str, gate: &StageId) -> StageId {
    let Some(topics) = &mut workflow.topics else { return workflow.entry.clone() };
    // Insert right before the previous route, so the order of the others does not change.
    let place = topics.routes.iter().position(|route| takes(&route.pattern, topic));
    let orphans = place.is_none();
    let place = place.unwrap_or(topics.routes.len());
    let taker = topics.routes.get(place).map_or(&topics.otherwise, |route| &route.to).clone();
    if topics.start.as_str() == topic && workflow.entry == taker {
        workflow.entry = gate.clone();
    }
    topics.routes.insert(place, Route { pattern: topic.to_owned(), to: gate.clone(), orphans });
    // The engine can also publish the topic for a hat that reached its visit limit (H-52).
    for limit in workflow.stages.values_mut().filter_map(|stage| stage.visits.as_mut()) {
        if limit.publishes.as_ref().is_some_and(|published| published.as_str() == topic) {
            limit.once_instead = limit.once_instead.take().map(|_| gate.clone());
        }
    }
    taker
}

fn gate_stage(point: &GatePoint, mode: GateMode, next: Target) -> Stage {
    let gate = Gate { question: gate_question(point), wants: Wants::YesNo, mode, timeout: None };
    let rules = vec![
        ExitRule { when: RuleCondition::Is("yes".into()), then: next },
        ExitRule { when: RuleCondition::Is("no".into()), then: Target::End(Ending::Declined) },
    ];
    Stage {
        title: point.name().to_owned(),
        does: Activity::Gate(gate),
        exit: Exit::Rules { rules, question: None, otherwise: Target::End(Ending::Declined) },
        rounds: Rounds::default(),
        visits: None,
        aside: false,
        description: None,
    }
}

/// Builds the question for the person. Messages to people are in English.
fn gate_question(point: &GatePoint) -> Prompt {
    let (asked, variable, form) = match point {
        GatePoint::PreLoop => ("Start with this task?".to_owned(), Variable::Task, ValueForm::Quote),
        GatePoint::PostCompletion => {
            ("The work is reported as done. Accept it?".to_owned(), Variable::Previous, ValueForm::Tail(1000))
        }
        GatePoint::BeforePr => {
            ("Open a pull request for the work?".to_owned(), Variable::Previous, ValueForm::Tail(1000))
        }
        GatePoint::Topic(topic) => {
            (format!("Continue with `{topic}`?"), Variable::EventMessage, ValueForm::Quote)
        }
    };
    let asked = PromptSection { body: vec![PromptPart::Fixed(asked.into())], when: SectionCondition::Always };
    let about =
        PromptSection { body: vec![PromptPart::Value(variable, form)], when: SectionCondition::Filled };
    Prompt { sections: vec![asked, about], join: Join::Paragraphs }
}
