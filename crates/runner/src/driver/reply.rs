//! What came of an ask becomes a fact, where its text is.

use saihai_model::{
    CallFailed, CallId, Fact, Failure, FailureClass, Moment, Reading, Refusal, Replied, Reply, Spoken, Text,
    Wanted,
};

use super::calls::{About, Came, Ended};
use crate::owned::{Owned, failed};

/// The fact that an ask came to.
pub(super) fn fact(owned: &Owned, ended: Ended) -> Fact {
    let Ended { about, came } = ended;
    let now = owned.clock().now();
    match came {
        Came::Answer(Ok(reply)) => replied(owned, about, reply, now),
        Came::Answer(Err(refusal)) => refused(about.call, refusal, now),
        Came::Panicked(said) => {
            let message = format!("the provider panicked: {said}");
            failed(about.call, Failure::new(FailureClass::Crashed, message))
        }
        Came::Abandoned => {
            failed(about.call, Failure::new(FailureClass::Cancelled, "it did not stop in time"))
        }
    }
}

fn replied(owned: &Owned, about: About, mut reply: Reply, now: Moment) -> Fact {
    if reply.text.trim().is_empty() {
        match &reply.structured {
            Some(structured) => reply.text = structured.to_string(),
            None => return silent(about.call, reply),
        }
    }
    let wanted = owned.workflow().wanted(&about.call.stage, about.place);
    let said = saihai_judge::Said { text: &reply.text, structured: reply.structured.as_ref() };
    let reading =
        wanted.map_or_else(Reading::default, |wanted| saihai_judge::read(wanted, &about.prompt, said));
    let spoken = spoken(wanted, &reply.responses).map(|spoken| owned.directory().blobs().keep(spoken));
    let kept = |text: Result<Text, (std::path::PathBuf, std::io::Error)>| {
        text.map_err(|(path, source)| Fact::StorageFailed {
            call: Some(about.call.clone()),
            path: path.display().to_string(),
            message: source.to_string(),
        })
    };
    let text = match kept(owned.directory().blobs().keep(reply.text)) {
        Ok(text) => text,
        Err(fact) => return fact,
    };
    let spoken = match spoken.map(kept).transpose() {
        Ok(spoken) => spoken,
        Err(fact) => return fact,
    };
    Fact::Replied(Box::new(Replied {
        text,
        spoken,
        session: reply.session,
        usage: reply.usage,
        cost: reply.cost,
        tools_used: reply.tools_used,
        denied: reply.denied,
        duration: now.since(about.began),
        revision: None,
        reading,
        call: about.call,
    }))
}

/// Everything that was said, where that is carried on and more than the final text.
fn spoken(wanted: Option<Wanted<'_>>, responses: &[String]) -> Option<String> {
    let all = matches!(wanted, Some(Wanted::Work(reads)) if reads.carry == Spoken::AllMessages);
    (all && responses.len() > 1).then(|| responses.join("\n"))
}

/// A reply without text is a failed turn, never a result to judge (P-35); it has cost what it has cost.
fn silent(call: CallId, reply: Reply) -> Fact {
    let failure = Failure::new(FailureClass::Crashed, "the agent replied without any text");
    Fact::Failed(Box::new(CallFailed { call, failure, usage: reply.usage, cost: reply.cost }))
}

fn refused(call: CallId, refusal: Refusal, now: Moment) -> Fact {
    let Refusal { mut failure, retry_after, usage, cost, .. } = refusal;
    failure.until = failure.until.or(retry_after.map(|after| now.plus(after)));
    Fact::Failed(Box::new(CallFailed { call, failure, usage, cost }))
}
