//! Tests of the login check.

use super::logged_in;
use crate::agent::{Login, Probed};

// C-86
#[test]
fn whether_somebody_is_logged_in_is_read_from_what_it_says_of_itself() {
    for (code, output, expected) in [
        (Some(0), "{\"loggedIn\": true}", Login::In),
        (Some(1), "{\"loggedIn\": false}", Login::Out),
        (Some(0), "Logged in", Login::In),
        (Some(1), "Not logged in", Login::Out),
        (Some(2), "unknown command", Login::Unknown),
        (None, "", Login::Unknown),
    ] {
        assert_eq!(logged_in(&Probed { code, output: output.to_owned() }), expected, "{output}");
    }
}
