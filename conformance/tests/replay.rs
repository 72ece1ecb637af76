//! Replays every recorded case on the embedded server and compares the responses with those of the real server.
//! It is a program of its own because it takes longer than all other tests of this crate: `cargo test --test it` leaves it out.

use std::sync::Arc;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use kubewright_conformance::corpus::Corpus;
use kubewright_conformance::decisions;
use kubewright_conformance::embedded::{Embedded, replay_embedded};
use kubewright_conformance::kubelet::ServePort;
use kubewright_conformance::replay::{Comparison, Settings, replay};
use kubewright_conformance::target::{
    AuditAnnotations, Compaction, ResponseFuture, RunPodFuture, Target, UpgradeFuture,
};

#[test]
fn the_embedded_server_answers_as_the_real_one_did() {
    let corpus = Corpus::load().expect("the cases can be read");
    let decisions = decisions::load().expect("the decisions can be read");
    let outcome = replay_embedded(&corpus, &decisions, true).expect("a runtime can be made");
    let mut complaints: Vec<String> = outcome
        .cases
        .iter()
        .filter(|case| !matches!(case.comparison, Comparison::Equal | Comparison::Decided(_)))
        .map(ToString::to_string)
        .collect();
    for decision in &outcome.idle_decisions {
        complaints.push(format!(
            "decision   {} step {} {}: nothing differs there; remove it from differences.yaml",
            decision.case, decision.step, decision.at
        ));
    }
    assert!(
        outcome.passes(),
        "{}\n\n{} cases, {} equal\n- is the real server's answer, + the embedded one's",
        complaints.join("\n"),
        outcome.cases.len(),
        outcome.equal()
    );
}

/// A server that prepares every case correctly and then answers every step with an empty 200.
struct Hollow(Arc<dyn Target>);

impl Target for Hollow {
    fn send(&self, request: Request<Bytes>) -> ResponseFuture<'_> {
        if request.headers().get(USER_AGENT).is_some_and(|agent| agent == "given") {
            return self.0.send(request);
        }
        Box::pin(async {
            Ok(Response::new(
                Empty::new().map_err(|never| match never {}).boxed_unsync(),
            ))
        })
    }

    fn upgrade(&self, request: Request<Bytes>) -> UpgradeFuture<'_> {
        Box::pin(async move { Ok((self.send(request).await?, None)) })
    }

    fn run_pod<'a>(&'a self, namespace: &'a str, pod: &'a str, ports: Vec<(String, ServePort)>) -> RunPodFuture<'a> {
        self.0.run_pod(namespace, pod, ports)
    }

    fn compact(&self) -> Compaction<'_> {
        self.0.compact()
    }

    fn audit_annotations<'a>(&'a self, id: &'a str) -> AuditAnnotations<'a> {
        self.0.audit_annotations(id)
    }
}

#[test]
fn no_case_is_content_with_a_hollow_server() {
    let corpus = Corpus::load().expect("the cases can be read");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    let settings = Settings {
        run: "hollow".to_owned(),
        at_once: 64,
    };
    let hollow = || -> Arc<dyn Target> { Arc::new(Hollow(Embedded::start())) };
    let cases = runtime
        .expect("a runtime can be made")
        .block_on(replay(hollow, &corpus, &settings));
    let content: Vec<_> = cases
        .iter()
        .filter(|case| matches!(case.comparison, Comparison::Equal))
        .map(|case| &case.case)
        .collect();
    assert!(content.is_empty(), "these cases compare nothing: {content:?}");
}
