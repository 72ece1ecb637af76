//! The pages of each `MarkdownView` on a port of this machine, as its viewer Pods would serve them.
//! [`views`] finds the documents in the cluster, [`markdown`] makes safe HTML of them, [`page`] puts it on a page.

mod markdown;
mod page;
mod views;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use http::{HeaderValue, Method, Request, StatusCode, header};
use hyper::body::Incoming;
use kubewright_apimachinery::url::{path_escape, unescape_valid};
use kubewright_runtime::informer::Cache;
use kubewright_runtime::serve::{BindAddress, HttpResponse, HttpServer, Router};
use kubewright_runtime::stop::Stop;
use views::{Lookup, Views};

/// Nothing is loaded but our own style and pictures, and nothing runs.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' https:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
const STYLE: &str = include_str!("style.css");

/// How often a page that cannot be shown yet is asked for again, in seconds.
const AGAIN: HeaderValue = HeaderValue::from_static("2");

/// Why pages cannot be served.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServeError {
    #[error("port {0} on 127.0.0.1 is in use; --port 0 picks a free one")]
    PortInUse(u16),
    #[error("cannot serve pages on port {port} of 127.0.0.1; --port 0 picks a free one")]
    Port { port: u16, source: io::Error },
}

impl ServeError {
    fn of(port: u16, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AddrInUse => ServeError::PortInUse(port),
            _ => ServeError::Port { port, source },
        }
    }
}

/// A port that is bound for pages. They are served once the informers are known.
pub(super) struct Pages {
    server: HttpServer,
    views: Arc<OnceLock<Views>>,
}

impl Pages {
    /// Binds the port.
    pub(super) async fn bind(port: u16) -> Result<Self, ServeError> {
        let views = Arc::new(OnceLock::new());
        let shared = Arc::clone(&views);
        let answer = move |request: Request<Incoming>| {
            let answer = shared.get().map_or_else(missing, |views| answer(views, &request));
            async move { answer }
        };
        let address = BindAddress::At {
            host: Some(Ipv4Addr::LOCALHOST.to_string()),
            port,
        };
        let bound = HttpServer::bind(&address, Router::new().route("/", answer)).await;
        // The address is never `Off`.
        let bound = bound.and_then(|server| server.ok_or_else(|| io::ErrorKind::AddrNotAvailable.into()));
        let server = bound.map_err(|error| ServeError::of(port, error))?;
        Ok(Pages { server, views })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Serves the pages of the views that informers know.
    pub(super) async fn serve(self, cache: Cache, stop: Stop) {
        self.views.get_or_init(|| Views::new(cache));
        self.server.run(stop).await;
    }
}

fn answer<B>(views: &Views, request: &Request<B>) -> HttpResponse {
    if !is_for_this_machine(request) {
        let text = page::plain(
            "Not here",
            "These pages are for this machine only: ask for them at 127.0.0.1.",
        );
        return html(StatusCode::MISDIRECTED_REQUEST, text);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut answer = html(
            StatusCode::METHOD_NOT_ALLOWED,
            page::plain(
                "Nothing to write",
                "Pages are read; change the MarkdownView with kubectl.",
            ),
        );
        answer
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return answer;
    }
    let path = unescape_valid(request.uri().path());
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match parts[..] {
        [""] => html(StatusCode::OK, page::index(&views.views())),
        ["style.css"] => typed(StatusCode::OK, "text/css; charset=utf-8", STYLE.to_owned()),
        [namespace, name] if !name.is_empty() => moved(&format!("/{}/{}/", path_escape(namespace), path_escape(name))),
        [namespace, name, page] => document(views, namespace, name, page),
        _ => missing(),
    }
}

fn document(views: &Views, namespace: &str, name: &str, wanted: &str) -> HttpResponse {
    match views.find(namespace, name) {
        Lookup::Found(documents) => {
            let file = if wanted.is_empty() || wanted == "index.html" {
                documents.first().map(str::to_owned)
            } else {
                wanted.strip_suffix(".html").map(|stem| format!("{stem}.md"))
            };
            match file.and_then(|file| Some((documents.documents.get(&file)?, file))) {
                Some((text, file)) => html(StatusCode::OK, page::document(&documents, &file, text)),
                None => missing(),
            }
        }
        Lookup::Waiting(why) => {
            let title = format!("{namespace}/{name} has no viewer yet");
            let mut answer = html(StatusCode::SERVICE_UNAVAILABLE, page::plain(&title, &why));
            answer.headers_mut().insert(header::RETRY_AFTER, AGAIN);
            answer.headers_mut().insert("refresh", AGAIN);
            answer
        }
        Lookup::NotFound => missing(),
    }
}

fn missing() -> HttpResponse {
    html(
        StatusCode::NOT_FOUND,
        page::plain(
            "Nothing here",
            "There is no such page. The views there are stand on the first page.",
        ),
    )
}

fn moved(place: &str) -> HttpResponse {
    let mut answer = html(StatusCode::PERMANENT_REDIRECT, page::plain("It is further on", place));
    if let Ok(place) = HeaderValue::from_str(place) {
        answer.headers_mut().insert(header::LOCATION, place);
    }
    answer
}

fn html(code: StatusCode, text: String) -> HttpResponse {
    typed(code, "text/html; charset=utf-8", text)
}

fn typed(code: StatusCode, content_type: &'static str, text: String) -> HttpResponse {
    let mut answer = HttpResponse::new(text.into());
    *answer.status_mut() = code;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// A page of somewhere else may send a browser here under its own name; it is not meant to read what is here.
fn is_for_this_machine<B>(request: &Request<B>) -> bool {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().host()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, port)| {
        let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        if is_port { name } else { host }
    });
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_answered_under_its_own_name() {
        let host = |host: &str| Request::get("/").header("host", host).body(()).unwrap();
        for here in ["127.0.0.1:8000", "localhost", "[::1]:80"] {
            assert!(is_for_this_machine(&host(here)), "{here}");
        }
        for elsewhere in [
            "evil.example",
            "127.0.0.1.evil.example:80",
            "localhost.evil.example",
            "",
        ] {
            assert!(!is_for_this_machine(&host(elsewhere)), "{elsewhere}");
        }
    }

    #[tokio::test]
    async fn what_is_no_page_is_answered_all_the_same() {
        let views = Views::new(Cache::default());
        let ask = |method: Method, path: &str| {
            let request = Request::builder().method(method).uri(path).header("host", "localhost");
            answer(&views, &request.body(()).unwrap())
        };
        assert_eq!(ask(Method::GET, "/").status(), 200);
        assert_eq!(ask(Method::POST, "/").status(), 405);
        for path in ["/a", "/a/b/", "/a/b/c.html", "/a/b/c/d", "/../../etc/passwd", "/%"] {
            let code = ask(Method::GET, path).status();
            assert!(code == 404 || code == 308, "{path}: {code}");
        }
        let moved = ask(Method::GET, "/default/a%0d%0ab");
        assert_eq!(moved.headers()["location"], "/default/a%0D%0Ab/");
        assert_eq!(moved.headers()["content-security-policy"], POLICY);
    }
}
