//! Channels of a verdict: how an agent reports the label of its turn, and what a reading keeps of it (N-1).

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Choice, Json, Method, tokens};

/// Way in which agents are asked for a verdict.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VerdictMode {
    /// A plain tag, and the verdict tool where the provider has it.
    #[default]
    Auto,
    /// Only a plain tag.
    Plain,
    /// A tag with a word that only this call knows, and the verdict tool where the provider has it.
    Nonce,
    /// Only the verdict tool. A tag in the text does not count, and no judge is asked.
    Verified,
}

impl VerdictMode {
    pub const WORDS: [&str; 4] = ["auto", "plain", "nonce", "verified"];

    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "auto" => Self::Auto,
            "plain" => Self::Plain,
            "nonce" => Self::Nonce,
            "verified" => Self::Verified,
            _ => return None,
        })
    }
}

/// Way in which the label of a reply arrived, if it is not a plain tag or a value in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictChannel {
    /// A call of the verdict tool.
    Tool,
    /// The structured answer of the program.
    Schema,
    /// A tag with the word of this call.
    Nonce,
}

impl VerdictChannel {
    /// Returns true if text that the agent only quotes cannot choose the label.
    pub fn is_verified(self) -> bool {
        match self {
            Self::Tool | Self::Schema => true,
            Self::Nonce => false,
        }
    }
}

/// Reason why a turn with the verdict tool has no verdict from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictToolProblem {
    /// The provider that answered does not have it in this turn.
    NotOffered,
    /// The agent did not start its server. The text is the reason, if there is one.
    NotStarted(String),
    NotCalled,
    /// No call was valid. The text is the reason of the last refusal.
    Refused(String),
}

/// The verdict tool of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictTool {
    /// Number of each option with the value that stands for it in a call.
    pub options: Vec<(usize, String)>,
    /// Command that serves the tool to the agent; absent until it is known.
    pub server: Option<VerdictServerCommand>,
}

/// Command line of a program that serves the verdict tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictServerCommand {
    pub program: String,
    pub arguments: Vec<String>,
}

/// Verdict that an agent reported with the verdict tool.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedVerdict {
    /// Number of the option.
    pub number: usize,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Number of valid calls; the last one counts.
    pub calls: u32,
}

/// Result of offering the verdict tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerdictToolResult {
    Reported(ReportedVerdict),
    Missing(VerdictToolProblem),
}

impl VerdictTool {
    pub const NAME: &str = "saihai_verdict";
    /// Name of its server in the configuration of an agent.
    pub const SERVER: &str = "saihai-turn";
    /// Maximum length of a reason, in characters.
    pub const LONGEST_REASON: usize = 1_000;
    /// Maximum number of findings in a call.
    pub const MOST_FINDINGS: usize = 50;
    /// Maximum length of a finding, in characters.
    pub const LONGEST_FINDING: usize = 500;
    /// Above this length, numbers stand for the labels, so that the tool costs few tokens.
    const LONGEST_LABELS: usize = 220;

    pub fn of(choice: &Choice) -> Self {
        let length: usize = choice.options.iter().map(|offer| offer.label.as_str().len() + 3).sum();
        let value = |number: usize, label: &str| {
            if length > Self::LONGEST_LABELS { number.to_string() } else { label.to_owned() }
        };
        let options = choice.options.iter();
        let options = options.map(|offer| (offer.number, value(offer.number, offer.label.as_str())));
        Self { options: options.collect(), server: None }
    }

