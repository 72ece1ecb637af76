//! The `ConfigMap` `kube-root-ca.crt` of each namespace, by which Pods know the API server (D10).

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewright_runtime::client::helpers::ignore_already_exists;
use kubewright_runtime::controller::{Action, Controller, Predicate, Watch};
use kubewright_runtime::informer::InformerOptions;
use kubewright_runtime::object::ObjectKey;
use kubewright_runtime::operator::Operator;

use crate::support::Settings;
use crate::support::creation::is_namespace_going;

const NAME: &str = "kube-root-ca.crt";
const KEY: &str = "ca.crt";
const DESCRIPTION: (&str, &str) = (
    "kubernetes.io/description",
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal \
     service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.",
);

/// Adds the controller; of all `ConfigMaps` it sees its own only.
pub(crate) fn add_to(operator: Operator, settings: &Settings) -> Operator {
    let root_ca = settings.root_ca.clone();
    let controller = Controller::of::<Namespace>()
        .named("root-ca-certificate-publisher-controller")
        .watch(
            Watch::mapped::<ConfigMap>(|config| {
                let namespace = config.metadata.namespace.as_deref();
                namespace
                    .map(|namespace| ObjectKey::cluster(namespace).into())
                    .into_iter()
                    .collect()
            })
            .when(Predicate::new(|event| event.key().name() == NAME)),
        )
        .reconcile_objects::<Namespace, _>(move |context, namespace| {
            let wanted = published(namespace.key().name(), &root_ca);
            async move {
                if namespace.metadata.deletion_timestamp.is_some() {
                    return Ok(Action::done());
                }
                let client = context.client();
                let key = ObjectKey::namespaced(namespace.key().name(), NAME);
                let result = match client.get_opt::<ConfigMap>(&key).await? {
                    None => ignore_already_exists(client.create(&wanted).await).map(drop),
                    Some(present) if present.data == wanted.data => Ok(()),
                    Some(present) => {
                        let mut present = present.into_owned();
                        present.data = wanted.data;
                        client.update(&present).await.map(drop)
                    }
                };
                match result {
                    Err(error) if !is_namespace_going(&error) && !error.is_not_found() => Err(error.into()),
                    _ => Ok(Action::done()),
                }
            }
        });
    operator.controller(controller).cached::<ConfigMap>(InformerOptions {
        fields: Some(format!("metadata.name={NAME}")),
        ..InformerOptions::default()
    })
}

fn published(namespace: &str, root_ca: &str) -> ConfigMap {
    let (key, value) = DESCRIPTION;
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(NAME.to_owned()),
            namespace: Some(namespace.to_owned()),
            annotations: Some([(key.to_owned(), value.to_owned())].into()),
            ..ObjectMeta::default()
        },
        data: Some([(KEY.to_owned(), root_ca.to_owned())].into()),
        ..ConfigMap::default()
    }
}
