//! The benchmark's own requests: it creates and deletes objects, patches them at a constant rate, and counts requests.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use futures_util::{TryStreamExt as _, stream};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::MissedTickBehavior;

use kubewright_bench_runtime::Failure;
use kubewright_bench_runtime::protocol::now;

/// How many requests the benchmark has in flight at once.
const AT_ONCE: usize = 16;

pub(crate) async fn make_namespace(client: &Client, name: &str) -> Result<(), Failure> {
    let namespace: Namespace = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
    match Api::all(client.clone())
        .create(&PostParams::default(), &namespace)
        .await
    {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Creates the objects with these numbers.
pub(crate) async fn create<K>(
    client: &Client,
    namespace: &str,
    numbers: std::ops::Range<usize>,
    make: impl Fn(usize) -> Result<K, serde_json::Error>,
) -> Result<(), Failure>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Serialize + DeserializeOwned + Clone + Debug,
{
    make_namespace(client, namespace).await?;
    let api = Api::<K>::namespaced(client.clone(), namespace);
    stream::iter(numbers.map(|number| Ok::<_, Failure>(make(number)?)))
        .try_for_each_concurrent(AT_ONCE, |object| {
            let api = api.clone();
            async move {
                api.create(&PostParams::default(), &object).await?;
                Ok(())
            }
        })
        .await
}

/// Deletes all objects of a kind in a namespace.
pub(crate) async fn remove<K>(client: &Client, namespace: &str) -> Result<(), Failure>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Clone + Debug,
{
    let api = Api::<K>::namespaced(client.clone(), namespace);
    api.delete_collection(&DeleteParams::default(), &ListParams::default())
        .await?;
    Ok(())
}

/// How many objects of a namespace have an annotation.
pub(crate) async fn annotated<K>(client: &Client, namespace: &str, annotation: &str) -> Result<usize, Failure>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Clone + Debug,
{
    let all = Api::<K>::namespaced(client.clone(), namespace)
        .list(&ListParams::default())
        .await?;
    let has = |object: &&K| {
        object
            .meta()
            .annotations
            .as_ref()
            .is_some_and(|all| all.contains_key(annotation))
    };
    Ok(all.items.iter().filter(has).count())
}

/// How many objects of a kind a namespace has.
pub(crate) async fn count<K>(client: &Client, namespace: &str) -> Result<usize, Failure>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + DeserializeOwned + Clone + Debug,
{
    let api = Api::<K>::namespaced(client.clone(), namespace);
    Ok(api.list_metadata(&ListParams::default()).await?.items.len())
}

/// Patches one `ConfigMap` after another with these numbers, at a constant rate. Returns the time at which each patch was sent.
pub(crate) async fn patch_at_a_pace(
    client: &Client,
    namespace: &str,
    objects: usize,
    numbers: std::ops::Range<usize>,
    pace: Duration,
) -> Result<BTreeMap<i64, i64>, Failure> {
    let api = Api::<ConfigMap>::namespaced(client.clone(), namespace);
    let mut sent = BTreeMap::new();
    let mut ticks = tokio::time::interval(pace);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for number in numbers {
        ticks.tick().await;
        let patch = Patch::Merge(json!({ "data": { "number": number.to_string() } }));
        let name = format!("cm-{}", number % objects);
        sent.insert(number as i64, now());
        api.patch(&name, &PatchParams::default(), &patch).await?;
    }
    Ok(sent)
}

/// The size of a Pod in JSON and protobuf.
pub(crate) async fn describe_pod(client: &Client, namespace: &str, name: &str) -> Result<String, Failure> {
    let mut sizes = Vec::new();
    for accept in ["application/vnd.kubernetes.protobuf", "application/json"] {
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        let mut request = kube::core::request::Request::new(path).get(name, &GetParams::default())?;
        request.headers_mut().insert("Accept", accept.parse()?);
        let body = client.send(request.map(kube::client::Body::from)).await?.into_body();
        sizes.push(body.collect_bytes().await?.len());
    }
    Ok(format!(
        "a Pod is {} bytes as protobuf and {} as JSON, managedFields included",
        sizes[0], sizes[1]
    ))
}

/// Requests that the server answered so far, by verb, resource and code, as `POST secrets 201`.
pub(crate) type Requests = BTreeMap<String, u64>;

pub(crate) async fn requests(client: &Client) -> Result<Requests, Failure> {
    let request = kube::core::request::Request::new("/metrics").list(&ListParams::default())?;
    let text = client.request_text(request).await?;
    Ok(parse_requests(&text))
}

/// The requests that were sent between two counts.
pub(crate) fn since(before: &Requests, after: &Requests) -> Requests {
    let difference = |(what, count): (&String, &u64)| {
        let more = count.saturating_sub(before.get(what).copied().unwrap_or(0));
        (more > 0).then(|| (what.clone(), more))
    };
    after.iter().filter_map(difference).collect()
}

fn parse_requests(metrics: &str) -> Requests {
    let mut requests = Requests::new();
    for line in metrics.lines() {
        let Some((labels, count)) = line
            .strip_prefix("apiserver_request_total{")
            .and_then(|rest| rest.split_once("} "))
        else {
            continue;
        };
        let label = |name: &str| {
            labels
                .split(',')
                .find_map(|label| label.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'))
                .unwrap_or_default()
        };
        if matches!(label("resource"), "configmaps" | "secrets") {
            let what = format!("{} {} {}", label("verb"), label("resource"), label("code"));
            *requests.entry(what).or_default() += count.trim().parse::<f64>().unwrap_or(0.0) as u64;
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_from_the_servers_metrics() {
        let text = concat!(
            "# TYPE apiserver_request_total counter\n",
            r#"apiserver_request_total{code="201",component="apiserver",group="",resource="secrets",scope="resource",verb="POST"} 7"#,
            "\n",
            r#"apiserver_request_total{code="201",component="apiserver",group="",resource="secrets",scope="other",verb="POST"} 1"#,
            "\n",
            r#"apiserver_request_total{code="200",component="apiserver",group="",resource="pods",scope="",verb="GET"} 9"#,
            "\n",
        );
        let all = parse_requests(text);
        assert_eq!(all, Requests::from([("POST secrets 201".to_owned(), 8)]));
        let before = Requests::from([("POST secrets 201".to_owned(), 5)]);
        assert_eq!(
            since(&before, &all),
            Requests::from([("POST secrets 201".to_owned(), 3)])
        );
        assert_eq!(since(&all, &all), Requests::new());
    }
}
