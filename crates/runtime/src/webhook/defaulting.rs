//! Fills in what a user left out.

use std::future::Future;
use std::marker::PhantomData;

use serde_json::Value;

use super::handler::Handler;
use super::patch::{PatchOperation, carry_over};
use super::rejection::Rejection;
use super::request::{AdmissionRequest, Operation};
use super::response::AdmissionResponse;
use super::typed;
use crate::object::{Kind, Object};

/// Fills in what a user left out, before the object is validated and stored. Functions of an object and the request are
/// defaulters.
///
/// Only what the defaulter changes is changed: fields that `T` does not know stay as the user wrote them.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::webhook::{AdmissionRequest, Defaulter, Rejection, Webhook};
///
/// struct Team;
///
/// impl Defaulter<ConfigMap> for Team {
///     async fn set_defaults(&self, object: &mut ConfigMap, request: &AdmissionRequest) -> Result<(), Rejection> {
///         let team = request.user_info.username.clone();
///         object.metadata.labels.get_or_insert_default().entry("team".to_owned()).or_insert(team);
///         Ok(())
///     }
/// }
/// let webhook = Webhook::of::<ConfigMap>().defaulter(Team);
/// assert_eq!(webhook.describe()[0].path, "/mutate--v1-configmap");
///
/// // The same as a function:
/// let webhook = Webhook::of::<ConfigMap>().defaulter(|object: &mut ConfigMap, _: &AdmissionRequest| {
///     object.immutable.get_or_insert(true);
///     Ok(())
/// });
/// # drop(webhook);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fill in `{T}`",
    note = "implement `Defaulter<{T}>`, or write a function `|object: &mut {T}, request: &AdmissionRequest| Ok(())`"
)]
pub trait Defaulter<T>: Send + Sync + 'static {
    /// Changes the object. It is not called when an object is deleted.
    fn set_defaults(
        &self,
        object: &mut T,
        request: &AdmissionRequest,
    ) -> impl Future<Output = Result<(), Rejection>> + Send;
}

impl<T: Send, F> Defaulter<T> for F
where
    F: Fn(&mut T, &AdmissionRequest) -> Result<(), Rejection> + Send + Sync + 'static,
{
    fn set_defaults(
        &self,
        object: &mut T,
        request: &AdmissionRequest,
    ) -> impl Future<Output = Result<(), Rejection>> + Send {
        std::future::ready(self(object, request))
    }
}

/// A defaulter as a handler.
pub(super) struct Defaulting<T, D> {
    kind: Kind,
    defaulter: D,
    object: PhantomData<fn(T)>,
}

impl<T: Object, D: Defaulter<T>> Defaulting<T, D> {
    pub(super) fn new(defaulter: D) -> Self {
        Defaulting {
            kind: Kind::of::<T>(),
            defaulter,
            object: PhantomData,
        }
    }

    async fn answer(&self, request: &AdmissionRequest) -> Result<AdmissionResponse, Box<AdmissionResponse>> {
        if request.operation == Operation::Delete {
            return Ok(AdmissionResponse::allowed());
        }
        let mut object: T = typed::decode(&self.kind, &request.object)?;
        let before = to_value(&object)?;
        if let Err(rejection) = self.defaulter.set_defaults(&mut object, request).await {
            let name = object.meta().name.clone().unwrap_or_default();
            return Err(Box::new(rejection.into_response(&self.kind, &name)));
        }
        let after = to_value(&object)?;
        if before == after {
            return Ok(AdmissionResponse::allowed());
        }
        let changed = carry_over(&request.object, &before, &after);
        Ok(AdmissionResponse::patched(PatchOperation::between(
            &request.object,
            &changed,
        )))
    }
}

impl<T: Object, D: Defaulter<T>> Handler for Defaulting<T, D> {
    async fn handle(&self, request: AdmissionRequest) -> AdmissionResponse {
        self.answer(&request).await.unwrap_or_else(|refusal| *refusal)
    }
}

fn to_value(object: &impl Object) -> Result<Value, Box<AdmissionResponse>> {
    serde_json::to_value(object).map_err(|error| Box::new(AdmissionResponse::errored(500, error.to_string())))
}
