//! What an observer hears of a controller: who woke it, when it began, how it ended.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, PostParams};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::controller::{Action, Cause, Change, Controller, Failure, Observation, Outcome, Request};
use kubewright_runtime::manager::Manager;
use kubewright_runtime::stop::Stopper;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Reads on until something is told of an object; what it was, in a word.
async fn next(told: &mut UnboundedReceiver<Observation>, name: &str) -> String {
    loop {
        let observation = told.recv().await.expect("the manager runs");
        let (request, word) = match &observation {
            Observation::Woken { request, cause } => (
                request,
                match cause {
                    Cause::Object { kind, change, .. } => format!("{} {}", kind.kind(), change.as_str()),
                    Cause::Source => "source".to_owned(),
                    Cause::Again(outcome) => format!("again after {}", outcome.as_str()),
                },
            ),
            Observation::Began { request } => (request, "began".to_owned()),
            Observation::Ended(reconciled) => {
                (&reconciled.request, format!("ended in {}", reconciled.outcome.as_str()))
            }
        };
        if request.name() == name {
            return word;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_hears_of_every_cause_before_the_reconcile_it_leads_to() {
    let server = ApiServer::new(Options::new());
    // The first reconcile of an object fails, the others succeed.
    let controller = Controller::of::<ConfigMap>().reconcile_with(|_| {
        let failed = std::sync::atomic::AtomicBool::new(false);
        move |request: Request| {
            let fails = request.name() == "a" && !failed.swap(true, std::sync::atomic::Ordering::Relaxed);
            async move {
                if fails {
                    return Err(Failure::message("not yet"));
                }
                Ok(Action::done())
            }
        }
    });
    let manager = Manager::new().controller(controller);
    let (sender, mut told) = unbounded_channel();
    let (_, stats) = manager.stats().remove(0);
    assert!(stats.observe(move |observation| drop(sender.send(observation.clone()))));
    assert!(!stats.observe(|_| {}), "there is one observer");
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(manager.run(server.client(), stop));

    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let map = serde_json::from_value(json!({ "metadata": { "name": "a" } })).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
    let first = next(&mut told, "a").await;
    assert!(first == "ConfigMap created" || first == "ConfigMap listed", "{first}");
    for expected in [
        "began",
        "again after error",
        "ended in error",
        "began",
        "ended in success",
    ] {
        assert_eq!(next(&mut told, "a").await, expected);
    }
    maps.delete("a", &kube::api::DeleteParams::default()).await.unwrap();
    for expected in ["ConfigMap deleted", "began", "ended in success"] {
        assert_eq!(next(&mut told, "a").await, expected);
    }
    stopper.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_source_is_a_cause_too() {
    let server = ApiServer::new(Options::new());
    let controller = Controller::of::<Namespace>()
        .source(|trigger: kubewright_runtime::controller::Trigger, _| async move {
            trigger.wake(kubewright_runtime::object::ObjectKey::cluster("elsewhere"));
        })
        .reconcile_with(|_| |_: Request| async { Ok(Action::done()) });
    let manager = Manager::new().controller(controller);
    let (sender, mut told) = unbounded_channel();
    let (_, stats) = manager.stats().remove(0);
    stats.observe(move |observation| drop(sender.send(observation.clone())));
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(manager.run(server.client(), stop));
    for expected in ["source", "began", "ended in success"] {
        assert_eq!(next(&mut told, "elsewhere").await, expected);
    }
    assert_eq!(
        (Change::Created.as_str(), Outcome::Success.as_str()),
        ("created", "success")
    );
    stopper.stop();
    running.await.unwrap().unwrap();
}
