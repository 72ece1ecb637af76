//! Processes start, get ready, fail, are restarted, make room, and end.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kubewright_controllers::Controllers;
use kubewright_controllers::process::{ImageFolder, Processes, guard};
use kubewright_runtime::stop::Stopper;
use kubewright_test_support::free_port;
use serde_json::json;

use super::support::{
    Called, Cluster, any, container_program, ended, eventually, gone, is_alive, is_ready, main_status, phase, pod,
    waiting, with,
};

/// The number that the stubborn one prints.
fn number(log: &str) -> i32 {
    let number = log.rsplit(' ').next().unwrap();
    number.trim().parse().unwrap()
}

#[tokio::test]
async fn a_process_that_fails_is_restarted_and_its_last_log_stays() {
    let cluster = Cluster::start().await;
    let failing = with(
        pod("failing", "fail", "OnFailure"),
        json!({ "terminationMessagePolicy": "FallbackToLogsOnError" }),
    );
    cluster.create::<Pod>(failing).await;
    let failed = eventually(&cluster.pods, "failing", |pod| {
        waiting(pod).0 == "CrashLoopBackOff" && main_status(pod).is_some_and(|status| status.restart_count == 1)
    })
    .await;
    let ended = main_status(&failed)
        .unwrap()
        .last_state
        .clone()
        .unwrap()
        .terminated
        .unwrap();
    assert_eq!((ended.exit_code, ended.reason.as_deref()), (7, Some("Error")));
    assert!(ended.message.unwrap().contains("about to fail"));
    assert!(cluster.log("failing", true).await.contains("about to fail"));
    cluster
        .event("failing", "Back-off restarting failed container main")
        .await;

    cluster.create::<Pod>(pod("once", "fail", "Never")).await;
    eventually(&cluster.pods, "once", |pod| phase(pod) == "Failed").await;
    cluster.stop().await;
}

#[tokio::test]
async fn probes_decide_when_a_container_is_ready_and_whether_it_lives() {
    let cluster = Cluster::start().await;
    let port = free_port();
    let probe = |path: &str| json!({ "httpGet": { "path": path, "port": "web" }, "periodSeconds": 1, "timeoutSeconds": 20, "failureThreshold": 1 });
    let serving = with(
        pod("web", "serve", "Always"),
        json!({
            "env": [{ "name": "PORT", "value": port.to_string() }],
            "ports": [{ "name": "web", "containerPort": port }],
            "startupProbe": { "tcpSocket": { "port": port }, "periodSeconds": 1, "failureThreshold": 30 },
            "readinessProbe": probe("/ready"), "livenessProbe": { "exec": { "command": ["/child", "succeed"] }, "periodSeconds": 1, "timeoutSeconds": 20 },
        }),
    );
    let made = cluster.create::<Pod>(serving).await;
    cluster.prints("web", "serving").await;
    cluster
        .event("web", "Readiness probe failed: HTTP probe failed with statuscode: 503")
        .await;
    let unready = eventually(&cluster.pods, "web", |pod| {
        main_status(pod).is_some_and(|status| status.started == Some(true))
    })
    .await;
    assert_eq!((phase(&unready), is_ready(&unready)), ("Running", false));
    let temporary = cluster.folder.join(made.uid().unwrap()).join("root/main/tmp");
    std::fs::write(temporary.join("ready"), "").unwrap();
    eventually(&cluster.pods, "web", is_ready).await;
    std::fs::remove_file(temporary.join("ready")).unwrap();
    eventually(&cluster.pods, "web", |pod| !is_ready(pod)).await;

    let hopeless = with(
        pod("hopeless", "stubborn", "Always"),
        json!({ "livenessProbe": { "tcpSocket": { "port": free_port() }, "periodSeconds": 1, "failureThreshold": 1 } }),
    );
    cluster.create::<Pod>(hopeless).await;
    let again = |pod: &Pod| main_status(pod).is_some_and(|status| status.restart_count > 0);
    let restarted = eventually(&cluster.pods, "hopeless", again).await;
    let ended = main_status(&restarted)
        .unwrap()
        .last_state
        .clone()
        .unwrap()
        .terminated
        .unwrap();
    assert_eq!(ended.exit_code, 137);
    cluster
        .event("hopeless", "Container main failed liveness probe, will be restarted")
        .await;
    cluster.stop().await;
}

