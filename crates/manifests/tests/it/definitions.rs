//! Definitions are what they were yesterday and what a cluster accepts; what is wrong with types is told all at once.
#![allow(missing_docs)]

use kubewright_manifests::definitions::{
    DefinitionOptions, Descriptions, WebhookService, file_name, locate, notes, render,
};
use kubewright_manifests::yaml::documents;
use kubewright_manifests::{Location, Problems};
use kubewright_runtime::operator::{ConversionDescription, Description, Operator};
use serde_json::{Value, json};

use crate::cluster::{Cluster, golden};
use crate::{attributed, kinds};

fn options() -> DefinitionOptions {
    DefinitionOptions {
        version_annotation: false,
        ..DefinitionOptions::default()
    }
}

fn rendered(operator: &Operator) -> Vec<Value> {
    render(&operator.describe(), &options()).unwrap_or_else(|problems| panic!("{problems}"))
}

fn refused(operator: &Operator) -> Vec<String> {
    let Problems(problems) = render(&operator.describe(), &options()).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

/// A kind in two versions, as the types say it, with a hub.
fn converted(hub: &str) -> Description {
    let mut operator = Operator::new("forest")
        .resource::<kinds::v2::Tree>()
        .resource::<kinds::v1::Tree>()
        .describe();
    operator.conversions.push(ConversionDescription {
        definition: "trees.example.com".to_owned(),
        hub: format!("example.com/{hub}"),
        kind: "Tree".to_owned(),
        versions: vec!["v1".to_owned(), "v2".to_owned()],
    });
    operator
}

fn schema_of(definition: &Value) -> &Value {
    &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}

#[test]
fn a_definition_is_what_it_was() {
    let view = rendered(&Operator::new("markdown-view").resource::<kinds::MarkdownView>());
    assert_eq!(file_name(&view[0]), "view.zoetrope.github.io_markdownviews.yaml");
    golden("definitions/markdownviews.yaml", &documents(&view));
    let gallery = rendered(&Operator::new("gallery").resource::<kinds::Gallery>());
    golden("definitions/galleries.yaml", &documents(&gallery));
    let shop = rendered(&Operator::new("shop").resource::<attributed::Shop>());
    golden("definitions/shops.yaml", &documents(&shop));
}

#[test]
fn versions_of_a_kind_are_one_definition_with_its_conversion() {
    let options = DefinitionOptions {
        conversion: Some(WebhookService::of("forest", "forest-system")),
        inject_ca_from: Some("forest-system/forest-serving-cert".to_owned()),
        ..options()
    };
    let definitions = render(&converted("v1"), &options).unwrap();
    golden("definitions/trees.yaml", &documents(&definitions));
}

#[tokio::test]
async fn a_cluster_accepts_every_definition_strictly_and_without_a_warning() {
    let cluster = Cluster::new();
    let operator = Operator::new("all")
        .resource::<kinds::MarkdownView>()
        .resource::<kinds::Gallery>()
        .resource::<attributed::Shop>()
        .resource::<kinds::Workload>();
    for definition in rendered(&operator) {
        cluster.define(&definition).await;
    }
    for definition in render(&converted("v2"), &options()).unwrap() {
        cluster.define(&definition).await;
    }
}

#[test]
fn the_hub_is_stored_where_every_version_claims_to_be() {
    for hub in ["v1", "v2"] {
        let definitions = render(&converted(hub), &options()).unwrap();
        let stored: Vec<&Value> = definitions[0]["spec"]["versions"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|version| version["storage"] == true)
            .collect();
        assert_eq!(stored.len(), 1);
        assert_eq!(stored[0]["name"], hub);
        assert_eq!(definitions[0]["spec"].get("conversion"), None, "nobody said where to");
    }
}

#[test]
fn versions_without_a_hub_must_say_which_is_stored() {
    let problems = refused(
        &Operator::new("forest")
            .resource::<kinds::v1::Tree>()
            .resource::<kinds::v2::Tree>(),
    );
    assert_eq!(
        problems,
        [
            "it::kinds::v1::Tree: several versions of Tree are stored: v1 (it::kinds::v1::Tree) and v2 \
          (it::kinds::v2::Tree); write `storage = false` on all but the one whose form is stored, or name a hub \
          (`.conversion(…)`)"
        ]
    );
}

#[test]
fn versions_must_agree_on_names_scope_labels_and_be_served() {
    let mut operator = converted("v1");
    let second = operator
        .definitions
        .iter_mut()
        .find(|definition| definition.version == "v2")
        .unwrap();
    second.namespaced = false;
    second.definition["spec"]["scope"] = "Cluster".into();
    second.definition["spec"]["names"]["shortNames"] = json!(["other"]);
    second.definition["metadata"]["labels"] = json!({ "team": "other" });
    for definition in &mut operator.definitions {
        definition.definition["spec"]["versions"][0]["served"] = false.into();
    }
    operator.conversions[0].versions = vec!["v1".to_owned()];
    let Problems(problems) = render(&operator, &options()).unwrap_err();
    let problems: Vec<String> = problems.iter().map(|problem| problem.message.clone()).collect();
    assert_eq!(
        problems,
        [
            "the scope of Tree/v2 is not what it::kinds::v1::Tree says for version v1",
            "shortNames of Tree/v2 is not what it::kinds::v1::Tree says for version v1",
            "the label team of Tree/v2 is not what it::kinds::v1::Tree says for version v1",
            "no version of Tree is served",
            "Tree is converted, but not to and from v2 (only v1)",
        ]
    );
}

#[test]
fn one_version_of_two_types_and_one_name_of_two_kinds_are_refused() {
    let mut operator = Operator::new("forest")
        .resource::<kinds::v1::Tree>()
        .resource::<kinds::v2::Tree>()
        .describe();
    operator.definitions[1].version = "v1".to_owned();
    let Problems(problems) = render(&operator, &options()).unwrap_err();
    assert_eq!(problems[0].message, "Tree v1 is what it::kinds::v1::Tree is, too");

    let mut operator = Operator::new("forest").resource::<kinds::v1::Tree>().describe();
    let mut other = operator.definitions[0].clone();
    other.kind = "Bush".to_owned();
    other.definition["spec"]["names"]["kind"] = "Bush".into();
    operator.definitions.push(other);
    let Problems(problems) = render(&operator, &options()).unwrap_err();
    assert!(problems[0].message.contains("trees.example.com"), "{}", problems[0]);
}

#[test]
fn a_type_that_is_named_twice_is_defined_once() {
    let operator = Operator::new("view")
        .resource::<kinds::MarkdownView>()
        .resource::<kinds::MarkdownView>();
    assert_eq!(rendered(&operator).len(), 1);
}

#[test]
fn every_problem_of_every_type_is_reported_at_once_with_its_location() {
    let mut operator = Operator::new("odd")
        .resource::<kinds::Odd>()
        .resource::<kinds::Untold>()
        .describe();
    // As the macros of Kubewright write it.
    operator.definitions[0].schema["$defs"]["OddSpec"]["x-kubewright-source"] = "src/odd.rs:7".into();
    let Problems(problems) = render(&operator, &options()).unwrap_err();
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "src/odd.rs:7: it::kinds::Odd: spec.pair (type OddSpec): a tuple has no structural schema; use a struct \
             with named fields, or an array of one type",
            "src/odd.rs:7: it::kinds::Odd: spec.tree.branches[] (type Branch): it contains itself (through Branch); \
             a definition cannot hold a type that contains itself: refer to other objects by name, or keep the inner part as \
             `serde_json::Value`",
            "it::kinds::Untold: `#[derive(CustomResource)]` cannot write the schema of this type and panicked, so its \
             columns and names are not known; write `#[kubewright::resource(…)]` in place of the derive and of `#[kube(…)]`",
        ]
    );
}

