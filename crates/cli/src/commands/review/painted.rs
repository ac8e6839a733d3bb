//! Rendering of a Markdown report for a terminal: styles replace the emphasis marks.

use anstyle::Style;

use crate::terminal::{Stream, style};

/// Adds colour to the text. Only emphasis marks are removed.
pub(super) fn painted(markdown: &str, out: &Stream) -> String {
    let mut text = String::with_capacity(markdown.len() * 2);
    let mut fence: Option<&str> = None;
    for (number, line) in markdown.lines().enumerate() {
        let inner = line.trim_start();
        let ticks = &inner[..inner.len() - inner.trim_start_matches('`').len()];
        match fence {
            Some(open) if inner == open => fence = None,
            Some(_) => text.push_str(&format!("{}\n", out.paint(style::QUIET, line))),
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => {
                text.push_str(&line_of(line, number == 0, out));
                text.push('\n');
            }
        }
    }
    text
}

fn line_of(line: &str, is_outcome: bool, out: &Stream) -> String {
    if let Some(heading) = line.strip_prefix("### ") {
        return out.paint(style::STRONG, heading);
    }
    if let Some(heading) = line.strip_prefix("## ") {
        return out.paint(style::NOTE, heading);
    }
    if is_outcome {
        return out.paint(style::STRONG, line.trim_matches('*'));
    }
    match line.split_once("**").and_then(|(before, rest)| Some((before, rest.split_once("**")?))) {
        Some((before, (strong, behind))) if matches!(before, "- " | "> ") => {
            format!("{before}{}{behind}", out.paint(of(strong), strong))
        }
        _ => line.to_owned(),
    }
}

/// Returns the style of a severity in English or Japanese. Other emphasised words are bold.
fn of(word: &str) -> Style {
    match word {
        "critical" | "重大" => style::ERROR,
        "important" | "重要" => style::WARNING,
        "suggestion" | "提案" => style::NOTE,
        "nitpick" | "些細" => style::QUIET,
        _ => style::STRONG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::streams::captured;

    #[test]
    fn marks_become_colour_and_words_stay() {
        let (out, _) = captured::styled();
        let text = "**Review failed - 1 finding**\n\n## Findings\n\n### a.py\n\n- **critical** · `a.py:1` · x\n\n  \
                    It is **bold**.\n\n  ```\n  1 | x = 1\n  ```\n";
        let plain = anstream::adapter::strip_str(&painted(text, &out)).to_string();
        assert_eq!(
            plain,
            "Review failed - 1 finding\n\nFindings\n\na.py\n\n- critical · `a.py:1` · x\n\n  It is **bold**.\n\n  1 | x = 1\n"
        );
        assert!(painted(text, &out).contains(&out.paint(style::ERROR, "critical")));
    }
}
