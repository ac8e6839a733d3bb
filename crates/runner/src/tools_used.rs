//! The tool calls of a reply. Long values go into blobs (C-20).

use std::io;
use std::path::PathBuf;

use saihai_model::{Json, Text, ToolUse, ToolUsed};

use crate::blobs::Blobs;
use crate::{Error, RunDirectory};

/// Stores the inputs and results of tool calls. Long values are durable in blobs when this returns.
pub(crate) fn keep(blobs: &Blobs, tools: Vec<ToolUse>) -> Result<Vec<ToolUsed>, (PathBuf, io::Error)> {
    let keep = |tool: ToolUse| {
        let (input, long_input) = divide(blobs, tool.input)?;
        let (output, long_output) = divide(blobs, tool.output)?;
        let (name, duration_ms) = (tool.name, tool.duration_ms);
        Ok(ToolUsed { name, input, long_input, output, long_output, duration_ms })
    };
    tools.into_iter().map(keep).collect()
}

/// Returns a short value inline, or stores a long one as a blob.
fn divide(blobs: &Blobs, value: Option<Json>) -> Result<(Option<Json>, Option<Text>), (PathBuf, io::Error)> {
    let Some(value) = value else { return Ok((None, None)) };
    let text = value.to_string();
    if text.len() <= ToolUsed::INLINE_LIMIT {
        return Ok((Some(value), None));
    }
    Ok((None, Some(blobs.keep_bytes(text.as_bytes())?)))
}

/// Reads tool calls back, with the values from blobs.
pub(crate) fn read(directory: &RunDirectory, tools: &[ToolUsed]) -> Result<Vec<ToolUse>, Error> {
    let value = |short: &Option<Json>, long: &Option<Text>| match long {
        Some(text) => {
            let json = serde_json::from_str(&directory.text(text)?);
            json.map(Some).map_err(|error| directory.bad_text(text, &error.to_string()))
        }
        None => Ok(short.clone()),
    };
    let read = |tool: &ToolUsed| {
        Ok(ToolUse {
            name: tool.name.clone(),
            input: value(&tool.input, &tool.long_input)?,
            output: value(&tool.output, &tool.long_output)?,
            duration_ms: tool.duration_ms,
        })
    };
    tools.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use saihai_model::{Entry, Fact, ScriptReply};
    use serde_json::json;

    use super::*;
    use crate::Going;
    use crate::testing::{Project, drive, fixed, stage, turn, workflow};

    /// Returns the tool calls of the only reply of a run, as its journal has them.
    async fn journaled(project: &Project, tools: &[ToolUse]) -> Vec<ToolUsed> {
        let reply =
            ScriptReply { text: Some("done".into()), tools_used: tools.to_vec(), ..ScriptReply::default() };
        let script = saihai_model::Script { replies: vec![reply], ..saihai_model::Script::default() };
        let only =
            workflow(vec![("work", stage(vec![turn("work", vec![fixed("Work.")])], &[("", "COMPLETE")]))]);
        drive(project.start(only, script).unwrap(), Going::default()).await.0.unwrap();
        let mut kept = Vec::new();
        project
            .last()
            .read(&mut |record| {
                if let Entry::Fact(Fact::Replied(reply)) = record.entry {
                    kept = reply.tools_used;
                }
            })
            .unwrap();
        kept
    }

    // C-20
    #[tokio::test(start_paused = true)]
    async fn what_a_tool_was_given_and_answered_is_a_blob_where_it_is_over_4_kib() {
        let project = Project::new();
        // The JSON of a string is two bytes longer than the string.
        let (edge, long) = ("x".repeat(4 * 1024 - 2), "x".repeat(4 * 1024 - 1));
        let tools = [
            ToolUse {
                name: "Read".into(),
                input: Some(json!(edge)),
                output: Some(json!(long)),
                duration_ms: 1,
            },
            ToolUse {
                name: "Write".into(),
                input: Some(json!({ "content": long })),
                output: None,
                duration_ms: 2,
            },
        ];
        let kept = journaled(&project, &tools).await;
        assert_eq!((&kept[0].input, &kept[0].long_input), (&tools[0].input, &None));
        assert_eq!((&kept[0].output, &kept[1].input, &kept[1].output), (&None, &None, &None));
        let lengths = [&kept[0].long_output, &kept[1].long_input].map(|text| text.as_ref().unwrap().bytes());
        assert_eq!(lengths, [4 * 1024 + 1, 4 * 1024 + 1 + "{\"content\":}".len() as u64]);
        assert!(!String::from_utf8_lossy(&project.journal()).contains(&long));
        assert_eq!(read(&project.last(), &kept).unwrap(), tools, "and is read back as it was");
    }

    // C-20, T-13
    #[tokio::test(start_paused = true)]
    async fn a_blob_of_a_tool_that_is_damaged_is_named() {
        let project = Project::new();
        let long = json!("x".repeat(5_000));
        let kept = journaled(
            &project,
            &[ToolUse { name: "Read".into(), input: None, output: Some(long), duration_ms: 1 }],
        )
        .await;
        let Some(Text::Blob { hash, .. }) = &kept[0].long_output else { panic!("{kept:?}") };
        std::fs::write(project.last().blobs().path(hash), "x").unwrap();
        let message = read(&project.last(), &kept).unwrap_err().to_string();
        assert!(
            message.contains(hash) && message.contains("its blob has 1 bytes instead of 5002"),
            "{message}"
        );
    }
}
