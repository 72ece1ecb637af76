//! Lists, watches and deletions with options, right and wrong ones.

use serde_json::{Value, json};

use super::Parts;
use crate::fuzz::generated::Step;
use crate::fuzz::random::Choices;

const COLLECTION: &str = "/api/v1/namespaces/${ns}/configmaps";

const LIST: [(&str, &[&str]); 12] = [
    (
        "labelSelector",
        &[
            "a=1",
            "a!=1",
            "a in (1,2)",
            "a notin (1)",
            "!a",
            "a",
            "a==1,b",
            "a in ()",
            "a=b=c",
            ",",
            "a=1,",
            "x y",
            "a>1",
            "-a=1",
            "a in (1",
            "",
        ],
    ),
    (
        "fieldSelector",
        &[
            "metadata.name=a",
            "metadata.name!=a",
            "metadata.namespace=${ns}",
            "metadata.name=a,metadata.name=b",
            "spec.x=1",
            "metadata.name",
            "=",
            "metadata.name==a",
            "",
        ],
    ),
    ("limit", &["1", "2", "0", "-1", "x", "1.5", "99999999999999999999"]),
    (
        "continue",
        &[
            "nonsense",
            "",
            "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
        ],
    ),
    ("resourceVersion", &["0", "", "x", "-1"]),
    ("resourceVersionMatch", &["Exact", "NotOlderThan", "Nonsense", ""]),
    ("timeoutSeconds", &["1", "x", "0"]),
    ("allowWatchBookmarks", &["true", "false", "x"]),
    ("sendInitialEvents", &["true", "false", "x"]),
    ("pretty", &["true", "false"]),
    ("unknown", &["x"]),
    ("watch", &["false", "0", "x"]),
];

const DELETE: [(&str, &[&str]); 8] = [
    ("gracePeriodSeconds", &["0", "30", "-1", "x"]),
    (
        "propagationPolicy",
        &["Foreground", "Background", "Orphan", "Nonsense", ""],
    ),
    ("orphanDependents", &["true", "false", "x"]),
    ("dryRun", &["All", "None", "x"]),
    ("labelSelector", &["a=1", "a in (1", "!a"]),
    ("fieldSelector", &["metadata.name=a", "spec.x=1"]),
    ("limit", &["1", "x"]),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", &["true", "false"]),
];

pub(super) fn options(choices: &mut Choices) -> Parts {
    let labels = [json!({"a": "1"}), json!({"a": "2", "b": "x"}), json!({})];
    let given = ["a", "b", "c"].iter().zip(labels).map(|(name, labels)| {
        let finalizers = if *name == "c" { json!(["example.com/f"]) } else { Value::Null };
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels, "finalizers": finalizers}})
    });
    let given = given.collect();
    let count = 4 + choices.below(6);
    let mut steps = Vec::new();
    for _ in 0..count {
        match choices.below(12) {
            0..=5 => {
                let path = format!("{COLLECTION}{}", query(choices, &LIST, ""));
                let step = Step::new("GET", &path);
                steps.push(if choices.percent(30) {
                    step.header("Accept", accept(choices))
                } else {
                    step
                });
            }
            6 => {
                // A second later the stream is over, and its text is compared like any body.
                let path = format!("{COLLECTION}{}", query(choices, &LIST, "watch=1&timeoutSeconds=1"));
                steps.push(Step::new("GET", &path));
            }
            7..=8 => {
                let path = format!(
                    "{COLLECTION}/{}{}",
                    choices.word(&["a", "b", "c", "none"]),
                    query(choices, &DELETE, "")
                );
                steps.push(with_options(choices, Step::new("DELETE", &path)));
            }
            9 => {
                let path = format!("{COLLECTION}{}", query(choices, &DELETE, ""));
                steps.push(with_options(choices, Step::new("DELETE", &path)));
            }
            10 => {
                let path = format!("{COLLECTION}/a{}", query(choices, &LIST, ""));
                steps.push(Step::new("GET", &path));
            }
            _ => {
                let labels = choices.word(&["1", "2", "3"]);
                steps.push(
                    Step::new("PATCH", &format!("{COLLECTION}/b"))
                        .body("merge-patch", json!({"metadata": {"labels": {"a": labels}}})),
                );
            }
        }
    }
    (given, steps.into_iter().map(Value::from).collect())
}

fn query(choices: &mut Choices, options: &[(&str, &[&str])], always: &str) -> String {
    let mut parts: Vec<String> = if always.is_empty() {
        Vec::new()
    } else {
        vec![always.to_owned()]
    };
    for _ in 0..choices.below(4) {
        let (name, values) = choices.pick(options);
        parts.push(format!("{name}={}", choices.word(values)));
    }
    if parts.is_empty() {
        String::new()
    } else {
        format!("?{}", parts.join("&"))
    }
}

fn accept(choices: &mut Choices) -> &'static str {
    choices.word(&[
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "application/yaml",
        "application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json",
        "*/*",
    ])
}

fn with_options(choices: &mut Choices, step: Step) -> Step {
    if choices.percent(60) {
        return step;
    }
    let mut body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
    for _ in 0..=choices.below(2) {
        let (name, value) = choices
            .pick(&[
                ("gracePeriodSeconds", json!(0)),
                ("gracePeriodSeconds", json!(-5)),
                ("gracePeriodSeconds", json!("x")),
                ("propagationPolicy", json!("Foreground")),
                ("propagationPolicy", json!("Orphan")),
                ("propagationPolicy", json!("")),
                ("orphanDependents", json!(true)),
                ("preconditions", json!({"uid": "no-such-uid"})),
                ("preconditions", json!({"resourceVersion": "1"})),
                ("preconditions", json!({})),
                ("dryRun", json!(["All"])),
                ("dryRun", json!(["x", "All"])),
                ("kind", json!("Pod")),
                ("apiVersion", json!("meta.k8s.io/v1")),
                ("unknown", json!(1)),
            ])
            .clone();
        body[name] = value;
    }
    step.body("json", body)
}
