//! The logs of containers, for `pods/log`: of the current and of the previous run of each, dropped with the Pod.
//! [`Log`] is one of them, [`LogWriter`] writes it, [`LogCursor`] reads it as [`LogOptions`] say.

mod cursor;
mod log;
mod options;
mod writer;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use kubewright_system::clock::Clock;
use parking_lot::Mutex;

pub(crate) use cursor::LogCursor;
pub(crate) use log::{Line, Log};
pub(crate) use options::LogOptions;
pub use writer::LogWriter;

use crate::object;
use crate::registry::BuiltInId;
use crate::server::ApiServer;

/// The logs of a server, by Pod (`namespace/name`) and container.
#[derive(Debug, Default)]
pub(crate) struct Logs(Mutex<HashMap<String, HashMap<String, Runs>>>);

/// The logs of a container: of the current or last run, and of the one before.
#[derive(Debug, Clone, Default)]
struct Runs {
    current: Option<Arc<Log>>,
    previous: Option<Arc<Log>>,
}

impl Logs {
    /// Replaces the log of a container.
    pub(crate) fn set(&self, namespace: &str, pod: &str, container: &str, text: &str, clock: Clock) {
        let mut logs = self.0.lock();
        let runs = entry(&mut logs, namespace, pod, container);
        let log = Arc::new(Log::default());
        for line in text.lines() {
            log.push(clock.now(), format!("{line}\n").into());
        }
        if let Some(before) = runs.current.replace(log) {
            before.end();
        }
    }

    /// A log for a new run of a container. That of the last run becomes the previous one.
    fn begin(&self, namespace: &str, pod: &str, container: &str) -> Arc<Log> {
        let mut logs = self.0.lock();
        let runs = entry(&mut logs, namespace, pod, container);
        // Readers that followed the still empty log of this run go on with it.
        if let Some(log) = runs.current.as_ref().filter(|log| log.take()) {
            return Arc::clone(log);
        }
        let log = Arc::new(Log::written());
        if let Some(before) = runs.current.replace(Arc::clone(&log)) {
            before.end();
            if before.has_writer() {
                runs.previous = Some(before);
            }
        }
        log
    }

    /// The log of a container, empty if nothing was written yet.
    pub(crate) fn followed(&self, namespace: &str, pod: &str, container: &str) -> Arc<Log> {
        let mut logs = self.0.lock();
        let runs = entry(&mut logs, namespace, pod, container);
        Arc::clone(runs.current.get_or_insert_default())
    }

    pub(crate) fn current(&self, namespace: &str, pod: &str, container: &str) -> Option<Arc<Log>> {
        let logs = self.0.lock();
        logs.get(&object::key(namespace, pod))?.get(container)?.current.clone()
    }

    pub(crate) fn previous(&self, namespace: &str, pod: &str, container: &str) -> Option<Arc<Log>> {
        let logs = self.0.lock();
        logs.get(&object::key(namespace, pod))?.get(container)?.previous.clone()
    }

    /// Drops the logs of a deleted Pod, which ends them for those who follow.
    pub(crate) fn forget(&self, namespace: &str, pod: &str) {
        let gone = self.0.lock().remove(&object::key(namespace, pod));
        for runs in gone.into_iter().flat_map(HashMap::into_values) {
            for log in [runs.current, runs.previous].into_iter().flatten() {
                log.end();
            }
        }
    }

    /// Drops all lines that were written after a time.
    pub(crate) fn forget_after(&self, time: Timestamp) {
        let logs = self.0.lock();
        for runs in logs.values().flat_map(HashMap::values) {
            for log in [&runs.current, &runs.previous].into_iter().flatten() {
                log.forget_after(time);
            }
        }
    }

    /// A copy for a fork of the server: it has no writers.
    pub(crate) fn fork(&self) -> Self {
        let copied = |log: Option<&Arc<Log>>| log.map(|log| Arc::new(log.copied()));
        let logs = self.0.lock();
        let pods = logs.iter().map(|(pod, containers)| {
            let containers = containers.iter().map(|(name, runs)| {
                let runs = Runs {
                    current: copied(runs.current.as_ref()),
                    previous: copied(runs.previous.as_ref()),
                };
                (name.clone(), runs)
            });
            (pod.clone(), containers.collect())
        });
        Logs(Mutex::new(pods.collect()))
    }
}

