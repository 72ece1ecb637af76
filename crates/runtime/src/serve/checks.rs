//! `/healthz` and `/readyz`: named checks, as controller-runtime answers them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use kubewright_apimachinery::url::query_pairs;
use parking_lot::RwLock;

use super::response::{HttpResponse, error, not_found, text};
use super::router::Handler;

type Check = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Named checks. Cloning shares them; checks may come at any time.
///
/// The path of all checks answers `ok`, or 500 with the name of each check; only the path of a single check has the reason of its
/// failure. `?verbose` lists each check in any case, `?exclude=name` leaves one out.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use kubewright_runtime::serve::Checks;
///
/// let checks = Checks::new();
/// checks.add("ping", || async { Ok(()) });
/// checks.add("cache", || async { Err("pods are not synced".to_owned()) });
/// let (code, text) = checks.ask("", "").await;
/// assert_eq!(code, 500);
/// assert_eq!(text, "[-]cache failed: reason withheld\n[+]ping ok\nhealthz check failed\n");
/// assert_eq!(checks.ask("", "exclude=cache").await, (200, "ok".to_owned()));
/// assert_eq!(checks.ask("/cache", "").await.1, "internal server error: pods are not synced\n");
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Checks(Arc<RwLock<BTreeMap<String, Check>>>);

impl Checks {
    /// No checks: healthy.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a check, or replaces the one of that name.
    pub fn add<F, R>(&self, name: impl Into<String>, check: F)
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), String>> + Send + 'static,
    {
        let check: Check = Arc::new(move || Box::pin(check()));
        self.0.write().insert(name.into(), check);
    }

    /// Answers below a path of a [`Router`](super::Router); route the path itself and the path with `/` at its end.
    pub fn handler(&self, path: &str) -> impl Handler + use<> {
        let (checks, prefix) = (self.clone(), path.trim_end_matches('/').to_owned());
        move |request: Request<Incoming>| {
            let checks = checks.clone();
            let uri = request.uri().clone();
            let below = uri.path().strip_prefix(prefix.as_str()).unwrap_or_default().to_owned();
            async move { checks.answer(&below, uri.query().unwrap_or_default()).await }
        }
    }

    /// The status and the text for what follows the path, and a query.
    pub async fn ask(&self, below: &str, query: &str) -> (u16, String) {
        use http_body_util::BodyExt as _;
        let answer = self.answer(below, query).await;
        let code = answer.status().as_u16();
        let body = answer
            .into_body()
            .collect()
            .await
            .map(http_body_util::Collected::to_bytes)
            .unwrap_or_default();
        (code, String::from_utf8_lossy(&body).into_owned())
    }

    async fn answer(&self, below: &str, query: &str) -> HttpResponse {
        // Go cleans the path: slashes repeated or at the end do not count.
        let name = below
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .collect::<Vec<_>>()
            .join("/");
        if name.is_empty() {
            return self.all(query).await;
        }
        let check = self.0.read().get(&name).cloned();
        match check {
            Some(check) => one(&check).await.map_or_else(
                |reason| {
                    error(
                        StatusCode::INTERNAL_SERVER_ERROR,
                        &format!("internal server error: {reason}"),
                    )
                },
                |()| text(StatusCode::OK, "ok"),
            ),
            None if name == "ping" && self.0.read().is_empty() => text(StatusCode::OK, "ok"),
            None => not_found(),
        }
    }

    async fn all(&self, query: &str) -> HttpResponse {
        let query = Query::of(query);
        let mut unknown = query.excluded;
        let mut failed = false;
        let mut lines = String::new();
        let checks = self.0.read().clone();
        if checks.is_empty() {
            lines.push_str("[+]ping ok\n");
        }
        for (name, check) in checks {
            let line = if unknown.remove(&name) {
                format!("[+]{name} excluded: ok")
            } else if let Err(reason) = one(&check).await {
                tracing::debug!(check = name, reason, "health check failed");
                failed = true;
                format!("[-]{name} failed: reason withheld")
            } else {
                format!("[+]{name} ok")
            };
            let _ = writeln!(lines, "{line}");
        }
        let code = if failed {
            StatusCode::INTERNAL_SERVER_ERROR
        } else {
            StatusCode::OK
        };
        if !failed && !query.verbose {
            "ok".clone_into(&mut lines);
        } else {
            if !unknown.is_empty() {
                let names: Vec<String> = unknown.iter().map(|name| format!("{name:?}")).collect();
                let names = names.join(",");
                let _ = writeln!(
                    lines,
                    "warn: some health checks cannot be excluded: no matches for {names}"
                );
            }
            let _ = writeln!(lines, "healthz check {}", if failed { "failed" } else { "passed" });
        }
        let mut answer = text(code, lines);
        answer
            .headers_mut()
            .insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        answer
    }
}

/// One check. A panic is a failure, not a closed connection.
async fn one(check: &Check) -> Result<(), String> {
    let check = AssertUnwindSafe(async { check().await });
    check
        .catch_unwind()
        .await
        .unwrap_or_else(|_| Err("the check panicked".to_owned()))
}

struct Query {
    verbose: bool,
    excluded: BTreeSet<String>,
}

impl Query {
    fn of(query: &str) -> Self {
        let mut read = Query {
            verbose: false,
            excluded: BTreeSet::new(),
        };
        for (key, value) in query_pairs(query) {
            match &*key {
                "verbose" => read.verbose = true,
                "exclude" => {
                    read.excluded.insert(value.into_owned());
                }
                _ => {}
            }
        }
        read
    }
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.read().keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks() -> Checks {
        let checks = Checks::new();
        checks.add("a", || async { Ok(()) });
        checks.add("b", || async { Ok(()) });
        checks
    }

    #[tokio::test]
    async fn without_checks_there_is_a_ping() {
        let none = Checks::new();
        assert_eq!(none.ask("", "").await, (200, "ok".to_owned()));
        assert_eq!(
            none.ask("/", "verbose").await,
            (200, "[+]ping ok\nhealthz check passed\n".to_owned())
        );
        assert_eq!(none.ask("/ping", "").await, (200, "ok".to_owned()));
        assert_eq!(
            checks().ask("/ping", "").await,
            (404, "404 page not found\n".to_owned())
        );
    }

    #[tokio::test]
    async fn verbose_lists_each_check_and_what_could_not_be_excluded() {
        let (code, text) = checks().ask("", "verbose&exclude=b&exclude=x%20y").await;
        assert_eq!(code, 200);
        assert_eq!(
            text,
            "[+]a ok\n[+]b excluded: ok\n\
             warn: some health checks cannot be excluded: no matches for \"x y\"\nhealthz check passed\n"
        );
    }

    #[tokio::test]
    async fn a_check_that_panics_has_failed() {
        let checks = checks();
        checks.add("c", || async { panic!("on purpose") });
        assert_eq!(checks.ask("", "").await.0, 500);
        assert_eq!(
            checks.ask("/c/", "").await,
            (500, "internal server error: the check panicked\n".to_owned())
        );
        assert_eq!(checks.ask("", "exclude=c").await.0, 200);
    }
}
