//! Where we say something else than controller-gen, and why. Whatever else differs is a mistake.

use serde_json::Value;

use super::compare::Difference;

/// A difference that is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    /// The definition, or what else is compared; a star stands for anything.
    pub(crate) of: &'static str,
    /// What it is about; a star stands for anything.
    pub(crate) at: &'static str,
    /// What controller-gen says, as JSON; empty for nothing, a star for anything.
    pub(crate) go: &'static str,
    /// What we say, as JSON; empty for nothing, a star for anything.
    pub(crate) ours: &'static str,
    /// Why.
    pub(crate) reason: &'static str,
}

impl Decision {
    /// Whether it is about this object.
    pub(crate) fn is_about(&self, of: &str) -> bool {
        matches(self.of, of)
    }

    /// Whether it is about this difference.
    pub(crate) fn covers(&self, difference: &Difference) -> bool {
        matches(self.at, &difference.at)
            && says(self.go, difference.go.as_ref())
            && says(self.ours, difference.ours.as_ref())
    }
}

fn says(expected: &str, value: Option<&Value>) -> bool {
    match value {
        None => expected.is_empty(),
        Some(_) if expected == "*" => true,
        Some(value) => serde_json::from_str::<Value>(expected).is_ok_and(|expected| expected == *value),
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(rest) = text.strip_prefix(before) else {
        return false;
    };
    (0..=rest.len())
        .filter(|at| rest.is_char_boundary(*at))
        .any(|at| matches(after, &rest[at..]))
}

/// All that was decided.
pub(crate) fn decisions() -> impl Iterator<Item = Decision> {
    TABLE.iter().flat_map(
        |IntendedDifference {
             of,
             reason,
             differences,
         }| {
            differences.iter().map(|[at, go, ours]| Decision {
                of,
                at,
                go,
                ours,
                reason,
            })
        },
    )
}

/// What differs for one reason.
struct IntendedDifference {
    of: &'static str,
    reason: &'static str,
    /// Where, what controller-gen says, what we say.
    differences: &'static [[&'static str; 3]],
}

