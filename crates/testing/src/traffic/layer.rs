//! The layer on the manager's client: below the retries of a production client, above the server.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use kube::client::{Body, ClientBuilder};
use serde_json::{Value, json};
use tower::retry::RetryLayer;
use tower::{BoxError, Service};

use super::fault::Effect;
use super::journal::{ReadFate, TIMEOUT};
use super::lag::HeldEvents;
use super::request::ApiRequest;
use super::retry::SteadyRetry;
use super::stream::InterruptibleBody;
use super::{RecordedWrite, Refusal, Traffic};

pub(super) type HttpResponse = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// A client whose requests go through the record and then to `service`, with the retries of a production client above.
pub(crate) fn client<S, B>(service: S, traffic: Traffic, admin: kube::Client, namespace: &str) -> kube::Client
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let recording = RecordingService {
        inner: service,
        life: traffic.begin_life(),
        traffic,
        admin: Arc::new(admin),
    };
    ClientBuilder::new(recording, namespace)
        .with_layer(&RetryLayer::new(SteadyRetry::new()))
        .build()
}

/// A service that records its requests and applies faults.
#[derive(Clone)]
pub(crate) struct RecordingService<S> {
    inner: S,
    traffic: Traffic,
    /// The life of the manager that it serves: the requests of one that has crashed are never answered.
    life: u64,
    /// Reads objects before they are written.
    admin: Arc<kube::Client>,
}

impl<S, B> Service<Request<Body>> for RecordingService<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = HttpResponse;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let clone = self.inner.clone();
        // `poll_ready` was called on this one, so it is the one to call.
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let (traffic, admin, life) = (self.traffic.clone(), Arc::clone(&self.admin), self.life);
        Box::pin(async move {
            let api_request = ApiRequest::of(request.method(), request.uri());
            if traffic.is_dead(life) {
                std::future::pending::<()>().await;
            }
            if let Some(journal) = traffic.journal()
                && api_request.is_write()
                && !api_request.is_event_or_lease()
            {
                return journal.write((&traffic, life), &api_request, request, &mut inner).await;
            }
            match traffic.journal().and_then(|journal| journal.read_request(&api_request)) {
                Some(ReadFate::Answered(answer)) => return Ok(answer),
                Some(ReadFate::TimedOut) => {
                    tokio::time::sleep(TIMEOUT).await;
                    return Err("injected: the request timed out".into());
                }
                Some(ReadFate::Late(by)) => tokio::time::sleep(by).await,
                None => {}
            }
            let effect = traffic.effect_on(&api_request);
            match effect {
                Some(Effect::Fail { code }) => return Ok(failure(code)),
                Some(Effect::Unreachable) => return Err("injected: the connection broke".into()),
                Some(Effect::Delay { by }) => tokio::time::sleep(by).await,
                _ => {}
            }
            let target = (api_request.is_write() && traffic.is_recording()).then(|| Target::of(&api_request, &request));
            let before = match &target {
                Some(target) => target.read(&admin).await,
                None => None,
            };
            let answer = inner.call(request).await.map_err(Into::into)?;
            let mut answer = traffic.took(&api_request, answer).await?;
            if let Some(target) = target
                && answer.status().is_success()
            {
                let (parts, body) = answer.into_parts();
                let body = body.collect().await?.to_bytes();
                let after = match api_request.verb.as_str() {
                    "create" => serde_json::from_slice(&body).ok(),
                    _ => target.read(&admin).await,
                };
                traffic.keep(RecordedWrite {
                    api_request,
                    before,
                    after,
                });
                answer = Response::from_parts(parts, whole(body));
            }
            if effect == Some(Effect::LoseAnswer) {
                return Err("injected: the answer is lost".into());
            }
            Ok(answer)
        })
    }
}

/// Where an object is that is about to be written.
struct Target(Option<String>);

impl Target {
    fn of<B>(api_request: &ApiRequest, request: &Request<B>) -> Self {
        let named = !api_request.name.is_empty();
        let path = request.uri().path();
        // The whole object, also where a part of it is written.
        let whole = match api_request.resource.split_once('/') {
            Some((_, part)) => path.strip_suffix(part).map_or(path, |path| path.trim_end_matches('/')),
            None => path,
        };
        Target(named.then(|| whole.to_owned()))
    }

    async fn read(&self, admin: &kube::Client) -> Option<Value> {
        let request = Request::get(self.0.as_ref()?).body(Vec::new()).ok()?;
        admin.request(request).await.ok()
    }
}

impl Traffic {
    fn effect_on(&self, api_request: &ApiRequest) -> Option<Effect> {
        let mut log = self.0.log.lock();
        // Every fault counts every request, so that two of them do not shift each other.
        let effects: Vec<_> = log
            .faults
            .iter_mut()
            .filter_map(|active| active.effect_on(api_request))
            .collect();
        effects.into_iter().next()
    }

    fn keep(&self, written: RecordedWrite) {
        if let Some(recording) = &mut self.0.log.lock().recording {
            recording.push(written);
        }
    }

