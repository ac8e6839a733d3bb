//! Numbers for people.

use std::collections::BTreeSet;

use saihai_model::{ProviderName, Usage, Usd};

use crate::terminal::visible_line;

pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}

/// Formats tokens: `1,020 tokens`. Returns nothing if the provider reports none.
pub(crate) fn tokens(usage: &Usage) -> Option<String> {
    (usage.input.is_some() || usage.output.is_some()).then(|| count(usage.tokens(), "token"))
}

pub(crate) fn cost(cost: Option<Usd>) -> Option<String> {
    cost.map(|usd| usd.to_string())
}

/// Formats a total: `$0.0123 (without codex, gemini)`. The listed providers have turns without a price.
pub(crate) fn total_cost(total: Option<Usd>, unpriced: &BTreeSet<ProviderName>) -> Option<String> {
    let total = total?;
    if unpriced.is_empty() {
        return Some(total.to_string());
    }
    let names: Vec<_> = unpriced.iter().map(|name| visible_line(name.as_str())).collect();
    Some(format!("{total} (without {})", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    // K-35
    #[test]
    fn a_total_names_the_providers_that_it_lacks() {
        let unpriced = |names: &[&str]| names.iter().map(|name| ProviderName::from(*name)).collect();
        assert_eq!(total_cost(Some(Usd(12_300)), &unpriced(&[])).as_deref(), Some("$0.0123"));
        let lacks = total_cost(Some(Usd(12_300)), &unpriced(&["gemini", "codex"]));
        assert_eq!(lacks.as_deref(), Some("$0.0123 (without codex, gemini)"));
        assert_eq!(total_cost(None, &unpriced(&["codex"])), None);
    }

    #[test]
    fn digits_stand_in_groups_of_three() {
        let all = [0, 7, 999, 1_000, 12_345, 1_234_567].map(grouped);
        assert_eq!(all, ["0", "7", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn unknown_tokens_are_not_shown_as_none_used() {
        assert_eq!(tokens(&Usage::default()), None);
        assert_eq!(
            tokens(&Usage { output: Some(1500), ..Usage::default() }).as_deref(),
            Some("1,500 tokens")
        );
    }
}
