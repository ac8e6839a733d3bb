//! Fixed lines of prompts, in both languages (S-37, S-46, S-52, S-55). They are part of the format.

use crate::Language;

/// Text that Saihai adds to a prompt.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) form: &'static str,
    /// Before and after the errors in an output.
    pub(super) violation: (&'static str, &'static str),
    /// Before the answer format, after an unreadable answer.
    pub(super) unreadable: &'static str,
    pub(super) task: &'static str,
    /// Above the text that is carried into a new session.
    pub(super) carried: &'static str,
}

impl Words {
    pub(super) fn of(language: Language) -> &'static Self {
        match language {
            Language::Japanese => &JAPANESE,
            Language::English => &ENGLISH,
        }
    }
}

static JAPANESE: Words = Words {
    form: "次の形式の JSON を ```json ブロックで 1 つだけ返してください:",
    violation: ("出力がスキーマに違反しています: ", "。修正した JSON だけを返してください。"),
    unreadable: "回答を読み取れませんでした。",
    task: "## タスク",
    carried: "## 前イテレーションからの引き継ぎ",
};

static ENGLISH: Words = Words {
    form: "Reply with exactly one ```json block of this form:",
    violation: ("Your output violates the schema: ", ". Return only the corrected JSON."),
    unreadable: "Your answer could not be read.",
    task: "## Task",
    carried: "## Carried over from the previous iteration",
};
