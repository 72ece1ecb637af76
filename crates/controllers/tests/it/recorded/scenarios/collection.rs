//! Owners and dependents: who goes with whom, who waits for whom, and who stays.

use serde_json::{Value, json};

use super::{Act, Scenario, delete, patch, scenario};

fn config(name: &str, metadata: Value) -> Act {
    let mut config = json!({ "kind": "ConfigMap", "metadata": metadata });
    config["metadata"]["name"] = name.into();
    Act::Create(config)
}

fn owner(name: &str, blocks: bool) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": format!("$uid:ConfigMap/{name}"),
        "blockOwnerDeletion": blocks,
    })
}

fn owned(name: &str, owners: &[&str]) -> Act {
    let owners: Vec<_> = owners.iter().map(|name| owner(name, true)).collect();
    config(name, json!({ "ownerReferences": owners }))
}

fn held(name: &str, owners: &[&str]) -> Act {
    let owners: Vec<_> = owners.iter().map(|name| owner(name, true)).collect();
    config(
        name,
        json!({ "ownerReferences": owners, "finalizers": ["example.com/hold"] }),
    )
}

fn let_go(name: &str) -> Act {
    patch("ConfigMap", name, json!({ "metadata": { "finalizers": null } }))
}

pub(super) fn all() -> Vec<Scenario> {
    let plain = |name| config(name, json!({}));
    let remove = |name, policy| delete("ConfigMap", name, policy);
    vec![
        scenario(
            "no-owner-no-cascade",
            vec![plain("a"), plain("b"), remove("a", "Foreground")],
        ),
        scenario(
            "several-owners",
            vec![
                plain("one"),
                plain("two"),
                owned("child", &["one", "two"]),
                remove("one", "Background"),
                remove("two", "Background"),
            ],
        ),
        scenario(
            "several-owners-in-the-foreground",
            vec![
                plain("one"),
                plain("two"),
                owned("child", &["one", "two"]),
                remove("one", "Foreground"),
                remove("two", "Foreground"),
            ],
        ),
        scenario(
            "orphan-with-several-owners",
            vec![
                plain("one"),
                plain("two"),
                owned("child", &["one", "two"]),
                remove("one", "Orphan"),
                remove("two", "Orphan"),
            ],
        ),
        scenario(
            "owners-in-a-circle",
            vec![
                plain("one"),
                owned("two", &["one"]),
                owned("three", &["two"]),
                patch(
                    "ConfigMap",
                    "one",
                    json!({ "metadata": { "ownerReferences": [owner("three", true)] } }),
                ),
                remove("one", "Foreground"),
            ],
        ),
        scenario(
            "owner-in-another-namespace",
            vec![
                Act::Create(json!({ "kind": "Namespace", "metadata": { "name": "owner-elsewhere" } })),
                Act::Create(json!({
                    "kind": "ConfigMap", "metadata": { "name": "far", "namespace": "owner-elsewhere" },
                })),
                config(
                    "child",
                    json!({ "ownerReferences": [{
                        "apiVersion": "v1", "kind": "ConfigMap", "name": "far",
                        "uid": "$uid:ConfigMap/owner-elsewhere/far",
                    }] }),
                ),
            ],
        ),
        scenario(
            "owner-that-never-was",
            vec![config(
                "child",
                json!({ "ownerReferences": [{
                    "apiVersion": "v1", "kind": "ConfigMap", "name": "ghost",
                    "uid": "00000000-0000-0000-0000-000000000001",
                }] }),
            )],
        ),
        scenario(
            "owner-of-the-same-name",
            vec![
                plain("owner"),
                held("child", &["owner"]),
                remove("owner", "Background"),
                plain("owner"),
                let_go("child"),
            ],
        ),
        scenario(
            "foreground-waits-for-those-that-block",
            vec![
                plain("owner"),
                held("child", &["owner"]),
                remove("owner", "Foreground"),
                let_go("child"),
            ],
        ),
        scenario(
            "foreground-does-not-wait-for-others",
            vec![
                plain("owner"),
                config(
                    "child",
                    json!({ "ownerReferences": [owner("owner", false)], "finalizers": ["example.com/hold"] }),
                ),
                remove("owner", "Foreground"),
                let_go("child"),
            ],
        ),
        scenario(
            "grandchildren-first",
            vec![
                plain("one"),
                owned("two", &["one"]),
                held("three", &["two"]),
                remove("one", "Foreground"),
                let_go("three"),
            ],
        ),
        scenario(
            "background-leaves-grandchildren-for-later",
            vec![
                plain("one"),
                held("two", &["one"]),
                owned("three", &["two"]),
                remove("one", "Background"),
                let_go("two"),
            ],
        ),
    ]
}
