//! Upper bounds on the cost of a run of a definition.

use saihai_config::check::{Charge, Money, most_calls, most_money};
use saihai_config::{Definition, Settings, TextUse};
use saihai_model::{Budget, Limits, Usd, Workflow};
use serde::Serialize;

use crate::project::Project;
use crate::report::{BudgetObject, budget_words, count};
use crate::terminal::visible_line;

/// Upper bounds of one definition (P-56), without retries.
pub(super) struct Bound {
    definition: String,
    file: Option<String>,
    /// Hard limit on iterations, if the definition has one (S-10).
    iterations: Option<u32>,
    calls: Option<u64>,
    money: Option<Money>,
    budget: Budget,
    texts: Vec<TextUse>,
}

impl Bound {
    pub(super) fn new(
        project: &Project,
        definition: &Definition,
        workflow: &Workflow,
        settings: &Settings,
    ) -> Self {
        Self {
            definition: definition.name.clone(),
            file: definition.path.as_ref().map(|path| project.shown(path)),
            iterations: most_iterations(&workflow.limits),
            calls: most_calls(workflow),
            money: most_money(workflow, settings),
            budget: workflow.limits.budget.clone(),
            texts: Vec::new(),
        }
    }

    /// Adds the texts that the definition uses (S-71).
    pub(super) fn with_texts(self, texts: Vec<TextUse>) -> Self {
        Self { texts, ..self }
    }

    /// Formats the bound as one line, followed by its texts.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.line()];
        for TextUse { text, variables } in &self.texts {
            let check = if text.is_check { " (check)" } else { "" };
            let built_in = if self.file.is_none() { " (built-in)" } else { "" };
            lines.push(format!(
                "  {}{check}: {}{built_in}",
                visible_line(text.stage.as_str()),
                visible_line(&text.file)
            ));
            let supplied = variables.iter();
            lines.extend(
                supplied.map(|(name, from)| format!("    {}: {}", visible_line(name), visible_line(from))),
            );
        }
        lines
    }

    fn line(&self) -> String {
        let calls = self.calls.map_or_else(
            || "no upper bound on calls".to_owned(),
            |most| format!("at most {}", count(most, "call")),
        );
        let calls = match self.iterations {
            Some(most) => {
                let calls = calls.strip_prefix("at most ").unwrap_or(&calls);
                format!("at most {}, {calls}", count(most.into(), "iteration"))
            }
            None => calls,
        };
        let mut line = format!("{}: {calls}", visible_line(&self.definition));
        if let Some(money) = &self.money {
            line.push_str(&money_words(money));
        }
        if let Some(words) = budget_words(&self.budget) {
            line.push_str("; budget: ");
            line.push_str(&words);
        }
        line
    }

    pub(super) fn object(&self) -> BoundObject<'_> {
        let (mut most_usd, mut within, mut open) = (None, None, Vec::new());
        match &self.money {
            Some(Money::AtMost(usd)) => most_usd = Some(usd.dollars()),
            Some(Money::WithinTokens(usd)) => within = Some(usd.dollars()),
            Some(Money::Open(because)) => {
                let why = |(provider, charge): (&'_ saihai_model::ProviderName, &Charge)| OpenObject {
                    provider: provider.as_str().to_owned(),
                    charged: charged(*charge),
                };
                open = because.iter().map(why).collect();
            }
            Some(Money::Unlimited) | None => {}
        }
        BoundObject {
            definition: &self.definition,
            file: self.file.as_deref(),
            most_iterations: self.iterations,
            most_calls: self.calls,
            most_usd,
            most_usd_within_budget: within,
            unbounded_usd: open,
            budget: BudgetObject::new(&self.budget),
            texts: self.texts.iter().map(TextObject::new).collect(),
        }
    }
}

/// Returns the hard iteration limit of a workflow, if it has one.
fn most_iterations(limits: &Limits) -> Option<u32> {
    let hard = limits.hard_rounds?;
    Some(limits.rounds.map_or(hard, |own| own.min(hard)))
}

#[derive(Serialize)]
pub(super) struct BoundObject<'a> {
    definition: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most_iterations: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most_calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most_usd_within_budget: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unbounded_usd: Vec<OpenObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<BudgetObject>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    texts: Vec<TextObject<'a>>,
}

/// A text used by a stage.
#[derive(Serialize)]
struct TextObject<'a> {
    stage: &'a str,
    part: &'static str,
    file: &'a str,
    variables: Vec<SupplyObject<'a>>,
}

/// A variable and its supplier.
#[derive(Serialize)]
struct SupplyObject<'a> {
    name: &'a str,
    from: &'a str,
}

impl<'a> TextObject<'a> {
    fn new(TextUse { text, variables }: &'a TextUse) -> Self {
        Self {
            stage: text.stage.as_str(),
            part: if text.is_check { "check" } else { "prompt" },
            file: &text.file,
            variables: variables.iter().map(|(name, from)| SupplyObject { name, from }).collect(),
        }
    }
}

/// A reason why the cost in money has no bound.
#[derive(Serialize)]
struct OpenObject {
    provider: String,
    charged: &'static str,
}

fn charged(charge: Charge) -> &'static str {
    match charge {
        Charge::ByTurn => "by_turn",
        Charge::ByToken => "by_token",
        Charge::Told => "told",
        Charge::Unpriced => "unpriced",
    }
}

fn money_words(money: &Money) -> String {
    let amount = |usd: &Usd| format!("at most {usd}");
    match money {
        Money::AtMost(usd) => format!(", {}", amount(usd)),
        Money::WithinTokens(usd) => format!(", {} within the budget of tokens", amount(usd)),
        Money::Unlimited => ", no upper bound on money".to_owned(),
        Money::Open(because) => {
            let why = because.iter().map(|(provider, charge)| match charge {
                Charge::ByTurn => format!("`{provider}` is charged by the turn"),
                Charge::ByToken => format!("`{provider}` is charged by the token"),
                Charge::Told => format!("`{provider}` tells a turn's cost only afterwards"),
                Charge::Unpriced => format!("`{provider}` has no price"),
            });
            format!(", no upper bound on money ({})", why.collect::<Vec<_>>().join("; "))
        }
    }
}
