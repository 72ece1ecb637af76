//! Which kinds are cached and how, collected from all controllers before anything is watched.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::first_need::FirstNeed;
use crate::cache::{Index, Indexes};
use crate::object::{Kind, Selector};
use crate::reflector::Transform;

/// How one kind is cached. Default: all objects of all namespaces, not only metadata, with a resync every ten hours.
///
/// ```
/// use kubewright_runtime::informer::InformerOptions;
/// use kubewright_runtime::object::Selector;
/// use kubewright_runtime::reflector::Transform;
/// use std::time::Duration;
///
/// let options = InformerOptions {
///     namespaces: Some(["shop".to_owned()].into()),
///     labels: Selector::everything().equals("app", "web"),
///     transform: Some(Transform::new(|object| {
///         object["metadata"]["annotations"].take();
///     })),
///     ..InformerOptions::default()
/// };
/// assert_eq!(options.resync, Some(Duration::from_secs(10 * 60 * 60)));
/// ```
#[derive(Clone, Debug)]
pub struct InformerOptions {
    /// Only these namespaces. Default: `None`, all of them. Ignored for cluster-scoped kinds.
    pub namespaces: Option<BTreeSet<String>>,
    /// Only objects with these labels.
    pub labels: Selector,
    /// Only objects with these fields, as `status.phase=Running`.
    pub fields: Option<String>,
    /// Changes objects before they are kept.
    pub transform: Option<Transform>,
    /// The period of the resync, in which handlers get every object again, without a request to the server. A random part of up to a
    /// tenth is added.
    /// Default: ten hours. `None`: never.
    pub resync: Option<Duration>,
}

impl Default for InformerOptions {
    fn default() -> Self {
        InformerOptions {
            namespaces: None,
            labels: Selector::everything(),
            fields: None,
            transform: None,
            resync: Some(Duration::from_hours(10)),
        }
    }
}

/// Declarations that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeclarationError {
    /// One kind was configured twice.
    #[error("the cache of {0} is configured twice; one kind has one informer")]
    ConfiguredTwice(String),
    /// Options, or an index, for a kind that is not read.
    #[error("the cache of {0} is configured, but nobody reads {0}; declare it with `of`, `owns`, `watches` or `reads`")]
    Unused(String),
    /// Two functions for one index.
    #[error("{kind} has two indexes named {index:?} with different functions; give one of them another name")]
    TwoIndexes {
        /// The kind.
        kind: String,
        /// The name of both.
        index: String,
    },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Declaration {
    /// Whether whole objects are read, and not only metadata.
    pub(super) whole: bool,
    /// Whether the kind is read at all.
    pub(super) wanted: bool,
    /// Whether the client asks the server whenever it is read.
    pub(super) live: bool,
    pub(super) options: Option<InformerOptions>,
    pub(super) indexes: Indexes,
    /// The first name that two different indexes have.
    pub(super) contradiction: Option<String>,
}

/// Which kinds are cached, and how.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
/// use kubewright_runtime::informer::{Declarations, InformerOptions};
/// use kubewright_runtime::object::Kind;
///
/// let mut declarations = Declarations::default();
/// declarations.reads(Kind::of::<ConfigMap>());
/// declarations.reads_metadata(Kind::of::<Pod>());
/// declarations.configure(Kind::of::<Pod>(), InformerOptions {
///     namespaces: Some(["shop".to_owned()].into()),
///     ..InformerOptions::default()
/// }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    pub(super) kinds: BTreeMap<Kind, Declaration>,
    pub(super) namespaces: Option<BTreeSet<String>>,
    pub(super) first_need: Option<FirstNeed>,
}

impl Declarations {
    /// Objects of a kind are read.
    pub fn reads(&mut self, kind: Kind) {
        let declaration = self.kinds.entry(kind).or_default();
        declaration.wanted = true;
        declaration.whole = true;
    }

    /// Declares that only the metadata of a kind is read. If whole objects are read elsewhere, they are cached for all readers: there is
    /// one watch.
    pub fn reads_metadata(&mut self, kind: Kind) {
        self.kinds.entry(kind).or_default().wanted = true;
    }

    /// Reads of a kind always ask the server. It has no informer, unless somebody watches it too: for kinds that are large, rarely
    /// read or not to be kept in memory, as Secrets.
    pub fn reads_live(&mut self, kind: Kind) {
        self.kinds.entry(kind).or_default().live = true;
    }

    /// How a kind is cached.
    pub fn configure(&mut self, kind: Kind, options: InformerOptions) -> Result<(), DeclarationError> {
        let name = kind.to_string();
        let declaration = self.kinds.entry(kind).or_default();
        if declaration.options.replace(options).is_some() {
            return Err(DeclarationError::ConfiguredTwice(name));
        }
        Ok(())
    }

    /// Makes objects of a kind findable by values. The same function may be declared again under its name, as two controllers do that
    /// read by one index; another function under that name is [`DeclarationError::TwoIndexes`] when the cache is made.
    pub fn index(&mut self, kind: Kind, index: Index) {
        let declaration = self.kinds.entry(kind).or_default();
        if declaration.indexes.contradicts(&index) {
            let name = index.name().to_owned();
            declaration.contradiction.get_or_insert(name);
        }
        declaration.indexes.add(index);
    }

    /// The namespaces of every kind that is not configured otherwise. Default: all.
    pub fn namespaces(&mut self, namespaces: impl IntoIterator<Item = impl Into<String>>) {
        self.namespaces = Some(namespaces.into_iter().map(Into::into).collect());
    }

    /// Kinds are watched from their first object on. Default: all are watched from the beginning.
    pub fn first_need(&mut self, first_need: FirstNeed) {
        self.first_need = Some(first_need);
    }

    /// The kinds that are read from the server and not cached.
    pub(crate) fn live_kinds(&self) -> impl Iterator<Item = &Kind> {
        self.kinds
            .iter()
            .filter(|(_, declaration)| declaration.live && !declaration.wanted)
            .map(|(kind, _)| kind)
    }

    /// The kinds that are cached.
    pub fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.kinds
            .iter()
            .filter(|(_, declaration)| declaration.wanted)
            .map(|(kind, _)| kind)
    }

    pub(super) fn check(&self) -> Result<(), DeclarationError> {
        let is_unused = |declaration: &Declaration| {
            let is_configured = declaration.options.is_some() || declaration.indexes.names().next().is_some();
            !declaration.wanted && (is_configured || !declaration.live)
        };
        for (kind, declaration) in &self.kinds {
            if is_unused(declaration) {
                return Err(DeclarationError::Unused(kind.to_string()));
            }
            if let Some(index) = &declaration.contradiction {
                return Err(DeclarationError::TwoIndexes {
                    kind: kind.to_string(),
                    index: index.clone(),
                });
            }
        }
        Ok(())
    }
}
