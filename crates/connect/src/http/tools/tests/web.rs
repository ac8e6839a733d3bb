//! Tests of `pr_view`, `issue_view` and `web_fetch`.

use reqwest::Url;
use serde_json::{Value, json};

use crate::forge::testing::{ForgeServer, ForgeState, KeptComment};
use crate::forge::{ForgeAddress, ForgeRepository, ForgeViewer};
use crate::http::tools::web::{ISSUE_VIEW, PR_VIEW, WebBounds, fetched, is_public, readable_text, wait};
use crate::http::tools::{LONGEST_PAGE, ModelTool, ToolContext, ToolStop};
use crate::testing::loopback_server::{LoopbackServer, Piece};

/// Fetches a page from a local server with this answer.
fn check(answer: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (server, said) = runtime.block_on(async {
        let server = LoopbackServer::start(vec![vec![Piece::Bytes(answer.into())]]).await;
        let url = format!("{}/page", server.url());
        // A tool runs on a thread of its own.
        let fetching = tokio::task::spawn_blocking(move || {
            let (stop, _guard) = ToolStop::after_a_while();
            fetched(&url, WebBounds::Loopback, &stop)
        });
        (server, fetching.await.unwrap())
    });
    let [request] = server.seen().try_into().unwrap();
    assert_eq!(request.line, "GET /page HTTP/1.1");
    assert_eq!((request.header("authorization"), request.header("cookie")), (None, None));
    said.unwrap_or_else(|why| format!("error: {why}"))
}

