//! The service account `default` of each namespace, which Pods use by default (D10).

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright_runtime::client::helpers::ignore_already_exists;
use kubewright_runtime::controller::{Action, Controller, Predicate, Watch};
use kubewright_runtime::object::ObjectKey;

use crate::support::creation::is_namespace_going;

const NAME: &str = "default";

/// The controller.
pub(crate) fn controller() -> Controller {
    Controller::of::<Namespace>()
        .named("serviceaccount-controller")
        .watch(
            Watch::mapped::<ServiceAccount>(|account| {
                let namespace = account.metadata.namespace.as_deref().unwrap_or_default();
                vec![ObjectKey::cluster(namespace).into()]
            })
            .when(Predicate::new(|event| event.key().name() == NAME)),
        )
        .reconcile_objects::<Namespace, _>(|context, namespace| async move {
            let key = ObjectKey::namespaced(namespace.key().name(), NAME);
            let client = context.client();
            if namespace.metadata.deletion_timestamp.is_some()
                || client.get_opt::<ServiceAccount>(&key).await?.is_some()
            {
                return Ok(Action::done());
            }
            let account = ServiceAccount {
                metadata: ObjectMeta {
                    name: Some(NAME.to_owned()),
                    namespace: Some(namespace.key().name().to_owned()),
                    ..ObjectMeta::default()
                },
                ..ServiceAccount::default()
            };
            match ignore_already_exists(client.create(&account).await) {
                Err(error) if !is_namespace_going(&error) && !error.is_not_found() => Err(error.into()),
                _ => Ok(Action::done()),
            }
        })
}
