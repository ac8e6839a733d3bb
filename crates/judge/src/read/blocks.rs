//! Fenced blocks that request something, and words that count for the completion.

use saihai_model::{BlockUse, Blocks, Json, Keyword, ReplyBlock};

use crate::read;
use crate::read::reply::ParsedReply;

#[derive(Debug, Default)]
pub(crate) struct BlocksOfReply {
    pub(crate) blocks: Vec<ReplyBlock>,
    /// Opening line of each block.
    pub(crate) taken: Vec<usize>,
    pub(crate) warnings: Vec<String>,
}

/// Finds the blocks with exactly this info string and a known `type` (S-64).
pub(crate) fn read_blocks(reply: &ParsedReply<'_>, blocks: &Blocks) -> BlocksOfReply {
    let mut found = BlocksOfReply::default();
    for fence in reply.fences().blocks.iter().filter(|fence| fence.info == blocks.fence) {
        if reply.is_echo_in_context(fence.open, fence.close) {
            continue;
        }
        let text = &reply.page.text()[reply.page.start(fence.open + 1)..reply.page.start(fence.close)];
        match parse_block(text, blocks) {
            Ok(Some(block)) => {
                if blocks.uses.get(&block.kind) == Some(&BlockUse::Idle) {
                    let (line, kind) = (reply.number(fence.open), &block.kind);
                    found.warn(format!("the `{kind}` block on line {line} steers nothing in this workflow"));
                }
                found.blocks.push(block);
                found.taken.push(fence.open);
            }
            Ok(None) => {}
            Err(reason) => {
                let line = reply.number(fence.open);
                found.warn(format!("the `{}` block on line {line} {reason}", blocks.fence));
            }
        }
    }
    for (line, _) in reply.fences().unclosed.iter().filter(|(_, info)| *info == blocks.fence) {
        found.warn(format!("the `{}` block on line {} is never closed", blocks.fence, reply.number(*line)));
    }
    found
}

impl BlocksOfReply {
    const TOLD: usize = 10;

    fn warn(&mut self, warning: String) {
        if self.warnings.len() < Self::TOLD {
            self.warnings.push(warning);
        }
    }
}

/// Parses a block; `None` if it is not meant as one.
fn parse_block(text: &str, blocks: &Blocks) -> Result<Option<ReplyBlock>, String> {
    // Such a fence may also contain ordinary JSON.
    let is_shared = blocks.fence.eq_ignore_ascii_case("json");
    let value: Json = serde_json::from_str(text)
        .map_err(|error| format!("is not valid JSON: {}", read::excerpt_head(&error.to_string(), 200)))?;
    match value.get("type").and_then(Json::as_str) {
        Some(kind) if blocks.uses.contains_key(kind) => {
            Ok(Some(ReplyBlock { kind: kind.to_owned(), value: value.clone() }))
        }
        _ if is_shared => Ok(None),
        Some(kind) => Err(format!("has the unknown type `{}`", read::excerpt_head(kind, 80))),
        None => Err("is not an object with a `type`".to_owned()),
    }
}

/// Returns the words that occur in a reply, outside echoes of its prompt.
pub(crate) fn read_keywords(reply: &ParsedReply<'_>, keywords: &[Keyword]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for keyword in keywords {
        if !found.contains(&keyword.word) && occurs(reply, keyword) {
            found.push(keyword.word.clone());
        }
    }
    found
}

fn occurs(reply: &ParsedReply<'_>, keyword: &Keyword) -> bool {
    let page = &reply.page;
    let word = keyword.word.trim();
    let mut before = None;
    !word.is_empty()
        && page.text().match_indices(word).map(|(at, _)| page.line_at(at)).any(|line| {
            // Check a line with several occurrences only once.
            before.replace(line) != Some(line)
                && (!keyword.whole_line || page.line(line).trim() == word)
                && !reply.is_echo(line)
        })
}

#[cfg(test)]
mod tests {
    use saihai_model::{ExpectedReply, Reads};

    use super::*;
    use crate::read::{ReplyText, read};

    fn check(keywords: &[(&str, bool)], prompt: &str, text: &str, expected: &[&str]) {
        let keyword =
            |(word, whole_line): &(&str, bool)| Keyword { word: (*word).to_owned(), whole_line: *whole_line };
        let reads = Reads { keywords: keywords.iter().map(keyword).collect(), ..Reads::default() };
        let reading = read(ExpectedReply::Work(&reads), prompt, ReplyText { text, structured: None });
        assert_eq!(reading.keywords, expected, "{text:?}");
    }

    // S-60
    #[test]
    fn a_word_is_contained_or_stands_alone_on_a_line() {
        check(&[("TASK_DONE", false)], "", "so TASK_DONE it is", &["TASK_DONE"]);
        check(&[("TASK_DONE", false)], "", "so task_done it is", &[]);
        check(&[("TASK_DONE", true)], "", "so TASK_DONE it is", &[]);
        check(&[("TASK_DONE", true)], "", "so\n  \x1b[1mTASK_DONE\x1b[0m\r\n", &["TASK_DONE"]);
        check(&[("完了", false), ("ない", false), ("完了", true)], "", "すべて完了", &["完了"]);
        check(&[("", false), (" ", true)], "", "  \n", &[]);
    }

    // T-86
    #[test]
    fn a_repeated_prompt_completes_nothing() {
        let prompt = "Do the work.\nWhen done, say TASK_DONE.\nUse no tools.\nBe brief.";
        check(&[("TASK_DONE", false)], prompt, &format!("{prompt}\nI am not done."), &[]);
        check(&[("TASK_DONE", false)], prompt, &format!("{prompt}\nTASK_DONE"), &["TASK_DONE"]);
    }
}
