//! Ten thousand random and mutated requests of somebody who may do little: nothing breaks, nothing is learned, nothing
//! is changed.

use std::sync::OnceLock;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Options, User};
use proptest::prelude::*;
use proptest::sample::select;
use tokio::runtime::Runtime;

/// What no answer may contain. Requests do not contain it either: some answers repeat the URL.
const CANARY: &str = "c4n4ry";
const TOKEN: &str = "jane-token";

/// A server on which jane may read configmaps of one namespace and one secret, and everything else is marked.
fn server() -> &'static (ApiServer, Runtime, u64) {
    static SERVER: OnceLock<(ApiServer, Runtime, u64)> = OnceLock::new();
    SERVER.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let server = ApiServer::new(Options::new().seed(7).token(TOKEN, User::new("jane", ["staff"])));
        let objects = [
            ("/api/v1/namespaces", r#"{"metadata":{"name":"open"}}"#.to_owned()),
            (
                "/api/v1/namespaces/open/configmaps",
                r#"{"metadata":{"name":"a"}}"#.to_owned(),
            ),
            ("/api/v1/namespaces/default/configmaps", marked("b")),
            (
                "/api/v1/namespaces/open/secrets",
                r#"{"metadata":{"name":"mine"}}"#.to_owned(),
            ),
            ("/api/v1/namespaces/open/secrets", marked("yours")),
            ("/api/v1/namespaces/default/secrets", marked("mine")),
            (
                "/apis/rbac.authorization.k8s.io/v1/namespaces/open/roles",
                r#"{"metadata":{"name":"jane"},"rules":[
                {"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]},
                {"apiGroups":[""],"resources":["secrets"],"resourceNames":["mine"],"verbs":["get","list"]}]}"#
                    .to_owned(),
            ),
            (
                "/apis/rbac.authorization.k8s.io/v1/namespaces/open/rolebindings",
                r#"{"metadata":{"name":"jane"},
                "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"jane"},
                "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]}"#
                    .to_owned(),
            ),
        ];
        runtime.block_on(async {
            for (path, body) in objects {
                let request = Request::post(path)
                    .header("content-type", "application/json")
                    .body(body.into())
                    .unwrap();
                let response = server.handle(request).await;
                assert_eq!(response.status(), 201, "{path}");
            }
        });
        let revision = server.revision();
        (server, runtime, revision)
    })
}

