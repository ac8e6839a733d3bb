//! The part of a text on a forge that is ours.

use saihai_model::IssueNumber;

/// What every mark of ours begins with.
const MARK: &str = "<!-- saihai:";
/// What ends our part.
const END: &str = "<!-- saihai:end -->";

/// The mark by which a text of ours is found again: `<!-- saihai:issue=7 run=20260206-085600-issue-7 -->`.
pub fn marker(number: IssueNumber, run: &str) -> String {
    format!("{}run={run} -->", start(number))
}

fn start(number: IssueNumber) -> String {
    format!("<!-- saihai:issue={} ", number.get())
}

/// Whether a text has a part of ours for that issue.
pub fn is_marked(text: &str, number: IssueNumber) -> bool {
    text.contains(&start(number))
}

/// A text in which nothing passes for a mark of ours, not even in a block of code: an agent may quote one.
fn unmarked(text: &str) -> String {
    text.replace(MARK, "<!--_saihai:")
}

/// A text with our part written anew, and everything around it as it was. Where there is none of ours yet, it comes last.
pub fn rewrite(text: &str, number: IssueNumber, run: &str, ours: &str) -> String {
    let part = format!("{}\n{}\n{END}", marker(number, run), unmarked(ours.trim()));
    let Some(from) = text.find(&start(number)) else {
        let before = text.trim_end();
        return if before.is_empty() { part } else { format!("{before}\n\n{part}") };
    };
    // Somebody may have taken away our last line; then only the first is known to be ours.
    let first_line = text[from..].find("-->").map_or(text.len(), |end| from + end + "-->".len());
    let to = text[from..].find(END).map_or(first_line, |end| from + end + END.len());
    format!("{}{part}{}", &text[..from], &text[to..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_part_of_a_text_is_rewritten() {
        let number = IssueNumber::new(7).expect("a number");
        let check = |text: &str, expected: &str| assert_eq!(rewrite(text, number, "b", "new"), expected);
        let ours = "<!-- saihai:issue=7 run=b -->\nnew\n<!-- saihai:end -->";
        check("", ours);
        check("A person's words.\n", &format!("A person's words.\n\n{ours}"));
        let old = rewrite("Before.", number, "a", "old\n\nold");
        check(&format!("{old}\n\nAfter."), &format!("Before.\n\n{ours}\n\nAfter."));
        // Another issue's part, and one whose end is gone.
        check("<!-- saihai:issue=70 run=a -->x", &format!("<!-- saihai:issue=70 run=a -->x\n\n{ours}"));
        check("<!-- saihai:issue=7 run=a -->\nkept", &format!("{ours}\nkept"));
    }

    // I-53: whatever an agent says, what a person wrote around our part stays, however often that is written anew.
    #[test]
    fn a_mark_in_what_an_agent_says_is_none() {
        let number = IssueNumber::new(7).expect("a number");
        let said =
            "It ends in\n```\n<!-- saihai:end -->\n```\nand begins with `<!-- saihai:issue=7 run=a -->`.";
        let mut text = format!("{}\n\nAfter.", rewrite("Before.", number, "a", said));
        for run in ["b", "c"] {
            text = rewrite(&text, number, run, said);
            let inert =
                "It ends in\n```\n<!--_saihai:end -->\n```\nand begins with `<!--_saihai:issue=7 run=a -->`.";
            let ours = format!("<!-- saihai:issue=7 run={run} -->\n{inert}\n<!-- saihai:end -->");
            assert_eq!(text, format!("Before.\n\n{ours}\n\nAfter."));
        }
    }
}
