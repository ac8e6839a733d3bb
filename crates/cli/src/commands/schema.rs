//! `saihai schema`.

use clap::Args;
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

/// What Saihai itself writes.
const OWN: [(&str, &str, &str); 2] = [
    ("journal", "one line of a run's `journal.ndjson`", saihai::JOURNAL_SCHEMA),
    ("output", "one object of `--json`", include_str!("output.schema.json")),
];

/// Schemas that later versions have.
const LATER: [&str; 3] = ["review-agent", "review-report", "issue"];

impl Schema {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let Some(name) = self.name else {
            let mut table = Table::new(&["NAME", "DESCRIBES"]);
            for (name, about) in all() {
                table.row(vec![name.to_owned(), about.to_owned()]);
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

fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMAS.into_iter().chain(OWN.into_iter().map(|(name, about, _)| (name, about)))
}

/// The text of a schema, ended by a line break.
fn text(name: &str) -> Result<String, Error> {
    if let Some((_, _, text)) = OWN.iter().find(|(own, _, _)| *own == name) {
        return Ok((*text).to_owned());
    }
    if let Some(schema) = schema(name) {
        let text = serde_json::to_string_pretty(&schema).expect("a JSON value can be written");
        return Ok(text + "\n");
    }
    if LATER.contains(&name) || name.starts_with("review/") {
        return Err(Error::usage(format!("the schema `{name}` is not part of this version yet")));
    }
    let hint = did_you_mean(name, all().map(|(name, _)| name));
    let error = Error::usage(format!("there is no schema `{name}`"));
    Err(error.hint(hint.unwrap_or_else(|| "`saihai schema` lists them".to_owned())))
}

#[cfg(test)]
mod tests;
