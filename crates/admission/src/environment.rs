//! What expressions of admission may refer to: `object`, `oldObject`, `request`, `namespaceObject` and more (A6, A13).

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use kubewright_cel::{Env, ObjectType, Type};

/// What expressions have beyond `object`, `oldObject`, `request` and `namespaceObject`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Declarations {
    /// `params`
    pub(crate) params: bool,
    /// `authorizer` and `authorizer.requestResource`
    pub(crate) authorizer: bool,
    /// The types that mutations are built of.
    pub(crate) mutation: bool,
}

/// The environment with these declarations.
pub(crate) fn environment(declarations: Declarations) -> &'static Env {
    static ENVIRONMENTS: [OnceLock<Env>; 8] = [const { OnceLock::new() }; 8];
    let Declarations {
        params,
        authorizer,
        mutation,
    } = declarations;
    let index = usize::from(params) + 2 * usize::from(authorizer) + 4 * usize::from(mutation);
    ENVIRONMENTS[index].get_or_init(|| {
        let mut env = Env::kubernetes()
            .with_variable("object", Type::Dyn)
            .with_variable("oldObject", Type::Dyn)
            .with_variable("namespaceObject", namespace())
            .with_variable("request", request());
        if params {
            env = env.with_variable("params", Type::Dyn);
        }
        if authorizer {
            env = env.with_authorizer();
        }
        if mutation {
            env = env.with_mutation();
        }
        env
    })
}

/// The environment in which types are checked: objects and params have their own, and there is an `authorizer`, of which upstream
/// declares no `requestResource` here.
pub(crate) fn typed_environment(object: Type, params: Option<Type>) -> Env {
    let authorizer = Type::Object(Arc::new(ObjectType {
        name: "kubernetes.authorization.Authorizer".to_owned(),
        fields: None,
    }));
    let mut env = Env::kubernetes()
        .with_variable("object", object.clone())
        .with_variable("oldObject", object)
        .with_variable("namespaceObject", namespace())
        .with_variable("request", request())
        .with_variable("authorizer", authorizer);
    if let Some(params) = params {
        env = env.with_variable("params", params);
    }
    env
}

fn object(name: &str, fields: &[(&str, Type)]) -> Type {
    let fields: BTreeMap<String, Type> = fields
        .iter()
        .map(|(name, ty)| {
            (
                kubewright_cel::escape(name).map_or_else(|| (*name).to_owned(), Into::into),
                ty.clone(),
            )
        })
        .collect();
    Type::Object(Arc::new(ObjectType {
        name: format!("kubernetes.{name}"),
        fields: Some(fields),
    }))
}

fn request() -> Type {
    let text = || Type::String;
    let kind = object(
        "GroupVersionKind",
        &[("group", text()), ("version", text()), ("kind", text())],
    );
    let resource = object(
        "GroupVersionResource",
        &[("group", text()), ("version", text()), ("resource", text())],
    );
    let user = object(
        "UserInfo",
        &[
            ("username", text()),
            ("uid", text()),
            ("groups", Type::list(text())),
            ("extra", Type::map(text(), Type::list(text()))),
        ],
    );
    object(
        "AdmissionRequest",
        &[
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("subResource", text()),
            ("requestKind", kind),
            ("requestResource", resource),
            ("requestSubResource", text()),
            ("name", text()),
            ("namespace", text()),
            ("operation", text()),
            ("userInfo", user),
            ("dryRun", Type::Bool),
            ("options", Type::Dyn),
        ],
    )
}

fn namespace() -> Type {
    let texts = || Type::list(Type::String);
    let map = || Type::map(Type::String, Type::String);
    let condition = object(
        "NamespaceCondition",
        &[
            ("status", Type::String),
            ("type", Type::String),
            ("lastTransitionTime", Type::Timestamp),
            ("message", Type::String),
            ("reason", Type::String),
        ],
    );
    let metadata = object(
        "NamespaceMetadata",
        &[
            ("name", Type::String),
            ("generateName", Type::String),
            ("namespace", Type::String),
            ("labels", map()),
            ("annotations", map()),
            ("UID", Type::String),
            ("creationTimestamp", Type::Timestamp),
            ("deletionGracePeriodSeconds", Type::Int),
            ("deletionTimestamp", Type::Timestamp),
            ("generation", Type::Int),
            ("resourceVersion", Type::String),
            ("finalizers", texts()),
        ],
    );
    object(
        "Namespace",
        &[
            ("metadata", metadata),
            ("spec", object("NamespaceSpec", &[("finalizers", texts())])),
            (
                "status",
                object(
                    "NamespaceStatus",
                    &[("conditions", Type::list(condition)), ("phase", Type::String)],
                ),
            ),
        ],
    )
}