#[tokio::test]
async fn a_deleted_pods_processes_are_asked_to_end_then_made_to_and_leave_nothing() {
    let cluster = Cluster::start().await;
    let made = cluster.create::<Pod>(pod("stays", "stubborn", "Always")).await;
    let log = cluster.prints("stays", "here to stay").await;
    let folder = cluster.folder.join(made.uid().unwrap());
    assert!(is_alive(number(&log)) && folder.exists());
    cluster.pods.delete("stays", &DeleteParams::default()).await.unwrap();
    cluster.prints("stays", "asked to end").await;
    gone(&cluster.pods, "stays").await;
    assert!(!is_alive(number(&log)));

    // Of one that is deleted by force the same is true a moment later.
    let made = cluster.create::<Pod>(pod("stays", "stubborn", "Always")).await;
    let log = cluster.prints("stays", "here to stay").await;
    let now = DeleteParams::default().grace_period(0);
    cluster.pods.delete("stays", &now).await.unwrap();
    let second = cluster.folder.join(made.uid().unwrap());
    cluster.stop().await;
    assert!(!is_alive(number(&log)) && !second.exists() && !folder.exists());
}

/// A Pod with ten minutes' time to end, and a hook that takes it.
fn lingering(called: &Called) -> serde_json::Value {
    let hook = json!({ "preStop": { "exec": { "command": ["/child", "call"] } } });
    let mut pod = with(
        pod("lingers", "stubborn", "Always"),
        json!({ "env": called.variable(), "lifecycle": hook }),
    );
    pod["spec"]["terminationGracePeriodSeconds"] = 600.into();
    pod
}

#[tokio::test]
async fn a_hook_before_the_end_is_cut_short_by_a_deletion_by_force() {
    let (cluster, called) = (Cluster::start().await, Called::listen().await);
    let made = cluster.create::<Pod>(lingering(&called)).await;
    let log = cluster.prints("lingers", "here to stay").await;
    cluster.pods.delete("lingers", &DeleteParams::default()).await.unwrap();
    let calls = called.both().await;
    let now = DeleteParams::default().grace_period(0);
    cluster.pods.delete("lingers", &now).await.unwrap();
    ended(calls).await;
    let folder = cluster.folder.join(made.uid().unwrap());
    cluster.stop().await;
    assert!(!is_alive(number(&log)) && !folder.exists());
}

#[tokio::test]
async fn a_hook_before_the_end_is_cut_short_by_the_end() {
    let (cluster, called) = (Cluster::start().await, Called::listen().await);
    cluster.create::<Pod>(lingering(&called)).await;
    let log = cluster.prints("lingers", "here to stay").await;
    cluster.pods.delete("lingers", &DeleteParams::default()).await.unwrap();
    let calls = called.both().await;
    let process = rustix::process::Pid::from_raw(number(&log)).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    gone(&cluster.pods, "lingers").await;
    ended(calls).await;
    cluster.stop().await;
}

#[tokio::test]
async fn what_a_probe_has_started_ends_with_the_container() {
    let (cluster, called) = (Cluster::start().await, Called::listen().await);
    let probe = json!({ "exec": { "command": ["/child", "call"] }, "timeoutSeconds": 600 });
    let probed = with(
        pod("probed", "stubborn", "Always"),
        json!({ "env": called.variable(), "livenessProbe": probe }),
    );
    cluster.create::<Pod>(probed).await;
    let calls = called.both().await;
    cluster.pods.delete("probed", &DeleteParams::default()).await.unwrap();
    ended(calls).await;
    cluster.stop().await;
}

#[tokio::test]
async fn no_time_to_end_is_too_long() {
    let cluster = Cluster::start().await;
    let port = free_port();
    let mut patient = with(
        pod("patient", "serve", "Always"),
        json!({
            "env": [{ "name": "PORT", "value": port.to_string() }],
            "livenessProbe": { "tcpSocket": { "port": free_port() }, "periodSeconds": 1, "failureThreshold": 1 },
        }),
    );
    patient["spec"]["terminationGracePeriodSeconds"] = i64::MAX.into();
    cluster.create::<Pod>(patient).await;
    let again = |pod: &Pod| main_status(pod).is_some_and(|status| status.restart_count > 0);
    eventually(&cluster.pods, "patient", again).await;
    cluster.pods.delete("patient", &DeleteParams::default()).await.unwrap();
    gone(&cluster.pods, "patient").await;
    cluster.stop().await;
}

