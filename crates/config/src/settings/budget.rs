//! Budgets: a table in settings, a single text on the command line.

use saihai_model::{Budget, Millis, Usd};

use super::values::Section;
use crate::diagnostic::{Diagnostics, did_you_mean, quoted};

const KEYS: [&str; 4] = ["usd", "tokens", "turns", "minutes"];

/// Reason why a text is not a budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadBudget {
    #[error("{} has no key; write `usd=…`, `tokens=…`, `turns=…` or `minutes=…`, joined by commas", quoted(.0))]
    NoKey(String),
    #[error("{} is none of the keys `usd`, `tokens`, `turns` and `minutes`{}", quoted(.0), suggestion(.0))]
    UnknownKey(String),
    #[error("`{0}` is given twice")]
    Twice(&'static str),
    #[error("{} is no value for `{key}`; it must be a {} greater than 0", quoted(.value), number_of(.key))]
    BadValue { key: &'static str, value: String },
}

fn number_of(key: &str) -> &'static str {
    if matches!(key, "usd" | "minutes") { "number" } else { "whole number" }
}

fn suggestion(key: &str) -> String {
    did_you_mean(key, KEYS).map_or(String::new(), |hint| format!("; {hint}"))
}

/// Parses `usd=5,tokens=2000000,turns=40,minutes=90`: any of the four, each at most once.
pub fn parse_budget(text: &str) -> Result<Budget, BadBudget> {
    let mut budget = Budget::default();
    for part in text.split(',').map(str::trim) {
        let (key, value) = part.split_once('=').ok_or_else(|| BadBudget::NoKey(part.to_owned()))?;
        let (key, value) = (key.trim(), value.trim());
        let key =
            *KEYS.iter().find(|known| **known == key).ok_or_else(|| BadBudget::UnknownKey(key.to_owned()))?;
        let bad = || BadBudget::BadValue { key, value: value.to_owned() };
        let number = || value.parse::<f64>().ok();
        let whole = || value.parse::<u64>().ok().filter(|count| *count > 0);
        let twice = match key {
            "usd" => budget.usd.replace(number().and_then(dollars).ok_or_else(bad)?).is_some(),
            "minutes" => budget.time.replace(number().and_then(minutes).ok_or_else(bad)?).is_some(),
            "tokens" => budget.tokens.replace(whole().ok_or_else(bad)?).is_some(),
            _ => budget.turns.replace(whole().ok_or_else(bad)?).is_some(),
        };
        if twice {
            return Err(BadBudget::Twice(key));
        }
    }
    Ok(budget)
}

/// Reads a budget table. Reports amounts that are too large to represent.
pub(super) fn read_budget(section: &Section<'_>, diagnostics: &mut Diagnostics) -> Budget {
    let mut amount = |name: &str, convert: fn(f64) -> Option<u64>| {
        let setting = section.get(name)?;
        let amount = convert(setting.node.as_number()?);
        if amount.is_none() {
            let message = format!("`{name}` is an amount that cannot be counted");
            diagnostics.push(setting.at.error("bad-value", message).label("not allowed"));
        }
        amount
    };
    Budget {
        usd: amount("usd", |number| dollars(number).map(|usd| usd.0)).map(Usd),
        time: amount("minutes", |number| minutes(number).map(|time| time.0)).map(Millis),
        tokens: section.whole("tokens"),
        turns: section.whole("turns"),
    }
}

fn dollars(number: f64) -> Option<Usd> {
    Usd::from_dollars(number).filter(|usd| usd.0 > 0)
}

/// Converts minutes, up to a century like every duration.
fn minutes(number: f64) -> Option<Millis> {
    const CENTURY: f64 = 100.0 * 366.0 * 24.0 * 60.0;
    let within = number > 0.0 && number <= CENTURY;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
    within.then(|| Millis((number * 60_000.0).round() as u64)).filter(|time| time.0 > 0)
}
