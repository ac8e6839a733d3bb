//! Help, completions and manual pages.

use saihai_tests::Project;

use super::support::PROGRAM;

const COMMANDS: &str = "init list run rehearse review check prompt graph export runs top show log \
    explain resume fork record answer cancel config mcp trust eject schema demo completions";

fn help(arguments: &[&str]) -> String {
    let outcome = Project::new(PROGRAM).saihai(arguments).run().exits(0);
    assert_eq!(outcome.stderr, "");
    outcome.stdout
}

// K-1
#[test]
fn the_help_lists_every_command_and_exit_code() {
    insta::assert_snapshot!(help(&["--help"]), @r#"
    Make AI coding agents follow a process

    Usage: saihai-faulty [OPTIONS] <COMMAND>

    Start:
      demo         Watch a workflow run for a minute, without an agent
      init         Create settings and a first definition
      doctor       Check which agents this machine can run, and what is missing

    Run:
      run          Run a definition on a task
      work         Work on issues, each on its own branch, up to a pull request or a merge
      review       Review a change with specialised agents
      resume       Continue a parked or interrupted run
      answer       Answer a question that a run waits for, and continue the run
      tell         Give the agents of a run a note
      cancel       Cancel a run for good
      fork         Create a new run from the first part of another
      worker       Work on runs of a Temporal server
      pull         Fetch the journal of a run from its server

    Inspect:
      runs         List the runs of this project, newest first, or delete old ones
      top          Watch all runs on one screen, and answer them
      serve        Show all runs in the browser: watch, answer and steer them
      show         Show the state of a run, or the prompts and replies of a stage
      log          Show the events of a run in words
      explain      Explain why a run took each transition
      diff         Print the changes that a run made
      graph        Draw a definition, or the path of a run through it
      export       Export a run as an OpenTelemetry trace

    Author:
      list         List all definitions
      check        Report all errors in definitions and settings
      prompt       Print the first prompt that an agent would get
      rehearse     Test a definition with scripted or generated replies
      record       Turn a run into a script that replays it as a test
      eject        Copy a built-in definition into the project
      schema       Print a JSON Schema, or list all schemas

    Configure:
      config       Print the effective settings
      mcp          Let agents check definitions, start runs and read them: an MCP server
      trust        Trust this project's settings to run programs and contact hosts
      completions  Print the completion script for a shell

    Options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]
      -h, --help          Print help
      -V, --version       Print version

    Examples:
      saihai demo
      saihai run default "fix the login" --provider claude
      saihai check

    Exit codes:
       0  the run completed; for other commands: done
       1  the workflow ended in failure
       2  usage, settings or definition error; nothing was changed
       3  interrupted, cancelled, or declined at a gate
       4  parked: a provider, a program or the disk could not serve
       5  parked: a limit or budget was reached
       6  parked: waiting for a person
      70  a bug in Saihai

    `saihai COMMAND --help` explains a command.
    "#);
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
    insta::assert_snapshot!(helps(&["run"]), @r#"
    $ saihai run --help
    Run a definition on a task

    Usage: saihai-faulty run [OPTIONS] <DEFINITION> [TASK]

    Arguments:
      <DEFINITION>  Definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or .toml)
      [TASK]        Task for the agents, or `-` to read it from stdin

    Options:
          --issue <N>         Work on this issue: its title, text and labels are the task
          --worktree          Work in a new worktree, on a new branch from the current commit
          --no-worktree       Work in this directory, overriding the issue and the definition
          --tui               Show the run on the screen of `saihai top`; gates are answered there
          --set <NAME=VALUE>  Set a parameter of the definition; the parameter's own flag does the same
          --strict            Treat warnings about the definition as errors
          --trust-project     Trust this project's settings to run programs and contact hosts, for this
                              call only
          --otel              Send the run to the OpenTelemetry collector of OTEL_EXPORTER_OTLP_ENDPOINT
                              while it runs
          --json              Print every event and the result as JSON, one object per line
      -h, --help              Print help
      -V, --version           Print version

    Agents:
          --rehearse                Use generated replies instead of an agent; no work is done
          --provider <NAME>         Ask this provider, overriding the definition
          --model <NAME>            Use this model, overriding the definition
          --script <FILE>           Reply from this script; implies `--provider script`
          --max-permission <LEVEL>  Maximum permission of agents: read, edit files, or edit files and
                                    run commands [possible values: readonly, edit-only, edit]
          --sandbox <NAME>          Sandbox of agent programs: `off`, `auto`, `landlock`, `bwrap`, or a
                                    JSON list with a program of your own

    Several machines:
          --server <HOST:PORT>  Use the Temporal server at this address; needs the program
                                `saihai-temporal`
          --namespace <NAME>    Namespace on the server [default: default]
          --queue <NAME>        Common head of the names of the queues [default: saihai]
          --blobs <DIR>         Directory for texts, shared by all machines
          --branch <NAME>       Branch that the run holds: a server runs one run per branch [default: a
                                branch of its own]
          --on-busy <ACTION>    If another run works on the branch: refuse, name that run, or begin
                                after it [default: reject] [possible values: reject, attach, queue]
          --lost-after <TIME>   Repeat a turn elsewhere if its worker is silent for this long [default:
                                30s]

    Limits:
          --max-iterations <N>  Maximum number of iterations of the whole run (1 to 100000)
          --budget <BUDGET>     Maximum spending: any of `usd=5,tokens=2000000,turns=40,minutes=90`
          --run-timeout <TIME>  Maximum active run time, e.g. `90s`, `30m` or `2h`

    Gates and waits:
          --auto  Answer `yes` at every yes/no gate; a gate that asks for a text still waits
          --wait  Wait for quotas and rate limits instead of parking the run

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    Prints the outcome, the report files and the last output.
    `--rehearse` runs the definition with generated replies; no agent does any work.
    On a terminal, a run without a provider is rehearsed too, and exits with 4. Elsewhere it is refused.

    Examples:
      saihai run default "fix the login" --provider claude
      saihai run default - --worktree --budget usd=5 < task.md
      saihai run first "try it" --rehearse
    "#);
}

