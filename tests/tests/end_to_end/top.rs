//! `saihai top` on a real terminal: V-2, V-15, V-16, V-17.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use saihai_tests::{Fault, FullScreen, Live, PageClient, Project, Terminal};

use crate::support::{GATE, GATE_REPLIES, at_the_gate, project, run};

const LOOP: &str = "\
name: it
movements:
  - name: plan
    rules: [{condition: ready, next: COMPLETE}, {condition: again, next: plan}]
";

const SLOW: &str = "  - {for: plan, delay: 60, text: '[STEP:0]'}\n";

fn top(project: &Project) -> Terminal {
    Terminal::start(project.saihai(["top"]).without_env("NO_COLOR").env("TERM", "xterm-256color"))
}

/// Starts a run in another process, and waits until its first turn is asked.
fn started(project: &Project) -> Live {
    let mut live = project.saihai(["run", "it", "The task.", "--script", "script.yaml", "--json"]).start();
    live.wait_for("\"asked\"");
    live
}

fn see(terminal: &mut Terminal, part: &str) -> String {
    terminal.wait_for_screen(&format!("{part:?}"), |screen| screen.contains(part))
}

/// Leaves with `q`, and checks that the terminal is as before.
#[track_caller]
fn leave(mut terminal: Terminal) {
    terminal.press("q");
    check_restored(terminal);
}

#[track_caller]
fn check_restored(terminal: Terminal) {
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(0), "{text:?}");
    for used in ["\u{1b}[?1049h", "\u{1b}[?2004h", "\u{1b}[?25l"] {
        assert!(text.contains(used), "{text:?}");
    }
    let screen = FullScreen::after(&text, 80, 24);
    assert!(!screen.is_alternate && screen.has_cursor && !screen.pastes_in_brackets, "{text:?}");
    for mouse in ["?1000h", "?1002h", "?1003h", "?1006h"] {
        assert!(!text.contains(mouse), "the mouse is captured");
    }
}

// V-2, V-15
#[test]
fn a_run_of_another_process_is_shown_and_interrupted_when_that_is_killed() {
    let project = project(LOOP, SLOW);
    let live = started(&project);
    let mut terminal = top(&project);
    let screen = see(&mut terminal, "running, driven by process");
    assert!(screen.contains("1 run, 1 running") && screen.contains("> running"), "{screen}");
    assert!(screen.contains(&format!("driven by process {}", live.pid())), "{screen}");
    let killed = Instant::now();
    live.signal(Signal::KILL);
    let screen = see(&mut terminal, "> interrupted");
    assert!(killed.elapsed() < Duration::from_secs(2), "it took {:?}", killed.elapsed());
    assert!(screen.contains("interrupted: its process is gone"), "{screen}");
    leave(terminal);
}

// V-15: new runs appear, and those that wait for a person come first
#[test]
fn the_list_follows_the_project() {
    let project = project(GATE, GATE_REPLIES);
    let mut terminal = top(&project);
    see(&mut terminal, "no runs yet");
    run(&project).exits(6);
    see(&mut terminal, "1 run, 1 waits for you");
    project.write(".takt/pieces/loop.yaml", LOOP.replace("name: it", "name: loop"));
    project.write("loop.yaml", "script: 1\nreplies: [{text: '[STEP:0]'}]\n");
    project.saihai(["run", "loop", "Another.", "--script", "loop.yaml"]).run().exits(0);
    let screen = see(&mut terminal, "2 runs, 1 waits for you");
    let states: Vec<&str> = screen.lines().filter_map(|line| line.get(2..)?.split(' ').next()).collect();
    assert_eq!(states[2..4], ["waiting", "completed"], "{screen}");
    leave(terminal);
}

