//! The versions of a kind: one hub, and a way to it and back for every other version.

use std::fmt;
use std::marker::PhantomData;

use serde_json::Value;

use super::convert::{ConvertFn, convert};
use super::directed::DirectedConversion;
use super::preserve;
use crate::object::{Kind, Object};

/// How the versions of one kind become each other. Made by [`Conversion::hub`].
#[derive(Clone)]
pub struct Conversion {
    hub: Version,
    spokes: Vec<Spoke>,
    preserving: bool,
}

/// A [`Conversion`] in the making, which knows the type of its hub.
#[derive(Clone)]
pub struct Hub<H> {
    conversion: Conversion,
    hub: PhantomData<fn() -> H>,
}

/// Why versions do not belong together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionError {
    /// A spoke is a version of something else than the hub.
    #[error("conversion of {hub}: the spoke {spoke} is another group and kind; all versions of a kind share them")]
    OtherKind {
        /// Group and kind of the hub.
        hub: String,
        /// Group and kind of the spoke.
        spoke: String,
    },
    /// A version occurs twice.
    #[error("conversion of {kind}: version {version} is given twice")]
    DuplicateVersion {
        /// Group and kind.
        kind: String,
        /// The version.
        version: String,
    },
    /// There are two conversions of one kind.
    #[error("conversion of {kind} is given twice; add all spokes to one hub")]
    DuplicateKind {
        /// Group and kind.
        kind: String,
    },
}

#[derive(Clone)]
struct Version {
    kind: Kind,
    normal: ConvertFn,
}

#[derive(Clone)]
struct Spoke {
    version: Version,
    to_hub: ConvertFn,
    from_hub: ConvertFn,
}

impl Conversion {
    /// A kind whose hub is `H`: the version that can hold everything, usually the one that is stored.
    ///
    /// Spokes convert to it and from it with `From` or `TryFrom`, written by hand or derived with
    /// [`Convert`](super::Convert).
    ///
    /// ```
    /// use kube::CustomResource;
    /// use kubewright_runtime::conversion::{Conversion, Conversions, Convert};
    /// use schemars::JsonSchema;
    /// use serde::{Deserialize, Serialize};
    /// use serde_json::json;
    ///
    /// mod v1 {
    /// #   use super::*;
    ///     #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    ///     #[kube(group = "shop.example.com", version = "v1", kind = "Shop", namespaced)]
    ///     pub struct ShopSpec {
    ///         pub replicas: i64,
    ///     }
    /// }
    /// mod v1beta1 {
    /// #   use super::*;
    ///     #[derive(CustomResource, Convert, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    ///     #[kube(group = "shop.example.com", version = "v1beta1", kind = "Shop", namespaced)]
    ///     #[convert(hub = super::v1::ShopSpec)]
    ///     pub struct ShopSpec {
    ///         #[convert(rename = replicas)]
    ///         pub size: i64,
    ///     }
    /// }
    ///
    /// # fn main() {
    /// let shops = Conversion::hub::<v1::Shop>().spoke::<v1beta1::Shop>();
    /// let conversions = Conversions::new().with(shops).unwrap();
    /// let old = json!({
    ///     "apiVersion": "shop.example.com/v1beta1", "kind": "Shop",
    ///     "metadata": { "name": "corner", "namespace": "default" }, "spec": { "size": 3 },
    /// });
    /// let new = conversions.convert(&old, "shop.example.com/v1").unwrap();
    /// assert_eq!(new["spec"], json!({ "replicas": 3 }));
    /// assert_eq!(new["metadata"], old["metadata"]);
    /// # }
    /// ```
    pub fn hub<H: Object>() -> Hub<H> {
        Hub {
            conversion: Conversion {
                hub: Version::of::<H>(),
                spokes: Vec::new(),
                preserving: false,
            },
            hub: PhantomData,
        }
    }

    /// The kind, in its hub's version.
    pub fn kind(&self) -> &Kind {
        &self.hub.kind
    }

