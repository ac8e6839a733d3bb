//! The part of a reply to read.

/// The last part of a reply, small enough to read (C-52).
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) text: &'a str,
    /// Offset in the whole reply.
    pub(super) offset: usize,
    /// Number of lines before it.
    pub(super) lines_before: usize,
}

impl<'a> Window<'a> {
    /// Maximum bytes of a reply to read.
    pub(super) const LIMIT: usize = 4 * 1024 * 1024;

    /// Returns the whole reply, or its last 4 MiB from the start of a line: half a line may change its meaning.
    pub(super) fn of(reply: &'a str) -> Self {
        if reply.len() <= Self::LIMIT {
            return Self { text: reply, offset: 0, lines_before: 0 };
        }
        let at_least = reply.len() - Self::LIMIT;
        let cut = (at_least..).find(|at| reply.is_char_boundary(*at)).unwrap_or(reply.len());
        let offset = match reply[cut..].find('\n') {
            Some(newline) if cut + newline + 1 < reply.len() => cut + newline + 1,
            Some(_) | None => cut,
        };
        let lines_before = reply[..offset].matches('\n').count();
        Self { text: &reply[offset..], offset, lines_before }
    }

    /// Returns a warning for a person if the reply was cut.
    pub(super) fn warning(&self) -> Option<String> {
        (self.offset > 0).then(|| {
            format!("the reply is longer than 4 MiB: its first {} bytes were kept but not read", self.offset)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_reply_is_read_whole() {
        let text = "x".repeat(Window::LIMIT);
        let window = Window::of(&text);
        assert_eq!((window.text.len(), window.offset, window.warning()), (Window::LIMIT, 0, None));
    }

    // C-52
    #[test]
    fn a_long_reply_is_read_from_the_first_whole_line_of_its_last_four_mebibytes() {
        let text = format!("first\n{}\nlast", "x".repeat(Window::LIMIT));
        let window = Window::of(&text);
        assert_eq!((window.text, window.lines_before), ("last", 2));
        assert_eq!(&text[window.offset..], window.text);
        insta::assert_snapshot!(
            window.warning().unwrap(),
            @"the reply is longer than 4 MiB: its first 4194311 bytes were kept but not read"
        );
    }

    // C-52, T-93
    #[test]
    fn one_long_line_is_cut_between_two_characters() {
        for lead in 0..3 {
            let text = format!("{}{}", "x".repeat(lead), "あ".repeat(Window::LIMIT / 3 + 10));
            let window = Window::of(&text);
            assert!(window.text.len() <= Window::LIMIT && window.text.len() > Window::LIMIT - 3);
            assert!(window.text.starts_with('あ'));
        }
    }
}
