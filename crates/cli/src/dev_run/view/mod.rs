//! The page of `kubewright dev`: what happens in the operator and in the cluster, on a port of this machine.
//!
//! It has no source of its own: [`relay`] passes on the trace of the operator's debug endpoint, [`live`] follows the history of the API
//! server, of which [`objects`] makes what is shown. [`access`] decides who may look. Nothing can be changed from the page.

mod access;
mod live;
mod objects;
mod relay;
mod respond;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use kubewright_apiserver::ApiServer;
use kubewright_runtime::serve::{BindAddress, HttpResponse, HttpServer, Router};
use kubewright_runtime::stop::{Stop, Stopper};
use tokio::task::JoinHandle;

use access::Access;
use live::Live;
use respond::{asset, refused, typed};

/// A token is shorter.
const LONGEST_TOKEN: usize = 256;

/// The files of the page: path, content type, text.
const FILES: [(&str, &str, &str); 6] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_str!("page/style.css")),
    (
        "/main.js",
        "text/javascript; charset=utf-8",
        include_str!("page/main.js"),
    ),
    ("/dom.js", "text/javascript; charset=utf-8", include_str!("page/dom.js")),
    (
        "/reconciles.js",
        "text/javascript; charset=utf-8",
        include_str!("page/reconciles.js"),
    ),
    (
        "/objects.js",
        "text/javascript; charset=utf-8",
        include_str!("page/objects.js"),
    ),
];

/// The page, as long as it is served.
pub(super) struct View {
    link: String,
    stopper: Stopper,
    tasks: Vec<JoinHandle<()>>,
}

/// What is shown, and to whom.
struct Shown {
    access: Access,
    /// Where the operator serves its trace.
    operator: SocketAddr,
    /// The objects of the cluster, if it is in this process.
    live: Option<Live>,
    stop: Stop,
}

impl View {
    /// Serves the page on a port of this machine; 0 picks a free one.
    pub(super) async fn start(port: u16, operator: SocketAddr, server: Option<ApiServer>) -> io::Result<Self> {
        // The routes are known before the port is, on which the access depends.
        let shown: Arc<std::sync::OnceLock<Shown>> = Arc::default();
        let shared = Arc::clone(&shown);
        let router = Router::new().route("/", move |request: Request<Incoming>| {
            let shown = Arc::clone(&shared);
            async move {
                match shown.get() {
                    Some(shown) => shown.answer(request).await,
                    None => refused(StatusCode::SERVICE_UNAVAILABLE, "not yet"),
                }
            }
        });
        let address = BindAddress::At {
            host: Some(Ipv4Addr::LOCALHOST.to_string()),
            port,
        };
        let bound = HttpServer::bind(&address, router).await?;
        let http = bound.ok_or(io::ErrorKind::AddrNotAvailable)?;
        let (stopper, stop) = Stopper::new();
        let access = Access::new(http.address().port());
        let link = access.link();
        let mut tasks = Vec::new();
        let live = server.map(|server| {
            let live = Live::new(server.revision());
            tasks.push(tokio::spawn(live.clone().follow(server, stop.clone())));
            live
        });
        let _ = shown.set(Shown {
            access,
            operator,
            live,
            stop: stop.clone(),
        });
        tasks.push(tokio::spawn(http.run(stop)));
        Ok(View { link, stopper, tasks })
    }

    /// Where it is, with the token that lets one in.
    pub(super) fn link(&self) -> &str {
        &self.link
    }

    /// Stops serving.
    pub(super) async fn stop(self) {
        self.stopper.stop();
        for task in self.tasks {
            // One that failed has nothing more to do either.
            let _ = task.await;
        }
    }
}

impl Shown {
    async fn answer(&self, request: Request<Incoming>) -> HttpResponse {
        if let Some(refusal) = self.access.refuse_source(request.method(), request.headers()) {
            return refusal;
        }
        let path = request.uri().path();
        if request.method() == Method::POST && path == "/login" {
            return match Limited::new(request.into_body(), LONGEST_TOKEN).collect().await {
                Ok(token) => self.access.login(&token.to_bytes()),
                Err(_) => refused(StatusCode::PAYLOAD_TOO_LARGE, "that is no token"),
            };
        }
        if request.method() != Method::GET {
            return refused(StatusCode::METHOD_NOT_ALLOWED, "only GET");
        }
        if let Some((_, content_type, text)) = FILES.iter().find(|(file, ..)| *file == path) {
            return asset(content_type, text);
        }
        if let Some(refusal) = self.access.refuse_stranger(request.headers()) {
            return refusal;
        }
        match path {
            "/api/trace" => relay::trace(self.operator, self.stop.clone()).await,
            "/api/objects" => live::events(self.live.clone(), self.stop.clone()),
            "/api/object" => self.object(request.uri().query().unwrap_or_default()),
            _ => refused(StatusCode::NOT_FOUND, "there is no such page"),
        }
    }

    /// One object as YAML, by its uid.
    fn object(&self, query: &str) -> HttpResponse {
        let uid = query.strip_prefix("uid=").unwrap_or_default();
        match self.live.as_ref().and_then(|live| live.yaml(uid)) {
            Some(yaml) => typed(StatusCode::OK, "text/plain; charset=utf-8", yaml),
            None => refused(StatusCode::NOT_FOUND, "the object is not there"),
        }
    }
}
