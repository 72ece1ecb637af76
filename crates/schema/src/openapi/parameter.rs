//! The parameters of operations, in the groups in which the API machinery takes them.

use std::borrow::Cow;

use super::{META, TypeDocs};

const LIST_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListOptions";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

/// A parameter of an operation.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub name: &'static str,
    pub place: ParameterLocation,
    /// `string`, `integer` or `boolean`.
    pub kind: &'static str,
    text: Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ParameterLocation {
    Path,
    Query,
}

impl ParameterLocation {
    pub(super) fn word(self) -> &'static str {
        match self {
            ParameterLocation::Path => "path",
            ParameterLocation::Query => "query",
        }
    }
}

/// Where its description comes from.
#[derive(Clone, Debug)]
enum Text {
    Fixed(Cow<'static, str>),
    /// The description of the field of that name in an options type.
    Field(Cow<'static, str>),
}

impl Parameter {
    /// What identifies a parameter among those of an operation; also their order.
    pub(super) fn key(&self) -> (&'static str, ParameterLocation) {
        (self.name, self.place)
    }

    /// A parameter for a field of an options type.
    pub(super) fn for_option(of: &'static str, name: &'static str, kind: &'static str) -> Self {
        Parameter {
            name,
            place: ParameterLocation::Query,
            kind,
            text: Text::Field(Cow::Borrowed(of)),
        }
    }

    pub(super) fn description<'p>(&'p self, docs: &'p dyn TypeDocs) -> Option<&'p str> {
        match &self.text {
            Text::Fixed(text) => Some(text),
            // What options have in common is said in the same words.
            Text::Field(of) => docs
                .of_field(of, self.name)
                .or_else(|| docs.of_field(DELETE_OPTIONS, self.name))
                .or_else(|| docs.of_field(LIST_OPTIONS, self.name)),
        }
    }
}

fn path(name: &'static str, text: impl Into<Cow<'static, str>>) -> Parameter {
    Parameter {
        name,
        place: ParameterLocation::Path,
        kind: "string",
        text: Text::Fixed(text.into()),
    }
}

/// The name of the object; its description names the kind.
pub(super) fn name_of(kind: &str) -> Parameter {
    path("name", format!("name of the {kind}"))
}

pub(super) fn namespace() -> Parameter {
    path(
        "namespace",
        "object name and auth scope, such as for teams and projects",
    )
}

/// What follows `proxy` in a path.
pub(super) fn rest_of_path() -> Parameter {
    path("path", "path to the resource")
}

pub(super) fn pretty() -> Parameter {
    let text = "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget).";
    Parameter {
        name: "pretty",
        place: ParameterLocation::Query,
        kind: "string",
        text: Text::Fixed(Cow::Borrowed(text)),
    }
}

/// An options type and the parameters that its fields are.
pub(super) struct Options {
    of: &'static str,
    fields: &'static [(&'static str, &'static str)],
}

impl Options {
    pub(super) fn parameters(&self) -> impl Iterator<Item = Parameter> {
        self.fields.iter().map(|(name, kind)| Parameter {
            name,
            place: ParameterLocation::Query,
            kind,
            text: Text::Field(Cow::Owned(format!("{META}.{}", self.of))),
        })
    }
}

/// Only custom resources say so.
pub(super) const GET: Options = Options {
    of: "GetOptions",
    fields: &[("resourceVersion", "string")],
};
pub(super) const LIST: Options = Options {
    of: "ListOptions",
    fields: &[
        ("allowWatchBookmarks", "boolean"),
        ("continue", "string"),
        ("fieldSelector", "string"),
        ("labelSelector", "string"),
        ("limit", "integer"),
        ("resourceVersion", "string"),
        ("resourceVersionMatch", "string"),
        ("sendInitialEvents", "boolean"),
        ("shardSelector", "string"),
        ("timeoutSeconds", "integer"),
        ("watch", "boolean"),
    ],
};
/// Those of [`LIST`] that a deletion of built-ins takes; the others are about watching.
pub(super) const LIST_TO_DELETE: Options = Options {
    of: "ListOptions",
    fields: &[
        ("continue", "string"),
        ("fieldSelector", "string"),
        ("labelSelector", "string"),
        ("limit", "integer"),
        ("resourceVersion", "string"),
        ("resourceVersionMatch", "string"),
        ("sendInitialEvents", "boolean"),
        ("shardSelector", "string"),
        ("timeoutSeconds", "integer"),
    ],
};
const WRITE: &[(&str, &str)] = &[
    ("dryRun", "string"),
    ("fieldManager", "string"),
    ("fieldValidation", "string"),
];
pub(super) const CREATE: Options = Options {
    of: "CreateOptions",
    fields: WRITE,
};
pub(super) const UPDATE: Options = Options {
    of: "UpdateOptions",
    fields: WRITE,
};
pub(super) const PATCH: Options = Options {
    of: "PatchOptions",
    fields: &[
        ("dryRun", "string"),
        ("fieldManager", "string"),
        ("fieldValidation", "string"),
        ("force", "boolean"),
    ],
};
pub(super) const DELETE: Options = Options {
    of: "DeleteOptions",
    fields: &[
        ("dryRun", "string"),
        ("gracePeriodSeconds", "integer"),
        ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
        ("orphanDependents", "boolean"),
        ("propagationPolicy", "string"),
    ],
};
