//! How cost grows with the number of objects: one server is filled with 1 000, 10 000 and 100 000 `ConfigMaps`.

use std::fmt::Write as _;
use std::time::Instant;

use bytes::Bytes;
use http::{Method, Request};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::ListParams;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_system::process::Process;

use crate::client::Failure;
use crate::endpoint::Endpoint;
use crate::report::number;
use crate::work::{config_map, one, rate};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(crate) async fn table() -> Result<String, Failure> {
    let mut text = String::from(
        "| ConfigMaps | resident memory | list (bytes counted) | list (decoded by kube) | get |\n|---:|---:|---:|---:|---:|",
    );
    for count in [1_000, 10_000, 100_000] {
        let server = ApiServer::new(Options::new());
        let endpoint = Endpoint::InProcess(server.clone());
        rate(&endpoint, count, 2, |i| {
            (Method::POST, CONFIG_MAPS.into(), "application/json", config_map(i))
        })
        .await?;
        // The memory of the whole process, which includes the history and the client.
        let memory = resident();
        let began = Instant::now();
        one(&endpoint, Method::GET, CONFIG_MAPS, "", String::new()).await?;
        let listed = began.elapsed();
        let began = Instant::now();
        for i in 0..1000 {
            let request = Request::get(format!("{CONFIG_MAPS}/cm-{}", i * (count / 1000))).body(Bytes::new())?;
            endpoint.open().await?.send(request).await?;
        }
        let get = began.elapsed() / 1000;
        let api: Api<ConfigMap> = Api::namespaced(server.client(), "default");
        let began = Instant::now();
        let decoded = api.list(&ListParams::default()).await?.items.len();
        let typed = began.elapsed();
        if decoded != count {
            return Err(format!("listed {decoded} of {count}").into());
        }
        let _ = write!(
            text,
            "\n| {} | {} MB | {} ms | {} ms | {} µs |",
            number(count as f64),
            number(memory as f64 / 1e6),
            number(listed.as_secs_f64() * 1e3),
            number(typed.as_secs_f64() * 1e3),
            number(get.as_secs_f64() * 1e6),
        );
    }
    Ok(text)
}

/// This process' resident memory in bytes.
fn resident() -> u64 {
    Process::this()
        .and_then(|process| process.resident_bytes())
        .unwrap_or(0)
}