// V-15: the runs of all projects, and new projects while the screen is open
#[test]
fn all_runs_of_the_machine_are_listed() {
    let (one, two) = (at_the_gate(), project(LOOP, SLOW));
    let call = one.saihai(["top", "--all"]).without_env("NO_COLOR").env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(call);
    let screen = see(&mut terminal, "1 run, 1 waits for you");
    assert!(screen.contains("PROJECT"), "{screen}");
    let slow = two.saihai(["run", "it", "Elsewhere.", "--script", "script.yaml", "--json"]);
    let mut live = slow.env("HOME", one.home()).start();
    live.wait_for("\"asked\"");
    see(&mut terminal, "2 runs, 1 waits for you, 1 running");
    terminal.press("\x1b[B");
    see(&mut terminal, "> running");
    terminal.press("\r");
    see(&mut terminal, "Turns");
    terminal.press("t");
    see(&mut terminal, "shows your note");
    terminal.press("Use tabs.\r");
    see(&mut terminal, "the next prompt of `plan` shows your note");
    terminal.press("c");
    see(&mut terminal, "Cancel this run for good?");
    terminal.press("y");
    see(&mut terminal, "cancelled");
    live.finish().exits(3);
    leave(terminal);
    let journal = fs::read_to_string(two.run_directory().join("journal.ndjson")).expect("a journal");
    assert!(journal.contains("Use tabs."), "the note reached another project");
}

// V-16: the page is served until the screen is left
#[test]
fn a_run_is_opened_in_the_browser() {
    let project = at_the_gate();
    project.write("bin/xdg-open", "#!/bin/sh\nprintf '%s' \"$1\" > opened.tmp && mv opened.tmp opened\n");
    let program = project.root().join("bin/xdg-open");
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a program");
    let path = format!("{}:/usr/bin:/bin", project.root().join("bin").display());
    let start = |display: &str| {
        let call = project.saihai(["top"]).env("TERM", "xterm-256color").env("PATH", &path);
        Terminal::start(call.env("DISPLAY", display))
    };
    let link = |screen: &str| {
        let start = screen.find("http://127.0.0.1:").expect("a link");
        screen[start..].split(' ').next().expect("a link").to_owned()
    };
    // A browser in this terminal would draw over the screen.
    let mut terminal = start("");
    see(&mut terminal, "> waiting");
    terminal.press("w");
    let screen = see(&mut terminal, "Open this link in a browser");
    let page = PageClient::opened(&serde_json::json!({"url": link(&screen)}).to_string());
    assert_eq!(page.get("/api/home")["runs"][0]["state"], "waiting");
    assert!(!project.root().join("opened").exists());
    terminal.press("x");
    terminal.wait_for_screen("no box", |screen| !screen.contains("http://"));
    terminal.press("w");
    // A second link opens the same page, also in another browser.
    let screen = see(&mut terminal, "Open this link in a browser");
    let second = PageClient::opened(&serde_json::json!({"url": link(&screen)}).to_string());
    assert_eq!((&second.address, &second.cookie), (&page.address, &page.cookie));
    terminal.press("x");
    leave(terminal);
    assert!(std::net::TcpStream::connect(&page.address).is_err(), "the page outlives the screen");
    let mut terminal = start(":0");
    see(&mut terminal, "> waiting");
    terminal.press("w");
    let shown = link(&see(&mut terminal, "The browser opens this link"));
    let opened = project.root().join("opened");
    while !opened.exists() {
        sleep(Duration::from_millis(20));
    }
    let run = project.runs().remove(0);
    assert_eq!(project.read("opened"), format!("{shown}#/run/{run}"));
    terminal.press("x");
    leave(terminal);
}

// V-16
#[test]
fn a_gate_is_answered() {
    let project = at_the_gate();
    let mut terminal = top(&project);
    see(&mut terminal, "> waiting");
    terminal.press("a");
    see(&mut terminal, "your answer in one line");
    terminal.press("\r");
    see(&mut terminal, "an answer needs at least one character");
    terminal.press("Blue, not q.");
    see(&mut terminal, "> Blue, not q.");
    terminal.press("\r");
    see(&mut terminal, "is answered; continue with `saihai resume last`");
    see(&mut terminal, "> answered");
    leave(terminal);
    project.saihai(["resume", "last"]).run().exits(0);
    assert!(project.journal().prompt("use").contains("- Blue, not q."));
}

