//! What is written is what `rustfmt` would write, however long the names are.

use std::fs;
use std::path::Path;
use std::process::Command;

use kubewright_scaffold::command::ApiRequest;

use super::test_project::{self, TestProject, api, image, project, target, webhook};

/// Kinds from the shortest to the longest that anybody may want.
const KINDS: [&str; 7] = [
    "A",
    "Bar",
    "MarkdownView",
    "HTTPRouteBinding",
    "CertificateSigningPolicy",
    "HorizontalPodAutoscalerOverride",
    "ValidatingAdmissionPolicyBindingTemplate",
];

fn check(project: &TestProject) {
    let folder = tempfile::tempdir().unwrap();
    let mut roots = Vec::new();
    let is_code = |path: &str| Path::new(path).extension().is_some_and(|extension| extension == "rs");
    for (path, text) in project.files.iter().filter(|(path, _)| is_code(path)) {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let is_module = path.starts_with(folder.path().join("src")) && !path.ends_with("src/lib.rs");
        if !is_module || path.ends_with("src/main.rs") {
            roots.push(path);
        }
    }
    let rustfmt = Path::new(env!("CARGO")).with_file_name("rustfmt");
    let output = Command::new(rustfmt)
        .args(["--check", "--edition", "2024"])
        .args(&roots)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_golden_projects_are_formatted() {
    for project in [
        test_project::markdown_view(),
        test_project::fleet(),
        test_project::cache(),
        test_project::observatory(),
    ] {
        check(&project);
    }
}

#[test]
fn projects_are_formatted_however_long_their_names_are() {
    for multigroup in [false, true] {
        for name in ["a", "a-project-with-a-long-name"] {
            let mut project = project(name);
            project.multigroup = multigroup;
            let mut project = TestProject::init(&project);
            for kind in KINDS {
                project.create_api(&api("group", "v1", kind)).unwrap();
                project.create_api(&api("group", "v2beta1", kind)).unwrap();
                let wanted = ["defaulting", "validation", "v2beta1"];
                project
                    .create_webhook(&webhook(target("group", "v1", kind), &wanted))
                    .unwrap();
            }
            check(&project);
        }
    }
}

#[test]
fn a_single_kind_is_formatted_with_and_without_each_part() {
    for kind in KINDS {
        let image = ApiRequest {
            image: Some(image("memcached:1.6")),
            ..api("group", "v1", kind)
        };
        let types = ApiRequest {
            controller: Some(false),
            namespaced: Some(false),
            ..api("group", "v1", kind)
        };
        for request in [image, types] {
            let mut project = TestProject::named("a");
            project.create_api(&request).unwrap();
            check(&project);
            for webhooks in ["defaulting", "validation"] {
                let mut project = project.clone();
                project
                    .create_webhook(&webhook(target("group", "v1", kind), &[webhooks]))
                    .unwrap();
                check(&project);
            }
        }
    }
}

#[test]
fn kinds_of_kubernetes_are_formatted() {
    for (group, version, kind) in [
        ("core", "v1", "Pod"),
        ("apps", "v1", "Deployment"),
        ("autoscaling", "v2", "HorizontalPodAutoscaler"),
        ("admissionregistration", "v1", "ValidatingAdmissionPolicyBinding"),
    ] {
        for webhooks in [&["defaulting"][..], &["validation"], &["defaulting", "validation"]] {
            let mut project = TestProject::named("shop");
            let request = ApiRequest {
                resource: Some(false),
                ..api(group, version, kind)
            };
            project.create_api(&request).unwrap();
            project
                .create_webhook(&webhook(target(group, version, kind), webhooks))
                .unwrap();
            check(&project);
        }
    }
}
