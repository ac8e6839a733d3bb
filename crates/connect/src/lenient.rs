//! Lenient parsing of program output: an unexpected field counts as absent, and the rest still counts (C-53).

use saihai_model::Json;
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Deserializer};

/// Returns the default for a field of an unexpected type.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Json::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}
