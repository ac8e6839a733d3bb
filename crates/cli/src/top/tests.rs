//! Keys, news and drawings, without a terminal.

use std::path::Path;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};
use saihai::{Disk, GateAnswer, LoadedRun, RunDirectory};
use saihai_model::{CallId, Wants};

use super::layout::{ScreenSize, wrap_text};
use super::model::*;
use super::run_texts::{pane_texts, tree_nodes};

use super::view::TopView;
use crate::terminal::style;
use crate::watching::{CallMark, FollowedRow, LiveTexts, ProjectRun, SeenRun};

fn named(id: &str) -> ProjectRun {
    ProjectRun { root: "/work/api".into(), id: id.to_owned() }
}

fn row(id: &str, rank: RowRank, state: &str) -> RunRow {
    RunRow {
        run: named(id),
        id: id.to_owned(),
        project: String::new(),
        root: String::new(),
        rank,
        state: state.to_owned(),
        style: style::RUNNING,
        definition: "default".to_owned(),
        task: "fix the login".to_owned(),
        stage: "implement (2)".to_owned(),
        elapsed: "12:40".to_owned(),
        turns: "7".to_owned(),
        spark: String::new(),
        cost: "$0.1250".to_owned(),
        budget_left: String::new(),
        waits_for: String::new(),
        resume: None,
        words: state.to_owned(),
        kind: RowKind::Unfinished,
    }
}

/// A run at a gate, a running one with a budget, a parked one, a finished one and a broken one.
fn rows() -> Vec<RunRow> {
    let waiting = RunRow {
        stage: "repair/input[1]".to_owned(),
        waits_for: "you".to_owned(),
        words: "waiting for you at `repair/input[1]`".to_owned(),
        ..row("20260206-085600-a-page-is-blank", RowRank::WaitsForPerson, "waiting")
    };
    let running = RunRow {
        budget_left: "$4.8750".to_owned(),
        words: "running, driven by process 4711".to_owned(),
        ..row("20260206-090000-fix-the-login", RowRank::Running, "running")
    };
    let parked = RunRow {
        waits_for: "waiting until 14:05:00 (quota, claude)".to_owned(),
        ..row("20260205-100000-docs", RowRank::Rest, "parked")
    };
    let done = RunRow { kind: RowKind::Ended, ..row("20260204-100000-done", RowRank::Rest, "completed") };
    let broken = RunRow {
        kind: RowKind::Broken,
        definition: String::new(),
        stage: String::new(),
        elapsed: String::new(),
        turns: String::new(),
        cost: String::new(),
        words: "cannot be read: line 3 of the journal is damaged".to_owned(),
        ..row("20260203-100000-old", RowRank::Rest, "broken")
    };
    vec![waiting, running, parked, done, broken]
}

fn model(columns: u16, rows_: u16) -> TopModel {
    let mut model = TopModel::new(ScreenSize { columns, rows: rows_ });
    model.update(TopEvent::Runs(rows()));
    model
}

fn drawn(model: &TopModel) -> Terminal<TestBackend> {
    let ScreenSize { columns, rows } = model.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    let view = TopView { model, has_colors: true };
    terminal.draw(|frame| view.render(frame.area(), frame.buffer_mut())).unwrap();
    terminal
}

