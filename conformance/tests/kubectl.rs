//! The scripts of kubectl on the embedded server: what it prints must be what it printed on the real one. They use the
//! binary in `$KUBECTL` (v1.36.3); without it nothing is tested, and the test says so.
#![cfg(unix)]

use std::io::Write as _;

use kubewright_conformance::kubectl::{binary, replay_embedded, scripts};

#[test]
fn kubectl_cannot_tell_the_embedded_server_from_the_real_one() {
    let Some(binary) = binary() else {
        // Past the capture of a passing test's output: it has to be seen.
        drop(writeln!(std::io::stderr(), "KUBECTL is not set: kubectl is not tested"));
        return;
    };
    let scripts = scripts(None).expect("the scripts can be read");
    let outcomes = replay_embedded(&scripts, &binary).expect("the scripts can be played");
    let different: Vec<_> = outcomes
        .iter()
        .filter(|outcome| !outcome.differences.is_empty())
        .map(ToString::to_string)
        .collect();
    assert!(
        different.is_empty(),
        "{}\n- is what kubectl printed on the real server, + on the embedded one",
        different.join("\n")
    );
}