#[test]
fn what_a_server_says_of_a_schema_leads_back_to_the_type_and_the_field() {
    let mut operator = converted("v1");
    operator.definitions[0].schema["$defs"]["TreeSpec"]["x-kubewright-source"] = "src/api/v2/tree.rs:5".into();
    let cause =
        "spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[kind].x-kubernetes-validations[0].rule";
    assert_eq!(
        locate("trees.example.com", cause, &operator),
        Some(Location {
            ty: Some("it::kinds::v2::Tree".to_owned()),
            version: Some("v2".to_owned()),
            field: Some("spec.kind".to_owned()),
            field_ty: Some("TreeSpec".to_owned()),
            source: Some("src/api/v2/tree.rs:5".to_owned()),
            keyword: Some("x-kubernetes-validations[0].rule".to_owned()),
        })
    );
    let alike = locate(
        "trees.example.com",
        "spec.validation.openAPIV3Schema.properties[spec].type",
        &operator,
    )
    .unwrap();
    assert_eq!(
        (alike.version.as_deref(), alike.field.as_deref()),
        (Some("v1"), Some("spec"))
    );
    let column = locate(
        "trees.example.com",
        "spec.versions[1].additionalPrinterColumns[0].jsonPath",
        &operator,
    )
    .unwrap();
    assert_eq!(column.field, None);
    assert_eq!(column.keyword.as_deref(), Some("additionalPrinterColumns[0].jsonPath"));
    for stray in [
        "",
        "spec",
        "spec.versions",
        "spec.versions[9]",
        "spec.versions[",
        "properties[",
        "spec.versions[0].schema.",
    ] {
        let _ = locate("trees.example.com", stray, &operator);
    }
    assert_eq!(locate("others.example.com", cause, &operator), None);
}

