//! Paths as agents write them.

/// Where a file may be that was named like this: paths from the root with `/`, best guess first. None for a path that
/// leads out of the root.
pub(super) fn places(root: &str, named: &str) -> Vec<String> {
    let slashed = named.trim().replace('\\', "/");
    let mut places = Vec::new();
    // A backslash is a letter of a name where the file system says so.
    for spelled in [named.trim(), &slashed] {
        if let Some(place) = inside(root, spelled)
            && !places.contains(&place)
        {
            places.push(place);
        }
    }
    // Agents copy paths out of diffs, where they stand behind `a/` and `b/`.
    let stripped: Vec<String> = places
        .iter()
        .filter_map(|place| place.strip_prefix("a/").or(place.strip_prefix("b/")))
        .map(str::to_owned)
        .collect();
    places.extend(stripped);
    places
}

/// The path from the root, without `.` and `..`.
fn inside(root: &str, path: &str) -> Option<String> {
    let root = root.trim_end_matches('/');
    let relative = match path.strip_prefix(root).filter(|_| !root.is_empty()) {
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => path,
    };
    let has_drive = relative.as_bytes().get(1) == Some(&b':');
    if relative.starts_with('/') || has_drive {
        return None;
    }
    let mut segments = Vec::new();
    for segment in relative.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            name => segments.push(name),
        }
    }
    (!segments.is_empty()).then(|| segments.join("/"))
}

/// Whether a pattern takes a path: `?` is one character and `*` any number of them, neither of them a `/`; `**` is
/// anything; a pattern that ends in `/` takes all that is below it.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    let below = if pattern.ends_with('/') { "**" } else { "" };
    let pattern: Vec<char> = pattern.chars().chain(below.chars()).collect();
    let path: Vec<char> = path.chars().collect();
    // One row for each place in the pattern; each entry says whether what was read so far ends there.
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    let mut at = 0;
    while at < pattern.len() {
        let doubled = pattern[at] == '*' && pattern.get(at + 1) == Some(&'*');
        // `**/` also takes no directory at all.
        let whole = doubled && pattern.get(at + 2) == Some(&'/');
        reached = step(pattern[at], doubled, whole, &reached, &path);
        at += 1 + usize::from(doubled) + usize::from(whole);
    }
    reached[path.len()]
}

fn step(letter: char, doubled: bool, whole: bool, before: &[bool], path: &[char]) -> Vec<bool> {
    let mut after = vec![false; before.len()];
    let mut open = false;
    for at in 0..before.len() {
        let last = at.checked_sub(1).map(|last| path[last]);
        after[at] = match letter {
            '*' => {
                open = (open && (doubled || last != Some('/'))) || before[at];
                if whole { before[at] || (open && last == Some('/')) } else { open }
            }
            '?' => at > 0 && before[at - 1] && last != Some('/'),
            plain => at > 0 && before[at - 1] && last == Some(plain),
        };
    }
    after
}
