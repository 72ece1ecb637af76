//! Errors that a reconciler expects, and conflicts that are tried again.

use std::future::Future;
use std::time::Duration;

use super::super::Error;

/// What is not there is `None`, not an error.
pub fn ignore_not_found<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// What is there already is `None`, not an error.
pub fn ignore_already_exists<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_already_exists() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Tries something up to five times, as long as it fails with a conflict: read the object, change it, update it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// # let kube = server.client();
/// # let mut declarations = kubewright_runtime::informer::Declarations::default();
///
/// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
/// # let _watches = cache.start(&kube, &kubewright_runtime::random::Random::seeded(1));
/// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_runtime::client::helpers::{add_finalizer, has_finalizer, retry_on_conflict};
/// use kubewright_runtime::object::ObjectKey;
///
/// let key = ObjectKey::cluster("default");
/// let updated = retry_on_conflict(async || {
///     let mut object = client.live().get::<Namespace>(&key).await?.into_owned();
///     add_finalizer(&mut object, "example.com/cleanup");
///     client.update(&object).await
/// })
/// .await?;
/// assert!(has_finalizer(&updated, "example.com/cleanup"));
/// # Ok(())
/// # }
/// ```
pub async fn retry_on_conflict<T, F>(mut attempt: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut tries = 1;
    loop {
        match attempt().await {
            Err(error) if error.is_conflict() && tries < 5 => {
                tokio::time::sleep(Duration::from_millis(10 * tries)).await;
                tries += 1;
            }
            result => return result,
        }
    }
}
