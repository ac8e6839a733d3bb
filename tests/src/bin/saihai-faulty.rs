//! Saihai with the feature `faults`: the same program with disk faults on demand.

use std::process::ExitCode;

fn main() -> ExitCode {
    saihai_cli::main()
}
