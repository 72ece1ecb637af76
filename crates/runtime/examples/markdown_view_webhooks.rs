//! The webhooks of markdown-view as a program.
//!
//! `install` writes the `CustomResourceDefinition` and the webhook configurations; without, it serves. Outside a cluster the API
//! server is told to call this machine for as long as the program runs:
//!
//! ```console
//! $ cargo run --example markdown_view_webhooks -- install
//! $ cargo run --example markdown_view_webhooks -- --webhook-port 9443 --webhook-host 127.0.0.1
//! ```

#[path = "../tests/it/webhooks/markdown_view.rs"]
mod markdown_view;

use std::error::Error;
use std::fmt::Debug;
use std::process::ExitCode;

use kube::CustomResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use kubewright_runtime::flags::{Environment, Flags};
use kubewright_runtime::webhook::ClientConfig;
use markdown_view::MarkdownView;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() != Some("install") {
        return markdown_view::operator().main();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(install()));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn install() -> Result<(), Box<dyn Error>> {
    let config = Flags::default().config(&Environment::system()).await?;
    let client = kube::Client::try_from(config)?;
    apply(&client, &MarkdownView::crd()).await?;
    let config = ClientConfig::service("markdown-view-system", "markdown-view-webhook-service");
    let configurations = markdown_view::operator().webhook_configurations(&config);
    if let Some(mutating) = configurations.mutating {
        apply(&client, &mutating).await?;
    }
    if let Some(validating) = configurations.validating {
        apply(&client, &validating).await?;
    }
    Ok(())
}

async fn apply<K>(client: &kube::Client, object: &K) -> Result<(), kube::Error>
where
    K: kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Debug,
{
    let parameters = PatchParams::apply("markdown-view-install").force();
    let name = object.meta().name.clone().unwrap_or_default();
    let objects = Api::<K>::all(client.clone());
    objects.patch(&name, &parameters, &Patch::Apply(object)).await.map(drop)
}
