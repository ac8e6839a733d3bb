//! `saihai schema`.

use clap::Args;
use saihai_config::review::OutputSchema;
use saihai_config::{SCHEMAS, did_you_mean, schema};

use crate::error::{Error, exit};
use crate::terminal::{Streams, Table};

/// Print a JSON Schema, or the list of them
#[derive(Debug, Args)]
#[command(
    after_help = "JSON Schema 2020-12, for editors and programs. The schemas of what you write are made of the \
                        very tables by which it is read."
)]
pub(crate) struct Schema {
    /// Which; without one, the list
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

const OWN: [(&str, &str, &str); 3] = [
    ("journal", "one line of a run's `journal.ndjson`", saihai::JOURNAL_SCHEMA),
    ("output", "one object of `--json`", include_str!("output.schema.json")),
    ("review-report", "the report of a review, by `--format json`", saihai::review::REPORT_SCHEMA),
];

impl Schema {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let Some(name) = self.name else {
            let mut table = Table::new(&["NAME", "DESCRIBES"]);
            for (name, about) in all() {
                table.row(vec![name, about.to_owned()]);
            }
            for line in table.lines() {
                streams.out.data(&line)?;
            }
            return Ok(exit::DONE);
        };
        streams.out.raw(text(&name)?.as_bytes())?;
        Ok(exit::DONE)
    }
}

fn all() -> impl Iterator<Item = (String, &'static str)> {
    let written = SCHEMAS.into_iter().map(|(name, about)| (name.to_owned(), about));
    let replies = OutputSchema::ALL.into_iter();
    let replies = replies.map(|schema| (format!("review/{}", schema.name()), schema.about()));
    let own = OWN.into_iter().map(|(name, about, _)| (name.to_owned(), about));
    written.chain(replies).chain(own)
}

/// Returns a schema that ends with a newline.
fn text(name: &str) -> Result<String, Error> {
    if let Some((_, _, text)) = OWN.iter().find(|(own, _, _)| *own == name) {
        return Ok((*text).to_owned());
    }
    if let Some(schema) = schema(name) {
        let text = serde_json::to_string_pretty(&schema).expect("a JSON value can be written");
        return Ok(text + "\n");
    }
    let names: Vec<String> = all().map(|(name, _)| name).collect();
    let hint = did_you_mean(name, names.iter().map(String::as_str));
    let error = Error::usage(format!("there is no schema `{name}`"));
    Err(error.hint(hint.unwrap_or_else(|| "`saihai schema` lists them".to_owned())))
}

#[cfg(test)]
mod tests;
