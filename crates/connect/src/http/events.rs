//! Reassembles an event stream from chunks of any size.

/// Maximum length of an event. Without it, an event without an end would fill the memory.
pub(super) const LONGEST: usize = 8 * 1024 * 1024;

/// A parser of server-sent events. It only reads `data`: the APIs we use repeat the event's type there.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    /// The data of the incomplete event.
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return: a line feed after it does not end another line.
    returned: bool,
    /// At least one byte was read: a byte order mark is valid only at the start.
    begun: bool,
}

/// An event without an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("output limit: one event is longer than {} MiB", LONGEST / (1024 * 1024))]
pub(super) struct TooLong;

impl Events {
    /// Adds bytes and returns the data of every event that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut ended = Vec::new();
        for part in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, end) = match part.split_last() {
                Some((end @ (b'\n' | b'\r'), text)) => (text, Some(*end)),
                Some(_) | None => (part, None),
            };
            if end == Some(b'\n') && text.is_empty() && std::mem::take(&mut self.returned) {
                continue;
            }
            if self.line.len() + self.data.len() + text.len() > LONGEST {
                return Err(TooLong);
            }
            self.line.extend_from_slice(text);
            self.returned = end == Some(b'\r');
            if end.is_some() {
                ended.extend(self.end_line());
            }
        }
        Ok(ended)
    }

    fn end_line(&mut self) -> Option<String> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data).then(|| String::from_utf8_lossy(&data).into_owned());
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[][..],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            // Comments, event names, ids and future fields.
            Some(_) | None => return None,
        };
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(stream: &[u8]) -> Vec<String> {
        Events::default().feed(stream).unwrap()
    }

    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        assert_eq!(all(stream.as_bytes()), expected);
    }

    #[test]
    fn an_event_is_its_data_and_ends_with_an_empty_line() {
        check("data: a\n\ndata:b\n\n", &["a", "b"]);
        check("event: x\nid: 7\n: a comment\ndata: {\"a\":1}\nretry: 3\n\n", &["{\"a\":1}"]);
        check("data: a\ndata: b\n\n", &["a\nb"]);
        check("data\n\ndata:\n\ndata:  two\n\n", &["", "", " two"]);
        check(": ping\n\n\n\nevent: nothing\n\n", &[]);
        check("data: never ends\n", &[]);
        check("database: no\n\ndata\tno: x\n\n", &[]);
    }

    #[test]
    fn lines_may_end_in_any_way_and_begin_with_a_byte_order_mark() {
        check("\u{feff}data: a\r\n\r\ndata: b\r\rdata: c\n\r\n", &["a", "b", "c"]);
        check("data: a\n\n\u{feff}data: b\n\n", &["a"]);
    }

    // C-53
    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(all(b"data: a\xFFb\n\n"), ["a\u{fffd}b"]);
    }

    #[test]
    fn an_event_without_end_is_not_kept() {
        let mut events = Events::default();
        events.feed(b"data: ").unwrap();
        let mebibyte = vec![b'x'; 1024 * 1024];
        let fed = (0..100).find(|_| events.feed(&mebibyte).is_err());
        assert_eq!(fed, Some(7));
        let mut lines = Events::default();
        let line = [b"data: ", &mebibyte[..], b"\n"].concat();
        assert_eq!((0..100).find(|_| lines.feed(&line).is_err()), Some(7));
        assert_eq!(
            lines.feed(&line).unwrap_err().to_string(),
            "output limit: one event is longer than 8 MiB"
        );
    }

    proptest! {
        // C-81: a network may split a stream anywhere, even inside characters and line ends.
        #[test]
        fn however_a_stream_is_cut_its_events_are_the_same(
            lines in prop::collection::vec(
                ("(data: ?|event: |: |)", "[a計\u{1F600}\u{e9}: ]{0,6}", "(\n|\r\n|\r|\n\n|\r\n\r\n|\r\r)"), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        ) {
            let stream: String = lines.iter().map(|(field, text, end)| format!("{field}{text}{end}")).collect();
            let bytes = stream.as_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let mut events = Events::default();
            let pieces = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            let cut: Vec<String> = pieces.flat_map(|part| events.feed(part).unwrap()).collect();
            prop_assert_eq!(cut, all(bytes));
        }
    }
}
