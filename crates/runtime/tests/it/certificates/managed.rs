//! The Secret that replicas share, and the bundles they announce.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{Request, Response};
use kube::client::Body;
use kubewright_runtime::certificates::Source;
use kubewright_runtime::random::Random;
use serde_json::{Value, json};

use super::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_start_at_once_end_with_one_authority() {
    for replicas in [2, 5] {
        let cluster = Cluster::with_webhooks().await;
        let started: Vec<_> = (0..replicas).map(|_| Replica::managed(&cluster, epoch())).collect();
        for replica in &started {
            replica.ready().await;
        }
        assert!(cluster.is_announced().await);
        let bundle = cluster.secret("ca.crt").await.unwrap();
        assert_eq!(bundle.matches("BEGIN").count(), 1);
        let mut leaves = Vec::new();
        for replica in &started {
            let listening = listen(&replica.certificates).await;
            leaves.push(shown(
                &connect(listening.address, &bundle, NAME, epoch()).await.unwrap(),
            ));
        }
        leaves.dedup();
        assert_eq!(leaves.len(), 1, "all show the same");
        assert_eq!(cluster.secret("tls.crt").await.unwrap().matches("BEGIN").count(), 1);
    }
}

#[tokio::test]
async fn a_replica_that_starts_later_uses_what_is_there() {
    let cluster = Cluster::with_webhooks().await;
    Replica::managed(&cluster, epoch()).ready().await;
    let before = cluster.get(SECRET).await;
    Replica::managed(&cluster, day(59)).ready().await;
    assert_eq!(cluster.get(SECRET).await, before);
}

#[tokio::test]
async fn a_secret_that_is_deleted_comes_back_as_it_was() {
    let cluster = Cluster::with_webhooks().await;
    let replica = Replica::managed(&cluster, epoch());
    replica.ready().await;
    let before = cluster.get(SECRET).await;
    cluster.delete(SECRET).await;
    eventually("the Secret is back", async || {
        cluster
            .try_get(SECRET)
            .await
            .is_some_and(|secret| secret["data"] == before["data"])
    })
    .await;
    assert!(cluster.is_announced().await);
}

#[tokio::test(start_paused = true)]
async fn rubbish_in_the_secret_is_repaired_while_running_and_at_the_start() {
    let cluster = Cluster::with_webhooks().await;
    let replica = Replica::managed(&cluster, epoch());
    replica.ready().await;
    let before = cluster.get(SECRET).await["data"].clone();
    for field in ["ca.crt", "ca.key", "tls.crt", "tls.key"] {
        for rubbish in [encoded("rubbish"), encoded(""), Value::Null] {
            cluster.merge(SECRET, &json!({ "data": { field: rubbish } })).await;
            eventually("the Secret is as before", async || {
                cluster.get(SECRET).await["data"] == before
            })
            .await;
        }
    }
    replica.stop().await;

    // Nobody remembers: it is made anew.
    let rubbish = encoded("rubbish");
    let data = json!({ "ca.crt": rubbish, "ca.key": rubbish, "tls.crt": rubbish, "tls.key": rubbish });
    cluster.merge(SECRET, &json!({ "data": data })).await;
    let replica = Replica::managed(&cluster, epoch());
    replica.ready().await;
    assert!(cluster.is_announced().await);
    assert!(cluster.get(SECRET).await["data"] != before);
}

#[tokio::test]
async fn a_secret_of_somebody_else_is_refused_and_left_alone() {
    let theirs = [
        (
            json!({ "data": { "password": encoded("swordfish") } }),
            "it has data, but neither the label",
        ),
        (
            json!({ "metadata": { "annotations": { "cert-manager.io/certificate-name": "serving" } } }),
            "cert-manager keeps a certificate in it",
        ),
    ];
    for (secret, reason) in theirs {
        let cluster = Cluster::with_webhooks().await;
        let mut secret = secret;
        secret["metadata"]["name"] = "webhooks-cert".into();
        cluster.post("/api/v1/namespaces/shop/secrets", &secret).await;
        let before = cluster.get(SECRET).await;
        let replica = Replica::managed(&cluster, epoch());
        eventually("the reason is told", async || {
            replica.certificates.check().is_err_and(|error| {
                error.starts_with("Secret shop/webhooks-cert is not ours: ")
                    && error.contains(reason)
                    && error.ends_with("name another one, or give its files with --webhook-cert-path")
            })
        })
        .await;
        assert_eq!(cluster.get(SECRET).await, before);
    }
}

#[tokio::test]
async fn an_empty_secret_is_filled_and_its_other_fields_stay() {
    let cluster = Cluster::with_webhooks().await;
    let secret = json!({ "metadata": { "name": "webhooks-cert", "labels": { "app": "shop", "kubewright.dev/certificates": "" } },
        "data": { "note": encoded("hello") } });
    cluster.post("/api/v1/namespaces/shop/secrets", &secret).await;
    let replica = Replica::managed(&cluster, epoch());
    replica.ready().await;
    let filled = cluster.get(SECRET).await;
    assert_eq!(filled["metadata"]["labels"]["app"], "shop");
    assert_eq!(cluster.secret("note").await.as_deref(), Some("hello"));
    assert!(cluster.is_announced().await);
}

