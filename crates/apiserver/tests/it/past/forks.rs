//! A fork of a past revision: all that follows from what was stored then.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use kubewright_apiserver::{ApiServer, Options, RevisionError, User};
use serde_json::{Value, json};

use super::{
    BOATS, CONFIG_MAPS, DEFINITIONS, ask, ask_as, boat, boats, config_map, create, definition, delete, get,
    is_discovered, patch,
};

fn start() -> ApiServer {
    ApiServer::new(Options::new())
}

#[tokio::test]
async fn objects_are_there_as_they_were() {
    let server = start();
    create(&server, CONFIG_MAPS, &config_map("kept")).await;
    create(&server, CONFIG_MAPS, &config_map("deleted")).await;
    let (then, listed) = (server.revision(), get(&server, CONFIG_MAPS).await);
    patch(
        &server,
        &format!("{CONFIG_MAPS}/kept"),
        &json!({ "data": { "k": "new" } }),
    )
    .await;
    delete(&server, &format!("{CONFIG_MAPS}/deleted")).await;
    create(&server, CONFIG_MAPS, &config_map("later")).await;
    let now = get(&server, CONFIG_MAPS).await;

    let fork = server.fork_at_revision(then).unwrap();
    assert_eq!(fork.revision(), then);
    assert_eq!(get(&fork, CONFIG_MAPS).await, listed);
    // Both go on from where they are, and neither sees the other.
    let made = create(&fork, CONFIG_MAPS, &config_map("later")).await;
    assert_eq!(made["metadata"]["resourceVersion"], (then + 1).to_string());
    patch(
        &fork,
        &format!("{CONFIG_MAPS}/kept"),
        &json!({ "data": { "k": "other" } }),
    )
    .await;
    assert_eq!(get(&server, CONFIG_MAPS).await, now);
    // The fork has a past of its own, in which nothing of the other's later writes happened.
    let again = fork.fork_at_revision(then).unwrap();
    assert_eq!(get(&again, CONFIG_MAPS).await, listed);
}

#[tokio::test]
async fn a_revision_without_history_is_refused() {
    let server = start();
    let then = server.revision();
    create(&server, CONFIG_MAPS, &config_map("one")).await;
    let newest = server.revision();
    let refused = server.fork_at_revision(newest + 1).map(|_| ());
    let revision = newest + 1;
    assert_eq!(refused, Err(RevisionError::Future { revision, newest }));
    server.compact();
    let refused = server.fork_at_revision(then).map(|_| ()).unwrap_err();
    assert_eq!(
        refused,
        RevisionError::Compacted {
            revision: then,
            oldest: newest
        }
    );
    assert_eq!(
        refused.to_string(),
        format!("revision {then} is no longer in the history, which begins at {newest}")
    );
    assert_eq!(server.oldest_revision(), newest);
    assert!(server.fork_at_revision(newest).is_ok());
}

#[tokio::test]
async fn a_kind_that_was_defined_later_is_not_there() {
    let server = start();
    let then = server.revision();
    create(&server, DEFINITIONS, &boats()).await;
    create(&server, BOATS, &boat("sloop", &json!({}))).await;

    let fork = server.fork_at_revision(then).unwrap();
    assert_eq!(fork.revision(), then);
    assert_eq!(get(&fork, BOATS).await.0, 404);
    assert_eq!(get(&fork, "/apis/shop.example.com").await.0, 404);
    // It can be defined there, and has no objects of the other one.
    create(&fork, DEFINITIONS, &boats()).await;
    assert_eq!(get(&fork, BOATS).await.1["items"], json!([]));
    assert_eq!(get(&server, BOATS).await.1["items"][0]["metadata"]["name"], "sloop");
}

