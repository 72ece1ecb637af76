//! Starts and ends the processes of Pods, and keeps their states.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Node, Pod};
use kubewright_runtime::client::{Client, DeleteOptions};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::Trigger;
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::ObjectKey;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use super::environment::Sources;
use super::error::StartError;
use super::guard::{Guard, GuardHandle};
use super::launch::{self, Folders, PreparedContainer};
use super::ports::{self, PortConflict, Ports};
use super::running::{Record, Running};
use super::succession::is_successor;
use super::supervise::{self, SupervisedProcess};
use super::{Processes, UnloadedImages, files, images, leftovers};
use crate::kubelet::lifecycle::{ContainerProcess, PROCESS, ProcessState, ProcessStates, ephemeral_containers};
use crate::support::events::EventRecorder;

/// How often volumes are brought up to date.
const REFRESH: Duration = Duration::from_mins(1);
/// How long processes may take to end when the kubelet does.
const LAST_GRACE: Duration = Duration::from_secs(10);

/// What the kubelet works with.
#[derive(Clone)]
pub(in crate::kubelet) struct Context {
    pub(in crate::kubelet) client: Client,
    pub(in crate::kubelet) events: EventRecorder,
    pub(in crate::kubelet) clock: Clock,
}

/// The processes there are.
pub(in crate::kubelet) struct Runner {
    pub(super) processes: Processes,
    pods: Mutex<HashMap<ObjectKey, Arc<Running>>>,
    trigger: Mutex<Option<Trigger>>,
    ports: Mutex<Ports>,
    pub(super) guard: GuardHandle,
    /// Pods that are gone and whose processes are about to be.
    leaving: Mutex<Vec<Arc<Running>>>,
    is_open: AtomicBool,
}

/// The containers of a Pod, those that prepare the others first.
fn containers(pod: &Pod) -> impl Iterator<Item = Cow<'_, Container>> {
    let spec = pod.spec.iter();
    let own = spec.flat_map(|spec| spec.init_containers.iter().flatten().chain(&spec.containers));
    own.map(Cow::Borrowed).chain(ephemeral_containers(pod).map(Cow::Owned))
}

/// The id by which the status of a Pod knows a container.
fn known_id<'a>(pod: &'a Pod, container: &str) -> Option<&'a str> {
    let status = pod.status.as_ref()?;
    let lists = [
        &status.init_container_statuses,
        &status.container_statuses,
        &status.ephemeral_container_statuses,
    ];
    let mut statuses = lists.into_iter().flatten().flatten();
    let status = statuses.find(|status| status.name == container)?;
    status.container_id.as_deref().filter(|id| !id.is_empty())
}

/// Whether the clock of this runtime is paused: it does not move then.
pub(in crate::kubelet) fn is_paused() -> bool {
    let before = Instant::now();
    let real = std::time::Instant::now();
    while real.elapsed() < Duration::from_micros(2) {
        std::hint::spin_loop();
    }
    Instant::now() == before
}

impl Runner {
    pub(in crate::kubelet) fn new(processes: Processes) -> Arc<Self> {
        let runner = Arc::new(Runner {
            processes,
            pods: Mutex::default(),
            trigger: Mutex::default(),
            ports: Mutex::default(),
            guard: GuardHandle::default(),
            leaving: Mutex::default(),
            is_open: AtomicBool::new(false),
        });
        runner.processes.containers.run_by(&runner);
        runner
    }

    /// Makes the folder and starts the guard. The error stops the manager.
    pub(in crate::kubelet) fn open(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if is_paused() {
            return Err("containers cannot be processes while the clock is paused: time would run away".into());
        }
        let folder = &self.processes.folder;
        let failed = |error: std::io::Error| format!("cannot use the folder {}: {error}", folder.display());
        files::private_folder(folder).map_err(failed)?;
        if !files::is_private(folder).map_err(failed)? {
            return Err(format!("the folder {} is open to others (chmod 700)", folder.display()).into());
        }
        if let Some(command) = &self.processes.guard {
            files::mark(folder, &leftovers::marker()).map_err(failed)?;
            leftovers::clear_beside(folder);
            let started = Guard::start(command, folder).map_err(|error| format!("cannot start the guard: {error}"))?;
            self.guard.begin(started);
        }
        self.is_open.store(true, Ordering::Release);
        // Some Pods were quicker.
        let pods: Vec<_> = self.pods.lock().values().cloned().collect();
        for running in pods {
            running.try_again();
            self.wake(&running.key);
        }
        Ok(())
    }

    /// Sets the trigger that enqueues a Pod when something happens to its processes.
    pub(in crate::kubelet) fn wakes(&self, trigger: Trigger) {
        *self.trigger.lock() = Some(trigger);
    }

