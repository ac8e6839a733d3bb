//! The written forms of a secret.

/// Returns a secret in plain form, as JSON text, percent-encoded, and in base64 at every alignment. Forms may
/// be equal.
pub(super) fn forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.to_vec()];
    forms.extend(inside_json(secret));
    forms.extend([percent_encoded(secret, "0123456789ABCDEF"), percent_encoded(secret, "0123456789abcdef")]);
    for alphabet in [b"+/", b"-_"] {
        forms.extend((0..3).map(|before| in_base64(secret, before, *alphabet)));
    }
    forms
}

/// Escapes a value for a JSON text, if it is UTF-8.
fn inside_json(secret: &[u8]) -> Option<Vec<u8>> {
    let quoted = serde_json::to_string(std::str::from_utf8(secret).ok()?).ok()?;
    Some(quoted.get(1..quoted.len() - 1)?.as_bytes().to_vec())
}

/// Encodes all bytes that need it in any part of a URL.
fn percent_encoded(secret: &[u8], digits: &str) -> Vec<u8> {
    let digits = digits.as_bytes();
    let encode = |byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => vec![*byte],
        byte => vec![b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]],
    };
    secret.iter().flat_map(encode).collect()
}

/// Returns the base64 letters that depend on the secret alone, after `before` other bytes. The letters at
/// both ends may depend on its neighbours.
fn in_base64(secret: &[u8], before: usize, last_letters: [u8; 2]) -> Vec<u8> {
    let letter = |value: u8| match value {
        0..=25 => b'A' + value,
        26..=51 => b'a' + value - 26,
        52..=61 => b'0' + value - 52,
        62 => last_letters[0],
        _ => last_letters[1],
    };
    let bit = |at: usize| {
        let byte = secret.get(at / 8).copied().unwrap_or_default();
        (byte >> (7 - at % 8)) & 1
    };
    let (first, end) = ((before * 8).div_ceil(6), (before + secret.len()) * 8 / 6);
    let value = |place: usize| (0..6).fold(0, |value, n| (value << 1) | bit(place * 6 + n - before * 8));
    (first..end).map(|place| letter(value(place))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(forms: &[Vec<u8>]) -> Vec<String> {
        forms.iter().map(|form| String::from_utf8_lossy(form).into_owned()).collect()
    }

    #[test]
    fn a_secret_has_a_form_for_each_way_of_writing_it() {
        assert_eq!(
            shown(&forms(b"p\"s/w?d~ok>>")),
            [
                "p\"s/w?d~ok>>",
                "p\\\"s/w?d~ok>>",
                "p%22s%2Fw%3Fd~ok%3E%3E",
                "p%22s%2fw%3fd~ok%3e%3e",
                "cCJzL3c/ZH5vaz4+",
                "Aicy93P2R+b2s+P",
                "wInMvdz9kfm9rPj",
                "cCJzL3c_ZH5vaz4-",
                "Aicy93P2R-b2s-P",
                "wInMvdz9kfm9rPj",
            ]
        );
    }
}