    /// All versions, the hub's first.
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        let spokes = self.spokes.iter().map(|spoke| &spoke.version);
        std::iter::once(&self.hub)
            .chain(spokes)
            .map(|version| version.kind.version())
    }

    /// The annotation in which objects carry what their version cannot hold, if they do.
    pub fn annotation(&self) -> Option<String> {
        self.preserving.then(|| preserve::annotation(self.hub.kind.group()))
    }

    /// Whether these versions belong together.
    pub(crate) fn check(&self) -> Result<(), ConversionError> {
        let hub = &self.hub.kind;
        let mut versions = vec![hub.version()];
        for Spoke { version, .. } in &self.spokes {
            let spoke = &version.kind;
            if (spoke.group(), spoke.kind()) != (hub.group(), hub.kind()) {
                return Err(ConversionError::OtherKind {
                    hub: hub.to_string(),
                    spoke: spoke.to_string(),
                });
            }
            if versions.contains(&spoke.version()) {
                return Err(ConversionError::DuplicateVersion {
                    kind: hub.to_string(),
                    version: spoke.version().to_owned(),
                });
            }
            versions.push(spoke.version());
        }
        Ok(())
    }

    /// Whether this version is one of them.
    pub(super) fn has(&self, version: &str) -> bool {
        self.versions().any(|known| known == version)
    }

    /// Converts an object between two versions that are known.
    pub(super) fn convert(&self, object: &Value, from: &str, to: &str) -> Result<Value, String> {
        if from == to {
            return Ok(object.clone());
        }
        let hub = self.hub.kind.version();
        // The words are controller-runtime's, the space before the colon too.
        match (self.spoke(from), self.spoke(to)) {
            (None, Some(spoke)) if from == hub => self.run_conversion(object, &self.conversion_from_hub(spoke)),
            (Some(spoke), None) if to == hub => self.run_conversion(object, &self.conversion_to_hub(spoke)),
            (Some(first), Some(second)) => {
                let at_hub = self
                    .run_conversion(object, &self.conversion_to_hub(first))
                    .map_err(|error| {
                        let (spoke, hub) = (names(&first.version.kind), names(&self.hub.kind));
                        format!("failed to convert spoke {spoke} to hub {hub} : {error}")
                    })?;
                self.run_conversion(&at_hub, &self.conversion_from_hub(second))
                    .map_err(|error| {
                        let (spoke, hub) = (names(&second.version.kind), names(&self.hub.kind));
                        format!("failed to convert hub {hub} to spoke {spoke} : {error}")
                    })
            }
            _ => Err(format!("failed to convert {from} to {to}: not convertible")),
        }
    }

    fn run_conversion(&self, object: &Value, conversion: &DirectedConversion<'_>) -> Result<Value, String> {
        let converted = match self.annotation() {
            Some(annotation) => conversion.convert_preserving(object.clone(), &annotation),
            None => conversion.convert(object),
        };
        converted.map_err(|error| error.to_string())
    }

    fn spoke(&self, version: &str) -> Option<&Spoke> {
        self.spokes.iter().find(|spoke| spoke.version.kind.version() == version)
    }

    fn conversion_to_hub<'a>(&'a self, spoke: &'a Spoke) -> DirectedConversion<'a> {
        DirectedConversion {
            from: spoke.version.kind.version(),
            to: self.hub.kind.version(),
            forward: spoke.to_hub,
            back: spoke.from_hub,
            normal: spoke.version.normal,
        }
    }

    fn conversion_from_hub<'a>(&'a self, spoke: &'a Spoke) -> DirectedConversion<'a> {
        DirectedConversion {
            from: self.hub.kind.version(),
            to: spoke.version.kind.version(),
            forward: spoke.from_hub,
            back: spoke.to_hub,
            normal: self.hub.normal,
        }
    }
}

impl<H: Object> Hub<H> {
    /// Adds a version that converts to the hub and from it, with `From` or with `TryFrom`.
    ///
    /// What `TryFrom` refuses is told to whoever asked for the object, so a conversion from the hub should not: objects that
    /// are stored would become unreadable in the other version.
    pub fn spoke<S>(mut self) -> Self
    where
        S: Object + TryFrom<H>,
        H: TryFrom<S>,
        <S as TryFrom<H>>::Error: fmt::Display,
        <H as TryFrom<S>>::Error: fmt::Display,
    {
        self.conversion.spokes.push(Spoke {
            version: Version::of::<S>(),
            to_hub: convert::<S, H>,
            from_hub: convert::<H, S>,
        });
        self
    }

    /// Data that a version cannot hold survives in the annotation `<group>/conversion-data`.
    ///
    /// Whenever an object is converted, what would not come back from its new version is noted there; when it does come back
    /// it is put back and the note removed. A field that somebody changed meanwhile stays as they set it. Elements of lists
    /// are found again by what they looked like, or by their `name`. Both directions keep: what a newer version drops from an
    /// older one is kept as well.
    ///
    /// It costs the way there and back for every conversion. Kubernetes limits the annotations of an object to 256 KiB
    /// together; what does not fit is left out, with a warning in the log, rather than making the object unreadable. An
    /// annotation can be edited by everybody who may write the object: what it says is read as the version's type, like any
    /// other content, but the API server does not validate it again.
    pub fn preserving(mut self) -> Self {
        self.conversion.preserving = true;
        self
    }
}

impl<H> From<Hub<H>> for Conversion {
    fn from(hub: Hub<H>) -> Self {
        hub.conversion
    }
}

impl Version {
    fn of<K: Object>() -> Self {
        Version {
            kind: Kind::of::<K>(),
            normal: convert::<K, K>,
        }
    }
}

/// Group, version and kind as Go prints them.
fn names(kind: &Kind) -> String {
    format!("{}, Kind={}", kind.api_version(), kind.kind())
}

impl fmt::Debug for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversion")
            .field("kind", &self.hub.kind.to_string())
            .field("versions", &self.versions().collect::<Vec<_>>())
            .field("preserving", &self.preserving)
            .finish_non_exhaustive()
    }
}

impl<H> fmt::Debug for Hub<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.conversion.fmt(f)
    }
}
