//! `kube_runtime`, as its documentation builds controllers: `Controller`, the reflector's store, reads of other kinds live.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, future};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::json;

use clap::Parser as _;
use kubewright_bench_runtime::Failure;
use kubewright_bench_runtime::tally::Tally;
use kubewright_bench_runtime::task::{self, Task, Work};

fn main() -> ExitCode {
    task::main(&Task::parse(), |task, tally| async move { run(&task, &tally).await })
}

async fn run(task: &Task, tally: &Arc<Tally>) -> Result<(), Failure> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let client = Client::try_default().await?;
    tally.report("built").say();
    match task.scenario {
        Work::Idle | Work::Noop => noop(task, tally, Api::all(client)).await,
        Work::Latency => noop(task, tally, Api::namespaced(client, &task.namespace)).await,
        Work::Owners => owners(task, tally, client).await,
        Work::Pods | Work::Micro => pods(tally, client).await?,
    }
    Ok(())
}

struct Context {
    store: Store<ConfigMap>,
    client: Client,
    namespace: String,
    timed: bool,
    tally: Arc<Tally>,
}

/// Reads the object from the store and leaves it alone.
async fn noop(task: &Task, tally: &Arc<Tally>, api: Api<ConfigMap>) {
    let controller = Controller::new(api.clone(), watcher::Config::default());
    let controller = controller.with_config(Config::default().concurrency(task.workers));
    let store = controller.store();
    if task.scenario == Work::Idle {
        let (store, tally) = (store.clone(), Arc::clone(tally));
        tokio::spawn(async move {
            // The store wakes only the last of several waiters, and the controller is one of them, so this one polls.
            let mut ticks = tokio::time::interval(Duration::from_millis(1));
            while store.wait_until_ready().now_or_never().is_none() {
                ticks.tick().await;
            }
            tally.complete(store.len());
        });
    }
    let context = Arc::new(Context {
        store,
        client: api.into_client(),
        namespace: task.namespace.clone(),
        timed: task.scenario == Work::Latency,
        tally: Arc::clone(tally),
    });
    controller
        .run(reconcile_noop, give_up_for_a_moment, context)
        .for_each(|_| future::ready(()))
        .await;
}

async fn reconcile_noop(object: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, kube::Error> {
    context.tally.began();
    let Some(object) = context.store.get(&ObjectRef::from_obj(&*object)) else {
        return Ok(Action::await_change());
    };
    if context.timed {
        context
            .tally
            .saw(object.data.as_ref().and_then(|data| data.get("number")));
    }
    if object.namespace().as_deref() == Some(&context.namespace) {
        context.tally.mark(&object.name_any());
    }
    Ok(Action::await_change())
}

fn give_up_for_a_moment(_object: Arc<ConfigMap>, _error: &kube::Error, _context: Arc<Context>) -> Action {
    Action::requeue(Duration::from_millis(5))
}

/// Gives each `ConfigMap` a Secret and then notes on the `ConfigMap` that it has one.
async fn owners(task: &Task, tally: &Arc<Tally>, client: Client) {
    let config_maps = Api::<ConfigMap>::namespaced(client.clone(), &task.namespace);
    let secrets = Api::<Secret>::namespaced(client.clone(), &task.namespace);
    let controller = Controller::new(config_maps, watcher::Config::default())
        .owns(secrets, watcher::Config::default())
        .with_config(Config::default().concurrency(task.workers));
    let context = Arc::new(Context {
        store: controller.store(),
        client,
        namespace: task.namespace.clone(),
        timed: false,
        tally: Arc::clone(tally),
    });
    controller
        .run(reconcile_owner, give_up_for_a_moment, context)
        .for_each(|_| future::ready(()))
        .await;
}

async fn reconcile_owner(owner: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, kube::Error> {
    context.tally.began();
    match provide(&owner, &context).await {
        Ok(()) => Ok(Action::await_change()),
        Err(error) => {
            context.tally.failed();
            Err(error)
        }
    }
}

async fn provide(owner: &ConfigMap, context: &Context) -> Result<(), kube::Error> {
    let name = owner.name_any();
    let secrets = Api::<Secret>::namespaced(context.client.clone(), &context.namespace);
    if secrets.get_opt(&name).await?.is_none() {
        let mut child = Secret::default();
        child.metadata.name = Some(name.clone());
        child.metadata.owner_references = owner.controller_owner_ref(&()).map(|reference| vec![reference]);
        child.string_data.clone_from(&owner.data);
        let created = secrets.create(&PostParams::default(), &child).await;
        created.inspect_err(|error| {
            if let kube::Error::Api(status) = error {
                context.tally.refused(&status.reason);
            }
        })?;
    }
    if !owner.annotations().contains_key("provided") {
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { "provided": "yes" } } }));
        let config_maps = Api::<ConfigMap>::namespaced(context.client.clone(), &context.namespace);
        config_maps.patch(&name, &PatchParams::default(), &patch).await?;
        context.tally.mark(&name);
    }
    Ok(())
}

/// Keeps all Pods in a store.
async fn pods(tally: &Arc<Tally>, client: Client) -> Result<(), Failure> {
    let (reader, writer) = reflector::store();
    let watching = watcher(Api::<Pod>::all(client), watcher::Config::default())
        .default_backoff()
        .reflect(writer)
        .applied_objects();
    let waiting = async {
        reader.wait_until_ready().await?;
        tally.complete(reader.len());
        Ok::<(), Failure>(())
    };
    let following = async { Ok(watching.try_for_each(|_| future::ready(Ok(()))).await?) };
    future::try_join(waiting, following).await?;
    Ok(())
}
