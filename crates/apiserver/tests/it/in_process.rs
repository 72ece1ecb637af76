//! What users of `kube` see of a server in their own process: `Api`, `watcher`, identities and retries.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, VersionMatch, WatchEvent, WatchParams};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, ResourceExt as _};
use kubewright_apiserver::{ApiServer, Options, User};
use serde_json::json;
use tower::ServiceExt as _;

fn start() -> (ApiServer, Client) {
    let server = ApiServer::new(Options::new());
    let client = server.client();
    (server, client)
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "key": value } })).unwrap()
}

fn value(object: &ConfigMap) -> Option<&str> {
    object.data.as_ref()?.get("key").map(String::as_str)
}

fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("not an answer of the API: {other}"),
    }
}

/// The next event, or a failed test where none comes.
async fn next<T>(events: &mut (impl Stream<Item = T> + Unpin)) -> T {
    tokio::time::timeout(Duration::from_secs(30), events.next())
        .await
        .expect("no event came")
        .expect("the watch ended")
}

#[tokio::test]
async fn an_object_lives_from_create_to_delete() {
    let (_server, client) = start();
    let api: Api<ConfigMap> = Api::default_namespaced(client);

    let created = api
        .create(&PostParams::default(), &config_map("life", "one"))
        .await
        .unwrap();
    assert_eq!(created.namespace().as_deref(), Some("default"));
    assert_eq!(
        code(
            &api.create(&PostParams::default(), &created_again(&created))
                .await
                .unwrap_err()
        ),
        409
    );

    let mut changed = created.clone();
    changed.data = config_map("life", "two").data;
    let replaced = api.replace("life", &PostParams::default(), &changed).await.unwrap();
    assert_eq!(value(&replaced), Some("two"));
    assert_eq!(replaced.uid(), created.uid());
    // The first revision is outdated by now.
    assert_eq!(
        code(&api.replace("life", &PostParams::default(), &changed).await.unwrap_err()),
        409
    );

    api.delete("life", &DeleteParams::default()).await.unwrap();
    assert_eq!(code(&api.get("life").await.unwrap_err()), 404);
    assert!(api.get_opt("life").await.unwrap().is_none());
}

fn created_again(object: &ConfigMap) -> ConfigMap {
    config_map(&object.name_any(), "another")
}

#[tokio::test]
async fn every_kind_of_patch_changes_what_it_says() {
    let (_server, client) = start();
    let api: Api<Deployment> = Api::default_namespaced(client);
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "nginx" }] },
            },
        },
    });
    let apply = PatchParams::apply("tester");
    let applied = api.patch("web", &apply, &Patch::Apply(&deployment)).await.unwrap();
    assert_eq!(applied.spec.as_ref().unwrap().replicas, Some(1));
    assert_eq!(applied.managed_fields()[0].operation.as_deref(), Some("Apply"));
    let again = api.patch("web", &apply, &Patch::Apply(&deployment)).await.unwrap();
    assert_eq!(again.resource_version(), applied.resource_version());

    let plain = PatchParams::default();
    let merge = json!({ "spec": { "replicas": 2 } });
    let merged = api.patch("web", &plain, &Patch::Merge(&merge)).await.unwrap();
    assert_eq!(merged.spec.as_ref().unwrap().replicas, Some(2));

    let sidecar =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "log", "image": "busybox" }] } } } });
    let strategic = api.patch("web", &plain, &Patch::Strategic(&sidecar)).await.unwrap();
    let containers = strategic.spec.unwrap().template.spec.unwrap().containers;
    assert_eq!(
        containers
            .iter()
            .map(|container| container.name.as_str())
            .collect::<Vec<_>>(),
        ["log", "web"]
    );

    let scaled = api
        .patch_scale("web", &plain, &Patch::Merge(&json!({ "spec": { "replicas": 5 } })))
        .await
        .unwrap();
    assert_eq!(scaled.spec.unwrap().replicas, Some(5));

    let theirs = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" }, "spec": { "replicas": 7 },
    });
    let conflict = api
        .patch("web", &PatchParams::apply("other"), &Patch::Apply(&theirs))
        .await
        .unwrap_err();
    assert_eq!(code(&conflict), 409);
    let forced = api
        .patch("web", &PatchParams::apply("other").force(), &Patch::Apply(&theirs))
        .await
        .unwrap();
    assert_eq!(forced.spec.unwrap().replicas, Some(7));
}