// K-1
#[test]
fn commands_that_try_a_definition_explain_themselves() {
    insta::assert_snapshot!(helps(&["rehearse", "check"]), @"
    $ saihai rehearse --help
    Test a definition with scripted or generated replies

    Usage: saihai-faulty rehearse [OPTIONS] <DEFINITION> [TASK]

    Arguments:
      <DEFINITION>  Definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or .toml)
      [TASK]        Task for the agents, or `-` to read it from stdin [default: a placeholder]

    Options:
          --script <FILE>        Reply from this script
          --all-paths            Generate replies that take every exit of every stage [the default]
          --faults               Mix in failures, garbage and missing decisions
          --seed <S>             Seed for the random number generator [default: 0]
          --write-script <FILE>  Save each run as a test: the first to FILE, further ones with a number;
                                 YAML, or JSON for `.json`
          --set <NAME=VALUE>     Set a parameter of the definition; the parameter's own flag does the
                                 same
          --strict               Treat warnings about the definition as errors
          --json                 Print JSON
      -h, --help                 Print help
      -V, --version              Print version

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    Asks no agent, changes no files and keeps no run. Edits and commands of a script are only checked.
    Without a script, generated replies take every exit of every stage at least once.
    The exit code is 1 if an exit was never taken, or if a recorded script does not match.

    Examples:
      saihai rehearse default
      saihai rehearse default --script tests/default.yaml
      saihai rehearse default --faults --seed 7

    $ saihai check --help
    Report all errors in definitions and settings

    Usage: saihai-faulty check [OPTIONS] [PATH]...

    Arguments:
      [PATH]...
              Definitions, or directories of definitions [default: all definitions, and the settings]

    Options:
          --strict
              Treat warnings as errors

          --format <FORMAT>
              Output format

              Possible values:
              - human:  Text with source excerpts
              - json:   One JSON object
              - github: Annotations for GitHub Actions
              - sarif:  SARIF 2.1.0
              
              [default: human]

          --json
              Short for `--format json`

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Global options:
      -C <DIR>
              Run as if started in this directory

      -q, --quiet
              Print only results, warnings and errors

      -v, --verbose
              Print details, such as tags, rules and counters of decisions

          --color <WHEN>
              Use colours
              
              [default: auto]
              [possible values: auto, always, never]

    For each definition, also prints the maximum number of agent calls, without retries.
    If all of them have a price, prints the maximum cost.

    Examples:
      saihai check
      saihai check .saihai/pieces/first.yaml
      saihai check --strict --format github
    ");
}

