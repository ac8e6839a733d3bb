//! Project tasks: `cargo xtask test`, `bench`, `coverage`, `docs`, `page`, `real-agents`, `real-model`,
//! `record-agents`, `temporal`, `time-agents`.
//!
//! Each task runs a few cargo commands and reports facts that cargo does not:
//! - the absence of fault injection in the release binary,
//! - the parts that a test run skipped,
//! - the requirements that no test names.
//!
//! It depends on no other crate of the workspace, so that it builds even when they do not.

mod bench;
mod cargo;
mod coverage;
mod docs;
mod page;
mod real_agents;
mod real_model;
mod temporal;
mod test;
mod tool;

use std::process::ExitCode;

use anyhow::Result;

const USAGE: &str = "\
usage: cargo xtask TASK

  test [--page] [--real-agents] [--temporal]
                                    every test, and the check of the release binary; with the flags also the page
                                    in a browser, the vendors' agent programs, against a scripted API and without
                                    a network, and runs on a development server of Temporal
  bench [--only T-n]                the laws of cost, as ratios, each with its law
  coverage [--area A] [--all]       requirements that no test names, by area
  docs                              build the documentation site and check its links
  page                              only the page of `saihai serve`, in Chromium
  real-agents [--latest] [NAME…]    only the suite of the vendors' agent programs, or its tests of these names;
                                    with the flag at the newest versions that npm has
  temporal [NAME…]                  only the lints and tests of `saihai-temporal`, which is a workspace of its own
  real-model [NAME…]                only a real, small model on the loopback, for the providers by HTTP
  record-agents [AGENT [CASE]]      what the vendors' programs say, for the tests of the providers
  time-agents                       how long a vendor's program takes to begin, and what it would save if it stayed
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode> {
    let (task, rest) = arguments.split_first().map_or(("", &[][..]), |(task, rest)| (task.as_str(), rest));
    match task {
        "test" => test::run(rest),
        "bench" => bench::run(rest),
        "coverage" => coverage::run(rest),
        "docs" => docs::run(rest),
        "page" => page::test(rest).map(|()| ExitCode::SUCCESS),
        "real-agents" => real_agents::test(rest).map(|()| ExitCode::SUCCESS),
        "record-agents" => real_agents::record(rest),
        "time-agents" => real_agents::time(),
        "temporal" => temporal::test(rest).map(|()| ExitCode::SUCCESS),
        "real-model" => real_model::test(rest).map(|()| ExitCode::SUCCESS),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        "" => {
            eprint!("{USAGE}");
            Ok(ExitCode::from(2))
        }
        other => anyhow::bail!("unknown task `{other}`\n\n{USAGE}"),
    }
}
