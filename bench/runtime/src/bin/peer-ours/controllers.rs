//! Controllers written with this toolkit as its examples write them.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kubewright_runtime::client::helpers::set_controller_reference;
use kubewright_runtime::client::{Client, Patch};
use kubewright_runtime::controller::{Action, Controller, Failure as ReconcileFailure, Request};
use kubewright_runtime::flags::Flags;
use kubewright_runtime::manager::RunContext;
use kubewright_runtime::object::{Kind, Object};
use kubewright_runtime::operator::Operator;
use kubewright_runtime::stop::Stopper;
use kubewright_runtime::trace::Trace;
use serde_json::json;

use kubewright_bench_runtime::Failure;
use kubewright_bench_runtime::tally::Tally;
use kubewright_bench_runtime::task::{Task, Work};

/// What an operator keeps by default once the trace is on.
const TRACE_BYTES: usize = 8 << 20;

pub(crate) async fn run(task: &Task, tally: &Arc<Tally>) -> Result<(), Failure> {
    let trace = format!("--debug-trace-bytes={}", if task.traced { TRACE_BYTES } else { 0 });
    Flags::try_parse_from(["bench", &trace])?.init_logs()?;
    let workers = usize::from(task.workers);
    let operator = Operator::new("bench");
    let operator = match task.scenario {
        Work::Idle | Work::Noop => operator.controller(noop(task, tally).max_concurrent_reconciles(workers)),
        Work::Latency => operator
            .controller(noop(task, tally).max_concurrent_reconciles(workers))
            .namespaces([&*task.namespace]),
        Work::Owners => operator
            .controller(owners(tally).max_concurrent_reconciles(workers))
            .namespaces([&*task.namespace]),
        Work::Pods | Work::Micro => operator.reads::<Pod>(),
    };
    let operator = match task.scenario {
        Work::Idle => operator.runnable("done", once_synced::<ConfigMap>(tally)),
        Work::Pods => operator.runnable("done", once_synced::<Pod>(tally)),
        _ => operator,
    };
    let kube = kube::Client::try_default().await?;
    let (_stopper, stop) = Stopper::new();
    tally.report("built").say();
    let mut manager = operator.manager()?;
    if task.traced {
        manager = manager.trace(Trace::bounded(TRACE_BYTES).without_cache_events());
    }
    manager.run(kube, stop).await?;
    Ok(())
}

/// Reports completion once the cache has all objects of a kind.
fn once_synced<K: Object>(
    tally: &Arc<Tally>,
) -> impl Fn(RunContext) -> std::pin::Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>> + Clone + Send + Sync + 'static
{
    let tally = Arc::clone(tally);
    move |context| {
        let tally = Arc::clone(&tally);
        Box::pin(async move {
            let informer = context.client.cache().informer(&Kind::of::<K>());
            let store = informer.ok_or("the kind is not declared")?.store();
            store.synced().await;
            tally.complete(store.len());
            Ok(())
        })
    }
}

/// Reads the object from the cache and leaves it alone.
fn noop(task: &Task, tally: &Arc<Tally>) -> Controller {
    let timed = task.scenario == Work::Latency;
    let (namespace, tally) = (Arc::<str>::from(&*task.namespace), Arc::clone(tally));
    Controller::of::<ConfigMap>().reconcile_with(move |context| {
        let (client, tally, namespace) = (context.client(), Arc::clone(&tally), Arc::clone(&namespace));
        move |request: Request| {
            let (client, tally, namespace) = (client.clone(), Arc::clone(&tally), Arc::clone(&namespace));
            async move {
                tally.began();
                let Some(object) = client.get_opt::<ConfigMap>(&request).await? else {
                    return Ok(Action::done());
                };
                if timed {
                    tally.saw(object.data.as_ref().and_then(|data| data.get("number")));
                }
                if request.namespace() == Some(&*namespace) {
                    tally.mark(request.name());
                }
                Ok(Action::done())
            }
        }
    })
}

/// Gives each `ConfigMap` a Secret and then notes on the `ConfigMap` that it has one.
fn owners(tally: &Arc<Tally>) -> Controller {
    let tally = Arc::clone(tally);
    Controller::of::<ConfigMap>()
        .owns::<Secret>()
        .reconcile_with(move |context| {
            let (client, tally) = (context.client(), Arc::clone(&tally));
            move |request: Request| {
                let (client, tally) = (client.clone(), Arc::clone(&tally));
                async move {
                    tally.began();
                    match provide(&client, &tally, &request).await {
                        Ok(()) => Ok(Action::done()),
                        Err(failure) => {
                            tally.failed();
                            Err(failure)
                        }
                    }
                }
            }
        })
}

async fn provide(client: &Client, tally: &Tally, request: &Request) -> Result<(), ReconcileFailure> {
    let Some(owner) = client.get_opt::<ConfigMap>(request).await? else {
        return Ok(());
    };
    if client.get_opt::<Secret>(request).await?.is_none() {
        let mut child = Secret::default();
        child.metadata.namespace.clone_from(&owner.metadata.namespace);
        child.metadata.name.clone_from(&owner.metadata.name);
        child.string_data.clone_from(&owner.data);
        set_controller_reference(&*owner, &mut child).map_err(ReconcileFailure::terminal)?;
        let created = client.create(&child).await;
        created.inspect_err(|error| tally.refused(error.reason()))?;
    }
    let provided = |annotations: &BTreeMap<String, String>| annotations.contains_key("provided");
    if !owner.metadata.annotations.as_ref().is_some_and(provided) {
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { "provided": "yes" } } }));
        client.patch::<ConfigMap>(request, &patch).await?;
        tally.mark(request.name());
    }
    Ok(())
}
