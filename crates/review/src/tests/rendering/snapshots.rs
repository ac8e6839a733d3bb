//! Complete snapshots of every format.

use insta::assert_snapshot;
use saihai_config::Language;
use saihai_model::{Json, Millis};

use super::{report, review};
use crate::code::ReviewedCode;
use crate::report::{AgentResult, AgentStatus, ReviewOutcome};
use crate::{to_github, to_markdown, to_sarif};

// R-49
#[test]
fn a_person_reads_it_in_english() {
    assert_snapshot!(to_markdown(&report(), Language::English), @"
    **Review failed - 6 findings (1 critical, 1 important, 3 suggestions, 1 nitpick), 2 failing; 4 of 6 agents answered; 3.4 s; $0.0123**

    > **Warning:** the reviewed change touches `.saihai/config.toml`

    ## Findings

    ### src/load.rs

    - **critical** · `src/load.rs:5-6` · code, silent · 80 % certain · new · `591217b28f0f1aae`

      A file that cannot be read silently becomes an empty text.

      ```
      5 |     let Tx = fs::read_to_string(path).ok();
      6 |     Tx.unwrap_or_default()
      ```

      Suggestion: Return the error:

      ```rust
      fs::read_to_string(path)?
      ```

      Also said by code: A file that cannot be read becomes an empty text.

    - **important** · `src/load.rs` · coverage gap · tests · new · `26211acfc6e33bf1`

      No test for a missing file.

    - **suggestion** · `src/load.rs:3` · improvement · tests · new · `5d4b15ba582099e6`

      Inline: One line does.

      ```
      3 | fn load(path: &str) -> String {
      ```

    ### Without a place

    - **suggestion** · low score · tests · new · `a4684c4134b8a2a7`

      invariants: Any text is taken.

    - **nitpick** · code · new · the named place was not found: src/load.rs:9999 · `8226a6e0a2c53675`

      Wrong place.

    ## Outside the change

    ### src/other.rs

    - **suggestion** · `src/other.rs:1` · code · new · does not fail the review · `814507aa748dd775`

      Unused function.

      ```
      1 | fn other() {}
      ```

    ## Assessments

    - code: overall_score 6.5/10
    - tests: risk_level important
    - tests: invariants 3/10 - Any text is taken.

    ## Agents

    - code: 4 findings, 1.2 s, $0.0123
      - `mood` was not asked for and is ignored
    - **broken**: failed (auth): not logged in, 1.2 s
    - silent: 1 finding, 1.2 s
    - **slow**: no answer within 600 s, 0 findings, 1.2 s
    - **style**: only a part of an answer (invalid_output), 1 finding, 1.2 s
    - tests: 3 findings, 1.2 s
    - docs: not selected (no pattern matches)

    ## Definitions that were refused

    - `.saihai/agents/x.toml`: `name` is missing

    ## Suppressed by this change

    - **important** · `src/load.rs:5` · style · `Tx` is no variable's name. (suppressed at src/load.rs:4: the name is from the format)

    ## Not certain enough

    - **nitpick** · code · Perhaps too long. (10 % certain)

    ## Fixed

    - `src/load.rs` · code · Gone since.

    ## Not reviewed

    - `logo.png`: binary

    ## About suppressions

    - warning `.saihai/review-ignore.toml:1`: the suppression expired on 2026-01-01

    ## Recommended actions

    1. **critical** · `src/load.rs:5-6` · A file that cannot be read silently becomes an empty text.
    2. **important** · `src/load.rs` · No test for a missing file.
    3. **suggestion** · `src/load.rs:3` · Inline: One line does.
    4. **suggestion** · invariants: Any text is taken.
    5. Run the review again, because these agents did not answer: broken, slow
    ");
}

// R-49
#[test]
fn a_person_reads_it_in_japanese() {
    assert_snapshot!(to_markdown(&report(), Language::Japanese), @"
    **レビュー不合格 - 指摘 6 件（重大 1、重要 1、提案 3、些細 1）、うち不合格の対象 2 件；エージェント 6 個中 4 個が回答；3.4 s；$0.0123**

    > **警告：** the reviewed change touches `.saihai/config.toml`

    ## 指摘

    ### src/load.rs

    - **重大** · `src/load.rs:5-6` · code, silent · 確信度 80 % · 新規 · `591217b28f0f1aae`

      A file that cannot be read silently becomes an empty text.

      ```
      5 |     let Tx = fs::read_to_string(path).ok();
      6 |     Tx.unwrap_or_default()
      ```

      提案：Return the error:

      ```rust
      fs::read_to_string(path)?
      ```

      code も指摘：A file that cannot be read becomes an empty text.

    - **重要** · `src/load.rs` · テスト不足 · tests · 新規 · `26211acfc6e33bf1`

      No test for a missing file.

    - **提案** · `src/load.rs:3` · 改善 · tests · 新規 · `5d4b15ba582099e6`

      Inline: One line does.

      ```
      3 | fn load(path: &str) -> String {
      ```

    ### 場所の指定なし

    - **提案** · 低い評価 · tests · 新規 · `a4684c4134b8a2a7`

      invariants: Any text is taken.

    - **些細** · code · 新規 · 指定された場所が見つかりません: src/load.rs:9999 · `8226a6e0a2c53675`

      Wrong place.

    ## 変更の範囲外

    ### src/other.rs

    - **提案** · `src/other.rs:1` · code · 新規 · 不合格の対象外 · `814507aa748dd775`

      Unused function.

      ```
      1 | fn other() {}
      ```

    ## 評価

    - code: overall_score 6.5/10
    - tests: risk_level important
    - tests: invariants 3/10 - Any text is taken.

    ## エージェント

    - code: 指摘 4 件, 1.2 s, $0.0123
      - `mood` was not asked for and is ignored
    - **broken**: 失敗（auth）: not logged in, 1.2 s
    - silent: 指摘 1 件, 1.2 s
    - **slow**: 600 秒以内に回答なし、指摘 0 件, 1.2 s
    - **style**: 回答は一部のみ（invalid_output）、指摘 1 件, 1.2 s
    - tests: 指摘 3 件, 1.2 s
    - docs: 対象外 (no pattern matches)

    ## 読み込めなかった定義

    - `.saihai/agents/x.toml`: `name` is missing

    ## この変更自身が抑制した指摘

    - **重要** · `src/load.rs:5` · style · `Tx` is no variable's name. (抑制の記述: src/load.rs:4: the name is from the format)

    ## 確信度が足りない指摘

    - **些細** · code · Perhaps too long. (確信度 10 %)

    ## 解消した指摘

    - `src/load.rs` · code · Gone since.

    ## レビューしていないもの

    - `logo.png`: binary

    ## 抑制について

    - warning `.saihai/review-ignore.toml:1`: the suppression expired on 2026-01-01

    ## 推奨する対応

    1. **重大** · `src/load.rs:5-6` · A file that cannot be read silently becomes an empty text.
    2. **重要** · `src/load.rs` · No test for a missing file.
    3. **提案** · `src/load.rs:3` · Inline: One line does.
    4. **提案** · invariants: Any text is taken.
    5. 回答しなかったエージェントのため、レビューを再実行する: broken, slow
    ");
}

// R-52
#[test]
fn github_annotates_it() {
    assert_snapshot!(to_github(&report()), @"
    ::error file=src/load.rs,line=5,endLine=6,title=critical%3A code%2C silent::A file that cannot be read silently becomes an empty text.%0ASuggestion: Return the error:%0A%0A```rust%0Afs::read_to_string(path)?%0A```%0AAlso said by code: A file that cannot be read becomes an empty text.
    ::warning title=about the review (1)::the reviewed change touches `.saihai/config.toml`
    ::warning title=agents that failed (3)::broken: error: failed (auth): not logged in%0Aslow: timeout: no answer within 600 s, 0 findings%0Astyle: truncated: only a part of an answer (invalid_output), 1 finding
    ::warning title=definitions refused (1)::.saihai/agents/x.toml: `name` is missing
    ::warning title=suppressed by this change (1)::important src/load.rs:5 style: `Tx` is no variable's name. (suppressed at src/load.rs:4: the name is from the format)
    ::warning file=src/load.rs,title=important coverage gap%3A tests::No test for a missing file.
    ::warning file=.saihai/review-ignore.toml,line=1,title=suppression::the suppression expired on 2026-01-01
    ::notice title=not reviewed (1)::logo.png: binary
    ::notice title=assessments::code: overall_score 6.5/10%0Atests: risk_level important%0Atests: invariants 3/10 - Any text is taken.
    ::notice file=src/load.rs,line=3,endLine=3,title=suggestion improvement%3A tests::Inline: One line does.
    ::notice file=src/other.rs,line=1,endLine=1,title=suggestion%3A code::Unused function.
    ::notice title=suggestion low score%3A tests::invariants: Any text is taken.
    ::notice title=nitpick%3A code::Wrong place.%0AThe named place was not found: src/load.rs:9999
    Review failed - 6 findings (1 critical, 1 important, 3 suggestions, 1 nitpick), 2 failing; 4 of 6 agents answered; 3.4 s; $0.0123
    ");
}

// R-51
#[test]
fn a_scanner_reads_it() {
    let log: Json = serde_json::from_str(&to_sarif(&report())).unwrap();
    let run = &log["runs"][0];
    let parts = ["tool", "originalUriBaseIds", "columnKind", "invocations", "properties"];
    let parts = parts.map(|name| format!("{name} {}\n", run[name])).concat();
    let results: String = run["results"].as_array().unwrap().iter().map(|one| format!("{one}\n")).collect();
    let shown = format!("{} {}\n{parts}{results}", log["$schema"], log["version"]);
    assert_snapshot!(shown.replace(env!("CARGO_PKG_VERSION"), "[version]"), @r#"
    "https://json.schemastore.org/sarif-2.1.0.json" "2.1.0"
    tool {"driver":{"name":"saihai","rules":[{"id":"code","shortDescription":{"text":"what code is for"}},{"id":"broken","shortDescription":{"text":"broken"}},{"id":"silent","shortDescription":{"text":"silent"}},{"id":"slow","shortDescription":{"text":"slow"}},{"id":"style","shortDescription":{"text":"style"}},{"id":"tests","shortDescription":{"text":"tests"}}],"version":"[version]"}}
    originalUriBaseIds {"%SRCROOT%":{"description":{"text":"the root of the project"}}}
    columnKind "unicodeCodePoints"
    invocations [{"executionSuccessful":false,"exitCode":1,"toolConfigurationNotifications":[{"level":"error","locations":[{"physicalLocation":{"artifactLocation":{"uri":".saihai/agents/x.toml","uriBaseId":"%SRCROOT%"}}}],"message":{"text":"`name` is missing"}}],"toolExecutionNotifications":[{"level":"warning","message":{"text":"the reviewed change touches `.saihai/config.toml`"}},{"level":"error","message":{"text":"broken: auth: not logged in"}},{"level":"error","message":{"text":"slow: no answer within 600 s"}},{"level":"warning","message":{"text":"style: only a part of an answer (invalid_output)"}},{"level":"warning","locations":[{"physicalLocation":{"artifactLocation":{"uri":"logo.png","uriBaseId":"%SRCROOT%"}}}],"message":{"text":"not reviewed: binary"}},{"level":"warning","locations":[{"physicalLocation":{"artifactLocation":{"uri":".saihai/review-ignore.toml","uriBaseId":"%SRCROOT%"},"region":{"endLine":1,"startLine":1}}}],"message":{"text":"the suppression expired on 2026-01-01"}}]}]
    properties {"assessments":[{"agent":"code","description":null,"name":"overall_score","score":6.5},{"agent":"tests","description":null,"level":"important","name":"risk_level"},{"agent":"tests","description":"Any text is taken.","name":"invariants","score":3.0}],"base":"main","filtered":[{"agent":"code","anchor":"none","category":null,"confidence":10,"counts":false,"end_line":null,"file":null,"fingerprint":"14672b93674edd56","kind":"issue","members":[{"agent":"code","anchor":"none","category":null,"confidence":10,"end_line":null,"file":null,"fingerprint":"14672b93674edd56","kind":"issue","message":"Perhaps too long.","severity":"nitpick","start_line":null,"suggestion":null}],"message":"Perhaps too long.","perhaps":"src/load.rs","severity":"nitpick","start_line":null,"state":"new","suggestion":null,"votes":1}],"fixed":[{"agents":["code"],"end_line":2,"file":"src/load.rs","fingerprint":"00000000000000aa","message":"Gone since.","severity":"important","start_line":2}],"head":"4f2c","mode":"diff","outcome":"failing","run":"20260206-085600-review","selection":[{"agent":"code","description":"what code is for","origin":"builtin","phase":"main","selected":true,"why":"always"},{"agent":"docs","description":"what docs is for","origin":"builtin","phase":"main","selected":false,"why":"no pattern matches"}],"summary":{"by_severity":{"critical":1,"important":1,"nitpick":1,"suggestion":3},"cost_usd":0.0123,"delivered":4,"failed":2,"failing":2,"findings":6,"max_severity":"critical","wall_ms":3400}}
    {"baselineState":"new","level":"error","locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/load.rs","uriBaseId":"%SRCROOT%"},"region":{"endLine":6,"snippet":{"text":"    let Tx = fs::read_to_string(path).ok();\n    Tx.unwrap_or_default()"},"startLine":5}}}],"message":{"text":"A file that cannot be read silently becomes an empty text.\nSuggestion: Return the error:\n\n```rust\nfs::read_to_string(path)?\n```\nAlso said by code: A file that cannot be read becomes an empty text.\nFound by: code, silent"},"partialFingerprints":{"saihaiFinding/v1":"591217b28f0f1aae"},"properties":{"anchor":"added","category":null,"claimed":null,"counts":true,"kind":"issue","members":[{"agent":"silent","category":null,"confidence":null,"fingerprint":"591217b28f0f1aae","message":"A file that cannot be read silently becomes an empty text.","place":"src/load.rs:5-6","severity":"critical","suggestion":"Return the error:\n\n```rust\nfs::read_to_string(path)?\n```"},{"agent":"code","category":null,"confidence":80,"fingerprint":"ae54a788337930f3","message":"A file that cannot be read becomes an empty text.","place":"src/load.rs:5","severity":"important","suggestion":null}],"message":"A file that cannot be read silently becomes an empty text.","placeIsKnown":true,"severity":"critical","suggestion":"Return the error:\n\n```rust\nfs::read_to_string(path)?\n```","votes":2},"rank":80.0,"ruleId":"silent","ruleIndex":2}
    {"baselineState":"new","level":"warning","locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/load.rs","uriBaseId":"%SRCROOT%"}}}],"message":{"text":"No test for a missing file."},"partialFingerprints":{"primaryLocationLineHash":"26211acfc6e33bf1:1","saihaiFinding/v1":"26211acfc6e33bf1"},"properties":{"anchor":"file","category":null,"claimed":null,"counts":true,"kind":"coverage_gap","members":[{"agent":"tests","category":null,"confidence":null,"fingerprint":"26211acfc6e33bf1","message":"No test for a missing file.","place":"src/load.rs","severity":"important","suggestion":null}],"message":"No test for a missing file.","placeIsKnown":true,"severity":"important","suggestion":null,"votes":1},"ruleId":"tests","ruleIndex":5}
    {"baselineState":"new","level":"note","locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/load.rs","uriBaseId":"%SRCROOT%"},"region":{"endLine":3,"snippet":{"text":"fn load(path: &str) -> String {"},"startLine":3}}}],"message":{"text":"Inline: One line does."},"partialFingerprints":{"saihaiFinding/v1":"5d4b15ba582099e6"},"properties":{"anchor":"added","category":null,"claimed":null,"counts":true,"kind":"improvement","members":[{"agent":"tests","category":null,"confidence":null,"fingerprint":"5d4b15ba582099e6","message":"Inline: One line does.","place":"src/load.rs:3","severity":"suggestion","suggestion":null}],"message":"Inline: One line does.","placeIsKnown":true,"severity":"suggestion","suggestion":null,"votes":1},"ruleId":"tests","ruleIndex":5}
    {"baselineState":"new","level":"note","locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/other.rs","uriBaseId":"%SRCROOT%"},"region":{"endLine":1,"snippet":{"text":"fn other() {}"},"startLine":1}}}],"message":{"text":"Unused function."},"partialFingerprints":{"saihaiFinding/v1":"814507aa748dd775"},"properties":{"anchor":"outside","category":null,"claimed":null,"counts":false,"kind":"issue","members":[{"agent":"code","category":null,"confidence":null,"fingerprint":"814507aa748dd775","message":"Unused function.","place":"src/other.rs:1","severity":"suggestion","suggestion":null}],"message":"Unused function.","placeIsKnown":true,"severity":"suggestion","suggestion":null,"votes":1},"ruleId":"code","ruleIndex":0}
    {"baselineState":"new","level":"note","locations":[{"message":{"text":"The place is unknown: this is one of the reviewed files."},"physicalLocation":{"artifactLocation":{"uri":"src/load.rs","uriBaseId":"%SRCROOT%"}}}],"message":{"text":"invariants: Any text is taken.\nThe place is unknown: this is one of the reviewed files."},"partialFingerprints":{"primaryLocationLineHash":"a4684c4134b8a2a7:1","saihaiFinding/v1":"a4684c4134b8a2a7"},"properties":{"anchor":"none","category":null,"claimed":null,"counts":true,"kind":"dimension","members":[{"agent":"tests","category":null,"confidence":null,"fingerprint":"a4684c4134b8a2a7","message":"invariants: Any text is taken.","place":null,"severity":"suggestion","suggestion":null}],"message":"invariants: Any text is taken.","placeIsKnown":false,"severity":"suggestion","suggestion":null,"votes":1},"ruleId":"tests","ruleIndex":5}
    {"baselineState":"new","level":"note","locations":[{"message":{"text":"The place is unknown: this is one of the reviewed files."},"physicalLocation":{"artifactLocation":{"uri":"src/load.rs","uriBaseId":"%SRCROOT%"}}}],"message":{"text":"Wrong place.\nThe named place was not found: src/load.rs:9999\nThe place is unknown: this is one of the reviewed files."},"partialFingerprints":{"primaryLocationLineHash":"8226a6e0a2c53675:1","saihaiFinding/v1":"8226a6e0a2c53675"},"properties":{"anchor":"unverified","category":null,"claimed":"src/load.rs:9999","counts":true,"kind":"issue","members":[{"agent":"code","category":null,"confidence":null,"fingerprint":"8226a6e0a2c53675","message":"Wrong place.","place":null,"severity":"nitpick","suggestion":null}],"message":"Wrong place.","placeIsKnown":false,"severity":"nitpick","suggestion":null,"votes":1},"ruleId":"code","ruleIndex":0}
    {"baselineState":"new","level":"warning","locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/load.rs","uriBaseId":"%SRCROOT%"},"region":{"endLine":5,"snippet":{"text":"    let Tx = fs::read_to_string(path).ok();"},"startLine":5}}}],"message":{"text":"`Tx` is no variable's name."},"partialFingerprints":{"saihaiFinding/v1":"c965f2f9ad7b61ed"},"properties":{"anchor":"added","category":"naming","claimed":null,"counts":false,"kind":"issue","members":[{"agent":"style","category":"naming","confidence":null,"fingerprint":"c965f2f9ad7b61ed","message":"`Tx` is no variable's name.","place":"src/load.rs:5","severity":"important","suggestion":null}],"message":"`Tx` is no variable's name.","placeIsKnown":true,"severity":"important","suggestion":null,"votes":1},"ruleId":"style","ruleIndex":4,"suppressions":[{"justification":"the name is from the format","kind":"inSource","properties":{"addedByChange":true,"by":"src/load.rs:4"}}]}
    "#);
}

