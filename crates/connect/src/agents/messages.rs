//! The messages of an agent in one turn.

use saihai_model::Ask;

use crate::attempt::transcript_of;

/// Maximum length of all messages; the end is kept. The transcript has all of it (C-52).
const LONGEST: usize = 4 * 1024 * 1024;

/// The messages of a turn, or the end of them if they are very long.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    all: Vec<String>,
    /// Total bytes of all messages.
    length: usize,
    left_off: usize,
}

impl Messages {
    pub(crate) fn begin(&mut self, text: String) {
        self.length += text.len();
        self.all.push(text);
        self.shorten();
    }

    /// Appends to the last message, or starts the first one.
    pub(crate) fn go_on(&mut self, text: &str) {
        match self.all.last_mut() {
            Some(last) => {
                self.length += text.len();
                last.push_str(text);
                self.shorten();
            }
            None => self.begin(text.to_owned()),
        }
    }

    /// Returns the last message that is not blank (C-21).
    pub(crate) fn last(&self) -> Option<&String> {
        self.all.iter().rev().find(|message| !message.trim().is_empty())
    }

    /// Returns all messages that are not blank, in order.
    pub(crate) fn into_spoken(self) -> Vec<String> {
        self.all.into_iter().filter(|message| !message.trim().is_empty()).collect()
    }

    /// Returns a warning if messages were dropped.
    pub(crate) fn warning(&self, ask: &Ask) -> Option<String> {
        let length = self.length + self.left_off;
        let file = transcript_of(ask);
        (self.left_off > 0).then(|| {
            format!(
                "only the end of {length} bytes that were said is passed on; all of it is in {}",
                file.display()
            )
        })
    }

    /// Drops the oldest messages and the start of the next one. The buffer may grow to twice the limit, so
    /// that not every word moves all of it.
    fn shorten(&mut self) {
        if self.length <= 2 * LONGEST {
            return;
        }
        let mut surplus = self.length - LONGEST;
        let mut whole = 0;
        while let Some(message) = self.all.get(whole).filter(|message| message.len() <= surplus) {
            surplus -= message.len();
            whole += 1;
        }
        self.all.drain(..whole);
        if let Some(first) = self.all.first_mut() {
            let from = (surplus..).find(|at| first.is_char_boundary(*at)).unwrap_or_default();
            first.drain(..from);
        }
        let left: usize = self.all.iter().map(String::len).sum();
        self.left_off += self.length - left;
        self.length = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ask;

    #[test]
    fn what_is_said_is_put_together_and_what_is_blank_is_none() {
        let mut messages = Messages::default();
        messages.go_on("on");
        messages.go_on("e");
        messages.begin("two".to_owned());
        messages.begin(" \n".to_owned());
        assert_eq!(messages.last().map(String::as_str), Some("two"));
        assert_eq!(messages.warning(&ask()), None);
        assert_eq!(messages.into_spoken(), ["one", "two"]);
    }

    // C-52: memory stays bounded, with one long message or many short ones.
    #[test]
    fn of_very_much_the_end_is_held_and_that_is_said() {
        for is_one in [true, false] {
            let mut messages = Messages::default();
            let mut most = 0;
            for number in 0..30_000 {
                let text = format!("{number}{}漢", "a".repeat(1_000));
                if is_one {
                    messages.go_on(&text)
                } else {
                    messages.begin(text)
                }
                most = most.max(messages.all.iter().map(String::len).sum());
            }
            assert!(most <= 2 * LONGEST, "{most}");
            let warning = messages.warning(&ask()).unwrap_or_default();
            let expected = "only the end of 30228890 bytes that were said is passed on; all of it is in /run/scratch/plan.1.1.1-1.out";
            assert_eq!(warning, expected);
            let spoken = messages.into_spoken().concat();
            assert!(spoken.len() >= LONGEST - 4 && spoken.len() <= 2 * LONGEST);
            assert!(spoken.ends_with(&format!("29999{}漢", "a".repeat(1_000))));
        }
    }
}
