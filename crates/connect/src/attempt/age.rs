//! Programs that are older than what Saihai is tested with: they fail over arguments that they do not know yet.

use saihai_model::{FailureClass, ProviderAnswer, Refusal};

use super::Installed;
use crate::doctor;
use crate::environment;

/// Names the version of a program that failed before it did anything, where it is an old one.
pub(super) async fn remark(answer: ProviderAnswer, installed: &Installed) -> ProviderAnswer {
    let mut refusal = match answer {
        Err(refusal) if is_from_the_start(&refusal) => refusal,
        answer => return answer,
    };
    let profile = installed.agent.profile();
    let given = environment::allowed(&installed.means.environment, &[]);
    let said = doctor::probe(&installed.program, &["--version"], given).await;
    let version = said.and_then(|said| doctor::version(&said.output));
    if let Some(version) = version.filter(|version| is_older(version, profile.tested)) {
        let words = format!(
            "{} {version} is too old: the oldest version known to work is {}; get it with `{}`",
            profile.program, profile.tested, profile.install
        );
        refusal.failure.message = format!("{words}\n{}", refusal.failure.message);
    }
    Err(refusal)
}

/// Whether it ended by itself with an error that nobody else explains, and its model was not asked.
fn is_from_the_start(refusal: &Refusal) -> bool {
    let failure = &refusal.failure;
    matches!(failure.class, FailureClass::BadRequest | FailureClass::Crashed)
        && failure.exit_code.is_some_and(|code| code != 0)
        && refusal.usage.tokens() == 0
        && refusal.session.is_none()
}

fn is_older(version: &str, than: &str) -> bool {
    let numbers =
        |text: &str| -> Option<Vec<u64>> { text.split('.').map(|part| part.parse().ok()).collect() };
    numbers(version).zip(numbers(than)).is_some_and(|(version, than)| version < than)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let check =
            |version, than, expected| assert_eq!(is_older(version, than), expected, "{version} {than}");
        check("0.99.0", "0.166.0", true);
        check("0.166.0", "0.166.0", false);
        check("1.0.0", "0.166.0", false);
        check("0.166.0", "", false);
    }
}