// Issue 25: the list ends with what is missing, and repeats neither known nor minor findings
#[test]
fn recommended_actions_are_few_and_name_what_was_left_out() {
    let mut review = review();
    let issues: Vec<Json> = (1..=12)
        .map(|number| serde_json::json!({"severity": "important", "description": format!("number {number}\nmore")}))
        .collect();
    review.results =
        vec![super::result("code", AgentStatus::Success, &serde_json::json!({"issues": issues}))];
    review.plan.left_out[0].reason = crate::plan::GapReason::Size;
    review.baseline = None;
    let text = to_markdown(&review.report(), Language::English);
    let actions = text.split("## Recommended actions\n\n").nth(1).unwrap();
    assert_snapshot!(actions, @"
    1. **important** · number 1
    2. **important** · number 10
    3. **important** · number 11
    4. **important** · number 12
    5. **important** · number 2
    6. **important** · number 3
    7. **important** · number 4
    8. **important** · number 5
    9. **important** · number 6
    10. **important** · number 7
    11. 2 further findings as listed above
    12. Raise `--max-chunks`, because 1 file exceeded the size limit
    ");
}

// R-49, R-53
#[test]
fn a_clean_review_is_one_line_and_its_agents() {
    let mut review = review();
    review.results = vec![AgentResult::new("code", AgentStatus::Success, Millis(900))];
    (review.plan.load_errors, review.plan.left_out, review.plan.warnings) =
        (Vec::new(), Vec::new(), Vec::new());
    (review.baseline, review.plan.ignores, review.plan.selection) = (None, Vec::new(), Vec::new());
    review.code = ReviewedCode::new("");
    let report = review.report();
    assert_eq!(report.outcome, ReviewOutcome::Passed);
    assert_snapshot!(to_markdown(&report, Language::English), @"
    **Review passed - no findings; 1 of 1 agent answered; 3.4 s**

    ## Agents

    - code: 0 findings, 0.9 s
    ");
}
