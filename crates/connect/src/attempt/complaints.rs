//! The standard error of a process, cut to its first and last part.

/// Maximum length of the first part, and of the last part (C-52).
const KEPT: usize = 64 * 1024;

/// The first and the last part of a stream.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    first: Vec<u8>,
    /// Grows to twice the limit, so that not every read moves it.
    last: Vec<u8>,
    left_out: u64,
}

impl Complaints {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(KEPT - self.first.len()));
        self.first.extend_from_slice(first);
        self.last.extend_from_slice(rest);
        if self.last.len() > 2 * KEPT {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let over = self.last.len().saturating_sub(KEPT);
        self.last.drain(..over);
        self.left_out += over as u64;
    }

    /// Returns both parts, with a line between them if something was dropped.
    pub(super) fn into_text(mut self) -> String {
        self.cut();
        let first = String::from_utf8_lossy(&self.first);
        let last = String::from_utf8_lossy(&self.last);
        match self.left_out {
            0 => format!("{first}{last}"),
            left_out => format!("{first}\n[… {left_out} bytes left out …]\n{last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-52
    #[test]
    fn the_first_and_the_last_are_kept() {
        let mut complaints = Complaints::default();
        complaints.push(b"one\n");
        complaints.push(&vec![b'x'; KEPT]);
        assert_eq!(complaints.last.len(), 4);
        for _ in 0..100 {
            complaints.push(&vec![b'y'; KEPT / 2]);
        }
        complaints.push(b"\nthe end\n");
        let text = complaints.into_text();
        assert!(text.starts_with("one\nxxx") && text.ends_with("yyy\nthe end\n"), "{text:.80}");
        let left_out = 4 + 50 * KEPT + 9 - KEPT;
        assert!(text.contains(&format!("\n[… {left_out} bytes left out …]\n")), "{left_out}");
        assert!(text.len() < 2 * KEPT + 100);
    }

    #[test]
    fn a_short_one_is_whole_even_where_it_is_no_text() {
        let mut complaints = Complaints::default();
        complaints.push(b"a\xff");
        complaints.push(b"b");
        assert_eq!(complaints.into_text(), "a\u{fffd}b");
    }
}
