//! The check of a program before its first ask.

use saihai_model::{FailureClass, Progress, ProviderAnswer, Reply};

use crate::agent::{End, Listener, Next, Probe, failure};

/// A listener that looks for the required line.
pub(super) struct Probing {
    expected: String,
    otherwise: String,
    is_found: bool,
}

impl Probing {
    pub(super) fn new(probe: &Probe) -> Self {
        Self { expected: probe.expected.clone(), otherwise: probe.otherwise.clone(), is_found: false }
    }
}

impl Listener for Probing {
    fn output(&mut self, line: &str, _: &mut dyn FnMut(Progress)) -> Next {
        self.is_found |= line.trim_end() == self.expected;
        Next::GoOn
    }

    fn is_busy(&self) -> bool {
        false
    }

    fn end(self: Box<Self>, end: &End) -> ProviderAnswer {
        if self.is_found {
            return Ok(Reply::default());
        }
        let complaints = end.complaints.trim();
        let words =
            if complaints.is_empty() { self.otherwise } else { format!("{}\n{complaints}", self.otherwise) };
        Err(failure(FailureClass::BadRequest, &words).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Exit;

    fn check(output: &str, complaints: &str, expected: Result<(), &str>) {
        let probe = Probe {
            arguments: Vec::new(),
            environment: Vec::new(),
            expected: "ours (primary)".into(),
            otherwise: "it is not there".into(),
        };
        let mut probing = Box::new(Probing::new(&probe));
        for line in output.split_inclusive('\n') {
            assert_eq!(probing.output(line, &mut |_| ()), Next::GoOn);
        }
        let end = End { exit: Exit::Code(0), complaints: complaints.to_owned() };
        let answer = probing.end(&end).map(drop).map_err(|refusal| refusal.failure);
        assert_eq!(answer, expected.map_err(|words| failure(FailureClass::BadRequest, words)));
    }

    // C-64
    #[test]
    fn the_line_must_be_there_as_a_whole() {
        check("build (primary)\nours (primary)\r\n  []\n", "", Ok(()));
        check("  ours (primary)\nours (primary) not\n", "", Err("it is not there"));
        check("", "broken config\n", Err("it is not there\nbroken config"));
    }
}
