//! Bundles of an operator with webhooks, as its project edits its files.

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_runtime::operator::Operator;
use kubewright_runtime::webhook::{AdmissionRequest, Webhook};

use super::*;
use crate::install::{self, Settings};

fn with_webhooks(settings: &Settings) -> RenderedManifests {
    let webhook = Webhook::of::<ConfigMap>().defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(()));
    let operator = Operator::new("shop").webhook(webhook).describe();
    RenderedManifests::with_definitions(&operator, Vec::new(), settings)
}

fn render(settings: &Settings, manager: &str) -> Result<Bundle, BundleError> {
    let file = |path: &str| (path == MANAGER).then(|| manager.to_owned());
    Bundle::of(&with_webhooks(settings), &file)
}

fn settings() -> Settings {
    Settings::new("shop", "shop:1.0")
}

#[test]
fn another_prefix_needs_certificates_from_somewhere_else() {
    let mut settings = Settings {
        prefix: "mall-".to_owned(),
        ..settings()
    };
    let manager = install::manager_yaml("shop", false);
    let error = render(&settings, &manager).unwrap_err().to_string();
    assert!(
        error.contains("\"shop-\"") && error.contains("--cert-manager"),
        "{error}"
    );
    settings.cert_manager = true;
    let bundle = render(&settings, &manager).unwrap();
    let named = |object: &&Value| {
        object["metadata"]["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("mall-"))
    };
    assert_eq!(bundle.objects.iter().filter(named).count(), bundle.objects.len() - 1);
}

#[test]
fn a_manager_that_is_no_deployment_is_an_error() {
    let error = render(&settings(), "kind: Namespace\n").unwrap_err();
    assert!(matches!(error, BundleError::NoManager), "{error}");
}

fn edited(kustomization: &str) -> Bundle {
    let file = |path: &str| match path {
        "config/default/kustomization.yaml" => Some(kustomization.to_owned()),
        "config/extra/quota.yaml" => Some("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: quota}\n".to_owned()),
        "config/default/more.yaml" => Some("- {op: replace, path: /spec/replicas, value: 7}\n".to_owned()),
        _ => None,
    };
    Bundle::of(&with_webhooks(&settings()), &file).unwrap()
}

#[test]
fn entries_that_somebody_takes_out_or_adds_count() {
    let text = install::default_kustomization(&settings(), &with_webhooks(&settings()).entries);
    let kinds = |bundle: &Bundle| -> Vec<String> {
        let kinds = bundle.objects.iter().filter_map(|object| object["kind"].as_str());
        kinds.map(str::to_owned).collect()
    };
    let whole = edited(&text);
    assert!(whole.ignored.is_empty() && kinds(&whole).iter().filter(|kind| *kind == "Service").count() == 2);
    let changed = text
        .replace("- metrics_service.yaml\n", "- ../extra/quota.yaml\n")
        .replace("- ../webhook\n", "# - ../webhook\n")
        .replace(
            "patches:\n",
            "patches:\n- path: more.yaml\n  target: {kind: Deployment, name: controller-manager}\n",
        );
    let changed = edited(&changed);
    assert!(changed.ignored.is_empty(), "{:?}", changed.ignored);
    assert!(!kinds(&changed).contains(&"Service".to_owned()));
    let quota = changed
        .objects
        .iter()
        .find(|object| object["kind"] == "ResourceQuota")
        .unwrap();
    assert_eq!(quota["metadata"]["name"], "shop-quota");
    assert_eq!(changed.objects.last().unwrap()["spec"]["replicas"], 7);
}

#[test]
fn what_only_kustomize_can_do_is_told() {
    let text = "namePrefix: shop-\ncommonLabels: {a: b}\nresources:\n- ../rbac\n- ../manager\n- metrics_service.yaml\n- \
                https://example.com/x\npatches:\n- path: manager_metrics_patch.yaml\n- path: merge.yaml\n";
    let ignored = edited(text).ignored.join("\n");
    for part in [
        "`commonLabels`",
        "https://example.com/x",
        "merge.yaml",
        "kubectl apply -k config/default",
    ] {
        assert!(ignored.contains(part), "{part}: {ignored}");
    }
}

fn with_file(path: &'static str, text: &'static str) -> Result<Bundle, BundleError> {
    let file = |wanted: &str| match wanted {
        "config/manager/quota.yaml" => {
            Some("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: quota}\n".to_owned())
        }
        wanted => (wanted == path).then(|| text.to_owned()),
    };
    Bundle::of(&with_webhooks(&settings()), &file)
}

#[test]
fn what_is_listed_beside_the_manager_counts_or_is_told() {
    let text = "resources:\n- manager.yaml\n- quota.yaml\n- gone.yaml\nimages:\n- name: controller\n- name: proxy\n\
                commonLabels: {a: b}\n";
    let bundle = with_file("config/manager/kustomization.yaml", text).unwrap();
    let quota = bundle.objects.iter().find(|object| object["kind"] == "ResourceQuota");
    let quota = quota.unwrap();
    assert_eq!(quota["metadata"]["name"], "shop-quota");
    assert_eq!(quota["metadata"]["namespace"], "shop-system");
    let ignored = bundle.ignored.join("\n");
    for part in [
        "config/manager/kustomization.yaml: its resource gone.yaml",
        "its image proxy",
        "`commonLabels`",
    ] {
        assert!(ignored.contains(part), "{part}: {ignored}");
    }
    assert_eq!(bundle.ignored.len(), 3, "{ignored}");
}

#[test]
fn a_kustomization_that_cannot_be_read_is_an_error_with_its_name() {
    for path in [
        "config/default/kustomization.yaml",
        "config/manager/kustomization.yaml",
        "config/rbac/kustomization.yaml",
    ] {
        for text in ["resources: [", "- ../rbac\n"] {
            let error = with_file(path, text).unwrap_err().to_string();
            assert!(error.starts_with(path), "{error}");
        }
    }
    let text = "resources:\n- role.yaml\n- https://example.com/x\n";
    let ignored = with_file("config/rbac/kustomization.yaml", text).unwrap().ignored;
    assert!(ignored[0].contains("its resource https://example.com/x"), "{ignored:?}");
}

#[test]
fn an_image_goes_where_the_placeholder_is_and_nowhere_else() {
    let manager = install::manager_yaml("shop", false).replace(
        "      containers:\n",
        "      initContainers:\n      - name: first\n        image: controller\n      containers:\n      - name: proxy\n        \
         image: controller-proxy:1\n        args: []\n        ports: []\n",
    );
    let bundle = render(&settings(), &manager).unwrap();
    let pod = &bundle.objects.last().unwrap()["spec"]["template"]["spec"];
    assert_eq!(pod["initContainers"][0]["image"], "shop:1.0");
    assert_eq!(pod["containers"][0]["image"], "controller-proxy:1");
    assert_eq!(pod["containers"][1]["image"], "shop:1.0");
    // Patches go to the first container, as kustomize has it.
    assert_eq!(pod["containers"][0]["ports"][0]["name"], "webhook-server");
}

#[test]
fn the_number_of_replicas_is_the_files_unless_somebody_says_another() {
    let manager = install::manager_yaml("shop", false).replace("replicas: 1", "replicas: 4");
    let replicas =
        |settings: &Settings| render(settings, &manager).unwrap().objects.last().unwrap()["spec"]["replicas"].clone();
    assert_eq!(replicas(&settings()), 4);
    let other = Settings {
        replicas: Some(2),
        ..settings()
    };
    assert_eq!(replicas(&other), 2);
}

#[test]
fn with_cert_manager_the_manager_has_no_rights_to_certificates() {
    let names = |settings: &Settings| -> Vec<String> {
        let bundle = render(settings, &install::manager_yaml("shop", false)).unwrap();
        let names = bundle
            .objects
            .iter()
            .filter_map(|object| object["metadata"]["name"].as_str());
        names.map(str::to_owned).collect()
    };
    let own = names(&settings());
    let theirs = names(&Settings {
        cert_manager: true,
        ..settings()
    });
    let certificates = "shop-certificates-role".to_owned();
    assert!(own.contains(&certificates) && !theirs.contains(&certificates));
    assert!(theirs.contains(&"shop-serving-cert".to_owned()));
}

/// An operator that serves a kind itself.
fn with_extension(settings: &Settings) -> RenderedManifests {
    let kind = |version: &str| kubewright_description::DefinitionDescription {
        group: "ps.example.com".to_owned(),
        version: version.to_owned(),
        kind: "Process".to_owned(),
        plural: "processes".to_owned(),
        namespaced: false,
        ty: "Process".to_owned(),
        definition: serde_json::json!({ "spec": { "versions": [{ "name": version, "served": true }] } }),
        schema: serde_json::json!({ "type": "object" }),
        problem: None,
    };
    let operator = kubewright_description::Description {
        aggregated: vec![kind("v1"), kind("v1beta1")],
        ..Operator::new("shop").describe()
    };
    RenderedManifests::with_definitions(&operator, Vec::new(), settings)
}

#[test]
fn an_aggregated_api_has_its_api_services_and_may_ask_about_its_clients() {
    let bundle = Bundle::of(&with_extension(&settings()), &|_| None).unwrap();
    let find = |kind: &str, name: &str| {
        let mut objects = bundle.objects.iter();
        let found = objects.find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("no {kind} {name}"))
    };
    let service = find("APIService", "v1.ps.example.com");
    assert_eq!(service["metadata"].get("namespace"), None);
    assert_eq!(
        service["spec"]["service"],
        serde_json::json!({ "name": "shop-extension-service", "namespace": "shop-system", "port": 443 })
    );
    find("APIService", "v1beta1.ps.example.com");
    assert_eq!(
        find("Service", "shop-extension-service")["spec"]["ports"][0]["targetPort"],
        7443
    );
    let delegator = find("ClusterRoleBinding", "shop-extension-auth-delegator");
    assert_eq!(delegator["roleRef"]["name"], "system:auth-delegator");
    let reader = find("RoleBinding", "shop-extension-auth-reader");
    assert_eq!(reader["metadata"]["namespace"], "kube-system");
    for binding in [delegator, reader] {
        assert_eq!(binding["subjects"][0]["name"], "shop-controller-manager");
        assert_eq!(binding["subjects"][0]["namespace"], "shop-system");
    }
    let deployment = find("Deployment", "shop-controller-manager");
    let ports = deployment["spec"]["template"]["spec"]["containers"][0]["ports"].to_string();
    assert!(ports.contains("7443"), "{ports}");
    let position = |kind: &str| bundle.objects.iter().position(|object| object["kind"] == kind).unwrap();
    assert!(position("Service") < position("APIService") && position("APIService") < position("Deployment"));
}

#[test]
fn cert_manager_gives_an_aggregated_api_its_certificate() {
    let settings = Settings {
        cert_manager: true,
        ..settings()
    };
    let bundle = Bundle::of(&with_extension(&settings), &|_| None).unwrap();
    let service = bundle
        .objects
        .iter()
        .find(|object| object["kind"] == "APIService")
        .unwrap();
    assert_eq!(
        service["metadata"]["annotations"]["cert-manager.io/inject-ca-from"],
        "shop-system/shop-extension-cert"
    );
    let deployment = bundle
        .objects
        .iter()
        .find(|object| object["kind"] == "Deployment")
        .unwrap();
    assert!(deployment.to_string().contains("--extension-cert-path="));
}
