use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use super::*;

/// Fetches a page from a local server with this answer, in which `{port}` is the server's port.
fn check(answer: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = answer.replace("{port}", &port.to_string());
    let served = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let read = stream.read(&mut request).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let (halt, _guard) = Halt::after_a_while();
    let said = shown(&format!("http://127.0.0.1:{port}/page"), Bounds::Loopback, &halt);
    let request = served.join().unwrap();
    assert!(request.starts_with("GET /page HTTP/1.1\r\n"), "{request}");
    assert!(!request.to_lowercase().contains("authorization") && !request.to_lowercase().contains("cookie"));
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
    assert_eq!(check(&page("image/png", "x")), "error: it is no text: `image/png`");
    assert_eq!(check(&page("text/plain", "")), "[there is no text]\n");
    let long = check(&page("text/plain", &"a line of it\n".repeat(20_000)));
    assert!(long.len() <= super::super::page::LONGEST && long.ends_with("[cut: the rest is too long]\n"));
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
    let (halt, _guard) = Halt::after_a_while();
    let refused = shown("https://localhost:1/", Bounds::Public, &halt).unwrap_err();
    assert_eq!(refused, "`localhost` is not on the public web");
    assert!(shown("not an address", Bounds::Public, &halt).unwrap_err().starts_with("`url` is no address"));
}
