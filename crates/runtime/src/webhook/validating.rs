//! Says what is wrong with an object.

use std::future::Future;
use std::marker::PhantomData;

use kubewright_apimachinery::go::quote;

use super::handler::Handler;
use super::rejection::{Verdict, Warnings};
use super::request::{AdmissionRequest, Operation};
use super::response::AdmissionResponse;
use super::typed;
use crate::object::{Kind, Object};

/// Says what is wrong with an object before it is stored, or deleted. What is not implemented is allowed.
///
/// Deletions are asked about only if the webhook wants them: see [`Settings::operations`](super::Settings::operations).
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::webhook::field::{ErrorList, FieldError, Path};
/// use kubewright_runtime::webhook::{AdmissionRequest, Validator, Verdict, Webhook};
///
/// struct Small;
///
/// impl Validator<ConfigMap> for Small {
///     async fn validate_create(&self, object: &ConfigMap, _: &AdmissionRequest) -> Verdict {
///         let mut errors = ErrorList::new();
///         let entries = object.data.as_ref().map_or(0, |data| data.len());
///         if entries > 3 {
///             errors.push(FieldError::too_many(&Path::new("data"), entries, 3));
///         }
///         errors.verdict()
///     }
///
///     async fn validate_update(&self, _: &ConfigMap, new: &ConfigMap, request: &AdmissionRequest) -> Verdict {
///         self.validate_create(new, request).await
///     }
/// }
/// let webhook = Webhook::of::<ConfigMap>().validator(Small);
/// assert_eq!(webhook.describe()[0].name, "vconfigmap.kb.io");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not validate `{T}`",
    note = "implement `Validator<{T}>`; methods that are left out allow"
)]
pub trait Validator<T: Object>: Send + Sync + 'static {
    /// Judges an object that is to be created.
    fn validate_create(&self, object: &T, request: &AdmissionRequest) -> impl Future<Output = Verdict> + Send {
        let _ = (object, request);
        async { Ok(Warnings::none()) }
    }

    /// Judges a change.
    fn validate_update(&self, old: &T, new: &T, request: &AdmissionRequest) -> impl Future<Output = Verdict> + Send {
        let _ = (old, new, request);
        async { Ok(Warnings::none()) }
    }

    /// Judges an object that is to be deleted.
    fn validate_delete(&self, object: &T, request: &AdmissionRequest) -> impl Future<Output = Verdict> + Send {
        let _ = (object, request);
        async { Ok(Warnings::none()) }
    }
}

/// A validator as a handler.
pub(super) struct Validating<T, V> {
    kind: Kind,
    validator: V,
    object: PhantomData<fn(T)>,
}

impl<T: Object, V: Validator<T>> Validating<T, V> {
    pub(super) fn new(validator: V) -> Self {
        Validating {
            kind: Kind::of::<T>(),
            validator,
            object: PhantomData,
        }
    }

    async fn answer(&self, request: &AdmissionRequest) -> Result<AdmissionResponse, Box<AdmissionResponse>> {
        let decode = |value| typed::decode::<T>(&self.kind, value);
        let (object, verdict) = match &request.operation {
            Operation::Connect => return Ok(AdmissionResponse::allowed()),
            Operation::Create => {
                let object = decode(&request.object)?;
                let verdict = self.validator.validate_create(&object, request).await;
                (object, verdict)
            }
            Operation::Update => {
                let new = decode(&request.object)?;
                let old = decode(&request.old_object)?;
                let verdict = self.validator.validate_update(&old, &new, request).await;
                (new, verdict)
            }
            Operation::Delete => {
                let object = decode(&request.old_object)?;
                let verdict = self.validator.validate_delete(&object, request).await;
                (object, verdict)
            }
            Operation::Other(other) => {
                let what = format!("unknown operation {}", quote(other));
                return Err(Box::new(AdmissionResponse::errored(400, what)));
            }
        };
        match verdict {
            Ok(warnings) => Ok(AdmissionResponse::allowed().with_warnings(warnings.into_texts())),
            Err(rejection) => {
                let name = object.meta().name.clone().unwrap_or_default();
                Err(Box::new(rejection.into_response(&self.kind, &name)))
            }
        }
    }
}

impl<T: Object, V: Validator<T>> Handler for Validating<T, V> {
    async fn handle(&self, request: AdmissionRequest) -> AdmissionResponse {
        self.answer(&request).await.unwrap_or_else(|refusal| *refusal)
    }
}
