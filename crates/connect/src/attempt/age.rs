//! Programs that are older than the tested version: they fail on unknown arguments.

use saihai_model::{FailureClass, ProviderAnswer, Refusal};

use super::Installed;
use crate::doctor;
use crate::environment;

/// Adds the program's version to the failure of an old program that failed at the start.
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

/// Returns true if the program exited with an unexplained error before it asked its model.
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
