//! One run of a container's process: copies its output to the log, probes it, ends it when ordered, and reports its end.

use std::io::{self, Read as _, Write};
use std::path::Path;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::ObjectKey;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::Processes;
use super::action::Action;
use super::console::{Console, OutputStream};
use super::launch::{PreparedContainer, StandardStreams};
use super::probe::{ProbeResult, Probers};
use super::run::Run;
use super::runner::{Context, Runner};
use super::running::Running;
use super::signals::{self, GroupSignal};
use super::spawn::{self, Spawned, Wiring};
use crate::kubelet::lifecycle::{self, ProcessState};

/// How long output is waited for when a process has ended: children that it left may hold on to it.
const FINAL_OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest grace period: a later moment cannot be represented.
const LONGEST_GRACE: Duration = Duration::from_hours(24 * 365 * 30);
/// How much of a termination message is kept, as by a kubelet.
const LONGEST_MESSAGE: u64 = 4096;
/// How much of the log serves as a termination message.
const LONGEST_FALLBACK: usize = 2048;

/// A process that was started, with what is needed to supervise it.
pub(super) struct SupervisedProcess {
    container: String,
    child: Child,
    /// The group of processes it leads.
    pub(super) group: Option<u32>,
    output: JoinSet<()>,
    /// What those see of it who connect to it.
    pub(super) run: Arc<Run>,
    /// The end of what it printed.
    tail: Arc<Mutex<Vec<u8>>>,
    pub(super) orders: watch::Sender<Option<Instant>>,
    heard: watch::Receiver<Option<Instant>>,
}

impl SupervisedProcess {
    pub(super) fn start(
        processes: &Processes,
        pod: &ObjectKey,
        container: &str,
        prepared: &PreparedContainer,
    ) -> io::Result<Self> {
        let streams = prepared.streams;
        let wiring = match streams {
            StandardStreams { tty: true, .. } => Wiring::Terminal,
            StandardStreams { stdin: true, .. } => Wiring::Pipes,
            _ => Wiring::Output,
        };
        let spawned = spawn::spawn(&prepared.launch, wiring)?;
        let Spawned {
            child,
            input,
            output: stdout,
            messages: stderr,
        } = spawned;
        let console = Console::new(input, streams.stdin, streams.stdin_once);
        let run = Arc::new(Run::new(prepared.run_parts(), console, child.id()));
        let namespace = pod.namespace().unwrap_or_default();
        let [out, err] = processes.host.begin_log(namespace, pod.name(), container);
        let (mut output, tail) = (JoinSet::new(), Arc::default());
        let pump = |stream, from, log| pump(from, log, Arc::clone(&tail), stream, Arc::clone(&run));
        output.spawn(pump(OutputStream::Output, stdout, out));
        if let Some(stderr) = stderr {
            output.spawn(pump(OutputStream::Messages, stderr, err));
        }
        let (orders, heard) = watch::channel(None);
        Ok(SupervisedProcess {
            container: container.to_owned(),
            group: child.id(),
            child,
            output,
            run,
            tail,
            orders,
            heard,
        })
    }
}

/// The moment by which something is to end that may take this long.
pub(super) fn deadline(grace: Duration) -> Instant {
    Instant::now() + grace.min(LONGEST_GRACE)
}

/// Takes what a process prints to its log, and to the clients that are attached to it.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut log: Box<dyn Write + Send>,
    tail: Arc<Mutex<Vec<u8>>>,
    stream: OutputStream,
    run: Arc<Run>,
) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(read) = from.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        let _ = log.write_all(&buffer[..read]);
        {
            let mut tail = tail.lock();
            tail.extend_from_slice(&buffer[..read]);
            let too_much = tail.len().saturating_sub(LONGEST_FALLBACK);
            tail.drain(..too_much);
        }
        run.console.send(stream, &buffer[..read]).await;
    }
}

