//! The costs of single operations of the queue and the cache, without any server.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kubewright_runtime::cache::{Indexes, Lister, Query, Store};
use kubewright_runtime::object::{Kind, ObjectKey, Record};
use kubewright_runtime::queue::{Add, PriorityQueue, QueueOptions, WorkQueue};
use serde_json::json;

use kubewright_bench_runtime::Failure;
use kubewright_bench_runtime::objects::{config_map, pod};
use kubewright_bench_runtime::protocol::Figure;

const KEYS: usize = 20_000;
const BATCHES: usize = 15;
/// How many objects one namespace has.
const NAMESPACE: usize = 100;

/// The best of some batches of calls, so that other processes on the machine do not count. `go/micro.go` measures in the same way.
fn measure(name: &str, calls: usize, mut work: impl FnMut(usize)) -> Figure {
    let mut batch = || {
        let began = Instant::now();
        for i in 0..calls {
            work(i);
        }
        began.elapsed().as_nanos() as f64 / calls as f64
    };
    let nanoseconds = (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min);
    let counted = allocation_counter::measure(|| {
        batch();
    });
    Figure {
        name: name.to_owned(),
        nanoseconds,
        allocations: counted.count_total as f64 / calls as f64,
    }
}

/// An object as a watch sends it.
fn as_sent(object: serde_json::Value, i: usize) -> Vec<u8> {
    let mut object = object;
    object["metadata"]["namespace"] = format!("ns-{}", i / NAMESPACE).into();
    object["metadata"]["resourceVersion"] = (i + 1).to_string().into();
    object["metadata"]["uid"] = "8f1d3c0a-6f0e-4c39-9d44-1f6a4c1f2b3d".into();
    object["metadata"]["managedFields"] = json!([{
        "manager": "bench", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
        "fieldsV1": { "f:data": { ".": {}, "f:number": {}, "f:text": {} }, "f:metadata": { "f:labels": { ".": {}, "f:app": {} } } },
    }]);
    object.to_string().into_bytes()
}

struct Filled {
    kind: Kind,
    store: Store,
    /// The JSON of each object, as a watch sends it.
    sent: Vec<Vec<u8>>,
    keys: Vec<ObjectKey>,
}

fn filled(kind: Kind, count: usize, make: impl Fn(usize) -> Result<Vec<u8>, Failure>) -> Result<Filled, Failure> {
    let store = Store::new(kind.clone(), Indexes::default());
    let writer = store.writer(None);
    let sent: Vec<Vec<u8>> = (0..count).map(make).collect::<Result<_, _>>()?;
    let mut keys = Vec::with_capacity(count);
    writer.begin();
    for json in &sent {
        let record = Record::parse(json, &kind)?;
        keys.push(record.key().clone());
        writer.listed(record);
    }
    writer.finish("1");
    Ok(Filled {
        kind,
        store,
        sent,
        keys,
    })
}

/// Measures all operations. Those that the peer in Go measures, too, have the same names there.
pub(crate) fn figures() -> Result<Vec<Figure>, Failure> {
    let config_maps = filled(Kind::of::<ConfigMap>(), KEYS, |i| {
        Ok(as_sent(serde_json::to_value(config_map(i)?)?, i))
    })?;
    let pods = filled(Kind::of::<Pod>(), KEYS / 10, |i| {
        Ok(as_sent(serde_json::to_value(pod(i)?)?, i))
    })?;
    let mut figures = queue(&config_maps.keys)?;
    figures.extend(cache(&config_maps, &pods)?);
    Ok(figures)
}

fn queue(keys: &[ObjectKey]) -> Result<Vec<Figure>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let _inside = runtime.enter();
    let shell = WorkQueue::new(QueueOptions::default());
    let mut all = measure("queue: add, get and done", 1, |_| {
        for key in keys {
            shell.add(key.clone());
        }
        runtime.block_on(async {
            for _ in keys {
                drop(shell.get().await);
            }
        });
    });
    all.nanoseconds /= keys.len() as f64;
    all.allocations /= keys.len() as f64;
    shell.add(keys[0].clone());
    let again = measure("queue: add what is queued already", KEYS, |_| {
        shell.add(keys[0].clone());
    });
    let mut core = PriorityQueue::new(QueueOptions::default());
    let mut moment = Duration::ZERO;
    let pure = measure("queue, its pure core: add, pop and done", KEYS, |i| {
        moment += Duration::from_nanos(1);
        core.add(keys[i].clone(), Add::default(), moment);
        if let Some(popped) = core.pop(moment) {
            core.done(&popped.key, moment);
        }
    });
    Ok(vec![all, again, pure])
}

fn cache(config_maps: &Filled, pods: &Filled) -> Result<Vec<Figure>, Failure> {
    let pods_lister = Lister::<Pod>::new(pods.store.clone());
    let lister = Lister::<ConfigMap>::new(config_maps.store.clone());
    // The figures mean something only if the listers find the objects.
    if lister.get(&config_maps.keys[7])?.is_none() || pods_lister.get(&pods.keys[7])?.is_none() {
        return Err("the cache does not find what was put into it".into());
    }
    let writer = config_maps.store.writer(None);
    Ok(vec![
        measure("cache: get one ConfigMap, decoded and own", KEYS, |i| {
            let view = lister.get(&config_maps.keys[i]);
            let _ = black_box(view.map(|view| view.map(|view| view.data.as_ref().map(BTreeMap::len))));
        }),
        measure("cache: get one ConfigMap's bytes", KEYS, |i| {
            black_box(config_maps.store.get(config_maps.keys[i].as_str()));
        }),
        measure("cache: get one Pod, decoded", pods.keys.len(), |i| {
            let _ = black_box(pods_lister.get(&pods.keys[i]));
        }),
        measure("cache: take in one ConfigMap", KEYS, |i| {
            if let Ok(record) = Record::parse(&config_maps.sent[i], &config_maps.kind) {
                writer.changed(record);
            }
        }),
        measure("cache: read one Pod as it is sent", pods.keys.len(), |i| {
            let _ = black_box(Record::parse(&pods.sent[i], &pods.kind));
        }),
        measure("cache: list the 100 objects of a namespace", KEYS / NAMESPACE, |i| {
            let query = Query::all().in_namespace(format!("ns-{i}"));
            let _ = black_box(config_maps.store.list(&query));
        }),
    ])
}
