//! `kubewright build-installer`.

use super::project::{Project, objects, shop};

#[test]
fn one_file_holds_all_there_is_to_install() {
    let project = Project::new(&shop());
    let outcome = project
        .run(&["build-installer", "--image", "example.com/shop:v2"])
        .succeeded();
    let installed = objects(&project.read("dist/install.yaml"));
    assert_eq!(
        outcome.out,
        format!("wrote dist/install.yaml ({} objects)\n", installed.len())
    );
    let kinds: Vec<&str> = installed.iter().filter_map(|object| object["kind"].as_str()).collect();
    assert_eq!(kinds[..2], ["Namespace", "CustomResourceDefinition"]);
    let manager = installed.last().unwrap();
    assert_eq!(manager["metadata"]["name"], "shop-controller-manager");
    let container = &manager["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "example.com/shop:v2");
    let arguments: Vec<&str> = container["args"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|word| word.as_str())
        .collect();
    assert!(arguments.contains(&"--metrics-bind-address=:8443"), "{arguments:?}");
}

#[test]
fn the_image_of_the_kustomization_is_the_default_and_the_output_may_be_a_stream() {
    let project = Project::new(&shop());
    let text = project
        .read("config/manager/kustomization.yaml")
        .replace("newTag: latest", "newTag: v7");
    project.write("config/manager/kustomization.yaml", &text);
    let outcome = project
        .run(&[
            "build-installer",
            "--output",
            "-",
            "--replicas",
            "2",
            "--namespace",
            "harbour",
        ])
        .succeeded();
    let installed = objects(&outcome.out);
    let manager = installed.last().unwrap();
    assert_eq!(
        manager["spec"]["template"]["spec"]["containers"][0]["image"],
        "controller:v7"
    );
    assert_eq!(
        (&manager["spec"]["replicas"], &manager["metadata"]["namespace"]),
        (&2.into(), &"harbour".into())
    );
    assert!(!project.path("dist").exists());
}

#[test]
fn an_image_that_has_nowhere_to_go_is_an_error() {
    let project = Project::new(&shop());
    let manager = project
        .read("config/manager/manager.yaml")
        .replace("image: controller:latest", "image: shop:fixed");
    project.write("config/manager/manager.yaml", &manager);
    project.run(&["build-installer"]).succeeded();
    let outcome = project.run(&["build-installer", "--image", "shop:v2"]).failed();
    assert!(outcome.err.contains("config/manager/manager.yaml"), "{}", outcome.err);
}

#[test]
fn a_manager_that_cannot_be_patched_is_an_error_that_names_both_files() {
    let project = Project::new(&shop());
    let manager = project.read("config/manager/manager.yaml");
    let (start, rest) = manager.split_once("        args:\n").unwrap();
    let (_, end) = rest.split_once("        env: []\n").unwrap();
    project.write("config/manager/manager.yaml", &format!("{start}{end}"));
    let outcome = project.run(&["build-installer"]).failed();
    assert!(
        outcome.err.contains("manager_metrics_patch.yaml") && outcome.err.contains("`args`"),
        "{}",
        outcome.err
    );
    project.write("config/manager/manager.yaml", "kind: [");
    assert!(
        project
            .run(&["build-installer"])
            .failed()
            .err
            .contains("config/manager/manager.yaml is not YAML")
    );
}

#[test]
fn an_image_and_a_namespace_that_cannot_be_are_refused() {
    let project = Project::new(&shop());
    for words in [["--image", "a b"], ["--namespace", "A B"]] {
        let outcome = project.run(&["build-installer", words[0], words[1]]);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(
            outcome.err.contains(words[0]) && outcome.err.contains(words[1]),
            "{}",
            outcome.err
        );
    }
    assert!(!project.path("dist").exists());
}

#[test]
fn files_that_cannot_be_read_are_errors_and_what_is_beside_the_manager_counts() {
    for path in [
        "config/default/kustomization.yaml",
        "config/manager/kustomization.yaml",
        "config/manager/manager.yaml",
    ] {
        let project = Project::new(&shop());
        let text = project.read(path);
        project.write(path, "resources: [\n");
        let outcome = project.run(&["build-installer"]).failed();
        assert!(
            outcome.err.contains(&format!("{path} is not YAML: ")),
            "{}",
            outcome.err
        );
        std::fs::write(project.path(path), b"kind: \xff\n").unwrap();
        let outcome = project.run(&["build-installer"]).failed();
        assert!(
            outcome.err.contains(&format!("cannot read {path}: ")),
            "{}",
            outcome.err
        );
        project.write(path, &text);
        project.run(&["build-installer"]).succeeded();
    }
    let project = Project::new(&shop());
    let path = "config/manager/kustomization.yaml";
    let text = project
        .read(path)
        .replace("- manager.yaml\n", "- manager.yaml\n- quota.yaml\n- ../more\n");
    project.write(path, &text);
    let quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata:\n  name: quota\n";
    project.write("config/manager/quota.yaml", quota);
    project.write("config/more/a.yaml", quota);
    let outcome = project.run(&["build-installer"]).succeeded();
    let installed = objects(&project.read("dist/install.yaml"));
    assert!(
        installed
            .iter()
            .any(|object| object["metadata"]["name"] == "shop-quota")
    );
    assert!(
        outcome.err.contains(&format!("{path}: its resource ../more")),
        "{}",
        outcome.err
    );
}