    /// Records a response.
    pub(super) async fn took<B>(&self, api_request: &ApiRequest, answer: Response<B>) -> Result<HttpResponse, BoxError>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (parts, body) = answer.into_parts();
        if parts.status == StatusCode::FORBIDDEN {
            let body = body.collect().await.map_err(Into::into)?.to_bytes();
            // The missing right may be `create`, for an apply of an object that does not exist.
            let missing = if says_creation(&body) {
                creation(api_request)
            } else {
                api_request.clone()
            };
            self.note(&missing, refusal(&missing, &body));
            return Ok(Response::from_parts(parts, whole(body)));
        }
        self.note(api_request, None);
        if parts.status == StatusCode::CREATED && api_request.verb != "create" {
            self.note_creation(api_request);
        }
        if api_request.is_watch() && parts.status.is_success() {
            let resource = api_request.resource.as_str();
            let held = HeldEvents::new(self.0.lags.clone(), api_request.resource_with_group());
            let interruptible = InterruptibleBody::new(body, self.0.watches.open(resource), held);
            return Ok(Response::from_parts(parts, interruptible.boxed_unsync()));
        }
        Ok(Response::from_parts(parts, body.map_err(Into::into).boxed_unsync()))
    }

    /// Whether an apply or an update created its object, for which the permission to create is needed, too.
    fn note_creation(&self, api_request: &ApiRequest) {
        self.0
            .log
            .lock()
            .requests
            .entry(creation(api_request))
            .or_default()
            .allowed += 1;
    }

    fn note(&self, api_request: &ApiRequest, refusal: Option<Refusal>) {
        {
            let mut log = self.0.log.lock();
            let outcomes = log.requests.entry(api_request.clone()).or_default();
            match &refusal {
                Some(_) => outcomes.refused += 1,
                None => outcomes.allowed += 1,
            }
            if api_request.is_write() && !api_request.is_event_or_lease() && refusal.is_none() {
                *log.writes.entry(api_request.object()).or_default() += 1;
                log.all_writes += 1;
            }
            if let Some(refusal) = refusal
                && !log.refused.contains(&refusal)
            {
                log.refused.push(refusal);
            }
        }
        self.note_activity();
    }
}

/// The same, for a creation.
fn creation(api_request: &ApiRequest) -> ApiRequest {
    ApiRequest {
        verb: "create".to_owned(),
        ..api_request.clone()
    }
}

fn says_creation(body: &[u8]) -> bool {
    let status: Value = serde_json::from_slice(body).unwrap_or_default();
    status["message"]
        .as_str()
        .is_some_and(|message| message.contains(" cannot create resource "))
}

/// The refusal in a response, if the authorizer wrote it and not a webhook that denies with the same code.
fn refusal(api_request: &ApiRequest, body: &[u8]) -> Option<Refusal> {
    let status: Value = serde_json::from_slice(body).ok()?;
    let message = status["message"].as_str()?;
    let by_role = status["reason"] == "Forbidden" && message.contains("forbidden: User \"");
    by_role.then(|| Refusal {
        message: message.to_owned(),
        rbac: api_request.rbac(),
    })
}

pub(super) fn failure(code: u16) -> HttpResponse {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason,
        "message": format!("injected: {}", status.canonical_reason().unwrap_or("failure")), "code": status.as_u16(),
    });
    let mut answer = Response::new(whole(body.to_string().into()));
    *answer.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, json);
    answer
}

pub(super) fn whole(body: Bytes) -> UnsyncBoxBody<Bytes, BoxError> {
    http_body_util::Full::new(body)
        .map_err(|never: std::convert::Infallible| -> BoxError { match never {} })
        .boxed_unsync()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
    use kube::api::{Api, Patch, PatchParams, PostParams};
    use kubewright_apiserver::{ApiServer, Options, User};
    use tower::service_fn;

    use super::*;

    /// The `ConfigMap`s of a server, through the record.
    fn recorded(server: &ApiServer, through: kube::Client) -> (Api<ConfigMap>, Traffic) {
        let traffic = Traffic::new();
        let service = service_fn(move |request| {
            let through = through.clone();
            async move { through.send(request).await }
        });
        let client = client(service, traffic.clone(), server.client(), "default");
        (Api::default_namespaced(client), traffic)
    }

    #[tokio::test]
    async fn an_apply_without_the_right_to_create_is_refused_as_a_creation() {
        let server = ApiServer::new(Options::new());
        let role = json!({
            "metadata": { "name": "robot" },
            "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"] }],
        });
        let roles: Api<Role> = Api::default_namespaced(server.client());
        let role = serde_json::from_value(role).unwrap();
        roles.create(&PostParams::default(), &role).await.unwrap();
        let binding = json!({
            "metadata": { "name": "robot" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "robot" },
            "subjects": [{ "kind": "ServiceAccount", "name": "robot", "namespace": "default" }],
        });
        let bindings: Api<RoleBinding> = Api::default_namespaced(server.client());
        let binding = serde_json::from_value(binding).unwrap();
        bindings.create(&PostParams::default(), &binding).await.unwrap();
        let robot = server.client_as(User::service_account("default", "robot"));
        let (configs, traffic) = recorded(&server, robot);
        let wanted = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "app" } });
        let apply = PatchParams::apply("robot");
        configs.patch("app", &apply, &Patch::Apply(&wanted)).await.unwrap_err();
        let refused = traffic.refusals();
        assert!(refused[0].rbac.contains("create"), "{refused:?}");
        let requests = traffic.requests();
        assert_eq!((requests[0].0.verb.as_str(), requests[0].1.refused), ("create", 1));
    }

    #[tokio::test]
    async fn an_apply_that_makes_its_object_is_a_creation_too() {
        let server = ApiServer::new(Options::new());
        let (configs, traffic) = recorded(&server, server.client());
        let apply = || async {
            let wanted = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "app" } });
            let params = PatchParams::apply("me");
            configs.patch("app", &params, &Patch::Apply(&wanted)).await.unwrap()
        };
        let allowed = || -> Vec<(String, u64)> {
            let all = traffic.requests().into_iter();
            all.map(|(api_request, outcomes)| (api_request.verb, outcomes.allowed))
                .collect()
        };
        apply().await;
        assert_eq!(allowed(), [("create".to_owned(), 1), ("patch".to_owned(), 1)]);
        apply().await;
        assert_eq!(allowed(), [("create".to_owned(), 1), ("patch".to_owned(), 2)]);
    }
}
