mod choosing;
mod depending;
mod folders;
mod inertness;
mod selecting;
mod texts;

use saihai_model::IssueNumber;

fn numbers(text: &str) -> Vec<IssueNumber> {
    text.split_whitespace().map(|text| IssueNumber::parse(text).expect("a number")).collect()
}
