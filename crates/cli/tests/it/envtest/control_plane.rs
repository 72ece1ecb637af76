//! Both programs, started with the flags that controller-runtime v0.25 gives them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest, TokenReview};
use k8s_openapi::api::core::v1::{ConfigMap, Endpoints, Pod, Service, ServiceAccount};
use kube::CustomResource;
use kube::api::{Api, ListParams, PostParams};
use kubewright_extension::{ExtensionServer, RowError, RowStore, Rows};
use kubewright_runtime::extension::{ApiExtension as _, ExtensionContext};
use kubewright_runtime::serve::Certificates;
use kubewright_runtime::stop::Stopper;
use kubewright_system::certificates::Leaf;
use kubewright_system::kubeconfig::Credentials;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::net::TcpListener;

use super::setup::{Authorities, Program, Setup};

/// The answer of a plain HTTP server.
fn asked(port: u16, request: &str) -> Option<String> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
    socket.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).ok()?;
    Some(answer)
}

fn get(port: u16, path: &str) -> Option<String> {
    asked(
        port,
        &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
    )
}

async fn user_of(client: kube::Client) -> (String, Vec<String>) {
    let reviews: Api<SelfSubjectReview> = Api::all(client);
    let review = reviews
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await;
    let user = review.unwrap().status.unwrap().user_info.unwrap();
    (user.username.unwrap_or_default(), user.groups.unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pair_starts_serves_and_stops_as_envtest_wants_it() {
    let setup = Setup::new();
    let mut etcd = setup.etcd();
    let health = etcd.until(async || get(setup.etcd_port, "/health")).await;
    assert!(
        health.starts_with("HTTP/1.1 200") && health.ends_with(r#"{"health":"true","reason":""}"#),
        "{health}"
    );
    let refusal = asked(
        setup.etcd_port,
        "POST /v3/kv/put HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
    );
    assert!(refusal.unwrap().contains("this etcd stores nothing"));

    let (mut server, admin) = setup.started(&mut setup.kube_apiserver()).await;
    let (name, groups) = user_of(admin.clone()).await;
    assert_eq!(
        (name.as_str(), groups.as_slice()),
        ("admin", &["system:masters".into(), "system:authenticated".into()][..])
    );
    let jane = setup.client("jane", &["staff"]).await;
    assert_eq!(user_of(jane.clone()).await.0, "jane");
    let refused = Api::<Pod>::default_namespaced(jane).list(&ListParams::default()).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 403));

    // The server is found by others where this machine's default route begins, if it has one, and then with its port.
    let endpoints: Api<Endpoints> = Api::default_namespaced(admin.clone());
    if let Ok(found) = endpoints.get("kubernetes").await {
        let ports = found.subsets.unwrap()[0].ports.clone().unwrap();
        assert_eq!(ports[0].port, i32::from(setup.port));
    }

    // Pods need no service account, and no controller makes anything.
    let pod = json!({ "metadata": { "name": "web" }, "spec": { "containers": [{ "name": "web", "image": "nginx" }] } });
    let pods: Api<Pod> = Api::default_namespaced(admin.clone());
    let made = pods
        .create(&PostParams::default(), &serde_json::from_value(pod).unwrap())
        .await
        .unwrap();
    assert_eq!(made.spec.unwrap().service_account_name, None);

    for (mut program, signal) in [(server, "TERM"), (etcd, "INT")] {
        let begin = Instant::now();
        assert!(program.stop(signal).success());
        assert!(begin.elapsed() < Duration::from_secs(10), "envtest waits 20 seconds");
    }
    // Nothing else listens there.
    server = Program::start(&mut setup.kube_apiserver());
    server
        .until(async || TcpStream::connect(("127.0.0.1", setup.port)).ok())
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_signed_by_the_given_key_for_the_given_issuer() {
    let setup = Setup::new();
    let (_server, admin) = setup
        .started(setup.kube_apiserver().arg("--service-account-max-token-expiration=2h"))
        .await;
    let accounts: Api<ServiceAccount> = Api::default_namespaced(admin.clone());
    let robot = serde_json::from_value(json!({ "metadata": { "name": "robot" } })).unwrap();
    accounts.create(&PostParams::default(), &robot).await.unwrap();
    let wanted = json!({ "spec": { "expirationSeconds": 86400, "audiences": [] } });
    let wanted: TokenRequest = serde_json::from_value(wanted).unwrap();
    let made = accounts
        .create_token_request("robot", &PostParams::default(), &wanted)
        .await
        .unwrap();
    let made = serde_json::to_value(made).unwrap();
    assert_eq!(made["spec"]["expirationSeconds"], 7200, "shortened to the longest time");
    let token = made["status"]["token"].as_str().unwrap();
    let issuer = format!("https://127.0.0.1:{}/", setup.port);
    let review = json!({ "metadata": {}, "spec": { "token": token, "audiences": [issuer, "https://elsewhere"] } });
    let reviews: Api<TokenReview> = Api::all(admin);
    let review = reviews
        .create(&PostParams::default(), &serde_json::from_value(review).unwrap())
        .await;
    let status = review.unwrap().status.unwrap();
    assert_eq!(
        (status.authenticated, status.audiences),
        (Some(true), Some(vec![issuer])),
        "{:?}",
        status.error
    );
    let (name, _) = user_of(setup.client_with(Credentials::Token(token)).await).await;
    assert_eq!(name, "system:serviceaccount:default:robot");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashed_comes_back_with_its_certificates_and_nothing_else() {
    let setup = Setup::new();
    let (mut server, admin) = setup.started(&mut setup.kube_apiserver()).await;
    let configs: Api<ConfigMap> = Api::default_namespaced(admin);
    let config = serde_json::from_value(json!({ "metadata": { "name": "app" } })).unwrap();
    configs.create(&PostParams::default(), &config).await.unwrap();
    assert!(!server.stop("KILL").success());
    let (_server, admin) = setup.started(&mut setup.kube_apiserver()).await;
    let configs: Api<ConfigMap> = Api::default_namespaced(admin);
    assert!(configs.get_opt("app").await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_without_certificates_gets_some_that_stay() {
    let setup = Setup::new();
    let [certificate, key] = ["apiserver.crt", "apiserver.key"].map(|name| setup.folder.path().join(name));
    fs::remove_file(&certificate).unwrap();
    fs::remove_file(&key).unwrap();
    let mut made = Vec::new();
    for _ in 0..2 {
        let mut server = Program::start(&mut setup.kube_apiserver());
        server
            .until(async || TcpStream::connect(("127.0.0.1", setup.port)).ok())
            .await;
        made.push((
            fs::read_to_string(&certificate).unwrap(),
            fs::read_to_string(&key).unwrap(),
        ));
        assert!(server.stop("TERM").success());
    }
    assert_eq!(made[0], made[1]);
    assert_eq!(
        made[0].0.matches("BEGIN CERTIFICATE").count(),
        2,
        "the certificate and its authority"
    );
    let permissions =
        |path: &Path| std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777;
    assert_eq!(permissions(&key), 0o600);
    fs::remove_file(&key).unwrap();
    let refused = setup.kube_apiserver().output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("certificate and key must be supplied as a pair"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn token_files_modes_and_anonymous_clients_are_as_the_flags_say() {
    let setup = Setup::new();
    let tokens = setup.folder.path().join("tokens.csv");
    fs::write(&tokens, "open-sesame,ali,1,\"thieves\"\n").unwrap();
    let mut command = setup.kube_apiserver();
    command.arg(format!("--token-auth-file={}", tokens.display()));
    command.args(["--anonymous-auth=false", "--authorization-mode=AlwaysDeny"]);
    // The last mode is joined to the first: RBAC is asked, then everything is forbidden.
    let (_server, _) = setup.started(&mut command).await;
    let ali = setup.client_with(Credentials::Token("open-sesame")).await;
    assert_eq!(user_of(ali).await.0, "ali");
    let nobody = setup.client_with(Credentials::Token("open-barley")).await;
    let refused = Api::<Pod>::default_namespaced(nobody)
        .list(&ListParams::default())
        .await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 401));
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_run_if_they_are_asked_for() {
    let setup = Setup::new();
    let (mut server, admin) = setup
        .started(setup.kube_apiserver().env("KUBEWRIGHT_CONTROLLERS", "all"))
        .await;
    let labels = json!({ "app": "web" });
    let deployment = json!({
        "metadata": { "name": "web" },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "web", "image": "nginx" }] } },
        },
    });
    let deployments: Api<Deployment> = Api::default_namespaced(admin.clone());
    let deployment = serde_json::from_value(deployment).unwrap();
    deployments.create(&PostParams::default(), &deployment).await.unwrap();
    let sets: Api<ReplicaSet> = Api::default_namespaced(admin);
    let is_ready = async || {
        let sets = sets.list(&ListParams::default()).await.ok()?;
        let status = sets.items.first()?.status.as_ref()?;
        status.ready_replicas.filter(|ready| *ready == 1)
    };
    server.until(is_ready).await;
    assert!(server.stop("TERM").success());
}

/// Something that another server knows of.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "sea.example.com", version = "v1", kind = "Lighthouse")]
pub(crate) struct LighthouseSpec {
    /// How high it is.
    pub metres: u32,
}

struct Map;

impl Rows<Lighthouse> for Map {
    async fn list(&self, _: Option<&str>) -> Result<Vec<Lighthouse>, RowError> {
        Ok(vec![Lighthouse::new("pharos", LighthouseSpec { metres: 100 })])
    }
}

/// Tells a server where an aggregated API is, on this machine.
async fn announce(admin: &kube::Client, port: u16) {
    let service = json!({
        "metadata": { "name": "sea" },
        "spec": { "type": "ExternalName", "externalName": "localhost", "ports": [{ "port": port }] },
    });
    let services: Api<Service> = Api::default_namespaced(admin.clone());
    let service = serde_json::from_value(service).unwrap();
    services.create(&PostParams::default(), &service).await.unwrap();
    let api_service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": { "name": "v1.sea.example.com" },
        "spec": {
            "group": "sea.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
            "insecureSkipTLSVerify": true, "service": { "namespace": "default", "name": "sea", "port": port },
        },
    });
    let request = http::Request::post("/apis/apiregistration.k8s.io/v1/apiservices")
        .header("content-type", "application/json")
        .body(api_service.to_string().into_bytes());
    admin.request_text(request.unwrap()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn aggregated_apis_recognize_the_given_front_proxy_and_no_other() {
    let setup = Setup::new();
    let proxies = Authorities::new("aggregator-ca");
    let proxy = proxies
        .signer
        .sign(&Leaf::client("aggregator", &[] as &[&str]))
        .unwrap();
    let mut command = setup.kube_apiserver();
    for (flag, file, text) in [
        (
            "requestheader-client-ca-file",
            "proxies.crt",
            proxies.certificate.certificate_pem(),
        ),
        ("proxy-client-cert-file", "proxy.crt", proxy.certificate_pem()),
        ("proxy-client-key-file", "proxy.key", proxy.key_pem()),
    ] {
        let path = setup.folder.path().join(file);
        fs::write(&path, text).unwrap();
        command.arg(format!("--{flag}={}", path.display()));
    }
    command
        .arg("--requestheader-allowed-names=aggregator")
        .arg("--requestheader-username-headers=X-Remote-User")
        .arg("--requestheader-group-headers=X-Remote-Group")
        .arg("--requestheader-extra-headers-prefix=X-Remote-Extra-");
    let (mut server, admin) = setup.started(&mut command).await;
    let maps: Api<ConfigMap> = Api::namespaced(admin.clone(), "kube-system");
    let trust = maps
        .get("extension-apiserver-authentication")
        .await
        .unwrap()
        .data
        .unwrap();
    assert_eq!(trust["requestheader-allowed-names"], r#"["aggregator"]"#);
    assert_eq!(
        trust["requestheader-client-ca-file"]
            .matches("BEGIN CERTIFICATE")
            .count(),
        1
    );

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (_stopper, stop) = Stopper::new();
    let context = ExtensionContext {
        kube: admin.clone(),
        listener,
        certificates: Certificates::self_signed(&["localhost"]).unwrap(),
        stop,
    };
    let extension = Arc::new(ExtensionServer::new().rows(RowStore::<Lighthouse, _>::new(Map)));
    tokio::spawn(async move { extension.serve(context).await.unwrap() });
    announce(&admin, port).await;
    let lighthouses: Api<Lighthouse> = Api::all(admin);
    let found = server.until(async || lighthouses.get("pharos").await.ok()).await;
    assert_eq!(found.spec.metres, 100);
}
