//! The page of `kubewright dev`: what it shows, and to whom.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use kubewright_runtime::operator::Operator;

use crate::operator_project::{Running, TestProject, boats, description};
use crate::support::Server;

/// Nothing here takes longer, on however busy a machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// The page of a command that runs.
pub(crate) struct Page {
    address: String,
    token: String,
}

impl Page {
    /// The page whose link is told to the user.
    pub(crate) fn of(dev: &mut Running) -> Self {
        Self::at(dev.until("See what happens: ").trim())
    }

    /// The page of a link.
    fn at(link: &str) -> Self {
        let (_, link) = link.split_once("http://").unwrap();
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

    /// What the news say, piece by piece, until a piece has what is looked for.
    pub(crate) fn until<T>(&self, cookie: &str, look: impl Fn(&Value) -> Option<T>) -> T {
        let mut stream = BufReader::new(self.send("GET /api/news", &[cookie], ""));
        let mut last = String::new();
        loop {
            let mut line = String::new();
            let read = stream.read_line(&mut line);
            assert!(matches!(read, Ok(1..)), "it ended: {read:?}: {last}");
            // Pieces are chunks; a piece is longer than the line with its length.
            let Some(data) = line.trim().strip_prefix("data: ") else {
                continue;
            };
            let news: Value = serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
            if let Some(found) = look(&news) {
                return found;
            }
            last = line;
        }
    }

    /// Everything, as a page gets it first.
    fn first_news(&self, cookie: &str) -> Value {
        self.until(cookie, |news| Some(news.clone()))
    }

    /// The answer to a GET.
    pub(crate) fn json(&self, path: &str, cookie: &str) -> Value {
        let answer = self.ask(&format!("GET {path}"), &[cookie], "");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("HTTP/1.1 200 ") && head.contains("x-content-type-options: nosniff\r\n"),
            "{head}"
        );
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
    }

    /// The answer to a POST of the page itself.
    fn act(&self, path: &str, cookie: &str, body: &Value) -> (u16, Value) {
        let origin = format!("Origin: http://{}", self.address);
        let answer = self.ask(&format!("POST {path}"), &[cookie, &origin], &body.to_string());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"));
        (code, body)
    }

