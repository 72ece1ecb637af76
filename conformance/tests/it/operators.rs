//! Definitions like those of large operators install on the embedded server, and it treats their objects as the real one does.

use kubewright_conformance::diff::differences;
use kubewright_conformance::embedded::Embedded;
use kubewright_conformance::operators::{play, recorded};
use serde_json::Value;

fn played() -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    runtime
        .block_on(async { play(&*Embedded::start()).await })
        .expect("the definitions can be tried")
}

#[test]
fn big_definitions_install_and_serve_as_on_the_real_server() {
    let (expected, actual) = (recorded(), played());
    let installs = |facts: &Value| {
        facts
            .as_array()
            .map_or(0, |facts| facts.iter().filter(|f| f["install"].is_string()).count())
    };
    assert!(installs(&expected) >= 5, "the recording holds no definitions");
    let different: Vec<_> = differences(&expected, &actual)
        .iter()
        .map(|difference| {
            let fact = &expected[difference.step - 1];
            format!("{}{}\n{difference}", fact["install"], fact["attempt"])
        })
        .collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
}