#[tokio::test]
async fn processes_end_and_their_files_go_with_the_kubelet() {
    let cluster = Cluster::start().await;
    cluster.create::<Pod>(pod("stays", "stubborn", "Always")).await;
    let log = cluster.prints("stays", "here to stay").await;
    let folder = cluster.folder.clone();
    cluster.stop().await;
    assert!(!is_alive(number(&log)));
    assert!(!folder.exists());
}

#[tokio::test]
async fn processes_end_if_the_one_who_started_them_is_gone_without_a_word() {
    use std::os::unix::fs::DirBuilderExt as _;
    use std::os::unix::process::CommandExt as _;
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("pods");
    std::fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
    std::fs::write(folder.join(".kubewright-pods"), "").unwrap();
    let mut child = std::process::Command::new(container_program())
        .env("ROLE", "stubborn")
        .stdout(std::process::Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let told = format!("+{}\n", child.id());
    // Waited for here, as init would: else it could never be seen to be gone.
    let waiting = std::thread::spawn(move || child.wait().unwrap());
    guard(told.as_bytes(), &folder);
    let status = waiting.join().unwrap();
    assert!(!status.success() && !folder.exists());
}

#[tokio::test]
async fn containers_prepare_each_other_one_after_the_other() {
    let cluster = Cluster::start().await;
    let mut prepared = pod("prepared", "succeed", "Never");
    let container = |name: &str, role: &str| {
        let mut made = pod("x", role, "Never")["spec"]["containers"][0].clone();
        made["name"] = name.into();
        made
    };
    let mut beside = container("beside", "stubborn");
    beside["restartPolicy"] = "Always".into();
    prepared["spec"]["initContainers"] = json!([container("first", "succeed"), beside, container("second", "succeed")]);
    cluster.create::<Pod>(prepared).await;
    let done = eventually(&cluster.pods, "prepared", |pod| phase(pod) == "Succeeded").await;
    let init = done.status.unwrap().init_container_statuses.unwrap();
    let code = |at: usize| {
        init[at]
            .state
            .as_ref()?
            .terminated
            .as_ref()
            .map(|ended| ended.exit_code)
    };
    assert_eq!((code(0), code(2)), (Some(0), Some(0)));

    let mut broken = pod("broken", "succeed", "Never");
    broken["spec"]["initContainers"] = json!([container("first", "fail")]);
    cluster.create::<Pod>(broken).await;
    let failed = eventually(&cluster.pods, "broken", |pod| phase(pod) == "Failed").await;
    assert_eq!(waiting(&failed).0, "PodInitializing");
    cluster.stop().await;
}

#[tokio::test]
async fn a_port_is_one_pods_unless_it_is_of_an_older_revision_of_the_same_deployment() {
    let cluster = Cluster::start().await;
    let port = free_port();
    let template = |version: &str| {
        let pod = with(
            pod("x", "serve", "Always"),
            json!({
                "env": [{ "name": "PORT", "value": port.to_string() }, { "name": "VERSION", "value": version }],
                "ports": [{ "containerPort": port }], "readinessProbe": { "tcpSocket": { "port": port }, "periodSeconds": 1 },
            }),
        );
        json!({ "metadata": { "labels": { "app": "web" } }, "spec": pod["spec"] })
    };
    let deployment = json!({
        "metadata": { "name": "web" },
        "spec": { "selector": { "matchLabels": { "app": "web" } }, "template": template("one") },
    });
    cluster.create::<Deployment>(deployment).await;
    let first = any(&cluster.pods, |pod: &Pod| is_ready(pod)).await.name_any();

    let other = with(
        pod("other", "succeed", "Never"),
        json!({ "ports": [{ "containerPort": port }] }),
    );
    cluster.create::<Pod>(other).await;
    let refused = eventually(&cluster.pods, "other", |pod| waiting(pod).0 == "CreateContainerError").await;
    let message = waiting(&refused).1;
    assert!(
        message.starts_with(&format!("port {port} of this machine is in use by Pod default/{first}")),
        "{message}"
    );
    cluster.pods.delete("other", &DeleteParams::default()).await.unwrap();
    gone(&cluster.pods, "other").await;

    let patch = Patch::Merge(json!({ "spec": { "template": template("two") } }));
    let deployments = cluster.api::<Deployment>();
    deployments.patch("web", &PatchParams::default(), &patch).await.unwrap();
    let rolled = eventually(&deployments, "web", |deployment| {
        let status = deployment.status.clone().unwrap_or_default();
        let is_seen = status.observed_generation == deployment.metadata.generation;
        is_seen
            && status.replicas == Some(1)
            && status.updated_replicas == Some(1)
            && status.available_replicas == Some(1)
    })
    .await;
    assert_eq!(rolled.metadata.generation, Some(2));
    let second = any(&cluster.pods, |pod: &Pod| is_ready(pod) && pod.name_any() != first).await;
    assert!(cluster.log(&second.name_any(), false).await.contains("serving two"));
    cluster.stop().await;
}

#[tokio::test]
async fn webhooks_of_a_process_are_found_at_this_machine() {
    let cluster = Cluster::start().await;
    let port = free_port();
    let serving = with(
        pod("hook", "serve", "Always"),
        json!({ "env": [{ "name": "PORT", "value": port.to_string() }], "ports": [{ "containerPort": port }] }),
    );
    let mut labelled = serving;
    labelled["metadata"]["labels"] = json!({ "app": "hook" });
    cluster.create::<Pod>(labelled).await;
    let service = json!({
        "metadata": { "name": "hook" },
        "spec": { "selector": { "app": "hook" }, "ports": [{ "port": 443, "targetPort": port }] },
    });
    cluster.create::<k8s_openapi::api::core::v1::Service>(service).await;
    cluster.prints("hook", "serving").await;
    let slices = cluster.api::<k8s_openapi::api::discovery::v1::EndpointSlice>();
    let is_known = |slice: &k8s_openapi::api::discovery::v1::EndpointSlice| {
        slice.name_any().starts_with("hook") && slice.endpoints.iter().flatten().count() == 1
    };
    any(&slices, is_known).await;
    let hooks: kube::Api<k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration> =
        kube::Api::all(cluster.server.client());
    let hook = json!({
        "metadata": { "name": "hook" },
        "webhooks": [{
            "name": "hook.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": { "service": { "namespace": "default", "name": "hook", "port": 443 } },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"] }],
        }],
    });
    let hook = serde_json::from_value(hook).unwrap();
    hooks.create(&PostParams::default(), &hook).await.unwrap();
    let maps = cluster.api::<ConfigMap>();
    let mut map = ConfigMap::default();
    map.metadata.name = Some("a".to_owned());
    let error = maps.create(&PostParams::default(), &map).await.unwrap_err().to_string();
    // It is reached: what it answers, without TLS, is no handshake.
    assert!(
        error.contains("failed calling webhook") && !error.contains("connect"),
        "{error}"
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_run_on_a_paused_clock() {
    struct Nobody;
    impl kubewright_controllers::process::ProcessHost for Nobody {
        fn begin_log(&self, _: &str, _: &str, _: &str) -> [Box<dyn std::io::Write + Send>; 2] {
            [Box::new(std::io::sink()), Box::new(std::io::sink())]
        }
        fn redirect_pod_ip(&self, _: std::net::IpAddr, _: Option<std::net::IpAddr>) {}
    }
    let home = tempfile::tempdir().unwrap();
    let images = ImageFolder::open(home.path().join("images")).unwrap();
    let address = "127.0.0.1:6443".parse().unwrap();
    let processes = Processes::new(images, home.path().join("pods"), address, Nobody);
    let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    let (_stopper, stop) = Stopper::new();
    let running = Controllers::all().processes(processes).run(server.client(), stop);
    let error = tokio::time::timeout(Duration::from_mins(10), running)
        .await
        .unwrap()
        .unwrap_err();
    let mut told = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        told = format!("{told}: {cause}");
        source = cause.source();
    }
    assert!(told.contains("while the clock is paused"), "{told}");
}