// K-1
#[test]
fn commands_that_look_at_definitions_and_runs_explain_themselves() {
    insta::assert_snapshot!(helps(&["prompt", "graph", "runs"]), @r#"
    $ saihai prompt --help
    Print the first prompt that an agent would get

    Usage: saihai-faulty prompt [OPTIONS] <DEFINITION> [STAGE[/TURN]]

    Arguments:
      <DEFINITION>    Definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or
                      .toml)
      [STAGE[/TURN]]  Stage, and one of its turns [default: the first]

    Options:
          --task <TEXT>       Task for the agent [default: a placeholder]
          --set <NAME=VALUE>  Set a parameter of the definition; the parameter's own flag does the same
          --json              Print a JSON object
      -h, --help              Print help
      -V, --version           Print version

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    Prints the prompt to stdout, and the number of tokens that Saihai adds to stderr.

    Examples:
      saihai prompt default
      saihai prompt default review/tests --task "fix the login"

    $ saihai graph --help
    Draw a definition, or the path of a run through it

    Usage: saihai-faulty graph [OPTIONS] [DEFINITION|RUN]

    Arguments:
      [DEFINITION|RUN]
              Definition (name or path), or run (id, a unique beginning of it, or `last`)
              
              [default: last]

    Options:
          --format <FORMAT>
              Output format

              Possible values:
              - mermaid: Mermaid, for Markdown
              - dot:     DOT, for Graphviz
              - svg:     SVG, for browsers; follows light and dark mode
              
              [default: mermaid]

          --out <FILE>
              Write the drawing to a file

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Global options:
      -C <DIR>
              Run as if started in this directory

      -q, --quiet
              Print only results, warnings and errors

      -v, --verbose
              Print details, such as tags, rules and counters of decisions

          --color <WHEN>
              Use colours
              
              [default: auto]
              [possible values: auto, always, never]

    Highlights loops and dashes monitors. For a run, marks the path with counts and times.
    The argument is a run if it is `last` or starts with the date of a run id.

    Examples:
      saihai graph default
      saihai graph last --format svg --out run.svg

    $ saihai runs --help
    List the runs of this project, newest first, or delete old ones

    Usage: saihai-faulty runs [OPTIONS]
           saihai-faulty runs <COMMAND>

    Commands:
      rm  Delete runs with their journals, replies and reports

    Options:
      -n, --limit <N>          List at most this many runs
          --dialect <DIALECT>  List only runs of this dialect [possible values: piece, hats, steps,
                               review]
          --state <STATE>      List only runs in this state [possible values: running, interrupted,
                               parked, completed, failed, declined, cancelled]
          --json               Print one JSON object per line
      -h, --help               Print help
      -V, --version            Print version

    Deleting:
          --prune <AGE>  Delete runs whose last event is older than this, e.g. `30d` or `12h`
          --force        Also delete parked and waiting runs, and delivered work that waits to be merged
          --dry-run      List the runs that `--prune` would delete, and delete none

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    `--prune` and `rm` delete journals, replies and reports, but no worktrees and branches.
    Without `--force` they keep parked and waiting runs, and delivered work that is not merged yet.
    They never delete a run that a process drives.

    Examples:
      saihai runs -n 10
      saihai runs --state parked
      saihai runs --prune 30d --dry-run
      saihai runs rm 20260206-0856
    "#);
}

