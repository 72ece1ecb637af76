//! Every verb in every version, on the embedded server; and by hand on a real one.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::crd::merge_crds;
use kube::{Client, CustomResourceExt as _};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::conversion::{Conversions, PATH};
use serde_json::{Value, json};

use super::kinds::{preserving, v1, v1alpha1, v1beta1};

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// Someone who talks to the server in JSON.
struct User {
    client: Client,
    namespace: String,
    group: &'static str,
}

impl User {
    fn path(&self, version: &str, name: &str) -> String {
        let separator = if name.is_empty() || name.starts_with('?') {
            ""
        } else {
            "/"
        };
        let (group, namespace) = (self.group, &self.namespace);
        format!("/apis/{group}/{version}/namespaces/{namespace}/shops{separator}{name}")
    }

    async fn ask(&self, method: &str, path: &str, content_type: &str, body: &Value) -> Result<Value, kube::Error> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type);
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        self.client.request(request.body(body).unwrap()).await
    }

    async fn get(&self, version: &str, name: &str) -> Value {
        let path = self.path(version, name);
        self.ask("GET", &path, "application/json", &Value::Null).await.unwrap()
    }

    async fn write(&self, method: &str, version: &str, name: &str, content_type: &str, body: &Value) -> Value {
        let path = self.path(version, name);
        self.ask(method, &path, content_type, body).await.unwrap()
    }

    async fn define(&self, definition: &CustomResourceDefinition) {
        let definition = serde_json::to_value(definition).unwrap();
        self.ask("POST", DEFINITION, "application/json", &definition)
            .await
            .unwrap();
        // A real server serves it a moment later.
        for _ in 0..100 {
            let path = self.path("v1", "");
            if self.ask("GET", &path, "", &Value::Null).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the kind is not served");
    }
}

/// The definition with all versions, whose webhook is reached as told.
fn definition(stored: &str, client_config: &Value) -> CustomResourceDefinition {
    let versions = vec![v1::Shop::crd(), v1beta1::Shop::crd(), v1alpha1::Shop::crd()];
    let mut merged = serde_json::to_value(merge_crds(versions, stored).unwrap()).unwrap();
    merged["spec"]["conversion"] = json!({
        "strategy": "Webhook",
        "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": client_config },
    });
    serde_json::from_value(merged).unwrap()
}

/// An embedded server whose webhook is in this process, and how often it was asked.
async fn embedded(conversions: Conversions, stored: &str) -> (ApiServer, User, Arc<AtomicUsize>) {
    let server = ApiServer::new(Options::new());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    server.handle_service("shops", "webhook", 443, move |request: Request<Bytes>| {
        assert_eq!(request.uri().path(), PATH);
        count.fetch_add(1, Ordering::Relaxed);
        let answer = conversions.answer(request.body());
        async move {
            let (head, body) = answer.into_parts();
            Response::from_parts(head, body.collect().await.unwrap().to_bytes())
        }
    });
    let user = User {
        client: server.client(),
        namespace: "default".to_owned(),
        group: "shop.example.com",
    };
    let service = json!({ "service": { "namespace": "shops", "name": "webhook", "path": PATH } });
    user.define(&definition(stored, &service)).await;
    (server, user, asked)
}

fn shop(version: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("shop.example.com/{version}"), "kind": "Shop", "metadata": { "name": name }, "spec": spec,
    })
}

