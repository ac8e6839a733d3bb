//! Lines of a file that a change touches.

/// Lines of a file's new version that a change adds or shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// First and last line of each hunk.
    hunks: Vec<(u32, u32)>,
    /// First and last line of each group of added lines.
    added: Vec<(u32, u32)>,
    /// Lines before which the change removes others.
    taken: Vec<u32>,
}

impl Change {
    /// Parses a file's section of a unified diff. Skips everything outside hunks.
    pub fn of_diff(section: &str) -> Self {
        let mut change = Self::default();
        // Lines of the old and the new version left in the hunk, and the next new line.
        let (mut old, mut new, mut line) = (0, 0, 0);
        for text in section.split('\n') {
            if old == 0 && new == 0 {
                let Some(hunk) = hunk(text) else { continue };
                (old, line, new) = hunk;
                if new > 0 {
                    change.hunks.push((line, line.saturating_add(new - 1)));
                } else {
                    // A hunk without new lines names the line before it.
                    line = line.saturating_add(1);
                }
                continue;
            }
            match text.as_bytes().first() {
                Some(b'+') => {
                    change.add(line);
                    line = line.saturating_add(1);
                    new = new.saturating_sub(1);
                }
                Some(b'-') => {
                    change.taken.push(line);
                    old = old.saturating_sub(1);
                }
                // "\ No newline at end of file" is a line of neither version.
                Some(b'\\') => {}
                _ => {
                    line = line.saturating_add(1);
                    (old, new) = (old.saturating_sub(1), new.saturating_sub(1));
                }
            }
        }
        change
    }

    fn add(&mut self, line: u32) {
        match self.added.last_mut() {
            Some((_, end)) if end.saturating_add(1) == line => *end = line,
            _ => self.added.push((line, line)),
        }
    }

    /// Returns true if one of these lines is added.
    pub fn adds(&self, lines: (u32, u32)) -> bool {
        overlap(&self.added, lines)
    }

    /// Returns true if the change removes lines directly before this one.
    pub fn takes_before(&self, line: u32) -> bool {
        self.taken.contains(&line)
    }

    /// Returns true if one of these lines is inside a hunk.
    pub fn shows(&self, lines: (u32, u32)) -> bool {
        overlap(&self.hunks, lines)
    }
}

fn overlap(ranges: &[(u32, u32)], (start, end): (u32, u32)) -> bool {
    ranges.iter().any(|(first, last)| *first <= end && start <= *last)
}

/// Parses `@@ -OLD[,COUNT] +NEW[,COUNT] @@`: the old line count, the first new line, the new line count.
fn hunk(line: &str) -> Option<(u32, u32, u32)> {
    let inside = line.strip_prefix("@@ -")?;
    let (ranges, _) = inside.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(u32, u32)> {
        match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let ((_, old), (start, new)) = (range(old)?, range(new)?);
    Some((old, start, new))
}
