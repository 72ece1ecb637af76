//! A cluster whose Pods are processes, and waiting for what becomes of them.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{Api, ListParams, LogParams, PostParams, WatchEvent, WatchParams};
use kube::{Resource, ResourceExt as _};
use kubewright_apiserver::{ApiServer, Listener, Options};
use kubewright_controllers::Controllers;
use kubewright_controllers::process::{Containers, ImageFolder, PodProcesses, ProcessHost, Processes, UnloadedImages};
use kubewright_runtime::manager::ManagerError;
use kubewright_runtime::stop::Stopper;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// Longer than anything here takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Cluster {
    pub(crate) server: ApiServer,
    pub(crate) pods: Api<Pod>,
    pub(crate) images: ImageFolder,
    /// Where the files of Pods are.
    pub(crate) folder: PathBuf,
    containers: Containers,
    stopper: Stopper,
    running: JoinHandle<Result<(), ManagerError>>,
    _listener: Listener,
    _home: TempDir,
}

struct Host(ApiServer);

impl ProcessHost for Host {
    fn begin_log(&self, namespace: &str, pod: &str, container: &str) -> [Box<dyn io::Write + Send>; 2] {
        let log = self.0.pod_log(namespace, pod, container);
        [Box::new(log.clone()), Box::new(log)]
    }

    fn redirect_pod_ip(&self, pod_ip: IpAddr, to: Option<IpAddr>) {
        self.0.redirect_pod_ip(pod_ip, to);
    }
}

/// The program that stands behind containers.
pub(crate) fn container_program() -> PathBuf {
    kubewright_test_support::example_program(env!("CARGO_MANIFEST_DIR"), "container", "tests/it/process/container.rs")
}

/// A folder with that program as the image `child:dev`, made once.
pub(crate) fn loaded() -> ImageFolder {
    static FOLDER: OnceLock<(TempDir, ImageFolder)> = OnceLock::new();
    let make = || {
        let home = tempfile::tempdir().unwrap();
        let images = ImageFolder::open(home.path().join("images")).unwrap();
        images.load("child:dev", &container_program(), Some("/child")).unwrap();
        (home, images)
    };
    FOLDER.get_or_init(make).1.clone()
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        Self::with(loaded(), UnloadedImages::Simulated).await
    }

    pub(crate) async fn with(images: ImageFolder, unloaded_images: UnloadedImages) -> Self {
        let server = ApiServer::new(Options::new().anonymous(false).service_account_admission(true));
        let listener = Box::pin(server.listen(0)).await.unwrap();
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("pods");
        let host = Host(server.clone());
        let processes =
            Processes::new(images.clone(), &folder, listener.local_addr(), host).unloaded_images(unloaded_images);
        let containers = processes.containers();
        let controllers = Controllers::all().root_ca(listener.ca_pem()).processes(processes);
        let (stopper, stop) = Stopper::new();
        let running = tokio::spawn(controllers.run(server.client(), stop));
        let cluster = Cluster {
            pods: Api::default_namespaced(server.client()),
            server,
            images,
            folder,
            containers,
            stopper,
            running,
            _listener: listener,
            _home: home,
        };
        // Pods are refused before there is an account for them.
        let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> = cluster.api();
        eventually(&accounts, "default", |_| true).await;
        cluster
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::default_namespaced(self.server.client())
    }

    /// Creates an object of the namespace.
    pub(crate) async fn create<K>(&self, object: Value) -> K
    where
        K: Resource<Scope = NamespaceResourceScope> + DeserializeOwned + serde::Serialize + Clone + std::fmt::Debug,
        K::DynamicType: Default,
    {
        let object = serde_json::from_value(object).unwrap();
        self.api::<K>().create(&PostParams::default(), &object).await.unwrap()
    }

    /// The processes of a Pod, as those find them who connect to it.
    pub(crate) fn processes(&self, pod: &Pod) -> Option<PodProcesses> {
        let uid = pod.metadata.uid.as_deref().unwrap();
        self.containers.pod("default", &pod.name_any(), uid)
    }

    /// What a container has printed.
    pub(crate) async fn log(&self, pod: &str, previous: bool) -> String {
        let parameters = LogParams {
            previous,
            container: Some("main".to_owned()),
            ..LogParams::default()
        };
        self.pods.logs(pod, &parameters).await.unwrap()
    }

    /// Waits until a container has printed this.
    pub(crate) async fn prints(&self, pod: &str, wanted: &str) -> String {
        // Before that there is nothing to follow.
        let has_run = |pod: &Pod| {
            let state = main_status(pod).and_then(|status| status.state.clone());
            state.is_some_and(|state| state.waiting.is_none())
        };
        eventually(&self.pods, pod, has_run).await;
        let parameters = LogParams {
            follow: true,
            container: Some("main".to_owned()),
            ..LogParams::default()
        };
        let reading = async {
            use futures_util::AsyncBufReadExt as _;
            let mut lines = self.pods.log_stream(pod, &parameters).await.unwrap().lines();
            let mut all = String::new();
            while let Some(line) = lines.try_next().await.unwrap() {
                all.push_str(&line);
                all.push('\n');
                if line.contains(wanted) {
                    return all;
                }
            }
            panic!("{pod} ended without saying {wanted:?}:\n{all}");
        };
        tokio::time::timeout(PATIENCE, reading).await.unwrap()
    }

    /// Waits until there is an event with these words about a Pod.
    pub(crate) async fn event(&self, pod: &str, words: &str) {
        let events: Api<Event> = self.api();
        let found = |event: &Event| {
            event.involved_object.name.as_deref() == Some(pod)
                && event.message.as_deref().is_some_and(|message| message.contains(words))
        };
        any(&events, found).await;
    }

    pub(crate) async fn stop(self) {
        self.stopper.stop();
        tokio::time::timeout(PATIENCE, self.running)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
    }
}

