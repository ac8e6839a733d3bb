use crate::{Diagnostics, Fields, quoted};

/// Reports a `version` that is not `N.N.N`.
pub(super) fn check(fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    let Some(version) = fields.text("version") else { return };
    let numbers: Vec<&str> = version.value.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if numbers.len() != 3 || !numbers.iter().all(is_number) {
        let message = format!("{} is no version", quoted(&version.value));
        diagnostics.push(version.error("version", message).hint("write three numbers, such as `1.0.0`"));
    }
}
