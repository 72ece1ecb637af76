//! `kubewright demo` as people and scripts meet it.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::support::{endings, kubewright};

/// The command as it is called where it is installed.
fn demo(flags: &[&str]) -> Command {
    let mut command = kubewright();
    command.arg0("kubewright").arg("demo").args(flags);
    command.env_remove("CARGO").env_remove("COLUMNS");
    command
}

/// A demo under way, ended when dropped.
struct Demo {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Demo {
    fn start(flags: &[&str]) -> Demo {
        Demo::of(&mut demo(flags))
    }

    /// The same with another folder for temporary files.
    fn start_in(temporary: &Path, flags: &[&str]) -> Demo {
        Demo::of(demo(flags).env("TMPDIR", temporary))
    }

    /// The same with lines of another width.
    fn start_on(columns: usize, flags: &[&str]) -> Demo {
        Demo::of(demo(flags).env("COLUMNS", columns.to_string()))
    }

    fn of(command: &mut Command) -> Demo {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Demo { child, stdout }
    }

    /// The next line; `None` at the end.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.stdout.read_line(&mut line).unwrap() > 0).then_some(line)
    }

    /// Reads on until something is told in JSON.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        while let Some(line) = self.line() {
            let told = serde_json::from_str(&line).unwrap();
            if is_it(&told) {
                return told;
            }
        }
        panic!("it ended before");
    }

    fn interrupt(&self) {
        self.signal("INT");
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// How it ends, and what it says until then.
    fn end(&mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // In order, so that nothing of it is left behind.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.interrupt();
        }
        let _ = self.child.wait();
    }
}

/// Everything that a whole demo tells.
fn whole_story() -> Vec<Value> {
    let mut demo = Demo::start(&["--json", "--fast"]);
    let (status, text) = demo.end();
    assert!(status.success(), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What is told in a chapter of a type.
fn of<'a>(story: &'a [Value], chapter: usize, kind: &'a str) -> impl DoubleEndedIterator<Item = &'a Value> {
    story
        .iter()
        .filter(move |told| told["chapter"] == chapter && told["type"] == kind)
}

/// The objects of a kind to which something happened in a chapter.
fn objects<'a>(story: &'a [Value], chapter: usize, change: &'a str, kind: &'a str) -> Vec<&'a Value> {
    of(story, chapter, "object")
        .filter(|told| told["change"] == change && told["kind"] == kind)
        .collect()
}

#[test]
fn the_story_is_told_from_the_first_node_to_the_last_pod() {
    let story = whole_story();
    let chapters: Vec<_> = story.iter().filter(|told| told["type"] == "chapter").collect();
    let titles: Vec<_> = chapters.iter().map(|told| told["title"].as_str().unwrap()).collect();
    assert_eq!(
        titles,
        [
            "Start a cluster",
            "Install the operator",
            "Create a MarkdownView",
            "Try an invalid edit",
            "Scale up",
            "Roll out another image",
            "Delete something by mistake",
            "Delete the view",
        ]
    );
    assert_eq!(objects(&story, 1, "ready", "Node").len(), 3);
    a_view_is_created(&story);
    an_edit_is_denied(&story);
    viewers_are_added(&story);
    viewers_are_replaced(&story);

    let deleted = objects(&story, 7, "deleted", "Service");
    let created = objects(&story, 7, "created", "Service");
    assert_eq!(deleted[0]["name"], created[0]["name"]);
    assert!(of(&story, 7, "reconcile").any(|told| told["reasons"][0] == "Service deleted"));

    everything_is_gone(&story);
    let summary = story.iter().find(|told| told["type"] == "summary").unwrap();
    let number = |path: &str| summary.pointer(path).unwrap().as_f64().unwrap();
    let told = story.iter().filter(|told| told["type"] == "reconcile").count();
    assert!(number("/reconciles") >= told as f64 && told > 5, "{summary}");
    assert!(number("/other_reconciles") > number("/reconciles"), "{summary}");
    assert!(
        number("/writes") > number("/operator_writes") && number("/operator_writes") >= 6.0,
        "{summary}"
    );
    for part in ["server", "nodes", "install", "operator"] {
        assert!(number(&format!("/start_up_ms/{part}")) > 0.0, "{summary}");
    }
    assert!(summary["paused_ms"].as_f64() < Some(0.001), "{summary}");
    assert_eq!(story.last().unwrap()["again"], "kubewright demo --serve");
}

