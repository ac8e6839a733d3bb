use proptest::prelude::*;

use super::*;

const SEED: &str = "provider = \"claude\"\nstrict = true\n[retry]\nmax_wait = \"6h\"\ncrashed = 2\n[budget]\nusd = 5\n[providers.mine]\nkind = \"command\"\nprogram = \"x\"\nargs = [\"{model}\"]\nfallback = \"claude\"\nprice = { turn = 1 }\nenv = { A = \"b\" }\n[work]\ngates = [\"before-pr\"]\n";

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_and_no_variable_makes_settings_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<char>()), 0..4),
        name in "(RETRY|PROVIDERS|BUDGET|WORK)?(__[A-Z_]{0,8}){0,3}",
        value in any::<String>(),
    ) {
        let mut text: Vec<char> = SEED.chars().collect();
        for (place, with) in changes {
            let place = place.index(text.len());
            text[place] = with;
        }
        let text: String = text.into_iter().collect();
        let world = World::default().user(&text).project(&text).variable(&format!("SAIHAI_{name}"), &value);
        let (settings, _) = world.load();
        settings.check_trust(&[Use::Provider("mine"), Use::Work, Use::Distributed]);
        for listed in settings.list() {
            prop_assert!(settings.find(&listed.key).is_ok() || listed.key.contains('['), "{}", listed.key);
        }
    }

    #[test]
    fn no_text_makes_a_budget_panic(text in any::<String>()) {
        let _ = parse_budget(&text);
    }

    #[test]
    fn a_budget_that_is_read_is_never_zero(text in "(usd|tokens|turns|minutes)=[0-9.e-]{1,8}") {
        if let Ok(budget) = parse_budget(&text) {
            prop_assert_ne!(&budget, &Budget::default());
            prop_assert!(budget.usd != Some(Usd(0)) && budget.time != Some(Millis(0)));
            prop_assert!(budget.tokens != Some(0) && budget.turns != Some(0));
        }
    }
}
