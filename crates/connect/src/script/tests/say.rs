//! Scripts and asks in one line each, for tests.

use saihai_model::{
    Ask, CallId, Permission, ProviderName, Purpose, RoundPosition, Script, ScriptReply, ScriptTarget,
    StageId, Times, TurnId, Visits,
};

/// Parses `reviewers/security#judge visit:2.. times:* role:coder prompt:word -> text`; everything except `->`
/// is optional.
pub(super) fn reply(line: &str) -> ScriptReply {
    let (conditions, text) = line.split_once("->").expect("a line has `->`");
    let mut reply = ScriptReply {
        origin: format!("script:{}", text.trim()),
        text: Some(text.trim().to_owned()),
        ..ScriptReply::default()
    };
    for condition in conditions.split_whitespace() {
        match condition.split_once(':') {
            Some(("visit", visits)) => reply.visits = Some(visits_of(visits)),
            Some(("times", "*")) => reply.times = Times::Always,
            Some(("times", times)) => reply.times = Times::Exactly(times.parse().unwrap()),
            Some(("role", role)) => reply.role = Some(role.to_owned()),
            Some(("prompt", prompt)) => reply.prompt = Some(prompt.to_owned()),
            Some((other, _)) => panic!("unknown condition `{other}`"),
            None => {
                let (stage, turn, judge) = parts(condition);
                reply.target = Some(ScriptTarget { stage, turn, judge });
            }
        }
    }
    reply
}

pub(super) fn script(lines: &str) -> Script {
    let replies = lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(reply).collect();
    Script { strict: true, replies, ..Script::default() }
}

/// Parses `reviewers/security#judge 2 @coder prompt`. The call is the `n`-th of its visit.
pub(crate) fn ask(line: &str, n: u32) -> Ask {
    let mut words = line.split_whitespace();
    let (stage, turn, judge) = parts(words.next().expect("an ask names its stage"));
    let visit = words.next().map_or(1, |visit| visit.parse().unwrap());
    let rest: Vec<_> = words.collect();
    let role = rest.first().and_then(|word| word.strip_prefix('@')).map(str::to_owned);
    let prompt = rest[usize::from(role.is_some())..].join(" ");
    Ask {
        run: "20260206-085600-task".into(),
        call: CallId { stage: stage.clone(), visit, round: 1, n },
        turn: turn.or_else(|| Some(TurnId::from(stage.as_str()))),
        stage,
        place: if judge { RoundPosition::Check(0) } else { RoundPosition::Main(0) },
        purpose: if judge { Purpose::Question } else { Purpose::Work },
        role,
        directory: "/nowhere".into(),
        prompt,
        provider: ProviderName::from("script"),
        permission: Permission::Edit { commands: true },
        scratch: "/nowhere".into(),
        ..crate::testing::ask()
    }
}

fn parts(name: &str) -> (StageId, Option<TurnId>, bool) {
    let (name, judge) = name.strip_suffix("#judge").map_or((name, false), |name| (name, true));
    let (stage, turn) = name.split_once('/').map_or((name, None), |(stage, turn)| (stage, Some(turn)));
    (stage.into(), turn.map(TurnId::from), judge)
}

fn visits_of(text: &str) -> Visits {
    match text.strip_suffix("..") {
        Some(first) => Visits::From(first.parse().unwrap()),
        None => Visits::These(text.split(',').map(|visit| visit.parse().unwrap()).collect()),
    }
}