    pub(super) fn wake(&self, pod: &ObjectKey) {
        if let Some(trigger) = &*self.trigger.lock() {
            trigger.wake(pod.clone());
        }
    }

    pub(super) fn known(&self, key: &ObjectKey) -> Option<Arc<Running>> {
        self.pods.lock().get(key).cloned()
    }

    /// What stands behind the containers of a Pod.
    pub(in crate::kubelet) fn process_states(&self, pod: &Pod, key: &ObjectKey) -> ProcessStates {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let mut running = self.known(key);
        if running.as_ref().is_some_and(|running| running.uid != uid) {
            // Another Pod of the same name: the one before is gone.
            self.discard(key);
            running = None;
        }
        let known = running.as_ref().map(|running| running.containers.lock());
        let process = |container: &Container| {
            if let Some(record) = known.as_ref().and_then(|known| known.get(&container.name)) {
                return Some(record.seen());
            }
            self.is_process(pod, container).then(|| ContainerProcess {
                run: -1,
                seen: ProcessState::Nothing,
                image_id: String::new(),
            })
        };
        let process_states =
            containers(pod).filter_map(|container| Some((container.name.clone(), process(&container)?)));
        ProcessStates(process_states.collect())
    }

    /// Whether a container is a process: what it began as, it stays.
    fn is_process(&self, pod: &Pod, container: &Container) -> bool {
        if let Some(id) = known_id(pod, &container.name) {
            return id.starts_with(PROCESS);
        }
        let image = container.image.as_deref().unwrap_or_default();
        self.processes.unloaded_images == UnloadedImages::Refused
            || !images::is_name(image)
            || !matches!(self.processes.images.find(image), Ok(None))
    }

    /// Starts a container. If that fails, its state says why.
    pub(in crate::kubelet) async fn start(
        self: &Arc<Self>,
        context: &Context,
        pod: &Pod,
        key: &ObjectKey,
        name: &str,
        run: i32,
    ) {
        let Some(container) = containers(pod).find(|container| container.name == name) else {
            return;
        };
        let running = self.admit(context, pod, key);
        let attempts = running.attempts(name);
        let (process, orders, refused) = match self.launch(context, pod, &running, &container).await {
            Ok((since, prepared, orders)) => {
                let seen = ProcessState::Running {
                    since,
                    started: prepared.probers.startup.is_none(),
                    ready: prepared.probers.readiness.is_none(),
                };
                let image_id = prepared.image.id.clone();
                (ContainerProcess { run, seen, image_id }, Some((prepared, orders)), None)
            }
            Err(error) => {
                tell_refusal(context, pod, &error);
                let seen = ProcessState::Refused {
                    reason: error.reason(attempts),
                    message: error.message(attempts),
                };
                let image_id = String::new();
                (ContainerProcess { run, seen, image_id }, None, Some(Instant::now()))
            }
        };
        let sender = orders.as_ref().map(|(_, process)| process.orders.clone());
        let connected = orders.as_ref().map(|(_, process)| Arc::clone(&process.run));
        let record = Record {
            process,
            attempts: if refused.is_some() { attempts + 1 } else { 0 },
            refused,
            orders: sender,
            run: connected,
        };
        running.containers.lock().insert(name.to_owned(), record);
        // Only now: what it sees is to be found.
        if let Some((prepared, process)) = orders {
            supervise::supervise(Arc::clone(self), Arc::clone(&running), context, pod, prepared, process);
            // A concurrent close may have missed this Pod.
            if !self.is_open.load(Ordering::Acquire) {
                running.order_all(Instant::now());
            }
        }
    }

    /// The record of a Pod: the one there is, or a new one.
    fn admit(self: &Arc<Self>, context: &Context, pod: &Pod, key: &ObjectKey) -> Arc<Running> {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        if let Some(running) = self.known(key).filter(|running| running.uid == uid) {
            return running;
        }
        let running = Arc::new(Running {
            key: key.clone(),
            folders: Folders(self.processes.folder.join(&uid)),
            uid,
            volumes: tokio::sync::Mutex::default(),
            containers: Mutex::default(),
            place: Mutex::default(),
            refreshing: Mutex::default(),
        });
        let refreshing = tokio::spawn(refresh(Arc::clone(&running), context.clone()));
        *running.refreshing.lock() = Some(refreshing.abort_handle());
        self.pods.lock().insert(key.clone(), Arc::clone(&running));
        running
    }

