//! Words that values are made of, by the name of the field that they stand in.

use super::random::Choices;
use super::weights::UNUSUAL;

const NAMES: [&str; 8] = ["a", "b", "web", "c", "s", "my-name", "x1", "data"];
const ODD: [&str; 22] = [
    "",
    " ",
    "A",
    "a_b",
    "-a",
    "a.",
    "a/b",
    "a/b/c",
    "UPPER.example.com",
    "example.com/a",
    "é",
    "a b",
    "0",
    "1.5",
    "true",
    "null",
    "${x * 64}",
    "${y * 254}",
    "a\nb",
    "..",
    "%zz",
    "kubernetes.io/x",
];

/// Usual values of string fields whose name ends like this, in lower case; the first row that fits counts.
const BY_FIELD: [(&str, &[&str]); 46] = [
    ("apiversion", &["v1", "apps/v1", "example.com/v1"]),
    ("apigroup", &["rbac.authorization.k8s.io", "apps", "example.com"]),
    (
        "kind",
        &["Pod", "Deployment", "Thing", "ServiceAccount", "User", "Group"],
    ),
    ("namespace", &["${ns}", "default", "other"]),
    ("clusterip", &["None", "10.0.0.250", "10.1.1.1", "nonsense"]),
    ("clusterips", &["None", "10.0.0.251", "fd00::1"]),
    ("ips", &["10.1.2.3", "1.2.3.4", "fd00::1", "256.1.1.1", "010.1.2.3"]),
    ("ip", &["10.1.2.3", "127.0.0.1", "fe80::1", "0.0.0.0", "1.2.3"]),
    ("addresses", &["10.1.2.3", "10.1.2.4", "fd00::1", "h.example.com"]),
    ("sourceranges", &["10.0.0.0/8", "10.0.0.1/8", "10.0.0.0"]),
    ("cidrs", &["10.0.0.0/16", "10.3.0.1/24", "fd00::/64"]),
    ("cidr", &["10.0.0.0/16", "10.3.0.1/24", "fd00::/64", "1.2.3.4"]),
    ("except", &["10.0.1.0/24", "11.0.0.0/24"]),
    ("hostname", &["h", "h.example.com"]),
    ("host", &["h.example.com", "*.example.com", "10.1.1.1"]),
    ("hosts", &["h.example.com", "*.example.com"]),
    ("hostnames", &["h", "h.example.com"]),
    ("image", &["i", "registry.example.com/i:v1", "i@sha256:00", " i"]),
    ("path", &["/", "/x", "x", "/x/../y", "..", "/var/lib/kubelet"]),
    ("mountpath", &["/x", "/y", "/x:y", "relative"]),
    ("subpath", &["x", "/x", "../x"]),
    (
        "schedule",
        &["*/5 * * * *", "@daily", "TZ=UTC 0 0 * * *", "nonsense", "61 * * * *"],
    ),
    ("timezone", &["Etc/UTC", "Europe/Paris", "Mars/Base", "Local"]),
    (
        "url",
        &[
            "https://h.example.com/x",
            "http://h",
            "https://127.0.0.1:9/x",
            "nonsense",
        ],
    ),
    ("verbs", &["get", "list", "watch", "create"]),
    ("apigroups", &["apps", "example.com"]),
    ("apiversions", &["v1", "v2"]),
    ("resources", &["things", "things/status", "deployments"]),
    (
        "expression",
        &[
            "true",
            "object.x == 1",
            "1 +",
            "self.a",
            "has(object.spec)",
            "device.driver == 'a'",
        ],
    ),
    ("valueexpression", &["'x'", "string(1)", "1"]),
    ("messageexpression", &["'x'", "1"]),
    ("rule", &["true", "self.a == 'x'", "self >= 0"]),
    (
        "finalizers",
        &["example.com/f", "f", "kubernetes", "orphan", "foregroundDeletion"],
    ),
    ("effect", &["NoSchedule", "NoExecute", "PreferNoSchedule"]),
    (
        "operator",
        &["In", "NotIn", "Exists", "DoesNotExist", "Equal", "Gt", "Lt"],
    ),
    ("topologykey", &["kubernetes.io/hostname", "zone", "a b"]),
    ("policytypes", &["Ingress", "Egress"]),
    (
        "accessmodes",
        &["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"],
    ),
    (
        "signername",
        &["example.com/s", "kubernetes.io/kube-apiserver-client", "s"],
    ),
    (
        "usages",
        &["client auth", "server auth", "digital signature", "signing"],
    ),
    ("protocol", &["TCP", "UDP", "SCTP", "tcp"]),
    ("appprotocol", &["http", "kubernetes.io/h2c", "example.com/p"]),
    ("driver", &["d.example.com", "d"]),
    ("key", &["k", "a", "example.com/k", "kubernetes.io/metadata.name"]),
    ("status", &["True", "False", "Unknown"]),
    (
        "type",
        &[
            "Ready",
            "Limited",
            "Exempt",
            "Container",
            "Pod",
            "Opaque",
            "Resource",
            "Utilization",
        ],
    ),
];

const LABEL_KEYS: [&str; 6] = ["a", "b", "app", "example.com/k", "k8s.io/x", "bad key"];
const RESOURCE_NAMES: [&str; 8] = [
    "cpu",
    "memory",
    "storage",
    "ephemeral-storage",
    "pods",
    "example.com/gpu",
    "hugepages-2Mi",
    "limits.cpu",
];
const QUANTITIES: [&str; 14] = [
    "1",
    "100m",
    "1Gi",
    "2Gi",
    "0",
    "0.5",
    "1e3",
    "1000m",
    "-1",
    "1.0001",
    "10Mi",
    "12345678901234567890",
    "1X",
    "+5",
];

/// A string for a field of this name.
pub fn string(choices: &mut Choices, field: &str) -> String {
    if choices.percent(UNUSUAL) {
        return choices.word(&ODD).to_owned();
    }
    let field = field.to_lowercase();
    let usual = BY_FIELD.iter().find(|(name, _)| field == *name).or_else(|| {
        let mut ends = BY_FIELD.iter();
        ends.find(|(name, _)| name.len() > 4 && field.ends_with(name))
    });
    choices.word(usual.map_or(&NAMES[..], |(_, usual)| usual)).to_owned()
}

/// A key of a map in a field of this name.
pub fn key(choices: &mut Choices, field: &str) -> String {
    let resources = [
        "requests",
        "limits",
        "capacity",
        "hard",
        "allocatable",
        "max",
        "min",
        "default",
        "used",
    ];
    let keys: &[&str] = if resources.iter().any(|name| field.contains(name)) {
        &RESOURCE_NAMES
    } else {
        &LABEL_KEYS
    };
    choices.word(keys).to_owned()
}

/// The text of a quantity.
pub fn quantity(choices: &mut Choices) -> &'static str {
    choices.word(&QUANTITIES)
}

/// A number that an integer field may have; some are out of the usual range.
pub fn integer(choices: &mut Choices) -> i64 {
    let usual = [0, 1, 2, 3, 5, 10, 30, 80, 100, 443, 600, 8080];
    let odd = [
        -1,
        65536,
        2_147_483_647,
        2_147_483_648,
        -2_147_483_649,
        9_007_199_254_740_993,
        101,
    ];
    if choices.percent(UNUSUAL) {
        *choices.pick(&odd)
    } else {
        *choices.pick(&usual)
    }
}
