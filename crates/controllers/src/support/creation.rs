//! Making Pods from templates, carefully.

use futures_util::future::join_all;
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use kubewright_runtime::client::Error;

/// The Pod a template describes, with a name that the server makes up.
pub(crate) fn pod_from_template<O: Resource>(
    template: Option<&PodTemplateSpec>,
    owner: &O,
    reference: OwnerReference,
) -> Pod {
    let metadata = template.and_then(|template| template.metadata.as_ref());
    let name = owner.meta().name.as_deref().unwrap_or_default();
    Pod {
        metadata: ObjectMeta {
            generate_name: Some(format!("{name}-")),
            namespace: owner.meta().namespace.clone(),
            labels: metadata.and_then(|metadata| metadata.labels.clone()),
            annotations: metadata.and_then(|metadata| metadata.annotations.clone()),
            finalizers: metadata.and_then(|metadata| metadata.finalizers.clone()),
            owner_references: Some(vec![reference]),
            ..ObjectMeta::default()
        },
        spec: template.and_then(|template| template.spec.clone()),
        status: None,
    }
}

/// Does something so many times, in batches of 1, 2, 4 and so on; a failure ends it after its batch.
pub(crate) async fn slow_start<E, Fut>(count: usize, mut attempt: impl FnMut() -> Fut) -> Result<(), E>
where
    Fut: Future<Output = Result<(), E>>,
{
    let (mut left, mut batch) = (count, 1);
    while left > 0 {
        let now = batch.min(left);
        join_all((0..now).map(|_| attempt()))
            .await
            .into_iter()
            .collect::<Result<(), E>>()?;
        left -= now;
        batch *= 2;
    }
    Ok(())
}

/// What the server said; the call it answers is known.
pub(crate) fn message(error: &Error) -> String {
    match error {
        Error::Api { status, .. } => status.message.clone(),
        error => error.to_string(),
    }
}

/// Whether nothing can be made because the namespace is being deleted.
pub(crate) fn is_namespace_going(error: &Error) -> bool {
    let Error::Api { status, .. } = error else {
        return false;
    };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn a_failure_ends_a_slow_start_after_its_batch() {
        let tries = Cell::new(0);
        let attempt = |fails_at: usize| {
            let tries = &tries;
            move || async move {
                tries.set(tries.get() + 1);
                if tries.get() == fails_at { Err("full") } else { Ok(()) }
            }
        };
        assert_eq!(slow_start(100, attempt(3)).await, Err("full"));
        assert_eq!(tries.get(), 3); // one, then two
        tries.set(0);
        assert_eq!(slow_start(100, attempt(0)).await, Ok(()));
        assert_eq!(tries.get(), 100);
    }
}
