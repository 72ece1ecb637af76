//! Webhooks that say what users may do, also to those that cannot wait for the answer.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kubewright_apiserver::{ApiServer, AuthorizationMode, AuthorizationWebhook, Options, User};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What a webhook was asked: the `spec` of each review.
type Asked = Arc<Mutex<Vec<Value>>>;

/// A webhook on a port of its own, which allows what `allows` says.
async fn webhook(allows: fn(&Value) -> bool) -> (AuthorizationWebhook, Asked) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Asked::default();
    let kept = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let kept = Arc::clone(&kept);
            let service = service_fn(move |request| answer(request, allows, Arc::clone(&kept)));
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
        }
    });
    let kubeconfig = json!({
        "current-context": "c",
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": { "server": format!("http://{address}/review") } }],
    });
    let webhook = AuthorizationWebhook::from_kubeconfig(&kubeconfig.to_string(), Path::new("/")).unwrap();
    (webhook.v1(true), asked)
}

async fn answer(
    request: Request<Incoming>,
    allows: fn(&Value) -> bool,
    kept: Asked,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let mut review: Value = serde_json::from_slice(&body).unwrap();
    review["status"] = json!({ "allowed": allows(&review["spec"]) });
    kept.lock().push(review["spec"].clone());
    Ok(Response::new(Full::new(Bytes::from(review.to_string()))))
}

const OBJECTS: &str = "/api/v1/namespaces/default/configmaps";

/// What a request of a user is answered with; a POST if there is a body.
async fn ask(server: &ApiServer, user: &str, path: &str, body: Option<Value>) -> (StatusCode, Value) {
    let none: [&str; 0] = [];
    let user = if user == "admin" {
        User::admin()
    } else {
        User::new(user, none)
    };
    let method = if body.is_some() { "POST" } else { "GET" };
    let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", "application/json").body(body).unwrap();
    let response = server.handle_as(Some(&user), request).await;
    let code = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn answers_count_for_as_long_as_they_are_kept() {
    let (webhook, asked) = webhook(|spec| spec["user"] == "alice").await;
    let webhook = webhook.kept(Duration::from_hours(1), Duration::ZERO);
    let server = ApiServer::new(Options::new().authorization(AuthorizationMode::Webhook(webhook)));
    for _ in 0..3 {
        assert_eq!(ask(&server, "alice", OBJECTS, None).await.0, StatusCode::OK);
        assert_eq!(ask(&server, "bob", OBJECTS, None).await.0, StatusCode::FORBIDDEN);
    }
    let of = |name: &str| asked.lock().iter().filter(|spec| spec["user"] == name).count();
    assert_eq!((of("alice"), of("bob")), (1, 3));
}

#[tokio::test]
async fn expressions_of_policies_ask_it_too() {
    // Everybody may write; the path is what the policy asks about.
    let (webhook, asked) = webhook(|spec| {
        let is_special = spec["nonResourceAttributes"]["path"] == "/special" && spec["user"] == "alice";
        is_special || spec["resourceAttributes"]["verb"] == "create"
    })
    .await;
    let server = ApiServer::new(Options::new().authorization(AuthorizationMode::Webhook(webhook)));
    let policy = json!({
        "metadata": { "name": "special" },
        "spec": {
            "matchConstraints": { "resourceRules": [
                { "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }
            ] },
            "validations": [{
                "expression": "authorizer.path('/special').check('get').allowed()",
                "message": "only who may read /special",
            }],
        },
    });
    let binding = json!({
        "metadata": { "name": "special" },
        "spec": { "policyName": "special", "validationActions": ["Deny"] },
    });
    let group = "/apis/admissionregistration.k8s.io/v1";
    for (plural, object) in [
        ("validatingadmissionpolicies", policy),
        ("validatingadmissionpolicybindings", binding),
    ] {
        let (code, answer) = ask(&server, "admin", &format!("{group}/{plural}"), Some(object)).await;
        assert_eq!(code, StatusCode::CREATED, "{answer}");
    }
    let object = |name: &str| Some(json!({ "metadata": { "name": name } }));
    let (code, answer) = ask(&server, "alice", OBJECTS, object("a")).await;
    assert_eq!(code, StatusCode::CREATED, "{answer}");
    let (code, answer) = ask(&server, "bob", OBJECTS, object("b")).await;
    assert_eq!(code, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.ends_with("only who may read /special"), "{message}");
    let about_paths = |spec: &&Value| spec["nonResourceAttributes"].is_object();
    assert_eq!(asked.lock().iter().filter(about_paths).count(), 2);
}

#[tokio::test]
async fn conditions_that_do_not_hold_leave_it_to_the_next() {
    let (webhook, asked) = webhook(|_| true).await;
    let conditions = ["has(request.resourceAttributes)", "request.user != 'bob'"];
    let webhook = webhook.match_conditions(&conditions).unwrap();
    let modes = [AuthorizationMode::Webhook(webhook), AuthorizationMode::Rbac];
    let server = ApiServer::new(Options::new().authorization_modes(modes));
    assert_eq!(ask(&server, "alice", OBJECTS, None).await.0, StatusCode::OK);
    assert_eq!(ask(&server, "bob", OBJECTS, None).await.0, StatusCode::FORBIDDEN);
    assert_eq!(asked.lock().len(), 1);
}

#[test]
fn what_describes_no_webhook_is_refused_by_name() {
    let read = |text: &str| {
        AuthorizationWebhook::from_kubeconfig(text, Path::new("/nowhere"))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(read("{}"), "the kubeconfig has no context that is its current-context");
    let kubeconfig = |cluster: Value| {
        let text = json!({
            "current-context": "c",
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
            "clusters": [{ "name": "c", "cluster": cluster }],
        });
        read(&text.to_string())
    };
    assert_eq!(kubeconfig(json!({})), "the kubeconfig has no server");
    let missing = json!({ "server": "https://a", "certificate-authority": "ca.crt" });
    assert_eq!(kubeconfig(missing), "cannot read /nowhere/ca.crt");
    let broken = json!({ "server": "https://a", "certificate-authority-data": "!" });
    assert_eq!(kubeconfig(broken), "certificate-authority-data is not base64");
}