/// The table.
const TABLE: &[IntendedDifference] = &[
    IntendedDifference {
        of: "scalars.capabilities.example.com",
        reason: "controller-gen says nothing of the width of these; the server then takes numbers that the type cannot hold",
        differences: &[
            ["v1 spec.byte: format", "", r#""int32""#],
            ["v1 spec.byte: minimum", "", "-128"],
            ["v1 spec.byte: maximum", "", "127"],
            ["v1 spec.short: format", "", r#""int32""#],
            ["v1 spec.short: minimum", "", "-32768"],
            ["v1 spec.short: maximum", "", "32767"],
            ["v1 spec.machine: format", "", r#""int64""#],
        ],
    },
    IntendedDifference {
        of: "scalars.capabilities.example.com",
        reason: "controller-gen gives unsigned numbers the signed format; half of them would be refused, and negative ones taken",
        differences: &[
            ["v1 spec.unsignedSmall: format", r#""int32""#, r#""int64""#],
            ["v1 spec.unsignedSmall: minimum", "", "0"],
            ["v1 spec.unsignedSmall: maximum", "", "4294967295"],
            ["v1 spec.unsignedLarge: minimum", "", "0"],
        ],
    },
    IntendedDifference {
        of: "measurements.floats.example.com",
        reason: "the width of a fraction, in the words of Kubernetes' own documents",
        differences: &[
            ["v1 spec.single: format", "", r#""float""#],
            ["v1 spec.double: format", "", r#""double""#],
        ],
    },
    IntendedDifference {
        of: "uniquelists.capabilities.example.com",
        reason: "every API server refuses a definition with uniqueItems; a list that is a set has no doubles either",
        differences: &[
            ["v1 spec.field: uniqueItems", "true", ""],
            ["v1 spec.field: x-kubernetes-list-type", "", r#""set""#],
            ["v1 spec.named: uniqueItems", "true", ""],
            ["v1 spec.named: x-kubernetes-list-type", "", r#""set""#],
            ["v1 spec.items[]: uniqueItems", "true", ""],
            ["v1 spec.items[]: x-kubernetes-list-type", "", r#""set""#],
            ["v1 spec.namedItems[]: uniqueItems", "true", ""],
            ["v1 spec.namedItems[]: x-kubernetes-list-type", "", r#""set""#],
        ],
    },
    IntendedDifference {
        of: "defaulteds.capabilities.example.com",
        reason: "a default is a value of the Rust type, so it is written whole; the server makes the same of both",
        differences: &[["v1 spec.object: default", "{}", r#"{"size":1}"#]],
    },
    IntendedDifference {
        of: "lenients.modes.example.com",
        reason: "the spec of a Rust type is there; without `default` an object that lacks it could not be read",
        differences: &[["v1 .: requires spec", "", "true"]],
    },
    IntendedDifference {
        of: "matryoshkas.capabilities.example.com",
        reason: "metadata within an object keeps its labels; controller-gen has a switch for it, without which a server prunes them",
        differences: &[["v1 spec.named.metadata.*", "", "*"]],
    },
    IntendedDifference {
        of: "cronjobs.batch.tutorial.kubebuilder.io",
        reason: "metadata within an object keeps its labels; controller-gen has a switch for it, without which a server prunes them",
        differences: &[
            ["v1 spec.jobTemplate.metadata.*", "", "*"],
            ["v1 spec.jobTemplate.spec.template.metadata.*", "", "*"],
            ["v1 *.volumes[].ephemeral.volumeClaimTemplate.metadata.*", "", "*"],
        ],
    },
    IntendedDifference {
        of: "cronjobs.batch.tutorial.kubebuilder.io*",
        reason: "controller-gen takes it from the reference inlined there; to the API server's own types it belongs to that alone",
        differences: &[
            ["v1 *.envFrom[].configMapRef: x-kubernetes-map-type", r#""atomic""#, ""],
            ["v1 *.envFrom[].secretRef: x-kubernetes-map-type", r#""atomic""#, ""],
            ["v1 *.volumes[].configMap: x-kubernetes-map-type", r#""atomic""#, ""],
            [
                "v1 *.volumes[].projected.sources[].configMap: x-kubernetes-map-type",
                r#""atomic""#,
                "",
            ],
            [
                "v1 *.volumes[].projected.sources[].secret: x-kubernetes-map-type",
                r#""atomic""#,
                "",
            ],
        ],
    },
    IntendedDifference {
        of: "cronjobs.batch.tutorial.kubebuilder.io*",
        reason: "the Go type names a constant, which controller-gen does not look up; the API server's own documents have its value",
        differences: &[
            ["v1 *.volumes[].azureDisk.cachingMode: default", "", r#""ReadWrite""#],
            ["v1 *.volumes[].azureDisk.kind: default", "", r#""Shared""#],
        ],
    },
    IntendedDifference {
        of: "cronjobs.batch.tutorial.kubebuilder.io",
        reason: "in Rust it is a text without a type of its own, which could be described",
        differences: &[
            ["v1 *.capabilities.add[]: description", "*", ""],
            ["v1 *.capabilities.drop[]: description", "*", ""],
        ],
    },
    IntendedDifference {
        of: "* descriptions",
        reason: "what all objects have is described in our own words",
        differences: &[["v1 apiVersion", "*", "*"], ["v1 kind", "*", "*"]],
    },
    IntendedDifference {
        of: "* descriptions",
        reason: "in Rust the spec is described once, above its type",
        differences: &[["v1 spec", r#""spec is what is asked for""#, "*"]],
    },
    IntendedDifference {
        of: "roles",
        reason: "what a rule without names grants is not granted again by name",
        differences: &[
            ["ClusterRole manager-role: get configmaps. more", "true", ""],
            ["ClusterRole manager-role: get configmaps. settings", "true", ""],
        ],
    },
    IntendedDifference {
        of: "roles",
        reason: "the manager writes events about what it reconciles",
        differences: &[
            ["ClusterRole manager-role: create events.events.k8s.io", "", "true"],
            ["ClusterRole manager-role: patch events.events.k8s.io", "", "true"],
        ],
    },
    IntendedDifference {
        of: "roles",
        reason: "a manager has one role of the cluster; that of another name would need a binding of its own",
        differences: &[
            ["ClusterRole node-reader: * nodes.", "true", ""],
            ["ClusterRole manager-role: get nodes.", "", "true"],
            ["ClusterRole manager-role: list nodes.", "", "true"],
        ],
    },
    IntendedDifference {
        of: "roles",
        reason: "a manager has one role in a namespace; that of another name would need a binding of its own",
        differences: &[
            ["Role secret-reader in shop: get secrets.", "true", ""],
            ["Role manager-role in shop: get secrets.", "", "true"],
        ],
    },
    IntendedDifference {
        of: "webhook configurations",
        reason: "the prefix is put before the name at once; with kubebuilder kustomize does so",
        differences: &[
            [
                "MutatingWebhookConfiguration metadata.name",
                r#""mutating-webhook-configuration""#,
                r#""suite-mutating-webhook-configuration""#,
            ],
            [
                "ValidatingWebhookConfiguration metadata.name",
                r#""validating-webhook-configuration""#,
                r#""suite-validating-webhook-configuration""#,
            ],
        ],
    },
    IntendedDifference {
        of: "named webhook configurations",
        reason: "whoever gives an address knows the certificate that is served there",
        differences: &[[
            "ValidatingWebhookConfiguration vconfigmap.kb.io.clientConfig.caBundle",
            "",
            "*",
        ]],
    },
];

#[test]
fn a_star_stands_for_anything() {
    assert!(matches("v1 spec.*: minimum", "v1 spec.a.b: minimum"));
    assert!(matches("*", ""));
    assert!(!matches("v1 spec.*: minimum", "v1 spec.a: maximum"));
    assert!(says("", None) && says("*", Some(&Value::Null)) && says("1", Some(&1.into())));
    assert!(!says("*", None) && !says("", Some(&Value::Null)));
}