/// Supervises a process until it has ended.
pub(super) fn supervise(
    runner: Arc<Runner>,
    running: Arc<Running>,
    context: &Context,
    pod: &Pod,
    prepared: PreparedContainer,
    process: SupervisedProcess,
) {
    let supervisor = Supervisor {
        runner,
        running,
        context: context.clone(),
        pod: pod.clone(),
        container: process.container.clone(),
        orders: process.heard.clone(),
    };
    tokio::spawn(supervisor.run(prepared, process));
}

struct Supervisor {
    runner: Arc<Runner>,
    running: Arc<Running>,
    context: Context,
    pod: Pod,
    container: String,
    /// Dropped when the process has ended, by which others know.
    orders: watch::Receiver<Option<Instant>>,
}

impl Supervisor {
    async fn run(mut self, mut prepared: PreparedContainer, mut process: SupervisedProcess) {
        let probing = self.probe(std::mem::take(&mut prepared.probers), &prepared, &process.orders);
        let probing = tokio::spawn(probing);
        let status = self.wait(&mut process, &prepared).await;
        probing.abort();
        // What probes have started ends before its files go.
        let _ = probing.await;
        if let Some(group) = process.group {
            // What it left behind ends with it, as in a container.
            if prepared.streams.tty {
                signals::send_to_session(group, GroupSignal::Kill);
            } else {
                signals::send(group, GroupSignal::Kill);
            }
            self.runner.guard.remove(group);
        }
        let rest = async { while process.output.join_next().await.is_some() {} };
        if timeout(FINAL_OUTPUT_TIMEOUT, rest).await.is_err() {
            process.output.abort_all();
        }
        // Those who are attached have its last words now; commands in the container end before its files go.
        process.run.console.close();
        if timeout(FINAL_OUTPUT_TIMEOUT, process.run.end_commands()).await.is_err() {
            tracing::warn!(pod = %self.running.key, container = self.container, "a command in a container does not end");
        }
        let exit_code = status.map_or(255, kubewright_system::signals::exit_code);
        let message = termination_message(&prepared, exit_code, &process.tail.lock());
        let at = self.context.clock.now();
        self.running.see(&self.container, |seen| {
            let since = match seen {
                ProcessState::Running { since, .. } => *since,
                _ => at,
            };
            *seen = ProcessState::Ended {
                since,
                at,
                exit_code,
                message,
            };
        });
        let Supervisor {
            runner,
            running,
            orders,
            ..
        } = self;
        drop((orders, process));
        runner.release(&running.key, &prepared.ports);
        if !runner.is_known(&running) && !running.is_alive() {
            running.remove_files();
        }
        runner.wake(&running.key);
    }

    /// Waits until the process has ended, by itself or on order.
    async fn wait(&mut self, process: &mut SupervisedProcess, prepared: &PreparedContainer) -> io::Result<ExitStatus> {
        let is_sent = |order: &Option<Instant>| order.is_some();
        tokio::select! {
            ended = process.child.wait() => return ended,
            _ = self.orders.wait_for(is_sent) => {}
        }
        if let Some(hook) = &prepared.pre_stop
            && let Some(ended) = self.pre_stop(hook, process).await
        {
            return ended;
        }
        let text = format!("Stopping container {}", self.container);
        self.record(EventNote::normal("Killing", "Stop", text));
        end(process, GroupSignal::Terminate);
        loop {
            let by = (*self.orders.borrow_and_update()).unwrap_or_else(Instant::now);
            tokio::select! {
                ended = process.child.wait() => return ended,
                () = sleep_until(by) => break,
                // The deadline became earlier.
                Ok(()) = self.orders.changed() => {}
            }
        }
        end(process, GroupSignal::Kill);
        process.child.wait().await
    }

