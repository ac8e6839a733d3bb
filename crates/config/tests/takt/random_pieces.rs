//! A corpus of random pieces with the movements that a rehearsal takes, kept as data.

use std::fmt::Write as _;

use saihai_engine::rehearse::{Rehearse, rehearse};

use super::{check_recorded, here, load_text, paths};

/// Number of pieces in the corpus.
const PIECES: u64 = 120;

/// A small linear congruential generator: the corpus must be the same on every machine and with every package.
struct CorpusRandom(u64);

impl CorpusRandom {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        let index = usize::try_from(self.below(words.len() as u64)).expect("a small number");
        words[index]
    }
}

fn random_piece(seed: u64) -> String {
    let mut random = CorpusRandom(seed.wrapping_mul(7919) + 17);
    let names = ["a", "b", "c", "d"];
    let count = usize::try_from(1 + random.below(4)).expect("a small number");
    let names = &names[..count];
    let mut ends = names.to_vec();
    ends.extend(["COMPLETE", "ABORT"]);
    let mut piece = format!("name: r{seed}\nmax_iterations: {}\nmovements:\n", 4 + random.below(9));
    for name in names {
        let _ = write!(piece, "  - name: {name}\n    instruction_template: do {name}\n");
        if random.below(4) == 0 {
            piece.push_str("    parallel:\n");
            for sub in ["x", "y"] {
                let _ = writeln!(
                    piece,
                    "      - {{name: {sub}, instruction_template: look, rules: [{{condition: good}}, {{condition: bad}}]}}"
                );
            }
            piece =
                piece.replace(&format!("    instruction_template: do {name}\n    parallel"), "    parallel");
            let (good, bad) = (random.pick(&ends), random.pick(&ends));
            let _ = writeln!(
                piece,
                "    rules: [{{condition: 'all(\"good\")', next: {good}}}, {{condition: 'any(\"bad\")', next: {bad}}}]"
            );
            continue;
        }
        let rules: Vec<String> = (0..1 + random.below(3))
            .map(|number| format!("{{condition: case {number}, next: {}}}", random.pick(&ends)))
            .collect();
        let _ = writeln!(piece, "    rules: [{}]", rules.join(", "));
    }
    if count > 1 && random.below(3) == 0 {
        let _ = writeln!(
            piece,
            "loop_monitors:\n  - cycle: [a, b]\n    threshold: {}\n    judge: {{rules: [{{condition: moves, next: a}}, {{condition: stuck, next: ABORT}}]}}",
            1 + random.below(3)
        );
    }
    piece
}

// a change of meaning shows as a changed path.
#[test]
fn random_pieces_take_the_recorded_paths() {
    let mut recorded = String::new();
    for seed in 0..PIECES {
        let text = random_piece(seed);
        let files = [(".takt/pieces/r.yaml".to_owned(), text.clone())];
        let _ = writeln!(recorded, "--- {seed}\n{text}");
        match load_text(&files, ".takt/pieces/r.yaml") {
            Ok(workflow) => {
                let rehearsal = rehearse(&workflow, Rehearse::default());
                let _ = writeln!(recorded, "  {}", paths(&rehearsal).join("\n  "));
            }
            Err(errors) => {
                let _ = writeln!(recorded, "  refused: {}", errors.join("; "));
            }
        }
    }
    check_recorded(&here("tests/takt/random_pieces.txt"), &recorded);
}
