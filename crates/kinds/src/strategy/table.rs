//! The table of strategies, a row for each resource. A row says only how a resource differs from [`BASE`], or from the
//! resources it resembles.

use super::LastMetaCheck::{BeforeRulesOfNew, BehindAllRules, BehindRulesOfNew, BesideTheOthers};
use super::MetaCheck::{Create, Update};
use super::StatusMetadata::{Free, KeepsAll, KeepsLabels, KeepsOwners, KeepsUserFields};
use super::UnsupportedField::{NotKnown, NotSupported, NotSupportedFor, NotSupportedForKind};
use super::{Generation, MetaRules, Propagation, ResetFields, Strategy, fields};
use crate::rules::name_rule::NameRule;

/// A resource without status and generation, named by a DNS subdomain.
const BASE: Strategy = Strategy {
    name: NameRule::DnsSubdomain,
    checks_generate_name: true,
    names_itself: false,
    meta: MetaRules::Kube,
    update_meta: &[Update],
    last_meta_check: BesideTheOthers,
    status_meta: &[Update],
    create_on_update: false,
    unconditional_update: true,
    returns_deleted: false,
    graceful_deletion: false,
    default_propagation: Propagation::Background,
    generation: Generation::None,
    resets_status: false,
    status_metadata: Free,
    fields: fields::METADATA,
    unsupported_field: NotKnown,
    reset_fields: &[],
};

const SPEC: Generation = Generation::Counts(&[&["spec"]]);

const fn resets(subresource: &'static str, paths: &'static [&'static [&'static str]]) -> ResetFields {
    ResetFields { subresource, paths }
}

/// A write of the object resets the status, a write of the status resets the spec.
const STATUS_AND_SPEC: &[ResetFields] = &[resets("", &[&["status"]]), resets("status", &[&["spec"]])];

/// As [`STATUS_AND_SPEC`], where a write of the status also resets the metadata.
const STATUS_AND_REST: &[ResetFields] = &[
    resets("", &[&["status"]]),
    resets("status", &[&["metadata"], &["spec"]]),
];

/// A resource with status, but without generation.
const WITH_STATUS: Strategy = Strategy {
    resets_status: true,
    reset_fields: STATUS_AND_SPEC,
    ..BASE
};

/// A resource with status whose generation counts its spec: most workloads.
const WORKLOAD: Strategy = Strategy {
    generation: SPEC,
    ..WITH_STATUS
};

const ADMISSION: Strategy = Strategy {
    meta: MetaRules::Plain,
    update_meta: &[Create],
    unconditional_update: false,
    ..BASE
};

const ADMISSION_WEBHOOKS: Strategy = Strategy {
    generation: Generation::Counts(&[&["webhooks"]]),
    ..ADMISSION
};

const ADMISSION_POLICIES: Strategy = Strategy {
    generation: SPEC,
    ..ADMISSION
};

const FLOW_CONTROL: Strategy = Strategy {
    update_meta: &[Create],
    status_meta: &[],
    status_metadata: KeepsAll,
    reset_fields: STATUS_AND_REST,
    ..WORKLOAD
};

const RBAC: Strategy = Strategy {
    name: NameRule::StrictPathSegment,
    update_meta: &[Create, Update],
    last_meta_check: BehindRulesOfNew,
    create_on_update: true,
    ..BASE
};

/// A custom resource whose status is a field like any other (C10).
static CUSTOM: Strategy = Strategy {
    meta: MetaRules::Plain,
    unconditional_update: false,
    generation: Generation::CountsAll,
    status_metadata: KeepsAll,
    unsupported_field: NotSupported,
    ..BASE
};

/// A custom resource whose status is a subresource (C10).
static CUSTOM_WITH_STATUS: Strategy = Strategy {
    resets_status: true,
    reset_fields: STATUS_AND_REST,
    meta: MetaRules::Plain,
    unconditional_update: false,
    generation: Generation::CountsAll,
    status_metadata: KeepsAll,
    unsupported_field: NotSupported,
    ..BASE
};

/// How custom resources are stored; their selectable fields are in their definition.
pub fn custom_strategy(status_is_a_subresource: bool) -> &'static Strategy {
    if status_is_a_subresource {
        &CUSTOM_WITH_STATUS
    } else {
        &CUSTOM
    }
}

