//! The measured requests: the first `OpenAPI` document, then create, get, patch, apply, list, watch and delete of `ConfigMaps`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request};
use kubewright_apiserver::{ApiServer, Options};

use crate::client::Failure;
use crate::custom;
use crate::endpoint::Endpoint;
use crate::peer::Peer;
use crate::policy;
use crate::report::Figures;
use crate::webhook;

pub(crate) const NAMESPACE: &str = "bench";
const CONFIG_MAPS: &str = "/api/v1/namespaces/bench/configmaps";
/// How many creates are sent to measure the latency of a watch.
const WATCHED: usize = 500;
/// How often the collection is listed.
const LISTS: usize = 20;

pub(crate) async fn over_tls(peer: &Peer, objects: usize, clients: usize) -> Result<Figures, Failure> {
    let mut figures = all(&Endpoint::Tls(peer.credentials.clone()), objects, clients).await?;
    figures.start = Some(peer.started);
    figures.fresh_memory = Some(peer.fresh_memory);
    Ok(figures)
}

pub(crate) async fn in_process(objects: usize, clients: usize) -> Result<Figures, Failure> {
    // The first server of a process builds the bootstrap state; every further one forks it.
    let began = Instant::now();
    let server = ApiServer::new(Options::new());
    let started = began.elapsed();
    let mut figures = all(&Endpoint::InProcess(server), objects, clients).await?;
    figures.start = Some(started);
    Ok(figures)
}

/// The rates of custom resources only.
pub(crate) async fn custom_in_process(objects: usize, clients: usize) -> Result<String, Failure> {
    let endpoint = Endpoint::InProcess(ApiServer::new(Options::new()));
    make_namespace(&endpoint).await?;
    let figures = custom::all(&endpoint, objects, clients).await?;
    Ok(format!(
        "first {:?}, create {:.0}/s, get {:.0}/s, merge patch {:.0}/s, apply {:.0}/s, list {:.0}/s",
        figures.served, figures.create, figures.get, figures.patch, figures.apply, figures.list
    ))
}

pub(crate) async fn through_kube(objects: usize, clients: usize) -> Result<Figures, Failure> {
    let server = ApiServer::new(Options::new());
    all(&Endpoint::Kube(server.client()), objects, clients).await
}

async fn all(endpoint: &Endpoint, objects: usize, clients: usize) -> Result<Figures, Failure> {
    let began = Instant::now();
    one(endpoint, Method::GET, "/openapi/v2", "", String::new()).await?;
    let document = began.elapsed();
    make_namespace(endpoint).await?;
    let create = rate(endpoint, objects, clients, |i| {
        (Method::POST, CONFIG_MAPS.into(), "application/json", config_map(i))
    })
    .await?;
    let get = rate(endpoint, objects, clients, |i| {
        (Method::GET, path(i), "", String::new())
    })
    .await?;
    let patch = rate(endpoint, objects, clients, |i| {
        let body = format!(r#"{{"data":{{"patched":"{i}"}}}}"#);
        (
            Method::PATCH,
            format!("{}?fieldManager=bench", path(i)),
            "application/merge-patch+json",
            body,
        )
    })
    .await?;
    let apply = rate(endpoint, objects, clients, |i| {
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"cm-{i}"}},"data":{{"applied":"{i}"}}}}"#
        );
        (
            Method::PATCH,
            format!("{}?fieldManager=applier&force=true", path(i)),
            "application/apply-patch+yaml",
            body,
        )
    })
    .await?;
    let list = list_rate(endpoint, CONFIG_MAPS, objects).await?;
    let (p50, p99) = watch_latency(endpoint).await?;
    let began = Instant::now();
    let deleted = objects + WATCHED;
    one(endpoint, Method::DELETE, CONFIG_MAPS, "application/json", String::new()).await?;
    let delete = deleted as f64 / began.elapsed().as_secs_f64();
    Ok(Figures {
        start: None,
        fresh_memory: None,
        document,
        create,
        get,
        patch,
        apply,
        list,
        delete,
        p50,
        p99,
        policies: policy::create_rate(endpoint, objects, clients).await?,
        webhook: webhook::added(endpoint).await?,
        webhook_in_process: webhook::added_in_process(endpoint).await?,
        custom: custom::all(endpoint, objects, clients).await?,
    })
}

