//! Money in reports: dollars, as in all our JSON (K-3).

use saihai_model::Usd;
use serde::{Deserialize as _, Deserializer, Serializer, de};

#[expect(clippy::ref_option, reason = "serde hands out references to fields")]
pub(super) fn serialize<S: Serializer>(cost: &Option<Usd>, serializer: S) -> Result<S::Ok, S::Error> {
    match cost {
        Some(cost) => serializer.serialize_f64(cost.dollars()),
        None => serializer.serialize_none(),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Usd>, D::Error> {
    let dollars = Option::<f64>::deserialize(deserializer)?;
    let cost =
        |dollars| Usd::from_dollars(dollars).ok_or_else(|| de::Error::custom("it is no amount of money"));
    dollars.map(cost).transpose()
}
