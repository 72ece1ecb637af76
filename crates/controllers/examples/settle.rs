//! How long the controllers take: `cargo run --release -p kubewright-controllers --example settle -- [DEPLOYMENTS] [PODS OF EACH]`.

use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ListParams, PostParams};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_controllers::Controllers;
use kubewright_runtime::stop::Stopper;
use serde_json::json;

#[tokio::main(flavor = "multi_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let deployments = numbers.next().transpose()?.unwrap_or(500);
    let pods = numbers.next().transpose()?.unwrap_or(10);

    let begin = Instant::now();
    let server = ApiServer::new(Options::new());
    let (stopper, stop) = Stopper::new();
    let nodes = 1 + deployments * pods / 500;
    let running = tokio::spawn(Controllers::all().nodes(nodes).run(server.client(), stop));
    let api: Api<Deployment> = Api::default_namespaced(server.client());
    let create = async |name: String, replicas: usize| -> Result<(), Box<dyn std::error::Error>> {
        let web = serde_json::from_value(json!({
            "metadata": { "name": name },
            "spec": {
                "replicas": replicas, "selector": { "matchLabels": { "app": name } },
                "template": {
                    "metadata": { "labels": { "app": name } },
                    "spec": { "containers": [{ "name": "web", "image": "nginx" }] },
                },
            },
        }))?;
        api.create(&PostParams::default(), &web).await?;
        Ok(())
    };
    create("first".to_owned(), 3).await?;
    wait(&api, 1).await?;
    println!(
        "a Deployment of 3 Pods is available {:?} after the server and all controllers start",
        begin.elapsed()
    );

    let begin = Instant::now();
    create("second".to_owned(), 3).await?;
    wait(&api, 2).await?;
    println!("the next one {:?} after it was made", begin.elapsed());

    let begin = Instant::now();
    for number in 0..deployments {
        create(format!("web-{number}"), pods).await?;
    }
    println!("{deployments} Deployments are made within {:?}", begin.elapsed());
    wait(&api, deployments + 2).await?;
    println!(
        "their {} Pods run {:?} after the first was made",
        deployments * pods,
        begin.elapsed()
    );
    stopper.stop();
    running.await??;
    Ok(())
}

/// Waits until so many Deployments have all the Pods they want.
async fn wait(api: &Api<Deployment>, count: usize) -> Result<(), kube::Error> {
    loop {
        let all = api.list(&ListParams::default()).await?;
        let available = all.items.iter().filter(|deployment| {
            let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas);
            deployment.status.as_ref().and_then(|status| status.available_replicas) == wanted
        });
        if available.count() == count {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