#[tokio::test]
async fn a_watcher_sees_the_state_and_then_every_change() {
    let (_server, client) = start();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        api.create(&PostParams::default(), &config_map("before", "old"))
            .await
            .unwrap();
        let mut events = pin!(watcher::watcher(api.clone(), config));

        assert!(matches!(next(&mut events).await.unwrap(), Event::Init));
        let mut found = Vec::new();
        loop {
            match next(&mut events).await.unwrap() {
                Event::InitApply(object) => found.push(object.name_any()),
                Event::InitDone => break,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(found, ["before"]);

        api.create(&PostParams::default(), &config_map("during", "one"))
            .await
            .unwrap();
        let patch = json!({ "data": { "key": "two" } });
        api.patch("during", &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap();
        api.delete("during", &DeleteParams::default()).await.unwrap();
        api.delete("before", &DeleteParams::default()).await.unwrap();

        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push(match next(&mut events).await.unwrap() {
                Event::Apply(object) => format!("{}={}", object.name_any(), value(&object).unwrap_or_default()),
                Event::Delete(object) => format!("{} is gone", object.name_any()),
                other => panic!("{other:?}"),
            });
        }
        assert_eq!(seen, ["during=one", "during=two", "during is gone", "before is gone"]);
    }
}

#[tokio::test]
async fn a_watcher_lists_again_when_its_history_is_gone() {
    let (server, client) = start();
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let first = api
        .create(&PostParams::default(), &config_map("first", "one"))
        .await
        .unwrap();
    let revision = first.resource_version().unwrap();
    api.create(&PostParams::default(), &config_map("second", "two"))
        .await
        .unwrap();

    let mut events = pin!(api.watch(&WatchParams::default(), &revision).await.unwrap());
    match next(&mut events).await.unwrap() {
        WatchEvent::Added(object) => assert_eq!(object.name_any(), "second"),
        other => panic!("{other:?}"),
    }

    server.compact();
    let mut events = pin!(api.watch(&WatchParams::default(), &revision).await.unwrap());
    match next(&mut events).await.unwrap() {
        WatchEvent::Error(status) => assert_eq!(status.code, 410),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn many_callers_share_one_client() {
    let (server, client) = start();
    let before = server.revision();
    let writers = (0..16).map(|writer| {
        let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
        tokio::spawn(async move {
            for number in 0..10 {
                api.create(
                    &PostParams::default(),
                    &config_map(&format!("c-{writer}-{number}"), "x"),
                )
                .await
                .unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    assert_eq!(server.revision(), before + 160);
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 160);
    let page = api.list(&ListParams::default().limit(100)).await.unwrap();
    assert_eq!((page.items.len(), page.metadata.remaining_item_count), (100, Some(60)));
}

#[tokio::test]
async fn servers_of_one_process_share_nothing() {
    let (one, client) = start();
    let fork = one.fork();
    let (other, _) = start();
    Api::<ConfigMap>::default_namespaced(client)
        .create(&PostParams::default(), &config_map("mine", "x"))
        .await
        .unwrap();
    for (server, found) in [(&one, true), (&fork, false), (&other, false)] {
        let api: Api<ConfigMap> = Api::default_namespaced(server.client());
        assert_eq!(api.get_opt("mine").await.unwrap().is_some(), found);
    }
}

#[tokio::test]
async fn a_log_is_what_the_test_set() {
    let (server, client) = start();
    let pods: Api<Pod> = Api::default_namespaced(client);
    let pod =
        json!({ "metadata": { "name": "web" }, "spec": { "containers": [{ "name": "main", "image": "nginx" }] } });
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap())
        .await
        .unwrap();
    server.set_pod_log("default", "web", "main", "hello\nworld\n");
    assert_eq!(
        pods.logs("web", &kube::api::LogParams::default()).await.unwrap(),
        "hello\nworld\n"
    );
}

/// A production client retries 504 with the delay that the server asks for; so does this one.
#[tokio::test(start_paused = true)]
async fn a_read_of_a_revision_to_come_succeeds_once_it_is_there() {
    let (server, client) = start();
    let api: Api<Namespace> = Api::all(client.clone());
    let wanted = (server.revision() + 1).to_string();
    let writer = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(20)).await;
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        api.create(&PostParams::default(), &config_map("late", "x"))
            .await
            .unwrap();
    });
    let params = ListParams::default().at(&wanted).matching(VersionMatch::NotOlderThan);
    let list = api.list(&params).await.unwrap();
    assert!(list.metadata.resource_version.unwrap().parse::<u64>().unwrap() >= wanted.parse().unwrap());
    writer.await.unwrap();
}

#[tokio::test]
async fn a_request_is_counted_under_upstreams_names() {
    let (server, client) = start();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let patch = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "counted" } });
    api.patch("counted", &PatchParams::apply("tester"), &Patch::Apply(&patch))
        .await
        .unwrap();
    let watch = api.watch(&WatchParams::default(), "0").await.unwrap();

    let metrics = text(&server, "/metrics").await;
    let line = |line: &str| {
        assert!(
            metrics.lines().any(|other| other == line),
            "{line}\nis not in\n{metrics}"
        );
    };
    line(
        "apiserver_request_total{code=\"201\",component=\"apiserver\",dry_run=\"\",group=\"\",\
         resource=\"configmaps\",scope=\"resource\",subresource=\"\",verb=\"APPLY\",version=\"v1\"} 1",
    );
    line(
        "apiserver_request_duration_seconds_count{component=\"apiserver\",dry_run=\"\",group=\"\",\
         resource=\"configmaps\",scope=\"resource\",subresource=\"\",verb=\"APPLY\",version=\"v1\"} 1",
    );
    let running = "apiserver_longrunning_requests{component=\"apiserver\",group=\"\",resource=\"configmaps\",\
                   scope=\"namespace\",subresource=\"\",verb=\"WATCH\",version=\"v1\"}";
    line(&format!("{running} 1"));

    drop(watch);
    assert!(text(&server, "/metrics").await.contains(&format!("{running} 0\n")));
}

