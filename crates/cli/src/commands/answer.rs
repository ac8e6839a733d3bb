//! `saihai answer`.

use clap::Args;
use saihai::{Clock, Given, Reached, open_gate};
use saihai_model::Wants;
use serde::Serialize;

use crate::driving::block_on;
use crate::error::{Error, exit};
use crate::json;
use crate::person;
use crate::project::Project;
use crate::task;
use crate::terminal::{Streams, visible_line};

/// Answer the gate a run waits at
#[derive(Debug, Args)]
#[command(
    after_help = "The gate says which form it takes: `yes` or `no`, with a text if you like, or a text of 1 to 10,000 characters. The answer is recorded; then `saihai resume` goes on."
)]
pub(crate) struct Answer {
    /// The run: its id, a unique beginning of it, or `last`
    #[arg(value_name = "RUN")]
    run: String,

    /// `yes` or `no`; where the gate wants a text, the text, or `-` to read it from stdin
    #[arg(value_name = "ANSWER")]
    answer: String,

    /// What to say with a yes or no
    #[arg(value_name = "TEXT")]
    text: Option<String>,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct AnsweredObject<'a> {
    run: &'a str,
    gate: &'a str,
}

impl Answer {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        person::insist(&project, "a gate is answered by a person")?;
        let directory = project.runs().find(&self.run)?;
        let (_, _, wants) = open_gate(&directory)?;
        let given = self.given(wants)?;
        let words = match &given {
            Given::Yes(None) => "yes".to_owned(),
            Given::No(None) => "no".to_owned(),
            Given::Yes(Some(text)) => format!("yes, {text}"),
            Given::No(Some(text)) => format!("no, {text}"),
            Given::Text(text) => text.clone(),
        };
        let (gate, reached) =
            block_on(async { Ok(saihai::answer(&directory, given.clone(), Clock::system()).await?) })?;
        if reached == Reached::Unread {
            let why = format!("the process that drives run `{}` does not read the answer", directory.id());
            return Err(
                Error::usage(why).hint("nothing was recorded: let it go on, or end it, and answer again")
            );
        }
        if self.json {
            json::line(
                &mut streams.out,
                "answered",
                AnsweredObject { run: directory.id(), gate: gate.stage.as_str() },
            )?;
        } else {
            // Print the journaled text: it does not contain the secrets of our environment (C-55).
            let words = saihai_connect::Connections::default().redactor().text(&words).into_owned();
            let (gate, words) = (visible_line(gate.stage.as_str()), visible_line(&words));
            streams.out.data(&format!("`{gate}` of run `{}` is answered: {words}", directory.id()))?;
        }
        match reached {
            Reached::Owner => streams.note("the process that drives the run goes on with it"),
            Reached::Journal | Reached::Unread => {
                streams.note(&format!("continue with `saihai resume {}`", directory.id()))
            }
        }
        Ok(exit::DONE)
    }

    fn given(&self, wants: Wants) -> Result<Given, Error> {
        match (wants, self.answer.as_str(), &self.text) {
            (Wants::YesNo, "yes", text) => Ok(Given::Yes(text.clone())),
            (Wants::YesNo, "no", text) => Ok(Given::No(text.clone())),
            (Wants::YesNo, other, _) => {
                Err(Error::usage(format!("the gate takes `yes` or `no`, not `{other}`")))
            }
            (Wants::Text { .. }, _, Some(_)) => {
                Err(Error::usage("the gate takes one text").hint("put quotes around a text with spaces"))
            }
            (Wants::Text { .. }, "-", None) => task::from_stdin("the answer").map(Given::Text),
            (Wants::Text { .. }, text, None) => Ok(Given::Text(text.to_owned())),
        }
    }
}
