//! What an aggregated API answers is the same in every run and after every restart. It writes nothing that could be disturbed; what is
//! read of it is written down in the cluster, where runs are compared.

use std::collections::BTreeMap;
use std::path::Path;

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::kube::api::{Api, ListParams};
use kubewright::operator::Operator;
use kubewright::serde_json::json;
use kubewright::testing::explore::{Class, explore};
use process_api::api::Process;

fn operator() -> Operator {
    process_api::operator(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proc"))
}

#[kubewright::test]
async fn a_restart_changes_no_answer() {
    let summary = explore(operator)
        .step("read", |env| async move {
            let listed = Api::<Process>::all(env.kube()).list(&ListParams::default()).await;
            let listed = listed.expect("processes are listed").items;
            assert_eq!(listed.len(), 2);
            // But for uids and versions, which every start gives anew.
            let text = |process: &Process| {
                let (metadata, status) = (&process.metadata, &process.status);
                json!([metadata.creation_timestamp, metadata.labels, process.spec, status]).to_string()
            };
            let data: BTreeMap<String, String> = listed
                .iter()
                .map(|process| (process.metadata.name.clone().unwrap_or_default(), text(process)))
                .collect();
            let mut read = ConfigMap::default();
            read.metadata.name = Some("read".to_owned());
            read.data = Some(data);
            env.create(&read).await;
        })
        .step("delete", |env| async move { env.delete::<ConfigMap>("read").await })
        .classes([Class::Restart])
        .run()
        .await;
    // Before each of the two steps, and while each of them is taken.
    assert_eq!(summary.runs_of(Class::Restart), 4, "{summary}");
}