async fn text(server: &ApiServer, path: &str) -> String {
    let response = server.handle(Request::get(path).body(Bytes::new()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::OK);
    let body = response.into_body().collect().await.expect("a body");
    String::from_utf8(body.to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn any_tower_client_can_ask() {
    let server = ApiServer::new(Options::new());
    let service = server.service_as(User::service_account("default", "robot"));
    let request = Request::get("/version").body(Full::new(Bytes::new())).unwrap();
    let Ok(response) = service.oneshot(request).await;
    assert_eq!(response.status(), StatusCode::OK);
    let body = response.into_body().collect().await.expect("a body");
    let version: serde_json::Value = serde_json::from_slice(&body.to_bytes()).unwrap();
    assert_eq!(version["gitVersion"], "v1.36.3");
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_comes_in_order() {
    let (_server, client) = start();
    let api: Api<Namespace> = Api::all(client);
    let names: Vec<String> = api
        .list(&ListParams::default())
        .await
        .unwrap()
        .iter()
        .map(kube::ResourceExt::name_any)
        .collect();
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
    let watch = api.watch(&WatchParams::default().timeout(1), "0").await.unwrap();
    let seen: Vec<WatchEvent<Namespace>> = watch.try_collect().await.unwrap();
    let seen: Vec<String> = seen
        .into_iter()
        .filter_map(|event| {
            if let WatchEvent::Added(object) = event {
                Some(object.name_any())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(seen, names);
}

#[tokio::test(start_paused = true)]
async fn a_fork_is_a_copy_that_goes_its_own_way() {
    let server = ApiServer::new(Options::new().seed(7));
    let configs: Api<ConfigMap> = Api::default_namespaced(server.client());
    configs
        .create(&PostParams::default(), &config_map("both", "x"))
        .await
        .unwrap();
    server.set_pod_log("default", "p", "c", "said");
    tokio::time::sleep(Duration::from_mins(1)).await;

    let fork = server.fork();
    let forked: Api<ConfigMap> = Api::default_namespaced(fork.client());
    let here = configs
        .create(&PostParams::default(), &config_map("here", "x"))
        .await
        .unwrap();
    let there = forked
        .create(&PostParams::default(), &config_map("there", "x"))
        .await
        .unwrap();
    assert_ne!(here.metadata.uid, there.metadata.uid);
    assert_eq!(here.metadata.creation_timestamp, there.metadata.creation_timestamp);
    assert_eq!(
        forked.get("both").await.unwrap().metadata.uid,
        configs.get("both").await.unwrap().metadata.uid
    );
    assert_eq!(code(&configs.get("there").await.unwrap_err()), 404);
    assert_eq!(code(&forked.get("here").await.unwrap_err()), 404);
}
