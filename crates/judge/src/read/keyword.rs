//! Words that count for the completion.

use saihai_model::Keyword;

use super::reply::Reply;

/// Returns the words that occur in a reply, outside echoes of its prompt.
pub(super) fn read(reply: &Reply<'_>, keywords: &[Keyword]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for keyword in keywords {
        if !found.contains(&keyword.word) && occurs(reply, keyword) {
            found.push(keyword.word.clone());
        }
    }
    found
}

fn occurs(reply: &Reply<'_>, keyword: &Keyword) -> bool {
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
    use saihai_model::{Reads, Wanted};

    use super::super::{Said, read};
    use super::*;

    fn check(keywords: &[(&str, bool)], prompt: &str, text: &str, expected: &[&str]) {
        let keyword =
            |(word, whole_line): &(&str, bool)| Keyword { word: (*word).to_owned(), whole_line: *whole_line };
        let reads = Reads { keywords: keywords.iter().map(keyword).collect(), ..Reads::default() };
        let reading = read(Wanted::Work(&reads), prompt, Said { text, structured: None });
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
