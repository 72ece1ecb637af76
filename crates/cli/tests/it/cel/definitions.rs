//! `cel check` of the rules of definitions.

use serde_json::{Value, json};

use super::folder::{CRD, CelFolder, OBJECT};

#[test]
fn the_rules_of_a_crd_are_shown_with_what_they_cost() {
    let place = CelFolder::new();
    assert_eq!(
        place.answer(&["check", "crd.yaml"]),
        "crd.yaml: crontabs.stable.example.com v1beta1
  0 rules, none refused; together cost 0 (< 0.01 % of 100 000 000)
crd.yaml: crontabs.stable.example.com v1
  ok .spec: self.minReplicas <= self.replicas
     cost 5 (< 0.01 % of 10 000 000)
     messageExpression: cost 0 (< 0.01 % of 10 000 000)
  ok .spec.names[*]: self.startsWith('a')
     cost 20 (< 0.01 % of 10 000 000)
  2 rules, none refused; together cost 25 (< 0.01 % of 100 000 000)
"
    );
}

#[test]
fn a_refused_rule_is_shown_with_its_field_and_a_caret() {
    let place = CelFolder::new();
    place.write("bad.yaml", &CRD.replace("self.minReplicas <=", "self.minReplica <="));
    let outcome = place.run(&["check", "crd.yaml", "bad.yaml"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    let wanted = "  refused .spec: self.minReplica <= self.replicas
     spec.versions[1].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: \
                  compilation failed: ERROR: <input>:1:5: undefined field 'minReplica'
      | self.minReplica <= self.replicas
      | ....^
     (did you mean 'minReplicas'?)
";
    assert!(outcome.stdout.contains(wanted), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("\n  2 rules, 1 refused; together cost"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_rule_over_budget_is_refused_with_its_share() {
    let place = CelFolder::new();
    let costly = CRD
        .replace("                maxItems: 10\n", "")
        .replace("self.startsWith('a')", "self.contains('abcdefghijk')");
    place.write("costly.yaml", &costly);
    let outcome = place.run(&["check", "costly.yaml", "-o", "json"]);
    assert_eq!(outcome.code, Some(1));
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let version = &answer["crds"][0]["versions"][1];
    let rule = &version["rules"][1];
    assert_eq!(answer["accepted"], false);
    assert_eq!(
        (&version["version"], &version["costLimit"]),
        (&json!("v1"), &json!(100_000_000))
    );
    assert_eq!(
        (&rule["field"], &rule["accepted"]),
        (&json!(".spec.names[*]"), &json!(false))
    );
    assert!(rule["estimatedCost"].as_u64().unwrap() > 10_000_000, "{rule}");
    let detail = rule["issues"][0]["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("estimated rule cost exceeds budget by factor of "),
        "{detail}"
    );
    assert_eq!(rule["issues"][0]["error"], "Forbidden");
}

#[test]
fn bundles_lists_and_standard_input_are_searched_for_crds() {
    let place = CelFolder::new();
    place.write("bundle.yaml", &format!("{OBJECT}---\n{CRD}"));
    let text = place.answer(&["check", "bundle.yaml"]);
    assert!(
        text.starts_with("bundle.yaml (document 2): crontabs.stable.example.com v1beta1\n"),
        "{text}"
    );
    let indented = CRD.replace('\n', "\n  ");
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {indented}\n");
    let outcome = place.run_with(&["check", "-", "-o", "yaml"], &list);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stdout.contains("file: standard input (items[0])\n"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_file_that_cannot_be_checked_is_one_sentence() {
    let place = CelFolder::new();
    place.write("old.yaml", &CRD.replace("k8s.io/v1", "k8s.io/v1beta1"));
    place.write("nogroup.yaml", &CRD.replace("  group: stable.example.com\n", ""));
    place.write("noversions.yaml", CRD.split("  versions:").next().unwrap());
    place.write(
        "odd.yaml",
        &CRD.replace(
            "openAPIV3Schema:\n        type: object",
            "openAPIV3Schema: 1\n      odd:\n        type: object",
        ),
    );
    for (file, expected) in [
        (
            "object.yaml",
            "error: object.yaml has no CustomResourceDefinition, no admission policy and no webhook configuration\n",
        ),
        ("none.yaml", "error: cannot read none.yaml: "),
        (
            "old.yaml",
            "error: old.yaml: apiVersion is \"apiextensions.k8s.io/v1beta1\", and apiextensions.k8s.io/v1 is wanted\n",
        ),
        ("nogroup.yaml", "error: nogroup.yaml: spec.group is missing\n"),
        ("noversions.yaml", "error: noversions.yaml: spec.versions is missing\n"),
        (
            "odd.yaml",
            "error: odd.yaml: spec.versions[0].schema.openAPIV3Schema must be an object\n",
        ),
    ] {
        let (code, text) = place.refusal(&["check", "crd.yaml", file]);
        assert_eq!(code, Some(1));
        assert!(text.starts_with(expected), "{text}");
    }
}
