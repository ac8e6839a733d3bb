//! Saihai with the feature `faults`: the same program, and a disk that can be told to fail.

use std::process::ExitCode;

fn main() -> ExitCode {
    saihai_cli::main()
}