pub(crate) async fn make_namespace(endpoint: &Endpoint) -> Result<(), Failure> {
    let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{NAMESPACE}"}}}}"#);
    one(endpoint, Method::POST, "/api/v1/namespaces", "application/json", body).await?;
    Ok(())
}

fn path(i: usize) -> String {
    format!("{CONFIG_MAPS}/cm-{i}")
}

/// A `ConfigMap` of ordinary size.
pub(crate) fn config_map(i: usize) -> String {
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(4);
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"cm-{i}","labels":{{"app":"bench"}}}},"data":{{"key":"value-{i}","text":"{text}"}}}}"#
    )
}

pub(crate) fn request(
    endpoint: &Endpoint,
    method: Method,
    path: &str,
    content_type: &str,
    body: String,
) -> Result<Request<Bytes>, Failure> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("Host", "localhost")
        .header("User-Agent", "bench");
    if !content_type.is_empty() {
        request = request.header("Content-Type", content_type);
    }
    if let Some(value) = endpoint.authorization() {
        request = request.header("Authorization", value);
    }
    Ok(request.body(Bytes::from(body))?)
}

pub(crate) async fn one(
    endpoint: &Endpoint,
    method: Method,
    path: &str,
    content_type: &str,
    body: String,
) -> Result<usize, Failure> {
    endpoint
        .open()
        .await?
        .send(request(endpoint, method, path, content_type, body)?)
        .await
}

/// Requests per second of `count` requests by `clients` callers at once.
pub(crate) async fn rate(
    endpoint: &Endpoint,
    count: usize,
    clients: usize,
    make: impl Fn(usize) -> (Method, String, &'static str, String) + Send + Sync + 'static,
) -> Result<f64, Failure> {
    let make = Arc::new(make);
    let next = Arc::new(AtomicUsize::new(0));
    let mut opened = Vec::new();
    for _ in 0..clients {
        opened.push(endpoint.open().await?);
    }
    let began = Instant::now();
    let mut callers = Vec::new();
    for mut client in opened {
        let (make, next, endpoint) = (Arc::clone(&make), Arc::clone(&next), endpoint.clone());
        callers.push(tokio::spawn(async move {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= count {
                    return Ok::<(), Failure>(());
                }
                let (method, path, content_type, body) = make(i);
                client
                    .send(request(&endpoint, method, &path, content_type, body)?)
                    .await?;
            }
        }));
    }
    for caller in callers {
        caller.await??;
    }
    Ok(count as f64 / began.elapsed().as_secs_f64())
}

/// Objects listed per second by one client that counts bytes and decodes nothing.
pub(crate) async fn list_rate(endpoint: &Endpoint, path: &str, objects: usize) -> Result<f64, Failure> {
    let mut client = endpoint.open().await?;
    let began = Instant::now();
    for _ in 0..LISTS {
        client
            .send(request(endpoint, Method::GET, path, "", String::new())?)
            .await?;
    }
    Ok((objects * LISTS) as f64 / began.elapsed().as_secs_f64())
}

/// The time from sending a create to receiving its watch event, on a server that has nothing else to do.
async fn watch_latency(endpoint: &Endpoint) -> Result<(Duration, Duration), Failure> {
    let mut watching = endpoint.open().await?;
    let path = format!("{CONFIG_MAPS}?watch=1&labelSelector=watched");
    let mut frames = watching
        .stream(request(endpoint, Method::GET, &path, "", String::new())?)
        .await?
        .into_body();
    let mut writing = endpoint.open().await?;
    let mut taken = Vec::with_capacity(WATCHED);
    for i in 0..WATCHED {
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"w-{i}","labels":{{"watched":"yes"}}}}}}"#
        );
        let request = request(endpoint, Method::POST, CONFIG_MAPS, "application/json", body)?;
        let began = Instant::now();
        let (sent, seen) = tokio::join!(writing.send(request), async {
            let frame = frames.next().await;
            (frame, began.elapsed())
        });
        sent?;
        seen.0?.ok_or("the watch ended")?;
        taken.push(seen.1);
    }
    taken.sort_unstable();
    Ok((taken[WATCHED / 2], taken[WATCHED * 99 / 100]))
}
