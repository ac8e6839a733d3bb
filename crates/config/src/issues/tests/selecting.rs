use super::super::parse_selection;
use super::*;

#[test]
fn issues_are_selected_by_numbers_and_ranges_in_the_order_typed() {
    let check =
        |text: &str, expected: &str| assert_eq!(parse_selection(text), Ok(numbers(expected)), "{text}");
    check("7", "7");
    check("1,4,7-9", "1 4 7 8 9");
    check("9, 4, 3-5", "9 4 3 5");
    check("999999999", "999999999");
    check("5-5", "5");
}

#[test]
fn what_is_no_selection_is_refused_in_words() {
    let check = |text: &str, expected: &str| {
        assert_eq!(parse_selection(text).map_err(|error| error.to_string()), Err(expected.to_owned()));
    };
    for (text, part) in [
        ("0", "0"),
        ("-1", "-1"),
        ("1.5", "1.5"),
        ("../1", "../1"),
        ("", ""),
        ("1,,2", ""),
        ("1,x", "x"),
        ("1-", "1-"),
        ("1-2-3", "1-2-3"),
        ("1000000000", "1000000000"),
    ] {
        let words = "is not the number of an issue; write numbers and ranges such as `1,4,7-9`";
        check(text, &format!("`{part}` {words}"));
    }
    check("9-7", "the range `9-7` ends before it begins");
    check("1-999999999", "`1-999999999` names more than 1000 issues");
}
