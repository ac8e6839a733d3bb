//! Breakers of cycles: the key `progress`, the cycles that get one, and the words for agents.

use std::collections::BTreeMap;

use saihai_model::{Breaker, Permission, Stage, StageId, StallKind, Workflow};

use crate::check::unattended_cycles;
use crate::{Cursor, Diagnostics, Field, Fields, Language, Object, ValueKind};

/// The key `progress` of a definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ProgressSetting {
    /// Absent: the usual thresholds for cycles between an editing and a reviewing stage.
    #[default]
    Usual,
    Off,
    /// For every cycle with an editing stage. A threshold of `None` switches its detector off; others keep the default.
    Given(BTreeMap<StallKind, Option<u32>>),
}

const TIMES: ValueKind = ValueKind::Either(&[
    ValueKind::Integer { min: 1, max: Breaker::MOST as i64 },
    ValueKind::OneOf(&["off"]),
]);
const PERCENT: ValueKind =
    ValueKind::Either(&[ValueKind::Integer { min: 1, max: 100 }, ValueKind::OneOf(&["off"])]);

pub(crate) static PROGRESS: Object = Object {
    title: "`progress`",
    fields: &[
        Field::new("still", TIMES)
            .default("2")
            .about("visits of a stage in a row that leave the files unchanged"),
        Field::new("same", TIMES).default("3").about("reviews in a row with the same open findings"),
        Field::new("back", TIMES)
            .default("4")
            .about("longest period, in changes, after which the files are as they were"),
        Field::new("grow", TIMES)
            .default("3")
            .about("reviews in a row that add findings while the total does not shrink"),
        Field::new("spend", PERCENT)
            .default("50")
            .about("share of the money budget since the last progress, in percent"),
    ],
};

/// Value of the key `progress`.
pub(crate) const PROGRESS_FORMS: ValueKind =
    ValueKind::Either(&[ValueKind::OneOf(&["off"]), ValueKind::Object(&PROGRESS)]);

impl ProgressSetting {
    /// Reads the key `progress`, if the file has it.
    pub(crate) fn read(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        let value = fields.any("progress")?;
        if value.node().as_text() == Some("off") {
            return Some(Self::Off);
        }
        let own = Fields::read(&value, &PROGRESS, diagnostics)?;
        let given =
            StallKind::ALL.into_iter().filter_map(|kind| Some((kind, threshold(&own.any(kind.name())?)?)));
        Some(Self::Given(given.collect()))
    }

    fn breaker(&self, stages: Vec<StageId>) -> Breaker {
        let mut breaker = Breaker::usual(stages);
        if let Self::Given(given) = self {
            for (kind, threshold) in given {
                *place(&mut breaker, *kind) = *threshold;
            }
        }
        breaker
    }
}

fn threshold(value: &Cursor<'_>) -> Option<Option<u32>> {
    match value.integer() {
        Some(number) => u32::try_from(number).ok().map(Some),
        None => (value.node().as_text() == Some("off")).then_some(None),
    }
}

fn place(breaker: &mut Breaker, kind: StallKind) -> &mut Option<u32> {
    match kind {
        StallKind::Still => &mut breaker.still,
        StallKind::Same => &mut breaker.same,
        StallKind::Back => &mut breaker.back,
        StallKind::Grow => &mut breaker.grow,
        StallKind::Spend => &mut breaker.spend,
    }
}

/// Adds a breaker to each cycle that the setting covers, and the words of its nudge.
pub(crate) fn add_breakers(workflow: &mut Workflow, setting: &ProgressSetting, language: Language) {
    if *setting == ProgressSetting::Off {
        return;
    }
    let is_given = *setting != ProgressSetting::Usual;
    let cycles = unattended_cycles(workflow).into_iter().filter(|stages| {
        let stages = || stages.iter().filter_map(|id| workflow.stage(id));
        stages().any(may_edit) && (is_given || stages().any(reviews))
    });
    workflow.breakers = cycles.map(|stages| setting.breaker(stages)).collect();
    if !workflow.breakers.is_empty() {
        let words = language.pick(&ENGLISH, &JAPANESE);
        workflow.words.extend(words.iter().map(|(key, word)| ((*key).to_owned(), (*word).to_owned())));
    }
}

/// Returns true if an agent of the stage may change files.
fn may_edit(stage: &Stage) -> bool {
    stage.agent_turns().any(|turn| turn.permission != Permission::ReadOnly)
}

/// Returns true if the stage only looks: its agents may not edit, or programs do its turns.
fn reviews(stage: &Stage) -> bool {
    !stage.turns().is_empty() && !may_edit(stage)
}

static ENGLISH: [(&str, &str); 7] = [
    ("nudge", "## No progress"),
    ("nudge-still", "`{}` left the files unchanged in iterations {}."),
    ("nudge-back", "The files after `{}` are the same in iterations {}: a change was made and undone."),
    ("nudge-same", "The last reviews found the same in iterations {}:"),
    ("nudge-grow", "Each review found new problems in iterations {}; open findings: {}."),
    ("nudge-spend", "{}% of the budget is spent since the last progress."),
    (
        "nudge-advice",
        "Another local patch is not enough. Find the cause that these findings share, and change the approach. \
         If the findings contradict each other or the task cannot be done, say so instead of repeating a change.",
    ),
];

static JAPANESE: [(&str, &str); 7] = [
    ("nudge", "## 進捗なし"),
    ("nudge-still", "`{}` はイテレーション {} でファイルを変更していない。"),
    (
        "nudge-back",
        "`{}` の後のファイルがイテレーション {} で同じ内容に戻った。変更とその取り消しを繰り返している。",
    ),
    ("nudge-same", "イテレーション {} のレビュー結果が同じである。"),
    ("nudge-grow", "イテレーション {} のレビューごとに新しい問題が見つかった。未解決の指摘数: {}。"),
    ("nudge-spend", "最後の進捗から予算の {}% を使った。"),
    (
        "nudge-advice",
        "局所的な修正をもう一度行うだけでは足りない。指摘に共通する原因を見つけ、方針を変えること。\
         指摘が互いに矛盾する場合や、タスクを実現できない場合は、同じ変更を繰り返さずにそのことを述べること。",
    ),
];
