//! Flags of `kube-apiserver` do what they say.

use std::fs;

use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Endpoints, Pod, ServiceAccount};
use kube::api::{Api, ListParams, PostParams};
use kubewright_system::kubeconfig::Credentials;
use serde_json::{Value, json};

use super::setup::{Program, Setup};

async fn answer(client: &kube::Client, path: &str) -> Option<Value> {
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    client.request(request).await.ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_goes_on_serving_for_the_delay_and_ends_at_the_second_signal() {
    let setup = Setup::new();
    let (mut server, admin) = setup
        .started(setup.kube_apiserver().arg("--shutdown-delay-duration=1h"))
        .await;
    server.signal("TERM");
    // The delay has begun, or has not yet: in both cases it answers.
    for _ in 0..20 {
        assert!(answer(&admin, "/version").await.is_some());
    }
    assert!(server.stop("TERM").success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_does_not_say_how_long_ends_within_twice_the_least_time() {
    let setup = Setup::new();
    let (_server, admin) = setup
        .started(setup.kube_apiserver().arg("--min-request-timeout=1"))
        .await;
    let request = http::Request::get("/api/v1/namespaces/default/pods?watch=1");
    let watch = admin.send(request.body(Vec::new().into()).unwrap()).await.unwrap();
    // Without the flag it would last half an hour at least.
    let events = watch.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(events, "");
}

/// The bytes of base64 for addresses, without padding.
fn base64_url(text: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = text.chars().flat_map(|c| {
        let value = ALPHABET.find(c).unwrap();
        (0..6).rev().map(move |bit| u8::from(value >> bit & 1 == 1))
    });
    let bits: Vec<u8> = bits.collect();
    let byte = |bits: &[u8]| bits.iter().fold(0, |byte, bit| byte << 1 | bit);
    bits.chunks_exact(8).map(byte).collect()
}

/// For how many seconds the token is good that a Pod asks for as kubelets do.
async fn seconds_of_a_pods_token(flag: &str) -> i64 {
    let setup = Setup::new();
    let (_server, admin) = setup.started(setup.kube_apiserver().arg(flag)).await;
    let accounts: Api<ServiceAccount> = Api::default_namespaced(admin.clone());
    let robot = serde_json::from_value(json!({ "metadata": { "name": "robot" } })).unwrap();
    accounts.create(&PostParams::default(), &robot).await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(admin);
    let pod = json!({
        "metadata": { "name": "web" },
        "spec": { "serviceAccountName": "robot", "containers": [{ "name": "web", "image": "nginx" }] },
    });
    let pod = serde_json::from_value(pod).unwrap();
    let pod = pods.create(&PostParams::default(), &pod).await.unwrap();
    let bound = json!({ "apiVersion": "v1", "kind": "Pod", "name": "web", "uid": pod.metadata.uid });
    let wanted = json!({ "spec": { "expirationSeconds": 3607, "audiences": [], "boundObjectRef": bound } });
    let wanted = serde_json::from_value(wanted).unwrap();
    let parameters = PostParams::default();
    let made = accounts.create_token_request("robot", &parameters, &wanted).await;
    let token = made.unwrap().status.unwrap().token.unwrap();
    let claims = base64_url(token.split('.').nth(1).unwrap());
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_pods_last_a_year_unless_they_are_not_extended() {
    let year = 365 * 24 * 3600;
    let extended = seconds_of_a_pods_token("--service-account-extend-token-expiration=true").await;
    assert!(extended >= year, "{extended}");
    let exact = seconds_of_a_pods_token("--service-account-extend-token-expiration=false").await;
    assert_eq!(exact, 3607);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_has_lines_of_words_in_its_old_format() {
    let setup = Setup::new();
    let folder = setup.folder.path();
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, users: [ali]}, {level: None}]\n";
    fs::write(folder.join("policy.yaml"), policy).unwrap();
    fs::write(folder.join("tokens.csv"), "open-sesame,ali,1,\"thieves\"\n").unwrap();
    let mut command = setup.kube_apiserver();
    for (flag, file) in [
        ("audit-policy-file", "policy.yaml"),
        ("audit-log-path", "audit.log"),
        ("token-auth-file", "tokens.csv"),
    ] {
        command.arg(format!("--{flag}={}", folder.join(file).display()));
    }
    let (mut server, _) = setup.started(command.arg("--audit-log-format=legacy")).await;
    let ali = setup.client_with(Credentials::Token("open-sesame")).await;
    let configs: Api<ConfigMap> = Api::default_namespaced(ali);
    assert!(configs.list(&ListParams::default()).await.is_err());
    server.stop("TERM");
    let log = fs::read_to_string(folder.join("audit.log")).unwrap();
    let last = log.lines().last().unwrap();
    for words in [
        " AUDIT: id=\"",
        " stage=\"ResponseComplete\" ip=\"127.0.0.1\" method=\"list\" user=\"ali\" groups=\"\\\"thieves\\\",\\\"system:authenticated\\\"\"",
        " uri=\"/api/v1/namespaces/default/configmaps?\" response=\"403\"",
    ] {
        assert!(last.contains(words), "{words}\n{last}");
    }
}

/// What a program says that ends at once.
fn refusal(setup: &Setup, flag: &str) -> String {
    let output = setup.kube_apiserver().arg(flag).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{flag}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn other_apis_ranges_and_lifetimes_than_there_are_are_refused_by_name() {
    let setup = Setup::new();
    for flag in [
        "--runtime-config=api/all=true",
        "--runtime-config=api/beta=true",
        "--runtime-config=api/ga=false",
        "--runtime-config=apps/v1=false",
        "--runtime-config=v1=false",
        "--runtime-config=apps/v9=true",
        "--service-node-port-range=1-2",
        "--event-ttl=2h0m0s",
        "--enable-garbage-collector=false",
    ] {
        let said = refusal(&setup, flag);
        let (name, _) = flag.split_once('=').unwrap();
        let is_named = said.contains(name) && said.contains(" is not possible here: ");
        assert!(is_named, "{flag}: {said}");
    }
    let said = refusal(&setup, "--service-account-jwks-uri=http://keys.example.com");
    assert!(said.contains("service-account-jwks-uri requires https scheme, parsed as: http://keys.example.com"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_there_is_may_be_asked_for_and_where_the_server_is_may_be_left_unsaid() {
    let setup = Setup::new();
    let mut command = setup.kube_apiserver();
    command.args([
        "--runtime-config=api/ga=true,api/beta=false,apps/v1=true,v1=true,apps/v9=false",
        "--service-node-port-range=30000-32767",
        "--advertise-address=192.0.2.7",
        "--endpoint-reconciler-type=none",
        "--external-hostname=api.example.com",
    ]);
    let (_server, admin): (Program, _) = setup.started(&mut command).await;
    let endpoints: Api<Endpoints> = Api::default_namespaced(admin.clone());
    assert!(endpoints.get_opt("kubernetes").await.unwrap().is_none());
    let told = answer(&admin, "/api").await.unwrap();
    let address = &told["serverAddressByClientCIDRs"][0]["serverAddress"];
    assert_eq!(*address, format!("api.example.com:{}", setup.port));
}
