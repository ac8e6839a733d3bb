//! Key tables of an issue's front matter.

use saihai_model::IssueNumber;

use crate::fields::{Field, Kind, Object};

const ID: Kind = Kind::Integer { min: 1, max: IssueNumber::LARGEST as i64 };

pub static ISSUE: Object = Object {
    title: "an issue",
    fields: &[
        Field::new("id", ID).about("its number; else the digits its file's name begins with"),
        Field::new("title", Kind::Text).about("its title; else the first `# ` heading"),
        Field::new("labels", Kind::List(&Kind::Text)).default("[]").about("its labels"),
        Field::new("depends_on", Kind::List(&ID))
            .default("[]")
            .about("the issues that must be done before it"),
        Field::new("state", Kind::OneOf(&["open", "closed"]))
            .default("\"open\"")
            .about("whether it is still to be done"),
        Field::new("definition", Kind::Text).about("the definition it is worked on with"),
        Field::new("base", Kind::Text).about("the branch its changes go to"),
        Field::new("priority", Kind::Integer { min: -1_000_000, max: 1_000_000 })
            .default("0")
            .about("higher comes first"),
    ],
};