fn entry<'a>(
    logs: &'a mut HashMap<String, HashMap<String, Runs>>,
    namespace: &str,
    pod: &str,
    container: &str,
) -> &'a mut Runs {
    let containers = logs.entry(object::key(namespace, pod)).or_default();
    containers.entry(container.to_owned()).or_default()
}

impl ApiServer {
    /// Begins the log of a container that starts, or starts again: what is written is what `kubectl logs` shows, and the log
    /// of the run before is what it shows with `--previous`. A reader that follows it ends when the writer and its clones
    /// are dropped.
    ///
    /// The newest 4 MiB of a run are kept for as long as the Pod exists. Each line counts 48 bytes more than its text,
    /// so that of short lines less text is kept. A line of more than 16 KiB is kept, counted and dated in pieces of
    /// that size. What is written for a Pod that does not exist is lost.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, Options};
    /// use std::io::Write as _;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let server = ApiServer::new(Options::new());
    /// let pod = r#"{ "metadata": { "name": "web" }, "spec": { "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] } }"#;
    /// let request = http::Request::post("/api/v1/namespaces/default/pods").header("content-type", "application/json");
    /// assert_eq!(server.handle(request.body(pod.into()).unwrap()).await.status(), 201);
    ///
    /// let mut log = server.pod_log("default", "web", "c");
    /// writeln!(log, "listening")?;
    ///
    /// server.set_pod_log("default", "web", "c", "all of it\n"); // in place of what it said so far
    /// # Ok(())
    /// # }
    /// ```
    pub fn pod_log(&self, namespace: &str, pod: &str, container: &str) -> LogWriter {
        let server = &self.server;
        let log = server.logs.begin(namespace, pod, container);
        let pods = BuiltInId::Pods.resource();
        // Checked after the log was made, so that a Pod deleted in between does not leave it behind.
        if server.store.get(pods.table, &object::key(namespace, pod)).is_none() {
            server.logs.forget(namespace, pod);
        }
        LogWriter::new(log, server.clock)
    }

    /// Sets what `pods/log` returns for a container of a Pod, in place of what was written so far.
    pub fn set_pod_log(&self, namespace: &str, pod: &str, container: &str, text: impl Into<String>) {
        let server = &self.server;
        server.logs.set(namespace, pod, container, &text.into(), server.clock);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn text(log: &Log) -> String {
        let (lines, _) = log.read(0);
        let bytes: Vec<u8> = lines.iter().flat_map(|line| line.text.to_vec()).collect();
        String::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn a_second_run_makes_the_first_the_previous_one() {
        let (logs, clock) = (Logs::default(), Clock::system());
        let mut first = LogWriter::new(logs.begin("a", "p", "c"), clock);
        writeln!(first, "one").unwrap();
        assert!(logs.previous("a", "p", "c").is_none());
        drop(first);
        let mut second = LogWriter::new(logs.begin("a", "p", "c"), clock);
        writeln!(second, "two").unwrap();
        assert_eq!(text(&logs.current("a", "p", "c").unwrap()), "two\n");
        assert_eq!(text(&logs.previous("a", "p", "c").unwrap()), "one\n");
        let third = logs.begin("a", "p", "c");
        assert_eq!(text(&logs.previous("a", "p", "c").unwrap()), "two\n");
        assert_eq!(text(&third), "");
    }

    #[tokio::test]
    async fn whoever_waits_for_the_first_word_hears_it() {
        let (logs, clock) = (Logs::default(), Clock::system());
        let followed = logs.followed("a", "p", "c");
        let mut writer = LogWriter::new(logs.begin("a", "p", "c"), clock);
        writeln!(writer, "hello").unwrap();
        assert_eq!(text(&followed), "hello\n");
        assert!(!followed.has_ended());
        drop(writer);
        assert!(followed.has_ended());
    }

    #[tokio::test]
    async fn a_pod_that_goes_takes_its_logs_along() {
        let (logs, clock) = (Logs::default(), Clock::system());
        logs.set("a", "p", "c", "hello", clock);
        let followed = logs.followed("a", "p", "c");
        let fork = logs.fork();
        logs.forget("a", "p");
        assert!(logs.current("a", "p", "c").is_none() && followed.has_ended());
        assert_eq!(text(&fork.current("a", "p", "c").unwrap()), "hello\n");
    }
}