#[tokio::test(start_paused = true)]
async fn a_bundle_that_somebody_removes_or_overwrites_comes_back() {
    let cluster = Cluster::with_webhooks().await;
    let replica = Replica::managed(&cluster, epoch());
    replica.ready().await;
    let other = rcgen::generate_simple_self_signed(["other".to_owned()])
        .unwrap()
        .cert
        .pem();
    let change = |path: &str, bundle: Option<&str>| match bundle {
        Some(bundle) => json!([{ "op": "replace", "path": path, "value": encoded(bundle) }]),
        None => json!([{ "op": "remove", "path": path }]),
    };
    for bundle in [None, Some(other.as_str())] {
        let path = "/webhooks/1/clientConfig/caBundle";
        let changed = cluster.patch(&format!("{MUTATING}/shop"), &change(path, bundle)).await;
        let announced = decoded(&changed["webhooks"][1]["clientConfig"]["caBundle"]);
        assert_eq!(announced.as_deref(), bundle);
        cluster
            .patch(&format!("{VALIDATING}/shop"), &change(path, bundle))
            .await;
        let path = "/spec/conversion/webhook/clientConfig/caBundle";
        cluster
            .patch(&format!("{DEFINITIONS}/boats.shop.example.com"), &change(path, bundle))
            .await;
        eventually("the bundles are back", async || cluster.is_announced().await).await;
    }
}

#[tokio::test]
async fn a_configuration_that_comes_later_gets_its_bundle() {
    let cluster = Cluster::empty().await;
    let replica = Replica::managed(&cluster, epoch());
    // Nothing is installed yet: that is no reason not to be ready.
    replica.ready().await;
    cluster.post(MUTATING, &configuration("Mutating", "shop")).await;
    cluster.post(VALIDATING, &configuration("Validating", "shop")).await;
    cluster.post(DEFINITIONS, &definition()).await;
    eventually("the bundles are there", async || cluster.is_announced().await).await;
}

#[tokio::test]
async fn fields_of_others_stay_theirs() {
    let cluster = Cluster::with_webhooks().await;
    let mut theirs = cluster.mutating().await;
    theirs["metadata"]["labels"] = json!({ "team": "shop" });
    theirs["webhooks"][0]["clientConfig"]["service"]["name"] = "somebody-else".into();
    cluster
        .put(&format!("{MUTATING}/shop?fieldManager=them"), &theirs)
        .await;
    let before = cluster.mutating().await;
    let replica = Replica::managed(&cluster, epoch());
    replica.ready().await;
    let mut after = cluster.mutating().await;
    assert!(after["webhooks"][0]["clientConfig"].get("caBundle").is_none());
    let bundle = after["webhooks"][1]["clientConfig"]
        .as_object_mut()
        .unwrap()
        .remove("caBundle");
    assert_eq!(bundle.as_ref().and_then(decoded), cluster.secret("ca.crt").await);
    let owners = after["metadata"]["managedFields"].as_array().unwrap().clone();
    let ours: Vec<_> = owners
        .iter()
        .filter(|owner| owner["manager"] == "kubewright-certificates")
        .map(|owner| owner["fieldsV1"].clone())
        .collect();
    let item = json!({ "f:clientConfig": { "f:caBundle": {} } });
    assert_eq!(
        ours,
        [json!({ "f:webhooks": { "k:{\"name\":\"b.shop.example.com\"}": item } })]
    );
    for object in [&mut after] {
        for field in ["managedFields", "resourceVersion", "generation"] {
            object["metadata"][field] = before["metadata"][field].clone();
        }
    }
    assert_eq!(after, before);
}

