//! The cost of a turn, as a program reports it.

use saihai_model::{Json, Usd};
use serde::{Deserialize, Deserializer};

/// The reported cost of a turn, which may be anything (T-64).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ToldCost {
    /// The program reports no cost.
    #[default]
    Nothing,
    Amount(Usd),
    /// A value that is not an amount, unchanged.
    Senseless(String),
}

impl ToldCost {
    pub(crate) fn amount(&self) -> Option<Usd> {
        match self {
            Self::Amount(amount) => Some(*amount),
            Self::Nothing | Self::Senseless(_) => None,
        }
    }

    /// Adds the cost of another part of the turn. The sum is unknown if either part makes no sense.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Amount(one), Self::Amount(other)) => Self::Amount(Usd(one.0.saturating_add(other.0))),
            (senseless @ Self::Senseless(_), _) | (_, senseless @ Self::Senseless(_)) => senseless,
            (Self::Nothing, told) | (told, Self::Nothing) => told,
        }
    }

    /// Returns a warning about a senseless value.
    pub(crate) fn warning(&self) -> Option<String> {
        match self {
            Self::Senseless(words) => {
                Some(format!("the turn is said to have cost `{words}`, which is no amount of money"))
            }
            Self::Nothing | Self::Amount(_) => None,
        }
    }
}

impl From<&Json> for ToldCost {
    fn from(said: &Json) -> Self {
        const LONGEST: usize = 40;
        if said.is_null() {
            return Self::Nothing;
        }
        match said.as_f64().and_then(Usd::from_dollars) {
            Some(amount) => Self::Amount(amount),
            None => Self::Senseless(said.to_string().chars().take(LONGEST).collect()),
        }
    }
}

impl<'de> Deserialize<'de> for ToldCost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(&Json::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn senseless(words: &str) -> ToldCost {
        ToldCost::Senseless(words.to_owned())
    }

    #[test]
    fn only_an_amount_is_one() {
        let check = |said: Json, expected: ToldCost| assert_eq!(ToldCost::from(&said), expected, "{said}");
        check(json!(0.0006), ToldCost::Amount(Usd(600)));
        check(json!(0), ToldCost::Amount(Usd(0)));
        check(json!(null), ToldCost::Nothing);
        check(json!(-0.5), senseless("-0.5"));
        check(json!(1e308), senseless("1e+308"));
        check(json!("NaN"), senseless("\"NaN\""));
        check(json!({"usd": 1}), senseless("{\"usd\":1}"));
        check(json!("x".repeat(1_000)), senseless(&format!("\"{}", "x".repeat(39))));
    }

    #[test]
    fn a_sum_with_something_senseless_in_it_makes_no_sense() {
        let amount = |micros| ToldCost::Amount(Usd(micros));
        assert_eq!(amount(1).and(amount(2)), amount(3));
        assert_eq!(ToldCost::Nothing.and(amount(2)).and(ToldCost::Nothing), amount(2));
        assert_eq!(amount(u64::MAX).and(amount(2)), amount(u64::MAX));
        assert_eq!(amount(1).and(senseless("-1")).and(amount(2)), senseless("-1"));
    }
}
