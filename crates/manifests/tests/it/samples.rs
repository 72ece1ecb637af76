//! A sample of a kind is one that a cluster takes.
#![allow(missing_docs)]

use kubewright_manifests::definitions::{DefinitionOptions, render};
use kubewright_manifests::samples::sample;
use kubewright_manifests::yaml::documents;
use kubewright_runtime::operator::Operator;
use serde_json::Value;

use crate::cluster::{Cluster, golden};
use crate::{attributed, kinds};

fn samples() -> Vec<(Value, Value)> {
    let operator = Operator::new("all")
        .resource::<kinds::MarkdownView>()
        .resource::<kinds::Gallery>()
        .resource::<kinds::Workload>()
        .resource::<attributed::Shop>()
        .resource::<kinds::v2::Tree>();
    let definitions = render(&operator.describe(), &DefinitionOptions::default()).unwrap();
    let samples = definitions.into_iter().map(|definition| {
        let version = definition["spec"]["versions"][0]["name"].as_str().unwrap().to_owned();
        let sample = sample(&definition, &version).unwrap();
        (definition, sample)
    });
    samples.collect()
}

#[test]
fn samples_are_what_they_were() {
    let samples: Vec<Value> = samples().into_iter().map(|(_, sample)| sample).collect();
    golden("definitions/samples.yaml", &documents(&samples));
}

#[tokio::test]
async fn a_cluster_takes_every_sample() {
    let cluster = Cluster::new();
    for (definition, sample) in samples() {
        cluster.define(&definition).await;
        let namespace = match definition["spec"]["scope"].as_str() {
            Some("Namespaced") => "/namespaces/default",
            _ => "",
        };
        let collection = format!(
            "/apis/{}{namespace}/{}",
            sample["apiVersion"].as_str().unwrap(),
            definition["spec"]["names"]["plural"].as_str().unwrap()
        );
        let answer = cluster.create(&collection, &sample).await;
        assert_eq!(answer.code, 201, "{:#}\n{sample:#}", answer.body);
    }
}

#[test]
fn a_version_that_is_not_there_has_no_sample() {
    let (definition, _) = samples().remove(0);
    assert_eq!(sample(&definition, "v9"), None);
    assert_eq!(sample(&Value::Null, "v1"), None);
}
