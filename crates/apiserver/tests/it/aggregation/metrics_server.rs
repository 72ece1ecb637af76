//! The real metrics-server behind the embedded server: kubectl says the same of `metrics.k8s.io` as behind the real kube-apiserver. It is
//! tried where `$KUBEWRIGHT_UPSTREAM_BIN` has the programs (`conformance/upstream/build metrics-server answering-kubelet`).

use kubewright_test_support::upstream;

use super::sample_apiserver::prints_what_was_recorded;

#[tokio::test(flavor = "multi_thread")]
async fn the_metrics_server_is_served_as_behind_the_real_server() {
    if let (Some(_), Some(_)) = (upstream("metrics-server"), upstream("answering-kubelet")) {
        prints_what_was_recorded("metrics-server", 2).await;
    }
}
