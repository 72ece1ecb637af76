//! One run of a container: its output is taken to its log, it is probed, ended when that is ordered, and its end is told.

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
use super::launch::Prepared;
use super::probe::{Finding, Probers};
use super::runner::{Context, Runner, Running};
use super::signals::{self, Tell};
use crate::kubelet::life::{self, Seen};

/// How long output is waited for when a process has ended: children that it left may hold on to it.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// No process may take longer to end: a moment further away cannot be told.
const LONGEST_GRACE: Duration = Duration::from_hours(24 * 365 * 30);
/// How much of a last word is kept, as on a node.
const LONGEST_WORD: u64 = 4096;
/// How much of the log serves as a last word.
const LONGEST_FALLBACK: usize = 2048;

/// A process that was started and that nobody looks after yet.
pub(super) struct Charge {
    container: String,
    child: Child,
    /// The group of processes it leads.
    pub(super) group: Option<u32>,
    output: JoinSet<()>,
    /// The end of what it printed.
    tail: Arc<Mutex<Vec<u8>>>,
    pub(super) orders: watch::Sender<Option<Instant>>,
    heard: watch::Receiver<Option<Instant>>,
}

impl Charge {
    pub(super) fn start(
        processes: &Processes,
        pod: &ObjectKey,
        container: &str,
        prepared: &Prepared,
    ) -> io::Result<Self> {
        let mut child = prepared.launch.command().spawn()?;
        let namespace = pod.namespace().unwrap_or_default();
        let [out, err] = processes.host.begin_log(namespace, pod.name(), container);
        let (mut output, tail) = (JoinSet::new(), Arc::default());
        if let Some(stdout) = child.stdout.take() {
            output.spawn(pump(stdout, out, Arc::clone(&tail)));
        }
        if let Some(stderr) = child.stderr.take() {
            output.spawn(pump(stderr, err, Arc::clone(&tail)));
        }
        let (orders, heard) = watch::channel(None);
        Ok(Charge {
            container: container.to_owned(),
            group: child.id(),
            child,
            output,
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

/// Takes what a process prints to its log.
async fn pump(mut from: impl AsyncRead + Unpin, mut log: Box<dyn Write + Send>, tail: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(read) = from.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        let _ = log.write_all(&buffer[..read]);
        let mut tail = tail.lock();
        tail.extend_from_slice(&buffer[..read]);
        let too_much = tail.len().saturating_sub(LONGEST_FALLBACK);
        tail.drain(..too_much);
    }
}

/// Looks after a process until it has ended.
pub(super) fn supervise(
    runner: Arc<Runner>,
    running: Arc<Running>,
    context: &Context,
    pod: &Pod,
    prepared: Prepared,
    charge: Charge,
) {
    let watched = Watched {
        runner,
        running,
        context: context.clone(),
        pod: pod.clone(),
        container: charge.container.clone(),
        orders: charge.heard.clone(),
    };
    tokio::spawn(watched.run(prepared, charge));
}

struct Watched {
    runner: Arc<Runner>,
    running: Arc<Running>,
    context: Context,
    pod: Pod,
    container: String,
    /// Dropped when the process has ended, by which others know.
    orders: watch::Receiver<Option<Instant>>,
}

impl Watched {
    async fn run(mut self, mut prepared: Prepared, mut charge: Charge) {
        let probing = self.probe(std::mem::take(&mut prepared.probers), &prepared, &charge.orders);
        let probing = tokio::spawn(probing);
        let status = self.wait(&mut charge, &prepared).await;
        probing.abort();
        // What probes have started ends before its files go.
        let _ = probing.await;
        if let Some(group) = charge.group {
            // What it left behind ends with it, as in a container.
            signals::tell(group, Tell::Kill);
            self.runner.guarding.remove(group);
        }
        let rest = async { while charge.output.join_next().await.is_some() {} };
        if timeout(LAST_WORDS, rest).await.is_err() {
            charge.output.abort_all();
        }
        let exit_code = status.map_or(255, kubewright_system::signals::exit_code);
        let message = last_word(&prepared, exit_code, &charge.tail.lock());
        let at = self.context.clock.now();
        self.running.see(&self.container, |seen| {
            let since = match seen {
                Seen::Running { since, .. } => *since,
                _ => at,
            };
            *seen = Seen::Ended {
                since,
                at,
                exit_code,
                message,
            };
        });
        let Watched {
            runner,
            running,
            orders,
            ..
        } = self;
        drop((orders, charge));
        runner.release(&running.key, &prepared.ports);
        if !runner.is_known(&running) && !running.is_alive() {
            running.remove_files();
        }
        runner.wake(&running.key);
    }

    /// Waits until the process has ended, by itself or because it was told to.
    async fn wait(&mut self, charge: &mut Charge, prepared: &Prepared) -> io::Result<ExitStatus> {
        let is_told = |order: &Option<Instant>| order.is_some();
        tokio::select! {
            ended = charge.child.wait() => return ended,
            _ = self.orders.wait_for(is_told) => {}
        }
        if let Some(hook) = &prepared.pre_stop
            && let Some(ended) = self.pre_stop(hook, charge).await
        {
            return ended;
        }
        let text = format!("Stopping container {}", self.container);
        self.tell(EventNote::normal("Killing", "Stop", text));
        end(charge, Tell::End);
        loop {
            let by = (*self.orders.borrow_and_update()).unwrap_or_else(Instant::now);
            tokio::select! {
                ended = charge.child.wait() => return ended,
                () = sleep_until(by) => break,
                // Somebody is in more of a hurry.
                Ok(()) = self.orders.changed() => {}
            }
        }
        end(charge, Tell::Kill);
        charge.child.wait().await
    }

    /// Performs the hook that comes before the end, as long as there is time. The process's own end, if it is quicker.
    async fn pre_stop(&mut self, hook: &Action, charge: &mut Charge) -> Option<io::Result<ExitStatus>> {
        let has_time = self.orders.borrow().is_some_and(|by| Instant::now() < by);
        if !has_time {
            return None;
        }
        let runner = Arc::clone(&self.runner);
        // Its time is kept here: somebody may be in more of a hurry.
        let mut performing = pin!(hook.perform(Duration::MAX, &runner.guarding));
        let failure = loop {
            let by = (*self.orders.borrow_and_update()).unwrap_or_else(Instant::now);
            tokio::select! {
                biased;
                ended = charge.child.wait() => return Some(ended),
                () = sleep_until(by) => break Some("its time is over".to_owned()),
                Ok(()) = self.orders.changed() => {}
                result = &mut performing => break result.err(),
            }
        };
        if let Some(why) = failure {
            self.tell(EventNote::warning(
                "FailedPreStopHook",
                "Stop",
                format!("PreStopHook failed: {why}"),
            ));
        }
        None
    }

    fn tell(&self, note: EventNote) {
        self.context.events.tell(&self.pod, note);
    }

    /// Probes the container and tells what is found.
    fn probe(
        &self,
        probers: Probers,
        prepared: &Prepared,
        orders: &watch::Sender<Option<Instant>>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (runner, running, context) = (
            Arc::clone(&self.runner),
            Arc::clone(&self.running),
            self.context.clone(),
        );
        let (pod, container, orders) = (self.pod.clone(), self.container.clone(), orders.clone());
        let post_start = prepared.post_start.clone();
        let grace = life::grace(&pod);
        let hopeless = move |why: String, context: &Context| {
            context.events.tell(&pod, EventNote::normal("Killing", "Stop", why));
            orders.send_if_modified(|order| {
                let is_first = order.is_none();
                order.get_or_insert_with(|| deadline(grace));
                is_first
            });
        };
        let pod = self.pod.clone();
        async move {
            if let Some(hook) = post_start
                && let Err(why) = hook.perform(Duration::from_mins(2), &runner.guarding).await
            {
                let note = EventNote::warning("FailedPostStartHook", "Start", format!("PostStartHook failed: {why}"));
                context.events.tell(&pod, note);
                return hopeless(format!("FailedPostStartHook of container {container}"), &context);
            }
            let tell = |finding: Finding| match finding {
                Finding::Unhealthy(why) => context.events.tell(&pod, EventNote::warning("Unhealthy", "Probe", why)),
                Finding::Hopeless(sort) => {
                    let text = format!("Container {container} failed {sort} probe, will be restarted");
                    hopeless(text, &context);
                }
                Finding::Started => {
                    running.see(&container, |seen| {
                        if let Seen::Running { started, .. } = seen {
                            *started = true;
                        }
                    });
                    runner.wake(&running.key);
                }
                Finding::Ready(now) => {
                    running.see(&container, |seen| {
                        if let Seen::Running { ready, .. } = seen {
                            *ready = now;
                        }
                    });
                    runner.wake(&running.key);
                }
            };
            probers.run(&runner.guarding, tell).await;
        }
    }
}

fn end(charge: &mut Charge, tell: Tell) {
    let is_told = charge.group.is_some_and(|group| signals::tell(group, tell));
    if !is_told {
        let _ = charge.child.start_kill();
    }
}

/// What a container leaves as its last word: the file for that, or the end of its log.
fn last_word(prepared: &Prepared, exit_code: i32, tail: &[u8]) -> Option<String> {
    let written = beginning(&prepared.last_word).unwrap_or_default();
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
    file.take(LONGEST_WORD).read_to_end(&mut read).ok()?;
    Some(read)
}
