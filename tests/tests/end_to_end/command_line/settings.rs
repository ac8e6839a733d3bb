//! `config` and `trust`.

use saihai_tests::Project;

use super::support::{PROGRAM, seen};

fn project() -> Project {
    let project = Project::new(PROGRAM);
    project.write(
        ".saihai/config.toml",
        "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"/bin/true\"\n",
    );
    project
}

// K-30
#[test]
fn settings_say_where_they_come_from() {
    let project = project();
    let lines =
        project.saihai(["config", "retry", "--explain"]).env("SAIHAI_RETRY__MAX_WAIT", "2h").run().exits(0);
    insta::assert_snapshot!(lines.stdout, @r#"
    KEY                 VALUE   ORIGIN
    retry.transient     4       default
    retry.rate_limited  6       default
    retry.crashed       2       default
    retry.max_wait      "2h"    SAIHAI_RETRY__MAX_WAIT
    retry.short_wait    "90s"   default
    retry.on_quota      "park"  default
    "#);
    let objects = project.saihai(["config", "provider", "--json"]).run().exits(0);
    insta::assert_snapshot!(objects.stdout, @r#"{"v":1,"type":"setting","key":"provider","value":"mine","origin":".saihai/config.toml:1"}"#);
    insta::assert_snapshot!(seen(&project, &project.saihai(["config", "retry.max_wiat"]).run()), @"
    -- stderr
    error[settings/unknown-key]: unknown setting `retry.max_wiat`
      = help: did you mean `retry.max_wait`?
    ? 2
    ");
    // Asking for an unset setting is not an error.
    insta::assert_snapshot!(project.saihai(["config", "limits.run_timeout"]).run().exits(0).stdout, @"limits.run_timeout = (not set)");
}

// K-case 10
#[test]
fn a_misspelt_setting_is_an_error_wherever_settings_are_read() {
    let project = Project::new(PROGRAM);
    project.write(".saihai/config.toml", "[retry]\nmax_wiat = \"6h\"\n");
    for arguments in [vec!["config"], vec!["run", "minimal", "x"], vec!["check"]] {
        let outcome = project.saihai(&arguments).run().exits(2);
        let said = outcome.stdout.clone() + &outcome.stderr;
        assert!(
            said.contains("error[settings/unknown-key]") && said.contains("did you mean `max_wait`?"),
            "{outcome}"
        );
    }
    assert_eq!(project.runs(), [""; 0]);
}

// K-39
#[test]
fn a_project_runs_programs_only_once_it_is_trusted() {
    let project = project();
    let untrusted = project.saihai(["run", "minimal", "x"]).run().exits(2);
    insta::assert_snapshot!(seen(&project, &untrusted), @r#"
    -- stderr
    error[settings/untrusted]: `.saihai/config.toml` is not trusted, and `providers.mine.kind` and `providers.mine.program` can run programs or send secrets elsewhere
    --> .saihai/config.toml:3:8
      |
    3 | kind = "command"
      |        ^^^^^^^^^ needs trust
    ::: .saihai/config.toml:4:11
      |
    4 | program = "/bin/true"
      |           ----------- needs trust
      = help: review the file, then run `saihai trust`; `--trust-project` trusts it for one call
    ? 2
    "#);
    // `--trust-project` applies to one call only.
    let once = project.saihai(["run", "minimal", "x", "--trust-project"]).run().exits(2);
    assert!(!once.stderr.contains("is not trusted"), "{once}");
    insta::assert_snapshot!(seen(&project, &project.saihai(["trust"]).run()), @r#"
    trusted: PROJECT/.saihai/config.toml
      providers.mine.kind = "command"
      providers.mine.program = "/bin/true"
    -- stderr
    ? 0
    "#);
    insta::assert_snapshot!(seen(&project, &project.saihai(["trust", "--list"]).run()), @r"
    PROJECT/.saihai/config.toml
    -- stderr
    ? 0
    ");
    let trusted = project.saihai(["run", "minimal", "x"]).run().exits(2);
    assert!(!trusted.stderr.contains("is not trusted"), "{trusted}");
    // A changed file needs trust again.
    project.write(
        ".saihai/config.toml",
        "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"/bin/sh\"\n",
    );
    let changed = project.saihai(["run", "minimal", "x"]).run().exits(2);
    assert!(changed.stderr.contains("is not trusted"), "{changed}");
    insta::assert_snapshot!(seen(&project, &project.saihai(["trust", "--revoke", "."]).run()), @r"
    no longer trusted: PROJECT/.saihai/config.toml
    -- stderr
    ? 0
    ");
    insta::assert_snapshot!(seen(&project, &project.saihai(["trust", "--revoke", "."]).run()), @r"
    -- stderr
    error: `.saihai/config.toml` is not trusted
      = help: `saihai trust --list` lists the trusted files
    ? 2
    ");
    assert_eq!(project.saihai(["trust", "--list"]).run().exits(0).stdout, "");
}

// K-39, K-3
#[test]
fn trust_speaks_json() {
    let project = project();
    let trusted = project.saihai(["trust", "--json"]).run().exits(0);
    insta::assert_snapshot!(super::support::normal(&project, &trusted.stdout), @r#"{"v":1,"type":"trusted","path":"PROJECT/.saihai/config.toml","keys":[{"key":"providers.mine.kind","value":"\"command\""},{"key":"providers.mine.program","value":"\"/bin/true\""}]}"#);
    let listed = project.saihai(["trust", "--list", "--json"]).run().exits(0).json();
    assert!(
        listed[0]["type"] == "trust" && listed[0]["hash"].as_str().unwrap().starts_with("sha256:"),
        "{listed:?}"
    );
    let revoked = project.saihai(["trust", "--revoke", ".", "--json"]).run().exits(0).json();
    assert_eq!(revoked[0]["type"], "revoked");
}