fn a_view_is_created(story: &[Value]) {
    for (kind, name, owner) in [
        ("MarkdownView", "markdownview-sample", Value::Null),
        (
            "ConfigMap",
            "markdowns-markdownview-sample",
            json!("MarkdownView/markdownview-sample"),
        ),
        (
            "Deployment",
            "viewer-markdownview-sample",
            json!("MarkdownView/markdownview-sample"),
        ),
        (
            "Service",
            "viewer-markdownview-sample",
            json!("MarkdownView/markdownview-sample"),
        ),
    ] {
        let created = objects(story, 3, "created", kind);
        assert_eq!(created.len(), 1, "{kind}");
        assert_eq!((&created[0]["name"], &created[0]["owner"]), (&json!(name), &owner));
    }
    let set = objects(story, 3, "created", "ReplicaSet");
    assert_eq!(set[0]["owner"], "Deployment/viewer-markdownview-sample");
    let pods = objects(story, 3, "created", "Pod");
    let owner = format!("ReplicaSet/{}", set[0]["name"].as_str().unwrap());
    assert!(pods.len() == 3 && pods.iter().all(|pod| pod["owner"] == owner.as_str()));
    let ready = objects(story, 3, "ready", "Pod");
    assert!(ready[0]["detail"].as_str().unwrap().starts_with("ready on node-"));
    assert_eq!(ready.last().unwrap()["pods"]["ready"], 3);
    let first = of(story, 3, "reconcile").next().unwrap();
    assert_eq!(first["reasons"], json!(["MarkdownView created"]));
    assert_eq!(first["object"], "default/markdownview-sample");
    let turned: Vec<_> = of(story, 3, "condition")
        .filter(|told| told["condition"] == "Available")
        .collect();
    assert_eq!(turned.last().unwrap()["status"], "True");
}

fn an_edit_is_denied(story: &[Value]) {
    let denied = of(story, 4, "denied").next().unwrap();
    assert_eq!(
        denied["message"],
        "admission webhook \"vmarkdownview.kb.io\" denied the request: MarkdownView.view.zoetrope.github.io \
         \"markdownview-sample\" is invalid: spec.replicas: Invalid value: 100: replicas must be in the range of 1 to 5."
    );
    assert_eq!(of(story, 4, "object").count(), 0);
}

fn viewers_are_added(story: &[Value]) {
    let changed = objects(story, 5, "changed", "Deployment");
    assert_eq!(changed[0]["detail"], "replicas 3 → 5");
    assert_eq!(objects(story, 5, "created", "Pod").len(), 2);
    assert_eq!(objects(story, 5, "ready", "Pod").last().unwrap()["pods"]["ready"], 5);
    assert_eq!(objects(story, 5, "deleted", "Pod").len(), 0);
}

fn viewers_are_replaced(story: &[Value]) {
    let changed = objects(story, 6, "changed", "Deployment");
    assert_eq!(changed[0]["detail"], "image 0.4.10 → 0.4.40");
    assert_eq!(objects(story, 6, "created", "ReplicaSet").len(), 1);
    for change in ["created", "ready", "leaving", "deleted"] {
        assert_eq!(objects(story, 6, change, "Pod").len(), 5, "{change}");
    }
    for told in of(story, 6, "object").filter(|told| told["pods"].is_object()) {
        let count = |of: &str| told["pods"][of].as_u64().unwrap();
        assert!(count("old") + count("ready") >= 4, "{told}");
    }
}

fn everything_is_gone(story: &[Value]) {
    let names = |change: &str| -> BTreeSet<(String, String)> {
        let all = story
            .iter()
            .filter(|told| told["type"] == "object" && told["change"] == change);
        all.map(|told| (told["kind"].to_string(), told["name"].to_string()))
            .collect()
    };
    let created = names("created");
    assert!(created.len() > 15, "{created:?}");
    assert_eq!(names("deleted"), created);
    let mut deleted = of(story, 8, "object").filter(|told| told["change"] == "deleted");
    assert_eq!(
        deleted.next_back().unwrap()["kind"],
        "MarkdownView",
        "the owner goes last"
    );
    assert!(objects(story, 8, "deleted", "Pod").len() >= 5);
}