/// What users of all three versions do to the same objects.
async fn every_verb_in_every_version(user: &User, stored: &str) {
    let json = "application/json";
    // Created in the newest version, with everything only that one can hold.
    let full = json!({
        "replicas": 3, "paused": true, "payment": "Barter", "timeoutSeconds": 5,
        "ports": [{ "name": "dns", "number": 53, "protocol": "UDP" }],
        "shelves": { "left": { "height": 1.5 } },
    });
    let created = user.write("POST", "v1", "", json, &shop("v1", "full", &full)).await;
    assert_eq!(created["spec"], full);
    let mut status = created.clone();
    status["status"] = json!({ "readyReplicas": 2, "message": "filling" });
    user.write("PUT", "v1", "full/status", json, &status).await;

    // Read in the others.
    let beta = user.get("v1beta1", "full").await;
    assert_eq!(beta["apiVersion"], "shop.example.com/v1beta1");
    assert_eq!(
        beta["spec"],
        json!({
            "size": 3, "timeout": "5s", "payment": "Cash", "shelves": { "left": { "height": 1.5 } },
            "ports": [{ "name": "dns", "number": 53 }],
        })
    );
    assert_eq!(beta["status"], json!({ "ready": 2 }));
    assert_eq!(beta["metadata"]["uid"], created["metadata"]["uid"]);
    let alpha = user.get("v1alpha1", "full").await;
    assert_eq!(alpha["spec"], json!({ "size": "3", "ports": [53] }));

    // Created in the oldest, listed in all.
    let old = json!({ "size": "1", "motto": "open late" });
    let old = user
        .write("POST", "v1alpha1", "", json, &shop("v1alpha1", "old", &old))
        .await;
    assert_eq!(old["spec"], json!({ "size": "1", "motto": "open late" }));
    let mut revision = String::new();
    for version in ["v1", "v1beta1", "v1alpha1"] {
        let list = user.get(version, "").await;
        let items = list["items"].as_array().unwrap();
        assert_eq!(items.len(), 2, "{version}");
        assert!(
            items
                .iter()
                .all(|item| item["apiVersion"] == format!("shop.example.com/{version}")),
            "{list}"
        );
        list["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .clone_into(&mut revision);
    }

    // Written through the oldest, patched through the middle: what they cannot hold survives.
    let mut put = alpha;
    put["spec"]["size"] = "4".into();
    user.write("PUT", "v1alpha1", "full", json, &put).await;
    let change = json!({ "spec": { "timeout": "7s" } });
    user.write("PATCH", "v1beta1", "full", MERGE, &change).await;
    let now = user.get("v1", "full").await;
    let mut expected = full.clone();
    expected["replicas"] = json!(4);
    expected["timeoutSeconds"] = json!(7);
    assert_eq!(now["spec"], expected);
    assert_eq!(now["status"], json!({ "readyReplicas": 2, "message": "filling" }));
    assert_eq!(now["metadata"].get("annotations"), None);
    assert_eq!(now["metadata"]["generation"], 3);

    // The status through the middle leaves the spec alone.
    let mut beta = user.get("v1beta1", "full").await;
    beta["status"]["ready"] = json!(4);
    user.write("PUT", "v1beta1", "full/status", json, &beta).await;
    let now = user.get("v1", "full").await;
    assert_eq!(now["spec"], expected);
    assert_eq!(now["status"], json!({ "readyReplicas": 4, "message": "filling" }));

    // A watch shows all that in its own version.
    let watch = user.path(
        "v1beta1",
        &format!("?watch=1&timeoutSeconds=2&resourceVersion={revision}"),
    );
    let watch = Request::get(watch).body(Vec::new()).unwrap();
    let events = user.client.request_events::<Value>(watch).await.unwrap();
    let events: Vec<_> = events.collect().await;
    let seen: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Ok(kube::core::WatchEvent::Modified(object)) => Some((
                object["apiVersion"].as_str().unwrap(),
                object["spec"]["size"].as_i64().unwrap(),
                object["spec"]["timeout"].as_str().unwrap(),
            )),
            _ => None,
        })
        .collect();
    let beta = "shop.example.com/v1beta1";
    assert_eq!(seen, [(beta, 4, "5s"), (beta, 4, "7s"), (beta, 4, "7s")]);

    // Applied through two versions, each manager owning its fields.
    let applied = shop(
        "v1beta1",
        "applied",
        &json!({ "size": 2, "ports": [{ "name": "a", "number": 1 }] }),
    );
    user.write("PATCH", "v1beta1", "applied?fieldManager=old", APPLY, &applied)
        .await;
    let applied = shop("v1", "applied", &json!({ "replicas": 2, "paused": true }));
    user.write("PATCH", "v1", "applied?fieldManager=new", APPLY, &applied)
        .await;
    let now = user.get("v1", "applied").await;
    assert_eq!(now["spec"]["paused"], true);
    assert_eq!(
        now["spec"]["ports"],
        json!([{ "name": "a", "number": 1, "protocol": "TCP" }])
    );
    // Both said two, in their own words; a third one disagrees with both.
    let path = user.path("v1alpha1", "applied?fieldManager=other");
    let body = shop("v1alpha1", "applied", &json!({ "size": "9" }));
    let refused = user.ask("PATCH", &path, APPLY, &body).await.unwrap_err();
    let kube::Error::Api(refused) = refused else {
        panic!("{refused}")
    };
    assert_eq!(refused.code, 409);
    assert_eq!(
        refused.message,
        "Apply failed with 2 conflicts: conflicts with \"new\":\n- .spec.replicas\nconflicts with \"old\":\n- .spec.size"
    );

    // What cannot be converted cannot be stored, and who asks is told the object and the reason.
    if stored != "v1beta1" {
        let change = json!({ "spec": { "timeout": "soon" } });
        let path = user.path("v1beta1", "full");
        let refused = user.ask("PATCH", &path, MERGE, &change).await.unwrap_err();
        let kube::Error::Api(refused) = refused else {
            panic!("{refused}")
        };
        assert_eq!(refused.code, 500);
        let begin = format!(
            "conversion webhook for shop.example.com/v1beta1, Kind=Shop failed: Shop {}/full: ",
            user.namespace
        );
        let reason = "spec.timeout: \"soon\" is not a number of seconds, as 5s";
        assert!(refused.message.starts_with(&begin), "{}", refused.message);
        assert!(refused.message.ends_with(reason), "{}", refused.message);
        assert!(stored != "v1" || refused.message.len() == begin.len() + reason.len());
    }

    // Deleted through any.
    let path = user.path("v1alpha1", "full");
    user.ask("DELETE", &path, json, &Value::Null).await.unwrap();
    let gone = user
        .ask("GET", &user.path("v1", "full"), json, &Value::Null)
        .await
        .unwrap_err();
    assert!(matches!(gone, kube::Error::Api(gone) if gone.code == 404));
}