#[tokio::test]
async fn a_type_with_our_attributes_tells_the_line_of_its_field() {
    let operator = Operator::new("pairs").resource::<attributed::Pairing>().describe();
    let Problems(problems) = render(&operator, &options()).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].location.field.as_deref(), Some("spec.partner.names"));
    assert_eq!(problems[0].location.field_ty.as_deref(), Some("Partner"));
    let source = problems[0].location.source.as_deref().unwrap();
    assert!(source.ends_with("tests/it/attributed.rs:14"), "{source}");

    let operator = Operator::new("ruled").resource::<attributed::Ruled>().describe();
    let definition = &render(&operator, &options()).unwrap()[0];
    let answer = Cluster::new()
        .create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        .await;
    let cause = answer.body["details"]["causes"][0]["field"].as_str().unwrap();
    let location = locate("ruleds.example.com", cause, &operator).unwrap();
    assert_eq!(location.field.as_deref(), Some("spec.limits[].most"));
    let source = location.source.as_deref().unwrap();
    assert!(source.ends_with("tests/it/attributed.rs:26"), "{source}");
}

#[tokio::test]
async fn the_causes_of_a_real_refusal_are_located() {
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        located(Operator::new("gallery").resource::<kinds::Mistaken>()).await,
        [
            (some("spec.names"), some("x-kubernetes-list-map-keys")),
            (some("spec.size"), some("default")),
        ]
    );
    assert_eq!(
        located(Operator::new("gallery").resource::<kinds::Misruled>()).await,
        [(some("spec.sizes"), some("x-kubernetes-validations[0].rule"))]
    );
}

/// Fields and keywords that a server finds fault with.
async fn located(operator: Operator) -> Vec<(Option<String>, Option<String>)> {
    let operator = operator.describe();
    let definition = &render(&operator, &options()).unwrap()[0];
    let answer = Cluster::new()
        .create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        .await;
    assert_eq!(answer.code, 422, "{:#}", answer.body);
    let causes = answer.body["details"]["causes"].as_array().unwrap();
    let name = definition["metadata"]["name"].as_str().unwrap();
    let mut located: Vec<(Option<String>, Option<String>)> = causes
        .iter()
        .map(|cause| {
            let location = locate(name, cause["field"].as_str().unwrap(), &operator).unwrap();
            (location.field, location.keyword)
        })
        .collect();
    located.sort();
    located.dedup();
    located
}

#[test]
fn descriptions_can_be_cut_and_dropped_and_a_large_definition_is_noted() {
    let operator = Operator::new("jobs").resource::<kinds::Workload>().describe();
    let sizes: Vec<usize> = [Descriptions::Whole, Descriptions::UpTo(60), Descriptions::Dropped]
        .into_iter()
        .map(|descriptions| {
            let definitions = render(
                &operator,
                &DefinitionOptions {
                    descriptions,
                    ..options()
                },
            )
            .unwrap();
            if descriptions == Descriptions::Whole {
                assert!(notes(&definitions)[0].to_string().contains("--server-side"));
            } else {
                assert_eq!(notes(&definitions), []);
            }
            definitions[0].to_string().len()
        })
        .collect();
    assert!(sizes[0] > sizes[1] && sizes[1] > sizes[2], "{sizes:?}");
}

#[test]
fn a_pod_template_merges_as_pods_do_and_keeps_its_labels() {
    let definition = &rendered(&Operator::new("jobs").resource::<kinds::Workload>())[0];
    let template = &schema_of(definition)["properties"]["spec"]["properties"]["template"]["properties"];
    assert_eq!(
        template["metadata"]["properties"]["labels"]["additionalProperties"]["type"],
        "string"
    );
    let containers = &template["spec"]["properties"]["containers"];
    assert_eq!(containers["x-kubernetes-list-type"], "map");
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    let ports = &containers["items"]["properties"]["ports"];
    assert_eq!(
        ports["x-kubernetes-list-map-keys"],
        json!(["containerPort", "protocol"])
    );
    assert_eq!(ports["items"]["properties"]["protocol"]["default"], "TCP");
    let opaque = DefinitionOptions {
        embedded_metadata: false,
        ..options()
    };
    let operator = Operator::new("jobs").resource::<kinds::Workload>().describe();
    let definition = &render(&operator, &opaque).unwrap()[0];
    let metadata = &schema_of(definition)["properties"]["spec"]["properties"]["template"]["properties"]["metadata"];
    assert_eq!(metadata.get("properties"), None);
}

#[test]
fn who_wrote_a_definition_is_noted_unless_unwanted() {
    let operator = Operator::new("view").resource::<kinds::MarkdownView>().describe();
    let definition = &render(&operator, &DefinitionOptions::default()).unwrap()[0];
    let version = &definition["metadata"]["annotations"]["manifests.kubewright.dev/version"];
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
}