// V-16, V-20
#[test]
fn a_running_run_is_told_something_and_cancelled() {
    let project = project(LOOP, SLOW);
    let live = started(&project);
    let mut terminal = top(&project);
    see(&mut terminal, "> running");
    terminal.press("a");
    see(&mut terminal, "this run does not wait for an answer");
    terminal.press("t");
    see(&mut terminal, "The next prompt of the current stage shows your note.");
    terminal.press("Use tabs.\r");
    see(&mut terminal, "the next prompt of `plan` shows your note");
    assert_eq!(project.journal().facts("told").count(), 1);
    terminal.press("c");
    see(&mut terminal, "Cancel this run for good?");
    terminal.press("n");
    terminal.wait_for_screen("no box", |screen| !screen.contains("Cancel this run for good?"));
    terminal.press("cy");
    see(&mut terminal, "> cancelled");
    leave(terminal);
    live.finish().exits(3);
}

// V-16
#[test]
fn a_run_is_forked() {
    let project = at_the_gate();
    let mut terminal = top(&project);
    see(&mut terminal, "> waiting");
    terminal.press("f");
    see(&mut terminal, "Create a new run from this one");
    terminal.press("y");
    see(&mut terminal, "forked at event");
    see(&mut terminal, "2 runs");
    leave(terminal);
    assert_eq!(project.runs().len(), 2);
}

// V-15, V-16: the tree and the four texts, live
#[test]
fn a_run_is_opened_and_followed() {
    let replies = "  - {for: plan, visit: 1, text: \"I plan the first part.\\n[STEP:1]\"}\n  \
                   - {for: plan, visit: 2, delay: 60, text: '[STEP:0]'}\n";
    let project = project(LOOP, replies);
    let mut live = started(&project);
    live.wait_for("\"visit\":2");
    let mut terminal = top(&project);
    see(&mut terminal, "> running");
    terminal.press("\r");
    see(&mut terminal, "● plan (2)");
    terminal.press("kkkk");
    see(&mut terminal, "I plan the first part.");
    terminal.press("2");
    see(&mut terminal, "The task.");
    terminal.press("5");
    see(&mut terminal, "plan → plan: \"again\"");
    terminal.press("1/FIRST\r");
    see(&mut terminal, "match 1 of 1");
    terminal.press("\u{1b}");
    terminal.wait_for_screen("no search", |screen| !screen.contains("match 1"));
    terminal.press("F");
    see(&mut terminal, "Turns (following)");
    terminal.press("?");
    see(&mut terminal, "answer the question that the run waits for");
    terminal.press("x\u{1b}");
    see(&mut terminal, "1 run, 1 running");
    leave(terminal);
}

// V-16: the screen fits the terminal, also at 40×10
#[test]
fn the_screen_follows_the_size_of_the_terminal() {
    let project = at_the_gate();
    let mut terminal = top(&project);
    see(&mut terminal, "WAITS FOR");
    terminal.resize(40, 10);
    // The keys move to the last of ten lines.
    let screen = terminal.wait_for_screen("ten lines", |screen| {
        screen.lines().last().is_some_and(|keys| keys.starts_with("Enter open"))
    });
    assert!(screen.contains("> waiting") && !screen.contains("WAITS FOR"), "{screen}");
    assert!(screen.contains("waiting for you at `ask/input[0]`"), "{screen}");
    terminal.press("\r");
    see(&mut terminal, "question to you");
    terminal.resize(100, 30);
    see(&mut terminal, "[Transcript]");
    leave(terminal);
}

