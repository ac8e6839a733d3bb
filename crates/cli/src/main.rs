use std::process::ExitCode;

fn main() -> ExitCode {
    saihai_cli::main()
}