fn page(kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

//
#[test]
fn text_is_shown_and_nothing_else() {
    assert_eq!(check(&page("text/plain; charset=utf-8", "one\ntwo")), "one\ntwo\n");
    assert_eq!(check(&page("text/html", "<p>one</p><script>x</script>two")), "one\ntwo\n");
    assert_eq!(check(&page("application/problem+json", "{}")), "{}\n");
    assert_eq!(check(&page("image/png", "x")), "error: it is not text: `image/png`");
    assert_eq!(check(&page("text/plain", "")), "[there is no text]\n");
    let long = check(&page("text/plain", &"a line of it\n".repeat(20_000)));
    assert!(long.len() <= LONGEST_PAGE && long.ends_with("[cut: the rest is too long]\n"));
    let gone = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    assert_eq!(check(gone), "error: the server answers 404 Not Found");
}

// A redirect target must pass the same check as the page
#[test]
fn a_page_leads_nowhere_that_could_not_be_asked_for() {
    let to = |place: &str| {
        check(&format!(
            "HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ))
    };
    assert_eq!(to("http://10.0.0.1/"), "error: `10.0.0.1` is not on the public web");
    assert_eq!(to("file:///etc/passwd"), "error: only addresses that begin with `http://` are fetched");
    let lost = "HTTP/1.1 302 Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    assert_eq!(check(lost), "error: it leads elsewhere and does not say where");
}

#[test]
fn a_name_that_means_this_machine_is_not_connected_to() {
    let (halt, _guard) = ToolStop::after_a_while();
    let refused = fetched("https://localhost:1/", WebBounds::Public, &halt).unwrap_err();
    assert_eq!(refused, "`localhost` is not on the public web");
    assert!(
        fetched("not an address", WebBounds::Public, &halt).unwrap_err().starts_with("`url` is not a URL")
    );
}

const TOKEN: &str = "canary-token-4711";

fn viewed(server: &ForgeServer, tool: &ModelTool, input: &Value) -> Result<String, String> {
    let place = ForgeRepository {
        address: ForgeAddress::parse(&server.url()).unwrap(),
        repository: saihai_model::RepositoryName::parse("me/tool").unwrap(),
    };
    let viewer = ForgeViewer::new(place, &[("GITHUB_TOKEN".into(), TOKEN.into())]);
    let directory = tempfile::tempdir().unwrap();
    let (halt, _guard) = ToolStop::after_a_while();
    let reach = ToolContext::open(&directory.path().display().to_string(), "run", halt).unwrap();
    tool.run(&reach.viewing(Some(viewer)), input)
}

//
#[test]
fn an_issue_and_a_pull_request_are_shown_by_number_and_nothing_else_is_asked_of_the_forge() {
    let mut state = ForgeState::default();
    let issue = state.issue(3, "It leaks", &["bug"]);
    issue.body = "Open a file.\n\nIt stays open.".to_owned();
    issue.comments.push(KeptComment {
        id: 1,
        author: "me".to_owned(),
        association: "OWNER".to_owned(),
        body: "Still there.".to_owned(),
    });
    state.pull_request(7, "topic", "0123456789abcdef");
    let server = ForgeServer::start(state);
    insta::assert_snapshot!(viewed(&server, &ISSUE_VIEW, &json!({"number": 3})).unwrap(), @"
    #3 It leaks
    state: open
    author: author
    labels: bug

    Open a file.

    It stays open.

    comment by me:
    Still there.
    ");
    insta::assert_snapshot!(viewed(&server, &PR_VIEW, &json!({"number": 7})).unwrap(), @"
    #7 Change 7
    state: open
    base: main
    head: topic (0123456789abcdef)

    (no text)

    [what was said on pull request #7 was not found]
    ");
    let missing = viewed(&server, &ISSUE_VIEW, &json!({"number": 9})).unwrap_err();
    assert_eq!(missing, "issue #9 was not found");
    for junk in
        [json!({}), json!({"number": 0}), json!({"number": "../3"}), json!({"number": 3, "repo": "a/b"})]
    {
        assert!(viewed(&server, &ISSUE_VIEW, &junk).is_err(), "{junk}");
    }
    assert_eq!(server.writes(), [""; 0]);
}

#[test]
fn a_text_that_is_too_long_is_cut_and_says_so() {
    let mut state = ForgeState::default();
    state.issue(3, "It leaks", &[]).body = "a line of it\n".repeat(20_000);
    let server = ForgeServer::start(state);
    let said = viewed(&server, &ISSUE_VIEW, &json!({"number": 3})).unwrap();
    assert!(said.len() <= LONGEST_PAGE && said.ends_with("[cut: the rest is too long]\n"));
}

#[test]
fn without_a_repository_or_anybody_who_waits_nothing_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let reach = ToolContext::open(&directory.path().display().to_string(), "run", ToolStop::now()).unwrap();
    let said = PR_VIEW.run(&reach, &json!({"number": 1})).unwrap_err();
    assert_eq!(said, "it is not known here which repository of a forge is meant");
}

#[test]
fn what_a_person_reads_is_kept_line_by_line() {
    let page = "<!DOCTYPE html><html><head><title>A &amp; B</title><style>p { color: red }</style>\n\
        <script>if (a < b) { '</p>' }</script></head><body><!-- not <b>this</b> --><h1>Head</h1>\n\
        <p>One   <b>bold</b>\n word &lt;tag&gt; &amp;lt;<br/>two</p><ul><li>x<li>y</ul><SVG><text>z</text></SVG>end";
    insta::assert_snapshot!(readable_text(page), @"
    A & B
    Head
    One bold
    word <tag> &lt;
    two
    x
    y
    end
    ");
}

proptest::proptest! {
    #[test]
    fn nothing_breaks_it(page in "[<>/!a-z&;\"' é-]{0,60}|<script>[</a-z>]{0,30}") {
        let _ = readable_text(&page);
    }
}

#[test]
fn only_addresses_of_the_public_internet_are_taken() {
    let check = |address: &str, expected: bool| {
        assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
    };
    for public in
        ["1.1.1.1", "93.184.215.14", "192.0.1.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"]
    {
        check(public, true);
    }
    let hidden = [
        "127.0.0.1",
        "127.8.9.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "0.0.0.0",
        "0.1.2.3",
        "100.64.0.1",
        "192.0.0.8",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.9",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "192.88.99.1",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fd12::1",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "2001::1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "3fff::1",
    ];
    for hidden in hidden {
        check(hidden, false);
    }
}

#[test]
fn an_address_is_https_without_a_login_and_on_the_public_web() {
    let refused = |url: &str| WebBounds::Public.allow(Url::parse(url).unwrap()).unwrap_err();
    assert!(WebBounds::Public.allow(Url::parse("https://example.com/a?b#c").unwrap()).is_ok());
    for url in ["http://example.com", "ftp://example.com", "file:///etc/passwd", "data:text/plain,x"] {
        assert_eq!(refused(url), "only addresses that begin with `https://` are fetched", "{url}");
    }
    for url in ["https://me@example.com", "https://me:x@example.com"] {
        assert_eq!(refused(url), "a user name or password must not stand in the address", "{url}");
    }
    // In any notation.
    for url in
        ["https://127.0.0.1", "https://2130706433", "https://0x7f.1", "https://[::1]:8443", "https://10.1"]
    {
        assert!(refused(url).ends_with("is not on the public web"), "{url}");
    }
}

#[test]
fn nobody_is_waited_for_when_nobody_waits() {
    let never = std::future::pending::<Result<(), String>>();
    assert_eq!(wait(&ToolStop::now(), never), Err("stopped".to_owned()));
}