// V-16
#[test]
fn signals_and_ctrl_c_restore_the_terminal() {
    let project = at_the_gate();
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut terminal = top(&project);
        see(&mut terminal, "> waiting");
        terminal.signal(signal);
        check_restored(terminal);
    }
    let mut terminal = top(&project);
    see(&mut terminal, "> waiting");
    terminal.press("t");
    see(&mut terminal, "Enter sends");
    terminal.press("\u{3}");
    check_restored(terminal);
    assert_eq!(project.journal().facts("told").count(), 0);
}

// V-16
#[test]
fn ctrl_z_restores_the_terminal_and_fg_draws_again() {
    let project = at_the_gate();
    let mut terminal = top(&project);
    see(&mut terminal, "> waiting");
    terminal.press("\u{1a}");
    let begun = Instant::now();
    while terminal.entries() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(30), "it did not return");
        terminal.signal(Signal::CONT);
        sleep(Duration::from_millis(50));
    }
    see(&mut terminal, "> waiting");
    leave(terminal);
}

// T-85: text of agents and people never reaches the terminal as it is
#[test]
fn hostile_text_does_not_steer_the_terminal() {
    let replies = "  - {for: plan, text: \"\\e]0;owned\\a \\e[2J \\u202Egnp.exe \\e[5mreply\\n[STEP:0]\"}\n";
    let project = project(LOOP, replies);
    let task = "fix \u{1b}]0;owned\u{7}\u{1b}[31m \u{202e}gnp.exe";
    project.saihai(["run", "it", task, "--script", "script.yaml"]).run().exits(0);
    let mut terminal = top(&project);
    see(&mut terminal, "fix \\x1b]0;owned\\x07");
    terminal.press("\r");
    see(&mut terminal, "\\x1b]0;owned\\x07 \\x1b[2J \\u{202e}gnp.exe");
    terminal.press("2345");
    see(&mut terminal, "[Why]");
    terminal.press("q");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(0));
    for raw in ["\u{1b}]", "\u{202e}", "\u{7}", "\u{1b}[5m"] {
        assert!(!text.contains(raw), "{raw:?} in {text:?}");
    }
}

// V-2, V-15: one broken run directory is one broken row
#[test]
fn a_broken_run_is_one_row() {
    let project = at_the_gate();
    let broken = project.root().join(".saihai/runs/20200101-000000-broken");
    fs::create_dir(&broken).unwrap();
    fs::write(broken.join("journal.ndjson"), "not a journal\n").unwrap();
    let mut terminal = top(&project);
    let screen = see(&mut terminal, "broken");
    assert!(screen.contains("2 runs, 1 waits for you") && screen.contains("> waiting"), "{screen}");
    terminal.press("j\r");
    see(&mut terminal, "cannot be read");
    leave(terminal);
}

// V-15: a journal is read once, and then only where it grew
#[test]
fn unchanged_journals_are_not_read_again() {
    let project = at_the_gate();
    run(&project).exits(6);
    let log = project.home().join("reads.log");
    let top = project.saihai(["top"]).fault(&Fault::note_reads(&log));
    let mut terminal = Terminal::start(top);
    see(&mut terminal, "2 runs, 2 wait for you");
    let answered = project.runs().remove(0);
    sleep(Duration::from_secs(3));
    let count =
        |kind: &str| fs::read_to_string(&log).unwrap().lines().filter(|line| line.starts_with(kind)).count();
    assert_eq!((count("All "), count("Rest ")), (2, 0));
    project.saihai(["answer", &answered, "Blue.", "--no-resume"]).run().exits(0);
    see(&mut terminal, "2 runs, 1 waits for you");
    assert_eq!(count("All "), 2);
    assert!((1..=3).contains(&count("Rest ")));
    leave(terminal);
}

