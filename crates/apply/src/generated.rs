//! What the generated modules are written with.

pub(crate) use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
pub(crate) use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
pub(crate) use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
pub(crate) use serde::Serialize;
pub(crate) use serde_json::to_value;

pub(crate) use crate::{Apply, BuiltIn, Fields, Part, list};
use serde_json::{Error, Map, Value};

/// Setters, a line for each: what the field is for, the name of the setter and what it takes, and how that becomes a member of the object.
macro_rules! setters {
    ($fields:tt { $($docs:literal $name:ident($value:ident: $argument:ty) $call:ident($($with:expr),*);)* }) => {
        $(
            #[doc = $docs]
            #[inline]
            pub fn $name(mut self, $value: $argument) -> Self {
                self.$fields.$call($($with),*);
                self
            }
        )*
    };
}

/// A type that is a part of kinds.
macro_rules! part {
    ($docs:literal, $name:ident $setters:tt) => {
        #[doc = $docs]
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name(pub(crate) crate::Fields);

        impl $name {
            /// Nothing is set.
            #[inline]
            pub fn new() -> Self {
                Self(crate::Fields::default())
            }

            setters!(0 $setters);
        }

        impl serde::Serialize for $name {
            #[inline]
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(serializer)
            }
        }
    };
}

/// What joins such a type with the one of k8s-openapi.
macro_rules! typed {
    ($name:ident, $of:path, $openapi:literal) => {
        impl crate::Part<$of> for $name {
            #[inline]
            fn into_value(self) -> Result<serde_json::Value, serde_json::Error> {
                self.0.into_value()
            }
        }

        impl TryFrom<&$of> for $name {
            type Error = crate::TypedError;

            #[inline]
            fn try_from(value: &$of) -> Result<Self, crate::TypedError> {
                crate::typed::part(serde_json::to_value(value), $openapi).map($name)
            }
        }

        impl TryFrom<$of> for $name {
            type Error = crate::TypedError;

            #[inline]
            fn try_from(value: $of) -> Result<Self, crate::TypedError> {
                Self::try_from(&value)
            }
        }
    };
}

/// The setters of a kind, and what joins it with the one of k8s-openapi.
macro_rules! root {
    ($name:ident, $of:path, $openapi:literal $setters:tt) => {
        impl Apply<$of, BuiltIn> {
            setters!(fields $setters);
        }

        impl TryFrom<&$of> for $name {
            type Error = crate::TypedError;

            #[inline]
            fn try_from(value: &$of) -> Result<Self, crate::TypedError> {
                crate::typed::root(serde_json::to_value(value), $openapi)
            }
        }

        impl TryFrom<$of> for $name {
            type Error = crate::TypedError;

            #[inline]
            fn try_from(value: $of) -> Result<Self, crate::TypedError> {
                Self::try_from(&value)
            }
        }
    };
}

pub(crate) use {part, root, setters, typed};

/// A text.
#[allow(clippy::unnecessary_wraps)] // As the other values: setters take results.
pub(crate) fn text(value: impl Into<String>) -> Result<Value, Error> {
    Ok(Value::String(value.into()))
}

/// Bytes, which JSON has in base64.
pub(crate) fn bytes(value: impl Into<Vec<u8>>) -> Result<Value, Error> {
    to_value(k8s_openapi::ByteString(value.into()))
}

/// A map of texts to parts.
pub(crate) fn entries<V>(
    items: impl IntoIterator<Item = (impl Into<String>, V)>,
    mut item: impl FnMut(V) -> Result<Value, Error>,
) -> Result<Value, Error> {
    let mut members = Map::new();
    for (name, value) in items {
        members.insert(name.into(), item(value)?);
    }
    Ok(Value::Object(members))
}