    /// Performs the hook that comes before the end, as long as there is time. The process's own end, if it is quicker.
    async fn pre_stop(&mut self, hook: &Action, process: &mut SupervisedProcess) -> Option<io::Result<ExitStatus>> {
        let has_time = self.orders.borrow().is_some_and(|by| Instant::now() < by);
        if !has_time {
            return None;
        }
        let runner = Arc::clone(&self.runner);
        // The deadline is checked here, since it may become earlier.
        let mut performing = pin!(hook.perform(Duration::MAX, &runner.guard));
        let failure = loop {
            let by = (*self.orders.borrow_and_update()).unwrap_or_else(Instant::now);
            tokio::select! {
                biased;
                ended = process.child.wait() => return Some(ended),
                () = sleep_until(by) => break Some("its time is over".to_owned()),
                Ok(()) = self.orders.changed() => {}
                result = &mut performing => break result.err(),
            }
        };
        if let Some(why) = failure {
            self.record(EventNote::warning(
                "FailedPreStopHook",
                "Stop",
                format!("PreStopHook failed: {why}"),
            ));
        }
        None
    }

    fn record(&self, note: EventNote) {
        self.context.events.record(&self.pod, note);
    }

    /// Probes the container and records what changes.
    fn probe(
        &self,
        probers: Probers,
        prepared: &PreparedContainer,
        orders: &watch::Sender<Option<Instant>>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (runner, running, context) = (
            Arc::clone(&self.runner),
            Arc::clone(&self.running),
            self.context.clone(),
        );
        let (pod, container, orders) = (self.pod.clone(), self.container.clone(), orders.clone());
        let post_start = prepared.post_start.clone();
        let grace = lifecycle::grace(&pod);
        let hopeless = move |why: String, context: &Context| {
            context.events.record(&pod, EventNote::normal("Killing", "Stop", why));
            orders.send_if_modified(|order| {
                let is_first = order.is_none();
                order.get_or_insert_with(|| deadline(grace));
                is_first
            });
        };
        let pod = self.pod.clone();
        async move {
            if let Some(hook) = post_start
                && let Err(why) = hook.perform(Duration::from_mins(2), &runner.guard).await
            {
                let note = EventNote::warning("FailedPostStartHook", "Start", format!("PostStartHook failed: {why}"));
                context.events.record(&pod, note);
                return hopeless(format!("FailedPostStartHook of container {container}"), &context);
            }
            let report = |result: ProbeResult| match result {
                ProbeResult::Unhealthy(why) => context
                    .events
                    .record(&pod, EventNote::warning("Unhealthy", "Probe", why)),
                ProbeResult::Failed(sort) => {
                    let text = format!("Container {container} failed {sort} probe, will be restarted");
                    hopeless(text, &context);
                }
                ProbeResult::Started => {
                    running.see(&container, |seen| {
                        if let ProcessState::Running { started, .. } = seen {
                            *started = true;
                        }
                    });
                    runner.wake(&running.key);
                }
                ProbeResult::Ready(now) => {
                    running.see(&container, |seen| {
                        if let ProcessState::Running { ready, .. } = seen {
                            *ready = now;
                        }
                    });
                    runner.wake(&running.key);
                }
            };
            probers.run(&runner.guard, report).await;
        }
    }
}

fn end(process: &mut SupervisedProcess, signal: GroupSignal) {
    let is_sent = process.group.is_some_and(|group| signals::send(group, signal));
    if !is_sent {
        let _ = process.child.start_kill();
    }
}

/// The termination message of a container: the file for it, or the end of its log.
fn termination_message(prepared: &PreparedContainer, exit_code: i32, tail: &[u8]) -> Option<String> {
    let written = beginning(&prepared.termination_message).unwrap_or_default();
    let word = match written.as_slice() {
        [] if prepared.falls_back && exit_code != 0 => tail,
        written => written,
    };
    let text = String::from_utf8_lossy(word).into_owned();
    Some(text).filter(|text| !text.is_empty())
}

/// The beginning of a file, if it is one: a pipe could keep us waiting.
fn beginning(path: &Path) -> Option<Vec<u8>> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut read = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(LONGEST_MESSAGE).read_to_end(&mut read).ok()?;
    Some(read)
}
