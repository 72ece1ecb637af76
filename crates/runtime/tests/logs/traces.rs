//! What a log line of a reconcile carries, and which warnings are logged.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::DynamicObject;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::{Action, Controller, Request};
use kubewright_runtime::informer::Cache;
use kubewright_runtime::manager::Manager;
use kubewright_runtime::object::Kind;
use kubewright_runtime::stop::Stopper;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Keeps log lines.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Logs of this thread come here as long as the guard lives.
    fn collect(&self) -> tracing::subscriber::DefaultGuard {
        let lines = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_writer(move || lines.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn saying(&self, message: &str) -> Vec<Value> {
        String::from_utf8_lossy(&self.0.lock())
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|line| line["fields"]["message"] == message)
            .collect()
    }
}

#[tokio::test(start_paused = true)]
async fn every_log_line_of_a_reconcile_says_whose_it_is_and_which() {
    let lines = Lines::default();
    let _guard = lines.collect();
    let server = ApiServer::new(Options::new());
    let controller = Controller::of::<ConfigMap>().named("settings").reconcile_with(|_| {
        |_: Request| async {
            tracing::info!("looking");
            Ok(Action::requeue_after(Duration::from_mins(1)))
        }
    });
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(Manager::new().controller(controller).run(server.client(), stop));
    let user = Client::new(server.client(), Cache::default()).live();
    let object: ConfigMap =
        serde_json::from_value(json!({ "metadata": { "name": "a", "namespace": "default" } })).unwrap();
    user.create(&object).await.unwrap();
    tokio::time::sleep(Duration::from_secs(90)).await;
    stopper.stop();
    running.await.unwrap().unwrap();

    let spans: Vec<Value> = lines
        .saying("looking")
        .iter()
        .map(|line| line["span"].clone())
        .collect();
    let ours: Vec<_> = spans.iter().filter(|span| span["object"] == "a").collect();
    assert_eq!(ours.len(), 2, "{spans:?}");
    for span in &ours {
        assert_eq!(span["controller"], "settings");
        assert_eq!(span["kind"], "ConfigMap");
        assert_eq!(span["namespace"], "default");
        assert_eq!(span["reconcile_id"].as_str().unwrap().len(), 36);
    }
    assert_ne!(ours[0]["reconcile_id"], ours[1]["reconcile_id"]);
}

#[tokio::test(start_paused = true)]
async fn a_warning_of_the_server_is_logged_once() {
    let lines = Lines::default();
    let _guard = lines.collect();
    let server = ApiServer::new(Options::new());
    let client = Client::new(server.client(), Cache::default()).live();
    for name in ["a", "b", "c"] {
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "default" }, "date": {},
        }))
        .unwrap();
        client.dynamic(Kind::of::<ConfigMap>()).create(&object).await.unwrap();
    }
    let warnings = lines.saying("the server warns");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0]["fields"]["warning"], "unknown field \"date\"");
}
