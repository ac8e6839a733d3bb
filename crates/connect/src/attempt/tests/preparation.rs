//! Tests of the check before the first ask, and of the remark about old programs.

mod age {
    use super::super::super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let check =
            |version, than, expected| assert_eq!(is_older(version, than), expected, "{version} {than}");
        check("0.99.0", "0.166.0", true);
        check("0.166.0", "0.166.0", false);
        check("1.0.0", "0.166.0", false);
        check("0.166.0", "", false);
    }
}

mod probing {
    use super::super::super::*;
    use crate::agent::ProcessExit;

    fn check(output: &str, complaints: &str, expected: Result<(), &str>) {
        let probe = StartupCheck {
            arguments: Vec::new(),
            environment: Vec::new(),
            expected: "ours (primary)".into(),
            otherwise: "it is not there".into(),
        };
        let mut probing = Box::new(ProbeListener::new(&probe));
        for line in output.split_inclusive('\n') {
            assert_eq!(probing.output(line, &mut |_| ()), ListenerStep::GoOn);
        }
        let end = ProcessEnd { exit: ProcessExit::Code(0), complaints: complaints.to_owned() };
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
