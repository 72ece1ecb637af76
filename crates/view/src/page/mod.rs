//! The page: what the model knows, on a port of this machine. [`access`] decides who may look.

mod access;
mod acts;
mod events;
mod explorations;
mod query;
mod respond;

use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use kubewright_runtime::serve::{BindAddress, HttpResponse, HttpServer, Router};
use kubewright_runtime::stop::{Stop, Stopper};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::actions::{Abilities, Cluster};
use crate::model::{SharedModel, Version};
use access::Access;
use acts::Acts;
use query::Query;
use respond::{asset, json_page, refused};

/// A token is shorter.
const LONGEST_TOKEN: usize = 256;

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files of the page: path, content type, text.
const FILES: [(&str, &str, &str); 21] = [
    ("/", HTML, include_str!("files/index.html")),
    ("/style.css", STYLE, include_str!("files/style.css")),
    ("/main.js", SCRIPT, include_str!("files/main.js")),
    ("/dom.js", SCRIPT, include_str!("files/dom.js")),
    ("/list.js", SCRIPT, include_str!("files/list.js")),
    ("/session.js", SCRIPT, include_str!("files/session.js")),
    ("/reconciles.js", SCRIPT, include_str!("files/reconciles.js")),
    ("/objects.js", SCRIPT, include_str!("files/objects.js")),
    ("/between.js", SCRIPT, include_str!("files/between.js")),
    ("/object.js", SCRIPT, include_str!("files/object.js")),
    ("/edit.js", SCRIPT, include_str!("files/edit.js")),
    ("/logs.js", SCRIPT, include_str!("files/logs.js")),
    ("/travel.js", SCRIPT, include_str!("files/travel.js")),
    ("/explore.js", SCRIPT, include_str!("files/explore.js")),
    ("/play.js", SCRIPT, include_str!("files/play.js")),
    ("/operator.js", SCRIPT, include_str!("files/operator.js")),
    ("/requests.js", SCRIPT, include_str!("files/requests.js")),
    ("/plot.js", SCRIPT, include_str!("files/plot.js")),
    ("/webhooks.js", SCRIPT, include_str!("files/webhooks.js")),
    ("/story.js", SCRIPT, include_str!("files/story.js")),
    ("/warnings.js", SCRIPT, include_str!("files/warnings.js")),
];

/// The page, as long as it is served.
pub struct Page {
    link: String,
    stopper: Stopper,
    serving: JoinHandle<()>,
}

/// What a page shows, and what can be done from it.
#[derive(Clone)]
pub struct PageContent {
    /// What it is of, as its title says: `kubewright dev`.
    pub title: String,
    /// What is shown.
    pub model: SharedModel,
    /// Where something can be done.
    pub cluster: Arc<dyn Cluster>,
    /// Where reports of explorations are.
    pub explorations: Option<PathBuf>,
}

/// What is shown, and to whom.
struct Shown {
    access: Access,
    title: String,
    model: SharedModel,
    acts: Acts,
    explorations: Option<PathBuf>,
    stop: Stop,
}

impl Page {
    /// Serves the page on a port of this machine; 0 picks a free one.
    pub async fn start(port: u16, content: PageContent) -> io::Result<Self> {
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
            title: content.title,
            acts: Acts {
                cluster: content.cluster,
                model: content.model.clone(),
                stop: stop.clone(),
            },
            model: content.model,
            explorations: content.explorations,
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
        if request.method() == Method::POST && Acts::takes(path) {
            if let Some(refusal) = self.access.refuse_stranger(request.headers()) {
                return refusal;
            }
            let path = path.to_owned();
            return self.acts.act(&path, request.into_body()).await;
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
            "/api/between" => self.between(&query),
            "/api/object" => self.object(&query),
            "/api/difference" => self.difference(&query),
            "/api/reconcile" => self.reconcile(&query),
            "/api/about" => self.about(),
            "/api/events" => self.acts.events(&query).await,
            "/api/logs" => self.acts.logs(&query).await,
            "/api/explorations" => self.explorations(&query).await,
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

    /// What became of the cluster between two revisions.
    fn between(&self, query: &Query<'_>) -> HttpResponse {
        match (query.number("from"), query.number("to")) {
            (Some(from), Some(to)) => json_page(&self.model.read(|model| model.between(from, to))),
            _ => refused(StatusCode::BAD_REQUEST, "from and to have to be numbers"),
        }
    }

    /// What this is a page of, and what can be done from it.
    fn about(&self) -> HttpResponse {
        let Abilities { writes, forks } = self.acts.cluster.abilities();
        let explores = self.explorations.is_some();
        json_page(&json!({ "title": self.title, "writes": writes, "forks": forks, "explores": explores }))
    }

    /// One object by its uid, as it is or as it was at a revision, and when it changed.
    fn object(&self, query: &Query<'_>) -> HttpResponse {
        let (uid, revision) = (query.text("uid"), query.number("revision"));
        match self.model.read(|model| model.object_detail(&uid, revision)) {
            Some(detail) => json_page(&detail),
            None => refused(StatusCode::NOT_FOUND, "the object is not known"),
        }
    }

    /// What differs between an object at two revisions.
    fn difference(&self, query: &Query<'_>) -> HttpResponse {
        let (Some(from), Some(to)) = (query.number("from"), query.number("to")) else {
            return refused(StatusCode::BAD_REQUEST, "from and to have to be numbers");
        };
        match self.model.read(|model| model.difference(&query.text("uid"), from, to)) {
            Some(difference) => json_page(&difference),
            None => refused(StatusCode::NOT_FOUND, "the object is not known"),
        }
    }

    /// One reconcile, by its id.
    fn reconcile(&self, query: &Query<'_>) -> HttpResponse {
        let id = query.text("id").parse().ok();
        match id.and_then(|id| self.model.read(|model| model.reconcile_detail(id))) {
            Some(detail) => json_page(&detail),
            None => refused(StatusCode::NOT_FOUND, "the reconcile is not kept any more"),
        }
    }

    /// Reports of explorations: all, or one by its name.
    async fn explorations(&self, query: &Query<'_>) -> HttpResponse {
        let Some(folder) = self.explorations.clone() else {
            return refused(StatusCode::NOT_FOUND, "there are no explorations here");
        };
        let name = query.text("name");
        let read = move || {
            if name.is_empty() {
                Some(explorations::list(&folder))
            } else {
                explorations::report(&folder, &name)
            }
        };
        match tokio::task::spawn_blocking(read).await {
            Ok(Some(read)) => json_page(&read),
            _ => refused(StatusCode::NOT_FOUND, "there is no such report"),
        }
    }
}
