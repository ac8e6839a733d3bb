//! What the end-to-end suites share: a project in a temporary directory, the program under test, and the rules of the
//! tidy test.

pub mod tidy;