#[tokio::test(start_paused = true)]
async fn every_verb_works_in_every_version_whichever_is_stored() {
    for stored in ["v1", "v1beta1", "v1alpha1"] {
        let (_server, user, _) = embedded(preserving(), stored).await;
        every_verb_in_every_version(&user, stored).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_brings_an_object_to_the_stored_version() {
    let (_server, user, asked) = embedded(preserving(), "v1beta1").await;
    let spec = json!({ "replicas": 1, "paused": true, "payment": "Cash" });
    user.write("POST", "v1", "", "application/json", &shop("v1", "a", &spec))
        .await;
    let calls = || asked.swap(0, Ordering::Relaxed);
    let path = format!("{DEFINITION}/shops.shop.example.com");
    let mut defined = user.ask("GET", &path, "", &Value::Null).await.unwrap();
    for version in defined["spec"]["versions"].as_array_mut().unwrap() {
        version["storage"] = (version["name"] == "v1").into();
    }
    let defined = user.ask("PUT", &path, "application/json", &defined).await.unwrap();
    assert_eq!(defined["status"]["storedVersions"], json!(["v1beta1", "v1"]));
    calls();
    // It lies there as it was written, and is converted whenever it is read in the new version.
    assert_eq!(user.get("v1", "a").await["spec"], spec);
    assert!(calls() > 0);
    let change = json!({ "metadata": { "labels": { "touched": "yes" } } });
    user.write("PATCH", "v1", "a", MERGE, &change).await;
    calls();
    assert_eq!(user.get("v1", "a").await["spec"], spec);
    assert_eq!(calls(), 0);
}

/// With `KUBEWRIGHT_TEST_CLUSTER=yes` the same on the cluster of your kubeconfig, whose API server must reach this machine at
/// 127.0.0.1; nothing without.
#[tokio::test(flavor = "multi_thread")]
async fn every_verb_works_in_every_version_on_a_cluster() {
    use kubewright_runtime::serve::{BindAddress, Certificates, HttpServer};
    use kubewright_runtime::stop::Stopper;
    use kubewright_runtime::webhook::{Webhook, WebhookServer};

    if std::env::var_os("KUBEWRIGHT_TEST_CLUSTER").is_none() {
        kubewright_test_support::skip("KUBEWRIGHT_TEST_CLUSTER is not set, so no cluster is asked");
        return;
    }
    let client = Client::try_default().await.unwrap();
    let certificate = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let (chain, key) = (certificate.cert.pem(), certificate.signing_key.serialize_pem());
    let files = tempfile::tempdir().unwrap();
    let (chain_file, key_file) = (files.path().join("tls.crt"), files.path().join("tls.key"));
    std::fs::write(&chain_file, &chain).unwrap();
    std::fs::write(&key_file, &key).unwrap();
    let certificates = Certificates::from_files(chain_file, key_file).unwrap();
    let conversions = preserving();
    let endpoint = move |request: Request<Bytes>| {
        let answer = conversions.answer(request.body());
        async move {
            let (head, body) = answer.into_parts();
            Response::from_parts(head, body.collect().await.unwrap().to_bytes())
        }
    };
    let server = WebhookServer::new([] as [Webhook; 0])
        .unwrap()
        .route(PATH, endpoint)
        .unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let address: BindAddress = address.to_string().parse().unwrap();
    let listening = HttpServer::bind(&address, server.router()).await.unwrap().unwrap();
    let port = listening.address().port();
    let listening = listening.with_tls(certificates, true).unwrap();
    let (stopper, stop) = Stopper::new();
    let serving = tokio::spawn(listening.run(stop));

    let user = User {
        client,
        namespace: "conversion-by-hand".to_owned(),
        group: "shop.example.com",
    };
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": user.namespace } });
    let _ = user
        .ask("POST", "/api/v1/namespaces", "application/json", &namespace)
        .await;
    let bundle = base64(chain.as_bytes());
    let url = json!({ "url": format!("https://127.0.0.1:{port}{PATH}"), "caBundle": bundle });
    for stored in ["v1", "v1beta1", "v1alpha1"] {
        user.define(&definition(stored, &url)).await;
        every_verb_in_every_version(&user, stored).await;
        let path = format!("{DEFINITION}/shops.shop.example.com");
        user.ask("DELETE", &path, "", &Value::Null).await.unwrap();
        while user.ask("GET", &path, "", &Value::Null).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    stopper.stop();
    let _ = serving.await;
}

fn base64(bytes: &[u8]) -> String {
    let encoded = serde_json::to_value(k8s_openapi::ByteString(bytes.to_vec())).unwrap();
    encoded.as_str().unwrap().to_owned()
}