    /// Exchanges the token; the header with the cookie.
    pub(crate) fn login(&self) -> String {
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
        "/list.js",
        "/session.js",
        "/objects.js",
        "/object.js",
        "/edit.js",
        "/logs.js",
        "/travel.js",
        "/explore.js",
        "/reconciles.js",
        "/operator.js",
        "/plot.js",
        "/requests.js",
        "/webhooks.js",
        "/story.js",
        "/warnings.js",
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
    for path in ["/api/news", "/api/object?uid=x", "/api/reconcile?id=1", "/api/none"] {
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
    let has_reconcile = |news: &Value| {
        let mut changed = news["reconciles"]["changed"].as_array().into_iter().flatten();
        changed
            .find(|one| one["controller"] == "configmap" && one["key"] == "default/hostile" && one["outcome"] == "done")
            .map(|one| one["id"].as_str().unwrap().to_owned())
    };
    let reconcile = page.until(&cookie, has_reconcile);
    let reconcile = page.json(&format!("/api/reconcile?id={reconcile}"), &cookie);
    let woken = reconcile["wokenBy"][0]["text"].as_str().unwrap();
    assert!(woken.starts_with("ConfigMap default/hostile "), "{reconcile}");

    // What the operator says of itself.
    let controllers = page.until(&cookie, |news| {
        let controllers = &news["operator"]["page"]["controllers"];
        controllers.is_array().then(|| controllers.clone())
    });
    assert_eq!(controllers[0]["name"], "configmap", "{controllers}");

    // The objects, from the history of the API server.
    let uid = |name: &str| {
        page.until(&cookie, |news| {
            let mut changed = news["objects"]["changed"].as_array().into_iter().flatten();
            let found = changed.find(|object| object["name"] == name)?;
            Some(found["uid"].as_str().unwrap().to_owned())
        })
    };
    let door = page.json(&format!("/api/object?uid={}", uid("door")), &cookie);
    assert!(door["yaml"].as_str().unwrap().contains("key: (redacted)"), "{door}");
    let hostile = page.json(&format!("/api/object?uid={}", uid("hostile")), &cookie);
    assert!(hostile["yaml"].as_str().unwrap().contains("<script>"), "{hostile}");
    let everything = page.first_news(&cookie);
    for shown in [&everything, &reconcile, &door] {
        let shown = shown.to_string();
        assert!(!shown.contains("sesame") && !shown.contains("c2VzYW1l"), "{shown}");
    }

    // A Secret is shown to who asks for it, from the API server.
    let (code, revealed) = page.act("/api/reveal", &cookie, &json!({ "uid": uid("door") }));
    assert_eq!(code, 200, "{revealed}");
    assert!(
        revealed["yaml"].as_str().unwrap().contains("key: c2VzYW1l"),
        "{revealed}"
    );
    write_and_fork(&page, &cookie, &hostile);

    // Who looks does not hold up the end.
    let _looking = page.send("GET /api/news", &[&cookie], "");
    dev.signal("INT");
    let (status, said) = dev.end();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(TcpStream::connect(&page.address).is_err());
}

/// Edits an object, looks back, forks and deletes, all from the page.
fn write_and_fork(page: &Page, cookie: &str, object: &Value) {
    let about = page.json("/api/about", cookie);
    assert_eq!(
        about,
        json!({ "title": "kubewright dev", "writes": true, "forks": true, "explores": true })
    );
    let uid = object["object"]["uid"].as_str().unwrap();
    let before = object["object"]["revision"].as_u64().unwrap();
    let base = object["yaml"].as_str().unwrap();
    let origin = format!("Origin: http://{}", page.address);
    for path in ["/api/apply", "/api/scale", "/api/delete", "/api/reveal", "/api/fork"] {
        let post = format!("POST {path}");
        assert_eq!(page.code(&post, &[&origin], "{}"), 401, "{path}");
        assert_eq!(page.code(&post, &[cookie], "{}"), 403, "{path}");
        assert_eq!(
            page.code(&post, &[cookie, "Origin: http://evil.example"], "{}"),
            403,
            "{path}"
        );
        assert_eq!(page.code(&post, &[cookie, &origin], "{}"), 400, "{path}");
        assert_eq!(page.code(&format!("GET {path}"), &[cookie], ""), 404, "{path}");
    }
    // A refusal names the field, and the line on which it was typed.
    let mistake = format!("{base}colour: red\n");
    let (code, refusal) = page.act("/api/apply", cookie, &json!({ "base": base, "edited": mistake }));
    assert_eq!(
        (code, &refusal["fields"][0]["field"]),
        (422, &json!("colour")),
        "{refusal}"
    );
    assert_eq!(refusal["fields"][0]["line"], json!(base.lines().count()), "{refusal}");
    let (code, refusal) = page.act("/api/apply", cookie, &json!({ "base": base, "edited": "a: [" }));
    assert_eq!(code, 400, "{refusal}");
    let edited = base.replace("kind:", "immutable: false\nkind:");
    let (code, done) = page.act("/api/apply", cookie, &json!({ "base": base, "edited": edited }));
    assert_eq!(code, 200, "{done}");
    let after: u64 = done["resourceVersion"].as_str().unwrap().parse().unwrap();
    page.until(cookie, |news| {
        (news["objects"]["newest"].as_u64()? >= after).then_some(())
    });

    // What it is, what it was, and what differs.
    let now = page.json(&format!("/api/object?uid={uid}"), cookie);
    assert!(now["yaml"].as_str().unwrap().contains("immutable: false"), "{now}");
    let managers = now["managers"].as_array().unwrap();
    assert!(
        managers.iter().any(|manager| manager["name"] == "kubewright-view"),
        "{now}"
    );
    let then = page.json(&format!("/api/object?uid={uid}&revision={before}"), cookie);
    assert_eq!(then["yaml"], object["yaml"]);
    let difference = page.json(&format!("/api/difference?uid={uid}&from={before}&to={after}"), cookie);
    let lines = difference["lines"].as_array().unwrap();
    assert!(
        lines.contains(&json!({ "is": "added", "text": "immutable: false" })),
        "{difference}"
    );
    assert!(page.json(&format!("/api/events?uid={uid}"), cookie)["events"].is_array());
    assert_eq!(page.json("/api/explorations", cookie)["explorations"], json!([]));

    // A fork has what was, and what happens here does not happen there.
    let (code, forked) = page.act("/api/fork", cookie, &json!({ "revision": before }));
    assert_eq!(code, 200, "{forked}");
    assert!(std::path::Path::new(forked["kubeconfig"].as_str().unwrap()).exists());
    let fork = Page::at(forked["link"].as_str().unwrap());
    let there = fork.login();
    let (code, done) = page.act(
        "/api/delete",
        cookie,
        &json!({ "uid": uid, "propagation": "Foreground" }),
    );
    assert_eq!(code, 200, "{done}");
    page.until(cookie, |news| {
        let changed = news["objects"]["changed"].as_array()?;
        changed.iter().all(|object| object["uid"] != uid).then_some(())
    });
    let then = fork.json(&format!("/api/object?uid={uid}"), &there);
    assert_eq!(then["yaml"], object["yaml"]);
    assert!(
        fork.json("/api/about", &there)["title"]
            .as_str()
            .unwrap()
            .starts_with("fork of revision ")
    );
    let (code, refusal) = page.act("/api/fork", cookie, &json!({ "revision": u64::MAX }));
    assert_eq!(code, 410, "{refusal}");
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
    // The compiler's errors are on the page.
    let news = page.first_news(&cookie);
    assert_eq!(news["session"]["state"], "buildFailed", "{news}");
    assert!(
        news["session"]["errors"]
            .as_str()
            .unwrap()
            .starts_with("error[E0425]: "),
        "{news}"
    );
    assert_eq!(news["session"]["isRunning"], false);
    project.write("src/operator.sh", &script);
    dev.until("sample configmap/sample created");
    page.until(&cookie, |news| (news["session"]["state"] == "running").then_some(()));
    page.until(&cookie, |news| {
        (news["reconciles"]["changed"][0]["outcome"] == "done").then_some(())
    });
    dev.signal("TERM");
    assert_eq!(dev.end().0.code(), Some(0));

    let mut dev = project.start(None, &["dev", "--no-view"]);
    dev.until("sample configmap/sample created");
    dev.signal("TERM");
    let (_, said) = dev.end();
    assert!(!said.contains("See what happens"), "{said}");
}

#[test]
fn the_page_looks_back_as_far_as_it_is_told_to() {
    for (bytes, looks_back) in [("0", false), ("10000000", true)] {
        let project = project();
        let mut dev = project.start(None, &["dev", "--history-bytes", bytes]);
        let page = Page::of(&mut dev);
        let cookie = page.login();
        let uid = page.until(&cookie, |news| {
            let mut changed = news["objects"]["changed"].as_array().into_iter().flatten();
            let found = changed.find(|object| object["name"] == "hostile")?;
            Some(found["uid"].as_str().unwrap().to_owned())
        });
        let object = page.json(&format!("/api/object?uid={uid}"), &cookie);
        let base = object["yaml"].as_str().unwrap();
        let edited = base.replace("kind:", "immutable: false\nkind:");
        let (code, done) = page.act("/api/apply", &cookie, &json!({ "base": base, "edited": edited }));
        assert_eq!(code, 200, "{done}");
        let after: u64 = done["resourceVersion"].as_str().unwrap().parse().unwrap();
        page.until(&cookie, |news| {
            (news["objects"]["newest"].as_u64()? >= after).then_some(())
        });
        let object = page.json(&format!("/api/object?uid={uid}"), &cookie);
        let versions = object["moments"].as_array().unwrap();
        assert_eq!(versions.len() > 1, looks_back, "{bytes}: {object}");
        dev.signal("TERM");
        dev.end();
    }
}

#[test]
fn the_page_is_opened_without_showing_the_token_to_others() {
    let (folder, project) = (tempfile::tempdir().unwrap(), project());
    let pipe = folder.path().join("opened");
    let status = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(status.success());
    let script = format!("#!/bin/sh\n{{ echo \"$@\"; cat \"$1\"; }} > '{}'\n", pipe.display());
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    project.script(&format!("bin/{program}"), &script);
    let (said, heard) = mpsc::channel();
    thread::spawn(move || said.send(std::fs::read_to_string(pipe)));
    let mut dev = project.start(None, &["dev", "--open"]);
    let page = Page::of(&mut dev);
    let opened = heard.recv_timeout(PATIENCE).expect("it is opened").unwrap();
    let (file, text) = opened.split_once('\n').unwrap();
    assert!(!file.contains(&page.token), "{file}");
    let link = format!("0; url=http://{}/#token={}\"", page.address, page.token);
    assert!(text.contains(&link), "{text}");
    let rights_of_others = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o077;
    let file = Path::new(file);
    let folder_of_file = file.parent().unwrap();
    assert_eq!((rights_of_others(file), rights_of_others(folder_of_file)), (0, 0));
    dev.until("sample configmap/sample created");
    dev.signal("TERM");
    assert_eq!(dev.end().0.code(), Some(0));
    assert!(!file.exists());
}

#[test]
fn the_objects_of_a_cluster_that_is_named_are_on_the_page() {
    let (server, project) = (Server::start(), TestProject::new());
    project.describe(&description(&Operator::new("shop"), &[boats()]));
    project.write(
        "config/samples/shop_v1_boat.yaml",
        "apiVersion: shop.example.com/v1\nkind: Boat\nmetadata: {name: sloop}\nspec: {colour: red}\n",
    );
    let mut dev = project.start(Some(&server.kubeconfig), &["dev", "--context=kubewright"]);
    let page = Page::of(&mut dev);
    let cookie = page.login();
    let boat = page.until(&cookie, |news| {
        let mut changed = news["objects"]["changed"].as_array().into_iter().flatten();
        changed.find(|object| object["name"] == "sloop").cloned()
    });
    assert_eq!((&boat["kind"], &boat["namespace"]), (&"Boat".into(), &"default".into()));
    let boat = page.json(&format!("/api/object?uid={}", boat["uid"].as_str().unwrap()), &cookie);
    assert!(boat["yaml"].as_str().unwrap().contains("colour: red"), "{boat}");
    // It is only looked at.
    let about = page.json("/api/about", &cookie);
    assert_eq!((&about["writes"], &about["forks"]), (&json!(false), &json!(false)));
    let uid = &boat["object"]["uid"];
    for (path, body) in [
        ("/api/apply", json!({ "base": boat["yaml"], "edited": boat["yaml"] })),
        ("/api/scale", json!({ "uid": uid, "replicas": 1 })),
        ("/api/delete", json!({ "uid": uid })),
    ] {
        let (code, refusal) = page.act(path, &cookie, &body);
        assert_eq!(
            (code, &refusal["reason"]),
            (403, &json!("ReadOnly")),
            "{path}: {refusal}"
        );
    }
    dev.signal("TERM");
    assert_eq!(dev.end().0.code(), Some(0));

    // Unless that is allowed.
    let mut dev = project.start(
        Some(&server.kubeconfig),
        &["dev", "--context=kubewright", "--allow-writes"],
    );
    let page = Page::of(&mut dev);
    let cookie = page.login();
    page.until(&cookie, |news| {
        let mut changed = news["objects"]["changed"].as_array().into_iter().flatten();
        changed.find(|object| object["uid"] == *uid).cloned()
    });
    let (code, done) = page.act("/api/delete", &cookie, &json!({ "uid": uid }));
    assert_eq!(code, 200, "{done}");
    dev.signal("TERM");
    let (status, said) = dev.end();
    assert_eq!(status.code(), Some(0), "{said}");
}

#[test]
fn what_an_operator_asks_of_a_cluster_that_is_named_is_known_by_its_trace() {
    let (server, project) = (Server::start(), TestProject::real());
    // It writes, without end.
    project.edit_so_that_it_loops();
    let mut dev = project.start(Some(&server.kubeconfig), &["dev", "--context=kubewright"]);
    let page = Page::of(&mut dev);
    let cookie = page.login();
    let used = "update of configmaps";
    let requests = page.until(&cookie, |news| {
        let requests = &news["requests"];
        let is_used = requests["used"].as_array()?.iter().any(|right| right == used);
        is_used.then(|| requests.clone())
    });
    assert_eq!(
        (&requests["operator"], &requests["traced"]),
        (&json!("the operator"), &json!(true))
    );
    let all = requests["requests"].as_array().unwrap();
    let update = all
        .iter()
        .find(|one| one["verb"] == "update" && one["what"] == "configmaps" && one["code"] == 200);
    assert_eq!(update.unwrap()["user"], "the operator", "{requests}");
    assert_eq!((&requests["missing"], &requests["unused"]), (&json!([]), &json!([])));
    dev.signal("TERM");
    assert_eq!(dev.end().0.code(), Some(0));
}

#[test]
fn an_edit_that_loops_is_seen_with_its_reason() {
    let project = TestProject::real();
    let mut dev = project.start(None, &["dev"]);
    let page = Page::of(&mut dev);
    let cookie = page.login();
    dev.until("sample configmap/sample created");
    project.edit_so_that_it_loops();
    dev.until("the operator runs anew, ");
    let what = "blue default/sample and red default/sample wake each other again and again";
    let warning = page.until(&cookie, |news| {
        let mut warnings = news["warnings"].as_array().into_iter().flatten();
        warnings.find(|warning| warning["what"] == what).cloned()
    });
    assert!(warning["advice"].as_str().unwrap().contains("one owner"), "{warning}");

    // From the warning to a reconcile, and on the way back to what one writes and the other changes back.
    let reconcile = |id: &Value| page.json(&format!("/api/reconcile?id={}", id.as_str().unwrap()), &cookie);
    let last = reconcile(&warning["reconcile"]);
    let before = last["before"].as_array().unwrap();
    for controller in ["red", "blue"] {
        let times = before
            .iter()
            .filter(|one| one["controller"] == controller && one["key"] == "default/sample");
        assert!(times.count() > 1, "{controller}: {last}");
    }
    let writer = reconcile(&last["wokenBy"][0]["writer"]);
    let mut steps = writer["steps"].as_array().unwrap().iter();
    let change = steps.find_map(|step| step["changes"].as_array()?.first());
    let change = change.unwrap_or_else(|| panic!("it changed nothing: {writer}"));
    assert_eq!(change["path"], "data.colour", "{writer}");
    dev.signal("TERM");
    assert_eq!(dev.end().0.code(), Some(0));
}
