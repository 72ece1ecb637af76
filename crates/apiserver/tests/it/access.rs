//! Who may do what, as clients of the embedded server meet it (Z1–Z7).

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, AuditDecision, AuthorizationMode, Options, User};
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const WHOAMI: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// A request and its answer; headers as pairs.
async fn ask(
    server: &ApiServer,
    user: Option<&User>,
    (method, path): (&str, &str),
    body: &Value,
    headers: &[(&str, &str)],
) -> (StatusCode, Value) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() {
        Bytes::new()
    } else {
        body.to_string().into()
    };
    let request = request.header("content-type", "application/json").body(body).unwrap();
    let response = server.handle_as(user, request).await;
    let code = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let text = || Value::from(String::from_utf8_lossy(&body).into_owned());
    (code, serde_json::from_slice(&body).unwrap_or_else(|_| text()))
}

async fn get(server: &ApiServer, user: &User, path: &str) -> StatusCode {
    ask(server, Some(user), ("GET", path), &Value::Null, &[]).await.0
}

/// What the administrator creates.
async fn make(server: &ApiServer, path: &str, object: Value) -> Value {
    let (code, answer) = ask(server, Some(&User::admin()), ("POST", path), &object, &[]).await;
    assert_eq!(code, StatusCode::CREATED, "{answer}");
    answer
}

async fn remove(server: &ApiServer, path: &str) {
    let (code, answer) = ask(server, Some(&User::admin()), ("DELETE", path), &Value::Null, &[]).await;
    assert_eq!(code, StatusCode::OK, "{answer}");
}

fn binding(name: &str, role: &str, user: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    })
}

async fn reader_of_config(server: &ApiServer) {
    let rules = json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"] }]);
    make(
        server,
        &format!("{RBAC}/clusterroles"),
        json!({ "metadata": { "name": "reader" }, "rules": rules }),
    )
    .await;
}

#[tokio::test]
async fn a_client_of_somebody_else_may_do_what_their_roles_say() {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use kube::api::{Api, ListParams};
    let server = ApiServer::new(Options::new());
    reader_of_config(&server).await;
    let account = User::service_account("default", "robot");
    let path = format!("{RBAC}/namespaces/default/rolebindings");
    make(&server, &path, binding("robot", "reader", &account.name)).await;
    let client = server.client_as(account);
    let configs: Api<ConfigMap> = Api::default_namespaced(client.clone());
    assert_eq!(configs.list(&ListParams::default()).await.unwrap().items.len(), 0);
    let elsewhere: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let secrets: Api<Secret> = Api::default_namespaced(client);
    for refused in [
        elsewhere.list(&ListParams::default()).await.map(|_| ()).unwrap_err(),
        secrets.list(&ListParams::default()).await.map(|_| ()).unwrap_err(),
    ] {
        let kube::Error::Api(status) = refused else {
            panic!("{refused}");
        };
        assert_eq!(status.code, 403, "{}", status.message);
    }
}

#[tokio::test]
async fn a_binding_counts_from_when_it_is_written_until_it_is_deleted() {
    let server = ApiServer::new(Options::new());
    reader_of_config(&server).await;
    let (jane, path) = (User::new("jane", ["staff"]), "/api/v1/namespaces/default/configmaps");
    for _ in 0..50 {
        assert_eq!(get(&server, &jane, path).await, StatusCode::FORBIDDEN);
        make(
            &server,
            &format!("{RBAC}/clusterrolebindings"),
            binding("jane", "reader", "jane"),
        )
        .await;
        assert_eq!(get(&server, &jane, path).await, StatusCode::OK);
        remove(&server, &format!("{RBAC}/clusterrolebindings/jane")).await;
    }
    make(
        &server,
        &format!("{RBAC}/clusterrolebindings"),
        binding("jane", "reader", "jane"),
    )
    .await;
    let fork = server.fork();
    remove(&fork, &format!("{RBAC}/clusterroles/reader")).await;
    assert_eq!(get(&fork, &jane, path).await, StatusCode::FORBIDDEN);
    assert_eq!(get(&server, &jane, path).await, StatusCode::OK);
    assert_eq!(get(&server.fork(), &jane, path).await, StatusCode::OK);
    let (_, refusal) = ask(&fork, Some(&jane), ("GET", path), &Value::Null, &[]).await;
    assert_eq!(
        refusal["message"],
        "configmaps is forbidden: User \"jane\" cannot list resource \"configmaps\" in API group \"\" in the namespace \
         \"default\": RBAC: clusterrole.rbac.authorization.k8s.io \"reader\" not found"
    );
}

