//! The page: what the model knows, on a port of this machine. [`access`] decides who may look.

mod access;
mod events;
mod query;
mod respond;

use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};

use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use kubewright_runtime::serve::{BindAddress, HttpResponse, HttpServer, Router};
use kubewright_runtime::stop::{Stop, Stopper};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::model::{SharedModel, Version};
use access::Access;
use query::Query;
use respond::{asset, json_page, refused};

/// A token is shorter.
const LONGEST_TOKEN: usize = 256;

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files of the page: path, content type, text.
const FILES: [(&str, &str, &str); 13] = [
    ("/", HTML, include_str!("files/index.html")),
    ("/style.css", STYLE, include_str!("files/style.css")),
    ("/main.js", SCRIPT, include_str!("files/main.js")),
    ("/dom.js", SCRIPT, include_str!("files/dom.js")),
    ("/list.js", SCRIPT, include_str!("files/list.js")),
    ("/session.js", SCRIPT, include_str!("files/session.js")),
    ("/reconciles.js", SCRIPT, include_str!("files/reconciles.js")),
    ("/objects.js", SCRIPT, include_str!("files/objects.js")),
    ("/operator.js", SCRIPT, include_str!("files/operator.js")),
    ("/requests.js", SCRIPT, include_str!("files/requests.js")),
    ("/plot.js", SCRIPT, include_str!("files/plot.js")),
    ("/webhooks.js", SCRIPT, include_str!("files/webhooks.js")),
    ("/warnings.js", SCRIPT, include_str!("files/warnings.js")),
];

/// The page, as long as it is served.
pub struct Page {
    link: String,
    stopper: Stopper,
    serving: JoinHandle<()>,
}

/// What is shown, and to whom.
struct Shown {
    access: Access,
    model: SharedModel,
    stop: Stop,
}

impl Page {
    /// Serves the page on a port of this machine; 0 picks a free one.
    pub async fn start(port: u16, model: SharedModel) -> io::Result<Self> {
        // The routes are known before the port is, on which the access depends.
        let shown: Arc<OnceLock<Shown>> = Arc::default();
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
        let _ = shown.set(Shown {
            access,
            model,
            stop: stop.clone(),
        });
        let serving = tokio::spawn(http.run(stop));
        Ok(Page { link, stopper, serving })
    }

    /// Where it is, with the token that lets one in.
    pub fn link(&self) -> &str {
        &self.link
    }

    /// Stops serving.
    pub async fn stop(self) {
        self.stopper.stop();
        // One that failed has nothing more to do either.
        let _ = self.serving.await;
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
        let query = Query::of(request.uri());
        match path {
            "/api/news" => events::news(self.model.clone(), self.stop.clone()),
            "/api/tree" => self.tree(&query),
            "/api/object" => self.object(&query),
            "/api/reconcile" => self.reconcile(&query),
            _ => refused(StatusCode::NOT_FOUND, "there is no such page"),
        }
    }

    /// All objects as they were at a revision.
    fn tree(&self, query: &Query<'_>) -> HttpResponse {
        let Some(revision) = query.number("revision") else {
            return refused(StatusCode::BAD_REQUEST, "revision has to be a number");
        };
        let objects = self.model.read(|model| {
            let versions = model.archive.all_at(revision);
            versions.map(Version::shown).collect::<Vec<_>>()
        });
        json_page(&json!({ "revision": revision, "objects": objects }))
    }

    /// One object by its uid, as it is or as it was at a revision, and when it changed.
    fn object(&self, query: &Query<'_>) -> HttpResponse {
        let (uid, revision) = (query.text("uid"), query.number("revision"));
        let found = self.model.read(|model| {
            let archive = &model.archive;
            let version = archive.at(&uid, revision.unwrap_or(u64::MAX))?.clone();
            let moments = archive.versions(&uid).map(Version::moment).collect::<Vec<_>>();
            Some((version, moments))
        });
        let Some((version, moments)) = found else {
            return refused(StatusCode::NOT_FOUND, "the object is not known");
        };
        let yaml = kubewright_codec::yaml::encode(&version.object());
        json_page(&json!({ "object": version.shown(), "yaml": yaml, "moments": moments }))
    }

    /// One reconcile, by its id.
    fn reconcile(&self, query: &Query<'_>) -> HttpResponse {
        let id = query.text("id").parse().ok();
        let found = id.and_then(|id| self.model.read(|model| Some(model.timeline.get(id)?.detail())));
        match found {
            Some(detail) => json_page(&detail),
            None => refused(StatusCode::NOT_FOUND, "the reconcile is not kept any more"),
        }
    }
}
