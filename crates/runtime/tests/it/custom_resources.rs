//! Controllers on custom resources whose definitions come and go, on the embedded server.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::{Action, Controller, Request};
use kubewright_runtime::informer::Cache;
use kubewright_runtime::manager::Manager;
use kubewright_runtime::object::ObjectKey;
use kubewright_runtime::stop::Stopper;
use parking_lot::Mutex;

use super::support::{boat, boat_definition, boats, config_map};

/// Who was reconciled, and the client that did it.
#[derive(Clone, Default)]
struct Seen {
    requests: Arc<Mutex<Vec<String>>>,
    client: Arc<Mutex<Option<Client>>>,
}

impl Seen {
    fn noting(&self, controller: Controller) -> Controller {
        let seen = self.clone();
        controller.reconcile_with(move |context| {
            *seen.client.lock() = Some(context.client());
            let requests = Arc::clone(&seen.requests);
            move |request: Request| {
                let requests = Arc::clone(&requests);
                async move {
                    requests.lock().push(request.to_string());
                    Ok(Action::done())
                }
            }
        })
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock())
    }
}

/// Longer than the longest pause between two questions for a kind that is not served.
async fn a_while() {
    tokio::time::sleep(Duration::from_mins(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_starts_with_its_definition_and_pauses_without_it() {
    let server = ApiServer::new(Options::new());
    let user = Client::new(server.client(), Cache::default()).live();
    let (sailing, configuring) = (Seen::default(), Seen::default());
    let manager = Manager::new()
        .controller(sailing.noting(Controller::of_kind(boats())))
        .controller(configuring.noting(Controller::of::<ConfigMap>()));
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(manager.run(server.client(), stop));

    // Nothing is served yet: one waits, the other works.
    user.create(&config_map("before")).await.unwrap();
    a_while().await;
    assert_eq!(sailing.take(), [] as [&str; 0]);
    assert!(configuring.take().contains(&"default/before".to_owned()));
    let cache = configuring.client.lock().as_ref().unwrap().cache().clone();
    let troubles = || cache.troubles().iter().map(ToString::to_string).collect::<Vec<_>>();
    let waiting = ["Boat.harbour.example.com is not served; waiting for its CustomResourceDefinition"];
    assert_eq!(troubles(), waiting);

    user.create(&boat_definition()).await.unwrap();
    user.dynamic(boats()).create(&boat("first")).await.unwrap();
    a_while().await;
    assert_eq!(sailing.take(), ["default/first"]);
    assert_eq!(troubles(), [] as [&str; 0]);

    // The definition goes, and its objects with it; the other kind does not notice.
    let name = ObjectKey::new(None, "boats.harbour.example.com");
    user.delete::<CustomResourceDefinition>(&name).await.unwrap();
    a_while().await;
    assert_eq!(sailing.take(), ["default/first"]);
    assert_eq!(troubles(), waiting);
    let store = cache.informer(&boats()).unwrap().store();
    assert_eq!(store.len(), 0);
    user.create(&config_map("after")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(configuring.take(), ["default/after"]);

    // And it may come back.
    user.create(&boat_definition()).await.unwrap();
    user.dynamic(boats()).create(&boat("second")).await.unwrap();
    a_while().await;
    assert_eq!(sailing.take(), ["default/second"]);
    stopper.stop();
    running.await.unwrap().unwrap();
}