#[tokio::test]
async fn nobody_writes_a_role_beyond_their_own_rights() {
    let server = ApiServer::new(Options::new());
    let rules = json!([
        { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"], "verbs": ["create"] },
        { "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] },
    ]);
    let role = json!({ "metadata": { "name": "author" }, "rules": rules });
    make(&server, &format!("{RBAC}/clusterroles"), role).await;
    make(
        &server,
        &format!("{RBAC}/clusterrolebindings"),
        binding("jane", "author", "jane"),
    )
    .await;
    let jane = User::new("jane", ["staff"]);
    let role = |verbs: &[&str]| {
        let rules = json!([{ "apiGroups": [""], "resources": ["pods", "secrets"], "verbs": verbs }]);
        json!({ "metadata": { "name": "new" }, "rules": rules })
    };
    let path = format!("{RBAC}/namespaces/default/roles");
    let (code, refusal) = ask(&server, Some(&jane), ("POST", &path), &role(&["get", "list"]), &[]).await;
    assert_eq!(code, StatusCode::FORBIDDEN);
    assert_eq!(
        refusal["message"],
        "roles.rbac.authorization.k8s.io \"new\" is forbidden: user \"jane\" (groups=[\"staff\" \"system:authenticated\"]) \
         is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], \
         Verbs:[\"list\"]}\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}"
    );
    let held = json!({ "metadata": { "name": "new" }, "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] });
    assert_eq!(
        ask(&server, Some(&jane), ("POST", &path), &held, &[]).await.0,
        StatusCode::CREATED
    );
    let path = format!("{RBAC}/clusterrolebindings");
    let grab = binding("grab", "cluster-admin", "jane");
    assert_eq!(
        ask(&server, Some(&jane), ("POST", &path), &grab, &[]).await.0,
        StatusCode::FORBIDDEN
    );
    assert_eq!(get(&server, &jane, "/api/v1/secrets").await, StatusCode::FORBIDDEN);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_good_until_it_expires_or_what_it_is_bound_to_is_gone() {
    let server = ApiServer::new(Options::new());
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    make(&server, accounts, json!({ "metadata": { "name": "robot" } })).await;
    make(
        &server,
        "/api/v1/namespaces/default/secrets",
        json!({ "metadata": { "name": "anchor" } }),
    )
    .await;
    let request = |spec: Value| json!({ "spec": spec });
    let token = |answer: Value| format!("Bearer {}", answer["status"]["token"].as_str().unwrap());
    let path = format!("{accounts}/robot/token");
    let plain = token(make(&server, &path, request(json!({ "expirationSeconds": 600 }))).await);
    let reference = json!({ "apiVersion": "v1", "kind": "Secret", "name": "anchor" });
    let bound = token(make(&server, &path, request(json!({ "boundObjectRef": reference }))).await);
    let foreign = token(make(&server, &path, request(json!({ "audiences": ["elsewhere"] }))).await);
    let whoami = async |server: &ApiServer, token: &str| {
        ask(server, None, ("POST", WHOAMI), &json!({}), &[("authorization", token)]).await
    };
    let (code, answer) = whoami(&server, &plain).await;
    assert_eq!(code, StatusCode::CREATED, "{answer}");
    assert_eq!(
        answer["status"]["userInfo"]["username"],
        "system:serviceaccount:default:robot"
    );
    assert_eq!(whoami(&server, &bound).await.0, StatusCode::CREATED);
    assert_eq!(whoami(&server, &foreign).await.0, StatusCode::UNAUTHORIZED);
    // Another server knows nothing of it; a fork is the same cluster.
    assert_eq!(
        whoami(&ApiServer::new(Options::new()), &plain).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(whoami(&server.fork(), &plain).await.0, StatusCode::CREATED);

    remove(&server, "/api/v1/namespaces/default/secrets/anchor").await;
    assert_eq!(whoami(&server, &bound).await.0, StatusCode::UNAUTHORIZED);
    tokio::time::sleep(Duration::from_secs(11 * 60 - 1)).await;
    assert_eq!(whoami(&server, &plain).await.0, StatusCode::CREATED);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (code, refusal) = whoami(&server, &plain).await;
    assert_eq!(
        (code, &refusal["message"]),
        (StatusCode::UNAUTHORIZED, &"Unauthorized".into())
    );

    let again = token(make(&server, &path, request(json!({}))).await);
    remove(&server, &format!("{accounts}/robot")).await;
    make(&server, accounts, json!({ "metadata": { "name": "robot" } })).await;
    assert_eq!(whoami(&server, &again).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_static_token_names_its_user_and_a_wrong_one_nobody() {
    let options = Options::new().token("s3cret", User::new("jane", ["staff"]).with_uid("7"));
    let server = ApiServer::new(options);
    let whoami = async |header: &str| {
        ask(
            &server,
            None,
            ("POST", WHOAMI),
            &json!({}),
            &[("authorization", header)],
        )
        .await
    };
    let (code, answer) = whoami("Bearer s3cret").await;
    assert_eq!(code, StatusCode::CREATED);
    let info = &answer["status"]["userInfo"];
    assert_eq!((&info["username"], &info["uid"]), (&"jane".into(), &"7".into()));
    assert_eq!(whoami("Bearer other").await.0, StatusCode::UNAUTHORIZED);
    // What is no bearer token is no credential at all.
    assert_eq!(whoami("Basic czNjcmV0").await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn anonymous_clients_may_be_shut_out_and_everybody_be_let_in() {
    let health = async |server: &ApiServer| ask(server, None, ("GET", "/healthz"), &Value::Null, &[]).await.0;
    let pods = async |server: &ApiServer| ask(server, None, ("GET", "/api/v1/pods"), &Value::Null, &[]).await.0;
    let usual = ApiServer::new(Options::new());
    assert_eq!(
        (health(&usual).await, pods(&usual).await),
        (StatusCode::OK, StatusCode::FORBIDDEN)
    );
    let closed = ApiServer::new(Options::new().anonymous(false));
    assert_eq!(
        (health(&closed).await, pods(&closed).await),
        (StatusCode::UNAUTHORIZED, StatusCode::UNAUTHORIZED)
    );
    let open = ApiServer::new(Options::new().authorization(AuthorizationMode::AlwaysAllow));
    assert_eq!(
        (health(&open).await, pods(&open).await),
        (StatusCode::OK, StatusCode::OK)
    );
}

/// Recorded from kube-apiserver with `--authorization-mode=AlwaysDeny`.
#[tokio::test]
async fn nothing_may_be_allowed_to_anybody_but_the_administrator() {
    let server = ApiServer::new(Options::new().authorization(AuthorizationMode::AlwaysDeny));
    let jane = User::new("jane", ["staff"]);
    let pods = ("GET", "/api/v1/namespaces/default/pods");
    for (user, what, message) in [
        (
            Some(&jane),
            pods,
            "pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" in the namespace \"default\": \
             Everything is forbidden.",
        ),
        (
            None,
            ("GET", "/healthz"),
            "forbidden: User \"system:anonymous\" cannot get path \"/healthz\": Everything is forbidden.",
        ),
    ] {
        let (code, refusal) = ask(&server, user, what, &Value::Null, &[]).await;
        assert_eq!((code, &refusal["message"]), (StatusCode::FORBIDDEN, &json!(message)));
    }
    let admin = User::admin();
    assert_eq!(
        ask(&server, Some(&admin), pods, &Value::Null, &[]).await.0,
        StatusCode::OK
    );
    let review = json!({ "spec": { "namespace": "default" } });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let (_, answer) = ask(&server, Some(&admin), ("POST", path), &review, &[]).await;
    let nothing = json!({ "resourceRules": [], "nonResourceRules": [], "incomplete": false });
    assert_eq!(answer["status"], nothing);
}

#[tokio::test]
async fn the_administrator_may_act_as_anybody_and_others_as_nobody() {
    let server = ApiServer::new(Options::new());
    let headers = [("impersonate-user", "system:serviceaccount:a:b")];
    let (code, answer) = ask(&server, Some(&User::admin()), ("POST", WHOAMI), &json!({}), &headers).await;
    assert_eq!(code, StatusCode::CREATED);
    let groups = json!([
        "system:serviceaccounts",
        "system:serviceaccounts:a",
        "system:authenticated"
    ]);
    assert_eq!(answer["status"]["userInfo"]["groups"], groups);
    let masters = [("impersonate-user", "x"), ("impersonate-group", "system:masters")];
    let jane = User::new("jane", ["staff"]);
    let (code, refusal) = ask(&server, Some(&jane), ("GET", "/api/v1/secrets"), &Value::Null, &masters).await;
    assert_eq!(code, StatusCode::FORBIDDEN);
    assert_eq!(
        refusal["message"],
        "secrets is forbidden: User \"jane\" cannot impersonate-on:user-info:list resource \"secrets\" in API group \"\" \
         at the cluster scope"
    );
}

#[tokio::test]
async fn a_path_means_to_authorization_what_it_means_to_the_server() {
    let server = ApiServer::new(Options::new());
    // Upstream reads `/namespaces/x/status` as a part of a Namespace in every group.
    let definition = json!({
        "metadata": { "name": "status.trick.example.com" },
        "spec": {
            "group": "trick.example.com", "scope": "Namespaced",
            "names": { "plural": "status", "kind": "Status" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    });
    make(
        &server,
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        definition,
    )
    .await;
    let rules = json!([{ "apiGroups": ["trick.example.com"], "resources": ["namespaces/status"], "verbs": ["*"] }]);
    make(
        &server,
        &format!("{RBAC}/clusterroles"),
        json!({ "metadata": { "name": "trick" }, "rules": rules }),
    )
    .await;
    make(
        &server,
        &format!("{RBAC}/clusterrolebindings"),
        binding("jane", "trick", "jane"),
    )
    .await;
    let jane = User::new("jane", ["staff"]);
    let path = "/apis/trick.example.com/v1/namespaces/default/status";
    assert_eq!(get(&server, &jane, path).await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_trail_tells_who_did_what_and_by_which_right_and_no_secret() {
    let server = ApiServer::new(Options::new());
    reader_of_config(&server).await;
    make(
        &server,
        &format!("{RBAC}/clusterrolebindings"),
        binding("jane", "reader", "jane"),
    )
    .await;
    let jane = User::new("jane", ["staff"]);
    let secret = json!({ "metadata": { "name": "s" }, "stringData": { "key": "CANARY" } });
    make(&server, "/api/v1/namespaces/default/secrets", secret).await;
    get(
        &server,
        &jane,
        "/api/v1/namespaces/default/configmaps?labelSelector=a%3Db",
    )
    .await;
    get(&server, &jane, "/api/v1/namespaces/default/secrets/s").await;
    let bad = [("authorization", "Bearer CANARY")];
    ask(&server, None, ("GET", "/api"), &Value::Null, &bad).await;
    let headers = [("impersonate-user", "jane"), ("audit-id", "mine")];
    let options = json!({ "dryRun": ["All"] });
    let path = "/api/v1/namespaces/default/configmaps/x";
    ask(&server, Some(&User::admin()), ("DELETE", path), &options, &headers).await;

    let events = server.audit().user("jane").events();
    let told: Vec<_> = events
        .iter()
        .map(|event| {
            (
                &*event.attributes.verb,
                &*event.attributes.resource,
                event.decision,
                event.code,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("list", "configmaps", AuditDecision::Allowed, 200),
            ("get", "secrets", AuditDecision::Forbidden, 403),
            ("delete", "configmaps", AuditDecision::Forbidden, 403),
        ]
    );
    assert_eq!(
        events[0].reason,
        "RBAC: allowed by ClusterRoleBinding \"jane\" of ClusterRole \"reader\" to User \"jane\""
    );
    assert_eq!(events[0].attributes.label_selector, "a=b");
    assert_eq!(
        (&*events[2].id, events[2].user.as_ref().unwrap().name.as_str()),
        ("mine", "admin")
    );
    let unknown = server.audit().refused().filter(|event| event.user.is_none()).events();
    assert_eq!((unknown.len(), unknown[0].code), (1, 401));
    assert!(!format!("{:?}", server.audit()).contains("CANARY"));
    assert_eq!(server.fork().audit().events().len(), 0);
}

#[tokio::test]
async fn the_trail_forgets_the_oldest() {
    let server = ApiServer::new(Options::new().audit_events(3));
    for number in 0..10 {
        get(&server, &User::admin(), &format!("/api/v1/namespaces/n{number}")).await;
    }
    let names: Vec<_> = server
        .audit()
        .events()
        .iter()
        .map(|event| event.attributes.name.to_string())
        .collect();
    assert_eq!(names, ["n7", "n8", "n9"]);
    let silent = ApiServer::new(Options::new().audit_events(0));
    get(&silent, &User::admin(), "/api").await;
    assert!(silent.audit().events().is_empty());
}