#[tokio::test]
async fn a_kind_has_the_schema_that_it_had() {
    let server = start();
    create(&server, DEFINITIONS, &boats()).await;
    create(&server, BOATS, &boat("sloop", &json!({ "masts": 1 }))).await;
    let (then, listed) = (server.revision(), get(&server, BOATS).await);
    let properties = json!({ "masts": { "type": "string" }, "color": { "type": "string", "default": "white" } });
    let schema = definition("boats", "Boat", "v1", &properties)["spec"].clone();
    patch(
        &server,
        &format!("{DEFINITIONS}/boats.shop.example.com"),
        &json!({ "spec": schema }),
    )
    .await;
    create(&server, BOATS, &boat("ketch", &json!({ "masts": "two" }))).await;

    let fork = server.fork_at_revision(then).unwrap();
    assert_eq!((fork.revision(), get(&fork, BOATS).await), (then, listed));
    let unfit = boat("ketch", &json!({ "masts": "two" }));
    assert_eq!(ask(&fork, Method::POST, BOATS, Some(&unfit)).await.0, 422);
    let made = create(&fork, BOATS, &boat("ketch", &json!({ "masts": 2, "color": "red" }))).await;
    assert_eq!(made["spec"], json!({ "masts": 2 }));
    // The same change has the same effect there.
    patch(
        &fork,
        &format!("{DEFINITIONS}/boats.shop.example.com"),
        &json!({ "spec": schema }),
    )
    .await;
    let (_, sloop) = get(&fork, &format!("{BOATS}/sloop")).await;
    assert_eq!(sloop["spec"], json!({ "masts": 1, "color": "white" }));
}

#[tokio::test]
async fn a_kind_that_was_deleted_is_there_with_its_objects() {
    let server = start();
    create(&server, DEFINITIONS, &boats()).await;
    for name in ["ketch", "sloop"] {
        create(&server, BOATS, &boat(name, &json!({ "masts": 1 }))).await;
    }
    let (then, listed) = (server.revision(), get(&server, BOATS).await);
    delete(&server, &format!("{DEFINITIONS}/boats.shop.example.com")).await;
    assert_eq!(get(&server, BOATS).await.0, 404);
    // Another one of the same name has nothing to do with it.
    create(&server, DEFINITIONS, &boats()).await;
    create(&server, BOATS, &boat("schooner", &json!({}))).await;

    let fork = server.fork_at_revision(then).unwrap();
    assert_eq!((fork.revision(), get(&fork, BOATS).await), (then, listed));
    assert!(is_discovered(&fork, "shop.example.com/v1", "boats").await);
    delete(&fork, &format!("{DEFINITIONS}/boats.shop.example.com")).await;
    assert_eq!(get(&fork, BOATS).await.0, 404);
    assert_eq!(get(&server, BOATS).await.1["items"][0]["metadata"]["name"], "schooner");
}

#[tokio::test]
async fn names_belong_to_whom_they_belonged_and_nothing_is_written_to_say_so() {
    let server = start();
    create(&server, DEFINITIONS, &boats()).await;
    // Wants a kind that is taken, and waits for it; another version of the group is served by a third one.
    create(&server, DEFINITIONS, &definition("barges", "Boat", "v1", &json!({}))).await;
    create(&server, DEFINITIONS, &definition("ships", "Ship", "v2", &json!({}))).await;
    let services = "/apis/apiregistration.k8s.io/v1/apiservices";
    let (then, known) = (server.revision(), get(&server, services).await);
    delete(&server, &format!("{DEFINITIONS}/boats.shop.example.com")).await;
    delete(&server, &format!("{DEFINITIONS}/ships.shop.example.com")).await;
    assert!(is_discovered(&server, "shop.example.com/v1", "barges").await);

    let fork = server.fork_at_revision(then).unwrap();
    assert_eq!((fork.revision(), get(&fork, services).await), (then, known));
    assert!(is_discovered(&fork, "shop.example.com/v1", "boats").await);
    assert!(is_discovered(&fork, "shop.example.com/v2", "ships").await);
    assert!(!is_discovered(&fork, "shop.example.com/v1", "barges").await);
    // What waits still gets the name when it is free.
    delete(&fork, &format!("{DEFINITIONS}/boats.shop.example.com")).await;
    assert!(is_discovered(&fork, "shop.example.com/v1", "barges").await);
}