    async fn launch(
        &self,
        context: &Context,
        pod: &Pod,
        running: &Running,
        container: &Container,
    ) -> Result<(jiff::Timestamp, PreparedContainer, SupervisedProcess), StartError> {
        if !self.is_open.load(Ordering::Acquire) {
            return Err(StartError::Later("the kubelet is starting or stopping".to_owned()));
        }
        if is_paused() {
            let why = "processes cannot run while the clock is paused: time would run away";
            return Err(StartError::Create(why.to_owned()));
        }
        let name = container.image.clone().unwrap_or_default();
        if !images::is_name(&name) {
            return Err(StartError::Name { image: name });
        }
        let image = match self.processes.images.find(&name) {
            Ok(Some(image)) => image,
            Ok(None) => return Err(StartError::NotLoaded { image: name }),
            Err(error) => {
                let why = error.to_string();
                return Err(StartError::Image { image: name, why });
            }
        };
        let folder = &running.folders.0;
        files::private_folder(folder).map_err(StartError::file(folder))?;
        let allocatable = allocatable(context, pod).await;
        let sources = Sources {
            client: &context.client,
            pod,
            allocatable: &allocatable,
        };
        let now = context.clock.now();
        let mut volumes = running.volumes.lock().await;
        volumes.write(&sources, &running.folders.volumes(), now).await?;
        drop(volumes);
        let prepared = launch::prepare(&self.processes, &image, &sources, container, &running.folders).await?;
        self.claim(context, pod, &running.key, &prepared.ports).await?;
        let process = SupervisedProcess::start(&self.processes, &running.key, &container.name, &prepared);
        let process = process.map_err(|error| {
            self.release(&running.key, &prepared.ports);
            StartError::Run(format!("cannot run {}: {error}", image.name))
        })?;
        if let Some(group) = process.group {
            self.guard.add(group);
        }
        Ok((context.clock.now(), prepared, process))
    }

    /// Takes the ports of a container, if need be from a Pod that it is to replace.
    async fn claim(&self, context: &Context, pod: &Pod, key: &ObjectKey, wanted: &[u16]) -> Result<(), StartError> {
        let conflict = match self.ports.lock().claim(key, wanted, ports::is_free) {
            Ok(()) => return Ok(()),
            Err(conflict) => conflict,
        };
        match conflict {
            PortConflict::OtherProgram(port) => Err(StartError::Create(format!(
                "port {port} of this machine is in use by another program: processes share the machine's ports"
            ))),
            PortConflict::Pod(port, holder) => {
                let live = context.client.live();
                let other = live.get_opt::<Pod>(&holder).await.ok().flatten();
                if let Some(other) = other
                    && is_successor(context, pod, &other).await
                {
                    let text = format!("Port {port} is needed by {}, of a newer revision", key.name());
                    context
                        .events
                        .record(&*other, EventNote::normal("Preempting", "Stop", text));
                    let options = DeleteOptions {
                        uid: other.metadata.uid.clone(),
                        ..DeleteOptions::default()
                    };
                    if let Err(error) = context.client.delete_with::<Pod>(&holder, &options).await {
                        tracing::debug!(%error, %holder, "a Pod does not make room");
                    }
                    return Err(StartError::Later(format!(
                        "waiting until {} has given up port {port}",
                        holder.name()
                    )));
                }
                Err(StartError::Create(format!(
                    "port {port} of this machine is in use by Pod {holder}: processes share the machine's ports, so that one \
                     replica runs at a time"
                )))
            }
        }
    }

    pub(super) fn release(&self, pod: &ObjectKey, ports: &[u16]) {
        let waiting = self.ports.lock().release(pod, ports);
        for key in waiting {
            if let Some(running) = self.known(&key) {
                running.try_again();
            }
            self.wake(&key);
        }
    }

