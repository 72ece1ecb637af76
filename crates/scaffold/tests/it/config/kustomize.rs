//! `kubectl kustomize config/default` and `kubewright deploy` install the same objects. The tests use the kubectl in `$KUBECTL`;
//! without it they are skipped, and say so.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use kubewright_manifests::bundle::Bundle;
use kubewright_manifests::install::{MANAGER, MARK};
use kubewright_manifests::yaml;
use kubewright_test_support::kubectl;
use serde_json::Value;

use super::operators::{Case, cases};
use super::tree::{bundle_of, tree, write};
use crate::code::test_project::{self, TestProject, api, target, webhook};

/// What kustomize makes of a tree.
fn kustomized(kubectl: &Path, tree: &BTreeMap<String, String>) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    write(tree, folder.path());
    let output = Command::new(kubectl)
        .arg("kustomize")
        .arg(folder.path().join("config/default"))
        .output()
        .unwrap();
    let (text, errors) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    let mut objects = yaml::read(std::str::from_utf8(&text).unwrap()).unwrap();
    // kustomize knows no kinds of later than Kubernetes 1.21, and does not know that these have no namespace; API servers do.
    for object in &mut objects {
        let is_policy = object["kind"].as_str().unwrap().contains("AdmissionPolicy");
        if let Some(metadata) = object["metadata"].as_object_mut().filter(|_| is_policy) {
            metadata.remove("namespace");
        }
    }
    objects
}

/// Objects by what tells them apart.
fn by_name<'v>(objects: impl IntoIterator<Item = &'v Value>) -> BTreeMap<String, &'v Value> {
    let mut named = BTreeMap::new();
    for object in objects {
        let metadata = &object["metadata"];
        let name = format!("{} {} {}", object["kind"], metadata["namespace"], metadata["name"]);
        assert_eq!(named.insert(name.clone(), object), None, "{name} is there twice");
    }
    named
}

fn assert_same(case: &Case, bundle: &Bundle, kustomized: &[Value]) {
    let (ours, theirs) = (by_name(bundle.all()), by_name(kustomized));
    assert_eq!(
        ours.keys().collect::<Vec<_>>(),
        theirs.keys().collect::<Vec<_>>(),
        "{}",
        case.name
    );
    for (name, object) in &ours {
        let (ours, theirs) = (
            yaml::documents(&[(*object).clone()]),
            yaml::documents(&[theirs[name].clone()]),
        );
        assert_eq!(ours, theirs, "{}: {name}", case.name);
    }
}

#[test]
fn kustomize_makes_of_the_tree_what_deploy_applies() {
    let Some(kubectl) = kubectl() else { return };
    for case in cases() {
        let tree = tree(&case);
        assert_same(&case, &bundle_of(&case, &tree).unwrap(), &kustomized(&kubectl, &tree));
    }
}

#[test]
fn a_tree_is_built_after_each_command_before_anything_is_compiled() {
    let Some(kubectl) = kubectl() else { return };
    let kinds = |project: &TestProject| -> Vec<String> {
        let objects = kustomized(&kubectl, &project.files);
        let texts = objects.iter().map(|object| object["kind"].as_str().unwrap().to_owned());
        texts.collect()
    };
    let mut project = TestProject::named("shop");
    assert!(!kinds(&project).contains(&"CustomResourceDefinition".to_owned()));
    project.create_api(&api("shop", "v1", "Order")).unwrap();
    project.create_api(&api("shop", "v1", "Bill")).unwrap();
    let definitions = kinds(&project);
    let count = |wanted: &str, kinds: &[String]| kinds.iter().filter(|kind| *kind == wanted).count();
    assert_eq!(count("CustomResourceDefinition", &definitions), 2);
    let order = target("shop", "v1", "Order");
    project
        .create_webhook(&webhook(order, &["defaulting", "validation"]))
        .unwrap();
    let found = kinds(&project);
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        assert_eq!(count(kind, &found), 1, "{found:?}");
    }
    project.delete_api(&target("shop", "v1", "Bill")).unwrap();
    assert_eq!(count("CustomResourceDefinition", &kinds(&project)), 1);
    for project in [
        test_project::markdown_view(),
        test_project::fleet(),
        test_project::cache(),
        test_project::observatory(),
    ] {
        assert!(count("CustomResourceDefinition", &kinds(&project)) > 0);
    }
}

