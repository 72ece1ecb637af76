//! What watches cost: the memory of those in which nothing happens, and the writes of another client beside them and beside watches that
//! nobody reads. Each has a connection of its own, with HTTP/1.1.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http::Method;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::client::{Credentials, Failure};
use crate::endpoint::Endpoint;
use crate::peer::Peer;
use crate::report::number;
use crate::work::{NAMESPACE, make_namespace, one, request};

/// A namespace in which nothing happens.
const QUIET: &str = "quiet";
/// How many objects are written to, and how long the text in each is.
const OBJECTS: usize = 100;
const LONG: usize = 20_000;
/// How many writes are counted, and how long they may take: a server that does nothing else is measured for a shorter time than one beside
/// thousands of watches.
const WRITES: usize = 500;
const WRITING: Duration = Duration::from_secs(20);
/// How many connections are opened at a time.
const OPENING: usize = 16;
/// How long a server has before its memory is read, after connections were closed.
const SETTLING: Duration = Duration::from_mins(1);

/// The figures of one server.
struct WatchFigures {
    filled: u64,
    alone: Writes,
    idle: u64,
    beside_idle: Writes,
    after_idle: u64,
    beside_unread: Writes,
    highest: u64,
    after_unread: u64,
}

/// Writes of one client, one after another.
struct Writes {
    per_second: f64,
    slowest: Duration,
}

/// Measures servers one after another.
pub(crate) async fn table(servers: &[(&str, &Peer)], idle: usize, unread: usize) -> Result<String, Failure> {
    let mut text = String::from("| |");
    let mut columns = Vec::new();
    for (name, peer) in servers {
        eprintln!("bench: watches of {name} …");
        let _ = write!(text, " {name} |");
        columns.push(measure(peer, idle, unread).await?);
    }
    let _ = write!(text, "\n|---|{}", "---:|".repeat(servers.len()));
    let megabytes = |bytes: u64| format!("{} MB", number(bytes as f64 / 1e6));
    let writes = |writes: &Writes| {
        format!(
            "{} /s, slowest {} ms",
            number(writes.per_second),
            number(writes.slowest.as_secs_f64() * 1e3)
        )
    };
    let times = |now: u64, before: u64| format!("{} ({:.2}×)", megabytes(now), now as f64 / before.max(1) as f64);
    let mut row = |name: String, value: &dyn Fn(&WatchFigures) -> String| {
        let _ = write!(text, "\n| {name} |");
        for figures in &columns {
            let _ = write!(text, " {} |", value(figures));
        }
    };
    row(format!("with {OBJECTS} ConfigMaps of 20 KB"), &|it| {
        megabytes(it.filled)
    });
    row("writes of one client".to_owned(), &|it| writes(&it.alone));
    row(format!("with {idle} idle watches"), &|it| {
        let each = it.idle.saturating_sub(it.filled) as f64 / 1e3 / idle.max(1) as f64;
        format!("{}, {} KB each", megabytes(it.idle), number(each))
    });
    row("writes beside them".to_owned(), &|it| writes(&it.beside_idle));
    row("a minute after they were closed".to_owned(), &|it| {
        times(it.after_idle, it.filled)
    });
    row(format!("writes beside {unread} unread watches"), &|it| {
        writes(&it.beside_unread)
    });
    row("the most memory so far".to_owned(), &|it| times(it.highest, it.filled));
    row("a minute after they were closed".to_owned(), &|it| {
        times(it.after_unread, it.filled)
    });
    Ok(text)
}

async fn measure(peer: &Peer, idle: usize, unread: usize) -> Result<WatchFigures, Failure> {
    let endpoint = Endpoint::Tls(peer.credentials.clone());
    make_namespace(&endpoint).await?;
    let collection = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
    for i in 0..OBJECTS {
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"cm-{i}"}},"data":{{"text":"{}"}}}}"#,
            "x".repeat(LONG)
        );
        one(&endpoint, Method::POST, &collection, "application/json", body).await?;
    }
    let alone = write(&endpoint, &collection).await?;
    let filled = peer.memory();

    let quiet = format!("/api/v1/namespaces/{QUIET}/configmaps?watch=1");
    let watches = open(&peer.credentials, &quiet, idle).await?;
    let with_idle = peer.memory();
    let beside_idle = write(&endpoint, &collection).await?;
    drop(watches);
    tokio::time::sleep(SETTLING).await;
    let after_idle = peer.memory();

    let watches = open(&peer.credentials, &format!("{collection}?watch=1"), unread).await?;
    let beside_unread = write(&endpoint, &collection).await?;
    let highest = peer.highest_memory();
    drop(watches);
    tokio::time::sleep(SETTLING).await;
    Ok(WatchFigures {
        filled,
        alone,
        idle: with_idle,
        beside_idle,
        after_idle,
        beside_unread,
        highest,
        after_unread: peer.memory(),
    })
}

/// Opens watches of which only the head of the answer is read.
async fn open(credentials: &Credentials, path: &str, count: usize) -> Result<Vec<TlsStream<TcpStream>>, Failure> {
    stream::iter((0..count).map(|_| credentials.ask(path)))
        .buffer_unordered(OPENING)
        .try_collect()
        .await
}

/// Writes to the objects in turn, on a connection that is new: servers close those on which nothing is asked for 90 seconds.
async fn write(endpoint: &Endpoint, collection: &str) -> Result<Writes, Failure> {
    let mut client = endpoint.open().await?;
    let (began, mut count, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    while count < WRITES && began.elapsed() < WRITING {
        let body = format!(r#"{{"data":{{"count":"{count}-{:?}"}}}}"#, began.elapsed());
        let path = format!("{collection}/cm-{}", count % OBJECTS);
        let request = request(endpoint, Method::PATCH, &path, "application/merge-patch+json", body)?;
        let sent = Instant::now();
        client.send(request).await?;
        slowest = slowest.max(sent.elapsed());
        count += 1;
    }
    Ok(Writes {
        per_second: count as f64 / began.elapsed().as_secs_f64(),
        slowest,
    })
}
