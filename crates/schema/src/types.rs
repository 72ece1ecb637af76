//! The types of a server, found by name or by kind. The built-ins are read from the committed table,
//! which is indexed on first use and parsed block by block as types are asked for.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::OnceLock;

use crate::{
    model::{Named, TypeId},
    table,
    type_ref::TypeRef,
};

static BUILTIN: &str = include_str!("../facts/v1.36/types.facts");

/// A set of named types that refer to each other.
#[derive(Debug)]
pub struct Types {
    /// Ordered by name, as the table is.
    entries: Vec<Entry>,
    /// The package of the kinds of a group-version: `apps/v1` is `io.k8s.api.apps.v1`.
    packages: Vec<(&'static str, &'static str)>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub name: &'static str,
    block: &'static str,
    parsed: OnceLock<Named>,
}

/// Where the kinds live that every group-version has (`DeleteOptions`, `Status`, `WatchEvent`).
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// A number that changes when the tables of facts do.
pub fn fingerprint() -> u64 {
    let mut hasher = DefaultHasher::new();
    BUILTIN.hash(&mut hasher);
    crate::resources::BUILTIN.hash(&mut hasher);
    hasher.finish()
}

impl Types {
    /// The built-in types of Kubernetes 1.36.
    pub fn builtin() -> &'static Types {
        static TYPES: OnceLock<Types> = OnceLock::new();
        TYPES.get_or_init(|| Types::index(BUILTIN))
    }

    fn index(text: &'static str) -> Self {
        let mut types = Types {
            entries: Vec::with_capacity(1024),
            packages: Vec::new(),
        };
        for block in table::blocks(text) {
            match block {
                table::Block::Package { group_version, package } => {
                    types.packages.push((group_version, package));
                }
                table::Block::Type { name, block } => {
                    types.entries.push(Entry {
                        name,
                        block,
                        parsed: OnceLock::new(),
                    });
                }
            }
        }
        debug_assert!(
            types.entries.is_sorted_by_key(|entry| entry.name),
            "the table is out of order"
        );
        types
    }

    /// The package of a group-version's kinds.
    fn package(&self, group: &str, version: &str) -> Option<&'static str> {
        let is_it = |group_version: &str| match group_version.split_once('/') {
            Some((of, at)) => of == group && at == version,
            None => group.is_empty() && group_version == version,
        };
        self.packages
            .iter()
            .find(|(group_version, _)| is_it(group_version))
            .map(|(_, package)| *package)
    }

    /// Whether kinds of the group-version are known.
    pub(crate) fn has_version(&self, group: &str, version: &str) -> bool {
        self.package(group, version).is_some()
    }

    /// Whether the group-version has a kind that not every other has too.
    pub(crate) fn has_kind_of_its_own(&self, group: &str, version: &str, kind: &str) -> bool {
        let package = self.package(group, version);
        let named = |package: &str| self.named(&format!("{package}.{kind}"));
        package.and_then(named).is_some_and(TypeRef::is_kind)
    }

    pub(crate) fn group_version_of(&self, package: &str) -> Option<(&'static str, &'static str)> {
        let (group_version, _) = self.packages.iter().find(|(_, of)| *of == package)?;
        Some(group_version.split_once('/').unwrap_or(("", group_version)))
    }

    /// The type of a kind; the kinds that every group-version shares are found in each.
    pub fn kind(&self, group: &str, version: &str, kind: &str) -> Option<TypeRef<'_>> {
        let package = if group == "meta.k8s.io" || version.is_empty() {
            META
        } else {
            self.package(group, version)?
        };
        [package, META].into_iter().find_map(|package| {
            let found = self.named(&format!("{package}.{kind}"))?;
            found.is_kind().then_some(found)
        })
    }

    /// The type of that name, as `OpenAPI` documents spell it: `io.k8s.api.core.v1.Container`.
    pub fn named(&self, name: &str) -> Option<TypeRef<'_>> {
        Some(TypeRef::named(self, self.id(name)?))
    }

    /// Every type, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = TypeRef<'_>> {
        (0..self.entries.len() as TypeId).map(|id| TypeRef::named(self, id))
    }

    pub(crate) fn entry(&self, id: TypeId) -> (&Entry, &Named) {
        let entry = &self.entries[id as usize];
        let parsed = entry.parsed.get_or_init(|| table::parse(self, entry.name, entry.block));
        (entry, parsed)
    }

    pub(crate) fn id(&self, name: &str) -> Option<TypeId> {
        self.entries
            .binary_search_by(|entry| entry.name.cmp(name))
            .ok()
            .map(|position| position as TypeId)
    }
}
