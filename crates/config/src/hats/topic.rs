//! Topics, and the patterns that match them (H-14, H-15, H-26).

/// Maximum length of a topic, in characters.
const LONGEST: usize = 128;

/// Precision of a pattern. Patterns are searched in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Precision {
    Exact,
    /// With `*` for whole segments.
    Segments,
    Anything,
}

impl Precision {
    /// All precisions, in search order.
    pub(super) const ALL: [Self; 3] = [Self::Exact, Self::Segments, Self::Anything];

    /// Returns the precision of a pattern, or `None` if it is not a valid pattern.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        if pattern == "*" {
            return Some(Self::Anything);
        }
        let right = |segment: &str| segment == "*" || is_segment(segment);
        if !pattern.split('.').all(right) || pattern.len() > LONGEST {
            return None;
        }
        Some(if pattern.contains('*') { Self::Segments } else { Self::Exact })
    }
}

pub(super) fn is_topic(text: &str) -> bool {
    Precision::of(text) == Some(Precision::Exact)
}

/// Returns true if a pattern matches a topic.
pub(super) fn takes(pattern: &str, topic: &str) -> bool {
    pattern == "*" || same_shape(pattern, topic, |wanted, given| wanted == "*" || wanted == given)
}

/// Returns true if some topic matches both patterns. Neither may be a lone `*`.
pub(super) fn overlap(one: &str, other: &str) -> bool {
    same_shape(one, other, |one, other| one == "*" || other == "*" || one == other)
}

fn same_shape(one: &str, other: &str, agree: impl Fn(&str, &str) -> bool) -> bool {
    one.split('.').count() == other.split('.').count()
        && one.split('.').zip(other.split('.')).all(|(one, other)| agree(one, other))
}

fn is_segment(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    // H-14
    #[test]
    fn a_topic_is_ascii_segments_joined_by_dots() {
        let longest = "x".repeat(128);
        for topic in ["tests.failing", "topic_name", "a-b_c.1.x--y", "LOOP_COMPLETE", &longest] {
            assert!(is_topic(topic), "{topic}");
        }
        let too_long = "x".repeat(129);
        for text in ["", "a..b", ".a", "a.", "_a", "a-", "a b", "テスト", "a/b", "build.*", "*", &too_long]
        {
            assert!(!is_topic(text), "{text}");
        }
    }

    // H-15, HC-7
    #[test]
    fn a_star_stands_for_whole_segments_or_alone() {
        for (pattern, expected) in [
            ("build.done", Some(Precision::Exact)),
            ("build.*", Some(Precision::Segments)),
            ("*.failed", Some(Precision::Segments)),
            ("*.*", Some(Precision::Segments)),
            ("*", Some(Precision::Anything)),
            ("bu*", None),
            ("**", None),
            ("a.**", None),
            ("", None),
        ] {
            assert_eq!(Precision::of(pattern), expected, "{pattern}");
        }
    }

    // H-26, H-27, HC-7
    #[test]
    fn a_pattern_takes_topics_of_its_own_length_and_case() {
        assert!(takes("build.*", "build.done"));
        assert!(takes("*", "a.b.c"));
        assert!(takes("tests", "tests"));
        for topic in ["build", "build.x.y", "Build.done"] {
            assert!(!takes("build.*", topic), "{topic}");
        }
        assert!(!takes("tests", "tests.failing"));
    }

    #[test]
    fn patterns_overlap_where_one_topic_is_taken_by_both() {
        assert!(overlap("build.*", "*.done"));
        assert!(overlap("build.*", "build.done"));
        assert!(!overlap("build.*", "test.*"));
        assert!(!overlap("build.*", "build.x.*"));
    }
}
