//! The page of `kubewright dev`: what it shows, and to whom.
#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::operator_project::{Running, TestProject};

/// Nothing here takes longer, on however busy a machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// The page of a command that runs.
struct Page {
    address: String,
    token: String,
}

impl Page {
    /// The page whose link is told to the user.
    fn of(dev: &mut Running) -> Self {
        let said = dev.until("See what happens: ");
        let (_, link) = said.split_once("http://").unwrap();
        let (address, token) = link.trim().split_once("/#token=").unwrap();
        Page {
            address: address.to_owned(),
            token: token.to_owned(),
        }
    }

    fn send(&self, line: &str, headers: &[&str], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let host = format!("Host: {}", self.address);
        let has_host = headers.iter().any(|header| header.starts_with("Host:"));
        let mut lines = vec![format!("{line} HTTP/1.1"), "Connection: close".to_owned()];
        lines.extend((!has_host).then_some(host));
        lines.extend(headers.iter().map(|header| (*header).to_owned()));
        lines.push(format!("Content-Length: {}", body.len()));
        stream
            .write_all(format!("{}\r\n\r\n{body}", lines.join("\r\n")).as_bytes())
            .unwrap();
        stream
    }

    /// The whole answer.
    fn ask(&self, line: &str, headers: &[&str], body: &str) -> String {
        let mut answer = String::new();
        self.send(line, headers, body).read_to_string(&mut answer).unwrap();
        answer
    }