// K-1
#[test]
fn commands_that_tell_of_a_run_explain_themselves() {
    insta::assert_snapshot!(helps(&["show", "log", "explain"]), @"
    $ saihai show --help
    Show the state of a run, or the prompts and replies of a stage

    Usage: saihai-faulty show [OPTIONS] [RUN] [STAGE[/TURN]]

    Arguments:
      [RUN]           Run id, a unique beginning of it, or `last`; or a stage of the last run [default:
                      last]
      [STAGE[/TURN]]  Stage, and one of its turns

    Options:
          --watch     Print again whenever the run has changed, until it ends or stops
          --findings  Print the findings of the run's reviews, and what became of each
          --json      Print JSON, one object per line
      -h, --help      Print help
      -V, --version   Print version

    Parts of a stage:
          --visit <N>  Number of the visit to the stage [default: the last]
          --prompt     Print only the prompts
          --reply      Print only the replies
          --report     Print only the reports
          --tools      Print the tool calls with their inputs and outputs

    Page:
          --html <FILE>      Save the run as a page in one HTML file, for a browser without a server
          --without-prompts  Leave the prompts out of the page

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    Without a stage, prints the stages, the reports, the budget and the result so far.
    With a stage, prints the prompt and the reply of each turn, by default of the last visit.
    One argument alone is a run if it is `last` or starts with the date of a run id.
    Otherwise it is a stage of the last run.

    Examples:
      saihai show
      saihai show last --html run.html
      saihai show --findings
      saihai show 20260206-0856 implement --visit 2 --prompt

    $ saihai log --help
    Show the events of a run in words

    Usage: saihai-faulty log [OPTIONS] [RUN]

    Arguments:
      [RUN]  Run id, a unique beginning of it, or `last` [default: last]

    Options:
      -f, --follow   Keep printing new events and the output of running turns until the run ends or
                     waits
          --json     Print one JSON object per line: events as in `saihai run --json`, and published
                     topics
      -h, --help     Print help
      -V, --version  Print version

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    Examples:
      saihai log
      saihai log -f
      saihai log 20260206-0856 --json

    $ saihai explain --help
    Explain why a run took each transition

    Usage: saihai-faulty explain [OPTIONS] [RUN]

    Arguments:
      [RUN]  Run id, a unique beginning of it, or `last` [default: last]

    Options:
          --json     Print one JSON object per line
      -h, --help     Print help
      -V, --version  Print version

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    Prints every decision in the words of the definition and quotes the reply that led to it.
    For a review, also prints why each agent was selected. `-v` adds rules, tags, questions and
    counters.
    Asks no model.

    Examples:
      saihai explain
      saihai explain 20260206-0856
      saihai explain --json
    ");
}

// K-1, K-24
#[test]
fn commands_that_go_on_explain_themselves() {
    insta::assert_snapshot!(helps(&["resume", "fork"]), @"
    $ saihai resume --help
    Continue a parked or interrupted run

    Usage: saihai-faulty resume [OPTIONS] [RUN]

    Arguments:
      [RUN]  Run id, a unique beginning of it, or `last` [default: last]

    Options:
          --now      Ask the provider now, even if it said to wait
          --otel     Send the run to the OpenTelemetry collector of OTEL_EXPORTER_OTLP_ENDPOINT while it
                     runs
          --json     Print every event and the result as JSON, one object per line
      -h, --help     Print help
      -V, --version  Print version

    Limits:
          --max-iterations <N>  Maximum number of iterations of the whole run (1 to 100000)
          --budget <BUDGET>     Maximum spending: any of `usd=5,tokens=2000000,turns=40,minutes=90`
          --run-timeout <TIME>  Maximum active run time, e.g. `90s`, `30m` or `2h`

    Gates and waits:
          --auto  Answer `yes` at every yes/no gate; a gate that asks for a text still waits
          --wait  Wait for quotas and rate limits instead of parking the run

    Agents:
          --sandbox <NAME>  Sandbox of agent programs: `off`, `auto`, `landlock`, `bwrap`, or a JSON
                            list with a program of your own

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    Saihai repeats no finished turn. Limits are new totals for the whole run.
    For a run that has ended, the command prints the result and returns its exit code.

    Examples:
      saihai resume
      saihai resume --budget usd=10
      saihai resume 20260206-0856 --wait

    $ saihai fork --help
    Create a new run from the first part of another

    Usage: saihai-faulty fork [OPTIONS] [RUN]

    Arguments:
      [RUN]  Run id, a unique beginning of it, or `last` [default: last]

    Options:
          --at <SEQ>  Last event to copy, by its number in `saihai log` [default: the entry of the last
                      stage]
          --json      Print a JSON object
      -h, --help      Print help
      -V, --version   Print version

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    The new run is parked until `saihai resume`. The old run does not change.

    Examples:
      saihai fork
      saihai fork 20260206-0856 --at 43
    ");
}

// K-1
#[test]
fn commands_that_decide_for_a_run_explain_themselves() {
    insta::assert_snapshot!(helps(&["answer", "cancel"]), @r#"
    $ saihai answer --help
    Answer a question that a run waits for, and continue the run

    Usage: saihai answer [OPTIONS] [RUN] [yes|no|TEXT] [TEXT]

    Arguments:
      [RUN]     Run id, a unique beginning of it, or `last` [default: last]
      [ANSWER]  `yes`, `no`, or the text that the gate asks for; `-` reads the text from stdin
      [TEXT]    Comment on a `yes` or `no`

    Options:
          --no-resume  Record the answer and leave the run parked
          --json       Print JSON, one object per line
      -h, --help       Print help
      -V, --version    Print version

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    A gate takes `yes` or `no` with an optional text, or a text of 1 to 10,000 characters.
    Without an answer, Saihai asks the question on the terminal.
    The first argument is a run if it is `last` or starts with the date of a run id.
    If another process drives the run, that process continues. `saihai work` continues its own runs.

    Examples:
      saihai answer yes
      saihai answer no "keep the old parser"
      saihai answer 20260206-0856 "the login page" --no-resume

    $ saihai cancel --help
    Cancel a run for good

    Usage: saihai-faulty cancel [OPTIONS] [RUN]

    Arguments:
      [RUN]  Run id, a unique beginning of it, or `last` [default: last]

    Options:
          --json     Print a JSON object
      -h, --help     Print help
      -V, --version  Print version

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    You can fork a cancelled run, but not resume it. To pause a run, press Ctrl-C in its terminal.

    Examples:
      saihai cancel
      saihai cancel 20260206-0856
    "#);
}

// K-1, K-39
#[test]
fn commands_about_settings_explain_themselves() {
    insta::assert_snapshot!(helps(&["config", "trust", "completions"]), @"
    $ saihai config --help
    Print the effective settings

    Usage: saihai-faulty config [OPTIONS] [KEY]

    Arguments:
      [KEY]  Print only this setting or group: `retry.max_wait`, `budget`; `steps`: defaults of step
             agents

    Options:
          --explain  Print the source of each value, and the defaults of step agents
          --json     Print one JSON object per line
      -h, --help     Print help
      -V, --version  Print version

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    Order of precedence: flags, `SAIHAI_…` variables, `.saihai/config.toml`, your own `config.toml`.
    Secrets are masked.

    Examples:
      saihai config
      saihai config provider --explain
      saihai config steps

    $ saihai trust --help
    Trust this project's settings to run programs and contact hosts

    Usage: saihai-faulty trust [OPTIONS] [PATH]

    Arguments:
      [PATH]  Settings file, project, or program of a definition [default: this project]

    Options:
          --list           List the trusted files
          --revoke <PATH>  Stop trusting this file
          --json           Print one JSON object per line
      -h, --help           Print help
      -V, --version        Print version

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    A cloned repository must not run programs or send secrets without your consent.
    This command prints the keys that could, and records the current content of the file.
    Trust a changed file again.

    Examples:
      saihai trust
      saihai trust .agent/release/check.sh
      saihai trust --list

    $ saihai completions --help
    Print the completion script for a shell

    Usage: saihai-faulty completions [OPTIONS] <SHELL>

    Arguments:
      <SHELL>  Name of the shell [possible values: bash, elvish, fish, powershell, zsh]

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    Completes commands, flags, definitions, runs, stages, providers, review agents and issues.

    Examples:
      source <(saihai completions bash)
      saihai completions zsh > ~/.zfunc/_saihai
      saihai completions fish > ~/.config/fish/completions/saihai.fish
    ");
}

#[test]
fn the_command_that_exports_explains_itself() {
    insta::assert_snapshot!(helps(&["export"]), @"
    $ saihai export --help
    Export a run as an OpenTelemetry trace

    Usage: saihai-faulty export [OPTIONS] <FORMAT> [RUN]

    Arguments:
      <FORMAT>  Format: the OpenTelemetry protocol (OTLP) as JSON [possible values: otel]
      [RUN]     Run id, a unique beginning of it, or `last` [default: last]

    Options:
          --endpoint <URL>  Post to the collector at this base URL, instead of the one in
                            OTEL_EXPORTER_OTLP_ENDPOINT
      -o, --out <FILE>      Write the trace to this file and post nothing; `-` is stdout
          --content         Include prompts, replies, answers, and inputs and outputs of tools
      -h, --help            Print help
      -V, --version         Print version

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    Prints the trace as OTLP/JSON, writes it to a file, or posts trace and metrics to a collector.
    A second export of a run has the same spans. A run that has not ended exports what it has recorded.
    Prompts, replies and messages of failures are left out unless `--content` is given.
    The variables OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME and
    OTEL_RESOURCE_ATTRIBUTES have their usual meaning.

    Examples:
      saihai export otel --endpoint http://localhost:4318
      saihai export otel 20260206-0856 -o trace.json
      saihai export otel --content -o -
    ");
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = help(&["completions", shell]);
        assert!(script.contains("SAIHAI_COMPLETE"), "{shell}");
    }
    let page = help(&["man"]);
    assert!(page.starts_with(".ie") && page.contains(".TH saihai 1"), "{page}");
    for command in COMMANDS.split_whitespace() {
        assert!(page.contains(&format!("saihai\\-{command}(1)")), "{command}");
        assert!(help(&["man", command]).contains(&format!(".TH saihai-{command} 1")), "{command}");
    }
}
