//! Kinds whose objects live elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use http::{Method, Request, StatusCode};
use http_body_util::BodyStream;
use kubewright_extension::{
    ApiServer, CreateRows, DeleteRows, ExtensionServer, RowError, RowStore, Rows, UpdateRows, WatchRows,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::kinds::{Reader, ReaderSpec};
use crate::support::{ask, get, send};

const READERS: &str = "/apis/library.example.com/v1/readers";

/// Readers in a table of a program, as a file or a database would have them.
#[derive(Clone, Default)]
struct Register(Arc<Inner>);

#[derive(Default)]
struct Inner {
    readers: Mutex<BTreeMap<String, u32>>,
    changed: Notify,
    lists: AtomicUsize,
    broken: Mutex<Option<RowError>>,
}

impl Register {
    fn put(&self, name: &str, books: u32) {
        self.0.readers.lock().insert(name.to_owned(), books);
        self.0.changed.notify_waiters();
    }

    fn remove(&self, name: &str) {
        self.0.readers.lock().remove(name);
        self.0.changed.notify_waiters();
    }

    fn check(&self) -> Result<(), RowError> {
        self.0.broken.lock().clone().map_or(Ok(()), Err)
    }
}

fn reader(name: &str, books: u32) -> Reader {
    Reader::new(name, ReaderSpec { books })
}

impl Rows<Reader> for Register {
    async fn list(&self, _namespace: Option<&str>) -> Result<Vec<Reader>, RowError> {
        self.0.lists.fetch_add(1, Ordering::Relaxed);
        self.check()?;
        let readers = self.0.readers.lock();
        Ok(readers.iter().map(|(name, books)| reader(name, *books)).collect())
    }
}

impl WatchRows<Reader> for Register {
    async fn changed(&self) {
        self.0.changed.notified().await;
    }
}

impl CreateRows<Reader> for Register {
    async fn create(&self, object: Reader) -> Result<Reader, RowError> {
        let name = object.metadata.name.clone().unwrap_or_default();
        if self.0.readers.lock().contains_key(&name) {
            return Err(RowError::Exists);
        }
        self.put(&name, object.spec.books);
        Ok(object)
    }
}

impl UpdateRows<Reader> for Register {
    async fn update(&self, object: Reader) -> Result<Reader, RowError> {
        if object.spec.books > 10 {
            return Err(RowError::Forbidden("nobody may have more than ten books".to_owned()));
        }
        self.put(object.metadata.name.as_deref().unwrap_or_default(), object.spec.books);
        Ok(object)
    }
}

impl DeleteRows<Reader> for Register {
    async fn delete(&self, _namespace: Option<&str>, name: &str) -> Result<(), RowError> {
        self.remove(name);
        Ok(())
    }
}

async fn read_only(register: &Register) -> ApiServer {
    let rows = RowStore::<Reader, _>::new(register.clone());
    ExtensionServer::new().rows(rows).local_server().await.unwrap()
}

async fn writable(register: &Register) -> ApiServer {
    let rows = RowStore::<Reader, _>::new(register.clone())
        .watch()
        .create()
        .update()
        .delete();
    ExtensionServer::new().rows(rows).local_server().await.unwrap()
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn rows_are_read_when_they_are_asked_for() {
    let register = Register::default();
    register.put("jane", 3);
    let server = read_only(&register).await;
    let (status, jane) = get(&server, &format!("{READERS}/jane")).await;
    assert_eq!((status, &jane["spec"]["books"]), (StatusCode::OK, &json!(3)), "{jane}");
    assert_eq!(
        (&jane["kind"], &jane["apiVersion"]),
        (&json!("Reader"), &json!("library.example.com/v1"))
    );
    let uid = jane["metadata"]["uid"].clone();
    assert_eq!(uid.as_str().unwrap().len(), 36);
    register.put("jane", 4);
    register.put("emma", 1);
    let (_, list) = get(&server, READERS).await;
    assert_eq!(names(&list), ["emma", "jane"]);
    assert_eq!(list["items"][1]["spec"]["books"], 4);
    assert_eq!(list["items"][1]["metadata"]["uid"], uid);
    register.remove("jane");
    assert_eq!(get(&server, &format!("{READERS}/jane")).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn discovery_says_what_can_be_done_and_nothing_else_can() {
    let register = Register::default();
    register.put("jane", 3);
    let server = read_only(&register).await;
    let (_, list) = get(&server, "/apis/library.example.com/v1").await;
    assert_eq!(list["resources"][0]["verbs"], json!(["get", "list"]));
    for (method, path) in [
        (Method::POST, READERS.to_owned()),
        (Method::PUT, format!("{READERS}/jane")),
        (Method::PATCH, format!("{READERS}/jane")),
        (Method::DELETE, format!("{READERS}/jane")),
        (Method::DELETE, READERS.to_owned()),
        (Method::GET, format!("{READERS}?watch=true")),
    ] {
        let (status, refused) = ask(&server, method.clone(), &path, json!({})).await;
        assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}: {refused}");
    }
    let (_, document) = get(&server, "/openapi/v3/apis/library.example.com/v1").await;
    let item = &document["paths"]["/apis/library.example.com/v1/readers/{name}"];
    assert!(
        item["get"].is_object() && item["put"].is_null() && item["delete"].is_null(),
        "{item}"
    );
    let (_, list) = get(&writable(&register).await, "/apis/library.example.com/v1").await;
    assert_eq!(list["resources"][0]["verbs"].as_array().unwrap().len(), 8);
}

#[tokio::test]
async fn selectors_pages_and_tables_work_on_rows() {
    let register = Register::default();
    for (name, books) in [("ann", 1), ("bob", 2), ("cid", 3)] {
        register.put(name, books);
    }
    let server = read_only(&register).await;
    let (_, list) = get(&server, &format!("{READERS}?fieldSelector=metadata.name%3Dbob")).await;
    assert_eq!(names(&list), ["bob"]);
    let (_, page) = get(&server, &format!("{READERS}?limit=2")).await;
    assert_eq!(names(&page), ["ann", "bob"]);
    // The next page is of the same list, whatever happens to the rows.
    register.remove("cid");
    let next = page["metadata"]["continue"].as_str().unwrap();
    let (_, page) = get(&server, &format!("{READERS}?limit=2&continue={next}")).await;
    assert_eq!(names(&page), ["cid"]);
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let (_, table) = send(&server, Method::GET, READERS, &accept, Value::Null).await;
    assert_eq!(table["rows"][0]["cells"][1], 1);
}

#[tokio::test]
async fn the_resource_version_changes_only_when_rows_do() {
    let register = Register::default();
    register.put("jane", 3);
    let server = read_only(&register).await;
    let version = |list: &Value| list["items"][0]["metadata"]["resourceVersion"].clone();
    let (_, first) = get(&server, READERS).await;
    let (_, second) = get(&server, READERS).await;
    assert_eq!(version(&first), version(&second));
    register.put("jane", 4);
    let (_, third) = get(&server, READERS).await;
    assert_ne!(version(&first), version(&third));
}

#[tokio::test]
async fn writes_go_through_validation_to_the_rows() {
    let register = Register::default();
    let server = writable(&register).await;
    let jane = json!({
        "apiVersion": "library.example.com/v1", "kind": "Reader", "metadata": { "name": "jane" }, "spec": { "books": 3 },
    });
    let (status, made) = ask(&server, Method::POST, READERS, jane.clone()).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    assert_eq!(register.0.readers.lock().get("jane"), Some(&3));
    let (status, again) = ask(&server, Method::POST, READERS, jane.clone()).await;
    assert_eq!(
        (status, &again["reason"]),
        (StatusCode::CONFLICT, &json!("AlreadyExists"))
    );
    let wrong = json!({ "spec": { "books": "many" } });
    let (status, _) = ask(&server, Method::PATCH, &format!("{READERS}/jane"), wrong).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let more = json!({ "spec": { "books": 4 } });
    let (status, more) = ask(&server, Method::PATCH, &format!("{READERS}/jane"), more).await;
    assert_eq!((status, &more["spec"]["books"]), (StatusCode::OK, &json!(4)), "{more}");
    assert_eq!(register.0.readers.lock().get("jane"), Some(&4));
    let (status, refused) = ask(
        &server,
        Method::PATCH,
        &format!("{READERS}/jane"),
        json!({ "spec": { "books": 11 } }),
    )
    .await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(
        refused["message"].as_str().unwrap().contains("more than ten"),
        "{refused}"
    );
    let dry = ask(
        &server,
        Method::DELETE,
        &format!("{READERS}/jane?dryRun=All"),
        Value::Null,
    )
    .await;
    assert_eq!(dry.0, StatusCode::OK);
    assert!(register.0.readers.lock().contains_key("jane"));
    let (status, _) = ask(&server, Method::DELETE, &format!("{READERS}/jane"), Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    assert!(register.0.readers.lock().is_empty());
}

#[tokio::test]
async fn apply_makes_a_row_and_changes_it() {
    let register = Register::default();
    let server = writable(&register).await;
    let applied = |books: u32| {
        json!({
            "apiVersion": "library.example.com/v1", "kind": "Reader",
            "metadata": { "name": "jane" }, "spec": { "books": books },
        })
    };
    let path = format!("{READERS}/jane?fieldManager=me&force=true");
    let (status, made) = ask(&server, Method::PATCH, &path, applied(1)).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    let (status, made) = ask(&server, Method::PATCH, &path, applied(2)).await;
    assert_eq!(status, StatusCode::OK, "{made}");
    assert_eq!(register.0.readers.lock().get("jane"), Some(&2));
}

#[tokio::test]
async fn a_stale_update_is_a_conflict() {
    let register = Register::default();
    register.put("jane", 1);
    let server = writable(&register).await;
    let (_, mut jane) = get(&server, &format!("{READERS}/jane")).await;
    register.put("jane", 2); // somebody else, behind the server's back
    jane["spec"]["books"] = 9.into();
    let (status, refused) = ask(&server, Method::PUT, &format!("{READERS}/jane"), jane).await;
    assert_eq!(
        (status, &refused["reason"]),
        (StatusCode::CONFLICT, &json!("Conflict")),
        "{refused}"
    );
    assert_eq!(register.0.readers.lock().get("jane"), Some(&2));
}

#[tokio::test]
async fn a_watch_tells_what_changed_elsewhere() {
    let register = Register::default();
    register.put("jane", 1);
    let server = writable(&register).await;
    let request = Request::get(format!("{READERS}?watch=true&timeoutSeconds=20"))
        .body(bytes::Bytes::default())
        .unwrap();
    let response = server.handle(request).await;
    assert_eq!(response.status(), StatusCode::OK);
    let mut frames = BodyStream::new(response.into_body());
    let mut seen = Vec::new();
    let mut next = async |seen: &mut Vec<String>, wanted: &str| {
        while !seen.iter().any(|event| event == wanted) {
            let frame = tokio::time::timeout(Duration::from_secs(20), frames.next()).await;
            let frame = frame.expect("an event in time").expect("the watch goes on").unwrap();
            for line in frame
                .into_data()
                .unwrap()
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
            {
                let event: Value = serde_json::from_slice(line).unwrap();
                let books = &event["object"]["spec"]["books"];
                seen.push(format!("{} {books}", event["type"].as_str().unwrap()));
            }
        }
    };
    next(&mut seen, "ADDED 1").await;
    register.put("jane", 2);
    next(&mut seen, "MODIFIED 2").await;
    register.remove("jane");
    next(&mut seen, "DELETED 2").await;
    assert_eq!(seen, ["ADDED 1", "MODIFIED 2", "DELETED 2"]);
}

#[tokio::test]
async fn rows_are_not_followed_once_nobody_watches() {
    let register = Register::default();
    let server = writable(&register).await;
    let request = Request::get(format!("{READERS}?watch=true"))
        .body(bytes::Bytes::default())
        .unwrap();
    let response = server.handle(request).await;
    drop(response);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = register.0.lists.load(Ordering::Relaxed);
    register.put("jane", 1);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(register.0.lists.load(Ordering::Relaxed), before);
}

#[tokio::test]
async fn rows_that_cannot_be_had_are_an_error_in_the_words_of_their_owner() {
    let register = Register::default();
    let server = read_only(&register).await;
    *register.0.broken.lock() = Some(RowError::Unavailable("the library is closed".to_owned()));
    let (status, refused) = get(&server, READERS).await;
    assert_eq!(
        (status, &refused["message"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("the library is closed"))
    );
    *register.0.broken.lock() = None;
    register.put("../etc", 1);
    let (status, refused) = get(&server, READERS).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        refused["message"].as_str().unwrap().contains("which no path can have"),
        "{refused}"
    );
}

#[tokio::test]
async fn lists_that_wait_for_each_other_ask_once() {
    let register = Register::default();
    for at in 0..50 {
        register.put(&format!("reader-{at}"), at);
    }
    let server = read_only(&register).await;
    let lists = (0..20).map(|_| get(&server, READERS));
    let answers = futures_util::future::join_all(lists).await;
    assert!(
        answers
            .iter()
            .all(|(status, list)| *status == StatusCode::OK && names(list).len() == 50)
    );
    assert!(register.0.lists.load(Ordering::Relaxed) <= 20);
}

/// Rows that never answer.
struct Stuck;

impl Rows<Reader> for Stuck {
    async fn list(&self, _namespace: Option<&str>) -> Result<Vec<Reader>, RowError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn rows_that_never_answer_hold_nobody_up_for_ever() {
    let rows = RowStore::<Reader, _>::new(Stuck);
    let server = ExtensionServer::new().rows(rows).local_server().await.unwrap();
    let (first, second) = tokio::join!(get(&server, READERS), get(&server, READERS));
    for (status, refused) in [first, second] {
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{refused}");
    }
}

/// Readers that take a tenth of a second each, but for `a`, which takes for ever.
#[derive(Clone, Default)]
struct Slow {
    gets: Arc<AtomicUsize>,
}

const EACH: Duration = Duration::from_millis(100);

impl Rows<Reader> for Slow {
    async fn list(&self, _namespace: Option<&str>) -> Result<Vec<Reader>, RowError> {
        Err(RowError::Unavailable("the list is lost".to_owned()))
    }

    async fn get(&self, _namespace: Option<&str>, name: &str) -> Result<Option<Reader>, RowError> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        if name == "a" {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(EACH).await;
        Ok(Some(reader(name, 1)))
    }
}

impl WatchRows<Reader> for Slow {
    async fn changed(&self) {}
}

async fn slow(slow: &Slow) -> ApiServer {
    let rows = RowStore::<Reader, _>::new(slow.clone()).watch();
    ExtensionServer::new().rows(rows).local_server().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn gets_do_not_wait_for_one_another() {
    let server = slow(&Slow::default()).await;
    let began = tokio::time::Instant::now();
    let paths: Vec<String> = (0..50).map(|at| format!("{READERS}/reader-{at}")).collect();
    let answers = futures_util::future::join_all(paths.iter().map(|path| get(&server, path))).await;
    assert!(answers.iter().all(|(status, _)| *status == StatusCode::OK));
    assert!(began.elapsed() < EACH * 2, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn gets_of_one_row_share_the_next_look_at_it() {
    let rows = Slow::default();
    let server = slow(&rows).await;
    let began = tokio::time::Instant::now();
    let path = format!("{READERS}/jane");
    let answers = futures_util::future::join_all((0..50).map(|_| get(&server, &path))).await;
    assert!(answers.iter().all(|(status, _)| *status == StatusCode::OK));
    // What was being read when they asked may be older than they are, so all but the first are answered by the second look.
    assert_eq!(rows.gets.load(Ordering::Relaxed), 2);
    assert!(began.elapsed() < EACH * 3, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_row_that_never_answers_delays_no_other_and_not_beyond_the_deadline() {
    let server = slow(&Slow::default()).await;
    let began = tokio::time::Instant::now();
    let path = format!("{READERS}/a?timeout=5s");
    let hung = async {
        let (status, refused) = get(&server, &path).await;
        assert_eq!(status, StatusCode::GATEWAY_TIMEOUT, "{refused}");
        began.elapsed()
    };
    let other = async {
        let (status, _) = get(&server, &format!("{READERS}/b")).await;
        assert_eq!(status, StatusCode::OK);
        began.elapsed()
    };
    let (hung, other) = tokio::join!(hung, other);
    assert!(other < EACH * 2, "{other:?}");
    assert!(
        (Duration::from_secs(5)..Duration::from_secs(6)).contains(&hung),
        "{hung:?}"
    );
    // Nothing of the request that was given up holds the next one up.
    assert_eq!(get(&server, &path).await.0, StatusCode::GATEWAY_TIMEOUT);
}

/// A list that waits until it is let go on, and reads of single rows that do not.
#[derive(Clone, Default)]
struct Overtaken {
    register: Register,
    began: Arc<Notify>,
    goes_on: Arc<Notify>,
}

impl Rows<Reader> for Overtaken {
    async fn list(&self, namespace: Option<&str>) -> Result<Vec<Reader>, RowError> {
        let rows = self.register.list(namespace).await;
        self.began.notify_one();
        self.goes_on.notified().await;
        rows
    }

    async fn get(&self, namespace: Option<&str>, name: &str) -> Result<Option<Reader>, RowError> {
        let rows = self.register.list(namespace).await?;
        Ok(rows.into_iter().find(|row| row.metadata.name.as_deref() == Some(name)))
    }
}

impl UpdateRows<Reader> for Overtaken {
    async fn update(&self, object: Reader) -> Result<Reader, RowError> {
        self.register.update(object).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_does_not_undo_what_was_seen_and_written_while_it_was_read() {
    let overtaken = Overtaken::default();
    for name in ["seen", "written", "gone", "left"] {
        overtaken.register.put(name, 1);
    }
    let rows = RowStore::<Reader, _>::new(overtaken.clone()).update();
    let server = ExtensionServer::new().rows(rows).local_server().await.unwrap();
    let list = get(&server, READERS);
    let meanwhile = async {
        overtaken.began.notified().await;
        overtaken.register.put("seen", 2);
        overtaken.register.remove("gone");
        get(&server, &format!("{READERS}/seen")).await;
        get(&server, &format!("{READERS}/gone")).await;
        let more = json!({ "spec": { "books": 2 } });
        let (status, _) = ask(&server, Method::PATCH, &format!("{READERS}/written"), more).await;
        assert_eq!(status, StatusCode::OK);
        overtaken.goes_on.notify_one();
    };
    let ((_, list), ()) = tokio::join!(list, meanwhile);
    let books: Vec<(&str, u64)> = names(&list)
        .into_iter()
        .zip(list["items"].as_array().unwrap())
        .map(|(name, item)| (name, item["spec"]["books"].as_u64().unwrap()))
        .collect();
    assert_eq!(books, [("left", 1), ("seen", 2), ("written", 2)]);
}

/// What is logged in this thread.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_whose_rows_cannot_be_read_says_so_once() {
    let logged = Logged::default();
    let writer = logged.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let register = Register::default();
    let server = writable(&register).await;
    let request = Request::get(format!("{READERS}?watch=true")).body(bytes::Bytes::new());
    let watch = server.handle(request.unwrap()).await;
    assert_eq!(watch.status(), StatusCode::OK);
    *register.0.broken.lock() = Some(RowError::Unavailable("the library is closed".to_owned()));
    for _ in 0..5 {
        register.0.changed.notify_waiters();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let text = String::from_utf8(logged.0.lock().clone()).unwrap();
    assert_eq!(text.matches("the library is closed").count(), 1, "{text}");
    assert!(text.contains("WARN") && text.contains("readers"), "{text}");
}