// V-15, V-16, I-43
#[test]
fn without_a_terminal_and_inside_a_turn_it_is_refused() {
    let project = at_the_gate();
    let refused = project.saihai(["top"]).run().exits(2);
    assert!(
        refused.stderr.contains("needs a terminal") && refused.stderr.contains("`saihai runs`"),
        "{refused}"
    );
    assert_eq!(refused.stdout, "");
    let inside = project.saihai(["top"]).env("SAIHAI_TURN", "plan.1.1.1");
    let inside = inside.env("SAIHAI_RUN_DIRECTORY", project.run_directory());
    let (code, text) = Terminal::start(inside).finish();
    assert!(code == Some(2) && text.contains("`saihai top` is for a person"), "{code:?} {text}");
    assert!(!text.contains("?1049h"));
}

fn on_screen(project: &Project) -> Terminal {
    let run = project.saihai(["run", "it", "The task.", "--script", "script.yaml", "--tui"]);
    Terminal::start(run.without_env("NO_COLOR").env("TERM", "xterm-256color"))
}

// V-15, V-16: `run --tui` shows the run that it drives, and leaving asks what becomes of it
#[test]
fn a_run_on_the_screen_is_parked_on_request() {
    let project = project(LOOP, SLOW);
    let mut terminal = on_screen(&project);
    see(&mut terminal, "[Transcript]");
    see(&mut terminal, "following");
    terminal.press("q");
    see(&mut terminal, "p park it and leave");
    terminal.press("x");
    terminal.wait_for_screen("the box is closed", |screen| !screen.contains("p park it and leave"));
    terminal.press("q");
    see(&mut terminal, "p park it and leave");
    terminal.press("p");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("saihai resume last"), "{text}");
    assert_eq!(project.saihai(["runs", "--json"]).run().json()[0]["reason"], "interrupt");
}

#[test]
fn a_run_on_the_screen_goes_on_without_it() {
    let project = project(LOOP, "  - {for: plan, delay: 3, text: '[STEP:0]'}\n");
    let mut terminal = on_screen(&project);
    see(&mut terminal, "following");
    terminal.press("qs");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("continues; `saihai top` shows it"), "{text}");
    let begun = Instant::now();
    while project.saihai(["runs", "--json"]).run().json()[0]["state"] != "completed" {
        assert!(begun.elapsed() < Duration::from_secs(30), "it did not go on");
        sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_run_that_cannot_start_says_why_without_a_screen() {
    let project = project(LOOP, SLOW);
    let wrong = project.saihai(["run", "nothing", "The task.", "--tui"]);
    let (code, text) = Terminal::start(wrong.env("TERM", "xterm-256color")).finish();
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("nothing") && !text.contains("\u{1b}[?1049h"), "{text}");
    let piped = project.saihai(["run", "it", "The task.", "--tui"]).run().exits(2);
    assert!(piped.stderr.contains("`--tui` needs a terminal"), "{piped}");
}

// V-16
#[test]
fn a_run_is_saved_as_a_page_from_the_screen() {
    let project = at_the_gate();
    let mut terminal = top(&project);
    see(&mut terminal, "> waiting");
    terminal.press("e");
    see(&mut terminal, "wrote the run to `");
    leave(terminal);
    let run = &project.begun()[0];
    assert!(project.read(&format!("{run}.html")).starts_with("<!doctype html>"));
}

// V-16: a bug of ours leaves the terminal as it was
#[test]
fn a_panic_restores_the_terminal() {
    let project = at_the_gate();
    let call = project.saihai(["top"]).without_env("NO_COLOR").env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(call.fault(&Fault::panic("journal.ndjson")));
    see(&mut terminal, "> waiting");
    terminal.press("a");
    see(&mut terminal, "your answer in one line");
    terminal.press("Blue.\r");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(70), "{text:?}");
    let screen = FullScreen::after(&text, 80, 24);
    assert!(!screen.is_alternate && screen.has_cursor && !screen.pastes_in_brackets, "{text:?}");
    // The message is on the usual screen, and nothing is drawn over it.
    let (_, after) = text.split_once("\u{1b}[?1049l").expect("the usual screen");
    assert!(after.contains("this is a bug in Saihai") && !after.contains("\u{1b}[?1049"), "{after:?}");
}
