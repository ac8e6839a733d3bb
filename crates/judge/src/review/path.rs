//! Paths as agents write them.

/// Returns possible locations of a named file: paths from the root with `/`, best guess first. Empty for a path outside
/// the root.
pub(super) fn places(root: &str, named: &str) -> Vec<String> {
    let slashed = named.trim().replace('\\', "/");
    let mut places = Vec::new();
    // On some file systems a backslash is an ordinary character of a name.
    for spelled in [named.trim(), &slashed] {
        if let Some(place) = inside(root, spelled)
            && !places.contains(&place)
        {
            places.push(place);
        }
    }
    // Agents copy paths from diffs, where they have the prefix `a/` or `b/`.
    let stripped: Vec<String> = places
        .iter()
        .filter_map(|place| place.strip_prefix("a/").or(place.strip_prefix("b/")))
        .map(str::to_owned)
        .collect();
    places.extend(stripped);
    places
}

/// Returns the path from the root, without `.` and `..`.
fn inside(root: &str, path: &str) -> Option<String> {
    let root = root.trim_end_matches('/');
    let relative = match path.strip_prefix(root).filter(|_| !root.is_empty()) {
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => path,
    };
    // A Windows drive; a colon alone is an ordinary character of a name.
    let has_drive = matches!(relative.as_bytes(), [b'a'..=b'z' | b'A'..=b'Z', b':', b'/' | b'\\', ..]);
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