/// By group and plural.
#[rustfmt::skip]
static TABLE: &[(&str, &str, Strategy)] = &[
    ("", "configmaps", Strategy { update_meta: &[Update, Create], last_meta_check: BeforeRulesOfNew, ..BASE }),
    ("", "endpoints", Strategy { update_meta: &[Update, Create], create_on_update: true, ..BASE }),
    ("", "events", Strategy {
        name: NameRule::Any, meta: MetaRules::Deferred, update_meta: &[], create_on_update: true,
        default_propagation: Propagation::Unsupported, fields: fields::CORE_EVENTS,
        unsupported_field: NotSupported,
        ..BASE
    }),
    ("", "limitranges", Strategy { names_itself: true, update_meta: &[Create], create_on_update: true, ..BASE }),
    ("", "namespaces", Strategy {
        name: NameRule::DnsLabel, update_meta: &[Create, Update], last_meta_check: BehindRulesOfNew, returns_deleted: true,
        fields: fields::NAMESPACES,
        unsupported_field: NotSupported,
        reset_fields: &[resets("", &[&["status"]]), resets("status", &[&["spec"]]), resets("finalize", &[&["status"]])],
        ..WITH_STATUS
    }),
    ("", "nodes", Strategy {
        // A node registers with its status.
        resets_status: false,
        update_meta: &[Create, Update], last_meta_check: BehindRulesOfNew, fields: fields::NODES,
        unsupported_field: NotSupported,
        ..WITH_STATUS
    }),
    ("", "persistentvolumeclaims", Strategy { update_meta: &[Update, Create], returns_deleted: true, ..WITH_STATUS }),
    ("", "persistentvolumes", Strategy {
        update_meta: &[Create, Create], last_meta_check: BehindRulesOfNew, returns_deleted: true,
        ..WITH_STATUS
    }),
    ("", "pods", Strategy {
        update_meta: &[Update, Create], returns_deleted: true, graceful_deletion: true,
        status_metadata: KeepsOwners, fields: fields::PODS,
        unsupported_field: NotSupported,
        reset_fields: &[
            resets("", &[&["status"]]),
            resets("status", &[&["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"], &["spec"]]),
        ],
        ..WORKLOAD
    }),
    ("", "podtemplates", Strategy { returns_deleted: true, generation: Generation::Counts(&[&["template"]]), ..BASE }),
    ("", "replicationcontrollers", Strategy {
        checks_generate_name: false, default_propagation: Propagation::Orphan,
        fields: fields::REPLICATION_CONTROLLERS, unsupported_field: NotSupported,
        ..WORKLOAD
    }),
    ("", "resourcequotas", Strategy { returns_deleted: true, ..WITH_STATUS }),
    ("", "secrets", Strategy {
        update_meta: &[Update, Create], last_meta_check: BeforeRulesOfNew, fields: fields::SECRETS,
        unsupported_field: NotSupported,
        ..BASE
    }),
    ("", "serviceaccounts", Strategy { update_meta: &[Update, Create], returns_deleted: true, ..BASE }),
    ("", "services", Strategy {
        name: NameRule::DnsLabel, create_on_update: true, returns_deleted: true, fields: fields::SERVICES,
        unsupported_field: NotSupported,
        ..WITH_STATUS
    }),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies", ADMISSION_POLICIES),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings", ADMISSION_POLICIES),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings", ADMISSION_POLICIES),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", ADMISSION_WEBHOOKS),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", ADMISSION_WEBHOOKS),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", Strategy {
        status_meta: &[], generation: SPEC, resets_status: true, status_metadata: KeepsUserFields,
        reset_fields: STATUS_AND_REST,
        ..ADMISSION
    }),
    ("apiextensions.k8s.io", "customresourcedefinitions", Strategy {
        meta: MetaRules::Plain, unconditional_update: false,
        ..WORKLOAD
    }),
    ("apiregistration.k8s.io", "apiservices", Strategy {
        name: NameRule::StrictPathSegment, meta: MetaRules::Plain, update_meta: &[Update, Create],
        unconditional_update: false, status_metadata: KeepsUserFields, reset_fields: STATUS_AND_REST,
        ..WITH_STATUS
    }),
    ("apps", "controllerrevisions", Strategy { update_meta: &[Update, Create], ..BASE }),
    ("apps", "deployments", Strategy {
        generation: Generation::Counts(&[&["spec"], &["metadata", "annotations"]]),
        status_metadata: KeepsLabels,
        reset_fields: &[resets("", &[&["status"]]), resets("status", &[&["metadata", "labels"], &["spec"]])],
        ..WORKLOAD
    }),
    ("apps", "daemonsets", WORKLOAD),
    ("apps", "replicasets", WORKLOAD),
    ("apps", "statefulsets", Strategy { name: NameRule::DnsLabel, ..WORKLOAD }),
    ("autoscaling", "horizontalpodautoscalers", WITH_STATUS),
    ("batch", "cronjobs", Strategy { status_meta: &[], ..WORKLOAD }),
    ("batch", "jobs", Strategy {
        update_meta: &[Create, Update], last_meta_check: BehindRulesOfNew, default_propagation: Propagation::Orphan,
        fields: fields::JOBS,
        unsupported_field: NotSupportedFor("Job"),
        ..WORKLOAD
    }),
    ("certificates.k8s.io", "certificatesigningrequests", Strategy {
        name: NameRule::Any, update_meta: &[Create, Update], status_meta: &[Create, Update], last_meta_check: BehindAllRules,
        fields: fields::SIGNING_REQUESTS, unsupported_field: NotSupported,
        reset_fields: &[
            resets("", &[&["spec"], &["status"]]),
            resets("status", &[&["spec"], &["status", "conditions"]]),
            resets("approval", &[&["spec"], &["status", "certificate"]]),
        ],
        ..WITH_STATUS
    }),
    ("coordination.k8s.io", "leases", Strategy {
        meta: MetaRules::Plain, create_on_update: true, unconditional_update: false,
        ..BASE
    }),
    ("discovery.k8s.io", "endpointslices", Strategy {
        update_meta: &[Create], generation: Generation::CountsAllAndLabels,
        ..BASE
    }),
    ("events.k8s.io", "events", Strategy {
        create_on_update: true, default_propagation: Propagation::Unsupported, fields: fields::EVENTS,
        unsupported_field: NotSupported,
        ..BASE
    }),
    ("flowcontrol.apiserver.k8s.io", "flowschemas", FLOW_CONTROL),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", FLOW_CONTROL),
    ("networking.k8s.io", "ingressclasses", Strategy {
        update_meta: &[Update, Create], last_meta_check: BeforeRulesOfNew, generation: SPEC,
        ..BASE
    }),
    ("networking.k8s.io", "ingresses", Strategy { update_meta: &[Update, Create], ..WORKLOAD }),
    ("networking.k8s.io", "ipaddresses", Strategy {
        name: NameRule::IpAddress, update_meta: &[Create, Update], last_meta_check: BehindRulesOfNew,
        ..BASE
    }),
    ("networking.k8s.io", "networkpolicies", Strategy { generation: Generation::CountsExactly(&[&["spec"]]), ..BASE }),
    ("networking.k8s.io", "servicecidrs", Strategy {
        status_metadata: KeepsUserFields, reset_fields: STATUS_AND_REST,
        ..WITH_STATUS
    }),
    ("node.k8s.io", "runtimeclasses", Strategy {
        meta: MetaRules::Plain, update_meta: &[Create, Update], last_meta_check: BehindRulesOfNew, create_on_update: true,
        unconditional_update: false,
        ..BASE
    }),
    ("policy", "poddisruptionbudgets", Strategy {
        name: NameRule::Any, meta: MetaRules::Deferred, update_meta: &[], status_meta: &[],
        unconditional_update: false,
        ..WORKLOAD
    }),
    ("rbac.authorization.k8s.io", "clusterrolebindings", RBAC),
    ("rbac.authorization.k8s.io", "clusterroles", RBAC),
    ("rbac.authorization.k8s.io", "rolebindings", RBAC),
    ("rbac.authorization.k8s.io", "roles", RBAC),
    ("resource.k8s.io", "deviceclasses", Strategy {
        checks_generate_name: false, update_meta: &[Create, Update], returns_deleted: true, generation: SPEC,
        ..BASE
    }),
    ("resource.k8s.io", "resourceclaims", Strategy {
        update_meta: &[Create, Update], returns_deleted: true, status_metadata: KeepsUserFields,
        reset_fields: STATUS_AND_REST,
        ..WITH_STATUS
    }),
    ("resource.k8s.io", "resourceclaimtemplates", Strategy {
        update_meta: &[Create, Update], last_meta_check: BehindRulesOfNew, returns_deleted: true,
        ..BASE
    }),
    ("resource.k8s.io", "resourceslices", Strategy {
        returns_deleted: true, generation: SPEC, fields: fields::RESOURCE_SLICES,
        unsupported_field: NotSupportedForKind("resource.k8s.io/v1, Kind=ResourceSlice"),
        ..BASE
    }),
    ("scheduling.k8s.io", "priorityclasses", Strategy { generation: Generation::Counts(&[]), ..BASE }),
    ("storage.k8s.io", "csidrivers", Strategy {
        unconditional_update: false, returns_deleted: true, generation: Generation::CountsFromZero(&[&["spec"]]),
        ..BASE
    }),
    ("storage.k8s.io", "csinodes", Strategy {
        update_meta: &[Create], unconditional_update: false, returns_deleted: true,
        ..BASE
    }),
    ("storage.k8s.io", "csistoragecapacities", Strategy {
        update_meta: &[Create, Update], last_meta_check: BehindRulesOfNew, unconditional_update: false,
        ..BASE
    }),
    ("storage.k8s.io", "storageclasses", Strategy {
        update_meta: &[Create, Update], last_meta_check: BehindRulesOfNew, returns_deleted: true,
        ..BASE
    }),
    ("storage.k8s.io", "volumeattachments", Strategy {
        update_meta: &[Create], status_meta: &[Create], unconditional_update: false, returns_deleted: true,
        status_metadata: KeepsUserFields, reset_fields: STATUS_AND_REST,
        ..WITH_STATUS
    }),
    ("storage.k8s.io", "volumeattributesclasses", Strategy {
        update_meta: &[Update, Create], last_meta_check: BeforeRulesOfNew, returns_deleted: true,
        ..BASE
    }),
];

/// Everything else.
static GENERIC: Strategy = BASE;

/// The strategy of a built-in resource (plural). Resources that store nothing (reviews, bindings) and unknown ones get
/// that of a plain resource without status.
pub fn strategy(group: &str, resource: &str) -> &'static Strategy {
    let row = TABLE.iter().find(|row| row.0 == group && row.1 == resource);
    row.map_or(&GENERIC, |(_, _, strategy)| strategy)
}
