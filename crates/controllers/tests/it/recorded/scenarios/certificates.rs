//! Requests for certificates: who approves them, who signs them, and what the certificates say.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::{Act, Scenario, scenario};

const USER: &[u8] = include_bytes!("requests/user.pem");
const NAMES: &[u8] = include_bytes!("requests/names.pem");
const RSA: &[u8] = include_bytes!("requests/rsa.pem");
const NODE: &[u8] = include_bytes!("requests/node.pem");
const NODE_WITH_A_NAME: &[u8] = include_bytes!("requests/node-with-a-name.pem");
const SERVING: &[u8] = include_bytes!("requests/serving.pem");

const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING_SIGNER: &str = "kubernetes.io/kubelet-serving";

/// The roles of those who may ask, and of those whose requests are approved without a question.
const ASKING: &str = "system:node-bootstrapper";
const SELF: &str = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient";
const NEW: &str = "system:certificates.k8s.io:certificatesigningrequests:nodeclient";
const EVERYBODY: &str = "system:authenticated";

/// Asks for a certificate, as a user.
fn asks(name: &str, request: &[u8], signer: &str, usages: &[&str]) -> Act {
    asks_as(("jane", &[]), name, request, signer, usages)
}

fn asks_as((user, groups): (&str, &[&str]), name: &str, request: &[u8], signer: &str, usages: &[&str]) -> Act {
    let groups = groups.iter().copied().chain([EVERYBODY]);
    Act::CreateAs(
        user.to_owned(),
        groups.map(str::to_owned).collect(),
        json!({
            "kind": "CertificateSigningRequest", "metadata": { "name": name },
            "spec": { "request": ByteString(request.to_vec()), "signerName": signer, "usages": usages },
        }),
    )
}

fn for_seconds(act: Act, seconds: i64) -> Act {
    let Act::CreateAs(user, groups, mut object) = act else {
        return act;
    };
    object["spec"]["expirationSeconds"] = seconds.into();
    Act::CreateAs(user, groups, object)
}

fn decides(name: &str, decision: &str) -> Act {
    let condition = json!({
        "type": decision, "status": "True", "reason": "KubectlSaysSo", "message": "by hand", "lastUpdateTime": "$now",
    });
    Act::Approval(name.to_owned(), condition)
}

/// Gives a group the rights of a role.
fn may(name: &str, role: &str, group: &str) -> Act {
    let group = json!({ "kind": "Group", "name": group, "apiGroup": "rbac.authorization.k8s.io" });
    Act::Create(json!({
        "kind": "ClusterRoleBinding", "metadata": { "name": name }, "subjects": [group],
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
    }))
}

/// Requests that are approved one after the other.
fn approved(scenario: &str, requests: Vec<Act>) -> Vec<Act> {
    let name_of = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let mut acts = vec![may(&format!("{scenario}-ask"), ASKING, EVERYBODY)];
    for request in requests {
        let Act::CreateAs(_, _, object) = &request else {
            continue;
        };
        let name = name_of(object);
        acts.push(request);
        acts.push(decides(&name, "Approved"));
    }
    acts
}

pub(super) fn all() -> Vec<Scenario> {
    let client = ["digital signature", "client auth"];
    let serving = ["digital signature", "key encipherment", "server auth"];
    let node: (&str, &[&str]) = ("system:node:one", &["system:nodes"]);
    vec![
        scenario(
            "certificate-of-a-user",
            vec![
                may("certificate-of-a-user-ask", ASKING, EVERYBODY),
                asks("certificate-of-a-user-a", USER, CLIENT_SIGNER, &client),
                decides("certificate-of-a-user-a", "Approved"),
                asks("certificate-of-a-user-b", NAMES, CLIENT_SIGNER, &["client auth"]),
                decides("certificate-of-a-user-b", "Approved"),
                asks(
                    "certificate-of-a-user-c",
                    RSA,
                    CLIENT_SIGNER,
                    &["client auth", "key encipherment"],
                ),
                decides("certificate-of-a-user-c", "Approved"),
                asks("certificate-of-a-user-d", USER, CLIENT_SIGNER, &client),
                decides("certificate-of-a-user-d", "Denied"),
                asks("certificate-of-a-user-e", USER, "example.com/mine", &client),
                decides("certificate-of-a-user-e", "Approved"),
            ],
        ),
        scenario(
            "certificate-for-some-time",
            approved(
                "certificate-for-some-time",
                [600, 3600, 8 * 3600, 90 * 86400, 400 * 86400]
                    .into_iter()
                    .enumerate()
                    .map(|(place, seconds)| {
                        let name = format!("certificate-for-some-time-{place}");
                        for_seconds(asks(&name, USER, CLIENT_SIGNER, &client), seconds)
                    })
                    .collect(),
            ),
        ),
        scenario(
            "certificate-that-is-refused",
            approved(
                "certificate-that-is-refused",
                vec![
                    asks(
                        "certificate-that-is-refused-a",
                        USER,
                        CLIENT_SIGNER,
                        &["client auth", "server auth"],
                    ),
                    asks(
                        "certificate-that-is-refused-b",
                        USER,
                        CLIENT_SIGNER,
                        &["digital signature"],
                    ),
                    asks("certificate-that-is-refused-c", USER, KUBELET_SIGNER, &client),
                    asks(
                        "certificate-that-is-refused-d",
                        NODE_WITH_A_NAME,
                        KUBELET_SIGNER,
                        &client,
                    ),
                    asks("certificate-that-is-refused-e", NODE, KUBELET_SIGNER, &serving),
                    asks("certificate-that-is-refused-f", NODE, SERVING_SIGNER, &serving),
                    asks("certificate-that-is-refused-g", SERVING, SERVING_SIGNER, &client),
                    asks("certificate-that-is-refused-h", USER, SERVING_SIGNER, &serving),
                    asks(
                        "certificate-that-is-refused-i",
                        USER,
                        "kubernetes.io/unheard-of",
                        &client,
                    ),
                ],
            ),
        ),
        scenario(
            "certificate-of-a-kubelet",
            vec![
                may("certificate-of-a-kubelet-ask", ASKING, EVERYBODY),
                asks_as(node, "certificate-of-a-kubelet-a", NODE, KUBELET_SIGNER, &client),
                may("certificate-of-a-kubelet-self", SELF, "system:nodes"),
                asks_as(node, "certificate-of-a-kubelet-b", NODE, KUBELET_SIGNER, &client),
                asks_as(
                    ("system:node:two", &["system:nodes"]),
                    "certificate-of-a-kubelet-c",
                    NODE,
                    KUBELET_SIGNER,
                    &client,
                ),
                may("certificate-of-a-kubelet-new", NEW, "system:bootstrappers"),
                asks_as(
                    ("system:bootstrap:abcdef", &["system:bootstrappers"]),
                    "certificate-of-a-kubelet-d",
                    NODE,
                    KUBELET_SIGNER,
                    &["digital signature", "key encipherment", "client auth"],
                ),
                asks_as(node, "certificate-of-a-kubelet-e", SERVING, SERVING_SIGNER, &serving),
                decides("certificate-of-a-kubelet-e", "Approved"),
            ],
        ),
    ]
}