    pub fn description() -> &'static str {
        "Required: report the verdict of this turn, for which the prompt also asks. Call it once, after the work and \
         before your last message. The last valid call counts, not the text."
    }

    /// Returns the JSON Schema of its input.
    pub fn schema(&self) -> Json {
        let values: Vec<&str> = self.options.iter().map(|(_, value)| value.as_str()).collect();
        json!({
            "type": "object",
            "properties": {
                "verdict": { "type": "string", "enum": values },
                "reason": { "type": "string", "description": "One sentence." },
                "findings": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "Open problems, one sentence each."
                }
            },
            "required": ["verdict", "reason"],
            "additionalProperties": false
        })
    }

    /// Estimates the tokens that its definition adds to every request.
    pub fn tokens(&self) -> u64 {
        tokens(Self::NAME) + tokens(Self::description()) + tokens(&self.schema().to_string())
    }

    /// Checks the input of a call. The error is for the model, which may call again.
    pub fn check(&self, input: &Json) -> Result<ReportedVerdict, String> {
        let Json::Object(fields) = input else { return Err("the arguments are not an object".to_owned()) };
        if let Some(other) =
            fields.keys().find(|key| !["verdict", "reason", "findings"].contains(&key.as_str()))
        {
            return Err(format!("there is no argument `{}`", start_of(other)));
        }
        let text = |name: &str| fields.get(name).and_then(Json::as_str);
        let said = text("verdict").ok_or("`verdict` must be a text")?;
        let option = self.options.iter().find(|(_, value)| value == said.trim());
        let Some((number, _)) = option else {
            let known: Vec<String> = self.options.iter().map(|(_, value)| format!("`{value}`")).collect();
            return Err(format!(
                "`{}` is not a verdict of this turn; use {}",
                start_of(said),
                known.join(", ")
            ));
        };
        let reason = text("reason").ok_or("`reason` must be a text")?;
        let findings: Vec<&str> = match fields.get("findings") {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::Array(items)) => items
                .iter()
                .map(|item| item.as_str().ok_or("`findings` must be texts"))
                .collect::<Result<_, _>>()?,
            Some(_) => return Err("`findings` must be a list of texts".to_owned()),
        };
        let is_long = |text: &str, most| text.chars().nth(most).is_some();
        if is_long(reason, Self::LONGEST_REASON) {
            return Err(format!("`reason` is too long: use at most {} characters", Self::LONGEST_REASON));
        }
        if findings.len() > Self::MOST_FINDINGS
            || findings.iter().any(|finding| is_long(finding, Self::LONGEST_FINDING))
        {
            return Err(format!(
                "`findings` are too long: use at most {} of at most {} characters",
                Self::MOST_FINDINGS,
                Self::LONGEST_FINDING
            ));
        }
        let findings = findings.into_iter().map(str::to_owned).collect();
        Ok(ReportedVerdict { number: *number, reason: reason.trim().to_owned(), findings, calls: 1 })
    }
}

fn start_of(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).take(60).collect()
}

impl Choice {
    /// Returns the verdict tool, if the choice can be made with it.
    pub fn verdict_tool(&self) -> Option<VerdictTool> {
        self.found_by.contains(&Method::Tool).then(|| VerdictTool::of(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Offer;

    fn choice(labels: &[&str]) -> Choice {
        let offer = |(number, label): (usize, &&str)| Offer { number, label: (*label).into() };
        Choice { options: labels.iter().enumerate().map(offer).collect(), found_by: vec![Method::Tool] }
    }

    // N-1
    #[test]
    fn a_call_needs_a_label_of_this_stage_and_a_reason() {
        let tool = choice(&["approved", "needs work"]).verdict_tool().unwrap();
        let reported =
            |input: Json| tool.check(&input).map(|verdict| (verdict.number, verdict.findings.len()));
        assert_eq!(reported(json!({"verdict": " needs work ", "reason": "a bug"})), Ok((1, 0)));
        assert_eq!(reported(json!({"verdict": "approved", "reason": "", "findings": ["a nit"]})), Ok((0, 1)));
        let refused = |input: Json| tool.check(&input).unwrap_err();
        assert_eq!(
            refused(json!({"verdict": "merge it", "reason": "x"})),
            "`merge it` is not a verdict of this turn; use `approved`, `needs work`"
        );
        assert_eq!(refused(json!({"verdict": "approved"})), "`reason` must be a text");
        assert_eq!(refused(json!({"verdict": 0, "reason": "x"})), "`verdict` must be a text");
        assert_eq!(refused(json!(["approved"])), "the arguments are not an object");
        assert_eq!(
            refused(json!({"verdict": "approved", "reason": "x", "key": "y"})),
            "there is no argument `key`"
        );
        assert_eq!(
            refused(json!({"verdict": "approved", "reason": "x".repeat(10_000_000)})),
            "`reason` is too long: use at most 1000 characters"
        );
        assert_eq!(
            refused(json!({"verdict": "approved", "reason": "x", "findings": vec!["y"; 51]})),
            "`findings` are too long: use at most 50 of at most 500 characters"
        );
    }

    // Issue 26: a verdict tool adds at most 250 tokens. The sentence in the prompt takes at most 60 of them.
    #[test]
    fn the_tool_is_small_with_any_labels() {
        let long: Vec<String> = (0..20).map(|number| format!("{number} {}", "words ".repeat(40))).collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let tool = choice(&long).verdict_tool().unwrap();
        assert_eq!(tool.options[19], (19, "19".to_owned()));
        assert!(tool.tokens() <= 190, "{}", tool.tokens());
        let full = "x".repeat(52);
        let tool = choice(&[&full, &full, &full, &full]).verdict_tool().unwrap();
        assert!(tool.tokens() <= 190, "{}", tool.tokens());
        let japanese = "実装が完了し、テストがすべて成功した";
        let tool = choice(&[japanese, japanese, japanese, japanese]).verdict_tool().unwrap();
        assert!(tool.tokens() <= 190, "{}", tool.tokens());
    }
}
