//! As much of the type of a Deployment as the tests of patches need.

use kubewright_merge::{ListKind, PatchStrategy, Shape, Topology};
use serde_json::Value;

/// A type.
pub(crate) enum Type {
    Scalar,
    Map(&'static Type),
    List(&'static Type),
    Struct(&'static [Field]),
}

/// A field of a struct.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    name: &'static str,
    of: &'static Type,
    strategy: PatchStrategy<'static>,
}

/// A place in a document.
#[derive(Clone, Copy)]
pub(crate) struct TestTopology {
    of: &'static Type,
    strategy: PatchStrategy<'static>,
}

impl TestTopology {
    pub(crate) fn of(of: &'static Type) -> Self {
        Self {
            of,
            strategy: NO_STRATEGY,
        }
    }
}

impl Topology<'static> for TestTopology {
    fn shape(self) -> Shape {
        match self.of {
            Type::Scalar => Shape::Scalar,
            Type::Map(_) => Shape::Map { atomic: false },
            Type::List(_) => Shape::List(ListKind::Atomic),
            Type::Struct(_) => Shape::Struct { atomic: false },
        }
    }

    fn field(self, name: &str) -> Option<Self> {
        let Type::Struct(fields) = self.of else { return None };
        let field = fields.iter().find(|field| field.name == name)?;
        Some(Self {
            of: field.of,
            strategy: field.strategy,
        })
    }

    fn element(self) -> Option<Self> {
        match self.of {
            Type::Map(of) | Type::List(of) => Some(Self::of(of)),
            _ => None,
        }
    }

    fn keys(self) -> &'static [Box<str>] {
        &[]
    }

    fn default(self) -> Option<&'static Value> {
        None
    }

    fn patch_strategy(self) -> PatchStrategy<'static> {
        self.strategy
    }
}

const NO_STRATEGY: PatchStrategy<'static> = PatchStrategy {
    merge: false,
    retain_keys: false,
    replace: false,
    merge_key: None,
};

const fn field(name: &'static str, of: &'static Type) -> Field {
    Field {
        name,
        of,
        strategy: NO_STRATEGY,
    }
}

const fn merged(name: &'static str, of: &'static Type, merge_key: Option<&'static str>) -> Field {
    Field {
        name,
        of,
        strategy: PatchStrategy {
            merge: true,
            merge_key,
            ..NO_STRATEGY
        },
    }
}

const fn retained(field: Field) -> Field {
    Field {
        strategy: PatchStrategy {
            retain_keys: true,
            ..field.strategy
        },
        ..field
    }
}

static SCALAR: Type = Type::Scalar;
static STRINGS: Type = Type::List(&SCALAR);
static LABELS: Type = Type::Map(&SCALAR);
static NAMED: Type = Type::Struct(&[field("name", &SCALAR)]);
static PORTS: Type = Type::List(&Type::Struct(&[
    field("containerPort", &SCALAR),
    field("name", &SCALAR),
    field("protocol", &SCALAR),
]));
static ENV: Type = Type::List(&Type::Struct(&[field("name", &SCALAR), field("value", &SCALAR)]));
static CONTAINERS: Type = Type::List(&Type::Struct(&[
    field("name", &SCALAR),
    field("image", &SCALAR),
    field("args", &STRINGS),
    merged("env", &ENV, Some("name")),
    merged("ports", &PORTS, Some("containerPort")),
]));
static VOLUMES: Type = Type::List(&Type::Struct(&[
    field("name", &SCALAR),
    field("emptyDir", &NAMED),
    field("configMap", &NAMED),
]));
static TOLERATIONS: Type = Type::List(&Type::Struct(&[field("key", &SCALAR)]));
static POD_SPEC: Type = Type::Struct(&[
    merged("containers", &CONTAINERS, Some("name")),
    retained(merged("volumes", &VOLUMES, Some("name"))),
    field("tolerations", &TOLERATIONS),
]);
static STRATEGY: Type = Type::Struct(&[
    field("type", &SCALAR),
    field("rollingUpdate", &Type::Struct(&[field("maxSurge", &SCALAR)])),
]);

/// A Deployment.
pub(crate) static DEPLOYMENT: Type = Type::Struct(&[
    field(
        "metadata",
        &Type::Struct(&[
            field("name", &SCALAR),
            field("labels", &LABELS),
            merged("finalizers", &STRINGS, None),
        ]),
    ),
    field(
        "spec",
        &Type::Struct(&[
            field("replicas", &SCALAR),
            field("paused", &SCALAR),
            retained(field("strategy", &STRATEGY)),
            field("template", &Type::Struct(&[field("spec", &POD_SPEC)])),
        ]),
    ),
]);
