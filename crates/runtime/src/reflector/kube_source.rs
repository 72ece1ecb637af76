//! Lists and watches through `kube`'s client, as bytes: nothing is decoded here.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::core::params::{ListParams, WatchParams};
use kube::core::{Status, request};
use kubewright_system::same_process::SameProcess;
use serde::Deserialize;

use super::failure::Failure;
use super::source::{DEAD_AFTER, Frames, ListRequest, Source, WatchRequest};
use super::target::Target;

/// A longer frame is refused: no object is that large.
const LONGEST_FRAME: usize = 64 << 20;

/// For how many seconds a watch is asked for where nothing speaks for a shorter one; servers know a longest time of their own.
const YEAR: u32 = 365 * 24 * 60 * 60;

pub(super) struct KubeSource {
    client: kube::Client,
    target: Target,
    request: request::Request,
    /// Whether the server is in this process, as its last watch said. Then a watch lasts, and needs no bookmarks as signs of life: a
    /// virtual month in which nothing happens is over at once.
    same_process: AtomicBool,
}

impl KubeSource {
    pub(super) fn new(client: kube::Client, target: Target) -> Self {
        let request = request::Request::new(target.kind.path(target.namespace.as_deref()));
        KubeSource {
            client,
            target,
            request,
            same_process: AtomicBool::new(false),
        }
    }

    fn label_selector(&self) -> Option<String> {
        let labels = &self.target.labels;
        (!labels.is_everything()).then(|| labels.to_string())
    }

    async fn send(&self, request: Result<Request<Vec<u8>>, request::Error>) -> Result<Response<Body>, Failure> {
        let request = request.map_err(Failure::transport)?;
        let response = self
            .client
            .send(request.map(Body::from))
            .await
            .map_err(|error| match error {
                kube::Error::Api(status) => Failure::Status(status),
                other => Failure::transport(other),
            })?;
        let code = response.status();
        if code.is_success() {
            return Ok(response);
        }
        let body = text(response).await?;
        // A path that does not exist is answered in plain text.
        let status = serde_json::from_slice::<Status>(&body)
            .unwrap_or_else(|_| Status::failure(String::from_utf8_lossy(&body).trim(), "").with_code(code.as_u16()));
        let code = if status.code == 0 { code.as_u16() } else { status.code };
        Err(Failure::Status(status.with_code(code).boxed()))
    }
}

/// What discovery says of a group version, as far as it matters here.
#[derive(Deserialize)]
struct Discovered {
    resources: Vec<DiscoveredResource>,
}

#[derive(Deserialize)]
struct DiscoveredResource {
    name: String,
}

async fn text(response: Response<Body>) -> Result<Bytes, Failure> {
    let body = response.into_body().collect().await.map_err(Failure::transport)?;
    Ok(body.to_bytes())
}

impl Source for KubeSource {
    type Frames = KubeFrames;

    async fn list(&self, request: &ListRequest) -> Result<Bytes, Failure> {
        let params = ListParams {
            label_selector: self.label_selector(),
            field_selector: self.target.fields.clone(),
            limit: request.limit,
            continue_token: Some(request.continue_token.clone()).filter(|token| !token.is_empty()),
            ..ListParams::default()
        };
        let request = if self.target.metadata_only {
            self.request.list_metadata(&params)
        } else {
            self.request.list(&params)
        };
        text(self.send(request).await?).await
    }

    async fn is_served(&self) -> Result<bool, Failure> {
        let kind = &self.target.kind;
        let request = Request::get(kind.group_version_path()).body(Vec::new());
        let response = match self.send(request.map_err(request::Error::BuildRequest)).await {
            Ok(response) => response,
            Err(failure) if failure.is_missing() => return Ok(false),
            Err(failure) => return Err(failure),
        };
        let discovered: Discovered = serde_json::from_slice(&text(response).await?).map_err(Failure::transport)?;
        Ok(discovered
            .resources
            .iter()
            .any(|resource| resource.name == kind.plural()))
    }

    async fn watch(&self, request: &WatchRequest) -> Result<KubeFrames, Failure> {
        let (from, send_initial_events) = match request {
            WatchRequest::State => ("", true),
            WatchRequest::After(revision) => (revision.as_str(), false),
        };
        // The bookmark that ends the state is one that has to be asked for.
        let lasts = !send_initial_events && self.same_process.load(Ordering::Relaxed);
        let params = WatchParams {
            label_selector: self.label_selector(),
            field_selector: self.target.fields.clone(),
            send_initial_events,
            bookmarks: !lasts,
            timeout: lasts.then_some(YEAR),
        };
        let request = if self.target.metadata_only {
            self.request.watch_metadata(&params, from)
        } else {
            self.request.watch(&params, from)
        };
        let request = request.map(|mut request| {
            // From 1.37 on servers compress each frame of a watch by itself, which decompressing clients do not expect.
            let identity = HeaderValue::from_static("identity");
            request.headers_mut().insert(header::ACCEPT_ENCODING, identity);
            request
        });
        let response = self.send(request).await?;
        let same_process = response.extensions().get::<SameProcess>().is_some();
        self.same_process.store(same_process, Ordering::Relaxed);
        let body = response.into_body().into_data_stream();
        Ok(KubeFrames {
            same_process,
            body: Box::pin(body.map(|chunk| chunk.map_err(Failure::transport))),
            buffer: BytesMut::new(),
            searched: 0,
        })
    }
}

/// The lines of a watch's body.
pub(super) struct KubeFrames {
    same_process: bool,
    body: Pin<Box<dyn Stream<Item = Result<Bytes, Failure>> + Send>>,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line's end.
    searched: usize,
}

impl Frames for KubeFrames {
    fn longest_silence(&self) -> Option<Duration> {
        (!self.same_process).then_some(DEAD_AFTER)
    }

    async fn next(&mut self) -> Option<Result<Bytes, Failure>> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                let line = self.buffer.split_to(self.searched + end + 1).freeze();
                self.searched = 0;
                let line = line.slice(..line.len() - 1);
                if !line.is_empty() {
                    return Some(Ok(line));
                }
                continue;
            }
            self.searched = self.buffer.len();
            if self.searched > LONGEST_FRAME {
                return Some(Err(Failure::Transport("a watch frame is too long".to_owned())));
            }
            match self.body.next().await {
                Some(Ok(chunk)) => self.buffer.extend_from_slice(&chunk),
                Some(Err(failure)) => return Some(Err(failure)),
                // Half a line at the end is a cut connection; what it said will be said again.
                None => return None,
            }
        }
    }
}