#[tokio::test]
async fn an_author_who_applies_can_remove_a_webhook_whose_bundle_is_ours() {
    let cluster = Cluster::empty().await;
    let apply = async |body: &Value| {
        let uri = format!("{MUTATING}/shop?fieldManager=author");
        let request = Request::builder().method("PATCH").uri(uri);
        let request = request.header("content-type", "application/apply-patch+yaml");
        cluster
            .kube
            .request::<Value>(request.body(body.to_string().into_bytes()).unwrap())
            .await
    };
    let mut manifest = configuration("Mutating", "shop");
    apply(&manifest).await.unwrap();
    let replica = Replica::managed(&cluster, epoch());
    replica.ready().await;
    manifest["webhooks"].as_array_mut().unwrap().remove(0);
    let applied = apply(&manifest).await.unwrap();
    let names: Vec<_> = applied["webhooks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|webhook| &webhook["name"])
        .collect();
    assert_eq!(names, ["b.shop.example.com"]);
    assert!(applied["webhooks"][0]["clientConfig"]["caBundle"].is_string());
}

#[tokio::test]
async fn what_cert_manager_cares_for_is_left_to_it() {
    let cluster = Cluster::with_webhooks().await;
    let annotated = json!({ "metadata": { "annotations": { "cert-manager.io/inject-ca-from": "shop/serving" } } });
    cluster.merge(&format!("{VALIDATING}/shop"), &annotated).await;
    let before = cluster.validating().await;
    let replica = Replica::managed(&cluster, epoch());
    replica.ready().await;
    assert_eq!(cluster.validating().await, before);
    assert!(cluster.bundles().await[0].is_some());
}

/// A client of a server that is down until told otherwise.
fn switched(cluster: &Cluster, up: &Arc<AtomicBool>) -> kube::Client {
    let (kube, up) = (cluster.kube.clone(), Arc::clone(up));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (kube, up) = (kube.clone(), Arc::clone(&up));
        async move {
            if up.load(Ordering::Relaxed) {
                let answer: Response<Body> = kube.send(request).await.map_err(std::io::Error::other)?;
                return Ok(answer);
            }
            Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused))
        }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_down_is_waited_for_and_the_reason_is_told() {
    let cluster = Cluster::with_webhooks().await;
    let up = Arc::new(AtomicBool::new(false));
    let replica = Replica::start(switched(&cluster, &up), Source::Managed(options()), epoch());
    tokio::time::sleep(Duration::from_mins(10)).await;
    let reason = replica.certificates.check().unwrap_err();
    assert!(
        reason.starts_with("cannot get Secret shop/webhooks-cert: the API server does not answer: "),
        "{reason}"
    );
    assert!(reason.ends_with("connection refused"), "{reason}");
    up.store(true, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert_eq!(replica.certificates.check(), Ok(()));
    assert!(cluster.is_announced().await);

    // A replica that was ready goes on answering.
    up.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(replica.certificates.check(), Ok(()));
}

/// A client whose requests get lost, and whose answers do.
fn lossy(cluster: &Cluster, seed: u64) -> kube::Client {
    let (kube, random) = (cluster.kube.clone(), Random::seeded(seed));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (kube, random) = (kube.clone(), random.clone());
        async move {
            let lost = || random.jittered(Duration::from_secs(10), 1.0) < Duration::from_secs(13);
            let reset = || std::io::Error::from(std::io::ErrorKind::ConnectionReset);
            if lost() {
                return Err(reset());
            }
            let answer: Response<Body> = kube.send(request).await.map_err(std::io::Error::other)?;
            if lost() { Err(reset()) } else { Ok(answer) }
        }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn replicas_on_a_network_that_loses_half_of_everything_end_with_one_authority() {
    for seed in 0..5 {
        let cluster = Cluster::with_webhooks().await;
        let start = |replica: u64| {
            let kube = lossy(&cluster, 100 * seed + replica);
            Replica::start(kube, Source::Managed(options()), epoch())
        };
        let replicas: Vec<_> = (0..5).map(start).collect();
        for replica in &replicas {
            tokio::time::timeout(Duration::from_hours(2), replica.certificates.ready())
                .await
                .unwrap();
        }
        // What one of them made is what all of them have.
        let before = cluster.get(SECRET).await["data"].clone();
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert_eq!(cluster.get(SECRET).await["data"], before);
        assert!(cluster.is_announced().await);
        assert_eq!(cluster.secret("ca.crt").await.unwrap().matches("BEGIN").count(), 1);
    }
}

/// Two replicas live through a rotation of everything in virtual time, and agree at any moment.
#[tokio::test(start_paused = true)]
async fn replicas_rotate_together_in_virtual_time() {
    let cluster = Cluster::with_webhooks().await;
    let mut short = options();
    short.lifetime = Duration::from_hours(3);
    short.ca_lifetime = Duration::from_hours(12);
    short.overlap = Duration::from_mins(15);
    let replicas = [(); 2].map(|()| Replica::start(cluster.kube.clone(), Source::Managed(short.clone()), epoch()));
    for replica in &replicas {
        replica.ready().await;
    }
    let (mut bundles, mut leaves) = (Vec::new(), Vec::new());
    for _ in 0..24 * 12 {
        tokio::time::sleep(Duration::from_mins(5)).await;
        assert!(cluster.is_announced().await);
        for replica in &replicas {
            assert_eq!(replica.certificates.check(), Ok(()));
        }
        bundles.push(cluster.secret("ca.crt").await.unwrap());
        leaves.push(cluster.secret("tls.crt").await.unwrap());
    }
    bundles.dedup();
    leaves.dedup();
    let sizes: Vec<_> = bundles.iter().map(|bundle| bundle.matches("BEGIN").count()).collect();
    // A day of authorities that are renewed after eight hours: each comes before the one before it goes.
    assert!(sizes.len() >= 5, "{sizes:?}");
    assert!(
        sizes.iter().enumerate().all(|(at, size)| *size == 1 + at % 2),
        "{sizes:?}"
    );
    assert!((11..=16).contains(&leaves.len()), "{}", leaves.len());
}
