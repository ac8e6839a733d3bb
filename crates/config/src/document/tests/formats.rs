use super::*;

#[test]
fn plain_scalars_follow_the_core_schema() {
    // P-9
    let text =
        "[yes, on, 0777, 0o17, 0xff, 1e3, .5, '1', \"true\", True, ~, null, 1.2.3, +4, -5, 0b1, 1_000]";
    assert_snapshot!(show(text, YAML), @r#"["yes","on",777,15,255,1000.0,0.5,"1","true",true,null,null,"1.2.3",4,-5,"0b1","1_000"]"#);
}

#[test]
fn tags_of_the_core_schema_are_followed_and_others_refused() {
    assert_snapshot!(show("[!!str 12, !!int '3', ! 4, !!float 1, !!bool true, !!null '']", YAML), @r#"["12",3,"4",1.0,true,null]"#);
    assert_snapshot!(show("a: !secret x\nb: !!int x\nc: !!set {}\nd: !!binary aGk=\n", YAML), @r#"
    {"a":"x","b":"x","c":{},"d":"aGk="}
    error[piece/not-supported]: the tag `!secret` is not supported
    --> a:1:4
      |
    1 | a: !secret x
      |    ^^^^^^^^^
      = help: remove it

    error[piece/bad-value]: `x` is not a value for the tag `!!int`
    --> a:2:4
      |
    2 | b: !!int x
      |    ^^^^^^^

    error[piece/not-supported]: the tag `!!set` is not supported
    --> a:3:4
      |
    3 | c: !!set {}
      |    ^^^^^^^
      = help: remove it

    error[piece/not-supported]: the tag `!!binary` is not supported
    --> a:4:4
      |
    4 | d: !!binary aGk=
      |    ^^^^^^^^^^^^^
      = help: remove it
    "#);
}

#[test]
fn spans_of_yaml_are_exactly_what_was_written() {
    let text = "名前: 計画   # コメント\nlist:\n- one\n-   two words  \n- 'quo''ted'\n- {a: [1, 2 ], 絵: \"文字\"}\nblock: |\n  first\n  second\n\nfolded: >-\n  x\n  y\nempty:\nlast: &anchor {k: v}\nalias: *anchor\n";
    assert_snapshot!(spans(text, YAML), @r#"
    : "名前: 計画   # コメント\nlist:\n- one\n-   two words  \n- 'quo''ted'\n- {a: [1, 2 ], 絵: \"文字\"}\nblock: |\n  first\n  second\n\nfolded: >-\n  x\n  y\nempty:\nlast: &anchor {k: v}\nalias: *anchor"
      key "名前"
    名前: "計画"
      key "list"
    list: "- one\n-   two words  \n- 'quo''ted'\n- {a: [1, 2 ], 絵: \"文字\"}"
    list[0]: "one"
    list[1]: "two words"
    list[2]: "'quo''ted'"
    list[3]: "{a: [1, 2 ], 絵: \"文字\"}"
      key "a"
    list[3].a: "[1, 2 ]"
    list[3].a[0]: "1"
    list[3].a[1]: "2"
      key "絵"
    list[3].絵: "\"文字\""
      key "block"
    block: "first\n  second"
      key "folded"
    folded: "x\n  y"
      key "empty"
    empty: ""
      key "last"
    last: "&anchor {k: v}"
      key "k"
    last.k: "v"
      key "alias"
    alias: "&anchor {k: v}"
      key "k"
    alias.k: "v"
    "#);
}

#[test]
fn spans_of_json_are_exactly_what_was_written() {
    assert_snapshot!(spans("{ \"名前\" : [1, -2.5e1 , \"文\\u5b57\\n\"],\n\t\"b\":{} , \"c\":null}", JSON), @r#"
    : "{ \"名前\" : [1, -2.5e1 , \"文\\u5b57\\n\"],\n\t\"b\":{} , \"c\":null}"
      key "\"名前\""
    名前: "[1, -2.5e1 , \"文\\u5b57\\n\"]"
    名前[0]: "1"
    名前[1]: "-2.5e1"
    名前[2]: "\"文\\u5b57\\n\""
      key "\"b\""
    b: "{}"
      key "\"c\""
    c: "null"
    "#);
}

#[test]
fn spans_of_toml_are_exactly_what_was_written() {
    assert_snapshot!(spans("'名' = 1\n[\"a b\".c]\nd = [1, '文字']\ne.f = 1979-05-27\n[[list]]\nx = 0x1F\n[[list]]\n", TOML), @r#"
    : "'名' = 1\n[\"a b\".c]\nd = [1, '文字']\ne.f = 1979-05-27\n[[list]]\nx = 0x1F\n[[list]]\n"
      key "'名'"
    名: "1"
      key "\"a b\""
    ["a b"]: "\"a b\""
      key "c"
    ["a b"].c: "[\"a b\".c]"
      key "d"
    ["a b"].c.d: "[1, '文字']"
    ["a b"].c.d[0]: "1"
    ["a b"].c.d[1]: "'文字'"
      key "e"
    ["a b"].c.e: "e"
      key "f"
    ["a b"].c.e.f: "1979-05-27"
      key "list"
    list: "[[list]]"
    list[0]: "[[list]]"
      key "x"
    list[0].x: "0x1F"
    list[1]: "[[list]]"
    "#);
}

#[test]
fn json_escapes_mean_what_the_standard_says() {
    assert_snapshot!(show(r#"["\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00", 18446744073709551615, -0, 1E-2, true, false, null]"#, JSON), @r#"["\"\\/\b\f\n\r\té😀",18446744073709551615,0,0.01,true,false,null]"#);
}