#[test]
fn what_users_change_in_their_files_counts_for_both() {
    let Some(kubectl) = kubectl() else { return };
    for case in cases() {
        let mut tree = tree(&case);
        let manager = tree[MANAGER]
            .replace("replicas: 1", "replicas: 3")
            .replace("imagePullPolicy: IfNotPresent", "imagePullPolicy: Always")
            .replace(
                "        - --leader-elect\n",
                "        - --leader-elect\n        - --log-level=debug\n",
            );
        tree.insert(MANAGER.to_owned(), manager);
        // Taken over: its first line is gone.
        for path in [
            "config/rbac/leader_election_role.yaml",
            "config/default/metrics_service.yaml",
        ] {
            let text = tree[path]
                .replace(MARK, "")
                .replace("metadata:\n", "metadata:\n  annotations: {mine: \"true\"}\n");
            tree.insert(path.to_owned(), text);
        }
        let bundle = bundle_of(&case, &tree).unwrap();
        let deployment = bundle.objects.last().unwrap();
        assert_eq!(deployment["spec"]["replicas"], 3);
        let annotated = bundle
            .objects
            .iter()
            .filter(|object| object["metadata"]["annotations"]["mine"] == "true");
        assert_eq!(annotated.count(), 2);
        assert_same(&case, &bundle, &kustomized(&kubectl, &tree));
    }
}

#[test]
fn entries_added_to_and_taken_out_of_kustomizations_count_for_both() {
    let Some(kubectl) = kubectl() else { return };
    let quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: quota}\nspec: {hard: {pods: \"9\"}}\n";
    for case in cases() {
        let mut tree = tree(&case);
        let default = tree["config/default/kustomization.yaml"]
            .replace("- metrics_service.yaml\n", "- quota.yaml\n")
            .replace("- ../network-policy\n", "# - ../network-policy\n")
            .replace(
                "patches:\n",
                "patches:\n- path: more.yaml\n  target: {kind: Deployment, name: controller-manager}\n",
            );
        let rbac = tree["config/rbac/kustomization.yaml"]
            .replace(MARK, "# mine")
            .replace("- metrics_reader_role.yaml\n", "- mine.yaml\n");
        let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: helper, namespace: system}\n";
        tree.insert("config/default/kustomization.yaml".to_owned(), default);
        tree.insert("config/rbac/kustomization.yaml".to_owned(), rbac);
        tree.insert("config/rbac/mine.yaml".to_owned(), account.to_owned());
        tree.insert("config/default/quota.yaml".to_owned(), quota.to_owned());
        let patch = "- {op: add, path: /spec/minReadySeconds, value: 5}\n";
        tree.insert("config/default/more.yaml".to_owned(), patch.to_owned());
        let bundle = bundle_of(&case, &tree).unwrap();
        assert!(bundle.ignored.is_empty(), "{:?}", bundle.ignored);
        assert_eq!(bundle.objects.last().unwrap()["spec"]["minReadySeconds"], 5);
        assert_same(&case, &bundle, &kustomized(&kubectl, &tree));
    }
}

#[test]
fn samples_are_applied_together() {
    let Some(kubectl) = kubectl() else { return };
    for case in cases()
        .iter()
        .filter(|case| case.project.defined_kinds().next().is_some())
    {
        let mut tree = tree(case);
        for kind in case.project.defined_kinds() {
            let text = format!(
                "apiVersion: {}\nkind: {}\nmetadata: {{name: a-{}}}\n",
                kind.api_version(),
                kind.kind,
                kind.version
            );
            tree.insert(kind.sample_path(), text);
        }
        let folder = tempfile::tempdir().unwrap();
        write(&tree, folder.path());
        let output = Command::new(&kubectl)
            .arg("kustomize")
            .arg(folder.path().join("config/samples"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let objects = yaml::read(std::str::from_utf8(&output.stdout).unwrap()).unwrap();
        assert_eq!(objects.len(), case.project.defined_kinds().count(), "{}", case.name);
    }
}
