//! Errors that are answers, and conflicts that are tried again.

use std::future::Future;
use std::time::Duration;

use super::super::Error;

/// What is not there is `None`, not an error.
///
/// ```no_run
/// # async fn example(client: kubewright_runtime::client::Client, key: kubewright_runtime::object::ObjectKey) -> Result<(), kubewright_runtime::client::Error> {
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::client::helpers::ignore_not_found;
///
/// ignore_not_found(client.delete::<ConfigMap>(&key).await)?;
/// # Ok(())
/// # }
/// ```
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
/// ```no_run
/// # async fn example(client: kubewright_runtime::client::Client, key: kubewright_runtime::object::ObjectKey) -> Result<(), kubewright_runtime::client::Error> {
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::client::helpers::{add_finalizer, retry_on_conflict};
///
/// retry_on_conflict(async || {
///     let mut object = client.live().get::<ConfigMap>(&key).await?.into_owned();
///     add_finalizer(&mut object, "example.com/cleanup");
///     client.update(&object).await
/// })
/// .await?;
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
