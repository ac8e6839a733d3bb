//! Content hash of a text.

use std::fmt::Write;

use sha2::{Digest, Sha256};

pub fn sha256(text: &str) -> String {
    let mut name = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        write!(name, "{byte:02x}").expect("writing to a string never fails");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::sha256;

    #[test]
    fn the_digest_is_the_well_known_one() {
        assert_eq!(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