/// A Pod with one container that runs the program in a role.
pub(crate) fn pod(name: &str, role: &str, policy: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": {
            "restartPolicy": policy, "terminationGracePeriodSeconds": 1,
            "containers": [{
                "name": "main", "image": "child:dev", "env": [{ "name": "ROLE", "value": role }],
            }],
        },
    })
}

/// The same with something else set in its container.
pub(crate) fn with(mut pod: Value, fields: Value) -> Value {
    let container = &mut pod["spec"]["containers"][0];
    for (name, value) in fields.as_object().unwrap() {
        match (&mut container[name], value) {
            (Value::Array(present), Value::Array(more)) => present.extend(more.clone()),
            (present, value) => *present = value.clone(),
        }
    }
    pod
}

/// Waits until an object is as wanted.
pub(crate) async fn eventually<K>(api: &Api<K>, name: &str, wanted: impl Fn(&K) -> bool) -> K
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    any(api, |object: &K| object.name_any() == name && wanted(object)).await
}

/// Waits until any object is as wanted.
pub(crate) async fn any<K>(api: &Api<K>, wanted: impl Fn(&K) -> bool) -> K
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let mut seen = None;
    let waiting = async {
        let list = api.list(&ListParams::default()).await.unwrap();
        if let Some(found) = list.items.into_iter().find(&wanted) {
            return found;
        }
        let version = list.metadata.resource_version.unwrap();
        let mut events = api.watch(&WatchParams::default(), &version).await.unwrap().boxed();
        while let Some(event) = events.try_next().await.unwrap() {
            if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event {
                if wanted(&object) {
                    return object;
                }
                seen = Some(object);
            }
        }
        panic!("the watch ended");
    };
    let found = tokio::time::timeout(PATIENCE, waiting).await.ok();
    found.unwrap_or_else(|| panic!("this did not come about; the last object seen is {seen:#?}"))
}

/// Waits until there is no such object.
pub(crate) async fn gone(api: &Api<Pod>, name: &str) {
    let waiting = async {
        let list = api.list(&ListParams::default()).await.unwrap();
        if !list.items.iter().any(|pod| pod.name_any() == name) {
            return;
        }
        let version = list.metadata.resource_version.unwrap();
        let mut events = api.watch(&WatchParams::default(), &version).await.unwrap().boxed();
        while let Some(event) = events.try_next().await.unwrap() {
            if matches!(&event, WatchEvent::Deleted(pod) if pod.name_any() == name) {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap();
}

pub(crate) fn phase(pod: &Pod) -> &str {
    pod.status
        .as_ref()
        .and_then(|status| status.phase.as_deref())
        .unwrap_or_default()
}

pub(crate) fn main_status(pod: &Pod) -> Option<&k8s_openapi::api::core::v1::ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    main_status(pod).is_some_and(|status| status.ready)
}

/// Why the container waits: the reason and the message.
pub(crate) fn waiting(pod: &Pod) -> (String, String) {
    let state = main_status(pod).and_then(|status| status.state.as_ref()?.waiting.clone());
    let state = state.unwrap_or_default();
    (state.reason.unwrap_or_default(), state.message.unwrap_or_default())
}

/// Somebody whom actions call, each with a child.
pub(crate) struct Called(tokio::net::TcpListener);

impl Called {
    pub(crate) async fn listen() -> Self {
        Called(tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    /// The variable that has actions call.
    pub(crate) fn variable(&self) -> Value {
        json!([{ "name": "CALL", "value": self.0.local_addr().unwrap().to_string() }])
    }

    /// Waits for the calls of an action and its child.
    pub(crate) async fn both(&self) -> [tokio::net::TcpStream; 2] {
        let calls = async { [self.0.accept().await.unwrap().0, self.0.accept().await.unwrap().0] };
        tokio::time::timeout(PATIENCE, calls).await.unwrap()
    }
}

/// Waits until those who called are no more.
pub(crate) async fn ended(calls: [tokio::net::TcpStream; 2]) {
    use tokio::io::AsyncReadExt as _;
    for mut call in calls {
        let reading = tokio::time::timeout(PATIENCE, call.read_u8()).await;
        assert!(reading.unwrap().is_err());
    }
}

/// Whether there is a process with this number.
pub(crate) fn is_alive(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::test_kill_process(pid).is_ok()
}
