use super::*;
use crate::terminal::captured;

/// Returns the error output for the arguments, with the exit code.
#[track_caller]
fn complaint(arguments: &str) -> String {
    let (mut streams, out, err) = captured::streams();
    let arguments: Vec<OsString> =
        std::iter::once("saihai").chain(arguments.split_whitespace()).map(OsString::from).collect();
    let code = parse(&arguments, &mut streams).unwrap_err().say(&mut streams).code();
    assert_eq!(out.text(), "");
    format!("{}exit {code}", err.text())
}

// K-case 1, K-2
#[test]
fn a_misspelt_command_or_flag_gets_the_nearest_one() {
    insta::assert_snapshot!(complaint("rnu"), @r"
    error: there is no command `rnu`
      = help: did you mean `saihai run`?
    exit 2
    ");
    insta::assert_snapshot!(complaint("run p x --max-iteration 3"), @r"
    error: there is no flag `--max-iteration` of `saihai run`
      = help: did you mean `--max-iterations`?
    exit 2
    ");
    insta::assert_snapshot!(complaint("frobnicate"), @r"
    error: there is no command `frobnicate`
      = help: `saihai --help` lists the commands
    exit 2
    ");
    insta::assert_snapshot!(complaint("runs --frobnicate"), @r"
    error: there is no flag `--frobnicate` of `saihai runs`
      = help: see `saihai runs --help`
    exit 2
    ");
    insta::assert_snapshot!(complaint("--jsn"), @r"
    error: there is no flag `--jsn`
      = help: see `saihai --help`
    exit 2
    ");
}

#[test]
fn flags_of_later_versions_are_refused_by_name() {
    for (flag, commands) in LATER_FLAGS {
        for command in commands {
            let said = complaint(&format!("{command} {flag} x"));
            assert_eq!(said, format!("error: `{flag}` is not part of this version yet\nexit 2"));
        }
    }
    // A later flag of one command is unknown to the others.
    insta::assert_snapshot!(complaint("runs --issue 3"), @r"
    error: there is no flag `--issue` of `saihai runs`
      = help: see `saihai runs --help`
    exit 2
    ");
}

#[test]
fn values_that_do_not_fit_say_what_does() {
    insta::assert_snapshot!(complaint("check --format jsn"), @r"
    error: `jsn` does not fit `--format`
      = help: write one of `human`, `json`, `github`, `sarif`
      = help: did you mean `json`?
    exit 2
    ");
    insta::assert_snapshot!(complaint("run p --max-permission full"), @r"
    error: `full` does not fit `--max-permission`
      = help: write one of `readonly`, `edit-only`, `edit`
    exit 2
    ");
    insta::assert_snapshot!(complaint("run p --max-iterations 0"), @r"
    error: `0` does not fit `--max-iterations`: write a whole number from 1 to 100000
    exit 2
    ");
    insta::assert_snapshot!(complaint("run p --run-timeout soon"), @r#"
    error: `soon` does not fit `--run-timeout`: a duration is written as "90s", "30m", "2h" or a whole number of seconds
    exit 2
    "#);
    insta::assert_snapshot!(complaint("run p --provider"), @r"
    error: `--provider` needs a value
      = help: see `saihai run --help`
    exit 2
    ");
    insta::assert_snapshot!(complaint("fork r --at 0"), @r"
    error: `0` does not fit `--at`: write the number of an event, as `saihai log` shows it
    exit 2
    ");
    insta::assert_snapshot!(complaint("completions cmd.exe"), @r"
    error: `cmd.exe` does not fit `SHELL`
      = help: write one of `bash`, `elvish`, `fish`, `powershell`, `zsh`
    exit 2
    ");
}

// K-35, K-case 8
#[test]
fn a_budget_without_keys_is_told_the_four_keys() {
    insta::assert_snapshot!(complaint("run p x --budget 5"), @r"
    error: `5` does not fit `--budget`: `5` has no key; write `usd=…`, `tokens=…`, `turns=…` or `minutes=…`, joined by commas
    exit 2
    ");
}

#[test]
fn too_few_too_many_and_contradicting_arguments_are_named() {
    insta::assert_snapshot!(complaint("run"), @r"
    error: missing: `DEFINITION`
      = help: see `saihai run --help`
    exit 2
    ");
    insta::assert_snapshot!(complaint("eject"), @r"
    error: missing: `NAME`
      = help: see `saihai eject --help`
    exit 2
    ");
    insta::assert_snapshot!(complaint("run p fix the login"), @r"
    error: `the` is one argument too many
      = help: put quotes around a text with spaces
      = help: see `saihai run --help`
    exit 2
    ");
    insta::assert_snapshot!(complaint("rehearse p --script s.yaml --all-paths"), @r"
    error: `--script` and `--all-paths` exclude each other
      = help: see `saihai rehearse --help`
    exit 2
    ");
    insta::assert_snapshot!(complaint("review main --base main"), @r"
    error: `BASE|A..B|FILES` and `--base` exclude each other
      = help: see `saihai review --help`
    exit 2
    ");
    insta::assert_snapshot!(complaint("trust --list --revoke x"), @r"
    error: `--list` and `--revoke` exclude each other
      = help: see `saihai trust --help`
    exit 2
    ");
    insta::assert_snapshot!(complaint("runs --json --json"), @r"
    error: `--json` is given twice
      = help: see `saihai runs --help`
    exit 2
    ");
    insta::assert_snapshot!(complaint("runs --json=yes"), @r"
    error: unexpected value `yes` for `--json` found; no more were expected
      = help: see `saihai runs --help`
    exit 2
    ");
}

// K-1
#[test]
fn help_and_version_are_data_and_no_failure() {
    for arguments in [["saihai", "--version"], ["saihai", "--help"]] {
        let (mut streams, out, err) = captured::streams();
        let code = parse(&arguments.map(OsString::from), &mut streams).unwrap_err().say(&mut streams).code();
        assert_eq!((code, err.text().as_str()), (0, ""));
        assert!(!out.text().is_empty());
    }
}

// K-1
#[test]
fn every_command_has_help_and_version() {
    let known = Arguments::command();
    for command in known.get_subcommands().map(clap::Command::get_name) {
        for flag in ["--help", "-h", "--version"] {
            let (mut streams, out, _) = captured::streams();
            let arguments = ["saihai", command, flag].map(OsString::from);
            let code = parse(&arguments, &mut streams).unwrap_err().say(&mut streams).code();
            assert_eq!(code, 0, "{command} {flag}");
            assert!(
                out.text().contains(if flag == "--version" { "0." } else { "Usage: saihai" }),
                "{command} {flag}"
            );
        }
    }
}

// X-40
#[test]
fn commands_and_flags_of_takt_lead_to_the_ones_here() {
    let hints =
        ["add", "switch", "exec", "run p --pipeline", "run p -t x", "run -w p", "eject p --type persona"];
    insta::assert_snapshot!(hints.map(complaint).join("\n"), @"
    error: there is no command `add`
      = help: `saihai work --from DIR` works on the Markdown files of a folder
    exit 2
    error: there is no command `switch`
      = help: `saihai run NAME TASK` names the definition; `saihai list` lists all
    exit 2
    error: there is no command `exec`
      = help: `saihai init` creates a definition, `saihai run` starts a run
    exit 2
    error: there is no flag `--pipeline` of `saihai run`
      = help: `saihai work` goes from issues to pull requests; `saihai run` never waits without a terminal
    exit 2
    error: there is no flag `-t` of `saihai run`
      = help: write the task behind the definition: `saihai run NAME TASK`
    exit 2
    error: there is no flag `-w` of `saihai run`
      = help: write the definition first: `saihai run NAME TASK`
    exit 2
    error: there is no flag `--type` of `saihai eject`
      = help: `saihai eject NAME` copies the whole definition
    exit 2
    ");
}

// U-14
#[test]
fn commands_of_other_programs_lead_to_the_ones_here() {
    let hints = ["ls", "status", "stop", "watch", "validate", "logs"].map(complaint).join("\n");
    insta::assert_snapshot!(hints, @"
    error: there is no command `ls`
      = help: `saihai runs` lists runs, `saihai list` lists definitions
    exit 2
    error: there is no command `status`
      = help: `saihai show` shows the last run, `saihai runs` lists all
    exit 2
    error: there is no command `stop`
      = help: `saihai cancel` cancels a run for good; Ctrl-C in its terminal pauses it
    exit 2
    error: there is no command `watch`
      = help: `saihai top` shows all runs, `saihai log -f` follows one, `saihai work --watch` polls for issues
    exit 2
    error: there is no command `validate`
      = help: `saihai check` reports all errors in definitions
    exit 2
    error: there is no command `logs`
      = help: `saihai log` prints the events of a run
    exit 2
    ");
    insta::assert_snapshot!(complaint("run p x --dry-run"), @"
    error: there is no flag `--dry-run` of `saihai run`
      = help: `--rehearse` runs without an agent, `saihai prompt` prints the first prompt
    exit 2
    ");
    insta::assert_snapshot!(complaint("work --all --dry-run"), @"
    error: there is no flag `--dry-run` of `saihai work`
      = help: `saihai work --list` prints the plan and does nothing
    exit 2
    ");
}

// U-14
#[test]
fn every_command_is_in_one_group_and_has_examples() {
    let known = Arguments::command();
    let commands: Vec<(String, String)> = known
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| {
            (command.get_name().to_owned(), command.get_about().map(ToString::to_string).unwrap_or_default())
        })
        .collect();
    let listed = crate::commands::GROUPS.iter().flat_map(|(_, commands)| commands.iter());
    let listed: Vec<(String, String)> =
        listed.map(|(name, about)| ((*name).to_owned(), (*about).to_owned())).collect();
    assert_eq!(commands, listed);
    for command in known.get_subcommands().filter(|command| !command.is_hide_set()) {
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = after.split_once("Examples:\n").map_or("", |(_, examples)| examples).lines();
        let typed = examples.filter(|line| line.contains("saihai ")).count();
        assert!((2..=4).contains(&typed), "{}: {after}", command.get_name());
    }
}

// U-14: an example that does not parse misleads. A shell expands the redirections.
#[test]
fn every_example_can_be_typed() {
    for command in Arguments::command().get_subcommands() {
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = after.split_once("Examples:\n").map_or("", |(_, examples)| examples);
        for line in examples.lines().map(str::trim) {
            let line = line.trim_start_matches("source <(").trim_end_matches(')');
            // Another program may be told our command line.
            let line = line
                .split_once(" -- ")
                .filter(|_| !line.starts_with("saihai"))
                .map_or(line, |(_, ours)| ours);
            let line = line.split(['<', '>', '|']).next().unwrap_or_default();
            let mut words: Vec<OsString> = Vec::new();
            for (index, part) in line.split('"').enumerate() {
                if index % 2 == 1 {
                    words.push(part.into());
                } else {
                    words.extend(part.split_whitespace().map(OsString::from));
                }
            }
            let (mut streams, _, err) = captured::streams();
            if let Err(error) = parse(&words, &mut streams) {
                error.say(&mut streams);
                panic!("{line}: {}", err.text());
            }
        }
    }
}

// U-14
#[test]
fn global_flags_are_known_before_and_after_the_command() {
    let words = |typed: &str| -> Vec<OsString> { typed.split_whitespace().map(OsString::from).collect() };
    let check = |typed: &str, command: &str, directory: Option<&str>, color: ColorChoice| {
        let words = words(typed);
        assert_eq!(command_of(&words), Some(command), "{typed}");
        let directory = directory.map(PathBuf::from);
        assert_eq!(EarlyFlags::of(&words), EarlyFlags { directory: directory.clone(), color }, "{typed}");
        let parsed = parse(&words, &mut captured::streams().0).expect(typed);
        assert_eq!((parsed.global.directory, parsed.global.color), (directory, color), "{typed}");
    };
    check("saihai -C a --color never runs", "runs", Some("a"), ColorChoice::Never);
    check("saihai -Ca -q --color=always runs", "runs", Some("a"), ColorChoice::Always);
    check("saihai -v runs -C a", "runs", Some("a"), ColorChoice::Auto);
    check("saihai run p -C a --color never -- -C", "run", Some("a"), ColorChoice::Never);
    insta::assert_snapshot!(complaint("runs -q -v"), @"
    error: `--quiet` and `--verbose` exclude each other
      = help: see `saihai runs --help`
    exit 2
    ");
}

// `help` is a command too, so it has a help of its own.
#[test]
fn the_help_command_has_help() {
    for typed in ["saihai help --help", "saihai help -h"] {
        let words: Vec<OsString> = typed.split_whitespace().map(OsString::from).collect();
        let (mut streams, out, err) = captured::streams();
        let code = parse(&words, &mut streams).unwrap_err().say(&mut streams).code();
        assert_eq!((code, err.text().as_str()), (0, ""), "{typed}");
        assert!(
            out.text().starts_with("Print the help of a command\n\nUsage: saihai help "),
            "{}",
            out.text()
        );
    }
}

// U-25: the manual once left out `doctor`.
#[test]
fn the_manual_lists_and_describes_every_command() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/commands.md");
    let page = std::fs::read_to_string(page).unwrap();
    let overview = page.split("```").nth(1).unwrap();
    let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("##")).collect();
    let has_word = |text: &str, name: &str| text.split([' ', ',', '`', '\n']).any(|word| word == name);
    let known = Arguments::command();
    let missing: Vec<&str> = known
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(clap::Command::get_name)
        .filter(|name| !has_word(overview, name) || !headings.iter().any(|heading| has_word(heading, name)))
        .collect();
    assert_eq!(missing, [""; 0]);
}
