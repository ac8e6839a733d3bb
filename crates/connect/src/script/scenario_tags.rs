//! Status tags of TAKT's mock scenarios (X-5): `[EXECUTE:1]` names the movement and counts rules from 1.

use std::sync::{Arc, LazyLock};

use regex::{Captures, Regex};
use saihai_model::ScriptReply;

static TAG: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[([A-Za-z0-9_-]+):([0-9]{1,4})\]").expect("the pattern is fixed"));

/// Returns the reply with its tags as Saihai writes them. `turn` is its name.
pub(super) fn with_own_tags(reply: &Arc<ScriptReply>, turn: &str) -> Arc<ScriptReply> {
    let Some(text) = reply.text.as_deref().filter(|text| text.contains('[')) else {
        return Arc::clone(reply);
    };
    let name = plain(turn.rsplit('/').next().unwrap_or(turn));
    let replaced = TAG.replace_all(text, |found: &Captures<'_>| {
        let is_own = ["MOVEMENT", &name].contains(&plain(&found[1]).as_str()) && plain(&found[1]) != "STEP";
        let number = found[2].parse::<u32>().ok().and_then(|number| number.checked_sub(1));
        match number.filter(|_| is_own) {
            Some(number) => format!("[STEP:{number}]"),
            None => found[0].to_owned(),
        }
    });
    if replaced == text {
        return Arc::clone(reply);
    }
    Arc::new(ScriptReply { text: Some(replaced.into_owned()), ..ScriptReply::clone(reply) })
}

fn plain(name: &str) -> String {
    name.to_uppercase().replace(['-', ' '], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    // X-5
    #[test]
    fn tags_of_the_movement_count_from_one_and_others_stay() {
        let check = |text: &str, turn: &str, expected: &str| {
            let reply = Arc::new(ScriptReply { text: Some(text.to_owned()), ..ScriptReply::default() });
            assert_eq!(with_own_tags(&reply, turn).text.as_deref(), Some(expected));
        };
        check("Done.\n[EXECUTE:1]", "execute", "Done.\n[STEP:0]");
        check("[AI_REVIEW:2] [MOVEMENT:3]", "ai-review", "[STEP:1] [STEP:2]");
        check("[EXECUTE:1]", "plan", "[EXECUTE:1]");
        check("[STEP:1]", "step", "[STEP:1]");
        check("[FIX:1]", "call/fix", "[STEP:0]");
        check("[FIX:0] [x:y]", "fix", "[FIX:0] [x:y]");
    }
}