#[test]
fn what_is_piped_is_plain_lines_that_fit() {
    let (status, text) = Demo::start(&["--fast"]).end();
    assert!(status.success(), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
    for part in [
        " 1  Start a cluster",
        "$ kubectl apply --server-side -f examples/markdown-view/config/samples/view_v1_markdownview.yaml",
        "✗ denied             Error from server (Invalid): admission webhook",
        "Available is True",
        "viewerImage 0.4.10 → 0.4.40",
        "In numbers",
        "kubewright demo --serve",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn on_a_narrow_terminal_lines_fit_too() {
    let (status, text) = Demo::start_on(60, &["--fast"]).end();
    assert!(status.success(), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 60, "{line}");
    }
    for part in [
        "/config/samples/view_v1_markdownview.yaml\n",
        "Available is True",
        "  kubewright demo --serve\n",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn the_link_of_the_page_is_in_one_piece_on_a_narrow_terminal_too() {
    let mut demo = Demo::start_on(60, &["--fast", "--serve"]);
    let link = loop {
        let line = demo.line().expect("the link comes before the end");
        if line.trim().starts_with("http://127.0.0.1:") {
            break line.trim().to_owned();
        }
    };
    let (_, token) = link.split_once("/#token=").unwrap_or_else(|| panic!("{link}"));
    assert_eq!(token.len(), 64, "{link}");
    demo.interrupt();
    demo.end();
}

#[test]
fn colours_are_there_if_they_are_asked_for() {
    let mut demo = Demo::start(&["--fast", "--color", "always"]);
    assert_eq!(demo.line().as_deref(), Some("\n"));
    assert_eq!(
        demo.line().as_deref(),
        Some("\x1b[1;36m 1\x1b[0m  \x1b[1mStart a cluster\x1b[0m\n")
    );
}

#[test]
fn an_interrupted_story_ends_in_order_and_nothing_stays() {
    for signal in endings() {
        let home = tempfile::tempdir().unwrap();
        let mut demo = Demo::start_in(home.path(), &["--json"]);
        demo.until(|told| told["type"] == "chapter" && told["number"] == 2);
        assert_ne!(std::fs::read_dir(home.path()).unwrap().count(), 0);
        demo.signal(signal);
        let (status, rest) = demo.end();
        assert_eq!(status.code(), Some(130), "{signal}: {rest}");
        assert!(!rest.contains("\"summary\""), "{signal}: {rest}");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "{signal}");
    }
}

#[test]
fn a_port_of_pages_that_is_taken_is_told_before_the_first_word() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = kubewright()
        .args(["demo", "--serve", "--port", &port])
        .output()
        .unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(
        said,
        format!("error: port {port} on 127.0.0.1 is in use; --port 0 picks a free one\n")
    );
    assert_eq!((ran.status.code(), ran.stdout.len()), (Some(1), 0));
}

#[test]
fn who_stops_reading_ends_it() {
    let mut demo = Demo::start(&["--fast", "--serve"]);
    demo.line().unwrap();
    drop(std::mem::replace(&mut demo.stdout, BufReader::new(silence())));
    assert!(demo.child.wait().unwrap().success());
}

/// The output of a program that says nothing.
fn silence() -> ChildStdout {
    let mut nobody = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    let stdout = nobody.stdout.take().unwrap();
    nobody.wait().unwrap();
    stdout
}

#[test]
fn flags_that_make_no_sense_are_refused_in_a_sentence() {
    for (flags, part) in [
        (&["--port", "8000"][..], "--serve"),
        (&["--serve", "--port", "80000"], "80000"),
        (&["--color", "blue"], "auto, always or never"),
    ] {
        let ran = kubewright().arg("demo").args(flags).output().unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(said.contains(part) && said.trim().lines().count() == 1, "{said}");
    }
}

/// What a browser gets: the status line and headers, and the page.
fn get(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), page.to_owned())
}

/// Whether nodes take new Pods.
async fn schedulable(client: &kube::Client, is_so: bool) {
    let nodes: Api<Node> = Api::all(client.clone());
    let patch = json!({ "spec": { "unschedulable": !is_so } });
    for node in ["node-1", "node-2", "node-3"] {
        nodes
            .patch(node, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap();
    }
}

/// The administrator of the cluster that a kubeconfig is for.
async fn client(kubeconfig: &str) -> kube::Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default())
        .await
        .unwrap();
    kube::Client::try_from(config).unwrap()
}

async fn create_view(client: &kube::Client, name: &str, documents: &Value) {
    let kind = GroupVersionKind::gvk("view.zoetrope.github.io", "v1", "MarkdownView");
    let resource = ApiResource::from_gvk_with_plural(&kind, "markdownviews");
    let views: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
    let view = DynamicObject::new(name, &resource).data(json!({ "spec": { "markdowns": documents } }));
    views.create(&PostParams::default(), &view).await.unwrap();
}

