//! The kinds that can be applied and the types that they are made of.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_merge::{ListKind, Shape, Topology as _};
use kubewright_schema::{Scalar, TypeRef, Types, resources};

/// A module: `("apps", "v1")`.
pub(crate) type Module = (String, String);

/// The types of each module, by their short names.
pub(crate) type Modules = BTreeMap<Module, BTreeMap<String, Struct>>;

/// A type with fields.
pub(crate) struct Struct {
    /// Its name in `OpenAPI` documents.
    pub(crate) name: &'static str,
    /// Objects of it can be applied on their own.
    pub(crate) is_root: bool,
    /// In declaration order, without apiVersion, kind and metadata of a root.
    pub(crate) fields: Vec<Field>,
}

pub(crate) struct Field {
    pub(crate) json: &'static str,
    pub(crate) required: bool,
    pub(crate) ty: Type,
}

/// What a field holds.
pub(crate) enum Type {
    Scalar(Scalar),
    /// A type of a module, by its name in `OpenAPI` documents.
    Struct(&'static str),
    List(Box<Type>, Merge),
    Map(Box<Type>, Merge),
}

/// How a list or map grows when it is set twice.
pub(crate) enum Merge {
    /// The second takes the place of the first.
    Atomic,
    /// Values are added that are not there yet; of a map, entries.
    Set,
    /// Items are added, or take the place of those with the same keys; a key that is left out has this default.
    Keys(Vec<(&'static str, Option<String>)>),
}

/// All modules with the types that can be reached from a kind that can be patched.
pub(crate) fn modules() -> Modules {
    let mut modules = Modules::new();
    let mut roots = BTreeSet::new();
    let mut pending = Vec::new();
    for resource in resources().iter() {
        let is_applied = resource.verbs.contains(&"patch");
        let Some(ty) = Types::builtin()
            .kind(resource.group, resource.version, resource.kind)
            .filter(|_| is_applied)
        else {
            continue;
        };
        // Two groups share the kind Event, and each has its own type for it.
        roots.extend(ty.name());
        pending.push(ty);
    }
    // No resource of its own: it is patched as a subresource of others.
    let scale = Types::builtin()
        .kind("autoscaling", "v1", "Scale")
        .expect("the facts have Scale");
    roots.extend(scale.name());
    pending.push(scale);
    while let Some(ty) = pending.pop() {
        let Some(name) = ty.name() else { continue };
        let (module, short) = place(name);
        let types = modules.entry(module).or_default();
        if types.contains_key(&short) {
            continue;
        }
        let is_root = roots.contains(name);
        let own = |field: &str| !(is_root && matches!(field, "apiVersion" | "kind" | "metadata"));
        let fields = ty.fields().filter(|field| own(field.name()));
        let fields = fields.map(|field| Field {
            json: field.name(),
            required: field.is_required(),
            ty: read(field.type_ref(), &mut pending),
        });
        let fields = fields.collect();
        types.insert(short, Struct { name, is_root, fields });
    }
    modules
}

/// `io.k8s.api.apps.v1.Deployment` is `Deployment` of `apps::v1`.
pub(crate) fn place(name: &str) -> (Module, String) {
    let mut words = name.rsplit('.');
    let mut next = || words.next().unwrap_or_default().to_owned();
    let (short, version, group) = (next(), next(), next());
    ((group, version), short)
}

fn read(ty: TypeRef<'static>, pending: &mut Vec<TypeRef<'static>>) -> Type {
    if let Some(scalar) = ty.scalar() {
        return Type::Scalar(scalar);
    }
    match ty.shape() {
        Shape::Struct { .. } => {
            pending.push(ty);
            Type::Struct(ty.name().expect("a struct has a name"))
        }
        Shape::List(kind) => {
            let element = TypeRef::element(ty).expect("a list has elements");
            let merge = match kind {
                ListKind::Atomic => Merge::Atomic,
                ListKind::Set => Merge::Set,
                ListKind::Map => Merge::Keys(
                    ty.keys()
                        .iter()
                        .map(|key| (&**key, key_default(element, key)))
                        .collect(),
                ),
            };
            Type::List(Box::new(read(element, pending)), merge)
        }
        Shape::Map { atomic } => {
            let element = TypeRef::element(ty).expect("a map has values");
            let merge = if atomic { Merge::Atomic } else { Merge::Set };
            Type::Map(Box::new(read(element, pending)), merge)
        }
        Shape::Scalar | Shape::Untyped => unreachable!("{ty:?} is no scalar"),
    }
}

/// What the server takes a key to be that an item lacks.
fn key_default(item: TypeRef<'static>, key: &str) -> Option<String> {
    let field = item.field_named(key)?;
    let declared = kubewright_merge::Topology::default(field.type_ref());
    declared
        .or(field.default())
        .and_then(|value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned))
}
