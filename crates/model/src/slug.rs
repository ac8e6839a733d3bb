//! The readable end of a run id.

/// Maximum number of task characters in a slug.
const LENGTH: usize = 30;

/// Turns a task into the readable end of a run id. Uses its first 30 characters in lower case. Replaces everything but
/// letters and digits of any script with a single `-`, and trims the ends. Returns `task` if nothing is left.
pub fn slug(task: &str) -> String {
    let mut slug = String::new();
    for character in task.trim().chars().take(LENGTH).flat_map(char::to_lowercase) {
        if character.is_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let end = slug.trim_end_matches('-').len();
    slug.truncate(end);
    if slug.is_empty() { "task".to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::slug;

    // P-30, case 40
    #[test]
    fn a_slug_keeps_letters_and_digits_of_any_script() {
        let check = |task: &str, expected: &str| assert_eq!(slug(task), expected, "{task:?}");
        check("修正: ログイン画面!", "修正-ログイン画面");
        check("Fix   THE bug -- now", "fix-the-bug-now");
        check("  (a) b/../c  ", "a-b-c");
        check("!!!", "task");
        check("", "task");
        check("Größe ÄNDERN", "größe-ändern");
    }

    // P-30
    #[test]
    fn only_the_first_thirty_characters_count_and_a_cut_leaves_no_dash() {
        assert_eq!(slug(&"あ".repeat(40)), "あ".repeat(30));
        assert_eq!(slug("12345678901234567890123456789 tail"), "12345678901234567890123456789");
    }
}