fn shown(model: &TopModel) -> String {
    let terminal = drawn(model);
    let buffer = terminal.backend().buffer();
    let lines = buffer.content().chunks(usize::from(model.size.columns)).map(|cells| {
        let mut line = String::new();
        let mut skip = 0;
        for cell in cells {
            if skip == 0 {
                line.push_str(cell.symbol());
                skip = crate::terminal::width(cell.symbol()).max(1);
            }
            skip -= 1;
        }
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn press(model: &mut TopModel, code: KeyCode) -> Vec<TopRequest> {
    model.update(TopEvent::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn type_text(model: &mut TopModel, text: &str) {
    for letter in text.chars() {
        press(model, KeyCode::Char(letter));
    }
}

fn control(model: &mut TopModel, letter: char) -> Vec<TopRequest> {
    model.update(TopEvent::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)))
}

/// The golden run, as the source of the screen reads it.
fn golden() -> LoadedRun {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/0.1.0/piece");
    LoadedRun::read(&RunDirectory::new(&place, "run".to_owned(), &Disk::new())).unwrap()
}

fn golden_detail(run: &LoadedRun, node: Option<NodeKey>) -> RunDetail {
    let nodes = tree_nodes(run, run.view.last_at);
    let shown = node.or_else(|| nodes.last().map(|node| node.key.clone()));
    let texts = pane_texts(run, shown.as_ref().unwrap(), &LiveTexts::new(), None).unwrap();
    RunDetail { run: ProjectRun::of(&run.directory), nodes, shown, texts }
}

/// A screen that has opened the golden run, with one of its nodes selected.
fn golden_model(columns: u16, rows: u16, node: Option<NodeKey>) -> TopModel {
    let run = golden();
    let mut model = TopModel::new(ScreenSize { columns, rows });
    let LoadedRun { directory, view, state, workflow, .. } = &run;
    let now = view.last_at;
    let listed = RunRow::of(&SeenRun { directory, view, state, workflow: Some(workflow), now });
    model.update(TopEvent::Runs(vec![listed]));
    press(&mut model, KeyCode::Enter);
    model.update(TopEvent::Detail(Box::new(golden_detail(&run, node))));
    model
}

// V-15, V-17
#[test]
fn the_list_at_80_columns() {
    insta::assert_snapshot!(shown(&model(80, 13)), @"
    saihai top                                    5 runs, 1 waits for you, 1 running
      STATE      DEFINITION  STAGE            TIME   TURNS  COST     WAITS FOR
    > waiting    default     repair/input[1]  12:40  7      $0.1250  you
      running    default     implement (2)    12:40  7      $0.1250
      parked     default     implement (2)    12:40  7      $0.1250  waiting until …
      completed  default     implement (2)    12:40  7      $0.1250
      broken  20260203-100000-old


    ────────────────────────────────────────────────────────────────────────────────
    20260206-085600-a-page-is-blank  fix the login
    waiting for you at `repair/input[1]`
    Enter open  ? help  a answer  t tell  c cancel  r resume  f fork  y copy  q quit
    ");
}

// V-15, V-16, V-17
#[test]
fn the_list_at_40_columns_and_10_rows() {
    insta::assert_snapshot!(shown(&model(40, 10)), @"
    5 runs, 1 waits for you, 1 running
      STATE      DEFINITION  STAGE     TIME
    > waiting    default     repair/…  12:40
      running    default     impleme…  12:40
      parked     default     impleme…  12:40
      completed  default     impleme…  12:40
      broken  20260203-100000-old

    waiting for you at `repair/input[1]`
    Enter open  ? help  a answer  t tell
    ");
}

// V-15, V-17
#[test]
fn the_list_at_160_columns() {
    insta::assert_snapshot!(shown(&model(160, 13)), @"
    saihai top                                                                                                                    5 runs, 1 waits for you, 1 running
      STATE      RUN                              DEFINITION  STAGE            TIME   TURNS  COST     LEFT     WAITS FOR
    > waiting    20260206-085600-a-page-is-blank  default     repair/input[1]  12:40  7      $0.1250           you
      running    20260206-090000-fix-the-login    default     implement (2)    12:40  7      $0.1250  $4.8750
      parked     20260205-100000-docs             default     implement (2)    12:40  7      $0.1250           waiting until 14:05:00 (quota, claude)
      completed  20260204-100000-done             default     implement (2)    12:40  7      $0.1250
      broken  20260203-100000-old


    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    20260206-085600-a-page-is-blank  fix the login
    waiting for you at `repair/input[1]`
    Enter open  ? help  a answer  t tell  c cancel  r resume  f fork  y copy  q quit
    ");
}

// V-15
#[test]
fn an_empty_project_shows_the_first_step() {
    let mut model = TopModel::new(ScreenSize { columns: 70, rows: 6 });
    assert!(shown(&model).contains("reading the runs…"));
    model.update(TopEvent::Runs(Vec::new()));
    assert!(shown(&model).contains("no runs yet: `saihai run` starts one"));
    for code in [KeyCode::Enter, KeyCode::Down, KeyCode::Char('a'), KeyCode::Char('y'), KeyCode::End] {
        assert_eq!(press(&mut model, code), []);
    }
}

// V-15, V-17
#[test]
fn the_golden_run_at_80_columns() {
    let model = golden_model(80, 20, Some(NodeKey::Visit(0)));
    insta::assert_snapshot!(shown(&model), @"
    run                                              golden  0:00  13 turns  $0.0200
    waiting for you at `ask/input[0]`
    Turns                   │ [Transcript] Prompt  Report  Diff  Why
    >✓ plan            0:00 │ 0 ms, 1,020 tokens, $0.0200
       ✓ turn          0:00 │
     ✓ build           0:00 │ ```markdown
       ✓ turn          0:00 │ # Plan
     ✓ review          0:00 │ One step.
       ✓ code          0:00 │ ```
       ✓ tests         0:00 │ [STEP:0]
     ✓ build (2)       0:00 │
       ✓ turn          0:00 │
       ✓ judge         0:00 │
     ✓ review (2)      0:00 │
       ✓ code          0:00 │
       ✓ tests         0:00 │
     ✓ judge(build, review) │
       ✓ turn          0:00 │
     ✓ build (3)       0:00 │
    Esc back  ? help  Tab pane  ←→ tab  / search  F follow  a answer  t tell  q quit
    ");
}

// V-15, V-17
#[test]
fn the_golden_run_at_160_columns() {
    let mut model = golden_model(160, 20, Some(NodeKey::Visit(0)));
    press(&mut model, KeyCode::Char('2'));
    insta::assert_snapshot!(shown(&model), @"
    run                                                                                                                              golden  0:00  13 turns  $0.0200
    waiting for you at `ask/input[0]`
    Turns                                       │  Transcript [Prompt] Report  Diff  Why                                                                       16/26
    >✓ plan                                0:00 │ ## Execution Context
       ✓ turn                              0:00 │ - Working directory: /srv/saihai-golden/project
     ✓ build                               0:00 │ - Piece: golden
       ✓ turn                              0:00 │ - Movement: plan
     ✓ review                              0:00 │ - Iteration: 1 / 12
       ✓ code                              0:00 │ - Movement iteration: 1
       ✓ tests                             0:00 │
     ✓ build (2)                           0:00 │ ## User Task
       ✓ turn                              0:00 │ Release it
       ✓ judge                             0:00 │
     ✓ review (2)                          0:00 │ ---
       ✓ code                              0:00 │ ## Report Output (required)
       ✓ tests                             0:00 │ When the work is done, output a report in the following format.
     ✓ judge(build, review)                0:00 │ Enclose the report in a ```markdown block.
       ✓ turn                              0:00 │
     ✓ build (3)                           0:00 │ File name: plan.md
    Esc back  ? help  Tab pane  ←→ tab  / search  F follow  a answer  t tell  q quit
    ");
}

// V-16: below 60 columns there is one pane
#[test]
fn the_golden_run_at_40_columns_has_one_pane() {
    let mut model = golden_model(40, 10, Some(NodeKey::Visit(0)));
    let tree = shown(&model);
    press(&mut model, KeyCode::Enter);
    insta::assert_snapshot!(format!("{tree}\n~~~~\n{}", shown(&model)), @"
    run      golden  0:00  13 turns  $0.0200
    waiting for you at `ask/input[0]`
    Turns
    >✓ plan                            0:00
       ✓ turn                          0:00
     ✓ build                           0:00
       ✓ turn                          0:00
     ✓ review                          0:00
       ✓ code                          0:00
    Esc back  ? help  Tab pane  ←→ tab
    ~~~~
    run      golden  0:00  13 turns  $0.0200
    waiting for you at `ask/input[0]`
    [Transcript] Prompt  Report  Diff  Why
    0 ms, 1,020 tokens, $0.0200

    ```markdown
    # Plan
    One step.
    ```
    Esc back  ? help  Tab pane  ←→ tab
    ");
    // The first Esc returns to the tree, the second one to the list.
    assert_eq!(press(&mut model, KeyCode::Esc), []);
    assert_eq!(press(&mut model, KeyCode::Esc), [TopRequest::Watch(None)]);
}

// V-15
#[test]
fn the_selection_stays_on_its_run_when_the_list_changes() {
    let mut model = model(80, 20);
    press(&mut model, KeyCode::Down);
    let selected = model.row().unwrap().id.clone();
    let mut changed = rows();
    changed.reverse();
    model.update(TopEvent::Runs(changed));
    assert_eq!(model.row().unwrap().id, selected);
    // A deleted run leaves the selection at its place.
    let mut fewer = rows();
    fewer.retain(|row| row.id != selected);
    model.update(TopEvent::Runs(fewer));
    assert!(model.row().is_some());
}

// V-15: a thousand runs scroll
#[test]
fn the_selected_run_is_always_visible() {
    let mut model = TopModel::new(ScreenSize { columns: 60, rows: 10 });
    let many = (0..1_000).map(|number| row(&format!("run-{number:04}"), RowRank::Rest, "completed"));
    let many = many.map(|row| RunRow { definition: row.id.clone(), ..row }).collect();
    model.update(TopEvent::Runs(many));
    for (code, expected) in [
        (KeyCode::End, "run-0999"),
        (KeyCode::PageUp, "run-0993"),
        (KeyCode::Up, "run-0992"),
        (KeyCode::Home, "run-0000"),
        (KeyCode::PageDown, "run-0006"),
    ] {
        press(&mut model, code);
        assert_eq!(model.row().unwrap().id, expected);
        let selected: Vec<String> =
            shown(&model).lines().filter(|line| line.starts_with("> ")).map(str::to_owned).collect();
        assert!(selected.len() == 1 && selected[0].contains(expected), "{selected:?}");
    }
}

fn call() -> CallId {
    CallId { stage: "repair/input[1]".into(), visit: 1, round: 1, n: 1 }
}

fn gate(wants: Wants) -> TopEvent {
    let gate = AskedGate { call: call(), question: "Which page? \u{1b}[31m".to_owned(), wants };
    TopEvent::Gate { run: named("20260206-085600-a-page-is-blank"), gate }
}

// V-16
#[test]
fn a_gate_is_answered_in_a_line() {
    let mut model = model(80, 16);
    let run = model.row().unwrap().run.clone();
    assert_eq!(press(&mut model, KeyCode::Char('a')), [TopRequest::Ask { run: run.clone() }]);
    let mut reordered = rows();
    reordered.swap(0, 1);
    model.update(TopEvent::Runs(reordered));
    assert_eq!(model.row().unwrap().run, run, "the run stays selected");
    model.update(TopEvent::Runs(rows()));
    model.update(gate(Wants::Text { max_chars: 20 }));
    assert_eq!(press(&mut model, KeyCode::Enter), []);
    assert!(shown(&model).contains("an answer needs at least one character"));
    type_text(&mut model, "the q page");
    insta::assert_snapshot!(shown(&model), @r"
    saihai top                                    5 runs, 1 waits for you, 1 running
      STATE      DEFINITION  STAGE            TIME   TURNS  COST     WAITS FOR
    > waiting    default     repair/input[1]  12:40  7      $0.1250  you
      running    default     implement (2)    12:40  7      $0.1250
      ┌ Answer ──────────────────────────────────────────────────────────────────┐ …
      │ Which page? \x1b[31m                                                     │
      │                                                                          │
      │ your answer in one line                                                  │
      │ > the q page                                                             │
      │ Enter sends, Esc closes                                                  │
      └──────────────────────────────────────────────────────────────────────────┘

    ────────────────────────────────────────────────────────────────────────────────
    20260206-085600-a-page-is-blank  fix the login
    waiting for you at `repair/input[1]`
    Enter open  ? help  a answer  t tell  c cancel  r resume  f fork  y copy  q quit
    ");
    let answer = GateAnswer::Text("the q page".to_owned());
    assert_eq!(press(&mut model, KeyCode::Enter), [TopRequest::Answer { run, call: call(), answer }]);
    assert!(model.dialog.is_none());
}

// V-16
#[test]
fn a_yes_or_no_carries_a_text_and_escape_sends_nothing() {
    let mut model = model(80, 16);
    model.update(gate(Wants::YesNo));
    type_text(&mut model, "maybe");
    assert_eq!(press(&mut model, KeyCode::Enter), []);
    assert!(shown(&model).contains("the answer is `yes` or `no`"));
    control(&mut model, 'u');
    type_text(&mut model, "no not today");
    let sent = press(&mut model, KeyCode::Enter);
    let expected = GateAnswer::No(Some("not today".to_owned()));
    assert!(matches!(&sent[..], [TopRequest::Answer { answer, .. }] if *answer == expected), "{sent:?}");
    model.update(gate(Wants::YesNo));
    assert_eq!(press(&mut model, KeyCode::Esc), []);
    assert!(model.dialog.is_none());
}

// V-16, V-20
#[test]
fn a_note_is_typed_or_pasted() {
    let mut model = model(80, 16);
    press(&mut model, KeyCode::Char('t'));
    assert_eq!(press(&mut model, KeyCode::Enter), [], "an empty note is not sent");
    model.update(TopEvent::Pasted("use\ntabs".to_owned()));
    type_text(&mut model, "!");
    let run = model.row().unwrap().run.clone();
    assert_eq!(press(&mut model, KeyCode::Enter), [TopRequest::Tell { run, text: "use tabs!".to_owned() }]);
}

// V-16: pasted text is no command
#[test]
fn pasted_text_without_an_input_line_does_nothing() {
    let mut model = model(80, 16);
    assert_eq!(model.update(TopEvent::Pasted("cyq".to_owned())), []);
    assert!(model.dialog.is_none());
}

// V-16
#[test]
fn cancel_and_fork_are_confirmed() {
    for (key, request) in [
        ('c', TopRequest::Cancel { run: named("20260206-085600-a-page-is-blank") }),
        ('f', TopRequest::Fork { run: named("20260206-085600-a-page-is-blank") }),
    ] {
        let mut model = model(80, 16);
        press(&mut model, KeyCode::Char(key));
        assert!(shown(&model).contains("y yes   any other key no"));
        assert_eq!(press(&mut model, KeyCode::Enter), []);
        press(&mut model, KeyCode::Char(key));
        assert_eq!(press(&mut model, KeyCode::Char('y')), [request]);
    }
}

// V-16
#[test]
fn an_action_that_makes_no_sense_is_explained() {
    for (downs, key, expected) in [
        (1, 'a', "this run does not wait for an answer"),
        (3, 't', "this run has ended; f forks it"),
        (4, 'c', "this run cannot be read"),
    ] {
        let mut model = model(80, 16);
        (0..downs).for_each(|_| drop(press(&mut model, KeyCode::Down)));
        assert_eq!(press(&mut model, KeyCode::Char(key)), []);
        assert!(shown(&model).contains(expected), "{}", shown(&model));
    }
    let mut model = model(80, 16);
    press(&mut model, KeyCode::End);
    assert_eq!(press(&mut model, KeyCode::Enter), [], "a broken run does not open");
    assert!(shown(&model).contains("cannot be read: line 3"));
}

// V-16
#[test]
fn commands_to_copy_are_shown() {
    let mut model = model(80, 16);
    press(&mut model, KeyCode::Char('y'));
    assert!(shown(&model).contains("saihai answer 20260206-085600-a-page-is-blank"));
    press(&mut model, KeyCode::Enter);
}

// V-15: two projects can have runs with the same id
#[test]
fn the_list_of_all_projects_names_them() {
    let of = |root: &str, row: RunRow| RunRow {
        run: ProjectRun { root: root.into(), id: row.id.clone() },
        project: root.rsplit('/').next().unwrap().to_owned(),
        root: root.to_owned(),
        ..row
    };
    let mut all = Vec::new();
    for (index, row) in rows().into_iter().enumerate() {
        let other = RunRow { state: "completed".to_owned(), kind: RowKind::Ended, ..row.clone() };
        all.push(of("/work/api", row));
        if index == 0 {
            all.push(of("/home/me/the web", RunRow { rank: RowRank::Rest, ..other }));
        }
    }
    let mut model = TopModel::new(ScreenSize { columns: 80, rows: 13 });
    model.update(TopEvent::Runs(all));
    press(&mut model, KeyCode::Down);
    insta::assert_snapshot!(shown(&model), @"
    saihai top                                    6 runs, 1 waits for you, 1 running
      STATE      PROJECT  DEFINITI…  STAGE     TIME   TURNS  COST     WAITS FOR
      waiting    api      default    repair/…  12:40  7      $0.1250  you
    > completed  the web  default    repair/…  12:40  7      $0.1250  you
      running    api      default    impleme…  12:40  7      $0.1250
      parked     api      default    impleme…  12:40  7      $0.1250  waiting until…
      completed  api      default    impleme…  12:40  7      $0.1250
      broken  api  20260203-100000-old

    ────────────────────────────────────────────────────────────────────────────────
    20260206-085600-a-page-is-blank  /home/me/the web  fix the login
    waiting for you at `repair/input[1]`
    Enter open  ? help  a answer  t tell  c cancel  r resume  f fork  y copy  q quit
    ");
    let id = "20260206-085600-a-page-is-blank";
    let run = ProjectRun { root: "/home/me/the web".into(), id: id.to_owned() };
    assert_eq!(press(&mut model, KeyCode::Char('w')), [TopRequest::OpenPage { run: run.clone() }]);
    let opened = press(&mut model, KeyCode::Enter);
    assert_eq!(opened, [TopRequest::Watch(Some(WatchedNode { run, node: None }))]);
    press(&mut model, KeyCode::Char('y'));
    insta::assert_snapshot!(shown(&model), @"
    20260206-085600-a-page-is-blank                 default  12:40  7 turns  $0.1250
    waiting for you at `repair/input[1]`
    Turns          ┌ Id and commands to copy ───────────────────────┐
    no stage entere│ cd '/home/me/the web'                          │
                   │ 20260206-085600-a-page-is-blank                │
                   │ saihai show 20260206-085600-a-page-is-blank    │
                   │ saihai log 20260206-085600-a-page-is-blank -f  │
                   │ saihai explain 20260206-085600-a-page-is-blank │
                   │                                                │
                   │ any key closes this                            │
                   └────────────────────────────────────────────────┘
                            │
    Esc back  ? help  Tab pane  ←→ tab  / search  F follow  a answer  t tell  q quit
    ");
    model.size = ScreenSize { columns: 40, rows: 10 };
    press(&mut model, KeyCode::Esc);
    press(&mut model, KeyCode::Esc);
    insta::assert_snapshot!(shown(&model), @"
    6 runs, 1 waits for you, 1 running
      STATE      PROJECT  DEFINIT…  STAGE
      waiting    api      default   repair/…
    > completed  the web  default   repair/…
      running    api      default   impleme…
      parked     api      default   impleme…
      completed  api      default   impleme…
      broken  api  20260203-100000-old
    waiting for you at `repair/input[1]`
    Enter open  ? help  a answer  t tell
    ");
}

// V-16
#[test]
fn the_link_of_the_page_is_shown_whole() {
    let mut model = model(80, 16);
    let link = format!("http://127.0.0.1:65535/?token={}", "0".repeat(32));
    model.update(TopEvent::Page { link: link.clone(), is_opened: false });
    assert!(shown(&model).contains(&link), "{}", shown(&model));
    insta::assert_snapshot!(shown(&model), @"
    saihai top                                    5 runs, 1 waits for you, 1 running
      STATE      DEFINITION  STAGE            TIME   TURNS  COST     WAITS FOR
    > waiting    default     repair/input[1]  12:40  7      $0.1250  you
      running    default     implement (2)    12:40  7      $0.1250
      ┌ The page ────────────────────────────────────────────────────────────────┐ …
      │ http://127.0.0.1:65535/?token=00000000000000000000000000000000           │
      │ Open this link in a browser. It works once. The page ends when you leave │
      │ this screen.                                                             │
      │                                                                          │
      │ any key closes this                                                      │
      └──────────────────────────────────────────────────────────────────────────┘

    ────────────────────────────────────────────────────────────────────────────────
    20260206-085600-a-page-is-blank  fix the login
    waiting for you at `repair/input[1]`
    Enter open  ? help  a answer  t tell  c cancel  r resume  f fork  y copy  q quit
    ");
}

// V-16: `r` continues a run in its own process, with the limit that has to be raised
#[test]
fn a_run_is_resumed_with_the_limit_to_raise() {
    let mut model = model(80, 16);
    let (id, flags) = ("20260206-085600-a-page-is-blank", "--budget usd=2");
    let waiting = RunRow { resume: Some(flags.to_owned()), ..row(id, RowRank::WaitsForPerson, "waiting") };
    let running = row("20260206-085700-running", RowRank::Running, "running");
    model.update(TopEvent::Runs(vec![waiting, running]));
    press(&mut model, KeyCode::Char('r'));
    assert!(shown(&model).contains(flags), "{}", shown(&model));
    let flags = vec!["--budget".to_owned(), "usd=2".to_owned()];
    assert_eq!(press(&mut model, KeyCode::Enter), [TopRequest::Resume { run: named(id), flags }]);
    press(&mut model, KeyCode::Down);
    assert_eq!(press(&mut model, KeyCode::Char('r')), []);
    assert!(shown(&model).contains("a process drives this run already"));
}

// V-16
#[test]
fn the_help_lists_the_keys() {
    let mut model = model(80, 24);
    press(&mut model, KeyCode::Char('?'));
    insta::assert_snapshot!(shown(&model), @"
    saiha┌ Keys (↑↓) ─────────────────────────────────────────────────────────┐nning
      STA│ Enter      open the selected run                                   │
    > wai│ ↑ ↓ k j    move; in a text: scroll                                 │
      run│ Tab        switch between tree and text                            │
      par│ ← → 1-5    show Transcript, Prompt, Report, Diff or Why            │til …
      com│ PgUp PgDn  scroll a page; Home and End go to its ends              │
      bro│ /  n  N    search in the text, next, previous match                │
         │ F          follow the running turn, or stop that                   │
         │ Esc        back                                                    │
         │                                                                    │
         │ a          answer the question that the run waits for              │
         │ t          tell the agents something, in the next prompt           │
         │ c          cancel the run for good                                 │
         │ f          fork: create a new run from this one                    │
         │ r          resume the run in a process of its own                  │
         │ b          resume it with a larger budget                          │
         │ w          open the run in the browser                             │
         │ e          save the run as a page in one file                      │
         │ y          show the id and commands to copy                        │
         │                                                                    │
    ─────│ Ctrl-L     draw the screen again                                   │─────
    20260│ Ctrl-Z     suspend; fg returns                                     │
    waiti│ q Ctrl-C   quit; no run is stopped                                 │
    Enter└────────────────────────────────────────────────────────────────────┘ quit
    ");
}

// V-16
#[test]
fn keys_to_leave() {
    assert_eq!(press(&mut model(80, 24), KeyCode::Char('q')), [TopRequest::Quit]);
    assert_eq!(control(&mut model(80, 24), 'c'), [TopRequest::Quit]);
    assert_eq!(control(&mut model(80, 24), 'z'), [TopRequest::Suspend]);
    assert_eq!(model(80, 24).update(TopEvent::Stop), [TopRequest::Quit]);
    // In an input line, q is a letter.
    let mut model = model(80, 24);
    press(&mut model, KeyCode::Char('t'));
    assert_eq!(press(&mut model, KeyCode::Char('q')), []);
    assert_eq!(control(&mut model, 'c'), [TopRequest::Quit]);
}

// V-16
#[test]
fn arrows_choose_nodes_and_tabs() {
    let mut model = golden_model(100, 20, Some(NodeKey::Visit(0)));
    let opened = |model: &TopModel| model.opened.as_ref().map(|opened| (opened.tab, opened.selected_index()));
    assert_eq!(opened(&model), Some((PaneTab::Transcript, 0)));
    let asked = press(&mut model, KeyCode::Down);
    assert!(matches!(&asked[..], [TopRequest::Watch(Some(WatchedNode { node: Some(_), .. }))]), "{asked:?}");
    press(&mut model, KeyCode::Right);
    assert_eq!(opened(&model), Some((PaneTab::Prompt, 1)));
    press(&mut model, KeyCode::Left);
    press(&mut model, KeyCode::Left);
    assert_eq!(opened(&model), Some((PaneTab::Why, 1)));
    assert_eq!(press(&mut model, KeyCode::Esc), [TopRequest::Watch(None)]);
    assert!(model.opened.is_none());
}

/// A detail whose transcript has so many lines.
fn long_detail(lines: usize) -> RunDetail {
    let texts = PaneTexts {
        transcript: (0..lines).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n"),
        ..PaneTexts::default()
    };
    let node = |index| TreeNode {
        key: NodeKey::Visit(index),
        mark: CallMark::Running,
        label: format!("stage-{index}"),
        note: String::new(),
    };
    let run = rows()[0].run.clone();
    RunDetail { run, nodes: vec![node(0), node(1)], shown: Some(NodeKey::Visit(1)), texts }
}

// V-16: following is explicit and shown
#[test]
fn following_keeps_the_end_in_view_until_the_person_scrolls() {
    let mut model = model(80, 14);
    press(&mut model, KeyCode::Enter);
    model.update(TopEvent::Detail(Box::new(long_detail(50))));
    assert!(shown(&model).contains("line 0\n") && !shown(&model).contains("following"));
    let watched = press(&mut model, KeyCode::Char('F'));
    assert!(matches!(&watched[..], [TopRequest::Watch(Some(WatchedNode { node: None, .. }))]), "{watched:?}");
    assert!(shown(&model).contains("(following)") && shown(&model).contains("line 49"));
    model.update(TopEvent::Detail(Box::new(long_detail(60))));
    assert!(shown(&model).contains("line 59"));
    press(&mut model, KeyCode::PageUp);
    model.update(TopEvent::Detail(Box::new(long_detail(70))));
    assert!(!shown(&model).contains("(following)") && !shown(&model).contains("line 69"));
}

// V-16
#[test]
fn a_search_jumps_from_match_to_match() {
    let mut model = model(80, 14);
    press(&mut model, KeyCode::Enter);
    model.update(TopEvent::Detail(Box::new(long_detail(50))));
    press(&mut model, KeyCode::Char('/'));
    type_text(&mut model, "LINE 4");
    press(&mut model, KeyCode::Enter);
    assert!(shown(&model).contains("match 1 of 11"), "{}", shown(&model));
    press(&mut model, KeyCode::Char('n'));
    assert!(shown(&model).contains("line 40") && shown(&model).contains("match 2 of 11"));
    press(&mut model, KeyCode::Char('N'));
    press(&mut model, KeyCode::Char('N'));
    assert!(shown(&model).contains("match 11 of 11") && shown(&model).contains("line 49"));
    press(&mut model, KeyCode::Esc);
    assert!(model.opened.as_ref().unwrap().search.is_none());
    press(&mut model, KeyCode::Char('/'));
    type_text(&mut model, "nowhere");
    press(&mut model, KeyCode::Enter);
    assert!(shown(&model).contains("no match"));
}

// T-85
#[test]
fn hostile_text_is_made_visible() {
    let text = "red \u{1b}[31m, title \u{1b}]0;x\u{7}, bidi \u{202e}txt\ttab";
    let lines = wrap_text(text, 200);
    assert_eq!(lines, ["red \\x1b[31m, title \\x1b]0;x\\x07, bidi \\u{202e}txt    tab"]);
    let mut model = model(80, 16);
    model.update(gate(Wants::YesNo));
    model.update(TopEvent::Pasted("a\u{202e}b\u{1b}[2Jc".to_owned()));
    let screen = shown(&model);
    assert!(screen.contains("Which page? \\x1b[31m") && screen.contains("> a\\u{202e}b[2Jc"), "{screen}");
}

// V-16: it works at 40×10, and panics at no size
#[test]
fn every_size_can_be_drawn() {
    let dialogs: [&[KeyCode]; 6] = [
        &[],
        &[KeyCode::Char('?')],
        &[KeyCode::Char('t')],
        &[KeyCode::Char('c')],
        &[KeyCode::Char('y')],
        &[KeyCode::Enter, KeyCode::Tab],
    ];
    for columns in [1, 2, 5, 20, 39, 40, 59, 60, 61, 200] {
        for rows in [1, 2, 3, 4, 5, 9, 10, 50] {
            for keys in dialogs {
                let mut model = model(columns, rows);
                for key in keys {
                    press(&mut model, *key);
                }
                model.update(TopEvent::Detail(Box::new(long_detail(20))));
                shown(&model);
                model.update(TopEvent::Resized(ScreenSize { columns: rows, rows: columns }));
                shown(&model);
            }
        }
    }
}

// V-16: without colours, the selection is still visible
#[test]
fn no_color_leaves_bold_and_reverse() {
    let model = model(80, 13);
    let mut terminal = Terminal::new(TestBackend::new(80, 13)).unwrap();
    let view = TopView { model: &model, has_colors: false };
    terminal.draw(|frame| view.render(frame.area(), frame.buffer_mut())).unwrap();
    let cells = terminal.backend().buffer().content();
    assert!(cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    assert!(cells.iter().any(|cell| cell.modifier.contains(Modifier::REVERSED)));
    let colored = drawn(&model);
    assert!(colored.backend().buffer().content().iter().any(|cell| cell.fg == Color::Cyan));
}

// A line without spaces, such as minified JSON, must not take quadratic time.
#[test]
fn a_very_long_line_is_wrapped_quickly() {
    let lines = wrap_text(&"x".repeat(1_000_000), 80);
    assert_eq!(lines.iter().map(String::len).sum::<usize>(), 1_000_000);
}