    fn code(&self, line: &str, headers: &[&str], body: &str) -> u16 {
        let answer = self.ask(line, headers, body);
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// What a stream says until it has said a text.
    fn until(&self, path: &str, cookie: &str, text: &str) -> String {
        let mut stream = self.send(&format!("GET {path}"), &[cookie], "");
        let (mut read, mut buffer) = (String::new(), [0; 4096]);
        while !read.contains(text) {
            let count = stream
                .read(&mut buffer)
                .unwrap_or_else(|error| panic!("no {text}: {error}: {read}"));
            assert!(count > 0, "it ended before {text}: {read}");
            read.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        read
    }

    /// Exchanges the token; the header with the cookie.
    fn login(&self) -> String {
        let origin = format!("Origin: http://{}", self.address);
        let answer = self.ask("POST /login", &[&origin], &self.token);
        let cookie = answer
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: "))
            .unwrap();
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
        format!("Cookie: {}", cookie.split(';').next().unwrap())
    }
}

/// A project with a Secret and an object that means harm among its samples.
fn project() -> TestProject {
    let project = TestProject::real();
    project.write(
        "config/samples/v1_secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: door}\nstringData: {key: sesame}\n",
    );
    project.write(
        "config/samples/v1_zz_hostile.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hostile}\ndata: {text: \"</pre><script>alert(1)</script>\\n\\ndata: x\"}\n",
    );
    project
}

#[test]
fn a_page_shows_reconciles_and_objects_to_who_has_the_link_and_no_secrets() {
    let project = project();
    let mut dev = project.start(None, &["dev"]);
    let page = Page::of(&mut dev);
    dev.until("sample configmap/hostile created");

    // The files of the page are for everybody, and load nothing from elsewhere.
    for path in [
        "/",
        "/main.js",
        "/style.css",
        "/dom.js",
        "/objects.js",
        "/reconciles.js",
    ] {
        let answer = page.ask(&format!("GET {path}"), &[], "");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        assert!(
            answer.contains("content-security-policy: default-src 'none'; script-src 'self'; "),
            "{answer}"
        );
        assert!(!answer.contains("https://") && !answer.contains("innerHTML"), "{path}");
    }

    // What happens is for nobody without the cookie, under another name, or from another site.
    let cookie = page.login();
    let (own, evil) = (
        format!("Origin: http://{}", page.address),
        "Origin: http://evil.example",
    );
    for path in ["/api/trace", "/api/objects", "/api/object?uid=x", "/api/none"] {
        let get = format!("GET {path}");
        assert_eq!(page.code(&get, &[], ""), 401, "{path}");
        assert_eq!(page.code(&get, &["Cookie: kubewright=x"], ""), 401, "{path}");
        assert_eq!(page.code(&get, &[&cookie, "Host: evil.example"], ""), 421, "{path}");
        assert_eq!(page.code(&get, &[&cookie, evil], ""), 403, "{path}");
        assert_eq!(page.code(&format!("POST {path}"), &[&cookie, &own], ""), 405, "{path}");
    }
    assert_eq!(page.code("GET /", &["Host: evil.example"], ""), 421);
    assert_eq!(page.code("POST /login", &[evil], &page.token), 403);
    assert_eq!(page.code("POST /login", &[], &page.token), 403);
    assert_eq!(page.code("POST /login", &[&own], "guess"), 401);
    assert_eq!(page.code("POST /login", &[&own], &"x".repeat(1000)), 413);
    assert_eq!(page.code("GET /api/none", &[&cookie], ""), 404);

    // A reconcile, from the operator's own trace.
    let ended = "\"event\":\"ended\",\"controller\":\"configmap\",\"key\":\"default/hostile\",\"outcome\":\"success\"";
    let trace = page.until("/api/trace", &cookie, ended);
    assert!(
        trace.contains("event: begin\n") && trace.contains("\"event\":\"began\""),
        "{trace}"
    );

    // The objects, from the history of the API server.
    page.until("/api/objects", &cookie, "\"name\":\"hostile\"");
    // From here on all of them are what a page gets first.
    let objects = page.until("/api/objects", &cookie, "\"deleted\":[]}\n\n");
    assert!(
        objects.contains("content-type: text/event-stream\r\n")
            && objects.contains("x-content-type-options: nosniff\r\n"),
        "{objects}"
    );
    let data = objects.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let uid = |name: &str| {
        let mut all = data["changed"].as_array().unwrap().iter();
        let found = all
            .find(|object| object["name"] == name)
            .unwrap_or_else(|| panic!("{name}: {data}"));
        found["uid"].as_str().unwrap().to_owned()
    };
    let yaml = |name: &str| page.ask(&format!("GET /api/object?uid={}", uid(name)), &[&cookie], "");
    let door = yaml("door");
    assert!(door.contains("key: (redacted)"), "{door}");
    let hostile = yaml("hostile");
    assert!(
        hostile.contains("content-type: text/plain; charset=utf-8\r\n") && hostile.contains("<script>"),
        "{hostile}"
    );
    for shown in [&trace, &objects, &door] {
        assert!(!shown.contains("sesame") && !shown.contains("c2VzYW1l"), "{shown}");
    }

    // Who looks does not hold up the end.
    let _looking = page.send("GET /api/trace", &[&cookie], "");
    dev.signal("INT");
    let (status, said) = dev.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(TcpStream::connect(&page.address).is_err());
}

#[test]
fn the_page_waits_while_there_is_no_operator_and_is_not_there_if_nobody_wants_it() {
    let project = project();
    let script = std::fs::read_to_string(project.path("src/operator.sh")).unwrap();
    project.write("src/operator.sh", "MISTAKE");
    let mut dev = project.start(None, &["dev"]);
    let page = Page::of(&mut dev);
    dev.until("the next change builds again");
    let cookie = page.login();
    let answer = page.ask("GET /api/trace", &[&cookie], "");
    assert!(answer.contains("event: waiting\n"), "{answer}");
    project.write("src/operator.sh", &script);
    dev.until("sample configmap/sample created");
    page.until("/api/trace", &cookie, "\"event\":\"ended\"");
    dev.signal("TERM");
    assert_eq!(dev.end().0.code(), Some(0));

    let mut dev = project.start(None, &["dev", "--no-view"]);
    dev.until("sample configmap/sample created");
    dev.signal("TERM");
    let (_, said) = dev.end();
    assert!(!said.contains("See what happens"), "{said}");
}