fn marked(name: &str) -> String {
    let labels = format!(r#"{{"x":"selected","y":"{CANARY}"}}"#);
    format!(r#"{{"metadata":{{"name":"{name}","labels":{labels},"annotations":{{"x":"{CANARY}"}}}}}}"#)
}

fn segment() -> impl Strategy<Value = String> {
    let known = select(vec![
        "api",
        "apis",
        "v1",
        "apps",
        "namespaces",
        "open",
        "default",
        "kube-system",
        "configmaps",
        "secrets",
        "mine",
        "yours",
        "a",
        "b",
        "watch",
        "proxy",
        "status",
        "finalize",
        "pods",
        "log",
        "exec",
        "serviceaccounts",
        "token",
        "rbac.authorization.k8s.io",
        "authorization.k8s.io",
        "selfsubjectaccessreviews",
        "roles",
        "clusterroles",
        "metrics",
        "healthz",
        "openapi",
        "v3",
        "*",
        ".",
        "..",
        "",
    ]);
    prop_oneof![8 => known.prop_map(str::to_owned), 1 => "[ -~]{0,12}", 1 => "(%[0-9a-fA-F]{2}){1,4}"]
}

fn path() -> impl Strategy<Value = String> {
    let known = select(vec![
        "/api/v1/namespaces/open/configmaps",
        "/api/v1/namespaces/open/secrets/yours",
        "/api/v1/secrets",
        "/api/v1/namespaces/open/secrets",
        "/api/v1/namespaces/default/secrets/mine",
        "/api/v1/configmaps",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/open/rolebindings/jane",
        "/api/v1/watch/secrets",
        "/api/v1/namespaces/open/configmaps/a",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    ]);
    let made = prop::collection::vec(segment(), 0..9).prop_map(|parts| format!("/{}", parts.join("/")));
    // One character of a good path becomes another.
    let mutated = (known.clone(), any::<prop::sample::Index>(), "[ -~]{0,2}").prop_map(|(path, at, text)| {
        let at = at.index(path.len());
        format!("{}{text}{}", &path[..at], &path[at + 1..])
    });
    prop_oneof![2 => made, 2 => mutated, 1 => known.prop_map(str::to_owned)]
}

fn query() -> impl Strategy<Value = String> {
    let pair = select(vec![
        "watch=1",
        "watch=false",
        "fieldSelector=metadata.name%3Dmine",
        "fieldSelector=metadata.name%3Dmine,metadata.name%3Dyours",
        "fieldSelector=metadata.name!%3Dmine",
        "fieldSelector=metadata.name%3Dmine&fieldSelector=metadata.name%3Dyours",
        "limit=x",
        "limit=1",
        "labelSelector=x%3Dselected",
        "labelSelector=((",
        "timeoutSeconds=0",
        "timeout=1s",
        "dryRun=All",
        "pretty=1",
        "resourceVersion=0",
        "resourceVersion=1&resourceVersionMatch=Exact",
        "continue=abc",
        "allowWatchBookmarks=1&sendInitialEvents=true",
        "fieldManager=x&force=true",
    ]);
    let pair = prop_oneof![6 => pair.prop_map(str::to_owned), 1 => "[!-~]{0,12}"];
    prop::collection::vec(pair, 0..3).prop_map(|pairs| pairs.join("&"))
}

fn header() -> impl Strategy<Value = (String, Vec<u8>)> {
    let name = select(vec![
        "authorization",
        "impersonate-user",
        "impersonate-group",
        "impersonate-uid",
        "impersonate-extra-scopes",
        "x-remote-user",
        "x-remote-group",
        "accept",
        "content-type",
        "audit-id",
        "cookie",
    ]);
    let known = select(vec![
        "Bearer jane-token",
        "Bearer x",
        "Bearer  jane-token",
        "bearer a.b.c",
        "admin",
        "system:masters",
        "jane",
        "system:serviceaccount:open:mine",
        "system:node:n",
        "system:anonymous",
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/apply-patch+yaml",
        "application/strategic-merge-patch+json",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
    ]);
    let value = prop_oneof![
        6 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..24),
    ];
    (name.prop_map(str::to_owned), value)
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let known = select(vec![
        "",
        "{}",
        r#"{"metadata":{"name":"new"}}"#,
        r#"{"spec":{"token":"x"}}"#,
        r#"{"spec":{"resourceAttributes":{"verb":"get","resource":"secrets"}}}"#,
        r#"{"metadata":{"name":"jane"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}"#,
        r#"[{"op":"add","path":"/rules/-","value":{}}]"#,
    ]);
    prop_oneof![4 => known.prop_map(|text| text.as_bytes().to_vec()), 1 => prop::collection::vec(any::<u8>(), 0..64)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nobody_breaks_learns_or_changes_what_they_may_not(
        method in select(vec!["GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"]),
        path in path(),
        query in query(),
        headers in prop::collection::vec(header(), 0..4),
        body in body(),
        is_known in any::<bool>(),
    ) {
        let (server, runtime, revision) = server();
        let Ok(uri) = format!("{path}?{query}").parse::<http::Uri>() else { return Ok(()) };
        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = Method::from_bytes(method.as_bytes()).unwrap();
        *request.uri_mut() = uri;
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                request.headers_mut().append(name, value);
            }
        }
        let jane = User::new("jane", ["staff"]);
        let (code, text) = runtime.block_on(async {
            let response = server.handle_as(is_known.then_some(&jane), request).await;
            let code = response.status();
            // A watch that was let in would never end.
            let rest = tokio::time::timeout(std::time::Duration::from_millis(20), response.into_body().collect()).await;
            (code, rest.map(|body| body.unwrap().to_bytes()).unwrap_or_default())
        });
        // Upstream's own answer to a path that says how, but not what.
        let is_answered = text.starts_with(b"Internal Server Error: ") || method == "HEAD";
        prop_assert!(code.as_u16() != 500 || is_answered, "{}", String::from_utf8_lossy(&text));
        prop_assert!(memchr::memmem::find(&text, CANARY.as_bytes()).is_none(), "{}", String::from_utf8_lossy(&text));
        prop_assert_eq!(server.revision(), *revision);
    }
}
