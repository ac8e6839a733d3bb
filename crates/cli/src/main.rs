//! The `saihai` program.
fn main() {}