#[tokio::test]
async fn rights_are_those_of_then() {
    let server = start();
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({
        "metadata": { "name": "readers" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"] }],
    });
    create(&server, &format!("{rbac}/clusterroles"), &role).await;
    let binding = |user: &str| {
        json!({
            "metadata": { "name": user },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "readers" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
        })
    };
    create(&server, &format!("{rbac}/clusterrolebindings"), &binding("jane")).await;
    let then = server.revision();
    delete(&server, &format!("{rbac}/clusterrolebindings/jane")).await;
    create(&server, &format!("{rbac}/clusterrolebindings"), &binding("joe")).await;

    let fork = server.fork_at_revision(then).unwrap();
    for (user, now, before) in [("jane", 403, 200), ("joe", 200, 403)] {
        let user = User::new(user, ["staff"]);
        let listed = ask_as(&user, &server, Method::GET, CONFIG_MAPS, None).await;
        assert_eq!(listed.0, now);
        assert_eq!(ask_as(&user, &fork, Method::GET, CONFIG_MAPS, None).await.0, before);
    }
}

#[tokio::test]
async fn addresses_and_ports_are_taken_and_free_as_they_were() {
    let server = start();
    let services = "/api/v1/namespaces/default/services";
    let service = |name: &str, address: &str, port: u16| {
        json!({
            "metadata": { "name": name },
            "spec": { "type": "NodePort", "clusterIP": address, "ports": [{ "port": 80, "nodePort": port }] },
        })
    };
    create(&server, services, &service("before", "10.0.0.10", 30010)).await;
    let then = server.revision();
    delete(&server, &format!("{services}/before")).await;
    create(&server, services, &service("after", "10.0.0.20", 30020)).await;

    let fork = server.fork_at_revision(then).unwrap();
    create(&fork, services, &service("other", "10.0.0.20", 30020)).await;
    for (address, port) in [("10.0.0.10", 30030), ("10.0.0.30", 30010)] {
        let taken = service("another", address, port);
        let (code, answer) = ask(&fork, Method::POST, services, Some(&taken)).await;
        assert_eq!(code, 422);
        assert!(
            answer["message"].as_str().unwrap().contains("already allocated"),
            "{answer}"
        );
    }
}

/// A configuration whose webhook is asked about every new `ConfigMap`.
fn asking(name: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "webhooks": [{
            "name": "asked.example.com",
            "clientConfig": { "service": { "namespace": "default", "name": name } },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"] }],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    })
}

#[tokio::test]
async fn webhooks_are_asked_that_were_configured_then() {
    let server = start();
    let asked = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    for (name, asked) in ["early", "late"].into_iter().zip(&asked) {
        let asked = Arc::clone(asked);
        server.handle_service("default", name, 443, move |request| {
            asked.fetch_add(1, Ordering::SeqCst);
            async move {
                let review: Value = serde_json::from_slice(request.body()).unwrap();
                let answer = json!({
                    "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                    "response": { "uid": review["request"]["uid"], "allowed": true },
                });
                http::Response::new(answer.to_string().into())
            }
        });
    }
    let configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    create(&server, configurations, &asking("early")).await;
    let then = server.revision();
    delete(&server, &format!("{configurations}/early")).await;
    create(&server, configurations, &asking("late")).await;

    let fork = server.fork_at_revision(then).unwrap();
    let counts = || asked.each_ref().map(|asked| asked.load(Ordering::SeqCst));
    create(&server, CONFIG_MAPS, &config_map("one")).await;
    assert_eq!(counts(), [0, 1]);
    create(&fork, CONFIG_MAPS, &config_map("one")).await;
    assert_eq!(counts(), [1, 1]);
}

#[tokio::test]
async fn policies_refuse_what_they_refused_then() {
    let server = start();
    let group = "/apis/admissionregistration.k8s.io/v1";
    let policy = |expression: &str| {
        json!({
            "metadata": { "name": "names" },
            "spec": {
                "matchConstraints": { "resourceRules": [{
                    "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                }] },
                "validations": [{ "expression": expression }],
            },
        })
    };
    let binding = json!({
        "metadata": { "name": "names" },
        "spec": { "policyName": "names", "validationActions": ["Deny"] },
    });
    let policies = format!("{group}/validatingadmissionpolicies");
    create(&server, &policies, &policy("object.metadata.name != 'early'")).await;
    create(&server, &format!("{group}/validatingadmissionpolicybindings"), &binding).await;
    let then = server.revision();
    patch(
        &server,
        &format!("{policies}/names"),
        &policy("object.metadata.name != 'late'"),
    )
    .await;

    let fork = server.fork_at_revision(then).unwrap();
    for (name, now, before) in [("early", 201, 422), ("late", 422, 201)] {
        let object = config_map(name);
        assert_eq!(ask(&server, Method::POST, CONFIG_MAPS, Some(&object)).await.0, now);
        assert_eq!(ask(&fork, Method::POST, CONFIG_MAPS, Some(&object)).await.0, before);
    }
}

#[tokio::test]
async fn quotas_count_what_was_there() {
    let server = start();
    let quotas = "/api/v1/namespaces/default/resourcequotas";
    let quota = json!({ "metadata": { "name": "few" }, "spec": { "hard": { "count/configmaps": "2" } } });
    create(&server, quotas, &quota).await;
    let status = json!({ "status": { "hard": { "count/configmaps": "2" }, "used": { "count/configmaps": "1" } } });
    patch(&server, &format!("{quotas}/few/status"), &status).await;
    let then = server.revision();
    create(&server, CONFIG_MAPS, &config_map("second")).await;
    let third = config_map("third");
    assert_eq!(ask(&server, Method::POST, CONFIG_MAPS, Some(&third)).await.0, 403);

    let fork = server.fork_at_revision(then).unwrap();
    create(&fork, CONFIG_MAPS, &third).await;
    let more = config_map("fourth");
    assert_eq!(ask(&fork, Method::POST, CONFIG_MAPS, Some(&more)).await.0, 403);
}

#[tokio::test]
async fn an_aggregated_api_belongs_to_whom_it_belonged() {
    let server = start();
    let path = "/apis/apiregistration.k8s.io/v1/apiservices";
    let service = json!({
        "metadata": { "name": "v1.weather.example.com" },
        "spec": {
            "group": "weather.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
            "insecureSkipTLSVerify": true, "service": { "namespace": "weather", "name": "api" },
        },
    });
    let before = server.revision();
    create(&server, path, &service).await;
    let then = server.revision();
    delete(&server, &format!("{path}/v1.weather.example.com")).await;

    let forecasts = "/apis/weather.example.com/v1/forecasts";
    assert_eq!(get(&server, forecasts).await.0, 404);
    // Nothing answers for it, which is not the same as that there is no such thing.
    assert_eq!(get(&server.fork_at_revision(then).unwrap(), forecasts).await.0, 503);
    assert_eq!(get(&server.fork_at_revision(before).unwrap(), forecasts).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn logs_end_where_the_fork_begins() {
    use std::io::Write as _;

    let server = start();
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({
        "metadata": { "name": "web" },
        "spec": { "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] },
    });
    create(&server, pods, &pod).await;
    let mut log = server.pod_log("default", "web", "c");
    writeln!(log, "before").unwrap();
    create(&server, CONFIG_MAPS, &config_map("one")).await;
    let then = server.revision();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    writeln!(log, "after").unwrap();
    let fork = server.fork_at_revision(then).unwrap();
    let text = |server: ApiServer| async move {
        use http_body_util::BodyExt as _;
        let request = http::Request::get(format!("{pods}/web/log")).body(bytes::Bytes::new());
        let answer = server.handle(request.unwrap()).await.into_body().collect().await;
        String::from_utf8(answer.unwrap().to_bytes().to_vec()).unwrap()
    };
    assert_eq!(text(fork).await, "before\n");
    assert_eq!(text(server).await, "before\nafter\n");
}
