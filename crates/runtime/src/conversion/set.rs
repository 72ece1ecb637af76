//! All kinds that are converted, and the answers to `/convert`.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use http::{HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use super::hub::{Conversion, ConversionError};
use super::review;
use crate::metrics::{Counter, RuntimeMetrics};
use crate::serve::{HttpResponse, ResponseBody};

/// Where conversion is served, as controller-runtime does.
pub const PATH: &str = "/convert";

/// How long a review may be that is read at all. The API server asks for one object or for a page of a list at a time, and
/// etcd holds objects of up to 1.5 MiB.
pub(crate) const MAX_BODY: usize = 64 << 20;

/// All kinds that are converted. Answers `ConversionReview` as controller-runtime does, without a server of its own.
///
/// ```
/// use kubewright_runtime::conversion::Conversions;
///
/// let conversions = Conversions::new();
/// assert!(conversions.is_empty());
/// let answer = conversions.answer(br#"{
///     "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
///     "request": { "uid": "7", "desiredAPIVersion": "shop.example.com/v1", "objects": [
///         { "apiVersion": "shop.example.com/v1beta1", "kind": "Shop", "metadata": { "name": "corner" } }
///     ] }
/// }"#);
/// assert_eq!(answer.status(), 200);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Conversions {
    kinds: BTreeMap<(String, String), Arc<Conversion>>,
    panics: Option<Counter>,
}

impl Conversions {
    /// No kinds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a kind.
    pub fn add(&mut self, conversion: impl Into<Conversion>) -> Result<(), ConversionError> {
        let conversion = conversion.into();
        conversion.check()?;
        let kind = conversion.kind();
        let name = (kind.group().to_owned(), kind.kind().to_owned());
        if self.kinds.contains_key(&name) {
            return Err(ConversionError::DuplicateKind { kind: kind.to_string() });
        }
        self.kinds.insert(name, Arc::new(conversion));
        Ok(())
    }

    /// The same with another kind.
    pub fn with(mut self, conversion: impl Into<Conversion>) -> Result<Self, ConversionError> {
        self.add(conversion)?;
        Ok(self)
    }

    /// Counts panics as `controller_runtime_conversion_webhook_panics_total`.
    pub fn with_metrics(mut self, metrics: &RuntimeMetrics) -> Self {
        self.panics = Some(metrics.webhooks.conversion_panics.with([]));
        self
    }

    /// Whether there is nothing to convert.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The kinds.
    pub fn kinds(&self) -> impl Iterator<Item = &Conversion> {
        self.kinds.values().map(|conversion| &**conversion)
    }

    /// The answer to the body of a `POST /convert`.
    ///
    /// What cannot be read as a review is answered with 400. Everything else is a review, whose result is a failure if one of
    /// its objects cannot be converted: the message names the object and the reason. A conversion that panics is a failure as
    /// well, and counted.
    pub fn answer(&self, body: &[u8]) -> HttpResponse {
        let (envelope, request) = match review::read(body) {
            Ok(read) => read,
            Err(error) => {
                tracing::error!(error, "failed to read conversion request");
                let mut answer = Response::new(ResponseBody::from(""));
                *answer.status_mut() = StatusCode::BAD_REQUEST;
                return answer;
            }
        };
        let (objects, desired) = (&request.objects, &request.desired_api_version);
        let converted = catch_unwind(AssertUnwindSafe(|| self.convert_all(objects, desired)));
        let result = converted.unwrap_or_else(|_| {
            if let Some(panics) = &self.panics {
                panics.inc();
            }
            Err("internal error occurred during conversion".to_owned())
        });
        if let Err(error) = &result {
            tracing::error!(error, request = envelope.uid(), "failed to convert");
        }
        let mut answer = Response::new(ResponseBody::from(envelope.answer(&result)));
        answer
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        answer
    }

    /// Converts one object. The error names the object and the reason.
    pub fn convert(&self, object: &Value, desired_api_version: &str) -> Result<Value, String> {
        self.convert_object(object, desired_api_version)
            .map_err(|error| format!("{}: {error}", name_of(object)))
    }

    fn convert_all(&self, objects: &[Value], desired: &str) -> Result<Vec<Value>, String> {
        objects.iter().map(|object| self.convert(object, desired)).collect()
    }

    fn convert_object(&self, object: &Value, desired: &str) -> Result<Value, String> {
        let api_version = text(object, "apiVersion");
        let kind = text(object, "kind");
        if kind.is_empty() {
            return Err("Object 'Kind' is missing".to_owned());
        }
        if api_version.is_empty() {
            return Err("Object 'apiVersion' is missing".to_owned());
        }
        let (conversion, from) = self.find(api_version, kind)?;
        let (target, to) = self.find(desired, kind)?;
        if !Arc::ptr_eq(conversion, target) {
            return Err(format!(
                "src {api_version}, Kind={kind} and dst {desired}, Kind={kind} does not belong to same API Group"
            ));
        }
        if object.get("metadata").is_some() {
            return conversion.convert(object, from, to);
        }
        // When an object is applied in another version than before, the API server asks for what is left of it without the fields of
        // the former applier, often no more than its kind, and wants metadata back. Go reads that as an object of zeros; a Rust type
        // may have no such value, and what was never a whole object is then what it was.
        let mut left = object.clone();
        left["metadata"] = Value::Object(serde_json::Map::new());
        Ok(conversion.convert(&left, from, to).unwrap_or_else(|_| {
            left["apiVersion"] = desired.into();
            left
        }))
    }

    /// The kind and the version within its group.
    fn find<'a>(&self, api_version: &'a str, kind: &str) -> Result<(&Arc<Conversion>, &'a str), String> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let conversion = self.kinds.get(&(group.to_owned(), kind.to_owned()));
        conversion
            .filter(|conversion| conversion.has(version))
            .map(|conversion| (conversion, version))
            .ok_or_else(|| format!("no kind {kind:?} is registered for version {api_version:?}"))
    }
}

fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    object.get(member).and_then(Value::as_str).unwrap_or("")
}

/// Kind, namespace and name, as far as an object has them.
fn name_of(object: &Value) -> String {
    let kind = Some(text(object, "kind")).filter(|kind| !kind.is_empty());
    let kind = kind.unwrap_or("object");
    let metadata = &object["metadata"];
    match (text(metadata, "namespace"), text(metadata, "name")) {
        (_, "") => format!("{kind} without a name"),
        ("", name) => format!("{kind} {name}"),
        (namespace, name) => format!("{kind} {namespace}/{name}"),
    }
}
