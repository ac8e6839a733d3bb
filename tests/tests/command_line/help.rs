//! Help, completions and manual pages.

use saihai_tests::Project;

use crate::support::PROGRAM;

const COMMANDS: [&str; 23] = [
    "init",
    "list",
    "run",
    "rehearse",
    "review",
    "check",
    "prompt",
    "graph",
    "runs",
    "show",
    "log",
    "explain",
    "resume",
    "fork",
    "record",
    "answer",
    "cancel",
    "config",
    "trust",
    "eject",
    "schema",
    "demo",
    "completions",
];

fn help(arguments: &[&str]) -> String {
    let outcome = Project::new(PROGRAM).saihai(arguments).run().exits(0);
    assert_eq!(outcome.stderr, "");
    outcome.stdout
}

// K-1
#[test]
fn the_help_lists_every_command_and_exit_code() {
    insta::assert_snapshot!(help(&["--help"]), @"
    Makes AI coding agents follow a process

    Usage: saihai-faulty <COMMAND>

    Commands:
      init         Begin: write settings and a first definition, both explained
      list         List the definitions there are
      run          Run a definition on a task
      rehearse     Try a definition on scripted replies
      review       Have specialised agents review a change
      work         Work on issues: each on a branch of its own, to a pull request or a merge
      check        Report everything that is wrong with definitions and settings
      prompt       Print exactly the text that would be sent to an agent first
      graph        Draw a definition, or the way a run took through it
      runs         List the runs of this project, newest first
      show         Show how a run stands: result so far, stages, budget, reports
      log          Show every event of a run in words
      explain      Tell why a run went the way it went
      resume       Go on with a run that was parked or interrupted
      fork         Make a new run out of the beginning of another
      record       Turn a run into a script that plays it again, as a test
      answer       Answer the gate a run waits at
      cancel       Cancel a run for good
      config       Show the settings in force
      trust        Honour what a project's settings say about programs and addresses
      doctor       Say which agents can be asked on this machine, and what is missing
      eject        Copy a built-in definition into the project, to change it
      schema       Print a JSON Schema, or the list of them
      demo         Watch a process at work: a tour of a minute, without an agent
      completions  Print the completion script of a shell
      help         Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    A definition says how work is to be done: plan, implement, review, fix, approve. Saihai makes the
    agents do it that way, journals all that happens, and can say afterwards why each thing happened.

    Exit codes:
       0  the run completed; for other commands: done
       1  the workflow ended in failure
       2  usage, settings or definition error; nothing was changed
       3  interrupted, cancelled, or declined at a gate
       4  parked: a provider, a program or the disk could not serve
       5  parked: a limit or budget was reached
       6  parked: waiting for a person
      70  a bug in Saihai
    ");
}

/// Returns the help texts of several commands.
fn helps(commands: &[&str]) -> String {
    let each =
        commands.iter().map(|command| format!("$ saihai {command} --help\n{}", help(&[command, "--help"])));
    each.collect::<Vec<_>>().join("\n")
}

// K-1, K-20
#[test]
fn the_command_that_runs_explains_itself() {
    insta::assert_snapshot!(helps(&["run"]), @"
    $ saihai run --help
    Run a definition on a task

    Usage: saihai-faulty run [OPTIONS] <DEFINITION> [TASK]

    Arguments:
      <DEFINITION>  The definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or
                    .toml)
      [TASK]        What is to be done, or `-` to read it from stdin

    Options:
          --issue <N>               Work on this issue: its title, text and labels are the task
          --worktree                Work in a worktree of its own, on a new branch that begins with what
                                    is checked out
          --no-worktree             Work in this directory, whatever the issue or the definition wants
          --provider <NAME>         Ask this provider, whatever the definition says
          --model <NAME>            Ask with this model, whatever the definition says
          --script <FILE>           Answer from this script; implies `--provider script`
          --max-iterations <N>      The most iterations of the whole run (1 to 100000)
          --budget <BUDGET>         The most it may cost: any of
                                    `usd=5,tokens=2000000,turns=40,minutes=90`
          --run-timeout <TIME>      The longest the run may be driven: `90s`, `30m`, `2h`
          --max-permission <LEVEL>  The most an agent may do: look, change files, or change files and
                                    run commands [possible values: readonly, edit-only, edit]
          --auto                    Answer yes to every yes/no gate; one that wants a text still waits
          --wait                    Sit out long waits (a quota, a rate limit) instead of parking the
                                    run
          --set <NAME=VALUE>        Give a parameter of the definition a value; its own flag does the
                                    same
          --strict                  Treat warnings about the definition as errors
          --trust-project           Honour what `.saihai/config.toml` says about programs and addresses,
                                    for this call only
          --json                    Print every event and the result as JSON, one object a line
      -h, --help                    Print help
      -V, --version                 Print version

    Prints the outcome, the report files and the last output. Where no provider is configured, the
    definition is rehearsed on generated replies and no work is done.
    ");
}

// K-1
#[test]
fn commands_that_try_a_definition_explain_themselves() {
    insta::assert_snapshot!(helps(&["rehearse", "check"]), @"
    $ saihai rehearse --help
    Try a definition on scripted replies

    Usage: saihai-faulty rehearse [OPTIONS] <DEFINITION> [TASK]

    Arguments:
      <DEFINITION>  The definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or
                    .toml)
      [TASK]        What is to be done, or `-` to read it from stdin [default: a placeholder]

    Options:
          --script <FILE>        Answer from this script
          --all-paths            Generate replies that take every exit of every stage [the default]
          --faults               Mix in failures, garbage and missing decisions
          --seed <S>             Where all chance comes from [default: 0]
          --write-script <FILE>  Save the generated replies: the first run as FILE, further ones with a
                                 number
          --set <NAME=VALUE>     Give a parameter of the definition a value; its own flag does the same
          --strict               Treat warnings about the definition as errors
          --json                 Print JSON
      -h, --help                 Print help
      -V, --version              Print version

    No agent is asked and nothing is changed: what scripted replies write, edit or run is checked and
    logged only. Without a script, generated replies take every exit of every stage at least once, in as
    many temporary runs as it takes; the exit code is 1 if an exit was never taken.

    $ saihai check --help
    Report everything that is wrong with definitions and settings

    Usage: saihai-faulty check [OPTIONS] [PATH]...

    Arguments:
      [PATH]...  Definitions, or directories of them [default: every definition found, and the settings]

    Options:
          --strict           Count warnings as errors
          --format <FORMAT>  With the source for people, as one JSON object, as annotations for GitHub,
                             or as a SARIF log [default: human] [possible values: human, json, github,
                             sarif]
          --json             The same as `--format json`
      -h, --help             Print help
      -V, --version          Print version

    Then prints, for each definition, an upper bound on the calls to providers and, where all of them
    have a price, on what they cost; retries not counted.
    ");
}

// K-1
#[test]
fn commands_that_look_at_definitions_and_runs_explain_themselves() {
    insta::assert_snapshot!(helps(&["prompt", "graph", "runs"]), @"
    $ saihai prompt --help
    Print exactly the text that would be sent to an agent first

    Usage: saihai-faulty prompt [OPTIONS] <DEFINITION> [STAGE[/TURN]]

    Arguments:
      <DEFINITION>    The definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or
                      .toml)
      [STAGE[/TURN]]  The stage, and the turn where it has several [default: the first]

    Options:
          --task <TEXT>       What is to be done [default: a placeholder]
          --set <NAME=VALUE>  Give a parameter of the definition a value; its own flag does the same
          --json              Print a JSON object
      -h, --help              Print help
      -V, --version           Print version

    How many tokens Saihai itself adds to what the definition says goes to stderr.

    $ saihai graph --help
    Draw a definition, or the way a run took through it

    Usage: saihai-faulty graph [OPTIONS] <DEFINITION | RUN>

    Arguments:
      <DEFINITION | RUN>
              A definition (name or path), or a run (its id, a unique beginning of it, or `last`)

    Options:
          --format <FORMAT>
              How it is drawn

              Possible values:
              - mermaid: For Markdown
              - dot:     For Graphviz
              - svg:     To look at
              
              [default: mermaid]

          --out <FILE>
              Write the drawing to a file

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Mermaid renders in Markdown on most forges, DOT is for Graphviz, SVG is our own drawing and follows
    the reader's light or dark screen. Loops stand out, monitors are dashed; for a run the path it took
    is marked, with counts and times.

    $ saihai runs --help
    List the runs of this project, newest first

    Usage: saihai-faulty runs [OPTIONS]

    Options:
          --dialect <DIALECT>  Only runs of definitions in this dialect [possible values: piece, hats,
                               steps, review]
          --state <STATE>      Only runs in this state [possible values: running, interrupted, parked,
                               completed, failed, declined, cancelled]
          --json               Print one JSON object a line
      -h, --help               Print help
      -V, --version            Print version
    ");
}

// K-1
#[test]
fn commands_that_tell_of_a_run_explain_themselves() {
    insta::assert_snapshot!(helps(&["show", "log", "explain"]), @r"
    $ saihai show --help
    Show how a run stands: result so far, stages, budget, reports

    Usage: saihai-faulty show [OPTIONS] <RUN>

    Arguments:
      <RUN>  The run: its id, a unique beginning of it, or `last`

    Options:
          --json     Print a JSON object
      -h, --help     Print help
      -V, --version  Print version

    $ saihai log --help
    Show every event of a run in words

    Usage: saihai-faulty log [OPTIONS] <RUN>

    Arguments:
      <RUN>  The run: its id, a unique beginning of it, or `last`

    Options:
      -f, --follow   Stay, and show further events as they happen, until the run ends or waits
          --json     Print one JSON object a line, as `saihai run --json` does, and one for each
                     published topic; with `-f` also what turns under way show
      -h, --help     Print help
      -V, --version  Print version

    $ saihai explain --help
    Tell why a run went the way it went

    Usage: saihai-faulty explain [OPTIONS] <RUN>

    Arguments:
      <RUN>  The run: its id, a unique beginning of it, or `last`

    Options:
          --json     Print one JSON object a line
      -h, --help     Print help
      -V, --version  Print version

    Every transition with its rule, the method that found it, the evidence and the counters; of a review
    also who was chosen, and why. No model is asked.
    ");
}

// K-1, K-24
#[test]
fn commands_that_go_on_explain_themselves() {
    insta::assert_snapshot!(helps(&["resume", "fork"]), @r"
    $ saihai resume --help
    Go on with a run that was parked or interrupted

    Usage: saihai-faulty resume [OPTIONS] <RUN>

    Arguments:
      <RUN>  The run: its id, a unique beginning of it, or `last`

    Options:
          --max-iterations <N>  The most iterations of the whole run (1 to 100000)
          --budget <BUDGET>     The most it may cost: any of `usd=5,tokens=2000000,turns=40,minutes=90`
          --run-timeout <TIME>  The longest the run may be driven: `90s`, `30m`, `2h`
          --auto                Answer yes to every yes/no gate; one that wants a text still waits
          --wait                Sit out long waits (a quota, a rate limit) instead of parking the run
          --now                 Ask although the wake-up time has not come
          --json                Print every event and the result as JSON, one object a line
      -h, --help                Print help
      -V, --version             Print version

    Limits are new totals for the whole run. A run that is over stays as it is: its own exit code comes
    back.

    $ saihai fork --help
    Make a new run out of the beginning of another

    Usage: saihai-faulty fork [OPTIONS] <RUN>

    Arguments:
      <RUN>  The run: its id, a unique beginning of it, or `last`

    Options:
          --at <SEQ>  The event up to which the new run shares the past, by its number in `saihai log`
                      [default: the entry of the last stage]
          --json      Print a JSON object
      -h, --help      Print help
      -V, --version   Print version

    The new run is parked until `saihai resume`; the old one stays as it is.
    ");
}

// K-1
#[test]
fn commands_that_decide_for_a_run_explain_themselves() {
    insta::assert_snapshot!(helps(&["answer", "cancel"]), @r"
    $ saihai answer --help
    Answer the gate a run waits at

    Usage: saihai-faulty answer [OPTIONS] <RUN> <ANSWER> [TEXT]

    Arguments:
      <RUN>     The run: its id, a unique beginning of it, or `last`
      <ANSWER>  `yes` or `no`; where the gate wants a text, the text, or `-` to read it from stdin
      [TEXT]    What to say with a yes or no

    Options:
          --json     Print a JSON object
      -h, --help     Print help
      -V, --version  Print version

    The gate says which form it takes: `yes` or `no`, with a text if you like, or a text of 1 to 10,000
    characters. The answer is recorded; then `saihai resume` goes on.

    $ saihai cancel --help
    Cancel a run for good

    Usage: saihai-faulty cancel [OPTIONS] <RUN>

    Arguments:
      <RUN>  The run: its id, a unique beginning of it, or `last`

    Options:
          --json     Print a JSON object
      -h, --help     Print help
      -V, --version  Print version

    A cancelled run cannot be resumed, only forked. To pause a run press Ctrl-C where it is going on.
    ");
}

// K-1, K-39
#[test]
fn commands_about_settings_explain_themselves() {
    insta::assert_snapshot!(helps(&["config", "trust", "completions"]), @r"
    $ saihai config --help
    Show the settings in force

    Usage: saihai-faulty config [OPTIONS] [KEY]

    Arguments:
      [KEY]  Only this setting, or those below it: `retry.max_wait`, `budget`; `steps`: the defaults of
             step agents

    Options:
          --explain  Say where each value comes from, and list the defaults of step agents as well
          --json     Print one JSON object a line
      -h, --help     Print help
      -V, --version  Print version

    Settings come from flags, then `SAIHAI_…` variables, then `.saihai/config.toml`, then your own
    `config.toml`. Secrets are masked.

    $ saihai trust --help
    Honour what a project's settings say about programs and addresses

    Usage: saihai-faulty trust [OPTIONS] [PATH]

    Arguments:
      [PATH]  The settings file, its project, or a definition's program [default: this project]

    Options:
          --list           List what is trusted
          --revoke <PATH>  Trust it no longer
          --json           Print one JSON object a line
      -h, --help           Print help
      -V, --version        Print version

    A repository must not be able to run programs or to send secrets elsewhere just because somebody
    cloned it. This shows the keys that could, and records the file as it is now; a changed file must be
    trusted again.

    $ saihai completions --help
    Print the completion script of a shell

    Usage: saihai-faulty completions <SHELL>

    Arguments:
      <SHELL>  The shell it is for [possible values: bash, elvish, fish, powershell, zsh]

    Options:
      -h, --help     Print help
      -V, --version  Print version
    ");
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = help(&["completions", shell]);
        assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
        assert!(!script.contains("--server"), "{shell}");
    }
    let page = help(&["man"]);
    assert!(page.starts_with(".ie") && page.contains(".TH saihai 1"), "{page}");
    for command in COMMANDS {
        assert!(page.contains(&format!("saihai\\-{command}(1)")), "{command}");
        assert!(help(&["man", command]).contains(&format!(".TH saihai-{command} 1")), "{command}");
    }
}
