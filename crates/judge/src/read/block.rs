//! Fenced blocks that request something.

#[cfg(test)]
mod tests;

use saihai_model::{Block, BlockUse, Blocks, Json};

use super::excerpt;
use super::reply::Reply;

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) blocks: Vec<Block>,
    /// Opening line of each block.
    pub(super) taken: Vec<usize>,
    pub(super) warnings: Vec<String>,
}

/// Finds the blocks with exactly this info string and a known `type` (S-64).
pub(super) fn read(reply: &Reply<'_>, blocks: &Blocks) -> Found {
    let mut found = Found::default();
    for fence in reply.fences().blocks.iter().filter(|fence| fence.info == blocks.fence) {
        if reply.is_echo_in_context(fence.open, fence.close) {
            continue;
        }
        let text = &reply.page.text()[reply.page.start(fence.open + 1)..reply.page.start(fence.close)];
        match parse(text, blocks) {
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

impl Found {
    const TOLD: usize = 10;

    fn warn(&mut self, warning: String) {
        if self.warnings.len() < Self::TOLD {
            self.warnings.push(warning);
        }
    }
}

/// Parses a block; `None` if it is not meant as one.
fn parse(text: &str, blocks: &Blocks) -> Result<Option<Block>, String> {
    // Such a fence may also contain ordinary JSON.
    let is_shared = blocks.fence.eq_ignore_ascii_case("json");
    let value: Json = serde_json::from_str(text)
        .map_err(|error| format!("is no JSON: {}", excerpt::head(&error.to_string(), 200)))?;
    match value.get("type").and_then(Json::as_str) {
        Some(kind) if blocks.uses.contains_key(kind) => {
            Ok(Some(Block { kind: kind.to_owned(), value: value.clone() }))
        }
        _ if is_shared => Ok(None),
        Some(kind) => Err(format!("has the unknown type `{}`", excerpt::head(kind, 80))),
        None => Err("is no object with a `type`".to_owned()),
    }
}