    /// Whether a Pod has a port, by what its containers declare.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn holds(&self, pod: &ObjectKey, port: u16) -> bool {
        self.ports.lock().is_held_by(pod, port)
    }

    /// Ends the processes of a Pod within this time.
    pub(in crate::kubelet) fn stop(&self, key: &ObjectKey, grace: Duration) {
        if let Some(running) = self.known(key) {
            running.order_all(supervise::deadline(grace));
        }
    }

    /// Where a Pod is found, by the address it has.
    pub(in crate::kubelet) fn place(&self, key: &ObjectKey, pod_ip: &str) {
        let (Some(running), Ok(pod_ip)) = (self.known(key), pod_ip.parse::<IpAddr>()) else {
            return;
        };
        let mut place = running.place.lock();
        if *place != Some(pod_ip) {
            *place = Some(pod_ip);
            self.processes
                .host
                .redirect_pod_ip(pod_ip, Some(Ipv4Addr::LOCALHOST.into()));
        }
    }

    /// Writes to the log and the events of a container that it is simulated, and how to run it as a process.
    pub(in crate::kubelet) fn explain_simulated(
        &self,
        events: &EventRecorder,
        pod: &Pod,
        container: &str,
        image: &str,
    ) {
        let meta = &pod.metadata;
        let (namespace, name) = (meta.namespace.as_deref(), meta.name.as_deref());
        let (namespace, name) = (namespace.unwrap_or_default(), name.unwrap_or_default());
        let how = format!("no image {image} is loaded. To run it: kubewright image load {image} --binary PATH");
        let [mut log, _] = self.processes.host.begin_log(namespace, name, container);
        // Writing to a log does not fail.
        let _ = writeln!(log, "This container is simulated: {how}");
        let text = format!("Container {container} is simulated: {how}");
        events.record(pod, EventNote::normal("Simulated", "Start", text));
    }

    /// Forgets a Pod that is gone: what still runs of it is ended at once, and its files are removed.
    pub(in crate::kubelet) fn discard(&self, key: &ObjectKey) {
        self.ports.lock().forget(key);
        let Some(running) = self.pods.lock().remove(key) else {
            return;
        };
        if let Some(refreshing) = running.refreshing.lock().take() {
            refreshing.abort();
        }
        if let Some(pod_ip) = running.place.lock().take() {
            self.processes.host.redirect_pod_ip(pod_ip, None);
        }
        if running.order_all(Instant::now()) == 0 {
            running.remove_files();
        }
        let mut leaving = self.leaving.lock();
        leaving.push(running);
        leaving.retain(|running| running.is_alive());
    }

    /// Whether this is still the running Pod of its name: then closing the runner removes its files.
    pub(super) fn is_known(&self, running: &Arc<Running>) -> bool {
        self.known(&running.key)
            .is_some_and(|known| Arc::ptr_eq(&known, running))
    }

    /// Ends everything, and removes all files.
    pub(in crate::kubelet) async fn close(&self) {
        self.is_open.store(false, Ordering::Release);
        let mut pods: Vec<_> = self.pods.lock().values().cloned().collect();
        pods.append(&mut self.leaving.lock());
        let until = Instant::now() + LAST_GRACE;
        for running in &pods {
            if let Some(refreshing) = running.refreshing.lock().take() {
                refreshing.abort();
            }
            running.order_all(until);
        }
        let all = async {
            for running in &pods {
                running.ended().await;
            }
        };
        if timeout_at(until + LAST_GRACE, all).await.is_err() {
            tracing::warn!("processes are left behind that do not end");
        }
        let folder = PathBuf::clone(&self.processes.folder);
        if let Err(error) = files::remove_folder(&folder) {
            tracing::warn!(%error, folder = %folder.display(), "files of Pods are left behind");
        }
        self.guard.finish().await;
    }
}

/// Records the event of a container that cannot be started.
fn tell_refusal(context: &Context, pod: &Pod, error: &StartError) {
    let note = match error {
        StartError::Mount { .. } => EventNote::warning("FailedMount", "Start", error.to_string()),
        StartError::Config(_) | StartError::Create(_) | StartError::Run(_) => {
            EventNote::warning("Failed", "Start", format!("Error: {error}"))
        }
        StartError::Name { .. } => EventNote::warning("InspectFailed", "Pull", error.to_string()),
        // Told of with the status.
        StartError::NotLoaded { .. } | StartError::Image { .. } | StartError::Later(_) => return,
    };
    context.events.record(pod, note);
}

/// Brings the volumes of a Pod up to date, every now and then.
async fn refresh(running: Arc<Running>, context: Context) {
    loop {
        tokio::time::sleep(REFRESH).await;
        let pod = match context.client.live().get_opt::<Pod>(&running.key).await {
            Ok(Some(pod)) if pod.metadata.uid.as_deref() == Some(running.uid.as_str()) => pod,
            _ => continue,
        };
        let allocatable = allocatable(&context, &pod).await;
        let sources = Sources {
            client: &context.client,
            pod: &pod,
            allocatable: &allocatable,
        };
        let mut volumes = running.volumes.lock().await;
        let written = volumes
            .write(&sources, &running.folders.volumes(), context.clock.now())
            .await;
        if let Err(error) = written {
            let note = EventNote::warning("FailedMount", "Refresh", error.to_string());
            context.events.record(&*pod, note);
        }
    }
}

/// What the Pod's node has, for containers without a limit.
async fn allocatable(context: &Context, pod: &Pod) -> BTreeMap<String, String> {
    let name = crate::support::pods::node_of(pod);
    let node = context
        .client
        .get_opt::<Node>(&ObjectKey::cluster(name))
        .await
        .ok()
        .flatten();
    let status = node.and_then(|node| node.status.clone());
    let amounts = status.and_then(|status| status.allocatable).unwrap_or_default();
    amounts.into_iter().map(|(name, amount)| (name, amount.0)).collect()
}