#[tokio::test]
async fn what_somebody_writes_to_the_cluster_cannot_command_the_terminal() {
    let mut demo = Demo::start(&["--fast", "--serve"]);
    let kubeconfig = loop {
        let line = demo.line().expect("it stays");
        if let Some((_, path)) = line.trim_end().split_once("export KUBECONFIG=") {
            break path.to_owned();
        }
    };
    // The operator cannot make a ConfigMap with such a key, and says so.
    let documents = json!({ "SUMMARY.md": "", "\u{1b}]0;owned\u{7}\u{1b}[31mred": "" });
    create_view(&client(&kubeconfig).await, "hostile", &documents).await;
    let mut told = String::new();
    while !told.contains(r"\u{1b}") {
        let line = demo.line().expect("it stays");
        assert!(
            !line.trim_end_matches('\n').contains(|c: char| c.is_control()),
            "{line:?}"
        );
        told.push_str(&line);
    }
    assert!(told.contains("failed: "), "{told}");
}

#[tokio::test]
async fn pages_are_served_as_long_as_somebody_is_there_to_serve_them() {
    let mut demo = Demo::start(&["--json", "--fast", "--serve"]);
    // The page of `dev`, from before the story begins.
    let inside = demo.until(|told| told["type"] == "inside");
    let link = inside["link"].as_str().unwrap();
    let (inside, _) = link.trim_start_matches("http://").split_once("/#token=").unwrap();
    assert!(get(inside, "/").0.starts_with("HTTP/1.1 200"));
    assert!(get(inside, "/api/news").0.starts_with("HTTP/1.1 401"));
    let serving = demo.until(|told| told["type"] == "serving");
    let address = serving["pages"].as_str().unwrap();
    let address = address.trim_start_matches("http://").trim_end_matches('/');
    let (head, page) = get(address, "/");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(
        page.contains("<b>welcome</b>") && page.contains("2 of 2 ready"),
        "{page}"
    );
    let (head, page) = get(address, "/default/welcome/");
    assert!(head.contains("default-src 'none'"), "{head}");
    assert!(page.contains("<h1>You have a cluster</h1>"), "{page}");
    assert!(page.contains("2 viewer Pods of peaceiris/mdbook:latest"), "{page}");
    assert!(get(address, "/default/welcome/inside.html").1.contains("<table>"));
    assert!(get(address, "/default/welcome/none.html").0.starts_with("HTTP/1.1 404"));
    assert!(get(address, "/default/other/").0.starts_with("HTTP/1.1 404"));

    let client = client(serving["kubeconfig"].as_str().unwrap()).await;
    schedulable(&client, false).await;
    let documents =
        json!({ "SUMMARY.md": "- [Only](only-page.md)", "only-page.md": "# Hi\n\n<script>alert(1)</script>" });
    create_view(&client, "late", &documents).await;
    let is_viewer = |told: &Value, change: &str| told["name"] == "viewer-late" && told["change"] == change;
    demo.until(|told| told["kind"] == "Deployment" && is_viewer(told, "created"));
    let (head, page) = get(address, "/default/late/");
    assert!(
        head.starts_with("HTTP/1.1 503") && head.contains("refresh: 2"),
        "{head}"
    );
    assert!(
        page.contains("None of the 1 Pods of Deployment viewer-late is ready."),
        "{page}"
    );
    assert!(get(address, "/").1.contains("0 of 1 ready"));

    schedulable(&client, true).await;
    demo.until(|told| told["kind"] == "Deployment" && is_viewer(told, "ready"));
    let (head, page) = get(address, "/default/late/only%2Dpage.html");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(
        page.contains("<h1>Hi</h1>") && page.contains("&lt;script&gt;"),
        "{page}"
    );
    assert!(!page.contains("<script"), "{page}");

    demo.interrupt();
    let (status, _) = demo.end();
    assert_eq!(status.code(), Some(130));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn the_recording_is_small_and_stands_for_itself() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/demo.svg");
    let picture = std::fs::read_to_string(path).unwrap();
    assert!(picture.len() < 200 * 1024, "{} bytes", picture.len());
    for foreign in ["<script", "href", "@import", "url(http", "<image", "foreignObject"] {
        assert!(!picture.contains(foreign), "{foreign}");
    }
    for part in ["Create a MarkdownView", "denied", "Delete the view", "@keyframes"] {
        assert!(picture.contains(part), "{part}");
    }
}
